package search

import (
	"encoding/binary"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// ownFeatures are the features in the row of the memory m, in the order of featureRow.columns.
const ownFeatures = `m.type, m.category, m.status, m.agent_id, m.agent_session_id, m.who, m.occurred_at, m.importance,
			m.bytes, m.conditions IS NOT NULL AS conditional, substr(m.content_hash, 1, 8) AS words`

// sourcesOf selects the sources of the memory m.
//
// A fact extracted from other memories repeats them, so they are its sources if the principal may see them. A
// procedure derived from an episode, or a fork of its target, says something else, so both are answers (document
// 004 §12 and §15B).
func sourcesOf(f pg.Filter, args pg.Args) string {
	return `
		CASE WHEN m.type = 'semantic' THEN array(
			SELECT s.id
			FROM (
				SELECT r.target_id AS id
				FROM memory_links r
				WHERE r.tenant = m.tenant AND r.source_id = m.id AND r.predicate = 'derived_from'
				UNION
				SELECT r.source_id
				FROM memory_links r
				WHERE r.tenant = m.tenant AND r.target_id = m.id AND r.predicate = 'restates'
			) said
			JOIN memories s ON s.tenant = m.tenant AND s.id = said.id
			WHERE ` + f.State("s") + ` AND ` + f.Visible("s", args) + `
				AND (s.type <> 'semantic' OR s.conditions_hash = m.conditions_hash)
			ORDER BY s.id
			LIMIT 500
		) END AS sources`
}

// featureRow is a memory with the features that ranking uses. A recall reads hundreds, so it is scanned without
// reflection, and recurring texts are stored once.
type featureRow struct {
	words                         pg.Words
	kind, category, status        string
	agent, session, speaker       string
	occurredAt                    time.Time
	importance                    float64
	bytes                         int32
	conditional                   bool
	digest                        []byte
	typeOf, categoryOf, statusOf  *pg.Word
	agentOf, sessionOf, speakerOf *pg.Word
}

func newFeatureRow() *featureRow {
	r := &featureRow{words: pg.Words{}}
	r.typeOf, r.categoryOf, r.statusOf = r.words.Column(&r.kind), r.words.Column(&r.category), r.words.Column(&r.status)
	r.agentOf, r.sessionOf = r.words.Column(&r.agent), r.words.Column(&r.session)
	r.speakerOf = r.words.Column(&r.speaker)
	return r
}

// columns returns the scan targets of ownFeatures.
func (r *featureRow) columns() []any {
	return []any{r.typeOf, r.categoryOf, r.statusOf, r.agentOf, r.sessionOf, r.speakerOf, &r.occurredAt, &r.importance,
		&r.bytes, &r.conditional, &r.digest}
}

// features returns the features of the last scanned row, with its sources.
func (r *featureRow) features(sources []uuid.UUID) rank.Features {
	out := rank.Features{
		Type:        schema.MemoryType(r.kind),
		Category:    schema.Category(r.category),
		Status:      schema.Status(r.status),
		Agent:       r.agent,
		Session:     r.session,
		Speaker:     r.speaker,
		OccurredAt:  r.occurredAt,
		Importance:  r.importance,
		Bytes:       int(r.bytes),
		Conditional: r.conditional,
		Words:       int64(binary.BigEndian.Uint64(r.digest)), // content_hash has 32 bytes
	}
	if len(sources) > 0 {
		out.Source, out.Others = sources[0], sources[1:]
	}
	return out
}
