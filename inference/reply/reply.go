package reply

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
)

// MaxLength is the number of bytes of an answer that are read.
const MaxLength = 1 << 20

const (
	maxElements = 1_000 // elements of one array that are read
	maxWarnings = 20    // a last one counts the rest
)

// Extraction reads the answer to an extraction prompt:
//
//	{"facts":    [{"content": "…", "category": "fact", "confidence": 0.9,
//	               "claim": {"subject": "…", "predicate": "…", "object": "…", "functional": false},
//	               "hints": ["…?"], "retracts": false, "cue": "actually"}],
//	 "entities": [{"source": "…", "relationship": "…", "target": "…", "confidence": 0.9}]}
//
// The category may also be called type, as in document 002. Category, claim, entities, hints, retracts and cue may be
// null or missing. A bad claim, bad hints or a bad cue is dropped alone. Any other bad field drops the whole element,
// because a retraction must not become a statement. Of several objects with facts or entities the first is used.
func Extraction(text string) memory.Extraction {
	var w warnings
	found := objects(prepare(text, &w), &w, "facts", "entities")
	if len(found) == 0 {
		w.add("answer: holds no JSON object with facts")
		return intake.CheckExtraction(memory.Extraction{Warnings: w.list()})
	}
	if len(found) > 1 {
		w.add("answer: holds more than one object with facts; all but the first are ignored")
	}

	var out memory.Extraction
	seen := map[string]bool{}
	for key, value := range members(found[0].text) {
		switch {
		case value == "":
			w.add("answer: is not valid JSON in places")
		case key != "facts" && key != "entities":
		case seen[key]:
			w.add("answer.%s: given twice; the first is used", key)
		case key == "entities" && value == "null":
		case value[0] != '[':
			seen[key] = true
			w.add("answer.%s: must be an array", key)
		case key == "facts":
			seen[key] = true
			each(key, value, &w, func(f fields) {
				if fact, ok := readFact(f); ok {
					out.Facts = append(out.Facts, fact)
				}
			})
		default:
			seen[key] = true
			each(key, value, &w, func(f fields) {
				if triple, ok := readTriple(f); ok {
					out.Triples = append(out.Triples, triple)
				}
			})
		}
	}
	if !seen["facts"] {
		w.add("answer.facts: missing")
	}
	if len(w.texts) == 0 && !json.Valid([]byte(found[0].text)) {
		w.add("answer: is not valid JSON in places")
	}
	out.Warnings = w.list()
	return intake.CheckExtraction(out)
}

// Decision reads the answer to a decision prompt about the neighbours that were offered:
//
//	{"action": "update", "change": "supersede", "target_id": "…", "confidence": 0.9, "reason": "…"}
//
// The target may also be called targetId, as in document 002. All fields are required, except that the target is
// required only for update and delete, and the change is optional. A change other than supersede and contest is
// ignored. Several decisions are used only if they agree; if only their changes differ, the change is ignored.
func Decision(text string, neighbors []memory.Neighbor) memory.Proposal {
	var w warnings
	found := objects(prepare(text, &w), &w, "action")
	var (
		p  memory.Proposal
		ok bool
	)
	for i, o := range found {
		next, valid := readDecision(o, &w)
		if i > 0 && (next.Action != p.Action || next.TargetID != p.TargetID) {
			w.add("answer: holds decisions that disagree")
			valid = false
		}
		if i > 0 && next.Change != p.Change {
			next.Change = "" // and it stays empty
		}
		if p, ok = next, valid; !ok {
			break
		}
	}
	if len(found) == 0 {
		w.add("answer: holds no JSON object with an action")
	}
	if !ok {
		return Undecided(w.list()...)
	}
	p.Warnings = w.list()
	return intake.CheckProposal(p, neighbors)
}

// Undecided is the proposal for an answer that cannot be acted on.
func Undecided(why ...string) memory.Proposal {
	return memory.Proposal{Action: schema.ActionNone, Reason: proposals.ReasonUndecided, Warnings: why}
}

func readFact(f fields) (memory.Fact, bool) {
	content, ok1 := f.text("content")
	category, ok2 := f.optional("category", "type")
	confidence, ok3 := f.number("confidence")
	retracts, ok4 := f.flag("retracts")
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return memory.Fact{}, false
	}
	return memory.Fact{
		Content: content, Category: schema.Category(category), Confidence: confidence, Claim: readClaim(f),
		Hints:    readHints(f),
		Retracts: retracts, Cue: f.perhaps("cue"),
	}, true
}

// readHints returns the hints that are strings. Others are dropped without a warning, because hints are optional.
func readHints(f fields) []string {
	raw, ok := f.values["hints"]
	if !ok || raw == "" || raw[0] != '[' {
		return nil
	}
	var out []string
	for element := range elements(raw) {
		var hint string
		if len(out) < 2*memory.MaxHints && element != "" && json.Unmarshal([]byte(element), &hint) == nil {
			out = append(out, hint)
		}
	}
	return out
}

// readClaim returns the zero claim if there is none or if it is not well formed.
func readClaim(f fields) memory.Claim {
	raw, ok := f.values["claim"]
	if !ok || raw == "null" {
		return memory.Claim{}
	}
	c, ok := readFields(f.path+".claim", raw, f.w)
	if !ok {
		return memory.Claim{}
	}
	subject, ok1 := c.text("subject")
	predicate, ok2 := c.text("predicate")
	object, ok3 := c.text("object")
	functional, ok4 := c.flag("functional")
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return memory.Claim{}
	}
	return memory.Claim{Subject: subject, Predicate: predicate, Object: object, Functional: functional}
}

func readTriple(f fields) (memory.Triple, bool) {
	source, ok1 := f.text("source")
	relationship, ok2 := f.text("relationship")
	target, ok3 := f.text("target")
	confidence, ok4 := f.number("confidence")
	return memory.Triple{Source: source, Relationship: relationship, Target: target, Confidence: confidence},
		ok1 && ok2 && ok3 && ok4
}

func readDecision(o object, w *warnings) (memory.Proposal, bool) {
	if !o.whole {
		return memory.Proposal{}, false // objects has reported it
	}
	f, ok := readFields("answer", o.text, w)
	if !ok {
		return memory.Proposal{}, false
	}
	action, ok1 := f.text("action")
	target, ok2 := f.optional("target_id", "targetId")
	confidence, ok3 := f.number("confidence")
	reason, ok4 := f.text("reason")
	return memory.Proposal{
			Action:     schema.Action(action),
			TargetID:   target,
			Confidence: confidence,
			Reason:     reason,
			Change:     readChange(f),
		},
		ok1 && ok2 && ok3 &&
			ok4
}

// readChange returns the change of a decision, or "" if it is not one of the two offered words.
func readChange(f fields) memory.Change {
	switch c := memory.Change(strings.ToLower(strings.TrimSpace(f.perhaps("change")))); c {
	case memory.ChangeSupersede, memory.ChangeContest:
		return c
	}
	return ""
}

// each reads the objects of an array, and drops other elements with a warning.
func each(key, array string, w *warnings, read func(fields)) {
	i := 0
	for raw := range elements(array) {
		if i < maxElements {
			if f, ok := readFields(fmt.Sprintf("answer.%s[%d]", key, i), raw, w); ok {
				read(f)
			}
		}
		i++
	}
	if i > maxElements {
		w.add("answer.%s: %d elements beyond the first %d were not read", key, i-maxElements, maxElements)
	}
}

// fields are the raw values of one JSON object, and its place in the answer.
type fields struct {
	path   string
	values map[string]string
	w      *warnings
}

// readFields reads one object. It refuses invalid JSON, too deep nesting, and duplicate fields.
func readFields(path, raw string, w *warnings) (fields, bool) {
	refuse := func(problem string) (fields, bool) {
		w.add("%s: %s", path, problem)
		return fields{}, false
	}
	if raw == "" {
		return refuse("is empty")
	}
	if _, depth := balance(raw); depth > maxDepth {
		return refuse("is nested too deeply")
	}
	if !json.Valid([]byte(raw)) {
		return refuse("is not valid JSON")
	}
	if raw[0] != '{' {
		return refuse("must be an object")
	}
	f := fields{path: path, values: map[string]string{}, w: w}
	for key, value := range members(raw) {
		if _, twice := f.values[key]; twice {
			return refuse("has the same field twice")
		}
		f.values[key] = value
	}
	return f, true
}

// present reports whether the field exists and is not null.
func (f fields) present(name string) bool {
	raw, ok := f.values[name]
	return ok && raw != "null"
}

// read decodes a required field; null counts as missing.
func (f fields) read(name, kind string, into any) bool {
	if !f.present(name) {
		f.w.add("%s.%s: missing", f.path, name)
		return false
	}
	if json.Unmarshal([]byte(f.values[name]), into) != nil {
		f.w.add("%s.%s: must be a %s", f.path, name, kind)
		return false
	}
	return true
}

// text reads a required string.
func (f fields) text(name string) (s string, ok bool) {
	ok = f.read(name, "string", &s)
	return s, ok
}

func (f fields) number(name string) (n float64, ok bool) {
	ok = f.read(name, "number", &n)
	return n, ok
}

// flag reads an optional boolean.
func (f fields) flag(name string) (b, ok bool) {
	if !f.present(name) {
		return false, true
	}
	ok = f.read(name, "boolean", &b)
	return b, ok
}

// perhaps reads an optional string. Any other value is ignored without a warning.
func (f fields) perhaps(name string) (s string) {
	if f.present(name) && json.Unmarshal([]byte(f.values[name]), &s) != nil {
		return ""
	}
	return s
}

// optional reads a string that may have either of two names. If both are set, they must be equal.
func (f fields) optional(name, other string) (string, bool) {
	switch {
	case !f.present(name) && !f.present(other):
		return "", true
	case !f.present(other):
		return f.text(name)
	case !f.present(name):
		return f.text(other)
	}
	a, ok1 := f.text(name)
	b, ok2 := f.text(other)
	if ok1 && ok2 && a != b {
		f.w.add("%s.%s: contradicts %s", f.path, name, other)
		return "", false
	}
	return a, ok1 && ok2
}

// warnings collects problems up to maxWarnings and counts the rest.
type warnings struct {
	texts []string
	more  int
}

func (w *warnings) add(format string, args ...any) {
	if len(w.texts) >= maxWarnings {
		w.more++
		return
	}
	w.texts = append(w.texts, fmt.Sprintf(format, args...))
}

// list returns the warnings, nil when there are none.
func (w *warnings) list() []string {
	if w.more > 0 {
		return append(w.texts, fmt.Sprintf("answer: has %d more problems", w.more))
	}
	return w.texts
}
