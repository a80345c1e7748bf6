package advising

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/learning/advice"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// maxVersions is the number of newer versions that are followed from a superseded memory.
const maxVersions = 50

// place says where the outcome of the memory that was used counts now.
type place struct {
	used       string
	there      bool           // the memory is live or superseded, and the asker may see it
	superseded bool           // it was superseded
	successor  string         // the memory in its place, if the asker may see it
	carries    bool           // the outcome counts for the successor too
	claimed    evidence.Stats // the outcomes that the successor claims
}

// status returns the status of a report. counted reports whether its outcome counts for a procedure or a plan.
func (at place) status(r advice.Report, counted bool) schema.ReportStatus {
	outcome := r.Counted()
	switch {
	case r.Used == "":
		return ""
	case !at.there:
		return schema.ReportGone
	case outcome != schema.OutcomeSuccess && outcome != schema.OutcomeFailure:
		return schema.ReportUndecided
	case len(r.Shown) > 0 && !counted:
		return schema.ReportShown
	case at.carries:
		return schema.ReportCarried
	case at.superseded:
		return schema.ReportSuperseded
	}
	return schema.ReportCounted
}

// admits renders the condition that a memory may be counted for: the filter admits it, or it is the superseded memory
// that was used.
func (at place) admits(f pg.Filter, m string, args pg.Args) string {
	if !at.superseded {
		return f.Where(m, args)
	}
	args["superseded"] = at.used
	live := f.Where(m, args)
	f.Superseded = true
	return "(" + live + " OR " + m + ".id = @superseded::uuid AND " + f.Where(m, args) + ")"
}

// versionRow is a memory that was used, or a newer version of it.
type versionRow struct {
	ID           uuid.UUID
	Type         schema.MemoryType
	Payload      json.RawMessage
	Live         bool
	SupersededBy *uuid.UUID
	AgentID      string
	Session      string
	CreatedBy    string
	Trust        float64
	Witnessed    bool
	Shown        bool   // the filter admits it
	Key          string // of what was learned
}

func (v versionRow) candidate() (advice.Candidate, bool) {
	out, ok := advice.CandidateOf(v.Type, v.Payload)
	out.ID = v.ID.String()
	return out, ok
}

func (v versionRow) claimed() evidence.Stats {
	c, ok := v.candidate()
	switch {
	case !ok:
		return evidence.Stats{}
	case c.Plan != nil:
		return evidence.Claimed(c.Plan.Metrics)
	}
	return evidence.Claimed(c.Competence.Performance)
}

// attempts returns the attempts in an episode.
func (v versionRow) attempts() []trace.Attempt {
	var p schema.EpisodicPayload
	if json.Unmarshal(v.Payload, &p) != nil {
		return nil
	}
	return trace.OfEpisode(trace.Meta{Episode: v.ID.String(), Source: trace.Source{Agent: v.AgentID,
		Session: v.Session, Origin: v.CreatedBy, Witnessed: v.Witnessed, Trust: v.Trust}}, p)
}

const versionColumns = `m.id, m.type, m.payload, m.live, m.superseded_by, m.agent_id,
	coalesce(m.agent_session_id, '') AS session, m.created_by, m.source_trust AS trust,
	EXISTS (SELECT FROM session_episodes s WHERE s.tenant = m.tenant AND s.memory_id = m.id AND NOT s.handed)
		AS witnessed`

// placeOf finds the memory in the place of the one that was used: its newest version if it was superseded, and the
// procedure that a tentative solution has become. It locks them, so that none is superseded before the outcome counts.
func placeOf(ctx context.Context, tx pgx.Tx, f pg.Filter, problem string, r advice.Report) (place, error) {
	out := place{used: r.Used}
	if r.Used == "" {
		return out, nil
	}
	former := f
	former.Superseded = true
	next := uuid.MustParse(r.Used)
	var used versionRow
	for range maxVersions {
		args := pg.Args{"id": next}
		rows, err := pg.CollectByName[versionRow](ctx, tx, `
			SELECT `+versionColumns+`, coalesce(`+former.Where("m", args)+`, false) AS shown
			FROM memories m
			WHERE m.tenant = @f_tenant AND m.id = @id
			FOR SHARE OF m`, args)
		if err != nil || len(rows) == 0 {
			return out, err
		}
		m := rows[0]
		switch {
		case m.ID.String() == r.Used && !m.Shown:
			return out, nil
		case m.ID.String() == r.Used:
			used, out.there, out.superseded = m, true, !m.Live
			if m.Type == schema.TypeEpisodic {
				return became(ctx, tx, f, out, used, problem, r)
			}
		case m.Live && m.Shown:
			before, ok := used.candidate()
			now, also := m.candidate()
			out.successor, out.claimed = m.ID.String(), m.claimed()
			out.carries = ok && also && advice.Carries(before, now, r.Context)
		}
		if m.Live || m.SupersededBy == nil {
			return out, nil
		}
		next = *m.SupersededBy
	}
	return out, nil
}

// became finds the procedure that a tentative solution has become. It is named by its episode.
func became(ctx context.Context, tx pgx.Tx, f pg.Filter, out place, episode versionRow, problem string,
	r advice.Report) (place, error) {
	args := pg.Args{"id": episode.ID, "kind": schema.TypeCompetence}
	rows, err := pg.CollectByName[versionRow](ctx, tx, `
		SELECT `+versionColumns+`, true AS shown, l.key
		FROM memory_links k
			JOIN learned l ON l.tenant = k.tenant AND l.memory_id = k.source_id
			JOIN memories m ON m.tenant = k.tenant AND m.id = k.source_id
		WHERE k.tenant = @f_tenant AND k.target_id = @id AND k.predicate = 'derived_from' AND m.type = @kind
			AND NOT l.tentative AND `+f.Where("m", args)+`
		ORDER BY m.id
		FOR SHARE OF m`, args)
	if err != nil {
		return out, err
	}
	attempts := episode.attempts()
	for _, m := range rows {
		c, ok := m.candidate()
		if ok && evidence.ProblemHash(m.Key) == problem && advice.BecameOf(attempts, problem, c, r.Context) {
			out.successor, out.carries, out.claimed = m.ID.String(), true, m.claimed()
			return out, nil
		}
	}
	return out, nil
}
