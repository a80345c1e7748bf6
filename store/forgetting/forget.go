package forgetting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// ForgetBatchSize is how many memories one transaction forgets unless the request asks for fewer.
const ForgetBatchSize = schema.MaxForgetBatch

// SelectForget selects what a request would forget and keeps it, by id and version: what is confirmed
// later is this list, whatever has been written since. Selecting again under the same operation
// returns the first preview, with the state that the run has come to: a confirmed run whose workflow has
// failed goes on without a second confirmation. A request for another version than the current one is a
// *schema.VersionConflict.
func (s *Forgetter) SelectForget(ctx context.Context, op pipeline.Operation, req schema.ForgetRequest,
	now time.Time) (schema.ForgetPreview, error) {
	ctx = pg.WithClass(ctx, pg.ClassLong)
	preview, err := pipeline.RunOnce(ctx, s.DB, op, pipeline.KindForget, now,
		func(c *commit.Change) (schema.ForgetPreview, error) { return selectForget(ctx, c, op, req) })
	if err == nil {
		err = s.Read(ctx, op.Tenant, func(tx pgx.Tx) error {
			err := tx.QueryRow(ctx, `SELECT state FROM forget_runs WHERE tenant = $1 AND id = $2`, op.Tenant,
				preview.RunID).Scan(&preview.State)
			if errors.Is(err, pgx.ErrNoRows) { // its key is kept for longer than the run
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

func selectForget(ctx context.Context, c *commit.Change, op pipeline.Operation,
	req schema.ForgetRequest) (schema.ForgetPreview, error) {
	if err := req.Validate(); err != nil {
		return schema.ForgetPreview{}, err // no body left, and no result: nothing must not mean everything
	}
	run, mode := pg.NewID(), req.HowMuch()
	preview := schema.ForgetPreview{RunID: run.String(), WorkflowID: op.WorkflowID, Mode: mode,
		State: schema.ForgetPreviewed, Sample: []string{},
		ExpiresAt: c.Now.Add(req.Expiry())}
	_, err := c.Tx.Exec(ctx, `INSERT INTO forget_runs (tenant, id, workflow_id, agent_id, scope, mode, state, total,
		digest, reason, requested_by, expires_at, created_at)
		VALUES ($1, $2, $3, $4, $10, $5, 'preview', 0, '', $6, $7, $8, $9)`,
		c.Tenant, run, op.WorkflowID, req.Principal.Agent, mode, req.Reason, req.By(), preview.ExpiresAt, c.Now,
		pg.UserScope(req.Principal))
	if err != nil {
		return preview, err
	}
	text, err := conditionsOfText(ctx, c, req.Selector.Query)
	if err != nil {
		return preview, err
	}
	query, args := selectItemsSQL(run, req, text)
	tag, err := c.Tx.Exec(ctx, query, args...)
	if err != nil {
		return preview, err
	}
	found := int(tag.RowsAffected())
	if found > schema.MaxForgetSelected {
		return preview, selectsTooMany()
	}
	if err := checkVersion(ctx, c, run, req); err != nil {
		return preview, err
	}
	if err := findEchoes(ctx, c, run, req); err != nil {
		return preview, err
	}
	if preview.Everywhere = req.TakesEverywhere(); preview.Everywhere {
		taken, err := takeEchoes(ctx, c, run, found)
		if err != nil {
			return preview, err
		}
		if found += taken; found > schema.MaxForgetSelected {
			return preview, selectsTooMany()
		}
	}
	if err := showEchoes(ctx, c, run, &preview); err != nil {
		return preview, err
	}
	p := req.Principal
	tag, err = c.Tx.Exec(ctx, `INSERT INTO forget_items (tenant, run_id, ordinal, memory_id, version, outcome)
		SELECT $1, $2, $6 + row_number() OVER (ORDER BY x.id) - 1, x.id, 0, '`+lifecycle.OutcomeNotFound+`'
		FROM (SELECT DISTINCT id FROM unnest($7::uuid[]) id) x
		WHERE NOT EXISTS (SELECT FROM memories m WHERE m.tenant = $1 AND m.id = x.id AND `+pg.MayRead+`)`,
		c.Tenant, run, p.Agent, p.Project, pg.ChangeGrants(p), found, parseIDs(req.Selector.IDs))
	if err != nil {
		return preview, err
	}
	preview.NotFound = int(tag.RowsAffected())
	preview.Total = found + preview.NotFound

	// The digest is lifecycle.ForgetDigest, computed where the rows are.
	var digest []byte
	err = c.Tx.QueryRow(ctx, `SELECT sha256(coalesce(string_agg(uuid_send(i.memory_id) || int4send(i.version), ''::bytea
		ORDER BY i.ordinal), '')),
			coalesce((array_agg(i.memory_id::text ORDER BY i.ordinal))[:$3], '{}'),
			(SELECT count(*) FROM forget_items i JOIN memories m ON m.tenant = $1 AND m.id = i.memory_id
				WHERE i.tenant = $1 AND i.run_id = $2 AND i.outcome = '' AND m.pinned),
			(SELECT count(*) FROM forget_items i JOIN memories m ON m.tenant = $1 AND m.id = i.memory_id
				WHERE i.tenant = $1 AND i.run_id = $2 AND i.outcome = '' AND m.agent_id <> $4)
		FROM forget_items i WHERE i.tenant = $1 AND i.run_id = $2 AND i.outcome = ''`, c.Tenant, run,
		schema.MaxForgetSample, p.Agent).
		Scan(&digest, &preview.Sample, &preview.Pinned, &preview.NotOwner)
	if err != nil {
		return preview, err
	}
	if mode == schema.ForgetSoft {
		preview.NotOwner = 0
	}
	if mode == schema.ForgetForce {
		if preview.MustStay, err = countProtected(ctx, c, run); err != nil {
			return preview, err
		}
	}
	if !req.Selector.IncludeDerived {
		if preview.Derived, err = countDerived(ctx, c, run, p); err != nil {
			return preview, err
		}
	}
	receipt := schema.ForgetReceipt{RunID: preview.RunID, Mode: mode, Total: preview.Total,
		Everywhere: preview.Everywhere}
	receipt.Skip(lifecycle.OutcomeNotFound, preview.NotFound)
	var by, at any
	if found == 0 || req.Execute && !lifecycle.NeedsConfirmation(req, preview.Total) {
		preview.State, by, at = schema.ForgetConfirmed, req.By(), c.Now
	}
	encoded, err := json.Marshal(receipt)
	if err != nil {
		return preview, err
	}
	c.Queue.Queue(`UPDATE forget_runs SET total = $3, digest = $4, receipt = $5, state = $6,
		confirmed_by = coalesce($7, ''), confirmed_at = $8 WHERE tenant = $1 AND id = $2`,
		c.Tenant, run, preview.Total, digest, string(encoded), preview.State, by, at)
	return preview, nil
}

// checkVersion refuses a request for one version of a memory that is at another, as a *schema.VersionConflict.
// One that the principal has no memory for is not found, as without a version.
func checkVersion(ctx context.Context, c *commit.Change, run uuid.UUID, req schema.ForgetRequest) error {
	if req.IfVersion == 0 {
		return nil
	}
	var version int
	err := c.Tx.QueryRow(ctx, `SELECT version FROM forget_items WHERE tenant = $1 AND run_id = $2`, c.Tenant,
		run).Scan(&version)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err == nil && version != req.IfVersion:
		return &schema.VersionConflict{ID: req.Selector.IDs[0], IfVersion: req.IfVersion, Version: version}
	}
	return err
}

// countProtected counts the selected that force leaves alone because their rows must stay.
func countProtected(ctx context.Context, c *commit.Change, run uuid.UUID) (n int, err error) {
	err = c.Tx.QueryRow(ctx, `SELECT count(*) FROM forget_items i JOIN memories m ON m.tenant = $1
		AND m.id = i.memory_id
		WHERE i.tenant = $1 AND i.run_id = $2 AND i.outcome = ''
		AND (m.world_id IS NOT NULL OR `+ActionLinked("$3")+`)`,
		c.Tenant, run, lifecycle.ActionLinks).Scan(&n)
	return n, err
}

func selectsTooMany() error {
	return &schema.ValidationError{Fields: []schema.FieldError{{Field: "selector",
		Problem: fmt.Sprintf("selects more than %d memories: narrow it", schema.MaxForgetSelected)}}}
}

// selectItemsSQL renders the statement that writes down what a selector selects: of what it names by id
// whatever the asker may look at, else what the shared filter reaches of the agent's own.
func selectItemsSQL(run uuid.UUID, req schema.ForgetRequest, text textConditions) (string, []any) {
	sel, owner := req.Selector, req.Principal
	var p pg.Params
	tenant, runAt := p.Add(owner.Tenant), p.Add(run)
	look := func() string {
		return pg.SharedWith("m", p.Add(owner.Agent), p.Add(owner.Project), p.Add(pg.ChangeGrants(owner)))
	}
	left := "m.erased_at IS NULL" // what is there to forget, beyond what is named
	if req.HowMuch() == schema.ForgetSoft {
		left += " AND m.deleted_at IS NULL"
	}
	asked := pg.Filter{Principal: owner, OwnScope: true, Types: sel.Types, Categories: sel.Categories,
		Tags: normalize.NormalizeTags(sel.Tags), Who: sel.Who, Since: sel.Since, Until: sel.Until}
	var where string
	if len(sel.IDs) > 0 {
		where = "m.tenant = " + tenant + " AND " + look() + " AND m.id = ANY(" + p.Add(parseIDs(sel.IDs)) + ")"
	} else {
		where = left + " AND " + asked.Reachable("m", &p)
	}
	where += asked.Narrowed("m", &p)
	if len(sel.Tags) > 0 && len(asked.Tags) == 0 {
		where += " AND FALSE" // tags that are none select nothing, and not everything
	}
	if sel.SourceKind != "" {
		// A candidate's id is the id of the memory that it became. Its kind outlives it.
		kind := p.Add(sel.SourceKind)
		where += " AND EXISTS (SELECT FROM memory_candidates k WHERE k.tenant = m.tenant AND k.id = m.id" +
			" AND k.source_kind = " + kind + `
			UNION ALL SELECT FROM memory_source_kinds k WHERE k.tenant = m.tenant AND k.memory_id = m.id
			AND k.source_kind = ` + kind + ")"
	}
	if sel.Session != "" {
		where += " AND m.agent_session_id = " + p.Add(sel.Session)
	}
	limit, rank, from := schema.MaxForgetSelected+1, "0::float4", "memories m"
	if sel.Query != "" {
		// The index finds what matches in any language; the memory's own then decides, as a condition: a memory that
		// merely ranks is not one to forget. The view is read apart from memories (OFFSET 0): the tenant's policy on
		// them would spread to it, and keep the index from being used.
		parts := make([]string, len(text.queries))
		for i, query := range text.queries {
			parts[i] = p.Add(query) + "::text::tsquery"
		}
		own := "websearch_to_tsquery(mneme_text_config(m.language), " + p.Add(sel.Query) + ")"
		from = "(SELECT s.id FROM memory_text s WHERE s.live AND s.tsv @@ (" + strings.Join(parts, " || ") +
			") OFFSET 0) x JOIN memories m ON m.id = x.id"
		where += " AND m.live AND m.tsv @@ " + own +
			" AND mneme_text_config(m.language) = ANY(" + p.Add(text.configs) + "::text[]::regconfig[])"
		rank = "ts_rank(m.tsv, " + own + ")"
		if sel.Limit > 0 {
			limit = min(limit, sel.Limit)
		}
	}
	chosen := "SELECT m.id, m.version, " + rank + " AS rank FROM " + from + " WHERE " + where +
		" ORDER BY rank DESC, m.id LIMIT " + p.Add(limit)
	insert := "INSERT INTO forget_items (tenant, run_id, ordinal, memory_id, version) SELECT " + tenant + ", " + runAt +
		", "
	if !sel.IncludeDerived {
		return insert + "row_number() OVER (ORDER BY c.rank DESC, c.id) - 1, c.id, c.version FROM (" + chosen + ") c", p
	}
	return `WITH RECURSIVE chosen AS MATERIALIZED (` + chosen + `), reached(id) AS (
			SELECT id FROM chosen
			UNION
			SELECT m.id FROM reached c JOIN memory_relations r ON r.tenant = ` + tenant + ` AND r.target_id = c.id
			AND r.predicate = 'derived_from'
			JOIN memories m ON m.tenant = ` + tenant + ` AND m.id = r.source_id AND ` + left + ` AND ` + look() + `
		)
		` + insert + `row_number() OVER (ORDER BY c.rank DESC NULLS LAST, m.id) - 1, m.id, m.version
		FROM reached r JOIN memories m ON m.tenant = ` + tenant + ` AND m.id = r.id LEFT JOIN chosen c ON c.id = r.id
		LIMIT ` + p.Add(schema.MaxForgetSelected+1), p
}

// textConfigs are the configurations that mneme_text_config yields.
var textConfigs = []string{"pg_catalog.english", "pg_catalog.german", "pg_catalog.french", "pg_catalog.spanish",
	"pg_catalog.italian", "pg_catalog.portuguese",
	"pg_catalog.dutch", "pg_catalog.simple"}

// textConditions are what a query asks for in full text.
type textConditions struct {
	configs []string // those in which there is a word to look for
	queries []string // what it comes to in them, each once: equal ones would make the planner expect more rows
}

// conditionsOfText reads a query in every language. Where nothing is left of it but what must not be there, as of
// "-zebra" or of a stop word with it, it would select everything else: in such a language it selects nothing, and
// when no other is left it is refused.
func conditionsOfText(ctx context.Context, c *commit.Change, query string) (textConditions, error) {
	var t textConditions
	if query == "" {
		return t, nil
	}
	err := c.Tx.QueryRow(ctx, `SELECT coalesce(array_agg(config ORDER BY config), '{}'),
		coalesce(array_agg(DISTINCT q::text), '{}')
		FROM (SELECT config, websearch_to_tsquery(config::regconfig, $1) AS q FROM unnest($2::text[]) config) x
		WHERE querytree(q) NOT IN ('', 'T')`, query, textConfigs).Scan(&t.configs, &t.queries)
	if err == nil && len(t.queries) == 0 {
		err = &schema.ValidationError{Fields: []schema.FieldError{{Field: "selector.query",
			Problem: "has no word that must be there"}}}
	}
	return t, err
}

// countDerived counts what was derived, over any number of steps, from the selected and is not
// selected: it stays, and may say the same. What else was drawn from a source that was taken is not meant.
func countDerived(ctx context.Context, c *commit.Change, run uuid.UUID, p schema.Principal) (n int, err error) {
	err = c.Tx.QueryRow(ctx, `
		WITH RECURSIVE reached(id) AS (
			SELECT memory_id FROM forget_items i WHERE tenant = $1 AND run_id = $2 AND outcome = ''
				AND NOT EXISTS (SELECT FROM forget_echoes e WHERE e.tenant = $1 AND e.run_id = $2
					AND e.memory_id = i.memory_id AND e.tie = 'source')
			UNION
			SELECT m.id FROM reached c JOIN memory_relations r ON r.tenant = $1 AND r.target_id = c.id
			AND r.predicate = 'derived_from'
			JOIN memories m ON m.tenant = $1 AND m.id = r.source_id AND m.erased_at IS NULL AND m.deleted_at IS NULL
			AND `+pg.MayRead+`
		)
		SELECT count(*) FROM reached WHERE id NOT IN (SELECT memory_id FROM forget_items WHERE tenant = $1
			AND run_id = $2 AND outcome = '')`,
		c.Tenant, run, p.Agent, p.Project, pg.ChangeGrants(p)).Scan(&n)
	return n, err
}

// parseIDs reads validated ids; what is none is left out.
func parseIDs(ids []string) []uuid.UUID {
	out := make([]uuid.UUID, 0, len(ids))
	for _, s := range ids {
		if id, err := uuid.Parse(s); err == nil {
			out = append(out, id)
		}
	}
	return out
}

// ForgetRow is a run as a change finds it, locked until commit.
type ForgetRow struct {
	ID          uuid.UUID
	WorkflowID  string
	Agent       string
	Scope       string // of the user that it is for; empty for an agent
	Mode        schema.ForgetMode
	State       schema.ForgetState
	Digest      []byte
	Reason      string
	RequestedBy string
	ConfirmedBy string
	ExpiresAt   time.Time
	Receipt     schema.ForgetReceipt
}

func lockForget(ctx context.Context, c *commit.Change, run uuid.UUID) (ForgetRow, error) {
	r := ForgetRow{ID: run}
	err := c.Tx.QueryRow(ctx, `SELECT workflow_id, agent_id, scope, mode, state, digest, reason, requested_by,
		confirmed_by, expires_at, receipt
		FROM forget_runs WHERE tenant = $1 AND id = $2 FOR UPDATE`, c.Tenant, run).
		Scan(&r.WorkflowID, &r.Agent, &r.Scope, &r.Mode, &r.State, &r.Digest, &r.Reason, &r.RequestedBy, &r.ConfirmedBy,
			&r.ExpiresAt, &r.Receipt)
	if errors.Is(err, pgx.ErrNoRows) {
		return r, pg.ErrNotFound
	}
	return r, err
}

// progress is the current receipt.
func (r *ForgetRow) progress() schema.ForgetReceipt {
	out := r.Receipt.Clone()
	out.State, out.Remaining = r.State, r.Receipt.Total-r.Receipt.Processed()
	return out
}

func saveReceipt(c *commit.Change, r *ForgetRow) error {
	encoded, err := json.Marshal(r.Receipt)
	if err != nil {
		return err
	}
	c.Queue.Queue(`UPDATE forget_runs SET receipt = $3 WHERE tenant = $1 AND id = $2`, c.Tenant, r.ID, string(encoded))
	return nil
}

// ForgetNote is what a run did outside of Postgres.
type ForgetNote struct {
	Removed map[string]int // by place: vectors by index, runs of Temporal
	Stopped int            // pipelines
	Pending []string       // places that could not be reached
}

// NoteForget adds to a run's receipt.
func (s *Forgetter) NoteForget(ctx context.Context, tenant string, run uuid.UUID, note ForgetNote,
	now time.Time) error {
	err := commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		r, err := lockForget(ctx, c, run)
		if err != nil {
			return err
		}
		for place, n := range note.Removed {
			r.Receipt.Remove(place, n)
		}
		r.Receipt.Stopped += note.Stopped
		for _, place := range note.Pending {
			if !slices.Contains(r.Receipt.Pending, place) {
				r.Receipt.Pending = append(r.Receipt.Pending, place)
			}
		}
		return saveReceipt(c, &r)
	})
	if err != nil {
		return fmt.Errorf("note on run %s: %w", run, err)
	}
	return nil
}

// ForgetStatus reads a run of the principal's agent and user; ErrNotFound for any other.
func (s *Forgetter) ForgetStatus(ctx context.Context, p schema.Principal, run uuid.UUID) (schema.ForgetStatus, error) {
	var out schema.ForgetStatus
	err := s.Read(ctx, p.Tenant, func(tx pgx.Tx) error {
		var receipt schema.ForgetReceipt
		var state schema.ForgetState
		err := tx.QueryRow(ctx, `SELECT receipt, state, workflow_id, agent_id, reason, requested_by, confirmed_by,
			expires_at, confirmed_at, finished_at, created_at
			FROM forget_runs WHERE tenant = $1 AND id = $2 AND agent_id = $3 AND ($4 = '' OR scope = $4)`, p.Tenant,
			run, p.Agent, pg.UserScope(p)).
			Scan(&receipt, &state, &out.WorkflowID, &out.Agent, &out.Reason, &out.RequestedBy, &out.ConfirmedBy,
				&out.ExpiresAt, &out.ConfirmedAt, &out.FinishedAt, &out.CreatedAt)
		if errors.Is(err, pgx.ErrNoRows) {
			return pg.ErrNotFound
		}
		out.ForgetReceipt = receipt
		out.State, out.Remaining = state, receipt.Total-receipt.Processed()
		return err
	})
	if err != nil {
		return out, fmt.Errorf("read run %s: %w", run, err)
	}
	return out, nil
}

// ForgetItems lists what a run of the principal's agent and user has selected, from an ordinal on, limit at most
// (500, also when it is 0); ErrNotFound for any other run.
func (s *Forgetter) ForgetItems(ctx context.Context, p schema.Principal, run uuid.UUID, from,
	limit int) ([]schema.ForgetItem, error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	if limit <= 0 || limit > ForgetBatchSize {
		limit = ForgetBatchSize
	}
	out := []schema.ForgetItem{}
	err := s.Read(ctx, p.Tenant, func(tx pgx.Tx) error {
		var known bool
		err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM forget_runs WHERE tenant = $1 AND id = $2 AND agent_id = $3
			AND ($4 = '' OR scope = $4))`,
			p.Tenant, run, p.Agent, pg.UserScope(p)).Scan(&known)
		if err == nil && !known {
			err = pg.ErrNotFound
		}
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT i.ordinal, i.memory_id::text, i.version, i.outcome, coalesce(e.tie, '')
			FROM forget_items i
			LEFT JOIN forget_echoes e ON e.tenant = i.tenant AND e.run_id = i.run_id AND e.memory_id = i.memory_id
			WHERE i.tenant = $1 AND i.run_id = $2 AND i.ordinal >= $3 ORDER BY i.ordinal LIMIT $4`, p.Tenant, run, from,
			limit)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowToStructByPos[schema.ForgetItem])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list items of run %s: %w", run, err)
	}
	return out, nil
}

// ActionLinkedAmong returns which of some memories are action-linked. The caller has locked them. A new link holds
// its ends while it is written, and so is either seen under the lock, or sees what was done under it; the statement
// that locks does not see what was linked since it began.
func ActionLinkedAmong(ctx context.Context, c *commit.Change, ids []uuid.UUID) (map[uuid.UUID]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return c.IdSet(ctx, `SELECT m.id FROM memories m WHERE m.tenant = $1 AND m.id = ANY($2) AND `+ActionLinked("$3"),
		c.Tenant, ids, lifecycle.ActionLinks)
}

// ActionLinked says whether the memory m is load-bearing for something that was done, or is what was done:
// a link goes with the row that it leads to, and what it starts from would be load-bearing no more.
func ActionLinked(predicates string) string {
	return `EXISTS (SELECT FROM memory_relations r WHERE r.tenant = m.tenant AND r.source_id = m.id
		AND r.predicate = ANY(` + predicates + `)
		UNION ALL SELECT FROM memory_relations r WHERE r.tenant = m.tenant AND r.target_id = m.id
		AND r.predicate = ANY(` + predicates + `))`
}
