package workflows

import (
	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/vectorindex"
)

// SyncIndexInput carries the counts over continue-as-new.
type SyncIndexInput struct {
	Sofar activities.IndexResult `json:"so_far"`
	After string                 `json:"after,omitempty"` // the tenant that the run before came to
}

// SyncIndexProgress is what a run has brought to the index so far, and how far that is behind. Query progress
// returns it.
type SyncIndexProgress struct {
	activities.IndexResult
	Lag vectorindex.IndexLag `json:"lag"`
}

// SyncIndexResult counts what a run brought to the index.
type SyncIndexResult struct {
	activities.IndexResult
}

// DriftInput asks to compare the searched generation of a vector index with Postgres.
type DriftInput struct {
	Index    string `json:"index"`               // names the run; the worker's index when empty
	LookOnly bool   `json:"look_only,omitempty"` // repair nothing
	Actor    string `json:"actor,omitempty"`

	// Set by continue-as-new.
	Sofar *DriftResult `json:"so_far,omitempty" decode:"state"`
	Round *Comparison  `json:"round,omitempty" decode:"state"` // the round under way

	strict
}

// UnmarshalJSON reads the input strictly; Validate reports what it found.
func (in *DriftInput) UnmarshalJSON(data []byte) error {
	type plain DriftInput
	in.decoded = schema.DecodeInput(data, (*plain)(in))
	return nil
}

// DriftResult is what the comparisons found. Query progress returns it so far.
type DriftResult struct {
	Rounds int              `json:"rounds"`
	Found  activities.Drift `json:"found"` // by the first
	Left   activities.Drift `json:"left"`  // by the last: what was found last, and repaired nothing of
	// Repaired counts over all rounds.
	Repaired int64 `json:"repaired"`
	// Looked is what the round under way has seen so far.
	Looked activities.Drift `json:"looked"`
}

// Comparison is a round that compares one generation from both sides, and how far it has come.
type Comparison struct {
	Generation string                    `json:"generation,omitempty"` // empty for the one that is searched
	Repair     bool                      `json:"repair,omitempty"`
	Found      activities.Drift          `json:"found"`          // so far
	Side       int                       `json:"side,omitempty"` // of comparedSides
	Next       activities.CompareRequest `json:"next"`           // of that side
}

// ReindexInput asks to rebuild a vector index from Postgres.
type ReindexInput struct {
	Index string `json:"index"`           // the worker's index when empty
	Model string `json:"model,omitempty"` // the embedding model; the worker's configured one when empty
	Actor string `json:"actor,omitempty"` // who asked
	// How long what is not searched any more is kept, in seconds; negative for not at all, 0 for the default of
	// vector.DropGrace. Less than that, and a process may still search it.
	GraceSeconds int              `json:"grace_seconds,omitempty"`
	Sofar        *ReindexProgress `json:"so_far,omitempty" decode:"state"` // set by continue-as-new

	strict
}

// UnmarshalJSON reads the input strictly; Validate reports what it found.
func (in *ReindexInput) UnmarshalJSON(data []byte) error {
	type plain ReindexInput
	in.decoded = schema.DecodeInput(data, (*plain)(in))
	return nil
}

// ReindexProgress is how far a rebuild has come. Query progress returns it.
type ReindexProgress struct {
	Phase      string                    `json:"phase"`
	Generation activities.GenerationRef  `json:"generation"`
	Replaces   *activities.GenerationRef `json:"replaces,omitempty"`
	Resumed    bool                      `json:"resumed,omitempty"` // it took up what an earlier run had begun
	Memories   int64                     `json:"memories"`          // live ones when it began
	Filled     int64                     `json:"filled"`            // of them, brought to the new generation
	Embedded   int64                     `json:"embedded"`          // of them, embedded first
	Refused    int64                     `json:"refused"`           // of them, left to the outbox: the embedder does not take them
	Rounds     int                       `json:"rounds"`            // of comparison
	Drift      activities.Drift          `json:"drift"`             // what the last one found, or has found so far
	Verified   activities.VerifyResult   `json:"verified"`
	Dropped    int                       `json:"dropped"` // generations
	Cursor     activities.Cursor         `json:"cursor"`  // of the fill
	FilledAll  bool                      `json:"filled_all,omitempty"`
	Rebuilt    bool                      `json:"rebuilt,omitempty"` // its indexes in Postgres
	Comparing  *Comparison               `json:"comparing,omitempty"`
}

// ReindexResult is what a rebuild did.
type ReindexResult struct{ ReindexProgress }
