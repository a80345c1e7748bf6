package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// Failure is one failed attempt at one candidate.
type Failure struct {
	CandidateID uuid.UUID
	Phase       string // extract or decide
	Reason      string // never content
	Permanent   bool   // retrying cannot help
	Usage       inference.Usage
}

// FailJobs records failed attempts, which were counted when their leases were taken. A job is failed until
// its next attempt takes it up, or dead when the failure is permanent or its attempts are used up; then its
// candidate leaves the pipeline. It returns how many of the failed candidates may be tried again.
func (s *Pipeline) FailJobs(ctx context.Context, tenant string, failures []Failure,
	now time.Time) (retryable int, err error) {
	err = commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		for _, f := range failures {
			entry, err := json.Marshal(schema.JobAttempt{Phase: f.Phase, At: c.Now, Outcome: f.Reason,
				Model:        f.Usage.Model,
				PromptTokens: f.Usage.PromptTokens, CompletionTokens: f.Usage.CompletionTokens})
			if err != nil {
				return err
			}
			var state schema.JobState
			var memoryID uuid.UUID
			err = c.Tx.QueryRow(ctx, `
				UPDATE jobs SET last_error = $3, updated_at = $4::timestamptz,
					state = CASE WHEN $5 OR attempts >= max_attempts THEN 'dead' ELSE 'failed' END,
					finished_at = CASE WHEN $5 OR attempts >= max_attempts THEN $4::timestamptz END,
					log = log || jsonb_set($6::jsonb, '{attempt}', to_jsonb(attempts))
				WHERE tenant = $1 AND candidate_id = $2 AND state IN ('pending', 'leased', 'failed')
				RETURNING state, memory_id`, tenant, f.CandidateID, f.Reason, c.Now, f.Permanent,
				string(entry)).Scan(&state, &memoryID)
			if errors.Is(err, pgx.ErrNoRows) {
				continue // closed meanwhile, as when its memory was forgotten
			}
			if err != nil {
				return err
			}
			if state == schema.JobFailed {
				retryable++
				continue
			}
			MarkDead(c, f.CandidateID, memoryID, f.Phase, f.Reason)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("record failed attempts: %w", err)
	}
	return retryable, nil
}

// MarkDead takes a candidate out of the pipeline and says why in the history of its memory.
func MarkDead(c *commit.Change, candidate, memoryID uuid.UUID, phase, reason string) {
	c.Queue.Queue(`UPDATE memory_candidates SET state = 'dead' WHERE tenant = $1 AND id = $2`, c.Tenant, candidate)
	c.History(commit.HistoryRow{MemoryID: memoryID, Event: schema.EventNone, By: actorPipeline,
		Reason:   "not processed further: " + reason,
		Metadata: map[string]any{"candidate_id": candidate, "phase": phase, "job_state": schema.JobDead}})
}

// openOfRange is the condition of the open jobs of inRange.
const openOfRange = `tenant = $1 AND batch_id = $2 AND candidate_id = ANY(ARRAY(SELECT id FROM c))
	AND state IN ('pending', 'leased', 'failed')`

// MarkRangeDead marks every open job of the range dead. The workflow calls it when a phase has failed for good, so
// that no job is left open after a finished run.
func (s *Pipeline) MarkRangeDead(ctx context.Context, r Range, phase, reason string, now time.Time) (int, error) {
	buried := 0
	err := commit.Write(ctx, s.DB, r.Tenant, now, func(c *commit.Change) error {
		rows, err := c.Tx.Query(ctx, `
			WITH `+InRange+` UPDATE jobs SET state = 'dead', last_error = $5, updated_at = $6, finished_at = $6
			WHERE `+openOfRange+`
			RETURNING candidate_id, memory_id`, r.Tenant, r.BatchID, r.From, r.To, reason, c.Now)
		if err != nil {
			return err
		}
		var candidate, memoryID uuid.UUID
		_, err = pgx.ForEachRow(rows, []any{&candidate, &memoryID}, func() error {
			buried++
			MarkDead(c, candidate, memoryID, phase, reason)
			return nil
		})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("close jobs: %w", err)
	}
	return buried, nil
}

// AdvanceJobs moves the open jobs of the range to a phase; done completes them and their candidates.
func (s *Pipeline) AdvanceJobs(ctx context.Context, r Range, phase string, now time.Time) error {
	err := commit.Write(ctx, s.DB, r.Tenant, now, func(c *commit.Change) error {
		state := schema.JobLeased
		if phase == "done" {
			state = schema.JobCompleted
		}
		c.Queue.Queue(`
			WITH `+InRange+` UPDATE jobs SET state = $5, phase = $6, updated_at = $7, finished_at = CASE
			WHEN $6 = 'done' THEN $7::timestamptz END
			WHERE `+openOfRange, r.Tenant, r.BatchID, r.From, r.To, state, phase, c.Now)
		if phase == "done" {
			c.Queue.Queue(`UPDATE memory_candidates SET state = 'done'
				WHERE tenant = $1 AND batch_id = $2 AND ordinal >= $3 AND ordinal < $4 AND state = 'staged'`, r.Tenant,
				r.BatchID, r.From, r.To)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("advance jobs: %w", err)
	}
	return nil
}

// NoteOnJobs records on the open jobs of a range that a step which may fail did fail.
func (s *Pipeline) NoteOnJobs(ctx context.Context, r Range, note string, now time.Time) error {
	err := commit.Write(ctx, s.DB, r.Tenant, now, func(c *commit.Change) error {
		c.Queue.Queue(`
			WITH `+InRange+` UPDATE jobs SET last_error = $5, updated_at = $6
			WHERE `+openOfRange, r.Tenant, r.BatchID, r.From, r.To, note, c.Now)
		return nil
	})
	if err != nil {
		return fmt.Errorf("note on jobs: %w", err)
	}
	return nil
}

// leased is what an UPDATE of jobs j sets to lease them for a phase, and counts the attempt (document 002 "Lease
// Mechanism"). Where a job is already leased, because its holder has stopped or was told to wait, the attempt goes on
// and is not counted again: a worker that dies, or an endpoint that is away, kills no job. A phase begins with none.
func leased(phase string) string {
	return `state = 'leased', phase = '` + phase + `', attempts = CASE WHEN j.phase <> '` + phase + `' THEN 1
		WHEN j.state = 'leased' THEN greatest(j.attempts, 1) ELSE j.attempts + 1 END`
}

// ReviveJob puts a dead job and its candidate back into the pipeline and returns the range to run.
// Reviving it again under the same operation returns the first result. It returns ErrNotFound for an
// unknown job and ErrNotDead for one in another state.
func (s *Pipeline) ReviveJob(ctx context.Context, tenant string, id uuid.UUID, operation, actor string,
	now time.Time) (Range, error) {
	r := Range{Tenant: tenant}
	err := commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		done, err := c.Operation(ctx, []string{operation}, kindResume, &r)
		if err != nil || done {
			return err
		}
		var candidate, memoryID uuid.UUID
		err = c.Tx.QueryRow(ctx, `
			UPDATE jobs SET state = 'pending', attempts = 0, updated_at = $3, finished_at = NULL, revived_at = $3
			WHERE tenant = $1 AND id = $2 AND state = 'dead' RETURNING batch_id, candidate_id, memory_id`, tenant, id,
			c.Now).
			Scan(&r.BatchID, &candidate, &memoryID)
		if errors.Is(err, pgx.ErrNoRows) {
			if _, err := readJob(ctx, c.Tx, tenant, id); err != nil {
				return err
			}
			return ErrNotDead
		}
		if err != nil {
			return err
		}
		err = c.Tx.QueryRow(ctx, `UPDATE memory_candidates SET state = 'staged' WHERE tenant = $1 AND id = $2
			RETURNING ordinal`,
			tenant, candidate).Scan(&r.From)
		r.To = r.From + 1
		c.History(commit.HistoryRow{MemoryID: memoryID, Event: schema.EventNone, By: actor, Reason: "dead job replayed",
			Metadata: map[string]any{"job_id": id, "candidate_id": candidate}})
		if err != nil {
			return err
		}
		return c.RecordOperation(operation, kindResume, r)
	})
	if err != nil {
		return Range{}, fmt.Errorf("retry job: %w", err)
	}
	return r, nil
}

// ErrNotDead means that a job cannot be replayed because it is not dead.
var ErrNotDead = errors.New("only a dead job can be retried")

const jobColumns = `id, kind, state, phase, batch_id, candidate_id, memory_id, workflow_id, attempts, max_attempts,
	last_error, log, created_at, updated_at, finished_at, revived_at`

// Job reads one job; ErrNotFound when the tenant has none such.
func (s *Pipeline) Job(ctx context.Context, tenant string, id uuid.UUID) (schema.Job, error) {
	var j schema.Job
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		var err error
		j, err = readJob(ctx, tx, tenant, id)
		return err
	})
	if err != nil {
		return schema.Job{}, fmt.Errorf("read job: %w", err)
	}
	return j, nil
}

func readJob(ctx context.Context, tx pgx.Tx, tenant string, id uuid.UUID) (schema.Job, error) {
	rows, err := tx.Query(ctx, `SELECT `+jobColumns+` FROM jobs WHERE tenant = $1 AND id = $2`, tenant, id)
	if err != nil {
		return schema.Job{}, err
	}
	j, err := pgx.CollectExactlyOneRow(rows, scanJob)
	if errors.Is(err, pgx.ErrNoRows) {
		return schema.Job{}, pg.ErrNotFound
	}
	return j, err
}

// JobFilter selects jobs for Jobs.
type JobFilter struct {
	State   schema.JobState // empty means any
	BatchID uuid.UUID       // zero means any
	After   string          // id of the last job of the page before
	Limit   int             // at most MaxPage; 0 means 50
}

// Jobs lists jobs by id, which is by age, oldest first.
func (s *Pipeline) Jobs(ctx context.Context, tenant string, f JobFilter) ([]schema.Job, error) {
	f.Limit = pg.PageLimit(f.Limit)
	var p pg.Params
	query := `SELECT ` + jobColumns + ` FROM jobs WHERE tenant = ` + p.Add(tenant)
	if f.State != "" {
		query += ` AND state = ` + p.Add(f.State)
	}
	if f.BatchID != uuid.Nil {
		query += ` AND batch_id = ` + p.Add(f.BatchID)
	}
	if f.After != "" {
		after, err := uuid.Parse(f.After)
		if err != nil {
			return nil, &schema.ValidationError{Fields: []schema.FieldError{{Field: "after",
				Problem: "must be a job id"}}}
		}
		query += ` AND id > ` + p.Add(after)
	}
	query += ` ORDER BY id LIMIT ` + p.Add(f.Limit)
	var out []schema.Job
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, query, p...)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, scanJob)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	return out, nil
}

func scanJob(row pgx.CollectableRow) (schema.Job, error) {
	var j schema.Job
	var id, batch, candidate, mem uuid.UUID
	err := row.Scan(&id, &j.Kind, &j.State, &j.Phase, &batch, &candidate, &mem, &j.WorkflowID, &j.Attempts,
		&j.MaxAttempts,
		&j.LastError, &j.Log, &j.CreatedAt, &j.UpdatedAt, &j.FinishedAt, &j.RevivedAt)
	j.ID, j.BatchID, j.CandidateID, j.MemoryID = id.String(), batch.String(), candidate.String(), mem.String()
	return j, err
}

// JobCounts returns the number of the tenant's jobs by state.
func (s *Pipeline) JobCounts(ctx context.Context, tenant string) (map[schema.JobState]int64, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	out := map[schema.JobState]int64{}
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT state, count(*) FROM jobs WHERE tenant = $1 GROUP BY state`, tenant)
		if err != nil {
			return err
		}
		var state schema.JobState
		var n int64
		_, err = pgx.ForEachRow(rows, []any{&state, &n}, func() error { out[state] = n; return nil })
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count jobs: %w", err)
	}
	return out, nil
}
