package schema

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

const unknownField = "unknown field"

// Misread is what no version can read: fields of the wrong type, and fields that are given twice.
func (d *Decoded) Misread() []FieldError {
	out := append([]FieldError(nil), d.wrong...)
	for _, f := range d.unread {
		if f.Problem != unknownField {
			out = append(out, f)
		}
	}
	return out
}

// Unknown names the fields that this version does not know: a newer client may have set them.
func (d *Decoded) Unknown() []string {
	var out []string
	for _, f := range d.unread {
		if f.Problem == unknownField {
			out = append(out, f.Field)
		}
	}
	return out
}

// Misread is what no version can read; Unknown names what only this version does not know.
func (r *IngestRequest) Misread() []FieldError { return r.decoded.Misread() }

// Unknown names the fields that this version does not know.
func (r *IngestRequest) Unknown() []string { return r.decoded.Unknown() }

// Misread is what no version can read; Unknown names what only this version does not know.
func (r *RecallRequest) Misread() []FieldError { return r.decoded.Misread() }

// Unknown names the fields that this version does not know.
func (r *RecallRequest) Unknown() []string { return r.decoded.Unknown() }

// Misread is what no version can read; Unknown names what only this version does not know.
func (r *GetRequest) Misread() []FieldError { return r.decoded.Misread() }

// Unknown names the fields that this version does not know.
func (r *GetRequest) Unknown() []string { return r.decoded.Unknown() }

// Misread is what no version can read; Unknown names what only this version does not know.
func (r *FeedbackRequest) Misread() []FieldError { return r.decoded.Misread() }

// Unknown names the fields that this version does not know.
func (r *FeedbackRequest) Unknown() []string { return r.decoded.Unknown() }

// Misread is what is wrong with the request as it was read. An unknown field counts: without it a record
// would be another.
func (r *PutRequest) Misread() []FieldError {
	p := problems{fields: r.problems}
	for i := range r.Records {
		r.Records[i].misread(&p, fmt.Sprintf("records[%d].", i))
	}
	return p.fields
}

// misread adds what reading a record found wrong.
func (m *MemoryRecord) misread(p *problems, path string) {
	for _, f := range m.problems {
		if f.Field == "(json)" {
			f.Field = strings.TrimSuffix(path, ".")
		} else {
			f.Field = path + f.Field
		}
		p.fields = append(p.fields, f)
	}
}

// Misread is what is wrong with the request as it was read. An unknown field counts: it may guard the change.
func (r *ReviseRequest) Misread() []FieldError {
	p := problems{fields: r.problems}
	if r.Record != nil {
		r.Record.misread(&p, "record.")
	}
	return p.fields
}

// Misread is what is wrong with the request as it was read. An unknown field counts: it may guard the change.
func (r *ModifyRequest) Misread() []FieldError { return r.problems }

// Misread is what is wrong with the request as it was read. An unknown field counts: it may guard the change.
func (r *RecoverRequest) Misread() []FieldError { return r.problems }

// Misread is what is wrong with the request as it was read. An unknown field counts: it may keep memories
// from being selected.
func (r *ForgetRequest) Misread() []FieldError { return r.problems }

// CandidateID is the id of a candidate of a batch, and of the memory that it becomes unless there is one with its
// content. It is a UUID of version 7 with the time of the batch's id, in the order of the positions. So a history
// need not list the ids of a batch.
func CandidateID(batch uuid.UUID, position int) uuid.UUID {
	sum := sha256.Sum256(binary.BigEndian.AppendUint32(batch[:], uint32(position)))
	id := uuid.UUID(sum[:16])
	copy(id[:6], batch[:6])
	id[6] = 0x70 | byte(position>>8)&0x0f
	id[7] = byte(position)
	id[8] = 0x80 | id[8]&0x3f
	return id
}
