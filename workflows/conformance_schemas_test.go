package workflows_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// recordFile reads a record of the schema package's tests.
func recordFile(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testkit.Root(), "schema", "testdata", name))
	require.NoError(t, err)
	return string(data)
}

func recordFiles(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testkit.Root(), "schema", "testdata", pattern))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	return files
}

func TestSection15ASchemaAppendix(t *testing.T) {
	t.Parallel()
	c := newConforming(t)
	target := "7b1f8a52-8c0a-4f2e-9f33-0a2d5a6f1d99" // of the relations in the test files
	c.made(t, withMembers(t, semantic("what others name", "go", everywhere), map[string]any{"id": target}))

	t.Run("15A.1 the enumerations have exactly these values", func(t *testing.T) {
		for i, sensitivity := range []string{"public", "low", "medium", "high", "hyper"} {
			record := withMembers(t, semantic(fmt.Sprint("sensitive ", i), "x", everywhere),
				map[string]any{"sensitivity": sensitivity})
			requireHolds(t, record, c.shown(t, c.made(t, record), schema.ShapeAppendix))
		}
		require.Equal(t, []string{"records[0].sensitivity"},
			c.refused(t, withMembers(t, semantic("x", "y", everywhere), map[string]any{"sensitivity": "secret"})))
		require.Contains(t, c.refused(t, withMembers(t, semantic("x", "y", everywhere),
			map[string]any{"type": "note"})), "records[0].type")
	})
	t.Run("15A.2 to 15A.10 every field of a record is returned as it was put", func(t *testing.T) {
		for _, file := range recordFiles(t, "appendix_*.json") {
			record := recordFile(t, file)
			item := c.put(t, record)[0]
			require.Equal(t, schema.PutCreated, item.Status, "%s: %s", file, item.Problem)
			got := c.shown(t, item.ID, schema.ShapeAppendix)
			requireHolds(t, withMembers(t, record, map[string]any{"audit_log": nil}), got)
			require.Equal(t, schema.PutUnchanged, c.put(t, got)[0].Status, "a record that was read can be put again")
			_, err := schema.DecodeRecord([]byte(got))
			require.NoError(t, err)
		}
	})
	t.Run("15A.2 to 15A.10 invalid values are refused with their path", func(t *testing.T) {
		base := recordFile(t, "appendix_semantic.json")
		for field, spoiled := range map[string]string{
			"confidence":                        withMembers(t, base, map[string]any{"confidence": 1.5}),
			"salience":                          withMembers(t, base, map[string]any{"salience": -0.1}),
			"created_at":                        withMembers(t, base, map[string]any{"created_at": "yesterday"}),
			"tags[0]":                           withMembers(t, base, map[string]any{"tags": []any{7}}),
			"lifecycle.decay.curve":             strings.Replace(base, `"exponential"`, `"sudden"`, 1),
			"lifecycle.decay.half_life_seconds": strings.Replace(base, `604800`, `-1`, 1),
			"lifecycle.decay.min_salience":      strings.Replace(base, `0.05`, `2`, 1),
			"lifecycle.decay.max_age_seconds":   strings.Replace(base, `31536000`, `-3`, 1),
			"lifecycle.deletion_policy":         strings.Replace(base, `"auto_prune"`, `"sometimes"`, 1),
			"provenance.sources[0].kind":        strings.Replace(base, `"kind": "event"`, `"kind": "rumour"`, 1),
			"relations[0].weight": withMembers(t, base,
				map[string]any{"relations": []any{map[string]any{"predicate": "supports", "target_id": target,
					"weight": 2}}}),
			"relations[0].target_id": withMembers(t, base,
				map[string]any{"relations": []any{map[string]any{"predicate": "supports"}}}),
			"payload.validity.mode":   strings.Replace(base, `"timeboxed"`, `"mostly"`, 1),
			"payload.revision.status": strings.Replace(base, `"contested"`, `"doubtful"`, 1),
			"payload.validity.start":  strings.Replace(base, `"2026-01-01T00:00:00Z"`, `"new year"`, 1),
			"payload.colour":          strings.Replace(base, `"subject"`, `"colour": "red", "subject"`, 1),
			"payload.state": strings.Replace(recordFile(t, "appendix_working.json"), `"planning"`,
				`"sleeping"`, 1),
			"payload.timeline[0].t": strings.Replace(recordFile(t, "appendix_episodic.json"),
				`"t": "2026-01-28T00:00:00Z"`, `"t": "noon"`, 1),
			"payload.metrics.failure_rate": strings.Replace(recordFile(t, "appendix_plan_graph.json"),
				`"failure_rate": 0.1`, `"failure_rate": 1.1`, 1),
			"payload.edges[0].kind": strings.Replace(recordFile(t, "appendix_plan_graph.json"), `"control"`,
				`"other"`, 1),
			"payload.recipe[0].step": strings.Replace(recordFile(t, "rfc_competence.json"),
				`"step": "Clear build cache"`, `"step": 1`, 1),
			"payload.triggers[0].signal": strings.Replace(recordFile(t, "rfc_competence.json"),
				`"signal": "ld: cache mismatch",`, ``, 1),
		} {
			require.Contains(t, c.refused(t, spoiled), "records[0]."+field)
		}
	})
	t.Run("15A.12 the printed example records are stored and returned unchanged", func(t *testing.T) {
		for file, id := range map[string]string{"rfc_semantic.json": "9a2b...", "rfc_competence.json": "c01d..."} {
			record := recordFile(t, file)
			item := c.put(t, record)[0]
			require.Equal(t, schema.PutCreated, item.Status, item.Problem)
			require.Equal(t, []string{id, memory.RecordID(c.p.Tenant, id).String()}, []string{item.ExternalID, item.ID},
				"an id that is no UUID is mapped, and kept")
			requireHolds(t, withMembers(t, record, map[string]any{"id": item.ID, "external_id": id}),
				c.shown(t, item.ID, schema.ShapeAppendix))
			require.Equal(t, schema.PutUnchanged, c.put(t, record)[0].Status)
		}
		require.Contains(t, c.recalled(t, "backend language", `{"project_kind": "backend_service"}`),
			memory.RecordID(c.p.Tenant, "9a2b...").String())
		require.NotContains(t, c.recalled(t, "backend language", `{"project_kind": "data_science"}`),
			memory.RecordID(c.p.Tenant, "9a2b...").String())
		require.Contains(t, c.recalled(t, "ld: cache mismatch", ""), memory.RecordID(c.p.Tenant, "c01d...").String())
	})
	testkit.CheckInvariants(t, testkit.Owner(t, c.DatabaseURL))
}

func TestSection15ACanonicalSchemas(t *testing.T) {
	t.Parallel()
	c := newConforming(t)
	target := "7b1f8a52-8c0a-4f2e-9f33-0a2d5a6f1c99"
	c.made(t, withMembers(t, semantic("what others name", "go", everywhere), map[string]any{"id": target}))

	t.Run("15A.1 to 15A.8 a record in this shape is accepted and returned in both", func(t *testing.T) {
		for _, file := range recordFiles(t, "canonical_*.json") {
			record := recordFile(t, file)
			given, err := schema.DecodeRecord([]byte(record))
			require.NoError(t, err)
			item := c.put(t, record)[0]
			require.Equal(t, schema.PutCreated, item.Status, "%s: %s", file, item.Problem)
			for _, shape := range []schema.Shape{schema.ShapeCanonical, schema.ShapeAppendix} {
				want, err := schema.EncodeRecord(given, shape)
				require.NoError(t, err)
				// Set by the store: owner, defaults of missing fields, the next decay, and the derivation.
				own := map[string]any{"tenant": nil, "agent": nil, "project": nil, "visibility": nil,
					"policy_group": nil, "version": nil, "category": nil, "tier": nil,
					"typology": nil, "content": nil, "salience_at": nil, "status": nil, "occurred_at": nil, "tags": nil,
					"audit_log": nil, "who": nil,
					"deletion_policy": nil, "lifecycle": nil, "created_by": nil, "provenance": nil}
				if shape == schema.ShapeCanonical {
					delete(own, "provenance")
				}
				got := c.shown(t, item.ID, shape)
				requireHolds(t, withMembers(t, string(want), own), got)
				again, err := schema.DecodeRecord([]byte(got))
				require.NoError(t, err)
				encoded, err := schema.EncodeRecord(again, shape)
				require.NoError(t, err)
				require.JSONEq(t, got, string(encoded))
			}
			require.Equal(t, schema.PutUnchanged, c.put(t, record)[0].Status)
		}
	})
	t.Run("15A.1 plan and plan_graph are one type", func(t *testing.T) {
		require.Equal(t, schema.TypePlanGraph, c.get(t, "7b1f8a52-8c0a-4f2e-9f33-0a2d5a6f1c05").Type)
	})
	t.Run("15A.1 salience beyond the appendix's maximum of 1 is refused, not clamped", func(t *testing.T) {
		require.Equal(t, []string{"records[0].salience"},
			c.refused(t, withMembers(t, recordFile(t, "canonical_working.json"), map[string]any{"salience": 1.5})))
	})
	t.Run("15A.1 no type bypasses the base record, however it is written", func(t *testing.T) {
		started, result := c.Ingest(t, testkit.Request(c.p, schema.SourceObservation,
			"I prefer tea. The kettle is made of copper."))
		require.Zero(t, result.Dead)
		require.NotEmpty(t, started.Ack.MemoryIDs)
		db := testkit.Owner(t, c.DatabaseURL)
		kinds := map[schema.MemoryType]bool{}
		for _, id := range testkit.Strings(t, db, `SELECT id::text FROM memories`) {
			m := c.get(t, id)
			kinds[m.Type] = true
			for _, shape := range []schema.Shape{schema.ShapeAppendix, schema.ShapeCanonical} {
				_, err := schema.DecodeRecord([]byte(c.shown(t, id, shape)))
				require.NoError(t, err, "%s %s", m.Type, shape)
			}
			require.NotEmpty(t, m.AuditLog)
		}
		require.Len(t, kinds, len(testkit.MemoryTypes))
	})
	t.Run("15A.4 conditional truths coexist", func(t *testing.T) {
		for _, ground := range []string{onBackends, onData, `{"mode": "timeboxed", "end": "2020-01-01T00:00:00Z"}`,
			`{"mode": "timeboxed", "start": "2031-01-01T00:00:00Z"}`} {
			c.made(t, semantic("Gus", "go on some ground", ground))
		}
		require.Len(t, testkit.Strings(t, testkit.Owner(t, c.DatabaseURL),
			`SELECT id::text FROM memories WHERE subject = 'Gus' AND live AND status = 'active'`), 4)
	})
	t.Run("15A.8 every revision is audited and linked to its evidence", func(t *testing.T) {
		held := func(subject string) string { return c.made(t, semantic(subject, "go", onBackends)) }
		said := func(subject string) string { return semantic(subject, "rust", onBackends) }
		contested := held("Kai")
		revised := map[schema.AuditAction][]string{} // the records of each step: the new one, then those it changed
		for action, revision := range map[schema.AuditAction]struct {
			action  schema.ReviseAction
			record  string
			targets []string
		}{
			schema.AuditRevise:  {schema.ReviseSupersede, said("Hal"), []string{held("Hal")}},
			schema.AuditFork:    {schema.ReviseFork, semantic("Ida", "python", onData), []string{held("Ida")}},
			schema.AuditMerge:   {schema.ReviseMerge, said("Jo and Jay"), []string{held("Jo"), held("Jay")}},
			schema.AuditContest: {schema.ReviseContest, said("Kai"), []string{contested}},
			schema.AuditRetract: {schema.ReviseRetract, "", []string{held("Lea")}},
		} {
			touched := revision.targets
			if id := c.applied(t, revision.action, revision.record, revision.targets...); id != "" {
				touched = append([]string{id}, touched...)
			}
			revised[action] = touched
		}
		rival := revised[schema.AuditContest][0]
		resolution := c.applied(t, schema.ReviseResolve, semantic("Kai", "zig", onBackends), contested, rival)
		for action, ids := range revised {
			for _, id := range ids {
				requireAudited(t, c.get(t, id), action, "person:mia", "said so later")
			}
		}
		for _, id := range []string{resolution, contested, rival} {
			requireAudited(t, c.get(t, id), schema.AuditResolve, "person:mia", "said so later")
		}
		for _, id := range []string{revised[schema.AuditRevise][0], revised[schema.AuditFork][0],
			revised[schema.AuditMerge][0], rival, resolution} {
			require.Contains(t, c.get(t, id).Provenance.Sources, schema.Ref{Kind: "event", Ref: "evt://2"},
				"the evidence")
		}
		retracted := revised[schema.AuditRetract][0]
		history := testkit.History(t, c.Store, c.p, uuid.MustParse(retracted))
		require.Contains(t, string(history[len(history)-1].Metadata), "evt://2",
			"a retracted record has its evidence in history")

		id := held("Max")
		requireAudited(t, c.get(t, id), schema.AuditCreate, "agent:agent-1", "known elsewhere")
		c.forget(t, id)
		requireAudited(t, c.get(t, id), schema.AuditDelete, "person:mia", "not wanted any more")
		recovered := recoverMemories(t, c.Harness,
			schema.RecoverRequest{Operation: schema.Operation{Principal: c.p, Actor: "person:bo", Reason: "by mistake"},
				Targets: []schema.Target{{ID: id}}})
		require.Equal(t, schema.RecoverRecovered, recovered.Items[0].Status)
		requireAudited(t, c.get(t, id), schema.AuditRecover, "person:bo", "by mistake")
	})
	testkit.CheckInvariants(t, testkit.Owner(t, c.DatabaseURL))
}
