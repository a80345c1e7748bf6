package api

import (
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
)

// SyncIndexInput keeps the counts across continue-as-new.
type SyncIndexInput struct {
	Sofar IndexResult `json:"so_far" decode:"state"`
	// the tenant after which the previous run stopped
	After string `json:"after,omitempty" decode:"state"`

	strict
}

// UnmarshalJSON reads the input strictly; DecodeErr reports what it found.
func (in *SyncIndexInput) UnmarshalJSON(data []byte) error {
	type plain SyncIndexInput
	in.decoded = check.DecodeInput(data, (*plain)(in))
	return nil
}

// SyncIndexProgress counts the changes that a run has written to the index so far, and has the lag of the index behind
// Postgres. The query "progress" returns it.
type SyncIndexProgress struct {
	IndexResult
	Lag schema.IndexLag `json:"lag"`
}

// SyncIndexResult counts the changes that a run wrote to the index.
type SyncIndexResult struct {
	IndexResult
}

// DriftInput starts a comparison of the searched generation of a vector index with Postgres.
type DriftInput struct {
	Index    string `json:"index"`               // name of the index, part of the run's id; empty: the worker's index
	LookOnly bool   `json:"look_only,omitempty"` // only compare, repair nothing
	Actor    string `json:"actor,omitempty"`

	// Set by continue-as-new.
	Sofar *DriftResult `json:"so_far,omitempty" decode:"state"`
	Round *Comparison  `json:"round,omitempty" decode:"state"` // the current round

	strict
}

// UnmarshalJSON reads the input strictly. Validate reports the problems.
func (in *DriftInput) UnmarshalJSON(data []byte) error {
	type plain DriftInput
	in.decoded = check.DecodeInput(data, (*plain)(in))
	return nil
}

// DriftResult is the result of the comparisons. The query "progress" returns it while the run is open.
type DriftResult struct {
	Rounds int   `json:"rounds"`
	Found  Drift `json:"found"` // differences that the first round found
	Left   Drift `json:"left"`  // differences that the last round found and did not repair
	// Repaired counts the repairs of all rounds.
	Repaired int64 `json:"repaired"`
	// Looked is the result of the current round so far.
	Looked Drift `json:"looked"`
}

// Comparison is the state of a round that compares a generation with Postgres in both directions.
type Comparison struct {
	Generation string         `json:"generation,omitempty"` // empty: the searched generation
	Repair     bool           `json:"repair,omitempty"`
	Found      Drift          `json:"found"`          // differences found so far
	Side       int            `json:"side,omitempty"` // the current direction, as an index of comparedSides
	Next       CompareRequest `json:"next"`           // the next request in that direction
}

// ReindexInput starts a rebuild of a vector index from Postgres.
type ReindexInput struct {
	Index string `json:"index"`           // empty: the worker's index
	Model string `json:"model,omitempty"` // the embedding model; empty: the model that the worker is configured with
	Actor string `json:"actor,omitempty"` // who requested the rebuild
	// GraceSeconds is how long a generation is kept after it is no longer searched: at most an hour
	// (vector.MaxDropGrace). 0 means vector.DropGrace, a negative value drops it at once. With a time shorter than the
	// default, a process may still search a dropped generation.
	GraceSeconds int              `json:"grace_seconds,omitempty"`
	Sofar        *ReindexProgress `json:"so_far,omitempty" decode:"state"` // set by continue-as-new

	strict
}

// UnmarshalJSON reads the input strictly. Validate reports the problems.
func (in *ReindexInput) UnmarshalJSON(data []byte) error {
	type plain ReindexInput
	in.decoded = check.DecodeInput(data, (*plain)(in))
	return nil
}

// ReindexProgress is the progress of a rebuild. The query "progress" returns it.
type ReindexProgress struct {
	Phase      string         `json:"phase"`
	Generation GenerationRef  `json:"generation"`
	Replaces   *GenerationRef `json:"replaces,omitempty"`
	Resumed    bool           `json:"resumed,omitempty"` // the run continued the rebuild of an earlier run
	Memories   int64          `json:"memories"`          // live memories when the rebuild began
	Filled     int64          `json:"filled"`            // memories that the fill has processed
	Embedded   int64          `json:"embedded"`          // memories that had to be embedded first
	Refused    int64          `json:"refused"`           // memories that the embedder refused; the outbox retries them
	Rounds     int            `json:"rounds"`            // rounds of comparison
	Drift      Drift          `json:"drift"`             // differences that the current or last round found
	Verified   VerifyResult   `json:"verified"`
	Dropped    int            `json:"dropped"` // dropped generations
	Cursor     IndexCursor    `json:"cursor"`  // how far the new generation is filled
	FilledAll  bool           `json:"filled_all,omitempty"`
	Rebuilt    bool           `json:"rebuilt,omitempty"` // the step that rebuilds indexes in Postgres is done
	Comparing  *Comparison    `json:"comparing,omitempty"`
}

// ReindexResult is the result of a rebuild.
type ReindexResult struct{ ReindexProgress }

// Drift counts the differences between an index and Postgres. A change that is pending in the outbox is lag, not
// drift: it is counted separately.
type Drift struct {
	Memories int64 `json:"memories"` // live memories that were looked for in the index
	Points   int64 `json:"points"`   // points that were looked for in Postgres
	Missing  int64 `json:"missing"`  // memories without a point
	Behind   int64 `json:"behind"`   // points of an older version than the memory's
	Ahead    int64 `json:"ahead"`    // points of a newer version than the memory's, after Postgres was restored
	// Dead counts points of memories that are not live, that do not exist, or whose current text has no vector and
	// whose change is parked.
	Dead     int64 `json:"dead"`
	Pending  int64 `json:"pending"` // memories with a pending change in the outbox
	Parked   int64 `json:"parked"`  // memories whose change the outbox no longer retries
	Repaired int64 `json:"repaired"`
}

// Found returns the number of differences.
func (d Drift) Found() int64 { return d.Missing + d.Behind + d.Ahead + d.Dead }

// Add returns the sum of both counts.
func (d Drift) Add(o Drift) Drift {
	return Drift{Memories: d.Memories + o.Memories, Points: d.Points + o.Points, Missing: d.Missing + o.Missing,
		Behind: d.Behind + o.Behind,
		Ahead:  d.Ahead + o.Ahead, Dead: d.Dead + o.Dead, Pending: d.Pending + o.Pending, Parked: d.Parked + o.Parked,
		Repaired: d.Repaired + o.Repaired}
}

// IndexCursor is the position of a pass over the memories of all tenants.
type IndexCursor struct {
	Tenant string `json:"tenant,omitempty"`
	After  string `json:"after,omitempty"` // the last memory of the tenant that was compared
	// Activate means that the generation was not searched when the pass began. The pass activates it at the end. The
	// name in JSON is in stored histories.
	Activate bool `json:"mend,omitempty"`
}

// CompareRequest requests a comparison of a generation with Postgres from a cursor on.
type CompareRequest struct {
	Index      string      `json:"index,omitempty"`      // name of the index; empty: the worker's index
	Generation string      `json:"generation,omitempty"` // empty: the searched generation
	Cursor     IndexCursor `json:"cursor"`               // the cursor of CompareMemories
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

// VerifyResult is the result of a verification.
type VerifyResult struct {
	Memories int64 `json:"memories"` // live memories in Postgres with a vector of the model
	Points   int64 `json:"points"`
	Sampled  int   `json:"sampled"` // memories whose own vector was searched for
	Found    int   `json:"found"`   // sampled memories that the search returned
}
