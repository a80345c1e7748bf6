package edit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// PutInput is one valid put.
type PutInput struct {
	Operation  schema.OperationRef
	Request    schema.PutRequest
	Policy     proposals.WritePolicy // already narrowed by the request
	Rules      *policy.Policy        // classification rules; nil for none
	Embeddings []*pg.Embedding       // by position of the record; may have nil elements, or be nil
	Now        time.Time
}

// Put writes full records (document 004 §15A) in one transaction. revision.PlanPut decides the status of each
// record. A refused record prevents only the records that refer to it. Every record leaves a history row, whatever
// its status. A repeated operation returns the first result and changes nothing.
func (s *Editing) Put(ctx context.Context, in PutInput) (schema.PutResult, error) {
	items := classify(in)
	return once(ctx, s, in.Operation, pipeline.KindPut, in.Now,
		func(c *commit.Change) (schema.PutResult, error) {
			if len(in.Request.Records) == 0 {
				// A sweep deleted the request before it was carried out.
				return schema.PutResult{}, fmt.Errorf("the request: %w", pg.ErrNotFound)
			}
			p := &putting{Change: c, in: in, items: slices.Clone(items)}
			return p.run(ctx)
		})
}

// putting is the state of one Put.
type putting struct {
	*commit.Change
	in       PutInput
	items    []putItem
	together map[uuid.UUID]bool      // the ids of the records
	aliases  map[string]uuid.UUID    // their external ids
	stored   map[uuid.UUID]putStored // stored memories with the ids and external ids of the records
	external map[string]uuid.UUID    // the ids of stored memories, by external id
	// ids of the records whose memories were deleted by a forget with force
	forgotten []uuid.UUID
}

// putItem is one record and the decision on it.
type putItem struct {
	revision.PutVerdict
	record schema.MemoryRecord
	class  commit.Classified
	key    uuid.UUID         // the id under which it is stored
	claim  *commit.ClaimOf   // the functional claim of a semantic record
	row    *commit.NewMemory // the row to store; nil if the record cannot be stored
}

// putStored is a stored memory, locked, with its record as a reader gets it.
type putStored struct {
	row    commit.MemoryRow
	record schema.MemoryRecord
}

// classify classifies the records, before the transaction begins.
func classify(in PutInput) []putItem {
	r := &in.Request
	items := make([]putItem, 0, len(r.Records))
	defaults := commit.RecordDefaults{Owner: r.Principal, Visibility: r.Visibility, Rules: in.Rules}
	for _, m := range r.Records {
		items = append(items, putItem{record: m, class: defaults.Classify(m)})
	}
	return items
}

func (p *putting) run(ctx context.Context) (schema.PutResult, error) {
	p.identify()
	if err := p.lock(ctx); err != nil {
		return schema.PutResult{}, err
	}
	put, err := p.gather(ctx)
	if err != nil {
		return schema.PutResult{}, err
	}
	for i, verdict := range revision.PlanPut(put) {
		if err := p.items[i].adopt(verdict); err != nil {
			return schema.PutResult{}, err
		}
	}
	if err := p.write(ctx); err != nil {
		return schema.PutResult{}, err
	}
	var result schema.PutResult
	for i := range p.items {
		it := &p.items[i]
		p.note(it)
		result.Items = append(result.Items, schema.PutItem{
			ID:         it.ID,
			ExternalID: it.record.ExternalID,
			Status:     it.Status,
			Version:    it.Version,
			Problem:    it.Problem,
		})
	}
	return result, nil
}

// identify settles the records' ids and claims.
func (p *putting) identify() {
	p.together, p.aliases = map[uuid.UUID]bool{}, map[string]uuid.UUID{}
	for i := range p.items {
		it := &p.items[i]
		m := &it.record
		it.key = commit.RecordID(p.Tenant, *m)
		m.ID = it.key.String()
		p.together[it.key] = true
		if m.ExternalID != "" {
			p.aliases[m.ExternalID] = it.key
		}
		if m.Type != schema.TypeSemantic {
			continue
		}
		claim := memory.RecordClaim(memory.PayloadOf[schema.SemanticPayload](*m))
		if claim.Functional {
			it.claim = &commit.ClaimOf{
				Owner:      it.class.Owner,
				Visibility: it.class.Visibility,
				Subject:    claim.Subject,
				Predicate:  claim.Predicate,
			}
		}
	}
}

// lock takes the locks in the order of all writers (scopes, claims, rows) and reads the memories stored under the
// ids.
func (p *putting) lock(ctx context.Context) error {
	scopes, claims := map[string]schema.Principal{}, []commit.ClaimOf{}
	for i := range p.items {
		it := &p.items[i]
		scopes[it.class.Owner.Scope] = it.class.Owner
		if it.claim != nil {
			claims = append(claims, *it.claim)
		}
	}
	for _, scope := range slices.Sorted(maps.Keys(scopes)) {
		if err := p.LockScope(ctx, scopes[scope]); err != nil {
			return err
		}
	}
	if err := p.LockClaims(ctx, claims); err != nil {
		return err
	}
	return p.readStored(ctx)
}

// adopt applies the verdict on a record to the item.
func (it *putItem) adopt(v revision.PutVerdict) error {
	it.PutVerdict = v
	if !v.Writes() {
		return nil
	}
	row := it.row
	row.SourceTrust, row.Classification.Sensitivity = &v.SourceTrust, v.Sensitivity
	var err error
	if row.Relations, err = edgesTo(v.Relations); err != nil {
		return err
	}
	if row.Supersedes, err = optionalID(v.Supersedes); err != nil {
		return err
	}
	row.SupersededBy, err = optionalID(v.SupersededBy)
	return err
}

// metadata returns the run for history.
func (p *putting) metadata() map[string]any {
	return map[string]any{"operationId": p.in.Operation.ID, "workflowId": p.in.Operation.WorkflowID}
}
