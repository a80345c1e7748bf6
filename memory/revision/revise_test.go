package revision_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/memorytest"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
)

// held returns an active global fact in version 3, the version that the caller expects.
func held(id string, change ...func(*revision.Standing)) revision.Standing {
	s := revision.Standing{ID: id, Found: true, Version: 3, IfVersion: 3, Type: schema.TypeSemantic,
		Status: schema.StatusActive, Live: true,
		Sensitivity: schema.SensitivityLow, SourceTrust: 0.8, Confidence: 0.9, Content: "Ana lives in Lisbon.",
		ClaimKey: "ana lives_in", Sources: 1,
		Claim: memory.Claim{Subject: "Ana", Predicate: "lives_in", Object: "Lisbon", Functional: true}}
	for _, fn := range change {
		fn(&s)
	}
	return s
}

// brought returns a new record that contradicts held.
func brought(change ...func(*revision.Standing)) *revision.Standing {
	s := held("new", func(s *revision.Standing) {
		s.Version, s.IfVersion, s.Content, s.Claim.Object = 0, 0, "Ana lives in Porto.", "Porto"
	})
	for _, fn := range change {
		fn(&s)
	}
	return &s
}

func on(v schema.Validity) func(*revision.Standing) {
	return func(s *revision.Standing) { s.Validity = v }
}

func as(status schema.Status) func(*revision.Standing) {
	return func(s *revision.Standing) {
		s.Status, s.Live = status, status == schema.StatusActive || status == schema.StatusContested
	}
}

func ofType(t schema.MemoryType) func(*revision.Standing) {
	return func(s *revision.Standing) { s.Type, s.ClaimKey = t, "" }
}

var everyAction = []schema.ReviseAction{schema.ReviseSupersede, schema.ReviseFork, schema.ReviseRetract,
	schema.ReviseMerge,
	schema.ReviseContest, schema.ReviseResolve, schema.ReviseReconcile}

// revisionOf returns a revision that is applied if the targets allow it.
func revisionOf(action schema.ReviseAction, targets ...revision.Standing) revision.Revision {
	r := revision.Revision{Action: action, Targets: targets, Narrowed: "narrowed"}
	switch action {
	case schema.ReviseRetract:
	case schema.ReviseResolve:
		r.Winner = targets[0].ID
	case schema.ReviseFork:
		r.Record = brought(on(memorytest.When(`{"season":"summer"}`)))
		r.TargetConditions = &schema.Validity{Mode: schema.ValidConditional,
			Conditions: json.RawMessage(`{"season":"winter"}`)}
	default:
		r.Record = brought()
	}
	return r
}

// Plans each action for a target in each state.
func TestPlanOfEachState(t *testing.T) {
	t.Parallel()
	gone := func(s *revision.Standing) { s.Live = false }
	all := func(status schema.ReviseStatus) map[schema.ReviseAction]schema.ReviseStatus {
		out := map[schema.ReviseAction]schema.ReviseStatus{}
		for _, a := range everyAction {
			out[a] = status
		}
		return out
	}
	but := func(m map[schema.ReviseAction]schema.ReviseStatus, status schema.ReviseStatus,
		actions ...schema.ReviseAction) map[schema.ReviseAction]schema.ReviseStatus {
		for _, a := range actions {
			m[a] = status
		}
		return m
	}
	for name, c := range map[string]struct {
		change []func(*revision.Standing)
		want   map[schema.ReviseAction]schema.ReviseStatus
	}{
		"active": {nil, but(all(schema.ReviseApplied), schema.ReviseNotContested, schema.ReviseResolve)},
		"contested": {[]func(*revision.Standing){as(schema.StatusContested)},
			but(all(schema.ReviseApplied), schema.ReviseOverlap, schema.ReviseFork)},
		"superseded": {[]func(*revision.Standing){as(schema.StatusSuperseded)}, all(schema.ReviseNotLive)},
		"retracted":  {[]func(*revision.Standing){as(schema.StatusRetracted)}, all(schema.ReviseNotLive)},
		"deleted":    {[]func(*revision.Standing){gone}, all(schema.ReviseNotLive)},
		"not visible": {[]func(*revision.Standing){func(s *revision.Standing) { s.Found = false }},
			all(schema.ReviseNotFound)},
		"changed": {[]func(*revision.Standing){func(s *revision.Standing) { s.Version = 4 }},
			all(schema.ReviseVersionConflict)},
		"changed and deleted": {[]func(*revision.Standing){gone, func(s *revision.Standing) { s.Version = 4 }},
			all(schema.ReviseVersionConflict)},
		"an episode": {[]func(*revision.Standing){ofType(schema.TypeEpisodic)}, all(schema.ReviseEpisodic)},
		"pinned": {[]func(*revision.Standing){func(s *revision.Standing) { s.Pinned = true }},
			but(but(all(schema.ReviseApplied), schema.RevisePinned, schema.ReviseReconcile), schema.ReviseNotContested,
				schema.ReviseResolve)},
	} {
		for _, action := range everyAction {
			t.Run(name+" "+string(action), func(t *testing.T) {
				t.Parallel()
				plan := revision.Plan(revisionOf(action, held("a", c.change...)))
				require.Equal(t, c.want[action], plan.Status, plan.Why)
				if plan.Status != schema.ReviseApplied {
					require.NotEmpty(t, plan.Why)
					require.Empty(t, plan.Steps)
					require.Empty(t, plan.Relations)
					require.Nil(t, plan.Record)
				} else {
					require.Len(t, plan.Steps, 1)
					require.NotEmpty(t, plan.Audit)
				}
				frozen := revisionOf(action, held("a", c.change...))
				frozen.Frozen = true
				require.Equal(t, schema.ReviseFrozen, revision.Plan(frozen).Status)
			})
		}
	}
}

// Plans each action for each type that can be revised (document 004 §15B).
func TestPlanOfEachType(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of   schema.MemoryType
		only []schema.ReviseAction // refused because of the type
	}{
		{schema.TypeWorking, []schema.ReviseAction{schema.ReviseFork, schema.ReviseContest, schema.ReviseReconcile}},
		{schema.TypeCompetence, []schema.ReviseAction{schema.ReviseContest, schema.ReviseReconcile}},
		{schema.TypePlanGraph, []schema.ReviseAction{schema.ReviseContest, schema.ReviseReconcile}},
		{schema.TypeSemantic, nil},
	} {
		for _, action := range everyAction {
			target := held("a", ofType(c.of))
			if action == schema.ReviseResolve {
				target.Status = schema.StatusContested
			}
			r := revisionOf(action, target)
			if r.Record != nil {
				r.Record.Type = c.of
			}
			if c.of != schema.TypeSemantic {
				r.TargetConditions = nil
			}
			want := schema.ReviseApplied
			if slices.Contains(c.only, action) {
				want = schema.ReviseWrongType
			}
			require.Equal(t, want, revision.Plan(r).Status, "%s of %s", action, c.of)
		}
	}
	r := revisionOf(schema.ReviseSupersede, held("a", ofType(schema.TypeCompetence)))
	require.Equal(t, schema.ReviseWrongType, revision.Plan(r).Status, "a fact does not supersede a procedure")
}

func TestPlanSupersede(t *testing.T) {
	t.Parallel()
	secret := held("b", func(s *revision.Standing) {
		s.Sensitivity, s.Pinned, s.SourceTrust = schema.SensitivityHigh, true, 0.1
	})
	r := revisionOf(schema.ReviseSupersede, held("a"), secret)
	r.Evidence = []revision.EvidenceMemory{{ID: "e", SourceTrust: 0.5, Sensitivity: schema.SensitivityMedium}}
	plan := revision.Plan(r)
	require.Equal(t, schema.ReviseApplied, plan.Status)
	superseded := revision.Step{Status: schema.StatusSuperseded, Successor: "new"}
	require.Equal(t, []revision.Step{superseded, superseded}, plan.Steps)
	require.Equal(t, &revision.RecordPlan{Status: schema.StatusActive, Sensitivity: schema.SensitivityHigh,
		SourceTrust: 0.5, Confidence: 0.9,
		Pinned: true, Supersedes: "a"}, plan.Record, "it rests on its evidence, not on what it replaces")
	require.Equal(t, []revision.PlannedRelation{{"new", "supersedes", "a"}, {"new", "supersedes", "b"},
		{"e", "supports", "new"}}, plan.Relations)
}

func TestPlanMerge(t *testing.T) {
	t.Parallel()
	r := revisionOf(schema.ReviseMerge, held("a"),
		held("b", func(s *revision.Standing) { s.SourceTrust, s.Confidence = 0.3, 0.95 }))
	r.Record.SourceTrust, r.Record.Confidence = 1, 0
	plan := revision.Plan(r)
	require.Equal(t, schema.AuditMerge, plan.Audit)
	require.InDelta(t, 0.3, plan.Record.SourceTrust, 0, "at most the lowest trust of its sources")
	require.InDelta(t, 0.95, plan.Record.Confidence, 0)
	require.Equal(t, []revision.PlannedRelation{{"new", "supersedes", "a"}, {"new", "supersedes", "b"},
		{"new", "derived_from", "a"}, {"new", "derived_from", "b"}}, plan.Relations)

	r = revisionOf(schema.ReviseMerge, held("a"), held("b", ofType(schema.TypeCompetence)))
	require.Equal(t, schema.ReviseWrongType, revision.Plan(r).Status)
}

func TestPlanContestAndResolve(t *testing.T) {
	t.Parallel()
	plan := revision.Plan(revisionOf(schema.ReviseContest, held("a")))
	require.Equal(t, []revision.Step{{Status: schema.StatusContested}}, plan.Steps)
	require.Equal(t, schema.StatusContested, plan.Record.Status)
	require.Equal(t, []revision.PlannedRelation{{"new", "contradicts", "a"}, {"a", "contradicts", "new"}},
		plan.Relations)

	r := revisionOf(schema.ReviseResolve, held("a", as(schema.StatusContested)), held("b", as(schema.StatusContested)))
	r.Winner = "b"
	plan = revision.Plan(r)
	require.Equal(t, []revision.Step{{Status: schema.StatusSuperseded, Successor: "b"}, {Status: schema.StatusActive}},
		plan.Steps)
	require.Equal(t, []revision.PlannedRelation{{"b", "supersedes", "a"}}, plan.Relations)
	require.Nil(t, plan.Record)

	r.Winner, r.Record = "", brought()
	plan = revision.Plan(r)
	require.Equal(t, "new", plan.Steps[0].Successor)
	require.Equal(t, "new", plan.Steps[1].Successor)
	require.Equal(t, schema.StatusActive, plan.Record.Status)

	r.Targets[0].Status = schema.StatusActive
	require.Equal(t, schema.ReviseNotContested, revision.Plan(r).Status)
}

func TestPlanFork(t *testing.T) {
	t.Parallel()
	backend, data := memorytest.When(`{"project":"backend"}`), memorytest.When(`{"project":"data_science"}`)
	fork := func(target, record schema.Validity, left *schema.Validity) revision.RevisionPlan {
		r := revisionOf(schema.ReviseFork, held("a", on(target)))
		r.Record.Validity, r.TargetConditions = record, left
		return revision.Plan(r)
	}
	// The Go and Python example of document 004 §7.
	plan := fork(backend, data, nil)
	require.Equal(t, schema.ReviseApplied, plan.Status)
	require.Equal(t, []revision.Step{{Status: schema.StatusActive}}, plan.Steps, "both hold")
	require.Nil(t, plan.Narrowed)
	require.Equal(t, []revision.PlannedRelation{{"new", "derived_from", "a"}}, plan.Relations)

	plan = fork(memorytest.Global(), data, nil)
	require.Equal(t, schema.ReviseOverlap, plan.Status, "the rest of a global fact is not given")

	plan = fork(memorytest.Global(), data, &backend)
	require.Equal(t, schema.ReviseApplied, plan.Status)
	require.Equal(t, &backend, plan.Narrowed)
	require.Equal(t, []revision.Step{{Status: schema.StatusSuperseded, Successor: "narrowed"}}, plan.Steps)
	require.Equal(t, []revision.PlannedRelation{{"new", "derived_from", "a"}, {"narrowed", "supersedes", "a"},
		{"narrowed", "derived_from", "a"}}, plan.Relations)

	either := memorytest.When(`{"project":["backend","data_science"]}`)
	require.Equal(t, schema.ReviseOverlap, fork(memorytest.Global(), data, &either).Status, "the rest overlaps")
	require.Equal(t, schema.ReviseOverlap,
		fork(backend, data, &schema.Validity{Mode: schema.ValidConditional,
			Conditions: json.RawMessage(`{"project":"web"}`)}).Status,
		"the rest is not within the target's ground")
	require.Nil(t, fork(backend, data, &backend).Narrowed, "the target already has this ground")
}

func TestPlanRefusesConflictingHolder(t *testing.T) {
	t.Parallel()
	third := held("third")
	for _, action := range []schema.ReviseAction{schema.ReviseSupersede, schema.ReviseMerge} {
		r := revisionOf(action, held("a"), held("b"))
		r.Holders = []revision.Standing{held("a"), held("b"), third}
		plan := revision.Plan(r)
		require.Equal(t, schema.ReviseActiveFact, plan.Status)
		require.Equal(t, []string{"third"}, plan.Conflicts)

		r.Holders[2].Validity = memorytest.When(`{"os":"linux"}`)
		require.Equal(t, schema.ReviseApplied, revision.Plan(r).Status, "allowed on another ground")
		r.Holders[2] = third
		r.Holders[2].ClaimKey = "somebody else"
		require.Equal(t, schema.ReviseApplied, revision.Plan(r).Status)
	}
	// A contested memory is not active, so it conflicts with no active fact.
	r := revisionOf(schema.ReviseContest, held("a"))
	r.Holders = []revision.Standing{held("a"), third}
	require.Equal(t, schema.ReviseApplied, revision.Plan(r).Status)
	// The winner of a contest becomes active.
	r = revisionOf(schema.ReviseResolve, held("a", as(schema.StatusContested)))
	r.Holders = []revision.Standing{third}
	require.Equal(t, schema.ReviseActiveFact, revision.Plan(r).Status)
	// The narrowed target of a fork is active.
	left := memorytest.When(`{"season":"winter"}`)
	r = revisionOf(schema.ReviseFork, held("a"))
	r.Holders = []revision.Standing{held("a"), held("third", on(left))}
	require.Equal(t, schema.ReviseActiveFact, revision.Plan(r).Status)
}

func TestPlanWithExistingMemory(t *testing.T) {
	t.Parallel()
	r := revisionOf(schema.ReviseSupersede, held("a"))
	r.Record, r.Exists = brought(func(s *revision.Standing) { s.ID, s.Version = "b", 2 }), true
	r.Holders = []revision.Standing{held("a"), *r.Record}
	require.Equal(t, schema.ReviseApplied, revision.Plan(r).Status)

	cyclic := r
	cyclic.Chain = []string{"x", "a"}
	require.Equal(t, schema.ReviseCycle, revision.Plan(cyclic).Status)
	r.Record.IfVersion = 1
	require.Equal(t, schema.ReviseVersionConflict, revision.Plan(r).Status)
	r.Record.IfVersion, r.Record.Live = 2, false
	require.Equal(t, schema.ReviseNotLive, revision.Plan(r).Status)
	r.Record.Found = false
	require.Equal(t, schema.ReviseNotFound, revision.Plan(r).Status)
}

func TestChooseRevision(t *testing.T) {
	t.Parallel()
	policy := func(p schema.RevisionPolicy) func(*revision.Standing) {
		return func(s *revision.Standing) { s.Policy = p }
	}
	weak := func(s *revision.Standing) { s.Confidence = 0.5 }
	many := func(s *revision.Standing) { s.Claim.Functional = false }
	says := func(text, object string) func(*revision.Standing) {
		return func(s *revision.Standing) { s.Content, s.Claim.Object = text, object }
	}
	summer, winter := memorytest.When(`{"season":"summer"}`), memorytest.When(`{"season":"winter"}`)
	for name, c := range map[string]struct {
		held    revision.Standing
		brought *revision.Standing
		left    *schema.Validity
		want    schema.ReviseAction
	}{
		"replace, as much evidence":     {held("a"), brought(), nil, schema.ReviseSupersede},
		"replace, more evidence":        {held("a", weak), brought(), nil, schema.ReviseSupersede},
		"replace, less evidence":        {held("a"), brought(weak), nil, schema.ReviseContest},
		"replace, by a narrower ground": {held("a"), brought(on(summer)), nil, schema.ReviseContest},
		"replace, of a narrower ground": {held("a", on(summer)), brought(), nil, schema.ReviseSupersede},
		"replace, on the same ground":   {held("a", on(summer)), brought(on(summer)), nil, schema.ReviseSupersede},
		"replace, on disjoint grounds":  {held("a", on(summer)), brought(on(winter)), nil, schema.ReviseFork},
		"fork, on disjoint grounds": {held("a", on(summer), policy(schema.PolicyFork)), brought(on(winter)),
			nil, schema.ReviseFork},
		"fork, on the same ground": {held("a", on(summer), policy(schema.PolicyFork)), brought(on(summer)),
			nil, schema.ReviseContest},
		"fork, of a global fact": {held("a", policy(schema.PolicyFork)), brought(on(summer)), nil,
			schema.ReviseContest},
		"fork, with a narrowed target": {held("a", policy(schema.PolicyFork)), brought(on(summer)), &winter,
			schema.ReviseFork},
		"fork, narrowed to the same ground": {held("a", policy(schema.PolicyFork)), brought(on(summer)), &summer,
			schema.ReviseContest},
		"contest": {held("a", policy(schema.PolicyContest)), brought(), nil,
			schema.ReviseContest},
		"contest, with more evidence": {held("a", weak, policy(schema.PolicyContest)), brought(), nil,
			schema.ReviseContest},
		"both say the same": {held("a"), brought(says("Lisbon is where Ana lives.", "Lisbon")), nil,
			""},
		"one of several objects": {held("a", many), brought(many), nil, ""},
		"several objects, but contradictory": {held("a", many),
			brought(many, says("Ana never lives in Lisbon.", "nowhere")), nil, schema.ReviseSupersede},
		"other subjects": {held("a"),
			brought(func(s *revision.Standing) { s.Claim.Subject, s.Content = "Bob", "Bob works hard." }), nil, ""},
		"other subjects, contradictory words": {held("a", says("The cache is enabled by default.", "x")),
			brought(says("The cache is disabled by default.", "y"), func(s *revision.Standing) {
				s.Claim.Subject = "it"
			}), nil, schema.ReviseSupersede},
		"the subject in another case": {held("a"), brought(func(s *revision.Standing) { s.Claim.Subject = "ANA" }), nil,
			schema.ReviseSupersede},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			action, why := revision.Choose(c.held, *c.brought, c.left)
			require.Equal(t, c.want, action, why)
			require.NotEmpty(t, why)
			plan := revision.Plan(revision.Revision{Action: schema.ReviseReconcile,
				Targets: []revision.Standing{c.held}, Record: c.brought,
				TargetConditions: c.left, Narrowed: "narrowed"})
			if action == "" {
				require.Equal(t, schema.ReviseNoConflict, plan.Status)
				return
			}
			require.Equal(t, schema.ReviseApplied, plan.Status, plan.Why)
			require.Equal(t, action, plan.Action)
		})
	}
}

func TestWeight(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.Float64Range(0, 1)
		s := revision.Standing{Confidence: unit.Draw(t, "confidence"), SourceTrust: unit.Draw(t, "trust"),
			Sources: rapid.IntRange(0, 1000).Draw(t, "sources")}
		w := s.Weight()
		require.GreaterOrEqual(t, w, 0.0)
		require.Less(t, w, 1.0)
		more := s
		more.Sources++
		require.GreaterOrEqual(t, more.Weight(), w)
		more = s
		more.Confidence = min(1, s.Confidence+0.1)
		require.GreaterOrEqual(t, more.Weight(), w)
	})
	few := revision.Standing{Confidence: 1, SourceTrust: 0.5, Sources: 1000}
	require.Less(t, few.Weight(), revision.Standing{Confidence: 1, SourceTrust: 1, Sources: 1}.Weight(),
		"number does not make up for trust")
}

// Every plan keeps the guarantees of document 004.
func TestPlanProperties(t *testing.T) {
	t.Parallel()
	sensitivities := []schema.Sensitivity{schema.SensitivityPublic, schema.SensitivityLow, schema.SensitivityMedium,
		schema.SensitivityHigh, schema.SensitivityHyper}
	rapid.Check(t, func(t *rapid.T) {
		action := rapid.SampledFrom(everyAction).Draw(t, "action")
		n := 1
		if action != schema.ReviseFork && action != schema.ReviseReconcile {
			n = rapid.IntRange(1, 3).Draw(t, "targets")
		}
		var targets []revision.Standing
		for i := range n {
			targets = append(targets, held(string(rune('a'+i)), on(memorytest.Validity().Draw(t, "validity")),
				func(s *revision.Standing) {
					s.Status = rapid.SampledFrom([]schema.Status{schema.StatusActive,
						schema.StatusContested}).Draw(t, "status")
					s.Sensitivity = rapid.SampledFrom(sensitivities).Draw(t, "sensitivity")
					s.SourceTrust = rapid.Float64Range(0, 1).Draw(t, "trust")
					s.Pinned = rapid.Bool().Draw(t, "pinned")
				}))
		}
		r := revisionOf(action, targets...)
		if r.Record != nil {
			r.Record.Validity = memorytest.Validity().Draw(t, "record")
		}
		if action == schema.ReviseFork {
			r.TargetConditions = nil
			if rapid.Bool().Draw(t, "narrows") {
				left := memorytest.Validity().Draw(t, "left")
				r.TargetConditions = &left
			}
		}
		for i := range 2 {
			r.Holders = append(r.Holders, held(string(rune('x'+i)), on(memorytest.Validity().Draw(t, "holder"))))
		}
		for _, target := range targets {
			if target.Status == schema.StatusActive {
				r.Holders = append(r.Holders, target)
			}
		}
		plan := revision.Plan(r)
		if plan.Status != schema.ReviseApplied {
			return
		}
		require.Len(t, plan.Steps, n)
		after := map[string]schema.Validity{}
		for i, step := range plan.Steps {
			require.Equal(t, step.Status == schema.StatusSuperseded, step.Successor != "")
			require.NotEqual(t, targets[i].ID, step.Successor)
			if step.Status == schema.StatusActive && targets[i].Status != schema.StatusActive {
				after[targets[i].ID] = targets[i].Validity
			}
		}
		if plan.Record != nil {
			if plan.Record.Status == schema.StatusActive {
				after["new"] = r.Record.Validity
			}
			for _, target := range targets {
				require.Contains(t, plan.Record.Sensitivity.AtMost(), target.Sensitivity,
					"as sensitive as the most sensitive")
				if plan.Action == schema.ReviseMerge || plan.Action == schema.ReviseFork {
					require.LessOrEqual(t, plan.Record.SourceTrust, target.SourceTrust)
				}
			}
		}
		if plan.Narrowed != nil {
			after["narrowed"] = *plan.Narrowed
			require.True(t, memory.Disjoint(*plan.Narrowed, r.Record.Validity))
		}
		for _, h := range r.Holders {
			i := slices.IndexFunc(targets, func(s revision.Standing) bool { return s.ID == h.ID })
			if i >= 0 && plan.Steps[i].Status != schema.StatusActive {
				continue
			}
			for id, v := range after {
				if id != h.ID {
					require.False(t, memory.SameGround(v, h.Validity), "%s and %s", id, h.ID)
				}
			}
		}
	})
}
