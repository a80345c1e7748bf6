package workflows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

func TestSection7SemanticMemory(t *testing.T) {
	t.Parallel()
	c := newConforming(t)
	ctx := context.Background()
	t.Run("a record has a triple, evidence, confidence and validity", func(t *testing.T) {
		for i, object := range []string{`"go"`, `1.5`, `true`, `{"first": "go"}`, `["go", 2]`} {
			record := strings.Replace(semantic(fmt.Sprint("subject ", i), "OBJECT", onBackends), `"OBJECT"`, object, 1)
			record = strings.Replace(record, `"kind": "semantic",`,
				`"kind": "semantic", "evidence": [{"kind": "observation", "ref": "obs://1"}],`, 1)
			requireHolds(t, record, c.shown(t, c.made(t, record), schema.ShapeAppendix))
		}
		for _, member := range []string{"subject", "predicate", "object", "validity"} {
			var record map[string]any
			require.NoError(t, json.Unmarshal([]byte(semantic("x", "y", everywhere)), &record))
			payload, ok := record["payload"].(map[string]any)
			require.True(t, ok)
			delete(payload, member)
			encoded, err := json.Marshal(record)
			require.NoError(t, err)
			require.Equal(t, []string{"records[0].payload." + member}, c.refused(t, string(encoded)))
		}
	})
	t.Run("a replaced record stays in history", func(t *testing.T) {
		old := c.made(t, semantic("Ana", "go", everywhere))
		id := c.applied(t, schema.ReviseSupersede, semantic("Ana", "rust", everywhere), old)
		requireHolds(t, `{"payload": {"object": "rust", "revision": {"status": "active", "supersedes": "`+old+`"}}}`,
			c.shown(t, id, schema.ShapeAppendix))
		requireHolds(t, `{"payload": {"object": "go", "revision": {"status": "superseded", "superseded_by": "`+id+
			`"}}}`, c.shown(t, old, schema.ShapeAppendix))
	})
	t.Run("conditional records coexist and the context selects", func(t *testing.T) {
		backend := c.made(t, semantic("Bob", "go", onBackends))
		data := c.made(t, semantic("Bob", "python", onData))
		for situation, want := range map[string][2]bool{`{"project_kind": "backend_service"}`: {true, false},
			`{"project_kind": "data_science"}`: {false, true},
			`{"project_kind": "game"}`:         {}, ``: {true, true}} {
			found := c.recalled(t, "Bob prefers backend language", situation)
			require.Equal(t, want, [2]bool{slices.Contains(found, backend), slices.Contains(found, data)}, situation)
		}
	})
	t.Run("a fork and its original are both active, also for recall", func(t *testing.T) {
		backend := c.made(t, semantic("Bea", "go", onBackends))
		data := c.applied(t, schema.ReviseFork, semantic("Bea", "python", onData), backend)
		require.Subset(t, c.recalled(t, "Bea prefers backend language", ""), []string{backend, data})
	})
	t.Run("a record is deleted", func(t *testing.T) {
		id := c.made(t, semantic("Cleo", "perl", everywhere))
		require.Contains(t, c.recalled(t, "Cleo prefers backend language perl", ""), id)
		c.forget(t, id)
		require.NotContains(t, c.recalled(t, "Cleo prefers backend language perl", ""), id)
	})
	t.Run("a record is edited through evidence only", func(t *testing.T) {
		id := c.made(t, semantic("Dora", "go", everywhere))
		before := c.shown(t, id, schema.ShapeAppendix)
		require.Equal(t, schema.PutExists,
			c.put(t, withMembers(t, semantic("Dora", "rust", everywhere), map[string]any{"id": id}))[0].Status)
		require.Equal(t, schema.PutConflict, c.put(t, semantic("Dora", "rust", everywhere))[0].Status)
		var invalid *schema.ValidationError
		for _, action := range []schema.ReviseAction{schema.ReviseSupersede, schema.ReviseFork, schema.ReviseContest,
			schema.ReviseReconcile, schema.ReviseRetract} {
			req := reviseRequest(c.p, action, nil, c.as(t, id)...)
			if action != schema.ReviseRetract {
				m := prefers("rust", "")
				req.Record = &m
			}
			req.Evidence = nil
			_, err := mneme.StartRevise(ctx, c.Temporal, c.TaskQueue, req)
			require.ErrorAs(t, err, &invalid)
			require.Equal(t, []schema.FieldError{{Field: "evidence", Problem: "must hold at least one ref"}},
				invalid.Fields)
		}
		text := "Dora prefers OCaml."
		unexplained := modifyRequest(c.p, schema.Patch{ID: id, Content: &text})
		unexplained.Reason = ""
		_, err := mneme.StartModify(ctx, c.Temporal, c.TaskQueue, unexplained)
		require.ErrorAs(t, err, &invalid)
		require.JSONEq(t, before, c.shown(t, id, schema.ShapeAppendix), "the refused edits changed nothing")

		_, modified := modify(t, c.Harness, modifyRequest(c.p, schema.Patch{ID: id, Content: &text}))
		require.Equal(t, schema.PatchUpdated, modified.Results[0].Status)
		sources := c.get(t, id).Provenance.Sources
		require.Len(t, sources, 2, "the actor and the reason of an edit are evidence")
		require.Equal(t, []string{"human", "person:mia: it was wrong"}, []string{sources[1].Kind, sources[1].Ref})
	})
	t.Run("conflicting evidence ends in replacement, a conditional fork or contestation", func(t *testing.T) {
		for name, reconcile := range map[string]struct {
			held, policy, record string
			want                 schema.ReviseAction
			status               schema.Status // of the old record
			believed             int           // number of live records afterwards
		}{
			"equal support": {everywhere, "replace", semantic("S", "rust", everywhere), schema.ReviseSupersede,
				schema.StatusSuperseded, 1},
			"less support": {everywhere, "replace",
				withMembers(t, semantic("S", "rust", everywhere), map[string]any{"confidence": 0.2}),
				schema.ReviseContest,
				schema.StatusContested, 2},
			"other conditions": {onBackends, "replace", semantic("S", "python", onData), schema.ReviseFork,
				schema.StatusActive, 2},
			"policy contest": {everywhere, "contest", semantic("S", "rust", everywhere), schema.ReviseContest,
				schema.StatusContested, 2},
			"special case": {everywhere, "replace", semantic("S", "python", onData), schema.ReviseContest,
				schema.StatusContested, 2},
		} {
			subject := "subject: " + name
			held := strings.Replace(semantic(subject, "go", reconcile.held), `"kind": "semantic",`,
				`"kind": "semantic", "revision_policy": "`+reconcile.policy+`",`, 1)
			id := c.made(t, held)
			result := c.revise(t, schema.ReviseReconcile, strings.Replace(reconcile.record, `"S"`, `"`+subject+`"`, 1),
				id)
			require.Equal(t, []any{schema.ReviseApplied, reconcile.want}, []any{result.Status, result.Action}, "%s: %s",
				name, result.Why)
			require.NotEmpty(t, result.Why)
			require.Equal(t, reconcile.status, c.get(t, id).Status, name)
			live := 0
			for _, m := range []string{id, result.Record.ID} {
				if s := c.get(t, m).Status; s == schema.StatusActive || s == schema.StatusContested {
					live++
				}
			}
			require.Equal(t, reconcile.believed, live, name)
		}
	})
	t.Run("a contested record is uncertain until it is resolved", func(t *testing.T) {
		one := c.made(t, semantic("Finn", "go", everywhere))
		other := c.applied(t, schema.ReviseContest, semantic("Finn", "rust", everywhere), one)
		for _, id := range []string{one, other} {
			requireHolds(t, `{"payload": {"revision": {"status": "contested"}}}`, c.shown(t, id, schema.ShapeAppendix))
		}
		req := reviseRequest(c.p, schema.ReviseResolve, nil, c.as(t, one, other)...)
		req.Winner = other
		_, result := revise(t, c.Temporal, c.TaskQueue, req)
		require.Equal(t, schema.ReviseApplied, result.Status, result.Why)
		require.Equal(t, []schema.Status{schema.StatusSuperseded, schema.StatusActive},
			[]schema.Status{c.get(t, one).Status, c.get(t, other).Status})
	})
	testkit.CheckInvariants(t, testkit.Owner(t, c.DatabaseURL))
}

func TestSection8CompetenceMemory(t *testing.T) {
	t.Parallel()
	c := newConforming(t)
	first := c.made(t, competence("1.0", "Clear build cache", "macos"))
	t.Run("triggers, ordered and conditional steps, tools, failure modes and fallbacks are kept", func(t *testing.T) {
		requireHolds(t, competence("1.0", "Clear build cache", "macos"), c.shown(t, first, schema.ShapeAppendix))
		conditional := strings.Replace(competence("1.0", "Run it under sudo", "solaris"), `"tool": "shell"`,
			`"tool": "shell", "args_schema": {"type": "object"}, "conditions": {"locked": true}`, 1)
		requireHolds(t, conditional, c.shown(t, c.made(t, conditional), schema.ShapeAppendix))
	})
	t.Run("a procedure without triggers or steps is refused", func(t *testing.T) {
		for _, member := range []string{"triggers", "recipe"} {
			for _, value := range []any{nil, []any{}} {
				var record map[string]any
				require.NoError(t, json.Unmarshal([]byte(competence("1.0", "x", "y")), &record))
				payload, err := json.Marshal(record["payload"])
				require.NoError(t, err)
				record["payload"] = json.RawMessage(withMembers(t, string(payload), map[string]any{member: value}))
				encoded, err := json.Marshal(record)
				require.NoError(t, err)
				require.Equal(t, []string{"records[0].payload." + member}, c.refused(t, string(encoded)))
			}
		}
	})
	t.Run("confidence is a score", func(t *testing.T) {
		require.InDelta(t, 0.7, c.get(t, first).Confidence, 0)
		require.Equal(t, []string{"records[0].confidence"},
			c.refused(t, withMembers(t, competence("1", "x", "y"), map[string]any{"confidence": nil})))
		require.Equal(t, []string{"records[0].confidence"},
			c.refused(t, withMembers(t, competence("1", "x", "y"), map[string]any{"confidence": 1.1})))
	})
	t.Run("another fix for other conditions is added to the first", func(t *testing.T) {
		before := c.get(t, first)
		second := c.applied(t, schema.ReviseFork, competence("1.0", "Switch to the other linker", "linux"), first)
		third := c.made(t, competence("1.0", "Turn the cache off", "windows"))
		require.Subset(t, c.recalled(t, "ld: cache mismatch", ""), []string{first, second, third})
		require.JSONEq(t, string(before.Payload), string(c.get(t, first).Payload))
		require.Equal(t, schema.StatusActive, c.get(t, first).Status)
	})
	t.Run("a new version replaces the old one, which is kept", func(t *testing.T) {
		next := c.applied(t, schema.ReviseSupersede, competence("1.1", "Clear build and module cache", "macos"), first)
		require.NotContains(t, c.recalled(t, "ld: cache mismatch", ""), first)
		requireHolds(t, `{"status": "superseded", "superseded_by": "`+next+`", "payload": {"version": "1.0"}}`,
			c.shown(t, first, schema.ShapeAppendix))
		requireHolds(t, `{"status": "active", "supersedes": "`+first+`", "payload": {"version": "1.1"}}`,
			c.shown(t, next, schema.ShapeAppendix))
	})
	testkit.CheckInvariants(t, testkit.Owner(t, c.DatabaseURL))
}

func TestSection9PlanMemory(t *testing.T) {
	t.Parallel()
	c := newConforming(t)
	first := c.made(t, planOf("1", "go", "linux"))
	t.Run("actions are nodes, dependencies are edges, branches are conditional", func(t *testing.T) {
		requireHolds(t, planOf("1", "go", "linux"), c.shown(t, first, schema.ShapeAppendix))
	})
	t.Run("edges join existing nodes without a cycle", func(t *testing.T) {
		for broken, field := range map[string]string{
			strings.Replace(planOf("1", "x", "y"), `"from": "repo"`, `"from": "nowhere"`,
				1): "records[0].payload.edges[0].from",
			strings.Replace(planOf("1", "x", "y"), `"to": "ci"`, `"to": "nowhere"`,
				1): "records[0].payload.edges[1].to",
			strings.Replace(planOf("1", "x", "y"), `"to": "ci"`, `"to": "repo"`,
				1): "records[0].payload.edges",
			strings.Replace(planOf("1", "x", "y"), `"id": "ci"`, `"id": "backend"`,
				1): "records[0].payload.nodes[2].id",
			strings.Replace(planOf("1", "x", "y"), `"kind": "data"`, `"kind": "magic"`,
				1): "records[0].payload.edges[0].kind",
			strings.Replace(planOf("1", "x", "y"), `"version": "1", `, ``,
				1): "records[0].payload.version",
			strings.Replace(planOf("1", "x", "y"), `"version": "1"`, `"version": ""`,
				1): "records[0].payload.version",
		} {
			require.Contains(t, c.refused(t, broken), field)
		}
	})
	t.Run("several plans serve one intent", func(t *testing.T) {
		other := c.made(t, planOf("1", "python", "macos"))
		require.Subset(t, c.recalled(t, "setup_project", ""), []string{first, other})
	})
	t.Run("a new version supersedes the old one without deleting it", func(t *testing.T) {
		before := c.get(t, first)
		next := c.applied(t, schema.ReviseSupersede, planOf("2", "rust", "linux"), first)
		require.NotContains(t, c.recalled(t, "setup_project", ""), first)
		old := c.get(t, first)
		require.Equal(t, []any{schema.StatusSuperseded, next, (*time.Time)(nil)},
			[]any{old.Status, old.SupersededBy, old.DeletedAt})
		require.JSONEq(t, string(before.Payload), string(old.Payload))
	})
	testkit.CheckInvariants(t, testkit.Owner(t, c.DatabaseURL))
}

// requireAudited checks that a record's audit log has an entry with the actor and rationale.
func requireAudited(t testing.TB, m schema.MemoryRecord, action schema.AuditAction, actor, rationale string) {
	t.Helper()
	require.True(t, slices.ContainsFunc(m.AuditLog, func(e schema.AuditEntry) bool {
		return e.Action == action && e.Actor == actor && e.Rationale == rationale && !e.Timestamp.IsZero()
	}), "%s by %s: %v", action, actor, m.AuditLog)
}

func TestSection15BBehaviouralGuarantees(t *testing.T) {
	t.Parallel()
	c := newConforming(t)
	t.Run("memory is created without approval", func(t *testing.T) {
		_, result := c.Ingest(t, testkit.Request(c.p, schema.SourceUserInput,
			"I prefer tea over coffee. My sister lives in Lisbon."))
		require.Positive(t, result.Written.Added)
		require.NotEmpty(t, c.listed(t, schema.TypeSemantic, ""))
		waiting, err := c.Store.ListReviews(context.Background(), c.p, pipeline.ReviewFilter{}, pg.Page{})
		require.NoError(t, err)
		require.Empty(t, waiting)
	})
	t.Run("all memories except episodes can be revised", func(t *testing.T) {
		for kind, version := range map[schema.MemoryType]func(n int) string{
			schema.TypeSemantic: func(n int) string {
				return semantic("Ned", fmt.Sprint("language ", n), everywhere)
			},
			schema.TypeCompetence: func(n int) string { return competence("1", fmt.Sprint("step ", n), "beos") },
			schema.TypePlanGraph:  func(n int) string { return planOf("1", fmt.Sprint("language ", n), "beos") },
			schema.TypeWorking:    func(n int) string { return workingOn("", "planning", fmt.Sprint("state ", n)) },
		} {
			next := c.applied(t, schema.ReviseSupersede, version(1), c.made(t, version(0)))
			require.Equal(t, kind, c.get(t, next).Type)
			other := c.made(t, strings.Replace(version(2), "Ned", "Nell", 1))
			merged := c.applied(t, schema.ReviseMerge, version(3), next, other)
			c.applied(t, schema.ReviseRetract, "", merged)
			for _, id := range []string{next, other, merged} {
				require.NotContains(t, c.listed(t, kind, ""), id)
			}
			gone := c.made(t, version(4))
			c.forget(t, gone)
			require.NotContains(t, c.listed(t, kind, ""), gone)
		}
	})
	t.Run("competing procedures and facts coexist and the context selects among facts", func(t *testing.T) {
		golang, python := c.made(t, semantic("Ora", "go", onBackends)), c.made(t, semantic("Ora", "python", onData))
		clear, rebuild := c.made(t, competence("1", "Clear the cache", "macos")), c.made(t, competence("1",
			"Rebuild it all", "macos"))
		require.Subset(t, c.listed(t, schema.TypeCompetence, ""), []string{clear, rebuild})
		require.Contains(t, c.listed(t, schema.TypeSemantic, `{"project_kind": "backend_service"}`), golang)
		require.NotContains(t, c.listed(t, schema.TypeSemantic, `{"project_kind": "backend_service"}`), python)
	})
	t.Run("a deletion can be undone and keeps its history", func(t *testing.T) {
		id := c.made(t, semantic("Pia", "go", everywhere))
		before := c.get(t, id)
		c.forget(t, id)
		require.NotContains(t, c.listed(t, schema.TypeSemantic, ""), id)
		recovered := recoverMemories(t, c.Harness,
			schema.RecoverRequest{Operation: schema.Operation{Principal: c.p, Reason: "by mistake"},
				Targets: []schema.Target{{ID: id}}})
		require.Equal(t, schema.RecoverRecovered, recovered.Items[0].Status)
		after := c.get(t, id)
		require.JSONEq(t, string(before.Payload), string(after.Payload))
		require.Len(t, after.AuditLog, 3)
	})
	testkit.CheckInvariants(t, testkit.Owner(t, c.DatabaseURL))
}
