package sweeping

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
)

// policyColumns are the columns of a schema.RetentionPolicy, except Default: stored policies are not defaults.
const policyColumns = `domain, tier, typology,
	coalesce(extract(epoch FROM keep)::bigint, 0) AS keep_seconds,
	on_expiry, decay_exempt, version, updated_at, updated_by, reason`

var scanPolicy = pgx.RowToStructByNameLax[schema.RetentionPolicy]

// RetentionRules reads the policies that a tenant has set.
func RetentionRules(ctx context.Context, tx pgx.Tx, tenant string) (lifecycle.RetentionRules, error) {
	rows, err := tx.Query(ctx, `
		SELECT `+policyColumns+`
		FROM retention_policies
		WHERE tenant = $1
		ORDER BY domain, tier, typology`, tenant)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanPolicy)
}

// RetentionPolicies returns the policies that a tenant has set, by domain, tier and typology. For other classes
// lifecycle.DefaultRetention applies.
func (s *Sweeping) RetentionPolicies(ctx context.Context, tenant string) (lifecycle.RetentionRules, error) {
	var out lifecycle.RetentionRules
	err := s.Read(ctx, tenant, func(tx pgx.Tx) (err error) {
		out, err = RetentionRules(ctx, tx, tenant)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read retention policies: %w", err)
	}
	return out, nil
}

// SetRetention sets a policy of the tenant and records the change in the audit. A policy equal to the stored one
// changes nothing. If then or exempt is nil, the class keeps the setting in force; that may need more than one
// policy (lifecycle.RetentionRules.Set). All of these policies are set, or none. They are returned, the one of the
// class itself last. The next sweeps apply them.
func (s *Sweeping) SetRetention(ctx context.Context, tenant string, p schema.RetentionPolicy, then *schema.OnExpiry,
	exempt *bool, now time.Time) ([]schema.RetentionPolicy, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	var out []schema.RetentionPolicy
	err := commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		out = nil
		if err := lockPolicies(ctx, c); err != nil {
			return err
		}
		rules, err := RetentionRules(ctx, c.Tx, c.Tenant)
		if err != nil {
			return err
		}
		for _, p := range rules.Set(p, then, exempt) {
			set, err := setPolicy(ctx, c, p)
			if err != nil {
				return err
			}
			out = append(out, set)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("set retention: %w", err)
	}
	return out, nil
}

func setPolicy(ctx context.Context, c *commit.Change, p schema.RetentionPolicy) (schema.RetentionPolicy, error) {
	if err := p.Validate(); err != nil {
		return p, err
	}
	before, err := policy(ctx, c, p)
	if err != nil {
		return p, err
	}
	if before != nil && before.KeepSeconds == p.KeepSeconds && before.OnExpiry == p.OnExpiry &&
		before.DecayExempt == p.DecayExempt {
		return *before, nil
	}
	var keep any
	if p.KeepSeconds > 0 {
		keep = time.Duration(p.KeepSeconds) * time.Second
	}
	rows, err := c.Tx.Query(ctx, `
		INSERT INTO retention_policies AS r (tenant, domain, tier, typology, keep, on_expiry, decay_exempt,
			updated_at, updated_by, reason)
		VALUES (@tenant, @domain, @tier, @typology, @keep, @on_expiry, @decay_exempt,
			@now, @updated_by, @reason)
		ON CONFLICT (tenant, domain, tier, typology) DO UPDATE
		SET keep = excluded.keep,
			on_expiry = excluded.on_expiry,
			decay_exempt = excluded.decay_exempt,
			updated_at = excluded.updated_at,
			updated_by = excluded.updated_by,
			reason = excluded.reason,
			version = r.version + 1
		RETURNING `+policyColumns,
		pg.Args{
			"tenant":       c.Tenant,
			"domain":       p.Domain,
			"tier":         p.Tier,
			"typology":     p.Typology,
			"keep":         keep,
			"on_expiry":    p.OnExpiry,
			"decay_exempt": p.DecayExempt,
			"now":          c.Now,
			"updated_by":   p.UpdatedBy,
			"reason":       p.Reason,
		})
	if err != nil {
		return p, err
	}
	if p, err = pgx.CollectExactlyOneRow(rows, scanPolicy); err != nil {
		return p, err
	}
	return p, auditPolicy(c, before, &p, p.UpdatedBy, p.Reason)
}

// ResetRetention removes the policy of a class, so that the default applies, and records this in the audit. If the
// class has no policy, it returns ErrNotFound.
func (s *Sweeping) ResetRetention(ctx context.Context, tenant string, p schema.RetentionPolicy, by, reason string,
	now time.Time) error {
	err := commit.Write(ctx, s.DB, tenant, now, func(c *commit.Change) error {
		if err := lockPolicies(ctx, c); err != nil {
			return err
		}
		before, err := policy(ctx, c, p)
		if err != nil {
			return err
		}
		if before == nil {
			return pg.ErrNotFound
		}
		c.Queue.Queue(`DELETE FROM retention_policies WHERE `+ofClass, ofClassArgs(c, p))
		return auditPolicy(c, before, nil, by, reason)
	})
	if err != nil {
		return fmt.Errorf("reset retention: %w", err)
	}
	return nil
}

// lockPolicies locks the tenant's policies, including those that do not exist yet. A second writer waits and then
// sees the first one's changes.
func lockPolicies(ctx context.Context, c *commit.Change) error {
	_, err := c.Tx.Exec(ctx, `
		SELECT pg_advisory_xact_lock(hashtextextended(
			concat_ws(E'\x1f', $1::text, 'retention'),
			hashtext(current_schema())))`, c.Tenant)
	return err
}

// ofClass selects the policy of exactly one class.
const ofClass = `tenant = @tenant AND domain = @domain AND tier = @tier AND typology = @typology`

// ofClassArgs returns the arguments of ofClass for a policy's class.
func ofClassArgs(c *commit.Change, p schema.RetentionPolicy) pg.Args {
	return pg.Args{"tenant": c.Tenant, "domain": p.Domain, "tier": p.Tier, "typology": p.Typology}
}

// policy returns the stored policy of exactly p's class, or nil.
func policy(ctx context.Context, c *commit.Change, p schema.RetentionPolicy) (*schema.RetentionPolicy, error) {
	rows, err := c.Tx.Query(ctx, `SELECT `+policyColumns+` FROM retention_policies WHERE `+ofClass, ofClassArgs(c, p))
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectExactlyOneRow(rows, scanPolicy)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &found, err
}

func auditPolicy(c *commit.Change, before, after *schema.RetentionPolicy, by, reason string) error {
	class := before
	if class == nil {
		class = after
	}
	encode := func(p *schema.RetentionPolicy) (any, error) {
		if p == nil {
			return nil, nil
		}
		encoded, err := json.Marshal(p)
		return string(encoded), err
	}
	old, err := encode(before)
	if err != nil {
		return err
	}
	next, err := encode(after)
	if err != nil {
		return err
	}
	c.Queue.Queue(`
		INSERT INTO retention_policy_changes (tenant, id, domain, tier, typology, before, after, changed_by, reason,
			changed_at)
		VALUES (@tenant, @id, @domain, @tier, @typology, @before, @after, @changed_by, @reason, @now)`,
		pg.Args{
			"tenant":     c.Tenant,
			"id":         pg.NewID(),
			"domain":     class.Domain,
			"tier":       class.Tier,
			"typology":   class.Typology,
			"before":     old,
			"after":      next,
			"changed_by": by,
			"reason":     reason,
			"now":        c.Now,
		})
	return nil
}

// RetentionChanges lists at most limit changes of the tenant's policies, newest first, after an id. The zero id
// starts with the newest.
func (s *Sweeping) RetentionChanges(ctx context.Context, tenant string, after uuid.UUID,
	limit int) ([]schema.RetentionChange, error) {
	page, args := ``, pg.Args{"tenant": tenant, "limit": pg.PageLimit(limit)}
	if after != uuid.Nil {
		page = `
			AND c.seq < (
				SELECT b.seq
				FROM retention_policy_changes b
				WHERE b.tenant = @tenant AND b.id = @after)`
		args["after"] = after
	}
	var out []schema.RetentionChange
	err := s.Read(ctx, tenant, func(tx pgx.Tx) error {
		if after != uuid.Nil { // a page after an unknown change would be empty, as after the last one
			var known bool
			err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM retention_policy_changes WHERE tenant = $1 AND id = $2)`,
				tenant, after).Scan(&known)
			if err != nil {
				return err
			}
			if !known {
				return &schema.ValidationError{Fields: []schema.FieldError{{Field: "after",
					Problem: "names no change that is still stored: begin with the first page"}}}
			}
		}
		rows, err := tx.Query(ctx, `
			SELECT id::text, domain, tier, typology, before, after, changed_by, reason, changed_at
			FROM retention_policy_changes c
			WHERE c.tenant = @tenant`+page+`
			ORDER BY c.seq DESC
			LIMIT @limit`, args)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowToStructByName[schema.RetentionChange])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list retention changes: %w", err)
	}
	return out, nil
}
