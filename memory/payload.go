package memory

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/mneme/mneme/schema"
)

// SemanticPayload returns the payload of a claim whose object is a text. Its validity is global.
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

// Source is a submitted text with the data that its payload needs.
type Source struct {
	ID             string // id of its candidate
	Type           schema.MemoryType
	Kind           schema.SourceKind
	Text           string
	By             string // author
	Session        string
	At             time.Time
	Evidence       []schema.Ref // evidence of the candidate, or the candidate itself
	Ref            string       // first reference of the candidate, or ""
	RevisionPolicy schema.RevisionPolicy
}

// Payload returns the payload for the source's type (document 004 §15A.6 and §15A.8). A semantic source gets the
// predicate "states", with its author as subject and the whole text as object. Facts extracted from it have more
// precise claims.
func (s Source) Payload() any {
	switch s.Type {
	case schema.TypeSemantic:
		payload := SemanticPayload(s.By, schema.PredicateStates, s.Text, false)
		payload.RevisionPolicy, payload.Evidence = s.RevisionPolicy, s.Evidence
		return payload
	case schema.TypeWorking: // only a policy rule sets this type
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
