package recall

import "github.com/mneme/mneme/schema"

// explain adds the reasons to rows that no stage scored: redacted rows above the limit, and supplements.
func (q *query) explain(rows []schema.RecallResult) {
	if !q.req.Explain {
		return
	}
	for i := range rows {
		row := &rows[i]
		step := schema.ScoreStep{Score: row.Score}
		switch {
		case row.Redacted == schema.RedactedSummary:
			step.Stage, step.Why = stageRedact, "above the limit: scored by its safe summary alone"
		case row.Redacted == schema.RedactedMetadata:
			step.Stage, step.Why = stageRedact, "above the limit: its words do not count, and it ranks after "+
				"what can be read"
		case row.Supplement != nil && row.Supplement.Kind == schema.SupplementRescue:
			step.Stage, step.Why = stageRescue, "a fallback: there was no other result"
		case row.Supplement != nil:
			step.Stage, step.Why = stageExpand, string(row.Supplement.Kind)+
				" added to the results, below the weakest of them"
		default:
			continue
		}
		row.Explain = []schema.ScoreStep{step}
	}
}
