package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
)

// Insert stores a record directly, without an operation, and returns its id.
func (s *Store) Insert(ctx context.Context, p schema.Principal, v schema.Visibility, m schema.MemoryRecord,
	now time.Time) (uuid.UUID, error) {
	var id uuid.UUID
	err := commit.Write(ctx, s.DB, p.Tenant, now, func(c *commit.Change) error {
		row, err := c.FromRecord(ctx, m, commit.RecordDefaults{Owner: p, Visibility: v, By: "test"})
		if err != nil {
			return err
		}
		id = row.ID
		ids, err := c.InsertMemories(ctx, []commit.NewMemory{row})
		if err == nil && ids[0] != id {
			err = fmt.Errorf("is stored as %s", ids[0])
		}
		return err
	})
	return id, err
}
