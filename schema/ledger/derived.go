package ledger

// Kinds of what is derived from the ledger, as a rebuild names them.
const (
	DerivedWorking = "working" // the state of the work of an open session
	DerivedEpisode = "episode" // the record of a session that was closed
	DerivedMarks   = "marks"   // events that report on a field of the world
	DerivedVectors = "vectors" // of events, for relevance by meaning
)

// Reasons for which a rebuild leaves something as it is.
const (
	KeptChanged    = "changed"     // a person or a sweep has changed the record since
	KeptForgotten  = "forgotten"   // the record was forgotten or erased
	KeptEventsGone = "events_gone" // it cannot be rebuilt: its events no longer exist
	KeptReferred   = "referred"    // it differs, and other memories refer to it
)
