package recall_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/search"
)

// slowEmbedder blocks until its context ends, and records the deadline.
type slowEmbedder struct {
	inference.Embedder
	given *time.Duration
}

func (e slowEmbedder) Embed(ctx context.Context, _ []string) ([][]float32, inference.Usage, error) {
	*e.given = untilDone(ctx)
	return nil, inference.Usage{}, ctx.Err()
}

// untilDone waits for the end of a context, and returns how long it lasted.
func untilDone(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline()
	left := time.Until(deadline)
	<-ctx.Done()
	return left
}

// silentEmbedder returns no vectors and no error.
type silentEmbedder struct{ inference.Embedder }

func (silentEmbedder) Embed(context.Context, []string) ([][]float32, inference.Usage, error) {
	return nil, inference.Usage{}, nil
}

func TestAFailingChannelOnlyDegrades(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.remember("the canary sings in the mine")
	for name, c := range map[string]struct {
		change func(r *recall.Recaller, given *time.Duration)
		within time.Duration // the time limit if the channel hangs
	}{
		"index down": {func(r *recall.Recaller, _ *time.Duration) {
			r.Index = failing(errors.New("connection refused"))
		}, 0},
		"embedder down": {func(r *recall.Recaller, _ *time.Duration) {
			r.Embedder = testkit.BrokenEmbedder{Embedder: r.Embedder}
		}, 0},
		"embedder silent": {func(r *recall.Recaller, _ *time.Duration) { r.Embedder = silentEmbedder{r.Embedder} }, 0},
		"embedder slow": {func(r *recall.Recaller, given *time.Duration) {
			r.Embedder = slowEmbedder{r.Embedder, given}
		}, 2 * time.Second},
		"index slow": {func(r *recall.Recaller, given *time.Duration) {
			r.Index = stubIndex{search: func(ctx context.Context) ([]search.Hit, error) {
				*given = untilDone(ctx)
				return nil, ctx.Err()
			}}
		}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			r := *w.Recaller
			r.Log = slog.New(slog.NewJSONHandler(&log, nil))
			var given time.Duration
			c.change(&r, &given)
			r.TimeoutFactor = 0
			out, err := r.Recall(ctx, schema.RecallRequest{Principal: w.p, Query: "where does the canary sing"})
			require.NoError(t, err)
			require.LessOrEqual(t, given, c.within)
			require.Equal(t, c.within > 0, given > 0)
			require.Contains(t, out.Meta.Degraded, rank.ChannelVector)
			require.Equal(t, []string{id.String()}, ids(out), "text results still come")
			require.NotContains(t, log.String(), "canary", "neither query nor content is logged")
			require.Contains(t, log.String(), "degraded")
		})
	}
}

// An answer that is empty although a channel failed does not say that nothing is known.
func TestAFailingChannelLeavesOpenWhatIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remember("the canary sings in the mine")
	const question = "who built the pyramids?"
	require.True(t, w.recall(question).Meta.Unknown)
	w.Index = failing(errors.New("connection refused"))
	out := w.recall(question)
	require.Empty(t, out.Results)
	require.Equal(t, []string{rank.ChannelVector}, out.Meta.Degraded)
	require.False(t, out.Meta.Unknown)
}

func TestTextAnswersWithoutVectors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.remember("the canary sings")
	w.Without, w.Embedder, w.Index = []string{rank.ChannelVector}, nil, nil
	out := w.recall("canary")
	require.Equal(t, []string{id.String()}, ids(out))
	require.Empty(t, out.Meta.Degraded)
	require.NotContains(t, out.Meta.Channels, rank.ChannelVector)
}

func TestTrackingFailureOnlyDegrades(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.remember("the canary sings")
	w.exec(`ALTER TABLE retrievals ADD CONSTRAINT broken CHECK (false) NOT VALID`)
	out := w.recall("canary")
	require.Equal(t, []string{id.String()}, ids(out))
	require.Equal(t, []string{"track"}, out.Meta.Degraded)
}

func TestRecallFailsClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.remember("the canary sings")
	w.Index = hitting(id)
	w.exec(`REVOKE SELECT ON memories FROM mneme_app`)
	out, err := w.Recall(ctx, schema.RecallRequest{Principal: w.p, Query: "canary"})
	require.Error(t, err)
	require.Empty(t, out.Results)
	require.NotContains(t, err.Error(), "canary")
}

// An empty answer means that nothing is known: if no channel could be queried, recall returns an error.
func TestRecallFailsWhenPostgresCannotBeAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remember("the canary sings")
	w.Store.Close()
	out, err := w.Recall(ctx, schema.RecallRequest{Principal: w.p, Query: "canary"})
	require.Error(t, err)
	require.Empty(t, out)
}
