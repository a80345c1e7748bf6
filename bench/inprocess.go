package main

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/activities"
	"github.com/mneme/mneme/activities/indexing"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/workflows/flow"
)

// phases runs the activities of an ingest in this process, without Temporal: the same code, the same transactions, and
// a clock that the caller sets.
type phases struct {
	now        time.Time
	staging    activities.Staging
	extraction activities.Extraction
	decision   activities.Decision
	writing    activities.Writing
	linking    activities.Linking
	indexing   indexing.Indexing
	jobs       activities.Jobs
}

func (b *bench) newPipeline(s *store.Store) *phases {
	p := &phases{}
	clock := func() time.Time { return p.now }
	index := vector.PGVector{Store: s}
	p.staging = activities.Staging{Store: s, Policy: b.cfg.Policy, MaxAttempts: flow.MaxJobAttempts, Now: clock}
	calls := b.cfg.Concurrency
	p.extraction = activities.Extraction{Store: s, Extractor: b.brain.Extractor, Concurrency: calls, Now: clock}
	p.decision = activities.Decision{Store: s, Decider: b.brain.Decider, Embedder: b.brain.Embedder, Concurrency: calls,
		Now: clock}
	p.writing = activities.Writing{Store: s, Embedder: b.brain.Embedder, Now: clock}
	p.linking = activities.Linking{Store: s, Now: clock}
	p.indexing = indexing.Indexing{Store: s, Embedder: b.brain.Embedder, Index: index, Now: clock}
	p.jobs = activities.Jobs{Store: s, Now: clock}
	return p
}

// ingest takes one request through all phases, at a time.
func (p *phases) ingest(ctx context.Context, req schema.IngestRequest, at time.Time) (schema.IngestAck, error) {
	p.now = at
	id := uuid.NewString()
	staged, err := p.staging.StageCandidates(ctx, activities.StageRequest{OperationID: id, WorkflowID: id,
		Request: req})
	ack := staged.Ack()
	if err != nil {
		return ack, err
	}
	r := schema.Range{Tenant: req.Principal.Tenant, BatchID: uuid.MustParse(ack.BatchID), To: len(req.Candidates)}
	for again := 1; again > 0 && err == nil; {
		again, err = p.pass(ctx, r)
	}
	return ack, err
}

// pass takes the staged candidates of a range through the phases after staging. It returns the number of candidates
// that were staged again.
func (p *phases) pass(ctx context.Context, r schema.Range) (again int, err error) {
	if _, err := p.extraction.ExtractFacts(ctx, r); err != nil {
		return 0, err
	}
	for range flow.MaxDecideRounds {
		if _, err := p.decision.DecideFacts(ctx, activities.DecideRequest{Range: r}); err != nil {
			return 0, err
		}
		written, err := p.writing.WriteProposals(ctx, activities.WriteRequest{Range: r,
			MaxRounds: flow.MaxDecideRounds})
		if err != nil {
			return 0, err
		}
		if written.Stale == 0 {
			break
		}
	}
	if _, err := p.linking.LinkEntities(ctx, r); err != nil {
		return 0, err
	}
	if _, err := p.indexing.IndexBatch(ctx, r); err != nil {
		return 0, err
	}
	completed, err := p.jobs.CompleteJobs(ctx, activities.CloseRequest{Range: r, Phase: api.PhaseDone})
	return completed.Again, err
}

// recaller is the read path with all defaults, except longer deadlines for a busy machine.
func (b *bench) recaller(s *store.Store, now time.Time) *recall.Recaller {
	return &recall.Recaller{Store: s, Index: vector.PGVector{Store: s}, Embedder: b.brain.Embedder,
		Reranking: b.brain.Reranking, Now: func() time.Time { return now },
		Settings: recall.Settings{With: b.cfg.RecallWith, Without: b.cfg.RecallWithout, TimeoutFactor: timeoutFactor,
			DailyDecay: b.cfg.ImportanceDecay}}
}
