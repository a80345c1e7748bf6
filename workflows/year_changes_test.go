package workflows_test

import (
	"maps"
	"slices"
	"time"

	"github.com/mneme/mneme/schema"
)

// recalled records that an answer returned these. It resets only the timer of importance.
func (y *yearModel) recalled(retrieval string, ids []string, now time.Time) {
	y.retrievals[retrieval] = &yearRetrieval{at: now, returned: ids, said: map[string]*yearSaid{}}
	for _, id := range ids {
		m := y.memories[id]
		m.accesses++
		m.accessed = &now
	}
}

// feedback applies verdicts on a retrieval and returns the status of each; false if the retrieval does not exist.
// rest is the verdict for memories that are not named; with fill it does not replace earlier verdicts.
func (y *yearModel) feedback(retrieval string, verdicts map[string]schema.Verdict, rest schema.Verdict, fill bool,
	now time.Time) (map[string]schema.FeedbackStatus, bool) {
	r := y.retrievals[retrieval]
	if r == nil {
		return nil, false
	}
	out := map[string]schema.FeedbackStatus{}
	for id := range verdicts {
		if !slices.Contains(r.returned, id) {
			out[id] = schema.FeedbackNotRetrieved
		}
	}
	for _, id := range r.returned {
		v, named := verdicts[id]
		if !named {
			if v = rest; v == "" {
				continue
			}
		}
		m, earlier := y.memories[id], r.said[id]
		switch {
		case !m.live():
			out[id] = schema.FeedbackGone
			if !m.gone {
				m.note("none", now)
			}
		case earlier != nil && (earlier.verdict == v || !named && fill):
			out[id] = schema.FeedbackUnchanged
		default:
			out[id] = m.judge(r, v, earlier, now)
		}
	}
	return out, true
}

// judge moves a memory's salience by the gain of its profile (document 004 §11, §15.6). The remaining effect of an
// earlier verdict, and its count, are subtracted first.
func (m *yearMemory) judge(r *yearRetrieval, v schema.Verdict, earlier *yearSaid, now time.Time) schema.FeedbackStatus {
	bound := func(x float64) float64 { return min(1, max(x, m.decay.floor, 0)) }
	stood := m.at(now)
	before := stood
	if earlier != nil {
		left := earlier.moved
		if !m.pinned {
			begun := m.since // start of the curve that includes the move
			if begun.After(earlier.at) {
				begun = earlier.at
			}
			if was := m.decay.share(earlier.at.Sub(begun)); was > 0 {
				left *= m.decay.share(now.Sub(begun)) / was
			}
		}
		before = bound(before - left)
	}
	after := bound(before + m.decay.gain*yearWeights[v])
	switch scaled := m.salience * after / stood; {
	case m.pinned:
		m.salience = after
	case yearWeights[v] > 0 && after >= stood: // it helped: restart the curve
		m.salience, m.since = after, now
	case after == stood:
	case stood > m.decay.floor && scaled <= 1: // continue the curve at another level
		m.salience = scaled
	default:
		m.salience, m.since = after, now
	}
	if m.schedule(); m.due != nil && m.due.Before(now) {
		m.due = &now
	}
	if m.counts() {
		if earlier != nil {
			m.count(earlier.verdict, -1)
		}
		m.count(v, 1)
	}
	r.said[m.id] = &yearSaid{verdict: v, moved: after - before, at: now}
	helped := yearWeights[v] > 0
	what, status := "penalise", schema.FeedbackPenalised
	if helped {
		what, status = "reinforce", schema.FeedbackReinforced
	}
	if earlier != nil {
		status = schema.FeedbackCorrected
	}
	m.note(what, now)
	return status
}

func (m *yearMemory) count(v schema.Verdict, n int64) {
	switch v {
	case schema.VerdictSucceeded:
		m.successes += n
	case schema.VerdictFailed:
		m.failures += n
	}
}

// forget forgets one memory and reports whether it did.
func (y *yearModel) forget(mode schema.ForgetMode, id string, now time.Time) bool {
	m := y.memories[id]
	switch {
	case m.gone || m.erased:
		return false
	case mode == schema.ForgetSoft && (m.pinned || m.deleted != nil):
		return false
	}
	switch mode {
	case schema.ForgetSoft:
		m.deleted = &now
		m.note("delete", now)
	case schema.ForgetForce:
		m.gone, m.mentions = true, nil
		m.note("delete", now)
	case schema.ForgetErase:
		m.erased, m.mentions = true, nil
		if m.deleted == nil {
			m.deleted = &now
		}
		m.note("erase", now)
	}
	return true
}

// recover undoes one deletion (document 002 "Soft-Delete and Recovery") or the archiving by decay.
func (y *yearModel) recover(id string, now time.Time) schema.RecoverStatus {
	m := y.memories[id]
	status := schema.RecoverRecovered
	switch {
	case m.gone:
		return schema.RecoverNotFound // no row and no history
	case m.erased:
		status = schema.RecoverErased
	case m.live():
		status = schema.RecoverNotDeleted
	case m.deleted != nil && (m.retained || y.policyOf(m).over(*m.deleted, now)):
		status = schema.RecoverExpired
	}
	if status != schema.RecoverRecovered {
		m.note("none", now)
		return status
	}
	switch { // it is restored, and its curve continues where it stopped
	case m.deleted != nil && m.archived != nil:
		m.deleted = nil
	case m.deleted != nil:
		m.since, m.deleted = m.since.Add(now.Sub(*m.deleted)), nil
	default:
		m.since, m.archived = m.since.Add(now.Sub(*m.archived)), nil
	}
	if m.live() && m.isDue(now) { // recovering shows that it is worth keeping
		m.salience, m.since = 1, now
		if age := now.Sub(m.created); m.decay.maxAge > 0 && age >= m.decay.maxAge {
			m.decay.maxAge += age
		}
	}
	m.schedule()
	m.note("recover", now)
	return status
}

// decaySweep removes the memories that are due (document 004 §11; document 003 D10, D12).
func (y *yearModel) decaySweep(now time.Time) {
	later := now.Add(yearLookAgain)
	for _, id := range y.order {
		m := y.memories[id]
		if !m.live() || m.due == nil || m.due.After(now) {
			continue
		}
		if !m.isDue(now) {
			m.schedule()
			continue
		}
		p := y.policyOf(m)
		lasting := m.world && m.tier == schema.TierPersistent
		switch {
		case p.exempt:
			m.due = &later
			m.note("keep", now)
		case lasting && m.typology == schema.TypologySemantic && (m.validUntil == nil || now.Before(*m.validUntil)):
			m.due = m.validUntil
			if m.due == nil {
				m.due = &later
			}
			m.note("keep", now)
		case m.deletionPolicy == schema.DeleteNever:
			m.due = nil
			m.note("keep", now)
		case m.deletionPolicy == schema.DeleteManualOnly || m.world || m.bearing() || p.archives:
			m.archived, m.due = &now, nil
			m.note("archive", now)
		default:
			m.deleted, m.due = &now, nil
			m.note("delete", now)
		}
	}
}

// purge removes data whose retention is over (document 002 "Retention Worker").
func (y *yearModel) purge(now time.Time) {
	for _, id := range y.order {
		m := y.memories[id]
		if m.gone || m.erased || m.retained || m.deleted == nil {
			continue
		}
		p := y.policyOf(m)
		switch {
		case !p.over(*m.deleted, now):
		case p.archives || m.bearing():
			m.retained = true
			if m.archived == nil {
				m.archived = &now
			}
			m.note("archive", now)
		default:
			m.gone, m.mentions = true, nil
			m.note("purge", now)
		}
	}
	history := y.policy(schema.RetainHistory, schema.Any, schema.Any)
	for _, m := range y.memories {
		if m.gone || !m.world && !m.bearing() {
			m.history = slices.DeleteFunc(m.history, func(e yearEntry) bool { return history.over(e.at, now) })
		}
	}
	y.changes = slices.DeleteFunc(y.changes, func(at time.Time) bool { return history.over(at, now) })
	done, dead := y.policy(schema.RetainJobsCompleted, schema.Any, schema.Any), y.policy(schema.RetainJobsDead,
		schema.Any, schema.Any)
	y.jobs = slices.DeleteFunc(y.jobs, func(j yearJob) bool {
		return j.dead && dead.over(j.finished, now) || !j.dead && done.over(j.finished, now)
	})
	retrievals := y.policy(schema.RetainRetrievals, schema.Any, schema.Any)
	maps.DeleteFunc(y.retrievals, func(_ string, r *yearRetrieval) bool { return retrievals.over(r.at, now) })
}
