package topics_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	rules "github.com/mneme/mneme/memory/topics"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/topics"
)

func day(n int) time.Time { return time.Date(2026, 5, n, 12, 0, 0, 0, time.UTC) }

func known(id, subject, text string, on int) rules.Evidence {
	return rules.Evidence{Ref: rules.Ref{ID: id, Version: 1}, Text: text, Type: schema.TypeSemantic, Subject: subject,
		OccurredAt: day(on), Status: schema.StatusActive, Currentness: schema.CurrentnessCurrent}
}

func texts(parts []topics.Part) []string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = p.Text
	}
	return out
}

func TestExtract(t *testing.T) {
	t.Parallel()
	older := known("m3", "Billing", "Billing runs on Postgres 15.", 2)
	older.Currentness = schema.CurrentnessOlder
	spoken := known("m5", "", "We deploy on Tuesdays.", 4)
	spoken.Type, spoken.Who = schema.TypeEpisodic, "Ana"
	got := rules.Extract([]rules.Evidence{
		older,
		known("m1", "Ana", "Ana leads payments.", 1),
		known("m2", "billing", "Billing runs on Postgres 17.", 9),
		known("m4", "Billing", "billing runs on  Postgres 17", 3), // the same text, earlier
		spoken,
	})
	require.Equal(t, []topics.Part{
		{Text: "Billing runs on Postgres 17.", Memories: []string{"m2", "m4"}},
		{Text: "Billing runs on Postgres 15.", Memories: []string{"m3"}, Outdated: true},
		{Text: "Ana leads payments.", Memories: []string{"m1"}},
		{Text: "Ana: We deploy on Tuesdays.", Memories: []string{"m5"}},
	}, got)
	require.Empty(t, rules.Extract(nil))
}

func TestExtractMarksContradictions(t *testing.T) {
	t.Parallel()
	got := rules.Extract([]rules.Evidence{
		known("m1", "billing service", "The billing service deploys on Fridays.", 1),
		known("m2", "billing service", "The billing service does not deploy on Fridays.", 2),
		known("m3", "billing service", "Billing service stores no card numbers.", 3),
	})
	contested := map[string]bool{}
	for _, p := range got {
		contested[p.Memories[0]] = p.Contested
	}
	require.Equal(t, map[string]bool{"m1": true, "m2": true, "m3": false}, contested)

	stored := known("m4", "", "The moon is made of cheese.", 1)
	stored.Status = schema.StatusContested
	require.True(t, rules.Extract([]rules.Evidence{stored})[0].Contested)
}

// Every sentence of an extract cites given memories, and no memory is cited twice. The extract is bounded and
// deterministic, and never omits a current sentence in favor of an outdated one.
func TestExtractProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		given := map[string]rules.Evidence{}
		var all []rules.Evidence
		for i := range n {
			e := known(fmt.Sprintf("m%d", i), rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "subject"),
				rapid.SampledFrom([]string{"", "x is 1", "x is 2", strings.Repeat("long text ", 60)}).Draw(t, "kind")+
					fmt.Sprint(rapid.IntRange(0, 20).Draw(t, "text")), rapid.IntRange(1, 28).Draw(t, "day"))
			if rapid.Bool().Draw(t, "old") {
				e.Currentness = schema.CurrentnessSuperseded
			}
			given[e.ID] = e
			all = append(all, e)
		}
		got := rules.Extract(all)
		require.Equal(t, got, rules.Extract(all))
		require.LessOrEqual(t, len(got), rules.MaxParts)
		chars, cited, outdated := 0, map[string]bool{}, 0
		for _, p := range got {
			require.NotEmpty(t, p.Text)
			require.NotEmpty(t, p.Memories)
			chars += len([]rune(p.Text))
			for _, id := range p.Memories {
				require.Contains(t, given, id)
				require.False(t, cited[id])
				cited[id] = true
			}
			if p.Outdated {
				outdated++
			}
		}
		require.LessOrEqual(t, chars, rules.MaxChars)
		if outdated > 0 && len(got) == rules.MaxParts {
			for id, e := range given {
				if e.Currentness == schema.CurrentnessCurrent {
					require.True(t, cited[id], "a current sentence was left out for an outdated one")
				}
			}
		}
		if n > 0 {
			require.NotEmpty(t, got)
		}
	})
}

func TestCheckRefusesInventedContent(t *testing.T) {
	t.Parallel()
	evidence := []rules.Evidence{known("m1", "", "Billing runs on Postgres 17.", 3),
		known("m2", "", "Ana leads it.", 4)}
	good := []rules.Cited{{Text: "Billing runs on Postgres 17\nsince 3 May 2026.", Sources: []int{1, 1}},
		{Text: "Ana leads it.", Sources: []int{2}}}
	parts, err := rules.Check(good, evidence)
	require.NoError(t, err)
	require.Equal(t, []string{"Billing runs on Postgres 17 since 3 May 2026.", "Ana leads it."}, texts(parts))
	require.Equal(t, []string{"m1"}, parts[0].Memories)

	for problem, said := range map[string][]rules.Cited{
		"the answer is empty":          nil,
		"sentence 1 cites nothing":     {{Text: "Billing runs."}},
		"sentence 2 cites text 3 of 2": {{Text: "Ana leads it.", Sources: []int{2}}, {Text: "So.", Sources: []int{3}}},
		"sentence 1 cites text 0 of 2": {{Text: "So.", Sources: []int{0}}},
		"sentence 1 is empty":          {{Text: " \x00\n", Sources: []int{1}}},
		"sentence 1 is too long":       {{Text: strings.Repeat("a", rules.MaxPartChars+1), Sources: []int{1}}},
		"sentence 1 has a number":      {{Text: "Billing runs on Postgres 18.", Sources: []int{1}}},
		"the answer has 10000":         make([]rules.Cited, 10_000),
	} {
		_, err := rules.Check(said, evidence)
		require.ErrorContains(t, err, problem)
		require.NotContains(t, err.Error(), "Postgres", "errors contain no content")
	}
}

// An answer is stale if and only if its set of evidence changed. Changed counts the memories that differ.
func TestChanged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var before, after []rules.Ref
		want := 0
		for i := range rapid.IntRange(0, 20).Draw(t, "n") {
			ref := rules.Ref{ID: fmt.Sprint("m", i), Version: rapid.IntRange(1, 3).Draw(t, "version")}
			switch rapid.SampledFrom([]string{"same", "changed", "added", "gone"}).Draw(t, "what") {
			case "same":
				before, after = append(before, ref), append([]rules.Ref{ref}, after...)
			case "changed":
				before, want = append(before, ref), want+1
				ref.Version++
				after = append(after, ref)
			case "added":
				after, want = append(after, ref), want+1
			case "gone":
				before, want = append(before, ref), want+1
			}
		}
		require.Equal(t, want, rules.Changed(before, after))
		require.Equal(t, want == 0, rules.Hash(before) == rules.Hash(after))
		require.Equal(t, rules.Due{Refresh: want > 0, Changed: want}, rules.Judge(1, false, before, after))
		require.True(t, rules.Judge(0, false, before, after).Refresh)
		require.True(t, rules.Judge(1, true, before, before).Refresh, "a cleared answer is generated again")
	})
}
