package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/mneme/mneme/schema"
)

// The synthetic corpus: what an agent that runs software might observe. Words are drawn with a
// Zipf-like skew, so that some lexemes are in half of the memories and most in very few.
var (
	actors = []string{"checkout", "billing", "search", "ledger", "gateway", "inventory",
		"notifier", "scheduler", "profile", "catalogue", "shipping", "fraud", "reporting", "identity", "session",
		"webhook"}
	events = []string{"timed out", "restarted", "recovered", "slowed down", "dropped messages",
		"rejected requests", "leaked connections", "returned stale reads", "failed its health check",
		"was redeployed", "was scaled up", "ran out of memory"}
	causes = []string{"after the release", "because the cache was cold", "while the index was rebuilt",
		"during the nightly backup", "when the certificate expired", "after a schema migration",
		"because the queue was full", "while two replicas lagged", "after the feature flag changed",
		"because of a noisy neighbour", "during the failover drill", "when the upstream throttled"}
	regions = []string{"Dublin", "Frankfurt", "Oregon", "Singapore", "Sydney", "Tokyo", "Montreal",
		"Mumbai", "London", "Stockholm"}
	people  = []string{"Dana", "Ivo", "Mara", "Ken", "Lucia", "Omar", "Petra", "Sun", "Tomas", "Yara"}
	remarks = []string{"noted it in the runbook", "opened an incident", "raised the limit",
		"rolled it back", "asked for a postmortem", "added an alert", "pinned the version", "moved the job"}
)

// skewed picks from a list with weights 1, 1/2, 1/3 and so on.
func skewed(r *rand.Rand, list []string) string {
	total := 0.0
	for i := range list {
		total += 1 / float64(i+1)
	}
	x := r.Float64() * total
	for i, s := range list {
		if x -= 1 / float64(i+1); x < 0 {
			return s
		}
	}
	return list[len(list)-1]
}

// observation is the n-th synthetic observation; every one is distinct.
func observation(r *rand.Rand, n int) string {
	return fmt.Sprintf("The %s service %s in %s %s, build %d, and %s %s under ticket OPS-%d.",
		skewed(r, actors), skewed(r, events), skewed(r, regions), skewed(r, causes), 1000+n%977,
		skewed(r, people), skewed(r, remarks), n)
}

// question is a query about the corpus.
func question(r *rand.Rand, n int) string {
	switch r.IntN(3) {
	case 0:
		return fmt.Sprintf("why did the %s service fail in %s", skewed(r, actors), skewed(r, regions))
	case 1:
		return fmt.Sprintf("what did %s do when %s %s", skewed(r, people), skewed(r, actors), skewed(r, events))
	default:
		return fmt.Sprintf("ticket OPS-%d build %d", r.IntN(max(1, n)), 1000+r.IntN(977))
	}
}

// principal owns all memories of the benchmark.
var principal = schema.Principal{Tenant: "bench", Agent: "bench-agent", Project: "bench"}

func observations(n int) []schema.Candidate {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]schema.Candidate, n)
	for i := range out {
		out[i] = schema.Candidate{Content: observation(r, i), SourceKind: schema.SourceObservation}
	}
	return out
}
