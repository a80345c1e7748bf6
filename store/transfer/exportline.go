package transfer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/schema"
)

// ExportLine is one line of an export. Its kind decides which fields are set. A memory's line has everything that
// the memory owns, so that a filtered export is complete.
type ExportLine struct {
	Kind string `json:"kind"`

	// Header.
	Format     string     `json:"format,omitempty"`
	Version    int        `json:"version,omitempty"`
	Tenant     string     `json:"tenant,omitempty"`
	ExportedAt *time.Time `json:"exported_at,omitempty"`

	// Memory. Rows have the names of their columns, without tenant and memory id.
	Record *schema.MemoryRecord `json:"record,omitempty"`
	// fields that the record lacks: hashes and the claim, as they are indexed
	Columns    map[string]json.RawMessage `json:"columns,omitempty"`
	History    []json.RawMessage          `json:"history,omitempty"` // oldest first
	Versions   []json.RawMessage          `json:"versions,omitempty"`
	Provenance []json.RawMessage          `json:"provenance,omitempty"`
	Relations  []ExportRelation           `json:"relations,omitempty"` // outwards
	Claims     []json.RawMessage          `json:"claims,omitempty"`
	Hints      []json.RawMessage          `json:"hints,omitempty"`
	Entities   []ExportEntity             `json:"entities,omitempty"`
	Edges      []ExportEdge               `json:"edges,omitempty"`     // of the entity graph, stated by the memory
	Artifacts  []string                   `json:"artifacts,omitempty"` // sha256:<hex>
	// where it came from, if the pipeline received it
	SourceKind schema.SourceKind `json:"source_kind,omitempty"`

	// History without a memory: the memory's id and owner.
	MemoryID *uuid.UUID `json:"memory_id,omitempty"`

	// Event: the row, with the names of its columns.
	Event json.RawMessage `json:"event,omitempty"`

	// Topic: the row, with the names of its columns.
	Topic json.RawMessage `json:"topic,omitempty"`

	// Artifact.
	Artifact *ExportArtifact `json:"artifact,omitempty"`

	// End.
	Counts *ExportCounts `json:"counts,omitempty"`
}

// UnmarshalJSON decodes a line exactly. The conversions for records of other systems, such as defaults, would not
// restore the same row.
func (l *ExportLine) UnmarshalJSON(data []byte) error {
	type fields ExportLine
	line := struct {
		*fields
		Record json.RawMessage `json:"record"`
	}{fields: (*fields)(l)}
	if err := strictJSON(data, &line); err != nil {
		return err
	}
	if len(line.Record) == 0 {
		return nil
	}
	type literal schema.MemoryRecord
	l.Record = &schema.MemoryRecord{}
	return strictJSON(line.Record, (*literal)(l.Record))
}

// DecodeExportLine decodes one line and checks it. Errors are *schema.ValidationError with fields and no values.
func DecodeExportLine(data []byte) (ExportLine, error) {
	bad := func(field, problem string) (ExportLine, error) {
		return ExportLine{}, &schema.ValidationError{Fields: []schema.FieldError{{Field: field, Problem: problem}}}
	}
	var line ExportLine
	var wrongType *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch err := json.Unmarshal(data, &line); {
	case errors.As(err, &wrongType) && wrongType.Field != "":
		return bad(wrongType.Field, "must be of type "+wrongType.Type.String())
	case errors.As(err, &syntax):
		return bad("(json)", fmt.Sprintf("is not valid JSON (at byte %d)", syntax.Offset))
	case err != nil:
		return bad("(line)", "is not a line of an export: it has an unknown field or a value of the wrong form")
	}
	switch line.Kind {
	case LineHeader:
		if line.Format != ExportFormat {
			return bad("format", "must be "+ExportFormat)
		}
		if line.Version != ExportVersion {
			return bad("version", fmt.Sprintf("must be %d: this program is older or newer than the file",
				ExportVersion))
		}
	case LineArtifact:
		if line.Artifact == nil {
			return bad("artifact", "is required")
		}
	case LineMemory:
		m := line.Record
		if m == nil {
			return bad("record", "is required")
		}
		if _, err := uuid.Parse(m.ID); err != nil {
			return bad("record.id", "must be a UUID")
		}
		if m.ErasedAt == nil { // an erased memory has few fields
			checked := *m // its dependent rows are written from it, and have limits of their own
			checked.Relations, checked.AuditLog, checked.Provenance.Sources = nil, nil, []schema.Ref{}
			var invalid *schema.ValidationError
			if err := checked.Validate(); errors.As(err, &invalid) {
				for i := range invalid.Fields {
					invalid.Fields[i].Field = "record." + invalid.Fields[i].Field
				}
				return ExportLine{}, invalid
			}
		}
	case LineHistory:
		if line.MemoryID == nil {
			return bad("memory_id", "is required")
		}
	case LineEvent:
		if len(line.Event) == 0 {
			return bad("event", "is required")
		}
	case LineTopic:
		if len(line.Topic) == 0 {
			return bad("topic", "is required")
		}
	case LineEnd:
		if line.Counts == nil {
			return bad("counts", "is required")
		}
	default:
		return bad("kind", "must be header, artifact, memory, history, event, topic or end")
	}
	return line, nil
}

// strictJSON decodes JSON and returns an error for unknown fields.
func strictJSON(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// ExportRelation is a relation of a memory to another.
type ExportRelation struct {
	Predicate string    `json:"predicate"`
	TargetID  uuid.UUID `json:"target_id"`
	Weight    float64   `json:"weight"`
	Reason    string    `json:"reason"`
	CreatedAt time.Time `json:"created_at"`
}

// ExportEntity is an entity that a memory mentions, or an end of an edge that it states.
type ExportEntity struct {
	ID            uuid.UUID  `json:"id"`
	CanonicalName string     `json:"canonical_name"`
	Name          string     `json:"name"`
	CreatedAt     time.Time  `json:"created_at"`
	UpdatedAt     time.Time  `json:"updated_at"`
	MentionedAt   *time.Time `json:"mentioned_at,omitempty"` // absent if it is only the end of an edge
}

// ExportEdge is an edge of the entity graph. Its ends are canonical names.
type ExportEdge struct {
	Source       string    `json:"source"`
	Relationship string    `json:"relationship"`
	Target       string    `json:"target"`
	Confidence   float64   `json:"confidence"`
	CreatedAt    time.Time `json:"created_at"`
	UpdatedAt    time.Time `json:"updated_at"`
}

// ExportArtifact is a stored artifact with its bytes.
type ExportArtifact struct {
	SHA256    string `json:"sha256"` // hex
	MediaType string `json:"media_type"`
	Agent     string `json:"agent"` // the agent that stored it first
	// all agents that may read it without a memory that refers to it; in an agent's export only that agent
	Holders []string `json:"holders,omitempty"`

	UserHolders []UserHolder `json:"user_holders,omitempty"` // likewise, the agents that stored it for a user
	CreatedAt   time.Time    `json:"created_at"`
	Content     []byte       `json:"content"` // base64 in JSON
}

// UserHolder is an agent that stored an artifact for one of its users.
type UserHolder struct {
	Agent string `json:"agent"`
	Scope string `json:"scope"`
}
