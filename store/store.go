package store

import (
	"context"

	"github.com/mneme/mneme/store/admin"
	"github.com/mneme/mneme/store/advising"
	"github.com/mneme/mneme/store/budgets"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/store/forgetting"
	"github.com/mneme/mneme/store/learning"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/read"
	"github.com/mneme/mneme/store/search"
	"github.com/mneme/mneme/store/sessions"
	"github.com/mneme/mneme/store/sweeping"
	"github.com/mneme/mneme/store/tidying"
	"github.com/mneme/mneme/store/topics"
	"github.com/mneme/mneme/store/transfer"
	"github.com/mneme/mneme/store/vectorindex"
)

// Store is the whole store, on one pool of connections. It is safe for concurrent use.
type Store struct {
	*pg.DB
	*pipeline.Pipeline
	*search.Search
	*read.Reading
	*edit.Editing
	*forgetting.Forgetter
	*sweeping.Sweeping
	*transfer.Transfer
	*vectorindex.VectorIndex
	*admin.Admin
	*events.Events
	*sessions.Sessions
	*topics.Topics
	*budgets.Budgets
	*tidying.Tidying

	Learning *learning.Learning
	*advising.Advising
}

// Open connects as pg.AppRole and checks that the role is bound by row-level security. It returns
// pg.ErrNotMigrated when the tables are missing or older than this binary.
func Open(ctx context.Context, cfg pg.Config) (*Store, error) {
	db, err := pg.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return New(db), nil
}

// New returns a store on open connections. Closing it closes them.
func New(db *pg.DB) *Store {
	return &Store{DB: db, Pipeline: pipeline.New(db), Search: search.New(db), Reading: read.New(db),
		Editing:   edit.New(db),
		Forgetter: forgetting.New(db), Sweeping: sweeping.New(db), Transfer: transfer.New(db),
		VectorIndex: vectorindex.New(db),
		Admin:       admin.New(db), Events: events.New(db), Sessions: sessions.New(db),
		Topics: topics.New(db), Budgets: budgets.New(db), Tidying: tidying.New(db),
		Learning: learning.New(db), Advising: advising.New(db)}
}
