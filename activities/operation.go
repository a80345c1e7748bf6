package activities

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/store"
)

// OperationRef names an accepted request: all that travels through a workflow's history once the
// request has been taken in (claim check).
type OperationRef struct {
	Tenant     string `json:"tenant"`
	ID         string `json:"id"`
	WorkflowID string `json:"workflow_id"`
}

func (r OperationRef) store() store.Operation {
	return store.Operation{Tenant: r.Tenant, ID: r.ID, WorkflowID: r.WorkflowID}
}

// Accepting takes requests in.
type Accepting struct {
	Store *store.Store
	Now   func() time.Time
}

// AcceptRequest is a request with its content. It is the input of a local activity, which leaves no
// input in a history.
type AcceptRequest struct {
	Operation OperationRef    `json:"operation"`
	Kind      string          `json:"kind"` // put, revise, modify, forget, recover, review or feedback
	Body      json.RawMessage `json:"body"`
}

// Accept keeps a request's body in Postgres until it is carried out.
func (a *Accepting) Accept(ctx context.Context, in AcceptRequest) error {
	return fail(a.Store.Accept(ctx, in.Operation.store(), in.Kind, in.Body, now(a.Now)))
}

// Drop deletes the body of a request whose run ends without having carried it out.
func (a *Accepting) Drop(ctx context.Context, ref OperationRef) error {
	return fail(a.Store.Drop(ctx, ref.store(), now(a.Now)))
}

// MemoriesRequest names memories by id.
type MemoriesRequest struct {
	Tenant string   `json:"tenant"`
	IDs    []string `json:"ids"`
}

// IndexMemories drains the outbox of the named memories.
func (a *Indexing) IndexMemories(ctx context.Context, in MemoriesRequest) (IndexResult, error) {
	ctx, stop := beat(ctx)
	defer stop()
	ids := make([]uuid.UUID, 0, len(in.IDs))
	for _, s := range in.IDs {
		if id, err := uuid.Parse(s); err == nil {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return IndexResult{}, nil
	}
	return a.drainOnly(ctx, in.Tenant, ids)
}
