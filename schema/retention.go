package schema

import (
	"fmt"
	"slices"
	"time"

	"github.com/mneme/mneme/schema/check"
)

// RetentionDomain is a kind of data that is kept for a limited time.
type RetentionDomain string

// The domains. The time of memories starts with their deletion, that of other data with its creation or end.
const (
	RetainMemory        RetentionDomain = "memory"         // tombstones of memories that belong to no world
	RetainWorld         RetentionDomain = "world"          // tombstones of memories with a world_id (document 003 D2)
	RetainHistory       RetentionDomain = "history"        // history of memories
	RetainJobsCompleted RetentionDomain = "jobs_completed" // completed jobs, and results of sweeps
	RetainJobsDead      RetentionDomain = "jobs_dead"      // jobs that failed permanently
	RetainRetrievals    RetentionDomain = "retrievals"     // results of recalls, and the feedback on them
	RetainIngest        RetentionDomain = "ingest"         // batches, their candidates and proposals
	RetainForgetRuns    RetentionDomain = "forget_runs"    // selections and results of Forget runs
	RetainEvents        RetentionDomain = "events"         // the ledger of events
	RetainOperations    RetentionDomain = "operations"     // results of operations, by idempotency key
	RetainArtifacts     RetentionDomain = "artifacts"      // artifacts that no memory refers to
)

// RetentionDomains lists all domains.
var RetentionDomains = []RetentionDomain{RetainMemory, RetainWorld, RetainHistory, RetainJobsCompleted,
	RetainJobsDead, RetainRetrievals,
	RetainIngest, RetainForgetRuns, RetainEvents, RetainOperations, RetainArtifacts}

// Valid reports whether d is a known domain.
func (d RetentionDomain) Valid() bool { return slices.Contains(RetentionDomains, d) }

// OfMemories reports whether the domain's policies may differ by tier and typology, and may archive.
func (d RetentionDomain) OfMemories() bool { return d == RetainMemory || d == RetainWorld }

// OnExpiry is the action at the end of a retention window.
type OnExpiry string

// The actions on expiry.
const (
	ExpiryPurge   OnExpiry = "purge"   // remove the row permanently
	ExpiryArchive OnExpiry = "archive" // keep the row, but neither show nor recover it (document 003 D10)
)

// Any is the tier or the typology of a retention policy that applies to all tiers or typologies.
const Any = "any"

// RetentionPolicy is how long a tenant keeps ended data (document 003 D12, document 002 "Retention Worker").
type RetentionPolicy struct {
	Domain   RetentionDomain `json:"domain"`
	Tier     Tier            `json:"tier"`     // or Any
	Typology Typology        `json:"typology"` // or Any

	KeepSeconds int64    `json:"keep_seconds"` // 0 means without limit
	OnExpiry    OnExpiry `json:"on_expiry"`
	// DecayExempt excludes memories of the class from removal by decay, for any salience.
	DecayExempt bool `json:"decay_exempt,omitempty"`

	Default   bool       `json:"default"`           // no policy was set
	Version   int        `json:"version,omitempty"` // version of the stored row; 0 for a default
	UpdatedAt *time.Time `json:"updated_at,omitempty"`
	UpdatedBy string     `json:"updated_by,omitempty"`
	Reason    string     `json:"reason,omitempty"`
}

// MinRetention is the shortest window. A shorter one is most likely a mistake.
const MinRetention = time.Hour

// Validate returns a *ValidationError that lists every invalid field.
func (r *RetentionPolicy) Validate() error {
	var p check.Problems
	if !r.Domain.Valid() {
		p.Add("domain", "must be one of %s", check.Names(RetentionDomains))
	}
	for _, class := range []struct{ field, value string }{{"tier", string(r.Tier)}, {"typology", string(r.Typology)}} {
		if !r.Domain.OfMemories() && class.value != Any {
			p.Add(class.field, "must be any: only memories have classes")
		}
	}
	if r.Tier != Any && !slices.Contains(tiers, r.Tier) {
		p.Add("tier", "must be any or one of %s", check.Names(tiers))
	}
	if r.Typology != Any && !slices.Contains(typologies, r.Typology) {
		p.Add("typology", "must be any or one of %s", check.Names(typologies))
	}
	switch {
	case r.KeepSeconds < 0 || r.KeepSeconds > MaxDurationSeconds:
		p.Add("keep_seconds", "must be between 0 and %d", MaxDurationSeconds)
	case r.KeepSeconds > 0 && time.Duration(r.KeepSeconds)*time.Second < MinRetention:
		p.Add("keep_seconds", "must be at least %d, or 0 to keep it without limit", int64(MinRetention.Seconds()))
	}
	switch {
	case r.OnExpiry != ExpiryPurge && r.OnExpiry != ExpiryArchive:
		p.Add("on_expiry", "must be purge or archive")
	case r.OnExpiry == ExpiryPurge && r.Domain == RetainWorld && r.Tier != TierInteraction && r.Tier != TierSession:
		p.Add("on_expiry", "must be archive: lasting memories of a world are never deleted") // document 003 D10
	case r.OnExpiry == ExpiryArchive && !r.Domain.OfMemories():
		p.Add("on_expiry", "must be purge: only memories are archived")
	}
	if r.DecayExempt && !r.Domain.OfMemories() {
		p.Add("decay_exempt", "must be false: only memories decay")
	}
	check.Text(&p, "reason", r.Reason, MaxReasonLength)
	if isBlank(r.Reason) {
		p.Add("reason", "is required")
	}
	check.Text(&p, "updated_by", r.UpdatedBy, MaxNameLength)
	if r.UpdatedBy == "" {
		p.Add("updated_by", "is required")
	}
	return p.Err()
}

// RetentionChange is one entry of the audit of retention policies.
type RetentionChange struct {
	ID        string           `json:"id"`
	Domain    RetentionDomain  `json:"domain"`
	Tier      Tier             `json:"tier"`
	Typology  Typology         `json:"typology"`
	Before    *RetentionPolicy `json:"before,omitempty"` // nil if the default applied
	After     *RetentionPolicy `json:"after,omitempty"`  // nil if the default applies again
	ChangedBy string           `json:"changed_by"`
	Reason    string           `json:"reason"`
	ChangedAt time.Time        `json:"changed_at"`
}

// Sweep is a kind of sweep: one removes faded memories, others remove expired data.
type Sweep string

// The sweeps.
const (
	SweepDecay     Sweep = "decay"
	SweepRetention Sweep = "retention"
	// SweepHistory is the part of a retention purge that removes history. It needs its own approval: an approval for
	// memories does not apply to history, and vice versa.
	SweepHistory Sweep = "history"
)

// Valid reports whether s is one of the sweeps above.
func (s Sweep) Valid() bool { return s == SweepDecay || s == SweepRetention || s == SweepHistory }

// SweepHold is a sweep that would remove too large a share of a tenant's data, and waits for an operator to allow it.
type SweepHold struct {
	Tenant     string     `json:"tenant"`
	Sweep      Sweep      `json:"sweep"`
	WouldTake  int64      `json:"would_take"` // lower bound
	Stored     int64      `json:"stored"`
	Share      float64    `json:"share"` // [0,1]; the limit that would be exceeded
	AskedAt    time.Time  `json:"asked_at"`
	Admitted   *int64     `json:"admitted,omitempty"` // how many more rows may be removed; nil if not answered
	AnsweredBy string     `json:"answered_by,omitempty"`
	Reason     string     `json:"reason,omitempty"`
	AnsweredAt *time.Time `json:"answered_at,omitempty"`
}

// needPoints reports missing fields of a curve's points, because a missing share would be read as zero and end all
// salience. Points with other problems are not checked further.
func (d *decoder) needPoints(points *[]DecayPoint) {
	const path = "lifecycle.decay.points"
	if len(*points) > MaxDecayPoints {
		return // the check has reported them
	}
	for i := range *points {
		point := fmt.Sprintf("%s[%d]", path, i)
		if slices.ContainsFunc(d.Fields, func(f FieldError) bool { return f.Field == d.asGiven(point) }) {
			continue // not an object
		}
		for _, name := range []string{"after_seconds", "share"} {
			if at := check.Join(point, name); !d.seen[at] {
				d.Add(d.asGiven(at), "is required")
			}
		}
	}
	if slices.ContainsFunc(d.Fields, func(f FieldError) bool { return under(f.Field, d.asGiven(path)) }) {
		*points = nil
	}
}

// checkDecayPoints checks the points of a custom curve. Decay must be monotonic (document 004 §15A.7).
func checkDecayPoints(p *check.Problems, path string, d DecayProfile) {
	switch {
	case len(d.Points) == 0, d.Curve != "" && !slices.Contains(decayCurves, d.Curve):
		return
	case d.Curve != CurveCustom:
		p.Add(path, "only a custom curve has points")
		return
	case len(d.Points) > MaxDecayPoints:
		p.Add(path, "must hold at most %d points", MaxDecayPoints)
		return
	}
	for i, point := range d.Points {
		after, share := fmt.Sprintf("%s[%d].after_seconds", path, i), fmt.Sprintf("%s[%d].share", path, i)
		if point.AfterSeconds < 0 || point.AfterSeconds > MaxDurationSeconds {
			p.Add(after, "must be between 0 and %d", MaxDurationSeconds)
		} else if i > 0 && point.AfterSeconds <= d.Points[i-1].AfterSeconds {
			p.Add(after, "must be later than the point before it")
		}
		switch {
		case !unit(point.Share):
			p.Add(share, "must be between 0 and 1")
		case point.AfterSeconds == 0 && point.Share != 1:
			p.Add(share, "must be 1 at 0 seconds: nothing has faded yet")
		case i > 0 && point.Share > d.Points[i-1].Share:
			p.Add(share, "must not be more than that of the point before it: salience never rises without feedback")
		}
	}
}

// RemovalKind says what a removal has removed.
type RemovalKind string

// What is removed without a run of Forget.
const (
	RemovedTopics    RemovalKind = "topics"
	RemovedArtifacts RemovalKind = "artifacts"
)

// Removal is the record of a removal. It has nothing of what was removed.
type Removal struct {
	ID        string      `json:"id"`
	Kind      RemovalKind `json:"kind"`
	Agent     string      `json:"agent,omitempty"` // empty: of every agent of the user
	Scope     string      `json:"scope,omitempty"`
	Removed   int         `json:"removed"`
	Kept      int         `json:"kept,omitempty"` // still stored for memories, other users or agents
	RemovedBy string      `json:"removed_by"`
	Reason    string      `json:"reason,omitempty"`
	RemovedAt time.Time   `json:"removed_at"`
}
