package pipeline

// WriteCounts says what became of the proposals of a range.
type WriteCounts struct {
	Added   int `json:"added"`
	Updated int `json:"updated"`
	Deleted int `json:"deleted"`
	Skipped int `json:"skipped"`
	Blocked int `json:"blocked"`
	Stale   int `json:"stale"` // to be decided again
}

// Add returns the sum of two counts. Stale is not summed: it is a state, not an outcome.
func (w WriteCounts) Add(v WriteCounts) WriteCounts {
	return WriteCounts{Added: w.Added + v.Added, Updated: w.Updated + v.Updated, Deleted: w.Deleted + v.Deleted,
		Skipped: w.Skipped + v.Skipped, Blocked: w.Blocked + v.Blocked, Stale: v.Stale}
}

// LinkCounts says what a range added to the graph.
type LinkCounts struct {
	Entities  int `json:"entities"`
	Relations int `json:"relations"`
	Mentions  int `json:"mentions"`
}

// Add returns the sum of two counts.
func (l LinkCounts) Add(m LinkCounts) LinkCounts {
	return LinkCounts{Entities: l.Entities + m.Entities, Relations: l.Relations + m.Relations, Mentions: l.Mentions + m.Mentions}
}
