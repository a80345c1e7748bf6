package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mneme/mneme/schema/check"
)

// Limits of a task descriptor.
const (
	MaxIntentLength    = 256       // characters
	MaxSignatureLength = 4 << 10   // characters; an error message with some of its stack
	MaxBudgetTokens    = 1_000_000 // of one answer
)

// Task describes the task of the caller (document 004 §15.8, "a task descriptor"). The text of the task is the query
// of the request, and its context keys are the context of the request.
type Task struct {
	Intent         string `json:"intent,omitempty"`          // a label or a few words, such as setup_project
	ErrorSignature string `json:"error_signature,omitempty"` // the reported error

	// BudgetTokens bounds the returned texts, including supplements, as estimated by layers.EstimateTokens. 0 means no
	// bound other than the limit.
	BudgetTokens int `json:"budget_tokens,omitempty"`
}

func (t *Task) validate(p *check.Problems, path string) {
	if t == nil {
		return
	}
	check.Text(p, path+"intent", t.Intent, MaxIntentLength)
	check.Text(p, path+"error_signature", t.ErrorSignature, MaxSignatureLength)
	if t.BudgetTokens < 0 || t.BudgetTokens > MaxBudgetTokens {
		p.Add(path+"budget_tokens", "must be between 0 and %d", MaxBudgetTokens)
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

// Layers returns all layers in order.
func Layers() []LayerName {
	return []LayerName{LayerWorking, LayerSemantic, LayerCompetence, LayerPlan, LayerEpisodic}
}

// LayerOf returns the layer of a memory type. Unknown types belong to the layer of episodes.
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

// Layer is one layer of an answer. An answer always has all five, even if some are empty.
type Layer struct {
	Name   LayerName `json:"name"`
	IDs    []string  `json:"ids"`    // of results, best first; the selected one comes first
	Tokens int       `json:"tokens"` // estimated, of these results
}

// Selection ranks the procedures or the plans that match the task (document 004 §15A.11).
type Selection struct {
	Layer      LayerName `json:"layer"`      // competence or plan
	Selected   string    `json:"selected"`   // id; empty if the confidence is below the threshold
	Confidence float64   `json:"confidence"` // confidence in the first candidate, [0,1]
	Threshold  float64   `json:"threshold"`  // minimum confidence to select the first candidate

	Candidates []Choice `json:"candidates"` // best first; those whose conditions contradict the context come last

	// MissingContext lists the context keys that candidates name and the context does not, most useful first. It is
	// empty if a candidate was selected.
	MissingContext []MissingKey `json:"missing_context"`
}

// Choice is one candidate of a selection with its signals.
type Choice struct {
	ID            string        `json:"id"`
	Score         float64       `json:"score"`         // [0,1]
	Applicability Applicability `json:"applicability"` // of its conditions
	Match         float64       `json:"match"`         // with intent, error signature or query, [0,1]
	Fit           float64       `json:"fit"`           // match times the certainty that its conditions hold, [0,1]
	Successes     int64         `json:"successes"`
	Failures      int64         `json:"failures"`
	SuccessRate   float64       `json:"success_rate"` // lower bound from the observed outcomes, [0,1]
	Recency       float64       `json:"recency"`      // recency of the last reinforcement, [0,1]
	ReinforcedAt  time.Time     `json:"reinforced_at"`
	// Missing lists context keys that its conditions name and the context does not.
	Missing []string `json:"missing,omitempty"`
}

// Applicability tells whether conditions hold in a context.
type Applicability string

// The applicabilities.
const (
	ApplicabilityMatched       Applicability = "matched"       // all conditions hold
	ApplicabilityUnconditional Applicability = "unconditional" // there are none
	ApplicabilityUnknown       Applicability = "unknown"       // the context does not name all keys
	ApplicabilityContradicted  Applicability = "contradicted"  // the context contradicts them; never selected
)

// MissingKey is a context key that would help to choose.
type MissingKey struct {
	Key string `json:"key"`
	// Splits is the average share of candidates that the value of the key rules out, [0,1].
	Splits float64           `json:"splits"`
	Values []json.RawMessage `json:"values,omitempty"` // some of the values that conditions of candidates admit
}

// SupplementKind is the kind of a supplementary row.
type SupplementKind string

// The supplements (document 002 Phase 5).
const (
	SupplementRationale  SupplementKind = "rationale"  // a memory that is the basis of a decision
	SupplementTranscript SupplementKind = "transcript" // turns around a result, or around the source of a fact
	SupplementSource     SupplementKind = "source"     // the memory that a fact was extracted from
	SupplementArtifact   SupplementKind = "artifact"   // a text that a result refers to
	SupplementCard       SupplementKind = "card"       // facts about an entity of the results
	SupplementSession    SupplementKind = "session"    // notes and lessons from the session of a result
	SupplementSummary    SupplementKind = "summary"    // a model's summary of the results
	// found by the fallback search, after the channels found nothing
	SupplementRescue SupplementKind = "rescue"
)

// Supplement describes a supplementary row. It is not a result, and access to it is not counted.
type Supplement struct {
	Kind    SupplementKind `json:"kind"`
	Of      []string       `json:"of,omitempty"`      // ids of the results that it belongs to
	Members []string       `json:"members,omitempty"` // ids of the memories that it was made from
}

// selectionIDs returns selections with ids and numbers only, because keys of conditions are content of memories.
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

// MaxGetIDs is the maximum number of records that one request reads by id.
const MaxGetIDs = 50

// MaxAuditEntries is the maximum number of changes in the audit log of a record that is read by id.
const MaxAuditEntries = 200

// GetRequest reads records by id that the caller may see. It is for clients that have ids from a recall, a put or a
// notification and cannot reach Postgres.
type GetRequest struct {
	Principal      Principal     `json:"principal"`
	ReadPolicy     ReadPolicy    `json:"read_policy,omitempty"` // default isolated
	IDs            []string      `json:"ids"`                   // 1 to MaxGetIDs
	Superseded     bool          `json:"superseded,omitempty"`  // also superseded memories
	MaxSensitivity Sensitivity   `json:"max_sensitivity,omitempty"`
	Trust          *TrustContext `json:"trust,omitempty"` // nil makes no claim

	decoded check.Decoded
}

// Validate returns a *ValidationError that lists every invalid field.
func (r *GetRequest) Validate() error {
	if err := r.decoded.Err(); err != nil { // other checks would report consequential errors
		return err
	}
	var p check.Problems
	CheckReader(&p, r.Principal, r.ReadPolicy)
	switch n := len(r.IDs); {
	case n == 0:
		p.Add("ids", "is empty")
	case n > MaxGetIDs:
		p.Add("ids", "must hold at most %d ids, got %d", MaxGetIDs, n)
	}
	for i, id := range r.IDs[:min(len(r.IDs), MaxGetIDs)] {
		if !isUUID(id) {
			p.Add(fmt.Sprintf("ids[%d]", i), "must be a UUID")
		}
	}
	if r.MaxSensitivity != "" && !r.MaxSensitivity.Valid() {
		p.Add("max_sensitivity", "must be one of %s", check.Names(sensitivities))
	}
	r.Trust.validate(&p, "trust.")
	return p.Err()
}

// UnmarshalJSON reads a request. Unknown fields, wrong types and duplicates are recorded, and Validate reports them.
func (r *GetRequest) UnmarshalJSON(data []byte) error {
	type plain GetRequest
	r.decoded = check.DecodeInput(data, (*plain)(r))
	return nil
}

// DropUnread drops the fields that earlier versions ignored. See check.Decoded.
func (r *GetRequest) DropUnread() bool { return r.decoded.DropUnread() }

// GetResponse holds the records of a GetRequest.
type GetResponse struct {
	Records []MemoryRecord `json:"records"` // in the order of the request
	// Missing lists ids of records that do not exist or may not be shown, without telling which.
	Missing []string `json:"missing"`
	// LeftOut lists ids of records that did not fit into the answer. Request them separately.
	LeftOut []string `json:"left_out,omitempty"`

	Trust *TrustMeta `json:"trust,omitempty"` // the result of the trust context
}
