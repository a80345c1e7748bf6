package search

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

const (
	maxLinksPerMemory  = 3        // sources or reasons of one result
	maxArtifactsShown  = 20       // of all results together
	maxClaimsPerCard   = 40       // read for a card, which shows fewer
	claimsRead         = "400"    // of an entity; if there are more, the index decides which
	artifactExcerpt    = 32 << 10 // bytes read of an artifact for a supplement
	rescuedArtifacts   = 20       // read by a fallback search: those with most of the words
	rescueArtifactRead = 256 << 10
	maxRescueMatches   = 2_000
	maxSessionNotes    = 12 // of one session; a digest shows few
)

// Linked is a memory that the filter admits, and the memory that it is a source or a reason of.
type Linked struct{ Of, ID uuid.UUID }

// Sources returns the memories that the given ones were derived from, oldest first, a few for each. Both ends of a
// link pass the filter.
func (s *Search) Sources(ctx context.Context, f pg.Filter, ids []uuid.UUID) ([]Linked, error) {
	return s.linked(ctx, f, ids, []string{revision.RelationDerivedFrom}, nil)
}

// Predicates of relations to a decision's reasons: from the decision to its reason, and from the reason to the
// decision. They include predicates that writers use in addition to those of document 004.
var (
	reasonsOf = []string{revision.RelationDerivedFrom, "based_on", "because", "because_of", "caused_by",
		"motivated_by", "supported_by", "justified_by", "follows_from"}
	reasonsFor = []string{"supports", "justifies", "explains", "motivates", "rationale_for", "led_to", "causes"}
)

// Rationale returns the reasons of decisions, a few for each: first stated reasons, then the memories that the
// decisions were extracted from.
func (s *Search) Rationale(ctx context.Context, f pg.Filter, ids []uuid.UUID) ([]Linked, error) {
	return s.linked(ctx, f, ids, reasonsOf, reasonsFor)
}

// linked follows the outward predicates from the memories, and the inward predicates to them.
func (s *Search) linked(ctx context.Context, f pg.Filter, ids []uuid.UUID, outward, inward []string) ([]Linked, error) {
	args := pg.Args{"tenant": f.Principal.Tenant, "ids": ids, "outward": outward, "most": maxLinksPerMemory}
	edges := `
		SELECT r.source_id AS of, r.target_id AS id, r.predicate = 'derived_from' AS derived
		FROM memory_links r
		WHERE r.tenant = @tenant AND r.source_id = ANY(@ids) AND r.predicate = ANY(@outward)`
	if len(inward) > 0 {
		args["inward"] = inward
		edges += `
		UNION ALL
		SELECT r.target_id, r.source_id, false
		FROM memory_links r
		WHERE r.tenant = @tenant AND r.target_id = ANY(@ids) AND r.predicate = ANY(@inward)`
	}
	query := `
		SELECT of, id
		FROM (
			SELECT e.of, e.id, row_number() OVER (PARTITION BY e.of ORDER BY e.derived, m.occurred_at, m.id) AS n
			FROM (
				SELECT of, id, bool_and(derived) AS derived
				FROM (` + edges + `) every
				GROUP BY of, id
			) e
			JOIN memories m ON m.tenant = @tenant AND m.id = e.id
			JOIN memories o ON o.tenant = @tenant AND o.id = e.of
			WHERE ` + f.Where("m", args) + ` AND o.live AND ` + f.Visible("o", args) + `
		) x
		WHERE n <= @most
		ORDER BY of, n`
	out, err := pg.QueryBatchRows[Linked](ctx, s.DB, f.Principal.Tenant, pg.PlanOnce, query, args)
	if err != nil {
		return nil, fmt.Errorf("read links: %w", err)
	}
	return out, nil
}

// SessionNotes holds the records of one session that are not turns.
type SessionNotes struct {
	Of  []uuid.UUID // those of the given memories that belong to the session
	IDs []uuid.UUID // working state first, then the most important
}

// SessionNotes returns the notes and facts of the memories' sessions, if the filter admits them. The memories pass
// the filter too: a hidden memory leads to no session.
func (s *Search) SessionNotes(ctx context.Context, f pg.Filter, ids []uuid.UUID) ([]SessionNotes, error) {
	args := pg.Args{"tenant": f.Principal.Tenant, "ids": ids, "most": maxSessionNotes}
	query := `
		SELECT x.of, array(
			SELECT m.id
			FROM memories m
			WHERE m.agent_session_id = x.agent_session_id
				AND m.agent_id = x.agent_id
				AND m.type <> 'episodic'
				AND ` + f.Where("m", args) + `
			ORDER BY m.type = 'working' DESC, ` + f.ImportanceNow("m", args) + ` DESC, m.occurred_at, m.id
			LIMIT @most
		) AS ids
		FROM (
			SELECT o.agent_id, o.agent_session_id, array_agg(o.id ORDER BY o.id) AS of
			FROM memories o
			WHERE o.tenant = @tenant AND o.id = ANY(@ids) AND o.live AND o.agent_session_id IS NOT NULL
				AND ` + f.Visible("o", args) + `
			GROUP BY o.agent_id, o.agent_session_id
		) x
		ORDER BY x.of`
	out, err := pg.QueryBatchRows[SessionNotes](ctx, s.DB, f.Principal.Tenant, pg.PlanForValues, query, args)
	if err != nil {
		return nil, fmt.Errorf("read session notes: %w", err)
	}
	return slices.DeleteFunc(out, func(n SessionNotes) bool { return len(n.IDs) == 0 }), nil
}

// TextArtifact is the beginning of a text that a memory refers to.
type TextArtifact struct {
	Of         uuid.UUID
	OccurredAt time.Time // of the memory
	Address    string    // sha256: and hexadecimal digits
	Size       int64     // bytes of the whole
	Text       string    // without bytes that are not UTF-8
}

// isText is the condition that an artifact a holds text.
const isText = `(a.media_type LIKE 'text/%' OR a.media_type LIKE 'application/json%'
	OR a.media_type LIKE 'application/%+json%'
	OR a.media_type LIKE 'application/xml%' OR a.media_type LIKE 'application/%yaml%')`

// Artifacts returns the beginnings of texts that the memories refer to, in the order of the ids. It skips memories
// that the filter does not admit.
func (s *Search) Artifacts(ctx context.Context, f pg.Filter, ids []uuid.UUID) ([]TextArtifact, error) {
	args := pg.Args{"tenant": f.Principal.Tenant, "ids": ids, "bytes": artifactExcerpt, "most": maxArtifactsShown}
	query := `
		SELECT x.memory_id, x.sha256, a.size, m.occurred_at,
			substring(a.content FROM 1 FOR @bytes) AS content
		FROM memory_artifacts x
		JOIN memories m ON m.tenant = x.tenant AND m.id = x.memory_id
		JOIN artifacts a ON a.tenant = x.tenant AND a.sha256 = x.sha256
		WHERE x.tenant = @tenant AND x.memory_id = ANY(@ids)
			AND ` + isText + `
			AND ` + f.Where("m", args) + `
		ORDER BY array_position(@ids::uuid[], x.memory_id), x.sha256
		LIMIT @most`
	return s.textArtifacts(ctx, f, query, args)
}

// SearchArtifacts returns the beginnings of texts that have words with the given beginnings, if a memory that the
// filter admits refers to the text. Texts with most of the words come first, each text once. It is used by the
// fallback search. The first 256 KiB of a text are indexed.
func (s *Search) SearchArtifacts(ctx context.Context, f pg.Filter, beginnings []string,
	limit int) ([]TextArtifact, error) {
	if len(beginnings) == 0 {
		return nil, nil
	}
	args := pg.Args{"tenant": f.Principal.Tenant, "bytes": rescueArtifactRead, "compared": maxRescueMatches,
		"most": min(limit, rescuedArtifacts)}
	match, count := beginningsSQL("s.words", beginnings, args)
	query := `
		SELECT x.memory_id, x.sha256, a.size, x.occurred_at,
			substring(a.content FROM 1 FOR @bytes) AS content
		FROM (
			SELECT z.*
			FROM (
				SELECT DISTINCT ON (y.sha256) y.*
				FROM (
					SELECT s.sha256, s.score, k.memory_id, m.occurred_at
					FROM (
						SELECT s.sha256, ` + count + ` AS score
						FROM artifact_search s
						WHERE ` + match + `
						OFFSET 0
					) s
					JOIN memory_artifacts k ON k.tenant = @tenant AND k.sha256 = s.sha256
					JOIN memories m ON m.tenant = @tenant AND m.id = k.memory_id AND ` + f.Where("m", args) + `
					LIMIT @compared
				) y
				ORDER BY y.sha256, y.memory_id DESC
			) z
			ORDER BY z.score DESC, z.memory_id DESC, z.sha256
			LIMIT @most
		) x
		JOIN artifacts a ON a.tenant = @tenant AND a.sha256 = x.sha256
		ORDER BY x.score DESC, x.memory_id DESC, x.sha256`
	return s.textArtifacts(ctx, f, query, args)
}

// beginningsSQL renders a condition that a column of words has words with some of the given beginnings, and the
// number of these beginnings.
func beginningsSQL(column string, beginnings []string, args pg.Args) (match, count string) {
	parts, counts := make([]string, len(beginnings)), make([]string, len(beginnings))
	for i, b := range beginnings {
		parts[i] = quoteLexeme(b) + ":*"
		counts[i] = fmt.Sprintf("(%s @@ @beginning_%d::tsquery)::int", column, i)
		args[fmt.Sprint("beginning_", i)] = parts[i]
	}
	args["match"] = strings.Join(parts, " | ")
	return column + " @@ @match::tsquery", "(" + strings.Join(counts, " + ") + ")::float8"
}

func (s *Search) textArtifacts(ctx context.Context, f pg.Filter, query string, args pg.Args) ([]TextArtifact, error) {
	type artifactRow struct {
		MemoryID        uuid.UUID
		SHA256, Content []byte
		Size            int64
		OccurredAt      time.Time
	}
	found, err := pg.QueryBatchRows[artifactRow](ctx, s.DB, f.Principal.Tenant, pg.PlanForValues, query, args)
	if err != nil {
		return nil, fmt.Errorf("read artifacts: %w", err)
	}
	var out []TextArtifact
	for _, a := range found {
		out = append(out, TextArtifact{Of: a.MemoryID, OccurredAt: a.OccurredAt, Size: a.Size,
			Address: schema.ArtifactPrefix + hex.EncodeToString(a.SHA256),
			Text:    strings.ReplaceAll(strings.ToValidUTF8(string(a.Content), ""), "\x00", "")})
	}
	return out, nil
}

// EntityClaims holds the claims about one entity in memories that the filter admits.
type EntityClaims struct {
	Of     []uuid.UUID // those of the given memories that name the entity
	Claims []rank.CardClaim
}

// Cards returns the claims about the entities that the memories name, from memories that the filter admits.
// Entities that most of the memories name come first, and for each entity its most important claims. The number of
// statements does not depend on the number of claims.
func (s *Search) Cards(ctx context.Context, f pg.Filter, ids []uuid.UUID, limit int) ([]EntityClaims, error) {
	args := pg.Args{"tenant": f.Principal.Tenant, "ids": ids, "limit": limit, "most": maxClaimsPerCard}
	query := `
		WITH named AS (
			SELECT e.canonical_name AS key, n.memory_id
			FROM memory_entity_mentions n
			JOIN entities e ON e.tenant = n.tenant AND e.id = n.entity_id
			WHERE n.tenant = @tenant AND n.memory_id = ANY(@ids)
			UNION
			SELECT c.subject_key, c.memory_id
			FROM entity_claims c
			WHERE c.tenant = @tenant AND c.memory_id = ANY(@ids)
		), subjects AS (
			SELECT n.key, array_agg(m.id ORDER BY m.id) AS of
			FROM named n
			JOIN memories m ON m.tenant = @tenant AND m.id = n.memory_id
			WHERE m.live AND ` + f.Visible("m", args) + `
			GROUP BY n.key
		)
		SELECT s.key, s.of, k.memory_id AS memory, k.subject, k.predicate, k.object
		FROM (
			SELECT s.*
			FROM subjects s
			WHERE EXISTS (
				SELECT
				FROM entity_claims c
				JOIN memories m ON m.tenant = c.tenant AND m.id = c.memory_id
				WHERE c.tenant = @tenant AND c.subject_key = s.key AND ` + f.Where("m", args) + `)
			ORDER BY cardinality(s.of) DESC, s.key
			LIMIT @limit
		) s
		CROSS JOIN LATERAL (
			SELECT c.memory_id, c.subject, c.predicate, c.object,
				` + f.ImportanceNow("m", args) + ` AS importance,
				m.occurred_at
			FROM (
				SELECT DISTINCT i.memory_id
				FROM (
					SELECT c.memory_id
					FROM entity_claims c
					WHERE c.tenant = @tenant AND c.subject_key = s.key
					LIMIT ` + claimsRead + `
				) i
			) i
			JOIN memories m ON m.tenant = @tenant AND m.id = i.memory_id AND ` + f.Where("m", args) + `
			JOIN entity_claims c ON c.tenant = m.tenant AND c.memory_id = m.id AND c.subject_key = s.key
			ORDER BY importance DESC, m.occurred_at DESC, c.memory_id
			LIMIT @most
		) k
		ORDER BY cardinality(s.of) DESC, s.key, k.importance DESC, k.occurred_at DESC, k.memory_id, k.predicate`
	type claimRow struct {
		Key string
		Of  []uuid.UUID
		rank.CardClaim
	}
	found, err := pg.QueryBatchRows[claimRow](ctx, s.DB, f.Principal.Tenant, pg.PlanForValues, query, args)
	if err != nil {
		return nil, fmt.Errorf("read claims of entities: %w", err)
	}
	var out []EntityClaims
	for i, c := range found {
		if i == 0 || c.Key != found[i-1].Key {
			out = append(out, EntityClaims{Of: c.Of})
		}
		card := &out[len(out)-1]
		card.Claims = append(card.Claims, c.CardClaim)
	}
	return out, nil
}

// RescueText returns memories that the filter admits and that have words with the given beginnings, best first. The
// score is the number of such words. It is used if the ranked search found nothing. Because it uses neither stems
// nor stop words, it finds words in other languages and other forms.
func (s *Search) RescueText(ctx context.Context, f pg.Filter, beginnings []string, limit int) ([]Hit, error) {
	if len(beginnings) == 0 {
		return nil, nil
	}
	args := pg.Args{"compared": maxRescueMatches, "limit": limit}
	match, count := beginningsSQL("m.tsv", beginnings, args)
	query := `
		SELECT x.id, x.score
		FROM (
			SELECT m.id, ` + count + ` AS score
			FROM memory_text m
			WHERE ` + match + ` AND ` + f.Where("m", args) + `
			LIMIT @compared
		) x
		ORDER BY x.score DESC, x.id DESC
		LIMIT @limit`
	out, err := pg.QueryBatchRows[Hit](ctx, s.DB, f.Principal.Tenant, pg.PlanForValues, query, args)
	if err != nil {
		return nil, fmt.Errorf("search by beginnings: %w", err)
	}
	return out, nil
}
