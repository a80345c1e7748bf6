package schema

import (
	"fmt"
	"slices"

	"github.com/mneme/mneme/schema/check"
)

// MemoryType is the memory type that the RFC defines (document 004 §15A.1).
type MemoryType string

// The five memory types. "plan" is accepted on input for plan_graph; see ParseMemoryType.
const (
	TypeEpisodic   MemoryType = "episodic"
	TypeWorking    MemoryType = "working"
	TypeSemantic   MemoryType = "semantic"
	TypeCompetence MemoryType = "competence"
	TypePlanGraph  MemoryType = "plan_graph"
)

// IsProcedure reports whether memories of the type say how something is done: procedures and plans.
func (t MemoryType) IsProcedure() bool { return t == TypeCompetence || t == TypePlanGraph }

// Category is the kind of statement that a memory contains (document 002 "Memory Types").
type Category string

// The categories of document 002. The extractor assigns five of them; the other three are inferred for explicit saves.
const (
	CategoryFact       Category = "fact"
	CategoryPreference Category = "preference"
	CategoryDecision   Category = "decision"
	CategoryProcedural Category = "procedural"
	CategorySemantic   Category = "semantic"
	CategoryRule       Category = "rule"
	CategoryLearning   Category = "learning"
	CategoryIssue      Category = "issue"
)

// Tier determines how long a memory is kept, independent of its subject (document 003 D1).
type Tier string

// The three tiers.
const (
	TierInteraction Tier = "interaction"
	TierSession     Tier = "session"
	TierPersistent  Tier = "persistent"
)

// Typology sets defaults for how a memory behaves. It is independent of the tier (document 003 D3).
type Typology string

// The three typologies.
const (
	TypologyEpisodic   Typology = "episodic"
	TypologySemantic   Typology = "semantic"
	TypologyProcedural Typology = "procedural"
)

// Sensitivity is a sensitivity class of the RFC (document 004 §15A.1).
type Sensitivity string

// The sensitivity classes in ascending order.
const (
	SensitivityPublic Sensitivity = "public"
	SensitivityLow    Sensitivity = "low"
	SensitivityMedium Sensitivity = "medium"
	SensitivityHigh   Sensitivity = "high"
	SensitivityHyper  Sensitivity = "hyper"
)

// Visibility determines which other agents of the tenant may read a memory.
type Visibility string

// The visibilities: only the owner, its policy group, its project, or the whole tenant.
const (
	VisibilityPrivate Visibility = "private"
	VisibilityGroup   Visibility = "group"
	VisibilityShared  Visibility = "shared"
	VisibilityGlobal  Visibility = "global"
)

// ReadPolicy determines which memories of other agents an agent reads (document 002 "Hybrid Recall").
type ReadPolicy string

// The read policies. The default is isolated, which means only own memories.
const (
	ReadIsolated ReadPolicy = "isolated"
	ReadShared   ReadPolicy = "shared"
	ReadGroup    ReadPolicy = "group"
)

// SourceKind is the ingestion function that received a candidate (document 004 §15.4).
type SourceKind string

// The source kinds. SourceMemory is an explicit save; the other four are observed experience.
const (
	SourceUserInput   SourceKind = "user_input"
	SourceToolOutput  SourceKind = "tool_output"
	SourceObservation SourceKind = "observation"
	SourceOutcome     SourceKind = "outcome"
	SourceMemory      SourceKind = "memory"
)

// Status is the truth state of a memory (document 004 §15A.8 and §12).
type Status string

// The truth states.
const (
	StatusActive     Status = "active"
	StatusContested  Status = "contested"
	StatusSuperseded Status = "superseded"
	StatusRetracted  Status = "retracted"
)

// Live reports whether a memory of the status may be true: active and contested memories are live, unless they are
// deleted or archived. The empty status, which a record may omit, means active.
func (s Status) Live() bool { return s == "" || s == StatusActive || s == StatusContested }

// WriteMode determines what the pipeline may do with proposals (document 002 "Shadow Mode vs. Controlled Writes").
type WriteMode string

// The write modes, from strictest to loosest.
const (
	ModeShadow     WriteMode = "shadow"     // the whole pipeline runs, but no memory is created or changed
	ModeFrozen     WriteMode = "frozen"     // the source is stored; no proposal is applied
	ModeControlled WriteMode = "controlled" // adds are applied; updates and deletes only if allowed
)

// Action is the proposed action for a fact (document 002 "Decision Engine").
type Action string

// The four actions.
const (
	ActionAdd    Action = "add"
	ActionUpdate Action = "update"
	ActionDelete Action = "delete"
	ActionNone   Action = "none"
)

// ProposalState is the state of a proposal.
type ProposalState string

// The proposal states.
const (
	ProposalProposed ProposalState = "proposed" // decided, but not yet evaluated by the write phase
	ProposalApplied  ProposalState = "applied"
	ProposalSkipped  ProposalState = "skipped"  // evaluated, and there was nothing to write; see its reason
	ProposalBlocked  ProposalState = "blocked"  // the write mode or a rule does not allow it; it waits for review
	ProposalStale    ProposalState = "stale"    // its target or source changed; the fact must be decided again
	ProposalRejected ProposalState = "rejected" // a reviewer rejected it
	ProposalExpired  ProposalState = "expired"  // no one reviewed it in time
)

// HistoryEvent is the kind of a history row (document 002 "Memory History").
type HistoryEvent string

// The history events.
const (
	EventCreated   HistoryEvent = "created"
	EventModified  HistoryEvent = "modified"
	EventDeleted   HistoryEvent = "deleted"
	EventRecovered HistoryEvent = "recovered"
	EventNone      HistoryEvent = "none" // a proposal was evaluated and changed nothing
)

// JobState is the state of a durable job (document 002 "Job States").
type JobState string

// The job states. A job is failed after a failed attempt, until the next attempt leases it. It is dead when its
// attempts are exhausted or when retrying cannot help.
const (
	JobPending   JobState = "pending"
	JobLeased    JobState = "leased"
	JobCompleted JobState = "completed"
	JobFailed    JobState = "failed"
	JobDead      JobState = "dead"
)

// DecayCurve is the function by which salience decays (document 004 §15A.3).
type DecayCurve string

// The decay curves.
const (
	CurveExponential DecayCurve = "exponential"
	CurveLinear      DecayCurve = "linear"
	CurveCustom      DecayCurve = "custom"
)

// DeletionPolicy determines what may remove a memory (document 004 §15A.3).
type DeletionPolicy string

// The deletion policies.
const (
	DeleteAutoPrune  DeletionPolicy = "auto_prune"
	DeleteManualOnly DeletionPolicy = "manual_only"
	DeleteNever      DeletionPolicy = "never"
)

var (
	memoryTypes = []MemoryType{TypeEpisodic, TypeWorking, TypeSemantic, TypeCompetence, TypePlanGraph}
	categories  = []Category{CategoryFact, CategoryPreference, CategoryDecision, CategoryProcedural,
		CategorySemantic, CategoryRule, CategoryLearning, CategoryIssue}
	sensitivities = []Sensitivity{SensitivityPublic, SensitivityLow, SensitivityMedium, SensitivityHigh,
		SensitivityHyper}
	visibilities = []Visibility{VisibilityPrivate, VisibilityGroup, VisibilityShared, VisibilityGlobal}
	readPolicies = []ReadPolicy{ReadIsolated, ReadShared, ReadGroup}
	sourceKinds  = []SourceKind{SourceUserInput, SourceToolOutput, SourceObservation, SourceOutcome, SourceMemory}
	writeModes   = []WriteMode{ModeShadow, ModeFrozen, ModeControlled}
	jobStates    = []JobState{JobPending, JobLeased, JobCompleted, JobFailed, JobDead}
)

// Valid reports whether v is a value of the enumeration.
func (v MemoryType) Valid() bool { return slices.Contains(memoryTypes, v) }

// Valid reports whether v is a value of the enumeration.
func (v Category) Valid() bool { return slices.Contains(categories, v) }

// Valid reports whether v is a value of the enumeration.
func (v Sensitivity) Valid() bool { return slices.Contains(sensitivities, v) }

// Valid reports whether v is a value of the enumeration.
func (v Visibility) Valid() bool { return slices.Contains(visibilities, v) }

// Valid reports whether v is a value of the enumeration.
func (v ReadPolicy) Valid() bool { return slices.Contains(readPolicies, v) }

// Valid reports whether v is a value of the enumeration.
func (v SourceKind) Valid() bool { return slices.Contains(sourceKinds, v) }

// Valid reports whether v is a value of the enumeration.
func (v WriteMode) Valid() bool { return slices.Contains(writeModes, v) }

// Valid reports whether v is a value of the enumeration.
func (v JobState) Valid() bool { return slices.Contains(jobStates, v) }

// AtMost returns the sensitivity classes up to and including v, in ascending order. It returns none for an unknown
// class.
func (v Sensitivity) AtMost() []Sensitivity {
	return sensitivities[:slices.Index(sensitivities, v)+1]
}

// Stricter returns the stricter of two write modes. An empty or unknown mode counts as the loosest, so a request can
// only restrict what the worker allows.
func (v WriteMode) Stricter(other WriteMode) WriteMode {
	rank := func(m WriteMode) int {
		if i := slices.Index(writeModes, m); i >= 0 {
			return i
		}
		return len(writeModes)
	}
	if rank(other) < rank(v) {
		return other
	}
	return v
}

// Limits of a trust context.
const (
	MaxTrustScopes      = 32
	MaxTrustToken       = 8 << 10 // characters
	MaxSafeSummaryChars = 1_000
)

// TrustContext is the trust context of a recall (document 004 §13 and §15.8). It affects only what is shown, not what
// is stored.
//
// If the deployment has a trust key, claims above the minimum are accepted only if the token grants them. See
// docs/trust.md.
type TrustContext struct {
	Authenticated  bool        `json:"authenticated,omitempty"`
	MaxSensitivity Sensitivity `json:"max_sensitivity,omitempty"` // upper bound for the request's; empty for none
	Scopes         []string    `json:"scopes,omitempty"`          // readable in addition to principal.scope
	// Environment is the place where the answer is shown. A policy may lower the limit for it.
	Environment string `json:"environment,omitempty"`
	Token       string `json:"token,omitempty"` // signed token that proves the other fields
}

// Redaction determines what is shown of a memory whose sensitivity is above the limit.
type Redaction string

// The redactions. Neither shows content.
const (
	RedactedMetadata Redaction = "metadata" // id, type, category, sensitivity and dates
	RedactedSummary  Redaction = "summary"  // the metadata and the stored safe summary
)

// TrustMeta is the result of a recall's trust context.
type TrustMeta struct {
	Authenticated  bool           `json:"authenticated"`
	MaxSensitivity Sensitivity    `json:"max_sensitivity"` // content up to this class is shown
	Scopes         []string       `json:"scopes,omitempty"`
	Problems       []TrustProblem `json:"problems,omitempty"` // claims and requests that were not granted
}

// TrustProblem is the reason why a claim or a request was not fully granted.
type TrustProblem string

// The problems of a trust context.
const (
	TrustUnproven        TrustProblem = "unproven"      // claimed without the required token
	TrustTokenInvalid    TrustProblem = "token_invalid" // not signed with the key, or not a token
	TrustTokenExpired    TrustProblem = "token_expired"
	TrustTokenOther      TrustProblem = "token_other"     // signed for another principal
	TrustTokenUnchecked  TrustProblem = "token_unchecked" // accepted unchecked, because no trust key is configured
	TrustUnauthenticated TrustProblem = "unauthenticated" // more than medium was requested, which needs authentication
	TrustEnvironment     TrustProblem = "environment"     // the policy lowers the limit in this environment
	TrustCeiling         TrustProblem = "max_sensitivity" // more was requested than the trust context allows
	TrustScopes          TrustProblem = "scopes"          // not every scope was granted
)

func (t *TrustContext) validate(p *check.Problems, path string) {
	if t == nil {
		return
	}
	if t.MaxSensitivity != "" && !t.MaxSensitivity.Valid() {
		p.Add(path+"max_sensitivity", "must be one of %s", check.Names(sensitivities))
	}
	if len(t.Scopes) > MaxTrustScopes {
		p.Add(path+"scopes", "must hold at most %d scopes", MaxTrustScopes)
	}
	for i, scope := range t.Scopes[:min(len(t.Scopes), MaxTrustScopes)] {
		at := fmt.Sprintf("%sscopes[%d]", path, i)
		check.Text(p, at, scope, MaxNameLength)
		if scope == "" {
			p.Add(at, "is empty")
		}
	}
	check.Text(p, path+"environment", t.Environment, MaxNameLength)
	check.Text(p, path+"token", t.Token, MaxTrustToken)
}

// Validate returns a *ValidationError that lists every invalid field.
func (t *TrustContext) Validate() error {
	var p check.Problems
	t.validate(&p, "")
	return p.Err()
}

// Lower returns the lower of two sensitivities. An empty sensitivity sets no bound.
func (v Sensitivity) Lower(other Sensitivity) Sensitivity {
	switch {
	case v == "":
		return other
	case other == "" || slices.Index(sensitivities, v) <= slices.Index(sensitivities, other):
		return v
	}
	return other
}

// Above returns the classes above v, in ascending order.
func (v Sensitivity) Above() []Sensitivity {
	return sensitivities[slices.Index(sensitivities, v)+1:]
}
