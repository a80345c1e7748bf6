package revision_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/memorytest"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
)

func of[T any](v T) *T { return &v }

var patchTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// known returns a memory that is a month old, after change.
func known(change func(*revision.Snapshot)) revision.Snapshot {
	at := patchTime.AddDate(0, -1, 0)
	m := revision.Snapshot{Version: 3, Type: schema.TypeSemantic, Category: schema.CategoryFact,
		Content: "Tea is served hot.", Tags: []string{"drinks", "tea"},
		Who: "ana", Importance: 0.5, Live: true, CreatedAt: at, Decay: memory.DefaultDecay(schema.TypeSemantic),
		Salience: 1, SalienceAt: at}
	if change != nil {
		change(&m)
	}
	return m
}

func TestEvaluatePatch(t *testing.T) {
	t.Parallel()
	ofType := func(mt schema.MemoryType) func(*revision.Snapshot) {
		return func(m *revision.Snapshot) { m.Type = mt }
	}
	pin := func(m *revision.Snapshot) { m.Pinned, m.Importance = true, 1 }
	cold := of("Tea is served cold.")
	for name, test := range map[string]struct {
		memory func(*revision.Snapshot)
		patch  schema.Patch
		status schema.PatchStatus
		fields []string
	}{
		"content": {nil, schema.Patch{Content: cold}, schema.PatchUpdated, []string{"content"}},
		"another spelling": {nil, schema.Patch{Content: of("tea is served hot")}, schema.PatchUpdated,
			[]string{"content"}},
		"everything": {nil,
			schema.Patch{Content: cold, Category: of(schema.CategoryRule), Importance: of(0.9), Tags: &[]string{"x"},
				Who: of("bob"), Pinned: of(false)}, schema.PatchUpdated,
			[]string{"content", "category", "importance", "tags", "who"}},
		"the current version": {nil, schema.Patch{IfVersion: 3, Who: of("bob")}, schema.PatchUpdated,
			[]string{"who"}},
		"no tags": {nil, schema.Patch{Tags: &[]string{}}, schema.PatchUpdated, []string{"tags"}},
		"same content": {nil, schema.Patch{Content: of("  Tea is\n served hot. ")},
			schema.PatchNoChanges, nil},
		"same tags": {nil, schema.Patch{Tags: &[]string{" Drinks", "TEA", "tea"}},
			schema.PatchNoChanges, nil},
		"same everything": {nil,
			schema.Patch{Category: of(schema.CategoryFact), Importance: of(0.5), Pinned: of(false), Who: of("ana")},
			schema.PatchNoChanges, nil},
		"no tags where there are none": {func(m *revision.Snapshot) { m.Tags = []string{} },
			schema.Patch{Tags: &[]string{}}, schema.PatchNoChanges, nil},
		"deleted": {func(m *revision.Snapshot) { m.Live, m.DeletedAt = false, &patchTime },
			schema.Patch{IfVersion: 1, Content: cold}, schema.PatchDeleted, nil},
		"superseded": {func(m *revision.Snapshot) { m.Live = false },
			schema.Patch{IfVersion: 1, Content: cold}, schema.PatchNotLive, nil},
		"another version": {nil, schema.Patch{IfVersion: 2, Content: of("Tea is served hot.")},
			schema.PatchVersionConflict, nil},
		"an episode": {ofType(schema.TypeEpisodic),
			schema.Patch{Content: cold, Tags: &[]string{"x"}}, schema.PatchAppendOnly, nil},
		"an episode's tags": {ofType(schema.TypeEpisodic),
			schema.Patch{Tags: &[]string{"x"}, Content: of("Tea is served hot.")}, schema.PatchUpdated,
			[]string{"tags"}},
		"a competence": {ofType(schema.TypeCompetence), schema.Patch{Content: cold},
			schema.PatchStructured, nil},
		"a plan": {ofType(schema.TypePlanGraph), schema.Patch{Content: cold},
			schema.PatchStructured, nil},
		"a competence's importance": {ofType(schema.TypeCompetence), schema.Patch{Importance: of(0.1)},
			schema.PatchUpdated, []string{"importance"}},
		"working memory": {ofType(schema.TypeWorking), schema.Patch{Content: cold}, schema.PatchUpdated,
			[]string{"content"}},
		"pinned":        {pin, schema.Patch{Content: cold}, schema.PatchPinned, nil},
		"pinned, still": {pin, schema.Patch{Content: cold, Pinned: of(true)}, schema.PatchPinned, nil},
		"pinned, forced": {pin, schema.Patch{Content: cold, Force: true}, schema.PatchUpdated,
			[]string{"content"}},
		"pinned, unpinned": {pin, schema.Patch{Content: cold, Pinned: of(false)}, schema.PatchUpdated,
			[]string{"content", "pinned"}},
		"to be pinned": {nil, schema.Patch{Content: cold, Pinned: of(true)}, schema.PatchUpdated,
			[]string{"content", "importance", "pinned"}},
		"pinned's importance":           {pin, schema.Patch{Importance: of(0.9), Force: true}, schema.PatchPinned, nil},
		"pinned's importance, the same": {pin, schema.Patch{Importance: of(1.0)}, schema.PatchNoChanges, nil},
		"pinned's importance, unpinned": {pin, schema.Patch{Importance: of(0.3), Pinned: of(false)},
			schema.PatchUpdated, []string{"importance", "pinned"}},
		"pinned's tags": {pin, schema.Patch{Tags: &[]string{"x"}}, schema.PatchUpdated,
			[]string{"tags"}},
		"forced episode": {func(m *revision.Snapshot) { pin(m); m.Type = schema.TypeEpisodic },
			schema.Patch{Content: cold, Force: true}, schema.PatchAppendOnly, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change, status := revision.EvaluatePatch(known(test.memory), test.patch, patchTime)
			require.Equal(t, test.status, status)
			require.Equal(t, test.fields, change.Fields())
			if status != schema.PatchUpdated {
				require.Equal(t, revision.PatchChange{}, change)
			}
		})
	}
}

// A patch that is applied twice changes nothing the second time.
func TestPatchIsIdempotent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"Tea.", " tea ", "Coffee", "coffee!"})
		m := known(func(m *revision.Snapshot) {
			m.Pinned = rapid.Bool().Draw(t, "was pinned")
			if m.Pinned {
				m.Importance = 1
			}
		})
		p := schema.Patch{
			Force:      rapid.Bool().Draw(t, "force"),
			Content:    rapid.Ptr(text, true).Draw(t, "content"),
			Importance: rapid.Ptr(rapid.SampledFrom([]float64{0, 0.5, 1}), true).Draw(t, "importance"),
			Pinned:     rapid.Ptr(rapid.Bool(), true).Draw(t, "pinned"),
			Who:        rapid.Ptr(text, true).Draw(t, "who"),
			Tags:       rapid.Ptr(rapid.SliceOfN(text, 0, 3), true).Draw(t, "tags"),
		}
		c, status := revision.EvaluatePatch(m, p, patchTime)
		if status != schema.PatchUpdated {
			return
		}
		if c.Content != nil {
			m.Content = c.Content.Storage
		}
		if c.Importance != nil {
			m.Importance = *c.Importance
		}
		if c.Tags != nil {
			m.Tags = *c.Tags
		}
		if c.Who != nil {
			m.Who = *c.Who
		}
		if c.Pinned != nil {
			m.Pinned = *c.Pinned
		}
		require.True(t, !m.Pinned || m.Importance == 1, "a pinned memory has importance 1")
		c, status = revision.EvaluatePatch(m, p, patchTime)
		require.Equal(t, schema.PatchNoChanges, status, c.Fields())
	})
}

func TestPinStopsDecayAndUnpinResumesIt(t *testing.T) {
	t.Parallel()
	m := known(nil)
	c, _ := revision.EvaluatePatch(m, schema.Patch{Pinned: of(true)}, patchTime)
	faded := m.Decay.Salience(1, patchTime.Sub(m.SalienceAt))
	require.Less(t, faded, 0.9)
	require.Equal(t, revision.Fading{Salience: faded, SalienceAt: patchTime}, *c.Fading)

	m.Pinned, m.Importance, m.Salience, m.SalienceAt = true, 1, c.Fading.Salience, c.Fading.SalienceAt
	later := patchTime.AddDate(3, 0, 0)
	c, status := revision.EvaluatePatch(m, schema.Patch{Pinned: of(false)}, later)
	require.Equal(t, schema.PatchUpdated, status)
	require.Nil(t, c.Importance, "unchanged")
	due, ok := m.Decay.DueAt(faded, later, m.CreatedAt, false)
	require.True(t, ok)
	require.True(t, due.After(later))
	require.Equal(t, revision.Fading{Salience: faded, SalienceAt: later, DueAt: &due}, *c.Fading)
}

func TestEvaluateRecovery(t *testing.T) {
	t.Parallel()
	deleted := patchTime
	gone := func(m *revision.Snapshot) { m.Live, m.DeletedAt = false, &deleted }
	last := deleted.Add(revision.RecoveryWindow)
	for name, test := range map[string]struct {
		memory    func(*revision.Snapshot)
		ifVersion int
		now       time.Time
		status    schema.RecoverStatus
	}{
		"at once":                {gone, 0, deleted, schema.RecoverRecovered},
		"the version":            {gone, 3, deleted, schema.RecoverRecovered},
		"another version":        {gone, 2, deleted, schema.RecoverVersionConflict},
		"just before the end":    {gone, 0, last.Add(-time.Microsecond), schema.RecoverRecovered},
		"the window is over":     {gone, 0, last, schema.RecoverExpired},
		"after the window":       {gone, 2, last.AddDate(1, 0, 0), schema.RecoverExpired},
		"a clock that is behind": {gone, 0, deleted.Add(-time.Hour), schema.RecoverRecovered},
		"not deleted":            {nil, 2, deleted, schema.RecoverNotDeleted},
		"erased": {func(m *revision.Snapshot) { gone(m); m.ErasedAt = &deleted }, 0, deleted,
			schema.RecoverErased},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := known(test.memory)
			fading, status := revision.EvaluateRecovery(m, test.ifVersion, revision.RecoveryWindow, test.now)
			require.Equal(t, test.status, status)
			if status != schema.RecoverRecovered {
				require.Equal(t, revision.Fading{}, fading)
				return
			}
			away := max(0, test.now.Sub(deleted))
			require.Equal(t, m.Salience, fading.Salience)
			require.InDelta(t, m.Decay.Salience(m.Salience, deleted.Sub(m.SalienceAt)),
				m.Decay.Salience(fading.Salience, deleted.Add(away).Sub(fading.SalienceAt)), 1e-12,
				"the time in the grave does not count")
			require.NotNil(t, fading.DueAt)
		})
	}
}

func TestEditedPayload(t *testing.T) {
	t.Parallel()
	by := revision.EditRef("person:mia", "it moved", patchTime)
	edit := func(mt schema.MemoryType, payload string) (map[string]any, bool) {
		edited, keeps, err := revision.EditedPayload(mt, json.RawMessage(payload), "The new text.", by)
		require.NoError(t, err)
		var out map[string]any
		require.NoError(t, json.Unmarshal(edited, &out))
		return out, keeps
	}
	got, keeps := edit(schema.TypeSemantic,
		`{"kind":"semantic","subject":"ana","predicate":"states","object":"Old.","validity":{"mode":"global"},"evidence":[{"kind":"event","ref":"e"}],"x":1}`)
	require.True(t, keeps)
	require.Equal(t, map[string]any{"kind": "semantic", "subject": "ana", "predicate": "states",
		"object": "The new text.", "validity": map[string]any{"mode": "global"},
		"evidence": []any{map[string]any{"kind": "event", "ref": "e"}}, "x": 1.0}, got)

	got, keeps = edit(schema.TypeSemantic,
		`{"kind":"semantic","subject":"ana","predicate":"lives_in","object":"Lisbon","cardinality":"one","revision_policy":"fork",
		"validity":{"mode":"conditional","conditions":{"season":"summer"}},"evidence":[{"kind":"event","ref":"e"}]}`)
	require.False(t, keeps)
	require.Equal(t, map[string]any{"kind": "semantic", "subject": "ana", "predicate": "states",
		"object": "The new text.", "cardinality": "many", "revision_policy": "fork",
		"validity": map[string]any{"mode": "conditional", "conditions": map[string]any{"season": "summer"}},
		"evidence": []any{map[string]any{"kind": "human", "ref": "person:mia: it moved",
			"timestamp": "2026-03-01T12:00:00Z"}}}, got)

	got, _ = edit(schema.TypeWorking,
		`{"kind":"working","task_id":"t","state":"planning","next_actions":["a"],"context_summary":"Old."}`)
	require.Equal(t, map[string]any{"kind": "working", "task_id": "t", "state": "planning", "next_actions": []any{"a"},
		"context_summary": "The new text."}, got)

	for _, mt := range []schema.MemoryType{schema.TypeEpisodic, schema.TypeCompetence, schema.TypePlanGraph} {
		_, _, err := revision.EditedPayload(mt, json.RawMessage(`{}`), "x", by)
		require.Error(t, err)
	}
	require.Len(t, []rune(revision.EditRef("a", strings.Repeat("é", 2*schema.MaxRefLength), patchTime).Ref),
		schema.MaxRefLength)
}

func TestMutationsFrozen(t *testing.T) {
	t.Parallel()
	for mode, frozen := range map[schema.WriteMode]bool{"": true, "odd": true, schema.ModeShadow: true,
		schema.ModeFrozen: true, schema.ModeControlled: false} {
		require.Equal(t, frozen, proposals.WritePolicy{Mode: mode}.MutationsFrozen(), mode)
	}
}

// A memory that decayed and is recovered must not be removed again by the next sweep.
func TestRecoveryOfDecayedMemory(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	m := revision.Snapshot{Version: 2, DeletedAt: memorytest.At(now, -time.Hour),
		CreatedAt: now.Add(-12 * memorytest.Day), SalienceAt: now.Add(-12 * memorytest.Day), Salience: 1,
		Decay: memory.Decay{HalfLife: memorytest.Day, MinSalience: 0.05}}
	f, status := revision.EvaluateRecovery(m, 0, revision.RecoveryWindow, now)
	require.Equal(t, schema.RecoverRecovered, status)
	require.Equal(t, []any{1.0, now}, []any{f.Salience, f.SalienceAt})
	require.Nil(t, f.MaxAge)
	require.True(t, f.DueAt.After(now))
	m.Decay.MaxAge = 10 * memorytest.Day
	f, _ = revision.EvaluateRecovery(m, 0, revision.RecoveryWindow, now)
	require.Equal(t, 22*memorytest.Day, *f.MaxAge, "the same lifetime again, from now")
	require.True(t, f.DueAt.After(now))

	m.DeletedAt, m.ArchivedAt = nil, memorytest.At(now, -400*memorytest.Day)
	_, status = revision.EvaluateRecovery(m, 0, revision.RecoveryWindow, now)
	require.Equal(t, schema.RecoverRecovered, status, "an archived memory can be recovered at any time")
	both := m
	both.DeletedAt = memorytest.At(now, -time.Hour)
	f, status = revision.EvaluateRecovery(both, 0, revision.RecoveryWindow, now)
	require.Equal(t, []any{schema.RecoverRecovered, both.Salience, both.SalienceAt},
		[]any{status, f.Salience, f.SalienceAt}, "its absence counts once, from the archiving")
	m.DeletedAt, m.Over = memorytest.At(now, -time.Hour), true
	_, status = revision.EvaluateRecovery(m, 0, revision.RecoveryWindow, now)
	require.Equal(t, schema.RecoverExpired, status)
}
