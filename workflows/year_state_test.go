package workflows_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// invent makes a random record, and the model's entry for it.
func (y *year) invent(now time.Time) (map[string]any, *yearMemory) {
	c, name := y.chance, y.name()
	one := func(n int) bool { return c.IntN(n) == 0 }
	m := &yearMemory{name: name, created: now, since: now, importance: 0.1 + 0.9*c.Float64(),
		salience: 0.4 + 0.6*c.Float64(), firstTrust: 0.3 + 0.6*c.Float64()}
	m.kind = []schema.MemoryType{schema.TypeSemantic, schema.TypeCompetence, schema.TypeEpisodic, schema.TypeWorking,
		schema.TypePlanGraph, schema.TypeSemantic, schema.TypeCompetence}[y.names%7]
	m.deletionPolicy = []schema.DeletionPolicy{schema.DeleteAutoPrune, schema.DeleteAutoPrune, schema.DeleteAutoPrune,
		schema.DeleteManualOnly, schema.DeleteNever}[c.IntN(5)]
	m.pinned = one(9)
	m.world = m.kind != schema.TypeWorking && m.kind != schema.TypePlanGraph && one(3)
	d := &m.decay
	d.curve = []schema.DecayCurve{schema.CurveExponential, schema.CurveLinear, schema.CurveCustom}[c.IntN(3)]
	d.halfLife = time.Duration(3*86_400+c.IntN(45*86_400)) * time.Second
	d.threshold = []float64{0.05, 0.1, 0.2, 0.3}[c.IntN(4)]
	d.gain = []float64{0.05, 0.1, 0.3, 0.6}[c.IntN(4)]
	if one(4) { // on either side of the threshold
		d.floor = d.threshold + []float64{-0.04, 0.04}[c.IntN(2)]
	}
	if one(8) {
		d.threshold, d.floor = 0, 0
	}
	if one(4) {
		d.maxAge = time.Duration(20*86_400+c.IntN(160*86_400)) * time.Second
	}
	if d.curve == schema.CurveCustom && !one(4) {
		step := int64(d.halfLife / time.Second / 2)
		d.points = []schema.DecayPoint{{AfterSeconds: step, Share: 0.9}, {AfterSeconds: 2 * step, Share: 0.9},
			{AfterSeconds: 4 * step, Share: 0.3}, {AfterSeconds: 7 * step, Share: 0.02}}
	}

	decay := map[string]any{"curve": d.curve, "half_life_seconds": int64(d.halfLife / time.Second),
		"min_salience": d.threshold, "floor": d.floor, "reinforcement_gain": d.gain}
	if d.maxAge > 0 {
		decay["max_age_seconds"] = int64(d.maxAge / time.Second)
	}
	if len(d.points) > 0 {
		decay["points"] = d.points
	}
	record := map[string]any{"type": m.kind, "confidence": m.firstTrust, "salience": m.salience,
		"importance": m.importance, "content": "What is known of " + name + ".",
		"lifecycle": map[string]any{"decay": decay, "pinned": m.pinned, "deletion_policy": m.deletionPolicy},
		"payload":   y.payload(m)}
	if m.world {
		record["world_id"] = "world-1"
	}
	if one(6) {
		if target := y.one(func(o *yearMemory) bool {
			return !o.gone && !o.erased && o.archived == nil && o.deleted == nil
		}); target != nil {
			m.actionLinked, target.actedOn = true, true
			record["relations"] = []any{map[string]any{"predicate": []string{"promoted_to", "accepted_in",
				"published_as"}[c.IntN(3)], "target_id": target.id}}
		}
	}
	return record, m
}

// fadingOfAWorld is an episode of a world that decays within weeks, while a policy purges tombstones of its class.
func (y *year) fadingOfAWorld(now time.Time) (map[string]any, *yearMemory) {
	m := &yearMemory{name: y.name(), kind: schema.TypeEpisodic, world: true, deletionPolicy: schema.DeleteAutoPrune,
		created: now, since: now, importance: 0.5, salience: 0.8, firstTrust: 0.9,
		decay: yearDecay{curve: schema.CurveExponential, halfLife: 5 * yearDay, threshold: 0.1, gain: 0.05}}
	return map[string]any{"type": m.kind, "confidence": 0.9, "salience": 0.8, "importance": 0.5,
		"content": "What is known of " + m.name + ".", "world_id": "world-1", "payload": y.payload(m),
		"lifecycle": map[string]any{"deletion_policy": m.deletionPolicy,
			"decay": map[string]any{"curve": m.decay.curve, "half_life_seconds": 5 * 86_400, "min_salience": 0.1,
				"reinforcement_gain": 0.05}}}, m
}

// payload is a valid payload of the record's kind. It places the memory in its default class.
func (y *year) payload(m *yearMemory) map[string]any {
	object := func(more ...any) map[string]any {
		out := map[string]any{"kind": m.kind}
		for i := 0; i < len(more); i += 2 {
			out[more[i].(string)] = more[i+1]
		}
		return out
	}
	switch m.kind {
	case schema.TypeSemantic:
		m.tier, m.typology = schema.TierPersistent, schema.TypologySemantic
		out := object("subject", m.name, "predicate", "is_noted_for", "object", "something", "validity",
			map[string]any{"mode": "global"},
			"evidence", []any{map[string]any{"kind": "event", "ref": "evt://told"}})
		if y.chance.IntN(2) == 0 {
			until := m.created.Add(time.Duration(20+y.chance.IntN(150)) * yearDay).Truncate(time.Second)
			m.validUntil = &until
			out["validity"] = map[string]any{"mode": "timeboxed",
				"start": m.created.Add(-time.Hour).Format(time.RFC3339), "end": until.Format(time.RFC3339)}
		}
		return out
	case schema.TypeCompetence:
		m.tier, m.typology = schema.TierPersistent, schema.TypologyProcedural
		return object("skill_name", "fix "+m.name, "triggers", []any{map[string]any{"signal": m.name}}, "recipe",
			[]any{map[string]any{"step": "Mend " + m.name}})
	case schema.TypePlanGraph:
		m.tier, m.typology = schema.TierPersistent, schema.TypologyProcedural
		return object("plan_id", m.name, "version", "1", "intent", "set up "+m.name, "nodes",
			[]any{map[string]any{"id": "a", "op": "build"}}, "edges", []any{})
	case schema.TypeWorking:
		m.tier, m.typology = schema.TierInteraction, schema.TypologyEpisodic
		return object("thread_id", m.name, "state", "executing", "context_summary", "At work on "+m.name)
	default:
		m.tier, m.typology = schema.TierSession, schema.TypologyEpisodic
		return object("timeline", []any{map[string]any{"t": m.created.Format(time.RFC3339), "event_kind": "tool_call",
			"ref": "evt://" + m.name, "summary": "tried " + m.name}})
	}
}

// learnNew adds the new memories of an ingest to the model.
func (y *year) learnNew(ctx context.Context) error {
	rows, err := y.db.Query(ctx,
		`SELECT m.id::text, m.type, m.tier, m.typology, m.pinned, m.deletion_policy, m.created_at, m.importance,
			m.salience, m.salience_at, m.confidence,
			m.decay_curve, extract(epoch FROM m.half_life)::bigint, coalesce(extract(epoch
			FROM m.max_age)::bigint, 0), m.min_salience, m.decay_floor, m.reinforcement_gain, m.content,
			(SELECT jsonb_agg(jsonb_build_object('what', coalesce(h.action, h.event), 'at', h.created_at)
			ORDER BY h.seq) FROM memory_history h WHERE h.tenant = m.tenant AND h.memory_id = m.id)
		FROM memories m WHERE m.tenant = $1 AND m.id::text <> ALL($2) ORDER BY m.content`, y.p.Tenant,
		append([]string{}, y.model.order...))
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*yearMemory, error) {
		m := &yearMemory{}
		d := &m.decay
		var halfLife, maxAge int64
		var content string
		var history []struct {
			What string    `json:"what"`
			At   time.Time `json:"at"`
		}
		err := row.Scan(&m.id, &m.kind, &m.tier, &m.typology, &m.pinned, &m.deletionPolicy, &m.created, &m.importance,
			&m.salience, &m.since, &m.firstTrust,
			&d.curve, &halfLife, &maxAge, &d.threshold, &d.floor, &d.gain, &content, &history)
		d.halfLife, d.maxAge = time.Duration(halfLife)*time.Second, time.Duration(maxAge)*time.Second
		m.name = strings.Fields(content)[0]
		for _, entry := range history {
			m.note(entry.What, entry.At)
		}
		return m, err
	})
	for _, m := range found {
		y.model.add(m)
	}
	return err
}

// learnMentions adds the entities of the new memories to the model.
func (y *year) learnMentions(ctx context.Context) error {
	rows, err := y.db.Query(ctx,
		`SELECT x.memory_id::text, e.canonical_name FROM memory_entity_mentions x JOIN entities e ON e.tenant = x.tenant
			AND e.id = x.entity_id WHERE x.tenant = $1`, y.p.Tenant)
	if err != nil {
		return err
	}
	var id, name string
	_, err = pgx.ForEachRow(rows, []any{&id, &name}, func() error {
		if m := y.model.memories[id]; m != nil && !slices.Contains(m.mentions, name) {
			m.mentions = append(m.mentions, name)
		}
		return nil
	})
	return err
}

// check compares the stored state with the predicted one.
func (y *year) check(ctx workflow.Context) {
	now := y.now()
	y.step(ctx, func(ctx context.Context) error {
		stored, err := y.stored(ctx, now)
		if err != nil {
			return err
		}
		for _, id := range y.model.order {
			m := y.model.memories[id]
			want, got := m.state(now), stored[id]
			y.did["found "+want.State]++
			for _, difference := range got.differs(want) {
				y.complain("%s (%s, %s, %s, world %t, pinned %t): %s", m.name, m.kind, m.deletionPolicy, m.decay.curve,
					m.world, m.pinned, difference)
			}
			delete(stored, id)
		}
		for id := range stored {
			y.complain("%s is there, and nothing made it", id)
		}
		totals, err := y.total(ctx)
		for _, difference := range totals.differs(y.model.totals()) {
			y.complain("%s", difference)
		}
		return err
	})
	y.did["check"]++
	y.checked = true
}

// stored returns the state of all memories that have a row or a history.
func (y *year) stored(ctx context.Context, now time.Time) (map[string]yearState, error) {
	rows, err := y.db.Query(ctx,
		`SELECT id::text, coalesce(m.erased_at IS NOT NULL, false), coalesce(m.retained_at IS NOT NULL, false),
			m.id IS NULL, m.deleted_at, m.archived_at, m.decay_due_at,
			coalesce(m.salience, 0), coalesce(m.salience_at, 'epoch'), coalesce(m.pinned, false),
			coalesce(m.decay_curve, ''), coalesce(extract(epoch FROM m.half_life)::bigint, 0),
			coalesce(m.decay_floor, 0), m.decay_points, coalesce(m.importance, 0), coalesce(m.confidence, 0),
			coalesce(m.created_at, 'epoch'),
			coalesce((coalesce(m.payload->'performance', m.payload->'metrics')->>'success_count')::bigint, 0),
			coalesce((coalesce(m.payload->'performance', m.payload->'metrics')->>'failure_count')::bigint, 0),
			coalesce(a.access_count, 0), a.last_accessed_at,
			coalesce(h.entries, '')
		FROM (SELECT * FROM memories WHERE tenant = $1) m
			FULL JOIN (SELECT memory_id AS id, string_agg(coalesce(action,
			event) || ' ' || to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), ', '
			ORDER BY seq) AS entries
				FROM memory_history WHERE tenant = $1 GROUP BY 1) h USING (id)
			LEFT JOIN memory_access a ON a.tenant = $1 AND a.memory_id = id`, y.p.Tenant)
	if err != nil {
		return nil, err
	}
	out := map[string]yearState{}
	for _, id := range y.model.order {
		out[id] = yearState{State: "gone"}
	}
	var id, curve string
	var erased, retained, gone, pinned bool
	var deleted, archived, due, accessed *time.Time
	var since, created time.Time
	var salience, importance float64
	var halfLife int64
	var d memory.Decay
	var points []schema.DecayPoint
	var s yearState
	_, err = pgx.ForEachRow(rows, []any{&id, &erased, &retained, &gone, &deleted, &archived, &due, &salience, &since,
		&pinned, &curve, &halfLife, &d.Floor, &points,
		&importance, &s.Confidence, &created, &s.Successes, &s.Failures, &s.Accesses, &accessed, &s.History},
		func() error {
			at := s
			at.State, at.Deleted, at.Archived, at.Accessed, at.Due = "live", yearTime(deleted), yearTime(archived), yearTime(accessed), nil
			switch {
			case gone:
				out[id] = yearState{State: "gone", History: s.History}
				return nil
			case erased:
				out[id] = yearState{State: "erased", Deleted: at.Deleted, Archived: at.Archived, Accesses: at.Accesses,
					Accessed: at.Accessed, History: s.History}
				return nil
			case retained:
				at.State = "kept for good"
			case deleted != nil:
				at.State = "tombstone"
			case archived != nil:
				at.State = "archived"
			default:
				if due != nil {
					moment := *due
					at.Due = &moment
				}
			}
			d.Curve, d.HalfLife, d.Points = schema.DecayCurve(curve), time.Duration(halfLife)*time.Second, memory.DecayPoints(points)
			seen := now
			for _, went := range []*time.Time{deleted, archived} {
				if went != nil && went.Before(seen) {
					seen = *went
				}
			}
			at.Salience = salience
			if !pinned {
				at.Salience = d.Salience(salience, seen.Sub(since))
			}
			access := created
			if accessed != nil {
				access = *accessed
			}
			at.Importance = memory.Importance(importance, now.Sub(access), memory.DefaultDailyDecay, pinned)
			out[id] = at
			return nil
		})
	return out, err
}

func (y *year) total(ctx context.Context) (yearTotals, error) {
	t := yearTotals{Entities: map[string]int{}}
	err := y.db.QueryRow(ctx,
		`SELECT (SELECT count(*) FROM memories WHERE tenant = $1), (SELECT count(*) FROM jobs WHERE tenant = $1
			AND state = 'completed'),
			(SELECT count(*) FROM jobs WHERE tenant = $1 AND state = 'dead'), (SELECT count(*) FROM jobs
			WHERE tenant = $1 AND state NOT IN ('completed', 'dead')),
			(SELECT count(*) FROM retrievals WHERE tenant = $1), (SELECT count(*) FROM retrieval_feedback
				WHERE tenant = $1), (SELECT count(*) FROM retention_policy_changes WHERE tenant = $1)`,
		y.p.Tenant).Scan(&t.Memories, &t.Completed, &t.Dead, &t.OtherJobs, &t.Retrievals, &t.Feedback, &t.PolicyChanges)
	if err != nil {
		return t, err
	}
	rows, err := y.db.Query(ctx, `SELECT canonical_name, mentions FROM entities WHERE tenant = $1`, y.p.Tenant)
	if err != nil {
		return t, err
	}
	var name string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&name, &n}, func() error { t.Entities[name] = n; return nil })
	return t, err
}

// differs lists the differences between a state and the predicted one.
func (s yearState) differs(from yearState) []string {
	var out []string
	text := func(what, got, want string) {
		if got != want {
			out = append(out, fmt.Sprintf("%s is %q, want %q", what, got, want))
		}
	}
	number := func(what string, got, want float64) {
		if !(math.Abs(got-want) <= 1e-9) {
			out = append(out, fmt.Sprintf("%s is %.12f, want %.12f", what, got, want))
		}
	}
	text("state", s.State, from.State)
	text("deleted_at", s.Deleted, from.Deleted)
	text("archived_at", s.Archived, from.Archived)
	if (s.Due == nil) != (from.Due == nil) || s.Due != nil && s.Due.Sub(*from.Due).Abs() > yearRounding {
		text("decay_due_at", yearTime(s.Due), yearTime(from.Due))
	}
	number("salience", s.Salience, from.Salience)
	number("importance", s.Importance, from.Importance)
	number("confidence", s.Confidence, from.Confidence)
	number("success_count", float64(s.Successes), float64(from.Successes))
	number("failure_count", float64(s.Failures), float64(from.Failures))
	number("access_count", float64(s.Accesses), float64(from.Accesses))
	text("last_accessed_at", s.Accessed, from.Accessed)
	text("history", s.History, from.History)
	return out
}

func (t yearTotals) differs(from yearTotals) []string {
	var out []string
	for _, x := range []struct {
		what      string
		got, want int
	}{{"memories", t.Memories, from.Memories}, {"completed jobs", t.Completed, from.Completed},
		{"dead jobs", t.Dead, from.Dead}, {"other jobs", t.OtherJobs, from.OtherJobs},
		{"retrievals", t.Retrievals, from.Retrievals}, {"feedback", t.Feedback, from.Feedback},
		{"policy changes", t.PolicyChanges, from.PolicyChanges}} {
		if x.got != x.want {
			out = append(out, fmt.Sprintf("%s: %d, want %d", x.what, x.got, x.want))
		}
	}
	names := map[string]bool{}
	for name := range t.Entities {
		names[name] = true
	}
	for name := range from.Entities {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if t.Entities[name] != from.Entities[name] {
			out = append(out, fmt.Sprintf("entity %s: %d mentions, want %d", name, t.Entities[name],
				from.Entities[name]))
		}
	}
	return out
}
