package facts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/change"
	"github.com/mneme/mneme/memory/learning/facts"
)

func alone(texts ...string) []facts.Alone {
	var out []facts.Alone
	for _, text := range texts {
		out = append(out, facts.Alone{Text: text, Who: "ana"})
	}
	return out
}

// A proposed text is accepted if every statement supports each of its words.
func TestSupportedTextIsAccepted(t *testing.T) {
	for text, said := range map[string][]string{
		"We use Postgres in staging":    {"The staging database is Postgres", "We settled on Postgres in staging"},
		"Staging uses Postgres":         {"We chose Postgres for staging", "The staging database is Postgres"},
		"I prefer Go":                   {"My favourite language is Go", "I prefer Go really"},
		"The port of billing is 8080":   {"The port of billing is 8080.", "the port of billing is now 8080"},
		"Ana owns the billing service":  {"Ana owns billing", "Ana now owns the billing service"},
		"The billing tests are flaky":   {"Billing tests are so flaky", "Our billing tests are very flaky"},
		"We deploy on Fridays with Bea": {"We deploy on Fridays with Bea.", "So we deploy on Fridays with Bea"},
	} {
		got, err := facts.Check(" "+text+"\n", alone(said...))
		require.NoError(t, err, text)
		require.Equal(t, text, got)
	}
}

// A proposed text is refused if a statement does not say it or limits it. The error quotes no content.
func TestUnsupportedTextIsRefused(t *testing.T) {
	long := strings.Repeat("CANARY is here and ", 30)
	for text, said := range map[string][]string{
		"": {"x", "y"}, "...": {"x", "y"}, long: {long, long},
		"Does staging use CANARY?":     {"Staging uses CANARY", "Staging uses CANARY"},
		"It uses CANARY":               {"It uses CANARY", "Staging uses CANARY"},
		"Staging uses CANARY":          {"We plan to use CANARY in staging", "Staging uses CANARY"},
		"The staging CANARY is Oracle": {"The staging CANARY is Postgres", "The staging CANARY is Oracle"},
		"We use CANARY":                {"We use CANARY in staging", "We use CANARY in production"},
		"The CANARY database is Postgres": {"The CANARY billing database is Postgres",
			"The CANARY audit database is Postgres"},
		"CANARY uses Postgres":  {"The CANARY database is Postgres", "The CANARY server is Postgres"},
		"Ana lives in CANARY":   {"Ana works in CANARY", "Ana lives in CANARY"},
		"Ana likes CANARY":      {"Ana likes tea", "Ana likes CANARY"},
		"Ana may use CANARY":    {"Ana uses CANARY", "Ana may use CANARY"},
		"Ana hosts CANARY":      {"CANARY hosts Ana", "Ana hosts CANARY"},
		"I prefer CANARY":       {"Bob prefers CANARY", "I prefer CANARY"},
		"The CANARY port is 80": {"The CANARY port is 8080", "The CANARY port is 80"},
		"CANARY uses Go. CANARY uses Rust.": {"CANARY uses Go. CANARY uses Rust.",
			"CANARY uses Rust. CANARY uses Go."},
		"The cache of the CANARY is slow":   {"The CANARY of the cache is slow", "The cache of the CANARY is slow"},
		"The CANARY token is ghp_" + fake:   {"The CANARY token is ghp_" + fake, "The CANARY token is ghp_" + fake},
		"We never deploy CANARY on Fridays": {"We deploy CANARY on Fridays", "We never deploy CANARY on Fridays"},
		"We stopped the use of CANARY":      {"We use CANARY", "We stopped the use of CANARY"},
		"The build of CANARY is quite slow": {"The build of CANARY is fast", "The build of CANARY is quite slow"},
		"Berlin has the CANARY servers of A": {"Berlin has the CANARY servers of B",
			"Berlin has the CANARY servers of A"},
	} {
		_, err := facts.Check(text, alone(said...))
		require.Error(t, err, text)
		require.NotContains(t, err.Error(), "CANARY")
	}
}

const fake = "16C7e42F292c6912E7710c838347Ae178B4a"

// Statements in different words become a fact if a model joins them. They still need two sessions and two sources, and
// repetitions of one person count as one source.
func TestStatementsInOtherWordsBecomeAFact(t *testing.T) {
	everything := func(string) bool { return true }
	join := func(seen ...facts.Observation) ([]facts.Update, [][]facts.Alone) {
		var l facts.Learner
		for _, o := range seen {
			require.True(t, l.Add(o))
		}
		require.Empty(t, l.Updates(), "the rules find no repetition")
		batches := l.Alone(everything, 10, 5)
		if len(batches) == 0 {
			return nil, nil
		}
		numbers := []int{}
		for i := range batches[0] {
			numbers = append(numbers, i+1)
		}
		require.NoError(t, l.Again(facts.Proposed{Text: "Staging uses Postgres", Statements: numbers}, batches[0]))
		return l.Updates(), batches
	}
	one, other := "We chose Postgres for staging", "The staging database is Postgres"
	got, batches := join(said(1, "ana", one, ""), said(2, "eva", other, ""), said(3, "bob", "Lunch was cold", ""))
	require.Len(t, batches, 1)
	require.Len(t, batches[0], 2, "unrelated statements are not in the batch")
	require.Len(t, got, 1)
	require.Equal(t, facts.New, got[0].Action)
	require.Equal(t, "Staging uses Postgres", got[0].Text)
	require.Equal(t, []string{"o1", "o2"}, got[0].Evidence)
	require.Equal(t, 2, got[0].Sources)
	got, _ = join(said(1, "bot", one, ""), said(2, "bot", other, ""))
	require.Empty(t, got, "one source is not enough")
	same := said(2, "eva", other, "")
	same.Source.Session = "s1"
	got, _ = join(said(1, "ana", one, ""), same)
	require.Empty(t, got, "one session is not enough")
}

// A known fact is reinforced by statements in other words and keeps its own words.
func TestFactIsReinforcedInOtherWords(t *testing.T) {
	var l facts.Learner
	l.Know(facts.Fact{ID: "f", Text: "The staging database is Postgres", Confidence: 0.8, Trust: 0.9, Sources: 1})
	require.True(t, l.Add(said(1, "ana", "We chose Postgres for staging", "")))
	require.True(t, l.Add(said(2, "eva", "Staging runs Postgres", "")))
	batches := l.Alone(func(string) bool { return true }, 10, 5)
	require.Len(t, batches, 1)
	held := slices.IndexFunc(batches[0], func(s facts.Alone) bool { return s.Held })
	require.GreaterOrEqual(t, held, 0)
	require.Len(t, batches[0], 3)
	require.NoError(t, l.Again(facts.Proposed{Text: "Oracle", Statements: []int{1, 2, 3}}, batches[0]))
	got := l.Updates()
	require.Len(t, got, 1)
	require.Equal(t, []any{facts.Reinforce, "f", "The staging database is Postgres"},
		[]any{got[0].Action, got[0].Target, got[0].Text})
	require.Equal(t, []string{"o1", "o2"}, got[0].Evidence)
}

// A proposal must cite at least two of the statements in its batch.
func TestProposalCitesItsBatch(t *testing.T) {
	var l facts.Learner
	given := alone("Staging uses Postgres", "Staging uses Postgres")
	for _, cites := range [][]int{nil, {1}, {1, 1}, {0, 1}, {1, 3}, {-1, 2}} {
		require.Error(t, l.Again(facts.Proposed{Text: "Staging uses Postgres", Statements: cites}, given), "%v", cites)
	}
}

// A batch contains statements of new episodes and the facts that they may restate. Size and number are limited.
func TestBatchesForAModel(t *testing.T) {
	var l facts.Learner
	for i := range 200 {
		l.Add(said(2*i, "ana", fmt.Sprintf("We chose service%d for staging", i), ""))
		l.Add(said(2*i+1, "eva", fmt.Sprintf("The staging database is service%d", i), ""))
	}
	batches := l.Alone(func(string) bool { return true }, 12, 4)
	require.Len(t, batches, 4)
	for _, b := range batches {
		require.LessOrEqual(t, len(b), 12)
		require.Greater(t, len(b), 1)
	}
	require.Empty(t, l.Alone(func(string) bool { return false }, 12, 4), "no new episodes")
	require.Len(t, l.Alone(func(id string) bool { return id == "o7" }, 12, 4), 1)
}

// A model may turn a replacement into a contest and a doubtful contest into two facts. It never removes a fact, and is
// not asked about conflicts that the words make certain.
func TestModelOnlyWeakensConflict(t *testing.T) {
	replace := facts.Update{Action: facts.Replace, Target: "f", Certainty: change.Likely}
	contest := facts.Update{Action: facts.Contest, Target: "f", Certainty: change.Doubt}
	sure := facts.Update{Action: facts.Replace, Target: "f", Certainty: change.Sure}
	likely := facts.Update{Action: facts.Contest, Target: "f", Certainty: change.Likely}
	require.Equal(t, []bool{true, true, false, false, false}, []bool{replace.Doubtful(), contest.Doubtful(),
		sure.Doubtful(), likely.Doubtful(), facts.Update{Action: facts.Fork, Target: "f"}.Doubtful()})
	for _, v := range []facts.Verdict{facts.Excludes, facts.Unsure, "", "anything"} {
		require.Equal(t, replace, replace.Judged(v))
		require.Equal(t, contest, contest.Judged(v))
	}
	got := replace.Judged(facts.BothHold)
	require.Equal(t, []any{facts.Contest, "f"}, []any{got.Action, got.Target})
	got = contest.Judged(facts.BothHold)
	require.Equal(t, []any{facts.New, ""}, []any{got.Action, got.Target})
	require.Equal(t, sure, sure.Judged(facts.BothHold))
	require.Equal(t, likely, likely.Judged(facts.BothHold))
}
