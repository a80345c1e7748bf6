package changes

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Scenarios is the half of tenants that were made from a file of scenarios.
const Scenarios = "scenarios"

// tenantsOfScenarios is how many tenants share the scenarios of a file.
const tenantsOfScenarios = 4

// FromScenarios makes tenants from scenarios that are not part of the corpus, such as ones that an author who does not
// know the rules wrote. Each line is one scenario, with its parts separated by ||; lines that begin with # are
// comments. One part is a question about something never said. Three parts are a change: the statement, the later
// statement that changes it, and the question. Four parts are coexisting statements: a statement, its question, the
// other statement, its question. Statements about other things are those of the development half.
func FromScenarios(seed uint64, text string) ([]Tenant, error) {
	var generators []*generator
	for n := range tenantsOfScenarios {
		h := devHalf()
		h.name = Scenarios
		g := newGenerator(rand.New(rand.NewPCG(seed, uint64(1000+n))), h)
		g.user = ""
		g.t = Tenant{Name: fmt.Sprintf("%s-%02d", Scenarios, n), Half: Scenarios}
		generators = append(generators, g)
	}
	count := map[int]int{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := alternatives(line, "||")
		g := generators[count[len(parts)]%tenantsOfScenarios]
		count[len(parts)]++
		switch len(parts) {
		case 1:
			g.t.Unknown = append(g.t.Unknown, Probe{Kind: Scenarios, Question: parts[0], Answer: -1})
		case 3:
			first := g.IntN(firstHalf)
			p := Pair{Question: parts[2], Attribute: Scenarios, Wording: Scenarios}
			p.Old = g.say(parts[0], "", first)
			p.New = g.say(parts[1], "", first+1+g.IntN(sessions-1-first))
			g.t.Pairs = append(g.t.Pairs, p)
		case 4:
			c := Coexisting{Kind: Scenarios, AskA: parts[1], AskB: parts[3]}
			c.A = g.say(parts[0], "", g.IntN(sessions))
			c.B = g.say(parts[2], "", g.IntN(sessions))
			g.t.Coexisting = append(g.t.Coexisting, c)
		default:
			return nil, fmt.Errorf("a scenario has 1, 3 or 4 parts: %q", line)
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
