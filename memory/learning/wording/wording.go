package wording

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
)

// Limits of a description.
const (
	MaxName = 80  // characters of a name
	MaxText = 300 // characters of a step
	MaxShow = 12  // steps of a procedure; a model does not get longer ones
)

// Subject is a procedure in the form that a model gets.
type Subject struct {
	Problem    string   `json:"problem"`              // the error or the task
	Conditions string   `json:"conditions,omitempty"` // where it helps, as JSON
	Steps      []Step   `json:"steps"`
	Failures   []string `json:"failures,omitempty"` // what did not help
}

// Step is a step of a procedure.
type Step struct {
	Number int    `json:"number"` // from 1
	Tool   string `json:"tool,omitempty"`
	Text   string `json:"text"` // the call, with its parameters in braces
}

// Description is a model's description of a subject.
type Description struct {
	Name  string
	Steps []Step
}

// Of returns the subject of a procedure, if a model can describe it.
func Of(p schema.CompetencePayload) (Subject, bool) {
	if len(p.Recipe) == 0 || len(p.Recipe) > MaxShow || len(p.Triggers) == 0 {
		return Subject{}, false
	}
	out := Subject{Problem: p.Triggers[0].Signal, Conditions: string(p.Triggers[0].Conditions),
		Failures: p.FailureModes}
	for i, s := range p.Recipe {
		out.Steps = append(out.Steps, Step{Number: i + 1, Tool: s.Tool, Text: s.Step})
	}
	return out, true
}

// OfPlan returns the subject of a plan, if a model can describe it. The nodes must be in an order that the edges allow.
func OfPlan(p schema.PlanGraphPayload, nodes []schema.PlanNode) (Subject, bool) {
	if len(nodes) == 0 || len(nodes) > MaxShow || p.Intent == "" {
		return Subject{}, false
	}
	out := Subject{Problem: p.Intent, Conditions: string(p.Constraints)}
	for i, n := range nodes {
		text := strings.TrimSpace(n.Op + " " + string(n.Params))
		out.Steps = append(out.Steps, Step{Number: i + 1, Tool: n.Op, Text: text})
	}
	return out, true
}

// ApplyToPlan returns a plan with the name of a checked description. Nodes, edges, guards and schemas do not change,
// because a plan has no field for the texts of its steps.
func ApplyToPlan(d Description, p schema.PlanGraphPayload) schema.PlanGraphPayload {
	p.PlanID = Slug(d.Name)
	return p
}

// Size returns the number of bytes of a subject's texts.
func (s Subject) Size() int {
	size := len(s.Problem) + len(s.Conditions)
	for _, step := range s.Steps {
		size += len(step.Tool) + len(step.Text)
	}
	for _, f := range s.Failures {
		size += len(f)
	}
	return size
}

// Check refuses a description as a whole if it omits, adds or reorders a step, has another tool, is empty or too
// long, has a number, a parameter, a path or a name that the subject does not have, adds a negation, or has a secret.
// The error quotes nothing.
func Check(d Description, s Subject) (Description, error) {
	if len(d.Steps) != len(s.Steps) {
		return Description{}, fmt.Errorf("it has %d steps instead of %d", len(d.Steps), len(s.Steps))
	}
	all := s.Problem + "\n" + s.Conditions
	for _, step := range s.Steps {
		all += "\n" + step.Tool + "\n" + step.Text
	}
	var err error
	if d.Name, err = text(d.Name, MaxName, all); err != nil {
		return Description{}, fmt.Errorf("its name %w", err)
	}
	if len(normalize.Words(d.Name, "")) < 2 {
		return Description{}, fmt.Errorf("its name has fewer than two words")
	}
	d.Steps = slices.Clone(d.Steps)
	for i := range d.Steps {
		step, own := &d.Steps[i], s.Steps[i]
		switch {
		case step.Number != own.Number:
			return Description{}, fmt.Errorf("step %d is not the one that was given", i+1)
		case step.Tool != own.Tool:
			return Description{}, fmt.Errorf("step %d has another tool", i+1)
		}
		if step.Text, err = text(step.Text, MaxText, own.Tool+"\n"+own.Text+"\n"+s.Problem); err != nil {
			return Description{}, fmt.Errorf("step %d %w", i+1, err)
		}
	}
	return d, nil
}

// Apply returns a procedure with a checked description. Tools, arguments, conditions and checks are not changed.
func Apply(d Description, p schema.CompetencePayload) schema.CompetencePayload {
	p.SkillName = Slug(d.Name)
	p.Recipe = slices.Clone(p.Recipe)
	for i := range p.Recipe {
		if i < len(d.Steps) {
			p.Recipe[i].Step = d.Steps[i].Text
		}
	}
	return p
}

// Slug returns a name in the form of a skill name: words in lower case, joined by underscores.
func Slug(name string) string {
	return normalize.FirstChars(strings.Join(normalize.Words(name, ""), "_"), schema.MaxNameLength)
}

// CheckSummary refuses a summary that has a number, a path, a name, a secret or a negation that is in none of its
// sources. The error quotes nothing.
func CheckSummary(summary string, sources []string) error {
	_, err := text(noOutcome.Replace(summary), len(summary)+1, noOutcome.Replace(strings.Join(sources, "\n")))
	return err
}

// noOutcome removes words of package compress that look like negations but are not.
var noOutcome = strings.NewReplacer("ended without an outcome", "ended")

var (
	numbers    = regexp.MustCompile(`\d+`)
	parameters = regexp.MustCompile(`\{[^{}]*\}`)
	marked     = regexp.MustCompile(`[\p{L}\d~.]*[/\\@_=~][^\s"'` + "`" + `,;)]*|` +
		`[\p{L}\d]+(?:[.:-][\p{L}\d]+)+|--?[\p{L}][\p{L}\d-]*`)
	capitals  = regexp.MustCompile(`\p{L}*\p{Lu}[\p{L}\d]*`)
	negations = normalize.Set(`not no never don't dont doesn't without cannot can't nicht nie kein keine ohne`)
)

// text checks that a text adds nothing to the known text, and returns it in one line.
func text(said string, limit int, known string) (string, error) {
	if len(said) > 8*limit {
		return "", fmt.Errorf("is too long")
	}
	line := normalize.CleanLine(said, 8*limit)
	switch masked, _ := sensitive.Mask(line); {
	case !strings.ContainsFunc(line, unicode.IsLetter):
		return "", fmt.Errorf("is empty")
	case len([]rune(line)) > limit:
		return "", fmt.Errorf("is too long")
	case masked != line:
		return "", fmt.Errorf("has a secret")
	}
	for _, kind := range []struct {
		what string
		find *regexp.Regexp
	}{{"number", numbers}, {"parameter", parameters}, {"path or option", marked}} {
		for _, found := range kind.find.FindAllString(line, -1) {
			if found = strings.Trim(found, ".:,;"); found != "" && !strings.Contains(known, found) {
				return "", fmt.Errorf("has a %s that was not given", kind.what)
			}
		}
	}
	low, ended := normalize.Lower(known), false
	for i, word := range strings.Fields(line) {
		name := capitals.FindString(word)
		starts := i == 0 || ended && starter(word)
		ended = strings.ContainsAny(word[len(word)-1:], ".!?:")
		if !starts && name != "" && !strings.Contains(low, normalize.Lower(name)) {
			return "", fmt.Errorf("has a name that was not given")
		}
	}
	if negated(line) && !negated(known) {
		return "", fmt.Errorf("says no where nothing does")
	}
	return line, nil
}

// starter reports whether a word with a capital may begin a sentence without being a name.
func starter(word string) bool {
	low := normalize.Lower(strings.Trim(word, ",;:.!?"))
	return starters[low] || strings.HasSuffix(low, "ing") || strings.HasSuffix(low, "ed")
}

var starters = normalize.Set(`a after all an and another as at before both but by each every finally first for from in
	it its later most next on one second several some that the their then there these they third this those three to two
	when where which while with agent build command run session task test tool user`)

func negated(text string) bool {
	return slices.ContainsFunc(normalize.Words(text, "'"), func(w string) bool { return negations[w] })
}
