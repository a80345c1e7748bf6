package sweeping

import (
	"context"
	"encoding/hex"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/forgetting"
	"github.com/mneme/mneme/store/pg"
)

// artifacts removes the artifacts that no memory refers to. If a memory refers to one in the meantime, its foreign
// key prevents the deletion and the batch is retried.
func (p *purging) artifacts(ctx context.Context) error {
	before, ends := lifecycle.ExpiredBefore(p.rules.For(schema.RetainArtifacts, schema.Any, schema.Any), p.in.At)
	if !ends {
		return nil
	}
	after, err := hex.DecodeString(p.in.After.Key)
	if err != nil {
		return &schema.ValidationError{Fields: []schema.FieldError{{Field: "after.key",
			Problem: "must be hexadecimal"}}}
	}
	going, err := p.page(ctx, `
		SELECT a.created_at AS at, encode(a.sha256, 'hex') AS key, `+unreferenced+` AS goes
		FROM artifacts a
		WHERE a.tenant = @tenant AND a.created_at < @before AND (a.created_at, a.sha256) > (@after_at, @after_sum)
		ORDER BY a.created_at, a.sha256
		LIMIT @scan`,
		pg.Args{
			"tenant":    p.Tenant,
			"before":    before,
			"after_at":  p.in.After.CreatedAt,
			"after_sum": after,
			"scan":      p.in.Limit * scanFactor,
		})
	if err != nil || len(going) == 0 {
		return err
	}
	sums := make([][]byte, len(going))
	for i, row := range going {
		if sums[i], err = hex.DecodeString(row.Key); err != nil {
			return err
		}
	}
	n, err := forgetting.DropArtifacts(ctx, p.Change, sums) // checks again
	p.removed(n)
	return err
}

const (
	// unreferenced is the condition of an artifact a that no memory refers to.
	unreferenced = `NOT EXISTS (
			SELECT FROM memory_artifacts x
			WHERE x.tenant = a.tenant AND x.sha256 = a.sha256)`
	// agedArtifacts selects the artifacts that a purge would remove.
	agedArtifacts = `
	FROM artifacts a
	WHERE a.tenant = @tenant AND a.created_at < @before AND ` + unreferenced
)
