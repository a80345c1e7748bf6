package rules

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/change"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

func decideOn(t require.TestingT, fact string, known ...string) memory.Proposal {
	var neighbors []memory.Neighbor
	for i, k := range known {
		neighbors = append(neighbors, memory.Neighbor{ID: fmt.Sprintf("n%d", i), Version: 1, Content: k,
			Hash: normalize.Normalize(k).Hash, Score: 0.5})
	}
	p, usage, err := Decider{}.Decide(context.Background(),
		memory.Fact{Content: fact, Category: schema.CategoryFact, Confidence: 0.8}, neighbors)
	require.NoError(t, err)
	require.Zero(t, usage)
	require.Equal(t, p, intake.CheckProposal(p, neighbors), "well-formed for the neighbours")
	return p
}

func changed(why string) string { return "change: " + why }

func TestDecide(t *testing.T) {
	for _, tc := range []struct {
		known, fact string
		action      schema.Action
		reason      string
	}{
		{"The cache is Redis.", "the cache  is Redis", schema.ActionNone, ReasonIdentical},
		{"The cache is Redis.", "Cache is just Redis!", schema.ActionNone, ReasonNearDuplicate},
		{"Caroline doesn't like tea.", "Caroline does not like tea", schema.ActionNone, ReasonNearDuplicate},
		{"Caroline lives in Oslo.", "Caroline currently resides in Oslo.", schema.ActionNone, ReasonSameClaim},

		{"Caroline lives in Oslo but doesn't like the rain.", "Caroline lives in Oslo.", schema.ActionNone,
			ReasonSameClaim},

		{"Caroline lives in Oslo.", "Caroline lives in Berlin.", schema.ActionUpdate, changed(change.WhySingle)},
		{"The default branch is master.", "the default branch is main now", schema.ActionUpdate,
			changed(change.WhySingle)},
		{"The port of the API server is 8080.", "The API server runs on port 9090.", schema.ActionUpdate,
			changed(change.WhySingle)},
		{"Caroline prefers Go for backend services.", "Caroline prefers Rust for backend services.",
			schema.ActionUpdate, ReasonNewValue},
		{"Caroline's favorite color is blue.", "Caroline's favorite color is green.", schema.ActionUpdate,
			changed(change.WhySingle)},

		{"Caroline lives in Oslo.", "Caroline no longer lives in Oslo.", schema.ActionUpdate, changed(change.WhyEnded)},
		{"Caroline uses Vim.", "Caroline stopped using Vim.", schema.ActionUpdate, changed(change.WhyNamed)},
		{"Caroline eats meat.", "Caroline doesn't eat meat anymore.", schema.ActionUpdate, changed(change.WhyEnded)},
		{"Caroline lives in Oslo.", "Caroline moved to Berlin and no longer lives in Oslo.", schema.ActionUpdate,
			changed(change.WhySingle)},
		{"Caroline lives in Oslo.", "Caroline used to live in Oslo.", schema.ActionUpdate, changed(change.WhyEnded)},
		{"Caroline prefers Go over Rust.", "Caroline prefers Rust over Go.", schema.ActionUpdate,
			changed(change.WhyNamed)},
		{"Caroline works at Google.", "Caroline works at Acme.", schema.ActionUpdate, changed(change.WhyRestated)},
		{"Caroline no longer uses Vim.", "Caroline uses Vim.", schema.ActionUpdate, ReasonResumed},

		{"Caching is enabled for the API.", "Caching is disabled for the API.", schema.ActionUpdate,
			changed(change.WhyOpposite)},
		{"Always squash commits.", "Never squash commits.", schema.ActionUpdate, ReasonAntonyms},
		{"Caroline likes tea.", "Caroline doesn't like tea.", schema.ActionUpdate, changed(change.WhyOpposite)},
		{"The build supports Windows.", "The build does not support Windows because of the linker.",
			schema.ActionUpdate, changed(change.WhyOpposite)},
	} {
		p := decideOn(t, tc.fact, "The weather in Rome was mild in spring.", tc.known)
		assert.Equal(t, tc.action, p.Action, "%s → %s", tc.known, tc.fact)
		assert.Equal(t, tc.reason, p.Reason, "%s → %s", tc.known, tc.fact)
		assert.Equal(t, "n1", p.TargetID)
	}
}

// A more exact value of what has one value replaces the less exact one, if nothing else is lost.
func TestDecideOnAMoreExactValue(t *testing.T) {
	const green = "Caroline's favorite color is green."
	for _, c := range []struct {
		known, fact string
		action      schema.Action
		reason      string
	}{
		{green, "Caroline's favorite color is dark green.", schema.ActionUpdate, ReasonNewValue},
		{green, "Caroline's favorite color is dark green now.", schema.ActionUpdate, ReasonNewValue},
		{"Caroline's favorite color is green and it suits her.", "Caroline's favorite color is dark green.",
			schema.ActionAdd, ReasonNew},
		{"Caroline's favorite color is dark green.", green, schema.ActionAdd, ReasonNew},
		{green, "Caroline's favorite color isn't dark green.", schema.ActionAdd, ReasonNew},
		{green, "Caroline's favorite color is probably dark green.", schema.ActionAdd, ReasonNew},
		{green, "Nora's favorite color is dark green.", schema.ActionAdd, ReasonNew},
		{"Caroline lives in Oslo.", "Caroline lives in Oslo with two cats.", schema.ActionAdd, ReasonNew},
	} {
		p := decideOn(t, c.fact, c.known)
		assert.Equal(t, c.action, p.Action, "%s → %s", c.known, c.fact)
		assert.Equal(t, c.reason, p.Reason, "%s → %s", c.known, c.fact)
	}
}

func TestDecideAddsDistinctFacts(t *testing.T) {
	for _, pair := range [][2]string{
		{"Alice likes Bob.", "Bob likes Alice."},
		{"Caroline works at Google.", "Caroline worked at Google."},
		{"Run tests before merging.", "Run tests after merging."},
		{"Feature A is enabled in staging.", "Feature B is disabled in staging."},
		{"The staging cache is enabled.", "The production cache is disabled."},
		{"The API port is 8080.", "The database port is 5432."},
		{"The university is large and old.", "The universe is large and old."},
		{"The release is v1.2.3.", "The release is v1.2.4 for Windows."},
		{"Caroline likes tea.", "Caroline likes coffee."},
		{"Caroline was born in Oslo.", "Caroline was born in 1990."},
		{"Caroline lives in Oslo.", "Caroline lives in Berlin during the summer."},
		{"Caroline lives in Oslo, Norway.", "Caroline lives in Oslo with two cats."},
		{"Caroline lives in Oslo.", "Caroline lives in Oslo and no longer smokes."},
		{"The API returns JSON.", "The API does not page and returns JSON."},
		{"Users lose access at night.", "Deleted users lose access at night."},
		{"Redis caches the sessions.", "Redis is used to cache the sessions."},
		{"Deploys before tests are allowed.", "Deploys after tests are denied."},
		{"Use C++ for the parser.", "Use C# for the parser."},
		{"Latency is < 5 ms in tests.", "Latency is > 5 ms in tests."},
		{"Caroline lives in Oslo.", "Maybe Caroline lives in Berlin."},
		{"Bob says the port is 80.", "The port is 443."},
		{"The API is deprecated and slow.", "The API is fast."},
	} {
		for _, way := range [][2]string{pair, {pair[1], pair[0]}} {
			p := decideOn(t, way[1], way[0])
			assert.Equal(t, schema.ActionAdd, p.Action, "%s → %s: %s", way[0], way[1], p.Reason)
			assert.Empty(t, p.TargetID)
		}
	}
}

// Twenty distinct facts about one subject are not merged into one.
func TestDecideNeverMergesDistinctFacts(t *testing.T) {
	facts := []string{
		"Caroline likes tea.", "Caroline likes coffee.", "Caroline likes climbing.",
		"Caroline loves climbing in Spain.",
		"Caroline lives in Oslo.", "Caroline was born in Bergen.", "Caroline was born in 1990.",
		"Caroline works at Google.",
		"Caroline works as a nurse.", "Caroline has a dog.", "Caroline has a cat.", "Caroline speaks Norwegian.",
		"Caroline speaks French.", "Caroline uses Vim.", "Caroline uses Go 1.26.",
		"Caroline's brother lives in Berlin.",
		"Caroline's sister lives in Rome.", "Caroline prefers Go for servers.", "Caroline prefers Python for scripts.",
		"Caroline's favorite color is blue.", "Caroline's favorite band is Abba.", "Caroline never eats meat.",
		"Caroline always runs tests.", "Caroline moved to Oslo in 2019.", "Caroline is allergic to peanuts.",
	}
	rapid.Check(t, func(r *rapid.T) {
		i := rapid.IntRange(0, len(facts)-1).Draw(r, "fact")
		others := append(append([]string(nil), facts[:i]...), facts[i+1:]...)
		known := rapid.Permutation(others).Draw(r, "order")
		p := decideOn(r, facts[i], known...)
		require.Equal(r, schema.ActionAdd, p.Action, "%s: %s", facts[i], p.Reason)
	})
	templates := rapid.SampledFrom([]string{"Caroline likes item %d.", "Service %d runs on port 80.",
		"Ticket %d was closed by Bob.", "The limit of queue %d is 10.", "Rule %d is enabled."})
	rapid.Check(t, func(r *rapid.T) {
		template := templates.Draw(r, "template")
		var known []string
		for i := range 20 {
			known = append(known, fmt.Sprintf(template, i))
		}
		require.Equal(r, schema.ActionAdd, decideOn(r, fmt.Sprintf(template, 20), known...).Action)
	})
}

func TestDecideIsSymmetricAndDeterministic(t *testing.T) {
	word := rapid.SampledFrom([]string{"Caroline", "Bob", "likes", "doesn't", "lives", "in", "Oslo", "Berlin", "tea",
		"never", "always", "the", "port", "is", "80", "443", "enabled", "disabled", "not", "and", "no longer", "Rust"})
	sentence := rapid.Custom(func(r *rapid.T) string {
		out := "It"
		for _, w := range rapid.SliceOfN(word, 1, 7).Draw(r, "w") {
			out += " " + w
		}
		return out[3:]
	})
	rapid.Check(t, func(r *rapid.T) {
		a, b := sentence.Draw(r, "a"), sentence.Draw(r, "b")
		there, back := decideOn(r, a, b), decideOn(r, b, a)
		require.Equal(r, there, decideOn(r, a, b))
		for _, reason := range []string{ReasonIdentical, ReasonNearDuplicate, ReasonAntonyms} {
			require.Equal(r, there.Reason == reason, back.Reason == reason, "%q %q: %s, %s", a, b, there.Reason,
				back.Reason)
		}
		if there.Action == schema.ActionNone && there.Reason != ReasonSameClaim {
			require.Equal(r, schema.ActionNone, back.Action)
		}
	})
}

func TestDecideKeepsRefinements(t *testing.T) {
	p := decideOn(t, "Caroline lives in Oslo but doesn't like the rain.", "Caroline lives in Oslo.")
	assert.Equal(t, schema.ActionAdd, p.Action, "it has more information")
}

func TestDecidePrefersTheFirstNeighbour(t *testing.T) {
	assert.Equal(t, "n0", decideOn(t, "Caroline lives in Berlin.", "Caroline lives in Oslo.",
		"Caroline lives in Rome.").TargetID)
	assert.Equal(t, "n1", decideOn(t, "Caroline lives in Berlin.", "Caroline lives in Oslo.",
		"Caroline lives in Berlin").TargetID, "identical comes before all")
	p, _, err := Decider{}.Decide(context.Background(), memory.Fact{Content: "Caroline lives in Berlin."}, nil)
	require.NoError(t, err)
	assert.Equal(t, memory.Proposal{Action: schema.ActionAdd, Confidence: 0.8, Reason: ReasonNew}, p)
}

func TestDecideUsesGivenClaims(t *testing.T) {
	claim := func(object string) memory.Claim {
		return memory.Claim{Subject: "the Ledger", Predicate: "owner", Object: object, Functional: true}
	}
	fact := memory.Fact{Content: "Bob took over the ledger.", Claim: claim("Bob")}
	n := memory.Neighbor{ID: "x", Content: "Alice: the ledger, said twice.", Claim: claim("Alice")}
	n.Claim.Subject = "ledger"
	p, _, err := Decider{}.Decide(context.Background(), fact, []memory.Neighbor{n})
	require.NoError(t, err)
	assert.Equal(t, ReasonNewValue, p.Reason)
	assert.Equal(t, "x", p.TargetID)
}

func BenchmarkDecide(b *testing.B) {
	var neighbors []memory.Neighbor
	for i, k := range []string{"Caroline likes tea.", "Caroline works at Google.",
		"Caroline's brother lives in Berlin.", "Caroline prefers Go for servers.", "Caroline lives in Oslo."} {
		neighbors = append(neighbors, memory.Neighbor{ID: fmt.Sprint(i), Content: k, Hash: normalize.Normalize(k).Hash})
	}
	fact := memory.Fact{Content: "Caroline lives in Berlin with two cats."}
	b.ReportAllocs()
	for b.Loop() {
		_, _, _ = Decider{}.Decide(context.Background(), fact, neighbors)
	}
}
