package pg

import "context"

type progressKey struct{}

// WithProgress returns a context whose transactions call fn when they succeed. A call of many transactions, such as one
// for each page or index, makes progress as long as they do.
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

// Progressed reports progress within a transaction, for one that reads many pages.
func Progressed(ctx context.Context) {
	if fn, ok := ctx.Value(progressKey{}).(func()); ok {
		fn()
	}
}
