package ledger

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
)

// Limits of a request for a context.
const (
	MaxContextStreams = 16
	MaxContextText    = 64 << 10 // bytes of identity, scene, extra and output_format each
	MaxContextEntries = 500      // events, beliefs and recalled memories each
	MaxContextTokens  = 200_000
)

// ContextRequest requests the context that an agent reads before it acts (document 001, Context Builder).
type ContextRequest struct {
	Principal schema.Principal `json:"principal"`
	Streams   []string         `json:"streams"`        // 1 to MaxContextStreams
	Turn      int              `json:"turn,omitempty"` // of now; 0: the latest that the agent has seen

	Identity     string `json:"identity,omitempty"`      // the text of IDENTITY
	Scene        string `json:"scene,omitempty"`         // replaces the scene computed from world events
	Extra        string `json:"extra,omitempty"`         // the text of EXTRA
	OutputFormat string `json:"output_format,omitempty"` // the text of OUTPUT FORMAT

	Memory MemorySettings `json:"memory,omitzero"`

	// Recall is a question whose results are part of YOUR MEMORY; empty for none.
	Recall      string               `json:"recall,omitempty"`
	RecallLimit int                  `json:"recall_limit,omitempty"` // 0: schema.DefaultRecallLimit
	ReadPolicy  schema.ReadPolicy    `json:"read_policy,omitempty"`  // of the recall; default isolated
	Trust       *schema.TrustContext `json:"trust,omitempty"`        // nil makes no claim

	// Session names the agent's session whose task state is part of YOUR MEMORY while the session is open. The default
	// is the agent's open session on one of the streams that changed last.
	Session string `json:"session,omitempty"`

	MaxSensitivity schema.Sensitivity `json:"max_sensitivity,omitempty"` // default medium
	BudgetTokens   int                `json:"budget_tokens,omitempty"`   // 0: MaxContextTokens

	decoded check.Decoded
}

// MemorySettings are the settings of an agent's memory (document 001, manifest.memory). Zero values are the defaults of
// package memory/views.
type MemorySettings struct {
	Window              int                `json:"window,omitempty"`
	UseSalience         bool               `json:"use_salience,omitempty"`
	UseIndex            bool               `json:"use_index,omitempty"` // relevance by meaning, if there is an index
	TopK                int                `json:"top_k,omitempty"`
	Weights             *SalienceWeights   `json:"weights,omitempty"`
	Lambda              float64            `json:"lambda,omitempty"`
	Importance          map[string]float64 `json:"importance,omitempty"`
	ReflectionThreshold int                `json:"reflection_threshold,omitempty"`
	MaxBeliefs          int                `json:"max_beliefs,omitempty"`
}

// SalienceWeights are the weights of the three terms of salience.
type SalienceWeights struct {
	Relevance  float64 `json:"relevance"`
	Recency    float64 `json:"recency"`
	Importance float64 `json:"importance"`
}

// ContextResponse is a context.
type ContextResponse struct {
	Text     string           `json:"text"`     // the prompt
	Sections []ContextSection `json:"sections"` // in order
	Tokens   int              `json:"tokens"`   // estimated
	Over     bool             `json:"over,omitempty"`
	Turn     int              `json:"turn"`   // of now
	Events   int              `json:"events"` // number of events read
	// there were too many events, and salience used only the latest
	Partial bool `json:"partial,omitempty"`
	// Degraded names requested parts that are missing: index, recall, or a channel or stage of the recall.
	Degraded []string          `json:"degraded,omitempty"`
	Trust    *schema.TrustMeta `json:"trust,omitempty"`
}

// ContextSection has the statistics of a section.
type ContextSection struct {
	Name    string `json:"name"`
	LeftOut int    `json:"left_out,omitempty"` // entries for which there was no room
	Cut     bool   `json:"cut,omitempty"`      // an entry ends before its end
}

// Validate returns a *schema.ValidationError that lists every invalid field.
func (r *ContextRequest) Validate() error {
	if err := r.decoded.Err(); err != nil {
		return err
	}
	var p check.Problems
	asked := r.RecallRequest()
	if asked.Query == "" {
		asked.Query = "-" // there is no recall; the other fields are checked in the same way
	}
	var invalid *schema.ValidationError
	if errors.As(asked.Validate(), &invalid) {
		for _, f := range invalid.Fields {
			if f.Field == "query" {
				f.Field = "recall"
			}
			p.Fields = append(p.Fields, f)
		}
	}
	switch n := len(r.Streams); {
	case n == 0:
		p.Add("streams", "is required")
	case n > MaxContextStreams:
		p.Add("streams", "must hold at most %d streams, got %d", MaxContextStreams, n)
	}
	for i, stream := range r.Streams[:min(len(r.Streams), MaxContextStreams)] {
		field := fmt.Sprintf("streams[%d]", i)
		if StreamKindOf(stream) == "" {
			p.Add(field, "must be world/NAME, run/NAME or conversation/NAME")
		}
		check.Text(&p, field, stream, MaxStream)
	}
	for _, f := range []struct{ name, text string }{{"identity", r.Identity}, {"scene", r.Scene}, {"extra", r.Extra},
		{"output_format", r.OutputFormat}} {
		check.Text(&p, f.name, f.text, MaxContextText)
	}
	check.Text(&p, "session", r.Session, schema.MaxNameLength)
	between(&p, "turn", r.Turn, math.MaxInt32)
	between(&p, "recall_limit", r.RecallLimit, schema.MaxRecallLimit)
	between(&p, "budget_tokens", r.BudgetTokens, MaxContextTokens)
	r.Memory.validate(&p)
	return p.Err()
}

func between(p *check.Problems, field string, n, most int) {
	if n < 0 || n > most {
		p.Add(field, "must be between 0 and %d", most)
	}
}

func (m *MemorySettings) validate(p *check.Problems) {
	between(p, "memory.window", m.Window, MaxContextEntries)
	between(p, "memory.top_k", m.TopK, MaxContextEntries)
	between(p, "memory.max_beliefs", m.MaxBeliefs, MaxContextEntries)
	between(p, "memory.reflection_threshold", m.ReflectionThreshold, math.MaxInt32)
	positive := func(field string, value float64) {
		if math.IsNaN(value) || math.IsInf(value, 0) || value < 0 {
			p.Add(field, "must be a number of 0 or more")
		}
	}
	positive("memory.lambda", m.Lambda)
	if w := m.Weights; w != nil {
		positive("memory.weights.relevance", w.Relevance)
		positive("memory.weights.recency", w.Recency)
		positive("memory.weights.importance", w.Importance)
	}
	for _, kind := range slices.Sorted(maps.Keys(m.Importance)) {
		if weight := m.Importance[kind]; math.IsNaN(weight) || weight < 0 || weight > 1 {
			p.Add("memory.importance", "must be between 0 and 1 for each kind")
			return
		}
	}
}

// RecallRequest returns the recall that is part of the request. Its query is empty if the request has none.
func (r *ContextRequest) RecallRequest() schema.RecallRequest {
	return schema.RecallRequest{Principal: r.Principal, ReadPolicy: r.ReadPolicy, Query: r.Recall, Limit: r.RecallLimit,
		MaxSensitivity: r.MaxSensitivity, Trust: r.Trust}
}

// UnmarshalJSON reads a request. Unknown fields, wrong types and duplicates are recorded, and Validate reports them.
func (r *ContextRequest) UnmarshalJSON(data []byte) error {
	type plain ContextRequest
	r.decoded = check.DecodeInput(data, (*plain)(r))
	return nil
}

// Misread returns the problems found when the request was decoded.
func (r *ContextRequest) Misread() []schema.FieldError { return r.decoded.Misread() }

// Unknown returns the names of fields that are not known.
func (r *ContextRequest) Unknown() []string { return r.decoded.Unknown() }

// DropUnread ignores unknown fields of the request, and reports whether there were any.
func (r *ContextRequest) DropUnread() bool { return r.decoded.DropUnread() }
