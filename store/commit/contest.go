package commit

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// actorContest is the actor in history when a contest ends because a side of it is gone.
const actorContest = "contest-policy"

// ActorConsolidation is the actor in history of the workflows that learn and tidy up.
const ActorConsolidation = "consolidation"

// contradicting selects each memory id that has the relation contradicts, in either direction, with one of @memories,
// which is other.
const contradicting = `
	SELECT target_id AS id, source_id AS other
	FROM memory_links
	WHERE tenant = @tenant AND source_id = ANY(@memories) AND predicate = '` + revision.RelationContradicts + `'
	UNION ALL
	SELECT source_id, target_id
	FROM memory_links
	WHERE tenant = @tenant AND target_id = ANY(@memories) AND predicate = '` + revision.RelationContradicts + `'`

// contestedBy selects each contested memory that contradicts one of @memories, which is other.
const contestedBy = `
	SELECT m.id, x.other
	FROM (` + contradicting + `) x
	JOIN memories m ON m.tenant = @tenant AND m.id = x.id AND m.status = 'contested' AND m.live
	ORDER BY m.id, x.other`

// noteSides records the contested memories that contradict memories that cease to be live.
func (c *Change) noteSides(ctx context.Context, gone []uuid.UUID) error {
	if len(gone) == 0 {
		return nil
	}
	found, err := Rows[struct{ ID, Other uuid.UUID }](ctx, c.Tx, contestedBy,
		pg.Args{"tenant": c.Tenant, "memories": gone})
	for _, row := range found {
		if c.sides == nil {
			c.sides = map[uuid.UUID]uuid.UUID{}
		}
		c.sides[row.ID] = row.Other
	}
	return err
}

// NoteRemoved must be called before the rows of live memories are deleted or emptied. It records what the end of the
// change needs: their lexemes, and the memories that they contest.
func (c *Change) NoteRemoved(ctx context.Context, ids []uuid.UUID) error {
	if err := c.NoteLostText(ctx, ids); err != nil {
		return err
	}
	return c.noteSides(ctx, ids)
}

// EndContests makes the memories active again that were contested only by memories that this change has removed or
// replaced, as revision.EndContests decides. Every change does so at its end. Call it before if the change then reads
// such memories again.
func (c *Change) EndContests(ctx context.Context) error {
	gone := c.Uncounted[c.ended:]
	if len(gone) == 0 && len(c.sides) == 0 {
		return nil
	}
	if err := c.Flush(ctx); err != nil {
		return err
	}
	c.ended = len(c.Uncounted)
	if err := c.noteSides(ctx, gone); err != nil || len(c.sides) == 0 {
		return err
	}
	others := c.sides
	c.sides = nil
	sides, err := c.lockSides(ctx, others)
	if err != nil || len(sides) == 0 {
		return err
	}
	names, relations := revision.EndContests(sides)
	for _, r := range relations {
		c.Relate(uuid.MustParse(r.Source), r.Predicate, uuid.MustParse(r.Target))
	}
	freed, by := make([]uuid.UUID, len(names)), make([]uuid.UUID, len(names))
	for i, name := range names {
		freed[i] = uuid.MustParse(name)
		by[i] = others[freed[i]]
	}
	c.free(freed, by)
	return c.Flush(ctx)
}

// LockContests locks the memories among ids whose removal may end a contest, and all parties of that contest: what they
// contradict, and what makes the claim of one of these. It also locks the other memories with, all in order of id, so
// that two changes that remove parties of one contest do not deadlock. Call it with the memories that the change may
// remove or replace, before these are locked. It locks nothing if there is no contest.
func (c *Change) LockContests(ctx context.Context, ids []uuid.UUID, with ...uuid.UUID) error {
	parties, err := c.parties(ctx, ids)
	if err != nil || len(parties) == 0 {
		return err
	}
	return c.lock(ctx, append(parties, with...))
}

// parties returns the memories among ids whose removal may end a contest, and the other parties of these contests.
func (c *Change) parties(ctx context.Context, ids []uuid.UUID) ([]uuid.UUID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := Rows[struct{ ID, Other uuid.UUID }](ctx, c.Tx, contestedBy, pg.Args{"tenant": c.Tenant, "memories": ids})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var sides, parties []uuid.UUID
	for _, row := range found {
		sides, parties = append(sides, row.ID), append(parties, row.ID, row.Other)
	}
	rivals, err := Rows[rivalRow](ctx, c.Tx, rivalsSQL, pg.Args{"tenant": c.Tenant, "memories": sides})
	for _, r := range rivals {
		parties = append(parties, r.ID)
	}
	return parties, err
}

// lock locks memories in order of id.
func (c *Change) lock(ctx context.Context, ids []uuid.UUID) error {
	_, err := c.Tx.Exec(ctx, `SELECT FROM memories m WHERE m.tenant = @tenant AND m.id = ANY(@ids)`+forUpdate,
		pg.Args{"tenant": c.Tenant, "ids": ids})
	return err
}

// lockSides returns those among the memories that are still live and contested, with what still contests them. It
// first locks them and their rivals, in order of id. So of two changes that remove the last two opponents or rivals of
// a memory, the later one sees that both are gone.
func (c *Change) lockSides(ctx context.Context, others map[uuid.UUID]uuid.UUID) ([]revision.Side, error) {
	ids := make([]uuid.UUID, 0, len(others))
	for id := range others {
		ids = append(ids, id)
	}
	args := pg.Args{"tenant": c.Tenant, "memories": ids}
	rivals, err := Rows[rivalRow](ctx, c.Tx, rivalsSQL, args)
	if err != nil {
		return nil, err
	}
	both := slices.Clone(ids)
	for _, r := range rivals {
		both = append(both, r.ID)
	}
	if err := c.lock(ctx, both); err != nil {
		return nil, err
	}
	locked, err := Rows[sideRow](ctx, c.Tx, `
		SELECT m.id, m.validity, m.conditions, m.valid_from, m.valid_until
		FROM memories m
		WHERE m.tenant = @tenant AND m.id = ANY(@memories) AND m.status = 'contested' AND m.live
		ORDER BY m.id`, args)
	if err != nil || len(locked) == 0 {
		return nil, err
	}
	contested, err := c.IdSet(ctx, `
		SELECT x.other
		FROM (`+contradicting+`) x
		JOIN memories m ON m.tenant = @tenant AND m.id = x.id AND m.status = 'contested' AND m.live`, args)
	if err != nil {
		return nil, err
	}
	if rivals, err = Rows[rivalRow](ctx, c.Tx, rivalsSQL, args); err != nil { // those that are left
		return nil, err
	}
	of := map[uuid.UUID][]revision.Holder{}
	for _, r := range rivals {
		of[r.Side] = append(of[r.Side], revision.Holder{ID: r.ID.String(), Status: r.Status, Validity: r.validity()})
	}
	sides := make([]revision.Side, len(locked))
	for i, m := range locked {
		sides[i] = revision.Side{ID: m.ID.String(), Validity: m.validity(), Contests: contested[m.ID], Rivals: of[m.ID]}
	}
	return sides, nil
}

// sideRow is a contested memory.
type sideRow struct {
	ID         uuid.UUID
	Validity   schema.ValidityMode
	Conditions json.RawMessage
	ValidFrom  *time.Time
	ValidUntil *time.Time
}

func (r sideRow) validity() schema.Validity {
	return schema.Validity{Mode: r.Validity, Conditions: r.Conditions, Start: r.ValidFrom, End: r.ValidUntil}
}

// rivalRow is a live memory that makes the claim of a contested one.
type rivalRow struct {
	sideRow

	Side   uuid.UUID
	Status schema.Status
}

// rivalsSQL has each status as a literal, because each has its own index.
var rivalsSQL = rivalsOf("active") + ` UNION ALL ` + rivalsOf("contested")

func rivalsOf(status string) string {
	return `
	SELECT s.id AS side, m.id, m.status, m.validity, m.conditions, m.valid_from, m.valid_until
	FROM memories s
	JOIN memories m ON m.tenant = @tenant AND m.scope = s.scope AND m.claim_space = s.claim_space
		AND m.claim_key = s.claim_key AND m.type = 'semantic' AND m.functional AND m.live AND m.deleted_at IS NULL
		AND m.status = '` + status + `' AND m.id <> s.id
	WHERE s.tenant = @tenant AND s.id = ANY(@memories) AND s.type = 'semantic' AND s.functional`
}

// free makes contested memories active. by has the memory that contested each. Forget runs that have selected a memory
// follow its version, because its text is the same.
func (c *Change) free(memories, by []uuid.UUID) {
	if len(memories) == 0 {
		return
	}
	c.Queue.Queue(`
		WITH freed AS (
			UPDATE memories m
			SET status = 'active', updated_at = @now, version = m.version + 1
			FROM unnest(@memories::uuid[], @entries::uuid[], @by::uuid[]) x(id, entry, by)
			WHERE m.tenant = @tenant AND m.id = x.id
			RETURNING m.id, m.version, x.entry, x.by
		), told AS (
			INSERT INTO memory_history (tenant, id, memory_id, event, changed_by, reason, metadata, created_at, action,
				version)
			SELECT @tenant, entry, id, 'modified', @actor, @reason, jsonb_build_object(@other::text, by), @now,
				'modify', version
			FROM freed
		), followed AS (
			UPDATE forget_items i
			SET version = f.version
			FROM freed f
			WHERE i.tenant = @tenant AND i.memory_id = f.id AND i.outcome = '' AND i.version = f.version - 1
		)
		INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
		SELECT @tenant, id, version, 'upsert', @now
		FROM freed`,
		pg.Args{
			"tenant":   c.Tenant,
			"memories": memories,
			"entries":  pg.NewIDs(len(memories)), // of history
			"by":       by,
			"actor":    actorContest,
			"reason":   revision.ContestOver,
			"other":    memory.HistoryOther,
			"now":      c.Now,
		})
}

// LockOpponents locks and returns the live memories that a recovered memory contests again, if both were in a contest:
// those that contradict it, and those that make its claim on the same ground and are contested or had an opponent in
// common with it. A memory whose contest had ended before its deletion was in one.
func (c *Change) LockOpponents(ctx context.Context, m MemoryRow) ([]MemoryRow, error) {
	memories := []uuid.UUID{m.ID}
	contradicts, err := c.IdSet(ctx, `SELECT id FROM (`+contradicting+`) x`,
		pg.Args{"tenant": c.Tenant, "memories": memories})
	if err != nil {
		return nil, err
	}
	rows, err := c.Tx.Query(ctx, `SELECT `+RowColumns+`
		FROM memories m
		WHERE m.tenant = @tenant AND m.live
			AND (@contested OR `+hasContested("ANY(@memories)")+`)
			AND (m.status = 'contested' OR `+hasContested("m.id")+`)
			AND (m.id IN (SELECT id FROM (`+contradicting+`) x)
				OR m.id IN (SELECT id FROM (`+rivalsSQL+`) r) AND (m.status = 'contested' OR EXISTS (
					SELECT
					FROM (`+contradicting+`) x
						JOIN memory_links l ON l.tenant = @tenant AND l.predicate = '`+revision.RelationContradicts+`'
							AND (l.source_id, l.target_id) IN ((m.id, x.id), (x.id, m.id)))))`+forUpdate,
		pg.Args{
			"tenant":    c.Tenant,
			"memories":  memories,
			"contested": m.Status == schema.StatusContested,
			"actor":     actorContest,
		})
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, ScanRow)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(o MemoryRow) bool {
		return !contradicts[o.ID] && !memory.SameGround(o.Validity, m.Validity)
	}), nil
}

// hasContested is the condition that a memory was in a contest, by its history.
func hasContested(id string) string {
	return `EXISTS (
		SELECT FROM memory_history h
		WHERE h.tenant = @tenant AND h.memory_id = ` + id + ` AND (h.action = 'contest' OR h.changed_by = @actor))`
}
