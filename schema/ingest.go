package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mneme/mneme/schema/check"
)

// Limits of a request. Sizes are in bytes unless they say otherwise.
const (
	MaxBatch           = 500       // candidates in one request
	MaxContentBytes    = 256 << 10 // content of one candidate
	MaxRequestBytes    = 1 << 20   // content of one request; Temporal refuses payloads over 2 MiB
	MaxTags            = 32        // tags of one candidate, including those of its prefix
	MaxTagLength       = 64        // characters
	MaxRefs            = 32        // provenance refs of one candidate
	MaxRefLength       = 512       // characters of one provenance ref
	MaxNameLength      = 128       // characters of tenant, agent, project, scope, policy group, speaker, session
	MaxIdempotencySize = 200       // characters of an idempotency key
)

// Principal is the agent on whose behalf a request is made. Every read and write is restricted to its tenant.
type Principal struct {
	Tenant      string `json:"tenant"`
	Agent       string `json:"agent"`
	Project     string `json:"project,omitempty"`
	Scope       string `json:"scope,omitempty"` // explicit scope; unscoped recall excludes scoped memories
	PolicyGroup string `json:"policy_group,omitempty"`

	// User is one of the agent's users. The request then reads and writes that user's memories, which have the scope
	// user/<name>, and also reads memories without a scope. It replaces Scope.
	User string `json:"user,omitempty"`
}

// Ref points to the evidence for a memory in the host system (document 004 §15A.4).
type Ref struct {
	Kind string `json:"kind"`           // event, artifact, tool_call, observation, outcome, human or retrieval
	Ref  string `json:"ref"`            // opaque reference into the host system
	Hash string `json:"hash,omitempty"` // optional content hash

	Timestamp *time.Time `json:"timestamp,omitempty"` // when the evidence was given (document 004 §15A.8)
}

// RefRetrieval is the ref kind that marks text as a result of recall. Such a candidate is recorded but not learned
// again.
const RefRetrieval = "retrieval"

var refKinds = []string{"event", "artifact", "tool_call", "observation", "outcome", "human", RefRetrieval}

// Candidate is one piece of experience or one explicit memory offered for ingestion (document 004 §15.4).
type Candidate struct {
	Content        string      `json:"content"`
	SourceKind     SourceKind  `json:"source_kind,omitempty"` // default observation
	Speaker        string      `json:"speaker,omitempty"`     // the person who said it; resolves the first person
	Session        string      `json:"session,omitempty"`
	OccurredAt     *time.Time  `json:"occurred_at,omitempty"` // default: the time of staging
	Refs           []Ref       `json:"refs,omitempty"`
	Category       Category    `json:"category,omitempty"` // default: inferred
	Tags           []string    `json:"tags,omitempty"`
	Sensitivity    Sensitivity `json:"sensitivity,omitempty"`     // default low
	Importance     *float64    `json:"importance,omitempty"`      // [0,1]; default 0.8
	IdempotencyKey string      `json:"idempotency_key,omitempty"` // a repeated key returns the first result
}

// IngestRequest submits one candidate or a batch to the Ingest workflow.
type IngestRequest struct {
	Principal      Principal   `json:"principal"`
	Visibility     Visibility  `json:"visibility,omitempty"` // default private
	Candidates     []Candidate `json:"candidates"`
	IdempotencyKey string      `json:"idempotency_key,omitempty"`

	// The following three fields can only restrict what the worker is configured to allow.
	Mode              WriteMode `json:"mode,omitempty"`
	NoUpdateDelete    bool      `json:"no_update_delete,omitempty"`
	MinFactConfidence *float64  `json:"min_fact_confidence,omitempty"` // [0,1]

	Oversized Oversized `json:"oversized,omitempty"` // handling of content above MaxContentBytes; default refuse

	decoded check.Decoded
}

// Oversized determines how content above MaxContentBytes is handled.
type Oversized string

// The ways to handle oversized content.
const (
	OversizedRefuse Oversized = "refuse"
	// The whole content is stored as an artifact. The memory contains its beginning and refers to the artifact.
	OversizedArtifact Oversized = "artifact"
)

var oversizeds = []Oversized{OversizedRefuse, OversizedArtifact}

// Valid reports whether v is a value of the enumeration.
func (v Oversized) Valid() bool { return slices.Contains(oversizeds, v) }

// keptWhole reports whether a candidate's content is stored as an artifact.
func (r *IngestRequest) keptWhole(c *Candidate) bool {
	return r.Oversized == OversizedArtifact && len(c.Content) > MaxContentBytes
}

// IngestAck is the immediate answer to an ingest. Every candidate is staged durably, and its id is final. MemoryIDs is
// in the order of the candidates.
type IngestAck struct {
	BatchID   string   `json:"batch_id"`
	MemoryIDs []string `json:"memory_ids"`
	Deduped   []int    `json:"deduped,omitempty"`  // positions whose id is that of an existing memory
	Recalled  []int    `json:"recalled,omitempty"` // positions of recalled text, which is not learned again
	Ignored   []string `json:"ignored,omitempty"`  // unknown fields of the request, which the worker ignored
}

// DecodeCandidate reads one candidate from JSON. Unknown fields, fields that are given twice, text that is not valid
// Unicode and trailing data are errors.
func DecodeCandidate(data []byte) (Candidate, error) {
	var c Candidate
	if err := decodeWhole(data, &c); err != nil {
		return Candidate{}, fmt.Errorf("candidate: %w", err)
	}
	return c, nil
}

// decodeWhole is decodeStrict for a value in which nothing may be lost: it also refuses fields that are given twice and
// text that decoding would replace.
func decodeWhole(data []byte, into any) error {
	if err := decodeStrict(data, into); err != nil {
		return err
	}
	var p check.Problems
	if _, ok := check.Scan(data, "", MaxPayloadDepth, math.MaxInt, &p); !ok {
		return p.Err()
	}
	var d check.Decoded
	d.Check(data, reflect.TypeOf(into).Elem(), "")
	return d.Err()
}

// decodeStrict decodes exactly one JSON value. Its errors name fields, never values.
func decodeStrict(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		var typeErr *json.UnmarshalTypeError
		if errors.As(err, &typeErr) && typeErr.Field != "" {
			return &ValidationError{
				Fields: []FieldError{{Field: typeErr.Field, Problem: "must be of type " + typeErr.Type.String()}}}
		}
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return &ValidationError{Fields: []FieldError{{Field: strings.Trim(name, `"`), Problem: "unknown field"}}}
		}
		return &ValidationError{Fields: []FieldError{check.JSONProblem(err)}}
	}
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		return &ValidationError{Fields: []FieldError{{Field: "(json)", Problem: "must be an object"}}}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) { // dec.More would miss a closing bracket
		return &ValidationError{Fields: []FieldError{{Field: "(json)", Problem: "trailing data after the object"}}}
	}
	return nil
}

// Validate checks the whole request and returns a *ValidationError that lists every invalid field.
func (r *IngestRequest) Validate() error {
	if err := r.decoded.Err(); err != nil { // other checks would report consequential errors
		return err
	}
	var p check.Problems
	r.Principal.validate(&p, "principal.")
	if r.Visibility != "" && !r.Visibility.Valid() {
		p.Add("visibility", "must be one of %s", check.Names(visibilities))
	}
	if r.Visibility == VisibilityGroup && r.Principal.PolicyGroup == "" {
		p.Add("principal.policy_group", "is required when visibility is group")
	}
	if r.Mode != "" && !r.Mode.Valid() {
		p.Add("mode", "must be one of %s", check.Names(writeModes))
	}
	if f := r.MinFactConfidence; f != nil && !unit(*f) {
		p.Add("min_fact_confidence", "must be between 0 and 1")
	}
	check.Enum(&p, "oversized", r.Oversized, oversizeds)
	check.Text(&p, "idempotency_key", r.IdempotencyKey, MaxIdempotencySize)
	switch n := len(r.Candidates); {
	case n == 0:
		p.Add("candidates", "must hold at least one candidate")
	case n > MaxBatch:
		p.Add("candidates", "must hold at most %d candidates, got %d", MaxBatch, n)
	}
	total := 0
	for i := range r.Candidates {
		total += len(r.Candidates[i].Content)
		if i < MaxBatch {
			r.Candidates[i].validate(&p, fmt.Sprintf("candidates[%d].", i), r.keptWhole(&r.Candidates[i]))
		}
	}
	if total > MaxRequestBytes {
		p.Add("candidates", "content of all candidates must be at most %d bytes, got %d", MaxRequestBytes, total)
	}
	return p.Err()
}

func (v *Principal) validate(p *check.Problems, path string) {
	required := func(field, value string) {
		if strings.TrimSpace(value) == "" {
			p.Add(path+field, "is required")
		}
	}
	required("tenant", v.Tenant)
	required("agent", v.Agent)
	check.Text(p, path+"tenant", v.Tenant, MaxNameLength)
	check.Text(p, path+"agent", v.Agent, MaxNameLength)
	check.Text(p, path+"project", v.Project, MaxNameLength)
	check.Text(p, path+"scope", v.Scope, MaxNameLength)
	check.Text(p, path+"policy_group", v.PolicyGroup, MaxNameLength)
	v.validateUser(p, path)
}

// isBlank reports whether s is only whitespace. The byte order mark counts as whitespace, as it does when content is
// normalised.
func isBlank(s string) bool {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' }) == ""
}

func (c *Candidate) validate(p *check.Problems, path string, whole bool) {
	switch {
	case isBlank(c.Content):
		p.Add(path+"content", "is empty")
	case len(c.Content) > MaxContentBytes && !whole:
		p.Add(path+"content", "must be at most %d bytes, got %d", MaxContentBytes, len(c.Content))
	case !utf8.ValidString(c.Content):
		p.Add(path+"content", "is not valid UTF-8")
	case strings.ContainsRune(c.Content, 0):
		p.Add(path+"content", "contains a NUL character")
	}
	if c.SourceKind != "" && !c.SourceKind.Valid() {
		p.Add(path+"source_kind", "must be one of %s", check.Names(sourceKinds))
	}
	if c.Category != "" && !c.Category.Valid() {
		p.Add(path+"category", "must be one of %s", check.Names(categories))
	}
	if c.Sensitivity != "" && !c.Sensitivity.Valid() {
		p.Add(path+"sensitivity", "must be one of %s", check.Names(sensitivities))
	}
	if f := c.Importance; f != nil && !unit(*f) {
		p.Add(path+"importance", "must be between 0 and 1")
	}
	if t := c.OccurredAt; t != nil && (t.UTC().Year() < 1 || t.UTC().Year() > 9999) {
		p.Add(path+"occurred_at", "must lie between the years 1 and 9999")
	}
	check.Text(p, path+"speaker", c.Speaker, MaxNameLength)
	check.Text(p, path+"session", c.Session, MaxNameLength)
	check.Text(p, path+"idempotency_key", c.IdempotencyKey, MaxIdempotencySize)
	if len(c.Tags) > MaxTags {
		p.Add(path+"tags", "must hold at most %d tags", MaxTags)
	}
	for i, tag := range c.Tags {
		field := fmt.Sprintf("%stags[%d]", path, i)
		if strings.TrimSpace(tag) == "" {
			p.Add(field, "is empty")
		}
		check.Text(p, field, tag, MaxTagLength)
	}
	if whole && len(c.Refs) >= MaxRefs {
		p.Add(path+"refs", "must leave room for the reference to the artifact")
	}
	if len(c.Refs) > MaxRefs {
		p.Add(path+"refs", "must hold at most %d refs", MaxRefs)
	}
	for i, ref := range c.Refs {
		field := fmt.Sprintf("%srefs[%d].", path, i)
		if !slices.Contains(refKinds, ref.Kind) {
			p.Add(field+"kind", "must be one of %s", strings.Join(refKinds, ", "))
		}
		if ref.Ref == "" {
			p.Add(field+"ref", "is required")
		}
		check.Text(p, field+"ref", ref.Ref, MaxRefLength)
		check.Text(p, field+"hash", ref.Hash, MaxNameLength)
		if ref.Timestamp != nil {
			check.Year(p, field+"timestamp", *ref.Timestamp)
		}
	}
}

// unit reports whether f is a number in [0,1].
func unit(f float64) bool { return !math.IsNaN(f) && f >= 0 && f <= 1 }
