package duplicates_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/learning/duplicates"
	"github.com/mneme/mneme/schema"
)

func fact(text string) duplicates.Record {
	return duplicates.Record{ID: text, Type: schema.TypeSemantic, Ground: "t/s", Content: text, Who: "ana"}
}

func TestWhatSaysTheSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		kind duplicates.Kind
	}{
		{"Ana lives in Lisbon.", "Ana lives in Lisbon.", duplicates.Exact},
		{"Ana lives in Lisbon.", "ana lives in  Lisbon", duplicates.Spelling},
		{"The build server is in Berlin", "Build server in Berlin", duplicates.Near},
		{"We don't deploy on Fridays", "We do not deploy on Fridays", duplicates.Near},
		{"Ana can't drive", "Ana cannot drive", duplicates.Near},
		{"The set-up takes 5 minutes", "Please, the set up takes 5 minutes", duplicates.Near},
		{"It’s the parser that fails", "It's the parser that fails", duplicates.Spelling},
	} {
		got := duplicates.Compare(fact(c.a), fact(c.b))
		if c.kind == duplicates.Spelling && got == duplicates.Near {
			continue // how far spelling goes is normalize's to say
		}
		require.Equal(t, c.kind, got, "%s / %s", c.a, c.b)
	}
}

// apart are pairs that a similarity of texts or vectors takes for one.
var apart = [][2]string{
	{"Deploys are allowed on Fridays", "Deploys are not allowed on Fridays"},
	{"We never deploy on Fridays", "We deploy on Fridays"},
	{"The cache has no table", "The cache has notable"},
	{"The service listens on port 8080", "The service listens on port 8081"},
	{"The limit is 1.5 seconds", "The limit is 15 seconds"},
	{"The limit is 5 seconds", "The limit is 5 minutes"},
	{"It costs $5", "It costs €5"},
	{"The error rate is 5%", "The error rate is 5"},
	{"Ana leads the team", "Anna leads the team"},
	{"Ana reports to Bob", "Bob reports to Ana"},
	{"The release is on 2026-03-01", "The release is on 2026-03-02"},
	{"The release is on 1 March", "The release is on 1 May"},
	{"Use Go for backends", "Use Go for frontends"},
	{"Use Go in staging", "Use Go in production"},
	{"Use Go", "Use Go only in staging"},
	{"Restart before the backup", "Restart after the backup"},
	{"Move it from A to B", "Move it to A from B"},
	{"Ana lives in Lisbon", "Ana lived in Lisbon"},
	{"Ana was on call", "Ana is on call"},
	{"The job must run", "The job may run"},
	{"All tests pass", "Most tests pass"},
	{"Send it to US", "Send it to us"},
	{"The user prefers Go 1.24", "The user prefers Go 1.25"},
	{"x < 5", "x > 5"},
	{"Use v1 of the API", "Use v2 of the API"},
	{"Is the build green?", "The build is green."},
	{"The universal tools", "The university tools"},
	{"Enable the flag -x", "Enable the flag -y"},
	{"use C++", "use C"},
	{"a/b is broken", "ab is broken"},
	{"Ana Bel leads", "Anabel leads"},
	{"It was -5 degrees", "It was 5 degrees"},
}

func TestWhatDiffersInOneThingIsNeverMerged(t *testing.T) {
	for _, pair := range apart {
		require.Equal(t, duplicates.Different, duplicates.Compare(fact(pair[0]), fact(pair[1])), "%q", pair)
		_, ok := duplicates.Plan([]duplicates.Record{fact(pair[0]), fact(pair[1])})
		require.False(t, ok)
	}
}

func TestWhatIsNotInTheWordsKeepsApart(t *testing.T) {
	a := fact("Use Go")
	conditional := a
	conditional.Validity = schema.Validity{Mode: schema.ValidConditional, Conditions: []byte(`{"os":"linux"}`)}
	elsewhere, typed := a, a
	elsewhere.Ground, typed.Type = "t/other", schema.TypeCompetence
	mine, yours := fact("I prefer Go"), fact("I prefer Go")
	yours.Who = "bob"
	today, later := fact("We deployed yesterday"), fact("We deployed yesterday")
	today.OccurredAt, later.OccurredAt = time.Unix(1_000_000, 0), time.Unix(2_000_000, 0)
	for _, pair := range [][2]duplicates.Record{{a, conditional}, {a, elsewhere}, {a, typed},
		{mine, yours}, {today, later}} {
		require.Equal(t, duplicates.Different, duplicates.Compare(pair[0], pair[1]))
	}
}

func TestOneWordMoreOrOtherNeverMerges(t *testing.T) {
	word := rapid.StringMatching(`[a-z]{2,8}|[A-Z][a-z]{2,6}|\d{1,4}|not|never|no`)
	soft := map[string]bool{"a": true, "an": true, "the": true, "is": true, "are": true, "am": true, "please": true,
		"really": true, "actually": true, "indeed": true, "simply": true, "basically": true}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(word, 2, 8).Draw(t, "words")
		at := rapid.IntRange(0, len(words)-1).Draw(t, "at")
		other := append([]string{}, words...)
		if other[at] = word.Draw(t, "other"); strings.EqualFold(other[at], words[at]) ||
			soft[strings.ToLower(other[at])] || soft[strings.ToLower(words[at])] {
			return
		}
		require.Equal(t, duplicates.Different,
			duplicates.Compare(fact(strings.Join(words, " ")), fact(strings.Join(other, " "))))
	})
}

func TestAMergeLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var records []duplicates.Record
		var evidence []string
		best := 0.0
		for i := range rapid.IntRange(2, 6).Draw(t, "n") {
			r := fact(rapid.SampledFrom([]string{"The port is 80", "the port is 80.", "Port is 80"}).Draw(t, "text"))
			r.ID = fmt.Sprint(i)
			r.Confidence = rapid.Float64Range(0, 1).Draw(t, "confidence")
			r.Evidence = []string{fmt.Sprint("e", i), "common"}
			r.CreatedAt = time.Unix(int64(rapid.IntRange(0, 9).Draw(t, "at")), 0)
			records, evidence, best = append(records, r), append(evidence, r.Evidence...), max(best, r.Confidence)
		}
		plan, ok := duplicates.Plan(records)
		require.True(t, ok)
		require.Len(t, plan.Away, len(records)-1)
		require.NotContains(t, plan.Away, plan.Keep)
		require.Equal(t, best, plan.Confidence)
		require.Subset(t, plan.Evidence, evidence)
		require.Len(t, plan.Evidence, len(records)+1)
	})
}

func TestGroupsAreFoundAmongMany(t *testing.T) {
	var records []duplicates.Record
	for i := range 10_000 {
		records = append(records, fact(fmt.Sprintf("The port of service %d is %d", i/2, i/2)))
	}
	require.Len(t, duplicates.Groups(records), 5_000)
	require.Len(t, duplicates.Groups(records)[0], 2)
}
