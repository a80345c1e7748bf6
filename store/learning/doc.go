// Package learning stores the state of learning from episodes in Postgres: which attempts belong to which problem,
// how far each scope was read, decisions that are not written yet, and the outcomes of procedures and plans. All of
// it except the outcomes is derived from episodes and can be computed again. The rules of learning are in
// memory/learning.
package learning

import (
	"strings"

	"github.com/google/uuid"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// Learning stores the state of learning. It is safe for concurrent use.
type Learning struct {
	*pg.DB
}

// New returns a Learning on a database.
func New(db *pg.DB) *Learning { return &Learning{DB: db} }

// Scope is the set of memories of a tenant that have the same readers.
type Scope struct {
	Tenant  string
	Agent   string // of private and group memories; empty for memories that all agents of the project see
	Project string
	Scope   string
}

// namespace is the UUID namespace of groups and of learned records.
var namespace = uuid.MustParse("1d1fd9a2-58c4-4a8f-9b43-7d0f6f6f1f55")

// GroupID is the id of the group of a problem or a task in a scope.
func (s Scope) GroupID(key string) uuid.UUID {
	return uuid.NewSHA1(namespace, []byte(strings.Join([]string{s.Tenant, s.Agent, s.Project, s.Scope, key}, "\x1f")))
}

// args returns the arguments of ofScope.
func (s Scope) args() pg.Args {
	return pg.Args{"tenant": s.Tenant, "agent": s.Agent, "project": s.Project, "scope": s.Scope}
}

// agentSQL is the agent of a memory's scope, as the expression of the index memories_evidence.
const agentSQL = `(CASE WHEN m.visibility IN ('private', 'group') THEN m.agent_id ELSE '' END)`

// ofScope is the condition that a memory m belongs to the scope.
const ofScope = `m.tenant = @tenant AND m.project = @project AND m.scope = @scope AND ` + agentSQL + ` = @agent`

// scopeOf returns the scope of a memory.
func scopeOf(tenant, agent, project, scope string, v schema.Visibility) Scope {
	if v != schema.VisibilityPrivate && v != schema.VisibilityGroup {
		agent = ""
	}
	return Scope{Tenant: tenant, Agent: agent, Project: project, Scope: scope}
}
