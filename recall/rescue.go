package recall

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/layers"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
)

// rescue searches again if the channels found nothing that the principal may see: in contents by the beginnings of
// words, and in texts that memories refer to (document 002 "Source and Transcript Rescue Paths"). It searches
// neither the ledger of events, which has no texts, nor the staging area, whose texts are already memories or were
// rejected.
func (q *query) rescue(ctx context.Context) []schema.RecallResult {
	wanted := q.beginnings()
	if q.off(stageRescue) || len(wanted) == 0 {
		return nil
	}
	defer q.timed(stageRescue)()
	var said, texts []schema.RecallResult
	var wg sync.WaitGroup
	wg.Go(func() {
		q.optionally(ctx, stageRescueTranscripts, func(ctx context.Context) (err error) {
			said, err = q.rescueText(ctx, wanted)
			return err
		})
	})
	wg.Go(func() {
		q.optionally(ctx, stageRescueArtifacts, func(ctx context.Context) (err error) {
			texts, err = q.rescueArtifacts(ctx, wanted)
			return err
		})
	})
	wg.Wait()
	out := slices.Concat(said, texts)
	slices.SortStableFunc(out, func(a, b schema.RecallResult) int { return cmp.Compare(b.Score, a.Score) })
	budget, used := q.task().BudgetTokens, 0
	out = slices.DeleteFunc(out, func(r schema.RecallResult) bool {
		tokens, _ := layers.ResultTokens(r)
		if budget > 0 && used+tokens > budget {
			return true
		}
		used += tokens
		return false
	})
	return out[:min(len(out), q.limit)]
}

func (q *query) rescueText(ctx context.Context, wanted []string) ([]schema.RecallResult, error) {
	hits, err := q.Store.RescueText(ctx, q.filter, wanted, q.limit)
	if err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, 0, len(hits))
	for _, h := range hits {
		ids = append(ids, h.ID)
	}
	rows, err := q.Store.Hydrate(ctx, q.filter, ids, q.now())
	if err != nil {
		return nil, err
	}
	var out []schema.RecallResult
	for _, h := range hits {
		row, ok := rows[h.ID]
		if row.Score = rank.RescueScore(int(h.Score), len(wanted)); ok && row.Score > 0 {
			out = append(out, supplementary(row, schema.SupplementRescue, nil, h.ID))
		}
	}
	return out, nil
}

func (q *query) rescueArtifacts(ctx context.Context, wanted []string) ([]schema.RecallResult, error) {
	found, err := q.Store.SearchArtifacts(ctx, q.filter, wanted, q.limit)
	if err != nil {
		return nil, err
	}
	var out []schema.RecallResult
	seen := map[string]bool{}
	for _, a := range found {
		n, passage, cut := rank.RescueFind(a.Text, wanted)
		score := rank.RescueScore(n, len(wanted))
		if score == 0 || seen[a.Address] {
			continue
		}
		seen[a.Address] = true
		row := made(string(schema.SupplementArtifact)+":"+a.Address, schema.TypeEpisodic, passage, a.OccurredAt)
		row.Score, row.Ref, row.Truncated = score, a.Address, cut || int64(len(a.Text)) < a.Size
		out = append(out, supplementary(row, schema.SupplementRescue, nil, a.Of))
	}
	return out, nil
}
