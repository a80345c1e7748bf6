package schema

import (
	"encoding/json"
	"strings"
	"time"
)

// Limits of recall (document 002 Phase 1: limit is clamped so that callers cannot force unbounded work).
const (
	DefaultRecallLimit = 10
	MaxRecallLimit     = 50
	MaxQueryBytes      = 8 << 10
	MaxContextBytes    = 16 << 10
)

// RecallRequest asks what is known that helps with a query.
type RecallRequest struct {
	Principal  Principal  `json:"principal"`
	ReadPolicy ReadPolicy `json:"read_policy,omitempty"` // default isolated
	Query      string     `json:"query"`
	Limit      int        `json:"limit,omitempty"` // clamped to [1, MaxRecallLimit]; 0 means DefaultRecallLimit

	Types          []MemoryType `json:"types,omitempty"`
	Categories     []Category   `json:"categories,omitempty"`
	Tags           []string     `json:"tags,omitempty"` // all of them
	Who            string       `json:"who,omitempty"`
	Pinned         *bool        `json:"pinned,omitempty"`
	ImportanceMin  float64      `json:"importance_min,omitempty"`  // [0,1]
	Since          *time.Time   `json:"since,omitempty"`           // occurred at or after
	Until          *time.Time   `json:"until,omitempty"`           // occurred before
	MaxSensitivity Sensitivity  `json:"max_sensitivity,omitempty"` // default medium

	// Context is what is known of the situation: an object of strings, numbers and booleans. Conditional
	// memories whose conditions it contradicts stay out; a key that either side does not name decides
	// nothing (document 004 §7).
	Context json.RawMessage `json:"context,omitempty"`
	ValidAt *time.Time      `json:"valid_at,omitempty"` // the time that the question is about; default now
}

// Validate reports every field that is wrong, as a *ValidationError.
func (r *RecallRequest) Validate() error {
	var p problems
	r.Principal.validate(&p, "principal.")
	if r.ReadPolicy != "" && !r.ReadPolicy.Valid() {
		p.add("read_policy", "must be one of %s", names(readPolicies))
	}
	if r.ReadPolicy == ReadGroup && r.Principal.PolicyGroup == "" {
		p.add("principal.policy_group", "is required when read_policy is group")
	}
	checkText(&p, "query", r.Query, MaxQueryBytes)
	if r.Query == "" {
		p.add("query", "is empty")
	}
	if r.Limit < 0 {
		p.add("limit", "must not be negative")
	}
	for _, t := range r.Types {
		if !t.Valid() {
			p.add("types", "must be among %s", names(memoryTypes))
		}
	}
	for _, c := range r.Categories {
		if !c.Valid() {
			p.add("categories", "must be among %s", names(categories))
		}
	}
	for _, tag := range r.Tags {
		checkText(&p, "tags", tag, MaxTagLength)
	}
	checkText(&p, "who", r.Who, MaxNameLength)
	if !unit(r.ImportanceMin) {
		p.add("importance_min", "must be between 0 and 1")
	}
	if r.MaxSensitivity != "" && !r.MaxSensitivity.Valid() {
		p.add("max_sensitivity", "must be one of %s", names(sensitivities))
	}
	if r.Since != nil && r.Until != nil && !r.Since.Before(*r.Until) {
		p.add("until", "must be after since")
	}
	checkContext(&p, r.Context)
	return p.err()
}

// checkContext checks that a context is an object of scalars: anything else could not equal a condition
// by accident, and would only cost.
func checkContext(p *problems, context json.RawMessage) {
	if len(context) == 0 {
		return
	}
	if len(context) > MaxContextBytes {
		p.add("context", "must not be longer than %d bytes", MaxContextBytes)
		return
	}
	var keys map[string]any
	if err := json.Unmarshal(context, &keys); err != nil || keys == nil {
		p.add("context", "must be an object")
		return
	}
	for key, value := range keys {
		text, _ := value.(string)
		switch value.(type) {
		case string, float64, bool:
		default:
			p.add("context", "must hold strings, numbers and booleans only")
			return
		}
		if strings.ContainsRune(key+text, 0) {
			p.add("context", "contains a NUL character")
			return
		}
	}
}

// RecallResponse is the answer: results best first, and how they came about.
type RecallResponse struct {
	RetrievalID string         `json:"retrieval_id"`
	Results     []RecallResult `json:"results"`
	Meta        RecallMeta     `json:"meta"`
}

// RecallResult is one recalled memory.
type RecallResult struct {
	ID         string             `json:"id"`
	Content    string             `json:"content"`
	Type       MemoryType         `json:"type"`
	Category   Category           `json:"category"`
	Score      float64            `json:"score"`    // [0,1]
	Channels   map[string]float64 `json:"channels"` // each channel's own calibrated score
	CreatedAt  time.Time          `json:"created_at"`
	OccurredAt time.Time          `json:"occurred_at"`
	Tags       []string           `json:"tags"`
	Who        string             `json:"who,omitempty"`
	Ref        string             `json:"ref"` // first provenance ref; empty when there is none
	Pinned     bool               `json:"pinned"`
	Importance float64            `json:"importance"`
	Validity   Validity           `json:"validity"` // where and when it holds
	Status     Status             `json:"status"`   // active, or contested: something speaks against it
}

// RecallMeta says how a recall went.
type RecallMeta struct {
	TimingsMS map[string]float64 `json:"timings_ms"` // by stage, and total
	Channels  map[string]int     `json:"channels"`   // candidates found by channel
	Degraded  []string           `json:"degraded"`   // channels or stages that failed and were left out
}
