package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// FeedbackInput is a validated feedback request.
type FeedbackInput struct {
	Operation schema.OperationRef
	Request   schema.FeedbackRequest
	Policy    proposals.WritePolicy
	Now       time.Time
}

// Feedback reinforces or penalises each memory that a retrieval returned, in one transaction (document 004 §11,
// §15.6). The verdict on an item is kept as long as the retrieval. The same verdict again changes nothing, and
// another verdict corrects it. The verdicts of one source do not alone move a memory that others read
// (lifecycle.ReinforceFrom).
//
// It returns ErrNotFound for a retrieval that does not exist, or that belongs to another agent or user. A user's
// verdict on the agent's own memories counts.
func (s *Pipeline) Feedback(ctx context.Context, in FeedbackInput) (schema.FeedbackResult, error) {
	result, err := pg.RetryOnConflict(ctx, func() (schema.FeedbackResult, error) {
		return RunOnce(ctx, s.DB, in.Operation, kindFeedback, in.Now,
			func(c *commit.Change) (schema.FeedbackResult, error) {
				f := feeding{Change: c, in: in}
				return f.run(ctx)
			})
	})
	if err != nil {
		return schema.FeedbackResult{}, fmt.Errorf("feedback: %w", err)
	}
	return result, nil
}

// feeding is the state of one Feedback.
type feeding struct {
	*commit.Change
	in        FeedbackInput
	retrieval uuid.UUID
	rows      map[uuid.UUID]commit.MemoryRow
	said      map[uuid.UUID]lifecycle.PriorVerdict
	sources   sources
}

func (f *feeding) run(ctx context.Context) (schema.FeedbackResult, error) {
	req := f.in.Request
	out := schema.FeedbackResult{RetrievalID: req.RetrievalID, Items: []schema.FeedbackResultItem{}}
	if req.RetrievalID == "" {
		return out, fmt.Errorf("request of operation %s: %w", f.in.Operation.ID, pg.ErrNotFound)
	}
	var err error
	if f.retrieval, err = uuid.Parse(req.RetrievalID); err != nil {
		return out, &schema.ValidationError{Fields: []schema.FieldError{{Field: "retrieval_id",
			Problem: "must be the id of a retrieval"}}}
	}
	// The retrieval is locked until commit, so that retention does not delete it while its feedback is written.
	var returned []uuid.UUID
	err = f.Tx.QueryRow(ctx, `
		SELECT memory_ids
		FROM retrievals
		WHERE `+ownRetrieval+`
		FOR KEY SHARE`, ownRetrievalArgs(req.Principal, f.retrieval)).Scan(&returned)
	if errors.Is(err, pgx.ErrNoRows) {
		return out, fmt.Errorf("retrieval %s: %w", f.retrieval, pg.ErrNotFound)
	}
	if err != nil {
		return out, err
	}
	verdicts := lifecycle.Verdicts(req, returned)
	ids := make([]uuid.UUID, 0, len(verdicts))
	for _, v := range verdicts {
		if v.Returned { // the answer does not reveal whether other memories exist
			ids = append(ids, v.MemoryID)
		}
	}
	if f.rows, err = f.LockReadable(ctx, req.Principal, ids); err != nil {
		return out, err
	}
	// This read comes after the locks, so that two feedbacks on one item see each other.
	if f.said, err = f.priorVerdicts(ctx, ids); err != nil {
		return out, err
	}
	if f.sources, err = f.readSources(ctx); err != nil {
		return out, err
	}
	for _, v := range verdicts {
		item, err := f.item(v)
		if err != nil {
			return out, fmt.Errorf("memory %s: %w", v.MemoryID, err)
		}
		out.Items = append(out.Items, item)
	}
	return out, nil
}

// ownRetrieval is the condition of a retrieval of an agent, or of one of its users.
const ownRetrieval = `tenant = @tenant AND id = @id AND agent_id = @agent AND (@scope = '' OR scope = @scope)`

func ownRetrievalArgs(p schema.Principal, retrieval uuid.UUID) pg.Args {
	return pg.Args{"tenant": p.Tenant, "id": retrieval, "agent": p.Agent, "scope": pg.UserScope(p)}
}

// priorVerdicts returns the earlier verdicts on the ids, on this retrieval.
func (f *feeding) priorVerdicts(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]lifecycle.PriorVerdict, error) {
	rows, err := commit.Rows[struct {
		ID uuid.UUID `db:"memory_id"`
		lifecycle.PriorVerdict
	}](ctx, f.Tx, `
		SELECT memory_id, verdict, moved, coalesce(counted, '') AS counted, effective_at AS at, by_source
		FROM retrieval_feedback
		WHERE tenant = @tenant AND retrieval_id = @retrieval AND memory_id = ANY(@ids)`,
		pg.Args{"tenant": f.Tenant, "retrieval": f.retrieval, "ids": ids})
	if err != nil {
		return nil, err
	}
	out := make(map[uuid.UUID]lifecycle.PriorVerdict, len(rows))
	for _, r := range rows {
		out[r.ID] = r.PriorVerdict
	}
	return out, nil
}

// item applies the verdict to one memory.
func (f *feeding) item(v lifecycle.ItemVerdict) (schema.FeedbackResultItem, error) {
	out := schema.FeedbackResultItem{MemoryID: v.MemoryID.String(), Verdict: v.Verdict,
		Status: schema.FeedbackNotRetrieved}
	if !v.Returned {
		return out, nil
	}
	m, ok := f.rows[v.MemoryID]
	switch {
	case !ok:
		out.Status = schema.FeedbackGone
		return out, nil
	case !m.Live:
		out.Status = schema.FeedbackGone
	case f.in.Policy.MutationsFrozen():
		out.Status = schema.FeedbackFrozen
	}
	if out.Status != schema.FeedbackNotRetrieved {
		// The reason is left out: it may quote a text that has been erased.
		by, _ := f.actorAndReason(m)
		f.History(commit.HistoryRow{MemoryID: m.ID, Event: schema.EventNone, By: by,
			Reason:   fmt.Sprintf("feedback refused (%s)", out.Status),
			Metadata: f.given(m, map[string]any{"refused": out.Status, "verdict": v.Verdict})})
		return out, nil
	}
	var earlier *lifecycle.PriorVerdict
	if said, ok := f.said[m.ID]; ok {
		earlier = &said
		if v.Fill {
			v.Verdict = said.Verdict
		}
	}
	r, err := f.effect(m, v.Verdict, earlier)
	if err != nil {
		return out, err
	}
	out.Status, out.Verdict = r.Status, v.Verdict
	out.SalienceBefore, out.SalienceAfter = &r.Before, &r.After
	if r.Outcomes != nil {
		out.SuccessCount, out.FailureCount, out.Confidence = &r.Outcomes.Successes, &r.Outcomes.Failures, &r.Confidence
	}
	if r.Status == schema.FeedbackUnchanged {
		return out, nil
	}
	if earlier != nil {
		out.Corrects = earlier.Verdict
	}
	if f.sources.othersRead(m.ID) {
		out.CountsFor, out.Held = schema.ReachAll, r.Held
		if r.Held != "" {
			out.CountsFor = schema.ReachOwn
		}
	}
	return out, f.reinforce(m, v.Verdict, r, out)
}

// actorAndReason returns the actor and the reason for a memory's history. All users may read the history of the
// agent's own memories, so it does not quote a user.
func (f *feeding) actorAndReason(m commit.MemoryRow) (by, reason string) {
	p := f.in.Request.Principal
	if !memory.MayChange(p, m.Holding()) {
		return "agent:" + p.Agent, ""
	}
	return f.in.Request.By(), strings.TrimSpace(f.in.Request.Reason)
}

// given adds the retrieval of the feedback to the metadata of a memory's history. The agent's memories do not name the
// retrievals of users.
func (f *feeding) given(m commit.MemoryRow, metadata map[string]any) map[string]any {
	if memory.MayChange(f.in.Request.Principal, m.Holding()) {
		metadata["retrieval_id"] = f.retrieval.String()
	}
	return metadata
}

// reinforce writes the effect of a verdict to a locked memory.
//
// The memory's version and updated_at stay the same, and the former state is not kept as a version. Salience,
// confidence and counts say how useful a memory is, not what it says. A new version for every use would fail the
// if_version of an editor of the content, and proposals would be decided again although no content has changed.
// History has the numbers before and after.
func (f *feeding) reinforce(m commit.MemoryRow, v schema.Verdict, r lifecycle.Reinforcement,
	said schema.FeedbackResultItem) error {
	f.Queue.Queue(`
		UPDATE memories
		SET salience = @salience,
			salience_at = @salience_at,
			decay_due_at = @due_at,
			last_reinforced_at = CASE WHEN @reinforced THEN greatest(last_reinforced_at, @at)
				ELSE last_reinforced_at END
		WHERE tenant = @tenant AND id = @id`,
		pg.Args{
			"tenant":      f.Tenant,
			"id":          m.ID,
			"salience":    r.Salience,
			"salience_at": r.SalienceAt,
			"due_at":      r.DueAt,
			"reinforced":  r.Reinforced,
			"at":          r.At,
		})
	metadata := f.given(m, map[string]any{"verdict": v, "salience_before": r.Before, "salience_after": r.After})
	if said.Corrects != "" {
		metadata["corrects"] = said.Corrects
	}
	if said.Held != "" {
		metadata["held"] = said.Held
	}
	if r.Payload != nil {
		if err := schema.ValidatePayload(m.Type, r.Payload); err != nil {
			return err
		}
		f.Queue.Queue(`
			UPDATE memories
			SET confidence = @confidence, payload = @payload
			WHERE tenant = @tenant AND id = @id`,
			pg.Args{"tenant": f.Tenant, "id": m.ID, "confidence": r.Confidence,
				"payload": string(r.Payload)})
		metadata["confidence_before"], metadata["confidence_after"] = m.Confidence, r.Confidence
		metadata["success_count"], metadata["failure_count"] = r.Outcomes.Successes, r.Outcomes.Failures
	}
	f.keepVerdict(m.ID, v, r)
	action := schema.AuditPenalise
	if r.Reinforced {
		action = schema.AuditReinforce
	}
	by, reason := f.actorAndReason(m)
	if reason != "" {
		// An erasure ends the runs that carried a text. A run of feedback carries text only in its reason, and
		// memories in frequent use have many runs without one.
		metadata["workflow_id"] = f.in.Operation.WorkflowID
	}
	f.History(commit.HistoryRow{MemoryID: m.ID, Event: schema.EventModified, By: by,
		Reason: cmp.Or(reason, "feedback on a retrieval: "+string(v)),
		Action: action, Metadata: metadata})
	return nil
}

// keepVerdict stores a verdict with its retrieval.
func (f *feeding) keepVerdict(id uuid.UUID, v schema.Verdict, r lifecycle.Reinforcement) {
	f.Queue.Queue(feedbackSQL, pg.Args{
		"tenant":       f.Tenant,
		"retrieval_id": f.retrieval,
		"memory_id":    id,
		"verdict":      v,
		"weight":       r.Weight,
		"moved":        r.Moved,
		"counted":      commit.Nullable(r.Counted),
		"by_source":    f.sources.othersRead(id),
		"effective_at": r.At,
		"actor":        f.in.Request.By(),
		"now":          f.Now,
	})
}

// feedbackSQL stores a verdict, or corrects an earlier one.
const feedbackSQL = `
	INSERT INTO retrieval_feedback AS x (tenant, retrieval_id, memory_id, verdict, weight, moved, counted,
		by_source, effective_at, actor, created_at, updated_at)
	VALUES (@tenant, @retrieval_id, @memory_id, @verdict, @weight, @moved, @counted,
		@by_source, @effective_at, @actor, @now, @now)
	ON CONFLICT (tenant, retrieval_id, memory_id) DO UPDATE
	SET verdict = excluded.verdict,
		weight = excluded.weight,
		moved = excluded.moved,
		counted = excluded.counted,
		by_source = excluded.by_source,
		effective_at = excluded.effective_at,
		actor = excluded.actor,
		corrections = x.corrections + 1,
		updated_at = excluded.updated_at`

// maxSources is the number of rows of sources that are kept for a memory, those with the newest verdicts.
const maxSources = 1_000

// sources are the source of a feedback and the others, for the memories that others read too.
type sources struct {
	of     map[uuid.UUID]string // UserKey of the feedback's source by memory; only memories that others read
	said   map[uuid.UUID]lifecycle.SourceVerdicts
	agreed map[agreement]int // largest number of days on which another source gave the verdict
}

// agreement identifies a verdict that other sources gave on a memory.
type agreement struct {
	memory  uuid.UUID
	verdict schema.Verdict
}

// othersRead reports whether others read a memory too.
func (s sources) othersRead(id uuid.UUID) bool {
	_, ok := s.of[id]
	return ok
}

// readSources reads the sources of the locked memories, after their locks.
func (f *feeding) readSources(ctx context.Context) (sources, error) {
	p := f.in.Request.Principal
	out := sources{of: map[uuid.UUID]string{}, said: map[uuid.UUID]lifecycle.SourceVerdicts{}, agreed: map[agreement]int{}}
	var ids []uuid.UUID
	var keys []string
	for id, m := range f.rows {
		if source, ok := memory.VerdictSourceOf(p, m.Holding()); ok {
			out.of[id] = evidence.UserKey(f.Tenant, source.Agent, source.User)
			ids, keys = append(ids, id), append(keys, out.of[id])
		}
	}
	if len(ids) == 0 {
		return out, nil
	}
	// The sources of a memory are agents, or users of its agent. Rows of the other kind do not count.
	found, err := commit.Rows[struct {
		ID     uuid.UUID `db:"memory_id"`
		Own    bool
		Agreed int
		lifecycle.VerdictStreak
	}](ctx, f.Tx, `
		SELECT v.memory_id, true AS own, v.verdict, v.times, v.days, v.counted, v.moved, v.at, 0 AS agreed
		FROM unnest(@ids::uuid[], @keys::text[]) j(id, key)
			JOIN verdict_sources v
				ON v.tenant = @tenant AND v.memory_id = j.id AND v.agent_id = @agent AND v.user_key = j.key
		UNION ALL
		SELECT v.memory_id, false, v.verdict, 0, 0, 0, 0, max(v.at), max(v.days)
		FROM unnest(@ids::uuid[], @keys::text[]) j(id, key)
			JOIN verdict_sources v
				ON v.tenant = @tenant AND v.memory_id = j.id AND (v.agent_id, v.user_key) <> (@agent, j.key)
					AND (v.user_key = '') = (j.key = '')
		GROUP BY v.memory_id, v.verdict`,
		pg.Args{"tenant": f.Tenant, "ids": ids, "keys": keys, "agent": p.Agent})
	if err != nil {
		return out, err
	}
	for _, r := range found {
		if !r.Own {
			out.agreed[agreement{r.ID, r.Verdict}] = r.Agreed
			continue
		}
		said := out.said[r.ID]
		*said.Of(r.Verdict) = r.VerdictStreak
		out.said[r.ID] = said
	}
	return out, nil
}

// effect computes the effect of a verdict, and stores the streaks of its source if others read the memory too.
func (f *feeding) effect(m commit.MemoryRow, v schema.Verdict, earlier *lifecycle.PriorVerdict) (
	lifecycle.Reinforcement, error) {
	if !f.sources.othersRead(m.ID) {
		return lifecycle.Reinforce(m.Rated(), v, earlier, f.Now)
	}
	before := f.sources.said[m.ID]
	r, now, err := lifecycle.ReinforceFrom(m.Rated(), v, earlier, before, f.sources.agreed[agreement{m.ID, v}], f.Now)
	if err != nil {
		return r, err
	}
	f.saveStreak(m.ID, true, before.OfUses, now.OfUses)
	f.saveStreak(m.ID, false, before.OfUnused, now.OfUnused)
	return r, nil
}

// saveStreak stores the source's streak of verdicts on the uses of a memory, or on results that were not used.
func (f *feeding) saveStreak(id uuid.UUID, used bool, before, now lifecycle.VerdictStreak) {
	if now == before {
		return
	}
	args := pg.Args{"tenant": f.Tenant, "memory": id, "agent": f.in.Request.Principal.Agent, "user": f.sources.of[id],
		"used": used}
	if now.Verdict == "" {
		f.Queue.Queue(`
			DELETE FROM verdict_sources
			WHERE tenant = @tenant AND memory_id = @memory AND agent_id = @agent AND user_key = @user AND used = @used`, args)
		return
	}
	if before.Verdict == "" {
		f.Queue.Queue(pruneSourcesSQL, pg.Args{"tenant": f.Tenant, "memory": id, "kept": maxSources - 1})
	}
	args["verdict"], args["times"], args["days"], args["counted"] = now.Verdict, now.Times, now.Days, now.Counted
	args["moved"], args["at"] = now.Moved, now.At
	f.Queue.Queue(sourceSQL, args)
}

// pruneSourcesSQL makes room for another source.
const pruneSourcesSQL = `
	DELETE FROM verdict_sources v
	WHERE v.tenant = @tenant AND v.memory_id = @memory AND (v.agent_id, v.user_key, v.used) IN (
		SELECT o.agent_id, o.user_key, o.used
		FROM verdict_sources o
		WHERE o.tenant = @tenant AND o.memory_id = @memory
		ORDER BY o.at DESC, o.agent_id, o.user_key, o.used
		OFFSET @kept)`

const sourceSQL = `
	INSERT INTO verdict_sources (tenant, memory_id, agent_id, user_key, used, verdict, times, days, counted, moved, at)
	VALUES (@tenant, @memory, @agent, @user, @used, @verdict, @times, @days, @counted, @moved, @at)
	ON CONFLICT (tenant, memory_id, agent_id, user_key, used) DO UPDATE
	SET verdict = excluded.verdict,
		times = excluded.times,
		days = excluded.days,
		counted = excluded.counted,
		moved = excluded.moved,
		at = excluded.at`

// Retrieved lists the results of a retrieval in their order, with the feedback on each. It returns ErrNotFound for
// a retrieval that does not exist, or that belongs to another agent or user.
func (s *Pipeline) Retrieved(ctx context.Context, p schema.Principal, retrieval uuid.UUID) (schema.Retrieved, error) {
	out := schema.Retrieved{RetrievalID: retrieval.String(), Items: []schema.RetrievedItem{}}
	err := s.Read(ctx, p.Tenant, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `SELECT created_at FROM retrievals WHERE `+ownRetrieval,
			ownRetrievalArgs(p, retrieval)).Scan(&out.At)
		if errors.Is(err, pgx.ErrNoRows) {
			return pg.ErrNotFound
		}
		if err != nil {
			return err
		}
		found, err := commit.Rows[schema.RetrievedItem](ctx, tx, `
			SELECT x.id::text AS memory_id,
				coalesce(f.verdict, '') AS verdict,
				coalesce(f.actor, '') AS actor,
				f.updated_at AS said_at,
				coalesce(f.corrections, 0) AS corrections
			FROM retrievals r
				CROSS JOIN unnest(r.memory_ids) WITH ORDINALITY x(id, n)
				LEFT JOIN retrieval_feedback f
					ON f.tenant = r.tenant AND f.retrieval_id = r.id AND f.memory_id = x.id
			WHERE r.tenant = @tenant AND r.id = @retrieval
			ORDER BY x.n`,
			pg.Args{"tenant": p.Tenant, "retrieval": retrieval})
		out.Items = append(out.Items, found...)
		return err
	})
	if err != nil {
		return schema.Retrieved{}, fmt.Errorf("retrieval %s: %w", retrieval, err)
	}
	return out, nil
}
