package events

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// ReflectInput is a belief to append.
type ReflectInput struct {
	Tenant string
	Viewer views.Viewer // the agent whose belief it is
	// Event has the stream and the visibility of the belief. Its payload is set from Reflection, and its class is
	// raised to that of the evidence.
	Event      ledger.Event
	Reflection ledger.Reflection
	Open       []string // see AppendInput
	Now        time.Time
}

// Reflect appends a belief, if each event that it cites exists, is visible to its agent and is not erased at that
// moment (views.Viewer.Check). An erasure of one of them waits until the belief is stored, and then finds it. If the
// id of the belief exists already, it adds nothing and returns the place of the stored one, even if the texts differ.
// It returns a *schema.ValidationError for a refused belief.
func (s *Events) Reflect(ctx context.Context, in ReflectInput) (ledger.Appended, error) {
	var out ledger.Appended
	try := func() error {
		return commit.Write(ctx, s.DB, in.Tenant, in.Now, func(c *commit.Change) error {
			events, err := held(ctx, c.Tx, in.Tenant, append(cites(in.Reflection), in.Event.ID))
			if err != nil {
				return err
			}
			if i := slices.IndexFunc(events, func(e ledger.Event) bool { return e.ID == in.Event.ID }); i >= 0 {
				out = ledger.Appended{ID: in.Event.ID, Stream: events[i].Stream, Seq: events[i].Seq}
				return nil
			}
			e := in.Event
			scopes, err := ClaimIn(ctx, c.Tx, in.Tenant, in.Viewer.User, []string{e.Stream}, in.Now)
			if err != nil {
				return err
			}
			if problem := views.AppendProblem(in.Viewer.User, e.Stream, e.Kind, scopes[e.Stream]); problem != "" {
				return &schema.ValidationError{Fields: []schema.FieldError{{Field: "stream", Problem: problem}}}
			}
			if events, err = readable(ctx, c.Tx, in.Tenant, in.Viewer.User, events); err != nil {
				return err
			}
			least, err := in.Viewer.Check(in.Reflection, events)
			if err != nil {
				return err
			}
			out, err = appendReflection(ctx, c.Tx, in, least)
			return err
		})
	}
	if err := pg.RetryChange(ctx, try); err != nil {
		return ledger.Appended{}, fmt.Errorf("append a reflection: %w", err)
	}
	return out, nil
}

func appendReflection(
	ctx context.Context,
	tx pgx.Tx,
	in ReflectInput,
	least schema.Sensitivity,
) (ledger.Appended, error) {
	e := in.Event
	payload, err := json.Marshal(in.Reflection)
	if err != nil {
		return ledger.Appended{}, err
	}
	e.Payload = payload
	e.Sensitivity = raised(sensitive.Raised(e.Sensitivity, in.Reflection.Belief), least)
	if err := e.Validate(); err != nil {
		return ledger.Appended{}, err
	}
	row, err := rowOf(&e, AppendInput{PolicyGroup: in.Viewer.PolicyGroup, Open: in.Open, Now: in.Now})
	if err != nil {
		return ledger.Appended{}, err
	}
	batch, err := json.Marshal([]Row{row})
	if err != nil {
		return ledger.Appended{}, err
	}
	rows, err := tx.Query(ctx, appendSQL, pg.Args{"batch": string(batch)})
	if err != nil {
		return ledger.Appended{}, err
	}
	done, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[appended])
	if err != nil {
		return ledger.Appended{}, err
	}
	if !done.Same { // appended by another attempt in the meantime
		return ledger.Appended{}, pg.ErrConflict
	}
	return ledger.Appended{ID: e.ID, Stream: done.Stream, Seq: done.Seq, Added: done.Added}, nil
}

// ReflectionsInput is a request for reflections.
type ReflectionsInput struct {
	Principal      schema.Principal
	Stream         string             // empty: the agent's own, in its streams and those of the user
	MaxSensitivity schema.Sensitivity // empty: medium
	Limit          int
}

const ownReflectionsSQL = `
	SELECT ` + columns + `
	FROM events e
	WHERE e.tenant = @tenant AND e.agent_id = @agent AND e.kind = 'agent.reflected'
		AND e.sensitivity = ANY(@sensitivities)
		AND EXISTS (
			SELECT FROM event_streams s
			WHERE s.tenant = @tenant AND s.stream = e.stream AND s.scope = ANY(@scopes))
	ORDER BY e.recorded_at DESC, e.stream DESC, e.seq DESC
	LIMIT @limit`

const reflectionsSQL = `
	SELECT ` + columns + `
	FROM (
		(SELECT *
		FROM events
		WHERE tenant = @tenant AND stream = @stream AND agent_id = @agent AND kind = 'agent.reflected'
			AND sensitivity = ANY(@sensitivities)
		ORDER BY seq DESC
		LIMIT @limit)
		UNION ALL
		(SELECT *
		FROM events
		WHERE tenant = @tenant AND stream = @stream AND kind = 'agent.reflected' AND visibility <> 'private'
			AND agent_id <> @agent AND (visibility <> 'group' OR policy_group = @policy_group AND policy_group <> '')
			AND sensitivity = ANY(@sensitivities)
		ORDER BY seq DESC
		LIMIT @limit)) e
	ORDER BY e.seq DESC
	LIMIT @limit`

// Reflections reads the latest reflections that an agent may see, oldest first: those of a stream or, without one,
// its own in all streams of the principal's scope and of no scope. Erased ones are included, without their text.
func (s *Events) Reflections(ctx context.Context, in ReflectionsInput) ([]ledger.Event, error) {
	args := pg.Args{
		"tenant":        in.Principal.Tenant,
		"agent":         in.Principal.Agent,
		"sensitivities": pg.SensitivitiesUpTo(in.MaxSensitivity),
		"limit":         max(1, min(in.Limit, MaxPage)),
	}
	sql := ownReflectionsSQL
	if in.Stream == "" {
		args["scopes"] = []string{"", in.Principal.EffectiveScope()}
	} else {
		sql, args["stream"], args["policy_group"] = reflectionsSQL, in.Stream, in.Principal.PolicyGroup
	}
	out, err := s.queryFor(ctx, in.Principal.Tenant, in.Principal.User, sql, args)
	if err != nil {
		return nil, fmt.Errorf("read reflections: %w", err)
	}
	slices.Reverse(out)
	return out, nil
}
