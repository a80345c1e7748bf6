package recall

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// Get reads records by id, through the filter and the clearance of a recall. Reading by id is not tracked as an
// access and does not change importance. It fails on an invalid request (*schema.ValidationError) or if Postgres is
// unavailable.
func (r *Recaller) Get(ctx context.Context, req schema.GetRequest) (schema.GetResponse, error) {
	if err := req.Validate(); err != nil {
		return schema.GetResponse{}, err
	}
	now := r.now()
	asked := schema.RecallRequest{
		Principal:      req.Principal,
		ReadPolicy:     req.ReadPolicy,
		MaxSensitivity: req.MaxSensitivity,
		Trust:          req.Trust,
	}
	clearance := r.trustRules().Clear(asked, r.TrustKey, now)
	filter := pg.FilterOf(asked, clearance, now, nil)
	filter.At, filter.Superseded = time.Time{}, req.Superseded // a record is read even if it does not hold now
	ids := make([]uuid.UUID, len(req.IDs))
	for i, id := range req.IDs {
		ids[i] = uuid.MustParse(id) // it is valid
	}
	found, err := r.Store.Records(ctx, filter, ids)
	if err != nil {
		return schema.GetResponse{}, err
	}
	out := schema.GetResponse{Records: []schema.MemoryRecord{}, Missing: []string{}, Trust: clearance.Meta()}
	told := map[uuid.UUID]bool{}
	for i, id := range ids {
		if told[id] {
			continue
		}
		told[id] = true
		if record, ok := found[id]; ok {
			out.Records = append(out.Records, record)
		} else {
			out.Missing = append(out.Missing, req.IDs[i])
		}
	}
	return out, nil
}
