package schema

// Currentness says whether what a recalled memory tells still holds (document 002 Phase 4).
type Currentness string

// The kinds of currentness. Every result has one.
const (
	CurrentnessCurrent    Currentness = "current"    // nothing newer is known to change it
	CurrentnessOlder      Currentness = "older"      // a later statement of the same thing says something else
	CurrentnessMixed      Currentness = "mixed"      // a part of what was drawn from it was superseded
	CurrentnessSuperseded Currentness = "superseded" // it was superseded, or all that was drawn from it was
)
