// Package learning stores the state of learning from episodes in Postgres: which attempts concern which problem, how
// far each scope was read, decisions that are not written yet, and the outcomes of procedures and plans. Everything
// but the outcomes is derived from episodes and can be computed again. The rules of learning are in memory/learning.
package learning

import (
	"strings"

	"github.com/google/uuid"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// Learning keeps the state of learning. It is safe for concurrent use.
type Learning struct {
	*pg.DB
}

// New returns it over a connection.
func New(db *pg.DB) *Learning { return &Learning{DB: db} }

// Scope is the memories of a tenant that have the same readers.
type Scope struct {
	Tenant  string
	Agent   string // of private and group memories; empty: those that all agents of the project see
	Project string
	Scope   string
}

// namespace is that of the ids of groups and of what is learned from them.
var namespace = uuid.MustParse("1d1fd9a2-58c4-4a8f-9b43-7d0f6f6f1f55")

// GroupID is the id of the group of a problem or a task in a scope.
func (s Scope) GroupID(key string) uuid.UUID {
	return uuid.NewSHA1(namespace, []byte(strings.Join([]string{s.Tenant, s.Agent, s.Project, s.Scope, key}, "\x1f")))
}

// args are the arguments of ofScope.
func (s Scope) args() pg.Args {
	return pg.Args{"tenant": s.Tenant, "agent": s.Agent, "project": s.Project, "scope": s.Scope}
}

// agentSQL is the agent of a memory's scope: the expression that the index memories_evidence has.
const agentSQL = `(CASE WHEN m.visibility IN ('private', 'group') THEN m.agent_id ELSE '' END)`

// ofScope is the condition that a memory m is of the scope.
const ofScope = `m.tenant = @tenant AND m.project = @project AND m.scope = @scope AND ` + agentSQL + ` = @agent`

// scopeOf is the scope of a memory.
func scopeOf(tenant, agent, project, scope string, v schema.Visibility) Scope {
	if v != schema.VisibilityPrivate && v != schema.VisibilityGroup {
		agent = ""
	}
	return Scope{Tenant: tenant, Agent: agent, Project: project, Scope: scope}
}
