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

// Options say whose session is recorded and how. Only Principal is required. They are read once, when a run opens its
// recorder, and kept in its history: a change holds for runs that start later.
type Options struct {
	Principal schema.Principal `json:"principal"`         // whose session it is
	Session   string           `json:"session,omitempty"` // empty: the id of the workflow, for all of its runs
	Stream    string           `json:"stream,omitempty"`  // empty: run/SESSION
	// Settings are those of the session, if its first event starts it.
	Settings    api.SessionSettings `json:"settings"`
	Sensitivity schema.Sensitivity  `json:"sensitivity,omitempty"` // the least of each event; empty: low
	Visibility  schema.Visibility   `json:"visibility,omitempty"`  // of each event; empty for the default of its kind

	TaskQueue string `json:"task_queue,omitempty"` // Mneme's in the workflow's namespace; empty: api.TaskQueue
	// Endpoint is a Nexus endpoint of Mneme, for a workflow of another namespace. It takes the place of TaskQueue.
	Endpoint string `json:"endpoint,omitempty"`

	// of a text, of arguments or a result; 8,000, at most 24,000
	MaxBytes    int           `json:"max_bytes,omitempty"`
	MaxWaiting  int           `json:"max_waiting,omitempty"`  // events that wait for delivery; 1,000
	RetryFor    time.Duration `json:"retry_for,omitempty"`    // how long a delivery of events is retried; 24 hours
	CloseWithin time.Duration `json:"close_within,omitempty"` // how long Flush and Close wait; 10 minutes

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

// settings are what a run recorded of its options. All that may change the commands of the workflow is here, so that a
// replay with other options is the same.
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

// problem says why nothing can be recorded with these options.
func (o Options) problem() error {
	probe := ledger.Event{ID: "1", Stream: o.ref().StreamName(), Agent: o.Principal.Agent, Kind: ledger.KindRunStarted,
		OccurredAt: time.Unix(0, 0), Visibility: o.Visibility, Sensitivity: o.Sensitivity}
	if err := (api.SessionInput{SessionRef: o.ref(), Settings: o.Settings}).Validate(); err != nil {
		return err
	}
	return probe.Validate()
}

func (o Options) ref() api.SessionRef {
	return api.SessionRef{Principal: o.Principal, Session: o.Session, Stream: o.Stream}
}

// sessionOf names a session after a workflow. A long name is cut, and told from others by a hash of the whole.
func sessionOf(workflowID string) string {
	workflowID = clean(workflowID)
	if len(workflowID) <= schema.MaxNameLength {
		return workflowID
	}
	sum := sha256.Sum256([]byte(workflowID))
	return cut(workflowID, schema.MaxNameLength-17, "") + "-" + hex.EncodeToString(sum[:8])
}
