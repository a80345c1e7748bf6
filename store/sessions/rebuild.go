package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
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
	"github.com/mneme/mneme/store/pg"
)

// RebuildInput is a request to compare the data derived by sessions with the ledger.
type RebuildInput struct {
	Tenant string
	Stream string    // only sessions of this stream; empty: all
	After  uuid.UUID // the last session of the previous page
	Limit  int       // how many sessions; at most MaxPage
	Verify bool      // only compare
	Drop   bool      // rebuild equal ones as well
	Policy proposals.WritePolicy
	Rules  *policy.Policy // classification rules; nil for none
	Now    time.Time
}

// Compared is the comparison of one derived object with the ledger.
type Compared struct {
	Kind    string // ledger.DerivedWorking or ledger.DerivedEpisode
	ID      string // of the session or of the record
	Stream  string
	Fields  []string // fields that differ; "record" if the record is missing
	Rebuilt bool
	Kept    string // why it is not replaced (a reason of schema/ledger); empty if it is
}

// RebuildPage is one page of sessions.
type RebuildPage struct {
	Compared []Compared
	Last     uuid.UUID // the next page begins after it
	More     bool
}

// RebuildSessions compares the state of the work of open sessions, and the records of closed ones, with the ledger.
// Unless the request only verifies, it rebuilds what differs, each object in its own transaction. It does not
// change records that a person changed, that were forgotten, or whose events the ledger no longer has.
func (s *Sessions) RebuildSessions(ctx context.Context, in RebuildInput) (RebuildPage, error) {
	limit := max(1, min(in.Limit, MaxPage))
	var ids []uuid.UUID
	err := s.Read(ctx, in.Tenant, func(tx pgx.Tx) (err error) {
		ids, err = commit.Values[uuid.UUID](ctx, tx, `
			SELECT s.id
			FROM sessions s
			WHERE s.tenant = @tenant AND s.id > @after AND (@stream = '' OR s.stream = @stream)
			ORDER BY s.id
			LIMIT @limit`,
			pg.Args{"tenant": in.Tenant, "after": in.After, "stream": in.Stream, "limit": limit})
		return err
	})
	if err != nil {
		return RebuildPage{}, fmt.Errorf("rebuild sessions: %w", err)
	}
	out := RebuildPage{More: len(ids) == limit}
	for _, id := range ids {
		if err := s.rebuildSession(ctx, in, id, &out.Compared); err != nil {
			return RebuildPage{}, fmt.Errorf("rebuild a session: %w", err)
		}
		out.Last = id
	}
	return out, nil
}

// rebuildSession compares a session and its episodes, one after another.
func (s *Sessions) rebuildSession(ctx context.Context, in RebuildInput, id uuid.UUID, out *[]Compared) error {
	var compared *Compared
	err := s.rebuilding(ctx, in, func(c *commit.Change) (err error) {
		compared, err = rebuildWorking(ctx, c, in, id)
		return err
	})
	if err != nil {
		return err
	}
	if compared != nil {
		*out = append(*out, *compared)
	}
	for after := int64(0); ; {
		err := s.rebuilding(ctx, in, func(c *commit.Change) (err error) {
			compared, after, err = rebuildEpisode(ctx, c, in, id, after)
			return err
		})
		if err != nil || after == 0 {
			return err
		}
		if compared != nil {
			*out = append(*out, *compared)
		}
		pg.Progressed(ctx)
	}
}

func (s *Sessions) rebuilding(ctx context.Context, in RebuildInput, fn func(*commit.Change) error) error {
	_, err := pg.RetryOnConflict(ctx, func() (struct{}, error) {
		return struct{}{}, commit.Write(ctx, s.DB, in.Tenant, in.Now, fn)
	})
	return err
}

// owned is a session with the data of its key.
type owned struct {
	row
	WorkflowID string
	AgentID    string
	Scope      string
	Session    string
}

// key returns the key under which the session was opened, or under which an episode of it was closed.
func (o owned) key(c *commit.Change, closedAs *schema.Principal) Key {
	key := Key{Principal: schema.Principal{Tenant: c.Tenant, Agent: o.AgentID, Scope: o.Scope}, Session: o.Session,
		Stream: o.Stream, WorkflowID: o.WorkflowID}
	if p := cmp.Or(closedAs, o.Principal); p != nil {
		key.Principal = *p
	}
	return key
}

// lockOwned locks a session. It returns nil if there is none.
func lockOwned(ctx context.Context, c *commit.Change, id uuid.UUID) (*owned, error) {
	found, err := commit.Row[owned](ctx, c.Tx, `
		SELECT `+rowColumns+`, s.workflow_id, s.agent_id, s.scope, s.session
		FROM sessions s
		WHERE s.tenant = @tenant AND s.id = @id
		FOR UPDATE`,
		pg.Args{"tenant": c.Tenant, "id": id})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &found, err
}

// rebuildWorking compares the state of the work of an open session. It returns nil if the session is closed.
func rebuildWorking(ctx context.Context, c *commit.Change, in RebuildInput, id uuid.UUID) (*Compared, error) {
	o, err := lockOwned(ctx, c, id)
	if err != nil || o == nil || o.State != stateOpen {
		return nil, err
	}
	out := &Compared{Kind: ledger.DerivedWorking, ID: id.String(), Stream: o.Stream}
	key := o.key(c, nil)
	st := State{ID: id, Stream: o.Stream, Open: true, FirstSeq: o.FirstSeq}
	st.begin(key)
	if _, err := fold(ctx, c, key, &st, o.LastSeq, math.MaxInt); err != nil {
		return nil, err
	}
	out.Fields = diffWorking(o.row, st)
	if len(out.Fields) == 0 && !in.Drop {
		return out, nil
	}
	if gone, err := eventsGone(ctx, c, o.Stream, o.FirstSeq, o.LastSeq, false); err != nil || gone {
		out.Kept = ledger.KeptEventsGone
		return out, err
	}
	if in.Verify {
		return out, nil
	}
	if _, err := c.Tx.Exec(ctx, `UPDATE sessions SET working = NULL WHERE tenant = @tenant AND id = @id`,
		pg.Args{"tenant": c.Tenant, "id": id}); err != nil {
		return nil, err
	}
	out.Rebuilt = true
	return out, store(ctx, c, st)
}

// diffWorking lists the fields in which a stored session differs from the ledger.
func diffWorking(r row, st State) (out []string) {
	ended := int64(0)
	if r.EndedSeq != nil {
		ended = *r.EndedSeq
	}
	for _, f := range []struct {
		name string
		same bool
	}{
		{"last_seq", r.LastSeq == st.LastSeq}, {"events", r.Events == st.Events}, {"ended_seq", ended == st.Ended},
		{"changed_seq", r.ChangedSeq == st.Changed},
	} {
		if !f.same {
			out = append(out, f.name)
		}
	}
	if len(r.Working) == 0 {
		return append(out, "working")
	}
	var stored struct {
		Payload json.RawMessage `json:"payload"`
	}
	again, _ := json.Marshal(st.Working) // plain data
	var made struct {
		Payload json.RawMessage `json:"payload"`
	}
	if json.Unmarshal(r.Working, &stored) != nil || json.Unmarshal(again, &made) != nil {
		return append(out, "working")
	}
	for _, field := range diff(stored.Payload, made.Payload) {
		out = append(out, "working."+field)
	}
	for _, field := range diff(r.Working, again) {
		if field != "payload" {
			out = append(out, "working."+field)
		}
	}
	return out
}

// diff lists the members in which two JSON objects differ, sorted.
func diff(a, b json.RawMessage) (out []string) {
	var x, y map[string]any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return []string{"payload"}
	}
	names := maps.Clone(x)
	maps.Copy(names, y)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !reflect.DeepEqual(x[name], y[name]) {
			out = append(out, name)
		}
	}
	return out
}

// eventsGone reports whether events of a span were purged or, if erased is set, erased.
func eventsGone(ctx context.Context, c *commit.Change, stream string, first, last int64,
	erased bool) (gone bool, err error) {
	err = c.Tx.QueryRow(ctx, `
		SELECT count(*) <> greatest(0, @last::bigint - @first::bigint + 1)
			OR @erased::boolean AND count(*) FILTER (WHERE erased_at IS NOT NULL) > 0
		FROM events
		WHERE tenant = @tenant AND stream = @stream AND seq BETWEEN @first AND @last`,
		pg.Args{"tenant": c.Tenant, "stream": stream, "first": first, "last": last, "erased": erased}).Scan(&gone)
	return gone, err
}

// closedRow is an episode with the principal that closed it.
type closedRow struct {
	Closed
	Principal *schema.Principal
}

// rebuildEpisode compares the next episode of a session after a number, and returns its number; 0 if there is none.
// It returns nil for an episode without a record, because the policy wrote none.
func rebuildEpisode(ctx context.Context, c *commit.Change, in RebuildInput, id uuid.UUID,
	after int64) (*Compared, int64, error) {
	o, err := lockOwned(ctx, c, id)
	if err != nil || o == nil {
		return nil, 0, err
	}
	e, err := commit.Row[closedRow](ctx, c.Tx, `
		SELECT `+closedColumns+`, e.principal
		FROM session_episodes e
		WHERE e.tenant = @tenant AND e.session_id = @id AND e.first_seq > @after
		ORDER BY e.first_seq
		LIMIT 1`,
		pg.Args{"tenant": c.Tenant, "id": id, "after": after})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if e.MemoryID == nil {
		return nil, e.FirstSeq, nil
	}
	w := writing{Key: o.key(c, e.Principal), id: *e.MemoryID, policy: in.Policy, rules: in.Rules,
		reason: "rebuilt from the ledger"}
	out, err := w.rebuild(ctx, c, in, o.Stream, e.Closed)
	return out, e.FirstSeq, err
}

func (w writing) rebuild(ctx context.Context, c *commit.Change, in RebuildInput, stream string,
	e Closed) (*Compared, error) {
	out := &Compared{Kind: ledger.DerivedEpisode, ID: w.id.String(), Stream: stream}
	stored, kept, err := readStored(ctx, c, w.id)
	if out.Kept = kept; err != nil || kept != "" {
		return out, err
	}
	read := reading{Accumulator: session.NewAccumulator(stream), key: w.Key, seq: e.FirstSeq - 1}
	if err := read.upTo(ctx, c, stream, e.LastSeq); err != nil {
		return nil, err
	}
	episode, any := read.Episode(e.Closed)
	if any {
		if out.Fields, err = w.compare(ctx, c, stored, &episode, e); err != nil {
			return nil, err
		}
	} else {
		out.Fields = []string{"events"}
	}
	if len(out.Fields) == 0 && !in.Drop {
		return out, nil
	}
	if gone, err := eventsGone(ctx, c, stream, e.FirstSeq, e.LastSeq, true); err != nil || gone || !any {
		if out.Kept = ledger.KeptEventsGone; err == nil && len(out.Fields) == 0 {
			out.Kept = ""
		}
		return out, err
	}
	if in.Verify {
		return out, nil
	}
	if stored != nil {
		if removed, err := removeStored(ctx, c, w.id); err != nil || !removed {
			if out.Kept = ledger.KeptReferred; len(out.Fields) == 0 {
				out.Kept = ""
			}
			return out, err
		}
	}
	made, err := w.write(ctx, c, episode, e)
	if err != nil {
		return nil, err
	}
	if made == nil || *made != w.id {
		return nil, fmt.Errorf("the record %s: %w", w.id, errNotWritten)
	}
	_, err = c.Tx.Exec(ctx, `
		UPDATE session_episodes
		SET events = @events, outcome = @outcome
		WHERE tenant = @tenant AND memory_id = @memory AND first_seq = @first`,
		pg.Args{"tenant": c.Tenant, "memory": w.id, "first": e.FirstSeq, "events": episode.Events,
			"outcome": episode.Payload.Outcome})
	out.Rebuilt = true
	return out, err
}

// errNotWritten prevents the removal of a record that the write policy does not allow to be written again.
var errNotWritten = errors.New("the write policy allows no episode now: nothing was changed")
