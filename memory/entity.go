package memory

// CanonicalEntity is the form by which an entity is unique in its tenant: lower-cased, with
// whitespace collapsed and trailing punctuation cut (document 002 "Graph Entity Persistence").
func CanonicalEntity(name string) string { return Normalize(name).Normalized }
