package pg

// PageLimit is the size of a page: 50 unless 1 to MaxPage are asked for.
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

// MaxPage is how many rows a list returns at most.
const MaxPage = 500
