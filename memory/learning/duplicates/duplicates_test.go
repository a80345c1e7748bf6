package duplicates_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/learning/duplicates"
	"github.com/mneme/mneme/memory/learning/facts"
	"github.com/mneme/mneme/schema"
)

func fact(text string) duplicates.Record {
	return duplicates.Record{ID: text, Type: schema.TypeSemantic, Ground: "t/s", Content: text, Who: "ana"}
}

func TestCompare(t *testing.T) {
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
		{"Ana lives in Lisbon", "Ana's home is Lisbon", duplicates.Restated},
		{"Ana lives in Lisbon", "Ana resides in Lisbon", duplicates.Restated},
		{"We use Postgres in staging", "In staging, we use Postgres", duplicates.Restated},
		{"The timeout is 5 minutes", "The timeout is five minutes", duplicates.Restated},
		{"The billing service is owned by Ana", "Ana owns the billing service", duplicates.Restated},
		{"The API listens on port 8080", "Port 8080 is what the API listens on", duplicates.Restated},
		{"Ana's manager is Bob", "Bob is Ana's manager", duplicates.Restated},
		{"The owner of the billing service is Ana", "Ana is the owner of the billing service", duplicates.Restated},
		{"It’s the parser that fails", "It's the parser that fails", duplicates.Spelling},
	} {
		got := duplicates.Compare(fact(c.a), fact(c.b))
		if c.kind == duplicates.Spelling && got == duplicates.Near {
			continue // package normalize defines spelling
		}
		require.Equal(t, c.kind, got, "%s / %s", c.a, c.b)
	}
}

// A model that joins statements must keep these pairs apart too. It cannot cite one of a pair for the words of the
// other.
func TestModelCannotJoinDifferentStatements(t *testing.T) {
	for _, pair := range apart {
		for i := range pair {
			_, err := facts.Check(pair[i], []facts.Alone{{Text: pair[i]}, {Text: pair[1-i]}})
			require.Error(t, err, "%q and %q", pair[i], pair[1-i])
		}
	}
}

// apart lists pairs of different statements that are similar as texts or vectors.
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
	// Another form and another meaning.
	{"Ana lives in Lisbon", "Ana's home is Porto"},
	{"Ana lives in Lisbon", "Ana's home was Lisbon"},
	{"Ana lives in Lisbon", "Ana does not reside in Lisbon"},
	{"Ana lives in Lisbon", "Anna resides in Lisbon"},
	{"Ana lives in Lisbon", "Bob resides in Lisbon"},
	{"Ana lives in Lisbon", "Ana's home office is in Lisbon"},
	{"We use Postgres in staging", "In production, we use Postgres"},
	{"We use Postgres in staging", "In staging, we do not use Postgres"},
	{"We use Postgres in staging", "In staging, we use only Postgres"},
	{"We use Postgres", "In staging, we use Postgres"},
	{"The timeout is 5 minutes", "The timeout is six minutes"},
	{"The timeout is 5 minutes", "The timeout is five seconds"},
	{"The timeout is 5 minutes", "The timeout is at least five minutes"},
	{"The billing service is owned by Ana", "Bob owns the billing service"},
	{"The billing service is owned by Ana", "Ana owns the shipping service"},
	{"The billing service is owned by Ana", "Ana owned the billing service"},
	{"The billing service is owned by Ana", "Ana may own the billing service"},
	{"The API listens on port 8080", "Port 8081 is what the API listens on"},
	{"The API listens on port 8080", "The API listens on port 8080 in staging"},
	{"The release is on 1 March 2026", "The release is on 2026-03-02"},
	{"Ana leads Bob's team", "Bob leads Ana's team"},
	{"Ana manages Bob", "Ana is managed by Bob"},
	{"Ana was hired by Bob", "Bob was hired by Ana"},
	{"If the build fails, Ana is paged", "Ana is paged"},
	{"After 6 pm, Ana is on call", "Before 6 pm, Ana is on call"},
	{"Two of three tests pass", "Three of two tests pass"},
	{"The cache can be cleared", "The cache can be filled"},
	{"Ana likes tea", "Ana hates tea"},
	{"Ana likes tea with milk", "Ana likes tea without milk"},
	{"Ana's manager is Bob", "Bob's manager is Ana"},
	{"The primary is in Berlin", "The replica is in Berlin"},
	{"Ana prefers Go to Rust", "Ana prefers Rust to Go"},
	{"Ana moved to Lisbon", "Ana moved from Lisbon"},
	{"The data flows from A1 to B1", "The data flows to A1 from B1"},
	{"Ana works for Bob", "Bob works for Ana"},
	{"Ana works at Acme", "Ana works with Acme"},
	{"Deploy from main to staging", "Deploy from staging to main"},
	{"Ana's backup is Bob", "Bob's backup is Ana"},
	{"The gateway calls the ledger", "The ledger calls the gateway"},
	{"The review is led by Ana", "Ana is led by the review"},
	{"Ana sits in front of Bob", "Bob sits in front of Ana"},
	{"The primary replicates to the standby", "The standby replicates to the primary"},
	{"Ana is the successor of Bob", "Bob is the successor of Ana"},
	{"The build of the docs blocks the release", "The release blocks the build of the docs"},
	// Different words for values of one attribute.
	{"Ana's car is a Volvo", "Ana's van is a Volvo"},
	{"Ana's husband is Bob", "Ana's boyfriend is Bob"},
	{"Ana's home is Lisbon", "Ana's hometown is Lisbon"},
	{"Ana lives in Lisbon", "Ana's hometown is Lisbon"},
	{"Ana's office is B12", "Ana's desk is B12"},
	{"The number of pods is 5", "The number of workers is 5"},
	{"The submission is on Friday", "The delivery is on Friday"},
	{"The purge takes 5 minutes", "The backup takes 5 minutes"},
	{"The team meeting is at 9:00", "The team retro is at 9:00"},
	{"The client limit is 50", "The team limit is 50"},
	{"The service port is 8080", "The app port is 8080"},
	{"The daily budget is 100 euros", "The official budget is 100 euros"},
	{"The password expires in 30 days", "The token expires in 30 days"},
	{"The rent is 900 euros", "The fee is 900 euros"},
	{"Ana owns the billing service", "Ana maintains the billing service"},
	{"The live page is slow", "The home page is slow"},
	// Signs, exchanged numbers, and function words.
	{"The latency is <5 ms", "The latency is >5 ms"},
	{"The latency is <5 ms", "The latency is 5 ms"},
	{"The lowest temperature is -5 degrees", "The lowest temperature is 5 degrees"},
	{"The limit is .5 seconds", "The limit is 5 seconds"},
	{"Ana has 2 cats and 3 dogs", "Ana has 3 cats and 2 dogs"},
	{"The ratio is 1,5", "The ratio is 5,1"},
	{"The key is in the box", "The key is on the box"},
	{"The servers here are slow", "The servers there are slow"},
	{"This build is slow", "That build is slow"},
	// Who does what to whom.
	{"Go is faster than Rust", "Rust is faster than Go"},
	{"The billing service depends on the ledger service", "The ledger service depends on the billing service"},
	{"Ana likes cats and hates dogs", "Ana likes dogs and hates cats"},
	{"Ana sends Bob the report", "Bob sends Ana the report"},
	{"Ana's dog is called Rex", "Rex's dog is called Ana"},
	{"The master of node A is node B", "The master of node B is node A"},
	{"The lead of the team is Ana", "The team of the lead is Ana"},
	{"The API timeout is 5 minutes", "The timeout API is 5 minutes"},
	{"The cache of the database is Redis", "The database of the cache is Redis"},
	{"The backup database is Postgres", "The database backup is Postgres"},
	{"The billing service owner is Ana", "The service billing owner is Ana"},
}

func TestDifferentStatementsAreNotMerged(t *testing.T) {
	for _, pair := range apart {
		require.Equal(t, duplicates.Different, duplicates.Compare(fact(pair[0]), fact(pair[1])), "%q", pair)
		_, ok := duplicates.Plan([]duplicates.Record{fact(pair[0]), fact(pair[1])})
		require.False(t, ok)
	}
}

func TestOtherFieldsKeepRecordsApart(t *testing.T) {
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

func TestOneOtherWordPreventsMerge(t *testing.T) {
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

func TestMergeKeepsAllEvidence(t *testing.T) {
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

func TestGroupsOfManyRecords(t *testing.T) {
	var records []duplicates.Record
	for i := range 10_000 {
		records = append(records, fact(fmt.Sprintf("The port of service %d is %d", i/2, i/2)))
	}
	require.Len(t, duplicates.Groups(records), 5_000)
	require.Len(t, duplicates.Groups(records)[0], 2)
}

// A fact is compared only with the few facts that share its words. The result does not depend on the order.
func TestRestatedOfManyRecords(t *testing.T) {
	var pool, reversed duplicates.Pool
	var records []duplicates.Record
	for i := range 2_000 {
		records = append(records, fact(fmt.Sprintf("The s%d service is owned by Bea", i)),
			fact(fmt.Sprintf("Bea owns the s%d service", i)))
	}
	for i := range records {
		pool.Add(records[i])
		reversed.Add(records[len(records)-1-i])
	}
	found := 0
	for _, r := range records {
		got := pool.Restated(r.ID)
		require.Equal(t, got, reversed.Restated(r.ID))
		for _, id := range got {
			require.Equal(t, duplicates.Restated, duplicates.Compare(r, fact(id)))
		}
		found += len(got)
	}
	require.Equal(t, len(records), found)
	require.Empty(t, pool.Restated("not there"))
}

func BenchmarkRestated(b *testing.B) {
	var records []duplicates.Record
	for i := range 5_000 {
		records = append(records, fact(fmt.Sprintf("The s%d service is owned by %s", i/2, []string{"Bea", "Cem"}[i%2])))
	}
	for b.Loop() {
		var pool duplicates.Pool
		for _, r := range records {
			pool.Add(r)
		}
		for _, r := range records {
			pool.Restated(r.ID)
		}
	}
}

// Only the records of a group that say the same are merged. A pinned record is never merged into another one.
func TestPlansMergeOnlyEqualStatements(t *testing.T) {
	group := []duplicates.Record{fact("Ana owns the billing service"), fact("The billing service is owned by Ana"),
		fact("Bea owns the billing service"), fact("The billing service is owned by Bea"),
		fact("Ana really owns the billing service"), fact("Ana owns the billing service."),
		fact("Cem owns the billing service")}
	for i := range group {
		group[i].ID, group[i].Confidence = fmt.Sprint(i), 1-float64(i)/10
	}
	group[5].Pinned = true
	plans := duplicates.Plans(group)
	require.Len(t, plans, 2)
	require.Equal(t, []any{"5", []string{"0", "1", "4"}}, []any{plans[0].Keep, plans[0].Away})
	require.Equal(t, []any{"2", []string{"3"}}, []any{plans[1].Keep, plans[1].Away})
	group[0].Pinned = true
	plans = duplicates.Plans(group)
	require.Len(t, plans, 2)
	for _, p := range plans {
		require.NotContains(t, p.Away, "0")
		require.NotContains(t, p.Away, "5")
	}
	require.Empty(t, duplicates.Plans(group[2:3]))
	require.Empty(t, duplicates.Plans(nil))
}
