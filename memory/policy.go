package memory

// Policy is a compiled set of classification rules.
type Policy struct{}
