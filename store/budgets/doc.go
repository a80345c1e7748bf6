// Package budgets counts the tokens that a tenant's learning uses in a day, in Postgres. A call is reserved before
// it is made and settled after it. Package memory/budget decides whether it fits.
package budgets

import "github.com/mneme/mneme/store/pg"

// Budgets counts tokens. It is safe for concurrent use.
type Budgets struct {
	*pg.DB
}

// New returns a Budgets on a database.
func New(db *pg.DB) *Budgets { return &Budgets{DB: db} }
