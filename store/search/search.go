package search

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// Hit is the id of a candidate with its score in one channel, without its content.
type Hit struct {
	ID    uuid.UUID
	Score float64 // [0,1]
	Terms uint64  // only from full text: bit i is set if it has the i-th term of the query's plan
}

// TextRanking is the result of a full-text search, best first.
type TextRanking struct {
	Hits    []Hit
	Weights []float64 // of the terms of Hit.Terms; their sum is at most 1
}

// RankText ranks the live memories that the filter admits by BM25 and returns the best ids. Scores are the share of
// the question's weight that a memory covers, in [0,1].
//
// If the filter removes most of the memories that the plan selects, it searches again with a wider plan. An error
// of that search is ignored, because there already is an answer.
func (s *Search) RankText(ctx context.Context, f pg.Filter, q Question, limit int) (TextRanking, error) {
	plan := q.textPlan(rank.BroadSearch)
	if plan.IsEmpty() {
		return TextRanking{}, nil
	}
	out, err := s.rankText(ctx, f, q, plan, limit)
	if err != nil {
		return TextRanking{}, fmt.Errorf("search text: %w", err)
	}
	if !plan.FoundLittle(len(out.Hits), limit) {
		return out, nil
	}
	wider := q.textPlan(rank.BroadSearch.Wider())
	if wider.Match(quoteLexeme) == plan.Match(quoteLexeme) {
		return out, nil
	}
	if more, err := s.rankText(ctx, f, q, wider, limit); err == nil {
		out.Add(more, limit)
	}
	return out, nil
}

func (q Question) textPlan(width rank.SearchWidth) rank.TextPlan {
	plan := rank.PlanText(q.texts, q.corpus, width)
	plan.Expand(q.expansion, q.corpus, width)
	return plan
}

// Add merges another ranking by the same terms into this one. A wider search may miss hits of a narrower one.
func (r *TextRanking) Add(other TextRanking, limit int) {
	best := map[uuid.UUID]Hit{}
	for _, h := range slices.Concat(other.Hits, r.Hits) {
		if had, ok := best[h.ID]; !ok || h.Score > had.Score {
			best[h.ID] = h
		}
	}
	r.Hits = slices.Collect(maps.Values(best))
	sortHits(r.Hits)
	r.Hits = r.Hits[:min(len(r.Hits), limit)]
}

func (s *Search) rankText(ctx context.Context, f pg.Filter, q Question, plan rank.TextPlan,
	limit int) (TextRanking, error) {
	args := pg.Args{"chosen": textOversample * limit}
	sum, match := textTerms("m", plan, args)
	terms := slices.Concat(plan.Terms, plan.Also)
	ranks, weights := make([]string, len(terms)), make([]float64, len(terms))
	for i, t := range terms {
		ranks[i], weights[i] = fmt.Sprintf("ts_rank(x.tsv, @lexeme_%d::tsquery)", i), t.Weight
	}
	base, slope := rank.ByteNorm()
	args["length_base"], args["length_slope"] = base, slope
	// The term frequency saturates differently in ts_rank and in BM25. So ts_rank selects more memories than
	// requested, and BM25 ranks them.
	query := `
		SELECT x.id, x.bytes, ARRAY[` + strings.Join(ranks, ", ") + `] AS ranks
		FROM (
			SELECT m.id, m.tsv, m.bytes,
				(` + sum + `) / (@length_base::float8 + @length_slope::float8 * m.bytes) AS score
			FROM memory_text m
			WHERE ` + match + q.ofTenant("m", f) + ` AND ` + f.Where("m", args) + `
			ORDER BY score DESC, m.id
			LIMIT @chosen
		) x`
	var hits []Hit
	var hit Hit
	var bytes int32
	var held []float32
	err := s.QueryBatch(ctx, f.Principal.Tenant, q.planning(), query, []any{args}, func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&hit.ID, &bytes, &held}, func() error {
			hit.Score, hit.Terms = bm25(terms, held, len(plan.Terms), base, slope, float64(bytes))
			hits = append(hits, hit)
			return nil
		})
		return err
	})
	sortHits(hits)
	hits = hits[:min(len(hits), limit)]
	return TextRanking{Hits: hits, Weights: weights[:len(plan.Terms):len(plan.Terms)]}, err
}

// textOversample is the factor by which BM25 ranks more memories than requested.
const textOversample = 2

// rankUnit is the ts_rank of one occurrence of one lexeme of weight D: 0.1 over pi²/6.
const rankUnit = "0.0607927"

// textRank renders a plan as a score expression in [0,1] and a condition on the memory m.
//
// For a single lexeme, ts_rank is proportional to the sum of 1/j² over its j-th occurrences, a term frequency that
// saturates much as BM25's does. It runs in C on the stored vector and is the cheapest exact term weight in
// Postgres. The plan adds document frequency and length.
func textRank(m string, plan rank.TextPlan, args pg.Args) (score, match string) {
	sum, match := textTerms(m, plan, args)
	return lengthNormalised(m, sum, plan, args), match
}

// textTerms renders a plan as a sum of weighted ts_ranks and a condition on the memory m.
func textTerms(m string, plan rank.TextPlan, args pg.Args) (sum, match string) {
	var terms strings.Builder
	for i, t := range slices.Concat(plan.Terms, plan.Also) {
		if i > 0 {
			terms.WriteString(" + ")
		}
		fmt.Fprintf(&terms, "@weight_%[1]d::float8 * ts_rank(%[2]s.tsv, @lexeme_%[1]d::tsquery)", i, m)
		args[fmt.Sprint("weight_", i)], args[fmt.Sprint("lexeme_", i)] = t.Weight, quoteLexeme(t.Lexeme)
	}
	args["match"] = plan.Match(quoteLexeme)
	return terms.String(), m + ".tsv @@ @match::tsquery"
}

// lengthNormalised turns a sum of weighted ts_ranks of short texts into a score in [0,1].
func lengthNormalised(m, sum string, plan rank.TextPlan, args pg.Args) string {
	args["length_base"], args["length_slope"] = plan.LengthBase, plan.LengthSlope
	return fmt.Sprintf(`least(1, (%[1]s) / %[2]s * @length_base::float8
		/ (@length_base::float8 + @length_slope::float8 * length(%[3]s.tsv)))`, sum, rankUnit, m)
}

// quoteLexeme renders a lexeme as a tsquery operand.
func quoteLexeme(lexeme string) string {
	return "'" + lexemeQuotes.Replace(lexeme) + "'"
}

var lexemeQuotes = strings.NewReplacer("'", "''", `\`, `\\`)

// SearchVector returns the ids nearest to a vector among the live memories of all classes that the filter admits,
// best first.
func (s *Search) SearchVector(ctx context.Context, f pg.Filter, e pg.Embedding, limit int) ([]Hit, error) {
	args := pg.Args{"vector": pgvector.NewVector(e.Vector)}
	how, tenant, most := s.nearestPlan(f.Principal.Tenant, limit, args)
	admitted := f.Where("m", args)
	parts := make([]string, 0, len(VectorClasses))
	for _, class := range VectorClasses {
		parts = append(parts, "("+NearestSQL(e.Model, class, tenant, "@vector", most, admitted)+")")
	}
	query := `
		SELECT id, score
		FROM (` + strings.Join(parts, " UNION ALL ") + `) u
		ORDER BY score DESC, id
		LIMIT ` + most
	out, err := pg.QueryBatchRows[Hit](ctx, s.DB, f.Principal.Tenant, how, query, args)
	if err != nil {
		return nil, fmt.Errorf("search vectors: %w", err)
	}
	return out, nil
}

// Authorize returns the ids that the filter admits, with the features that may be known without reading content.
// Code that reads content gets only ids that have passed Authorize.
func (s *Search) Authorize(ctx context.Context, f pg.Filter, ids []uuid.UUID) (map[uuid.UUID]rank.Features, error) {
	args := pg.Args{"ids": ids}
	query := `
		SELECT m.id, ` + ownFeatures + `, ` + sourcesOf(f, args) + `
		FROM memories m
		WHERE m.id = ANY(@ids) AND ` + f.Where("m", args)
	out := make(map[uuid.UUID]rank.Features, len(ids))
	row := newFeatureRow()
	var id uuid.UUID
	var sources []uuid.UUID
	into := append(append([]any{&id}, row.columns()...), &sources)
	err := s.QueryBatch(ctx, f.Principal.Tenant, pg.PlanOnce, query, []any{args}, func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, into, func() error {
			out[id] = row.features(sources)
			sources = nil // the features hold the slice
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("authorize: %w", err)
	}
	return out, nil
}

// Hydrate reads the rows of authorised ids through the same filter again. It computes salience and importance for
// now.
func (s *Search) Hydrate(ctx context.Context, f pg.Filter, ids []uuid.UUID,
	now time.Time) (map[uuid.UUID]schema.RecallResult, error) {
	if len(ids) == 0 {
		return map[uuid.UUID]schema.RecallResult{}, nil
	}
	args := pg.Args{"ids": ids}
	query := `
		SELECT ` + hydratedColumns(pg.SourceShown("r", func(m string) string {
		return "(" + f.Visible(m, args) + ")"
	})) + `
		FROM memories m
		WHERE m.id = ANY(@ids) AND ` + f.Where("m", args)
	found, err := pg.QueryBatchRows[hydratedRow](ctx, s.DB, f.Principal.Tenant, pg.PlanOnce, query, args)
	if err != nil {
		return nil, fmt.Errorf("hydrate: %w", err)
	}
	out := make(map[uuid.UUID]schema.RecallResult, len(found))
	for _, m := range found {
		out[m.ID] = m.result(now, f.DailyDecay)
	}
	return out, nil
}

// hydratedColumns returns the columns of hydratedRow, from the memory m. The ref is that of the first source that meets
// the condition shown on its row r of memory_provenance.
func hydratedColumns(shown string) string {
	return `
		m.id, m.content, m.type, m.category, m.created_at, m.occurred_at, m.tags, m.who, m.pinned, m.importance,
		m.status,
		coalesce(m.agent_session_id, '') AS session,
		m.validity, m.conditions, m.valid_from, m.valid_until,
		coalesce((
			SELECT r.ref
			FROM memory_provenance r
			WHERE r.tenant = m.tenant AND r.memory_id = m.id AND ` + shown + `
			ORDER BY r.position
			LIMIT 1), '') AS ref,
		m.salience, m.salience_at, m.decay_curve, m.half_life, m.decay_floor, m.decay_points,
		coalesce((
			SELECT a.last_accessed_at
			FROM memory_access a
			WHERE a.tenant = m.tenant AND a.memory_id = m.id), m.created_at) AS accessed_at`
}

// hydratedRow is a memory as a recall returns it, before salience and importance are computed for a time.
type hydratedRow struct {
	ID                    uuid.UUID
	Content               string
	Type                  schema.MemoryType
	Category              schema.Category
	CreatedAt, OccurredAt time.Time
	Tags                  []string
	Who                   string
	Pinned                bool
	Importance            float64
	Status                schema.Status
	Session               string
	Validity              schema.ValidityMode
	Conditions            json.RawMessage
	ValidFrom, ValidUntil *time.Time
	Ref                   string
	Salience              float64 // at SalienceAt
	SalienceAt            time.Time
	DecayCurve            schema.DecayCurve
	HalfLife              time.Duration
	DecayFloor            float64
	DecayPoints           []schema.DecayPoint
	AccessedAt            time.Time
}

func (m *hydratedRow) result(now time.Time, dailyDecay float64) schema.RecallResult {
	out := schema.RecallResult{ID: m.ID.String(), Content: m.Content, Type: m.Type, Category: m.Category,
		CreatedAt: m.CreatedAt, OccurredAt: m.OccurredAt, Tags: pg.TagList(m.Tags), Who: m.Who, Pinned: m.Pinned,
		Importance: m.Importance, Status: m.Status, Session: m.Session, Ref: m.Ref,
		Validity: schema.Validity{Mode: m.Validity, Conditions: m.Conditions, Start: m.ValidFrom, End: m.ValidUntil}}
	out.ImportanceNow = memory.Importance(m.Importance, now.Sub(m.AccessedAt), dailyDecay, m.Pinned)
	decay := memory.Decay{Curve: m.DecayCurve, HalfLife: m.HalfLife, Floor: m.DecayFloor,
		Points: memory.DecayPoints(m.DecayPoints)}
	out.Salience = decay.SalienceOf(m.Salience, now.Sub(m.SalienceAt), m.Pinned)
	return out
}

// Retrieval is the record of one recall, for feedback and audit. It stores neither the query nor a hash of it, because
// a short question can be guessed from its hash. The column query_hash stays empty.
type Retrieval struct {
	ID        uuid.UUID
	Principal schema.Principal
	MemoryIDs []uuid.UUID // primary results in order
	Degraded  []string
	Took      time.Duration
}

// TrackRetrieval records a recall and the access to the memories that it returned. Access counts have a table of
// their own, so that a read does not rewrite the memory row. A second call with the same id changes nothing: it
// repeats a recall whose answer was lost.
func (s *Search) TrackRetrieval(ctx context.Context, r Retrieval, now time.Time) error {
	if r.Principal.Tenant == "" {
		return fmt.Errorf("track retrieval: %w", pg.ErrNoTenant)
	}
	err := pg.RetryChange(ctx, func() error { // a memory may be removed at the same time
		var b pgx.Batch // one transaction, in one round trip
		// A crash may lose the last few accesses. Waiting for the disk would slow every recall.
		b.Queue(`SELECT set_config('mneme.tenant', $1, true), set_config('synchronous_commit', 'off', true)`,
			r.Principal.Tenant)
		b.Queue(trackSQL, pg.Args{
			"tenant":     r.Principal.Tenant,
			"id":         r.ID,
			"agent":      r.Principal.Agent,
			"project":    r.Principal.Project,
			"scope":      r.Principal.EffectiveScope(),
			"memory_ids": r.MemoryIDs,
			"degraded":   pg.TagList(r.Degraded),
			"took_ms":    float32(r.Took.Seconds() * 1000),
			"now":        now.UTC().Truncate(time.Microsecond),
		})
		return s.Pool.SendBatch(ctx, &b).Close()
	})
	if err != nil {
		return fmt.Errorf("track retrieval: %w", err)
	}
	return nil
}

// trackSQL writes accesses in the order of ids, so that two recalls of the same memories do not deadlock.
const trackSQL = `
	WITH first AS (
		INSERT INTO retrievals (tenant, id, agent_id, project, scope, query_hash, memory_ids, degraded, took_ms,
			created_at)
		VALUES (@tenant, @id, @agent, @project, @scope, '', @memory_ids, @degraded, @took_ms, @now)
		ON CONFLICT DO NOTHING
		RETURNING tenant
	)
	INSERT INTO memory_access AS a (tenant, memory_id, access_count, last_accessed_at)
	SELECT m.tenant, m.id, 1, @now
	FROM first
	JOIN memories m ON m.tenant = first.tenant
	WHERE m.tenant = @tenant AND m.id = ANY(@memory_ids)
	ORDER BY m.id
	ON CONFLICT (tenant, memory_id) DO UPDATE
	SET access_count = a.access_count + 1,
		last_accessed_at = greatest(a.last_accessed_at, excluded.last_accessed_at)`
