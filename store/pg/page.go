package pg

// PageLimit returns n if it is 1 to MaxPage, and otherwise 50.
func PageLimit(n int) int {
	if n <= 0 || n > MaxPage {
		return 50
	}
	return n
}

// Page selects one page of a listing, newest first.
type Page struct {
	Before string // id of the last memory of the previous page
	Limit  int    // at most 500; 0 means 50
}

// WaitsForReview is the condition of a proposal p that waits for a reviewer.
const WaitsForReview = `p.state = 'blocked' AND p.outcome NOT IN ('shadow_mode', 'mutations_frozen')`

// JobIsOpen is the condition of a job that has not ended, as in the partial index jobs_open. The column is its first
// word, so that a table's name may precede it.
const JobIsOpen = `state IN ('pending', 'leased', 'failed')`

// IsProcedure is the condition of a memory that is a procedure or a plan (schema.MemoryType.IsProcedure). The column is
// its first word, so that a table's name may precede it.
const IsProcedure = `type IN ('competence', 'plan_graph')`

// MaxPage is the largest number of rows in a page.
const MaxPage = 500
