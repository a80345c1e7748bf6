package testkit

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/read"
)

// History returns every step of a memory, oldest first. It returns none if the principal may not see the memory.
func History(t testing.TB, s *store.Store, p schema.Principal, memoryID uuid.UUID) []schema.HistoryEntry {
	t.Helper()
	steps, err := s.HistoryAt(context.Background(), p, memoryID, read.HistoryPage{},
		policy.UpTo(schema.SensitivityHyper))
	require.NoError(t, err)
	return steps
}
