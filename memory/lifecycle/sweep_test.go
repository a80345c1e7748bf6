package lifecycle_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/memorytest"
	"github.com/mneme/mneme/schema"
)

func TestJudgeDue(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	purge := lifecycle.DefaultRetention(schema.RetainMemory, schema.TierSession, schema.TypologyEpisodic)
	archive, exempt := purge, purge
	archive.OnExpiry, exempt.DecayExempt = schema.ExpiryArchive, true
	due := func(change ...func(*lifecycle.Decayed)) lifecycle.Decayed {
		m := lifecycle.Decayed{Tier: schema.TierSession, Typology: schema.TypologyEpisodic,
			DeletionPolicy: schema.DeleteAutoPrune,
			CreatedAt:      now.Add(-7 * memorytest.Day), SalienceAt: now.Add(-7 * memorytest.Day), Salience: 1,
			Decay: memory.Decay{HalfLife: memorytest.Day, MinSalience: 0.05}}
		for _, c := range change {
			c(&m)
		}
		return m
	}
	is := func(p schema.DeletionPolicy) func(*lifecycle.Decayed) {
		return func(m *lifecycle.Decayed) { m.DeletionPolicy = p }
	}
	world := func(m *lifecycle.Decayed) { m.World = true }
	lasting := func(typology schema.Typology) func(*lifecycle.Decayed) {
		return func(m *lifecycle.Decayed) { m.Tier, m.Typology = schema.TierPersistent, typology }
	}
	until := func(at time.Time) func(*lifecycle.Decayed) {
		return func(m *lifecycle.Decayed) { m.ValidUntil = &at }
	}
	tomorrow, yesterday, recheck := now.Add(memorytest.Day), now.Add(-memorytest.Day), now.Add(lifecycle.KeptFor)
	for name, test := range map[string]struct {
		m       lifecycle.Decayed
		p       schema.RetentionPolicy
		outcome lifecycle.SweepOutcome
		why     string
		next    *time.Time
	}{
		"faded": {due(), purge, lifecycle.SweepPrune, "faded", nil},
		"too old, not faded": {due(func(m *lifecycle.Decayed) {
			m.SalienceAt = now
			m.Decay.MaxAge = 6 * memorytest.Day
		}), purge, lifecycle.SweepPrune, "max_age", nil},
		"not due yet": {due(func(m *lifecycle.Decayed) { m.SalienceAt = now }), purge,
			lifecycle.SweepNotDue, "faded",
			memorytest.At(now, 4*memorytest.Day+27814*time.Second+588*time.Millisecond)},
		"never falls due": {due(func(m *lifecycle.Decayed) { m.Decay.MinSalience = 0 }), purge,
			lifecycle.SweepNotDue, "faded", nil},
		"pinned": {due(func(m *lifecycle.Decayed) { m.Pinned = true }), purge,
			lifecycle.SweepNotDue, "pinned", nil},
		"exempt":        {due(), exempt, lifecycle.SweepKeep, "decay_exempt", &recheck},
		"never deleted": {due(is(schema.DeleteNever)), purge, lifecycle.SweepKeep, "never", nil},
		"manual deletion only": {due(is(schema.DeleteManualOnly)), purge, lifecycle.SweepArchive,
			"manual_only", nil},
		"linked to an action": {due(func(m *lifecycle.Decayed) { m.ActionLinked = true }), purge,
			lifecycle.SweepArchive, "action_linked", nil},
		"a class that archives": {due(), archive, lifecycle.SweepArchive, "retention", nil},
		"a world's memory":      {due(world), purge, lifecycle.SweepArchive, "world", nil},
		"a persistent fact of a world": {due(world, lasting(schema.TypologySemantic)), archive,
			lifecycle.SweepKeep, "valid", &recheck},
		"a fact of a world, still valid": {due(world, lasting(schema.TypologySemantic), until(tomorrow)), archive,
			lifecycle.SweepKeep, "valid", &tomorrow},
		"a fact of a world, no longer valid": {due(world, lasting(schema.TypologySemantic), until(yesterday)), archive,
			lifecycle.SweepArchive, "world", nil},
		"a fact outside worlds, still valid": {due(lasting(schema.TypologySemantic), until(tomorrow)), purge,
			lifecycle.SweepPrune, "faded", nil},
		"never deleted, invalid, of a world": {due(world, is(schema.DeleteNever)), purge, lifecycle.SweepKeep, "never",
			nil},
	} {
		v := lifecycle.JudgeDue(test.m, test.p, now)
		require.Equal(t, []any{test.outcome, test.why}, []any{v.Outcome, v.Why}, name)
		if test.next == nil {
			require.Nil(t, v.NextDue, name)
			continue
		}
		require.NotNil(t, v.NextDue, name)
		require.WithinDuration(t, *test.next, *v.NextDue, time.Second, name)
	}
}

// No memory is removed before it is due or if it must stay. A memory that stays although it is due is checked again
// only later.
func TestJudgeDueProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		now := time.Unix(rapid.Int64Range(0, 4e9).Draw(r, "now"), 0).UTC()
		unit := rapid.Float64Range(0, 1)
		m := lifecycle.Decayed{
			Tier: rapid.SampledFrom([]schema.Tier{schema.TierInteraction, schema.TierSession,
				schema.TierPersistent}).Draw(r, "tier"),
			Typology: rapid.SampledFrom([]schema.Typology{schema.TypologyEpisodic, schema.TypologySemantic,
				schema.TypologyProcedural}).Draw(r, "typology"),
			DeletionPolicy: rapid.SampledFrom([]schema.DeletionPolicy{schema.DeleteAutoPrune, schema.DeleteManualOnly,
				schema.DeleteNever}).Draw(r, "policy"),
			Pinned: rapid.Bool().Draw(r, "pinned"), World: rapid.Bool().Draw(r,
				"world"), ActionLinked: rapid.Bool().Draw(r, "acted"),
			CreatedAt: now.Add(-time.Duration(rapid.Int64Range(-1e6, 1e8).Draw(r, "age")) * time.Second),
			// clocks differ
			SalienceAt: now.Add(-time.Duration(rapid.Int64Range(-1e6, 1e8).Draw(r, "since")) * time.Second),
			Salience:   unit.Draw(r, "salience"),
			Decay: memory.Decay{Curve: rapid.SampledFrom([]schema.DecayCurve{schema.CurveExponential,
				schema.CurveLinear}).Draw(r, "curve"),
				HalfLife:    time.Duration(rapid.Int64Range(1, 1e8).Draw(r, "half-life")) * time.Second,
				MinSalience: unit.Draw(r, "threshold"), Floor: unit.Draw(r, "floor")},
		}
		p := lifecycle.DefaultRetention(rapid.SampledFrom([]schema.RetentionDomain{schema.RetainMemory,
			schema.RetainWorld}).Draw(r, "domain"), m.Tier, m.Typology)
		v := lifecycle.JudgeDue(m, p, now)
		due, fades := m.Decay.DueAt(m.Salience, m.SalienceAt, m.CreatedAt, m.Pinned)
		gone := v.Outcome == lifecycle.SweepPrune || v.Outcome == lifecycle.SweepArchive
		require.Equal(r, v.Outcome != lifecycle.SweepNotDue && !m.Pinned, !m.Pinned && fades && !now.Before(due))
		if gone {
			require.False(r, m.Pinned || p.DecayExempt || m.DeletionPolicy == schema.DeleteNever)
			require.LessOrEqual(r, v.Salience, m.Decay.MinSalience, "no maximum age is set")
		}
		if v.Outcome == lifecycle.SweepPrune {
			require.False(r, m.World || m.ActionLinked || m.DeletionPolicy != schema.DeleteAutoPrune)
		}
		if v.NextDue != nil {
			require.True(r, v.NextDue.After(now), "the next check is in the future")
		}
	})
}

func TestDefaultRetentionMatchesDocument(t *testing.T) {
	t.Parallel()
	var none lifecycle.RetentionRules
	for domain, want := range map[schema.RetentionDomain]time.Duration{schema.RetainMemory: 30 * memorytest.Day,
		schema.RetainWorld:   30 * memorytest.Day,
		schema.RetainHistory: 180 * memorytest.Day, schema.RetainJobsCompleted: 14 * memorytest.Day,
		schema.RetainJobsDead: 30 * memorytest.Day, schema.RetainRetrievals: 30 * memorytest.Day,
		schema.RetainIngest: 90 * memorytest.Day, schema.RetainOperations: 90 * memorytest.Day,
		schema.RetainForgetRuns: 180 * memorytest.Day, schema.RetainEvents: 180 * memorytest.Day,
		schema.RetainArtifacts: 30 * memorytest.Day} {
		p := none.For(domain, schema.TierPersistent, schema.TypologyProcedural)
		require.Equal(t, int64(want/time.Second), p.KeepSeconds, domain)
		require.True(t, p.Default)
		world := domain == schema.RetainWorld
		require.Equal(t, []bool{world, world}, []bool{p.OnExpiry == schema.ExpiryArchive, p.DecayExempt}, domain)
	}
	require.False(t, none.For(schema.RetainWorld, schema.TierPersistent, schema.TypologySemantic).DecayExempt)
	require.False(t, none.For(schema.RetainWorld, schema.TierSession, schema.TypologyProcedural).DecayExempt)
}

// The most specific policy decides, with all of its fields.
func TestRetentionRulesFor(t *testing.T) {
	t.Parallel()
	rule := func(d schema.RetentionDomain, tier schema.Tier, typology schema.Typology,
		keep int64) schema.RetentionPolicy {
		return schema.RetentionPolicy{Domain: d, Tier: tier, Typology: typology, KeepSeconds: keep,
			OnExpiry: schema.ExpiryPurge}
	}
	rules := lifecycle.RetentionRules{
		rule(schema.RetainMemory, schema.TierSession, schema.TypologyEpisodic, 4), rule(schema.RetainMemory, schema.Any,
			schema.Any, 1),
		rule(schema.RetainMemory, schema.Any, schema.TypologyEpisodic, 2), rule(schema.RetainMemory, schema.TierSession,
			schema.Any, 3),
	}
	for _, test := range []struct {
		tier     schema.Tier
		typology schema.Typology
		want     int64
	}{{schema.TierSession, schema.TypologyEpisodic, 4}, {schema.TierSession, schema.TypologySemantic, 3},
		{schema.TierPersistent, schema.TypologyEpisodic, 2}, {schema.TierPersistent, schema.TypologySemantic, 1}} {
		require.Equal(t, test.want, rules.For(schema.RetainMemory, test.tier, test.typology).KeepSeconds)
	}
	require.True(t, rules.For(schema.RetainWorld, schema.TierSession, schema.TypologyEpisodic).Default)

	// A policy for a whole domain does not override the default of one class.
	world := lifecycle.RetentionRules{{Domain: schema.RetainWorld, Tier: schema.Any, Typology: schema.Any,
		KeepSeconds: 60, OnExpiry: schema.ExpiryArchive}}
	lasting := world.For(schema.RetainWorld, schema.TierPersistent, schema.TypologyProcedural)
	require.Equal(t, []any{int64(60), true}, []any{lasting.KeepSeconds, lasting.DecayExempt})
	require.False(t, append(world,
		schema.RetentionPolicy{Domain: schema.RetainWorld, Tier: schema.TierPersistent, Typology: schema.Any}).
		For(schema.RetainWorld, schema.TierPersistent, schema.TypologyProcedural).DecayExempt)
}

// A purge runs each step once, in the order of document 002.
func TestPurgeStepsInOrder(t *testing.T) {
	t.Parallel()
	var passed []schema.PurgeStep
	for step, last := lifecycle.PurgeSteps[0], false; !last; {
		passed = append(passed, step)
		step, last = lifecycle.NextPurgeStep(step)
	}
	require.Equal(t, lifecycle.PurgeSteps, passed)
	require.Equal(t, []schema.PurgeStep{"graph_links", "embeddings", "tombstones", "history", "jobs_completed",
		"jobs_dead"}, passed[1:7])
	_, last := lifecycle.NextPurgeStep("nonsense")
	require.True(t, last)
}

func TestSweepAllowance(t *testing.T) {
	t.Parallel()
	require.EqualValues(t, lifecycle.SweepFree, lifecycle.SweepAllowance(10, 0.5))
	require.EqualValues(t, 500_000, lifecycle.SweepAllowance(1_000_000, 0.5))
	require.EqualValues(t, lifecycle.SweepFree, lifecycle.SweepAllowance(1_000_000, 0))
	require.EqualValues(t, 1_000_000, lifecycle.SweepAllowance(1_000_000, 1))
	require.EqualValues(t, 500_000, lifecycle.SweepAllowance(1_000_000, math.NaN()),
		"NaN means the default share")
}

func TestCountNamesAreWords(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{lifecycle.CountDependents: "dependents", "not_due": "not due",
		string(lifecycle.PurgeTombstones): "tombstones"} {
		if got := lifecycle.CountName(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
