package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/session"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/store/pg"
)

// CloseInput is a request to close a session.
type CloseInput struct {
	Key      Key
	FirstSeq int64           // of the episode to close; 0 means the open one
	Why      session.Closing // the reason, unless the agent ended it
	// Outcome, if set, is appended as run.ended, unless the agent ended the session or there were no events.
	Outcome schema.Outcome
	Summary string
	Handed  bool // the session was recorded after it ended, as an account of it
	Policy  proposals.WritePolicy
	Rules   *policy.Policy // classification rules; nil for none
	Now     time.Time
}

// Closed is a session, or a part of one, stored as an episode.
type Closed struct {
	FirstSeq int64           `json:"first_seq"`
	LastSeq  int64           `json:"last_seq"`
	Events   int             `json:"events"` // 0: there is no episode
	MemoryID *uuid.UUID      `json:"memory_id,omitempty"`
	Outcome  schema.Outcome  `json:"outcome,omitempty"`
	Closed   session.Closing `json:"closed,omitempty"`
	ClosedAt time.Time       `json:"closed_at,omitzero"`
}

const closedColumns = `e.first_seq, e.last_seq, e.events, e.memory_id, e.outcome, e.closed, e.closed_at`

// CloseSession makes an episode of the events that the agent saw since the session was opened, deletes the state of
// the work, and marks the session as closed, in one transaction. The episode ends with the event by which the agent
// ended the session or, without one, with the newest event of the stream. Later events belong to the next episode.
//
// If the session was closed before and has no new events, it returns the previous result.
func (s *Sessions) CloseSession(ctx context.Context, in CloseInput) (Closed, error) {
	out, err := pg.RetryOnConflict(ctx, func() (out Closed, err error) {
		err = commit.Write(ctx, s.DB, in.Key.Principal.Tenant, in.Now, func(c *commit.Change) error {
			out, err = closeIn(ctx, c, in)
			return err
		})
		return out, err
	})
	if err != nil {
		return Closed{}, fmt.Errorf("close session: %w", err)
	}
	return out, nil
}

func closeIn(ctx context.Context, c *commit.Change, in CloseInput) (Closed, error) {
	r, err := lock(ctx, c, in.Key)
	if err != nil {
		return Closed{}, err
	}
	if in.FirstSeq != 0 && in.FirstSeq != r.FirstSeq {
		return episodeAt(ctx, c, r.ID, in.FirstSeq)
	}
	if r.State == stateClosed {
		return latestEpisode(ctx, c, r)
	}
	through, err := head(ctx, c, r.Stream)
	if err != nil {
		return Closed{}, err
	}
	read := reading{Accumulator: session.NewAccumulator(r.Stream), key: in.Key, seq: r.FirstSeq - 1}
	if err := read.upTo(ctx, c, r.Stream, through); err != nil {
		return Closed{}, err
	}
	if in.Outcome != "" && read.ended == 0 && read.events > 0 {
		if through, err = appendEnd(ctx, c, in, r, read.turn); err != nil {
			return Closed{}, err
		}
		if err := read.upTo(ctx, c, r.Stream, through); err != nil {
			return Closed{}, err
		}
	}
	why := in.Why
	if read.ended > 0 {
		through, why = read.ended, session.Finished
	}
	through = max(through, r.FirstSeq-1)
	episode, ok := read.Episode(why)
	if err := settle(ctx, c, r, through, episode.Events); err != nil {
		return Closed{}, err
	}
	if !ok {
		return latestEpisode(ctx, c, r)
	}
	out := Closed{FirstSeq: r.FirstSeq, LastSeq: through, Events: episode.Events, Outcome: episode.Payload.Outcome,
		Closed: why, ClosedAt: c.Now}
	if err := keepArtifacts(ctx, c, in.Key.Principal, &episode.Payload); err != nil {
		return Closed{}, err
	}
	w := writing{Key: in.Key, id: in.Key.EpisodeID(out.FirstSeq), policy: in.Policy, rules: in.Rules,
		reason: "the session was closed: " + string(out.Closed)}
	if out.MemoryID, err = w.write(ctx, c, episode, out); err != nil {
		return Closed{}, err
	}
	_, err = c.Tx.Exec(ctx, `
		INSERT INTO session_episodes (tenant, session_id, first_seq, last_seq, events, memory_id, outcome, closed,
			closed_at, principal, handed)
		VALUES (@tenant, @id, @first, @last, @events, @memory, @outcome, @closed, @now, @principal, @handed)`,
		pg.Args{
			"principal": in.Key.Principal,
			"handed":    in.Handed,
			"tenant":    c.Tenant,
			"id":        r.ID,
			"first":     out.FirstSeq,
			"last":      out.LastSeq,
			"events":    out.Events,
			"memory":    out.MemoryID,
			"outcome":   out.Outcome,
			"closed":    out.Closed,
			"now":       c.Now,
		})
	return out, err
}

// reading reads the events of an open session, up to the event by which the agent ended it.
type reading struct {
	*session.Accumulator
	key    Key
	seq    int64 // of the newest event read
	events int
	turn   int
	ended  int64
}

func (r *reading) upTo(ctx context.Context, c *commit.Change, stream string, through int64) error {
	sees := r.key.viewer()
	return eachEvent(ctx, c, stream, r.seq, through, func(e ledger.Event) (bool, error) {
		r.seq = e.Seq
		if !sees.Sees(e) {
			return true, nil
		}
		r.Add(e)
		r.events++
		r.turn = max(r.turn, e.Turn)
		if e.Kind == ledger.KindOutcome && e.Agent == r.key.Principal.Agent {
			r.ended = e.Seq
		}
		return r.ended == 0, nil
	})
}

// appendEnd appends the event that ends a session, and returns its number.
func appendEnd(ctx context.Context, c *commit.Change, in CloseInput, r row, turn int) (int64, error) {
	payload, err := json.Marshal(ledger.Outcome{Outcome: in.Outcome, Summary: in.Summary})
	if err != nil {
		return 0, fmt.Errorf("outcome: %w", err)
	}
	p := in.Key.Principal
	appended, err := events.AppendIn(ctx, c.Tx,
		events.AppendInput{Tenant: c.Tenant, PolicyGroup: p.PolicyGroup, Now: c.Now,
			Events: []ledger.Event{{ID: fmt.Sprintf("session/%s/%d/end", r.ID, r.FirstSeq), Stream: r.Stream,
				Agent: p.Agent,
				Kind:  ledger.KindOutcome, Turn: turn, OccurredAt: c.Now, Payload: payload}}})
	if err != nil {
		return 0, err
	}
	return appended[0].Seq, nil
}

// settle marks a session as closed.
func settle(ctx context.Context, c *commit.Change, r row, through int64, events int) error {
	_, err := c.Tx.Exec(ctx, `
		UPDATE sessions
		SET state = 'closed', last_seq = @last, events = @events, working = NULL, updated_at = @now, closed_at = @now
		WHERE tenant = @tenant AND id = @id`,
		pg.Args{"tenant": c.Tenant, "id": r.ID, "last": through, "events": events, "now": c.Now})
	return err
}

// episodeAt returns the episode that began at an event, or a Closed without an event if there is none.
func episodeAt(ctx context.Context, c *commit.Change, id uuid.UUID, first int64) (Closed, error) {
	out, err := commit.Row[Closed](ctx, c.Tx, `
		SELECT `+closedColumns+`
		FROM session_episodes e
		WHERE e.tenant = @tenant AND e.session_id = @id AND e.first_seq = @first`,
		pg.Args{"tenant": c.Tenant, "id": id, "first": first})
	if errors.Is(err, pgx.ErrNoRows) {
		return Closed{FirstSeq: first, LastSeq: first - 1}, nil
	}
	return out, err
}

// latestEpisode returns the last episode, or a Closed without an event if the session has none.
func latestEpisode(ctx context.Context, c *commit.Change, r row) (Closed, error) {
	out, err := commit.Row[Closed](ctx, c.Tx, `
		SELECT `+closedColumns+`
		FROM session_episodes e
		WHERE e.tenant = @tenant AND e.session_id = @id
		ORDER BY e.first_seq DESC
		LIMIT 1`,
		pg.Args{"tenant": c.Tenant, "id": r.ID})
	if errors.Is(err, pgx.ErrNoRows) {
		return Closed{FirstSeq: r.FirstSeq, LastSeq: r.LastSeq}, nil
	}
	return out, err
}

// writing writes the records of a session's episodes.
type writing struct {
	Key
	id     uuid.UUID // of the record
	policy proposals.WritePolicy
	rules  *policy.Policy
	reason string
}

// record returns the record of an episode. Its times are those of the closing, so that a rebuild gives the same
// record.
func (w writing) record(e session.Episode, closed Closed) (schema.MemoryRecord, error) {
	payload, err := json.Marshal(e.Payload)
	if err != nil {
		return schema.MemoryRecord{}, fmt.Errorf("episode: %w", err)
	}
	return schema.MemoryRecord{
		ID: w.id.String(), Type: schema.TypeEpisodic, Payload: payload,
		Sensitivity: e.Sensitivity, Confidence: 1, Salience: schema.DefaultSalience,
		Importance:  schema.DefaultImportance,
		SourceTrust: schema.DefaultSourceTrust, Session: w.Session,
		CreatedAt: closed.ClosedAt, UpdatedAt: closed.ClosedAt, SalienceAt: closed.ClosedAt,
		Provenance: schema.Provenance{Sources: evidence(e.Payload), CreatedBy: w.actor()},
	}, nil
}

func (w writing) actor() string { return "agent:" + w.Principal.Agent }

// write writes the record of an episode. It returns nil if the write policy forbids it; history then records that.
func (w writing) write(ctx context.Context, c *commit.Change, e session.Episode,
	closed Closed) (*uuid.UUID, error) {
	record, err := w.record(e, closed)
	if err != nil {
		return nil, err
	}
	put := edit.PutInput{
		Operation: schema.OperationRef{Tenant: c.Tenant, ID: record.ID, WorkflowID: w.WorkflowID},
		Request: schema.PutRequest{
			Operation: schema.Operation{Principal: w.Principal, Actor: w.actor(), Reason: w.reason},
			Records:   []schema.MemoryRecord{record},
		},
		Policy: w.policy, Rules: w.rules, Now: c.Now,
	}
	result, err := edit.PutWithin(ctx, c, put)
	if err != nil {
		return nil, err
	}
	item := result.Items[0]
	switch {
	case item.Status.Stands():
		id, err := uuid.Parse(item.ID)
		return &id, err
	case item.Status == schema.PutShadow || item.Status == schema.PutFrozen || item.Status == schema.PutExists:
		return nil, nil
	}
	return nil, &schema.ValidationError{Fields: []schema.FieldError{{Field: "episode", Problem: string(item.Status)}}}
}

// evidence returns references to the events in the timeline. The timeline may omit events between them.
func evidence(p schema.EpisodicPayload) []schema.Ref {
	var out []schema.Ref
	for _, entry := range p.Timeline {
		if entry.EventKind == session.KindOmitted || len(out) == schema.MaxRecordRefs {
			continue
		}
		at := entry.T
		out = append(out, schema.Ref{Kind: "event", Ref: entry.Ref, Timestamp: &at})
	}
	return out
}

// keepArtifacts removes references to stored bytes that the agent may not see or that do not exist, because a
// record with them would be refused. The events still have them.
func keepArtifacts(ctx context.Context, c *commit.Change, p schema.Principal, payload *schema.EpisodicPayload) error {
	var sums [][]byte
	for _, ref := range payload.Artifacts {
		if sum, ok := commit.ParseAddress(ref); ok {
			sums = append(sums, sum)
		}
	}
	for _, node := range payload.ToolGraph {
		if sum, ok := commit.ParseAddress(node.ResultRef); ok {
			sums = append(sums, sum)
		}
	}
	if len(sums) == 0 {
		return nil
	}
	known, err := commit.Values[[]byte](ctx, c.Tx, `
		SELECT a.sha256
		FROM artifacts a
		WHERE a.tenant = @tenant AND a.sha256 = ANY(@sums) AND `+commit.MaySeeArtifact,
		pg.Args{"tenant": c.Tenant, "sums": sums, "agent": p.Agent, "project": p.Project, "grants": pg.ReadGrants(p)})
	if err != nil {
		return err
	}
	missing := func(ref string) bool {
		sum, ok := commit.ParseAddress(ref)
		return ok && !slices.ContainsFunc(known, func(k []byte) bool { return string(k) == string(sum) })
	}
	payload.Artifacts = slices.DeleteFunc(payload.Artifacts, missing)
	for i := range payload.ToolGraph {
		if missing(payload.ToolGraph[i].ResultRef) {
			payload.ToolGraph[i].ResultRef = ""
		}
	}
	return nil
}
