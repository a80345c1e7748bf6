package tidying

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/learning/facts"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// FactInput is a change of facts to carry out.
type FactInput struct {
	Writes
	Scope      Scope
	Update     facts.Update
	Target     *Known      // of the update, in the version read
	Statements []Statement // its evidence, one statement for each episode, in the versions read
	Policy     proposals.WritePolicy
	Rules      *policy.Policy
	Embedding  *pg.Embedding
}

// Gone is the status of a change whose evidence or target has changed since it was read.
const Gone schema.ReviseStatus = "evidence_gone"

// Written is the outcome of a change of facts.
type Written struct {
	Status schema.ReviseStatus // whether the change was made, or why not
	Fact   *Known              // the new fact, if the change wrote one
	Target *Known              // the changed target in its new version, if the change revised one
}

// WriteFact changes a fact.
func (t *Tidying) WriteFact(ctx context.Context, in FactInput) (Written, error) {
	out, err := pg.RetryOnConflict(ctx, func() (schema.ReviseResult, error) {
		return pipeline.RunOnce(ctx, t.DB, in.operation(in.Scope.Tenant), pipeline.KindRevise, in.Now,
			func(c *commit.Change) (schema.ReviseResult, error) { return writeFact(ctx, c, in) })
	})
	if err != nil {
		return Written{}, fmt.Errorf("write fact: %w", err)
	}
	written := Written{Status: out.Status}
	if out.Status != schema.ReviseApplied {
		return written, nil
	}
	owner := in.Statements[0].owner
	owner.Visibility = visibilityOf(in.Statements)
	if in.Target != nil {
		owner = in.Target.owner
	}
	if len(out.Created) > 0 {
		written.Fact = &Known{Version: 1, owner: owner, Fact: facts.Fact{ID: out.Created[0], Text: in.Update.Text,
			Who: in.Update.Who, Conditions: in.Update.Conditions, Confidence: in.Update.Confidence}}
	}
	if len(out.Targets) > 0 && in.Target != nil {
		target := *in.Target
		target.Version = out.Targets[0].Version
		written.Target = &target
	}
	return written, nil
}

func writeFact(ctx context.Context, c *commit.Change, in FactInput) (schema.ReviseResult, error) {
	owner := in.Statements[0].owner
	if in.Target != nil {
		owner = in.Target.owner
	}
	p := owner.principal(in.Scope)
	if err := c.LockScope(ctx, p); err != nil {
		return schema.ReviseResult{}, err
	}
	var ids []uuid.UUID
	versions := map[uuid.UUID]int{}
	for _, s := range in.Statements {
		id, err := uuid.Parse(s.ID)
		if err != nil {
			return schema.ReviseResult{}, err
		}
		ids, versions[id] = append(ids, id), s.Version
	}
	rows, err := c.PeekRows(ctx, p, ids)
	if err != nil {
		return schema.ReviseResult{}, err
	}
	if in.Update.Action != facts.Reinforce { // a revision locks its target before its evidence
		for _, id := range ids {
			if m, ok := rows[id]; !ok || !m.Live {
				return schema.ReviseResult{Status: Gone}, nil
			}
		}
		if in.Update.Target == "" {
			return newFact(ctx, c, in, p, ids)
		}
		return reviseFact(ctx, c, in, p)
	}
	return reinforce(ctx, c, in, p, ids)
}

// reinforce adds evidence to a fact and raises its confidence and its salience.
func reinforce(ctx context.Context, c *commit.Change, in FactInput, p schema.Principal, ids []uuid.UUID) (
	schema.ReviseResult, error) {
	target, err := uuid.Parse(in.Target.ID)
	if err != nil {
		return schema.ReviseResult{}, err
	}
	rows, err := c.LockRows(ctx, p, append([]uuid.UUID{target}, ids...))
	if err != nil {
		return schema.ReviseResult{}, err
	}
	m, ok := rows[target]
	if !ok || !m.Live || m.Version != in.Target.Version {
		return schema.ReviseResult{Status: schema.ReviseVersionConflict}, nil
	}
	for _, id := range ids {
		if e, ok := rows[id]; !ok || !e.Live {
			return schema.ReviseResult{Status: Gone}, nil
		}
	}
	salience := m.Decay.Reinforce(m.Decay.Salience(m.Salience, c.Now.Sub(m.SalienceAt)), 1)
	var due *time.Time
	if at, ok := m.Decay.DueAt(salience, c.Now, m.CreatedAt, m.Pinned); ok {
		due = &at
	}
	_, err = c.ApplyStep(ctx, m, commit.Step{NowLive: true, Event: schema.EventModified, Action: schema.AuditReinforce,
		By: Actor, Reason: in.Update.Why, Metadata: map[string]any{"operationId": in.Key, "workflowId": in.WorkflowID,
			"evidence": len(ids)},
		Set: map[string]any{"confidence": max(m.Confidence, in.Update.Confidence), "salience": salience,
			"salience_at": c.Now, "last_reinforced_at": c.Now, "decay_due_at": due}})
	if err != nil {
		return schema.ReviseResult{}, err
	}
	for i, id := range ids {
		at := in.Statements[i].At
		c.AddEvidence(target, schema.Ref{Kind: "observation", Ref: id.String(), Timestamp: &at})
		c.RelateAs(id, commit.Relation{Predicate: revision.RelationSupports, Target: target, Weight: 1})
	}
	return schema.ReviseResult{Status: schema.ReviseApplied}, nil
}

// newFact writes a new fact.
func newFact(ctx context.Context, c *commit.Change, in FactInput, p schema.Principal, ids []uuid.UUID) (
	schema.ReviseResult, error) {
	rows, err := c.LockRows(ctx, p, ids)
	if err != nil {
		return schema.ReviseResult{}, err
	}
	for _, id := range ids {
		if e, ok := rows[id]; !ok || !e.Live {
			return schema.ReviseResult{Status: Gone}, nil
		}
	}
	record, err := factRecord(in)
	if err != nil {
		return schema.ReviseResult{}, err
	}
	put, err := edit.PutWithin(ctx, c, edit.PutInput{Operation: in.operation(in.Scope.Tenant),
		Request: schema.PutRequest{Operation: schema.Operation{Principal: p, Actor: Actor, Reason: in.Update.Why},
			Visibility: visibilityOf(in.Statements), Records: []schema.MemoryRecord{record}},
		Policy: in.Policy, Rules: in.Rules, Embeddings: []*pg.Embedding{in.Embedding}, Now: c.Now})
	if err != nil {
		return schema.ReviseResult{}, err
	}
	if status := put.Items[0].Status; status != schema.PutCreated {
		return schema.ReviseResult{Status: schema.ReviseStatus(status)}, nil
	}
	return schema.ReviseResult{Status: schema.ReviseApplied, Created: []string{put.Items[0].ID}}, nil
}

// reviseFact carries out a change as a revision operation.
func reviseFact(ctx context.Context, c *commit.Change, in FactInput, p schema.Principal) (schema.ReviseResult, error) {
	record, err := factRecord(in)
	if err != nil {
		return schema.ReviseResult{}, err
	}
	req := schema.ReviseRequest{Operation: schema.Operation{Principal: p, Actor: Actor, Reason: in.Update.Why},
		Targets: []schema.Target{{ID: in.Target.ID, IfVersion: in.Target.Version}}, Record: &record}
	switch in.Update.Action {
	case facts.Replace:
		req.Action = schema.ReviseSupersede
	case facts.Contest:
		req.Action = schema.ReviseContest
	default:
		req.Action = schema.ReviseFork
		if len(in.Update.TargetConditions) > 0 {
			left, err := ValidityOf(in.Update.TargetConditions)
			if err != nil {
				return schema.ReviseResult{}, err
			}
			req.TargetConditions = &left
		}
	}
	for _, s := range in.Statements {
		at := s.At
		req.Evidence = append(req.Evidence, schema.Ref{Kind: "observation", Ref: s.ID, Timestamp: &at})
	}
	return edit.ReviseWithin(ctx, c, edit.ReviseInput{Operation: in.operation(in.Scope.Tenant), Request: req,
		Policy: in.Policy, Rules: in.Rules, Embedding: in.Embedding, Now: c.Now})
}

// factRecord returns the record of a change, derived from the episodes that state it.
func factRecord(in FactInput) (schema.MemoryRecord, error) {
	u := in.Update
	who := u.Who
	if who == "" {
		who = "someone"
	}
	payload := memory.SemanticPayload(who, schema.PredicateStates, u.Text, false)
	var err error
	if payload.Validity, err = ValidityOf(u.Conditions); err != nil {
		return schema.MemoryRecord{}, err
	}
	record := schema.MemoryRecord{Type: schema.TypeSemantic, Content: u.Text, Who: u.Who, Confidence: u.Confidence,
		Salience: schema.DefaultSalience, Importance: schema.DefaultImportance, SourceTrust: 1,
		Sensitivity: schema.SensitivityLow, Provenance: schema.Provenance{CreatedBy: Actor}}
	for _, s := range in.Statements {
		at := s.At
		payload.Evidence = append(payload.Evidence, schema.Ref{Kind: "observation", Ref: s.ID, Timestamp: &at})
		record.Relations = append(record.Relations,
			schema.Relation{Predicate: revision.RelationDerivedFrom, TargetID: s.ID, Weight: 1})
		if at.After(record.OccurredAt) {
			record.OccurredAt = at
		}
	}
	record.Provenance.Sources = payload.Evidence
	record.Payload, err = json.Marshal(payload)
	return record, err
}

// visibilityOf returns the visibility of a fact from several episodes: only those who may read all of the episodes
// may read it.
func visibilityOf(said []Statement) schema.Visibility {
	out := said[0].owner.Visibility
	for _, s := range said {
		if memory.Narrower(s.owner.Visibility, out) {
			out = s.owner.Visibility
		}
	}
	if out == schema.VisibilityGroup { // the episodes may belong to several groups
		return schema.VisibilityPrivate
	}
	return out
}
