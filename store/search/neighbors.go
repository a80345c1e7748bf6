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

// NeighborQuery requests the memories that a fact may repeat, refine or contradict.
type NeighborQuery struct {
	Fact      memory.Fact
	Exclude   uuid.UUID     // the source of the fact
	Embedding *pg.Embedding // nil leaves the vector channel out
	At        time.Time     // of the decision; memories that are no longer valid then are left out, unless At is zero
}

// neighborScan is the number of memories of a tenant up to which the vectors of a batch are compared one by one.
// Then the vectors are read once for all queries. Above it each query uses the index. If the index has a single
// tenant, it costs half as much at 4,000 memories. For a tenant that is a small part of the index, the index finds
// little.
const neighborScan = 2000

// Neighbors runs a focused hybrid search for each fact: identical content, the same subject and predicate, full text
// and vectors. It returns the best five each, best first. The search space is the owner's: same agent, project and
// scope. The source memory, memories that are not live, and episodes that lasting records represent never take one of
// the five places. Vectors find no episodes (see neighborClasses).
//
// All facts are searched together, in a fixed number of statements, which do not depend on the planner's
// statistics. Without statistics on a tenant, the planner expects one row of it, and a join to the tenant's rows
// then reads all its memories for every fact. So ids are collected first, and rows are read by a set of ids.
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
	scan    int64                   // see neighborScan
	best    []map[uuid.UUID]float64 // by query: the score of each memory in its best channel
	found   map[uuid.UUID]foundNeighbor
}

// foundNeighbor is a memory of the owner's search space.
type foundNeighbor struct {
	memory.Neighbor
	MemoryID   uuid.UUID
	ValidUntil *time.Time
}

// hit records the score at which a channel found a memory for a query.
func (x *neighborSearch) hit(query int, id uuid.UUID, score float64) {
	if score >= proposals.MinNeighborScore && id != x.queries[query].Exclude {
		x.best[query][id] = max(x.best[query][id], score)
	}
}

// collect queries every channel for ids, in one round trip.
func (x *neighborSearch) collect(ctx context.Context, tx pgx.Tx) error {
	n := len(x.queries)
	texts := make([]string, 2*n) // the facts, then words for their attributes
	for i, q := range x.queries {
		texts[i], texts[n+i] = q.Fact.Content, strings.Join(proposals.AttributeWords(q.Fact), " ")
	}
	lexemes, corpus, err := textLexemes(ctx, tx, x.owner.Tenant, texts)
	if err != nil {
		return err
	}
	plans := make([]rank.TextPlan, 2*n)
	for i := range texts {
		width := rank.FocusedSearch
		if i >= n {
			width = rank.AttributeSearch
		}
		plans[i] = rank.PlanText(lexemes[i], corpus, width)
	}
	b := &pgx.Batch{}
	x.queueSame(b)
	x.queueClaims(b)
	x.queueText(b, plans[:n], proposals.NeighborsPerChannel, x.hit)
	x.queueText(b, plans[n:], proposals.AttributeNeighbors, func(query int, id uuid.UUID, _ float64) {
		x.hit(query, id, proposals.AttributeScore)
	})
	x.queueVectors(b, corpus.Docs)
	return tx.SendBatch(ctx, b).Close()
}

// args returns the arguments of inOwnersSpace.
func (x *neighborSearch) args() pg.Args {
	return pg.Args{"agent": x.owner.Agent, "project": x.owner.Project, "scope": x.owner.Scope}
}

// inOwnersSpace is the condition that the memory m of the tenant is live and in the owner's space.
const inOwnersSpace = `m.live AND m.agent_id = @agent AND m.project = @project AND m.scope = @scope`

// mayBeOffered is the condition that the memory m may be offered to the query q.
const mayBeOffered = `m.id <> q.exclude AND (m.valid_until IS NULL OR q.at IS NULL OR m.valid_until > q.at)`

// queryTable renders the queries as a table q(n, exclude, at) with further columns, each given as a name and an
// array.
func (x *neighborSearch) queryTable(args pg.Args, columns ...[2]string) string {
	exclude, at := make([]uuid.UUID, len(x.queries)), make([]*time.Time, len(x.queries))
	for i, q := range x.queries {
		exclude[i] = q.Exclude
		if !q.At.IsZero() {
			utc := q.At.UTC()
			at[i] = &utc
		}
	}
	args["exclude"], args["at"] = exclude, at
	arrays, names := "@exclude::uuid[], @at::timestamptz[]", "exclude, at"
	for _, c := range columns {
		names += ", " + c[0]
		arrays += ", " + c[1]
	}
	return `q AS MATERIALIZED (
			SELECT u.*
			FROM unnest(` + arrays + `) WITH ORDINALITY u(` + names + `, n)
		)`
}

// hits queues a query and passes its rows to hit: the number of the query, an id and a score.
func (x *neighborSearch) hits(b *pgx.Batch, query string, args pg.Args,
	hit func(query int, id uuid.UUID, score float64)) {
	b.Queue(query, args).Query(func(rows pgx.Rows) error {
		var n int
		var id uuid.UUID
		var score float64
		_, err := pgx.ForEachRow(rows, []any{&n, &id, &score}, func() error { hit(n-1, id, score); return nil })
		return err
	})
}

// queueSame queries memories with the same content.
func (x *neighborSearch) queueSame(b *pgx.Batch) {
	asking, hashes := map[string][]int{}, make([][]byte, len(x.queries))
	for i, q := range x.queries {
		hashes[i] = normalize.Normalize(q.Fact.Content).Hash
		asking[string(hashes[i])] = append(asking[string(hashes[i])], i)
	}
	args := x.args()
	args["tenant"], args["hashes"] = x.owner.Tenant, hashes
	b.Queue(`
		SELECT m.content_hash, m.id
		FROM memories m
		WHERE m.tenant = @tenant AND m.content_hash = ANY(@hashes)
			AND `+inOwnersSpace, args).Query(func(rows pgx.Rows) error {
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

// queueClaims queries the newest claims of the same subject and predicate. The index has them by time, so the cost
// does not grow with the number of memories about a subject.
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
	args := x.args()
	args["tenant"], args["subjects"], args["predicates"] = x.owner.Tenant, subject, predicate
	asked := x.queryTable(args,
		[2]string{"subject", "@subjects::text[]"}, [2]string{"predicate", "@predicates::text[]"})
	x.hits(b, fmt.Sprintf(`
		WITH %s
		SELECT q.n, h.memory_id, %g::float8
		FROM q
		CROSS JOIN LATERAL (
			SELECT e.memory_id
			FROM entity_claims e
			CROSS JOIN %s
			WHERE e.tenant = @tenant AND e.subject_key = q.subject AND e.predicate = q.predicate
				AND %s
				AND %s
			ORDER BY e.created_at DESC
			LIMIT %d
		) h
		WHERE q.subject <> ''`,
		asked, proposals.SameClaimScore, pg.ByKey("m", "e.tenant", "e.memory_id"), inOwnersSpace, mayBeOffered,
		proposals.NeighborsPerChannel), args, x.hit)
}

// queueText queries full text. Facts with fewer terms are padded with terms that match nothing and have no weight.
func (x *neighborSearch) queueText(b *pgx.Batch, plans []rank.TextPlan, limit int,
	hit func(query int, id uuid.UUID, score float64)) {
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
	args := x.args()
	args["matches"] = match
	columns, terms := [][2]string{{"match", "@matches::text[]::tsquery[]"}}, make([]string, width)
	for t := range width {
		args[fmt.Sprint("terms_", t)], args[fmt.Sprint("weights_", t)] = lexemes[t], weights[t]
		columns = append(columns,
			[2]string{fmt.Sprint("t", t), fmt.Sprintf("@terms_%d::text[]::tsquery[]", t)},
			[2]string{fmt.Sprint("w", t), fmt.Sprintf("@weights_%d::float8[]", t)})
		terms[t] = fmt.Sprintf("q.w%d * ts_rank(m.tsv, q.t%d)", t, t)
	}
	scale := plans[slices.IndexFunc(plans, func(t rank.TextPlan) bool { return !t.IsEmpty() })]
	score := lengthNormalised("m", strings.Join(terms, " + "), scale, args)
	// OFFSET 0 prevents the planner from using another index for the conditions of the space.
	x.hits(b, fmt.Sprintf(`
		WITH %s
		SELECT q.n, h.id, h.score
		FROM q
		CROSS JOIN LATERAL (
			SELECT m.id, %s AS score
			FROM (
				SELECT *
				FROM memory_text s
				WHERE s.tsv @@ q.match AND s.live
				OFFSET 0
			) m
			WHERE %s AND %s
			ORDER BY score DESC, m.id
			LIMIT %d
		) h`,
		x.queryTable(args, columns...), score, inOwnersSpace, mayBeOffered, limit), args, hit)
}

// neighborClasses are the classes whose vectors are searched. Episodes are left out, which are more than half of what
// an ingest stores: a fact never changes an episode, and an episode with the same words does not make a fact known,
// because it fades. Full text and equal contents still find episodes.
var neighborClasses = slices.DeleteFunc(slices.Clone(VectorClasses), func(c VectorClass) bool {
	return c == VectorClass{schema.TierSession, schema.TypologyEpisodic}
})

// queueVectors queries the nearest vectors of each of the neighborClasses. The tenant's exact size decides how: every
// change counts it, whereas the planner only estimates it.
func (x *neighborSearch) queueVectors(b *pgx.Batch, docs int64) {
	vectors := make([]*pgvector.Vector, len(x.queries))
	var model inference.EmbeddingModel
	for i, q := range x.queries {
		if q.Embedding != nil {
			v := pgvector.NewVector(q.Embedding.Vector)
			vectors[i], model = &v, q.Embedding.Model
		}
	}
	if model.Name == "" {
		return
	}
	if docs <= x.scan {
		x.queueScan(b, model, vectors)
		return
	}
	args := x.args()
	args["tenant"], args["vectors"], args["limit"] = x.owner.Tenant, vectors, proposals.NeighborsPerChannel
	parts := make([]string, len(neighborClasses))
	for i, class := range neighborClasses {
		parts[i] = `
		SELECT q.n, h.id, h.score
		FROM q
		CROSS JOIN LATERAL (` +
			NearestSQL(model, class, "@tenant", "q.vec", "@limit", inOwnersSpace+" AND "+mayBeOffered) + `) h
		WHERE q.vec IS NOT NULL`
	}
	// The index returns rows in order. A sort would read all vectors of the tenant for every query.
	b.Queue(`SELECT set_config('enable_sort', 'off', true)`)
	x.hits(b, `WITH `+x.queryTable(args, [2]string{"vec", "@vectors::vector[]"})+
		strings.Join(parts, " UNION ALL "), args, x.hit)
	b.Queue(`SELECT set_config('enable_sort', 'on', true)`)
}

// queueScan compares every vector of a small tenant, or of the owner's part of it, with every query.
func (x *neighborSearch) queueScan(b *pgx.Batch, model inference.EmbeddingModel, vectors []*pgvector.Vector) {
	args := x.args()
	args["tenant"], args["vectors"], args["model"] = x.owner.Tenant, vectors, model.Name
	among := make([]string, len(neighborClasses))
	for i, class := range neighborClasses {
		among[i] = class.where()
	}
	array := fmt.Sprintf("@vectors::vector[]::halfvec(%d)[]", model.Dimensions)
	space := fmt.Sprintf(`space AS MATERIALIZED (
			SELECT e.tier, e.typology, m.id, m.valid_until, e.embedding::halfvec(%[1]d) AS vec
			FROM memory_embeddings e
			CROSS JOIN %[2]s
			WHERE e.tenant = @tenant AND e.model = @model AND e.dims = %[1]d AND (%[4]s) AND %[3]s
		)`, model.Dimensions, pg.ByKey("m", "e.tenant", "e.memory_id"), inOwnersSpace, strings.Join(among, " OR "))
	with := []string{x.queryTable(args, [2]string{"vec", array}), space}
	parts := make([]string, len(neighborClasses))
	for i, class := range neighborClasses {
		with = append(with, fmt.Sprintf(`class%d AS MATERIALIZED (
			SELECT e.id, e.valid_until, e.vec
			FROM space e
			WHERE %s
		)`, i, class.where()))
		parts[i] = fmt.Sprintf(`
		SELECT q.n, h.id, greatest(0, 1 - h.distance)::float8
		FROM q
		CROSS JOIN LATERAL (
			SELECT m.id, m.vec <=> q.vec AS distance
			FROM class%d m
			WHERE %s
			ORDER BY distance
			LIMIT %d
		) h
		WHERE q.vec IS NOT NULL`, i, mayBeOffered, proposals.NeighborsPerChannel)
	}
	x.hits(b, `WITH `+strings.Join(with, ", ")+strings.Join(parts, " UNION ALL "), args, x.hit)
}

// load reads each memory that was found, once.
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
	spoken := map[uuid.UUID]bool{} // episodes that records represent; true if such a record is pinned
	claims := map[uuid.UUID]memory.Claim{}
	b := &pgx.Batch{}
	args := pg.Args{"tenant": x.owner.Tenant, "ids": ids}
	b.Queue(drawnFromSQL, args).Query(func(rows pgx.Rows) error {
		var id uuid.UUID
		var pinned bool
		_, err := pgx.ForEachRow(rows, []any{&id, &pinned}, func() error {
			spoken[id] = spoken[id] || pinned
			return nil
		})
		return err
	})
	b.Queue(claimsSQL, args).Query(func(rows pgx.Rows) error {
		type claimRow struct {
			MemoryID uuid.UUID
			memory.Claim
		}
		found, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[claimRow])
		for _, c := range found {
			if _, ok := claims[c.MemoryID]; !ok {
				claims[c.MemoryID] = c.Claim
			}
		}
		return err
	})
	inSpace := x.args()
	inSpace["tenant"], inSpace["ids"] = x.owner.Tenant, ids
	b.Queue(foundSQL, inSpace).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, pgx.RowToStructByNameLax[foundNeighbor])
		for _, n := range found {
			if byPinned, ok := spoken[n.MemoryID]; ok && n.Type == schema.TypeEpisodic && (byPinned || !n.Pinned) {
				continue
			}
			n.ID, n.Claim = n.MemoryID.String(), claims[n.MemoryID]
			x.found[n.MemoryID] = n
		}
		return err
	})
	return tx.SendBatch(ctx, b).Close()
}

const claimsSQL = `
	SELECT memory_id, subject, predicate, object, functional
	FROM entity_claims
	WHERE tenant = @tenant AND memory_id = ANY(@ids)
	ORDER BY memory_id, subject, predicate`

// foundSQL has the columns of foundNeighbor.
const foundSQL = `
	SELECT m.id AS memory_id, m.version, m.content, m.content_hash AS hash, m.category, m.pinned, m.type, m.visibility,
		m.validity <> 'global' AS bounded,
		m.status, m.who, m.occurred_at, m.valid_until
	FROM memories m
	WHERE m.tenant = @tenant AND m.id = ANY(@ids)
		AND ` + inOwnersSpace

// drawnFromSQL lists the memories that lasting records were extracted from, and whether such a record is pinned. The
// records repeat the episode, so a fact revises the records and not the episode. Superseded records count: the
// episode's statement was replaced with them. A pinned episode is offered unless a record is pinned too.
var drawnFromSQL = `
	SELECT d.target_id, f.pinned
	FROM memory_links d
	CROSS JOIN ` + pg.ByKey("f", "d.tenant", "d.source_id") + `
	WHERE d.tenant = @tenant AND d.target_id = ANY(@ids) AND d.predicate = 'derived_from'
		AND f.type = 'semantic' AND f.deleted_at IS NULL
	UNION
	SELECT d.source_id, f.pinned
	FROM memory_links d
	CROSS JOIN ` + pg.ByKey("f", "d.tenant", "d.target_id") + `
	WHERE d.tenant = @tenant AND d.source_id = ANY(@ids) AND d.predicate = 'restates'
		AND f.type = 'semantic' AND f.deleted_at IS NULL`

// ranked returns the best memories found for a query, best first.
func (x *neighborSearch) ranked(query int) []memory.Neighbor {
	at := x.queries[query].At
	var found []foundNeighbor
	for id, score := range x.best[query] {
		n, ok := x.found[id]
		if !ok || n.ValidUntil != nil && !at.IsZero() && !n.ValidUntil.After(at) {
			continue
		}
		n.Score = score
		found = append(found, n)
	}
	slices.SortFunc(found, func(a, b foundNeighbor) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), bytes.Compare(a.MemoryID[:], b.MemoryID[:]))
	})
	out := make([]memory.Neighbor, 0, len(found))
	for i, n := range found {
		if i < proposals.NeighborsRanked || n.Score == proposals.AttributeScore {
			out = append(out, n.Neighbor)
		}
	}
	return out
}
