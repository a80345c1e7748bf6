package store_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/read"
)

// The actor, time and reason of a forced deletion can be read afterwards, in a restored database too, but only by the
// agent of the memory (document 002 "History").
func TestHistoryAfterForceIsReadByItsAgentOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	put, said := w.created(likes(t, "", "go", always)), w.explicit("Milk is sour")
	w.forgetAll(w.forgets(schema.ForgetForce, named(put, said)))
	lines := w.export(w.whole())
	to := newWorld(t)
	to.restore("t", lines, 100)
	for _, w := range []*world{w, to} {
		for _, id := range []uuid.UUID{put, said} {
			steps := w.history(id)
			require.NotEmpty(t, steps)
			last := steps[len(steps)-1]
			require.Equal(t, schema.EventDeleted, last.Event)
			require.NotEmpty(t, last.ChangedBy)
			require.NotEmpty(t, last.Reason)
			for _, step := range steps {
				require.Nil(t, step.OldContent)
				require.Nil(t, step.NewContent)
			}
			for _, stranger := range []schema.Principal{{Tenant: "t", Agent: "b"}, {Tenant: "t2", Agent: w.p.Agent}} {
				steps, err := w.HistoryAt(ctx, stranger, id, read.HistoryPage{})
				require.NoError(t, err)
				require.Empty(t, steps)
			}
		}
	}
}
