package tidying

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/learning/duplicates"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// MaxSame is the number of records with the same key that one transaction merges.
const MaxSame = schema.MaxRevisionTargets

// lastingRow is a record with the columns that the search for duplicates needs.
type lastingRow struct {
	owned
	ID          uuid.UUID
	Version     int
	Type        schema.MemoryType
	Content     string
	Payload     json.RawMessage
	Subject     string
	Predicate   string
	Validity    schema.ValidityMode
	Conditions  json.RawMessage
	ValidFrom   *time.Time
	ValidUntil  *time.Time
	Who         string
	OccurredAt  time.Time
	CreatedAt   time.Time
	ChangedAt   time.Time
	Confidence  float64
	SourceTrust float64
	Pinned      bool
	Sensitivity schema.Sensitivity
	Tags        []string
	Keyed       int // the version whose key is stored; 0 if none is
}

const lastingColumns = `m.agent_id, m.policy_group, m.visibility, m.id, m.version, m.type, m.content, m.payload,
	coalesce(m.subject, '') AS subject, coalesce(m.predicate, '') AS predicate,
	m.validity, m.conditions, m.valid_from, m.valid_until, m.who, m.occurred_at, m.created_at, ` + changedAt + ` AS changed_at,
	m.confidence, m.source_trust, m.pinned, m.sensitivity, m.tags, coalesce(k.version, 0) AS keyed`

// changedAt is the time at which a record m last changed or, if that is later, at which it was recorded, as the
// expression of the index memories_lasting. A record that was put may have a time of its own, long past.
const changedAt = `(CASE WHEN m.recorded_at > m.updated_at THEN m.recorded_at ELSE m.updated_at END)`

// mergeable selects records that may have duplicates. Contested records are left to a revision.
const mergeable = `m.live AND m.status = 'active' AND m.type IN ('semantic', 'competence', 'plan_graph')
	AND m.world_id IS NULL`

// Same is a record that may have duplicates.
type Same struct {
	duplicates.Record
	Version int
	Trust   float64
	owner   owned
}

// same converts the row for the rules. Records are compared only if they have the same readers and, for a claim,
// the same subject and predicate, because the same words may be about two subjects.
func (r lastingRow) same(s Scope) Same {
	ground := []string{s.Tenant, s.Project, s.Scope, s.Agent, string(r.Visibility)}
	if r.Visibility == schema.VisibilityGroup {
		ground = append(ground, r.PolicyGroup)
	}
	if r.Type == schema.TypeSemantic && r.Predicate != schema.PredicateStates {
		subject := duplicates.Key(duplicates.Record{Type: schema.TypeSemantic, Content: r.Subject})
		ground = append(ground, subject, strings.ToLower(r.Predicate))
	}
	return Same{Version: r.Version, Trust: r.SourceTrust, owner: r.owned, Record: duplicates.Record{
		ID: r.ID.String(), Type: r.Type, Ground: strings.Join(ground, "\x01"), Content: r.Content, Payload: r.Payload,
		Validity: schema.Validity{Mode: r.Validity, Conditions: r.Conditions, Start: r.ValidFrom, End: r.ValidUntil},
		Who:      r.Who, OccurredAt: r.OccurredAt, CreatedAt: r.CreatedAt, Confidence: r.Confidence, Pinned: r.Pinned,
		Sensitivity: r.Sensitivity, Tags: r.Tags}}
}

func keyOf(s Same) []byte {
	sum := sha256.Sum256([]byte(duplicates.Key(s.Record)))
	return sum[:]
}

// lastingPage lists records in the order of their last change.
const lastingPage = `
	SELECT ` + lastingColumns + `
	FROM memories m
	LEFT JOIN duplicate_keys k ON k.tenant = m.tenant AND k.memory_id = m.id
	WHERE ` + inScope + ` AND ` + mergeable + `
		AND (` + changedAt + `, m.id) > (@after_at, @after_id) AND ` + changedAt + ` <= @until
	ORDER BY ` + changedAt + `, m.id
	LIMIT @limit`

// DuplicatePage is one page of the search for duplicates.
type DuplicatePage struct {
	Read   int
	IDs    []uuid.UUID   // of the facts on this page
	Groups [][]uuid.UUID // records with the same key, at least one of them on this page
	Next   Place
	More   bool
}

// FindDuplicates reads the records of a scope that changed after a place, stores the key of each, and returns
// groups of records with the same key. It changes no record.
func (t *Tidying) FindDuplicates(ctx context.Context, s Scope, after Place, until time.Time, limit int,
	now time.Time) (DuplicatePage, error) {
	var out DuplicatePage
	err := pg.RetryChange(ctx, func() error {
		out = DuplicatePage{Next: after}
		return commit.Write(ctx, t.DB, s.Tenant, now, func(c *commit.Change) error {
			rows, err := commit.Rows[lastingRow](ctx, c.Tx, lastingPage, s.args(pg.Args{"after_at": after.At,
				"after_id": after.ID, "until": until, "limit": limit}))
			if err != nil || len(rows) == 0 {
				return err
			}
			last := rows[len(rows)-1]
			out.Next, out.More = Place{At: last.ChangedAt, ID: last.ID}, len(rows) == limit
			return t.keep(ctx, c, s, rows, &out)
		})
	})
	if err != nil {
		return DuplicatePage{}, fmt.Errorf("find duplicates: %w", err)
	}
	return out, nil
}

// keep stores the keys of a page and finds the groups.
func (t *Tidying) keep(ctx context.Context, c *commit.Change, s Scope, rows []lastingRow, out *DuplicatePage) error {
	var ids []uuid.UUID
	var versions []int32
	var keys [][]byte
	for _, r := range rows {
		// A record whose key is stored may still wait for its merge, if it was found in shadow mode or by a run that
		// died.
		if r.Keyed != r.Version {
			out.Read++
		}
		if r.Type == schema.TypeSemantic {
			out.IDs = append(out.IDs, r.ID)
		}
		ids, versions, keys = append(ids, r.ID), append(versions, int32(r.Version)), append(keys, keyOf(r.same(s)))
	}
	// The statement locks the memories that still exist. A memory may have been deleted since the page was read,
	// and its key would violate the foreign key.
	_, err := c.Tx.Exec(ctx, `
		INSERT INTO duplicate_keys AS k (tenant, memory_id, version, key)
		SELECT @tenant, m.id, x.version, x.key
		FROM unnest(@ids::uuid[], @versions::integer[], @keys::bytea[]) x(id, version, key)
		JOIN memories m ON m.tenant = @tenant AND m.id = x.id AND m.live
		ORDER BY m.id
		FOR KEY SHARE OF m
		ON CONFLICT (tenant, memory_id) DO UPDATE
		SET version = excluded.version, key = excluded.key
		WHERE k.version <> excluded.version`,
		pg.Args{"tenant": s.Tenant, "ids": ids, "versions": versions, "keys": keys})
	if err != nil {
		return err
	}
	found, err := commit.Rows[struct{ IDs []uuid.UUID }](ctx, c.Tx, `
		SELECT array_agg(k.memory_id ORDER BY k.memory_id) AS ids
		FROM (SELECT DISTINCT key FROM unnest(@keys::bytea[]) u(key)) x
		CROSS JOIN LATERAL (
			SELECT memory_id
			FROM duplicate_keys
			WHERE tenant = @tenant AND key = x.key
			ORDER BY memory_id
			LIMIT @most) k
		GROUP BY x.key
		HAVING count(*) > 1
		ORDER BY x.key`, pg.Args{"tenant": s.Tenant, "keys": keys, "most": MaxSame})
	for _, g := range found {
		out.Groups = append(out.Groups, g.IDs)
	}
	return err
}

// factsPage lists facts of a scope, the last changed first.
const factsPage = `
	SELECT ` + lastingColumns + `
	FROM memories m
	LEFT JOIN duplicate_keys k ON k.tenant = m.tenant AND k.memory_id = m.id
	WHERE ` + inScope + ` AND ` + mergeable + ` AND m.type = 'semantic'
		AND (` + changedAt + `, m.id) < (@before_at, @before_id)
	ORDER BY ` + changedAt + ` DESC, m.id DESC
	LIMIT @limit`

// EachFact calls fn with the last changed facts of a scope, at most `most` of them, page by page.
func (t *Tidying) EachFact(ctx context.Context, s Scope, most int, fn func(duplicates.Record)) error {
	const page = 500
	before := Place{At: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), ID: uuid.Max}
	for left := most; left > 0; left -= page {
		var rows []lastingRow
		err := t.Read(ctx, s.Tenant, func(tx pgx.Tx) (err error) {
			rows, err = commit.Rows[lastingRow](ctx, tx, factsPage, s.args(pg.Args{"before_at": before.At,
				"before_id": before.ID, "limit": min(left, page)}))
			return err
		})
		if err != nil {
			return fmt.Errorf("read facts: %w", err)
		}
		for _, r := range rows {
			fn(r.same(s).Record)
			before = Place{At: r.ChangedAt, ID: r.ID}
		}
		if len(rows) < page {
			return nil
		}
		pg.Progressed(ctx)
	}
	return nil
}

// SameAs reads the current records of a group.
func (t *Tidying) SameAs(ctx context.Context, s Scope, ids []uuid.UUID) ([]Same, error) {
	var out []Same
	err := t.Read(ctx, s.Tenant, func(tx pgx.Tx) error {
		rows, err := commit.Rows[lastingRow](ctx, tx, `
			SELECT `+lastingColumns+`
			FROM memories m
			LEFT JOIN duplicate_keys k ON k.tenant = m.tenant AND k.memory_id = m.id
			WHERE `+inScope+` AND `+mergeable+` AND m.id = ANY(@ids)
			ORDER BY m.id`, s.args(pg.Args{"ids": ids}))
		for _, r := range rows {
			out = append(out, r.same(s))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read duplicates: %w", err)
	}
	return out, nil
}

// MergeInput is a merge to carry out.
type MergeInput struct {
	Writes
	Scope   Scope
	Records []Same // the plan's records, in the versions that were read
	Plan    duplicates.Merge
	Policy  proposals.WritePolicy
}

// Merge supersedes the duplicates with the record that is kept, links it as derived from them, and copies their
// references to it. If a record has changed since it was read, nothing is merged.
func (t *Tidying) Merge(ctx context.Context, in MergeInput) (schema.ReviseResult, error) {
	out, err := pg.RetryOnConflict(ctx, func() (schema.ReviseResult, error) {
		return pipeline.RunOnce(ctx, t.DB, in.operation(in.Scope.Tenant), pipeline.KindRevise, in.Now,
			func(c *commit.Change) (schema.ReviseResult, error) { return merge(ctx, c, in) })
	})
	if err != nil {
		return out, fmt.Errorf("merge duplicates: %w", err)
	}
	return out, nil
}

func merge(ctx context.Context, c *commit.Change, in MergeInput) (schema.ReviseResult, error) {
	byID := map[string]Same{}
	for _, r := range in.Records {
		byID[r.ID] = r
	}
	keep := byID[in.Plan.Keep]
	now := c.Now
	req := schema.ReviseRequest{Action: schema.ReviseMerge,
		Operation: schema.Operation{Principal: keep.owner.principal(in.Scope), Actor: Actor,
			Reason: "says the same (" + string(in.Plan.Kind) + ")"},
		Record: &schema.MemoryRecord{ID: keep.ID, Version: keep.Version, Type: keep.Type},
		Evidence: []schema.Ref{{Kind: "observation", Ref: "consolidation:duplicates", Hash: in.Writes.Evidence,
			Timestamp: &now}}}
	away := make([]uuid.UUID, 0, len(in.Plan.Away))
	for _, name := range in.Plan.Away {
		id, err := uuid.Parse(name)
		if err != nil {
			return schema.ReviseResult{}, err
		}
		away = append(away, id)
		req.Targets = append(req.Targets, schema.Target{ID: name, IfVersion: byID[name].Version})
	}
	kept, err := uuid.Parse(keep.ID)
	if err != nil {
		return schema.ReviseResult{}, err
	}
	result, err := edit.ReviseWithin(ctx, c, edit.ReviseInput{Operation: in.operation(in.Scope.Tenant), Request: req,
		Policy: in.Policy, Now: c.Now, Kept: &edit.Kept{
			Confidence: in.Plan.Confidence, Tags: append([]string{}, in.Plan.Tags...)}})
	if err != nil || result.Status != schema.ReviseApplied {
		return result, err
	}
	refs, err := commit.Rows[schema.Ref](ctx, c.Tx, `
		SELECT DISTINCT ON (p.kind, p.ref) p.kind, p.ref, coalesce(p.hash, '') AS hash, p.at AS timestamp
		FROM memory_provenance p
		WHERE p.tenant = @tenant AND p.memory_id = ANY(@away)
		ORDER BY p.kind, p.ref
		LIMIT @most`, pg.Args{"tenant": c.Tenant, "away": away, "most": schema.MaxRecordRefs})
	for _, ref := range refs {
		c.AddEvidence(kept, ref)
	}
	return result, err
}
