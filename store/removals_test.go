package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
)

// by returns an operation of the world's principal.
func (w *world) by() schema.Operation { return schema.Operation{Principal: w.p} }

// asked returns an operation of a person, with a reason.
func (w *world) asked() schema.Operation {
	return schema.Operation{Principal: w.p, Actor: "person:mia", Reason: "asked for"}
}

func (w *world) removals(user string) []schema.Removal {
	w.t.Helper()
	out, err := w.Removals(ctx, w.p.Tenant, user, uuid.Nil, 10)
	require.NoError(w.t, err)
	for i, r := range out {
		require.WithinDuration(w.t, w.now, r.RemovedAt, time.Hour)
		require.NotEmpty(w.t, r.ID)
		out[i].ID, out[i].RemovedAt = "", time.Time{}
	}
	return out
}

func (w *world) opened(question string) uuid.UUID {
	return uuid.MustParse(w.asks(w.p, question).ID)
}

// Each removal of topics or artifacts leaves one record with who removed how many, when and why. A removal that removes
// nothing leaves none. No record has anything of what was removed.
func TestRemovalsAreRecorded(t *testing.T) {
	t.Parallel()
	agent := newWorld(t)
	maya, tom := agent.forUser("maya"), agent.forUser("tom")
	put := func(w *world, text string) string {
		a, err := w.PutArtifact(ctx, w.p, strings.NewReader(text), "text/plain", "", w.now)
		require.NoError(t, err)
		return a.Address
	}
	one := agent.opened("What does the canary cost?")
	require.NoError(t, agent.RemoveTopic(ctx, agent.asked(), one, agent.now))
	require.Error(t, agent.RemoveTopic(ctx, agent.asked(), one, agent.now))
	maya.opened("Where is the canary?")
	maya.opened("Who feeds the canary?")
	for _, want := range []int{2, 0} {
		n, err := maya.RemoveTopicsOf(ctx, maya.asked(), maya.now)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	for i := range 150 { // two batches
		put(maya, fmt.Sprintf("picture %d of the canary", i))
	}
	both := put(maya, "a map with the canary")
	put(tom, "a map with the canary")
	for range 2 {
		_, err := maya.RemoveArtifactsOf(ctx, maya.asked(), maya.now)
		require.NoError(t, err)
	}
	_, err := tom.RemoveArtifact(ctx, tom.by(), both, tom.now)
	require.NoError(t, err)

	mayas := []schema.Removal{
		{Kind: schema.RemovedArtifacts, Scope: "user/maya", Removed: 150, Kept: 1, RemovedBy: "person:mia",
			Reason: "asked for"},
		{Kind: schema.RemovedTopics, Scope: "user/maya", Removed: 2, RemovedBy: "person:mia", Reason: "asked for"}}
	toms := schema.Removal{Kind: schema.RemovedArtifacts, Agent: "a", Scope: "user/tom", Removed: 1, RemovedBy: "agent:a"}
	agents := schema.Removal{Kind: schema.RemovedTopics, Agent: "a", Removed: 1, RemovedBy: "person:mia",
		Reason: "asked for"}
	require.Equal(t, mayas, agent.removals("maya"))
	require.Equal(t, []schema.Removal{toms, mayas[0], mayas[1], agents}, agent.removals(""))
	require.Empty(t, agent.removals("another-user"))
	require.Zero(t, agent.count("removals", `removals::text LIKE '%canary%' OR removals::text LIKE $1`,
		"%"+strings.TrimPrefix(both, schema.ArtifactPrefix)+"%"))
}

// Removals are listed page by page, and kept as long as runs of Forget.
func TestRemovalsByPagesAndTheirWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 3 {
		require.NoError(t, w.RemoveTopic(ctx, w.by(), w.opened(fmt.Sprintf("Question %d?", i)), w.now))
	}
	var ids []string
	for after := uuid.Nil; ; {
		page, err := w.Removals(ctx, "t", "", after, 2)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			ids = append(ids, r.ID)
		}
		after = uuid.MustParse(page[len(page)-1].ID)
	}
	require.Len(t, ids, 3)
	_, err := w.Removals(ctx, "t", "", uuid.New(), 2)
	requireField(t, err, "after")

	w.now = w.now.Add(179 * day)
	require.Zero(t, w.purge(2)[lifecycle.PurgeForgetRuns])
	w.now = w.now.Add(2 * day)
	would, err := w.PreviewPurge(ctx, "t", 1, w.now)
	require.NoError(t, err)
	require.EqualValues(t, 3, would.Would[lifecycle.PurgeForgetRuns])
	require.Equal(t, 3, w.purge(2)[lifecycle.PurgeForgetRuns])
	require.Zero(t, w.count("removals", "true"))
}
