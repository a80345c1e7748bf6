package sweeping

import (
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
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
			end, _ := lifecycle.ExpiredTombstone(policy, before, false, now)
			w.world, w.tiers = append(w.world, d == schema.RetainWorld), append(w.tiers, string(class.Tier))
			w.typologies = append(w.typologies, string(class.Typology))
			w.before, w.purge = append(w.before, before), append(w.purge, end == schema.ExpiryPurge)
			if before.After(w.last) {
				w.last = before
			}
		}
	}
	return w
}

// windowRows are the windows as rows w. Its arguments are those of windows.args.
const windowRows = `unnest(@windows_world::boolean[], @windows_tier::text[], @windows_typology::text[],
		@windows_before::timestamptz[], @windows_purge::boolean[]) w(world, tier, typology, before, purge)`

// inWindow is the condition that the window w of a tombstone m is over.
const inWindow = `w.world = (m.world_id IS NOT NULL) AND w.tier = m.tier AND w.typology = m.typology
		AND m.deleted_at <= w.before`

// args are the arguments of windowRows, and more.
func (w windows) args(more pg.Args) pg.Args {
	args := pg.Args{
		"windows_world":    w.world,
		"windows_tier":     w.tiers,
		"windows_typology": w.typologies,
		"windows_before":   w.before,
		"windows_purge":    w.purge,
	}
	maps.Copy(args, more)
	return args
}

// expired selects the tombstones m whose window w is over and that are not marked yet. Its arguments are those of
// windows.args, @tenant and @last_before, which is windows.last.
const expired = `
	FROM memories m
	JOIN ` + windowRows + `
		ON ` + inWindow + `
	WHERE m.tenant = @tenant AND ` + tombstone

// tombstone is the part of expired that an index serves: not yet marked, and over by the shortest window.
const tombstone = `m.deleted_at IS NOT NULL AND m.erased_at IS NULL AND m.retained_at IS NULL AND m.purging_at IS NULL
	AND m.deleted_at <= @last_before`

// deletedMemory is a tombstone as lifecycle.ExpiredTombstone judges it.
type deletedMemory struct {
	ID        uuid.UUID
	World     bool
	Tier      schema.Tier
	Typology  schema.Typology
	DeletedAt time.Time
}

// deletedColumns are the columns of a deletedMemory, of memories m.
const deletedColumns = `m.id, m.world_id IS NOT NULL AS world, m.tier, m.typology, m.deleted_at`

// policy returns the retention policy of the memory's class.
func (m deletedMemory) policy(rules lifecycle.RetentionRules) schema.RetentionPolicy {
	return rules.For(lifecycle.MemoryDomain(m.World), m.Tier, m.Typology)
}
