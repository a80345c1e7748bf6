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

// Limits of the data taken from the working memory of a session.
const (
	maxConstraints = 8  // constraints of a session
	maxConstraint  = 80 // characters; a longer text is an explanation, not a condition
	maxQuestions   = 4  // open questions of an attempt
	maxQuestion    = 160
)

// constraintKey is the prefix of the context keys of constraints that are texts: "No network" becomes
// constraint_no_network with the value yes. ShareConstraints adds the value no to attempts without the constraint.
const (
	constraintKey = "constraint_"
	constraintYes = "yes"
	constraintNo  = "no"
)

// working has the fields of working memory that are evidence. Next actions are not evidence, because they only show the
// agent's intention.
type working struct {
	bound     bool              // the agent has named its constraints
	holds     map[string]string // the current constraints, as context
	questions []string          // the open questions
	blocked   bool              // the agent has reported that it is blocked, and has done nothing since
}

// update applies the agent's report about its work. A field in the report replaces the old one, as in working memory.
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

// constraintsOf returns constraints as context: the scalars of an object by their keys, and a text as a key. It omits
// long texts and texts with a secret.
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

// textKey returns the context key of a constraint that is a text. Case and punctuation do not count.
func textKey(text string) string {
	words := normalize.Words(text, "'")
	if len(words) == 0 {
		return ""
	}
	return constraintKey + strings.ReplaceAll(strings.Join(words, "_"), "'", "")
}

// clean returns a text in one line, or "" if it is too long or has a secret.
func clean(text string, limit int) string {
	text = strings.TrimSpace(normalize.CleanLine(text, 4*limit))
	if _, secret := sensitive.Mask(text); secret || len([]rune(text)) > limit {
		return ""
	}
	return text
}

// bind adds the current constraints to the context of a call. Values of the environment take precedence.
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
