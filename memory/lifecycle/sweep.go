package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// Decayed is a live memory that a sweep finds due.
type Decayed struct {
	Tier           schema.Tier
	Typology       schema.Typology
	Pinned         bool
	DeletionPolicy schema.DeletionPolicy
	World          bool       // it has a world_id
	ActionLinked   bool       // it has one of ActionLinks
	ValidUntil     *time.Time // of a timeboxed one
	CreatedAt      time.Time
	Decay          memory.Decay
	Salience       float64 // [0,1], as of SalienceAt
	SalienceAt     time.Time
}

// SweepOutcome is what a sweep does with a memory.
type SweepOutcome string

// Outcomes of a sweep.
const (
	SweepPrune   SweepOutcome = "pruned"   // it becomes a tombstone, which can be recovered
	SweepArchive SweepOutcome = "archived" // it is kept without limit, hidden from readers, and can be recovered
	SweepKeep    SweepOutcome = "kept"     // it is not changed, although it is due
	SweepNotDue  SweepOutcome = "not_due"  // it is not due: its stored time was out of date
)

// SweepVerdict is the decision of a sweep about a memory, with the reason.
type SweepVerdict struct {
	Outcome SweepOutcome
	// A word: faded, max_age, pinned, decay_exempt, valid, never, manual_only, action_linked, world, retention.
	Why      string
	Salience float64    // present salience
	NextDue  *time.Time // time of the next check of a memory that is kept; nil: after its next change
}

// KeptFor is the time after which a sweep checks exempted memories again: policies change.
const KeptFor = 30 * 24 * time.Hour

// KeptPolicy is the deletion policy of memories that decay does not change.
const KeptPolicy = schema.DeleteNever

// StaysWhileValid reports whether decay does not remove valid memories of a class: the lasting facts of a world
// (document 003 D12).
func StaysWhileValid(d schema.RetentionDomain, tier schema.Tier, typology schema.Typology) bool {
	return d == schema.RetainWorld && tier == schema.TierPersistent && typology == schema.TypologySemantic
}

// Domain returns the domain of the retention policies that apply to a memory.
func (m Decayed) Domain() schema.RetentionDomain { return MemoryDomain(m.World) }

// JudgeDue decides what happens to a memory that is due (document 004 §11: memories below the threshold may be
// removed; document 003 D10 and D12). In order:
//
//   - a pinned memory is never due, and one that is no longer due is not changed;
//   - a memory that its class's policy exempts stays; facts of a world stay as long as they are valid;
//   - deletion policy never: it stays; manual_only: only a person deletes it, so it is archived;
//   - auto_prune: it is pruned, unless an action is linked to it, it belongs to a world, or its class archives: then it
//     is archived.
func JudgeDue(m Decayed, p schema.RetentionPolicy, now time.Time) SweepVerdict {
	v := SweepVerdict{Outcome: SweepKeep, Salience: m.Decay.Salience(m.Salience, now.Sub(m.SalienceAt))}
	due, fades := m.Decay.DueAt(m.Salience, m.SalienceAt, m.CreatedAt, m.Pinned)
	later := now.Add(KeptFor)
	switch {
	case m.Pinned:
		v.Outcome, v.Salience, v.Why = SweepNotDue, m.Salience, "pinned"
	case !fades:
		v.Outcome, v.Why = SweepNotDue, "faded"
	case now.Before(due):
		v.Outcome, v.Why, v.NextDue = SweepNotDue, "faded", &due
	case p.DecayExempt:
		v.Why, v.NextDue = "decay_exempt", &later
	case StaysWhileValid(m.Domain(), m.Tier, m.Typology) && (m.ValidUntil == nil || now.Before(*m.ValidUntil)):
		v.Why, v.NextDue = "valid", m.ValidUntil
		if v.NextDue == nil {
			v.NextDue = &later
		}
	case m.DeletionPolicy == KeptPolicy:
		v.Why = "never"
	case m.DeletionPolicy == schema.DeleteManualOnly:
		v.Outcome, v.Why = SweepArchive, "manual_only"
	case m.ActionLinked:
		v.Outcome, v.Why = SweepArchive, "action_linked"
	case m.World:
		v.Outcome, v.Why = SweepArchive, "world"
	case p.OnExpiry == schema.ExpiryArchive:
		v.Outcome, v.Why = SweepArchive, "retention"
	default:
		v.Outcome, v.Why = SweepPrune, "faded"
		if m.Decay.MaxAge > 0 && !now.Before(m.CreatedAt.Add(m.Decay.MaxAge)) {
			v.Why = "max_age"
		}
	}
	return v
}

// SweepReason returns the reason that history records for a verdict.
func SweepReason(v SweepVerdict, d memory.Decay) string {
	state := fmt.Sprintf("salience %.3f, threshold %.3f", v.Salience, d.MinSalience)
	switch v.Outcome {
	case SweepPrune:
		return fmt.Sprintf("decay: %s (%s)", v.Why, state)
	case SweepArchive:
		return fmt.Sprintf("decay: archived, not deleted: %s (%s)", v.Why, state)
	default:
		return fmt.Sprintf("decay: kept: %s (%s)", v.Why, state)
	}
}

// ExpiredTombstone returns what happens to a tombstone after its window: it is purged, or permanently archived
// (document 003 D10). It returns false if the window is not over.
func ExpiredTombstone(
	p schema.RetentionPolicy,
	deletedAt time.Time,
	actionLinked bool,
	now time.Time,
) (schema.OnExpiry, bool) {
	before, ends := ExpiredBefore(p, now)
	if !ends || deletedAt.After(before) {
		return "", false
	}
	if actionLinked {
		return schema.ExpiryArchive, true
	}
	return p.OnExpiry, true
}

// Limits of the part of a tenant's data that one run may remove without a confirmation.
const (
	// SweepShare is the default of the share of a tenant's data that a run may remove.
	SweepShare = 0.5
	// SweepFree is the number of memories that a run may always remove, because a share of a few is not meaningful.
	SweepFree = 100
)

// SweepAllowance returns the number of items that a run may remove without a confirmation. With a clock set too far
// ahead everything is due, and with a wrong window everything expires: neither must remove all data of a tenant.
func SweepAllowance(stored int64, share float64) int64 {
	if !(share >= 0 && share <= 1) { // negated so that NaN is caught
		share = SweepShare
	}
	return max(SweepFree, int64(share*float64(stored)))
}

// CountDependents is the name of a count in a sweep's result: the rows that were removed together with memories or
// jobs, such as versions and links. The value is in stored and public results.
const CountDependents = "beside"

// CountName returns the name of a sweep's count for people.
func CountName(name string) string {
	if name == CountDependents {
		return "dependents"
	}
	return strings.ReplaceAll(name, "_", " ")
}
