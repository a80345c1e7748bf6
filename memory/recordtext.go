package memory

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// maxRecordText limits derived text, in characters: embedders do not read more, and search does not need it.
const maxRecordText = normalize.MaxExtractInput

// RecordText returns the text that represents a record without content in search and embeddings. It depends only on the
// type and the payload. If the payload gives no text, it returns the name of the type, because an empty text can
// neither be searched nor embedded. When an episode grows, its new text begins with the earlier text.
func RecordText(m schema.MemoryRecord) string {
	var text string
	switch m.Type {
	case schema.TypeSemantic:
		text = semanticText(PayloadOf[schema.SemanticPayload](m))
	case schema.TypeCompetence:
		text = competenceText(PayloadOf[schema.CompetencePayload](m))
	case schema.TypePlanGraph:
		text = planText(PayloadOf[schema.PlanGraphPayload](m))
	case schema.TypeWorking:
		text = workingText(PayloadOf[schema.WorkingPayload](m))
	case schema.TypeEpisodic:
		text = episodeText(PayloadOf[schema.EpisodicPayload](m))
	}
	if text = normalize.StorageContent(normalize.FirstChars(text, maxRecordText)); text == "" {
		text = AsWords(string(m.Type))
	}
	return text
}

func semanticText(p schema.SemanticPayload) string {
	var b strings.Builder
	if p.Predicate != schema.PredicateStates { // the statement is the object
		b.WriteString(p.Subject + " " + AsWords(p.Predicate) + " ")
	}
	b.WriteString(ValueText(p.Object))
	if when := conditionsText(p.Validity.Conditions); when != "" {
		b.WriteString(" when " + when)
	}
	if from := p.Validity.Start; from != nil {
		b.WriteString(" from " + dateText(*from))
	}
	if until := p.Validity.End; until != nil {
		b.WriteString(" until " + dateText(*until))
	}
	return b.String()
}

func competenceText(p schema.CompetencePayload) string {
	t := sentences{AsWords(p.SkillName)}
	for _, trigger := range p.Triggers {
		t.add("when", trigger.Signal+bracketed(conditionsText(trigger.Conditions)))
	}
	for _, step := range p.Recipe {
		text := step.Step
		if step.Tool != "" {
			text += " with " + step.Tool
		}
		if step.Validation != "" {
			text += " until " + step.Validation
		}
		t.add("", text+bracketed(conditionsText(step.Conditions)))
	}
	t.add("tools", strings.Join(p.RequiredTools, ", "))
	t.add("may fail", strings.Join(p.FailureModes, "; "))
	t.add("otherwise", strings.Join(p.Fallbacks, "; "))
	return t.String()
}

func planText(p schema.PlanGraphPayload) string {
	name := p.Intent
	if name == "" {
		name = p.PlanID
	}
	t := sentences{AsWords(name)}
	ops := make([]string, 0, len(p.Nodes))
	for _, node := range p.Nodes {
		ops = append(ops, AsWords(node.Op)+bracketed(conditionsText(node.Guards)))
	}
	t.add("steps", strings.Join(ops, ", "))
	t.add("within", conditionsText(p.Constraints))
	return t.String()
}

func workingText(p schema.WorkingPayload) string {
	t := sentences{p.ContextSummary}
	t.add("next", strings.Join(p.NextActions, "; "))
	t.add("open", strings.Join(p.OpenQuestions, "; "))
	constraints := make([]string, 0, len(p.ActiveConstraints))
	for _, c := range p.ActiveConstraints {
		constraints = append(constraints, ValueText(c))
	}
	t.add("constraints", strings.Join(constraints, "; "))
	t.add("thread", p.ThreadID)
	t.add("task", p.TaskID)
	return t.String()
}

// episodeText lists the events in order, each by its summary or, without one, its kind.
func episodeText(p schema.EpisodicPayload) string {
	events := make([]string, 0, len(p.Timeline))
	for _, e := range p.Timeline {
		if e.Summary != "" {
			events = append(events, e.Summary)
		} else {
			events = append(events, AsWords(e.EventKind))
		}
	}
	return strings.Join(events, "; ")
}

// sentences has the parts of a text. String omits empty parts.
type sentences []string

func (s *sentences) add(label, text string) {
	if text == "" {
		return
	}
	if label != "" {
		text = label + ": " + text
	}
	*s = append(*s, text)
}

func (s sentences) String() string {
	return strings.Join(slices.DeleteFunc(slices.Clone(s), func(part string) bool { return part == "" }), ". ")
}

// AsWords turns a snake_case name into words.
func AsWords(name string) string { return strings.ReplaceAll(name, "_", " ") }

func bracketed(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// dateText returns a time, or only its date if the time is midnight in UTC.
func dateText(at time.Time) string {
	at = at.UTC()
	if at.Equal(at.Truncate(24 * time.Hour)) {
		return at.Format(time.DateOnly)
	}
	return at.Format(time.RFC3339)
}

// conditionsText returns conditions in words, sorted by key: "os is macos and arch is arm64".
func conditionsText(conditions json.RawMessage) string {
	var object map[string]any
	if len(conditions) == 0 || decode(conditions, &object) != nil {
		return ValueText(conditions) // a list of constraints
	}
	parts := make([]string, 0, len(object))
	for _, key := range slices.Sorted(maps.Keys(object)) {
		value := anyText(object[key], " or ")
		parts = append(parts, AsWords(key)+" is "+value)
	}
	return strings.Join(parts, " and ")
}

// ValueText returns any JSON value in words.
func ValueText(value json.RawMessage) string {
	var v any
	if len(value) == 0 || decode(value, &v) != nil {
		return ""
	}
	return anyText(v, ", ")
}

func anyText(v any, between string) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "true"
		}
		return "false"
	case []any:
		parts := make([]string, 0, len(v))
		for _, e := range v {
			parts = append(parts, anyText(e, ", "))
		}
		return strings.Join(parts, between)
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, AsWords(key)+" "+anyText(v[key], ", "))
		}
		return strings.Join(parts, between)
	}
	return ""
}
