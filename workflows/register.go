package workflows

import (
	"context"
	"time"

	"go.temporal.io/sdk/worker"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/activities/advising"
	"github.com/mneme/mneme/activities/indexing"
	"github.com/mneme/mneme/activities/learning"
	"github.com/mneme/mneme/activities/rebuilding"
	"github.com/mneme/mneme/activities/reflecting"
	"github.com/mneme/mneme/activities/sessions"
	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/activities/tidying"
	"github.com/mneme/mneme/activities/topics"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/client/inprocess"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/learning/due"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/recall"
	recalladvising "github.com/mneme/mneme/recall/advising"
	"github.com/mneme/mneme/recall/contexts"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/workflows/agents"
	"github.com/mneme/mneme/workflows/flow"
	"github.com/mneme/mneme/workflows/learn"
)

// Dependencies is what a worker needs to host everything.
type Dependencies struct {
	Store *store.Store
	Brain inference.Brain
	Index vector.Index
	// Embedders returns the embedder of another model than Brain's, if an index of that model is in use; may be nil.
	Embedders   func(inference.EmbeddingModel) (inference.Embedder, error)
	Concurrency int              // model calls at once in one activity; inference.Gate bounds those of a process
	Now         func() time.Time // the activities' clock; time.Now when nil

	// Rules of writes, and who may call.
	Policy  proposals.WritePolicy
	Rules   func() *policy.Policy // classification rules in force; nil, or a nil policy, for the defaults
	Callers Callers               // who may call the Nexus service for which tenants

	// What runs, and how much of it.
	NoPipeline bool // nothing is extracted from candidates: they are only stored, recalled and indexed
	NoGraph    bool // the entity graph is not written
	// TokenBudget is how many tokens of models the learning of a tenant may use in a day; 0 is no limit.
	TokenBudget int64
	Due         due.Rule // when a scope is consolidated without a request; the zero value: never
	// SweepShare is the share of a tenant's memories that a sweep may remove without confirmation; 0:
	// lifecycle.SweepShare.
	SweepShare float64
	SweepBatch int // rows that one transaction of a sweep touches; 0: sweeping.SweepBatchSize
	// ReflectionVisibility is the widest visibility of a belief; empty: every agent of the tenant.
	ReflectionVisibility schema.Visibility
	GlobalKinds          []string // kinds of events that every agent sees (views.OpenKinds)

	Recaller *recall.Recaller // the read path; nil for one over Store, Index and Brain's embedder
	Recall   recall.Settings  // of every recall, if Recaller is nil

	// The index of events for salience. If MemoryIndex is nil, relevance is computed from words. The other two are nil
	// if the index is not outside Postgres: SweepMemoryIndex removes events that the tenant's ledger no longer has, and
	// WipeMemoryIndex empties the tenant's index when all derived data is dropped.
	MemoryIndex      func(tenant, agent string) views.MemoryIndex
	SweepMemoryIndex func(ctx context.Context, tenant string) (int, error)
	WipeMemoryIndex  func(ctx context.Context, tenant string) (int, error)

	// Metrics; each may be nil. ObserveLearned is called with the verdict on each change that runs of learning decided
	// on, ObserveArrival each time a waiting run is told of new evidence (step.Arrivals), and BudgetHeld with the use
	// of a call that did not fit the token budget.
	Observe           func(schema.RecallMeta, time.Duration, error)       // every recall (recall.Recaller)
	ObserveAdvice     func(operation, outcome string, took time.Duration) // every answer and report (recall/advising)
	ObserveReflection func(outcome string)                                // every reflection (reflecting.Reflecting)
	ObserveLearned    func(workflow, verdict string, n int)
	ObserveArrival    func(outcome string)
	BudgetHeld        func(use string)
}

// recaller returns the given read path, or the default one.
func (d Dependencies) recaller() *recall.Recaller {
	if d.Recaller != nil {
		return d.Recaller
	}
	r := inprocess.New(inprocess.Options{Store: d.Store, Index: d.Index, Embedder: d.Brain.Embedder,
		Reranking: d.Brain.Reranking,
		Others:    d.Embedders, Now: d.Now})
	r.Policy, r.Settings, r.Observe = d.Rules, d.Recall, d.Observe
	return r
}

// Register makes a worker host every workflow and activity, and the Nexus service.
func Register(w worker.Registry, d Dependencies) {
	registerWorkflows(w)
	registerActivities(w, d)
}

func registerWorkflows(w worker.WorkflowRegistry) {
	w.RegisterWorkflow(Ingest)
	w.RegisterWorkflow(ResumeIngest)
	w.RegisterWorkflow(SyncIndex)
	w.RegisterWorkflow(Reindex)
	w.RegisterWorkflow(DriftCheck)
	w.RegisterWorkflow(Put)
	w.RegisterWorkflow(Revise)
	w.RegisterWorkflow(Modify)
	w.RegisterWorkflow(Recover)
	w.RegisterWorkflow(Feedback)
	w.RegisterWorkflow(Forget)
	w.RegisterWorkflow(ContinueForget)
	w.RegisterWorkflow(Review)
	w.RegisterWorkflow(Recall)
	w.RegisterWorkflow(Get)
	w.RegisterWorkflow(agents.Context)
	w.RegisterWorkflow(DecaySweep)
	w.RegisterWorkflow(RetentionPurge)
	w.RegisterWorkflow(agents.Session)
	w.RegisterWorkflow(agents.RecordSession)
	w.RegisterWorkflow(agents.EraseEvents)
	w.RegisterWorkflow(agents.Reflect)
	w.RegisterWorkflow(agents.Rebuild)
	w.RegisterWorkflow(learn.RefreshTopic)
	w.RegisterWorkflow(learn.RefreshTopics)
	w.RegisterWorkflow(learn.ConsolidateAll)
	w.RegisterWorkflow(learn.Consolidate)
	w.RegisterWorkflow(learn.ConsolidateWhenQuiet)
	w.RegisterWorkflow(learn.ExtractCompetence)
	w.RegisterWorkflow(learn.ExtractPlans)
	w.RegisterWorkflow(learn.ResolveDuplicates)
	w.RegisterWorkflow(learn.UpdateFacts)
	w.RegisterWorkflow(learn.CompressEpisodes)
	w.RegisterWorkflow(learn.Advise)
	w.RegisterWorkflow(learn.Report)
}

// registerActivities registers the activities, and the Nexus service, which answers with two of them.
func registerActivities(w worker.Registry, d Dependencies) {
	arrivals := &step.Arrivals{Store: d.Store, Rule: d.Due, Tell: mneme.TellEvidence, Observe: d.ObserveArrival,
		Now: d.Now}
	w.RegisterActivity(&activities.Staging{Store: d.Store, Policy: d.Policy, Rules: d.Rules,
		MaxAttempts: flow.MaxJobAttempts, Now: d.Now})
	w.RegisterActivity(&activities.Extraction{Store: d.Store, Extractor: d.Brain.Extractor,
		Concurrency: d.Concurrency, Off: d.NoPipeline, Now: d.Now})
	deciding := &activities.Decision{Store: d.Store, Decider: d.Brain.Decider, Embedder: d.Brain.Embedder,
		Concurrency: d.Concurrency, Now: d.Now}
	w.RegisterActivity(deciding)
	w.RegisterActivity(&activities.Writing{Store: d.Store, Embedder: d.Brain.Embedder, Rules: d.Rules,
		Redecide: deciding, Now: d.Now})
	w.RegisterActivity(&activities.Linking{Store: d.Store, Off: d.NoGraph, Now: d.Now})
	w.RegisterActivity(&indexing.Indexing{Store: d.Store, Embedder: d.Brain.Embedder, Others: d.Embedders,
		Index: d.Index, Now: d.Now})
	w.RegisterActivity(&activities.Accepting{Store: d.Store, Now: d.Now})
	w.RegisterActivity(&activities.Putting{Store: d.Store, Embedder: d.Brain.Embedder, Policy: d.Policy,
		Rules: d.Rules, Arrivals: arrivals, Now: d.Now})
	w.RegisterActivity(&activities.Revising{Store: d.Store, Embedder: d.Brain.Embedder, Policy: d.Policy,
		Rules: d.Rules, Now: d.Now})
	w.RegisterActivity(&activities.Modifying{Store: d.Store, Embedder: d.Brain.Embedder,
		Policy: d.Policy, Rules: d.Rules, Now: d.Now})
	w.RegisterActivity(&activities.Recovering{Store: d.Store, Policy: d.Policy, Now: d.Now})
	w.RegisterActivity(&activities.Reinforcing{Store: d.Store, Policy: d.Policy, Now: d.Now})
	w.RegisterActivity(&activities.Reviewing{Store: d.Store, Embedder: d.Brain.Embedder,
		Policy: d.Policy, Rules: d.Rules, Now: d.Now})
	w.RegisterActivity(&activities.Forgetting{Store: d.Store, Index: d.Index, Embedder: d.Brain.Embedder,
		Policy: d.Policy, ReviewID: api.ReviewWorkflowID,
		RenewReview: mneme.RenewReview, Approve: mneme.ApproveForget, SweepMemoryIndex: d.SweepMemoryIndex, Now: d.Now})
	w.RegisterActivity(&activities.Sweeping{Store: d.Store, Share: d.SweepShare, Batch: d.SweepBatch,
		StartReview: mneme.StartReview, Now: d.Now})
	w.RegisterActivity(&sessions.Sessions{Store: d.Store, Policy: d.Policy, Rules: d.Rules, Tell: mneme.TellSession,
		GlobalKinds: d.GlobalKinds, Arrivals: arrivals, Now: d.Now})
	w.RegisterActivity(&rebuilding.Rebuilding{Store: d.Store, Policy: d.Policy, Rules: d.Rules,
		WipeIndex: d.WipeMemoryIndex, Now: d.Now})
	w.RegisterActivity(&reflecting.Reflecting{Store: d.Store, Reasoner: d.Brain.Reasoner,
		Visibility: d.ReflectionVisibility, Observe: d.ObserveReflection, Now: d.Now})
	w.RegisterActivity(&tidying.Tidying{Store: d.Store, Embedder: d.Brain.Embedder, Policy: d.Policy, Rules: d.Rules,
		Writer: d.Brain.EpisodeWriter, Judge: d.Brain.DuplicateJudge, Reader: d.Brain.FactReader,
		Budget: d.TokenBudget, Held: d.BudgetHeld, Observe: d.ObserveLearned, Now: d.Now})
	w.RegisterActivity(&activities.Jobs{Store: d.Store, Arrivals: arrivals, Now: d.Now})
	recaller := d.recaller()
	recalling := &activities.Recalling{Recaller: recaller,
		Contexts: &contexts.Builder{Store: d.Store, Recaller: recaller,
			Index: d.MemoryIndex}}
	w.RegisterActivity(recalling)
	w.RegisterActivity(&topics.Topics{Store: d.Store, Recaller: recalling.Recaller, Writer: d.Brain.TopicWriter,
		Budget: d.TokenBudget, Held: d.BudgetHeld, Now: d.Now})
	w.RegisterActivity(&learning.Learning{Store: d.Store, Policy: d.Policy, Rules: d.Rules,
		Describer: d.Brain.Describer, Budget: d.TokenBudget, Held: d.BudgetHeld, Due: d.Due,
		Observe: d.ObserveLearned, Now: d.Now})
	adviser := &advising.Advising{Adviser: &recalladvising.Adviser{Store: d.Store, Recaller: recaller, Now: d.Now,
		Observe: d.ObserveAdvice}, Arrivals: arrivals}
	w.RegisterActivity(adviser)
	w.RegisterNexusService(newNexusService(nexusHandlers{callers: d.Callers, recaller: recalling, adviser: adviser}))
}
