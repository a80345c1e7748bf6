package workflows_test

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/schema"
)

// yearModel predicts the state of a tenant's memories. It is written from the documents and shares no code with the
// implementation: documents 002 ("Retention and Decay", "Soft-Delete and Recovery"), 003 (D10, D12) and 004 (§11,
// §15.6, §15A.7), and docs/forgetting.md for the rest. The test records in it all requests and sweeps with their times.
type yearModel struct {
	memories   map[string]*yearMemory
	order      []string
	policies   []yearPolicy
	jobs       []yearJob
	retrievals map[string]*yearRetrieval
	changes    []time.Time // of retention policies
}

// yearMemory is one memory. Times have the precision of Postgres.
type yearMemory struct {
	id, name       string
	kind           schema.MemoryType
	tier           schema.Tier
	typology       schema.Typology
	world          bool
	actionLinked   bool // it caused an action
	actedOn        bool // it is an action that another memory links to
	pinned         bool
	deletionPolicy schema.DeletionPolicy
	validUntil     *time.Time
	created        time.Time
	importance     float64
	decay          yearDecay

	salience   float64 // at since
	since      time.Time
	due        *time.Time
	deleted    *time.Time
	archived   *time.Time
	retained   bool // kept after the end of its window
	erased     bool
	gone       bool
	firstTrust float64 // initial confidence
	successes  int64
	failures   int64
	accesses   int64
	accessed   *time.Time
	mentions   []string // entities
	history    []yearEntry
}

type yearEntry struct {
	what string
	at   time.Time
}

type yearDecay struct {
	curve                  schema.DecayCurve
	halfLife, maxAge       time.Duration
	threshold, floor, gain float64
	points                 []schema.DecayPoint
}

type yearPolicy struct {
	domain, tier, typology string
	keep                   time.Duration // 0: without limit
	archives, exempt       bool
}

type yearJob struct {
	dead     bool
	finished time.Time
}

type yearRetrieval struct {
	at       time.Time
	returned []string
	said     map[string]*yearSaid
}

type yearSaid struct {
	verdict schema.Verdict
	moved   float64
	at      time.Time
}

const (
	yearDay        = 24 * time.Hour
	yearImportance = 0.95 // per day (document 002 "Importance Decay")
	yearTombstones = 30 * yearDay
	yearHistory    = 180 * yearDay
	yearJobsDone   = 14 * yearDay
	yearJobsDead   = 30 * yearDay
	yearRetrievals = 30 * yearDay
	yearLookAgain  = 30 * yearDay // at memories kept by a policy, because policies change
	// tolerance: a millisecond, and the rounding of floats and of Postgres
	yearRounding    = time.Millisecond + 2*time.Microsecond
	yearTrustWeight = 3 // number of outcomes that the initial confidence counts as
)

var yearWeights = map[schema.Verdict]float64{schema.VerdictSucceeded: 1, schema.VerdictPartly: 0.5,
	schema.VerdictFailed: -1, schema.VerdictUnused: -0.25}

func newYearModel() *yearModel {
	return &yearModel{memories: map[string]*yearMemory{}, retrievals: map[string]*yearRetrieval{}}
}

// share is the fraction of salience that a curve leaves after a time (document 004 §15A.3, §15A.7).
func (d yearDecay) share(after time.Duration) float64 {
	x := after.Seconds()
	switch {
	case x <= 0:
		return 1
	case d.curve == schema.CurveLinear:
		return max(0, 1-x/(2*d.halfLife.Seconds()))
	case d.curve == schema.CurveCustom && len(d.points) > 0:
		fromX, fromY := 0.0, 1.0
		for _, p := range d.points {
			toX := float64(p.AfterSeconds)
			if x <= toX {
				return fromY + (p.Share-fromY)*(x-fromX)/(toX-fromX)
			}
			fromX, fromY = toX, p.Share
		}
		return fromY
	}
	return math.Pow(2, -x/d.halfLife.Seconds())
}

// reaches returns when a curve falls to a share; false if never.
func (d yearDecay) reaches(share float64) (time.Duration, bool) {
	seconds := func(x float64) (time.Duration, bool) { return time.Duration(x * float64(time.Second)), true }
	switch {
	case share >= 1:
		return 0, true
	case d.curve == schema.CurveLinear:
		return seconds(2 * d.halfLife.Seconds() * (1 - share))
	case d.curve == schema.CurveCustom && len(d.points) > 0:
		fromX, fromY := 0.0, 1.0
		for _, p := range d.points {
			if p.Share <= share {
				return seconds(fromX + (float64(p.AfterSeconds)-fromX)*(fromY-share)/(fromY-p.Share))
			}
			fromX, fromY = float64(p.AfterSeconds), p.Share
		}
		return 0, false
	}
	return seconds(d.halfLife.Seconds() * math.Log2(1/share))
}

// at is the salience at a time. It does not change while the memory is hidden.
func (m *yearMemory) at(now time.Time) float64 {
	for _, went := range []*time.Time{m.deleted, m.archived} {
		if went != nil && went.Before(now) {
			now = *went
		}
	}
	if m.pinned {
		return m.salience
	}
	return max(m.salience*m.decay.share(now.Sub(m.since)), m.decay.floor)
}

// bearing reports whether an action rests on the memory (document 003 D10): a link is deleted with the row at either
// end.
func (m *yearMemory) bearing() bool { return m.actionLinked || m.actedOn }

func (m *yearMemory) live() bool { return !m.gone && m.deleted == nil && m.archived == nil }

// schedule sets when the memory is due: when it reaches its threshold or its maximum age, whichever is earlier. A
// pinned memory, or one whose floor is above the threshold, is never due.
func (m *yearMemory) schedule() {
	m.due = nil
	if m.pinned {
		return
	}
	earliest := func(at time.Time) {
		if m.due == nil || at.Before(*m.due) {
			m.due = &at
		}
	}
	if d := m.decay; d.threshold > 0 && d.floor < d.threshold {
		if after, ok := d.reaches(d.threshold / m.salience); ok {
			earliest(m.since.Add(after))
		}
	}
	if m.decay.maxAge > 0 {
		earliest(m.created.Add(m.decay.maxAge))
	}
}

// isDue reports whether a sweep at this time finds the memory due.
func (m *yearMemory) isDue(now time.Time) bool {
	if m.pinned {
		return false
	}
	return m.decay.threshold > 0 && m.at(now) <= m.decay.threshold || m.decay.maxAge > 0 &&
		now.Sub(m.created) >= m.decay.maxAge
}

func (m *yearMemory) note(what string, at time.Time) {
	m.history = append(m.history, yearEntry{what, at})
}

func (m *yearMemory) confidence() float64 {
	if n := m.successes + m.failures; n > 0 {
		return (yearTrustWeight*m.firstTrust + float64(m.successes)) / float64(yearTrustWeight+n)
	}
	return m.firstTrust
}

func (m *yearMemory) counts() bool {
	return m.kind == schema.TypeCompetence || m.kind == schema.TypePlanGraph
}

// policy returns the most specific policy for a class, or the default.
func (y *yearModel) policy(domain schema.RetentionDomain, tier, typology string) yearPolicy {
	best, says := yearPolicy{keep: yearTombstones}, -1
	switch domain {
	case schema.RetainWorld: // document 003 D10, and D12 for procedures
		best.archives, best.exempt = true, tier == string(schema.TierPersistent) &&
			typology == string(schema.TypologyProcedural)
	case schema.RetainHistory:
		best.keep = yearHistory
	case schema.RetainJobsCompleted:
		best.keep = yearJobsDone
	case schema.RetainJobsDead:
		best.keep = yearJobsDead
	case schema.RetainRetrievals:
		best.keep = yearRetrievals
	}
	for _, p := range y.policies {
		if p.domain != string(domain) || p.tier != schema.Any && p.tier != tier || p.typology != schema.Any &&
			p.typology != typology {
			continue
		}
		n := 0
		if p.tier != schema.Any {
			n += 2
		}
		if p.typology != schema.Any {
			n++
		}
		if n > says {
			byDefault := best.exempt
			best, says = p, n
			// A policy for all of a domain does not remove the exemption of one class.
			best.exempt = p.exempt || n == 0 && byDefault
		}
	}
	return best
}

func (y *yearModel) policyOf(m *yearMemory) yearPolicy {
	domain := schema.RetainMemory
	if m.world {
		domain = schema.RetainWorld
	}
	return y.policy(domain, string(m.tier), string(m.typology))
}

// over reports whether the retention of something that ended at a time is over.
func (p yearPolicy) over(ended, now time.Time) bool {
	return p.keep > 0 && !now.Before(ended.Add(p.keep))
}

// set changes a policy at a time; nil resets it.
func (y *yearModel) set(class yearPolicy, p *yearPolicy, now time.Time) {
	y.changes = append(y.changes, now)
	y.policies = slices.DeleteFunc(y.policies, func(o yearPolicy) bool {
		return o.domain == class.domain && o.tier == class.tier && o.typology == class.typology
	})
	if p != nil {
		y.policies = append(y.policies, *p)
	}
}

// add adds a new memory in its initial state.
func (y *yearModel) add(m *yearMemory) {
	m.schedule()
	y.memories[m.id] = m
	y.order = append(y.order, m.id)
}

// yearState is the compared state of one memory; after its removal only its history is left.
type yearState struct {
	State      string // live, tombstone, archived, kept for good, erased or gone
	Deleted    string
	Archived   string
	Due        *time.Time
	Salience   float64 // now, or at its removal
	Importance float64 // now
	Confidence float64
	Successes  int64
	Failures   int64
	Accesses   int64
	Accessed   string
	History    string
}

// yearTotals are the other compared numbers.
type yearTotals struct {
	Memories, Completed, Dead, OtherJobs, Retrievals, Feedback, PolicyChanges int
	Entities                                                                  map[string]int
}

func yearTime(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.UTC().Format("2006-01-02T15:04:05.000000")
}

func (m *yearMemory) state(now time.Time) yearState {
	var entries []string
	for _, e := range m.history {
		entries = append(entries, e.what+" "+yearTime(&e.at))
	}
	s := yearState{State: "live", History: strings.Join(entries, ", ")}
	switch {
	case m.gone:
		s.State = "gone"
		return s
	case m.erased:
		s.State = "erased"
	case m.retained:
		s.State = "kept for good"
	case m.deleted != nil:
		s.State = "tombstone"
	case m.archived != nil:
		s.State = "archived"
	}
	s.Deleted, s.Archived = yearTime(m.deleted), yearTime(m.archived)
	s.Accesses, s.Accessed = m.accesses, yearTime(m.accessed)
	if m.erased { // nothing else is stored about it
		return s
	}
	if m.live() {
		s.Due = m.due
	}
	s.Salience, s.Confidence, s.Successes, s.Failures = m.at(now), m.confidence(), m.successes, m.failures
	s.Importance = 1
	if !m.pinned {
		access := m.created
		if m.accessed != nil {
			access = *m.accessed
		}
		s.Importance = m.importance * math.Pow(yearImportance, now.Sub(access).Hours()/24)
	}
	return s
}

func (y *yearModel) totals() yearTotals {
	t := yearTotals{Retrievals: len(y.retrievals), PolicyChanges: len(y.changes), Entities: map[string]int{}}
	for _, m := range y.memories {
		if !m.gone {
			t.Memories++
		}
		for _, e := range m.mentions {
			t.Entities[e]++
		}
	}
	for _, j := range y.jobs {
		if j.dead {
			t.Dead++
		} else {
			t.Completed++
		}
	}
	for _, r := range y.retrievals {
		t.Feedback += len(r.said)
	}
	return t
}

// pick returns the memories that satisfy a condition, in the order of their creation.
func (y *yearModel) pick(holds func(*yearMemory) bool) []*yearMemory {
	var out []*yearMemory
	for _, id := range y.order {
		if m := y.memories[id]; holds(m) {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b *yearMemory) int { return cmp.Compare(a.name, b.name) })
	return out
}
