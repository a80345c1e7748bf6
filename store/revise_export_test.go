package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/schema"
)

// Insert stores a record as it is, past the operations, and returns its id.
func (s *Store) Insert(ctx context.Context, p schema.Principal, v schema.Visibility, m schema.MemoryRecord, now time.Time) (uuid.UUID, error) {
	var id uuid.UUID
	err := s.write(ctx, p.Tenant, now, func(c *change) error {
		row, err := c.fromRecord(ctx, m, recordDefaults{Owner: p, Visibility: v, By: "test"})
		if err != nil {
			return err
		}
		id = row.ID
		ids, err := c.insertMemories(ctx, []newMemory{row})
		if err == nil && ids[0] != id {
			err = fmt.Errorf("is there as %s", ids[0])
		}
		return err
	})
	return id, err
}
