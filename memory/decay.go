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

// InitialSalience is the salience of a new memory. Reinforcement and decay change it (document 004 §11).
const InitialSalience = 1.0

// Decay describes how the salience of a record fades and when the record is due. It is the union of the RFC's
// Lifecycle.decay (document 004 §15A.3, schema appendix) and its DecayProfile (§15A.7). A pinned record does not fade:
// callers must not use a Decay for it, except DueAt.
type Decay struct {
	Curve schema.DecayCurve
	// HalfLife is the time in which salience halves. If it is zero or less, salience never falls. Custom curves use
	// their points instead.
	HalfLife time.Duration
	// MinSalience is the threshold, in [0,1], at which the record is due. If it is 0, salience never makes it due.
	MinSalience float64
	// MaxAge is the age, counted from creation, at which the record is due regardless of its salience. 0: no limit.
	MaxAge time.Duration
	// Floor is the lowest value to which salience fades, in [0,1]. If it is at least MinSalience, salience never
	// makes the record due.
	Floor float64
	// ReinforcementGain is added to salience by one full success, in [0,1].
	ReinforcementGain float64
	// Points are the points of a custom curve, with ascending times and shares that never rise. A custom curve
	// without points is exponential. Copies share the slice, so it must not be changed in place.
	Points []DecayPoint
}

// DecayPoint is one point of a custom curve.
type DecayPoint struct {
	After time.Duration // since salience was set; whole seconds where it is stored
	Share float64       // the remaining share of the base salience, in [0,1]
}

// DecayOf returns the Decay of a decay profile.
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

// Profile returns d as a decay profile, the inverse of DecayOf. Durations are truncated to seconds.
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

// Equal reports whether two records fade in the same way.
func (d Decay) Equal(o Decay) bool {
	return d.Curve == o.Curve && d.HalfLife == o.HalfLife && d.MinSalience == o.MinSalience &&
		d.MaxAge == o.MaxAge && d.Floor == o.Floor &&
		d.ReinforcementGain == o.ReinforcementGain &&
		slices.Equal(d.Points, o.Points)
}

// DefaultDecay returns the decay of a memory type for which no policy sets it. The half-lives of semantic (90 days)
// and competence (30 days) are those of the RFC's example records (§15A.12). A plan fades like a competence. Episodes
// are to be "aggressively decayed" (§5): their half-life is 7 days, and an episode that is never reinforced is due in
// its fifth week, after several consolidations. Working memory (1 day) lasts from one day's session to the next. An
// unknown type fades like an episode.
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

// Salience returns the salience after a time, in [Floor,1], given the salience base at its start. It never rises with
// time. A negative time, which clocks of two machines may give, counts as 0.
//
//   - exponential: base × 2^(−t/HalfLife)
//   - linear: base × (1 − t/(2·HalfLife)), which is 0 after two half-lives
//   - custom: base × the share at t, interpolated linearly between two points. The share is 1 at time 0 and stays
//     constant after the last point
//   - a custom curve without points and an unknown curve count as exponential, so that a record whose curve is
//     defined by another program fades here as well
func (d Decay) Salience(base float64, since time.Duration) float64 {
	return max(ClampUnit(base)*d.Share(since), ClampUnit(d.Floor))
}

// SalienceOf is Salience for a memory that may be pinned. A pinned memory does not fade.
func (d Decay) SalienceOf(base float64, since time.Duration, pinned bool) float64 {
	if pinned {
		return base
	}
	return d.Salience(base, since)
}

// Share returns the share of the base salience that the curve leaves after a time, without regard to Floor.
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

// byPoints reports whether the curve is defined by points.
func (d Decay) byPoints() bool { return d.Curve == schema.CurveCustom && len(d.Points) > 0 }

// alongPoints returns the share on a custom curve. It never rises, even if the points are invalid: a point earlier than
// its predecessor is skipped, and a share larger than the predecessor's counts as the predecessor's.
func (d Decay) alongPoints(since time.Duration) float64 {
	from := DecayPoint{Share: 1}
	for _, to := range d.Points {
		if to.After < from.After {
			continue
		}
		to.Share = min(from.Share, ClampUnit(to.Share))
		if since < to.After {
			passed := float64(since-from.After) / float64(to.After-from.After)
			return max(to.Share, from.Share-(from.Share-to.Share)*passed) // rounding may go below to.Share
		}
		from = to
	}
	return from.Share
}

// Reinforce returns the salience after a use: salience + ReinforcementGain × weight, limited to [Floor,1]. Weight 1 is
// a full success, −1 a failure, and a fraction lies between them, such as retrieved but not used (document 004 §15.6).
// The result is the salience at the moment of use.
func (d Decay) Reinforce(salience, weight float64) float64 {
	gain := ClampUnit(d.ReinforcementGain) * weight
	if math.IsNaN(gain) {
		gain = 0 // the outcome is unknown
	}
	return max(ClampUnit(ClampUnit(salience)+gain), ClampUnit(d.Floor))
}

// DueAt returns the moment at which a record whose salience was base at salienceAt is due: its salience has faded to
// MinSalience or its age has reached MaxAge, whichever comes first. It returns false for a record that is never due,
// because it is pinned, has neither limit, or reaches its limit after more than a time.Duration can represent (292
// years). A record that is already below MinSalience is due at salienceAt.
//
// The moment is at most a few milliseconds late and never early: at DueAt, Salience is at most MinSalience. It is a
// whole number of milliseconds after salienceAt, so that Postgres, which stores microseconds, does not change it. A
// sweep that finds a record by its stored DueAt therefore always agrees that the record is due.
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

// tick is the resolution of DueAt, which is rounded up.
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
	// Salience and this function round differently. If rounding leaves the salience above the threshold (linear,
	// 25 s, from 1 to 0.04), increase the time until both agree.
	for step := tick; d.Salience(base, after) > threshold; step *= 2 {
		if after > math.MaxInt64-step {
			return 0, false
		}
		after += step
	}
	return after, true
}

// timeAlongPoints is timeToFade for a custom curve. It returns the first tick at which Salience is at most the
// threshold. It searches with Salience, which never rises, instead of inverting a segment: the inverse of a nearly
// level segment is not exact to a tick.
func (d Decay) timeAlongPoints(base, threshold float64) (time.Duration, bool) {
	end := tick // the last point of the curve, but at least the first moment at which anything can have faded
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

// Importance returns the importance now: base × dailyRate^days since the last access, where days may be a fraction
// (document 002 "Importance Decay"). The importance of a pinned memory is always 1. A rate outside (0,1] counts as
// DefaultDailyDecay.
func Importance(base float64, sinceAccess time.Duration, dailyRate float64, pinned bool) float64 {
	if pinned {
		return 1
	}
	days := max(0, sinceAccess.Hours()/24)
	return ClampUnit(base) * math.Pow(DailyDecay(dailyRate), days)
}

// DailyDecay returns rate, or DefaultDailyDecay if rate is not in (0,1].
func DailyDecay(rate float64) float64 {
	if rate > 0 && rate <= 1 {
		return rate
	}
	return DefaultDailyDecay
}

// ShownPoints returns the points of a curve in the form that explanations use, such as "7d 0.5".
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

// FormatAge returns a duration in the form that ParseAge reads, truncated to milliseconds. It returns "none" if the
// duration is not positive.
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
