package recall

import (
	"context"
	"slices"

	"github.com/mneme/mneme/memory/parsed"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
)

// stageRedact is the stage that adds redacted memories above the limit.
const stageRedact = "redact"

// trustRules returns the trust rules of the policy in force.
func (r *Recaller) trustRules() policy.TrustRules {
	if r.Policy == nil {
		return policy.TrustRules{}
	}
	return r.Policy().Trust()
}

// withRedacted adds the redacted form of memories above the limit (document 004 §15.8). Those with a safe summary
// are ranked among the results by how well the summary answers; the others come after all results. At equal scores,
// readable rows rank before redacted ones. blend is the share of relevance in the scores of the results.
func (q *query) withRedacted(
	ctx context.Context,
	results []schema.RecallResult,
	blend float64,
) []schema.RecallResult {
	if len(q.clearance.Summary)+len(q.clearance.Metadata) == 0 || q.off(stageRedact) {
		return results
	}
	defer q.timed(stageRedact)()
	ctx, cancel := q.within(ctx, textDeadline)
	defer cancel()
	now := q.now()
	summaries, err := q.Store.RedactedSummaries(ctx, q.filter, q.clearance.Summary, q.keywords(), now, q.limit)
	if err != nil {
		q.degrade(stageRedact, err)
		return results
	}
	out, least := slices.Clone(results), 0.0
	if q.req.MinScore != nil && q.parsable() && !q.off(rank.StageRelevance) {
		least = *q.req.MinScore
	}
	for _, row := range summaries {
		if blend > 0 || least > 0 {
			relevance, text := 0.0, parsed.Text(row.Content, "")
			for _, clause := range q.clauses() {
				relevance = max(relevance, clause.Relevance(text))
			}
			if relevance < least {
				continue
			}
			if blend > 0 { // the scores of the results include relevance
				row.Score = rank.RelevantScore(row.Score, relevance, blend)
			}
		}
		at := slices.IndexFunc(out, func(r schema.RecallResult) bool { return r.Score < row.Score })
		if at < 0 {
			at = len(out)
		}
		out = slices.Insert(out, at, row)
	}
	out = out[:min(len(out), q.limit)]
	if least > 0 { // metadata has no relevance
		return out
	}
	stubs, err := q.Store.RedactedMetadata(ctx, q.filter, q.clearance.Metadata, now, q.limit-len(out))
	if err != nil {
		q.degrade(stageRedact, err)
	}
	return append(out, stubs...)
}

// readInFull returns the results whose content is shown. Redacted ones were not accessed; meta counts them.
func (q *query) readInFull(results []schema.RecallResult) []schema.RecallResult {
	out := make([]schema.RecallResult, 0, len(results))
	for _, row := range results {
		if row.Redacted == "" {
			out = append(out, row)
			continue
		}
		if q.meta.Redacted == nil {
			q.meta.Redacted = map[schema.Redaction]int{}
		}
		q.meta.Redacted[row.Redacted]++
	}
	return out
}

// recount sets in meta how many of each channel's hits the principal may see. The number of hidden ones must not be
// revealed.
func (q *query) recount(evidence []rank.Evidence) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for name := range q.meta.Channels {
		q.meta.Channels[name] = 0
	}
	for i := range evidence {
		for name := range evidence[i].Channels {
			q.meta.Channels[name]++
		}
	}
}

// TrustMeta returns what a recall of the request would report of its clearance, which its limit, its trust context and
// the policy decide.
func (r *Recaller) TrustMeta(req schema.RecallRequest) *schema.TrustMeta {
	return r.trustRules().Clear(req, r.TrustKey, r.now()).Meta()
}
