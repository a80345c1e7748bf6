package workflows

import (
	"context"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/vector"
)

// Dependencies is what a worker needs to host everything.
type Dependencies struct {
	Store       *store.Store
	Brain       inference.Brain
	Index       vector.Index
	Policy      memory.WritePolicy
	Concurrency int              // model calls at once in one activity
	Now         func() time.Time // the activities' clock; time.Now when nil
}

// Register makes a worker host every workflow and activity.
func Register(w worker.Registry, d Dependencies) {
	w.RegisterWorkflow(Ingest)
	w.RegisterWorkflow(ResumeIngest)
	w.RegisterWorkflow(SyncIndex)
	extraction := &activities.Extraction{Store: d.Store, Extractor: d.Brain.Extractor, Concurrency: d.Concurrency, Now: d.Now}
	decision := &activities.Decision{Store: d.Store, Decider: d.Brain.Decider, Embedder: d.Brain.Embedder, Concurrency: d.Concurrency, Now: d.Now}
	writing := &activities.Writing{Store: d.Store, Embedder: d.Brain.Embedder, Now: d.Now}
	indexing := &activities.Indexing{Store: d.Store, Embedder: d.Brain.Embedder, Index: d.Index, Now: d.Now}
	w.RegisterActivity(&activities.Staging{Store: d.Store, Policy: d.Policy, MaxAttempts: MaxJobAttempts, Now: d.Now})
	registerBeating(w, extraction.ExtractFacts)
	registerBeating(w, decision.DecideFacts)
	registerBeating(w, writing.WriteProposals)
	registerBeating(w, indexing.IndexBatch)
	registerBeating(w, indexing.DrainOutbox)
	w.RegisterActivity(&activities.Linking{Store: d.Store, Now: d.Now})
	w.RegisterActivity(&activities.Jobs{Store: d.Store, Now: d.Now})
}

// registerBeating registers a method, under its own name, that heartbeats for as long as it runs. It
// is for activities that call a model: one call may take longer than the time within which a dead
// worker is to be noticed.
func registerBeating[In, Out any](w worker.Registry, method func(context.Context, In) (Out, error)) {
	name := runtime.FuncForPC(reflect.ValueOf(method).Pointer()).Name()
	name = strings.TrimSuffix(name[strings.LastIndexByte(name, '.')+1:], "-fm")
	w.RegisterActivityWithOptions(func(ctx context.Context, in In) (Out, error) {
		stop := make(chan struct{})
		var done sync.WaitGroup
		done.Go(func() {
			tick := time.NewTicker(heartbeatTimeout / 4)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					activity.RecordHeartbeat(ctx)
				case <-stop:
					return
				}
			}
		})
		defer done.Wait()
		defer close(stop)
		return method(ctx, in)
	}, activity.RegisterOptions{Name: name})
}
