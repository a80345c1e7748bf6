package store_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
)

// A forget by source kind finds a memory after an import, and after a second one, as it did before.
func TestAnImportKeepsSourceKinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ack, _ := w.stage(schema.Candidate{Content: "The pump leaks", SourceKind: schema.SourceToolOutput},
		schema.Candidate{Content: "The tap drips", SourceKind: schema.SourceUserInput})
	leaks := uuid.MustParse(ack.MemoryIDs[0])
	put := w.created(likes(t, "", "go", always)) // has none
	lines := w.export(w.whole())
	for range 2 {
		to := newWorld(t)
		require.Empty(t, to.restore("t", lines, 100).Conflicts)
		require.Equal(t, []uuid.UUID{leaks},
			to.chosen(to.selects(to.forgets(schema.ForgetSoft, schema.Selector{SourceKind: schema.SourceToolOutput}))))
		require.Zero(t, to.count("memory_source_kinds", "memory_id = $1", put))
		lines = to.export(to.whole())
	}
}
