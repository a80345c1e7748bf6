package store_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/edit"
)

// explicit saves a semantic memory with a text, which is also its claim.
func (w *world) explicit(content string) uuid.UUID {
	w.t.Helper()
	ack, _ := w.stage(schema.Candidate{Content: content, SourceKind: schema.SourceMemory})
	require.Empty(w.t, ack.Deduped)
	return uuid.MustParse(ack.MemoryIDs[0])
}

// claimed writes a fact with a functional claim.
func (w *world) claimed(content, who, where string) uuid.UUID {
	w.t.Helper()
	_, r := w.source("somebody says: "+content,
		idea{fact: lives(content, who, where), action: schema.ActionAdd, vector: embed(w.t, content)})
	require.Equal(w.t, schema.WriteCounts{Added: 1}, w.write(r))
	return uuid.MustParse(w.outcomes(r)[0].MemoryID)
}

func (w *world) modification() schema.OperationRef {
	return schema.OperationRef{Tenant: w.p.Tenant, ID: uuid.NewString(), WorkflowID: "modify/t/a/1"}
}

func (w *world) modifyInput(patches ...schema.Patch) edit.ModifyInput {
	return edit.ModifyInput{Operation: w.modification(), Policy: w.policy, Now: w.now,
		Request: schema.ModifyRequest{Operation: schema.Operation{Principal: w.p, Actor: "person:mia",
			Reason: "it was wrong"}, Patches: patches}}
}

func (w *world) modify(patches ...schema.Patch) schema.ModifyResult {
	w.t.Helper()
	in := w.modifyInput(patches...)
	require.NoError(w.t, in.Request.Validate())
	out, err := w.Modify(ctx, in)
	require.NoError(w.t, err)
	require.Len(w.t, out.Results, len(patches))
	return out
}

func (w *world) modifyOne(p schema.Patch) schema.PatchResult {
	w.t.Helper()
	return w.modify(p).Results[0]
}

// ofType saves a memory of a type that only put records have.
func (w *world) ofType(t schema.MemoryType, content, payload string) uuid.UUID {
	w.t.Helper()
	id := w.explicit(content)
	w.exec(`UPDATE memories SET type = $2, payload = $3 WHERE id = $1`, id, t, payload)
	return id
}

func TestModifyStatuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tea, coffee := w.explicit("Tea is served hot."), w.explicit("Coffee is served black.")
	episode := w.memory("The kettle whistled.")
	pinned := w.explicit("critical: Never pour water on a grease fire.")
	skill := w.ofType(schema.TypeCompetence, "Boil water", `{"kind":"competence","skill_name":"Boil water"}`)
	plan := w.ofType(schema.TypePlanGraph, "Brew, then pour", `{"kind":"plan_graph","plan_id":"p","version":"1"}`)
	gone, replaced, archived := w.explicit("This goes."), w.explicit("This is "+
		"replaced."), w.explicit("This is put away.")
	w.softDelete(gone)
	w.softDelete(replaced) // for the text statistics
	w.exec(`UPDATE memories SET status = 'superseded', superseded_by = $2, deleted_at = NULL WHERE id = $1`, replaced,
		tea)
	w.softDelete(archived)
	w.exec(`UPDATE memories SET archived_at = now(), deleted_at = NULL WHERE id = $1`, archived)
	stranger := *w
	stranger.p.Agent = "b"
	theirs := stranger.explicit("A secret of another agent.")

	want := func(id uuid.UUID, status schema.PatchStatus, version int) schema.PatchResult {
		return schema.PatchResult{ID: id.String(), Status: status, CurrentVersion: version}
	}
	for _, test := range []struct {
		name  string
		patch schema.Patch
		want  schema.PatchResult
	}{
		{"no changes", schema.Patch{ID: tea.String(), Content: ptr(" Tea is  served hot. ")},
			want(tea, schema.PatchNoChanges, 1)},
		{"not there", schema.Patch{ID: uuid.Nil.String(), Who: ptr("x")}, want(uuid.Nil, schema.PatchNotFound, 0)},
		{"hidden", schema.Patch{ID: theirs.String(), Who: ptr("x")}, want(theirs, schema.PatchNotFound, 0)},
		{"deleted", schema.Patch{ID: gone.String(), Who: ptr("x")}, want(gone, schema.PatchDeleted, 2)},
		{"superseded", schema.Patch{ID: replaced.String(), Who: ptr("x")}, want(replaced, schema.PatchNotLive, 2)},
		{"archived", schema.Patch{ID: archived.String(), Who: ptr("x")}, want(archived, schema.PatchNotLive, 2)},
		{"another version", schema.Patch{ID: tea.String(), IfVersion: 2, Who: ptr("x")},
			want(tea, schema.PatchVersionConflict, 1)},
		{"pinned", schema.Patch{ID: pinned.String(), Content: ptr("Pour water on it.")},
			want(pinned, schema.PatchPinned, 1)},
		{"pinned importance", schema.Patch{ID: pinned.String(), Importance: ptr(0.2), Force: true},
			want(pinned, schema.PatchPinned, 1)},
		{"an episode", schema.Patch{ID: episode.String(), Content: ptr("The kettle sang.")},
			want(episode, schema.PatchAppendOnly, 1)},
		{"a competence", schema.Patch{ID: skill.String(), Content: ptr("Boil milk")},
			want(skill, schema.PatchStructured, 1)},
		{"a plan", schema.Patch{ID: plan.String(), Content: ptr("Pour, then brew")},
			want(plan, schema.PatchStructured, 1)},
		{"a duplicate", schema.Patch{ID: coffee.String(), Content: ptr("TEA is served hot!")},
			schema.PatchResult{ID: coffee.String(), Status: schema.PatchDuplicate, CurrentVersion: 1,
				DuplicateID: tea.String()}},
	} {
		before := w.snapshot()
		require.Equal(t, test.want, w.modifyOne(test.patch), test.name)
		after := w.snapshot()
		for table, digest := range before {
			if table != "operations" && table != "memory_history" {
				require.Equal(t, digest, after[table], "%s: %s", test.name, table)
			}
		}
		id := uuid.MustParse(test.patch.ID)
		told := w.count("memory_history", "memory_id = $1 AND event = 'none' AND metadata->>'refused' = $2", id,
			string(test.want.Status))
		switch test.want.Status {
		case schema.PatchNoChanges, schema.PatchNotFound:
			require.Zero(t, told, test.name)
		default:
			require.NotZero(t, told, "%s: a refusal is in the history", test.name)
		}
	}

	for _, mode := range []schema.WriteMode{schema.ModeFrozen, schema.ModeShadow} {
		frozen := *w
		frozen.policy.Mode = mode
		require.Equal(t, want(tea, schema.PatchFrozen, 1),
			frozen.modifyOne(schema.Patch{ID: tea.String(), Who: ptr("x")}))
	}
	require.Equal(t, 1, w.get(tea).Version)
	out := w.modify(schema.Patch{ID: tea.String(), Who: ptr("ana")}, schema.Patch{ID: gone.String(), Who: ptr("x")})
	require.Equal(t, 1, out.Updated)
	require.Equal(t, "partial", out.Summary())
	require.Equal(t, []string{tea.String()}, out.Changed())
	w.requireExactStats()
}

// A memory shared by another agent can be modified by those who see it.
func TestModifyFindsWhatIsShared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.vis = schema.VisibilityGlobal
	id := w.explicit("The office is on Elm Street.")
	other := *w
	other.p.Agent = "b"
	mine := other.explicit("The office is closed.")
	out := other.modifyOne(schema.Patch{ID: id.String(), Content: ptr("The office is closed.")})
	require.Equal(t, schema.PatchUpdated, out.Status, "duplicates are searched among the memories of the owner")
	require.NotEqual(t, mine, id)
	require.Equal(t, "a", w.get(id).Agent)
}

func TestModifyChangesEveryField(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.explicit("Tea is served hot.")
	w.now = w.now.AddDate(0, 0, 30)
	out := w.modifyOne(schema.Patch{ID: id.String(), IfVersion: 1, Reason: " it moved ",
		Content: ptr("  Tea is\nserved cold. "), Category: ptr(schema.CategoryRule),
		Importance: ptr(0.25), Tags: &[]string{"Drinks", "tea ", "drinks"}, Who: ptr("ana")})
	require.Equal(t, schema.PatchResult{ID: id.String(), Status: schema.PatchUpdated, CurrentVersion: 1, NewVersion: 2,
		ContentChanged: true}, out)

	m := w.get(id)
	require.Equal(t, 2, m.Version)
	require.Equal(t, "Tea is served cold.", m.Content)
	require.Equal(t, schema.CategoryRule, m.Category)
	require.InDelta(t, 0.25, m.Importance, 1e-9)
	require.Equal(t, []string{"drinks", "tea"}, m.Tags)
	require.Equal(t, "ana", m.Who)
	require.Equal(t, w.now, m.UpdatedAt.UTC())
	require.Equal(t, 1, w.count("memories",
		"id = $1 AND normalized_content = 'tea is served cold' AND content_hash = $2", id,
		normalize.Normalize("Tea is served cold").Hash))
	var payload schema.SemanticPayload
	require.NoError(t, json.Unmarshal(m.Payload, &payload))
	require.Equal(t, []string{"a", "states", `"Tea is served cold."`},
		[]string{payload.Subject, payload.Predicate, string(payload.Object)})
	require.Len(t, m.Provenance.Sources, 2)
	require.Equal(t, []string{"human", "candidate:" + id.String()},
		[]string{m.Provenance.Sources[0].Kind, m.Provenance.Sources[0].Ref})
	require.Equal(t, []string{"human", "person:mia: it moved"},
		[]string{m.Provenance.Sources[1].Kind, m.Provenance.Sources[1].Ref})

	w.now = w.now.AddDate(0, 0, 1)
	require.Equal(t, schema.PatchUpdated, w.modifyOne(schema.Patch{ID: id.String(), Tags: &[]string{}}).Status)
	require.Equal(t, schema.PatchUpdated,
		w.modifyOne(schema.Patch{ID: id.String(), Content: ptr("Tea is served late."), Reason: "it moved"}).Status)
	require.Empty(t, w.get(id).Tags)
	require.Len(t, w.get(id).Provenance.Sources, 2, "the same evidence once")

	// The history has every step in order.
	h := w.history(id)
	type step struct {
		event       schema.HistoryEvent
		old, new    string
		by, reason  string
		fields      any
		version     int
		auditAction schema.AuditAction
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	var got []step
	for _, e := range h[1:] {
		require.Equal(t, "modify/t/a/1", metadata(t, e)["workflow_id"])
		got = append(got, step{e.Event, text(e.OldContent), text(e.NewContent), e.ChangedBy, e.Reason,
			metadata(t, e)["fields"], e.Version, e.Action})
	}
	require.Equal(t, []step{
		{schema.EventModified, "Tea is served hot.", "Tea is served cold.", "person:mia", "it moved",
			[]any{"content", "category", "importance", "tags", "who"}, 2, schema.AuditModify},
		{schema.EventModified, "Tea is served cold.", "Tea is served cold.", "person:mia", "it was wrong",
			[]any{"tags"}, 3, schema.AuditModify},
		{schema.EventModified, "Tea is served cold.", "Tea is served late.", "person:mia", "it moved", []any{"content"},
			4, schema.AuditModify},
	}, got)
	require.Equal(t, []string{"1 Tea is served hot.", "2 Tea is served cold.", "3 Tea is served cold."},
		testkit.Strings(t, w.owner,
			`SELECT version || ' ' || (record->>'content') FROM memory_versions ORDER BY version`),
		"every version is kept")
	w.requireExactStats()
}

func TestPinAndUnpin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.explicit("Tea is served hot.")
	due := w.get(id).Lifecycle.DecayDueAt
	require.NotNil(t, due)
	w.now = w.now.AddDate(0, 0, 90)
	require.Equal(t, schema.PatchUpdated, w.modifyOne(schema.Patch{ID: id.String(), Pinned: ptr(true)}).Status)
	m := w.get(id)
	require.True(t, m.Lifecycle.Pinned)
	require.EqualValues(t, 1, m.Importance)
	require.Nil(t, m.Lifecycle.DecayDueAt, "what is pinned never falls due")
	require.InDelta(t, 0.5, m.Salience, 1e-9)

	w.now = w.now.AddDate(5, 0, 0)
	require.Equal(t, schema.PatchUpdated,
		w.modifyOne(schema.Patch{ID: id.String(), Pinned: ptr(false), Importance: ptr(0.4)}).Status)
	m = w.get(id)
	require.False(t, m.Lifecycle.Pinned)
	require.InDelta(t, 0.4, m.Importance, 1e-9)
	require.InDelta(t, 0.5, m.Salience, 1e-9, "five years under the pin do not count")
	require.Equal(t, due.UTC().Sub(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))-90*24*time.Hour,
		m.Lifecycle.DecayDueAt.Sub(w.now), "and it goes on where it stood")
}

// A change of content removes the claim that was extracted from the old content.
func TestModifyRemovesTheExtractedClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.claimed("Alice lives in Paris.", "Alice", "Paris")
	require.Equal(t, 1, w.count("entity_claims", "memory_id = $1", id))
	require.Equal(t, schema.PatchUpdated,
		w.modifyOne(schema.Patch{ID: id.String(), Content: ptr("Alice lives in Rome.")}).Status)
	var payload schema.SemanticPayload
	require.NoError(t, json.Unmarshal(w.get(id).Payload, &payload))
	require.Equal(t, []string{"Alice", "states", `"Alice lives in Rome."`, "many", "global"},
		[]string{payload.Subject, payload.Predicate, string(payload.Object), string(payload.Cardinality),
			string(payload.Validity.Mode)})
	require.Equal(t, "human", payload.Evidence[0].Kind)
	require.Equal(t, 1, w.count("memories",
		"id = $1 AND subject IS NULL AND predicate IS NULL AND object IS NULL AND NOT functional", id))
	require.Zero(t, w.count("entity_claims", "memory_id = $1", id))
	require.Equal(t, 1, w.count("memory_versions", "memory_id = $1 AND record->>'predicate' = 'lives_in'", id),
		"the old version keeps the claim")

	second := w.claimed("Alice lives in Berlin.", "Alice", "Berlin") // the previous claim no longer blocks it
	require.Equal(t, 1, w.count("memories", "id = $1 AND functional", second))

	// A claim with the predicate "states" follows the content.
	w.exec(`UPDATE memories SET subject = 'Alice', predicate = 'states', object = '"old"' WHERE id = $1`, id)
	w.exec(`INSERT INTO entity_claims (tenant, memory_id, subject, predicate, object, functional, created_at)
		VALUES ('t', $1, 'Alice', 'states', 'old', false, now())`, id)
	require.Equal(t, schema.PatchUpdated,
		w.modifyOne(schema.Patch{ID: id.String(), Content: ptr("Alice lives in Oslo.")}).Status)
	require.Equal(t, 1, w.count("memories",
		`id = $1 AND subject = 'Alice' AND predicate = 'states' AND object = '"Alice lives in Oslo."'`, id))
	require.Equal(t, 1, w.count("entity_claims", "memory_id = $1 AND object = 'Alice lives in Oslo.'", id))
}

func TestModifyWorkingMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.ofType(schema.TypeWorking, "Half way.",
		`{"kind":"working","task_id":"t1","state":"executing","context_summary":"Half way.","next_actions":["go on"]}`)
	require.Equal(t, schema.PatchUpdated,
		w.modifyOne(schema.Patch{ID: id.String(), Content: ptr("Nearly there.")}).Status)
	require.JSONEq(t,
		`{"kind":"working","task_id":"t1","state":"executing","context_summary":"Nearly there.","next_actions":["go on"]}`, string(w.get(id).Payload))
}

// Content set by a patch is classified like the content of a candidate.
func TestModifyRaisesTheSensitivity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.explicit("The vault is in hall 4.")
	require.Equal(t, schema.PatchUpdated,
		w.modifyOne(schema.Patch{ID: id.String(), Content: ptr("The password of the vault is hunter2-Xy.")}).Status)
	raised := w.get(id).Sensitivity
	require.Contains(t, []schema.Sensitivity{schema.SensitivityHigh, schema.SensitivityHyper}, raised)
	h := w.history(id)
	require.NotEmpty(t, metadata(t, h[len(h)-1])["detected"])
	require.Equal(t, schema.PatchUpdated,
		w.modifyOne(schema.Patch{ID: id.String(), Content: ptr("The vault is in hall 5.")}).Status)
	require.Equal(t, raised, w.get(id).Sensitivity, "its old versions still have the text")
}

// Two claims with different conditions may have the same words.
func TestModifyKeepsConditionsApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	summer, winter := w.explicit("The pool is open in summer."), w.explicit("The pool is open in winter.")
	for id, season := range map[uuid.UUID]string{summer: "summer", winter: "winter"} {
		v := schema.Validity{Mode: schema.ValidConditional, Conditions: json.RawMessage(`{"season":"` + season + `"}`)}
		encoded, err := json.Marshal(v)
		require.NoError(t, err)
		w.exec(`UPDATE memories SET validity = 'conditional', conditions = $2::jsonb, conditions_hash = $3,
			payload = payload || jsonb_build_object('validity', $4::jsonb) WHERE id = $1`,
			id, string(v.Conditions), memory.ConditionsHash(v), string(encoded))
	}
	out := w.modify(schema.Patch{ID: summer.String(), Content: ptr("The pool is open.")},
		schema.Patch{ID: winter.String(), Content: ptr("The pool is open.")})
	require.Equal(t, 2, out.Updated)
}

// Of two hundred patches some conflict: each has its own result.
func TestModifyManyWithSomeConflicts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var candidates []schema.Candidate
	for i := range schema.MaxPatches {
		candidates = append(candidates,
			schema.Candidate{Content: fmt.Sprintf("Machine %d stands in hall %d.", i, i%7),
				SourceKind: schema.SourceMemory})
	}
	ack, _ := w.stage(candidates...)
	var patches []schema.Patch
	var want []schema.PatchResult
	for i, id := range ack.MemoryIDs {
		p, r := schema.Patch{ID: id, IfVersion: 1,
			Content: ptr(fmt.Sprintf("Machine %d was sold.", i))}, schema.PatchResult{ID: id,
			Status: schema.PatchUpdated, CurrentVersion: 1, NewVersion: 2, ContentChanged: true}
		switch i % 8 {
		case 1: // another writer was first
			w.touch(uuid.MustParse(id))
			r = schema.PatchResult{ID: id, Status: schema.PatchVersionConflict, CurrentVersion: 2}
		case 2:
			w.softDelete(uuid.MustParse(id))
			r = schema.PatchResult{ID: id, Status: schema.PatchDeleted, CurrentVersion: 2}
		case 3:
			p.Content = ptr(fmt.Sprintf("Machine %d stands in hall %d", i, i%7))
			r.NewVersion, r.ContentChanged = 2, true
		case 4: // the content of another memory
			p.Content = ptr(fmt.Sprintf("machine %d stands in hall %d", i+4-1, (i+4-1)%7))
			r = schema.PatchResult{ID: id, Status: schema.PatchDuplicate, CurrentVersion: 1,
				DuplicateID: ack.MemoryIDs[i+3]}
		case 5: // a content that an earlier patch gave another memory
			p.Content = ptr(fmt.Sprintf("Machine %d was sold", i-5))
			r = schema.PatchResult{ID: id, Status: schema.PatchDuplicate, CurrentVersion: 1,
				DuplicateID: ack.MemoryIDs[i-5]}
		case 6: // a content that an earlier patch has removed
			p.Content = ptr(fmt.Sprintf("Machine %d stands in hall %d.", i-6, (i-6)%7))
		case 7:
			p.Content = nil
			p.Tags = &[]string{}
			r = schema.PatchResult{ID: id, Status: schema.PatchNoChanges, CurrentVersion: 1}
		}
		patches, want = append(patches, p), append(want, r)
	}
	out := w.modify(patches...)
	require.Equal(t, want, out.Results)
	require.Equal(t, 3*schema.MaxPatches/8, out.Updated)
	require.Equal(t, out.Updated, w.count("memory_history", "event = 'modified'"))
	for i, r := range out.Results {
		m := w.get(uuid.MustParse(r.ID))
		if r.Status == schema.PatchUpdated {
			require.Equal(t, *patches[i].Content, m.Content)
		} else {
			require.Equal(t, candidates[i].Content, m.Content)
		}
	}
	w.requireExactStats()
}

// softDelete forgets a memory as the application does, with history and text statistics.
func (w *world) softDelete(id uuid.UUID) {
	w.t.Helper()
	live := w.count("memories", "id = $1 AND live", id) == 1
	w.exec(`UPDATE memories SET deleted_at = $2, updated_at = $2, version = version + 1 WHERE id = $1`, id, w.now)
	w.exec(`INSERT INTO memory_history (tenant, id, memory_id, event, old_content, changed_by, reason, created_at,
		action, version)
		SELECT tenant, gen_random_uuid(), id, 'deleted', content, 'person:mia', 'no longer wanted', $2, 'delete',
			version FROM memories WHERE id = $1`, id, w.now)
	if live {
		w.exec(`UPDATE lexeme_stats s SET docs = docs - 1 FROM memories m WHERE m.id = $1 AND s.tenant = m.tenant
			AND s.lexeme = ANY(tsvector_to_array(m.tsv))`, id)
		w.exec(`UPDATE corpus_stats s SET docs = docs - 1, lexemes = lexemes - length(m.tsv) FROM memories m
			WHERE m.id = $1 AND s.tenant = m.tenant`, id)
	}
}
