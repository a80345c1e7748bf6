package forgetting

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// Limits of the search for memories that say the same as a selection.
const (
	echoPage = 2000 // memories from which one statement searches
	// Up to this many memories are also searched for by words and by common sources. That is meant for a few
	// memories that a person named, not for thousands that a filter found.
	nearSearched = 100
	nearLimit    = 200 // candidates for each memory of such a search
)

// echoSearch searches for echoes: other memories that say the same as the selection of a run.
type echoSearch struct {
	*commit.Change
	run       uuid.UUID
	principal schema.Principal
	mode      schema.ForgetMode
	found     int // so far
}

// echo is a memory that was found.
type echo struct {
	id       uuid.UUID
	tie      proposals.Tie // how it is connected to the selection
	relation proposals.Tie // to the request; it decides how the search continues
	more     bool          // it also says other things
	other    bool          // another agent's memory, which this mode does not change
}

// comparedRow is a memory with the fields for comparison.
type comparedRow struct {
	ID          uuid.UUID
	AgentID     string
	Type        schema.MemoryType
	Content     string
	ContentHash []byte
	Who         string
	Subject     string
	Predicate   string
	Object      string
	Validity    schema.ValidityMode
	Conditions  json.RawMessage
	ValidFrom   *time.Time
	ValidUntil  *time.Time
}

// comparedColumns are the columns of a comparedRow, from memories m.
const comparedColumns = `m.id, m.agent_id, m.type, m.content, m.content_hash, m.who,
	coalesce(m.subject, '') AS subject,
	coalesce(m.predicate, '') AS predicate,
	coalesce(m.object #>> '{}', '') AS object,
	m.validity, m.conditions, m.valid_from, m.valid_until`

// statement returns the row as the input of package proposals.
func (r comparedRow) statement() proposals.Statement {
	return proposals.Statement{
		Type:    r.Type,
		Content: r.Content,
		Hash:    r.ContentHash,
		Speaker: r.Who,
		Claim:   memory.Claim{Subject: r.Subject, Predicate: r.Predicate, Object: r.Object},
		Validity: schema.Validity{Mode: r.Validity, Conditions: r.Conditions, Start: r.ValidFrom,
			End: r.ValidUntil},
	}
}

// connectedRow is a memory connected to a memory of the frontier.
type connectedRow struct {
	Seed  uuid.UUID     // the memory of the frontier
	Tie   proposals.Tie // how they are connected
	Drawn bool          // the pipeline extracted it from the seed, or found that the seed repeats it
	comparedRow
}

// findEchoes records the other memories that say the same as a selection, in the order in which they are found. It
// reads the memories connected with the selection, and proposals.Says decides. It considers memories that the
// principal may change; copies must have the agent, project and scope of the original.
func findEchoes(ctx context.Context, c *commit.Change, run uuid.UUID, req schema.ForgetRequest) error {
	s := echoSearch{Change: c, run: run, principal: req.Principal, mode: req.HowMuch()}
	rows, err := c.Tx.Query(ctx, `
		SELECT memory_id
		FROM forget_items
		WHERE tenant = @tenant AND run_id = @run AND outcome = ''
		ORDER BY ordinal`,
		pg.Args{"tenant": c.Tenant, "run": run})
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return err
	}
	frontier := make([]echo, len(ids))
	for i, id := range ids {
		frontier[i] = echo{id: id, relation: proposals.TieSame}
	}
	for len(frontier) > 0 && s.found <= schema.MaxForgetSelected {
		if frontier, err = s.step(ctx, frontier); err != nil {
			return fmt.Errorf("what says the same: %w", err)
		}
	}
	return s.countOthers(ctx)
}

// step records the new echoes of the memories in the frontier and returns them as the next frontier. Memories of
// another agent that this mode does not change are recorded, but not searched from.
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
		_, err = s.Tx.Exec(ctx, `
			INSERT INTO forget_echoes (tenant, run_id, memory_id, position, tie, also_says, foreign_owner)
			SELECT @tenant, @run, x.id, @found + x.n, x.tie, x.more::integer, x.other
			FROM unnest(@ids::uuid[], @ties::text[], @more::boolean[], @others::boolean[])
				WITH ORDINALITY x(id, tie, more, other, n)`,
			pg.Args{
				"tenant": s.Tenant,
				"run":    s.run,
				"found":  s.found,
				"ids":    ids,
				"ties":   ties,
				"more":   more,
				"others": others,
			})
		if err != nil {
			return nil, err
		}
		s.found += len(found)
	}
	return next, nil
}

// from returns the new echoes of the memories in the frontier.
func (s *echoSearch) from(ctx context.Context, frontier []echo, near bool) ([]echo, error) {
	known := make(map[uuid.UUID]echo, len(frontier))
	for _, e := range frontier {
		known[e.id] = e
	}
	seeds, err := s.statements(ctx, frontier)
	if err != nil {
		return nil, err
	}
	found, err := s.connected(ctx, frontier, seeds, near)
	if err != nil {
		return nil, err
	}
	var out []echo
	for _, row := range found {
		asked, says := seeds[row.Seed], row.statement()
		if !proposals.Says(asked, row.Tie, says) {
			continue
		}
		seed := known[row.Seed]
		relation, ok := proposals.Reached(row.Tie, seed.relation, row.Drawn || proposals.SaysSame(asked, says))
		if !ok {
			continue
		}
		e := echo{id: row.ID, tie: row.Tie, relation: relation,
			other: row.AgentID != s.principal.Agent && !lifecycle.TakesOthers(s.mode)}
		e.more = seed.more || row.Tie != proposals.TieDerived && proposals.SaysMore(asked, says)
		if at := len(out) - 1; at < 0 || out[at].id != e.id {
			out = append(out, e)
		} else {
			out[at] = closerEcho(out[at], e)
		}
	}
	return out, nil
}

// connected reads the memories that are connected with the frontier and that the run does not have yet, in order of
// id. With near it also searches by words and by common sources.
func (s *echoSearch) connected(ctx context.Context, frontier []echo, seeds map[uuid.UUID]proposals.Statement,
	near bool) ([]connectedRow, error) {
	query := connectedMemories
	ids, relations := make([]uuid.UUID, len(frontier)), make([]string, len(frontier))
	words := make([]string, len(frontier))
	for i, e := range frontier {
		ids[i], relations[i] = e.id, string(e.relation)
	}
	if near {
		query = nearMemories
		for i, id := range ids {
			words[i] = proposals.TellingWords(seeds[id])
		}
	}
	rows, err := s.Tx.Query(ctx, query, askerArgs(s.principal, pg.Args{
		"tenant":    s.Tenant,
		"run":       s.run,
		"ids":       ids,
		"relations": relations,
		"words":     words,
		"soft":      s.mode == schema.ForgetSoft,
	}))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[connectedRow])
}

// closerEcho merges two echoes of one memory that was found in two ways. A source remains a source even if it says
// nothing more, because the request does not cover the other facts extracted from it.
func closerEcho(a, b echo) echo {
	switch {
	case a.tie == proposals.TieSource || b.tie == proposals.TieSource:
		a.tie, a.relation = proposals.TieSource, proposals.TieSource
	case a.tie == proposals.TieDerived || b.tie == proposals.TieDerived:
		a.tie = proposals.TieDerived
	}
	a.more = a.more && b.more
	if b.relation == proposals.TieSame && a.relation == proposals.TieDerived {
		a.relation = proposals.TieSame
	}
	return a
}

// statements returns the memories of a frontier for comparison.
func (s *echoSearch) statements(ctx context.Context, frontier []echo) (map[uuid.UUID]proposals.Statement, error) {
	ids := make([]uuid.UUID, len(frontier))
	for i, e := range frontier {
		ids[i] = e.id
	}
	rows, err := s.Tx.Query(ctx, `
		SELECT `+comparedColumns+`
		FROM memories m
		WHERE m.tenant = @tenant AND m.id = ANY(@ids)`,
		pg.Args{"tenant": s.Tenant, "ids": ids})
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[comparedRow])
	out := make(map[uuid.UUID]proposals.Statement, len(found))
	for _, row := range found {
		out[row.ID] = row.statement()
	}
	return out, err
}
