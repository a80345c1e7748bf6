package proposals

// What a search for the neighbours of a fact returns (notes on recall constants, "decide").
const (
	// NeighborsPerChannel is how many memories each channel finds.
	NeighborsPerChannel = 10
	// NeighborsRanked is how many of the best are returned; Offer chooses among them.
	NeighborsRanked = 16
	// MinNeighborScore is the score below which a memory is not a neighbour.
	MinNeighborScore = 0.1
	// SameContentScore is the score of a memory with the fact's content.
	SameContentScore = 1.0
	// SameClaimScore is the score of a memory that makes a claim of the same subject and predicate.
	SameClaimScore = 0.9
)
