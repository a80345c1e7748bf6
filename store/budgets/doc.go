// Package budgets counts the tokens that a tenant's learning uses in a day, in Postgres. A call is reserved before it
// is made and settled after. Whether it fits is decided in package memory/budget.
package budgets

import "github.com/mneme/mneme/store/pg"

// Budgets counts tokens. It is safe for concurrent use.
type Budgets struct {
	*pg.DB
}

// New returns it over a connection.
func New(db *pg.DB) *Budgets { return &Budgets{DB: db} }
