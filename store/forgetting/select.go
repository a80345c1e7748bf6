package forgetting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// SelectForget selects the memories for a request and stores the selection by id and version. A later confirmation
// applies to this selection, whatever has been written since. A second call under the same operation returns the
// first preview with the present state of the run: a confirmed run whose workflow has failed continues without a
// second confirmation. If the request has a version other than the current one, it returns a
// *schema.VersionConflict.
func (s *Forgetter) SelectForget(ctx context.Context, op schema.OperationRef, req schema.ForgetRequest,
	now time.Time) (schema.ForgetPreview, error) {
	ctx = pg.WithClass(ctx, pg.ClassLong)
	preview, err := pipeline.RunOnce(ctx, s.DB, op, pipeline.KindForget, now,
		func(c *commit.Change) (schema.ForgetPreview, error) { return selectForget(ctx, c, op, req) })
	if err == nil {
		err = s.Read(ctx, op.Tenant, func(tx pgx.Tx) error {
			err := tx.QueryRow(ctx, `SELECT state FROM forget_runs WHERE tenant = @tenant AND id = @run`,
				pg.Args{"tenant": op.Tenant, "run": preview.RunID}).Scan(&preview.State)
			if errors.Is(err, pgx.ErrNoRows) { // the operation's key is kept longer than the run
				return pg.ErrNotFound
			}
			return err
		})
	}
	if err != nil {
		return schema.ForgetPreview{}, fmt.Errorf("select what to forget: %w", err)
	}
	return preview, nil
}

func selectForget(ctx context.Context, c *commit.Change, op schema.OperationRef,
	req schema.ForgetRequest) (schema.ForgetPreview, error) {
	if err := req.Validate(); err != nil {
		// The body and the result are gone. An empty request must not select everything.
		return schema.ForgetPreview{}, err
	}
	run := pg.NewID()
	s := &selection{Change: c, run: run, req: req, preview: schema.ForgetPreview{RunID: run.String(),
		WorkflowID: op.WorkflowID, Mode: req.HowMuch(), State: schema.ForgetPreviewed, Sample: []string{},
		ExpiresAt: c.Now.Add(req.Expiry())}}
	if err := insertRun(ctx, c, run, req, s.preview); err != nil {
		return s.preview, err
	}
	if err := s.collect(ctx); err != nil {
		return s.preview, err
	}
	digest, err := s.describe(ctx)
	if err != nil {
		return s.preview, err
	}
	err = s.storeRun(digest)
	return s.preview, err
}

// selection is a run whose memories are being selected.
type selection struct {
	*commit.Change
	run     uuid.UUID
	req     schema.ForgetRequest
	found   int // selected memories
	preview schema.ForgetPreview
}

// collect selects the memories of the request, those with the same content if it asks for them, and what was learned
// from them. It notes the ids without a memory last.
func (s *selection) collect(ctx context.Context) error {
	n, err := selectItems(ctx, s.Change, s.run, s.req)
	if err != nil {
		return err
	}
	if err := s.take(n); err != nil {
		return err
	}
	if err := checkVersion(ctx, s.Change, s.run, s.req); err != nil {
		return err
	}
	if err := findEchoes(ctx, s.Change, s.run, s.req); err != nil {
		return err
	}
	if s.preview.Everywhere = s.req.TakesEverywhere(); s.preview.Everywhere {
		if n, err = takeEchoes(ctx, s.Change, s.run, s.found); err != nil {
			return err
		}
		if err := s.take(n); err != nil {
			return err
		}
	}
	if s.preview.Learned, err = takeLearned(ctx, s.Change, s.run, s.req, s.found); err != nil {
		return err
	}
	if err := s.take(s.preview.Learned); err != nil {
		return err
	}
	if err := showEchoes(ctx, s.Change, s.run, &s.preview); err != nil {
		return err
	}
	s.preview.NotFound, err = noteNotFound(ctx, s.Change, s.run, s.req, s.found)
	s.preview.Total = s.found + s.preview.NotFound
	return err
}

// take counts n more selected memories.
func (s *selection) take(n int) error {
	if s.found += n; s.found > schema.MaxForgetSelected {
		return &schema.ValidationError{Fields: []schema.FieldError{{Field: "selector",
			Problem: fmt.Sprintf("selects more than %d memories: narrow it", schema.MaxForgetSelected)}}}
	}
	return nil
}

// describe completes the preview with a sample and the counts of memories that stay. It returns the digest of the
// selection.
func (s *selection) describe(ctx context.Context) (digest []byte, err error) {
	if digest, s.preview.Sample, err = digestItems(ctx, s.Change, s.run); err != nil {
		return nil, err
	}
	counts, err := countItems(ctx, s.Change, s.run, s.preview.Mode, s.req.Principal)
	if err != nil {
		return nil, err
	}
	s.preview.Pinned, s.preview.NotOwner, s.preview.MustStay = counts.Pinned, counts.NotOwner, counts.MustStay
	if !s.req.Selector.IncludeDerived {
		s.preview.Derived, err = countDerived(ctx, s.Change, s.run, s.req.Principal)
	}
	return digest, err
}

// storeRun stores the result of the selection. A run that needs no confirmation is confirmed.
func (s *selection) storeRun(digest []byte) error {
	receipt := schema.ForgetReceipt{RunID: s.preview.RunID, Mode: s.preview.Mode, Total: s.preview.Total,
		Everywhere: s.preview.Everywhere}
	receipt.Skip(lifecycle.OutcomeNotFound, s.preview.NotFound)
	encoded, err := json.Marshal(receipt)
	if err != nil {
		return err
	}
	confirmedBy, confirmedAt := "", (*time.Time)(nil)
	if s.found == 0 || s.req.Execute && !lifecycle.NeedsConfirmation(s.req, s.preview.Total) {
		s.preview.State, confirmedBy, confirmedAt = schema.ForgetConfirmed, s.req.By(), &s.Now
	}
	s.Queue.Queue(`
		UPDATE forget_runs
		SET total = @total,
			digest = @digest,
			receipt = @receipt,
			state = @state,
			confirmed_by = @confirmed_by,
			confirmed_at = @confirmed_at
		WHERE tenant = @tenant AND id = @run`,
		pg.Args{
			"tenant":       s.Tenant,
			"run":          s.run,
			"total":        s.preview.Total,
			"digest":       digest,
			"receipt":      string(encoded),
			"state":        s.preview.State,
			"confirmed_by": confirmedBy,
			"confirmed_at": confirmedAt,
		})
	return nil
}

// insertRun stores a run whose selection has begun. Its total, digest and receipt are set at the end.
func insertRun(ctx context.Context, c *commit.Change, run uuid.UUID, req schema.ForgetRequest,
	preview schema.ForgetPreview) error {
	_, err := c.Tx.Exec(ctx, `
		INSERT INTO forget_runs (tenant, id, workflow_id, agent_id, scope, mode, state, total, digest, reason,
			requested_by, expires_at, created_at)
		VALUES (@tenant, @run, @workflow_id, @agent, @user_scope, @mode, @state, 0, '', @reason,
			@requested_by, @expires_at, @now)`,
		pg.Args{
			"tenant":       c.Tenant,
			"run":          run,
			"workflow_id":  preview.WorkflowID,
			"agent":        req.Principal.Agent,
			"user_scope":   pg.UserScope(req.Principal),
			"mode":         preview.Mode,
			"state":        preview.State,
			"reason":       req.Reason,
			"requested_by": req.By(),
			"expires_at":   preview.ExpiresAt,
			"now":          c.Now,
		})
	return err
}

// checkVersion returns a *schema.VersionConflict if the memory is at another version than the request names. A
// memory that the principal may not change is reported as not found, as it is without a version.
func checkVersion(ctx context.Context, c *commit.Change, run uuid.UUID, req schema.ForgetRequest) error {
	if req.IfVersion == 0 {
		return nil
	}
	var version int
	err := c.Tx.QueryRow(ctx, `SELECT version FROM forget_items WHERE tenant = @tenant AND run_id = @run`,
		pg.Args{"tenant": c.Tenant, "run": run}).Scan(&version)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err == nil && version != req.IfVersion:
		return &schema.VersionConflict{ID: req.Selector.IDs[0], IfVersion: req.IfVersion, Version: version}
	}
	return err
}

// mayChange is the condition that the principal may change the memory m. Its arguments are those of askerArgs.
var mayChange = pg.SharedWith("m", "@agent", "@project", "@grants")

// askerArgs adds the arguments of mayChange to more.
func askerArgs(p schema.Principal, more pg.Args) pg.Args {
	more["agent"], more["project"], more["grants"] = p.Agent, p.Project, pg.ChangeGrants(p)
	return more
}

// noteNotFound adds the requested ids that the principal has no memory for, after the first items of a run. It
// returns how many there are.
func noteNotFound(ctx context.Context, c *commit.Change, run uuid.UUID, req schema.ForgetRequest,
	first int) (int, error) {
	tag, err := c.Tx.Exec(ctx, `
		INSERT INTO forget_items (tenant, run_id, ordinal, memory_id, version, outcome)
		SELECT @tenant, @run, @first + row_number() OVER (ORDER BY x.id) - 1, x.id, 0, @not_found
		FROM (SELECT DISTINCT id FROM unnest(@ids::uuid[]) id) x
		WHERE NOT EXISTS (
			SELECT FROM memories m
			WHERE m.tenant = @tenant AND m.id = x.id AND `+mayChange+`)`,
		askerArgs(req.Principal, pg.Args{
			"tenant":    c.Tenant,
			"run":       run,
			"first":     first,
			"ids":       parseIDs(req.Selector.IDs),
			"not_found": lifecycle.OutcomeNotFound,
		}))
	return int(tag.RowsAffected()), err
}

// digestItems returns lifecycle.ForgetDigest of a run's selection, computed in the database, and the first ids.
func digestItems(ctx context.Context, c *commit.Change, run uuid.UUID) (digest []byte, sample []string, err error) {
	err = c.Tx.QueryRow(ctx, `
		SELECT sha256(coalesce(
				string_agg(uuid_send(i.memory_id) || int4send(i.version), ''::bytea ORDER BY i.ordinal),
				'')),
			coalesce((array_agg(i.memory_id::text ORDER BY i.ordinal))[:@sample], '{}')
		FROM forget_items i
		WHERE i.tenant = @tenant AND i.run_id = @run AND i.outcome = ''`,
		pg.Args{"tenant": c.Tenant, "run": run, "sample": schema.MaxForgetSample}).
		Scan(&digest, &sample)
	return digest, sample, err
}

// itemsAlike is the number of a run's items in one state.
type itemsAlike struct {
	lifecycle.Forgettable
	Items int
}

// countItems counts a run's selected memories for a preview. The statement counts by state, and the rule decides
// the outcome of each state. Links are read only if the rule needs them.
func countItems(ctx context.Context, c *commit.Change, run uuid.UUID, mode schema.ForgetMode,
	p schema.Principal) (counts lifecycle.ForgetCounts, err error) {
	rows, err := c.Tx.Query(ctx, countItemsSQL, pg.Args{
		"tenant":       c.Tenant,
		"run":          run,
		"agent":        p.Agent,
		"deletes_rows": lifecycle.DeletesRows(mode),
		"action_links": lifecycle.ActionLinks,
	})
	if err != nil {
		return counts, err
	}
	groups, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[itemsAlike])
	for _, g := range groups {
		counts.Add(mode, g.Forgettable, g.Items)
	}
	return counts, err
}

var countItemsSQL = `
	SELECT m.pinned,
		m.agent_id <> @agent AS foreign,
		m.world_id IS NOT NULL AS world,
		@deletes_rows AND ` + ActionLinked("m", "id") + ` AS action_linked,
		count(*) AS items
	FROM forget_items i
	JOIN memories m ON m.tenant = @tenant AND m.id = i.memory_id
	WHERE i.tenant = @tenant AND i.run_id = @run AND i.outcome = ''
	GROUP BY 1, 2, 3, 4`

// countDerived counts unselected memories derived, in any number of steps, from selected ones: they remain and may
// say the same. Other facts extracted from a selected source do not count.
func countDerived(ctx context.Context, c *commit.Change, run uuid.UUID, p schema.Principal) (n int, err error) {
	err = c.Tx.QueryRow(ctx, `
		WITH RECURSIVE reached(id) AS (
			SELECT memory_id
			FROM forget_items i
			WHERE tenant = @tenant AND run_id = @run AND outcome = ''
				AND NOT EXISTS (
					SELECT FROM forget_echoes e
					WHERE e.tenant = @tenant AND e.run_id = @run AND e.memory_id = i.memory_id AND e.tie = 'source')
			UNION
			SELECT m.id
			FROM reached c
			JOIN memory_links r ON r.tenant = @tenant AND r.target_id = c.id AND r.predicate = 'derived_from'
			JOIN memories m ON m.tenant = @tenant AND m.id = r.source_id
				AND m.erased_at IS NULL AND m.deleted_at IS NULL
				AND `+mayChange+`
		)
		SELECT count(*)
		FROM reached
		WHERE id NOT IN (
			SELECT memory_id
			FROM forget_items
			WHERE tenant = @tenant AND run_id = @run AND outcome = '')`,
		askerArgs(p, pg.Args{"tenant": c.Tenant, "run": run})).Scan(&n)
	return n, err
}

// parseIDs parses validated ids and skips anything else.
func parseIDs(ids []string) []uuid.UUID {
	out := make([]uuid.UUID, 0, len(ids))
	for _, s := range ids {
		if id, err := uuid.Parse(s); err == nil {
			out = append(out, id)
		}
	}
	return out
}
