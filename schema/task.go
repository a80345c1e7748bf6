package schema

import (
	"encoding/json"
	"slices"
	"time"
)

// Limits of a task descriptor.
const (
	MaxIntentLength    = 256       // characters
	MaxSignatureLength = 4 << 10   // characters; an error message with some of its stack
	MaxBudgetTokens    = 1_000_000 // of one answer
)

// Task says what the asker is about to do (document 004 §15.8, "a task descriptor"). Its text is the
// request's query, its context keys are the request's context.
type Task struct {
	Intent         string `json:"intent,omitempty"`          // a label or a few words: setup_project
	ErrorSignature string `json:"error_signature,omitempty"` // the error that is to be dealt with, as it was reported

	// BudgetTokens bounds the texts that are returned, supplements included, by layers.EstimateTokens. 0: no
	// bound but the limit.
	BudgetTokens int `json:"budget_tokens,omitempty"`
}

func (t *Task) validate(p *problems, path string) {
	if t == nil {
		return
	}
	checkText(p, path+"intent", t.Intent, MaxIntentLength)
	checkText(p, path+"error_signature", t.ErrorSignature, MaxSignatureLength)
	if t.BudgetTokens < 0 || t.BudgetTokens > MaxBudgetTokens {
		p.add(path+"budget_tokens", "must be between 0 and %d", MaxBudgetTokens)
	}
}

// LayerName names a layer of an answer.
type LayerName string

// The layers, in the order in which an agent should read them (document 004 §15.8).
const (
	LayerWorking    LayerName = "working"
	LayerSemantic   LayerName = "semantic"
	LayerCompetence LayerName = "competence"
	LayerPlan       LayerName = "plan"
	LayerEpisodic   LayerName = "episodic"
)

// Layers are all layers in their order.
func Layers() []LayerName {
	return []LayerName{LayerWorking, LayerSemantic, LayerCompetence, LayerPlan, LayerEpisodic}
}

// LayerOf is the layer in which memories of a type stand; an unknown type stands with the episodes.
func LayerOf(t MemoryType) LayerName {
	switch t {
	case TypeWorking:
		return LayerWorking
	case TypeSemantic:
		return LayerSemantic
	case TypeCompetence:
		return LayerCompetence
	case TypePlanGraph:
		return LayerPlan
	default:
		return LayerEpisodic
	}
}

// Layer is one layer of an answer. All five are there, also those with nothing in them.
type Layer struct {
	Name   LayerName `json:"name"`
	IDs    []string  `json:"ids"`    // of results, best first; what was selected comes first
	Tokens int       `json:"tokens"` // estimated, of these results
}

// Selection is the choice among the procedures, or among the plans, that match the task (document 004
// §15A.11).
type Selection struct {
	Layer      LayerName `json:"layer"`      // competence or plan
	Selected   string    `json:"selected"`   // id; empty where confidence is below the threshold
	Confidence float64   `json:"confidence"` // in the first candidate, [0,1]
	Threshold  float64   `json:"threshold"`  // from which on the first candidate is selected

	Candidates []Choice `json:"candidates"` // best first; those whose conditions the context contradicts come last

	// MissingContext are the context keys that would decide: those that candidates name and the context does
	// not, best first. It is empty when something was selected.
	MissingContext []MissingKey `json:"missing_context"`
}

// Choice is one candidate of a selection, with the signals that speak for and against it.
type Choice struct {
	ID            string        `json:"id"`
	Score         float64       `json:"score"`         // [0,1]
	Applicability Applicability `json:"applicability"` // of its conditions
	Match         float64       `json:"match"`         // with intent, error signature or query, [0,1]
	Fit           float64       `json:"fit"`           // match, and how far its conditions are known to hold, [0,1]
	Successes     int64         `json:"successes"`
	Failures      int64         `json:"failures"`
	SuccessRate   float64       `json:"success_rate"` // lower bound of what was observed, [0,1]
	Recency       float64       `json:"recency"`      // of the last reinforcement, [0,1]
	ReinforcedAt  time.Time     `json:"reinforced_at"`
	Missing       []string      `json:"missing,omitempty"` // context keys that its conditions name and the context does not
}

// Applicability says whether conditions hold in a context.
type Applicability string

// The applicabilities.
const (
	ApplicabilityMatched       Applicability = "matched"       // all conditions hold
	ApplicabilityUnconditional Applicability = "unconditional" // there are none
	ApplicabilityUnknown       Applicability = "unknown"       // the context does not name all keys
	ApplicabilityContradicted  Applicability = "contradicted"  // the context says otherwise; never selected
)

// MissingKey is a context key that would help to choose.
type MissingKey struct {
	Key    string            `json:"key"`
	Splits float64           `json:"splits"`           // share of the candidates that knowing it rules out on average, [0,1]
	Values []json.RawMessage `json:"values,omitempty"` // that the candidates' conditions admit; some of them
}

// SupplementKind is the kind of a supplementary row.
type SupplementKind string

// The supplements (document 002 Phase 5).
const (
	SupplementRationale  SupplementKind = "rationale"  // a memory that a decision rests on
	SupplementTranscript SupplementKind = "transcript" // what was said around a result, or around the source of a fact
	SupplementSource     SupplementKind = "source"     // the memory that a fact was drawn from
	SupplementArtifact   SupplementKind = "artifact"   // a text that a result refers to
	SupplementCard       SupplementKind = "card"       // what is held to be true of an entity of the results
	SupplementSession    SupplementKind = "session"    // what was noted and learned in the session of a result
	SupplementSummary    SupplementKind = "summary"    // what a model made of the results
	SupplementRescue     SupplementKind = "rescue"     // found by the fallback search, after the channels found nothing
)

// Supplement says what a supplementary row is. It is no answer of its own, and reading it is not tracked.
type Supplement struct {
	Kind    SupplementKind `json:"kind"`
	Of      []string       `json:"of,omitempty"`      // ids of the results that it belongs to
	Members []string       `json:"members,omitempty"` // ids of the memories that it was made from
}

// selectionIDs are selections with ids and numbers: the keys of conditions are words of memories.
func selectionIDs(selections []Selection) []Selection {
	var out []Selection
	for _, s := range selections {
		s.MissingContext = []MissingKey{}
		s.Candidates = slices.Clone(s.Candidates)
		for i := range s.Candidates {
			s.Candidates[i].Missing = nil
		}
		out = append(out, s)
	}
	return out
}
