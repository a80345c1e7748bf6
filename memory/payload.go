package memory

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/mneme/mneme/schema"
)

// SemanticPayload is the payload of a claim whose object is a text. It holds always.
func SemanticPayload(subject, predicate, object string, functional bool) schema.SemanticPayload {
	encoded, _ := json.Marshal(object) // a string always encodes
	cardinality := schema.CardinalityMany
	if functional {
		cardinality = schema.CardinalityOne
	}
	return schema.SemanticPayload{
		Kind:        schema.TypeSemantic,
		Subject:     subject,
		Predicate:   predicate,
		Object:      encoded,
		Validity:    schema.Validity{Mode: schema.ValidGlobal},
		Cardinality: cardinality,
	}
}

// Source is a text that was handed in, as it is kept.
type Source struct {
	ID             string // of its candidate
	Type           schema.MemoryType
	Kind           schema.SourceKind
	Text           string
	By             string // who says it
	Session        string
	At             time.Time
	Evidence       []schema.Ref // what came with it, or the candidate itself
	Ref            string       // the first reference that came with it, or ""
	RevisionPolicy schema.RevisionPolicy
}

// Payload is the payload by the source's type (document 004 §15A.6 and §15A.8). A semantic source is what its author
// states; facts that are derived from it have the finer triple.
func (s Source) Payload() any {
	switch s.Type {
	case schema.TypeSemantic:
		payload := SemanticPayload(s.By, schema.PredicateStates, s.Text, false)
		payload.RevisionPolicy, payload.Evidence = s.RevisionPolicy, s.Evidence
		return payload
	case schema.TypeWorking: // only a rule makes it one
		return schema.WorkingPayload{
			Kind:           schema.TypeWorking,
			ThreadID:       cmp.Or(s.Session, s.ID),
			State:          schema.TaskExecuting,
			ContextSummary: s.Text,
			LastUpdated:    &s.At,
		}
	}
	return schema.EpisodicPayload{
		Kind: schema.TypeEpisodic,
		Timeline: []schema.TimelineEvent{
			{T: s.At, EventKind: string(s.Kind), Ref: cmp.Or(s.Ref, "candidate:"+s.ID)},
		},
	}
}
