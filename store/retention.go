package store

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
)

const policyColumns = `domain, tier, typology, coalesce(extract(epoch FROM keep)::bigint, 0), on_expiry, decay_exempt, version, updated_at, updated_by, reason`

func scanPolicy(row pgx.CollectableRow) (schema.RetentionPolicy, error) {
	var p schema.RetentionPolicy
	err := row.Scan(&p.Domain, &p.Tier, &p.Typology, &p.KeepSeconds, &p.OnExpiry, &p.DecayExempt, &p.Version, &p.UpdatedAt, &p.UpdatedBy, &p.Reason)
	return p, err
}

// retentionRules reads what a tenant has set.
func retentionRules(ctx context.Context, tx pgx.Tx, tenant string) (lifecycle.RetentionRules, error) {
	rows, err := tx.Query(ctx, `SELECT `+policyColumns+` FROM retention_policies WHERE tenant = $1 ORDER BY domain, tier, typology`, tenant)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanPolicy)
}

// RetentionPolicies returns what a tenant has set, by domain, tier and typology. Where it has set nothing,
// lifecycle.DefaultRetention holds.
func (s *Store) RetentionPolicies(ctx context.Context, tenant string) (lifecycle.RetentionRules, error) {
	var out lifecycle.RetentionRules
	err := s.Read(ctx, tenant, func(tx pgx.Tx) (err error) {
		out, err = retentionRules(ctx, tx, tenant)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read retention policies: %w", err)
	}
	return out, nil
}

// SetRetention sets a policy of the tenant and says so in the audit; one that says the same changes nothing. What
// becomes of a class, and whether decay takes of it, stay as they are in force where then and exempt are nil, which
// may need more than one policy (lifecycle.RetentionRules.Set). It returns what is set, the class itself last: all of
// it or nothing. What a class's longer exemption or shorter window changes, the next sweeps see.
func (s *Store) SetRetention(ctx context.Context, tenant string, p schema.RetentionPolicy, then *schema.OnExpiry, exempt *bool, now time.Time) ([]schema.RetentionPolicy, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	var out []schema.RetentionPolicy
	err := s.write(ctx, tenant, now, func(c *change) error {
		out = nil
		if err := c.lockPolicies(ctx); err != nil {
			return err
		}
		rules, err := retentionRules(ctx, c.tx, c.tenant)
		if err != nil {
			return err
		}
		for _, p := range rules.Set(p, then, exempt) {
			set, err := c.setPolicy(ctx, p)
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

func (c *change) setPolicy(ctx context.Context, p schema.RetentionPolicy) (schema.RetentionPolicy, error) {
	if err := p.Validate(); err != nil {
		return p, err
	}
	before, err := c.policy(ctx, p)
	if err != nil {
		return p, err
	}
	if before != nil && before.KeepSeconds == p.KeepSeconds && before.OnExpiry == p.OnExpiry && before.DecayExempt == p.DecayExempt {
		return *before, nil
	}
	var keep any
	if p.KeepSeconds > 0 {
		keep = time.Duration(p.KeepSeconds) * time.Second
	}
	rows, err := c.tx.Query(ctx, `INSERT INTO retention_policies AS r (tenant, domain, tier, typology, keep, on_expiry, decay_exempt, updated_at, updated_by, reason)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (tenant, domain, tier, typology) DO UPDATE SET keep = excluded.keep, on_expiry = excluded.on_expiry, decay_exempt = excluded.decay_exempt,
			updated_at = excluded.updated_at, updated_by = excluded.updated_by, reason = excluded.reason, version = r.version + 1
		RETURNING `+policyColumns, c.tenant, p.Domain, p.Tier, p.Typology, keep, p.OnExpiry, p.DecayExempt, c.now, p.UpdatedBy, p.Reason)
	if err != nil {
		return p, err
	}
	if p, err = pgx.CollectExactlyOneRow(rows, scanPolicy); err != nil {
		return p, err
	}
	return p, c.auditPolicy(before, &p, p.UpdatedBy, p.Reason)
}

// ResetRetention has the default hold again for a class, and says so in the audit. ErrNotFound where
// nothing is set.
func (s *Store) ResetRetention(ctx context.Context, tenant string, p schema.RetentionPolicy, by, reason string, now time.Time) error {
	err := s.write(ctx, tenant, now, func(c *change) error {
		if err := c.lockPolicies(ctx); err != nil {
			return err
		}
		before, err := c.policy(ctx, p)
		if err != nil {
			return err
		}
		if before == nil {
			return ErrNotFound
		}
		c.queue.Queue(`DELETE FROM retention_policies WHERE tenant = $1 AND domain = $2 AND tier = $3 AND typology = $4`, c.tenant, p.Domain, p.Tier, p.Typology)
		return c.auditPolicy(before, nil, by, reason)
	})
	if err != nil {
		return fmt.Errorf("reset retention: %w", err)
	}
	return nil
}

// lockPolicies locks the tenant's policies, those too that are not there yet: of two who set one, the second sees
// the first's.
func (c *change) lockPolicies(ctx context.Context) error {
	_, err := c.tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(E'\x1f', $1::text, 'retention'), hashtext(current_schema())))`, c.tenant)
	return err
}

// policy returns what is set for exactly a policy's class; nil when nothing is.
func (c *change) policy(ctx context.Context, p schema.RetentionPolicy) (*schema.RetentionPolicy, error) {
	rows, err := c.tx.Query(ctx, `SELECT `+policyColumns+` FROM retention_policies WHERE tenant = $1 AND domain = $2 AND tier = $3 AND typology = $4`,
		c.tenant, p.Domain, p.Tier, p.Typology)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectExactlyOneRow(rows, scanPolicy)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &found, err
}

func (c *change) auditPolicy(before, after *schema.RetentionPolicy, by, reason string) error {
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
	c.queue.Queue(`INSERT INTO retention_policy_changes (tenant, id, domain, tier, typology, before, after, changed_by, reason, changed_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, c.tenant, newID(), class.Domain, class.Tier, class.Typology, old, next, by, reason, c.now)
	return nil
}

// RetentionChanges lists the audit of the tenant's policies, newest first, from behind an id (the zero id:
// from the newest), limit at most.
func (s *Store) RetentionChanges(ctx context.Context, tenant string, behind uuid.UUID, limit int) ([]schema.RetentionChange, error) {
	var p params
	query := `SELECT id::text, domain, tier, typology, before, after, changed_by, reason, changed_at FROM retention_policy_changes c WHERE c.tenant = ` + p.add(tenant)
	if behind != uuid.Nil {
		query += ` AND c.seq < (SELECT b.seq FROM retention_policy_changes b WHERE b.tenant = $1 AND b.id = ` + p.add(behind) + `)`
	}
	query += ` ORDER BY c.seq DESC LIMIT ` + p.add(pageLimit(limit))
	var out []schema.RetentionChange
	err := s.Read(ctx, tenant, func(tx pgx.Tx) (err error) {
		out, err = collect[schema.RetentionChange](ctx, tx, query, p...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list retention changes: %w", err)
	}
	return out, nil
}
