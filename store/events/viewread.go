package events

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/pg"
)

// Limits of what is read for one view.
const (
	MaxRanked      = 5_000  // events that salience chooses from, unless fewer are known to be enough
	MaxReflections = 10_000 // own reflections read to find the covered events
)

// ViewInput is a request for the events that a view or a context of a viewer is computed from.
type ViewInput struct {
	Tenant  string
	Viewer  views.Viewer // without MaxSensitivity: medium
	Streams []string
	Memory  views.Memory
	Turn    int    // 0 or less: the latest that the viewer has seen
	Scene   string // replaces the scene of the events
	Index   views.MemoryIndex
}

// View holds the events that package views needs: its result is the same as with all events of the streams.
type View struct {
	Viewer views.Viewer   // with its MaxSensitivity
	Events []ledger.Event // in no order, each once
	Turn   int            // the current turn
	// Partial reports that salience chose only from the latest events of each kind, because more than MaxRanked
	// events could be among the most salient, or there are more than MaxReflections reflections.
	Partial bool
}

// ForView leaves out the streams that the viewer must not read (views.Viewer.Reads). It reads only what a view needs,
// whatever the length of the streams: the latest events, the latest event on each field of the world, the latest
// inputs of users, and the viewer's beliefs. Salience chooses from all events; they are read kind by kind, latest turn
// first, until no older one can be salient enough (SalienceMemory.Ceiling). Marks, which find the latest event on a
// field, are described with the table event_marks.
func (s *Events) ForView(ctx context.Context, in ViewInput) (View, error) {
	in.Viewer.MaxSensitivity = cmp.Or(in.Viewer.MaxSensitivity, sensitive.DefaultLimit)
	out := View{Viewer: in.Viewer, Turn: max(0, in.Turn)}
	err := s.Read(ctx, in.Tenant, func(tx pgx.Tx) error {
		if err := inIndexOrder(ctx, tx); err != nil {
			return err
		}
		r := viewReader{ViewInput: in, ctx: ctx, tx: tx, found: map[string]ledger.Event{}}
		if err := r.read(); err != nil {
			return err
		}
		out.Partial, out.Turn = r.partial, r.turn
		for _, e := range r.found {
			out.Events = append(out.Events, e)
		}
		return nil
	})
	if err != nil {
		return View{}, fmt.Errorf("read for a view: %w", err)
	}
	return out, nil
}

// viewReader reads for one view in one transaction.
type viewReader struct {
	ViewInput
	ctx     context.Context //nolint:containedctx // it lives as long as one call
	tx      pgx.Tx
	heads   map[string]int64 // events appended during the call are not part of the view
	found   map[string]ledger.Event
	turn    int
	partial bool
}

func (r *viewReader) read() error {
	if err := r.readHeads(); err != nil {
		return err
	}
	lanes, err := r.lanes()
	if err != nil {
		return err
	}
	for stream := range r.heads {
		if err := r.readStream(stream); err != nil {
			return err
		}
	}
	// The first of each lane has the latest turn.
	if r.turn = max(0, r.Turn); r.turn == 0 {
		first, err := r.page(lanes, 1)
		if err != nil {
			return err
		}
		for _, page := range first {
			for _, e := range page {
				r.turn = max(r.turn, e.Turn)
			}
		}
	}
	if r.Memory.UseSalience {
		return r.readSalient(lanes)
	}
	return nil
}

// readStream reads what every view of a stream needs.
func (r *viewReader) readStream(stream string) error {
	reflects := r.Memory.ReflectionThreshold > 0
	recent, err := r.query(latestSQL, stream, pg.Args{"before": r.heads[stream] + 1, "limit": r.Memory.WindowSize(),
		"skip_reflections": reflects})
	if err != nil {
		return err
	}
	r.add(recent...)
	if err := r.readMarked(stream); err != nil {
		return err
	}
	if !reflects {
		return nil
	}
	if r.Memory.UseSalience {
		return r.readReflections(stream)
	}
	beliefs, err := r.query(beliefsSQL, stream, pg.Args{"limit": r.Memory.BeliefCount()})
	r.add(beliefs...)
	return err
}

// beliefsSQL reads an agent's latest reflections that it sees.
const beliefsSQL = `
	SELECT ` + columns + `
	FROM events e
	WHERE e.tenant = @tenant AND e.stream = @stream AND e.agent_id = @agent AND e.kind = 'agent.reflected'
		AND e.seq <= @head AND e.erased_at IS NULL AND e.sensitivity = ANY(@sensitivities)
	ORDER BY e.seq DESC
	LIMIT @limit`

// coverSQL reads all reflections of an agent. Of a reflection that it does not see, only the place and the covered
// range are used.
const coverSQL = `
	SELECT e.stream, e.seq, e.id, e.agent_id, e.policy_group, e.kind, e.turn, e.visibility, e.sensitivity,
		CASE WHEN e.sensitivity = ANY(@sensitivities) THEN e.payload
			ELSE jsonb_build_object('through', coalesce(e.payload->'through', '""')) END AS payload,
		e.occurred_at, e.recorded_at, e.erased_at IS NOT NULL AS erased
	FROM events e
	WHERE e.tenant = @tenant AND e.stream = @stream AND e.agent_id = @agent AND e.kind = 'agent.reflected'
		AND e.seq <= @head
	ORDER BY e.seq DESC
	LIMIT @limit`

// throughSQL reads the last event that each reflection covers, without its payload.
const throughSQL = `
	SELECT e.stream, e.seq, e.id, e.agent_id, e.policy_group, e.kind, e.turn, e.visibility, e.sensitivity, e.payload,
		e.occurred_at, e.recorded_at, e.erased_at IS NOT NULL AS erased
	FROM event_ids i
		CROSS JOIN LATERAL (
			SELECT *
			FROM events
			WHERE tenant = @tenant AND stream = i.stream AND seq = i.seq AND recorded_at = i.recorded_at
			OFFSET 0) e
	WHERE i.tenant = @tenant AND i.id = ANY(@ids)`

// readReflections reads the reflections of an agent and the last event that each of them covers.
func (r *viewReader) readReflections(stream string) error {
	own, err := r.query(coverSQL, stream, pg.Args{"limit": MaxReflections})
	if err != nil {
		return err
	}
	r.partial = r.partial || len(own) == MaxReflections
	r.add(own...)
	var ids []string
	for _, e := range own {
		if reflection, ok := ledger.Payload[ledger.Reflection](e); ok && reflection.Through != "" {
			ids = append(ids, reflection.Through)
		}
	}
	through, err := r.query(throughSQL, stream, pg.Args{"ids": ids})
	for _, e := range through {
		if head, asked := r.heads[e.Stream]; !asked || e.Seq > head {
			continue // in another stream, or appended since the view began
		}
		if !r.Viewer.Sees(e) {
			e.Payload = nil
		}
		r.add(e)
	}
	return err
}

func (r *viewReader) readHeads() error {
	rows, err := r.tx.Query(r.ctx, `
		SELECT stream, scope, last_seq
		FROM event_streams
		WHERE tenant = @tenant AND stream = ANY(@streams)`, pg.Args{"tenant": r.Tenant, "streams": r.Streams})
	if err != nil {
		return err
	}
	type head struct {
		Stream  string
		Scope   string
		LastSeq int64
	}
	heads, err := pgx.CollectRows(rows, pgx.RowToStructByName[head])
	r.heads = make(map[string]int64, len(heads))
	for _, h := range heads {
		if r.Viewer.Reads(h.Scope) {
			r.heads[h.Stream] = h.LastSeq
		}
	}
	return err
}

func (r *viewReader) add(events ...ledger.Event) {
	for _, e := range events {
		r.found[e.ID] = e
	}
}

func (r *viewReader) events() []ledger.Event {
	out := make([]ledger.Event, 0, len(r.found))
	for _, e := range r.found {
		out = append(out, e)
	}
	return out
}

// query reads events of a stream.
func (r *viewReader) query(sql, stream string, args pg.Args) ([]ledger.Event, error) {
	rows, err := r.rows(sql, stream, args)
	if err != nil {
		return nil, err
	}
	return collectRows(rows)
}

// rows runs a statement about a stream, with the viewer's arguments that the statement names.
func (r *viewReader) rows(sql, stream string, args pg.Args) (pgx.Rows, error) {
	for name, value := range map[string]any{
		"tenant": r.Tenant, "stream": stream, "head": r.heads[stream], "agent": r.Viewer.Agent,
		"audiences":     audiences(r.Viewer.PolicyGroup),
		"marked":        marked(r.Viewer),
		"sensitivities": pg.SensitivitiesUpTo(r.Viewer.MaxSensitivity),
	} {
		if strings.Contains(sql, "@"+name) {
			args[name] = value
		}
	}
	return r.tx.Query(r.ctx, sql, args)
}

// audiences are the values of audienceSQL whose events an agent of a policy group sees.
func audiences(policyGroup string) []string {
	if policyGroup == "" {
		return []string{""}
	}
	return []string{"", policyGroup}
}

// marked returns the audiences of the marks that the viewer sees.
func marked(v views.Viewer) []string {
	out := []string{"", "agent " + v.Agent}
	if v.PolicyGroup != "" {
		out = append(out, "group "+v.PolicyGroup)
	}
	return out
}

func collectRows(rows pgx.Rows) ([]ledger.Event, error) {
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (ledger.Event, error) {
		found, err := pgx.RowToStructByName[row](r)
		return found.event(), err
	})
}

// readMarked reads the events that make up the scene, and the latest inputs of users.
func (r *viewReader) readMarked(stream string) error {
	rows, err := r.rows(marksSQL, stream, pg.Args{})
	if err != nil {
		return err
	}
	seqs, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	for part := range slices.Chunk(seqs, MaxPage) {
		events, err := r.query(bySeqSQL, stream, pg.Args{"seqs": part})
		if err != nil {
			return err
		}
		r.add(events...)
	}
	return r.readVisits(stream)
}

// readVisits reads inputs of users until there are enough visits.
func (r *viewReader) readVisits(stream string) error {
	for before, visits := r.heads[stream]+1, 0; visits < views.Visits; {
		const page = 8
		events, err := r.query(visitsSQL, stream, pg.Args{"before": before, "limit": page})
		if err != nil {
			return err
		}
		for _, e := range events {
			if before = e.Seq; r.Viewer.Visited(e) && visits < views.Visits {
				visits++
				r.add(e)
			}
		}
		if len(events) < page {
			return nil
		}
	}
	return nil
}
