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

// Revision is the input of Plan.
type Revision struct {
	Action  schema.ReviseAction
	Frozen  bool       // nothing may be changed
	Targets []Standing // in the order of the request
	// Record is the new record, nil for retract and for resolve by a winner. Exists means that it is already stored;
	// then Chain has the memories that supersede it, nearest first.
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

// RevisionPlan has the changes of a revision, or the reason why it changes nothing.
type RevisionPlan struct {
	Status    schema.ReviseStatus // applied, or the refusal
	Action    schema.ReviseAction // the action that reconcile chose, or that of the revision
	Why       string              // which rule chose or refused; never content
	Conflicts []string            // ids of other memories that prevent the revision

	Audit     schema.AuditAction // of every history row
	Steps     []Step             // in the order of the targets
	Record    *RecordPlan
	Narrowed  *schema.Validity // validity of the copy of the target
	Relations []PlannedRelation
}

// Step is the change of a target.
type Step struct {
	Status    schema.Status
	Successor string // id of the memory that supersedes it
}

// RecordPlan has the values with which the record is stored.
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

// Plan returns the changes of a revision (document 004 §7, §12, §15.7). It does not execute them.
//
//   - Each target must exist, have the version that the caller saw, be live, and not be an episode (§5, §15B: episodes
//     cannot be revised). The first refusal in this order, of any target, is the result.
//   - supersede: the record supersedes the targets.
//   - fork: target and record are both true, with disjoint validities. If the target's validity is not disjoint from
//     the record's, a copy of the target that is valid under TargetConditions supersedes it. Competences and plans do
//     not change: their triggers and constraints state when each applies (§8, §12).
//   - retract: the targets no longer count as true.
//   - merge: the record supersedes the targets, which have one type, and is derived from them.
//   - contest: targets and record contradict each other until a revision resolves it, or one side is gone
//     (EndContests).
//   - resolve: one of the contested targets, or the record, is active and supersedes the others.
//   - reconcile: one of supersede, fork and contest; see Choose.
//
// Afterwards no other memory may make the same functional claim with the same validity as an active memory of the
// revision (§15.1), neither as an active one nor as a contested one, because only a revision of all contested memories
// can resolve a contest. A record that was contested is active after it has replaced a target.
//
// A revision is deliberate and has evidence, so a pin does not prevent it: the successor of the target gets the pin.
// Reconcile, which decides without a person, does not change pinned targets.
//
// The record is at least as sensitive as its targets and its evidence. It is trusted no more than the least trusted
// memory among its evidence and, if it is derived from them (fork, merge), its targets. If it has no confidence, it
// gets the highest one of the targets.
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

// admits checks the conditions that all actions have for the targets and the record.
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

// recordPlan returns the values of the record before the action changes them.
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

// beneficiary returns the id of the memory that the evidence supports.
func (r *Revision) beneficiary() string {
	if r.Record != nil {
		return r.Record.ID
	}
	return r.Winner
}

// carry adds the changes of the action to the plan, or refuses it.
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

// supersedeBy supersedes every target except the successor. If the successor is a target, it becomes active.
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
		plan.Steps = []Step{{Status: target.Status}} // its validity is already within these conditions
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

// conflicts returns the active and contested memories outside the revision that have the same claim and validity as a
// memory that the revision makes active.
func (r *Revision) conflicts(plan RevisionPlan) []string {
	var active []Standing // memories that the revision makes active
	ours := map[string]bool{}
	for i, t := range r.Targets {
		ours[t.ID] = true
		// A target that was active before is already unique.
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
