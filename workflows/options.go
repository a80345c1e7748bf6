package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
)

// This file has every timeout and retry policy, each with its reason.

// permanentErrors are the error types for which a retry cannot help.
var permanentErrors = []string{api.ErrTypeInvalidRequest, api.ErrTypeNotFound, api.ErrTypeConflict,
	api.ErrTypeBudgetExceeded}

// backoff is the policy of document 002: wait one second, then twice as long each time, at most thirty seconds. Thirty
// attempts survive an outage of Postgres of thirteen minutes. They survive an outage of a model's endpoint of more
// than three hours, because an activity that finds the endpoint busy or down asks for longer waits (activities,
// patience). The failures of a single candidate end much earlier, in its job (MaxJobAttempts).
func backoff(attempts int32) *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval:        time.Second,
		BackoffCoefficient:     2,
		MaximumInterval:        30 * time.Second,
		MaximumAttempts:        attempts,
		NonRetryableErrorTypes: permanentErrors,
	}
}

const (
	// MaxJobAttempts is how often one candidate may fail before its job is dead (document 002; notes
	// on recall constants, "jobs").
	MaxJobAttempts = 3

	// MaxDecideRounds is how often a proposal is decided again because the memories that it was based on have changed.
	// After that it waits for review.
	MaxDecideRounds = 6

	// phaseRange is how many candidates one activity takes. It is large enough for few events in history per memory, and
	// small enough for a transaction that holds the scope's lock for well under a second.
	phaseRange = 250

	// ReviewWindow is how long a proposal waits for a person before it expires: long enough for a holiday, and short
	// enough that an approved change is still current.
	ReviewWindow = 14 * 24 * time.Hour

	infrastructureAttempts = 30
	// A run that waits for weeks must survive an outage at the time when it wakes up. At half a minute each, these
	// attempts last five weeks. Permanent errors have a type and end the run immediately.
	reviewAttempts = 100_000

	linkAttempts  = 5 // a run can do without the graph, so it must not wait for it for long
	indexAttempts = 5 // likewise: SyncIndex does the rest
	// An erased text may be in the history of a workflow that still runs. The activity waits for its end by failing: from
	// attempt forgetCancelAfter, after fifteen seconds, it cancels the workflow, and from attempt forgetTerminateAfter,
	// two minutes later, it terminates it. A cancelled pipeline marks its open jobs as dead. They can be retried,
	// because their texts are in Postgres.
	forgetCancelAfter    = 4
	forgetTerminateAfter = 8

	// A caller that waits for the result of an operation does not wait for an index that is down: SyncIndex updates the
	// index within a minute.
	changedAttempts = 1
)

// stageOptions are for staging, which is one short transaction. It runs as a local activity, so that its input, which
// is content, is not written to history, and the acknowledgement needs no second round trip to the server.
var stageOptions = workflow.LocalActivityOptions{
	StartToCloseTimeout:    15 * time.Second,
	ScheduleToCloseTimeout: 15 * time.Minute,
	RetryPolicy:            backoff(infrastructureAttempts),
	Summary:                "stage candidates",
}

const (
	// heartbeatTimeout is how long it takes to notice a dead worker, or an attempt that has stopped its heartbeats
	// because it made no progress (step.MaxStall). Activities that call models send heartbeats while they wait, so that
	// a slow model is not mistaken for a dead worker.
	heartbeatTimeout = 20 * time.Second

	// stepTimeout is the time for one attempt at a step of the pipeline. A step over many items returns its results so
	// far after two minutes (activities, partialAfter), and the run asks for the rest.
	stepTimeout = 5 * time.Minute

	// longestWait is the longest wait between two attempts, which an endpoint that is down may ask for (activities,
	// maxRetryAfter).
	longestWait = 10 * time.Minute
)

// overall returns the time for all attempts at an activity together. It allows every attempt of the retry policy, and
// is finite so that nothing stays open forever.
func overall(attempts int32, attempt, wait time.Duration) time.Duration {
	return time.Duration(attempts) * (attempt + wait)
}

// modelOptions are for a range of model calls, which returns before its time is over.
func modelOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    stepTimeout,
		ScheduleToCloseTimeout: overall(infrastructureAttempts, stepTimeout, longestWait),
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            backoff(infrastructureAttempts),
		Summary:                summary,
	}
}

// embedOptions are for the embeddings of a range and the transactions after them, with a heartbeat. A call to the
// embedder has its own, shorter timeout.
func embedOptions(summary string, attempts int32) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    stepTimeout,
		ScheduleToCloseTimeout: overall(attempts, stepTimeout, longestWait),
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            backoff(attempts),
		Summary:                summary,
	}
}

// storeTimeout is longer than the limit of a statement in Postgres (pg.ClassLimits), so that a statement that exceeds
// its limit is reported as such and not as a dead worker.
const storeTimeout = 45 * time.Second

// storeOptions are for one transaction, which takes well under a second. It sends no heartbeats, so a dead worker is
// noticed only after storeTimeout.
func storeOptions(summary string, attempts int32) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    storeTimeout,
		ScheduleToCloseTimeout: overall(attempts, storeTimeout, 30*time.Second),
		RetryPolicy:            backoff(attempts),
		Summary:                summary,
	}
}

// linkOptions are for a transaction, or several if one takes too long.
func linkOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    stepTimeout,
		ScheduleToCloseTimeout: overall(linkAttempts, stepTimeout, 30*time.Second),
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            backoff(linkAttempts),
		Summary:                summary,
	}
}

// recallOptions are for a recall, whose channels have deadlines of their own, well below ten seconds together. It runs
// as a local activity, so that the question is in the history only once and the answer needs no second round trip.
var recallOptions = workflow.LocalActivityOptions{
	StartToCloseTimeout:    10 * time.Second,
	ScheduleToCloseTimeout: mneme.RecallTimeout - 10*time.Second,
	RetryPolicy:            backoff(infrastructureAttempts),
	Summary:                "recall",
}

const (
	// recallInHandler is how long an operation of the Nexus service tries to recall in the handler before it starts the
	// Recall workflow. The server gives a handler ten seconds.
	recallInHandler = 5 * time.Second
	// startMargin is the time that a handler reserves for starting a workflow.
	startMargin = 3 * time.Second
)

// spanOptions: two short reads by index. They run as a local activity, since an agent asks after every turn and is
// seldom due.
var spanOptions = workflow.LocalActivityOptions{
	StartToCloseTimeout:    15 * time.Second,
	ScheduleToCloseTimeout: 15 * time.Minute,
	RetryPolicy:            backoff(infrastructureAttempts),
	Summary:                "what is pending",
}

// sweepOptions are for many batches, each with a heartbeat that holds the position for the next attempt.
func sweepOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    10 * time.Minute,
		ScheduleToCloseTimeout: overall(infrastructureAttempts, 10*time.Minute, longestWait),
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            backoff(infrastructureAttempts),
		WaitForCancellation:    true, // it ends after the current batch
		Summary:                summary,
	}
}

// drainOptions are for many pages, each with a heartbeat.
var drainOptions = workflow.ActivityOptions{
	StartToCloseTimeout:    10 * time.Minute,
	ScheduleToCloseTimeout: overall(indexAttempts, 10*time.Minute, longestWait),
	HeartbeatTimeout:       heartbeatTimeout,
	RetryPolicy:            backoff(indexAttempts),
	Summary:                "drain the index outbox",
}

// indexOptions are for many pages, each with a heartbeat, on an index that may be down for a quarter of an hour: a
// rebuild should wait rather than fail.
func indexOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    30 * time.Minute,
		ScheduleToCloseTimeout: overall(infrastructureAttempts, 30*time.Minute, longestWait),
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            backoff(infrastructureAttempts),
		Summary:                summary,
	}
}

// buildOptions are for an activity that may begin with five index builds in Postgres, of at most an hour each. A
// finished index stays, so an attempt that is interrupted is not lost.
func buildOptions(summary string, attempts int32) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    6 * time.Hour,
		ScheduleToCloseTimeout: overall(attempts, 6*time.Hour, longestWait),
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            backoff(attempts),
		Summary:                summary,
	}
}

// selectOptions are for selecting what to forget, which may search all memories. If an attempt is cancelled after it
// has written its selection, the run is closed.
func selectOptions() workflow.ActivityOptions {
	options := embedOptions("select what to forget", infrastructureAttempts)
	options.StartToCloseTimeout = 10 * time.Minute
	options.WaitForCancellation = true
	return options
}

// sessionOptions: two short transactions. They run as local activities, so that events are written to history once, by
// the signal or the update that brings them, and appending takes one workflow task. A run outlasts longer outages
// (sessionRun.persist).
func sessionOptions(summary string) workflow.LocalActivityOptions {
	return workflow.LocalActivityOptions{
		StartToCloseTimeout:    storeTimeout,
		ScheduleToCloseTimeout: 15 * time.Minute,
		RetryPolicy:            backoff(infrastructureAttempts),
		Summary:                summary,
	}
}

const (
	// A topic that cannot be compared or answered waits for the next sweep: there is no hurry, and others wait.
	topicAttempts = 5
	// topicTimeout is what a sweep gives the refresh of one topic: all attempts at a model that is slow or away.
	topicTimeout = 3 * time.Hour
)

// learnTimeout is what a run over a scope has, all attempts at its activities included. It ends earlier where nothing is
// left; what it did not come to is for the next run.
const learnTimeout = 12 * time.Hour

// topicOptions: a recall, and a short transaction after it.
func topicOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    time.Minute,
		ScheduleToCloseTimeout: overall(topicAttempts, time.Minute, 30*time.Second),
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            backoff(topicAttempts),
		Summary:                summary,
	}
}

// closeSessionOptions: all events of a session are read, page by page with a heartbeat each, and one transaction writes
// the episode. Like a run that waits for weeks, it outlasts any outage.
func closeSessionOptions() workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    10 * time.Minute,
		ScheduleToCloseTimeout: overall(reviewAttempts, 10*time.Minute, 30*time.Second),
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            backoff(reviewAttempts),
		Summary:                "close the session",
	}
}

// draftOptions: one call of a model. After the last attempt the rules write the answer.
var draftOptions = workflow.ActivityOptions{
	StartToCloseTimeout:    stepTimeout,
	ScheduleToCloseTimeout: overall(topicAttempts, stepTimeout, longestWait),
	HeartbeatTimeout:       heartbeatTimeout,
	RetryPolicy:            backoff(topicAttempts),
	Summary:                "draft the answer",
}

// rebuildPageOptions: sessions may be long, and each episode is read in full.
var rebuildPageOptions = workflow.ActivityOptions{
	StartToCloseTimeout:    30 * time.Minute,
	ScheduleToCloseTimeout: overall(indexAttempts, 30*time.Minute, longestWait),
	HeartbeatTimeout:       heartbeatTimeout,
	RetryPolicy:            backoff(indexAttempts),
	Summary:                "compare a page with the ledger",
}
