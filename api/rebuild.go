package api

import (
	"cmp"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
)

// RebuildRequest starts the workflow Rebuild, which compares data derived from a tenant's ledger with the ledger, and
// rebuilds what differs.
type RebuildRequest struct {
	Tenant string `json:"tenant"`
	Stream string `json:"stream,omitempty"` // only data derived from this stream
	Verify bool   `json:"verify,omitempty"` // only compare
	Drop   bool   `json:"drop,omitempty"`   // rebuild everything, even if it is equal

	State *RebuildState `json:"state,omitempty" decode:"state"` // set by continue-as-new

	strict
}

// UnmarshalJSON reads the input strictly; Validate reports what it found.
func (r *RebuildRequest) UnmarshalJSON(data []byte) error {
	type plain RebuildRequest
	r.decoded = check.DecodeInput(data, (*plain)(r))
	return nil
}

// RebuildState is the progress of a rebuild.
type RebuildState struct {
	Place  RebuildPlace  `json:"place"`
	Result RebuildResult `json:"result"`
}

// RebuildPlace is the start of the next page.
type RebuildPlace struct {
	Phase string `json:"phase,omitempty"` // streams, then sessions, then vectors; RebuildOver at the end
	After string `json:"after,omitempty"` // the stream, session or event after which it begins
}

// Phases of a rebuild of data derived from the ledger.
const (
	RebuildStreams  = "streams"
	RebuildSessions = "sessions"
	RebuildVectors  = "vectors"
	RebuildOver     = "over"
)

// MaxRebuildDifferences is the maximum number of differences that a result lists. All are counted.
const MaxRebuildDifferences = 200

// RebuildResult is the result of a comparison or rebuild. It contains ids and names of fields, never content.
type RebuildResult struct {
	Compared  int            `json:"compared"`
	Different int            `json:"different"`
	Rebuilt   int            `json:"rebuilt"`        // includes equal items if everything is rebuilt
	Left      int            `json:"left"`           // remaining differences
	Kept      map[string]int `json:"kept,omitempty"` // items that were not compared or not replaced, by reason

	Differences []RebuildDifference `json:"differences,omitempty"` // the first MaxRebuildDifferences
}

// RebuildDifference is one item that differs from the data derived from the ledger.
type RebuildDifference struct {
	Kind    string   `json:"kind"` // working, episode, marks or vectors
	ID      string   `json:"id"`   // of the session, the record or the event; of marks the event's number
	Stream  string   `json:"stream,omitempty"`
	Fields  []string `json:"fields,omitempty"` // that differ
	Rebuilt bool     `json:"rebuilt,omitempty"`
	Kept    string   `json:"kept,omitempty"` // why it was not rebuilt
}

// Equal reports whether all data agrees with the ledger.
func (r *RebuildResult) Equal() bool { return r.Left == 0 }

// Add adds the counts of a page.
func (r *RebuildResult) Add(page RebuildResult) {
	r.Compared += page.Compared
	r.Different += page.Different
	r.Rebuilt += page.Rebuilt
	r.Left += page.Left
	for reason, n := range page.Kept { //workflowcheck:ignore: sums do not depend on the order
		if r.Kept == nil {
			r.Kept = map[string]int{}
		}
		r.Kept[reason] += n
	}
	room := max(0, MaxRebuildDifferences-len(r.Differences))
	r.Differences = append(r.Differences, page.Differences[:min(room, len(page.Differences))]...)
}

// Validate returns a *schema.ValidationError that lists every invalid field.
func (r *RebuildRequest) Validate() error {
	if err := r.DecodeErr(); err != nil {
		return err
	}
	var p check.Problems
	if r.Tenant == "" {
		p.Add("tenant", "is required")
	}
	check.Text(&p, "tenant", r.Tenant, schema.MaxNameLength)
	if r.Verify && r.Drop {
		p.Add("drop", "cannot be combined with verify")
	}
	return p.Err()
}

// RebuildWorkflowID returns the id of the run that rebuilds or verifies. There is one of each at a time.
func RebuildWorkflowID(r RebuildRequest) string {
	kind := map[bool]string{r.Verify: "verify", r.Drop: "drop"}[true]
	return WorkflowID("rebuild", r.Tenant, cmp.Or(kind, "repair"), cmp.Or(r.Stream, "all"))
}
