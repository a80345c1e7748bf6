package learning

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/pg"
)

// Actor is the actor of learned records in history.
const Actor = commit.ActorConsolidation

// maxSources is the number of episodes that a record names as evidence. The hash is computed from all of them.
const maxSources = 64

// hold locks episodes that are not forgotten, so that none is forgotten before the change ends.
func hold(ctx context.Context, c *commit.Change, ids []uuid.UUID) ([]uuid.UUID, error) {
	return commit.Values[uuid.UUID](ctx, c.Tx, `
		SELECT m.id
		FROM memories m
		WHERE m.tenant = @tenant AND m.id = ANY(@ids) AND m.deleted_at IS NULL
		ORDER BY m.id
		FOR SHARE OF m`, pg.Args{"tenant": c.Tenant, "ids": ids})
}

// closeGroup records the number of attempts that a group was decided on.
func closeGroup(ctx context.Context, c *commit.Change, group uuid.UUID, kind schema.MemoryType, attempts int64) error {
	column := decidedColumns[kind]
	_, err := c.Tx.Exec(ctx, `
		UPDATE learning_groups
		SET `+column+` = greatest(`+column+`, @attempts)
		WHERE tenant = @tenant AND id = @group`,
		pg.Args{"tenant": c.Tenant, "group": group, "attempts": attempts})
	return err
}

// WriteInput is a request to write the draft of a group.
type WriteInput struct {
	Scope      Scope
	Group      uuid.UUID
	Kind       schema.MemoryType
	WorkflowID string
	Policy     proposals.WritePolicy
	Rules      *policy.Policy // classification rules; nil for none
	Now        time.Time
}

// Written counts what a draft changed.
type Written struct {
	Added, Updated, Replaced int
	Dropped                  int            // deltas whose evidence or target has changed since they were decided
	Refused                  map[string]int // by reason
}

// draftRow is a draft as it is stored.
type draftRow struct {
	Attempts int64
	Deltas   json.RawMessage
	Memories []uuid.UUID
}

// WriteDraft writes the draft of a group in one transaction: the records, their outcomes, history, and the state of
// the group. A delta is dropped if one of its episodes was forgotten since, its target has changed, or it adds a
// record to a group in which another run has written one since; the group then waits for its next decision. Without a
// draft nothing happens: it was already written, or deleted together with an episode.
func (s *Learning) WriteDraft(ctx context.Context, in WriteInput) (Written, error) {
	out, err := pg.RetryOnConflict(ctx, func() (out Written, err error) {
		out.Refused = map[string]int{}
		err = commit.Write(ctx, s.DB, in.Scope.Tenant, in.Now, func(c *commit.Change) error {
			w := writing{Change: c, in: in, out: &out}
			return w.run(ctx)
		})
		return out, err
	})
	if err != nil {
		return Written{}, fmt.Errorf("write what was learned: %w", err)
	}
	return out, nil
}

type writing struct {
	*commit.Change
	in  WriteInput
	out *Written
}

func (w *writing) run(ctx context.Context) error {
	// Locks in the order of all writers: scopes, then rows.
	owner := schema.Principal{Project: w.in.Scope.Project, Scope: w.in.Scope.Scope}
	if err := w.LockScope(ctx, owner); err != nil {
		return err
	}
	args := pg.Args{"tenant": w.Tenant, "group": w.in.Group, "kind": w.in.Kind}
	d, err := commit.Row[draftRow](ctx, w.Tx, `
		SELECT attempts, deltas, memories
		FROM learning_drafts
		WHERE tenant = @tenant AND group_id = @group AND kind = @kind`, args)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	var deltas []Delta
	if err := json.Unmarshal(d.Deltas, &deltas); err != nil {
		return fmt.Errorf("draft: %w", err)
	}
	there, err := hold(ctx, w.Change, d.Memories)
	if err != nil {
		return err
	}
	known, err := commit.Values[string](ctx, w.Tx, `
		SELECT l.memory_id::text`+knownTables+`
		WHERE l.tenant = @tenant AND l.group_id = @group AND l.kind = @kind`, args)
	if err != nil {
		return err
	}
	for _, delta := range deltas {
		if delta.Action == Add && delta.Known != nil && slices.ContainsFunc(known, func(id string) bool {
			return !slices.Contains(delta.Known, id)
		}) {
			w.out.Dropped++
			continue
		}
		if err := w.delta(ctx, delta, there); err != nil {
			return err
		}
	}
	if _, err := w.Tx.Exec(ctx, `
		DELETE FROM learning_drafts
		WHERE tenant = @tenant AND group_id = @group AND kind = @kind`, args); err != nil {
		return err
	}
	if w.out.Dropped > 0 || w.in.Policy.MutationsFrozen() {
		return nil // the group waits for its next decision
	}
	return closeGroup(ctx, w.Change, w.in.Group, w.in.Kind, d.Attempts)
}

// delta writes one delta.
func (w *writing) delta(ctx context.Context, d Delta, there []uuid.UUID) error {
	needed, err := parsed(d.Evidence)
	if err != nil {
		return err
	}
	repeated, err := parsed(d.episodes())
	if err != nil {
		return err
	}
	for _, id := range repeated {
		if !slices.Contains(there, id) {
			w.out.Dropped++
			return nil
		}
	}
	if w.in.Policy.MutationsFrozen() {
		w.out.Refused["mutations_frozen"]++
		return nil
	}
	if len(d.Outcomes) > 0 { // drafts of earlier program versions have none
		visibility, err := w.visibilityOf(ctx, d)
		if err != nil {
			return err
		}
		stats, err := foresee(ctx, w.Change, d, visibility)
		if err != nil {
			return err
		}
		if d.Payload, err = withFigures(w.in.Kind, d.Payload, stats.All); err != nil {
			return err
		}
		d.Confidence = stats.All.Chance()
	}
	switch {
	case d.Action == Add:
		return w.add(ctx, d, needed)
	case d.Action == Update:
		return w.update(ctx, d, needed)
	case d.Action == Supersede:
		return w.supersede(ctx, d, needed)
	}
	return nil
}

// principal returns the owner and the visibility of a delta's new memories. If all evidence is one agent's, they
// belong to that agent.
func (w *writing) principal(d Delta) (schema.Principal, schema.Visibility) {
	sc := w.in.Scope
	p := schema.Principal{Tenant: sc.Tenant, Agent: sc.Agent, Project: sc.Project, Scope: sc.Scope}
	if p.Agent != "" {
		return p, schema.VisibilityPrivate
	}
	if len(d.Agents) > 0 {
		p.Agent = d.Agents[0]
	} else {
		p.Agent = Actor
	}
	if len(d.Agents) < 2 {
		return p, schema.VisibilityPrivate
	}
	return p, schema.VisibilityShared
}

// visibilityOf returns the visibility that the record of a delta gets.
func (w *writing) visibilityOf(ctx context.Context, d Delta) (schema.Visibility, error) {
	if d.Action == Add {
		_, v := w.principal(d)
		return v, nil
	}
	v, err := visibilityOf(ctx, w.Change, d.Target)
	if w.widens(v, d) {
		v = schema.VisibilityShared
	}
	return v, err
}

// record returns the record of a delta.
func (w *writing) record(d Delta, visibility schema.Visibility, sources []uuid.UUID) schema.MemoryRecord {
	m := schema.MemoryRecord{Type: w.in.Kind, Payload: d.Payload, Sensitivity: d.Sensitivity, Confidence: d.Confidence,
		Salience: schema.DefaultSalience, Importance: schema.DefaultImportance, SourceTrust: schema.DefaultSourceTrust,
		Visibility: visibility, Scope: w.in.Scope.Scope, Tags: []string{"learned"},
		Provenance: schema.Provenance{CreatedBy: Actor, Sources: refs(sources)}}
	m.ID = uuid.NewSHA1(w.in.Group, []byte(string(w.in.Kind)+d.Action+d.Target+d.Hash+string(d.Payload))).String()
	for _, id := range newest(sources) {
		m.Relations = append(m.Relations,
			schema.Relation{Predicate: revision.RelationDerivedFrom, TargetID: id.String(),
				Weight: 1})
	}
	return m
}

// newest returns the last of the episodes, whose ids are ordered by time.
func newest(ids []uuid.UUID) []uuid.UUID { return ids[max(0, len(ids)-maxSources):] }

// refs returns references to episodes as evidence.
func refs(ids []uuid.UUID) []schema.Ref {
	var out []schema.Ref
	for _, id := range newest(ids) {
		out = append(out, schema.Ref{Kind: "observation", Ref: id.String()})
	}
	return out
}

func (w *writing) operation(p schema.Principal, d Delta) schema.Operation {
	return schema.Operation{Principal: p, Actor: Actor, Reason: d.Why}
}

func (w *writing) add(ctx context.Context, d Delta, sources []uuid.UUID) error {
	p, visibility := w.principal(d)
	m := w.record(d, visibility, sources)
	result, err := edit.PutWithin(ctx, w.Change, edit.PutInput{
		Operation: schema.OperationRef{Tenant: w.Tenant, ID: m.ID, WorkflowID: w.in.WorkflowID},
		Request:   schema.PutRequest{Operation: w.operation(p, d), Records: []schema.MemoryRecord{m}},
		Policy:    w.in.Policy, Rules: w.in.Rules, Now: w.Now})
	if err != nil {
		return err
	}
	item := result.Items[0]
	if !item.Status.Stands() {
		w.out.Refused[string(item.Status)]++
		return nil
	}
	if item.Status == schema.PutCreated {
		w.out.Added++
	}
	return w.note(ctx, item.ID, d)
}

func (w *writing) update(ctx context.Context, d Delta, sources []uuid.UUID) error {
	id, err := uuid.Parse(d.Target)
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	p, err := w.ownerOf(ctx, id, d)
	if err != nil {
		return err
	}
	rows, err := w.LockRows(ctx, p, []uuid.UUID{id})
	if err != nil {
		return err
	}
	row, ok := rows[id]
	if !ok || !row.Live || row.Version != d.IfVersion {
		w.out.Dropped++
		return nil
	}
	if w.widens(row.Visibility, d) {
		d.widened = true
		return w.supersede(ctx, d, sources)
	}
	m := schema.MemoryRecord{Type: row.Type, Payload: d.Payload, Content: row.Content}
	text := memory.RecordContent(m)
	hash := memory.RecordHash(m, text)
	same, err := w.LiveByHash(ctx, commit.DedupKey{Owner: row.Owner, Visibility: row.Visibility, Type: row.Type,
		Hash: hash})
	switch {
	case err == nil && same != id: // it would become equal to another record
		w.out.Refused[proposals.ReasonDuplicate]++
		return nil
	case err != nil && !errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("find duplicate: %w", err)
	}
	class := memory.Classification{Sensitivity: row.Sensitivity}.DerivedFrom(d.Sensitivity)
	if _, err := w.ApplyStep(ctx, row, commit.Step{
		Set: map[string]any{"payload": string(d.Payload), "confidence": d.Confidence,
			"content_hash": hash, "sensitivity": class.Sensitivity},
		NowLive: true, Event: schema.EventModified, Action: schema.AuditModify, By: Actor, Reason: d.Why,
		Metadata: map[string]any{"workflowId": w.in.WorkflowID, "evidence": d.Hash}}); err != nil {
		return err
	}
	for _, ref := range refs(sources) {
		w.AddEvidence(id, ref)
	}
	for _, source := range newest(sources) {
		w.Relate(id, revision.RelationDerivedFrom, source)
	}
	w.out.Updated++
	return w.note(ctx, d.Target, d)
}

// ownerOf returns the principal of a delta with the owner of its target as the agent: a record of one agent may have
// evidence of several.
func (w *writing) ownerOf(ctx context.Context, target uuid.UUID, d Delta) (schema.Principal, error) {
	p, _ := w.principal(d)
	owners, err := commit.Values[string](ctx, w.Tx, `
		SELECT agent_id FROM memories WHERE tenant = @tenant AND id = @id`, pg.Args{"tenant": w.Tenant, "id": target})
	if len(owners) == 1 {
		p.Agent = owners[0]
	}
	return p, err
}

// widens reports whether a record that one agent has is now for all agents of the project: their shared evidence
// supports it.
func (w *writing) widens(target schema.Visibility, d Delta) bool {
	_, visibility := w.principal(d)
	return target == schema.VisibilityPrivate && visibility == schema.VisibilityShared
}

func (w *writing) supersede(ctx context.Context, d Delta, sources []uuid.UUID) error {
	target, err := uuid.Parse(d.Target)
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	p, err := w.ownerOf(ctx, target, d)
	if err != nil {
		return err
	}
	rows, err := w.PeekRows(ctx, p, []uuid.UUID{target})
	if err != nil {
		return err
	}
	visibility := schema.Visibility("") // that of the target
	if w.widens(rows[target].Visibility, d) {
		visibility = schema.VisibilityShared
	}
	m := w.record(d, visibility, sources)
	result, err := edit.ReviseWithin(ctx, w.Change, edit.ReviseInput{
		Operation: schema.OperationRef{Tenant: w.Tenant, ID: m.ID, WorkflowID: w.in.WorkflowID},
		Request: schema.ReviseRequest{Operation: w.operation(p, d), Action: schema.ReviseSupersede,
			Targets: []schema.Target{{ID: d.Target, IfVersion: d.IfVersion}}, Record: &m, Evidence: refs(sources)},
		Policy: w.in.Policy, Rules: w.in.Rules, Now: w.Now})
	if err != nil {
		return err
	}
	switch result.Status {
	case schema.ReviseApplied:
		w.out.Replaced++
		return w.note(ctx, result.Record.ID, d)
	case schema.ReviseVersionConflict, schema.ReviseNotFound:
		w.out.Dropped++
	default:
		w.out.Refused[string(result.Status)]++
	}
	return nil
}

// note stores the outcomes of a written record.
func (w *writing) note(ctx context.Context, id string, d Delta) error {
	if err := w.Flush(ctx); err != nil { // the record exists now
		return err
	}
	counted := len(d.Outcomes) > 0 // drafts of earlier program versions have none
	if counted {
		tallied, err := tally(ctx, w.Change, id, d)
		if err != nil {
			return err
		}
		d.Stats = tallied
	}
	stats, err := json.Marshal(d.Stats)
	if err != nil {
		return fmt.Errorf("stats: %w", err)
	}
	var base *string
	if counted {
		text := string(stats)
		base = &text
	}
	_, err = w.Tx.Exec(ctx, noteSQL, pg.Args{"tenant": w.Tenant, "id": id, "kind": w.in.Kind, "group": w.in.Group,
		"key": d.Key, "words": pg.TagList(d.Words), "hash": d.Hash, "stats": string(stats), "base": base,
		"tentative": false, "now": w.Now})
	return err
}

const noteSQL = `
	INSERT INTO learned AS l (tenant, memory_id, kind, group_id, key, words, evidence_hash, stats, base,
		tentative, updated_at)
	VALUES (@tenant, @id, @kind, @group, @key, @words, @hash, @stats, @base, @tentative, @now)
	ON CONFLICT (tenant, memory_id) DO UPDATE
	SET group_id = excluded.group_id, key = excluded.key, words = excluded.words,
		evidence_hash = excluded.evidence_hash, stats = excluded.stats, base = excluded.base,
		tentative = excluded.tentative,
		version = l.version + 1, updated_at = excluded.updated_at`
