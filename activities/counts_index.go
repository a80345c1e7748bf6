package activities

// Drift is how an index and Postgres differ. What is pending in the outbox is lag, not drift, and is only
// counted.
type Drift struct {
	Memories int64 `json:"memories"` // live memories that were looked for in the index
	Points   int64 `json:"points"`   // points that were looked for in Postgres
	Missing  int64 `json:"missing"`  // memories without a point
	Behind   int64 `json:"behind"`   // points of an older version than the memory's
	Ahead    int64 `json:"ahead"`    // points of a version that Postgres has not reached: it was restored
	Dead     int64 `json:"dead"`     // points of memories that are not live, not there, or parked with a text that has no vector
	Pending  int64 `json:"pending"`  // left to the outbox
	Parked   int64 `json:"parked"`   // the outbox has given up on them
	Repaired int64 `json:"repaired"`
}

// Found is how many differences there are.
func (d Drift) Found() int64 { return d.Missing + d.Behind + d.Ahead + d.Dead }

// Add returns the sum of two.
func (d Drift) Add(o Drift) Drift {
	return Drift{Memories: d.Memories + o.Memories, Points: d.Points + o.Points, Missing: d.Missing + o.Missing, Behind: d.Behind + o.Behind,
		Ahead: d.Ahead + o.Ahead, Dead: d.Dead + o.Dead, Pending: d.Pending + o.Pending, Parked: d.Parked + o.Parked, Repaired: d.Repaired + o.Repaired}
}

// Cursor is how far a pass over all tenants' memories has come.
type Cursor struct {
	Tenant string `json:"tenant,omitempty"`
	After  string `json:"after,omitempty"` // the last memory of the tenant that was looked at
	// Mend means that the pass began with a generation that was not searched: at its end it is.
	Mend bool `json:"mend,omitempty"`
}

// CompareRequest asks to compare a generation with Postgres, from a cursor on.
type CompareRequest struct {
	Generation string `json:"generation,omitempty"` // empty for the one that is searched
	Cursor     Cursor `json:"cursor"`               // of CompareMemories
	Points     string `json:"points,omitempty"`     // the cursor of ComparePoints
	MaxPages   int    `json:"max_pages"`
	Repair     bool   `json:"repair"`
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
