package changes

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Scenarios is the half of tenants that were made from a file of scenarios.
const Scenarios = "scenarios"

// Scenarios of a file are shared by at least minTenants tenants. More of them are made when there are more than
// changesOfTenant changes for each, because statements about one user could contradict each other.
const (
	minTenants      = 4
	changesOfTenant = 10
)

// FromScenarios makes tenants from scenarios that are not part of the corpus, such as ones that an author who does not
// know the rules wrote. Each line is one scenario, with its parts separated by ||; lines that begin with # are
// comments. One part is a question about something never said. Two parts, the first of them empty, are an unrelated
// statement. Three parts are a change: the statement, the later statement that changes it, and the question. A fourth
// part that begins with "past:" is a question about the past; a change may begin with its kind in brackets. Four
// other parts are coexisting statements: a statement, its question, the other statement, its question or "-".
// Statements about other things are those of the development half.
func FromScenarios(seed uint64, text string) ([]Tenant, error) {
	lines := scenarioLines(text)
	pairs := 0
	for _, parts := range lines {
		if isChange(parts) {
			pairs++
		}
	}
	tenants := max(minTenants, pairs/changesOfTenant)
	var generators []*generator
	for n := range tenants {
		h := devHalf()
		h.name = Scenarios
		g := newGenerator(rand.New(rand.NewPCG(seed, uint64(1000+n))), h)
		g.user = ""
		g.t = Tenant{Name: fmt.Sprintf("%s-%02d", Scenarios, n), Half: Scenarios}
		generators = append(generators, g)
	}
	count := map[string]int{}
	next := func(kind string) *generator {
		count[kind]++
		return generators[(count[kind]-1)%tenants]
	}
	for _, parts := range lines {
		switch {
		case len(parts) == 1:
			g := next("unknown")
			g.t.Unknown = append(g.t.Unknown, Probe{Kind: Scenarios, Question: parts[0], Answer: -1})
		case len(parts) == 2 && parts[0] == "":
			g := next("unrelated")
			g.say(parts[1], "", g.IntN(sessions))
		case isChange(parts):
			g := next("change")
			p := Pair{Question: parts[2], Attribute: Scenarios, Wording: Scenarios}
			if kind, rest, ok := strings.Cut(parts[0], "] "); ok && strings.HasPrefix(kind, "[") {
				p.Wording, parts[0] = kind[1:], rest
			}
			if len(parts) == 4 {
				p.Past = strings.TrimSpace(strings.TrimPrefix(parts[3], pastPrefix))
			}
			first := g.IntN(firstHalf)
			p.Old = g.say(parts[0], "", first)
			p.New = g.say(parts[1], "", first+1+g.IntN(sessions-1-first))
			g.t.Pairs = append(g.t.Pairs, p)
		case len(parts) == 4:
			g := next("coexisting")
			c := Coexisting{Kind: Scenarios, AskA: parts[1], AskB: strings.TrimPrefix(parts[3], "-")}
			c.A = g.say(parts[0], "", g.IntN(sessions))
			c.B = g.say(parts[2], "", g.IntN(sessions))
			g.t.Coexisting = append(g.t.Coexisting, c)
		default:
			return nil, fmt.Errorf("a scenario has 1, 3 or 4 parts, or 2 and the first is empty: %q",
				strings.Join(parts, " || "))
		}
	}
	var out []Tenant
	for _, g := range generators {
		g.distract()
		g.order()
		out = append(out, g.t)
	}
	return out, nil
}

const pastPrefix = "past:"

func isChange(parts []string) bool {
	return len(parts) == 3 || len(parts) == 4 && strings.HasPrefix(parts[3], pastPrefix)
}

// scenarioLines returns the parts of each scenario.
func scenarioLines(text string) (out [][]string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, alternatives(line, "||"))
		}
	}
	return out
}
