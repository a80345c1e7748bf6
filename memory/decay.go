package memory

import (
	"math"
	"time"

	"github.com/mneme/mneme/schema"
)

// DefaultDailyDecay is the share of its importance that a memory keeps for each day nobody reads it
// (document 002 "Importance Decay").
const DefaultDailyDecay = 0.95

// Decay says how the salience of a record fades and when it falls due. It is the union of the RFC's
// Lifecycle.decay (document 004 §15A.3, schema appendix) and its DecayProfile (§15A.7). A record that
// is pinned does not fade: callers do not ask a Decay about it.
type Decay struct {
	Curve schema.DecayCurve
	// HalfLife is how long salience takes to halve. Zero or less: it never fades.
	HalfLife time.Duration
	// MinSalience is the threshold, in [0,1], at which the record falls due. 0: salience never makes it due.
	MinSalience float64
	// MaxAge is the age, counted from creation, at which the record falls due whatever its salience. 0: none.
	MaxAge time.Duration
	// Floor is what salience never fades below, in [0,1]. At or above MinSalience it keeps the
	// record from falling due by salience.
	Floor float64
	// ReinforcementGain is what one full success adds to salience, in [0,1].
	ReinforcementGain float64
}

// DefaultDecay returns how memories of a type fade unless a policy says otherwise. The half-lives of
// semantic (90 days) and competence (30 days) are those of the RFC's example records (§15A.12), and a
// plan is a competence in another shape. Episodes are to be "aggressively decayed" (§5): after 7 days
// half is gone and a plain one falls due in its fourth week, in time for consolidation to have seen
// it several times. Working memory (1 day) outlasts the night between two sessions. An unknown
// type fades like an episode.
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
//   - custom and unknown curves read as exponential, so that a record whose curve is defined
//     elsewhere fades here as well
func (d Decay) Salience(base float64, since time.Duration) float64 {
	base = clampUnit(base)
	left := 1.0
	if d.HalfLife > 0 && since > 0 {
		halfLives := float64(since) / float64(d.HalfLife)
		if d.Curve == schema.CurveLinear {
			left = max(0, 1-halfLives/2)
		} else {
			left = math.Exp2(-halfLives)
		}
	}
	return max(base*left, clampUnit(d.Floor))
}

// Reinforce returns salience after use: raised by ReinforcementGain × weight and kept in [Floor,1].
// Weight 1 is a full success, −1 a failure, and a fraction something between, such as retrieved but
// not used (document 004 §15.6). The result holds from the moment of use.
func (d Decay) Reinforce(salience, weight float64) float64 {
	gain := clampUnit(d.ReinforcementGain) * weight
	if math.IsNaN(gain) {
		gain = 0 // nobody can say what happened, so nothing did
	}
	return max(clampUnit(clampUnit(salience)+gain), clampUnit(d.Floor))
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

// timeToFade returns how long base takes to reach MinSalience, rounded up.
func (d Decay) timeToFade(base float64) (time.Duration, bool) {
	base, threshold := clampUnit(base), clampUnit(d.MinSalience)
	if threshold == 0 || clampUnit(d.Floor) >= threshold {
		return 0, false
	}
	if base <= threshold {
		return 0, true
	}
	if d.HalfLife <= 0 {
		return 0, false
	}
	halfLives := math.Log2(base / threshold)
	if d.Curve == schema.CurveLinear {
		halfLives = 2 * (1 - threshold/base)
	}
	const tick = time.Millisecond
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

// Importance returns what base is worth now: base × dailyRate^days since the last access, where days
// may be a fraction (document 002 "Importance Decay"). Pinned memories have importance 1 always. A
// rate outside (0,1] counts as DefaultDailyDecay.
func Importance(base float64, sinceAccess time.Duration, dailyRate float64, pinned bool) float64 {
	if pinned {
		return 1
	}
	if !(dailyRate > 0 && dailyRate <= 1) { // so written that NaN is caught
		dailyRate = DefaultDailyDecay
	}
	days := max(0, sinceAccess.Hours()/24)
	return clampUnit(base) * math.Pow(dailyRate, days)
}
