package workflows

import (
	"time"

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
	Rules       func() *memory.Policy // classification rules in force; nil, or a nil policy, for the defaults
	Concurrency int                   // model calls at once in one activity
	Now         func() time.Time      // the activities' clock; time.Now when nil
}

// Register makes a worker host every workflow and activity.
func Register(w worker.Registry, d Dependencies) {
	w.RegisterWorkflow(Ingest)
	w.RegisterWorkflow(ResumeIngest)
	w.RegisterWorkflow(SyncIndex)
	w.RegisterWorkflow(Put)
	w.RegisterWorkflow(Revise)
	w.RegisterWorkflow(Modify)
	w.RegisterWorkflow(Recover)
	w.RegisterWorkflow(Forget)
	w.RegisterWorkflow(ContinueForget)
	w.RegisterWorkflow(Review)
	w.RegisterActivity(&activities.Staging{Store: d.Store, Policy: d.Policy, Rules: d.Rules, MaxAttempts: MaxJobAttempts, Now: d.Now})
	w.RegisterActivity(&activities.Extraction{Store: d.Store, Extractor: d.Brain.Extractor, Concurrency: d.Concurrency, Now: d.Now})
	w.RegisterActivity(&activities.Decision{Store: d.Store, Decider: d.Brain.Decider, Embedder: d.Brain.Embedder, Concurrency: d.Concurrency, Now: d.Now})
	w.RegisterActivity(&activities.Writing{Store: d.Store, Embedder: d.Brain.Embedder, Rules: d.Rules, Now: d.Now})
	w.RegisterActivity(&activities.Linking{Store: d.Store, Now: d.Now})
	w.RegisterActivity(&activities.Indexing{Store: d.Store, Embedder: d.Brain.Embedder, Index: d.Index, Now: d.Now})
	w.RegisterActivity(&activities.Accepting{Store: d.Store, Now: d.Now})
	w.RegisterActivity(&activities.Putting{Store: d.Store, Embedder: d.Brain.Embedder, Policy: d.Policy, Rules: d.Rules, Now: d.Now})
	w.RegisterActivity(&activities.Revising{Store: d.Store, Embedder: d.Brain.Embedder, Policy: d.Policy, Rules: d.Rules, Now: d.Now})
	w.RegisterActivity(&activities.Modifying{Store: d.Store, Embedder: d.Brain.Embedder, Policy: d.Policy, Rules: d.Rules, Now: d.Now})
	w.RegisterActivity(&activities.Recovering{Store: d.Store, Policy: d.Policy, Now: d.Now})
	w.RegisterActivity(&activities.Reviewing{Store: d.Store, Embedder: d.Brain.Embedder, Policy: d.Policy, Rules: d.Rules, Now: d.Now})
	w.RegisterActivity(&activities.Forgetting{Store: d.Store, Index: d.Index, Embedder: d.Brain.Embedder, Policy: d.Policy, ReviewID: ReviewWorkflowID,
		RenewReview: renewReview, Now: d.Now})
	w.RegisterActivity(&activities.Jobs{Store: d.Store, Now: d.Now})
}
