package pg

import "context"

type progressKey struct{}

// WithProgress returns a context whose successful transactions call fn. A call with many transactions, one for each
// page or index, thus reports progress while it runs.
func WithProgress(ctx context.Context, fn func()) context.Context {
	return context.WithValue(ctx, progressKey{}, fn)
}

// EndTransaction ends a transaction of a class: it reports progress, or returns an error that says whether a limit was
// exceeded.
func (s *DB) EndTransaction(ctx context.Context, class Class, err error) error {
	if fn, ok := ctx.Value(progressKey{}).(func()); ok && err == nil {
		fn()
	}
	return s.limited(class, err)
}

// Progressed reports progress within a transaction that reads many pages.
func Progressed(ctx context.Context) {
	if fn, ok := ctx.Value(progressKey{}).(func()); ok {
		fn()
	}
}
