package lifecycle

// PurgeStep is one step of a retention purge.
type PurgeStep string
