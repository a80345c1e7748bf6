package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
)

// Every timeout and retry policy, each with its reason.

// permanentErrors are the error types that no retry can cure.
var permanentErrors = []string{api.ErrTypeInvalidRequest, api.ErrTypeNotFound, api.ErrTypeConflict,
	api.ErrTypeBudgetExceeded}

// backoff is document 002's: one second, doubling, at most thirty. Thirty attempts outlast a
// thirteen-minute outage of Postgres. Of a model's endpoint they outlast more than three hours, because a run
// that finds it busy or away asks for longer waits (activities, patience); a candidate's own failures end much
// earlier, in its job (MaxJobAttempts).
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

	// MaxDecideRounds is how often a proposal is decided again when its ground has moved, before it
	// waits for review.
	MaxDecideRounds = 6

	// phaseRange is how many candidates one activity takes: few events a memory, and a transaction
	// that holds the scope's lock for well under a second.
	phaseRange = 250

	// ReviewWindow is how long a proposal waits for a person before it is given up: long enough for a
	// holiday, short enough that what is approved is still news.
	ReviewWindow = 14 * 24 * time.Hour

	infrastructureAttempts = 30
	// A run that waits for weeks must outlast any outage at the moment that it wakes up: half a minute
	// each, this is five weeks. What no retry can cure is typed, and ends it at once.
	reviewAttempts = 100_000

	linkAttempts  = 5 // the graph can be left out; a run must not hang on it
	indexAttempts = 5 // likewise: SyncIndex drains what is left
	// A workflow that still runs, and whose history carries an erased text, is waited for by failing, up to
	// these attempts of infrastructureAttempts: fifteen seconds, then it is cancelled, and terminated when
	// it has not ended two minutes later. A pipeline that is cancelled buries its open jobs, which can be
	// replayed: their texts are in Postgres.
	forgetCancelAfter    = 4
	forgetTerminateAfter = 8

	// A caller that waits for the result of an operation does not wait for an index that is down: SyncIndex
	// makes up for it within a minute.
	changedAttempts = 1
)

// stageOptions: staging is one short transaction. It runs as a local activity, so that its input,
// which is content, is not written to history, and the acknowledgement needs no second round trip
// to the server.
var stageOptions = workflow.LocalActivityOptions{
	StartToCloseTimeout:    15 * time.Second,
	ScheduleToCloseTimeout: 15 * time.Minute,
	RetryPolicy:            backoff(infrastructureAttempts),
	Summary:                "stage candidates",
}

const (
	// heartbeatTimeout is how soon a dead worker is noticed, and how soon an attempt is given up that has stopped
	// its heartbeats because it made no progress (activities.MaxStall). Activities that call models
	// heartbeat while they wait, so that a slow model does not pass for a dead worker.
	heartbeatTimeout = 20 * time.Second

	// stepTimeout is what one attempt at a step of the pipeline has. A step over many items returns what it has after
	// two minutes (activities, partialAfter), and the run asks for the rest.
	stepTimeout = 5 * time.Minute

	// longestWait is between two attempts: an endpoint that is away may ask for as much (activities, maxRetryAfter).
	longestWait = 10 * time.Minute
)

// overall is what all attempts at an activity have together: as long as the retry policy lets them take, so that
// nothing stays open for ever and no attempt is lost to it.
func overall(attempts int32, attempt, wait time.Duration) time.Duration {
	return time.Duration(attempts) * (attempt + wait)
}

// modelOptions: a range of model calls, which returns before its time is over.
func modelOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    stepTimeout,
		ScheduleToCloseTimeout: overall(infrastructureAttempts, stepTimeout, longestWait),
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            backoff(infrastructureAttempts),
		Summary:                summary,
	}
}

// embedOptions: transactions, with a heartbeat, and before them the embeddings of a range. An endpoint that does not
// answer is given up after its own timeout, which must come first.
func embedOptions(summary string, attempts int32) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    stepTimeout,
		ScheduleToCloseTimeout: overall(attempts, stepTimeout, longestWait),
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            backoff(attempts),
		Summary:                summary,
	}
}

// storeTimeout is more than Postgres gives a statement (pg.ClassLimits): what met its limit is told so, instead of
// being taken for a dead worker.
const storeTimeout = 45 * time.Second

// storeOptions: one transaction, which takes well under a second. It does not heartbeat, so this is
// also how soon a dead worker is noticed.
func storeOptions(summary string, attempts int32) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    storeTimeout,
		ScheduleToCloseTimeout: overall(attempts, storeTimeout, 30*time.Second),
		RetryPolicy:            backoff(attempts),
		Summary:                summary,
	}
}

// linkOptions: a transaction, or several where one takes too long.
func linkOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    stepTimeout,
		ScheduleToCloseTimeout: overall(linkAttempts, stepTimeout, 30*time.Second),
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            backoff(linkAttempts),
		Summary:                summary,
	}
}

// recallOptions: a recall bounds itself, channel by channel, well below ten seconds. It runs as a local
// activity, so that the question stands in the history once, and the answer needs no second round trip.
var recallOptions = workflow.LocalActivityOptions{
	StartToCloseTimeout:    10 * time.Second,
	ScheduleToCloseTimeout: mneme.RecallTimeout - 10*time.Second,
	RetryPolicy:            backoff(infrastructureAttempts),
	Summary:                "recall",
}

const (
	// recallInHandler is how long an operation of the Nexus service asks by itself before it hands over to
	// the Recall workflow; the server gives a handler ten seconds.
	recallInHandler = 5 * time.Second
	// startMargin is what a handler keeps of its time to start a workflow in.
	startMargin = 3 * time.Second
)

// sweepOptions: many batches, each with a heartbeat, and a place to go on from.
func sweepOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    10 * time.Minute,
		ScheduleToCloseTimeout: overall(infrastructureAttempts, 10*time.Minute, longestWait),
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            backoff(infrastructureAttempts),
		WaitForCancellation:    true, // it ends after the batch that it is at
		Summary:                summary,
	}
}

// drainOptions: many pages, each with a heartbeat.
var drainOptions = workflow.ActivityOptions{
	StartToCloseTimeout:    10 * time.Minute,
	ScheduleToCloseTimeout: overall(indexAttempts, 10*time.Minute, longestWait),
	HeartbeatTimeout:       heartbeatTimeout,
	RetryPolicy:            backoff(indexAttempts),
	Summary:                "drain the index outbox",
}

// indexOptions: many pages with a heartbeat each, against an index that may be away for a quarter of an
// hour: a rebuild is worth waiting for.
func indexOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    30 * time.Minute,
		ScheduleToCloseTimeout: overall(infrastructureAttempts, 30*time.Minute, longestWait),
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            backoff(infrastructureAttempts),
		Summary:                summary,
	}
}

// buildOptions: what it does may begin with five index builds in Postgres, an hour each at most. An index that is built
// stays, so that an attempt that is cut off there is not lost.
func buildOptions(summary string, attempts int32) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    6 * time.Hour,
		ScheduleToCloseTimeout: overall(attempts, 6*time.Hour, longestWait),
		HeartbeatTimeout:       heartbeatTimeout,
		RetryPolicy:            backoff(attempts),
		Summary:                summary,
	}
}

// selectOptions: what is to be forgotten may be looked for in all that is stored. What an attempt has written when it
// is
// cancelled is closed.
func selectOptions() workflow.ActivityOptions {
	options := embedOptions("select what to forget", infrastructureAttempts)
	options.StartToCloseTimeout = 10 * time.Minute
	options.WaitForCancellation = true
	return options
}

const (
	// A topic that cannot be compared or answered waits for the next sweep: there is no hurry, and others wait.
	topicAttempts = 5
	// topicTimeout is what a sweep gives the refresh of one topic: all attempts at a model that is slow or away.
	topicTimeout = 3 * time.Hour
)

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

// draftOptions: one call of a model. After the last attempt the rules write the answer.
var draftOptions = workflow.ActivityOptions{
	StartToCloseTimeout:    stepTimeout,
	ScheduleToCloseTimeout: overall(topicAttempts, stepTimeout, longestWait),
	HeartbeatTimeout:       heartbeatTimeout,
	RetryPolicy:            backoff(topicAttempts),
	Summary:                "draft the answer",
}
