package trace

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// Limits of what is taken from the working memory of a session.
const (
	maxConstraints = 8  // that a session names, in its whole length
	maxConstraint  = 80 // characters; a longer text is an explanation and not a condition
	maxQuestions   = 4  // open questions of an attempt
	maxQuestion    = 160
)

// constraintKey begins the context keys of constraints that are texts: "No network" is constraint_no_network, with the
// value yes. Of an attempt that is known not to have had it, ShareConstraints makes the value no.
const (
	constraintKey = "constraint_"
	constraintYes = "yes"
	constraintNo  = "no"
)

// working is what a session says of its work: the fields of working memory that are evidence. Next actions are not:
// they say what the agent meant to do, not what helped.
type working struct {
	bound     bool              // it says which constraints hold
	holds     map[string]string // the constraints that hold now, as context
	questions []string          // that are open now
	blocked   bool              // the agent says that it cannot go on, and has done nothing since
}

// update takes in what the agent says of its work. Each field that is given replaces the field, as in working memory.
func (w *working) update(e ledger.Event) {
	given, ok := ledger.Payload[map[string]json.RawMessage](e)
	if !ok {
		return
	}
	var constraints []json.RawMessage
	if raw, ok := given["active_constraints"]; ok && json.Unmarshal(raw, &constraints) == nil {
		w.bound, w.holds = true, constraintsOf(constraints)
	}
	var questions []string
	if raw, ok := given["open_questions"]; ok && json.Unmarshal(raw, &questions) == nil {
		w.questions = nil
		for _, q := range questions {
			if q = clean(q, maxQuestion); q != "" && len(w.questions) < maxQuestions {
				w.questions = append(w.questions, q)
			}
		}
	}
	var state schema.TaskState
	if raw, ok := given["state"]; ok && json.Unmarshal(raw, &state) == nil {
		w.blocked = state == schema.TaskBlocked
	}
}

// constraintsOf are constraints as context: the scalars of an object by their keys, and a text as a key of its own. A
// text with a secret in it, and one of many words, is not a condition.
func constraintsOf(given []json.RawMessage) map[string]string {
	out := map[string]string{}
	add := func(key, value string) {
		if key != "" && len(out) < maxConstraints {
			out[key] = value
		}
	}
	for _, raw := range given {
		switch v := decoded(raw).(type) {
		case string:
			if text := clean(v, maxConstraint); text != "" {
				add(textKey(text), constraintYes)
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				s, ok := scalarOf(v[key])
				if text := clean(s.Text, maxConstraint); ok && text != "" {
					add(contextKey(clean(key, maxConstraint)), text)
				}
			}
		}
	}
	return out
}

// textKey is the context key of a constraint that is a text. Spelling does not matter, and numbers and negations do.
func textKey(text string) string {
	words := normalize.Words(text, "'")
	if len(words) == 0 {
		return ""
	}
	return constraintKey + strings.ReplaceAll(strings.Join(words, "_"), "'", "")
}

// clean is a text of one line; empty where it is too long or holds a secret.
func clean(text string, limit int) string {
	text = strings.TrimSpace(normalize.CleanLine(text, 4*limit))
	if _, secret := sensitive.Mask(text); secret || len([]rune(text)) > limit {
		return ""
	}
	return text
}

// bind gives the context of a call the constraints that hold when it begins. What the environment says goes before.
func (w *working) bind(context map[string]string) map[string]string {
	if len(w.holds) == 0 {
		return context
	}
	out := maps.Clone(w.holds)
	maps.Copy(out, context)
	return out
}

// leastTrust is the trust in a source below which its constraints are not shared, as for a promotion.
const leastTrust = 0.5

// ShareConstraints makes the constraints of attempts at one problem comparable: where one attempt was under a
// constraint and another one names its constraints and not this one, the other was not under it. Of an attempt that
// names none at all, nothing is known. What a source that is not trusted names is not asked of others.
func ShareConstraints(attempts []Attempt) {
	keys := map[string]bool{}
	for _, a := range attempts {
		if !(a.Source.Trust >= leastTrust) { // so written that NaN is low
			continue
		}
		for key := range a.Situation.Context {
			if strings.HasPrefix(key, constraintKey) {
				keys[key] = true
			}
		}
	}
	for i := range attempts {
		a := &attempts[i]
		if !a.Bound {
			continue
		}
		cloned := false
		for key := range keys {
			if _, ok := a.Situation.Context[key]; ok {
				continue
			}
			if !cloned { // attempts of one session may share it
				a.Situation.Context, cloned = maps.Clone(a.Situation.Context), true
			}
			if a.Situation.Context == nil {
				a.Situation.Context = map[string]string{}
			}
			a.Situation.Context[key] = constraintNo
		}
	}
}
