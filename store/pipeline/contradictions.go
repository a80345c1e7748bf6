package pipeline

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// Contradictions returns both sides of each contradiction: first the pairs of contested memories, latest first,
// then the waiting proposals that seem to contradict the memory they would replace (document 002 "Contradiction
// Detection", document 004 §7 and §12). It returns a contradiction only if the principal may see both sides within
// the clearance and both are in the principal's scope, as in a list of memories. The page's cursor is that of the last
// contradiction of the previous page.
func (s *Pipeline) Contradictions(ctx context.Context, p schema.Principal, page pg.Page,
	clearance ...policy.Clearance) ([]schema.Contradiction, error) {
	return s.contradictions(ctx, p, listedScopes(p, false, clearance), page, clearance)
}

// AllContradictions is Contradictions for every scope that the principal may read, those of users included.
func (s *Pipeline) AllContradictions(ctx context.Context, p schema.Principal, page pg.Page,
	clearance ...policy.Clearance) ([]schema.Contradiction, error) {
	return s.contradictions(ctx, p, nil, page, clearance)
}

// contradictions lists the contradictions in scopes, or in all that the principal may read if scopes is nil.
func (s *Pipeline) contradictions(ctx context.Context, p schema.Principal, scopes []string, page pg.Page,
	clearance []policy.Clearance) ([]schema.Contradiction, error) {
	page.Limit = pg.PageLimit(page.Limit)
	pairs, left, right, proposal, err := parseContradictionCursor(page.Before)
	if err != nil {
		return nil, err
	}
	out := []schema.Contradiction{}
	err = s.Read(ctx, p.Tenant, func(tx pgx.Tx) error {
		if err := knownCursor(ctx, tx, p.Tenant, proposal); err != nil {
			return err
		}
		if pairs {
			found, err := commit.Rows[contestedPair](ctx, tx, contestedPairs, asking(p, pg.ReadGrants(p),
				pg.Args{
					"scopes":        scopes,
					"left":          left,
					"right":         right,
					"sensitivities": pg.ClearedSensitivities(clearance),
					"limit":         page.Limit,
				}))
			if err != nil {
				return err
			}
			for _, pair := range found {
				out = append(out, pair.contradiction())
			}
		}
		if len(out) == page.Limit {
			return nil
		}
		found, err := commit.Rows[contradictingProposal](ctx, tx, contradictingProposals, asking(p, pg.ReadGrants(p),
			pg.Args{
				"scopes":        scopes,
				"before":        proposal,
				"sensitivities": pg.ClearedSensitivities(clearance),
				"limit":         page.Limit - len(out),
			}))
		if err != nil {
			return err
		}
		for _, one := range found {
			out = append(out, one.contradiction())
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list contradictions: %w", err)
	}
	return out, nil
}

// contestedPair is a row of contestedPairs.
type contestedPair struct {
	LeftID         uuid.UUID
	LeftVersion    int
	LeftStatus     schema.Status
	LeftPinned     bool
	LeftContent    string
	LeftConfidence float64

	RightID         uuid.UUID
	RightVersion    int
	RightStatus     schema.Status
	RightPinned     bool
	RightContent    string
	RightConfidence float64

	Reason string
	Since  time.Time
}

func (p contestedPair) contradiction() schema.Contradiction {
	c := schema.Contradiction{Kind: schema.ContradictionOfMemories, Reason: p.Reason, Since: p.Since}
	c.Left = schema.Side{ID: p.LeftID.String(), Version: p.LeftVersion, Status: p.LeftStatus, Live: true,
		Pinned: p.LeftPinned, Content: p.LeftContent, Confidence: p.LeftConfidence}
	c.Right = schema.Side{ID: p.RightID.String(), Version: p.RightVersion, Status: p.RightStatus, Live: true,
		Pinned: p.RightPinned, Content: p.RightContent, Confidence: p.RightConfidence}
	c.Cursor = c.Left.ID + cursorBetween + c.Right.ID
	return c
}

// contestedPairs finds each pair once, from the younger memory l, in either direction of the relation.
var contestedPairs = `
	SELECT l.id AS left_id, l.version AS left_version, l.status AS left_status, l.pinned AS left_pinned,
		l.content AS left_content, l.confidence AS left_confidence,
		r.id AS right_id, r.version AS right_version, r.status AS right_status, r.pinned AS right_pinned,
		r.content AS right_content, r.confidence AS right_confidence,
		e.reason, e.since
	FROM memories l
		CROSS JOIN LATERAL (
			SELECT edge.id, max(edge.reason) AS reason, min(edge.created_at) AS since
			FROM (
				SELECT target_id AS id, reason, created_at
				FROM memory_links
				WHERE tenant = @tenant AND source_id = l.id AND predicate = 'contradicts'
				UNION ALL
				SELECT source_id, reason, created_at
				FROM memory_links
				WHERE tenant = @tenant AND target_id = l.id AND predicate = 'contradicts') edge
			WHERE edge.id < l.id
			GROUP BY edge.id) e
		JOIN memories r ON r.tenant = @tenant AND r.id = e.id AND r.status = 'contested' AND r.live
	WHERE l.tenant = @tenant
		AND l.status = 'contested'
		AND l.deleted_at IS NULL
		AND l.live
		AND ` + commit.MayReadAs("l") + `
		AND ` + commit.MayReadAs("r") + `
		AND ` + inListedScopes("l") + `
		AND ` + inListedScopes("r") + `
		AND l.sensitivity = ANY(@sensitivities)
		AND r.sensitivity = ANY(@sensitivities)
		AND (@left::uuid IS NULL OR (l.id, r.id) < (@left::uuid, @right::uuid))
	ORDER BY l.id DESC, r.id DESC
	LIMIT @limit`

// contradictingProposal is a row of contradictingProposals: a fact, and the memory that it now contradicts.
type contradictingProposal struct {
	ProposalID    uuid.UUID
	Fact          memory.Fact
	NowID         uuid.UUID
	NowVersion    int
	NowStatus     schema.Status
	NowLive       bool
	NowPinned     bool
	NowContent    string
	NowConfidence float64
	Reason        string
	DecidedAt     time.Time
}

func (p contradictingProposal) contradiction() schema.Contradiction {
	c := schema.Contradiction{Kind: schema.ContradictionOfProposal, ProposalID: p.ProposalID.String(),
		Reason: p.Reason, Since: p.DecidedAt}
	c.Left = schema.Side{Content: p.Fact.Content, Confidence: p.Fact.Confidence}
	c.Right = schema.Side{ID: p.NowID.String(), Version: p.NowVersion, Status: p.NowStatus, Live: p.NowLive,
		Pinned: p.NowPinned, Content: p.NowContent, Confidence: p.NowConfidence}
	c.Cursor = c.ProposalID
	return c
}

// contradictingProposals finds each waiting fact with the memory that it would replace: its target t, or the memory
// s that makes its claim. The fact is from the source o, which limits who sees it.
var contradictingProposals = `
	SELECT p.id AS proposal_id, p.fact, ` + proposalReason + ` AS reason, p.decided_at,
		coalesce(t.id, s.id) AS now_id,
		coalesce(t.version, s.version) AS now_version,
		coalesce(t.status, s.status) AS now_status,
		coalesce(t.live, s.live) AS now_live,
		coalesce(t.pinned, s.pinned) AS now_pinned,
		coalesce(t.content, s.content) AS now_content,
		coalesce(t.confidence, s.confidence) AS now_confidence
	FROM proposals p
		JOIN ingest_batches b ON b.tenant = p.tenant AND b.id = p.batch_id
		JOIN memory_candidates c ON c.tenant = p.tenant AND c.id = p.candidate_id
		LEFT JOIN memories o ON o.tenant = p.tenant AND o.id = c.memory_id
		LEFT JOIN memories t ON t.tenant = p.tenant AND t.id = p.target_id
		LEFT JOIN memories s ON s.tenant = p.tenant AND s.id = p.memory_id
	WHERE p.tenant = @tenant
		AND p.contradiction_risk
		AND ` + pg.WaitsForReview + `
		AND ` + commit.MayReadAs("b") + `
		AND (o.id IS NULL OR ` + commit.MayReadAs("o") + `)
		AND (t.id IS NULL OR ` + commit.MayReadAs("t") + `)
		AND (s.id IS NULL OR ` + commit.MayReadAs("s") + `)
		AND ` + inListedScopes("b") + `
		AND (o.id IS NULL OR ` + inListedScopes("o") + `)
		AND (t.id IS NULL OR ` + inListedScopes("t") + `)
		AND (s.id IS NULL OR ` + inListedScopes("s") + `)
		AND coalesce(t.id, s.id) IS NOT NULL
		AND c.sensitivity = ANY(@sensitivities)
		AND (o.id IS NULL OR o.sensitivity = ANY(@sensitivities))
		AND (t.id IS NULL OR t.sensitivity = ANY(@sensitivities))
		AND (s.id IS NULL OR s.sensitivity = ANY(@sensitivities))
		AND (@before::uuid IS NULL OR (p.decided_at, p.id) < (
			SELECT decided_at, id FROM proposals WHERE tenant = @tenant AND id = @before))
	ORDER BY p.decided_at DESC, p.id DESC
	LIMIT @limit`

const cursorBetween = "+"

// parseContradictionCursor reads a cursor: two memory ids within the pairs, or a proposal's id.
func parseContradictionCursor(cursor string) (pairs bool, left, right, proposal *uuid.UUID, err error) {
	if cursor == "" {
		return true, nil, nil, nil, nil
	}
	var ids []*uuid.UUID
	for _, part := range strings.Split(cursor, cursorBetween) {
		id, err := uuid.Parse(part)
		if err != nil {
			return false, nil, nil, nil, badCursor()
		}
		ids = append(ids, &id)
	}
	switch len(ids) {
	case 1:
		return false, nil, nil, ids[0], nil
	case 2:
		return true, ids[0], ids[1], nil, nil
	}
	return false, nil, nil, nil, badCursor()
}

func badCursor() error {
	return &schema.ValidationError{Fields: []schema.FieldError{{Field: "before",
		Problem: "must be the cursor of a contradiction"}}}
}
