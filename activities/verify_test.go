package activities_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/activities/indexing"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/store/vector"
)

// busy is an index of an installation in which somebody always writes: memories arrive around every count.
type busy struct {
	vector.Index
	write func()
}

func (b *busy) Count(ctx context.Context, g vector.Generation, tenant string) (int64, error) {
	b.write()
	n, err := b.Index.Count(ctx, g, tenant)
	b.write()
	return n, err
}

// A rebuild can be verified while memories are written. What is written between the counts of Postgres and of the index
// explains a difference, and so do pending changes; lost points are still found.
func TestVerificationWhileOthersWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q, _ := w.qdrant()
	written := 0
	writer := &indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder, Index: q}
	write := func() {
		written++
		w.remember("t", fmt.Sprintf("Memory %d.", written))
		_, err := w.drain(writer)
		require.NoError(t, err)
	}
	write()
	g := w.active(q)
	verify := func(index vector.Index) (api.VerifyResult, error) {
		a := &indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder, Index: index}
		w.env.RegisterActivity(a.VerifyGeneration)
		value, err := w.env.ExecuteActivity(a.VerifyGeneration, indexing.VerifyRequest{Generation: g.ID.String()})
		var out api.VerifyResult
		if err == nil {
			require.NoError(t, value.Get(&out))
		}
		return out, err
	}
	out, err := verify(&busy{q, write})
	require.NoError(t, err)
	require.Greater(t, out.Memories, int64(1))

	ids := w.remember("t", "A memory whose point is lost.")
	_, err = w.drain(writer)
	require.NoError(t, err)
	require.NoError(t, q.Apply(ctx, g, "t", vector.Changes{Deletes: []vector.Ref{{Tenant: "t", MemoryID: ids[0]}}}))
	_, err = verify(q)
	require.ErrorContains(t, err, "memories to find")
	_, err = verify(&busy{q, func() {}})
	require.ErrorContains(t, err, "memories to find")

	// a dead point, whose deletion is pending
	w.exec(`DELETE FROM index_outbox`)
	require.NoError(t, q.Apply(ctx, g, "t", vector.Changes{Upserts: []vector.Point{{MemoryID: ids[0], Version: 1,
		Vector: embedded(t, "A memory whose point is lost.")}, {MemoryID: uuid.New(), Version: 1,
		Vector: embedded(t, "No one remembers this.")}}}))
	_, err = verify(q)
	require.ErrorContains(t, err, "memories to find")
	_, err = w.owner.Exec(ctx,
		`INSERT INTO index_outbox (tenant, memory_id, version, op, created_at) VALUES ('t', $1, 1, 'delete', now())`,
		uuid.New())
	require.NoError(t, err)
	_, err = verify(q)
	require.NoError(t, err, "the outbox removes it")
	w.exec(`UPDATE index_outbox SET parked_at = now(), attempts = 8`)
	_, err = verify(q)
	require.ErrorContains(t, err, "memories to find", "nothing removes a parked one")
}

func init() { indexing.CountAgain, indexing.Patience = time.Millisecond, 20*time.Millisecond }

// While the many pending changes of a tenant are being written, a verification waits; it fails if they are not.
func TestVerificationWaitsForABacklogThatShrinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q, _ := w.qdrant()
	a := &indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder, Index: q}
	w.remember("t", "A memory.", "Another.")
	_, err := w.drain(a)
	require.NoError(t, err)
	g := w.active(q)
	var dead []vector.Ref // points of purged memories, whose deletions are pending
	var points []vector.Point
	for range 60 {
		id := uuid.New()
		dead = append(dead, vector.Ref{Tenant: "t", MemoryID: id})
		points = append(points, vector.Point{MemoryID: id, Version: 1, Vector: embedded(t, "No one remembers this.")})
		_, err := w.owner.Exec(ctx, `INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
			VALUES ('t', $1, 1, 'delete', now())`, id)
		require.NoError(t, err)
	}
	require.NoError(t, q.Apply(ctx, g, "t", vector.Changes{Upserts: points}))
	counts := 0
	verify := func(from *indexing.VerifyPage, write func()) (indexing.VerifyPage, error) {
		w.env.RegisterActivity((&indexing.Indexing{Store: w.store, Index: &busy{q, func() {
			counts++
			write()
		}}}).VerifyGeneration)
		value, err := w.env.ExecuteActivity("VerifyGeneration",
			indexing.VerifyRequest{Generation: g.ID.String(), From: from})
		var out indexing.VerifyPage
		if err == nil {
			require.NoError(t, value.Get(&out))
		}
		return out, err
	}
	const pending = "a tenant has 2 memories to find and 62 points (60 changes are pending)"
	_, err = verify(nil, func() {})
	require.ErrorContains(t, err, pending, "a run of an earlier version does not continue")
	first, err := verify(&indexing.VerifyPage{Waits: true}, func() {})
	require.NoError(t, err)
	require.True(t, first.Waits)
	_, err = verify(&first, func() {})
	require.ErrorContains(t, err, pending, "nothing was written since the first one")
	counts = 0
	out, err := verify(&first, func() {
		if len(dead) > 0 {
			require.NoError(t, q.Apply(ctx, g, "t", vector.Changes{Deletes: dead[:1]}))
			w.exec(`DELETE FROM index_outbox WHERE seq = (SELECT min(seq) FROM index_outbox)`)
			dead = dead[1:]
		}
	})
	require.NoError(t, err)
	require.False(t, out.Waits)
	require.Greater(t, counts, 20, "it was counted until few were pending")
	require.EqualValues(t, 2, out.Memories)
}

// Lost points are found even if others write all the time, so that many changes are always pending. A verification
// waits only for those of its first count.
func TestVerificationEndsWhileOthersWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q, _ := w.qdrant()
	texts := make([]string, 60)
	for i := range texts {
		texts[i] = fmt.Sprintf("The harbour of town number %d has %d berths.", i, i+3)
	}
	ids := w.remember("t", texts...)
	_, err := w.drain(&indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder, Index: q})
	require.NoError(t, err)
	g := w.active(q)
	var lost []vector.Ref
	for _, id := range ids[:30] {
		lost = append(lost, vector.Ref{Tenant: "t", MemoryID: id})
	}
	require.NoError(t, q.Apply(ctx, g, "t", vector.Changes{Deletes: lost}))
	arrive := func() { // a change of no memory: whether it is written makes no difference to the counts
		_, err := w.owner.Exec(ctx, `INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
			VALUES ('t', $1, 1, 'delete', now())`, uuid.New())
		require.NoError(t, err)
	}
	for range 40 {
		arrive()
	}
	counts := 0
	w.env.RegisterActivity((&indexing.Indexing{Store: w.store, Index: &busy{q, func() {
		counts++
		require.Less(t, counts, 400, "it ends")
		w.exec(`DELETE FROM index_outbox WHERE seq = (SELECT min(seq) FROM index_outbox)`)
		arrive()
	}}}).VerifyGeneration)
	_, err = w.env.ExecuteActivity("VerifyGeneration",
		indexing.VerifyRequest{Generation: g.ID.String(), From: &indexing.VerifyPage{Waits: true}})
	require.ErrorContains(t, err, "a tenant has 60 memories to find and 30 points (40 changes are pending)")
	require.Greater(t, counts, 30, "it waited for the changes of the first count")
}

// Pending changes explain only a small difference, however many there are. The check passes once they are written.
func TestVerificationWithManyPendingChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q, _ := w.qdrant()
	a := &indexing.Indexing{Store: w.store, Embedder: rules.New().Embedder, Index: q}
	texts := make([]string, 30)
	for i := range texts {
		texts[i] = fmt.Sprintf("The harbour of town number %d has %d berths.", i, i+3)
	}
	w.remember("t", texts...)
	_, err := w.drain(a)
	require.NoError(t, err)
	g := w.active(q)
	dead := func(n int) { // points of purged memories, whose deletions are pending
		var points []vector.Point
		for range n {
			points = append(points, vector.Point{MemoryID: uuid.New(), Version: 1,
				Vector: embedded(t, "No one remembers this.")})
			_, err := w.owner.Exec(ctx, `INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
				VALUES ('t', $1, 1, 'delete', now())`, points[len(points)-1].MemoryID)
			require.NoError(t, err)
		}
		require.NoError(t, q.Apply(ctx, g, "t", vector.Changes{Upserts: points}))
	}
	verify := func() (api.VerifyResult, error) {
		return run[api.VerifyResult](w, a.VerifyGeneration, indexing.VerifyRequest{Generation: g.ID.String()})
	}
	dead(20)
	_, err = verify()
	require.NoError(t, err)
	dead(1)
	_, err = verify()
	require.EqualError(t, errors.Unwrap(err), "a tenant has 30 memories to find and 51 points (21 changes are pending)")
	_, err = w.drain(a)
	require.NoError(t, err)
	out, err := verify()
	require.NoError(t, err)
	require.EqualValues(t, 30, out.Points)
}
