package pipeline

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// Contradictions returns both sides of what contradicts: first the pairs of contested memories, the
// latest first, then the waiting proposals that seem to contradict what they would replace (document
// 002 "Contradiction Detection", document 004 §7 and §12). It shows only what the principal may look
// at on both sides, within the clearance. The page's cursor is that of the last contradiction of the page before.
func (s *Pipeline) Contradictions(ctx context.Context, p schema.Principal, page pg.Page,
	clearance ...policy.Clearance) ([]schema.Contradiction, error) {
	page.Limit = pg.PageLimit(page.Limit)
	pairs, left, right, proposal, err := parseContradictionCursor(page.Before)
	if err != nil {
		return nil, err
	}
	out := []schema.Contradiction{}
	err = s.Read(ctx, p.Tenant, func(tx pgx.Tx) error {
		if pairs {
			rows, err := tx.Query(ctx, contestedPairs, p.Tenant, left, p.Agent, p.Project, pg.ReadGrants(p), right,
				page.Limit, pg.ClearedSensitivities(clearance))
			if err != nil {
				return err
			}
			if out, err = pgx.CollectRows(rows, scanPair); err != nil {
				return err
			}
		}
		if len(out) == page.Limit {
			return nil
		}
		rows, err := tx.Query(ctx, contradictingProposals, p.Tenant, proposal, p.Agent, p.Project, pg.ReadGrants(p),
			page.Limit-len(out), pg.ClearedSensitivities(clearance))
		if err != nil {
			return err
		}
		more, err := pgx.CollectRows(rows, scanContradictingProposal)
		out = append(out, more...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list contradictions: %w", err)
	}
	return out, nil
}

// contestedPairs finds every pair once, from its younger memory, whichever of the two says that it
// contradicts the other.
var contestedPairs = `
	SELECT l.id, l.version, l.status, l.pinned, l.content, l.confidence, r.id, r.version, r.status, r.pinned, r.content,
	r.confidence, e.reason, e.since
	FROM memories l CROSS JOIN LATERAL (
		SELECT edge.id, max(edge.reason) AS reason, min(edge.created_at) AS since FROM (
			SELECT target_id AS id, reason, created_at FROM memory_relations WHERE tenant = $1 AND source_id = l.id
			AND predicate = 'contradicts'
			UNION ALL
			SELECT source_id, reason, created_at FROM memory_relations WHERE tenant = $1 AND target_id = l.id
			AND predicate = 'contradicts') edge
		WHERE edge.id < l.id GROUP BY edge.id) e
	JOIN memories r ON r.tenant = $1 AND r.id = e.id AND r.status = 'contested' AND r.live
	WHERE l.tenant = $1 AND l.status = 'contested' AND l.deleted_at IS NULL AND l.live AND ` + pg.MayReadAs("l") +
	` AND ` + pg.MayReadAs("r") + `
		AND l.sensitivity = ANY($8) AND r.sensitivity = ANY($8)
		AND ($2::uuid IS NULL OR (l.id, r.id) < ($2::uuid, $6::uuid))
	ORDER BY l.id DESC, r.id DESC LIMIT $7`

var contradictingProposals = `
	SELECT p.id, p.fact, coalesce(t.id, s.id), coalesce(t.version, s.version), coalesce(t.status, s.status),
	coalesce(t.live, s.live), coalesce(t.pinned, s.pinned),
		coalesce(t.content, s.content), coalesce(t.confidence, s.confidence), p.reason, p.decided_at
	FROM proposals p
		JOIN ingest_batches b ON b.tenant = p.tenant AND b.id = p.batch_id
		LEFT JOIN memories t ON t.tenant = p.tenant AND t.id = p.target_id
		LEFT JOIN memories s ON s.tenant = p.tenant AND s.id = p.memory_id
	WHERE p.tenant = $1 AND p.contradiction_risk AND ` + pg.WaitsForReview + ` AND ` + pg.MayReadAs("b") + `
		AND (t.id IS NULL OR ` + pg.MayReadAs("t") + `) AND (s.id IS NULL OR ` + pg.MayReadAs("s") + `)
		AND coalesce(t.id, s.id) IS NOT NULL
		AND (t.id IS NULL OR t.sensitivity = ANY($7)) AND (s.id IS NULL OR s.sensitivity = ANY($7))
		AND ($2::uuid IS NULL OR (p.decided_at, p.id) < (SELECT decided_at, id FROM proposals WHERE tenant = $1
			AND id = $2))
	ORDER BY p.decided_at DESC, p.id DESC LIMIT $6`

func scanPair(row pgx.CollectableRow) (schema.Contradiction, error) {
	c := schema.Contradiction{Kind: schema.ContradictionOfMemories}
	var left, right uuid.UUID
	l, r := &c.Left, &c.Right
	err := row.Scan(&left, &l.Version, &l.Status, &l.Pinned, &l.Content, &l.Confidence, &right, &r.Version, &r.Status,
		&r.Pinned, &r.Content, &r.Confidence,
		&c.Reason, &c.Since)
	l.ID, r.ID, l.Live, r.Live = left.String(), right.String(), true, true
	c.Cursor = l.ID + cursorBetween + r.ID
	return c, err
}

// scanContradictingProposal shows the fact with what it would replace: its target, or the memory that makes its
// claim.
func scanContradictingProposal(row pgx.CollectableRow) (schema.Contradiction, error) {
	c := schema.Contradiction{Kind: schema.ContradictionOfProposal}
	var id, current uuid.UUID
	var fact memory.Fact
	r := &c.Right
	if err := row.Scan(&id, &fact, &current, &r.Version, &r.Status, &r.Live, &r.Pinned, &r.Content, &r.Confidence,
		&c.Reason, &c.Since); err != nil {
		return c, err
	}
	c.ProposalID, r.ID = id.String(), current.String()
	c.Left = schema.Side{Content: fact.Content, Confidence: fact.Confidence}
	c.Cursor = c.ProposalID
	return c, nil
}

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
