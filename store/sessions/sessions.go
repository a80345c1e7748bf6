package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/session"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/store/pg"
)

// Sessions stores sessions. It is safe for concurrent use.
type Sessions struct {
	*pg.DB
}

// New returns a Sessions on a database.
func New(db *pg.DB) *Sessions { return &Sessions{DB: db} }

// Key identifies a session.
type Key struct {
	Principal  schema.Principal
	Session    string
	Stream     string // that has its events
	WorkflowID string // of the runs that process its events
}

// namespace is the UUID namespace of session ids.
var namespace = uuid.MustParse("5b0c9a3e-6c1f-4f0e-9d0a-0d6f1f0f2a77")

// ID is the id of the session: the same for the same agent, user and session.
func (k Key) ID() uuid.UUID {
	p := k.Principal
	return uuid.NewSHA1(namespace, []byte(strings.Join([]string{p.Tenant, p.Agent, p.User, k.Session}, "\x1f")))
}

// EpisodeID is the id of the record of the episode that began at an event.
func (k Key) EpisodeID(first int64) uuid.UUID {
	id := k.ID()
	return uuid.NewSHA1(id, fmt.Appendf(nil, "episode/%d", first))
}

// viewer returns the viewer that decides which events of the stream count.
func (k Key) viewer() views.Viewer {
	return views.Viewer{Agent: k.Principal.Agent, PolicyGroup: k.Principal.PolicyGroup}
}

// State is the progress of a session.
type State struct {
	ID       uuid.UUID
	Stream   string
	Open     bool
	FirstSeq int64 // of the open episode
	LastSeq  int64 // the newest processed event
	Events   int   // of the episode, as the agent sees them
	Ended    int64 // the event with which the agent ended it; 0 if it is open
	// Changed is the last event that changed a field of Working other than its state and its time.
	Changed int64
	Working session.Working
}

// row is a session as it is stored.
type row struct {
	ID         uuid.UUID
	Stream     string
	State      string
	FirstSeq   int64
	LastSeq    int64
	Events     int
	EndedSeq   *int64
	Working    json.RawMessage
	ChangedSeq int64
	Principal  *schema.Principal // that last opened it
}

const rowColumns = `s.id, s.stream, s.state, s.first_seq, s.last_seq, s.events, s.ended_seq, s.working, s.changed_seq,
	s.principal`

// States of a session.
const (
	stateOpen   = "open"
	stateClosed = "closed"
)

// OpenSession opens a session if it is not open, and returns its progress. A session begins with the first event of
// its own stream (run/SESSION), or with the next event of a shared stream. A closed session continues with the
// event after its last one. If the session belongs to another stream, or the stream to another user or to none
// (views.SessionProblem), it returns a *schema.ValidationError.
func (s *Sessions) OpenSession(ctx context.Context, key Key, now time.Time) (State, error) {
	return s.change(ctx, key, now, func(context.Context, *commit.Change, *State) error { return nil })
}

// maxTakenIn is the number of events that one transaction processes, so that a call that is interrupted keeps most of
// its work: a shared stream may have many events since the session was closed.
const maxTakenIn = 10_000

// TakeIn processes the events of a session's stream up to its end, or up to the event by which the agent ended the
// session. It opens the session if necessary. After an error, another call continues with the rest.
func (s *Sessions) TakeIn(ctx context.Context, key Key, now time.Time) (State, error) {
	for {
		more := false
		st, err := s.change(ctx, key, now, func(ctx context.Context, c *commit.Change, st *State) (err error) {
			more, err = takeIn(ctx, c, key, st, maxTakenIn)
			return err
		})
		if err != nil || !more {
			return st, err
		}
	}
}

// change runs fn on an open, locked session and stores the state that fn returns.
func (s *Sessions) change(ctx context.Context, key Key, now time.Time,
	fn func(context.Context, *commit.Change, *State) error) (State, error) {
	var out State
	err := commit.Write(ctx, s.DB, key.Principal.Tenant, now, func(c *commit.Change) error {
		st, err := open(ctx, c, key)
		if err != nil {
			return err
		}
		if err := fn(ctx, c, &st); err != nil {
			return err
		}
		out = st
		return store(ctx, c, st)
	})
	if err != nil {
		return State{}, fmt.Errorf("session: %w", err)
	}
	return out, nil
}

// lock reads a session and locks it. It returns pg.ErrNotFound if there is none.
func lock(ctx context.Context, c *commit.Change, key Key) (row, error) {
	found, err := commit.Row[row](ctx, c.Tx, `
		SELECT `+rowColumns+`
		FROM sessions s
		WHERE s.tenant = @tenant AND s.id = @id
		FOR UPDATE`,
		pg.Args{"tenant": c.Tenant, "id": key.ID()})
	if errors.Is(err, pgx.ErrNoRows) {
		return row{}, pg.ErrNotFound
	}
	return found, err
}

// head returns the newest number of a stream; 0 if there is none.
func head(ctx context.Context, c *commit.Change, stream string) (int64, error) {
	var last int64
	err := c.Tx.QueryRow(ctx, `
		SELECT coalesce((SELECT last_seq FROM event_streams WHERE tenant = @tenant AND stream = @stream), 0)`,
		pg.Args{"tenant": c.Tenant, "stream": stream}).Scan(&last)
	return last, err
}

// open locks a session. It creates or reopens the session if necessary.
func open(ctx context.Context, c *commit.Change, key Key) (State, error) {
	user := key.Principal.User
	scopes, err := events.ClaimIn(ctx, c.Tx, c.Tenant, user, []string{key.Stream}, c.Now)
	if err != nil {
		return State{}, err
	}
	if problem := views.SessionProblem(user, key.Stream, scopes[key.Stream]); problem != "" {
		return State{}, &schema.ValidationError{Fields: []schema.FieldError{{Field: "stream", Problem: problem}}}
	}
	last, err := head(ctx, c, key.Stream)
	if err != nil {
		return State{}, err
	}
	if key.Stream == ledger.StreamRun.Stream(key.Session) {
		last = 0
	}
	_, err = c.Tx.Exec(ctx, `
		INSERT INTO sessions (tenant, id, workflow_id, agent_id, scope, session, stream, state, first_seq, last_seq,
			opened_at, updated_at, principal)
		VALUES (@tenant, @id, @workflow_id, @agent, @scope, @session, @stream, 'open', @last + 1, @last, @now, @now,
			@principal)
		ON CONFLICT (tenant, id) DO NOTHING`,
		pg.Args{
			"tenant":      c.Tenant,
			"id":          key.ID(),
			"workflow_id": key.WorkflowID,
			"agent":       key.Principal.Agent,
			"scope":       key.Principal.EffectiveScope(),
			"session":     key.Session,
			"stream":      key.Stream,
			"last":        last,
			"now":         c.Now,
			"principal":   key.Principal,
		})
	if err != nil {
		return State{}, err
	}
	r, err := lock(ctx, c, key)
	if err != nil {
		return State{}, err
	}
	if r.Stream != key.Stream {
		return State{}, &schema.ValidationError{Fields: []schema.FieldError{{Field: "stream",
			Problem: "is not the stream of the session"}}}
	}
	if r.State == stateClosed {
		_, err := c.Tx.Exec(ctx, `
			UPDATE sessions
			SET state = 'open', first_seq = @last + 1, last_seq = @last, events = 0, ended_seq = NULL, working = NULL,
				changed_seq = 0, opened_at = @now, updated_at = @now, closed_at = NULL
			WHERE tenant = @tenant AND id = @id`,
			pg.Args{"tenant": c.Tenant, "id": r.ID, "last": r.LastSeq, "now": c.Now})
		if err != nil {
			return State{}, err
		}
		r = row{ID: r.ID, Stream: r.Stream, State: stateOpen, FirstSeq: r.LastSeq + 1, LastSeq: r.LastSeq,
			Principal: r.Principal}
	}
	if err := adopt(ctx, c, key, &r); err != nil {
		return State{}, err
	}
	return stateOf(ctx, c, key, r, maxTakenIn)
}

// adopt records the principal of the session. With another policy group an agent sees other events, so the state of
// the work is computed again.
func adopt(ctx context.Context, c *commit.Change, key Key, r *row) error {
	if r.Principal != nil && *r.Principal == key.Principal {
		return nil
	}
	if r.Principal == nil || r.Principal.PolicyGroup != key.Principal.PolicyGroup {
		r.Working = nil
	}
	_, err := c.Tx.Exec(ctx, `
		UPDATE sessions
		SET principal = @principal, working = @working
		WHERE tenant = @tenant AND id = @id`,
		pg.Args{"tenant": c.Tenant, "id": r.ID, "principal": key.Principal, "working": r.Working})
	return err
}

// stateOf reads the state of an open session. If the state of the work was dropped, it is computed again, from at most
// so many events; it is then the state after the last of these.
func stateOf(ctx context.Context, c *commit.Change, key Key, r row, most int) (State, error) {
	st := State{ID: r.ID, Stream: r.Stream, Open: true, FirstSeq: r.FirstSeq, LastSeq: r.LastSeq, Events: r.Events,
		Changed: r.ChangedSeq}
	if r.EndedSeq != nil {
		st.Ended = *r.EndedSeq
	}
	if len(r.Working) > 0 {
		if err := json.Unmarshal(r.Working, &st.Working); err != nil {
			return State{}, fmt.Errorf("state of the work: %w", err)
		}
		return st, nil
	}
	through := st.LastSeq
	st.begin(key)
	if through < st.FirstSeq {
		return st, nil
	}
	_, err := fold(ctx, c, key, &st, through, most)
	return st, err
}

// begin resets the state to before the first event of the episode.
func (st *State) begin(key Key) {
	st.LastSeq, st.Events, st.Ended, st.Changed = st.FirstSeq-1, 0, 0, st.FirstSeq-1
	st.Working = session.NewWorking(key.Principal.Agent, st.Stream)
	st.Working.Seq = st.LastSeq
}

// takeIn processes the rest of the stream, at most so many events, and reports whether there may be more.
func takeIn(ctx context.Context, c *commit.Change, key Key, st *State, most int) (more bool, err error) {
	if st.Ended > 0 {
		return false, nil
	}
	through, err := head(ctx, c, st.Stream)
	if err != nil || through <= st.LastSeq {
		return false, err
	}
	return fold(ctx, c, key, st, through, most)
}

// fold processes the events after the state, up to a number and at most so many, and reports whether it has stopped at
// that many.
func fold(ctx context.Context, c *commit.Change, key Key, st *State, through int64, most int) (more bool, err error) {
	sees, read := key.viewer(), 0
	err = eachEvent(ctx, c, st.Stream, st.LastSeq, through, func(e ledger.Event) (bool, error) {
		st.LastSeq = e.Seq
		read++
		if !sees.Sees(e) {
			st.Working.Seq = e.Seq
			return read < most, nil
		}
		st.Events++
		st.Working.Apply(e)
		own := e.Agent == key.Principal.Agent
		if own && e.Kind == ledger.KindWorkingUpdated {
			st.Changed = e.Seq
		}
		if own && e.Kind == ledger.KindOutcome {
			st.Ended = e.Seq
		}
		return st.Ended == 0 && read < most, nil
	})
	return st.Ended == 0 && read >= most, err
}

// eachEvent calls fn with the events of a stream in order, those after a number up to another one, page by page,
// until fn returns false.
func eachEvent(ctx context.Context, c *commit.Change, stream string, after, through int64,
	fn func(ledger.Event) (bool, error)) error {
	for after < through {
		page, err := events.PageIn(ctx, c.Tx, c.Tenant, stream, after, min(through-after, events.MaxPage))
		if err != nil {
			return err
		}
		for _, e := range page {
			if e.Seq > through {
				return nil
			}
			if more, err := fn(e); err != nil || !more {
				return err
			}
			after = e.Seq
		}
		if len(page) == 0 { // the rest was purged
			return nil
		}
		pg.Progressed(ctx)
	}
	return nil
}

// store stores the state of an open session.
func store(ctx context.Context, c *commit.Change, st State) error {
	working, err := json.Marshal(st.Working)
	if err != nil {
		return fmt.Errorf("state of the work: %w", err)
	}
	_, err = c.Tx.Exec(ctx, `
		UPDATE sessions
		SET last_seq = @last, events = @events, ended_seq = @ended, working = @working, changed_seq = @changed,
			updated_at = CASE WHEN last_seq < @last THEN @now ELSE updated_at END
		WHERE tenant = @tenant AND id = @id AND (last_seq <> @last OR working IS NULL)`,
		pg.Args{
			"tenant":  c.Tenant,
			"id":      st.ID,
			"last":    st.LastSeq,
			"events":  st.Events,
			"ended":   nullableSeq(st.Ended),
			"working": string(working),
			"changed": st.Changed,
			"now":     c.Now,
		})
	return err
}

func nullableSeq(seq int64) any {
	if seq == 0 {
		return nil
	}
	return seq
}
