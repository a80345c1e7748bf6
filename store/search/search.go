package search

import (
	"bytes"
	"cmp"
	"context"
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

// Hit is a candidate id with its score in one channel. No content comes with it.
type Hit struct {
	ID    uuid.UUID
	Score float64 // [0,1]
	Terms uint64  // full text alone: bit i is set when it holds the i-th term of the query's plan
}

// TextRanking is what a full-text search found, best first.
type TextRanking struct {
	Hits    []Hit
	Weights []float64 // of the terms that Hit.Terms speaks of; they sum to 1 at most
}

// RankText ranks the live memories that the filter admits by BM25 and returns the best ids. Scores are
// the share of the question's weight that a memory covers, in [0,1].
//
// Where the filter leaves little of what the plan selects it looks once more, wider. That it could not is no
// failure: there is an answer.
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
	plan := rank.PlanText(q.keywords, q.corpus, width)
	plan.Expand(q.expansion, q.corpus, width)
	return plan
}

// Add merges another ranking by the same terms into this one: a wider search is for more, and may leave out what a
// narrower one found.
func (r *TextRanking) Add(other TextRanking, limit int) {
	best := map[uuid.UUID]Hit{}
	for _, h := range slices.Concat(other.Hits, r.Hits) {
		if had, ok := best[h.ID]; !ok || h.Score > had.Score {
			best[h.ID] = h
		}
	}
	r.Hits = slices.SortedFunc(maps.Values(best), func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), bytes.Compare(a.ID[:], b.ID[:]))
	})
	r.Hits = r.Hits[:min(len(r.Hits), limit)]
}

func (s *Search) rankText(ctx context.Context, f pg.Filter, q Question, plan rank.TextPlan,
	limit int) (TextRanking, error) {
	var p pg.Params
	score, match := textRank("m", plan, &p)
	var lexemes []string
	var weights []float64
	for _, t := range slices.Concat(plan.Terms, plan.Also) {
		lexemes, weights = append(lexemes, t.Lexeme), append(weights, t.Weight)
	}
	// ts_rank saturates term frequency on a curve of its own: it chooses, with room, and BM25 ranks.
	chosen := `SELECT m.id, m.tsv, ` + score + ` AS score FROM memory_text m WHERE ` + match + ` AND ` +
		f.Where("m", &p) +
		` ORDER BY score DESC, m.id LIMIT ` + p.Add(textOversample*limit)
	query := `SELECT x.id, ` + bm25("cardinality(l.positions)", "length(x.tsv)", "t.weight", plan, &p) + ` AS score,
			coalesce(bit_or(1::bigint << (t.n - 1)::int) FILTER (WHERE t.n <= ` + p.Add(len(plan.Terms)) + `), 0)
		FROM (` + chosen + `) x CROSS JOIN unnest(x.tsv) l
		JOIN unnest(` + p.Add(lexemes) + `::text[], ` + p.Add(weights) + `::float8[]) WITH ORDINALITY t(lexeme, weight,
			n) ON t.lexeme = l.lexeme
		GROUP BY x.id ORDER BY score DESC, x.id LIMIT ` + p.Add(limit)
	hits, err := pg.QueryBatchRows[Hit](ctx, s.DB, f.Principal.Tenant, q.planning(), query, p)
	return TextRanking{Hits: hits, Weights: weights[:len(plan.Terms):len(plan.Terms)]}, err
}

// textOversample is how many times as many memories as asked for are ranked by BM25 in full.
const textOversample = 2

// bm25 renders the sum of BM25's term scores over the joined terms, in [0,1]: a short memory that holds
// every term once comes near 1.
func bm25(tf, length, weight string, plan rank.TextPlan, p *pg.Params) string {
	base, slope := p.Add(plan.LengthBase-1), p.Add(plan.LengthSlope)
	return fmt.Sprintf("least(1, sum(%s * %s * %s::float8 / (%s + %s::float8 + %s::float8 * %s)))", weight, tf,
		p.Add(plan.LengthBase), tf, base, slope, length)
}

// rankUnit is what ts_rank gives one occurrence of one lexeme of weight D: 0.1 over pi²/6.
const rankUnit = "0.0607927"

// textRank renders a plan as a score expression in [0,1] and a condition on the alias.
//
// For a single lexeme, ts_rank is proportional to the sum of 1/j² over its j-th occurrences: a term
// frequency that saturates much as BM25's does. It runs in C on the stored vector, which makes it
// the cheapest exact term weight that Postgres has; document frequency and length are ours.
func textRank(m string, plan rank.TextPlan, p *pg.Params) (score, match string) {
	var terms strings.Builder
	for i, t := range slices.Concat(plan.Terms, plan.Also) {
		if i > 0 {
			terms.WriteString(" + ")
		}
		fmt.Fprintf(&terms, "%s::float8 * ts_rank(%s.tsv, %s::tsquery)", p.Add(t.Weight), m,
			p.Add(quoteLexeme(t.Lexeme)))
	}
	return lengthNormalised(m, terms.String(), plan, p), m + ".tsv @@ " + p.Add(plan.Match(quoteLexeme)) + "::tsquery"
}

// lengthNormalised turns a sum of weighted ts_ranks into a score in [0,1].
func lengthNormalised(m, sum string, plan rank.TextPlan, p *pg.Params) string {
	base := p.Add(plan.LengthBase)
	return fmt.Sprintf("least(1, (%s) / %s * %s::float8 / (%s::float8 + %s::float8 * length(%s.tsv)))",
		sum, rankUnit, base, base, p.Add(plan.LengthSlope), m)
}

// quoteLexeme renders a lexeme as a tsquery operand.
func quoteLexeme(lexeme string) string {
	return "'" + lexemeQuotes.Replace(lexeme) + "'"
}

var lexemeQuotes = strings.NewReplacer("'", "''", `\`, `\\`)

// SearchVector returns the ids nearest to a vector among the live memories that the filter admits,
// best first, over all classes.
func (s *Search) SearchVector(ctx context.Context, f pg.Filter, e pg.Embedding, limit int) ([]Hit, error) {
	var p pg.Params
	tenant, vector, l := p.Add(f.Principal.Tenant), p.Add(pgvector.NewVector(e.Vector)), p.Add(limit)
	admitted := f.Where("m", &p)
	parts := make([]string, 0, len(VectorClasses))
	for _, class := range VectorClasses {
		parts = append(parts, "("+NearestSQL(e.Model, class, tenant, vector, l, admitted)+")")
	}
	query := `SELECT memory_id, score, 0::bigint FROM (` + strings.Join(parts, " UNION ALL ") + `) u
		ORDER BY score DESC, memory_id LIMIT ` + l
	out, err := pg.QueryBatchRows[Hit](ctx, s.DB, f.Principal.Tenant, pg.PlanForValues, query, p)
	if err != nil {
		return nil, fmt.Errorf("search vectors: %w", err)
	}
	return out, nil
}

// Authorize returns those of the ids that the filter admits, with what may be known of them without
// reading their content. It is the boundary between ids and content: nothing that reads content may see
// an id that did not pass here.
func (s *Search) Authorize(ctx context.Context, f pg.Filter, ids []uuid.UUID) (map[uuid.UUID]rank.Features, error) {
	out := make(map[uuid.UUID]rank.Features, len(ids))
	var p pg.Params
	query := `SELECT m.id, ` + featureColumns(f, &p) + ` FROM memories m WHERE m.id = ANY(` + p.Add(ids) + `)
		AND ` + f.Where("m", &p)
	var id uuid.UUID
	var sheet featureRow
	err := s.EachRow(ctx, f, pg.PlanOnce, query, p, append([]any{&id}, sheet.fields()...),
		func() { out[id] = sheet.features() })
	if err != nil {
		return nil, fmt.Errorf("authorize: %w", err)
	}
	return out, nil
}

// featureRow is a memory with the features that ranking uses.
type featureRow struct {
	rank.Features
	sources []uuid.UUID
}

// featureColumns are what featureRow scans of the memory m.
//
// A fact drawn from other memories says again what they say, where the asker may see them. A procedure derived from
// an episode, or a fork of its target, says something else, and both are answers (document 004 §12 and §15B).
func featureColumns(f pg.Filter, p *pg.Params) string {
	return `m.type, m.category, m.status, m.agent_id, coalesce(m.agent_session_id, ''), m.who, m.occurred_at,
		m.importance, m.conditions IS NOT NULL,
	CASE WHEN m.type = 'semantic' THEN array(SELECT s.id FROM (
			SELECT r.target_id AS id FROM memory_relations r WHERE r.tenant = m.tenant AND r.source_id = m.id
			AND r.predicate = 'derived_from'
			UNION SELECT r.source_id FROM memory_relations r WHERE r.tenant = m.tenant AND r.target_id = m.id
			AND r.predicate = 'restates') said
		JOIN memories s ON s.tenant = m.tenant AND s.id = said.id
		WHERE ` + f.State("s") + ` AND ` + f.Visible("s", p) +
		` AND (s.type <> 'semantic' OR s.conditions_hash = m.conditions_hash)
		ORDER BY s.id LIMIT 500) END,
	('x' || encode(substr(m.content_hash, 1, 8), 'hex'))::bit(64)::bigint`
}

// featureSources are the columns of the memory m that featureColumns reads.
const featureSources = `m.tenant, m.id, m.type, m.category, m.status, m.agent_id, m.agent_session_id, m.who,
	m.occurred_at, m.importance, m.conditions, m.conditions_hash, m.content_hash`

func (r *featureRow) fields() []any {
	return []any{&r.Type, &r.Category, &r.Status, &r.Agent, &r.Session, &r.Speaker, &r.OccurredAt, &r.Importance,
		&r.Conditional, &r.sources, &r.Words}
}

func (r *featureRow) features() rank.Features {
	out := r.Features
	if len(r.sources) > 0 {
		out.Source, out.Others = r.sources[0], slices.Clone(r.sources[1:])
	}
	return out
}

// Hydrate reads the rows of authorised ids, through the same filter once more. What they are worth is computed
// for now.
func (s *Search) Hydrate(ctx context.Context, f pg.Filter, ids []uuid.UUID,
	now time.Time) (map[uuid.UUID]schema.RecallResult, error) {
	out := make(map[uuid.UUID]schema.RecallResult, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var p pg.Params
	query := `SELECT m.id, m.content, m.type, m.category, m.created_at, m.occurred_at, m.tags, m.who, m.pinned,
		m.importance,
			m.status, coalesce(m.agent_session_id, ''), m.validity, m.conditions, m.valid_from, m.valid_until,
			coalesce((SELECT r.ref FROM memory_provenance r WHERE r.tenant = m.tenant AND r.memory_id = m.id
				ORDER BY r.position LIMIT 1), ''),
			m.salience, m.salience_at, m.decay_curve, m.half_life, m.decay_floor, m.decay_points,
			coalesce((SELECT a.last_accessed_at FROM memory_access a WHERE a.tenant = m.tenant AND a.memory_id = m.id),
				m.created_at)
		FROM memories m WHERE m.id = ANY(` + p.Add(ids) + `) AND ` + f.Where("m", &p)
	var id uuid.UUID
	var r schema.RecallResult
	var decay memory.Decay
	var points []schema.DecayPoint
	var salience float64
	var salienceAt, accessedAt time.Time
	v := &r.Validity
	err := s.EachRow(ctx, f, pg.PlanOnce, query, p, []any{&id, &r.Content, &r.Type, &r.Category, &r.CreatedAt,
		&r.OccurredAt, &r.Tags, &r.Who, &r.Pinned, &r.Importance,
		&r.Status, &r.Session, &v.Mode, &v.Conditions, &v.Start, &v.End, &r.Ref,
		&salience, &salienceAt, &decay.Curve, &decay.HalfLife, &decay.Floor, &points, &accessedAt},
		func() {
			row := r
			decay.Points = memory.DecayPoints(points)
			row.Salience, row.ImportanceNow = salience, memory.Importance(r.Importance, now.Sub(accessedAt),
				f.DailyDecay, r.Pinned)
			if !r.Pinned {
				row.Salience = decay.Salience(salience, now.Sub(salienceAt))
			}
			points = nil
			row.ID = id.String()
			row.Tags = append([]string{}, r.Tags...)
			row.Validity.Conditions = bytes.Clone(v.Conditions)
			out[id] = row
		})
	if err != nil {
		return nil, fmt.Errorf("hydrate: %w", err)
	}
	return out, nil
}

// Retrieval is what is kept of one recall, for feedback and for audit.
type Retrieval struct {
	ID        uuid.UUID
	Principal schema.Principal
	QueryHash []byte
	MemoryIDs []uuid.UUID // primary results in order
	Degraded  []string
	Took      time.Duration
}

// TrackRetrieval records a recall and the access to the memories that it returned. Access counts are kept apart from
// the memory row, so that reading does not rewrite what is read. Of two with one id the first counts: a recall that
// was asked again, because its answer was lost, is one access.
func (s *Search) TrackRetrieval(ctx context.Context, r Retrieval, now time.Time) error {
	if r.Principal.Tenant == "" {
		return fmt.Errorf("track retrieval: %w", pg.ErrNoTenant)
	}
	var b pgx.Batch // one transaction, in one round trip
	// A crash may lose the last moments of tracking; waiting for the disk would slow every recall.
	b.Queue(`SELECT set_config('mneme.tenant', $1, true), set_config('synchronous_commit', 'off', true)`,
		r.Principal.Tenant)
	// In id order, so that two recalls of the same memories do not deadlock.
	b.Queue(`WITH first AS (
			INSERT INTO retrievals (tenant, id, agent_id, project, scope, query_hash, memory_ids, degraded, took_ms,
				created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING RETURNING tenant)
		INSERT INTO memory_access AS a (tenant, memory_id, access_count, last_accessed_at)
		SELECT m.tenant, m.id, 1, $10 FROM first JOIN memories m ON m.tenant = first.tenant WHERE m.tenant = $1
		AND m.id = ANY($7) ORDER BY m.id
		ON CONFLICT (tenant, memory_id) DO UPDATE SET access_count = a.access_count + 1,
			last_accessed_at = greatest(a.last_accessed_at, excluded.last_accessed_at)`,
		r.Principal.Tenant, r.ID, r.Principal.Agent, r.Principal.Project, r.Principal.EffectiveScope(), r.QueryHash,
		r.MemoryIDs, pg.TagList(r.Degraded),
		float32(r.Took.Seconds()*1000), now.UTC().Truncate(time.Microsecond))
	err := s.Pool.SendBatch(ctx, &b).Close()
	if err != nil {
		return fmt.Errorf("track retrieval: %w", err)
	}
	return nil
}
