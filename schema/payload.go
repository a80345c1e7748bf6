package schema

import (
	"encoding/json"
	"time"
)

// The payloads of the five memory types have the fields of both versions of document 004's schema appendix (§15A.6 to
// §15A.10, and §15A.2 to §15A.6 of the canonical schemas). Fields with two names are read under both and written
// under the first. See MemoryRecord.UnmarshalJSON and EncodeRecord.

// EpisodicPayload records what happened (document 004 §5). It is append-only: entries may be added to the timeline,
// the tool graph and the artifacts, but existing entries may not change.
type EpisodicPayload struct {
	Kind     MemoryType      `json:"kind"`
	Timeline []TimelineEvent `json:"timeline"`
	// References of the form sha256:<hex> to stored bytes, or references into the host system.
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

// ToolNode is one tool call of an episode with its data dependencies.
type ToolNode struct {
	ID        string          `json:"id"`
	Tool      string          `json:"tool"`
	Args      json.RawMessage `json:"args,omitempty"`       // an object
	ResultRef string          `json:"result_ref,omitempty"` // artifact or event
	DependsOn []string        `json:"depends_on,omitempty"` // ids of nodes whose results it used
}

// Environment is a snapshot of the environment of an episode.
type Environment struct {
	OS           string            `json:"os,omitempty"`
	ToolVersions map[string]string `json:"tool_versions,omitempty"`
	WorkingDir   string            `json:"working_dir,omitempty"`
	Context      json.RawMessage   `json:"context,omitempty"` // an object
}

// Outcome is the outcome of an episode.
type Outcome string

// The outcomes.
const (
	OutcomeSuccess Outcome = "success"
	OutcomeFailure Outcome = "failure"
	OutcomePartial Outcome = "partial"
)

// WorkingPayload is the state of a running task (document 004 §6). It may be edited freely, and is discarded when the
// task is done.
type WorkingPayload struct {
	Kind              MemoryType        `json:"kind"`
	ThreadID          string            `json:"thread_id,omitempty"` // this or task_id is required
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
	Object         json.RawMessage `json:"object"` // any JSON value except null
	Validity       Validity        `json:"validity"`
	Evidence       []Ref           `json:"evidence,omitempty"`
	RevisionPolicy RevisionPolicy  `json:"revision_policy,omitempty"` // default replace
	// Revision is shown when a record is read. Only the revision operations set it.
	Revision *Revision `json:"revision,omitempty"`
	// Cardinality is the number of objects that the predicate has at a time. It is an extension that tells whether a
	// second object contradicts the first. The default is one, except for the predicate states, which has free text.
	Cardinality Cardinality `json:"cardinality,omitempty"`
}

// PredicateStates is the predicate of a statement that has no more specific triple.
const PredicateStates = "states"

// Validity determines where and when a semantic memory is valid. The zero Validity is global.
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

// RevisionPolicy determines how contradicting evidence changes a semantic memory (document 004 §7).
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

// Cardinality is the number of objects that a predicate has at a time.
type Cardinality string

// The cardinalities.
const (
	CardinalityOne  Cardinality = "one"
	CardinalityMany Cardinality = "many"
)

// CompetencePayload describes how to do something (document 004 §8).
type CompetencePayload struct {
	Kind          MemoryType `json:"kind"`
	SkillName     string     `json:"skill_name"`
	Triggers      []Trigger  `json:"triggers"`
	Recipe        []Step     `json:"recipe"` // in order; a step with conditions applies only if they hold
	RequiredTools []string   `json:"required_tools,omitempty"`
	FailureModes  []string   `json:"failure_modes,omitempty"`
	Fallbacks     []string   `json:"fallbacks,omitempty"`
	// FallbackSteps has one step per fallback, if a step has more than a text.
	FallbackSteps []Step       `json:"fallback_steps,omitempty"`
	Performance   *Performance `json:"performance,omitempty"`
	Version       string       `json:"version,omitempty"`
}

// Trigger determines when a competence applies.
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

// Performance counts how often something worked.
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

// EdgeKind is the kind of a dependency in a plan.
type EdgeKind string

// The edge kinds.
const (
	EdgeData    EdgeKind = "data"
	EdgeControl EdgeKind = "control"
)

// AuditAction is the kind of an audited step (document 004 §15A.8). Those after delete extend the five of the RFC.
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

	AuditArchive   AuditAction = "archive"   // it decayed or its window ended, and it is no longer shown
	AuditKeep      AuditAction = "keep"      // it was due, and a policy kept it
	AuditPurge     AuditAction = "purge"     // its row was removed
	AuditReinforce AuditAction = "reinforce" // it helped
	AuditPenalise  AuditAction = "penalise"  // it was recalled and not used, or failed
)

// AuditEntry is one audited step of a memory, taken from its history.
type AuditEntry struct {
	Action    AuditAction `json:"action"`
	Actor     string      `json:"actor"`
	Timestamp time.Time   `json:"timestamp"`
	Rationale string      `json:"rationale"`
}
