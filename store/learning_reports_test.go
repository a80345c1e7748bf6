package store_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/due"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/learning"
)

// pending returns how many episodes and reports of a scope wait.
func (w *world) pending(sc learning.Scope) int {
	w.t.Helper()
	pending, err := w.Learning.Pending(ctx, sc, due.Rule{Least: 1}, w.now)
	require.NoError(w.t, err)
	return pending.New
}

// Reports on a plan reopen its group for plans, and those on a procedure for procedures.
func TestReportsReopenTheGroupOfAPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sc := learning.Scope{Tenant: "t", Agent: w.p.Agent}
	procedure, plan := w.learnedRecord(w.p.Agent), w.learnedRecord(w.p.Agent)
	w.exec(`UPDATE learning_groups SET plans = 3, kind = 'intent'`)
	w.exec(`UPDATE learned SET kind = 'plan_graph' WHERE memory_id = $1`, plan)
	waiting := func(kind schema.MemoryType) []uuid.UUID {
		groups, err := w.Learning.Waiting(ctx, sc, kind, 1, uuid.Nil, 10)
		require.NoError(t, err)
		out := []uuid.UUID{}
		for _, g := range groups {
			out = append(out, g.ID)
		}
		return out
	}
	w.reported(procedure, "", "2026-01-01")
	w.reported(plan, "", "2026-01-01")
	groups, err := w.Learning.TakeReports(ctx, sc, w.now)
	require.NoError(t, err)
	require.Equal(t, 2, groups)
	require.Equal(t, []uuid.UUID{procedure}, waiting(schema.TypeCompetence))
	require.Equal(t, []uuid.UUID{plan}, waiting(schema.TypePlanGraph))
}

// The scope that the database gives a report is the scope in which the store looks for it.
func TestAReportHasTheScopeOfItsMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, visibility := range []schema.Visibility{schema.VisibilityPrivate, schema.VisibilityGroup,
		schema.VisibilityShared, schema.VisibilityGlobal} {
		for _, kind := range []schema.MemoryType{schema.TypeCompetence, schema.TypePlanGraph, schema.TypeEpisodic} {
			for _, learned := range []string{"not learned", "group is gone", "", "a", "b"} {
				name := fmt.Sprintf("%s %s, group of %q", visibility, kind, learned)
				id, group := w.procedure(uuid.NewString()), uuid.New()
				w.exec(`UPDATE memories
					SET visibility = $2, type = $3, project = 'p', policy_group = 'g',
						payload = jsonb_set(payload, '{kind}', to_jsonb($3::text))
					WHERE id = $1`, id, visibility, kind)
				if learned != "not learned" {
					w.exec(`INSERT INTO learned (tenant, memory_id, kind, group_id, key, updated_at)
						VALUES ('t', $1, 'competence', $2, 'error:x', now())`, id, group)
					if learned != "group is gone" {
						w.exec(`INSERT INTO learning_groups (tenant, id, agent_id, project, scope, kind, updated_at)
							VALUES ('t', $1, $2, 'q', 's', 'error', now())`, group, learned)
					}
				}
				w.reported(id, "", "2026-01-01")
				got := learning.Scope{Tenant: "t"}
				require.NoError(t, w.owner.QueryRow(ctx, `
					SELECT scope_agent, project, scope FROM outcome_reports WHERE memory_id = $1`, id).Scan(&got.Agent,
					&got.Project, &got.Scope), name)
				want, err := w.Learning.ScopesOfReported(ctx, "t", []uuid.UUID{id})
				require.NoError(t, err)
				require.Equal(t, []learning.Scope{got}, want, name)
				require.Positive(t, w.pending(got), name)
			}
		}
	}
}
