package edit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
)

// refuseDuplicates refuses a revision if another live memory has the content of one of its new memories.
func (r *revising) refuseDuplicates(ctx context.Context) (*schema.ReviseResult, error) {
	var contents []commit.DedupKey
	if r.record != nil {
		contents = append(contents, commit.DedupOf(r.record))
	}
	if r.plan.Narrowed != nil {
		m := r.rows[r.ids[0]]
		contents = append(contents, placeOf(m, narrowedHash(m, *r.plan.Narrowed)))
	}
	for _, c := range contents {
		id, err := r.LiveByHash(ctx, c)
		if errors.Is(err, pgx.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if i := slices.Index(r.ids, id); i >= 0 && !r.plan.Steps[i].Status.Live() {
			continue // it stops being live
		}
		refused, err := r.refuseFor(ctx, schema.ReviseDuplicate, "another memory has this content",
			[]string{id.String()})
		if err == nil && len(refused.Conflicts) > 0 {
			refused.Why = "memory " + id.String() + " has this content"
		}
		return refused, err
	}
	return nil, nil
}

// narrowedHash returns the content hash of a memory with another validity.
func narrowedHash(m commit.MemoryRow, v schema.Validity) []byte {
	payload, err := withValidity(m.Payload, v)
	if err != nil {
		return m.Hash // unreachable: the payload was stored
	}
	record := schema.MemoryRecord{Type: m.Type, Content: m.Content, Payload: payload}
	return memory.RecordHash(record, memory.RecordContent(record))
}

// withValidity returns a semantic payload with another validity.
func withValidity(payload json.RawMessage, v schema.Validity) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(payload, &members); err != nil {
		return nil, err
	}
	validity, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	members["validity"] = validity
	return json.Marshal(members)
}

// refuseFor refuses a revision because of conflicting memories. It names only those that the principal may read.
func (r *revising) refuseFor(ctx context.Context, status schema.ReviseStatus, why string,
	conflicts []string) (*schema.ReviseResult, error) {
	ids := make([]uuid.UUID, 0, len(conflicts))
	for _, conflict := range conflicts {
		id, err := uuid.Parse(conflict)
		if err != nil {
			return nil, err // unreachable: they are ids of memories
		}
		ids = append(ids, id)
	}
	visible, err := r.PeekRows(ctx, r.in.Request.Principal, ids)
	if err != nil {
		return nil, err
	}
	var named []string
	for _, id := range ids {
		if _, ok := visible[id]; ok {
			named = append(named, id.String())
		}
	}
	return r.refuse(status, why, named...), nil
}

// refuse returns the result of a revision that changes nothing.
func (r *revising) refuse(status schema.ReviseStatus, why string, conflicts ...string) *schema.ReviseResult {
	out := &schema.ReviseResult{Status: status, Action: cmp.Or(r.plan.Action, r.in.Request.Action), Why: why}
	for i, id := range r.ids {
		t := schema.RevisedMemory{ID: r.in.Request.Targets[i].ID}
		if m, ok := r.rows[id]; ok {
			t.Version, t.Status = m.Version, m.Status
		}
		out.Targets = append(out.Targets, t)
	}
	for _, id := range conflicts {
		out.Conflicts = append(out.Conflicts, schema.RevisedMemory{ID: id})
	}
	return out
}

// metadata returns the evidence and the run of a revision for history, without content.
func (r *revising) metadata(more map[string]any) map[string]any {
	evidence := make([]map[string]string, 0, len(r.in.Request.Evidence))
	for _, ref := range r.in.Request.Evidence {
		e := map[string]string{"kind": ref.Kind, "ref": ref.Ref}
		if ref.Hash != "" {
			e["hash"] = ref.Hash
		}
		evidence = append(evidence, e)
	}
	out := map[string]any{
		"evidence":    evidence,
		"operationId": r.in.Operation.ID,
		"workflowId":  r.in.Operation.WorkflowID,
		"revision":    r.in.Request.Action,
	}
	maps.Copy(out, more)
	return out
}
