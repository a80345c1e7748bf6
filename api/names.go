package api

// TaskQueue is the queue that the worker listens on, unless it is configured otherwise.
const TaskQueue = "mneme"

// Names of updates and queries.
const (
	UpdateStaged = "staged" // Ingest: waits for the staging and returns schema.IngestAck
	UpdateDecide = "decide" // Review: schema.ReviewRequest to schema.ReviewResult
	// Ingest, ResumeIngest: Progress; Forget: schema.ForgetReceipt so far; Reindex: ReindexProgress; DriftCheck:
	// DriftResult; SyncIndex: SyncIndexProgress; Review: ReviewProgress; sweeps: SweepResult.
	QueryProgress = "progress"

	UpdateSelected = "selected" // Forget: waits for the selection and returns schema.ForgetPreview
	UpdateConfirm  = "confirm"  // Forget: takes schema.ForgetConfirmation, returns schema.ForgetApproval
	SignalConfirm  = "confirm"  // Forget: the same, without an answer
	QueryPreview   = "preview"  // Forget: schema.ForgetPreview

	QueryContext = "context" // Context: ledger.ContextResponse, the context that the run has built

	QueryRecord = "record" // Get: takes an id, returns the schema.MemoryRecord that the run has read

	SignalAppend   = "append"   // Session: AppendSignal
	SignalAppended = "appended" // Session: AppendedSignal
	UpdateAppend   = "append"   // Session: AppendSignal to AppendResult
	SignalClose    = "close"    // Session: CloseRequest
	UpdateClose    = "close"    // Session: CloseRequest to SessionResult
	QueryWorking   = "working"  // Session: SessionWorking
	SignalRenew    = "renew"    // Session: without an argument; it continues with a new history
)

// The Nexus service, its operations, and the endpoint that `mneme nexus apply` creates unless another name
// is given.
const (
	NexusEndpoint     = "mneme"
	NexusService      = "mneme"
	OperationRemember = "remember" // schema.IngestRequest to IngestResult
	OperationRecall   = "recall"   // schema.RecallRequest to schema.RecallResponse
	OperationGet      = "get"      // schema.GetRequest to schema.GetResponse
	OperationContext  = "context"  // ledger.ContextRequest to ledger.ContextResponse
	OperationForget   = "forget"   // schema.ForgetRequest to schema.ForgetReceipt
	OperationFeedback = "feedback" // schema.FeedbackRequest to schema.FeedbackResult
	OperationAppend   = "append"   // AppendRequest to AppendResult
	OperationAdvise   = "advise"   // AdviseRequest to AdviseResponse
	OperationReport   = "report"   // ReportRequest to ReportResult
)

// Names of search attributes, all of type Keyword. The program registers them.
const (
	AttributeTenant  = "MnemeTenant"
	AttributeAgent   = "MnemeAgent"
	AttributeProject = "MnemeProject"
	AttributePhase   = "MnemePhase"
	AttributeOutcome = "MnemeOutcome"
)

// Names of workflows, for clients that start them by name.
const (
	WorkflowIngest         = "Ingest"         // schema.IngestRequest to IngestResult
	WorkflowResumeIngest   = "ResumeIngest"   // ResumeInput to IngestResult
	WorkflowPut            = "Put"            // schema.PutRequest to schema.PutResult
	WorkflowRevise         = "Revise"         // schema.ReviseRequest to schema.ReviseResult
	WorkflowModify         = "Modify"         // schema.ModifyRequest to schema.ModifyResult
	WorkflowRecover        = "Recover"        // schema.RecoverRequest to schema.RecoverResult
	WorkflowFeedback       = "Feedback"       // schema.FeedbackRequest to schema.FeedbackResult
	WorkflowForget         = "Forget"         // schema.ForgetRequest to schema.ForgetReceipt
	WorkflowReview         = "Review"         // ReviewInput to ReviewProgress
	WorkflowRecall         = "Recall"         // schema.RecallRequest to schema.RecallResponse
	WorkflowGet            = "Get"            // schema.GetRequest to schema.GetResponse
	WorkflowDecaySweep     = "DecaySweep"     // SweepInput to SweepResult
	WorkflowRetentionPurge = "RetentionPurge" // SweepInput to SweepResult
	WorkflowSyncIndex      = "SyncIndex"      // SyncIndexInput to SyncIndexResult
	WorkflowDriftCheck     = "DriftCheck"     // DriftInput to DriftResult
	WorkflowReindex        = "Reindex"        // ReindexInput to ReindexResult
	WorkflowSession        = "Session"        // SessionInput to SessionResult
	WorkflowRecordSession  = "RecordSession"  // RecordRequest to SessionResult
	WorkflowEraseEvents    = "EraseEvents"    // EraseEventsRequest to EraseEventsResult
	WorkflowReflect        = "Reflect"        // ReflectInput to ReflectResult
	WorkflowRebuild        = "Rebuild"        // RebuildRequest to RebuildResult
	WorkflowContext        = "Context"        // ledger.ContextRequest to ledger.ContextResponse
	WorkflowRefreshTopic   = "RefreshTopic"   // RefreshTopicInput to RefreshTopicResult
	WorkflowRefreshTopics  = "RefreshTopics"  // RefreshTopicsInput to RefreshTopicsResult

	WorkflowConsolidateAll    = "ConsolidateAll"    // ConsolidateAllInput to ConsolidateAllResult
	WorkflowConsolidate       = "Consolidate"       // LearnInput to LearnResult, as the five after it
	WorkflowUpdateFacts       = "UpdateFacts"       // facts that recur
	WorkflowCompressEpisodes  = "CompressEpisodes"  // old episodes of a thread
	WorkflowExtractCompetence = "ExtractCompetence" // procedures
	WorkflowExtractPlans      = "ExtractPlans"      // plan graphs
	WorkflowResolveDuplicates = "ResolveDuplicates"
	WorkflowAdvise            = "Advise" // AdviseRequest to AdviseResponse
	WorkflowReport            = "Report" // ReportRequest to ReportResult
)

// ActivityAppendEvents takes an AppendRequest and returns an AppendResult. The worker hosts it on its task queue for
// workflows of others: it writes to the ledger and tells the session, which it starts if need be.
const ActivityAppendEvents = "AppendEvents"

// Phases of an ingest run, as AttrPhase, Progress and the jobs table name them.
const (
	PhaseStage   = "stage"
	PhaseExtract = "extract"
	PhaseDecide  = "decide"
	PhaseWrite   = "write"
	PhaseLink    = "link"
	PhaseIndex   = "index"
	PhaseReview  = "review" // of Review
	PhaseDone    = "done"
	PhaseSelect  = "select"  // Forget
	PhaseConfirm = "confirm" // Forget: it waits
	PhaseForget  = "forget"
	PhaseRecall  = "recall"  // Recall
	PhaseReflect = "reflect" // Reflect
)

// Outcomes of an ingest run, as AttrOutcome names them.
const (
	OutcomeOK     = "ok"
	OutcomeDead   = "dead_jobs" // some candidates could not be processed
	OutcomeFailed = "failed"
)

// OutcomeRefused is the outcome of a Reflect run whose last belief was not accepted; otherwise it is OutcomeOK or
// OutcomeFailed, and none where the agent was not due.
const OutcomeRefused = "refused"

// OutcomeDegraded is the outcome of a recall that left channels or stages out; its other two are OutcomeOK
// and OutcomeFailed.
const OutcomeDegraded = "degraded"

// Outcomes of a review.
const (
	OutcomeReviewed = "reviewed" // people decided all of it
	OutcomeExpired  = "expired"  // some proposals were discarded
)

// Kinds of operations: the first part of their workflow ids.
const (
	KindPut      = "put"
	KindRevise   = "revise"
	KindModify   = "modify"
	KindForget   = "forget"
	KindRecover  = "recover"
	KindReview   = "review"
	KindFeedback = "feedback"
	KindIngest   = "ingest"  // of IngestWorkflowID
	KindRecall   = "recall"  // of RecallWorkflowID
	KindGet      = "get"     // of GetWorkflowID
	KindContext  = "context" // of ContextWorkflowID
	KindSession  = "session" // of SessionWorkflowID
	KindRecord   = "record"  // of RecordWorkflowID
	KindErase    = "erase"   // of EraseEventsWorkflowID
	KindReflect  = "reflect" // of ReflectWorkflowID
	KindAdvise   = "advise"  // of AdviseWorkflowID
	KindReport   = "report"  // of ReportWorkflowID
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

// Phases of RefreshTopic. PhaseWrite follows, unless nothing has changed.
const (
	PhaseCheck = "check"
	PhaseDraft = "draft"
)
