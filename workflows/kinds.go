package workflows

// Kinds of operations: the first part of their workflow ids.
const (
	KindPut      = "put"
	KindRevise   = "revise"
	KindModify   = "modify"
	KindForget   = "forget"
	KindRecover  = "recover"
	KindReview   = "review"
	KindFeedback = "feedback"
	KindIngest   = "ingest" // of IngestWorkflowID
	KindRecall   = "recall" // of RecallWorkflowID
	KindGet      = "get"    // of GetWorkflowID
)

// Phases of a rebuild, as AttrPhase and ReindexProgress name them.
const (
	PhaseBegin   = "begin"
	PhaseFill    = "fill"
	PhaseRebuild = "rebuild"
	PhaseVerify  = "verify"
	PhaseSwitch  = "switch"
	PhaseDrop    = "drop"
)

// PhaseSweep is the only phase of a sweep.
const PhaseSweep = "sweep"

// OutcomeHeld is the outcome of a sweep that left tenants alone, because it would have taken too much of
// them: `mneme sweeps` lists them. Otherwise it is OutcomeOK.
const OutcomeHeld = "held"

// PhaseCompare is DriftCheck's only phase.
const PhaseCompare = "compare"

// OutcomeDrift is the outcome of a check that left differences; without any it is OutcomeOK.
const OutcomeDrift = "drift"
