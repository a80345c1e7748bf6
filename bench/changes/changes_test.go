package changes

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTenantsAreDeterministic(t *testing.T) {
	require.Equal(t, Generate(7, 1), Generate(7, 1))
	require.NotEqual(t, Generate(7, 1), Generate(8, 1))
}

func TestAShareIsAPrefixOfTheTenants(t *testing.T) {
	all := map[string]Tenant{}
	for _, tenant := range Generate(3, 1) {
		all[tenant.Name] = tenant
	}
	some := Generate(3, 0.2)
	require.Less(t, len(some), len(all)/3)
	for _, tenant := range some {
		require.Equal(t, all[tenant.Name], tenant)
	}
}

func TestEveryKindHasEnoughPairs(t *testing.T) {
	wordings, attributes := map[string]bool{}, map[string]bool{}
	pairs, past, coexisting := map[bool]int{}, map[bool]int{}, map[bool]int{}
	unknown, known := map[bool]int{}, map[bool]int{}
	for _, tenant := range Generate(1, 1) {
		held := tenant.HeldOut
		for _, p := range tenant.Pairs {
			pairs[held]++
			if p.Past != "" {
				past[held]++
			}
			wordings[p.Wording], attributes[p.Attribute] = true, true
		}
		coexisting[held] += len(tenant.Coexisting)
		unknown[held] += len(tenant.Unknown)
		known[held] += len(tenant.Known)
	}
	both := func(of map[bool]int) int { return of[false] + of[true] }
	require.GreaterOrEqual(t, both(pairs), 600)
	require.GreaterOrEqual(t, both(coexisting), 300)
	require.GreaterOrEqual(t, both(unknown), 200)
	require.Equal(t, unknown, known)
	for _, held := range []bool{false, true} {
		require.GreaterOrEqual(t, past[held], 100)
		require.GreaterOrEqual(t, coexisting[held], 100)
		require.GreaterOrEqual(t, unknown[held], 100)
	}
	require.GreaterOrEqual(t, len(wordings), 40)
	require.GreaterOrEqual(t, len(attributes), 30)
}

func TestHalvesAreDisjoint(t *testing.T) {
	dev, held := devHalf(), heldoutHalf()
	said := map[string]bool{}
	for _, c := range dev.changes {
		require.False(t, c.heldOut || c.attr.heldOut)
		said[c.text] = true
	}
	devAttributes, devWordings := map[string]bool{}, map[string]bool{}
	for _, c := range dev.changes {
		devAttributes[c.attr.name], devWordings[c.wording] = true, true
	}
	for _, c := range held.changes {
		require.True(t, c.heldOut || c.attr.heldOut, "%s of %s is in the development half too", c.wording, c.attr.name)
		require.False(t, said[c.text], c.text)
		require.Equal(t, c.heldOut, !devWordings[c.wording])
		require.Equal(t, c.attr.heldOut, !devAttributes[c.attr.name])
	}
	common := func(a, b []string) {
		for _, text := range a {
			require.NotContains(t, b, text)
		}
	}
	common(dev.distractors, held.distractors)
	common(dev.names, held.names)
	common(dev.frames, held.frames)
	common(append(dev.unheard, dev.foreign...), append(held.unheard, held.foreign...))
}

// contains reports whether a text has a value as whole words.
func contains(text, value string) bool {
	return regexp.MustCompile(`(?i)(^|[^\w,.])` + regexp.QuoteMeta(value) + `($|\W)`).MatchString(text)
}

func TestPairsAreSound(t *testing.T) {
	for _, tenant := range Generate(1, 1) {
		for _, p := range tenant.Pairs {
			old, now := tenant.Statements[p.Old], tenant.Statements[p.New]
			require.Greater(t, now.Session, old.Session)
			require.NotEmpty(t, p.Question)
			if p.NewValue == "" {
				continue
			}
			require.NotEqual(t, p.OldValue, p.NewValue)
			require.True(t, contains(old.Text, p.OldValue), "%s / %s", old.Text, p.OldValue)
			require.False(t, contains(old.Text, p.NewValue), "%s / %s", old.Text, p.NewValue)
			require.True(t, contains(now.Text, p.NewValue) || p.Attribute == "flag", "%s / %s", now.Text, p.NewValue)
			require.False(t, contains(p.Question, p.NewValue), p.Question)
		}
		for _, c := range tenant.Chains {
			require.Less(t, tenant.Statements[c.Statements[0]].Session, tenant.Statements[c.Statements[1]].Session)
			require.Less(t, tenant.Statements[c.Statements[1]].Session, tenant.Statements[c.Statements[2]].Session)
		}
	}
}

func TestNoStatementIsRepeated(t *testing.T) {
	for _, tenant := range Generate(1, 1) {
		back := map[int]bool{}
		for _, c := range tenant.Chains {
			back[c.Statements[2]] = c.Back
		}
		texts := map[string]bool{}
		for i, s := range tenant.Statements {
			if i > 0 {
				require.True(t, s.At.After(tenant.Statements[i-1].At))
			}
			require.True(t, back[i] || !texts[s.Text+"/"+s.Speaker], "%s: %s", tenant.Name, s.Text)
			texts[s.Text+"/"+s.Speaker] = true
		}
	}
}

func TestQuestionsAreAskedOnce(t *testing.T) {
	for _, tenant := range Generate(1, 1) {
		pairs := map[string]bool{}
		for _, p := range tenant.Pairs {
			key := p.Attribute + "/" + p.Question
			require.False(t, pairs[key], "%s: %s", tenant.Name, key)
			pairs[key] = true
		}
		for _, q := range tenant.Unknown {
			require.Less(t, q.Answer, 0)
			asked := func(p Pair) bool { return p.Question == q.Question }
			require.False(t, slices.ContainsFunc(tenant.Pairs, asked), q.Question)
		}
	}
}

// slips are marks of a template that was filled in wrongly.
var slips = regexp.MustCompile(`[{}]|\|\||  |\b[aA] [aeio]\w|\.\.$|` +
	`\b(?i:a a|the the|i is|i has|i does|we is|we has|she am|he am|she have|he have|it are|it have|they is)\b`)

func TestSentencesAreWellFormed(t *testing.T) {
	for _, tenant := range Generate(2, 1) {
		texts := map[string]bool{}
		for _, s := range tenant.Statements {
			texts[s.Text] = true
		}
		for _, p := range tenant.Pairs {
			texts[p.Question], texts[p.Past] = true, true
		}
		for _, c := range tenant.Chains {
			texts[c.Question] = true
		}
		for _, c := range tenant.Coexisting {
			texts[c.AskA], texts[c.AskB] = true, true
		}
		for _, q := range append(tenant.Known, tenant.Unknown...) {
			texts[q.Question] = true
		}
		for _, text := range slices.Sorted(maps.Keys(texts)) {
			require.Empty(t, slips.FindString(strings.TrimSpace(text)), "%s: %s", tenant.Name, text)
		}
	}
}

func TestRenderAgreesWithItsSubject(t *testing.T) {
	dana := subject{person: 3, name: "Dana", pronoun: "she"}
	for _, c := range []struct {
		template string
		of       subject
		want     string
	}{
		{"{I} live{s} in {old}, {my} home.", me, "I live in Oslo, my home."},
		{"{I} live{s} in {old}, {my} home.", dana, "Dana lives in Oslo, her home."},
		{"{My} room is {old}. {I}'m glad.", dana, "Dana's room is Oslo. She's glad."},
		{"{I}'ve moved, call {me}.", dana, "Dana has moved, call her."},
		{"{I} {don't} stud{ies} a old map.", we, "We don't study an old map."},
		{"~{my} retro", we, "our retro"},
	} {
		require.Equal(t, c.want, render(c.template, c.of, map[string]string{"old": "Oslo"}))
	}
}
