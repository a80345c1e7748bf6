package forgetting

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// Limits of the search for what says the same as a selection.
const (
	echoPage = 2000 // memories from which one statement searches
	// Up to so many memories are also searched for by their words and among what has a source with them: for a
	// few that a person named, not for thousands that a filter found.
	nearSearched = 100
	nearLimit    = 200 // candidates a memory of such a search
)

// linkedFact holds for proposals p of a candidate whose memory p.memory_id is what the candidate says: it was
// written from it, or was found to be known already.
const linkedFact = `(p.state = 'applied' AND p.action IN ('add', 'update')
	OR p.state = 'skipped' AND p.outcome IN ('` + proposals.ReasonAlreadyKnown + `', '` + pipeline.ReasonDuplicate +
	`'))`

// echoSearch looks for the memories that say what a forget run has selected.
type echoSearch struct {
	*commit.Change
	run       uuid.UUID
	principal schema.Principal
	soft      bool
	found     int // so far
}

// echo is a memory that was found.
type echo struct {
	id    uuid.UUID
	tie   proposals.Tie // by which it was found
	stand proposals.Tie // its relation to what was asked for: how the search goes on from it
	more  bool          // it says other things, too
	other bool          // it is another agent's, which this mode leaves alone
}

// comparedMemory is a memory as package memory compares it.
type comparedMemory struct {
	ID    uuid.UUID
	Agent string
	proposals.Statement
}

const comparedColumns = `m.id, m.agent_id, m.type, m.content, m.content_hash, m.who, coalesce(m.subject, ''),
	coalesce(m.predicate, ''), coalesce(m.object #>> '{}', ''),
	m.validity, m.conditions, m.valid_from, m.valid_until`

func (s *comparedMemory) fields() []any {
	v := &s.Validity
	return []any{&s.ID, &s.Agent, &s.Type, &s.Content, &s.Hash, &s.Speaker, &s.Claim.Subject, &s.Claim.Predicate,
		&s.Claim.Object, &v.Mode, &v.Conditions, &v.Start, &v.End}
}

// findEchoes records which other memories say what a run has selected, in the order in which they are found:
// proposals.Says decides, on what is connected with them. It goes by what the principal may look at; copies are
// looked for where the original is kept: with the same agent, project and scope.
func findEchoes(ctx context.Context, c *commit.Change, run uuid.UUID, req schema.ForgetRequest) error {
	s := echoSearch{Change: c, run: run, principal: req.Principal, soft: req.HowMuch() == schema.ForgetSoft}
	ids, err := pg.Collect[struct{ ID uuid.UUID }](ctx, c.Tx, `SELECT memory_id FROM forget_items WHERE tenant = $1
		AND run_id = $2 AND outcome = '' ORDER BY ordinal`, c.Tenant, run)
	if err != nil {
		return err
	}
	frontier := make([]echo, len(ids))
	for i, row := range ids {
		frontier[i] = echo{id: row.ID, stand: proposals.TieSame}
	}
	for len(frontier) > 0 && s.found <= schema.MaxForgetSelected {
		if frontier, err = s.step(ctx, frontier); err != nil {
			return fmt.Errorf("what says the same: %w", err)
		}
	}
	return s.countOthers(ctx)
}

// step writes down what says the same as the memories of the frontier and was not known yet, and returns it
// as the next frontier. What is another agent's and stays leads nowhere.
func (s *echoSearch) step(ctx context.Context, frontier []echo) ([]echo, error) {
	var next []echo
	for page := range slices.Chunk(frontier, echoPage) {
		found, err := s.from(ctx, page, len(frontier) <= nearSearched)
		if err != nil {
			return nil, err
		}
		ids, ties, more, others := make([]uuid.UUID, len(found)), make([]string, len(found)), make([]bool, len(found)),
			make([]bool, len(found))
		for i, e := range found {
			ids[i], ties[i], more[i], others[i] = e.id, string(e.tie), e.more, e.other
			if !e.other {
				next = append(next, e)
			}
		}
		_, err = s.Tx.Exec(ctx, `INSERT INTO forget_echoes (tenant, run_id, memory_id, position, tie, also_says,
			foreign_owner)
			SELECT $1, $2, x.id, $3 + x.n, x.tie, x.more::integer, x.other
			FROM unnest($4::uuid[], $5::text[], $6::boolean[], $7::boolean[]) WITH ORDINALITY x(id, tie, more, other,
				n)`,
			s.Tenant, s.run, s.found, ids, ties, more, others)
		if err != nil {
			return nil, err
		}
		s.found += len(found)
	}
	return next, nil
}

// from returns what says the same as memories of the frontier and is not known yet.
func (s *echoSearch) from(ctx context.Context, frontier []echo, near bool) ([]echo, error) {
	type pair struct {
		seed  uuid.UUID
		by    proposals.Tie
		drawn bool // the pipeline drew it from the seed, or found that it is what the seed says
		comparedMemory
	}
	ids, ties := make([]uuid.UUID, len(frontier)), make([]string, len(frontier))
	known := make(map[uuid.UUID]echo, len(frontier))
	for i, e := range frontier {
		ids[i], ties[i], known[e.id] = e.id, string(e.stand), e
	}
	seeds, err := s.statements(ctx, ids)
	if err != nil {
		return nil, err
	}
	pairs, telling := connectedSQL, make([]string, len(ids))
	if near {
		pairs += nearSQL
		for i, id := range ids {
			telling[i] = proposals.TellingWords(seeds[id])
		}
	}
	rows, err := s.Tx.Query(ctx, `WITH f AS MATERIALIZED (
			SELECT x.id, x.stand, x.telling, m.content_hash, m.agent_id, m.project, m.scope, m.language
			FROM unnest($2::uuid[], $3::text[], $9::text[]) x(id, stand, telling) JOIN memories m ON m.tenant = $1
			AND m.id = x.id
		), pairs AS (`+pairs+`)
		SELECT p.seed, p.by, p.drawn, `+comparedColumns+` FROM pairs p JOIN memories m ON m.tenant = $1 AND m.id = p.id
		WHERE m.erased_at IS NULL AND (m.deleted_at IS NULL OR NOT $4) AND `+pg.SharedWith("m", "$5", "$6", "$7")+`
			AND NOT EXISTS (SELECT FROM forget_items i WHERE i.tenant = $1 AND i.memory_id = m.id AND i.run_id = $8)
			AND NOT EXISTS (SELECT FROM forget_echoes e WHERE e.tenant = $1 AND e.run_id = $8 AND e.memory_id = m.id)
		ORDER BY m.id`, s.Tenant, ids, ties, s.soft, s.principal.Agent, s.principal.Project,
		pg.ChangeGrants(s.principal), s.run, telling)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (pair, error) {
		var p pair
		err := row.Scan(append([]any{&p.seed, &p.by, &p.drawn}, p.fields()...)...)
		return p, err
	})
	if err != nil {
		return nil, err
	}
	var out []echo
	for _, p := range found {
		asked := seeds[p.seed]
		if !proposals.Says(asked, p.by, p.Statement) {
			continue
		}
		stand, ok := proposals.Reached(p.by, known[p.seed].stand, p.drawn || proposals.SaysSame(asked, p.Statement))
		if !ok {
			continue
		}
		e := echo{id: p.ID, tie: p.by, stand: stand, other: p.Agent != s.principal.Agent && !s.soft}
		e.more = known[p.seed].more || p.by != proposals.TieDerived && proposals.SaysMore(asked, p.Statement)
		if at := len(out) - 1; at < 0 || out[at].id != e.id {
			out = append(out, e)
		} else {
			out[at] = closerEcho(out[at], e)
		}
	}
	return out, nil
}

// closerEcho returns the closer of two echoes that are one memory, found in two ways. A source is shown as one and
// stays one: what else was drawn from it is not what was asked for, even where it says nothing more.
func closerEcho(a, b echo) echo {
	switch {
	case a.tie == proposals.TieSource || b.tie == proposals.TieSource:
		a.tie, a.stand = proposals.TieSource, proposals.TieSource
	case a.tie == proposals.TieDerived || b.tie == proposals.TieDerived:
		a.tie = proposals.TieDerived
	}
	a.more = a.more && b.more
	if b.stand == proposals.TieSame && a.stand == proposals.TieDerived {
		a.stand = proposals.TieSame
	}
	return a
}

// statements are memories as they are compared.
func (s *echoSearch) statements(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]proposals.Statement, error) {
	rows, err := s.Tx.Query(ctx, `SELECT `+comparedColumns+` FROM memories m WHERE m.tenant = $1 AND m.id = ANY($2)`,
		s.Tenant, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[uuid.UUID]proposals.Statement, len(ids))
	var m comparedMemory
	_, err = pgx.ForEachRow(rows, m.fields(), func() error {
		out[m.ID] = m.Statement
		m = comparedMemory{} // Scan would write into the slices that the map now has
		return nil
	})
	return out, err
}

// connectedSQL yields, for the memories f, what is connected with them: what they were drawn from, what was
// drawn from them, and what has their text or their triple where they are kept.
const connectedSQL = `
	SELECT f.id AS seed, r.target_id AS id, 'source' AS by, false AS drawn FROM f
	JOIN memory_relations r ON r.tenant = $1 AND r.source_id = f.id AND r.predicate = 'derived_from'
		WHERE f.stand <> 'derived'
	UNION SELECT f.id, c.memory_id, 'source', false FROM f JOIN proposals p ON p.tenant = $1 AND p.memory_id = f.id
	AND ` + linkedFact + `
		JOIN memory_candidates c ON c.tenant = $1 AND c.id = p.candidate_id WHERE f.stand <> 'derived'
		AND c.memory_id <> f.id
	UNION SELECT f.id, r.source_id, 'derived', false FROM f JOIN memory_relations r ON r.tenant = $1
	AND r.target_id = f.id AND r.predicate = 'derived_from'
		WHERE f.stand <> 'source'
	UNION SELECT f.id, p.memory_id, 'derived', true FROM f JOIN memory_candidates c ON c.tenant = $1
	AND c.memory_id = f.id
		JOIN proposals p ON p.tenant = $1 AND p.candidate_id = c.id AND p.memory_id IS NOT NULL AND ` + linkedFact +
	` WHERE f.stand <> 'source' AND p.memory_id <> f.id
	UNION SELECT f.id, m.id, 'restatement', false FROM f JOIN memories m ON m.tenant = $1
	AND m.content_hash = f.content_hash AND m.live
		AND m.agent_id = f.agent_id AND m.project = f.project AND m.scope = f.scope WHERE m.id <> f.id
	UNION SELECT f.id, m.id, 'restatement', false FROM f JOIN memories m ON m.tenant = $1
	AND m.content_hash = f.content_hash AND NOT m.live AND m.erased_at IS NULL
		AND m.agent_id = f.agent_id AND m.project = f.project AND m.scope = f.scope WHERE m.id <> f.id
	UNION SELECT f.id, m.id, 'restatement', false FROM f JOIN entity_claims c ON c.tenant = $1 AND c.memory_id = f.id
	AND c.predicate <> 'states'
		JOIN entity_claims o ON o.tenant = $1 AND o.subject_key = c.subject_key AND o.predicate = c.predicate
		AND lower(o.object) = lower(c.object)
		JOIN memories m ON m.tenant = $1 AND m.id = o.memory_id AND m.agent_id = f.agent_id AND m.project = f.project
		AND m.scope = f.scope WHERE m.id <> f.id`

// nearSQL also yields what was drawn from the same sources, and what has all of their telling words.
var nearSQL = fmt.Sprintf(`
	UNION SELECT f.id, x.id, 'restatement', false FROM f JOIN memory_relations r ON r.tenant = $1 AND r.source_id = f.id
	AND r.predicate = 'derived_from'
		CROSS JOIN LATERAL (SELECT o.source_id AS id FROM memory_relations o WHERE o.tenant = $1
			AND o.target_id = r.target_id AND o.predicate = 'derived_from' LIMIT %[1]d) x
		JOIN memories m ON m.tenant = $1 AND m.id = x.id AND m.agent_id = f.agent_id AND m.project = f.project
		AND m.scope = f.scope
		WHERE f.stand = 'restatement' AND x.id <> f.id
	UNION SELECT f.id, x.id, 'restatement', false FROM f CROSS JOIN LATERAL (
			SELECT s.id FROM memory_text s WHERE s.live AND s.agent_id = f.agent_id AND s.project = f.project
			AND s.scope = f.scope
				AND s.tsv @@ plainto_tsquery(mneme_text_config(f.language), f.telling) LIMIT %[1]d) x
		WHERE f.stand = 'restatement' AND x.id <> f.id`, nearLimit)

// countOthers counts what else the first echoes say: what was drawn from them apart from what says the same, and of
// what was derived what else it was drawn from.
func (s *echoSearch) countOthers(ctx context.Context) error {
	const outside = ` AND NOT EXISTS (SELECT FROM forget_items i WHERE i.tenant = $1 AND i.run_id = $2
		AND i.memory_id = m.id)
		AND NOT EXISTS (SELECT FROM forget_echoes i WHERE i.tenant = $1 AND i.run_id = $2 AND i.memory_id = m.id)`
	rows, err := s.Tx.Query(ctx, `SELECT e.memory_id, e.tie, t.content, e.also_says > 0, CASE e.tie
		WHEN 'derived' THEN (
			SELECT count(*) FROM memory_relations r JOIN memories m ON m.tenant = $1 AND m.id = r.target_id
			AND m.erased_at IS NULL
			WHERE r.tenant = $1 AND r.source_id = e.memory_id AND r.predicate = 'derived_from'`+outside+`
		) ELSE (
			SELECT count(*) FROM (
				SELECT r.source_id AS id FROM memory_relations r WHERE r.tenant = $1 AND r.target_id = e.memory_id
				AND r.predicate = 'derived_from'
				UNION SELECT p.memory_id FROM memory_candidates c JOIN proposals p ON p.tenant = $1
				AND p.candidate_id = c.id AND `+linkedFact+`
					WHERE c.tenant = $1 AND c.memory_id = e.memory_id AND p.memory_id <> e.memory_id
			) x JOIN memories m ON m.tenant = $1 AND m.id = x.id AND m.erased_at IS NULL
			AND m.deleted_at IS NULL`+outside+`
		) + (SELECT count(*) FROM memory_candidates c JOIN proposals p ON p.tenant = $1 AND p.candidate_id = c.id
			WHERE c.tenant = $1 AND c.memory_id = e.memory_id AND `+pg.WaitsForReview+`) END
		FROM forget_echoes e JOIN memories t ON t.tenant = $1 AND t.id = e.memory_id
		WHERE e.tenant = $1 AND e.run_id = $2 AND NOT e.foreign_owner ORDER BY e.position LIMIT $3`, s.Tenant, s.run,
		schema.MaxForgetSample)
	if err != nil {
		return err
	}
	var id uuid.UUID
	var tie proposals.Tie
	var text string
	var more bool
	var others int
	_, err = pgx.ForEachRow(rows, []any{&id, &tie, &text, &more, &others}, func() error {
		if tie != proposals.TieDerived {
			others = proposals.AlsoSays(text, others, more)
		}
		if others > 0 {
			s.Queue.Queue(`UPDATE forget_echoes SET also_says = $4 WHERE tenant = $1 AND run_id = $2
				AND memory_id = $3`, s.Tenant, s.run, id, others)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.Flush(ctx)
}

// takeEchoes selects what was found to say the same, after the first items of a run, and returns how many there are.
func takeEchoes(ctx context.Context, c *commit.Change, run uuid.UUID, first int) (int, error) {
	tag, err := c.Tx.Exec(ctx, `WITH taken AS (
			UPDATE forget_echoes SET taken = true WHERE tenant = $1 AND run_id = $2 AND NOT foreign_owner
			RETURNING memory_id, position
		)
		INSERT INTO forget_items (tenant, run_id, ordinal, memory_id, version)
		SELECT $1, $2, $3 + row_number() OVER (ORDER BY t.position) - 1, m.id, m.version FROM taken t
		JOIN memories m ON m.tenant = $1 AND m.id = t.memory_id`,
		c.Tenant, run, first)
	return int(tag.RowsAffected()), err
}

// showEchoes puts into a preview what says the same.
func showEchoes(ctx context.Context, c *commit.Change, run uuid.UUID, preview *schema.ForgetPreview) error {
	var err error
	err = c.Tx.QueryRow(ctx, `SELECT count(*) FILTER (WHERE NOT foreign_owner), count(*) FILTER (WHERE foreign_owner)
		FROM forget_echoes WHERE tenant = $1 AND run_id = $2`,
		c.Tenant, run).Scan(&preview.SaysSame, &preview.SaysSameNotOwner)
	if err != nil || preview.SaysSame == 0 {
		return err
	}
	preview.Echoes, err = listEchoes(ctx, c, run, "true")
	return err
}

// remainingEchoes lists the first echoes of a run that are left, where it has forgotten anything, and returns how
// many there are.
func remainingEchoes(ctx context.Context, c *commit.Change, r *ForgetRow) (int, []schema.ForgetEcho, error) {
	left := `EXISTS (SELECT FROM memories m WHERE m.tenant = e.tenant AND m.id = e.memory_id AND m.erased_at IS NULL`
	if r.Mode == schema.ForgetSoft {
		left += ` AND m.deleted_at IS NULL`
	}
	left += `)`
	var n int
	err := c.Tx.QueryRow(ctx, `SELECT count(*) FROM forget_echoes e WHERE e.tenant = $1 AND e.run_id = $2
		AND NOT e.foreign_owner AND `+left, c.Tenant, r.ID).Scan(&n)
	if err != nil || n == 0 {
		return n, nil, err
	}
	echoes, err := listEchoes(ctx, c, r.ID, left)
	return n, echoes, err
}

// listEchoes lists the first of those of a run for which a condition holds.
func listEchoes(ctx context.Context, c *commit.Change, run uuid.UUID, where string) ([]schema.ForgetEcho, error) {
	return pg.Collect[schema.ForgetEcho](ctx, c.Tx, `SELECT e.memory_id::text, e.tie, e.also_says FROM forget_echoes e
		WHERE e.tenant = $1 AND e.run_id = $2 AND NOT e.foreign_owner AND `+where+` ORDER BY e.position LIMIT $3`,
		c.Tenant, run, schema.MaxForgetSample)
}
