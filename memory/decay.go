package memory

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/mneme/mneme/schema"
)

// DefaultDailyDecay is the share of its importance that a memory keeps for each day without a read
// (document 002 "Importance Decay").
const DefaultDailyDecay = 0.95

// InitialSalience is the salience that a memory begins with; reinforcement and decay move it (document 004 §11).
const InitialSalience = 1.0

// Decay says how the salience of a record fades and when it falls due. It is the union of the RFC's
// Lifecycle.decay (document 004 §15A.3, schema appendix) and its DecayProfile (§15A.7). A record that
// is pinned does not fade: callers do not ask a Decay about it.
type Decay struct {
	Curve schema.DecayCurve
	// HalfLife is the time in which salience halves. If it is zero or less, salience never falls. Custom curves use
	// their points instead.
	HalfLife time.Duration
	// MinSalience is the threshold, in [0,1], at which the record falls due. 0: salience never makes it due.
	MinSalience float64
	// MaxAge is the age, counted from creation, at which the record falls due regardless of its salience. 0: none.
	MaxAge time.Duration
	// Floor is the lowest value to which salience fades, in [0,1]. If it is at least MinSalience, salience never
	// makes the record due.
	Floor float64
	// ReinforcementGain is what one full success adds to salience, in [0,1].
	ReinforcementGain float64
	// Points are the points of a custom curve, with ascending times and shares that never rise. A custom curve
	// without points is exponential. Copies share the slice, so it must not be changed in place.
	Points []DecayPoint
}

// DecayPoint is one point of a custom curve.
type DecayPoint struct {
	After time.Duration // since salience was set; whole seconds where it is stored
	Share float64       // the share of the base salience that is left then, in [0,1]
}

// DecayOf returns how a record fades, from its decay profile.
func DecayOf(p schema.DecayProfile) Decay {
	d := Decay{
		Curve:             p.Curve,
		HalfLife:          seconds(p.HalfLifeSeconds),
		MinSalience:       p.MinSalience,
		MaxAge:            seconds(p.MaxAgeSeconds),
		Floor:             p.Floor,
		ReinforcementGain: p.ReinforcementGain,
		Points:            DecayPoints(p.Points),
	}
	if d.Curve == "" {
		d.Curve = schema.CurveExponential
	}
	return d
}

// DecayPoints converts the points of a custom curve. It returns nil if there are none.
func DecayPoints(points []schema.DecayPoint) []DecayPoint {
	var out []DecayPoint
	for _, p := range points {
		out = append(out, DecayPoint{After: seconds(p.AfterSeconds), Share: p.Share})
	}
	return out
}

// Profile returns the decay profile of a record, from which DecayOf restores d. Durations are cut to seconds.
func (d Decay) Profile() schema.DecayProfile {
	p := schema.DecayProfile{Curve: d.Curve, HalfLifeSeconds: int64(d.HalfLife / time.Second),
		MinSalience:   d.MinSalience,
		MaxAgeSeconds: int64(d.MaxAge / time.Second), Floor: d.Floor, ReinforcementGain: d.ReinforcementGain}
	for _, point := range d.Points {
		p.Points = append(p.Points, schema.DecayPoint{AfterSeconds: int64(point.After / time.Second),
			Share: point.Share})
	}
	return p
}

// Equal reports whether two records fade alike.
func (d Decay) Equal(o Decay) bool {
	return d.Curve == o.Curve && d.HalfLife == o.HalfLife && d.MinSalience == o.MinSalience &&
		d.MaxAge == o.MaxAge && d.Floor == o.Floor &&
		d.ReinforcementGain == o.ReinforcementGain &&
		slices.Equal(d.Points, o.Points)
}

// DefaultDecay returns how memories of a type fade unless a policy sets it. The half-lives of semantic (90 days) and
// competence (30 days) are those of the RFC's example records (§15A.12), and a plan is a competence in another shape.
// Episodes are to be "aggressively decayed" (§5): after 7 days half is left, and an episode that nothing reinforces
// is due in its fifth week, after consolidation has seen it several times. Working memory (1 day) outlasts the night
// between two sessions. An unknown type fades like an episode.
func DefaultDecay(t schema.MemoryType) Decay {
	const day = 24 * time.Hour
	d := Decay{
		Curve:             schema.CurveExponential,
		HalfLife:          7 * day,
		MinSalience:       0.05,
		ReinforcementGain: 0.1,
	}
	switch t {
	case schema.TypeWorking:
		d.HalfLife = day
	case schema.TypeSemantic:
		d.HalfLife = 90 * day
	case schema.TypeCompetence, schema.TypePlanGraph:
		d.HalfLife = 30 * day
	}
	return d
}

// Salience returns what is left of base after a time, in [Floor,1]. It never rises with time, and a
// negative time, as clocks of two machines may yield, does not decay.
//
//   - exponential: base × 2^(−t/HalfLife)
//   - linear: base × (1 − t/2·HalfLife): half at the half-life, nothing at two
//   - custom: base × the share between the two points around t, on the line from one to the other.
//     At 0 everything is left, and after the last point its share stays
//   - a custom curve without points and an unknown one read as exponential, so that a record whose
//     curve is defined elsewhere fades here as well
func (d Decay) Salience(base float64, since time.Duration) float64 {
	return max(ClampUnit(base)*d.Share(since), ClampUnit(d.Floor))
}

// Share is what a curve leaves of a base of 1, without the floor.
func (d Decay) Share(since time.Duration) float64 {
	switch {
	case since <= 0:
		return 1
	case d.byPoints():
		return d.alongPoints(since)
	case d.HalfLife > 0:
		halfLives := float64(since) / float64(d.HalfLife)
		if d.Curve == schema.CurveLinear {
			return max(0, 1-halfLives/2)
		}
		return math.Exp2(-halfLives)
	}
	return 1
}

// byPoints reports whether the curve is drawn by its points.
func (d Decay) byPoints() bool { return d.Curve == schema.CurveCustom && len(d.Points) > 0 }

// alongPoints is the share on a custom curve. It never rises, whatever the points are: a point earlier than its
// predecessor is skipped, and a larger share counts as the predecessor's.
func (d Decay) alongPoints(since time.Duration) float64 {
	from := DecayPoint{Share: 1}
	for _, to := range d.Points {
		if to.After < from.After {
			continue
		}
		to.Share = min(from.Share, ClampUnit(to.Share))
		if since < to.After {
			passed := float64(since-from.After) / float64(to.After-from.After)
			return max(to.Share, from.Share-(from.Share-to.Share)*passed) // the last bit may fall below
		}
		from = to
	}
	return from.Share
}

// Reinforce returns salience after use: raised by ReinforcementGain × weight and kept in [Floor,1].
// Weight 1 is a full success, −1 a failure, and a fraction something between, such as retrieved but
// not used (document 004 §15.6). The result holds from the moment of use.
func (d Decay) Reinforce(salience, weight float64) float64 {
	gain := ClampUnit(d.ReinforcementGain) * weight
	if math.IsNaN(gain) {
		gain = 0 // the outcome is not known, so nothing changes
	}
	return max(ClampUnit(ClampUnit(salience)+gain), ClampUnit(d.Floor))
}

// DueAt returns the moment when a record whose salience was base at salienceAt falls due: it has
// faded to MinSalience or reached MaxAge, whichever comes first. It is false for a record that never
// does: pinned, or with neither limit, or with one further away than a time.Duration can say (292
// years). A record that already is below MinSalience is due at salienceAt.
//
// The moment is at most a few milliseconds late and never early: at DueAt, Salience is at most
// MinSalience. It is whole milliseconds after salienceAt, so that times in whole microseconds, as
// Postgres keeps them, survive being stored, and a sweep that finds a record by its stored DueAt
// always agrees that it is due.
func (d Decay) DueAt(base float64, salienceAt, createdAt time.Time, pinned bool) (time.Time, bool) {
	if pinned {
		return time.Time{}, false
	}
	var due time.Time
	after, fades := d.timeToFade(base)
	if fades {
		due = salienceAt.Add(after)
	}
	if d.MaxAge > 0 {
		if byAge := createdAt.Add(d.MaxAge); !fades || byAge.Before(due) {
			due = byAge
		}
	}
	return due, fades || d.MaxAge > 0
}

// tick is what DueAt is rounded up to.
const tick = time.Millisecond

// timeToFade returns how long base takes to reach MinSalience, rounded up.
func (d Decay) timeToFade(base float64) (time.Duration, bool) {
	base, threshold := ClampUnit(base), ClampUnit(d.MinSalience)
	if threshold == 0 || ClampUnit(d.Floor) >= threshold {
		return 0, false
	}
	if base <= threshold {
		return 0, true
	}
	if d.byPoints() {
		return d.timeAlongPoints(base, threshold)
	}
	if d.HalfLife <= 0 {
		return 0, false
	}
	halfLives := math.Log2(base / threshold)
	if d.Curve == schema.CurveLinear {
		halfLives = 2 * (1 - threshold/base)
	}
	ticks := math.Ceil(halfLives * (float64(d.HalfLife) / float64(tick)))
	const farthest = math.MaxInt64/float64(tick) - 1
	if ticks > farthest {
		return 0, false
	}
	after := time.Duration(ticks) * tick
	// Salience and this function round differently. Where the last bit leaves salience above the
	// threshold (linear, 25 s, from 1 to 0.04), step on until both agree.
	for step := tick; d.Salience(base, after) > threshold; step *= 2 {
		if after > math.MaxInt64-step {
			return 0, false
		}
		after += step
	}
	return after, true
}

// timeAlongPoints is timeToFade for a custom curve: the first tick at which Salience, which never rises,
// has reached the threshold. The line between two points is not turned around, because Salience itself
// is asked: a segment that is nearly level has no inverse that is exact to a tick.
func (d Decay) timeAlongPoints(base, threshold float64) (time.Duration, bool) {
	end := tick // of the curve, after which nothing fades; never before the first moment at which anything has
	for _, p := range d.Points {
		end = max(end, p.After)
	}
	last := end / tick
	if end%tick > 0 && last < math.MaxInt64/tick {
		last++
	}
	if d.Salience(base, last*tick) > threshold {
		return 0, false
	}
	ticks := sort.Search(int(last), func(i int) bool { return d.Salience(base, time.Duration(i)*tick) <= threshold })
	return time.Duration(ticks) * tick, true
}

// Importance returns what base is worth now: base × dailyRate^days since the last access, where days
// may be a fraction (document 002 "Importance Decay"). Pinned memories have importance 1 always. A
// rate outside (0,1] counts as DefaultDailyDecay.
func Importance(base float64, sinceAccess time.Duration, dailyRate float64, pinned bool) float64 {
	if pinned {
		return 1
	}
	days := max(0, sinceAccess.Hours()/24)
	return ClampUnit(base) * math.Pow(DailyDecay(dailyRate), days)
}

// DailyDecay returns the rate at which importance fades: the given one, or DefaultDailyDecay where it is not
// in (0,1].
func DailyDecay(rate float64) float64 {
	if rate > 0 && rate <= 1 {
		return rate
	}
	return DefaultDailyDecay
}

// ShownPoints are the points of a curve as explanations show them, such as "7d 0.5".
func (d Decay) ShownPoints() []string {
	out := []string{}
	for _, p := range d.Points {
		after := "0s"
		if p.After > 0 {
			after = FormatAge(p.After)
		}
		out = append(out, after+" "+strconv.FormatFloat(p.Share, 'g', -1, 64))
	}
	return out
}

// FormatAge writes a length of time as ParseAge reads it, to the millisecond; zero and less is "none".
func FormatAge(d time.Duration) string {
	if d <= 0 {
		return "none"
	}
	var b strings.Builder
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}} {
		if n := d / unit.size; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, unit.name)
			d -= n * unit.size
		}
	}
	return b.String()
}
