package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/schema/check"
)

// Limits of recall (document 002 Phase 1: limit is clamped so that callers cannot force unbounded work).
const (
	DefaultRecallLimit = 10
	MaxRecallLimit     = 50
	MaxQueryBytes      = 128 << 10 // an error log is a question too; full text takes the rarest words of it
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
	Tags           []string     `json:"tags,omitempty"` // all of them
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

	// Superseded also asks for superseded memories: marked, and below those that replaced them (document 002 Phase
	// 4).
	Superseded bool `json:"superseded,omitempty"`

	// Task says what the asker is about to do; with it, or with Layers, the answer has layers, and chooses among
	// the procedures and the plans that match (document 004 §15.8 and §15A.11).
	Task   *Task `json:"task,omitempty"`
	Layers bool  `json:"layers,omitempty"`
	// Expand adds supplementary rows below the results: what was said around them, their sources, and more
	// (document 002 Phase 5).
	Expand bool `json:"expand,omitempty"`

	// KeywordQuery replaces the query for full text and hints; vectors and models see the query itself.
	KeywordQuery string `json:"keyword_query,omitempty"`

	// Traversal is the weight of the entity graph: one channel of several (flat, the default), or equal to all others
	// together (primary; document 002 Phase 2).
	Traversal Traversal `json:"traversal,omitempty"`

	// Channels and stages to leave out, by the names that meta.timings_ms shows.
	Without []string `json:"without,omitempty"`
	With    []string `json:"with,omitempty"` // stages to use that are off by default
	// MinScore drops results whose relevance is lower, [0,1]. Nil is the default floor: if the best result is below
	// it, the answer is empty. 0 is no floor.
	MinScore *float64 `json:"min_score,omitempty"`
	Explain  bool     `json:"explain,omitempty"` // explain the score of each result

	Trust *TrustContext `json:"trust,omitempty"` // nil makes no claim

	// Payload asks for the structured payload of each result, within the token budget: the steps of a procedure,
	// the nodes of a plan, the timeline of an episode.
	Payload bool `json:"payload,omitempty"`

	// IDsOnly leaves every text out of the answer: see RecallResponse.WithoutContent.
	IDsOnly bool `json:"ids_only,omitempty"`

	decoded check.Decoded
}

// Traversal is a way to use the graph of entities in a recall.
type Traversal string

// Ways to use the graph.
const (
	TraversalFlat    Traversal = "flat"
	TraversalPrimary Traversal = "primary"
)

var traversals = []Traversal{TraversalFlat, TraversalPrimary}

// Valid reports whether v is a known way.
func (v Traversal) Valid() bool { return slices.Contains(traversals, v) }

// Validate reports every field that is wrong, as a *ValidationError.
func (r *RecallRequest) Validate() error {
	if err := r.decoded.Err(); err != nil { // other checks would report consequences of these
		return err
	}
	var p check.Problems
	r.Principal.validate(&p, "principal.")
	if r.ReadPolicy != "" && !r.ReadPolicy.Valid() {
		p.Add("read_policy", "must be one of %s", check.Names(readPolicies))
	}
	if r.ReadPolicy == ReadGroup && r.Principal.PolicyGroup == "" {
		p.Add("principal.policy_group", "is required when read_policy is group")
	}
	check.Text(&p, "query", r.Query, MaxQueryBytes)
	if r.Query == "" {
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

// checkContext checks that a context is an object of scalars: anything else could not equal a condition
// by accident, and would only cost.
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
	for _, key := range slices.Sorted(maps.Keys(keys)) { // the first problem is the same every time
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

// RecallResponse is the answer: results best first, and how they came about.
type RecallResponse struct {
	RetrievalID string         `json:"retrieval_id"`
	Results     []RecallResult `json:"results"`

	// Layers and Selections answer a request with a task or with layers, and are absent otherwise.
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
	Channels   map[string]float64 `json:"channels"` // each channel's own calibrated score
	CreatedAt  time.Time          `json:"created_at"`
	OccurredAt time.Time          `json:"occurred_at"`
	Tags       []string           `json:"tags"`
	Who        string             `json:"who,omitempty"`
	Ref        string             `json:"ref"` // first provenance ref; empty when there is none
	Pinned     bool               `json:"pinned"`
	Importance float64            `json:"importance"` // base worth, [0,1]
	// ImportanceNow is the importance that is left since the memory was last returned, and Salience the salience that
	// is left (document 002 "Importance Decay", document 004 §11); [0,1], at the time of the recall.
	ImportanceNow float64  `json:"importance_now"`
	Salience      float64  `json:"salience"`
	Validity      Validity `json:"validity"` // where and when it holds
	Status        Status   `json:"status"`   // active, or contested: something speaks against it

	Currentness Currentness `json:"currentness,omitempty"` // whether its content still holds
	Newer       string      `json:"newer,omitempty"`       // a later statement of the same thing, if there is one
	HeldUntil   *time.Time  `json:"held_until,omitempty"`  // when that was said
	// how likely it is about the question, [0,1]; 0: not known
	Relevance    float64 `json:"relevance,omitempty"`
	SupersededBy string  `json:"superseded_by,omitempty"` // its successor, if the asker may see it

	Session string `json:"session,omitempty"` // the session in which it was said or done

	// Redacted means that the memory is above the limit, and how much of it is shown. Hidden fields have their zero
	// value. Content is the safe summary then, or empty.
	Redacted    Redaction   `json:"redacted,omitempty"`
	Sensitivity Sensitivity `json:"sensitivity,omitempty"` // of a redacted one

	// Supplementary rows come last. They are not results: see Supplement. Their ids name memories if the kind is
	// rationale, source or rescue; other ids cannot be read.
	Supplementary bool        `json:"supplementary,omitempty"`
	Supplement    *Supplement `json:"supplement,omitempty"`
	Truncated     bool        `json:"truncated,omitempty"` // the content was cut; marks show where

	// Passage is the part of a long text that answers, if words of the question show it. Its offsets are those of the
	// whole text, even if Content was cut.
	Passage *Passage `json:"passage,omitempty"`

	// Payload is the record's structured payload as it is stored, if the request asks for it (document 004 §15A.6 to
	// §15A.10). PayloadLeftOut means that the budget had no room for it.
	Payload        json.RawMessage `json:"payload,omitempty"`
	PayloadLeftOut bool            `json:"payload_left_out,omitempty"`

	Explain []ScoreStep `json:"explain,omitempty"` // in order; the last step's score is Score
}

// ScoreStep is what one stage made of a result's score.
type ScoreStep struct {
	Stage string  `json:"stage"`
	Score float64 `json:"score"` // after the stage, [0,1]
	Why   string  `json:"why,omitempty"`
}

// RecallMeta says how a recall went.
type RecallMeta struct {
	TimingsMS map[string]float64 `json:"timings_ms"` // by stage, and total
	Channels  map[string]int     `json:"channels"`   // candidates found by channel
	Degraded  []string           `json:"degraded"`   // channels or stages that failed

	// Unknown means that nothing relevant enough was found: the answer is "I do not know". Relevance is that of the
	// best candidate, [0,1].
	Unknown   bool    `json:"unknown,omitempty"`
	Relevance float64 `json:"relevance,omitempty"`
	Floor     float64 `json:"floor,omitempty"` // the relevance that the best candidate had to reach

	Trust    *TrustMeta        `json:"trust,omitempty"`    // the result of the trust context
	Redacted map[Redaction]int `json:"redacted,omitempty"` // results by redaction
	// Fields of the request that the worker does not know and left out.
	Ignored []string `json:"ignored,omitempty"`
}

// Currentness says whether the content of a recalled memory still holds (document 002 Phase 4).
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
	CurrentnessOlder      Currentness = "older"      // a later statement of the same thing says something else
	CurrentnessMixed      Currentness = "mixed"      // some of the facts extracted from it were superseded
	CurrentnessSuperseded Currentness = "superseded" // it was superseded, or all facts extracted from it were
)

// WithoutContent returns the answer with ids, scores and kinds, but without any remembered text: a client may keep it
// in a workflow's history for any time. It copies a list of allowed fields, so that fields added later are not
// included by mistake.
func (r RecallResponse) WithoutContent() RecallResponse {
	out := RecallResponse{RetrievalID: r.RetrievalID, Results: make([]RecallResult, len(r.Results)),
		Layers: r.Layers, Selections: selectionIDs(r.Selections),
		Meta: RecallMeta{TimingsMS: r.Meta.TimingsMS, Channels: r.Meta.Channels, Degraded: r.Meta.Degraded,
			Trust: r.Meta.Trust, Redacted: r.Meta.Redacted}}
	for i, row := range r.Results {
		out.Results[i] = RecallResult{ID: row.ID, Type: row.Type, Category: row.Category, Score: row.Score,
			Channels: row.Channels, Tags: []string{},
			CreatedAt: row.CreatedAt, OccurredAt: row.OccurredAt, Pinned: row.Pinned, Importance: row.Importance,
			Validity: Validity{Mode: row.Validity.Mode, Start: row.Validity.Start, End: row.Validity.End},
			Status:   row.Status,
			Redacted: row.Redacted, Sensitivity: row.Sensitivity, Currentness: row.Currentness,
			SupersededBy: row.SupersededBy}
		out.Results[i].Supplementary, out.Results[i].Supplement, out.Results[i].Truncated = row.Supplementary,
			row.Supplement, row.Truncated
	}
	return out
}
