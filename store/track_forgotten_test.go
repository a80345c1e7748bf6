package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/store/search"
)

// A memory may be removed while a recall that returned it is recorded. The recall is recorded without its access:
// otherwise its caller could give no feedback on the other results.
func TestARetrievalIsRecordedWhileAMemoryIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gone, stays := w.explicit("The office has a red door."), w.explicit("The kettle is full.")
	watch := testkit.Owner(t, w.url)
	tx, err := w.owner.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, `DELETE FROM memories WHERE id = $1`, gone)
	require.NoError(t, err)
	retrieval, tracked := uuid.New(), make(chan error, 1)
	go func() {
		tracked <- w.TrackRetrieval(ctx, search.Retrieval{ID: retrieval, Principal: w.p,
			MemoryIDs: []uuid.UUID{gone, stays}}, w.now)
	}()
	waiting, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	require.NoError(t, testkit.Eventually(waiting, func() error {
		var waits bool
		err := watch.QueryRow(waiting, `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0
				AND pg_blocking_pids(pid) @> ARRAY[$1::integer])`, w.owner.PgConn().PID()).Scan(&waits)
		if err == nil && !waits {
			err = errors.New("it does not wait for the removal")
		}
		return err
	}))
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, <-tracked)
	found, err := w.Retrieved(ctx, w.p, retrieval)
	require.NoError(t, err)
	require.Len(t, found.Items, 2)
	require.Equal(t, 1, w.count("memory_access", "memory_id = $1", stays))
}
