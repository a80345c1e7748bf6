package workflows_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/layers"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// putAll puts records through the workflow and returns their ids.
func (o onlooker) putAll(records ...string) []string {
	o.t.Helper()
	_, _, result := runPut(o.t, o.h, putRequest(o.t, o.p, records...))
	var ids []string
	for _, item := range result.Items {
		require.Equal(o.t, schema.PutCreated, item.Status, item.Problem)
		ids = append(ids, item.ID)
	}
	return ids
}

// fixOf is a procedure for one error on one operating system, with its outcomes so far.
func fixOf(name, os string, successes, failures int) string {
	return fmt.Sprintf(`{"type": "competence", "confidence": 0.8, "payload": {"kind": "competence", "skill_name": %q,
		"triggers": [{"signal": "ld: cache mismatch", "conditions": {"os": %q}}], "recipe": [{"step": "Run %s"}],
		"performance": {"success_count": %d, "failure_count": %d}}}`, name, os, name, successes, failures)
}

func selectionIn(answer schema.RecallResponse, layer schema.LayerName) schema.Selection {
	for _, s := range answer.Selections {
		if s.Layer == layer {
			return s
		}
	}
	return schema.Selection{}
}

// TestSection15_8TaskDescriptor: each field of the task descriptor affects the results.
func TestSection15_8TaskDescriptor(t *testing.T) {
	t.Parallel()
	o := onlooker{t, harness.New(t, nil), testkit.Principal()}
	ids := o.putAll(
		fixOf("clear_cache", "linux", 9, 1), fixOf("reinstall_tools", "macos", 9, 1),
		`{"type": "plan_graph", "confidence": 0.9, "payload": {"kind": "plan_graph", "plan_id": "release", "version": "1", "intent": "publish_release",
			"nodes": [{"id": "a", "op": "tag"}], "edges": []}}`,
		`{"type": "semantic", "confidence": 0.9, "payload": {"kind": "semantic", "subject": "handbook", "predicate": "is_kept", "object": "in the wiki",
			"validity": {"mode": "timeboxed", "start": "2026-01-01T00:00:00Z", "end": "2026-06-01T00:00:00Z"}, "evidence": [{"kind": "human", "ref": "Ana"}]}}`)
	linux, macos, plan, handbook := ids[0], ids[1], ids[2], ids[3]
	found := func(answer schema.RecallResponse) (out []string) {
		for _, r := range answer.Results {
			out = append(out, r.ID)
		}
		return out
	}
	onLinux := json.RawMessage(`{"os": "linux"}`)

	t.Run("error signature and situation", func(t *testing.T) {
		req := schema.RecallRequest{Query: "what now", Task: &schema.Task{ErrorSignature: "ld: cache mismatch"},
			Context: onLinux}
		answer := o.recall(req)
		require.Contains(t, found(answer), linux)
		require.NotContains(t, found(answer), macos, "its conditions do not apply")
		require.Equal(t, linux, selectionIn(answer, schema.LayerCompetence).Selected)
		req.Context = json.RawMessage(`{"os": "macos"}`)
		require.Equal(t, macos, selectionIn(o.recall(req), schema.LayerCompetence).Selected)
		req.Task = nil
		require.Empty(t, o.recall(req).Selections, "selected by the signature")
	})
	t.Run("intent", func(t *testing.T) {
		require.Contains(t, found(o.recall(schema.RecallRequest{Query: "what now",
			Task: &schema.Task{Intent: "publish_release"}})), plan)
		require.NotContains(t, found(o.recall(schema.RecallRequest{Query: "what now", Task: &schema.Task{}})), plan)
	})
	t.Run("budget", func(t *testing.T) {
		req := schema.RecallRequest{Query: "cache mismatch or publish release",
			Task: &schema.Task{ErrorSignature: "ld: cache mismatch", Intent: "publish_release"}}
		tokens := func() (used int) {
			for _, r := range o.recall(req).Results {
				n, _ := layers.ResultTokens(r)
				used += n
			}
			return used
		}
		all := tokens()
		req.Task.BudgetTokens = all - 1
		within := tokens()
		require.True(t, within > 0 && within < all, "%d of %d tokens", within, all)
	})
	t.Run("time", func(t *testing.T) {
		in, after := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
		require.Equal(t, []string{handbook},
			found(o.recall(schema.RecallRequest{Query: "where is the handbook kept", ValidAt: &in})))
		require.Empty(t, found(o.recall(schema.RecallRequest{Query: "where is the handbook kept", ValidAt: &after})))
	})
	t.Run("types", func(t *testing.T) {
		req := schema.RecallRequest{Query: "ld: cache mismatch",
			Task:  &schema.Task{ErrorSignature: "ld: cache mismatch"},
			Types: []schema.MemoryType{schema.TypeCompetence}}
		require.ElementsMatch(t, []string{linux, macos}, found(o.recall(req)))
		req.Task.Intent, req.Types = "publish_release", []schema.MemoryType{schema.TypePlanGraph}
		require.Equal(t, []string{plan}, found(o.recall(req)))
	})
}

// TestSection15_8Layers: an answer for a task has the five layers in their order, each with the results of its type.
func TestSection15_8Layers(t *testing.T) {
	t.Parallel()
	o := onlooker{t, harness.New(t, nil), testkit.Principal()}
	ids := o.putAll(
		`{"type": "episodic", "confidence": 1, "payload": {"kind": "episodic", "timeline": [{"t": "2026-11-01T10:00:00Z", "event_kind": "tool_call",
			"ref": "tool://1", "summary": "deploy Atlas failed once"}]}}`,
		`{"type": "plan_graph", "confidence": 0.9, "payload": {"kind": "plan_graph", "plan_id": "atlas", "version": "1", "intent": "deploy Atlas",
			"nodes": [{"id": "a", "op": "build"}], "edges": []}}`,
		`{"type": "competence", "confidence": 0.9, "payload": {"kind": "competence", "skill_name": "deploy_atlas", "triggers": [{"signal": "deploy Atlas"}],
			"recipe": [{"step": "Run make deploy"}]}}`,
		`{"type": "semantic", "confidence": 0.9, "payload": {"kind": "semantic", "subject": "deploy of Atlas", "predicate": "runs_on", "object": "linux",
			"validity": {"mode": "global"}, "evidence": [{"kind": "human", "ref": "Ana"}]}}`,
		`{"type": "working", "confidence": 1, "payload": {"kind": "working", "thread_id": "atlas-1", "state": "executing", "context_summary": "About to deploy Atlas"}}`)
	answer := o.recall(schema.RecallRequest{Query: "deploy Atlas", Task: &schema.Task{Intent: "deploy Atlas"}})
	var got []string
	var names []schema.LayerName
	for _, layer := range answer.Layers {
		names = append(names, layer.Name)
		require.Len(t, layer.IDs, 1, layer.Name)
		got = append(got, layer.IDs...)
	}
	require.Equal(t, []schema.LayerName{schema.LayerWorking, schema.LayerSemantic, schema.LayerCompetence,
		schema.LayerPlan,
		schema.LayerEpisodic}, names)
	require.Equal(t, []string{ids[4], ids[3], ids[2], ids[1], ids[0]}, got)
}

// TestSection15_8Redaction: results above the limit are withheld, or redacted to a stored summary or to metadata, as
// the policy requires. Their content is in none of these answers.
func TestSection15_8Redaction(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(*workflows.Dependencies) {})
	o := onlooker{t, h, testkit.Principal()}
	ids := o.putAll(`{"type": "semantic", "category": "decision", "sensitivity": "high", "confidence": 0.9, "safe_summary": "Dana's salary is on record",
		"payload": {"kind": "semantic", "subject": "Dana's salary", "predicate": "is", "object": "ninety thousand", "validity": {"mode": "global"},
		"evidence": [{"kind": "human", "ref": "Ana"}]}}`)
	for file, want := range map[string]struct {
		redacted schema.Redaction
		content  string
	}{
		"":                                       {},
		"trust: {above_limit: {high: summary}}":  {schema.RedactedSummary, "Dana's salary is on record"},
		"trust: {above_limit: {high: metadata}}": {schema.RedactedMetadata, ""},
	} {
		var rules *policy.Policy
		var err error
		if file != "" {
			rules, err = policy.Parse([]byte(file))
			require.NoError(t, err)
		}
		r := h.Recaller()
		r.Policy = func() *policy.Policy { return rules }
		answer, err := r.Recall(t.Context(), schema.RecallRequest{Principal: o.p, Query: "salary",
			Categories: []schema.Category{schema.CategoryDecision}})
		require.NoError(t, err)
		encoded, err := json.Marshal(answer)
		require.NoError(t, err)
		require.NotContains(t, string(encoded), "ninety", file)
		if want.redacted == "" {
			require.Empty(t, answer.Results)
			continue
		}
		require.Len(t, answer.Results, 1, file)
		got := answer.Results[0]
		require.Equal(t, []any{ids[0], want.redacted, want.content, schema.SensitivityHigh},
			[]any{got.ID, got.Redacted, got.Content, got.Sensitivity})
		require.Equal(t, map[schema.Redaction]int{want.redacted: 1}, answer.Meta.Redacted)
	}
}

// TestSection15BSelection: competing procedures and plans do not replace one another; the context selects. If it does
// not decide, the answer names the missing conditions.
func TestSection15BSelection(t *testing.T) {
	t.Parallel()
	o := onlooker{t, harness.New(t, nil), testkit.Principal()}
	plan := func(id, os string) string {
		return fmt.Sprintf(`{"type": "plan_graph", "confidence": 0.9, "payload": {"kind": "plan_graph", "plan_id": %q, "version": "1", "intent": "publish_release",
			"constraints": {"os": %q}, "nodes": [{"id": "a", "op": "tag"}], "edges": []}}`, id, os)
	}
	ids := o.putAll(fixOf("clear_cache", "linux", 9, 1), fixOf("reinstall_tools", "macos", 9, 1), plan("p1", "linux"),
		plan("p2", "macos"))
	require.Equal(t, sorted(ids...), o.live(), "all are kept")
	for _, c := range []struct {
		context  string
		fix, way string
	}{{`{"os": "linux"}`, ids[0], ids[2]}, {`{"os": "macos"}`, ids[1], ids[3]}, {`{}`, "", ""}} {
		answer := o.recall(schema.RecallRequest{Query: "publish the release", Context: json.RawMessage(c.context),
			Task: &schema.Task{Intent: "publish_release", ErrorSignature: "ld: cache mismatch"}})
		fix, way := selectionIn(answer, schema.LayerCompetence), selectionIn(answer, schema.LayerPlan)
		require.Equal(t, []string{c.fix, c.way}, []string{fix.Selected, way.Selected}, c.context)
		require.Len(t, fix.Candidates, 2)
		if c.fix == "" {
			require.Equal(t, "os", fix.MissingContext[0].Key)
		}
	}
}
