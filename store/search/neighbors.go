package search

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// NeighborQuery asks for the memories that a fact may repeat, refine or contradict.
type NeighborQuery struct {
	Fact      memory.Fact
	Exclude   uuid.UUID     // the source of the fact
	Embedding *pg.Embedding // nil leaves the vector channel out
	At        time.Time     // of the decision; memories whose time is over then are not offered. Zero offers them
}

// neighborScan is up to how many memories of a tenant the vectors of a batch are compared one by one. The vectors are
// read once for all queries. Above it each query asks the index, which costs a tenant that is alone in it half as much
// at 4,000 memories, and finds little of one that is a small part of it.
const neighborScan = 2000

// Neighbors runs a focused hybrid search for each fact: identical content, the same subject and
// predicate, full text and vectors. It returns the best five each, best first. The space is the
// owner's own: same agent, project and scope. The source memory, memories that are not live, and episodes
// that lasting records speak for never take a place among the five.
//
// All facts are searched together, in a fixed number of statements. None of them leaves the planner a choice that can
// go wrong: when its statistics do not know the tenant, it takes the tenant for one row, and a join to the tenant's
// rows costs as many reads for every fact as the tenant has memories. So ids are collected first and rows are read
// by their ids, as a set.
func (s *Search) Neighbors(ctx context.Context, owner schema.Principal, queries []NeighborQuery) ([][]memory.Neighbor,
	error) {
	ctx = pg.WithClass(ctx, pg.ClassPipeline)
	if len(queries) == 0 {
		return [][]memory.Neighbor{}, nil
	}
	search := neighborSearch{owner: owner, queries: queries, scan: cmp.Or(s.ScanUpTo, neighborScan),
		best: make([]map[uuid.UUID]float64, len(queries))}
	for i := range search.best {
		search.best[i] = map[uuid.UUID]float64{}
	}
	err := s.Read(ctx, owner.Tenant, func(tx pgx.Tx) error {
		if err := search.collect(ctx, tx); err != nil {
			return err
		}
		return search.load(ctx, tx)
	})
	if err != nil {
		return nil, fmt.Errorf("find neighbours: %w", err)
	}
	out := make([][]memory.Neighbor, len(queries))
	for i := range queries {
		out[i] = proposals.Offer(queries[i].Fact, search.ranked(i))
	}
	return out, nil
}

// neighborSearch is one search for the neighbours of several facts.
type neighborSearch struct {
	owner   schema.Principal
	queries []NeighborQuery
	scan    int64                   // up to how many memories vectors are compared one by one
	best    []map[uuid.UUID]float64 // by query: the score of each memory in its best channel
	found   map[uuid.UUID]foundNeighbor
}

// foundNeighbor is a memory of the owner's space.
type foundNeighbor struct {
	memory.Neighbor
	id         uuid.UUID
	validUntil *time.Time
}

// hit notes that a channel found a memory for a query.
func (x *neighborSearch) hit(query int, id uuid.UUID, score float64) {
	if score >= proposals.MinNeighborScore && id != x.queries[query].Exclude {
		x.best[query][id] = max(x.best[query][id], score)
	}
}

// collect asks every channel for ids, in one round trip.
func (x *neighborSearch) collect(ctx context.Context, tx pgx.Tx) error {
	texts := make([]string, len(x.queries))
	for i, q := range x.queries {
		texts[i] = q.Fact.Content
	}
	plans, corpus, err := textPlans(ctx, tx, x.owner.Tenant, texts, rank.FocusedSearch)
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	x.queueSame(b)
	x.queueClaims(b)
	x.queueText(b, plans)
	x.queueVectors(b, corpus.Docs)
	return tx.SendBatch(ctx, b).Close()
}

// inOwnersSpace renders that the memory m is live and in the owner's space.
func (x *neighborSearch) inOwnersSpace(m string, p *pg.Params) string {
	return m + ".live AND " + m + ".agent_id = " + p.Add(x.owner.Agent) +
		" AND " + m + ".project = " + p.Add(x.owner.Project) + " AND " + m + ".scope = " + p.Add(x.owner.Scope)
}

// mayBeOffered renders that the memory m may be offered to the query q.
const mayBeOffered = `m.id <> q.exclude AND (m.valid_until IS NULL OR q.at IS NULL OR m.valid_until > q.at)`

// queryTable renders the queries as a table q(n, exclude, at) and further columns.
func (x *neighborSearch) queryTable(p *pg.Params, names []string, arrays ...string) string {
	exclude, at := make([]uuid.UUID, len(x.queries)), make([]*time.Time, len(x.queries))
	for i, q := range x.queries {
		exclude[i] = q.Exclude
		if !q.At.IsZero() {
			utc := q.At.UTC()
			at[i] = &utc
		}
	}
	arrays = append([]string{p.Add(exclude) + "::uuid[]", p.Add(at) + "::timestamptz[]"}, arrays...)
	names = append([]string{"exclude", "at"}, names...)
	return `q AS MATERIALIZED (SELECT u.* FROM unnest(` + strings.Join(arrays, ", ") +
		`) WITH ORDINALITY u(` + strings.Join(names, ", ") + `, n))`
}

// hits has a query's rows (n, id, score) noted.
func (x *neighborSearch) hits(b *pgx.Batch, query string, p pg.Params) {
	b.Queue(query, p...).Query(func(rows pgx.Rows) error {
		var n int
		var id uuid.UUID
		var score float64
		_, err := pgx.ForEachRow(rows, []any{&n, &id, &score}, func() error { x.hit(n-1, id, score); return nil })
		return err
	})
}

// queueSame asks for memories with the same content.
func (x *neighborSearch) queueSame(b *pgx.Batch) {
	asking, hashes := map[string][]int{}, make([][]byte, len(x.queries))
	for i, q := range x.queries {
		hashes[i] = normalize.Normalize(q.Fact.Content).Hash
		asking[string(hashes[i])] = append(asking[string(hashes[i])], i)
	}
	var p pg.Params
	query := `SELECT m.content_hash, m.id FROM memories m
		WHERE m.tenant = ` + p.Add(x.owner.Tenant) + ` AND m.content_hash = ANY(` + p.Add(hashes) + `)
		AND ` + x.inOwnersSpace("m", &p)
	b.Queue(query, p...).Query(func(rows pgx.Rows) error {
		var hash []byte
		var id uuid.UUID
		_, err := pgx.ForEachRow(rows, []any{&hash, &id}, func() error {
			for _, i := range asking[string(hash)] {
				x.hit(i, id, proposals.SameContentScore)
			}
			return nil
		})
		return err
	})
}

// queueClaims asks for the newest claims of the same subject and predicate. The index has them by time, so that a
// subject with many memories costs no more than another.
func (x *neighborSearch) queueClaims(b *pgx.Batch) {
	subject, predicate := make([]string, len(x.queries)), make([]string, len(x.queries))
	stated := false
	for i, q := range x.queries {
		if !q.Fact.Claim.IsZero() {
			subject[i], predicate[i], stated = strings.ToLower(q.Fact.Claim.Subject), q.Fact.Claim.Predicate, true
		}
	}
	if !stated {
		return
	}
	var p pg.Params
	asked := x.queryTable(&p, []string{"subject", "predicate"}, p.Add(subject)+"::text[]", p.Add(predicate)+"::text[]")
	x.hits(b, fmt.Sprintf(`WITH %s SELECT q.n, h.memory_id, %g::float8 FROM q CROSS JOIN LATERAL (
			SELECT e.memory_id FROM entity_claims e CROSS JOIN %s
			WHERE e.tenant = %s AND e.subject_key = q.subject AND e.predicate = q.predicate AND %s AND %s
			ORDER BY e.created_at DESC LIMIT %d) h WHERE q.subject <> ''`,
		asked, proposals.SameClaimScore, pg.ByKey("m", "e.tenant", "e.memory_id"), p.Add(x.owner.Tenant),
		x.inOwnersSpace("m", &p), mayBeOffered, proposals.NeighborsPerChannel), p)
}

// queueText asks full text. Facts with fewer terms than the widest are padded with terms that match nothing and weigh
// nothing.
func (x *neighborSearch) queueText(b *pgx.Batch, plans []rank.TextPlan) {
	n, width := len(plans), 0
	for _, plan := range plans {
		width = max(width, len(plan.Terms))
	}
	if width == 0 {
		return
	}
	match, lexemes, weights := make([]string, n), make([][]string, width), make([][]float64, width)
	for t := range width {
		lexemes[t], weights[t] = make([]string, n), make([]float64, n)
	}
	for i, plan := range plans {
		if plan.IsEmpty() {
			continue
		}
		match[i] = plan.Match(quoteLexeme)
		for t, term := range plan.Terms {
			lexemes[t][i], weights[t][i] = quoteLexeme(term.Lexeme), term.Weight
		}
	}
	var p pg.Params
	names, arrays := []string{"match"}, []string{p.Add(match) + "::text[]::tsquery[]"}
	terms := make([]string, 0, width)
	for t := range width {
		arrays = append(arrays, p.Add(lexemes[t])+"::text[]::tsquery[]", p.Add(weights[t])+"::float8[]")
		names = append(names, fmt.Sprintf("t%d", t), fmt.Sprintf("w%d", t))
		terms = append(terms, fmt.Sprintf("q.w%d * ts_rank(m.tsv, q.t%d)", t, t))
	}
	scale := plans[slices.IndexFunc(plans, func(t rank.TextPlan) bool { return !t.IsEmpty() })]
	score := lengthNormalised("m", strings.Join(terms, " + "), scale, &p)
	// OFFSET 0 keeps the planner from serving the space's conditions with another index.
	x.hits(b, fmt.Sprintf(`WITH %s SELECT q.n, h.id, h.score FROM q CROSS JOIN LATERAL (
			SELECT m.id, %s AS score FROM (SELECT * FROM memory_text s WHERE s.tsv @@ q.match AND s.live OFFSET 0) m
			WHERE %s AND %s ORDER BY score DESC, m.id LIMIT %d) h`,
		x.queryTable(&p, names, arrays...), score, x.inOwnersSpace("m", &p), mayBeOffered,
		proposals.NeighborsPerChannel), p)
}

// queueVectors asks for the nearest vectors of each class. What is asked is the size of the tenant, which is counted
// with every change, and not the planner, which guesses it.
func (x *neighborSearch) queueVectors(b *pgx.Batch, docs int64) {
	vectors := make([]*string, len(x.queries))
	var model inference.EmbeddingModel
	for i, q := range x.queries {
		if q.Embedding != nil {
			text := pgvector.NewVector(q.Embedding.Vector).String()
			vectors[i], model = &text, q.Embedding.Model
		}
	}
	if model.Name == "" {
		return
	}
	if docs <= x.scan {
		x.queueScan(b, model, vectors)
		return
	}
	var p pg.Params
	tenant, place := p.Add(x.owner.Tenant), x.inOwnersSpace("m", &p)
	asked := x.queryTable(&p, []string{"vec"}, p.Add(vectors)+"::text[]::vector[]")
	limit := p.Add(proposals.NeighborsPerChannel)
	parts := make([]string, len(VectorClasses))
	for i, class := range VectorClasses {
		parts[i] = `SELECT q.n, h.memory_id, h.score FROM q CROSS JOIN LATERAL (` +
			NearestSQL(model, class, tenant, "q.vec", limit, place+" AND "+mayBeOffered) + `) h WHERE q.vec IS NOT NULL`
	}
	// The index gives them in order. Sorting would need all of the tenant's, for every query.
	b.Queue(`SELECT set_config('enable_sort', 'off', true)`)
	x.hits(b, `WITH `+asked+` `+strings.Join(parts, " UNION ALL "), p)
	b.Queue(`SELECT set_config('enable_sort', 'on', true)`)
}

// queueScan compares the vectors of a small tenant, or of the owner's part of it, with every query.
func (x *neighborSearch) queueScan(b *pgx.Batch, model inference.EmbeddingModel, vectors []*string) {
	var p pg.Params
	space := fmt.Sprintf(`space AS MATERIALIZED (
			SELECT e.tier, e.typology, m.id, m.valid_until, e.embedding::halfvec(%[1]d) AS vec
			FROM memory_embeddings e CROSS JOIN %[2]s
			WHERE e.tenant = %[3]s AND e.model = %[4]s AND e.dims = %[1]d AND %[5]s)`,
		model.Dimensions, pg.ByKey("m", "e.tenant", "e.memory_id"), p.Add(x.owner.Tenant), p.Add(model.Name),
		x.inOwnersSpace("m", &p))
	array := fmt.Sprintf("%s::text[]::vector[]::halfvec(%d)[]", p.Add(vectors), model.Dimensions)
	with := []string{x.queryTable(&p, []string{"vec"}, array), space}
	parts := make([]string, len(VectorClasses))
	for i, class := range VectorClasses {
		with = append(with, fmt.Sprintf(`class%d AS MATERIALIZED (SELECT e.id, e.valid_until, e.vec FROM space e
			WHERE %s)`,
			i, class.where()))
		parts[i] = fmt.Sprintf(`SELECT q.n, h.id, greatest(0, 1 - h.distance)::float8 FROM q CROSS JOIN LATERAL (
			SELECT m.id, m.vec <=> q.vec AS distance FROM class%d m WHERE %s ORDER BY distance LIMIT %d) h
			WHERE q.vec IS NOT NULL`,
			i, mayBeOffered, proposals.NeighborsPerChannel)
	}
	x.hits(b, `WITH `+strings.Join(with, ", ")+` `+strings.Join(parts, " UNION ALL "), p)
}

// load reads what was found, once each.
func (x *neighborSearch) load(ctx context.Context, tx pgx.Tx) error {
	x.found = map[uuid.UUID]foundNeighbor{}
	var ids []uuid.UUID
	for _, hits := range x.best {
		for id := range hits {
			if _, ok := x.found[id]; !ok {
				ids = append(ids, id)
				x.found[id] = foundNeighbor{}
			}
		}
	}
	clear(x.found)
	if len(ids) == 0 {
		return nil
	}
	spoken := map[uuid.UUID]bool{} // true: by what is pinned
	claims := map[uuid.UUID]memory.Claim{}
	b := &pgx.Batch{}
	b.Queue(drawnFromSQL, x.owner.Tenant, ids).Query(func(rows pgx.Rows) error {
		var id uuid.UUID
		var pinned bool
		_, err := pgx.ForEachRow(rows, []any{&id, &pinned}, func() error {
			spoken[id] = spoken[id] || pinned
			return nil
		})
		return err
	})
	b.Queue(`SELECT memory_id, subject, predicate, object, functional FROM entity_claims
		WHERE tenant = $1 AND memory_id = ANY($2) ORDER BY memory_id, subject, predicate`, x.owner.Tenant,
		ids).Query(func(rows pgx.Rows) error {
		var id uuid.UUID
		var c memory.Claim
		_, err := pgx.ForEachRow(rows, []any{&id, &c.Subject, &c.Predicate, &c.Object, &c.Functional}, func() error {
			if _, ok := claims[id]; !ok {
				claims[id] = c
			}
			return nil
		})
		return err
	})
	var p pg.Params
	query := `SELECT m.id, m.version, m.content, m.content_hash, m.category, m.pinned, m.type, m.visibility,
		m.validity <> 'global',
			m.status, m.who, m.occurred_at, m.valid_until
		FROM memories m WHERE m.tenant = ` + p.Add(x.owner.Tenant) + ` AND m.id = ANY(` + p.Add(ids) + `)
		AND ` + x.inOwnersSpace("m", &p)
	b.Queue(query, p...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var n foundNeighbor
			if err := rows.Scan(&n.id, &n.Version, &n.Content, &n.Hash, &n.Category, &n.Pinned, &n.Type, &n.Visibility,
				&n.Bounded,
				&n.Status, &n.Who, &n.OccurredAt, &n.validUntil); err != nil {
				return err
			}
			if byPinned, ok := spoken[n.id]; ok && n.Type == schema.TypeEpisodic && (byPinned || !n.Pinned) {
				continue
			}
			n.ID, n.Claim = n.id.String(), claims[n.id]
			x.found[n.id] = n
		}
		return rows.Err()
	})
	return tx.SendBatch(ctx, b).Close()
}

// drawnFromSQL lists those of the memories $2 that lasting records were drawn from, and whether one of those is pinned.
// Such records say what an episode says, and what revises it revises them. Superseded ones count: what the episode says
// was replaced with them. What is pinned speaks for itself, unless they are pinned too.
var drawnFromSQL = `SELECT d.target_id, f.pinned FROM memory_relations d CROSS JOIN ` + pg.ByKey("f", "d.tenant",
	"d.source_id") + `
		WHERE d.tenant = $1 AND d.target_id = ANY($2) AND d.predicate = 'derived_from' AND f.type = 'semantic'
		AND f.deleted_at IS NULL
	UNION SELECT d.source_id, f.pinned FROM memory_relations d CROSS JOIN ` + pg.ByKey("f", "d.tenant", "d.target_id") +
	`
		WHERE d.tenant = $1 AND d.source_id = ANY($2) AND d.predicate = 'restates' AND f.type = 'semantic'
		AND f.deleted_at IS NULL`

// ranked returns the best memories found for a query, best first.
func (x *neighborSearch) ranked(query int) []memory.Neighbor {
	at := x.queries[query].At
	var found []foundNeighbor
	for id, score := range x.best[query] {
		n, ok := x.found[id]
		if !ok || n.validUntil != nil && !at.IsZero() && !n.validUntil.After(at) {
			continue
		}
		n.Score = score
		found = append(found, n)
	}
	slices.SortFunc(found, func(a, b foundNeighbor) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), bytes.Compare(a.id[:], b.id[:]))
	})
	out := make([]memory.Neighbor, 0, proposals.NeighborsRanked)
	for _, n := range found[:min(len(found), proposals.NeighborsRanked)] {
		out = append(out, n.Neighbor)
	}
	return out
}
