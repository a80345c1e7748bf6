package advising

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/learning/advice"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// ErrReported means that another outcome of the same memory was reported for the advice before.
var ErrReported = errors.New("another outcome was reported before")

// reported is a report as it is kept.
type reported struct {
	Outcome schema.Outcome `json:"outcome,omitempty"`
	Changed []string       `json:"changed"`
}

// adviceRow is advice as it is stored.
type adviceRow struct {
	Offered   []Offer
	Reports   map[string]reported
	Situation string
}

// Count counts a report. Of what was offered it changes the memories that the filter still admits; what was forgotten
// or erased meanwhile is left out. The same report for the second time changes nothing and has the first result. It
// returns pg.ErrNotFound for advice that the principal was not given, and a *schema.ValidationError where the memory
// that was used was not offered.
func (a *Advising) Count(ctx context.Context, f pg.Filter, id uuid.UUID, r advice.Report,
	now time.Time) (changed []string, err error) {
	err = pg.RetryChange(ctx, func() error {
		return a.write(ctx, f.Principal.Tenant, func(tx pgx.Tx) error {
			changed, err = count(ctx, tx, f, id, r, now)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("count a report: %w", err)
	}
	return changed, nil
}

func count(ctx context.Context, tx pgx.Tx, f pg.Filter, id uuid.UUID, r advice.Report, now time.Time) ([]string, error) {
	given, err := lockAdvice(ctx, tx, f.Principal, id)
	if err != nil {
		return nil, err
	}
	outcome := r.Counted()
	if before, ok := given.Reports[r.Used]; ok {
		if before.Outcome != outcome {
			return nil, ErrReported
		}
		return before.Changed, nil
	}
	if r.Used != "" && !slices.ContainsFunc(given.Offered, func(o Offer) bool { return o.ID == r.Used }) {
		return nil, &schema.ValidationError{Fields: []schema.FieldError{
			{Field: "used", Problem: "must be a memory that was advised"}}}
	}
	offered, err := lockOutcomes(ctx, tx, f, given.Offered, now)
	if err != nil {
		return nil, err
	}
	changed := []string{}
	for _, change := range advice.Apply(r, offered) {
		stats, err := json.Marshal(change.Stats)
		if err != nil {
			return nil, err
		}
		if _, err := tx.Exec(ctx, `
			UPDATE solution_outcomes SET stats = @stats, updated_at = @now WHERE tenant = @tenant AND memory_id = @id`,
			pg.Args{"stats": string(stats), "now": now, "tenant": f.Principal.Tenant, "id": change.ID}); err != nil {
			return nil, err
		}
		if change.Counted != "" || change.ID != r.Used {
			changed = append(changed, change.ID)
		}
	}
	kept, err := json.Marshal(map[string]reported{r.Used: {Outcome: outcome, Changed: changed}})
	if err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, `UPDATE advice SET reports = reports || @report::jsonb WHERE tenant = @tenant AND id = @id`,
		pg.Args{"report": string(kept), "tenant": f.Principal.Tenant, "id": id})
	return changed, err
}

func lockAdvice(ctx context.Context, tx pgx.Tx, p schema.Principal, id uuid.UUID) (adviceRow, error) {
	rows, err := pg.CollectByName[adviceRow](ctx, tx, `
		SELECT offered, reports, situation
		FROM advice
		WHERE tenant = @tenant AND id = @id AND agent_id = @agent AND project = @project AND scope = @scope
		FOR UPDATE`,
		pg.Args{"tenant": p.Tenant, "id": id, "agent": p.Agent, "project": p.Project, "scope": p.EffectiveScope()})
	if err == nil && len(rows) == 0 {
		err = pg.ErrNotFound
	}
	if err != nil {
		return adviceRow{}, err
	}
	return rows[0], nil
}

// lockOutcomes locks the outcomes of what was offered and is still there, in the order of ids. Where none were kept yet,
// they begin with those of the advice.
func lockOutcomes(ctx context.Context, tx pgx.Tx, f pg.Filter, offered []Offer,
	now time.Time) ([]advice.Candidate, error) {
	encoded, err := json.Marshal(offered)
	if err != nil {
		return nil, err
	}
	args := pg.Args{"offered": string(encoded), "now": now}
	if _, err := tx.Exec(ctx, `
		INSERT INTO solution_outcomes (tenant, memory_id, stats, updated_at)
		SELECT m.tenant, m.id, o.stats, @now
		FROM jsonb_to_recordset(@offered::jsonb) o(id uuid, stats jsonb)
		JOIN memories m ON m.id = o.id AND `+f.Where("m", args)+`
		ORDER BY m.id
		ON CONFLICT DO NOTHING`, args); err != nil {
		return nil, err
	}
	args = pg.Args{"offered": string(encoded)}
	type row struct {
		ID    string
		Stats evidence.Stats
	}
	rows, err := pg.CollectByName[row](ctx, tx, `
		SELECT s.memory_id::text AS id, s.stats
		FROM jsonb_to_recordset(@offered::jsonb) o(id uuid, stats jsonb)
		JOIN memories m ON m.id = o.id AND `+f.Where("m", args)+`
		JOIN solution_outcomes s ON s.tenant = m.tenant AND s.memory_id = m.id
		ORDER BY s.memory_id
		FOR UPDATE OF s`, args)
	if err != nil {
		return nil, err
	}
	out := make([]advice.Candidate, len(rows))
	for i, r := range rows {
		out[i] = advice.Candidate{ID: r.ID, Stats: r.Stats}
	}
	return out, nil
}
