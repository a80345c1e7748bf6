package proposals

// Constants of the search for the neighbours of a fact (notes on recall constants, "decide").
const (
	// NeighborsPerChannel is the number of memories that each channel returns.
	NeighborsPerChannel = 10
	// NeighborsRanked is the number of the best memories, from which Offer chooses.
	NeighborsRanked = 16
	// AttributeNeighbors is the number of memories with words for the fact's attribute (AttributeWords), from which Offer
	// also chooses.
	AttributeNeighbors = 20
	// MinNeighborScore is the score below which a memory is not a neighbour.
	MinNeighborScore = 0.1
	// AttributeScore is the score of a memory that was found only by AttributeWords. It is a neighbour only if the fact
	// changes it.
	AttributeScore = MinNeighborScore
	// SameContentScore is the score of a memory with the fact's content.
	SameContentScore = 1.0
	// SameClaimScore is the score of a memory with a claim of the same subject and predicate.
	SameClaimScore = 0.9
)
