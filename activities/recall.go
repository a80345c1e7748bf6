package activities

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/recall/contexts"
	"github.com/mneme/mneme/schema"
)

// Recalling is the read path for clients that speak only Temporal; others call package recall.
type Recalling struct {
	Recaller *recall.Recaller
	Contexts *contexts.Builder
}

// RecallRequest is a question. Its key is the same for a repeated question.
type RecallRequest struct {
	Key     string               `json:"key"`
	Request schema.RecallRequest `json:"request"`

	Misread []schema.FieldError `json:"misread,omitempty"` // problems found when the request was decoded
	Unknown []string            `json:"unknown,omitempty"` // unknown fields, which were ignored
	Check   bool                `json:"check,omitempty"`   // the workflow has not validated it: a refusal is a result
}

// retrievalSpace is the name space of retrieval ids that come from a key (RFC 9562, version 5).
var retrievalSpace = uuid.MustParse("2f1d4c3a-6f0e-5c39-9f5e-7d2b8a3f6c10")

// RetrievalID returns the retrieval id of a key.
func RetrievalID(key string) uuid.UUID { return uuid.NewSHA1(retrievalSpace, []byte(key)) }

// RecallResult is an answer, or a refusal.
type RecallResult struct {
	schema.RecallResponse
	Refusal
}

// RecallMemories answers a recall. Its result carries content unless the request wants ids only. It changes only the
// record of the access, which is written once for a key.
func (a *Recalling) RecallMemories(ctx context.Context, in RecallRequest) (RecallResult, error) {
	if len(in.Misread) > 0 {
		return RecallResult{Refusal: Refusal{Invalid: in.Misread}}, nil
	}
	if len(in.Unknown) > 0 {
		in.Request.DropUnread()
	}
	out, err := a.Recaller.RecallAs(ctx, RetrievalID(in.Key), in.Request)
	switch {
	case err == nil:
		out.Meta.Ignored = in.Unknown
		return RecallResult{RecallResponse: fitting(out)}, nil
	case in.Check:
		r, err := refused(err)
		return RecallResult{Refusal: r}, err
	}
	return RecallResult{}, step.Fail(err)
}

// MaxAnswerBytes bounds the JSON of an answer that goes through Temporal. The server refuses payloads over 2 MiB. The
// marker of the local activity and the result of the workflow both contain the answer, and go to the server in one
// message of at most 4 MiB.
const MaxAnswerBytes = 3 << 19

// fitting drops the last results of an answer that is too large, and reports that in meta.degraded.
func fitting(out schema.RecallResponse) schema.RecallResponse {
	over := encodedBytes(out) - MaxAnswerBytes
	if over <= 0 {
		return out
	}
	over += len(`"size",`)
	for i := len(out.Results) - 1; i >= 0 && over > 0; i-- { // a text without its payload is still useful
		if row := &out.Results[i]; len(row.Payload) > 0 {
			over -= encodedBytes(row.Payload) - len(`"payload_left_out":true`)
			row.Payload, row.PayloadLeftOut = nil, true
		}
	}
	for over > 0 && len(out.Results) > 0 {
		last := len(out.Results) - 1
		over -= encodedBytes(out.Results[last])
		out.Results = out.Results[:last]
	}
	if over > 0 { // another part is too large
		out = out.WithoutContent()
	}
	out.Meta.Degraded = append(out.Meta.Degraded, "size")
	return out
}

// GetRequest is a request for records by id.
type GetRequest struct {
	Request schema.GetRequest `json:"request"`

	Misread []schema.FieldError `json:"misread,omitempty"` // problems found when the request was decoded
	Unknown []string            `json:"unknown,omitempty"` // unknown fields, which were ignored
}

// GetResult has the records, or a refusal.
type GetResult struct {
	schema.GetResponse
	Refusal
}

// GetRecords reads records by id. Its result carries content; it changes nothing.
func (a *Recalling) GetRecords(ctx context.Context, in GetRequest) (GetResult, error) {
	if len(in.Misread) > 0 {
		return GetResult{Refusal: Refusal{Invalid: in.Misread}}, nil
	}
	if len(in.Unknown) > 0 {
		in.Request.DropUnread()
	}
	out, err := a.Recaller.Get(ctx, in.Request)
	if err != nil {
		r, err := refused(err)
		return GetResult{Refusal: r}, err
	}
	if len(out.Records) == 1 {
		cutAuditLog(&out)
	}
	for over := encodedBytes(out) - MaxAnswerBytes; over > 0 && len(out.Records) > 0; {
		last := len(out.Records) - 1
		over -= encodedBytes(out.Records[last])
		out.LeftOut = append(out.LeftOut, out.Records[last].ID)
		out.Records = out.Records[:last]
	}
	return GetResult{GetResponse: out}, nil
}

// cutAuditLog leaves out the older half of the audit log of the only record until the answer fits.
func cutAuditLog(out *schema.GetResponse) {
	record := &out.Records[0]
	for len(record.AuditLog) > 0 && encodedBytes(out) > MaxAnswerBytes {
		half := (len(record.AuditLog) + 1) / 2
		record.AuditLog = record.AuditLog[half:]
		record.AuditOmitted += half
	}
}

func encodedBytes(v any) int {
	encoded, err := json.Marshal(v)
	if err != nil {
		return MaxAnswerBytes + 1 // unreachable: an answer is plain data
	}
	return len(encoded)
}
