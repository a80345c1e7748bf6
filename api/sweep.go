package api

import (
	"maps"
	"time"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
)

// SweepInput starts a sweep. Schedules use the zero value, which means every tenant.
type SweepInput struct {
	Tenant string `json:"tenant,omitempty"` // only this tenant
	// BatchSize is the number of rows in one transaction. The default and the maximum are sweeping.SweepBatchSize.
	BatchSize int `json:"batch_size,omitempty"`

	// Set by continue-as-new.
	Sofar *SweepResult `json:"so_far,omitempty" decode:"state"`
	At    *time.Time   `json:"at,omitempty"`

	strict
}

// Validate returns a *schema.ValidationError that lists every invalid field.
func (in *SweepInput) Validate() error {
	if err := in.strict.Validate(); err != nil {
		return err
	}
	if in.BatchSize < 0 {
		return &schema.ValidationError{Fields: []schema.FieldError{{Field: "batch_size",
			Problem: "must not be negative"}}}
	}
	return nil
}

// UnmarshalJSON reads the input strictly; Validate reports what it found.
func (in *SweepInput) UnmarshalJSON(data []byte) error {
	type plain SweepInput
	in.decoded = check.DecodeInput(data, (*plain)(in))
	return nil
}

// SweepResult is the result of a run so far, with the cursor.
type SweepResult struct {
	Tenants int            `json:"tenants"`          // visited tenants
	Counts  map[string]int `json:"counts"`           // by outcome
	Held    []string       `json:"held,omitempty"`   // tenants whose sweep would have removed too much
	Failed  []string       `json:"failed,omitempty"` // tenants that could not be swept
	Batches int            `json:"batches"`
	Cursor  SweepCursor    `json:"cursor"`
	Done    bool           `json:"done"`
}

// Add returns the sum of two results, with the place of the later one.
func (r SweepResult) Add(o SweepResult) SweepResult {
	sum := SweepResult{Tenants: r.Tenants + o.Tenants, Counts: maps.Clone(r.Counts), Batches: r.Batches + o.Batches,
		Cursor: o.Cursor, Done: o.Done}
	if sum.Counts == nil {
		sum.Counts = map[string]int{}
	}
	for name, n := range o.Counts { //workflowcheck:ignore: a sum is the same in any order
		sum.Counts[name] += n
	}
	sum.Held, sum.Failed = AppendNamed(r.Held, o.Held...), AppendNamed(r.Failed, o.Failed...)
	return sum
}

// SweepCursor is the progress of a run. Tenants are visited in order of their names.
type SweepCursor struct {
	After  string `json:"after,omitempty"`  // last finished tenant
	Tenant string `json:"tenant,omitempty"` // current tenant

	Due  schema.DueCursor `json:"due,omitzero"`   // of a decay sweep
	Step schema.PurgeStep `json:"step,omitempty"` // of a purge
	More bool             `json:"more,omitempty"` // there is more to mark after the marked rows are removed

	History schema.HistoryCursor `json:"history,omitzero"` // of a purge's step
	Expired schema.HistoryCursor `json:"expired,omitzero"` // of its step expire, to which it returns
	Limit   int                  `json:"limit,omitempty"`  // rows of a batch, if one with more rows needed too much

	Rules string `json:"rules,omitempty"` // the rules at the start of the tenant (sweeping.Begun)
	Held  bool   `json:"held,omitempty"`  // it continues while it waits for an answer
	Tries int    `json:"tries,omitempty"` // attempts that began here, while Postgres answered, and got no further
	Full  int    `json:"full,omitempty"`  // attempts that failed here because disk space or memory was lacking
	// Careful is the number of tenants that are still visited one by one, after a failed attempt.
	Careful int `json:"careful,omitempty"`
}

// maxNamed is the maximum number of held or failed tenants that a result names. The counts include all of them.
const maxNamed = 20

// AppendNamed returns the list with more tenants, up to the number that a result names. It does not change list.
func AppendNamed(list []string, more ...string) []string {
	out := append(append([]string{}, list...), more...)
	return out[:min(len(out), maxNamed)]
}
