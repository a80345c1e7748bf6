package lifecycle_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
)

// setAll returns the rules with policies added or replaced.
func setAll(r lifecycle.RetentionRules, set []schema.RetentionPolicy) lifecycle.RetentionRules {
	out := append(lifecycle.RetentionRules{}, r...)
	for _, p := range set {
		kept := out[:0:0]
		for _, q := range out {
			if q.Domain != p.Domain || q.Tier != p.Tier || q.Typology != p.Typology {
				kept = append(kept, q)
			}
		}
		out = append(kept, p)
	}
	return out
}

// Document 003 D12: persistent procedures of a world do not decay unless a policy ends their exemption.
func TestWindowKeepsDecayExemption(t *testing.T) {
	t.Parallel()
	var none lifecycle.RetentionRules
	exempt := func(r lifecycle.RetentionRules) bool {
		return r.For(schema.RetainWorld, schema.TierPersistent, schema.TypologyProcedural).DecayExempt
	}
	for _, class := range []schema.RetentionPolicy{
		{Tier: schema.TierPersistent, Typology: schema.Any}, {Tier: schema.Any, Typology: schema.TypologyProcedural},
		{Tier: schema.Any, Typology: schema.Any},
		{Tier: schema.TierPersistent, Typology: schema.TypologyProcedural},
	} {
		class.Domain, class.KeepSeconds = schema.RetainWorld, 90*86400
		rules := setAll(none, none.Set(class, nil, nil))
		require.True(t, exempt(rules), "%s/%s", class.Tier, class.Typology)
		require.EqualValues(t, 90*86400,
			rules.For(schema.RetainWorld, schema.TierPersistent, schema.TypologyProcedural).KeepSeconds)
		require.False(t, rules.For(schema.RetainWorld, schema.TierPersistent, schema.TypologySemantic).DecayExempt,
			"no other class becomes exempt")
		no := false
		if class.Tier != schema.Any || class.Typology != schema.Any { // a policy for all classes keeps the exemption
			require.False(t, exempt(setAll(none, none.Set(class, nil, &no))), "an explicit policy ends the exemption")
		}
	}
	require.Len(t, none.Set(schema.RetentionPolicy{Domain: schema.RetainMemory, Tier: schema.TierSession,
		Typology: schema.Any}, nil, nil), 1)
	require.Len(t, none.Set(schema.RetentionPolicy{Domain: schema.RetainHistory, Tier: schema.Any,
		Typology: schema.Any}, nil, nil), 1)
}

// Set changes only the given fields of the class. More specific policies still apply.
func TestSetChangesOnlyGivenFields(t *testing.T) {
	t.Parallel()
	tiers := []schema.Tier{schema.Any, schema.TierInteraction, schema.TierSession, schema.TierPersistent}
	typologies := []schema.Typology{schema.Any, schema.TypologyEpisodic, schema.TypologySemantic,
		schema.TypologyProcedural}
	rapid.Check(t, func(r *rapid.T) {
		domain := rapid.SampledFrom([]schema.RetentionDomain{schema.RetainMemory, schema.RetainWorld}).Draw(r, "domain")
		draw := func(keep int64) schema.RetentionPolicy {
			return schema.RetentionPolicy{Domain: domain, Tier: rapid.SampledFrom(tiers).Draw(r, "tier"),
				Typology: rapid.SampledFrom(typologies).Draw(r, "typology"), KeepSeconds: keep,
				OnExpiry: rapid.SampledFrom([]schema.OnExpiry{schema.ExpiryPurge, schema.ExpiryArchive}).Draw(r,
					"then"), DecayExempt: rapid.Bool().Draw(r, "exempt")}
		}
		var rules lifecycle.RetentionRules
		for range rapid.IntRange(0, 4).Draw(r, "rules") {
			rules = setAll(rules, []schema.RetentionPolicy{draw(3600)})
		}
		p := draw(7200)
		var then *schema.OnExpiry
		var exempt *bool
		if rapid.Bool().Draw(r, "says then") {
			then = &p.OnExpiry
		}
		if rapid.Bool().Draw(r, "says exempt") {
			exempt = &p.DecayExempt
		}
		set := rules.Set(p, then, exempt)
		after := setAll(rules, set)
		last := set[len(set)-1]
		require.Equal(r, []any{p.Tier, p.Typology}, []any{last.Tier, last.Typology},
			"the class itself comes last, so that no exemption ends in between")
		whole := p.Tier == schema.Any && p.Typology == schema.Any
		for _, class := range lifecycle.RetentionClasses(domain) {
			was, is := rules.For(domain, class.Tier, class.Typology), after.For(domain, class.Tier, class.Typology)
			if is.KeepSeconds != 7200 { // another class, or a more specific policy
				require.Equal(r, was, is)
				continue
			}
			if then == nil {
				require.Equal(r, was.OnExpiry, is.OnExpiry)
			} else {
				require.Equal(r, *then, is.OnExpiry)
			}
			if exempt == nil {
				require.Equal(r, was.DecayExempt, is.DecayExempt)
			} else if !whole {
				require.Equal(r, *exempt, is.DecayExempt)
			}
		}
	})
}

// An idempotency key is kept at least as long as the records that it protects, for any change of the windows.
func TestKeysOutliveProtectedRecords(t *testing.T) {
	t.Parallel()
	const day = 86_400
	var none lifecycle.RetentionRules
	require.EqualValues(t, 90*day, none.Keys().KeepSeconds)
	rapid.Check(t, func(r *rapid.T) {
		var rules lifecycle.RetentionRules
		for range rapid.IntRange(0, 4).Draw(r, "policies") {
			p := schema.RetentionPolicy{Domain: rapid.SampledFrom(schema.RetentionDomains).Draw(r, "domain"),
				Tier: schema.Any, Typology: schema.Any,
				KeepSeconds: rapid.Int64Range(0, 400).Draw(r, "days") * day}
			if p.Domain.OfMemories() {
				p.Tier = rapid.SampledFrom([]schema.Tier{schema.Any, schema.TierSession}).Draw(r, "tier")
			}
			rules = setAll(rules, []schema.RetentionPolicy{p})
		}
		keys := rules.Keys().KeepSeconds
		for _, d := range []schema.RetentionDomain{schema.RetainOperations, schema.RetainIngest, schema.RetainJobsDead,
			schema.RetainMemory, schema.RetainWorld} {
			kept := rules.For(d, schema.TierSession, schema.TypologyEpisodic).KeepSeconds
			require.True(r, keys == 0 || kept > 0 && keys >= kept, "%s is kept for %d s, keys for %d s", d, kept, keys)
		}
	})
}
