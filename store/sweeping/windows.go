package sweeping

import (
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
)

// windows are the classes of memories whose tombstones expire, in columns, as of a time.
type windows struct {
	world      []bool
	tiers      []string
	typologies []string
	before     []time.Time // deleted by then: the window is over
	purge      []bool      // and not archive
	last       time.Time   // of before
}

func windowsOf(rules lifecycle.RetentionRules, now time.Time) windows {
	var w windows
	for _, d := range []schema.RetentionDomain{schema.RetainMemory, schema.RetainWorld} {
		for _, class := range lifecycle.RetentionClasses(d) {
			policy := rules.For(d, class.Tier, class.Typology)
			before, ends := lifecycle.ExpiredBefore(policy, now)
			if !ends {
				continue
			}
			w.world, w.tiers, w.typologies = append(w.world, d == schema.RetainWorld),
				append(w.tiers, string(class.Tier)), append(w.typologies, string(class.Typology))
			w.before, w.purge = append(w.before, before), append(w.purge, policy.OnExpiry == schema.ExpiryPurge)
			if before.After(w.last) {
				w.last = before
			}
		}
	}
	return w
}

// expired is the condition of tombstones m that are over and not yet marked, with their windows w. Its parameters are
// those of windows.args, after the tenant.
const expired = `FROM memories m JOIN unnest($2::boolean[], $3::text[], $4::text[], $5::timestamptz[],
	$6::boolean[]) w(world, tier, typology, before, purge)
		ON w.world = (m.world_id IS NOT NULL) AND w.tier = m.tier AND w.typology = m.typology
		AND m.deleted_at <= w.before
	WHERE m.tenant = $1 AND ` + tombstone

// tombstone is the part of expired that an index serves: not yet marked, and over by the shortest window.
const tombstone = `m.deleted_at IS NOT NULL AND m.erased_at IS NULL AND m.retained_at IS NULL AND m.purging_at IS NULL
	AND m.deleted_at <= $7`

// deletedMemory is a tombstone as lifecycle.ExpiredTombstone judges it.
type deletedMemory struct {
	ID        uuid.UUID
	World     bool
	Tier      schema.Tier
	Typology  schema.Typology
	DeletedAt time.Time
}

// policy returns the retention policy of the memory's class.
func (m deletedMemory) policy(rules lifecycle.RetentionRules) schema.RetentionPolicy {
	domain := schema.RetainMemory
	if m.World {
		domain = schema.RetainWorld
	}
	return rules.For(domain, m.Tier, m.Typology)
}

func (w windows) args(tenant string) []any {
	return []any{tenant, w.world, w.tiers, w.typologies, w.before, w.purge, w.last}
}
