package schema

import (
	"encoding/json"
	"time"
)

// The five payloads, one a memory type, carrying the union of the two versions of document 004's
// schema appendix (§15A.6 to §15A.10, and §15A.2 to §15A.6 of the canonical schemas). Fields named
// differently there are read under both names and written under the first; see
// MemoryRecord.UnmarshalJSON and EncodeRecord.

// EpisodicPayload is what happened (document 004 §5). It is append-only: the timeline, the tool graph
// and the artifacts may grow; existing entries may not change.
type EpisodicPayload struct {
	Kind     MemoryType      `json:"kind"`
	Timeline []TimelineEvent `json:"timeline"`
	// Sha256:<hex> of stored bytes, or a reference into the host system.
	Artifacts    []string     `json:"artifacts,omitempty"`
	ToolGraphRef string       `json:"tool_graph_ref,omitempty"`
	ToolGraph    []ToolNode   `json:"tool_graph,omitempty"`
	Environment  *Environment `json:"environment,omitempty"`
	Outcome      Outcome      `json:"outcome,omitempty"`
}

// TimelineEvent is one event of an episode, in order of time.
type TimelineEvent struct {
	T         time.Time `json:"t"`
	EventKind string    `json:"event_kind"`
	Ref       string    `json:"ref"`
	Summary   string    `json:"summary,omitempty"`
}

// ToolNode is one tool call of an episode and where its data came from.
type ToolNode struct {
	ID        string          `json:"id"`
	Tool      string          `json:"tool"`
	Args      json.RawMessage `json:"args,omitempty"`       // an object
	ResultRef string          `json:"result_ref,omitempty"` // artifact or event
	DependsOn []string        `json:"depends_on,omitempty"` // ids of nodes whose results it took
}

// Environment is a snapshot of where an episode happened.
type Environment struct {
	OS           string            `json:"os,omitempty"`
	ToolVersions map[string]string `json:"tool_versions,omitempty"`
	WorkingDir   string            `json:"working_dir,omitempty"`
	Context      json.RawMessage   `json:"context,omitempty"` // an object
}

// Outcome is how an episode ended.
type Outcome string

// The outcomes.
const (
	OutcomeSuccess Outcome = "success"
	OutcomeFailure Outcome = "failure"
	OutcomePartial Outcome = "partial"
)

// WorkingPayload is the state of a task under way (document 004 §6). It is freely edited, and
// discarded when the task is done.
type WorkingPayload struct {
	Kind              MemoryType        `json:"kind"`
	ThreadID          string            `json:"thread_id,omitempty"` // it or task_id is required
	TaskID            string            `json:"task_id,omitempty"`
	State             TaskState         `json:"state"`
	ActiveConstraints []json.RawMessage `json:"active_constraints,omitempty"` // strings or objects
	NextActions       []string          `json:"next_actions,omitempty"`
	OpenQuestions     []string          `json:"open_questions,omitempty"`
	ContextSummary    string            `json:"context_summary,omitempty"`
	LastUpdated       *time.Time        `json:"last_updated,omitempty"`
}

// TaskState is the state of a task.
type TaskState string

// The task states.
const (
	TaskPlanning  TaskState = "planning"
	TaskExecuting TaskState = "executing"
	TaskBlocked   TaskState = "blocked"
	TaskWaiting   TaskState = "waiting"
	TaskDone      TaskState = "done"
)

// Valid reports whether s is one of the states.
func (s TaskState) Valid() bool {
	switch s {
	case TaskPlanning, TaskExecuting, TaskBlocked, TaskWaiting, TaskDone:
		return true
	}
	return false
}

// SemanticPayload is a fact (document 004 §7).
type SemanticPayload struct {
	Kind           MemoryType      `json:"kind"`
	Subject        string          `json:"subject"`
	Predicate      string          `json:"predicate"`
	Object         json.RawMessage `json:"object"` // any JSON value but null
	Validity       Validity        `json:"validity"`
	Evidence       []Ref           `json:"evidence,omitempty"`
	RevisionPolicy RevisionPolicy  `json:"revision_policy,omitempty"` // default replace
	// Shown; kept by the revision operations, not by writers.
	Revision *Revision `json:"revision,omitempty"`
	// Cardinality is how many objects the predicate has at a time. It is an extension: without it, it would be
	// unknown whether a second object contradicts the first. The default is one, except for the predicate states,
	// under which free text is stored.
	Cardinality Cardinality `json:"cardinality,omitempty"`
}

// PredicateStates is the predicate of a statement without a finer triple.
const PredicateStates = "states"

// Validity says where and when a semantic memory holds. The zero Validity is global.
type Validity struct {
	Mode       ValidityMode    `json:"mode"`
	Conditions json.RawMessage `json:"conditions,omitempty"` // an object; required when conditional
	Start      *time.Time      `json:"start,omitempty"`      // inclusive
	End        *time.Time      `json:"end,omitempty"`        // exclusive; start or end is required when timeboxed
}

// ValidityMode is the kind of a validity.
type ValidityMode string

// The validity modes.
const (
	ValidGlobal      ValidityMode = "global"
	ValidConditional ValidityMode = "conditional"
	ValidTimeboxed   ValidityMode = "timeboxed"
)

// RevisionPolicy says what becomes of a semantic memory when evidence speaks against it (document
// 004 §7).
type RevisionPolicy string

// The revision policies.
const (
	PolicyReplace RevisionPolicy = "replace"
	PolicyFork    RevisionPolicy = "fork"
	PolicyContest RevisionPolicy = "contest"
)

// Revision is the place of a semantic memory in its chain of revisions.
type Revision struct {
	Supersedes   string `json:"supersedes,omitempty"`
	SupersededBy string `json:"superseded_by,omitempty"`
	Status       Status `json:"status,omitempty"`
}

// Cardinality says how many objects a predicate has at a time.
type Cardinality string

// The cardinalities.
const (
	CardinalityOne  Cardinality = "one"
	CardinalityMany Cardinality = "many"
)

// CompetencePayload is how to do something (document 004 §8).
type CompetencePayload struct {
	Kind          MemoryType `json:"kind"`
	SkillName     string     `json:"skill_name"`
	Triggers      []Trigger  `json:"triggers"`
	Recipe        []Step     `json:"recipe"` // in order; a step with conditions applies only if they hold
	RequiredTools []string   `json:"required_tools,omitempty"`
	FailureModes  []string   `json:"failure_modes,omitempty"`
	Fallbacks     []string   `json:"fallbacks,omitempty"`
	// The fallbacks in full, one each, where a step says more than its text.
	FallbackSteps []Step       `json:"fallback_steps,omitempty"`
	Performance   *Performance `json:"performance,omitempty"`
	Version       string       `json:"version,omitempty"`
}

// Trigger says when a competence applies.
type Trigger struct {
	Signal     string          `json:"signal"` // an error signature or an intent
	Conditions json.RawMessage `json:"conditions,omitempty"`
}

// Step is one step of a recipe.
type Step struct {
	Step       string          `json:"step"`
	Tool       string          `json:"tool,omitempty"`
	ArgsSchema json.RawMessage `json:"args_schema,omitempty"`
	Validation string          `json:"validation,omitempty"`
	Conditions json.RawMessage `json:"conditions,omitempty"`
}

// Performance is how often something worked.
type Performance struct {
	SuccessCount int64      `json:"success_count,omitempty"`
	FailureCount int64      `json:"failure_count,omitempty"`
	SuccessRate  *float64   `json:"success_rate,omitempty"` // [0,1]
	FailureRate  *float64   `json:"failure_rate,omitempty"` // [0,1]
	AvgLatencyMS *float64   `json:"avg_latency_ms,omitempty"`
	LastUsedAt   *time.Time `json:"last_used_at,omitempty"`
}

// PlanGraphPayload is a reusable solution (document 004 §9): a directed graph of actions.
type PlanGraphPayload struct {
	Kind          MemoryType      `json:"kind"`
	PlanID        string          `json:"plan_id"`
	Version       string          `json:"version"`
	Intent        string          `json:"intent,omitempty"`
	Constraints   json.RawMessage `json:"constraints,omitempty"` // an object, or a list of constraints
	InputsSchema  json.RawMessage `json:"inputs_schema,omitempty"`
	OutputsSchema json.RawMessage `json:"outputs_schema,omitempty"`
	Nodes         []PlanNode      `json:"nodes"`
	Edges         []PlanEdge      `json:"edges"`
	Metrics       *Performance    `json:"metrics,omitempty"`
}

// PlanNode is an action or a tool call.
type PlanNode struct {
	ID     string          `json:"id"`
	Op     string          `json:"op"`
	Params json.RawMessage `json:"params,omitempty"`
	Guards json.RawMessage `json:"guards,omitempty"` // conditions under which the node runs
}

// PlanEdge is a dependency: To needs From.
type PlanEdge struct {
	From string   `json:"from"`
	To   string   `json:"to"`
	Kind EdgeKind `json:"kind"`
}

// EdgeKind says what flows along an edge of a plan.
type EdgeKind string

// The edge kinds.
const (
	EdgeData    EdgeKind = "data"
	EdgeControl EdgeKind = "control"
)

// AuditAction is the kind of an audited step (document 004 §15A.8; all after delete are added to the
// RFC's five).
type AuditAction string

// The audit actions.
const (
	AuditCreate  AuditAction = "create"
	AuditRevise  AuditAction = "revise"
	AuditFork    AuditAction = "fork"
	AuditMerge   AuditAction = "merge"
	AuditDelete  AuditAction = "delete"
	AuditRecover AuditAction = "recover"
	AuditContest AuditAction = "contest"
	AuditResolve AuditAction = "resolve"
	AuditRetract AuditAction = "retract"
	AuditModify  AuditAction = "modify"
	AuditErase   AuditAction = "erase"

	AuditArchive   AuditAction = "archive"   // it faded or its window is over, and it is no longer shown
	AuditKeep      AuditAction = "keep"      // it fell due, and a policy says that it stays
	AuditPurge     AuditAction = "purge"     // its row is removed
	AuditReinforce AuditAction = "reinforce" // it helped
	AuditPenalise  AuditAction = "penalise"  // it was recalled without use
)

// AuditEntry is one audited step of a memory, drawn from its history.
type AuditEntry struct {
	Action    AuditAction `json:"action"`
	Actor     string      `json:"actor"`
	Timestamp time.Time   `json:"timestamp"`
	Rationale string      `json:"rationale"`
}
