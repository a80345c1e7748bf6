package memory

import "github.com/mneme/mneme/schema"

// Limits of one extraction (document 002 "Extraction"). Lengths are in characters.
const (
	MaxFacts        = 20
	MaxTriples      = 50
	MinFactLength   = 10
	MaxFactLength   = 2_000
	MaxExtractInput = 12_000
	MaxEntityLength = 200 // an entity or relationship name; longer ones are sentences, not names
)

// Claim is a subject-predicate-object statement (document 004 §15A.8). The zero Claim states nothing.
type Claim struct {
	Subject   string `json:"subject,omitempty"`
	Predicate string `json:"predicate,omitempty"` // snake_case relation, such as lives_in
	Object    string `json:"object,omitempty"`

	// Functional marks a predicate that has one object at a time: a new object replaces the old
	// one. Most predicates are not (someone may like many things).
	Functional bool `json:"functional,omitempty"`
}

// IsZero reports whether c states nothing.
func (c Claim) IsZero() bool { return c.Subject == "" || c.Predicate == "" }

// Fact is one thing worth keeping that an extractor found in a source.
type Fact struct {
	Content    string          `json:"content"` // stands alone: MinFactLength to MaxFactLength characters
	Category   schema.Category `json:"category"`
	Confidence float64         `json:"confidence"` // [0,1]
	Claim      Claim           `json:"claim,omitzero"`
	Hints      []string        `json:"hints,omitempty"` // questions that it answers, of the model; see CheckHints

	// Retracts means that the content does not hold ("Forget that Maya likes tabs."): the fact takes a
	// statement back, and there is nothing to add.
	Retracts bool `json:"retracts,omitempty"`

	// Cue is what the sentence began with that says it corrects or changes something, in lower case:
	// "actually", "correction", "scratch that", "forget that". It is not part of Content, except in an
	// explicit save, which keeps its words. Empty when there was none.
	Cue string `json:"cue,omitempty"`
}

// Triple is one edge of the entity graph (document 002 "Extracted entity shape").
type Triple struct {
	Source       string  `json:"source"`
	Relationship string  `json:"relationship"`
	Target       string  `json:"target"`
	Confidence   float64 `json:"confidence"` // [0,1]
}

// Extraction is what one extractor call yields, after CheckExtraction.
type Extraction struct {
	Facts    []Fact   `json:"facts"`
	Triples  []Triple `json:"triples,omitempty"`
	Warnings []string `json:"warnings,omitempty"` // what was dropped and why; never content
}

// Neighbor is an existing memory offered to a decision, best first.
type Neighbor struct {
	ID       string          `json:"id"`
	Version  int             `json:"version"` // as seen; write refuses to act on another
	Content  string          `json:"content"`
	Hash     []byte          `json:"-"` // content hash
	Category schema.Category `json:"category"`
	Claim    Claim           `json:"claim,omitzero"`
	Pinned   bool            `json:"pinned,omitempty"`
	// Kept says that the fact may not take its place by itself (KeepsItsPlace). Only the write knows it.
	Kept  bool    `json:"-"`
	Score float64 `json:"score"` // [0,1]
}

// Proposal is what a decider wants done with a fact. It is a proposal: CheckProposal validates it
// against the neighbours that were offered, and EvaluateWrite says whether the mode allows it.
type Proposal struct {
	Action     schema.Action `json:"action"`
	TargetID   string        `json:"target_id,omitempty"` // required for update and delete
	Confidence float64       `json:"confidence"`          // [0,1]
	Reason     string        `json:"reason"`
	Warnings   []string      `json:"warnings,omitempty"`
}
