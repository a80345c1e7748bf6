package store_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/read"
)

// One rule decides who may read a memory in every statement: a read by id, a history, a list of shared memories, and
// the lock of a row that a request would change. A principal that acts for a user is limited to that user's memories
// and, for reading, those without a scope.
func TestMayLookInSQL(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names := []string{"a", "b"}
	groups := []string{"", "g", "h"}
	var agents []schema.Principal
	for _, agent := range names {
		for _, project := range []string{"", "p", "q"} {
			for _, group := range groups {
				agents = append(agents, schema.Principal{Tenant: w.p.Tenant, Agent: agent, Project: project,
					PolicyGroup: group})
			}
		}
	}
	held := map[uuid.UUID]memory.Holding{}
	for _, owner := range agents {
		for _, v := range []schema.Visibility{schema.VisibilityPrivate, schema.VisibilityGroup, schema.VisibilityShared,
			schema.VisibilityGlobal} {
			content := owner.Agent + " of " + owner.Project + " and " + owner.PolicyGroup + ": " + string(v)
			id, err := w.Insert(ctx, owner, v, semantic(content, owner.Agent, "states", content, `{"mode":"global"}`),
				w.now)
			if err != nil { // the agent has no group
				require.Equal(t, schema.VisibilityGroup, v, err)
				require.Empty(t, owner.PolicyGroup)
				continue
			}
			held[id] = memory.Holding{Owner: owner, Visibility: v}
		}
	}
	for _, owner := range slices.Clone(agents) {
		if owner.Project == "q" || owner.PolicyGroup == "h" {
			continue // there are enough cases without them
		}
		for _, user := range []string{"maya", "tom"} {
			owner.User = user
			agents = append(agents, owner)
			for _, v := range []schema.Visibility{schema.VisibilityPrivate, schema.VisibilityGlobal} {
				content := user + " to " + owner.Agent + " of " + owner.Project + " and " + owner.PolicyGroup + ": " +
					string(v)
				id, err := w.Insert(ctx, owner, v, semantic(content, user, "states", content, `{"mode":"global"}`),
					w.now)
				require.NoError(t, err)
				held[id] = memory.Holding{Owner: owner.Owner(), Visibility: v}
			}
		}
	}
	require.GreaterOrEqual(t, len(held), 3*18+32)
	ids := make([]uuid.UUID, 0, len(held))
	for id := range held {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })

	// every agent lists exactly the memories that the rule admits, and only those of its project if it has one
	for _, p := range agents {
		listed := map[string]bool{}
		list, err := w.List(ctx, pg.Filter{Principal: p, ReadPolicy: schema.ReadShared}, pg.Page{Limit: 500})
		require.NoError(t, err)
		for _, m := range list {
			listed[m.ID] = true
		}
		for id, m := range held {
			want := memory.MayLook(p, m) && (p.Project == "" || p.Project == m.Owner.Project) &&
				slices.Contains(p.ReadScopes(), m.Owner.Scope)
			require.Equal(t, want, listed[id.String()], "%v lists what %v keeps as %s", p, m.Owner, m.Visibility)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		p, id := rapid.SampledFrom(agents).Draw(t, "asker"), rapid.SampledFrom(ids).Draw(t, "memory")
		m := held[id]
		if p.User == "" {
			p.Scope = rapid.SampledFrom([]string{"", "kitchen"}).Draw(t, "scope") // a scope is no boundary
		}
		want := memory.MayLook(p, m)
		_, err := w.Get(ctx, p, id)
		require.Equal(t, !want, errors.Is(err, pg.ErrNotFound), "get: %v", err)
		_, err = w.GetAsOf(ctx, p, id, w.now)
		require.Equal(t, !want, errors.Is(err, pg.ErrNotFound), "get as of: %v", err)
		steps, err := w.HistoryAt(ctx, p, id, read.HistoryPage{Limit: 5})
		require.NoError(t, err)
		require.Equal(t, want, len(steps) > 0, "history")
		// A request that cannot change anything locks its row with the same condition.
		req := schema.ReviseRequest{Operation: schema.Operation{Principal: p, Reason: "asked"},
			Action:  schema.ReviseRetract,
			Targets: []schema.Target{{ID: id.String(), IfVersion: 99}}, Evidence: heard}
		result, err := w.Revise(ctx, edit.ReviseInput{Operation: schema.OperationRef{Tenant: p.Tenant,
			ID: uuid.NewString(), WorkflowID: "wf"}, Request: req, Policy: w.policy, Now: w.now})
		require.NoError(t, err)
		status := schema.ReviseNotFound
		if memory.MayChange(p, m) {
			status = schema.ReviseVersionConflict
		}
		require.Equal(t, status, result.Status)
	})
}
