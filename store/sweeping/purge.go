package sweeping

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/forgetting"
	"github.com/mneme/mneme/store/pg"
)

// PurgeInput is a request for one batch of one step of a purge.
type PurgeInput struct {
	Tenant string
	Run    string // the run whose counts are kept
	Rules  string // SweepStart.Rules; empty: those in force
	Step   schema.PurgeStep
	After  schema.HistoryCursor // end of the previous batch; zero at the start and for steps without a cursor
	Limit  int                  // rows
	At     time.Time            // time for expiry: the time of the run, never later than Now
	Now    time.Time
}

// PurgeBatch is the result of one batch of a step.
type PurgeBatch struct {
	Removed int                  `json:"removed"` // rows that count towards the limit
	Counts  map[string]int       `json:"counts"`  // by outcome
	Next    schema.HistoryCursor `json:"next"`    // for steps that also read rows that stay
	More    bool                 `json:"more"`    // the step may have more to do, after Next
}

// Purge carries out one batch of a step in a short transaction (document 002 "Retention Worker"). The steps run in
// the order of lifecycle.PurgeSteps, each until More is false. A step that runs too early removes nothing it must
// not: foreign keys prevent it. A repeated batch handles what is left, if anything. If the rules have changed since
// the run began, Purge returns ErrRulesChanged and the run must begin again.
//
// Each statement reads one page of rows (scanFactor), however large the table is, so the limits of the pipeline's
// class are enough.
func (s *Sweeping) Purge(ctx context.Context, in PurgeInput) (PurgeBatch, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	var out PurgeBatch
	err := pg.RetryChange(ctx, func() error {
		out = PurgeBatch{Counts: map[string]int{}}
		return commit.Write(ctx, s.DB, in.Tenant, in.Now, func(c *commit.Change) error {
			rules, err := rulesAsBegun(ctx, c, in.Rules)
			if err != nil {
				return err
			}
			p := purging{Change: c, in: in, rules: rules, out: &out}
			if question, asks := lifecycle.AsksFirst(in.Step); asks {
				if p.in.Limit, err = admittedBy(ctx, c, question, in.Limit); err != nil || p.in.Limit == 0 {
					return err
				}
			}
			if err := p.step(ctx); err != nil {
				return err
			}
			out.More = out.More || out.Removed >= p.in.Limit
			if !out.More {
				out.Next = schema.HistoryCursor{} // the next step starts without a cursor
			}
			if in.Step == lifecycle.PurgeSweepRuns {
				return nil // otherwise each run's record would be data for the next run to purge
			}
			return noteSweep(c, schema.SweepRetention, in.Run, out.Counts)
		})
	})
	if err != nil {
		return PurgeBatch{}, fmt.Errorf("purge %s: %w", in.Step, err)
	}
	return out, nil
}

// purging is the state of one batch.
type purging struct {
	*commit.Change
	in    PurgeInput
	rules lifecycle.RetentionRules
	out   *PurgeBatch
}

func (p *purging) step(ctx context.Context) error {
	switch p.in.Step {
	case lifecycle.PurgeExpire:
		return p.expire(ctx)
	case lifecycle.PurgeGraphLinks:
		return p.graphLinks(ctx)
	case lifecycle.PurgeEmbeddings:
		return p.embeddings(ctx)
	case lifecycle.PurgeTombstones:
		return p.tombstones(ctx)
	case lifecycle.PurgeHistory:
		return p.history(ctx)
	case lifecycle.PurgeJobsCompleted:
		return p.jobs(ctx, schema.RetainJobsCompleted, schema.JobCompleted)
	case lifecycle.PurgeJobsDead:
		return p.jobs(ctx, schema.RetainJobsDead, schema.JobDead)
	case lifecycle.PurgeRetrievals:
		return p.aged(ctx, p.policy(schema.RetainRetrievals), purgeRetrievals)
	case lifecycle.PurgeVersions:
		return p.versions(ctx)
	case lifecycle.PurgeIngest:
		return p.ingest(ctx)
	case lifecycle.PurgeForgetRuns:
		return p.forgetRuns(ctx)
	case lifecycle.PurgeEvents:
		return p.events(ctx)
	case lifecycle.PurgeOperations:
		return p.operations(ctx)
	case lifecycle.PurgeArtifacts:
		return p.artifacts(ctx)
	case lifecycle.PurgePolicyChanges:
		return p.aged(ctx, p.policy(schema.RetainHistory), purgePolicyChanges)
	case lifecycle.PurgeSweepRuns:
		return p.aged(ctx, p.policy(schema.RetainJobsCompleted), purgeSweepRuns)
	default:
		return &schema.ValidationError{Fields: []schema.FieldError{{Field: "step",
			Problem: "is not a step of a purge"}}}
	}
}

func (p *purging) removed(n int) {
	p.out.Removed += n
	p.out.Counts[string(p.in.Step)] += n
}

// policy returns the policy of a domain without classes.
func (p *purging) policy(d schema.RetentionDomain) schema.RetentionPolicy {
	return p.rules.For(d, schema.Any, schema.Any)
}

// aged removes the rows that a policy says are too old. The statement may use the arguments @tenant, @before (rows
// before this time are expired) and @limit. Some use fewer, because a function reads the tenant of the transaction.
// aged adds the number of removed rows to the batch.
func (p *purging) aged(ctx context.Context, policy schema.RetentionPolicy, remove string) error {
	before, ends := lifecycle.ExpiredBefore(policy, p.in.At)
	if !ends {
		return nil
	}
	n := 0
	err := p.Tx.QueryRow(ctx, remove,
		pgx.NamedArgs{"tenant": p.Tenant, "before": before, "limit": p.in.Limit}).Scan(&n)
	p.removed(n)
	return err
}

func (p *purging) history(ctx context.Context) error {
	before, ends := lifecycle.ExpiredBefore(p.rules.For(schema.RetainHistory, schema.Any, schema.Any), p.in.At)
	if !ends {
		return nil
	}
	rows, err := p.Tx.Query(ctx, `
		SELECT removed, coalesce(last_at, @after_at) AS last_at, coalesce(last_id, @after_id) AS last_id, more
		FROM mneme_purge_history(@before, @limit, @action_links, @after_at, @after_id, @scan)`,
		pg.Args{
			"before":       before,
			"limit":        p.in.Limit,
			"action_links": lifecycle.ActionLinks,
			"after_at":     p.in.After.CreatedAt,
			"after_id":     p.in.After.ID,
			"scan":         p.in.Limit * scanFactor,
		})
	if err != nil {
		return err
	}
	purged, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[purgedHistory])
	if err != nil {
		return err
	}
	p.out.Next.CreatedAt, p.out.Next.ID, p.out.More = purged.LastAt, purged.LastID, purged.More
	p.removed(purged.Removed)
	used(p.Change, schema.SweepHistory, purged.Removed)
	return nil
}

// purgedHistory is the result of a page of mneme_purge_history.
type purgedHistory struct {
	Removed int
	LastAt  time.Time // of the last row that it read
	LastID  uuid.UUID
	More    bool
}

// endedJob is a job that ended before the window.
type endedJob struct {
	ID       uuid.UUID
	MemoryID uuid.UUID
	Shadow   bool // it was evaluated in shadow mode
}

// jobs removes jobs that ended before the window. A job in shadow mode has no memory with which it could be
// forgotten, so its data is emptied here first, in parts.
func (p *purging) jobs(ctx context.Context, d schema.RetentionDomain, state schema.JobState) error {
	before, ends := lifecycle.ExpiredBefore(p.rules.For(d, schema.Any, schema.Any), p.in.At)
	if !ends {
		return nil
	}
	rows, err := p.Tx.Query(ctx, `
		SELECT j.id, j.memory_id,
			EXISTS (
				SELECT FROM ingest_batches b
				WHERE b.tenant = j.tenant AND b.id = j.batch_id AND b.mode = 'shadow') AS shadow
		FROM jobs j
		WHERE j.tenant = @tenant AND j.state = @state AND j.finished_at < @before
		ORDER BY j.finished_at, j.id
		LIMIT @limit
		FOR UPDATE OF j SKIP LOCKED`,
		pg.Args{"tenant": p.Tenant, "state": state, "before": before, "limit": p.in.Limit})
	if err != nil {
		return err
	}
	old, err := pgx.CollectRows(rows, pgx.RowToStructByName[endedJob])
	if err != nil {
		return err
	}
	var ids, evaluated []uuid.UUID
	for _, j := range old {
		ids = append(ids, j.ID)
		if j.Shadow {
			evaluated = append(evaluated, j.MemoryID)
		}
	}
	dependents := 0
	if len(evaluated) > 0 {
		f := forgetting.Forgetting{Change: p.Change, Run: &forgetting.ForgetRow{Mode: schema.ForgetForce},
			Gone: evaluated, Sources: true}
		if dependents, err = f.BlankPart(ctx, p.in.Limit); err != nil {
			return err
		}
		p.out.Removed += dependents
		p.out.Counts[lifecycle.CountDependents] += dependents
	}
	ids = ids[:min(len(ids), p.in.Limit-dependents)]
	if len(ids) == 0 {
		return nil
	}
	tag, err := p.Tx.Exec(ctx, `DELETE FROM jobs WHERE tenant = @tenant AND id = ANY(@jobs)`,
		pg.Args{"tenant": p.Tenant, "jobs": ids})
	p.removed(int(tag.RowsAffected()))
	return err
}
