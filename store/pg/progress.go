package pg

import "context"

type progressKey struct{}

// WithProgress returns a context whose transactions call fn when they end well. A call that consists of many
// transactions, a page or an index each, is at work as long as they do.
func WithProgress(ctx context.Context, fn func()) context.Context {
	return context.WithValue(ctx, progressKey{}, fn)
}

// EndTransaction ends a transaction of a class: progress, or an error that says whether a limit was met.
func (s *DB) EndTransaction(ctx context.Context, class Class, err error) error {
	if fn, ok := ctx.Value(progressKey{}).(func()); ok && err == nil {
		fn()
	}
	return s.limited(class, err)
}
