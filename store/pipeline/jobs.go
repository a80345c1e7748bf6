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

// A memory has one open job.
var jobSQL = commit.BulkInsert("jobs", `tenant text, id uuid, kind text, state text, phase text, batch_id uuid,
	candidate_id uuid, memory_id uuid, workflow_id text, max_attempts integer, created_at timestamptz,
	updated_at timestamptz`, `
	ON CONFLICT (tenant, kind, memory_id) WHERE `+pg.JobIsOpen+` DO NOTHING`)

// queueJob queues the job of a new memory.
func (st *staging) queueJob(it *stagedItem) {
	st.Add(jobSQL, pg.Args{
		"tenant":       st.Tenant,
		"id":           pg.NewID(),
		"kind":         kindIngest,
		"state":        schema.JobPending,
		"phase":        schema.PhaseExtract,
		"batch_id":     st.batchID,
		"candidate_id": it.id,
		"memory_id":    it.memoryID,
		"workflow_id":  st.in.WorkflowID,
		"max_attempts": st.in.MaxAttempts,
		"created_at":   st.Now,
		"updated_at":   st.Now,
	})
}

// Failure is one failed attempt at one candidate.
type Failure struct {
	CandidateID uuid.UUID
	Phase       string // extract or decide
	Reason      string // never content
	Permanent   bool   // retrying cannot help
	Usage       inference.Usage
}

// FailJobs records failed attempts, which were counted when their leases were taken. A job is failed until its next
// attempt. It is dead if the failure is permanent or no attempts are left; then its candidate leaves the pipeline.
// FailJobs returns how many of the failed candidates may be tried again.
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
			err = c.Tx.QueryRow(ctx, failJob, pg.Args{
				"tenant":       tenant,
				"candidate_id": f.CandidateID,
				"reason":       f.Reason,
				"permanent":    f.Permanent,
				"entry":        string(entry),
				"now":          c.Now,
			}).Scan(&state, &memoryID)
			if errors.Is(err, pgx.ErrNoRows) {
				continue // closed in the meantime, for example because its memory was forgotten
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

// failJob ends an attempt: the job is dead if the failure is permanent or no attempts are left.
const failJob = `
	UPDATE jobs
	SET last_error = @reason,
		updated_at = @now::timestamptz,
		state = CASE WHEN @permanent OR attempts >= max_attempts THEN 'dead' ELSE 'failed' END,
		finished_at = CASE WHEN @permanent OR attempts >= max_attempts THEN @now::timestamptz END,
		log = log || jsonb_set(@entry::jsonb, '{attempt}', to_jsonb(attempts))
	WHERE tenant = @tenant AND candidate_id = @candidate_id AND ` + pg.JobIsOpen + `
	RETURNING state, memory_id`

// MarkDead removes a candidate from the pipeline and records why in the history of its memory.
func MarkDead(c *commit.Change, candidate, memoryID uuid.UUID, phase, reason string) {
	c.Queue.Queue(`UPDATE memory_candidates SET state = 'dead' WHERE tenant = $1 AND id = $2`, c.Tenant, candidate)
	c.History(commit.HistoryRow{MemoryID: memoryID, Event: schema.EventNone, By: actorPipeline,
		Reason:   "not processed further: " + reason,
		Metadata: map[string]any{"candidate_id": candidate, "phase": phase, "job_state": schema.JobDead}})
}

// openOfRange is the condition of the open jobs of candidatesInRange.
const openOfRange = `tenant = @tenant
		AND batch_id = @batch_id
		AND candidate_id = ANY(ARRAY(SELECT id FROM c))
		AND ` + pg.JobIsOpen

// MarkRangeDead marks every open job of the range dead. The workflow calls it if a phase will not be tried again,
// so that no job stays open after a finished run.
func (s *Pipeline) MarkRangeDead(
	ctx context.Context,
	r schema.Range,
	phase, reason string,
	now time.Time,
) (int, error) {
	var dead []struct{ CandidateID, MemoryID uuid.UUID }
	err := commit.Write(ctx, s.DB, r.Tenant, now, func(c *commit.Change) (err error) {
		dead, err = commit.Rows[struct{ CandidateID, MemoryID uuid.UUID }](ctx, c.Tx, `
			WITH `+candidatesInRange+`
			UPDATE jobs
			SET state = 'dead', last_error = @reason, updated_at = @now, finished_at = @now
			WHERE `+openOfRange+`
			RETURNING candidate_id, memory_id`,
			rangeArgs(r, pg.Args{"reason": reason, "now": c.Now}))
		for _, j := range dead {
			MarkDead(c, j.CandidateID, j.MemoryID, phase, reason)
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("close jobs: %w", err)
	}
	return len(dead), nil
}

// CompleteJobs completes the open jobs of the range and their candidates, except those that SaidAgain has opened and
// that have not begun: a repeated delivery must not complete them.
func (s *Pipeline) CompleteJobs(ctx context.Context, r schema.Range, now time.Time) error {
	err := commit.Write(ctx, s.DB, r.Tenant, now, func(c *commit.Change) error {
		c.Queue.Queue(`
			WITH `+candidatesInRange+`
			UPDATE jobs j
			SET state = @state,
				phase = @phase,
				updated_at = @now,
				finished_at = @now
			WHERE `+openOfRange+` AND NOT `+repeatedJob,
			rangeArgs(r, pg.Args{"state": schema.JobCompleted, "phase": schema.PhaseDone, "now": c.Now}))
		c.Queue.Queue(`
			WITH `+candidatesInRange+`
			UPDATE memory_candidates
			SET state = 'done'
			WHERE tenant = @tenant
				AND batch_id = @batch_id
				AND ordinal >= @from
				AND ordinal < @to
				AND state = 'staged'
				AND id <> ALL(ARRAY(
					SELECT candidate_id
					FROM jobs j
					WHERE j.tenant = @tenant
						AND j.batch_id = @batch_id
						AND j.candidate_id = ANY(ARRAY(SELECT id FROM c))
						AND `+repeatedJob+`))`, rangeArgs(r, nil))
		return nil
	})
	if err != nil {
		return fmt.Errorf("advance jobs: %w", err)
	}
	return nil
}

// NoteOnJobs records on the open jobs of a range that an optional step failed.
func (s *Pipeline) NoteOnJobs(ctx context.Context, r schema.Range, note string, now time.Time) error {
	err := commit.Write(ctx, s.DB, r.Tenant, now, func(c *commit.Change) error {
		c.Queue.Queue(`
			WITH `+candidatesInRange+`
			UPDATE jobs
			SET last_error = @note, updated_at = @now
			WHERE `+openOfRange,
			rangeArgs(r, pg.Args{"note": note, "now": c.Now}))
		return nil
	})
	if err != nil {
		return fmt.Errorf("note on jobs: %w", err)
	}
	return nil
}

// leased renders the columns that an UPDATE of jobs j sets to lease them for a phase and to count the attempt
// (document 002 "Lease Mechanism"). A job that is still leased, because its holder stopped or had to wait,
// continues with the same attempt, so a worker that dies or an endpoint that is unavailable kills no job. A new
// phase begins with no attempts.
func leased(phase string) string {
	return `state = 'leased',
			phase = '` + phase + `',
			attempts = CASE WHEN j.phase <> '` + phase + `' THEN 1
				WHEN j.state = 'leased' THEN greatest(j.attempts, 1)
				ELSE j.attempts + 1 END`
}

// ReviveJob returns a dead job and its candidate to the pipeline and returns the range to run. A second call under
// the same operation returns the first result. It returns ErrNotFound for an unknown job, and ErrNotDead for a job
// in another state.
func (s *Pipeline) ReviveJob(ctx context.Context, tenant string, id uuid.UUID, operation, actor string,
	now time.Time) (schema.Range, error) {
	r := schema.Range{Tenant: tenant}
	err := commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		done, err := c.Operation(ctx, []string{operation}, kindResume, &r)
		if err != nil || done {
			return err
		}
		job, err := commit.Row[struct{ BatchID, CandidateID, MemoryID uuid.UUID }](ctx, c.Tx, `
			UPDATE jobs
			SET state = 'pending', attempts = 0, updated_at = @now, finished_at = NULL, revived_at = @now
			WHERE tenant = @tenant AND id = @id AND state = 'dead'
			RETURNING batch_id, candidate_id, memory_id`,
			pg.Args{"tenant": tenant, "id": id, "now": c.Now})
		if errors.Is(err, pgx.ErrNoRows) {
			if _, err := readJob(ctx, c.Tx, tenant, id); err != nil {
				return err
			}
			return ErrNotDead
		}
		if err != nil {
			return err
		}
		err = c.Tx.QueryRow(ctx, `
			UPDATE memory_candidates
			SET state = 'staged'
			WHERE tenant = $1 AND id = $2
			RETURNING ordinal`, tenant, job.CandidateID).Scan(&r.From)
		if err != nil {
			return err
		}
		r.BatchID, r.To = job.BatchID, r.From+1
		c.History(commit.HistoryRow{MemoryID: job.MemoryID, Event: schema.EventNone, By: actor,
			Reason:   "dead job replayed",
			Metadata: map[string]any{"job_id": id, "candidate_id": job.CandidateID}})
		return c.RecordOperation(operation, kindResume, r)
	})
	if err != nil {
		return schema.Range{}, fmt.Errorf("retry job: %w", err)
	}
	return r, nil
}

// ErrNotDead means that a job cannot be retried because it is not dead.
var ErrNotDead = errors.New("only a dead job can be retried")

// jobColumns fill a schema.Job.
const jobColumns = `id, kind, state, phase, batch_id, candidate_id, memory_id, workflow_id, attempts, max_attempts,
	last_error, log, created_at, updated_at, finished_at, revived_at`

// Job reads one job. It returns ErrNotFound if the tenant has no job with this id.
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
	j, err := commit.Row[schema.Job](ctx, tx, `
		SELECT `+jobColumns+`
		FROM jobs
		WHERE tenant = @tenant AND id = @id`,
		pg.Args{"tenant": tenant, "id": id})
	if errors.Is(err, pgx.ErrNoRows) {
		return schema.Job{}, pg.ErrNotFound
	}
	return j, err
}

// JobFilter selects jobs for Jobs.
type JobFilter struct {
	State   schema.JobState // empty means any
	BatchID uuid.UUID       // zero means any
	After   string          // id of the last job of the previous page
	Limit   int             // at most MaxPage; 0 means 50
}

// Jobs lists jobs by id, which is from oldest to newest.
func (s *Pipeline) Jobs(ctx context.Context, tenant string, f JobFilter) ([]schema.Job, error) {
	f.Limit = pg.PageLimit(f.Limit)
	args := pg.Args{"tenant": tenant, "limit": f.Limit}
	query := `SELECT ` + jobColumns + `
		FROM jobs
		WHERE tenant = @tenant`
	if f.State != "" {
		query += ` AND state = @state`
		args["state"] = f.State
	}
	if f.BatchID != uuid.Nil {
		query += ` AND batch_id = @batch_id`
		args["batch_id"] = f.BatchID
	}
	if f.After != "" {
		after, err := uuid.Parse(f.After)
		if err != nil {
			return nil, &schema.ValidationError{Fields: []schema.FieldError{{Field: "after",
				Problem: "must be a job id"}}}
		}
		query += ` AND id > @after`
		args["after"] = after
	}
	query += `
		ORDER BY id
		LIMIT @limit`
	var out []schema.Job
	err := s.Read(ctx, tenant, func(tx pgx.Tx) (err error) {
		out, err = commit.Rows[schema.Job](ctx, tx, query, args)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	return out, nil
}

// JobCounts returns the number of the tenant's jobs by state.
func (s *Pipeline) JobCounts(ctx context.Context, tenant string) (map[schema.JobState]int64, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	out := map[schema.JobState]int64{}
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		rows, err := commit.Rows[struct {
			State schema.JobState
			Jobs  int64
		}](ctx, tx, `
			SELECT state, count(*) AS jobs
			FROM jobs
			WHERE tenant = @tenant
			GROUP BY state`, pg.Args{"tenant": tenant})
		for _, r := range rows {
			out[r.State] = r.Jobs
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count jobs: %w", err)
	}
	return out, nil
}
