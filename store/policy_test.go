package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
)

func policyOf(t *testing.T, rules string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse([]byte(rules))
	require.NoError(t, err)
	return p
}

// stageUnder stages candidates under a rules file.
func (w *world) stageUnder(p *policy.Policy, candidates ...schema.Candidate) (schema.IngestAck, schema.Range) {
	w.t.Helper()
	in := w.input(candidates...)
	in.Rules = p
	ack, err := w.Stage(ctx, in)
	require.NoError(w.t, err)
	return ack, w.rangeOf(ack)
}

func (w *world) writeUnder(p *policy.Policy, r schema.Range) schema.WriteCounts {
	w.t.Helper()
	counts, err := w.Write(ctx, pipeline.WriteInput{Range: r, MaxRounds: 3, Now: w.now, Rules: p})
	require.NoError(w.t, err)
	return counts
}

// createdWith is the metadata of the first row in a memory's history.
func (w *world) createdWith(id uuid.UUID) map[string]any {
	w.t.Helper()
	var out map[string]any
	require.NoError(w.t, json.Unmarshal(w.history(id)[0].Metadata, &out))
	return out
}

// facts returns the memories extracted from a source.
func (w *world) facts(source uuid.UUID) []schema.MemoryRecord {
	w.t.Helper()
	rows, err := w.owner.Query(ctx,
		`SELECT source_id FROM memory_links WHERE predicate = 'derived_from' AND target_id = $1`, source)
	require.NoError(w.t, err)
	defer rows.Close()
	var ids []uuid.UUID
	for rows.Next() {
		var id uuid.UUID
		require.NoError(w.t, rows.Scan(&id))
		ids = append(ids, id)
	}
	require.NoError(w.t, rows.Err())
	var out []schema.MemoryRecord
	for _, id := range ids {
		out = append(out, w.get(id))
	}
	return out
}

func TestRulesDecideHowACandidateIsStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := policyOf(t, `
rules:
  - name: payroll
    when: candidate.content.contains("salary")
    set:
      type: semantic
      sensitivity: high
      confidence: 0.6
      importance: 0.9
      tags: [hr]
      decay: {curve: linear, half_life: 2d, min_salience: 0.2, max_age: 90d, floor: 0.1, reinforcement_gain: 0.3}
      scope: hr
      visibility: shared
      deletion_policy: never
      revision_policy: contest
      source_trust: 0.5
  - {name: broken, when: "candidate.tags[9] == 'x'", set: {pinned: true}}
`)
	ack, _ := w.stageUnder(p, schema.Candidate{Content: "Ann's salary rises in May.", Tags: []string{"own"}},
		schema.Candidate{Content: "Tea is hot."})
	id := uuid.MustParse(ack.MemoryIDs[0])
	m := w.get(id)
	require.Equal(t, schema.TypeSemantic, m.Type)
	require.Equal(t, schema.TierPersistent, m.Tier)
	require.Equal(t, schema.SensitivityHigh, m.Sensitivity)
	require.InDelta(t, 0.6, m.Confidence, 0)
	require.InDelta(t, 0.9, m.Importance, 0)
	require.Equal(t, []string{"own", "hr"}, m.Tags)
	require.Equal(t, "hr", m.Scope)
	require.Equal(t, schema.VisibilityShared, m.Visibility)
	require.Equal(t, schema.DeleteNever, m.Lifecycle.DeletionPolicy)
	require.Equal(t, schema.DecayProfile{Curve: schema.CurveLinear, HalfLifeSeconds: 2 * 86400, MinSalience: 0.2,
		MaxAgeSeconds: 90 * 86400, Floor: 0.1, ReinforcementGain: 0.3},
		m.Lifecycle.Decay)
	require.Equal(t, w.now.Add(time.Duration(3.2*24*float64(time.Hour))), m.Lifecycle.DecayDueAt.UTC(),
		"linear from 1 to 0.2")
	require.InDelta(t, 0.5, m.SourceTrust, 0)
	require.Equal(t, 1, w.count("memories",
		`id = $1 AND revision_policy = 'contest' AND payload->>'revision_policy' = 'contest'`, id))

	metadata := w.createdWith(id)
	require.Equal(t, p.Hash(), metadata["policy"])
	require.Equal(t, []any{"payroll"}, metadata["rules"])
	require.Equal(t, []any{"broken"}, metadata["rules_failed"])

	other := uuid.MustParse(ack.MemoryIDs[1])
	require.Equal(t, schema.TypeEpisodic, w.get(other).Type)
	require.Empty(t, w.get(other).Scope)
	require.Equal(t, p.Hash(), w.createdWith(other)["policy"], "the policy in force, also if no rule applied")
	require.NotContains(t, w.createdWith(other), "rules")
}

func TestARuleCanMakeACandidateWorkingMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := policyOf(t, `rules: [{name: scratch, when: "candidate.source_kind == 'observation'", set: {type: working}}]`)
	ack, _ := w.stageUnder(p, schema.Candidate{Content: "Looking at the logs.", Session: "s1"})
	m := w.get(uuid.MustParse(ack.MemoryIDs[0]))
	require.Equal(t, schema.TypeWorking, m.Type)
	require.Equal(t, schema.TierInteraction, m.Tier)
	require.NoError(t, schema.ValidatePayload(m.Type, m.Payload))
}

func TestDuplicatesAreFoundInTheScopeSetByRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := policyOf(t,
		`rules: [{name: hr, when: "candidate.content.contains('salary') && candidate.speaker != 'Bob'", set: {scope: hr, visibility: shared}}]`)
	one := schema.Candidate{Content: "The salary is paid in May."}
	other := schema.Candidate{Content: "The salary is paid in May.", Speaker: "Bob"} // stays where the request puts it
	first, _ := w.stageUnder(p, one, other, one)
	require.Equal(t, []int{2}, first.Deduped)
	require.NotEqual(t, first.MemoryIDs[0], first.MemoryIDs[1])
	require.Equal(t, first.MemoryIDs[0], first.MemoryIDs[2])

	again, _ := w.stageUnder(p, one, other)
	require.Equal(t, []int{0, 1}, again.Deduped)
	require.Equal(t, first.MemoryIDs[:2], again.MemoryIDs)

	w.policy.Mode = schema.ModeShadow // which only evaluates
	shadow, _ := w.stageUnder(p, one, other)
	require.Equal(t, first.MemoryIDs[:2], shadow.MemoryIDs)
}

func TestFactsInheritSensitivityAndVisibility(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.vis = schema.VisibilityShared
	p := policyOf(t,
		`rules: [{name: hide, when: "kind == 'candidate' && 'password' in detected", set: {visibility: private, scope: vault, source_trust: 0.4}}]`)
	ack, r := w.stageUnder(p, schema.Candidate{Content: "Dana moved to Oslo; the password is hunter2x."})
	source := uuid.MustParse(ack.MemoryIDs[0])
	require.Equal(t, schema.SensitivityHyper, w.get(source).Sensitivity)
	require.Equal(t, []any{"password"}, w.createdWith(source)["detected"])

	w.decided(r, source, idea{fact: lives("Dana lives in Oslo", "Dana", "Oslo"), action: schema.ActionAdd})
	require.Equal(t, 1, w.writeUnder(p, r).Added)
	facts := w.facts(source)
	require.Len(t, facts, 1)
	require.Equal(t, schema.SensitivityHyper, facts[0].Sensitivity)
	require.Equal(t, schema.VisibilityPrivate, facts[0].Visibility)
	require.Equal(t, "vault", facts[0].Scope)
	require.InDelta(t, 0.4, facts[0].SourceTrust, 0)

	// The claim has the visibility of the fact.
	ack, r = w.stageUnder(p, schema.Candidate{Content: "Dana moved to Rome; the password is hunter3x."})
	second := uuid.MustParse(ack.MemoryIDs[0])
	w.decided(r, second, idea{fact: lives("Dana lives in Rome", "Dana", "Rome"), action: schema.ActionAdd})
	require.Equal(t, 1, w.writeUnder(p, r).Blocked)
	// Without the rule, the fact may be active.
	ack, r = w.stageUnder(nil, schema.Candidate{Content: "Dana says she has moved to Bergen."})
	elsewhere := uuid.MustParse(ack.MemoryIDs[0])
	w.decided(r, elsewhere, idea{fact: lives("Dana lives in Bergen", "Dana", "Bergen"), action: schema.ActionAdd})
	require.Equal(t, 1, w.writeUnder(nil, r).Added)
}

func TestARuleForFactsDecidesThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := policyOf(t, `
rules:
  - name: towns-are-public
    when: kind == "fact" && fact.predicate == "lives_in" && candidate.sensitivity == "hyper" && candidate.source_kind == "user_input"
    set: {sensitivity: low, confidence: 0.5, deletion_policy: manual_only, source_trust: 1, revision_policy: fork}
`)
	ack, r := w.stageUnder(p, schema.Candidate{Content: "Dana lives in Oslo; my password is hunter2x.",
		SourceKind: schema.SourceUserInput})
	source := uuid.MustParse(ack.MemoryIDs[0])
	w.decided(r, source, idea{fact: lives("Dana lives in Oslo", "Dana", "Oslo"), action: schema.ActionAdd},
		idea{fact: fact("Dana has a password"), action: schema.ActionAdd})
	require.Equal(t, 2, w.writeUnder(p, r).Added)
	for _, f := range w.facts(source) {
		if f.Content != "Dana lives in Oslo" {
			require.Equal(t, schema.SensitivityHyper, f.Sensitivity)
			continue
		}
		require.Equal(t, schema.SensitivityLow, f.Sensitivity)
		require.InDelta(t, 0.5, f.Confidence, 0)
		require.Equal(t, schema.DeleteManualOnly, f.Lifecycle.DeletionPolicy)
		require.Equal(t, 1, w.count("memories", `id = $1 AND revision_policy = 'fork'`, f.ID))
		metadata := w.createdWith(uuid.MustParse(f.ID))
		require.Equal(t, p.Hash(), metadata["policy"])
		require.Equal(t, []any{"towns-are-public"}, metadata["rules"])
		require.Contains(t, metadata, "proposalId", "in addition to the pipeline's own metadata")
	}
}

// A source is stored by the type that its text indicates, with the payload of the type. It is found by its words, and
// facts are still extracted from it.
func TestSourceTypeFollowsItsText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for want, content := range map[schema.MemoryType]string{
		schema.TypeCompetence: "How to fix the linker error:\n1. Run `go clean -cache`\n2. Rebuild with `make build`",
		schema.TypeWorking:    "Task: migrate the ledger\nState: blocked\nNext steps:\n- ask Ana for the key",
		schema.TypePlanGraph:  "Plan: ship the release\nbuild -> test -> deploy",
		schema.TypeEpisodic:   "We talked about the linker error, and Ana ran `make build`.",
	} {
		ack, r := w.stage(schema.Candidate{Content: content, SourceKind: schema.SourceUserInput, Speaker: "Ana"})
		id := uuid.MustParse(ack.MemoryIDs[0])
		m := w.get(id)
		tier, typology := memory.Placement(want)
		require.Equal(t, []any{want, tier, typology}, []any{m.Type, m.Tier, m.Typology})
		require.NoError(t, schema.ValidatePayload(want, m.Payload))
		require.NotEmpty(t, m.Provenance.Sources)
		w.decided(r, id, idea{fact: fact("Drawn from a " + string(want)), action: schema.ActionAdd})
		require.Equal(t, 1, w.write(r).Added)
	}
	testkit.CheckInvariants(t, w.owner)
}
