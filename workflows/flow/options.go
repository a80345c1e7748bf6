package flow

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
)

// This file has every timeout and retry policy, each with its reason.

// PermanentErrors are the error types for which a retry cannot help.
var PermanentErrors = []string{api.ErrTypeInvalidRequest, api.ErrTypeNotFound, api.ErrTypeConflict,
	api.ErrTypeBudgetExceeded}

// backoff is the policy of document 002: wait one second, then twice as long each time, at most thirty seconds.
// Thirty attempts survive a Postgres outage of thirteen minutes. They survive an outage of a model's endpoint of more
// than three hours, because an activity that finds the endpoint busy or down asks for longer delays
// (memory/lifecycle.RetryDelay). The failures of a single candidate end much earlier, in its job (MaxJobAttempts).
func backoff(attempts int32) *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval:        time.Second,
		BackoffCoefficient:     2,
		MaximumInterval:        30 * time.Second,
		MaximumAttempts:        attempts,
		NonRetryableErrorTypes: PermanentErrors,
	}
}

const (
	// MaxJobAttempts is how often one candidate may fail before its job is dead (document 002; notes
	// on recall constants, "jobs").
	MaxJobAttempts = 3

	// MaxDecideRounds is how many times a proposal is decided if the memories that it was based on change. After that it
	// waits for review. With a decider that calls no model, only rounds in a row that change no memory count: the
	// activity and the workflow each count their own.
	MaxDecideRounds = 6

	// PhaseRange is how many candidates one activity takes. It is large enough for few events in history per memory,
	// and small enough for a transaction that holds the scope's lock for well under a second.
	PhaseRange = 250

	// ReviewWindow is how long a proposal waits for a person before it expires: long enough for a holiday, and short
	// enough that an approved change is still current.
	ReviewWindow = 14 * 24 * time.Hour

	// InfrastructureAttempts is for steps that only an outage of Postgres or of an endpoint delays.
	InfrastructureAttempts = 30
	// A run that waits for weeks must survive an outage at the time when it wakes up. At half a minute each, these
	// attempts last five weeks. Permanent errors have a type and end the run immediately.
	ReviewAttempts = 100_000

	linkAttempts  = 5 // the graph is optional, so a run must not wait long for it
	IndexAttempts = 5 // likewise: SyncIndex does the rest

	// An erased text may be in the history of a workflow that still runs. The activity fails and is retried until that
	// workflow has ended. From attempt ForgetCancelAfter on, after fifteen seconds, it cancels the workflow, and from
	// attempt ForgetTerminateAfter on, two minutes later, it terminates it. A cancelled pipeline marks its open jobs as
	// dead. They can be retried, because their texts are in Postgres.
	ForgetCancelAfter    = 4
	ForgetTerminateAfter = 8

	// A caller that waits for the result of an operation does not wait for an index that is down: SyncIndex updates the
	// index within a minute.
	ChangedAttempts = 1
)

// StageOptions are for staging, which is one short transaction. It runs as a local activity, so that its input, which
// is content, is not written to history, and the acknowledgement needs no second round trip to the server.
var StageOptions = workflow.LocalActivityOptions{
	StartToCloseTimeout:    15 * time.Second,
	ScheduleToCloseTimeout: 15 * time.Minute,
	RetryPolicy:            backoff(InfrastructureAttempts),
	Summary:                "stage candidates",
}

const (
	// heartbeatTimeout is the time after which a dead worker is noticed, or an attempt that stopped its heartbeats
	// because it made no progress (step.MaxStall). Activities that call models send heartbeats while they wait, so that
	// a slow model is not mistaken for a dead worker.
	heartbeatTimeout = 20 * time.Second

	// stepTimeout is the time for one attempt at a step of the pipeline. A step over many items returns after two
	// minutes with its results so far (activities, partialAfter), and the run calls it again for the rest.
	stepTimeout = 5 * time.Minute

	// LongestWait is the longest wait between two attempts, which an endpoint that is down may ask for.
	LongestWait = step.MaxRetryAfter
)

// overall returns the time limit for all attempts at an activity together. It allows every attempt of the retry
// policy, and is finite so that no activity stays open forever.
func overall(attempts int32, attempt, wait time.Duration) time.Duration {
	return time.Duration(attempts) * (attempt + wait)
}

// ModelOptions are for a range of model calls, which returns before it times out.
func ModelOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    stepTimeout,
		ScheduleToCloseTimeout: overall(InfrastructureAttempts, stepTimeout, LongestWait),
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            backoff(InfrastructureAttempts),
		Summary:                summary,
	}
}

// EmbedOptions are for the embeddings of a range and the transactions after them, with a heartbeat. A call to the
// embedder has its own, shorter timeout. They are also for a batch to forget, whose transaction is split into smaller
// ones if it times out.
func EmbedOptions(summary string, attempts int32) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    stepTimeout,
		ScheduleToCloseTimeout: overall(attempts, stepTimeout, LongestWait),
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            backoff(attempts),
		Summary:                summary,
	}
}

// storeTimeout is longer than the limit of a statement in Postgres (pg.ClassLimits), so that a statement that exceeds
// its limit is reported as such and not as a dead worker.
const storeTimeout = 45 * time.Second

// StoreOptions are for one transaction, which takes well under a second. It sends no heartbeats, so a dead worker is
// noticed only after storeTimeout.
func StoreOptions(summary string, attempts int32) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    storeTimeout,
		ScheduleToCloseTimeout: overall(attempts, storeTimeout, 30*time.Second),
		RetryPolicy:            backoff(attempts),
		Summary:                summary,
	}
}

// LinkOptions are for one transaction, which is split into several if it takes too long.
func LinkOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    stepTimeout,
		ScheduleToCloseTimeout: overall(linkAttempts, stepTimeout, 30*time.Second),
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            backoff(linkAttempts),
		Summary:                summary,
	}
}

// RecallOptions are for a recall. Its channels have their own deadlines, together far below ten seconds. It runs as a
// local activity, so that the question is in the history only once and the answer needs no second round trip.
var RecallOptions = workflow.LocalActivityOptions{
	StartToCloseTimeout:    10 * time.Second,
	ScheduleToCloseTimeout: mneme.RecallTimeout - 10*time.Second,
	RetryPolicy:            backoff(InfrastructureAttempts),
	Summary:                "recall",
}

const (
	// RecallInHandler is how long an operation of the Nexus service tries to recall in the handler before it starts the
	// Recall workflow. The server gives a handler ten seconds.
	RecallInHandler = 5 * time.Second
	// StartMargin is the time that a handler reserves for starting a workflow.
	StartMargin = 3 * time.Second
)

// PendingOptions are for two short reads by index. They run as a local activity, because an agent checks after every
// turn and a reflection is seldom due.
var PendingOptions = workflow.LocalActivityOptions{
	StartToCloseTimeout:    15 * time.Second,
	ScheduleToCloseTimeout: 15 * time.Minute,
	RetryPolicy:            backoff(InfrastructureAttempts),
	Summary:                "what is pending",
}

// SweepOptions are for many batches, each with a heartbeat that holds the position for the next attempt.
func SweepOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    10 * time.Minute,
		ScheduleToCloseTimeout: overall(InfrastructureAttempts, 10*time.Minute, LongestWait),
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            backoff(InfrastructureAttempts),
		WaitForCancellation:    true, // it returns after the current batch
		Summary:                summary,
	}
}

// DrainOptions are for many pages, each with a heartbeat.
var DrainOptions = workflow.ActivityOptions{
	StartToCloseTimeout:    10 * time.Minute,
	ScheduleToCloseTimeout: overall(IndexAttempts, 10*time.Minute, LongestWait),
	HeartbeatTimeout:       heartbeatTimeout,
	RetryPolicy:            backoff(IndexAttempts),
	Summary:                "drain the index outbox",
}

// IndexOptions are for many pages, each with a heartbeat, on an index that may be down for a quarter of an hour: a
// rebuild should wait rather than fail.
func IndexOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    30 * time.Minute,
		ScheduleToCloseTimeout: overall(InfrastructureAttempts, 30*time.Minute, LongestWait),
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            backoff(InfrastructureAttempts),
		Summary:                summary,
	}
}

// BuildOptions are for an activity that may begin with five index builds in Postgres, of at most an hour each. A
// finished index stays, so an attempt that is interrupted is not lost.
func BuildOptions(summary string, attempts int32) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    6 * time.Hour,
		ScheduleToCloseTimeout: overall(attempts, 6*time.Hour, LongestWait),
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            backoff(attempts),
		Summary:                summary,
	}
}

// SelectOptions are for selecting what to forget, which may search all memories. If an attempt is cancelled after it
// has written its selection, the run is closed.
func SelectOptions() workflow.ActivityOptions {
	options := EmbedOptions("select memories to forget", InfrastructureAttempts)
	options.StartToCloseTimeout = 10 * time.Minute
	options.WaitForCancellation = true
	return options
}

// SessionOptions are for two short transactions. They run as local activities, so that the signal or update with the
// events is their only copy in the history, and appending takes one workflow task. The run itself outlasts longer
// outages (sessionRun.persist).
func SessionOptions(summary string) workflow.LocalActivityOptions {
	return workflow.LocalActivityOptions{
		StartToCloseTimeout:    storeTimeout,
		ScheduleToCloseTimeout: 15 * time.Minute,
		RetryPolicy:            backoff(InfrastructureAttempts),
		Summary:                summary,
	}
}

const (
	// A topic that cannot be compared or answered waits for the next sweep, so that it does not delay the other topics.
	topicAttempts = 5
	// TopicTimeout limits the refresh of one topic: it allows all attempts at a slow or unavailable model.
	TopicTimeout = 3 * time.Hour
)

// LearnTimeout is the time limit of a run over a scope, including all attempts at its activities. The next run takes
// what is left.
const LearnTimeout = 12 * time.Hour

// Waits of a run that consolidates a scope without a schedule or a request.
const (
	// BusyWait is the interval at which the run checks whether another run over the scope has ended.
	BusyWait = time.Minute
	// A failed run is started again after two minutes, and then after twice as long each time. After QuietAttempts
	// failures, in about an hour, the schedule takes over.
	RetryWait     = 2 * time.Minute
	QuietAttempts = 5
)

// TopicOptions are for a recall and a short transaction after it.
func TopicOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    time.Minute,
		ScheduleToCloseTimeout: overall(topicAttempts, time.Minute, 30*time.Second),
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            backoff(topicAttempts),
		Summary:                summary,
	}
}

// CloseSessionOptions are for reading all events of a session, page by page with a heartbeat each, and for one
// transaction that writes the episode. Like a run that waits for weeks, it outlasts any outage.
func CloseSessionOptions() workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    10 * time.Minute,
		ScheduleToCloseTimeout: overall(ReviewAttempts, 10*time.Minute, 30*time.Second),
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            backoff(ReviewAttempts),
		Summary:                "close the session",
	}
}

// DraftOptions are for one call of a model. After the last attempt the rules write the answer.
var DraftOptions = workflow.ActivityOptions{
	StartToCloseTimeout:    stepTimeout,
	ScheduleToCloseTimeout: overall(topicAttempts, stepTimeout, LongestWait),
	HeartbeatTimeout:       heartbeatTimeout,
	RetryPolicy:            backoff(topicAttempts),
	Summary:                "draft the answer",
}

// RebuildPageOptions allow long sessions: each episode is read in full.
var RebuildPageOptions = workflow.ActivityOptions{
	StartToCloseTimeout:    30 * time.Minute,
	ScheduleToCloseTimeout: overall(IndexAttempts, 30*time.Minute, LongestWait),
	HeartbeatTimeout:       heartbeatTimeout,
	RetryPolicy:            backoff(IndexAttempts),
	Summary:                "compare a page with the ledger",
}
