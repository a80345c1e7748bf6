package ledger

// Kinds of data derived from the ledger, as named in the results of a rebuild.
const (
	DerivedWorking = "working" // the state of the work of an open session
	DerivedEpisode = "episode" // the record of a session that was closed
	DerivedMarks   = "marks"   // events that report on a field of the world
	DerivedVectors = "vectors" // vectors of events, for relevance by meaning
)

// Reasons why a rebuild does not change an item.
const (
	KeptChanged    = "changed"     // a person or a sweep has changed the record since
	KeptForgotten  = "forgotten"   // the record was forgotten or erased
	KeptEventsGone = "events_gone" // it cannot be rebuilt: its events no longer exist
	KeptReferred   = "referred"    // it differs, and other memories refer to it
)
