package inference

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema/ledger"
)

// Gate limits the number of concurrent model calls of all activities in a process, so that they do not overload an
// endpoint. The nil Gate has no limit.
type Gate struct{ permits *semaphore.Weighted }

// NewGate returns a gate for n concurrent calls, or nil if n is 0.
func NewGate(n int) *Gate {
	if n <= 0 {
		return nil
	}
	return &Gate{permits: semaphore.NewWeighted(int64(n))}
}

// waitingEvery is the interval at which a call that waits at the gate calls the function of WithWaiting.
const waitingEvery = 5 * time.Second

type (
	interactiveKey struct{}
	waitingKey     struct{}
)

// Interactive marks calls that a caller waits for, as in a recall. They pass a gate without waiting for the pipeline's
// calls, and have their own deadlines.
func Interactive(ctx context.Context) context.Context {
	return context.WithValue(ctx, interactiveKey{}, true)
}

// WithWaiting sets a function that is called every few seconds while a call waits at a gate, and after each part of a
// call that is made in parts. Both count as progress.
func WithWaiting(ctx context.Context, fn func()) context.Context {
	return context.WithValue(ctx, waitingKey{}, fn)
}

// Moved calls the function of WithWaiting, after one part of a call has been answered.
func Moved(ctx context.Context) {
	if fn, ok := ctx.Value(waitingKey{}).(func()); ok {
		fn()
	}
}

// enter waits for a turn. Leave must be called after the call.
func (g *Gate) enter(ctx context.Context) (leave func(), err error) {
	if g == nil || ctx.Value(interactiveKey{}) != nil {
		return func() {}, nil
	}
	leave = func() { g.permits.Release(1) }
	if g.permits.TryAcquire(1) {
		return leave, nil
	}
	if waiting, ok := ctx.Value(waitingKey{}).(func()); ok {
		done := make(chan struct{})
		defer close(done)
		go func() {
			tick := time.NewTicker(waitingEvery)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					waiting()
				case <-done:
					return
				}
			}
		}()
	}
	if err := g.permits.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return leave, nil
}

// Extractor is an extractor that passes the gate first.
func (g *Gate) Extractor(e Extractor) Extractor { return gatedExtractor{g, e} }

// Decider is a decider that passes the gate first.
func (g *Gate) Decider(d Decider) Decider { return gatedDecider{g, d} }

// Embedder is an embedder that passes the gate first.
func (g *Gate) Embedder(e Embedder) Embedder { return gatedEmbedder{e, g} }

// Reasoner is a reasoner that passes the gate first.
func (g *Gate) Reasoner(r Reasoner) Reasoner { return gatedReasoner{g, r} }

type gatedReasoner struct {
	gate *Gate
	next Reasoner
}

func (r gatedReasoner) Reflect(ctx context.Context, agent string, span []ledger.Event) (Belief, Usage, error) {
	leave, err := r.gate.enter(ctx)
	if err != nil {
		return Belief{}, Usage{}, err
	}
	defer leave()
	return r.next.Reflect(ctx, agent, span)
}

type gatedExtractor struct {
	gate *Gate
	next Extractor
}

func (e gatedExtractor) Extract(ctx context.Context, src Source) (memory.Extraction, Usage, error) {
	leave, err := e.gate.enter(ctx)
	if err != nil {
		return memory.Extraction{}, Usage{}, err
	}
	defer leave()
	return e.next.Extract(ctx, src)
}

type gatedDecider struct {
	gate *Gate
	next Decider
}

func (d gatedDecider) Decide(
	ctx context.Context,
	fact memory.Fact,
	neighbors []memory.Neighbor,
) (memory.Proposal, Usage, error) {
	leave, err := d.gate.enter(ctx)
	if err != nil {
		return memory.Proposal{}, Usage{}, err
	}
	defer leave()
	return d.next.Decide(ctx, fact, neighbors)
}

type gatedEmbedder struct {
	Embedder
	gate *Gate
}

func (e gatedEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, Usage, error) {
	leave, err := e.gate.enter(ctx)
	if err != nil {
		return nil, Usage{}, err
	}
	defer leave()
	return e.Embedder.Embed(ctx, texts)
}

// EmbedQuery implements QueryEmbedder. A question does not wait.
func (e gatedEmbedder) EmbedQuery(ctx context.Context, text string) ([]float32, Usage, error) {
	return EmbedQuery(Interactive(ctx), e.Embedder, text)
}
