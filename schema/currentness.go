package schema

// Currentness says whether what a recalled memory tells still holds (document 002 Phase 4).
type Currentness string

// The kinds of currentness. A memory of which nothing is known has none.
const (
	CurrentnessCurrent    Currentness = "current"    // it replaced what was believed before
	CurrentnessMixed      Currentness = "mixed"      // a part of what was drawn from it was superseded
	CurrentnessSuperseded Currentness = "superseded" // it was superseded, or all that was drawn from it was
)
