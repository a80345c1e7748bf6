package api

import "github.com/mneme/mneme/schema"

// TaskQueue is the default task queue of the worker.
const TaskQueue = "mneme"

// Names of updates and queries.
const (
	// Ingest: waits for the staging and returns schema.IngestAck. It takes a ContentDigest, which may be left out; a
	// run of other content refuses the update.
	UpdateStaged = "staged"
	UpdateDecide = "decide" // Review: schema.ReviewRequest to schema.ReviewResult
	// Ingest, ResumeIngest: Progress; Forget: schema.ForgetReceipt so far; Reindex: ReindexProgress; DriftCheck:
	// DriftResult; SyncIndex: SyncIndexProgress; Review: ReviewProgress; sweeps: SweepResult.
	QueryProgress = "progress"

	UpdateSelected = "selected" // Forget: waits for the selection and returns schema.ForgetPreview
	UpdateConfirm  = "confirm"  // Forget: takes schema.ForgetConfirmation, returns schema.ForgetApproval
	SignalConfirm  = "confirm"  // Forget: like UpdateConfirm, without an answer
	QueryPreview   = "preview"  // Forget: schema.ForgetPreview

	// RecordSession, Ingest with an idempotency key, and Put, Revise, Modify, Recover, Feedback and Forget with an
	// operation id: takes a request, or its digest (RecordDigest, ContentDigest, OperationDigest), and returns whether
	// it is the run's own request.
	QueryRequest = "request"

	QueryContext = "context" // Context: ledger.ContextResponse, the context that the run has built

	QueryRecord = "record" // Get: takes an id, returns the schema.MemoryRecord that the run has read

	SignalAppend   = "append"   // Session: AppendSignal
	SignalAppended = "appended" // Session: AppendedSignal
	UpdateAppend   = "append"   // Session: AppendSignal to AppendResult
	SignalClose    = "close"    // Session: CloseRequest
	UpdateClose    = "close"    // Session: CloseRequest to SessionResult
	QueryWorking   = "working"  // Session: SessionWorking
	SignalRenew    = "renew"    // Session: without an argument; it continues with a new history
	SignalEvidence = "evidence" // ConsolidateWhenQuiet: without an argument; there may be new evidence
)

// The Nexus service, its operations, and the default name of the endpoint that `mneme nexus apply` creates.
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
	// OperationEraseEvents takes an EraseEventsRequest and returns an EraseEventsResult.
	OperationEraseEvents = "erase_events"
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
	WorkflowContinueForget = "ContinueForget" // ForgetRest to schema.ForgetReceipt
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

	WorkflowConsolidateAll = "ConsolidateAll" // ConsolidateAllInput to ConsolidateAllResult
	// ConsolidateWhenQuietInput to ConsolidateWhenQuietResult
	WorkflowConsolidateWhenQuiet = "ConsolidateWhenQuiet"

	WorkflowConsolidate       = "Consolidate"       // LearnInput to LearnResult, like the next five
	WorkflowUpdateFacts       = "UpdateFacts"       // facts from repeated statements
	WorkflowCompressEpisodes  = "CompressEpisodes"  // old episodes of a thread
	WorkflowExtractCompetence = "ExtractCompetence" // procedures
	WorkflowExtractPlans      = "ExtractPlans"      // plan graphs
	WorkflowResolveDuplicates = "ResolveDuplicates"
	WorkflowAdvise            = "Advise" // AdviseRequest to AdviseResponse
	WorkflowReport            = "Report" // ReportRequest to ReportResult
)

// ActivityAppendEvents takes an AppendRequest and returns an AppendResult. The worker runs it on its task queue for
// workflows of other programs. It writes to the ledger and signals the session, which it starts if necessary.
const ActivityAppendEvents = "AppendEvents"

// Phases of an ingest run in AttrPhase, Progress and the jobs table.
const (
	PhaseStage   = "stage"
	PhaseExtract = schema.PhaseExtract
	PhaseDecide  = schema.PhaseDecide
	PhaseWrite   = "write"
	PhaseLink    = "link"
	PhaseIndex   = "index"
	PhaseReview  = "review" // of Review
	PhaseDone    = schema.PhaseDone
	PhaseSelect  = "select"  // Forget
	PhaseConfirm = "confirm" // Forget: it waits
	PhaseForget  = "forget"
	PhaseRecall  = "recall"  // Recall
	PhaseReflect = "reflect" // Reflect
)

// Outcomes of an ingest run in AttrOutcome.
const (
	OutcomeOK     = "ok"
	OutcomeDead   = "dead_jobs" // some candidates could not be processed
	OutcomeFailed = "failed"
)

// OutcomeRefused is the outcome of a Reflect run whose last belief was not accepted. Other runs have OutcomeOK,
// OutcomeFailed or, if the agent was not due, no outcome.
const OutcomeRefused = "refused"

// OutcomeDegraded is the outcome of a recall with failed channels or stages. Other recalls have OutcomeOK or
// OutcomeFailed.
const OutcomeDegraded = "degraded"

// Outcomes of a review.
const (
	OutcomeReviewed = "reviewed" // all proposals were decided by people
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

// Phases of a rebuild in AttrPhase and ReindexProgress.
const (
	PhaseBegin   = "begin"
	PhaseFill    = "fill"
	PhaseRebuild = "rebuild"
	PhaseVerify  = "verify"
	PhaseSwitch  = "switch"
	PhaseDrop    = "drop"
)

// Phases of ConsolidateWhenQuiet. In PhaseQuiet it waits for a scope to be quiet, in PhaseLearn for the run over the
// scope, and in PhaseRetry for the next attempt after a failed run.
const (
	PhaseQuiet = "quiet"
	PhaseLearn = "learn"
	PhaseRetry = "retry"
)

// PhaseSweep is the only phase of a sweep.
const PhaseSweep = "sweep"

// OutcomeHeld is the outcome of a sweep that skipped tenants because it would have removed too much of their data.
// `mneme sweeps` lists them. Otherwise the outcome is OutcomeOK.
const OutcomeHeld = "held"

// PhaseCompare is the only phase of DriftCheck.
const PhaseCompare = "compare"

// OutcomeDrift is the outcome of a check that left differences. Otherwise it is OutcomeOK.
const OutcomeDrift = "drift"

// Phases of RefreshTopic. PhaseWrite follows, unless nothing has changed.
const (
	PhaseCheck = "check"
	PhaseDraft = "draft"
)
