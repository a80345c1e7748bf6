package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/google/uuid"

	"github.com/mneme/mneme/schema/check"
)

// FieldError is the problem of one field of a request or a record.
type FieldError = check.FieldError

// ValidationError lists the invalid fields of a request or a record.
type ValidationError = check.ValidationError

// MaxEncodedBytes is the maximum size of a request as JSON. Temporal refuses payloads over 2 MiB, and JSON may need six
// bytes for one byte of text.
const MaxEncodedBytes = 2<<20 - 128<<10

// CheckEncoded returns a *ValidationError for field if the request is too large to be sent as JSON. The limits of
// single fields do not include the overhead of JSON.
func CheckEncoded(field string, request any) error {
	encoded, err := json.Marshal(request)
	if err != nil {
		return &ValidationError{Fields: []FieldError{{Field: field, Problem: "cannot be written as JSON"}}}
	}
	return CheckEncodedSize(field, len(encoded))
}

// CheckEncodedSize is CheckEncoded for a request whose size is known.
func CheckEncodedSize(field string, size int) error {
	var p check.Problems
	if size > MaxEncodedBytes {
		p.Add(field, "with the rest of the request must be at most %d bytes as JSON, got %d", MaxEncodedBytes, size)
	}
	return p.Err()
}

// decodeRequest reads a request and returns its problems: unknown fields, wrong types and duplicates. It returns no
// error, because that would fail a workflow before it could report the problems. With deep, it checks nested objects
// too. Records check themselves.
func decodeRequest(data []byte, into any, deep bool) []FieldError {
	var p check.Problems
	if deep {
		check.Scan(data, "", MaxPayloadDepth, math.MaxInt, &p)
	} else {
		repeated(data, &p)
	}
	if len(p.Fields) > 0 {
		return p.Fields
	}
	err, wrong := decodeStrict(data, into).(*ValidationError) //nolint:errorlint // decodeStrict returns it unwrapped
	// Check names unknown fields with their paths, says types in words, and finds duplicates, which decoding accepts.
	var d check.Decoded
	d.Check(data, reflect.TypeOf(into).Elem(), "")
	if found := append(d.Wrong, d.Unread...); len(found) > 0 {
		return found
	}
	if !wrong {
		return nil
	}
	for i, f := range err.Fields {
		switch {
		case f.Problem == "unknown field":
			err.Fields[i].Field = check.Join("", f.Field)
		case f.Field == "occurred_at": // no request has this field, so it is another time field
			err.Fields[i] = FieldError{Field: "(json)", Problem: "has a time that is not in RFC 3339"}
		}
	}
	return err.Fields
}

// repeated adds a problem for every duplicate member of an object, ignoring case. A decoder would use the last one.
func repeated(data []byte, p *check.Problems) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return // decoding reports it
	}
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return
		}
		name, _ := token.(string)
		if key := strings.ToLower(name); seen[key] {
			p.Add(check.Join("", name), "is given twice")
		} else {
			seen[key] = true
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return
		}
	}
}

// UnmarshalJSON reads a request. Unknown fields, wrong types and duplicates are recorded, and Validate reports them.
func (r *PutRequest) UnmarshalJSON(data []byte) error {
	type plain PutRequest
	r.problems = decodeRequest(data, (*plain)(r), false)
	return nil
}

// UnmarshalJSON reads a request. Unknown fields, wrong types and duplicates are recorded, and Validate reports them.
func (r *ReviseRequest) UnmarshalJSON(data []byte) error {
	type plain ReviseRequest
	r.problems = decodeRequest(data, (*plain)(r), false)
	return nil
}

// UnmarshalJSON reads a request. Unknown fields, wrong types and duplicates are recorded, and Validate reports them.
func (r *ModifyRequest) UnmarshalJSON(data []byte) error {
	type plain ModifyRequest
	r.problems = decodeRequest(data, (*plain)(r), true)
	return nil
}

// UnmarshalJSON reads a request. Unknown fields, wrong types and duplicates are recorded, and Validate reports them.
func (r *RecoverRequest) UnmarshalJSON(data []byte) error {
	type plain RecoverRequest
	r.problems = decodeRequest(data, (*plain)(r), true)
	return nil
}

// UnmarshalJSON reads a request. Unknown fields, wrong types and duplicates are recorded, and Validate reports them.
func (r *ForgetRequest) UnmarshalJSON(data []byte) error {
	type plain ForgetRequest
	r.problems = decodeRequest(data, (*plain)(r), true)
	return nil
}

// UnmarshalJSON reads a request. Unknown fields, wrong types and duplicates are recorded, and Validate reports them.
func (r *IngestRequest) UnmarshalJSON(data []byte) error {
	type plain IngestRequest
	r.decoded = check.DecodeInput(data, (*plain)(r))
	return nil
}

// DropUnread drops the fields that earlier versions ignored. See check.Decoded.
func (r *IngestRequest) DropUnread() bool { return r.decoded.DropUnread() }

// UnmarshalJSON reads a request. Unknown fields, wrong types and duplicates are recorded, and Validate reports them.
func (r *RecallRequest) UnmarshalJSON(data []byte) error {
	type plain RecallRequest
	r.decoded = check.DecodeInput(data, (*plain)(r))
	return nil
}

// DropUnread drops the fields that earlier versions ignored. See check.Decoded.
func (r *RecallRequest) DropUnread() bool { return r.decoded.DropUnread() }

// UnmarshalJSON reads a request. Unknown fields, wrong types and duplicates are recorded, and Validate reports them.
func (r *ReviewRequest) UnmarshalJSON(data []byte) error {
	type plain ReviewRequest
	r.decoded = check.DecodeInput(data, (*plain)(r))
	return nil
}

// DropUnread drops the fields that earlier versions ignored. See check.Decoded.
func (r *ReviewRequest) DropUnread() bool { return r.decoded.DropUnread() }

// UnmarshalJSON reads a request. Unknown fields, wrong types and duplicates are recorded, and Validate reports them.
func (r *ForgetConfirmation) UnmarshalJSON(data []byte) error {
	type plain ForgetConfirmation
	r.decoded = check.DecodeInput(data, (*plain)(r))
	return nil
}

// DropUnread drops the fields that earlier versions ignored. See check.Decoded.
func (r *ForgetConfirmation) DropUnread() bool { return r.decoded.DropUnread() }

// Misread returns the problems of decoding, except unknown fields.
func (r *IngestRequest) Misread() []FieldError { return r.decoded.Misread() }

// Unknown returns the names of fields that this version does not know.
func (r *IngestRequest) Unknown() []string { return r.decoded.Unknown() }

// Misread returns the problems of decoding, except unknown fields.
func (r *RecallRequest) Misread() []FieldError { return r.decoded.Misread() }

// Unknown returns the names of fields that this version does not know.
func (r *RecallRequest) Unknown() []string { return r.decoded.Unknown() }

// Misread returns the problems of decoding, except unknown fields.
func (r *GetRequest) Misread() []FieldError { return r.decoded.Misread() }

// Unknown returns the names of fields that this version does not know.
func (r *GetRequest) Unknown() []string { return r.decoded.Unknown() }

// Misread returns the problems of decoding, except unknown fields.
func (r *FeedbackRequest) Misread() []FieldError { return r.decoded.Misread() }

// Unknown returns the names of fields that this version does not know.
func (r *FeedbackRequest) Unknown() []string { return r.decoded.Unknown() }

// Misread returns the problems of decoding. Unknown fields are included, because they would change the record.
func (r *PutRequest) Misread() []FieldError {
	p := check.Problems{Fields: r.problems}
	for i := range r.Records {
		r.Records[i].misread(&p, fmt.Sprintf("records[%d].", i))
	}
	return p.Fields
}

// misread adds the problems that decoding a record found.
func (m *MemoryRecord) misread(p *check.Problems, path string) {
	for _, f := range m.problems {
		if f.Field == "(json)" {
			f.Field = strings.TrimSuffix(path, ".")
		} else {
			f.Field = path + f.Field
		}
		p.Fields = append(p.Fields, f)
	}
}

// Misread returns the problems of decoding. Unknown fields are included, because they may guard the change.
func (r *ReviseRequest) Misread() []FieldError {
	p := check.Problems{Fields: r.problems}
	if r.Record != nil {
		r.Record.misread(&p, "record.")
	}
	return p.Fields
}

// Misread returns the problems of decoding. Unknown fields are included, because they may guard the change.
func (r *ModifyRequest) Misread() []FieldError { return r.problems }

// Misread returns the problems of decoding. Unknown fields are included, because they may guard the change.
func (r *RecoverRequest) Misread() []FieldError { return r.problems }

// Misread returns the problems of decoding. Unknown fields are included, because they may restrict the selection.
func (r *ForgetRequest) Misread() []FieldError { return r.problems }

// CandidateID returns the id of a candidate of a batch. The memory made from it has the same id, unless a memory with
// its content exists. It is a UUID of version 7 with the time of the batch's id, ordered by position, so a workflow
// history does not list the ids of a batch.
func CandidateID(batch uuid.UUID, position int) uuid.UUID {
	sum := sha256.Sum256(binary.BigEndian.AppendUint32(batch[:], uint32(position)))
	id := uuid.UUID(sum[:16])
	copy(id[:6], batch[:6])
	id[6] = 0x70 | byte(position>>8)&0x0f
	id[7] = byte(position)
	id[8] = 0x80 | id[8]&0x3f
	return id
}

// The following requests change memories directly. Each is the input of a workflow. Its operation id makes delivery
// idempotent: a repeated id returns the first result.

// Limits of the operations.
const (
	MaxPutRecords      = 100   // records in one put
	MaxPatches         = 200   // patches in one modify (document 002 "Modify")
	MaxRevisionTargets = 50    // targets of one revision
	MaxForgetIDs       = 1_000 // ids in one forget; a query or a filter may select more memories
	MaxForgetSelected  = 200_000
	MaxRecoverIDs      = 200
	MaxReasonLength    = 1_000     // characters
	MaxPayloadBytes    = 320 << 10 // names and values without escapes; enough for a statement of MaxContentBytes
	MaxPayloadDepth    = check.MaxDepth
	MaxPayloadItems    = check.MaxItems // elements of an array, members of an object
)

// Operation has the fields that all these requests share.
type Operation struct {
	Principal Principal `json:"principal"`
	// OperationID identifies the operation. Without one, an equal request joins a running operation, and is a new
	// operation after that has ended.
	OperationID string `json:"operation_id,omitempty"`
	Actor       string `json:"actor,omitempty"`  // name in history; default agent:<agent>
	Reason      string `json:"reason,omitempty"` // required except by put and feedback
}

// validate checks the common fields of all operations.
func (o *Operation) validate(p *check.Problems) {
	o.Principal.validate(p, "principal.")
	check.Text(p, "operation_id", o.OperationID, MaxIdempotencySize)
	check.Text(p, "actor", o.Actor, MaxNameLength)
	check.Text(p, "reason", o.Reason, MaxReasonLength)
}

// requireReason adds a problem if there is no reason.
func (o *Operation) requireReason(p *check.Problems) {
	if isBlank(o.Reason) {
		p.Add("reason", "is required")
	}
}

// OtherRequest returns the refusal of a request whose idempotency key or operation id, in the named field, belongs to
// another request. The result of that request would suggest that this one had been carried out.
func OtherRequest(field string) error {
	return &ValidationError{Fields: []FieldError{{Field: field, Problem: "is that of another request"}}}
}

// By returns the actor that history names.
func (o *Operation) By() string {
	if o.Actor != "" {
		return o.Actor
	}
	return "agent:" + o.Principal.Agent
}

// OfEveryAgent returns the operation for all agents of its user. Its actor does not change.
func (o *Operation) OfEveryAgent() Operation {
	return Operation{Principal: Principal{Tenant: o.Principal.Tenant, User: o.Principal.User}, Actor: o.By(),
		Reason: o.Reason}
}

// OperationRef names a staged request. Workflow history contains only this reference (claim check).
type OperationRef struct {
	Tenant     string `json:"tenant"`
	ID         string `json:"id"`          // key of the staged body and of the result
	WorkflowID string `json:"workflow_id"` // stored in history, so that erasing finds the runs that contained a text

	// Others are the keys of the same operation in other versions of the program. If the operation was done under one
	// of them, its result is returned.
	Others []string `json:"others,omitempty"`
}

// Keys returns the keys of the operation in all versions of the program, the current one first.
func (r OperationRef) Keys() []string { return append([]string{r.ID}, r.Others...) }
