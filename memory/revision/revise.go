package revision

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// Standing is a memory as a revision finds it, or the record that it brings.
type Standing struct {
	ID          string
	Found       bool // false: there is none, or the caller may not see it
	Version     int
	IfVersion   int // as the caller saw it; 0 asks for nothing (a record only)
	Type        schema.MemoryType
	Status      schema.Status
	Live        bool
	Pinned      bool
	Sensitivity schema.Sensitivity
	SourceTrust float64 // [0,1]
	Confidence  float64 // [0,1]
	Content     string  // what DetectContradiction compares

	// Of semantic memories.
	Claim    memory.Claim
	Validity schema.Validity
	Policy   schema.RevisionPolicy // empty means replace
	// ClaimKey is what active facts are unique by beside their ground: scope, the readers that share
	// the claim, subject and predicate. Empty unless the claim is functional.
	ClaimKey string
	// Sources counts the distinct sources that the memory or the record rests on.
	Sources int
}

// Weight is how much speaks for a claim: confidence × source trust × support. Support grows with the
// number n of distinct sources as (n+1)/(n+2), from a half without any towards one: a second source
// counts for more than a tenth, and no number of sources makes up for sources that nobody trusts.
// The result lies in [0,1).
func (s Standing) Weight() float64 {
	n := float64(max(s.Sources, 0))
	return memory.ClampUnit(s.Confidence) * memory.ClampUnit(s.SourceTrust) * (n + 1) / (n + 2)
}

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
	Conflicts []string            // ids of the memories beside the targets that stand in the way

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
//     all but episodes can be revised). The first refusal in this order stands, for whichever target.
//   - supersede: the targets are superseded by the record.
//   - fork: target and record hold side by side on disjoint grounds. A target whose ground is not
//     disjoint from the record's is superseded by a copy of it that holds on TargetConditions.
//     Competences and plans stand beside each other as they are: their triggers and constraints say
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
// A revision is a deliberate act with evidence, so that a pin does not stand in its way: it passes to
// what takes the target's place. Reconcile, which chooses by itself, leaves pinned targets alone.
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
			return schema.ReviseVersionConflict, "another version stands"
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
			return schema.ReviseWrongType, "target_conditions are for semantic memories: a procedure says itself when it applies"
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
			return schema.ReviseOverlap, "the grounds of target and record are not disjoint: say in target_conditions where the target still holds"
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

// Choose says how new evidence is to be reconciled with what is held (document 004 §7 and §12,
// "conflicts are resolved by context, evidence and performance rather than forced unification"), and by
// which rule. It returns no action when there is no conflict.
//
// There is a conflict when both are about the same subject and predicate, say different things of it,
// and either the predicate has one object at a time or their words contradict each other
// (DetectContradiction); between other claims only the words tell.
//
//   - On disjoint grounds both are true: fork, whatever the policy (§15A.4 of the canonical schemas:
//     coexistence of conditional truths).
//   - Policy fork: fork where targetConditions make the grounds disjoint, contest otherwise.
//   - Policy contest: contest.
//   - Policy replace: supersede where the record weighs at least what is held (Standing.Weight) and
//     holds wherever that does; otherwise contest. A special case does not replace the rule: that would
//     forget what holds everywhere else.
func Choose(existing, incoming Standing, targetConditions *schema.Validity) (schema.ReviseAction, string) {
	if why := agree(existing, incoming); why != "" {
		return "", why
	}
	return choose(existing, incoming, targetConditions)
}

// KeepsItsPlace reports whether a memory is not the pipeline's to replace by a fact, or to delete on its
// word (document 004 §7 and §12): where Choose would fork or contest, where the memory holds on
// a ground of its own, since what a text says without conditions does not say that the special case has
// gone, and where the memory is contested already. Only semantic memories are revised so; whether fact
// and memory conflict, the decision has said.
func KeepsItsPlace(existing, incoming Standing) bool {
	if existing.Type != schema.TypeSemantic {
		return false
	}
	action, _ := choose(existing, incoming, nil)
	return action != schema.ReviseSupersede || existing.Status == schema.StatusContested ||
		!memory.SameGround(existing.Validity, incoming.Validity)
}

// choose is Choose for memories that conflict.
func choose(existing, incoming Standing, targetConditions *schema.Validity) (schema.ReviseAction, string) {
	if memory.Disjoint(existing.Validity, incoming.Validity) {
		return schema.ReviseFork, "both hold: their grounds are disjoint"
	}
	switch existing.Policy {
	case schema.PolicyFork:
		if targetConditions != nil && memory.Disjoint(*targetConditions, incoming.Validity) &&
			memory.Covers(existing.Validity, *targetConditions) {
			return schema.ReviseFork, "policy fork: target_conditions make the grounds disjoint"
		}
		return schema.ReviseContest, "policy fork: the grounds are not disjoint"
	case schema.PolicyContest:
		return schema.ReviseContest, "policy contest"
	}
	switch {
	case !memory.Covers(incoming.Validity, existing.Validity):
		return schema.ReviseContest, "policy replace: the record does not hold everywhere that the target does"
	case incoming.Weight() < existing.Weight():
		return schema.ReviseContest, "policy replace: less speaks for the record than for the target"
	default:
		return schema.ReviseSupersede, "policy replace: at least as much speaks for the record"
	}
}

// agree says why two memories do not conflict, or "".
func agree(existing, incoming Standing) string {
	a, b := existing.Claim, incoming.Claim
	risk := DetectContradiction(existing.Content, incoming.Content).Risk
	sameClaim := !a.IsZero() && !b.IsZero() && normalize.Lower(a.Subject) == normalize.Lower(b.Subject) &&
		a.Predicate == b.Predicate
	switch {
	case sameClaim && SameObject(a.Object, b.Object):
		return "both say the same"
	case sameClaim && (a.Functional || b.Functional), risk:
		return ""
	case sameClaim:
		return "the predicate may have several objects"
	default:
		return "they are about different things and their words do not contradict each other"
	}
}

// SameObject compares objects as text does, and JSON by its value.
func SameObject(a, b string) bool {
	if normalize.StorageContent(a) == normalize.StorageContent(b) {
		return true
	}
	first := func(s string) bool { return strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") }
	return first(a) && first(b) && memory.Canonical(json.RawMessage(a)) == memory.Canonical(json.RawMessage(b))
}
