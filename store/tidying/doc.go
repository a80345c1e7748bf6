// Package tidying reads the evidence of UpdateFacts, CompressEpisodes and ResolveDuplicates, page by page within one
// scope, and writes their decisions. Each change is one transaction that checks its evidence again and leaves a
// result under a key that depends on the evidence, so that the same evidence changes nothing twice. The rules are in
// memory/learning.
package tidying

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/pg"
)

// Actor is the name in history for what this package writes.
const Actor = commit.ActorConsolidation

// Tidying reads and writes for these workflows. It is safe for concurrent use.
type Tidying struct {
	*pg.DB
}

// New returns a Tidying on a database.
func New(db *pg.DB) *Tidying { return &Tidying{DB: db} }

// Scope is the set of memories that one run reads and writes: those of a tenant in one project and scope, either
// the private and group memories of one agent, or the shared and global ones.
type Scope struct {
	Tenant, Agent, Project, Scope string
}

// inScope is the condition of memories m. The indexes for evidence and for lasting records begin with its columns.
const inScope = `m.tenant = @tenant AND m.project = @project AND m.scope = @scope
	AND (CASE WHEN m.visibility IN ('private', 'group') THEN m.agent_id ELSE '' END) = @agent`

func (s Scope) args(more pg.Args) pg.Args {
	more["tenant"], more["agent"], more["project"], more["scope"] = s.Tenant, s.Agent, s.Project, s.Scope
	return more
}

// Place is the end of a page.
type Place struct {
	At time.Time `json:"at"`
	ID uuid.UUID `json:"id"`
}

// After reports whether a place comes after another.
func (p Place) After(o Place) bool {
	return cmp.Or(p.At.Compare(o.At), bytes.Compare(p.ID[:], o.ID[:])) > 0
}

// WatermarkOf returns how far a workflow has read a scope; the zero Place if it has not begun.
func (t *Tidying) WatermarkOf(ctx context.Context, s Scope, workflow string) (Place, error) {
	var out Place
	err := t.Read(ctx, s.Tenant, func(tx pgx.Tx) error {
		rows, err := commit.Rows[struct {
			At       time.Time
			MemoryID uuid.UUID
		}](ctx, tx, `
			SELECT at, memory_id
			FROM learning_watermarks
			WHERE tenant = @tenant AND agent_id = @agent AND project = @project AND scope = @scope
				AND workflow = @workflow`, s.args(pg.Args{"workflow": workflow}))
		if len(rows) == 1 {
			out = Place{At: rows[0].At, ID: rows[0].MemoryID}
		}
		return err
	})
	if err != nil {
		return Place{}, fmt.Errorf("watermark of %s: %w", workflow, err)
	}
	return out, nil
}

// MoveWatermark stores how far a workflow has read a scope. It never moves back.
func (t *Tidying) MoveWatermark(ctx context.Context, s Scope, workflow string, to Place, evidence string,
	now time.Time) error {
	err := commit.Write(ctx, t.DB, s.Tenant, now, func(c *commit.Change) error {
		c.Queue.Queue(`
			INSERT INTO learning_watermarks AS w (tenant, agent_id, project, scope, workflow, at, memory_id,
			evidence_hash,
				run_at)
			VALUES (@tenant, @agent, @project, @scope, @workflow, @at, @id, @evidence, @now)
			ON CONFLICT (tenant, agent_id, project, scope, workflow) DO UPDATE
			SET at = excluded.at, memory_id = excluded.memory_id, evidence_hash = excluded.evidence_hash,
				run_at = excluded.run_at
			WHERE (w.at, w.memory_id) < (excluded.at, excluded.memory_id)`,
			s.args(pg.Args{"workflow": workflow, "at": to.At, "id": to.ID, "evidence": evidence, "now": c.Now}))
		return nil
	})
	if err != nil {
		return fmt.Errorf("watermark of %s: %w", workflow, err)
	}
	return nil
}

// Writes identifies a write: its operation, its owner and its run.
type Writes struct {
	Key        string // of the operation; computed from the evidence
	WorkflowID string
	Evidence   string // hash of the evidence set
	Now        time.Time
}

func (w Writes) operation(tenant string) schema.OperationRef {
	return schema.OperationRef{Tenant: tenant, ID: w.Key, WorkflowID: w.WorkflowID}
}

// owned is the owner of a memory.
type owned struct {
	AgentID     string
	PolicyGroup string
	Visibility  schema.Visibility
}

func (o owned) principal(s Scope) schema.Principal {
	return schema.Principal{Tenant: s.Tenant, Agent: o.AgentID, Project: s.Project, Scope: s.Scope,
		PolicyGroup: o.PolicyGroup}
}
