package revision

import (
	"cmp"
	"slices"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// EvidenceMemory is evidence that is itself a memory.
type EvidenceMemory struct {
	ID          string
	SourceTrust float64
	Sensitivity schema.Sensitivity
}

// Revision is what Plan decides on.
type Revision struct {
	Action  schema.ReviseAction
	Frozen  bool       // nothing may be changed
	Targets []Standing // in the order of the request
	// Record is the new truth, nil for retract and for resolve by a winner. Exists says that it is a
	// memory already, and Chain what supersedes that one, nearest first.
	Record *Standing
	Exists bool
	Chain  []string
	// Narrowed is the id of the copy that a fork leaves of its target, if it needs one.
	Narrowed         string
	TargetConditions *schema.Validity
	Winner           string // id of a target
	Evidence         []EvidenceMemory
	Holders          []Standing // active and contested memories that make a claim of a target or the record
}

// RevisionPlan is what a revision does, or why it does nothing.
type RevisionPlan struct {
	Status    schema.ReviseStatus // applied, or the refusal
	Action    schema.ReviseAction // what reconcile chose, or the revision's
	Why       string              // which rule chose or refused; never content
	Conflicts []string            // ids of other memories that prevent the revision

	Audit     schema.AuditAction // of every history row
	Steps     []Step             // in the order of the targets
	Record    *RecordPlan
	Narrowed  *schema.Validity // what the copy of the target is valid for
	Relations []PlannedRelation
}

// Step is what becomes of a target.
type Step struct {
	Status    schema.Status
	Successor string // id of what supersedes it
}

// RecordPlan is how the record is kept.
type RecordPlan struct {
	Status      schema.Status
	Sensitivity schema.Sensitivity
	SourceTrust float64
	Confidence  float64
	Pinned      bool
	Supersedes  string // the first target that it supersedes
}

// PlannedRelation is an edge that the revision writes.
type PlannedRelation struct {
	Source, Predicate, Target string
}

// Predicates of the relations that revisions write (document 004 §15A.5).
const (
	RelationSupersedes  = "supersedes"
	RelationDerivedFrom = "derived_from"
	RelationContradicts = "contradicts"
	RelationSupports    = "supports"
)

// Plan decides what a revision operation does to memories as they stand (document 004 §7, §12,
// §15.7). It changes nothing.
//
//   - Every target must be found, in the version that the caller saw, live, and no episode (§5, §15B:
//     all but episodes can be revised). The first refusal in this order is the result, for whichever target.
//   - supersede: the targets are superseded by the record.
//   - fork: target and record hold side by side on disjoint grounds. A target whose ground is not
//     disjoint from the record's is superseded by a copy of it that holds on TargetConditions.
//     Competences and plans are kept side by side as they are: their triggers and constraints say
//     when each applies (§8, §12).
//   - retract: the targets are no longer held to be true.
//   - merge: the targets, of one type, are superseded by the record, which is derived from them.
//   - contest: targets and record contradict each other until that is resolved.
//   - resolve: of contested targets one, or the record, is active; the others are superseded by it.
//   - reconcile: one of supersede, fork and contest; see Choose.
//
// No third memory may make the same functional claim on the same ground as an active one of the revision
// afterwards (§15.1), neither actively nor in a contest, which only a revision of its parties decides. A
// record that was contested itself is active when it has taken a target's place.
//
// A revision is a deliberate act with evidence, so a pin does not prevent it: it passes to
// what takes the target's place. Reconcile, which chooses without a person, leaves pinned targets alone.
//
// The record is as sensitive as the most sensitive of its targets and its evidence, however it calls
// itself, and no more to be trusted than the least trusted memory that it rests on: its evidence and,
// where it is drawn from them (fork, merge), its targets. A confidence that it leaves out is the
// highest of the targets'.
func Plan(r Revision) RevisionPlan {
	if r.Frozen {
		return refuse(r.Action, schema.ReviseFrozen, "memories are not changed in this mode")
	}
	if status, why := r.admits(); status != "" {
		return refuse(r.Action, status, why)
	}
	plan := RevisionPlan{Status: schema.ReviseApplied, Action: r.Action}
	if r.Action == schema.ReviseReconcile {
		existing := r.Targets[0]
		if existing.Type != schema.TypeSemantic {
			return refuse(r.Action, schema.ReviseWrongType, "only semantic memories are reconciled")
		}
		if existing.Pinned {
			return refuse(r.Action, schema.RevisePinned, "the target is pinned: name the action")
		}
		plan.Action, plan.Why = Choose(existing, *r.Record, r.TargetConditions)
		if plan.Action == "" {
			return refuse(r.Action, schema.ReviseNoConflict, plan.Why)
		}
		if plan.Action != schema.ReviseFork {
			r.TargetConditions = nil
		}
	}
	if r.Record != nil {
		plan.Record = r.recordPlan(plan.Action)
	}
	if status, why := r.carry(&plan); status != "" {
		return refuse(plan.Action, status, why)
	}
	for _, e := range r.Evidence {
		if beneficiary := r.beneficiary(); beneficiary != "" && beneficiary != e.ID {
			plan.relate(e.ID, RelationSupports, beneficiary)
		}
	}
	if conflicts := r.conflicts(plan); len(conflicts) > 0 {
		refused := refuse(
			plan.Action,
			schema.ReviseActiveFact,
			"another active or contested memory makes the claim on the same ground",
		)
		refused.Conflicts = conflicts
		return refused
	}
	return plan
}

func refuse(action schema.ReviseAction, status schema.ReviseStatus, why string) RevisionPlan {
	return RevisionPlan{Status: status, Action: action, Why: why}
}

// admits checks what all actions ask of the targets and the record.
func (r *Revision) admits() (schema.ReviseStatus, string) {
	known := r.Targets
	if r.Exists {
		known = append(slices.Clone(r.Targets), *r.Record)
	}
	for _, m := range known {
		if !m.Found {
			return schema.ReviseNotFound, "there is no such memory"
		}
	}
	for _, m := range known {
		if m.IfVersion != 0 && m.Version != m.IfVersion {
			return schema.ReviseVersionConflict, "another version is current"
		}
	}
	if slices.ContainsFunc(
		r.Targets,
		func(m Standing) bool { return slices.Contains(r.Chain, m.ID) || r.Exists && m.ID == r.Record.ID },
	) {
		return schema.ReviseCycle, "the record is superseded by a target"
	}
	for _, m := range known {
		if !m.Live {
			why := "is deleted or archived"
			if m.Status == schema.StatusSuperseded || m.Status == schema.StatusRetracted {
				why = "is " + string(m.Status)
			}
			return schema.ReviseNotLive, why
		}
	}
	for _, m := range known {
		switch {
		case m.Type == schema.TypeEpisodic:
			return schema.ReviseEpisodic, "episodes are not corrected"
		case r.Action == schema.ReviseResolve && m.Status != schema.StatusContested:
			return schema.ReviseNotContested, "a target is not contested"
		}
	}
	typed := r.Targets[0].Type
	if r.Record != nil {
		typed = r.Record.Type
	}
	same := !slices.ContainsFunc(r.Targets, func(m Standing) bool { return m.Type != typed })
	if !same && (r.Record != nil || r.Action == schema.ReviseResolve) {
		return schema.ReviseWrongType, "targets and record must be of one type"
	}
	return "", ""
}

// recordPlan is how the record is kept before the action says more.
func (r *Revision) recordPlan(action schema.ReviseAction) *RecordPlan {
	record := r.Record
	out := &RecordPlan{
		Status:      schema.StatusActive,
		SourceTrust: record.SourceTrust,
		Confidence:  record.Confidence,
		Pinned:      record.Pinned,
	}
	strictest := memory.Classification{Sensitivity: cmp.Or(record.Sensitivity, schema.SensitivityLow)}
	drawn := action == schema.ReviseFork || action == schema.ReviseMerge
	confidence := 0.0
	for _, t := range r.Targets {
		strictest = strictest.DerivedFrom(t.Sensitivity)
		confidence = max(confidence, t.Confidence)
		if drawn {
			out.SourceTrust = memory.DerivedTrust(out.SourceTrust, t.SourceTrust)
		}
	}
	for _, e := range r.Evidence {
		strictest = strictest.DerivedFrom(e.Sensitivity)
		out.SourceTrust = memory.DerivedTrust(out.SourceTrust, e.SourceTrust)
	}
	out.Sensitivity = strictest.Sensitivity
	if out.Confidence == 0 {
		out.Confidence = confidence
	}
	return out
}

// beneficiary is the memory that the evidence speaks for.
func (r *Revision) beneficiary() string {
	if r.Record != nil {
		return r.Record.ID
	}
	return r.Winner
}

// carry fills in what the action does, or refuses it.
func (r *Revision) carry(plan *RevisionPlan) (schema.ReviseStatus, string) {
	switch plan.Action {
	case schema.ReviseSupersede:
		plan.Audit = schema.AuditRevise
		r.supersedeBy(plan, r.Record.ID)
	case schema.ReviseMerge:
		plan.Audit = schema.AuditMerge
		r.supersedeBy(plan, r.Record.ID)
		for _, t := range r.Targets {
			plan.relate(r.Record.ID, RelationDerivedFrom, t.ID)
		}
	case schema.ReviseRetract:
		plan.Audit = schema.AuditRetract
		for range r.Targets {
			plan.Steps = append(plan.Steps, Step{Status: schema.StatusRetracted})
		}
	case schema.ReviseContest:
		if r.Record.Type != schema.TypeSemantic {
			return schema.ReviseWrongType, "only semantic memories are contested"
		}
		plan.Audit = schema.AuditContest
		plan.Record.Status = schema.StatusContested
		for _, t := range r.Targets {
			plan.Steps = append(plan.Steps, Step{Status: schema.StatusContested})
			plan.relate(r.Record.ID, RelationContradicts, t.ID)
			plan.relate(t.ID, RelationContradicts, r.Record.ID)
		}
	case schema.ReviseResolve:
		plan.Audit = schema.AuditResolve
		r.supersedeBy(plan, r.beneficiary())
	default:
		plan.Audit = schema.AuditFork
		return r.fork(plan)
	}
	return "", ""
}

// supersedeBy supersedes every target but the successor, which is active if it is one of them.
func (r *Revision) supersedeBy(plan *RevisionPlan, successor string) {
	for _, t := range r.Targets {
		if t.ID == successor {
			plan.Steps = append(plan.Steps, Step{Status: schema.StatusActive})
			continue
		}
		plan.Steps = append(plan.Steps, Step{Status: schema.StatusSuperseded, Successor: successor})
		plan.relate(successor, RelationSupersedes, t.ID)
		if plan.Record != nil {
			plan.Record.Pinned = plan.Record.Pinned || t.Pinned
			plan.Record.Supersedes = cmp.Or(plan.Record.Supersedes, t.ID)
		}
	}
}

func (r *Revision) fork(plan *RevisionPlan) (schema.ReviseStatus, string) {
	target, record := r.Targets[0], *r.Record
	plan.relate(record.ID, RelationDerivedFrom, target.ID)
	switch record.Type {
	case schema.TypeCompetence, schema.TypePlanGraph:
		if r.TargetConditions != nil {
			return schema.ReviseWrongType,
				"target_conditions are for semantic memories: a procedure's triggers say when it applies"
		}
		plan.Steps = []Step{{Status: target.Status}}
		return "", ""
	case schema.TypeSemantic:
	default:
		return schema.ReviseWrongType, "only semantic memories, competences and plans are forked"
	}
	left := r.TargetConditions
	if left == nil {
		if !memory.Disjoint(target.Validity, record.Validity) {
			return schema.ReviseOverlap, "the grounds of target and record are not disjoint: say " +
				"in target_conditions where the target still holds"
		}
		plan.Steps = []Step{{Status: target.Status}}
		return "", ""
	}
	switch {
	case target.Status == schema.StatusContested:
		return schema.ReviseOverlap, "the target is contested: resolve it before it is divided"
	case !memory.Disjoint(*left, record.Validity):
		return schema.ReviseOverlap, "target_conditions and the record's conditions are not disjoint"
	case !memory.Covers(target.Validity, *left):
		return schema.ReviseOverlap, "target_conditions reach beyond where the target holds"
	case memory.Covers(*left, target.Validity):
		plan.Steps = []Step{{Status: target.Status}} // it holds there and nowhere else already
		return "", ""
	}
	plan.Narrowed = left
	plan.Steps = []Step{{Status: schema.StatusSuperseded, Successor: r.Narrowed}}
	plan.relate(r.Narrowed, RelationSupersedes, target.ID)
	plan.relate(r.Narrowed, RelationDerivedFrom, target.ID)
	return "", ""
}

func (p *RevisionPlan) relate(source, predicate, target string) {
	if edge := (PlannedRelation{source, predicate, target}); source != target && !slices.Contains(p.Relations, edge) {
		p.Relations = append(p.Relations, edge)
	}
}

// conflicts lists the active and contested memories outside the revision that make a claim on a ground on
// which a memory of the revision is active with it afterwards.
func (r *Revision) conflicts(plan RevisionPlan) []string {
	var active []Standing // of the revision, after it
	ours := map[string]bool{}
	for i, t := range r.Targets {
		ours[t.ID] = true
		// What was active and stays so was unique before.
		if plan.Steps[i].Status == schema.StatusActive && t.Status != schema.StatusActive {
			active = append(active, t)
		}
	}
	if plan.Narrowed != nil {
		left := r.Targets[0]
		left.Validity = *plan.Narrowed
		active = append(active, left)
	}
	if r.Record != nil {
		ours[r.Record.ID] = true
		if plan.Record.Status == schema.StatusActive && (!r.Exists || r.Record.Status != schema.StatusActive) {
			active = append(active, *r.Record)
		}
	}
	var out []string
	for _, h := range r.Holders {
		if !ours[h.ID] && slices.ContainsFunc(active, func(m Standing) bool {
			return m.ClaimKey != "" && m.ClaimKey == h.ClaimKey && memory.SameGround(m.Validity, h.Validity)
		}) {
			out = append(out, h.ID)
		}
	}
	return out
}
