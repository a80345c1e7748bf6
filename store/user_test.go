package store_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/read"
	"github.com/mneme/mneme/store/search"
	"github.com/mneme/mneme/store/transfer"
)

// forUser is the same world as the agent sees it on behalf of a user.
func (w *world) forUser(name string) *world {
	other := *w
	other.p.User, other.p.Scope = name, ""
	return &other
}

// bystanders are the tables of requests, which do not contain memories.
var bystanders = []string{"operations", "forget_runs", "forget_items", "tenant_secrets"}

// unchanged requires that fn changes nothing except the tables of requests.
func (w *world) unchanged(what string, fn func()) {
	w.t.Helper()
	before := w.snapshot()
	fn()
	after := w.snapshot()
	for _, table := range bystanders {
		delete(before, table)
		delete(after, table)
	}
	require.Equal(w.t, before, after, what)
}

// Two users who say the same words have one memory each, and the agent has a third. Later statements change only the
// memory of their speaker.
func TestUsersWhoSayTheSameAreKeptApart(t *testing.T) {
	t.Parallel()
	agent := newWorld(t)
	maya, tom := agent.forUser("maya"), agent.forUser("tom")
	const said = "I live in Lyon with two cats."
	held := map[*world]uuid.UUID{}
	for _, w := range []*world{agent, maya, tom} {
		held[w] = w.claimed(said, "user", "Lyon")
	}
	require.Len(t, map[uuid.UUID]bool{held[agent]: true, held[maya]: true, held[tom]: true}, 3)
	require.Equal(t, "user/maya", maya.get(held[maya]).Scope)

	ack, _ := tom.stage(schema.Candidate{Content: said})
	require.NotEqual(t, held[maya].String(), ack.MemoryIDs[0])

	// The decider is offered the user's own memories, by words, by claim and by vector.
	moved := lives("I live in Oslo now with two cats.", "user", "Oslo")
	for _, w := range []*world{maya, tom} {
		found, err := w.Neighbors(ctx, w.p.Owner(),
			[]search.NeighborQuery{{Fact: moved,
				Embedding: &pg.Embedding{Model: hash, Vector: embed(t, moved.Content)}}})
		require.NoError(t, err)
		require.NotEmpty(t, found[0])
		for _, n := range found[0] {
			require.Equal(t, "user/"+w.p.User, w.get(uuid.MustParse(n.ID)).Scope)
		}
	}

	_, r := maya.source("Maya has moved.", idea{fact: moved, action: schema.ActionUpdate, target: held[maya]})
	require.Equal(t, schema.WriteCounts{Updated: 1}, maya.write(r))
	require.Equal(t, schema.StatusSuperseded, maya.get(held[maya]).Status)
	require.Equal(t, schema.StatusActive, tom.get(held[tom]).Status)
	require.Equal(t, schema.StatusActive, agent.get(held[agent]).Status)

	seen := func(w *world) map[string]int {
		out := map[string]int{}
		list, err := w.List(ctx, pg.Filter{Principal: w.p, ReadPolicy: schema.ReadShared}, pg.Page{})
		require.NoError(t, err)
		for _, m := range list {
			out[m.Scope]++
		}
		return out
	}
	require.Equal(t, []string{"", "user/maya"}, keys(seen(maya)), "a user also reads the agent's memories")
	require.Equal(t, []string{"", "user/tom"}, keys(seen(tom)))
	require.Equal(t, []string{""}, keys(seen(agent)))
}

// The same key of two users is two keys.
func TestIdempotencyKeysAreTheUsersOwn(t *testing.T) {
	t.Parallel()
	agent := newWorld(t)
	ids := map[string]bool{}
	for _, w := range []*world{agent, agent.forUser("maya"), agent.forUser("tom"), agent.forUser("4/maya")} {
		for range 2 {
			ack, _ := w.stage(schema.Candidate{Content: "The alarm is set for seven.", IdempotencyKey: "k"})
			ids[ack.MemoryIDs[0]] = true
		}
	}
	require.Len(t, ids, 4)
}

// No operation for one user reads or changes another user's memories, and none changes the agent's.
func TestUsersAreIsolated(t *testing.T) {
	t.Parallel()
	agent := newWorld(t)
	agent.vis = schema.VisibilityGlobal // for any visibility
	maya, tom := agent.forUser("maya"), agent.forUser("tom")
	const said = "The safe is behind the painting."
	agents := agent.explicit(said)
	mayas, derived := maya.withFact(said)
	foreign := map[string]uuid.UUID{"maya's": mayas, "what follows from maya's": derived, "the agent's": agents}
	toms := tom.explicit("Tom's own.")
	for name, id := range foreign {
		visible := id == agents
		_, err := tom.Get(ctx, tom.p, id)
		require.Equal(t, !visible, errors.Is(err, pg.ErrNotFound), "get %s", name)
		_, err = tom.GetAsOf(ctx, tom.p, id, tom.now)
		require.Equal(t, !visible, errors.Is(err, pg.ErrNotFound), "get as of %s", name)
		steps, err := tom.HistoryAt(ctx, tom.p, id, read.HistoryPage{})
		require.NoError(t, err)
		require.Equal(t, visible, len(steps) > 0, "history of %s", name)
		_, err = tom.Lineage(ctx, tom.p, id, 0)
		require.Equal(t, !visible, errors.Is(err, pg.ErrNotFound), "lineage of %s", name)

		tom.unchanged(name, func() {
			importance := 0.1
			require.Equal(t, schema.PatchNotFound,
				tom.modifyOne(schema.Patch{ID: id.String(), Importance: &importance}).Status, "modify %s", name)
			require.Equal(t, schema.RecoverNotFound, tom.recoverOne(id).Status, "recover %s", name)
			for _, action := range []schema.ReviseAction{schema.ReviseRetract, schema.ReviseSupersede} {
				req := tom.revision(action, nil, schema.Target{ID: id.String(), IfVersion: 1})
				if action == schema.ReviseSupersede {
					req.Record = same(claims("Ana", "Oslo", ""))
				}
				require.Equal(t, schema.ReviseNotFound, tom.revise(req).Status, "%s %s", action, name)
			}
			// It does not become the successor of his memory either.
			req := tom.revision(schema.ReviseSupersede, &schema.MemoryRecord{ID: id.String()}, tom.as(toms)...)
			require.Equal(t, schema.ReviseNotFound, tom.revise(req).Status, "succeed by %s", name)
		})
		for _, mode := range []schema.ForgetMode{schema.ForgetSoft, schema.ForgetForce, schema.ForgetErase} {
			tom.unchanged(string(mode)+" "+name, func() {
				preview := tom.selects(tom.forgets(mode, named(id)))
				require.Equal(t, 1, preview.NotFound)
				require.Empty(t, tom.chosen(preview))
				require.Empty(t, preview.Sample)
			})
		}
	}
	// A record neither replaces nor refers to another user's record.
	m := record(t,
		`{"type": "working", "confidence": 1, "payload": {"kind": "working", "thread_id": "th", "state": "planning", "context_summary": "mine"}}`)
	m.ID = maya.created(m).String()
	tom.unchanged("put", func() { require.Equal(t, schema.PutExists, tom.putAll(m)[0].Status) })
	m.ID = ""
	m.Relations = []schema.Relation{{Predicate: "supports", TargetID: mayas.String(), Weight: 1}}
	require.Equal(t, schema.PutBadRef, tom.putAll(m)[0].Status)
}

// withFact ingests a text with a fact that is extracted from it.
func (w *world) withFact(said string) (source, derived uuid.UUID) {
	w.t.Helper()
	source, r := w.source(said, idea{fact: fact("As a fact: " + said), action: schema.ActionAdd})
	require.Equal(w.t, 1, w.write(r).Added)
	return source, w.derived(source)
}

func keys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// A query, filters and "all" find the user's memories, and none of the agent's or of another user. Everything that an
// erasure removes is limited in the same way.
func TestAUserForgetsAndErasesItsOwn(t *testing.T) {
	t.Parallel()
	for name, sel := range map[string]schema.Selector{
		"query":  {Query: "painting", IncludeDerived: true},
		"filter": {Categories: []schema.Category{schema.CategoryFact, schema.CategorySemantic}, IncludeDerived: true},
		"all":    {All: true, IncludeDerived: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := newWorld(t)
			maya, tom := agent.forUser("maya"), agent.forUser("tom")
			const said = "The safe is behind the painting."
			ids := map[*world][]uuid.UUID{}
			for _, w := range []*world{agent, maya, tom} {
				id, derived := w.withFact(said)
				ids[w] = []uuid.UUID{id, derived}
			}
			preview := tom.selects(tom.forgets(schema.ForgetErase, sel))
			require.ElementsMatch(t, ids[tom], tom.chosen(preview))
			require.Zero(t, preview.Derived)

			// Others see nothing of the run and cannot confirm it.
			run := uuid.MustParse(preview.RunID)
			for _, other := range []*world{maya, tom.another("b")} {
				_, err := other.ForgetStatus(ctx, other.p, run)
				require.ErrorIs(t, err, pg.ErrNotFound)
				_, err = other.ForgetItems(ctx, other.p, run, 0, 0)
				require.ErrorIs(t, err, pg.ErrNotFound)
				_, err = other.ForgetToken(ctx, other.p, run, other.now)
				require.ErrorIs(t, err, pg.ErrNotFound)
			}
			_, err := tom.ForgetStatus(ctx, tom.p, run)
			require.NoError(t, err)
			_, err = agent.ForgetStatus(ctx, agent.p, run)
			require.NoError(t, err, "the agent may see the runs of its users")

			receipt := tom.forgetAll(tom.forgets(schema.ForgetErase, sel))
			require.Equal(t, 2, receipt.Forgotten)
			for _, id := range ids[tom] {
				require.NotNil(t, tom.get(id).ErasedAt)
			}
			for _, w := range []*world{agent, maya} {
				for _, id := range ids[w] {
					require.NotEmpty(t, w.get(id).Content)
				}
			}
			// The agent without a user forgets the memories that belong to no user.
			require.ElementsMatch(t, ids[agent], agent.chosen(agent.selects(agent.forgets(schema.ForgetSoft, sel))))
		})
	}
}

// A relation from a user's record to the agent's memory appears in no other user's lineage, not even as an id.
func TestLineageLeavesOtherUsersOut(t *testing.T) {
	t.Parallel()
	agent := newWorld(t)
	maya, tom := agent.forUser("maya"), agent.forUser("tom")
	agents := agent.explicit("Opening hours are nine to five.")
	m := *same(claims("Maya", "the hours", ""))
	m.Relations = []schema.Relation{{Predicate: revision.RelationDerivedFrom, TargetID: agents.String(), Weight: 1,
		Reason: "maya asked"}}
	mayas := maya.created(m)
	for w, nodes := range map[*world]int{agent: 2, maya: 2, tom: 1} {
		l := w.lineage(agents, 0)
		require.Len(t, l.Nodes, nodes, w.p.User)
		require.Len(t, l.Edges, nodes-1, w.p.User)
	}
	require.Empty(t, tom.get(agents).Relations)
	require.Len(t, maya.lineage(mayas, 0).Nodes, 2)
}

// A user gives feedback on its own retrievals only, and on all memories that they returned, including the agent's.
func TestFeedbackOfAUser(t *testing.T) {
	t.Parallel()
	agent := newWorld(t)
	maya, tom := agent.forUser("maya"), agent.forUser("tom")
	mayas, agents := maya.explicit("Maya likes tea."), agent.explicit("The office is in Lyon.")
	retrieval := maya.retrieved(mayas, agents)
	forged := tom.retrievedQuietly(mayas)
	tom.unchanged("feedback", func() {
		_, err := tom.Feedback(ctx, tom.feedbackInput(retrieval, says(mayas, schema.VerdictSucceeded)))
		require.ErrorIs(t, err, pg.ErrNotFound)
		_, err = tom.Retrieved(ctx, tom.p, retrieval)
		require.ErrorIs(t, err, pg.ErrNotFound)
		// The same through his own retrieval with their ids.
		gone := tom.feedbackOn(forged, mayas, schema.VerdictSucceeded)
		require.Equal(t, schema.FeedbackGone, gone.Status)
	})
	in := maya.feedbackInput(retrieval, says(mayas, schema.VerdictSucceeded), says(agents, schema.VerdictSucceeded))
	in.Request.Actor, in.Request.Reason = "person:maya", "Maya asked about her illness"
	for _, item := range maya.feed(in).Items {
		require.Equal(t, schema.FeedbackReinforced, item.Status)
	}
	// Her feedback on the agent's memory is not in the history that Tom reads.
	steps := tom.history(agents)
	require.Equal(t, "agent:a", steps[len(steps)-1].ChangedBy)
	require.Equal(t, "feedback on a retrieval: succeeded", steps[len(steps)-1].Reason)
	shown, err := json.Marshal(steps)
	require.NoError(t, err)
	require.NotContains(t, string(shown), retrieval.String())
	steps = maya.history(mayas)
	require.Equal(t, "Maya asked about her illness", steps[len(steps)-1].Reason)
	shown, err = json.Marshal(steps)
	require.NoError(t, err)
	require.Contains(t, string(shown), retrieval.String())
	found, err := maya.Retrieved(ctx, maya.p, retrieval)
	require.NoError(t, err)
	require.Len(t, found.Items, 2)
	_, err = agent.Retrieved(ctx, agent.p, retrieval)
	require.NoError(t, err)
}

// retrievedQuietly inserts a retrieval directly, without recording the access to its memories.
func (w *world) retrievedQuietly(ids ...uuid.UUID) uuid.UUID {
	w.t.Helper()
	id := uuid.New()
	w.exec(`INSERT INTO retrievals (tenant, id, agent_id, project, scope, query_hash, memory_ids, degraded, took_ms,
		created_at) VALUES ($1, $2, $3, '', $4, 'h', $5, '{}', 1, $6)`,
		w.p.Tenant, id, w.p.Agent, w.p.EffectiveScope(), ids, w.now)
	return id
}

// A proposal that waits for review is listed for its user, and for the agent if it asks for the user's scope or for all
// scopes. So is a contradiction.
func TestReviewsOfUsers(t *testing.T) {
	t.Parallel()
	agent := reviewWorld(t)
	maya, tom := agent.forUser("maya"), agent.forUser("tom")
	held := maya.claimed("Maya lives in Lyon.", "Maya", "Lyon")
	_, item := maya.proposed("Maya has moved.",
		idea{fact: lives("Maya lives in Oslo.", "Maya", "Oslo"), action: schema.ActionUpdate, target: held})
	inScope := *agent
	inScope.p.Scope = schema.UserScope("maya")
	for _, state := range []schema.ReviewFilter{schema.ReviewsWaiting, schema.ReviewsAll} {
		require.Len(t, maya.reviews(pipeline.ReviewFilter{State: state}), 1)
		require.Empty(t, agent.reviews(pipeline.ReviewFilter{State: state}))
		require.Len(t, agent.reviews(pipeline.ReviewFilter{State: state, AllScopes: true}), 1)
		require.Len(t, inScope.reviews(pipeline.ReviewFilter{State: state}), 1)
		require.Empty(t, tom.reviews(pipeline.ReviewFilter{State: state}))
		require.Empty(t, tom.reviews(pipeline.ReviewFilter{State: state, AllScopes: true}))
	}
	_, err := tom.GetReview(ctx, tom.p, uuid.MustParse(item.ProposalID))
	require.ErrorIs(t, err, pg.ErrNotFound)
	disputes := func(w *world) int {
		found, err := w.Contradictions(ctx, w.p, pg.Page{})
		require.NoError(t, err)
		return len(found)
	}
	before := disputes(maya)
	a, b := maya.contest(claims("Ana", "Lisbon", ""), claims("Ana", "Porto", ""))
	require.NotEqual(t, a, b)
	require.Equal(t, before+1, disputes(maya))
	require.Zero(t, disputes(tom))
	require.Zero(t, disputes(agent))
	require.Equal(t, disputes(maya), disputes(&inScope))
	for w, want := range map[*world]int{agent: disputes(maya), tom: 0} {
		found, err := w.AllContradictions(ctx, w.p, pg.Page{})
		require.NoError(t, err)
		require.Len(t, found, want)
	}
	_, err = agent.GetReview(ctx, agent.p, uuid.MustParse(item.ProposalID))
	require.NoError(t, err, "by id")
	tom.unchanged("decide", func() {
		require.Equal(t, schema.ReviewNotFound, tom.settle(item, schema.DecisionApprove).Status)
	})
	require.Equal(t, schema.ReviewApplied, maya.settle(item, schema.DecisionApprove).Status)
}

// The artifacts and exports of a user contain only its own data.
func TestArtifactsAndExportsOfUsers(t *testing.T) {
	t.Parallel()
	agent := newWorld(t)
	maya, tom := agent.forUser("maya"), agent.forUser("tom")
	a, err := maya.PutArtifact(ctx, maya.p, strings.NewReader("a picture of maya"), "text/plain", "", maya.now)
	require.NoError(t, err)
	_, _, err = tom.GetArtifact(ctx, tom.p, a.Address)
	require.ErrorIs(t, err, pg.ErrNotFound)
	for _, w := range []*world{maya, agent} {
		_, data, err := w.GetArtifact(ctx, w.p, a.Address)
		require.NoError(t, err)
		require.Equal(t, "a picture of maya", string(data))
	}
	maya.explicit("Maya likes tea.")
	tom.explicit("Tom likes coffee.")
	agent.explicit("The office is in Lyon.")
	exported := func(w *world, x transfer.ExportSelection) string {
		x.Filter = pg.Filter{Principal: w.p}
		var out strings.Builder
		for _, line := range w.export(x) {
			out.Write(line)
		}
		return out.String()
	}
	for _, x := range []transfer.ExportSelection{{}, {AllAgents: true, IncludeDeleted: true}} {
		mayas, toms, agents := exported(maya, x), exported(tom, x), exported(agent, x)
		require.Contains(t, mayas, "Maya likes tea.")
		require.NotContains(t, mayas, "Tom")
		require.NotContains(t, mayas, "office")
		require.Contains(t, mayas, `"user_holders":[{"agent":"a","scope":"user/maya"}]`)
		require.NotContains(t, toms, `"kind":"artifact"`)
		require.NotContains(t, toms, "tea")
		for _, text := range []string{"tea", "coffee", "office", a.Address[7:]} {
			require.Contains(t, agents, text)
		}
	}
	// A restored copy keeps them apart as well.
	lines := agent.export(agent.whole())
	there := newWorldAt(agent, "u")
	there.restore("u", lines, 100)
	require.Equal(t, agent.dump("t"), agent.dump("u"))
	_, _, err = there.GetArtifact(ctx, there.forUser("tom").p, a.Address)
	require.ErrorIs(t, err, pg.ErrNotFound)
}

// Shadow mode writes history without a memory. The history of a purged memory does not name its user.
func TestHistoryWithoutAMemory(t *testing.T) {
	t.Parallel()
	agent := newWorld(t)
	agent.policy.Mode = schema.ModeShadow
	maya, tom := agent.forUser("maya"), agent.forUser("tom")
	ack, r := maya.stage(say("Maya likes tea.")...)
	shadow := uuid.MustParse(ack.MemoryIDs[0])
	maya.decided(r, shadow, idea{fact: fact("Maya likes tea."), action: schema.ActionAdd})
	maya.write(r)
	require.NotEmpty(t, maya.history(shadow))
	require.NotEmpty(t, agent.history(shadow))
	require.Empty(t, tom.history(shadow))

	maya.policy.Mode = schema.ModeControlled
	gone := maya.explicit("Maya likes coffee.")
	require.Equal(t, 1, maya.forgetAll(maya.forgets(schema.ForgetForce, named(gone))).Forgotten)
	require.NotEmpty(t, agent.history(gone))
	require.Empty(t, tom.history(gone))
	require.Zero(t, agent.count("memory_history", `memory_id = $1 AND metadata::text LIKE '%maya%'`, gone),
		"no user name is left")
}

// A rule sets the scope of a memory, but cannot make a user's memory readable to others.
func TestRulesKeepUsersApart(t *testing.T) {
	t.Parallel()
	agent := newWorld(t)
	rules, err := policy.Parse([]byte("rules:\n  - {name: hr, when: 'candidate.content.contains(\"salary\")', set: " +
		"{scope: hr, sensitivity: medium}}\n"))
	require.NoError(t, err)
	maya := agent.forUser("maya")
	ack, r := maya.stageUnder(rules, schema.Candidate{Content: "My salary is paid in May."})
	id := uuid.MustParse(ack.MemoryIDs[0])
	require.Equal(t, "user/maya", maya.get(id).Scope)
	require.Equal(t, schema.SensitivityMedium, maya.get(id).Sensitivity)
	maya.decided(r, id, idea{fact: fact("Maya's salary is paid in May."), action: schema.ActionAdd})
	maya.writeUnder(rules, r)
	for _, f := range maya.facts(id) {
		require.Equal(t, "user/maya", f.Scope)
	}
	in := maya.putInput(claims("Maya", "a salary", ""))
	in.Rules = rules
	result, err := maya.Put(ctx, in)
	require.NoError(t, err)
	require.Equal(t, "user/maya", maya.get(uuid.MustParse(result.Items[0].ID)).Scope)
	ack, _ = agent.stageUnder(rules, schema.Candidate{Content: "The salary round is in May."})
	require.Equal(t, "hr", agent.get(uuid.MustParse(ack.MemoryIDs[0])).Scope)
	agent.now = agent.now.Add(time.Minute)
}
