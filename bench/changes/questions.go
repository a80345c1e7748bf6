package changes

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Questions is the half of tenants that were made from a file of questions.
const Questions = "questions"

// FromQuestions makes a tenant from statements with their questions. Each line is a statement and one or more questions
// that only it answers, separated by ||, or "? " and a question that no statement answers. Lines that begin with # are
// comments.
func FromQuestions(seed uint64, text string) (Tenant, error) {
	g := newGenerator(rand.New(rand.NewPCG(seed, 0)), devHalf())
	g.user = ""
	g.t = Tenant{Name: Questions, Half: Questions}
	for _, parts := range scenarioLines(text) {
		unknown, isUnknown := strings.CutPrefix(parts[0], "? ")
		if isUnknown && len(parts) == 1 {
			g.t.Unknown = append(g.t.Unknown, Probe{Kind: Questions, Question: unknown, Answer: -1})
			continue
		}
		if isUnknown || len(parts) < 2 || parts[0] == "" {
			return Tenant{}, fmt.Errorf("a line is a statement with questions, or a question after \"? \": %q",
				strings.Join(parts, " || "))
		}
		answer := g.say(parts[0], "", g.IntN(sessions))
		for _, asked := range parts[1:] {
			g.t.Known = append(g.t.Known, Probe{Kind: Questions, Question: asked, Answer: answer})
		}
	}
	g.order()
	return g.t, nil
}
