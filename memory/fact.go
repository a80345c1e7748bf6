package memory

import (
	"time"

	"github.com/mneme/mneme/schema"
)

// Limits of one extraction (document 002 "Extraction"). Lengths are in characters.
const (
	MaxFacts      = 20
	MaxTriples    = 50
	MinFactLength = 10
	MaxFactLength = 2_000

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
	Content    string          `json:"content"` // understood alone: MinFactLength to MaxFactLength characters
	Category   schema.Category `json:"category"`
	Confidence float64         `json:"confidence"` // [0,1]
	Claim      Claim           `json:"claim,omitzero"`
	Hints      []string        `json:"hints,omitempty"` // questions that it answers, of the model; see CheckHints

	Speaker string    `json:"speaker,omitempty"` // who said it; empty when unknown
	SaidAt  time.Time `json:"said_at,omitzero"`  // when the source occurred

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
	// What a decision about time and speakers needs. Zero values are unknown.
	Type       schema.MemoryType `json:"type,omitempty"`
	Status     schema.Status     `json:"status,omitempty"`
	Who        string            `json:"who,omitempty"`
	OccurredAt time.Time         `json:"occurred_at,omitzero"`
	// Type, Visibility and Bounded tell whether the memory may stand for a fact (KeepLasting).
	Visibility schema.Visibility `json:"-"`
	Bounded    bool              `json:"-"` // it holds under conditions or for a time
	// Kept says that the fact may not replace its target without a review (KeepsItsPlace). Only the write knows it.
	Kept  bool    `json:"-"`
	Score float64 `json:"score"` // [0,1]
}

// Proposal is the change that a decider proposes for a fact. CheckProposal validates it against the neighbours that
// were offered, and EvaluateWrite decides whether the mode allows it.
type Proposal struct {
	Action     schema.Action `json:"action"`
	TargetID   string        `json:"target_id,omitempty"` // required for update and delete
	Confidence float64       `json:"confidence"`          // [0,1]
	Reason     string        `json:"reason"`
	Warnings   []string      `json:"warnings,omitempty"`

	// Change says that the fact changes what the target states, and what happens to the target then. It is empty if
	// the decider does not say: see EvaluateWrite. Vouch checks a model's Change.
	Change Change `json:"change,omitempty"`
	// Own means that the speaker changes an own earlier statement.
	Own bool `json:"own,omitempty"`
	// Also are other neighbours that say the same as the target: they share its fate.
	Also []string `json:"also,omitempty"`
}

// Change is what becomes of a memory that a later statement changes. Nothing of it deletes: each is a
// status with its reason in history, and can be taken back (document 004 §7).
type Change string

// Changes.
const (
	ChangeSupersede Change = "supersede" // the fact takes its place; for certain changes
	ChangeContest   Change = "contest"   // both are kept and marked; for likely changes
	ChangeRetract   Change = "retract"   // it does not hold, and nothing takes its place
)

// MaxLatestChars bounds the texts, in bytes, whose statements are compared: a longer text says too much at once.
const MaxLatestChars = 600
