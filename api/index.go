package api

import (
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
)

// SyncIndexInput carries the counts over continue-as-new.
type SyncIndexInput struct {
	Sofar IndexResult `json:"so_far"`
	After string      `json:"after,omitempty"` // the tenant after which the previous run stopped
}

// SyncIndexProgress is what a run has brought to the index so far, and how late the index is. Query progress
// returns it.
type SyncIndexProgress struct {
	IndexResult
	Lag schema.IndexLag `json:"lag"`
}

// SyncIndexResult counts what a run brought to the index.
type SyncIndexResult struct {
	IndexResult
}

// DriftInput asks to compare the searched generation of a vector index with Postgres.
type DriftInput struct {
	Index    string `json:"index"`               // names the run; the worker's index when empty
	LookOnly bool   `json:"look_only,omitempty"` // only compare, repair nothing
	Actor    string `json:"actor,omitempty"`

	// Set by continue-as-new.
	Sofar *DriftResult `json:"so_far,omitempty" decode:"state"`
	Round *Comparison  `json:"round,omitempty" decode:"state"` // the current round

	strict
}

// UnmarshalJSON reads the input strictly; Validate reports what it found.
func (in *DriftInput) UnmarshalJSON(data []byte) error {
	type plain DriftInput
	in.decoded = check.DecodeInput(data, (*plain)(in))
	return nil
}

// DriftResult is what the comparisons found. Query progress returns it so far.
type DriftResult struct {
	Rounds int   `json:"rounds"`
	Found  Drift `json:"found"` // by the first
	Left   Drift `json:"left"`  // differences that the last round found and did not repair
	// Repaired counts over all rounds.
	Repaired int64 `json:"repaired"`
	// Looked is what the current round has found so far.
	Looked Drift `json:"looked"`
}

// Comparison is a round that compares one generation from both sides, and how far it has come.
type Comparison struct {
	Generation string         `json:"generation,omitempty"` // empty for the one that is searched
	Repair     bool           `json:"repair,omitempty"`
	Found      Drift          `json:"found"`          // so far
	Side       int            `json:"side,omitempty"` // of comparedSides
	Next       CompareRequest `json:"next"`           // of that side
}

// ReindexInput asks to rebuild a vector index from Postgres.
type ReindexInput struct {
	Index string `json:"index"`           // the worker's index when empty
	Model string `json:"model,omitempty"` // the embedding model; the worker's configured one when empty
	Actor string `json:"actor,omitempty"` // who asked
	// How long a generation that is no longer searched is kept, in seconds; negative for not at all, 0 for the
	// default of vector.DropGrace. With a shorter time, a process may still search a dropped generation.
	GraceSeconds int              `json:"grace_seconds,omitempty"`
	Sofar        *ReindexProgress `json:"so_far,omitempty" decode:"state"` // set by continue-as-new

	strict
}

// UnmarshalJSON reads the input strictly; Validate reports what it found.
func (in *ReindexInput) UnmarshalJSON(data []byte) error {
	type plain ReindexInput
	in.decoded = check.DecodeInput(data, (*plain)(in))
	return nil
}

// ReindexProgress is how far a rebuild has come. Query progress returns it.
type ReindexProgress struct {
	Phase      string         `json:"phase"`
	Generation GenerationRef  `json:"generation"`
	Replaces   *GenerationRef `json:"replaces,omitempty"`
	Resumed    bool           `json:"resumed,omitempty"` // it continued an earlier run's rebuild
	Memories   int64          `json:"memories"`          // live ones when it began
	Filled     int64          `json:"filled"`            // of them, brought to the new generation
	Embedded   int64          `json:"embedded"`          // of them, embedded first
	Refused    int64          `json:"refused"`           // of them, left to the outbox: the embedder does not take them
	Rounds     int            `json:"rounds"`            // of comparison
	Drift      Drift          `json:"drift"`             // differences that the last round found, or has found so far
	Verified   VerifyResult   `json:"verified"`
	Dropped    int            `json:"dropped"` // generations
	Cursor     IndexCursor    `json:"cursor"`  // of the fill
	FilledAll  bool           `json:"filled_all,omitempty"`
	Rebuilt    bool           `json:"rebuilt,omitempty"` // its indexes in Postgres
	Comparing  *Comparison    `json:"comparing,omitempty"`
}

// ReindexResult is what a rebuild did.
type ReindexResult struct{ ReindexProgress }

// Drift is the differences between an index and Postgres. Pending changes in the outbox are lag, not drift, and are
// only counted.
type Drift struct {
	Memories int64 `json:"memories"` // live memories that were looked for in the index
	Points   int64 `json:"points"`   // points that were looked for in Postgres
	Missing  int64 `json:"missing"`  // memories without a point
	Behind   int64 `json:"behind"`   // points of an older version than the memory's
	Ahead    int64 `json:"ahead"`    // points of a version that Postgres has not reached: it was restored
	// Points of memories that are not live, do not exist, or are parked with a text without a vector.
	Dead     int64 `json:"dead"`
	Pending  int64 `json:"pending"` // left to the outbox
	Parked   int64 `json:"parked"`  // the outbox no longer tries them
	Repaired int64 `json:"repaired"`
}

// Found is how many differences there are.
func (d Drift) Found() int64 { return d.Missing + d.Behind + d.Ahead + d.Dead }

// Add returns the sum of two.
func (d Drift) Add(o Drift) Drift {
	return Drift{Memories: d.Memories + o.Memories, Points: d.Points + o.Points, Missing: d.Missing + o.Missing,
		Behind: d.Behind + o.Behind,
		Ahead:  d.Ahead + o.Ahead, Dead: d.Dead + o.Dead, Pending: d.Pending + o.Pending, Parked: d.Parked + o.Parked,
		Repaired: d.Repaired + o.Repaired}
}

// IndexCursor is how far a pass over all tenants' memories has come.
type IndexCursor struct {
	Tenant string `json:"tenant,omitempty"`
	After  string `json:"after,omitempty"` // the last memory of the tenant that was compared
	// Activate means that the pass began with a generation that was not searched. The pass activates it at the end.
	Activate bool `json:"mend,omitempty"`
}

// CompareRequest asks to compare a generation with Postgres, from a cursor on.
type CompareRequest struct {
	Generation string      `json:"generation,omitempty"` // empty for the one that is searched
	Cursor     IndexCursor `json:"cursor"`               // of CompareMemories
	Points     string      `json:"points,omitempty"`     // the cursor of ComparePoints
	MaxPages   int         `json:"max_pages"`
	Repair     bool        `json:"repair"`
}

// GenerationRef names a generation in histories and results.
type GenerationRef struct {
	ID         string `json:"id"`
	Model      string `json:"model"`
	Dimensions int    `json:"dimensions"`
}

// VerifyResult says what was verified.
type VerifyResult struct {
	Memories int64 `json:"memories"` // live, with a vector of the model, in Postgres
	Points   int64 `json:"points"`
	Sampled  int   `json:"sampled"` // memories that were searched for by their own vector
	Found    int   `json:"found"`   // of them came back
}
