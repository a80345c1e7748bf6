package activities

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
)

// Recalling is the read path for clients that speak only Temporal; others call package recall.
type Recalling struct {
	Recaller *recall.Recaller
}

// RecallWorkflow is the type of the workflow that carries answers.
const RecallWorkflow = "Recall"

// RecallRequest asks under a key that stays the same however often the question is asked again.
type RecallRequest struct {
	Key     string               `json:"key"`
	Request schema.RecallRequest `json:"request"`

	Misread []schema.FieldError `json:"misread,omitempty"` // what reading the request found wrong
	Unknown []string            `json:"unknown,omitempty"` // fields that were left out of it
	Check   bool                `json:"check,omitempty"`   // the workflow has not validated it: a refusal is a result
}

// retrievalSpace is the name space of retrieval ids that come from a key (RFC 9562, version 5).
var retrievalSpace = uuid.MustParse("2f1d4c3a-6f0e-5c39-9f5e-7d2b8a3f6c10")

// RetrievalID is the retrieval id that a key has.
func RetrievalID(key string) uuid.UUID { return uuid.NewSHA1(retrievalSpace, []byte(key)) }

// RecallResult is an answer, or a refusal.
type RecallResult struct {
	schema.RecallResponse
	Refusal
}

// RecallMemories answers a recall. Its result carries content unless the request wants ids only. It changes
// nothing but the record of the access, which one key leaves once.
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
	return RecallResult{}, fail(err)
}

// MaxAnswerBytes is the size of an answer as JSON that goes through Temporal: the server takes no payload
// over 2 MiB, and the marker of the local activity and the result of the workflow, which both carry it, go
// to the server in one message of 4 MiB.
const MaxAnswerBytes = 3 << 19

// fitting leaves out the last results of an answer that is too large, and says so in meta.degraded.
func fitting(out schema.RecallResponse) schema.RecallResponse {
	over := encodedBytes(out) - MaxAnswerBytes
	if over <= 0 {
		return out
	}
	for over += len(`"size",`); over > 0 && len(out.Results) > 0; {
		last := len(out.Results) - 1
		over -= encodedBytes(out.Results[last])
		out.Results = out.Results[:last]
	}
	if over > 0 { // whatever else it is that is so large
		out = out.WithoutContent()
	}
	out.Meta.Degraded = append(out.Meta.Degraded, "size")
	return out
}

func encodedBytes(v any) int {
	encoded, err := json.Marshal(v)
	if err != nil {
		return MaxAnswerBytes + 1 // unreachable: an answer is plain data
	}
	return len(encoded)
}
