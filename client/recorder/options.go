package recorder

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// Options configure the recording of a session. Only Principal is required. They are read once, when a run opens its
// recorder, and kept in its history, so a change applies only to later runs.
type Options struct {
	Principal schema.Principal `json:"principal"`         // owner of the session
	Session   string           `json:"session,omitempty"` // default: the id of the workflow, for all of its runs
	Stream    string           `json:"stream,omitempty"`  // default: run/SESSION
	// Settings apply if the first event of the recorder starts the session.
	Settings    api.SessionSettings `json:"settings"`
	Sensitivity schema.Sensitivity  `json:"sensitivity,omitempty"` // minimum for each event; default low
	Visibility  schema.Visibility   `json:"visibility,omitempty"`  // of each event; default: that of its kind

	TaskQueue string `json:"task_queue,omitempty"` // Mneme's task queue in this namespace; default api.TaskQueue
	// Endpoint is a Nexus endpoint of Mneme, for a workflow of another namespace. It replaces TaskQueue.
	Endpoint string `json:"endpoint,omitempty"`

	// maximum size of a text, of arguments or of a result; default 8,000, at most 24,000
	MaxBytes    int           `json:"max_bytes,omitempty"`
	MaxWaiting  int           `json:"max_waiting,omitempty"`  // events that wait for delivery; default 1,000
	RetryFor    time.Duration `json:"retry_for,omitempty"`    // how long a delivery is retried; default 24 hours
	CloseWithin time.Duration `json:"close_within,omitempty"` // how long Flush and Close wait; default 10 minutes

	Off bool `json:"off,omitempty"` // new runs record nothing; runs that already record continue
}

const (
	defaultBytes  = 8_000
	highestBytes  = 24_000
	batchSize     = 40 // events of one delivery: with the highest MaxBytes, it stays below the 2 MB of a payload
	defaultWait   = 1_000
	defaultRetry  = 24 * time.Hour
	defaultWithin = 10 * time.Minute
)

// settings are the options that a run records in its history. They include all options that affect the commands of the
// workflow, so that a replay does not depend on the current options.
type settings struct {
	Options
	Run   string  `json:"run"`             // the run that opened the recorder
	Batch int     `json:"batch"`           // events of one delivery
	Tools *filter `json:"tools,omitempty"` // which activities the interceptor records; nil for none
}

// settle sets the defaults.
func (o Options) settle(workflowID string) Options {
	o.Session = cmp.Or(o.Session, sessionOf(workflowID))
	o.TaskQueue = cmp.Or(o.TaskQueue, api.TaskQueue)
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultBytes
	}
	o.MaxBytes = min(o.MaxBytes, highestBytes)
	if o.MaxWaiting <= 0 {
		o.MaxWaiting = defaultWait
	}
	if o.RetryFor <= 0 {
		o.RetryFor = defaultRetry
	}
	if o.CloseWithin <= 0 {
		o.CloseWithin = defaultWithin
	}
	return o
}

// problem returns the reason why the options are invalid, or nil.
func (o Options) problem() error {
	probe := ledger.Event{ID: "1", Stream: o.ref().StreamName(), Agent: o.Principal.Agent, Kind: ledger.KindRunStarted,
		OccurredAt: time.Unix(0, 0), Visibility: o.Visibility, Sensitivity: o.Sensitivity}
	if err := (&api.SessionInput{SessionRef: o.ref(), Settings: o.Settings}).Validate(); err != nil {
		return err
	}
	return probe.Validate()
}

func (o Options) ref() api.SessionRef {
	return api.SessionRef{Principal: o.Principal, Session: o.Session, Stream: o.Stream}
}

// sessionOf returns a session name for a workflow id. A long name is cut and gets a hash of the whole id.
func sessionOf(workflowID string) string {
	workflowID = clean(workflowID)
	if len(workflowID) <= schema.MaxNameLength {
		return workflowID
	}
	sum := sha256.Sum256([]byte(workflowID))
	return cut(workflowID, schema.MaxNameLength-17, "") + "-" + hex.EncodeToString(sum[:8])
}
