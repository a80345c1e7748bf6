package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// wasReviewed selects proposals p that have been through a review: the condition of the index proposals_reviewed.
// pg.WaitsForReview selects those that wait for one. Proposals of shadow and frozen modes are never applied.
const wasReviewed = `p.reviewed_at IS NOT NULL`

// reviewTables joins to a proposal p its batch b, its candidate c, its source s and its target t.
const reviewTables = `
	FROM proposals p
		JOIN ingest_batches b ON b.tenant = p.tenant AND b.id = p.batch_id
		JOIN memory_candidates c ON c.tenant = p.tenant AND c.id = p.candidate_id
		LEFT JOIN memories s ON s.tenant = p.tenant AND s.id = c.memory_id
		LEFT JOIN memories t ON t.tenant = p.tenant AND t.id = p.target_id`

var (
	// mayReview admits a proposal if the principal may read each side of it, because a review shows both.
	mayReview = commit.MayReadAs("b") + `
		AND (s.id IS NULL OR ` + commit.MayReadAs("s") + `)
		AND (t.id IS NULL OR ` + commit.MayReadAs("t") + `)`
	// reviewInScope admits a proposal if each side of it is in the scopes of the listing.
	reviewInScope = inListedScopes("b") + `
		AND (s.id IS NULL OR ` + inListedScopes("s") + `)
		AND (t.id IS NULL OR ` + inListedScopes("t") + `)`
	// mayReadSides admits a proposal if no side is too sensitive for the principal. A source that is not stored, as in
	// shadow mode, is as sensitive as its candidate.
	mayReadSides = `c.sensitivity = ANY(@sensitivities)
		AND (s.id IS NULL OR s.sensitivity = ANY(@sensitivities))
		AND (t.id IS NULL OR t.sensitivity = ANY(@sensitivities))`
	// offeredShown are the memories that the decision on a proposal was offered, without those that the principal may
	// not read.
	offeredShown = `coalesce((
		SELECT jsonb_agg(x.ref ORDER BY x.n)
		FROM jsonb_array_elements(p.offered) WITH ORDINALITY x(ref, n)
		WHERE NOT ` + hiddenFrom("(x.ref->>'id')::uuid") + `), '[]')`
	// proposalReason is the decision's reason. It may quote any memory that was offered, so it is withheld if the
	// principal may not read one of them.
	proposalReason = `CASE WHEN EXISTS (
			SELECT FROM jsonb_array_elements(p.offered) x(ref)
			WHERE ` + hiddenFrom("(x.ref->>'id')::uuid") + `)
		THEN ` + pg.QuoteLiteral(memory.WithheldReason) + ` ELSE p.reason END`
)

// inListedScopes renders the condition that a batch or memory is in the scopes of a listing (listedScopes).
func inListedScopes(alias string) string {
	return `(@scopes::text[] IS NULL OR ` + alias + `.scope = ANY(@scopes))`
}

// listedScopes returns the scopes that a listing for a principal shows: those that the principal reads, and those that
// a clearance grants. With all it returns nil: every scope that the principal may read.
func listedScopes(p schema.Principal, all bool, clearance []policy.Clearance) []string {
	if all {
		return nil
	}
	scopes := p.ReadScopes()
	if len(clearance) > 0 {
		scopes = append(scopes, clearance[0].Scopes...)
	}
	return scopes
}

// hiddenFrom renders the condition that a memory exists and the principal may not read it.
func hiddenFrom(id string) string {
	return `EXISTS (
			SELECT FROM memories h
			WHERE h.tenant = @tenant AND h.id = ` + id + `
				AND NOT (` + commit.MayReadAs("h") + ` AND h.sensitivity = ANY(@sensitivities)))`
}

// reviewColumns fill a reviewRow.
var reviewColumns = `
	p.id AS proposal_id, p.batch_id, p.state, p.action, p.outcome, p.fact AS extracted,
	` + proposalReason + ` AS reason, p.warnings, p.contradiction_risk, ` + offeredShown + ` AS offered_refs,
	c.memory_id AS source_id, coalesce(s.content, '') AS source, c.refs AS evidence,
	coalesce(p.target_id::text, '') AS target_id,
	coalesce(p.target_version, 0) AS target_version,
	CASE WHEN p.memory_id IS NULL OR ` + hiddenFrom("p.memory_id") + ` THEN '' ELSE p.memory_id::text END AS memory_id,
	t.id IS NOT NULL AS has_target,
	coalesce(t.version, 0) AS now_version,
	coalesce(t.status, '') AS now_status,
	coalesce(t.live, false) AS now_live,
	coalesce(t.pinned, false) AS now_pinned,
	coalesce(t.content, '') AS now_content,
	coalesce(t.confidence, 0) AS now_confidence,
	p.decided_at, p.expires_at AS expires, p.reviewed_by, p.review_reason, p.reviewed_at`

// reviewRow is a ReviewItem, and the columns that the rest of it is computed from.
type reviewRow struct {
	schema.ReviewItem
	Extracted     memory.Fact
	OfferedRefs   []offeredRef
	HasTarget     bool // the target exists; what follows is its current state
	NowVersion    int
	NowStatus     schema.Status
	NowLive       bool
	NowPinned     bool
	NowContent    string
	NowConfidence float64
	Expires       *time.Time
}

func scanReview(row pgx.CollectableRow) (schema.ReviewItem, error) {
	found, err := pgx.RowToStructByNameLax[reviewRow](row)
	r := found.ReviewItem
	r.Fact, r.Category, r.Confidence = found.Extracted.Content, found.Extracted.Category, found.Extracted.Confidence
	if found.HasTarget {
		r.TargetNow = &schema.Side{ID: r.TargetID, Version: found.NowVersion, Status: found.NowStatus,
			Live: found.NowLive, Pinned: found.NowPinned, Content: found.NowContent,
			Confidence: found.NowConfidence}
	}
	for _, o := range found.OfferedRefs {
		r.Offered = append(r.Offered, schema.Target{ID: o.ID, IfVersion: o.Version})
	}
	if found.Expires != nil {
		r.ExpiresAt = *found.Expires
	}
	return r, err
}

// ReviewFilter narrows a listing of reviews.
type ReviewFilter struct {
	State          schema.ReviewFilter // empty means waiting
	Contradictions bool                // only those that seem to contradict their target
	AllScopes      bool                // of every scope that the principal may read, those of users included
}

// ListReviews returns proposals that wait for a person or have been reviewed, newest first. The principal must be
// able to read the source and the target within the clearance, and both must be in the principal's scope, unless the
// filter asks for all scopes. The page's cursor is the id of the last proposal of the previous page.
func (s *Pipeline) ListReviews(ctx context.Context, p schema.Principal, f ReviewFilter, page pg.Page,
	clearance ...policy.Clearance) ([]schema.ReviewItem, error) {
	page.Limit = pg.PageLimit(page.Limit)
	var before *uuid.UUID
	if page.Before != "" {
		id, err := uuid.Parse(page.Before)
		if err != nil {
			return nil, &schema.ValidationError{Fields: []schema.FieldError{{Field: "before",
				Problem: "must be a proposal id"}}}
		}
		before = &id
	}
	one := func(state string) string {
		if f.Contradictions {
			state += ` AND p.contradiction_risk`
		}
		return `(
			SELECT ` + reviewColumns + reviewTables + `
			WHERE p.tenant = @tenant
				AND ` + mayReview + `
				AND ` + reviewInScope + `
				AND ` + mayReadSides + `
				AND (@before::uuid IS NULL OR (p.decided_at, p.id) < (
					SELECT decided_at, id FROM proposals WHERE tenant = @tenant AND id = @before))
				AND ` + state + `
			ORDER BY p.decided_at DESC, p.id DESC
			LIMIT @limit)`
	}
	var query string
	switch f.State {
	case schema.ReviewsDecided:
		query = one(wasReviewed)
	case schema.ReviewsAll: // each half uses its own index
		query = `
			SELECT *
			FROM (` + one(pg.WaitsForReview) + ` UNION ALL ` + one(wasReviewed) + `) r
			ORDER BY decided_at DESC, proposal_id DESC
			LIMIT @limit`
	default:
		query = one(pg.WaitsForReview)
	}
	out := []schema.ReviewItem{}
	err := s.Read(ctx, p.Tenant, func(tx pgx.Tx) error {
		if err := knownCursor(ctx, tx, p.Tenant, before); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, query, asking(p, pg.ReadGrants(p), pg.Args{
			"scopes":        listedScopes(p, f.AllScopes, clearance),
			"sensitivities": pg.ClearedSensitivities(clearance),
			"before":        before,
			"limit":         page.Limit,
		}))
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, scanReview)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list reviews: %w", err)
	}
	return out, nil
}

// LateReviews returns at most limit batches with proposals that wait although their review should have ended before a
// time, or that began to wait before it and have no review yet.
func (s *Pipeline) LateReviews(ctx context.Context, tenant string, before time.Time, limit int) (late []uuid.UUID,
	err error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	err = s.Read(ctx, tenant, func(tx pgx.Tx) error {
		late, err = commit.Values[uuid.UUID](ctx, tx, `
			SELECT DISTINCT p.batch_id
			FROM proposals p
			WHERE p.tenant = @tenant AND p.decided_at < @before AND coalesce(p.expires_at, p.decided_at) < @before
				AND `+pg.WaitsForReview+`
			LIMIT @limit`, pg.Args{"tenant": tenant, "before": before.UTC(), "limit": limit})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list late reviews: %w", err)
	}
	return late, nil
}

// knownCursor refuses a cursor that names no proposal of the tenant, for example because it was purged: a page after it
// would be empty, as after the last one.
func knownCursor(ctx context.Context, tx pgx.Tx, tenant string, id *uuid.UUID) error {
	if id == nil {
		return nil
	}
	var known bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM proposals WHERE tenant = $1 AND id = $2)`, tenant,
		*id).Scan(&known)
	if err == nil && !known {
		err = &schema.ValidationError{Fields: []schema.FieldError{{Field: "before",
			Problem: "names no proposal that is still stored: begin with the first page"}}}
	}
	return err
}

// GetReview reads a proposal in any state. It returns ErrNotFound if the principal may not see all sides of it
// within the clearance.
func (s *Pipeline) GetReview(ctx context.Context, p schema.Principal, id uuid.UUID,
	clearance ...policy.Clearance) (schema.ReviewItem, error) {
	var r schema.ReviewItem
	err := s.Read(ctx, p.Tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT `+reviewColumns+reviewTables+`
			WHERE p.tenant = @tenant
				AND p.id = @id
				AND `+mayReview+`
				AND `+mayReadSides,
			asking(p, pg.ReadGrants(p), pg.Args{
				"id":            id,
				"sensitivities": pg.ClearedSensitivities(clearance),
			}))
		if err != nil {
			return err
		}
		r, err = pgx.CollectExactlyOneRow(rows, scanReview)
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return r, fmt.Errorf("proposal %s: %w", id, pg.ErrNotFound)
	}
	if err != nil {
		return r, fmt.Errorf("read proposal: %w", err)
	}
	return r, nil
}
