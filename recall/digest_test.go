package recall_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
)

// The notes and facts of a result's session are added to the transcript, but only with expand.
func TestExpandShowsNotesOfTheSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	said := w.put(w.p, schema.VisibilityPrivate,
		schema.Candidate{Content: "The kettle is too slow for the whole office.", Session: "s1", Speaker: "Ana"})
	w.put(w.p, schema.VisibilityPrivate,
		schema.Candidate{Content: "Then we buy another one.", Session: "s1", Speaker: "Bo"})
	note := func(p schema.Principal, session, text string, level schema.Sensitivity) string {
		return w.keep(p, schema.VisibilityPrivate,
			schema.MemoryRecord{Type: schema.TypeSemantic, Category: schema.CategoryDecision, Content: text,
				Session: session, Sensitivity: level,
				Payload: []byte(fmt.Sprintf(`{"kind":"semantic","evidence":[{"kind":"event","ref":"evt://told"}],"subject":"office","predicate":"states","object":%q,"validity":{"mode":"global"}}`, text))}).String()
	}
	decided := note(w.p, "s1", "A second machine is on order", "")
	note(w.p, "s1", "The budget is ninety thousand", schema.SensitivityHigh)
	note(w.p, "s2", "Nothing was decided on plants", "")
	note(schema.Principal{Tenant: "t", Agent: "b"}, "s1", "Another agent has a session of that name", "")
	req := schema.RecallRequest{Query: "kettle slow",
		Without: []string{rank.StageNeighbourhood, rank.StageSession, "vector"}}
	require.NotContains(t, fmt.Sprint(w.answer(req).Results), "second machine")
	req.Expand = true
	results, extra := split(t, w.answer(req))
	require.Equal(t, said.String(), results[0].ID)
	by := kinds(extra)
	require.Contains(t, by, schema.SupplementTranscript)
	got := by[schema.SupplementSession]
	require.Equal(t, "decision: A second machine is on order", got.Content)
	require.Equal(t, []string{decided}, got.Supplement.Members)
	require.Equal(t, []string{said.String()}, got.Supplement.Of)
	require.Equal(t, "s1", got.Session)
	req.Without = append(req.Without, "expand_sessions")
	_, extra = split(t, w.answer(req))
	require.NotContains(t, kinds(extra), schema.SupplementSession)
}

// model is a reranker and summarizer with delays.
type model struct {
	reranking, summing time.Duration
	answer             string
	err                error
	given              *atomic.Pointer[[]string] // a late summary is not awaited
}

func (m model) Rerank(ctx context.Context, _ string, texts []string) (map[int]float64, inference.Usage, error) {
	wait(ctx, m.reranking)
	return map[int]float64{0: 1}, inference.Usage{}, ctx.Err()
}

func (m model) Summarize(ctx context.Context, _ string, texts []string) (string, inference.Usage, error) {
	m.given.Store(&texts)
	wait(ctx, m.summing)
	return m.answer, inference.Usage{}, errors.Join(m.err, ctx.Err())
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func TestSummaryUsesTheRemainingTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remember("The kettle is too slow for the whole office.")
	w.keepSecret("The kettle cost ninety", schema.SensitivityHigh, "")
	req := schema.RecallRequest{Query: "kettle slow", Expand: true}
	summarize := func(m model, deadline time.Duration) (schema.RecallResult, schema.RecallResponse, []string) {
		m.given = &atomic.Pointer[[]string]{}
		w.Reranking = inference.Reranking{Reranker: m, Summarizer: m, Blend: 0.1, Deadline: deadline}
		out := w.answer(req)
		_, extra := split(t, out)
		var given []string
		if texts := m.given.Load(); texts != nil {
			given = *texts
		}
		return kinds(extra)[schema.SupplementSummary], out, given
	}
	got, out, given := summarize(model{answer: "It is slow. " + strings.Repeat("Very slow. ", 200)}, 20*time.Second)
	require.True(t, strings.HasPrefix(got.Content, "It is slow.") && got.Truncated)
	require.LessOrEqual(t, len([]rune(got.Content)), rank.MaxSupplementChars)
	require.Equal(t, []string{"The kettle is too slow for the whole office."}, given, "only matching texts")
	require.Equal(t, []string{out.Results[0].ID}, got.Supplement.Of)
	require.Less(t, got.Score, out.Results[0].Score)
	require.Empty(t, out.Meta.Degraded)

	for name, m := range map[string]model{"no time is left": {answer: "x", reranking: 900 * time.Millisecond},
		"nothing to say": {}} {
		got, out, _ = summarize(m, time.Second)
		require.Empty(t, got.Content, name)
		require.Empty(t, out.Meta.Degraded, name)
	}
	for name, m := range map[string]model{"it fails": {answer: "x", err: errors.New("down")},
		"it is late": {answer: "x", summing: 30 * time.Second}} {
		got, out, _ = summarize(m, 2*time.Second)
		require.Empty(t, got.Content, name)
		require.Equal(t, []string{"expand_summary"}, out.Meta.Degraded, name)
		require.NotEmpty(t, out.Results)
	}
	req.Expand = false
	_, _, given = summarize(model{answer: "x"}, 20*time.Second)
	require.Empty(t, given, "supplements were not requested")
	req.Expand, req.Without = true, []string{"expand_summary"}
	_, _, given = summarize(model{answer: "x"}, 20*time.Second)
	require.Empty(t, given)
}
