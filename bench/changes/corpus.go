package changes

import (
	"fmt"
	"regexp"
	"strings"
)

// The corpus is text in blocks of lines. A block is separated by an empty line and describes one attribute:
//
//	attribute: city                     its name
//	for: person                         what has it: person, team, thing, or any without a subject
//	values: Lyon | Oslo | Porto         its possible values, ascending if they have an order
//	old: {I} live{s} in {old}.          ways to say it at first
//	ask: Where {do} {I} live?           ways to ask for it
//	before: Where did {I} live before?  ways to ask for the earlier value
//	moved: {I} moved to {new}.          a change, in the wording named moved
//	cut-: It was cut to {new}.          a change to a smaller value; + is to a greater one
//	stopped: OLD || NEW || QUESTION     a change with an old statement and its own question, and
//	                                    perhaps a fourth part, a question about the past
//
// Subjects are written in the first person: see subject. A text that begins with ~ keeps its first letter
// small. A line that begins with white space continues the one before.
type attribute struct {
	name, subjects   string
	values           []string
	olds, asks, past []string
	changes          []change
	heldOut          bool
}

// change is one statement that changes an attribute.
type change struct {
	wording            string
	direction          int // of the value: 1 up, -1 down, 0 any
	text               string
	old, ask, past     string // its own; empty: those of the attribute
	heldOut            bool   // its wording
	attr               *attribute
	corrects, hasValue bool
}

// corrections are wordings that say that the old statement was never true. There is no question about the past for
// them.
var corrections = map[string]bool{"actually": true, "correction": true, "not_but": true, "turns_out": true}

// continued matches the start of a line that continues the previous one.
var continued = regexp.MustCompile(` *\n[ \t]+`)

var changeLine = regexp.MustCompile(`^([a-z_]+)([+-]?)$`)

// blocks splits a corpus into blocks of key and text.
func blocks(text string) (out [][][2]string) {
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		var lines [][2]string
		block = continued.ReplaceAllString(strings.TrimSpace(block), " ")
		for line := range strings.SplitSeq(block, "\n") {
			key, value, _ := strings.Cut(line, ":")
			lines = append(lines, [2]string{key, strings.TrimSpace(value)})
		}
		out = append(out, lines)
	}
	return out
}

func alternatives(text, separator string) (out []string) {
	for part := range strings.SplitSeq(text, separator) {
		out = append(out, strings.TrimSpace(part))
	}
	return out
}

// parseAttributes reads a corpus of attributes.
func parseAttributes(text string) ([]*attribute, error) {
	var out []*attribute
	for _, lines := range blocks(text) {
		a := &attribute{}
		for _, line := range lines {
			key, value := line[0], line[1]
			switch key {
			case "attribute":
				a.name = value
			case "for":
				a.subjects = value
			case "values":
				a.values = alternatives(value, "|")
			case "old":
				a.olds = append(a.olds, value)
			case "ask":
				a.asks = append(a.asks, value)
			case "before":
				a.past = append(a.past, value)
			default:
				c, err := parseChange(key, value)
				if err != nil {
					return nil, fmt.Errorf("attribute %s: %w", a.name, err)
				}
				c.attr = a
				a.changes = append(a.changes, c)
			}
		}
		if a.name == "" || len(a.changes) == 0 {
			return nil, fmt.Errorf("a block without an attribute or changes: %q", lines)
		}
		out = append(out, a)
	}
	return out, nil
}

func parseChange(key, value string) (change, error) {
	m := changeLine.FindStringSubmatch(key)
	if m == nil {
		return change{}, fmt.Errorf("%q is not a wording", key)
	}
	c := change{wording: m[1], direction: map[string]int{"+": 1, "-": -1}[m[2]], text: value,
		corrects: corrections[m[1]]}
	switch parts := alternatives(value, "||"); len(parts) {
	case 1:
		c.hasValue = true
	case 3, 4:
		c.old, c.text, c.ask = parts[0], parts[1], parts[2]
		if len(parts) == 4 {
			c.past = parts[3]
		}
	default:
		return change{}, fmt.Errorf("%q has %d parts", value, len(parts))
	}
	return c, nil
}

// saying is a statement with the question that it answers; the question may be empty.
type saying struct{ text, ask string }

func parseSaying(text string) saying {
	said, ask, _ := strings.Cut(text, "||")
	return saying{text: strings.TrimSpace(said), ask: strings.TrimSpace(ask)}
}

// together is a template of two statements that do not change each other.
type together struct {
	kind   string
	values []string
	a, b   saying
}

// parseTogether reads a corpus of coexisting statements.
func parseTogether(text string) ([]together, error) {
	var out []together
	for _, lines := range blocks(text) {
		var t together
		for _, line := range lines {
			switch key, value := line[0], line[1]; key {
			case "kind":
				t.kind = value
			case "values":
				t.values = alternatives(value, "|")
			case "a":
				t.a = parseSaying(value)
			case "b":
				t.b = parseSaying(value)
			default:
				return nil, fmt.Errorf("coexisting %s: %q is not a key", t.kind, key)
			}
		}
		if t.kind == "" || t.a.ask == "" || t.b.ask == "" {
			return nil, fmt.Errorf("a coexisting block is incomplete: %q", lines)
		}
		out = append(out, t)
	}
	return out, nil
}

// parseLines reads a corpus of one text a line.
func parseLines(text string) []string {
	return strings.Split(continued.ReplaceAllString(strings.TrimSpace(text), " "), "\n")
}
