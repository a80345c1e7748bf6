package lifecycle

import (
	"slices"
	"time"

	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
)

// Default windows (document 002 "Retention Worker").
const (
	TombstoneWindow     = revision.RecoveryWindow
	HistoryWindow       = 180 * 24 * time.Hour
	CompletedJobsWindow = 14 * 24 * time.Hour
	DeadJobsWindow      = 30 * 24 * time.Hour
	// RetrievalWindow is the time within which feedback is accepted. The documents name none. The result of a recall is
	// known within days, and a month equals the time in which a deletion can be undone.
	RetrievalWindow = 30 * 24 * time.Hour
	// IngestWindow is the time for which the pipeline's own rows are kept, long after reviews have expired and dead
	// jobs can no longer be replayed. Facts learned from them have their own provenance and relations.
	IngestWindow = 90 * 24 * time.Hour
	// OperationWindow is the least time for which an idempotency key is kept: see RetentionRules.Keys.
	OperationWindow = 90 * 24 * time.Hour
	// ForgetRunWindow is the time for which the selection of a run of Forget is kept: as long as history.
	ForgetRunWindow = HistoryWindow
	// EventWindow is the time for which the ledger is kept: as long as history.
	EventWindow = HistoryWindow
	// ArtifactWindow is the time for which an artifact is kept without a memory that refers to it.
	ArtifactWindow = 30 * 24 * time.Hour
)

// ActionLinks has the relations that link a memory to an action: a rule that was promoted, a change that was accepted,
// a decision that was published (document 003 D10). A memory with one of them is archived and never purged, in any
// tier.
var ActionLinks = []string{"promoted_to", "accepted_in", "published_as"}

// DefaultRetention returns the policy of a class without a configured one.
//
// Memories of a world are never purged (document 003 D10), and its lasting procedures do not decay (D12). Facts of a
// world decay with their validity (D12): see JudgeDue. Other memories are purged after their window
// (document 002).
func DefaultRetention(d schema.RetentionDomain, tier schema.Tier, typology schema.Typology) schema.RetentionPolicy {
	keep, p := TombstoneWindow, schema.RetentionPolicy{
		Domain:   d,
		Tier:     tier,
		Typology: typology,
		OnExpiry: schema.ExpiryPurge,
		Default:  true,
	}
	switch d {
	case schema.RetainWorld:
		p.OnExpiry = schema.ExpiryArchive
		p.DecayExempt = tier == schema.TierPersistent && typology == schema.TypologyProcedural
	case schema.RetainHistory:
		keep = HistoryWindow
	case schema.RetainJobsCompleted:
		keep = CompletedJobsWindow
	case schema.RetainJobsDead:
		keep = DeadJobsWindow
	case schema.RetainRetrievals:
		keep = RetrievalWindow
	case schema.RetainIngest:
		keep = IngestWindow
	case schema.RetainForgetRuns:
		keep = ForgetRunWindow
	case schema.RetainEvents:
		keep = EventWindow
	case schema.RetainOperations:
		keep = OperationWindow
	case schema.RetainArtifacts:
		keep = ArtifactWindow
	}
	p.KeepSeconds = int64(keep / time.Second)
	return p
}

// RetentionRules are the policies that a tenant has set, in any order.
type RetentionRules []schema.RetentionPolicy

// For returns the most specific policy of a class: the one set for its tier and typology, for its tier, for its
// typology or for the whole domain, or the default.
func (r RetentionRules) For(
	d schema.RetentionDomain,
	tier schema.Tier,
	typology schema.Typology,
) schema.RetentionPolicy {
	best, found := DefaultRetention(d, tier, typology), 0
	for _, p := range r {
		if p.Domain != d || p.Tier != schema.Any && p.Tier != tier ||
			p.Typology != schema.Any && p.Typology != typology {
			continue
		}
		says := 1
		if p.Tier != schema.Any {
			says += 2
		}
		if p.Typology != schema.Any {
			says++
		}
		if says > found {
			best, found = p, says
		}
	}
	if found == 1 { // set for the whole domain, which does not override the default of one class
		best.DecayExempt = best.DecayExempt || DefaultRetention(d, tier, typology).DecayExempt
	}
	return best
}

// keyed has the domains whose data an idempotency key protects from being processed twice. While these rows exist, a
// batch may be delivered again, a dead job replayed, and a deleted memory recovered.
var keyed = []schema.RetentionDomain{
	schema.RetainMemory,
	schema.RetainWorld,
	schema.RetainIngest,
	schema.RetainJobsCompleted,
	schema.RetainJobsDead,
}

// Keys returns the policy of operations: that of RetainOperations, but at least as long as the data that idempotency
// keys protect.
func (r RetentionRules) Keys() schema.RetentionPolicy {
	keys := r.For(schema.RetainOperations, schema.Any, schema.Any)
	outlive := func(p schema.RetentionPolicy) {
		if keys.KeepSeconds > 0 && (p.KeepSeconds <= 0 || p.KeepSeconds > keys.KeepSeconds) {
			keys.KeepSeconds = max(p.KeepSeconds, 0)
		}
	}
	for _, d := range keyed {
		if !d.OfMemories() {
			outlive(r.For(d, schema.Any, schema.Any))
		}
		for _, class := range RetentionClasses(d) {
			outlive(r.For(d, class.Tier, class.Typology))
		}
	}
	return keys
}

// Set returns the policies to set, in this order, so that a class is kept for the time in p. If then or exempt is nil,
// the class keeps its current setting. If the setting is not the same for all of the class, as with a
// world's lasting procedures, each part that differs gets its own policy, before the one of the class: no exemption
// is removed unless the request names it.
func (r RetentionRules) Set(p schema.RetentionPolicy, then *schema.OnExpiry, exempt *bool) []schema.RetentionPolicy {
	unsaid := func(set, inForce schema.RetentionPolicy) schema.RetentionPolicy {
		if then == nil {
			set.OnExpiry = inForce.OnExpiry
		}
		if exempt == nil {
			set.DecayExempt = inForce.DecayExempt
		}
		return set
	}
	p = unsaid(p, r.For(p.Domain, p.Tier, p.Typology))
	if then != nil {
		p.OnExpiry = *then
	}
	if exempt != nil {
		p.DecayExempt = *exempt
	}
	after := slices.DeleteFunc(slices.Clone(r), func(q schema.RetentionPolicy) bool {
		return q.Domain == p.Domain && q.Tier == p.Tier && q.Typology == p.Typology
	})
	after = append(after, p)
	var set []schema.RetentionPolicy
	for _, class := range RetentionClasses(p.Domain) {
		would := after.For(p.Domain, class.Tier, class.Typology)
		own := unsaid(would, r.For(p.Domain, class.Tier, class.Typology))
		if own.OnExpiry != would.OnExpiry || own.DecayExempt != would.DecayExempt {
			own.Tier, own.Typology = class.Tier, class.Typology
			set = append(set, own)
		}
	}
	return append(set, p)
}

// MemoryDomain returns the domain of the policies for memories with or without a world.
func MemoryDomain(world bool) schema.RetentionDomain {
	if world {
		return schema.RetainWorld
	}
	return schema.RetainMemory
}

// RetentionClasses returns the classes of memories that may have their own policies.
func RetentionClasses(d schema.RetentionDomain) (classes []struct {
	Tier     schema.Tier
	Typology schema.Typology
}) {
	if !d.OfMemories() {
		return nil
	}
	for _, tier := range []schema.Tier{schema.TierInteraction, schema.TierSession, schema.TierPersistent} {
		for _, typology := range []schema.Typology{schema.TypologyEpisodic, schema.TypologySemantic,
			schema.TypologyProcedural} {
			classes = append(classes, struct {
				Tier     schema.Tier
				Typology schema.Typology
			}{tier, typology})
		}
	}
	return classes
}

// The steps. Rows that refer to another row are removed before it.
const (
	// Expired memories are marked and can no longer be recovered. Archived memories are kept.
	PurgeExpire schema.PurgeStep = "expire"
	// Mentions, edges and claims, and entities without mentions.
	PurgeGraphLinks    schema.PurgeStep = "graph_links"
	PurgeEmbeddings    schema.PurgeStep = "embeddings" // with their points in the index
	PurgeTombstones    schema.PurgeStep = "tombstones" // the memories
	PurgeHistory       schema.PurgeStep = "history"
	PurgeJobsCompleted schema.PurgeStep = "jobs_completed"
	PurgeJobsDead      schema.PurgeStep = "jobs_dead"
	PurgeRetrievals    schema.PurgeStep = "retrievals" // with the feedback on them
	PurgeVersions      schema.PurgeStep = "versions"   // earlier versions of memories, kept as long as history
	PurgeIngest        schema.PurgeStep = "ingest"     // proposals, candidates and batches
	PurgeForgetRuns    schema.PurgeStep = "forget_runs"
	PurgeEvents        schema.PurgeStep = "events"
	PurgeOperations    schema.PurgeStep = "operations"     // idempotency keys
	PurgeArtifacts     schema.PurgeStep = "artifacts"      // artifacts without a memory that refers to them
	PurgePolicyChanges schema.PurgeStep = "policy_changes" // the audit of retention policies, kept as long as history
	PurgeSweepRuns     schema.PurgeStep = "sweep_runs"     // results of earlier sweeps, kept as long as completed jobs
)

// PurgeSteps has the steps in order. Document 002 "Retention Worker" requires the order of links, embeddings,
// tombstones, history, completed jobs and dead jobs. Mneme adds the marking before them and the steps after them. Jobs
// come before their batches, and batches before their idempotency keys.
var PurgeSteps = []schema.PurgeStep{
	PurgeExpire,
	PurgeGraphLinks,
	PurgeEmbeddings,
	PurgeTombstones,
	PurgeHistory,
	PurgeJobsCompleted,
	PurgeJobsDead,
	PurgeRetrievals,
	PurgeVersions,
	PurgeIngest,
	PurgeForgetRuns,
	PurgeEvents,
	PurgeOperations,
	PurgeArtifacts,
	PurgePolicyChanges,
	PurgeSweepRuns,
}

// AsksFirst reports whether a step that removes much needs a confirmation, and which one. Other steps remove only
// marked rows, or rows that are no longer needed.
func AsksFirst(s schema.PurgeStep) (question schema.Sweep, asks bool) {
	switch s {
	case PurgeExpire:
		return schema.SweepRetention, true
	case PurgeHistory:
		return schema.SweepHistory, true
	default:
		return "", false
	}
}

// NextPurgeStep returns the step after s, and whether s is the last one.
func NextPurgeStep(s schema.PurgeStep) (next schema.PurgeStep, last bool) {
	i := slices.Index(PurgeSteps, s)
	if i < 0 || i == len(PurgeSteps)-1 {
		return "", true
	}
	return PurgeSteps[i+1], false
}

// ExpiredBefore returns the time such that data under a policy is expired at now if it ended before. It returns false
// if the data is kept without limit.
func ExpiredBefore(p schema.RetentionPolicy, now time.Time) (time.Time, bool) {
	if p.KeepSeconds <= 0 {
		return time.Time{}, false
	}
	return now.Add(-time.Duration(p.KeepSeconds) * time.Second), true
}
