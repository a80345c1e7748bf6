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

	MaxEntityLength = 200 // an entity or relationship name; a longer text is a sentence
)

// Claim is a subject-predicate-object statement (document 004 §15A.8). The zero Claim states nothing.
type Claim struct {
	Subject   string `json:"subject,omitempty"`
	Predicate string `json:"predicate,omitempty"` // snake_case relation, such as lives_in
	Object    string `json:"object,omitempty"`

	// Functional marks a predicate that has one object at a time: a new object replaces the old one. Most predicates
	// are not functional: a person may like many things.
	Functional bool `json:"functional,omitempty"`
}

// IsZero reports whether c states nothing.
func (c Claim) IsZero() bool { return c.Subject == "" || c.Predicate == "" }

// Fact is one thing worth keeping that an extractor found in a source.
type Fact struct {
	Content    string          `json:"content"` // clear without its source; MinFactLength to MaxFactLength characters
	Category   schema.Category `json:"category"`
	Confidence float64         `json:"confidence"` // [0,1]
	Claim      Claim           `json:"claim,omitzero"`
	Hints      []string        `json:"hints,omitempty"` // the model's questions that it answers; see CheckHints

	Speaker string    `json:"speaker,omitempty"` // who said it; empty when unknown
	SaidAt  time.Time `json:"said_at,omitzero"`  // when the source occurred

	// Retracts means that the content is no longer true ("Forget that Maya likes tabs."): the fact retracts a statement
	// and adds none.
	Retracts bool `json:"retracts,omitempty"`

	// Cue is the beginning of the sentence that announces a correction or a change, in lower case: "actually",
	// "correction", "scratch that", "forget that". Content does not include it, except in an explicit save, whose words
	// do not change. It is empty if the sentence has no cue.
	Cue string `json:"cue,omitempty"`
}

// Triple is one edge of the entity graph (document 002 "Extracted entity shape").
type Triple struct {
	Source       string  `json:"source"`
	Relationship string  `json:"relationship"`
	Target       string  `json:"target"`
	Confidence   float64 `json:"confidence"` // [0,1]
}

// Extraction is the result of one extractor call, after CheckExtraction.
type Extraction struct {
	Facts    []Fact   `json:"facts"`
	Triples  []Triple `json:"triples,omitempty"`
	Warnings []string `json:"warnings,omitempty"` // what was dropped and why; never content
}

// Neighbor is an existing memory offered to a decision, best first.
type Neighbor struct {
	ID       string          `json:"id"`
	Version  int             `json:"version"` // version that was read; a write is refused if it has changed
	Content  string          `json:"content"`
	Hash     []byte          `json:"-"` // content hash
	Category schema.Category `json:"category"`
	Claim    Claim           `json:"claim,omitzero"`
	Pinned   bool            `json:"pinned,omitempty"`
	// Decisions about time and speakers use these fields. Zero values are unknown.
	Type       schema.MemoryType `json:"type,omitempty"`
	Status     schema.Status     `json:"status,omitempty"`
	Who        string            `json:"who,omitempty"`
	OccurredAt time.Time         `json:"occurred_at,omitzero"`
	// With Type, these fields decide whether the memory is enough to keep a fact (KeepLasting).
	Visibility schema.Visibility `json:"-"`
	Bounded    bool              `json:"-"` // true only under conditions or for a time
	// Kept means that a fact may not replace this memory without a review (KeepsItsPlace). Only the write sets it.
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

	// Change is set if the fact changes the statement of the target, and is then the effect on the target. It is empty
	// if the decider does not set it: see EvaluateWrite. Vouch checks a model's Change.
	Change Change `json:"change,omitempty"`
	// Own means that speakers change their own earlier statement.
	Own bool `json:"own,omitempty"`
	// Also has other neighbours with the same statement as the target: they change with it.
	Also []string `json:"also,omitempty"`
}

// Change is the effect of a later statement on a memory. It deletes nothing: the memory gets another status, history
// records the reason, and the change can be reverted (document 004 §7).
type Change string

// Changes.
const (
	ChangeSupersede Change = "supersede" // the fact replaces the memory; for certain changes
	ChangeContest   Change = "contest"   // both are kept and marked as contested; for likely changes
	ChangeRetract   Change = "retract"   // the memory is no longer true, and no other replaces it
)

// MaxLatestChars is the longest text, in bytes, whose statement is compared: a longer text has several statements.
const MaxLatestChars = 600
