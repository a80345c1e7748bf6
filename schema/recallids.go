package schema

// WithoutContent is the answer with ids, scores and kinds, and none of the words that are remembered: what
// a client may keep in a workflow's history for as long as it likes. It copies what may stay, so that
// nothing that an answer may gain later slips through.
func (r RecallResponse) WithoutContent() RecallResponse {
	out := RecallResponse{RetrievalID: r.RetrievalID, Results: make([]RecallResult, len(r.Results)), Layers: r.Layers, Selections: selectionIDs(r.Selections),
		Meta: RecallMeta{TimingsMS: r.Meta.TimingsMS, Channels: r.Meta.Channels, Degraded: r.Meta.Degraded,
			Trust: r.Meta.Trust, Redacted: r.Meta.Redacted}}
	for i, row := range r.Results {
		out.Results[i] = RecallResult{ID: row.ID, Type: row.Type, Category: row.Category, Score: row.Score, Channels: row.Channels, Tags: []string{},
			CreatedAt: row.CreatedAt, OccurredAt: row.OccurredAt, Pinned: row.Pinned, Importance: row.Importance,
			Validity: Validity{Mode: row.Validity.Mode, Start: row.Validity.Start, End: row.Validity.End}, Status: row.Status,
			Redacted: row.Redacted, Sensitivity: row.Sensitivity, Currentness: row.Currentness, SupersededBy: row.SupersededBy}
		out.Results[i].Supplementary, out.Results[i].Supplement, out.Results[i].Truncated = row.Supplementary, row.Supplement, row.Truncated
	}
	return out
}
