package tidying

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/learning/compress"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// Summarises is the predicate of the relation from a summary to each of its episodes.
const Summarises = "summarizes"

// A summary divides the half-life of its episodes by halfLifeDivisor, but not below shortestLife.
const (
	halfLifeDivisor = 4
	shortestLife    = 24 * time.Hour
)

// ThreadPage is one page of episodes that became old, by their threads.
type ThreadPage struct {
	Read    int
	Threads []uuid.UUID // one episode of each
	Next    Place
	More    bool
}

// oldPage lists episodes with their threads in the order in which they were recorded.
const oldPage = `
	SELECT m.id, ` + pg.RecordedAt + ` AS at, m.agent_session_id AS session, m.agent_id
	FROM memories m
	WHERE ` + inScope + ` AND m.live AND m.type = 'episodic'
		AND (` + pg.RecordedAt + `, m.id) > (@after_at, @after_id)
		AND ` + pg.RecordedAt + ` <= @until
	ORDER BY ` + pg.RecordedAt + `, m.id
	LIMIT @limit`

// OldThreads returns the threads of episodes recorded after a place and no later than a time.
func (t *Tidying) OldThreads(ctx context.Context, s Scope, after Place, until time.Time,
	limit int) (ThreadPage, error) {
	out := ThreadPage{Next: after}
	err := t.Read(ctx, s.Tenant, func(tx pgx.Tx) error {
		rows, err := commit.Rows[struct {
			ID      uuid.UUID
			At      time.Time
			Session *string
			AgentID string
		}](ctx, tx, oldPage, s.args(pg.Args{"after_at": after.At, "after_id": after.ID, "until": until,
			"limit": limit}))
		seen := map[[2]string]bool{}
		for _, r := range rows {
			out.Next = Place{At: r.At, ID: r.ID}
			if r.Session == nil || seen[[2]string{*r.Session, r.AgentID}] {
				continue
			}
			seen[[2]string{*r.Session, r.AgentID}] = true
			out.Threads = append(out.Threads, r.ID)
		}
		out.Read, out.More = len(rows), len(rows) == limit
		return err
	})
	if err != nil {
		return ThreadPage{}, fmt.Errorf("find old threads: %w", err)
	}
	return out, nil
}

// maxThread is the number of episodes of a thread without a summary that are read at once, oldest first. The others
// are read after those have a summary.
const maxThread = 400

// Old is an episode of a thread.
type Old struct {
	compress.Episode
	Version    int
	Confidence float64
	owner      owned
}

// thread reads the episodes in the thread of a given one that have the same readers, oldest first.
const thread = `
	SELECT m.id, m.version, m.agent_id, m.policy_group, m.visibility, m.agent_session_id AS session, m.occurred_at,
		m.pinned, m.sensitivity, m.payload, m.content, m.who, m.confidence
	FROM memories o
	JOIN memories m ON m.tenant = o.tenant AND m.agent_session_id = o.agent_session_id AND m.agent_id = o.agent_id
		AND m.visibility = o.visibility AND m.policy_group = o.policy_group
	WHERE o.tenant = @tenant AND o.id = @of AND ` + inScope + `
		AND m.live AND m.typology = 'episodic' AND m.type = 'episodic' AND m.agent_session_id IS NOT NULL
		AND NOT EXISTS (
			SELECT FROM memory_links r
			JOIN memories x ON x.tenant = r.tenant AND x.id = r.source_id AND x.live
			WHERE r.tenant = m.tenant AND r.target_id = m.id AND r.predicate = '` + Summarises + `')
	ORDER BY m.occurred_at, m.id
	LIMIT @limit`

// Thread returns the episodes without a summary in the thread of an episode, oldest first.
func (t *Tidying) Thread(ctx context.Context, s Scope, of uuid.UUID) ([]Old, error) {
	var out []Old
	err := t.Read(ctx, s.Tenant, func(tx pgx.Tx) error {
		rows, err := commit.Rows[struct {
			owned
			ID          uuid.UUID
			Version     int
			Session     string
			OccurredAt  time.Time
			Pinned      bool
			Sensitivity schema.Sensitivity
			Payload     json.RawMessage
			Content     string
			Who         string
			Confidence  float64
		}](ctx, tx, thread, s.args(pg.Args{"of": of, "limit": maxThread}))
		for _, r := range rows {
			e := Old{Version: r.Version, Confidence: r.Confidence, owner: r.owned, Episode: compress.Episode{
				ID: r.ID.String(), Thread: r.Session, At: r.OccurredAt, Pinned: r.Pinned, Sensitivity: r.Sensitivity}}
			if err := json.Unmarshal(r.Payload, &e.Payload); err != nil {
				return fmt.Errorf("episode %s: %w", r.ID, err)
			}
			e.Payload = withContent(e.Payload, r.Content, r.Who, r.OccurredAt)
			out = append(out, e)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read thread: %w", err)
	}
	return out, nil
}

// withContent returns the payload of an episode. If its words are its content, as in a turn from an ingest, they are
// added to the timeline.
func withContent(p schema.EpisodicPayload, content, who string, at time.Time) schema.EpisodicPayload {
	for _, e := range p.Timeline {
		if e.Summary != "" {
			return p
		}
	}
	if who == "" {
		who = "user"
	}
	p.Timeline = []schema.TimelineEvent{{T: at, EventKind: ledger.KindUserInjected, Summary: who + ": " + content}}
	return p
}

// SummaryInput is a checked summary to write.
type SummaryInput struct {
	Writes
	Scope     Scope
	Sources   []Old // in the versions that were read
	Summary   compress.Summary
	Policy    proposals.WritePolicy
	Rules     *policy.Policy
	Embedding *pg.Embedding
}

// SummaryStatus is the outcome of a summary.
type SummaryStatus string

// Outcomes of a summary, in addition to those of a put record.
const (
	SummaryKept    SummaryStatus = "kept"
	SummaryDropped SummaryStatus = "dropped" // an episode has changed, was forgotten, or has a summary
)

// KeepSummary writes a summary as a semantic record that is derived from its episodes, and shortens their half-life.
// It writes nothing if one of them has changed since it was read.
func (t *Tidying) KeepSummary(ctx context.Context, in SummaryInput) (SummaryStatus, error) {
	out, err := pg.RetryOnConflict(ctx, func() (schema.PutResult, error) {
		return pipeline.RunOnce(ctx, t.DB, in.operation(in.Scope.Tenant), pipeline.KindPut, in.Now,
			func(c *commit.Change) (schema.PutResult, error) { return keepSummary(ctx, c, in) })
	})
	switch {
	case err != nil:
		return "", fmt.Errorf("keep summary: %w", err)
	case len(out.Items) == 0:
		return SummaryDropped, nil
	case out.Items[0].Status == schema.PutCreated:
		return SummaryKept, nil
	}
	return SummaryStatus(out.Items[0].Status), nil
}

func keepSummary(ctx context.Context, c *commit.Change, in SummaryInput) (schema.PutResult, error) {
	owner := in.Sources[0].owner
	p := owner.principal(in.Scope)
	if err := c.LockScope(ctx, p); err != nil {
		return schema.PutResult{}, err
	}
	var ids []uuid.UUID
	for _, e := range in.Sources {
		id, err := uuid.Parse(e.ID)
		if err != nil {
			return schema.PutResult{}, err
		}
		ids = append(ids, id)
	}
	rows, err := c.LockRows(ctx, p, ids)
	if err != nil {
		return schema.PutResult{}, err
	}
	taken, err := c.IdSet(ctx, `
		SELECT r.target_id
		FROM memory_links r
		JOIN memories x ON x.tenant = r.tenant AND x.id = r.source_id AND x.live
		WHERE r.tenant = @tenant AND r.target_id = ANY(@ids) AND r.predicate = '`+Summarises+`'`,
		pg.Args{"tenant": c.Tenant, "ids": ids})
	if err != nil || len(taken) > 0 {
		return schema.PutResult{}, err
	}
	for i, id := range ids {
		if m, ok := rows[id]; !ok || !m.Live || m.Version != in.Sources[i].Version {
			return schema.PutResult{}, nil
		}
	}
	record, err := summaryRecord(in)
	if err != nil {
		return schema.PutResult{}, err
	}
	result, err := edit.PutWithin(ctx, c, edit.PutInput{Operation: in.operation(in.Scope.Tenant),
		Request: schema.PutRequest{Operation: schema.Operation{Principal: p, Actor: Actor,
			Reason: fmt.Sprintf("summary of %d episodes of a thread", len(ids))},
			Visibility: owner.Visibility, Records: []schema.MemoryRecord{record}},
		Policy: in.Policy, Rules: in.Rules, Embeddings: []*pg.Embedding{in.Embedding}, Now: c.Now})
	if err != nil || result.Items[0].Status != schema.PutCreated {
		return result, err
	}
	for _, id := range ids {
		if err := shortenHalfLife(ctx, c, rows[id], in); err != nil {
			return schema.PutResult{}, err
		}
	}
	return result, nil
}

// summaryRecord returns a summary as a semantic record, because it is knowledge that lasts until it is revised, not
// an episode.
func summaryRecord(in SummaryInput) (schema.MemoryRecord, error) {
	payload := memory.SemanticPayload("thread", schema.PredicateStates, in.Summary.Text, false)
	from, confidence := in.Summary.From, 1.0
	record := schema.MemoryRecord{ID: uuid.NewSHA1(uuid.NameSpaceOID, []byte(in.Scope.Tenant+"\x1f"+in.Key)).String(),
		Type: schema.TypeSemantic, Content: in.Summary.Text, Sensitivity: in.Summary.Sensitivity, OccurredAt: from,
		Tags: []string{"summary"}, Salience: schema.DefaultSalience, Importance: schema.DefaultImportance,
		SourceTrust: 1, Session: in.Sources[0].Thread, Provenance: schema.Provenance{CreatedBy: Actor}}
	for _, e := range in.Sources {
		confidence = min(confidence, e.Confidence)
		record.Relations = append(record.Relations,
			schema.Relation{Predicate: "derived_from", TargetID: e.ID, Weight: 1},
			schema.Relation{Predicate: Summarises, TargetID: e.ID, Weight: 1})
		at := e.At
		payload.Evidence = append(payload.Evidence, schema.Ref{Kind: "observation", Ref: e.ID, Timestamp: &at})
	}
	record.Confidence, record.Provenance.Sources = confidence, payload.Evidence
	var err error
	record.Payload, err = json.Marshal(payload)
	return record, err
}

// shortenHalfLife shortens the half-life of an episode with a summary. Its content does not change.
func shortenHalfLife(ctx context.Context, c *commit.Change, m commit.MemoryRow, in SummaryInput) error {
	now := c.Now
	salience := m.Decay.Salience(m.Salience, now.Sub(m.SalienceAt))
	m.Decay.HalfLife = max(m.Decay.HalfLife/halfLifeDivisor, min(m.Decay.HalfLife, shortestLife))
	var due *time.Time
	if at, ok := m.Decay.DueAt(salience, now, m.CreatedAt, m.Pinned); ok {
		due = &at
	}
	_, err := c.ApplyStep(ctx, m, commit.Step{NowLive: true, Event: schema.EventModified, Action: schema.AuditModify,
		By: Actor, Reason: "a summary has it: it fades faster",
		Set: map[string]any{"half_life": m.Decay.HalfLife, "salience": salience, "salience_at": now,
			"decay_due_at": due},
		Metadata: map[string]any{"operationId": in.Key, "workflowId": in.WorkflowID}})
	return err
}
