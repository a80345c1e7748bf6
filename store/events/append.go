package events

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// Row is an event as an argument of mneme_append_events.
type Row struct {
	Stream      string             `json:"stream"`
	ID          string             `json:"id"`
	Agent       string             `json:"agent_id"`
	PolicyGroup string             `json:"policy_group"`
	Kind        string             `json:"kind"`
	Turn        int                `json:"turn"`
	Visibility  schema.Visibility  `json:"visibility"`
	Sensitivity schema.Sensitivity `json:"sensitivity"`
	Payload     json.RawMessage    `json:"payload,omitempty"`
	Candidate   *uuid.UUID         `json:"candidate_id,omitempty"` // of an ingest
	Memory      *uuid.UUID         `json:"memory_id,omitempty"`    // that the candidate became or repeated
	Session     string             `json:"session,omitempty"`
	OccurredAt  time.Time          `json:"occurred_at"`
	RecordedAt  time.Time          `json:"recorded_at"`
	// Digest is the hexadecimal digest of the event as received. If it is empty, any event with the id counts as
	// the same.
	Digest string `json:"digest,omitempty"`
}

const appendSQL = `SELECT stream, seq, added, same FROM mneme_append_events(@batch::jsonb) ORDER BY ordinal`

// Queue adds rows to append to a batch of statements, in a transaction bound to the tenant. It is for changes that
// append events with new ids. It locks the streams until the transaction ends, so queue it last.
func Queue(batch *pgx.Batch, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("events: %w", err)
	}
	batch.Queue(appendSQL, pg.Args{"batch": string(encoded)})
	return nil
}

// AppendInput is one request to append.
type AppendInput struct {
	Tenant      string
	PolicyGroup string // of the agents of the events
	User        string // for whom they are appended; new streams become the user's. Empty for no one in particular
	Events      []ledger.Event
	// Open are the kinds that every agent sees, unless the event sets its visibility.
	Open []string
	Now  time.Time
}

// Append appends events in the given order and returns the place of each. It raises the sensitivity of an event to
// that of its payload (sensitive.Raised). If an event with the id exists, nothing is added and its place is returned.
// Append returns a *schema.ValidationError and appends nothing for an invalid event, for a stream to which the user
// must not append (views.AppendProblem), for an id of a different event, and for a reflection on evidence that does
// not exist, that its agent does not see or that was erased.
func (s *Events) Append(ctx context.Context, in AppendInput) (out []ledger.Appended, err error) {
	for try := 1; ; try++ {
		err = commit.Write(ctx, s.DB, in.Tenant, in.Now, func(c *commit.Change) (err error) {
			out, err = AppendIn(ctx, c.Tx, in)
			return err
		})
		if isConflict(err) && try < 3 {
			continue
		}
		var invalid *schema.ValidationError
		switch {
		case errors.As(err, &invalid):
			return nil, invalid
		case err != nil:
			return nil, fmt.Errorf("append events: %w", err)
		}
		return out, nil
	}
}

// isConflict reports whether another transaction has just appended the same id to another stream, or is erasing
// events that a reflection cites.
func isConflict(err error) bool {
	const deadlock = "40P01"
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && (pgErr.ConstraintName == "event_ids_pkey" || pgErr.Code == deadlock)
}

// appended is the result of mneme_append_events for an event.
type appended struct {
	Stream      string
	Seq         int64
	Added, Same bool
}

// AppendIn is Append in a transaction bound to the tenant. It locks the streams until the transaction ends.
func AppendIn(ctx context.Context, tx pgx.Tx, in AppendInput) ([]ledger.Appended, error) {
	if err := ledger.ValidateEvents(in.Events); err != nil {
		return nil, err
	}
	if err := claimFor(ctx, tx, in); err != nil {
		return nil, err
	}
	checked, err := withEvidence(ctx, tx, in, classified(in.Events))
	if err != nil {
		return nil, err
	}
	rows := make([]Row, len(in.Events))
	for i := range in.Events {
		if rows[i], err = rowOf(&in.Events[i], in); err != nil {
			return nil, err
		}
		if class := checked[i].Sensitivity; class != "" { // the digest is that of the event as it was received
			rows[i].Sensitivity = class
		}
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return nil, err
	}
	found, err := commit.Rows[appended](ctx, tx, appendSQL, pg.Args{"batch": string(encoded)})
	if err != nil {
		return nil, err
	}
	out := make([]ledger.Appended, 0, len(in.Events))
	var taken []schema.FieldError
	for i, f := range found {
		if !f.Same {
			taken = append(taken, schema.FieldError{Field: fmt.Sprintf("events[%d].id", i),
				Problem: "is the id of another event"})
		}
		out = append(out, ledger.Appended{ID: in.Events[i].ID, Stream: f.Stream, Seq: f.Seq, Added: f.Added})
	}
	if taken != nil {
		return nil, &schema.ValidationError{Fields: taken}
	}
	return out, nil
}

// classified returns the events with the class of their payload, if that is higher than their own.
func classified(list []ledger.Event) []ledger.Event {
	out := slices.Clone(list)
	for i, e := range out {
		out[i].Sensitivity = sensitive.Raised(e.Sensitivity, string(e.Payload))
	}
	return out
}

func rowOf(e *ledger.Event, in AppendInput) (Row, error) {
	payload := e.Payload
	if len(payload) > 0 { // the digest must not depend on white space
		var plain bytes.Buffer
		if err := json.Compact(&plain, payload); err != nil {
			return Row{}, fmt.Errorf("payload: %w", err)
		}
		payload = plain.Bytes()
	}
	// Without the time, because a caller that sets none sends another time with each retry.
	handedIn, err := json.Marshal([]any{e.Stream, e.Agent, e.Kind, e.Turn, e.Visibility, e.Sensitivity, payload})
	if err != nil {
		return Row{}, fmt.Errorf("event: %w", err)
	}
	sum := sha256.Sum256(handedIn)
	return Row{Stream: e.Stream, ID: e.ID, Agent: e.Agent,
			PolicyGroup: cmp.Or(e.PolicyGroup, in.PolicyGroup), Kind: e.Kind, Turn: e.Turn,
			Visibility: ledger.VisibilityOf(*e, in.Open), Sensitivity: cmp.Or(e.Sensitivity, schema.SensitivityLow),
			Payload: payload, OccurredAt: e.OccurredAt.UTC(), RecordedAt: in.Now.UTC(),
			Digest: hex.EncodeToString(sum[:])},
		nil
}

// Empty removes the payloads of the events with these ids; the rest of the rows remains. Beliefs based only on
// erased events are emptied too. It returns how many events it emptied, without those that were empty already.
func (s *Events) Empty(ctx context.Context, tenant string, ids []string, now time.Time) (n int, err error) {
	err = commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		return c.Tx.QueryRow(ctx, `SELECT mneme_empty_events($1)`, ids).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("empty events: %w", err)
	}
	return n, nil
}

// KeepPartitions creates the partitions of the coming months, and drops empty partitions of months that ended
// before a time. It returns how many it created and dropped.
func (s *Events) KeepPartitions(ctx context.Context, now, before time.Time) (made, dropped int, err error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	err = s.Pool.QueryRow(ctx, `SELECT mneme_make_event_partitions($1), mneme_drop_event_partitions($2)`, now, before).
		Scan(&made, &dropped)
	if err != nil {
		return 0, 0, fmt.Errorf("partitions of events: %w", err)
	}
	return made, dropped, nil
}
