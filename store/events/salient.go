package events

import (
	"cmp"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/pg"
)

// lane holds the events of one kind of a stream that belong to one audience: the viewer itself, its group, or
// everyone. They are read by turn, latest first.
type lane struct {
	stream   string
	own      bool
	audience string
	kind     string
	turn     int   // of the last event read
	seq      int64 // of the last event read
}

// kindsSQL lists the lanes of a stream. It steps from one kind to the next in the index.
const kindsSQL = `
	WITH RECURSIVE own AS (
		(SELECT kind FROM events
		WHERE tenant = @tenant AND stream = @stream AND agent_id = @agent
		ORDER BY kind LIMIT 1)
		UNION ALL
		(SELECT n.kind
		FROM own CROSS JOIN LATERAL (
			SELECT kind FROM events
			WHERE tenant = @tenant AND stream = @stream AND agent_id = @agent AND kind > own.kind
			ORDER BY kind LIMIT 1) n)
	), open AS (
		(SELECT a.audience, n.kind
		FROM unnest(@audiences::text[]) a(audience) CROSS JOIN LATERAL (
			SELECT kind FROM events
			WHERE tenant = @tenant AND stream = @stream AND visibility <> 'private' AND ` + audienceSQL + ` = a.audience
			ORDER BY kind LIMIT 1) n)
		UNION ALL
		(SELECT open.audience, n.kind
		FROM open CROSS JOIN LATERAL (
			SELECT kind FROM events
			WHERE tenant = @tenant AND stream = @stream AND visibility <> 'private' AND ` + audienceSQL +
	` = open.audience
				AND kind > open.kind
			ORDER BY kind LIMIT 1) n)
	)
	SELECT true AS own, '' AS audience, kind FROM own
	UNION ALL
	SELECT false, audience, kind FROM open`

// audienceSQL is the expression in the indexes of events that others may see. It has the same value for everyone and
// for a group without a name, which no other agent sees; statements that read events distinguish these.
const audienceSQL = `(CASE WHEN visibility = 'group' THEN policy_group ELSE '' END)`

// The kind is a sub-select to hide its value from the planner, which would otherwise choose the small index of
// reflections.
const ownLaneSQL = `
	SELECT ` + columns + `
	FROM events e
	WHERE e.tenant = @tenant AND e.stream = @stream AND e.agent_id = @agent AND e.kind = (SELECT @kind::text)
		AND (e.turn, e.seq) < (@turn, @seq) AND e.seq <= @head
		AND e.erased_at IS NULL AND e.sensitivity = ANY(@sensitivities)
	ORDER BY e.turn DESC, e.seq DESC
	LIMIT @limit`

const openLaneSQL = `
	SELECT ` + columns + `
	FROM events e
	WHERE e.tenant = @tenant AND e.stream = @stream AND e.visibility <> 'private'
		AND (CASE WHEN e.visibility = 'group' THEN e.policy_group ELSE '' END) = @audience AND e.kind = (SELECT @kind::text)
		AND (e.visibility <> 'group' OR e.policy_group = @audience AND e.policy_group <> '')
		AND (e.turn, e.seq) < (@turn, @seq) AND e.seq <= @head
		AND e.erased_at IS NULL AND e.sensitivity = ANY(@sensitivities)
	ORDER BY e.turn DESC, e.seq DESC
	LIMIT @limit`

func (r *viewReader) lanes() ([]*lane, error) {
	var out []*lane
	for stream, head := range r.heads {
		rows, err := r.rows(kindsSQL, stream, pg.Args{})
		if err != nil {
			return nil, err
		}
		type found struct {
			Own            bool
			Audience, Kind string
		}
		kinds, err := pgx.CollectRows(rows, pgx.RowToStructByName[found])
		if err != nil {
			return nil, err
		}
		for _, k := range kinds {
			out = append(out, &lane{stream: stream, own: k.Own, audience: k.Audience, kind: k.Kind,
				turn: math.MaxInt32, seq: head + 1})
		}
	}
	return out, nil
}

// page reads the next events of each lane without advancing the lanes.
func (r *viewReader) page(lanes []*lane, limit int) ([][]ledger.Event, error) {
	out := make([][]ledger.Event, len(lanes))
	for i, l := range lanes {
		sql, args := ownLaneSQL, pg.Args{"kind": l.kind, "turn": l.turn, "seq": l.seq, "limit": limit}
		if !l.own {
			sql, args["audience"] = openLaneSQL, l.audience
		}
		events, err := r.query(sql, l.stream, args)
		if err != nil {
			return nil, err
		}
		out[i] = events
	}
	return out, nil
}

// firstPage is the number of events in the first page of a lane. Each further page is twice as long.
const firstPage = 32

// readSalient reads the lanes until no unread event can be among the most salient. An agent's last reflection covers
// the events before it, so that only the reflections and the events after the last one are read.
func (r *viewReader) readSalient(lanes []*lane) error {
	salience := r.Memory.Salience(r.Viewer, r.Index)
	now := views.Now{Turn: r.turn, Scene: r.Scene}
	if now.Scene == "" {
		now.Scene = views.SceneOf(r.Viewer, r.events()).Text()
	}
	if r.Memory.ReflectionThreshold > 0 {
		done, err := r.readUncovered()
		if err != nil {
			return err
		}
		if done {
			lanes = nil // the uncovered events are complete
		}
	}
	ranked := 0
	for limit := firstPage; len(lanes) > 0; limit *= 2 {
		if ranked >= MaxRanked {
			r.partial = true
			return nil
		}
		pages, err := r.page(lanes, limit)
		if err != nil {
			return err
		}
		var more []*lane
		for i, page := range pages {
			ranked += len(page)
			r.add(page...)
			if len(page) > 0 {
				last := page[len(page)-1]
				lanes[i].turn, lanes[i].seq = last.Turn, last.Seq
			}
			if len(page) == limit {
				more = append(more, lanes[i])
			}
		}
		least := salience.Least(r.events(), now)
		lanes = lanes[:0]
		for _, l := range more {
			if salience.Ceiling(l.kind, l.turn, now) >= least {
				lanes = append(lanes, l)
			}
		}
	}
	return nil
}

// readUncovered reads the events after those that the last reflection covers. It reports whether no other event is
// eligible. Other events are eligible if a reflection was erased or is hidden from the viewer, because they are then
// no longer covered.
func (r *viewReader) readUncovered() (bool, error) {
	var own int
	for _, e := range r.found {
		if e.Agent == r.Viewer.Agent && e.Kind == ledger.KindAgentReflected {
			if !r.Viewer.Sees(e) {
				return false, nil
			}
			own++
		}
	}
	if own == 0 {
		return false, nil
	}
	end, covered := r.Memory.Tracker(r.Viewer).Covered(r.events())
	if !covered {
		return false, nil
	}
	for stream, head := range r.heads {
		for before, read, limit := head+1, 0, 4*firstPage; ; limit = min(2*limit, MaxPage) {
			events, err := r.query(latestSQL, stream,
				pg.Args{"before": before, "limit": limit, "skip_reflections": true})
			if err != nil {
				return false, err
			}
			r.add(events...)
			if read += len(events); len(events) < limit || !after(events[len(events)-1], end) {
				break
			}
			if read >= MaxRanked {
				r.partial = true
				break
			}
			before = events[len(events)-1].Seq
		}
	}
	return true, nil
}

// after reports whether an event comes after another in ledger order. Times within a stream never decrease.
func after(a, b ledger.Event) bool {
	return cmp.Or(a.RecordedAt.Compare(*b.RecordedAt), cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Seq, b.Seq)) > 0
}
