package forgetting

import (
	"fmt"
	"strings"

	"github.com/mneme/mneme/memory/proposals"
)

// linkedFact holds for proposals p whose memory p.memory_id states what the candidate says: it was written from the
// candidate, or was already known.
const linkedFact = `(p.state = 'applied' AND p.action IN ('add', 'update')
	OR p.state = 'skipped' AND p.outcome IN ('` + proposals.ReasonAlreadyKnown + `', '` + proposals.ReasonDuplicate +
	`'))`

// frontierSQL selects the memories f from which a statement searches: @ids, with their @relations to the request
// and their significant words @words.
const frontierSQL = `
	f AS MATERIALIZED (
		SELECT x.id, x.relation, x.telling, m.content_hash, m.agent_id, m.project, m.scope, m.language
		FROM unnest(@ids::uuid[], @relations::text[], @words::text[]) x(id, relation, telling)
		JOIN memories m ON m.tenant = @tenant AND m.id = x.id
	)`

// keptWith is the condition that a memory m other than f has the agent, project and scope of f.
const keptWith = `m.agent_id = f.agent_id AND m.project = f.project AND m.scope = f.scope AND m.id <> f.id`

// The connections, as rows of seed, id, tie and drawn. Each is a separate SELECT, so that each uses its own index.
const (
	// The sources of f, by its relations and by the pipeline's proposals.
	sourcesSQL = `
		SELECT f.id AS seed, r.target_id AS id, 'source' AS tie, false AS drawn
		FROM f
		JOIN memory_links r ON r.tenant = @tenant AND r.source_id = f.id AND r.predicate = 'derived_from'
		WHERE f.relation <> 'derived'
		UNION
		SELECT f.id, c.memory_id, 'source', false
		FROM f
		JOIN proposals p ON p.tenant = @tenant AND p.memory_id = f.id AND ` + linkedFact + `
		JOIN memory_candidates c ON c.tenant = @tenant AND c.id = p.candidate_id
		WHERE f.relation <> 'derived' AND c.memory_id <> f.id`
	// The memories derived from f.
	derivationsSQL = `
		SELECT f.id, r.source_id, 'derived', false
		FROM f
		JOIN memory_links r ON r.tenant = @tenant AND r.target_id = f.id AND r.predicate = 'derived_from'
		WHERE f.relation <> 'source'
		UNION
		SELECT f.id, p.memory_id, 'derived', true
		FROM f
		JOIN memory_candidates c ON c.tenant = @tenant AND c.memory_id = f.id
		JOIN proposals p ON p.tenant = @tenant AND p.candidate_id = c.id
			AND p.memory_id IS NOT NULL AND ` + linkedFact + `
		WHERE f.relation <> 'source' AND p.memory_id <> f.id`
	// The memories with the text of f. Current and past contents have an index each.
	sameTextSQL = `
		SELECT f.id, m.id, 'restatement', false
		FROM f
		JOIN memories m ON m.tenant = @tenant AND m.content_hash = f.content_hash AND m.live
		WHERE ` + keptWith + `
		UNION
		SELECT f.id, m.id, 'restatement', false
		FROM f
		JOIN memories m ON m.tenant = @tenant AND m.content_hash = f.content_hash
			AND NOT m.live AND m.erased_at IS NULL
		WHERE ` + keptWith
	// The memories with the triple of f.
	sameTripleSQL = `
		SELECT f.id, m.id, 'restatement', false
		FROM f
		JOIN entity_claims c ON c.tenant = @tenant AND c.memory_id = f.id AND c.predicate <> 'states'
		JOIN entity_claims o ON o.tenant = @tenant AND o.subject_key = c.subject_key AND o.predicate = c.predicate
			AND lower(o.object) = lower(c.object)
		JOIN memories m ON m.tenant = @tenant AND m.id = o.memory_id
		WHERE ` + keptWith
)

// nearSQL selects memories extracted from the same sources as f, and memories that have all significant words of f.
var nearSQL = fmt.Sprintf(`
		SELECT f.id, x.id, 'restatement', false
		FROM f
		JOIN memory_links r ON r.tenant = @tenant AND r.source_id = f.id AND r.predicate = 'derived_from'
		CROSS JOIN LATERAL (
			SELECT o.source_id AS id
			FROM memory_links o
			WHERE o.tenant = @tenant AND o.target_id = r.target_id AND o.predicate = 'derived_from'
			LIMIT %[1]d) x
		JOIN memories m ON m.tenant = @tenant AND m.id = x.id
		WHERE f.relation = 'restatement' AND %[2]s
		UNION
		SELECT f.id, x.id, 'restatement', false
		FROM f
		CROSS JOIN LATERAL (
			SELECT s.id
			FROM memory_text s
			WHERE s.live AND s.agent_id = f.agent_id AND s.project = f.project AND s.scope = f.scope
				AND s.tsv @@ plainto_tsquery(mneme_text_config(f.language), f.telling)
			LIMIT %[1]d) x
		WHERE f.relation = 'restatement' AND x.id <> f.id`, nearLimit, keptWith)

// The statements that read the connectedRows of a frontier: without, and with, nearSQL.
var (
	connectedMemories = connectedTo(sourcesSQL, derivationsSQL, sameTextSQL, sameTripleSQL)
	nearMemories      = connectedTo(sourcesSQL, derivationsSQL, sameTextSQL, sameTripleSQL, nearSQL)
)

// connectedTo renders the statement for some connections. It excludes memories that the principal may not change,
// erased memories, and memories that the run already has.
func connectedTo(connections ...string) string {
	return `
		WITH ` + frontierSQL + `, pairs AS (` + strings.Join(connections, `
			UNION`) + `
		)
		SELECT p.seed, p.tie, p.drawn, ` + comparedColumns + `
		FROM pairs p
		JOIN memories m ON m.tenant = @tenant AND m.id = p.id
		WHERE m.erased_at IS NULL
			AND (m.deleted_at IS NULL OR NOT @soft)
			AND ` + mayChange + `
			AND NOT EXISTS (
				SELECT FROM forget_items i
				WHERE i.tenant = @tenant AND i.memory_id = m.id AND i.run_id = @run)
			AND NOT EXISTS (
				SELECT FROM forget_echoes e
				WHERE e.tenant = @tenant AND e.run_id = @run AND e.memory_id = m.id)
		ORDER BY m.id`
}
