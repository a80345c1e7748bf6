package topics

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

const (
	tenantPage = 100
	topicPage  = 100

	// scanFor is how long one scan runs. A cancelled run ends within this time.
	scanFor = 20 * time.Second
	// scanMost is how many topics that are due one scan may return. The run refreshes them before it continues the
	// scan.
	scanMost = 50
)

// ScanTopicsRequest is a request for topics whose evidence has changed, starting at a cursor.
type ScanTopicsRequest struct {
	Tenant  string              `json:"tenant,omitempty"` // only this tenant
	Cursor  api.TopicCursor     `json:"cursor"`
	Misread []schema.FieldError `json:"misread,omitempty"`
}

// ScanTopicsResult has the topics that are due, and the cursor for the next scan.
type ScanTopicsResult struct {
	Due     []TopicRef      `json:"due,omitempty"`
	Checked int             `json:"checked"`
	Failed  int             `json:"failed"` // topics that could not be compared; the log has the errors
	Cursor  api.TopicCursor `json:"cursor"`
	Done    bool            `json:"done"`
}

// ScanTopics compares the evidence of topics, tenant by tenant. It records the cursor in a heartbeat after each
// topic, so that a retry continues there. A topic that cannot be compared is logged and skipped, unless Postgres is
// unavailable.
func (a *Topics) ScanTopics(ctx context.Context, in ScanTopicsRequest) (ScanTopicsResult, error) {
	if len(in.Misread) > 0 {
		return ScanTopicsResult{}, step.Fail(&schema.ValidationError{Fields: in.Misread})
	}
	work, ctx := step.StartWork(ctx, ScanTopicsResult{Cursor: in.Cursor})
	defer work.Stop()
	out := work.SoFar()
	until := time.Now().Add(scanFor)
	var tenants []string
	for {
		if out.Cursor.Tenant == "" {
			if len(tenants) == 0 {
				var err error
				if tenants, err = a.tenants(ctx, in.Tenant, out.Cursor.After); err != nil {
					return out, step.Fail(step.Stalled(ctx, err))
				}
				if len(tenants) == 0 {
					out.Done = true
					return out, nil
				}
			}
			out.Cursor = api.TopicCursor{After: out.Cursor.After, Tenant: tenants[0]}
			tenants = tenants[1:]
		}
		after := uuid.Nil
		if out.Cursor.Topic != "" {
			after = uuid.MustParse(out.Cursor.Topic)
		}
		page, err := a.Store.OpenTopics(ctx, out.Cursor.Tenant, after, topicPage)
		if err != nil {
			return out, step.Fail(step.Stalled(ctx, err))
		}
		for _, id := range page {
			if err := a.scan(ctx, &out, id); err != nil {
				return out, step.Fail(step.Stalled(ctx, err))
			}
			work.Note(out.copy())
			if ctx.Err() != nil {
				return out, context.Cause(ctx)
			}
			if len(out.Due) >= scanMost || !time.Now().Before(until) {
				return out, nil
			}
		}
		if len(page) < topicPage {
			out.Cursor = api.TopicCursor{After: out.Cursor.Tenant}
			work.Note(out.copy())
		}
	}
}

// copy returns a copy that does not share memory with r.
func (r ScanTopicsResult) copy() ScanTopicsResult {
	r.Due = append([]TopicRef(nil), r.Due...)
	return r
}

// tenants lists the tenants whose names follow after, or only one tenant.
func (a *Topics) tenants(ctx context.Context, only, after string) ([]string, error) {
	if only == "" {
		return a.Store.TopicTenants(ctx, after, tenantPage)
	}
	if after == only {
		return nil, nil
	}
	return []string{only}, nil
}

// scan compares one topic and moves the cursor past it.
func (a *Topics) scan(ctx context.Context, out *ScanTopicsResult, id uuid.UUID) error {
	ref := TopicRef{Tenant: out.Cursor.Tenant, Topic: id.String()}
	found, err := a.check(ctx, ref)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, pg.ErrNotFound): // removed since it was listed
	case err != nil && pg.IsUnavailable(err):
		return err
	case err != nil:
		activity.GetLogger(ctx).Error("a topic could not be compared", "tenant", ref.Tenant, "topic", ref.Topic,
			"error", err)
		out.Failed++
	default:
		out.Checked++
		if found.Refresh {
			out.Due = append(out.Due, ref)
		}
	}
	out.Cursor.Topic = ref.Topic
	return nil
}
