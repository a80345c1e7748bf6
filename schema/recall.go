package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/schema/check"
)

// Limits of recall. They bound the work that a caller can cause (document 002 Phase 1).
const (
	DefaultRecallLimit = 10
	MaxRecallLimit     = 50
	MaxQueryBytes      = 128 << 10 // leaves room for an error log; full text uses its rarest words
	MaxContextBytes    = 16 << 10
)

// RecallRequest asks for memories that help with a query.
type RecallRequest struct {
	Principal  Principal  `json:"principal"`
	ReadPolicy ReadPolicy `json:"read_policy,omitempty"` // default isolated
	Query      string     `json:"query"`
	Limit      int        `json:"limit,omitempty"` // clamped to 1..MaxRecallLimit; 0 means DefaultRecallLimit

	Types          []MemoryType `json:"types,omitempty"`
	Categories     []Category   `json:"categories,omitempty"`
	Tags           []string     `json:"tags,omitempty"` // memories must have all of them
	Who            string       `json:"who,omitempty"`
	Pinned         *bool        `json:"pinned,omitempty"`
	ImportanceMin  float64      `json:"importance_min,omitempty"`  // [0,1], of ImportanceNow
	Since          *time.Time   `json:"since,omitempty"`           // occurred at or after
	Until          *time.Time   `json:"until,omitempty"`           // occurred before
	MaxSensitivity Sensitivity  `json:"max_sensitivity,omitempty"` // default medium

	// Context describes the situation: an object of strings, numbers and booleans. Conditional memories whose
	// conditions it contradicts are excluded; a key that either side does not name has no effect (document 004 §7).
	Context json.RawMessage `json:"context,omitempty"`
	ValidAt *time.Time      `json:"valid_at,omitempty"` // the time that the question is about; default now

	// Superseded includes superseded memories. They are marked and rank below their successors (document 002 Phase 4).
	Superseded bool `json:"superseded,omitempty"`

	// Task describes the task of the caller. With Task or Layers, the answer has layers, and procedures and plans that
	// match are selected (document 004 §15.8 and §15A.11).
	Task   *Task `json:"task,omitempty"`
	Layers bool  `json:"layers,omitempty"`
	// Expand adds supplementary rows below the results, such as surrounding turns and sources (document 002 Phase 5).
	Expand bool `json:"expand,omitempty"`

	// KeywordQuery replaces the query for full text and hints. Vectors and models use the query itself.
	KeywordQuery string `json:"keyword_query,omitempty"`

	// Traversal sets the weight of the entity graph: one of several channels (flat, the default), or equal to all other
	// channels together (primary; document 002 Phase 2).
	Traversal Traversal `json:"traversal,omitempty"`

	// Without lists channels and stages to leave out, by their names in meta.timings_ms.
	Without []string `json:"without,omitempty"`
	With    []string `json:"with,omitempty"` // stages to use that are off by default
	// MinScore drops results with a lower relevance, [0,1]. Nil means the default floor: the answer is empty if the
	// best result is below it. 0 means no floor. A query of more than 2,000 bytes, in layers or that seems to be in
	// a language other than English has no relevance; then neither applies.
	MinScore *float64 `json:"min_score,omitempty"`
	Explain  bool     `json:"explain,omitempty"` // explain the score of each result

	Trust *TrustContext `json:"trust,omitempty"` // nil makes no claim

	// Payload adds the structured payload of each result, within the token budget: the steps of a procedure, the nodes
	// of a plan, the timeline of an episode.
	Payload bool `json:"payload,omitempty"`

	// IDsOnly omits all texts from the answer. See RecallResponse.WithoutContent.
	IDsOnly bool `json:"ids_only,omitempty"`

	decoded check.Decoded
}

// Traversal determines how a recall uses the entity graph.
type Traversal string

// The traversals.
const (
	TraversalFlat    Traversal = "flat"
	TraversalPrimary Traversal = "primary"
)

var traversals = []Traversal{TraversalFlat, TraversalPrimary}

// Valid reports whether v is a known traversal.
func (v Traversal) Valid() bool { return slices.Contains(traversals, v) }

// CheckReader adds the problems of the principal and the read policy of a request that reads memories.
func CheckReader(p *check.Problems, who Principal, policy ReadPolicy) {
	who.validate(p, "principal.")
	if policy != "" && !policy.Valid() {
		p.Add("read_policy", "must be one of %s", check.Names(readPolicies))
	}
	if policy == ReadGroup && who.PolicyGroup == "" {
		p.Add("principal.policy_group", "is required when read_policy is group")
	}
}

// Validate returns a *ValidationError that lists every invalid field.
func (r *RecallRequest) Validate() error {
	if err := r.decoded.Err(); err != nil { // other checks would report consequential errors
		return err
	}
	var p check.Problems
	CheckReader(&p, r.Principal, r.ReadPolicy)
	check.Text(&p, "query", r.Query, MaxQueryBytes)
	if isBlank(r.Query) { // any memory would be as good an answer as another
		p.Add("query", "is empty")
	}
	for _, t := range r.Types {
		if !t.Valid() {
			p.Add("types", "must be among %s", check.Names(memoryTypes))
		}
	}
	for _, c := range r.Categories {
		if !c.Valid() {
			p.Add("categories", "must be among %s", check.Names(categories))
		}
	}
	for _, tag := range r.Tags {
		if isBlank(tag) { // a filter by it would be left out
			p.Add("tags", "must not hold an empty tag")
		}
		check.Text(&p, "tags", tag, MaxTagLength)
	}
	check.Text(&p, "keyword_query", r.KeywordQuery, MaxQueryBytes)
	if r.Traversal != "" && !r.Traversal.Valid() {
		p.Add("traversal", "must be one of %s", check.Names(traversals))
	}
	for _, name := range r.Without {
		check.Text(&p, "without", name, MaxNameLength)
	}
	for _, name := range r.With {
		check.Text(&p, "with", name, MaxNameLength)
	}
	check.Text(&p, "who", r.Who, MaxNameLength)
	if r.MinScore != nil && !unit(*r.MinScore) {
		p.Add("min_score", "must be between 0 and 1")
	}
	if !unit(r.ImportanceMin) {
		p.Add("importance_min", "must be between 0 and 1")
	}
	if r.MaxSensitivity != "" && !r.MaxSensitivity.Valid() {
		p.Add("max_sensitivity", "must be one of %s", check.Names(sensitivities))
	}
	if r.Since != nil && r.Until != nil && !r.Since.Before(*r.Until) {
		p.Add("until", "must be after since")
	}
	checkContext(&p, r.Context)
	r.Task.validate(&p, "task.")
	r.Trust.validate(&p, "trust.")
	return p.Err()
}

// checkContext checks that a context is an object of scalars.
func checkContext(p *check.Problems, context json.RawMessage) {
	if len(context) == 0 {
		return
	}
	if len(context) > MaxContextBytes {
		p.Add("context", "must not be longer than %d bytes", MaxContextBytes)
		return
	}
	var keys map[string]any
	if err := json.Unmarshal(context, &keys); err != nil || keys == nil {
		p.Add("context", "must be an object")
		return
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) { // deterministic errors
		value := keys[key]
		text, _ := value.(string)
		switch value.(type) {
		case string, float64, bool:
		default:
			p.Add("context", "must hold strings, numbers and booleans only")
			return
		}
		if strings.ContainsRune(key+text, 0) {
			p.Add("context", "contains a NUL character")
			return
		}
	}
}

// RecallResponse is the answer to a recall, with the best results first.
type RecallResponse struct {
	RetrievalID string         `json:"retrieval_id"`
	Results     []RecallResult `json:"results"`

	// Layers and Selections are set only if the request has a task or layers.
	Layers     []Layer     `json:"layers,omitempty"`
	Selections []Selection `json:"selections,omitempty"` // one for procedures, one for plans, if any matched

	Meta RecallMeta `json:"meta"`
}

// RecallResult is one recalled memory.
type RecallResult struct {
	ID         string             `json:"id"`
	Content    string             `json:"content"`
	Type       MemoryType         `json:"type"`
	Category   Category           `json:"category"`
	Score      float64            `json:"score"`    // [0,1]
	Channels   map[string]float64 `json:"channels"` // calibrated score by channel
	CreatedAt  time.Time          `json:"created_at"`
	OccurredAt time.Time          `json:"occurred_at"`
	Tags       []string           `json:"tags"`
	Who        string             `json:"who,omitempty"`
	Ref        string             `json:"ref"` // first provenance ref; empty if there is none
	Pinned     bool               `json:"pinned"`
	Importance float64            `json:"importance"` // base importance, [0,1]
	// ImportanceNow and Salience are the importance and salience after decay, at the time of the recall, in [0,1]
	// (document 002 "Importance Decay", document 004 §11).
	ImportanceNow float64  `json:"importance_now"`
	Salience      float64  `json:"salience"`
	Validity      Validity `json:"validity"` // where and when the memory is valid
	Status        Status   `json:"status"`   // active, or contested if another memory contradicts it

	Currentness Currentness `json:"currentness,omitempty"` // whether its content still holds
	Newer       string      `json:"newer,omitempty"`       // a later statement about the same thing, if there is one
	HeldUntil   *time.Time  `json:"held_until,omitempty"`  // time of the later statement
	// relevance to the question, [0,1]; 0 if unknown
	Relevance    float64 `json:"relevance,omitempty"`
	SupersededBy string  `json:"superseded_by,omitempty"` // its successor, if the caller may see it

	Session string `json:"session,omitempty"` // the session in which it was said or done

	// Redacted is set if the memory is above the limit, and tells what is shown. Hidden fields have their zero value.
	// Content is the safe summary or empty.
	Redacted    Redaction   `json:"redacted,omitempty"`
	Sensitivity Sensitivity `json:"sensitivity,omitempty"` // set for redacted memories

	// Supplementary rows come last and are not results. See Supplement. Their ids are ids of memories only if the kind
	// is rationale, source or rescue.
	Supplementary bool        `json:"supplementary,omitempty"`
	Supplement    *Supplement `json:"supplement,omitempty"`
	Truncated     bool        `json:"truncated,omitempty"` // the content was cut; marks show where

	// Passage is the part of a long text that answers, if it contains words of the question. Its offsets refer to the
	// whole text, even if Content was cut.
	Passage *Passage `json:"passage,omitempty"`

	// Payload is the stored payload of the record, if requested (document 004 §15A.6 to §15A.10). PayloadLeftOut
	// means that it did not fit into the budget.
	Payload        json.RawMessage `json:"payload,omitempty"`
	PayloadLeftOut bool            `json:"payload_left_out,omitempty"`

	Explain []ScoreStep `json:"explain,omitempty"` // in order; the score of the last step is Score
}

// ScoreStep is the score of a result after one stage.
type ScoreStep struct {
	Stage string  `json:"stage"`
	Score float64 `json:"score"` // after the stage, [0,1]
	Why   string  `json:"why,omitempty"`
}

// RecallMeta has statistics of a recall.
type RecallMeta struct {
	TimingsMS map[string]float64 `json:"timings_ms"` // by stage, and in total
	Channels  map[string]int     `json:"channels"`   // number of candidates by channel
	Degraded  []string           `json:"degraded"`   // channels or stages that failed

	// Unknown means that no candidate was relevant enough, so the answer is "I do not know". It is false if a channel or
	// stage failed. Relevance is the relevance of the best candidate, [0,1].
	Unknown   bool    `json:"unknown,omitempty"`
	Relevance float64 `json:"relevance,omitempty"`
	Floor     float64 `json:"floor,omitempty"` // the relevance that the best candidate had to reach

	Trust    *TrustMeta        `json:"trust,omitempty"`    // the result of the trust context
	Redacted map[Redaction]int `json:"redacted,omitempty"` // results by redaction
	// Ignored lists fields of the request that the worker does not know.
	Ignored []string `json:"ignored,omitempty"`
}

// Currentness tells whether the content of a recalled memory is current (document 002 Phase 4).
type Currentness string

// Passage is a part of the text of a memory.
type Passage struct {
	Text  string `json:"text"`
	Start int    `json:"start"` // offset of its first byte in the text
	End   int    `json:"end"`   // offset after its last byte
}

// The kinds of currentness. Every result has one.
const (
	CurrentnessCurrent    Currentness = "current"    // no later statement is known to change it
	CurrentnessOlder      Currentness = "older"      // a later statement about the same thing differs
	CurrentnessMixed      Currentness = "mixed"      // some of the facts extracted from it were superseded
	CurrentnessSuperseded Currentness = "superseded" // it was superseded, or all facts extracted from it were
)

// WithoutContent returns the answer with ids, scores and kinds, but without any remembered text, so that a client may
// keep it in workflow history. It copies only listed fields, so that new fields are not included by mistake.
func (r RecallResponse) WithoutContent() RecallResponse {
	out := RecallResponse{RetrievalID: r.RetrievalID, Results: make([]RecallResult, len(r.Results)),
		Layers: r.Layers, Selections: selectionIDs(r.Selections),
		Meta: RecallMeta{TimingsMS: r.Meta.TimingsMS, Channels: r.Meta.Channels, Degraded: r.Meta.Degraded,
			Unknown: r.Meta.Unknown, Relevance: r.Meta.Relevance, Floor: r.Meta.Floor,
			Trust: r.Meta.Trust, Redacted: r.Meta.Redacted, Ignored: r.Meta.Ignored}}
	for i, row := range r.Results {
		out.Results[i] = RecallResult{ID: row.ID, Type: row.Type, Category: row.Category, Score: row.Score,
			Channels: row.Channels, Tags: []string{},
			CreatedAt: row.CreatedAt, OccurredAt: row.OccurredAt, Pinned: row.Pinned, Importance: row.Importance,
			Validity: Validity{Mode: row.Validity.Mode, Start: row.Validity.Start, End: row.Validity.End},
			Status:   row.Status,
			Redacted: row.Redacted, Sensitivity: row.Sensitivity, Currentness: row.Currentness,
			Newer: row.Newer, HeldUntil: row.HeldUntil, Relevance: row.Relevance,
			SupersededBy: row.SupersededBy}
		out.Results[i].Supplementary, out.Results[i].Supplement, out.Results[i].Truncated = row.Supplementary,
			row.Supplement, row.Truncated
	}
	return out
}
