package workflows

import (
	"context"

	"go.temporal.io/sdk/temporalnexus"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows/agents"
)

// eraseEvents starts EraseEvents, or joins the run of the same request, and completes with its result. It does not
// erase the episodes that repeat the events: erasing memories needs a confirmation, as in forget.
func (h nexusHandlers) eraseEvents(
	ctx context.Context,
	nc temporalnexus.NexusClient,
	req api.EraseEventsRequest,
	o temporalnexus.StartTemporalOperationOptions,
) (temporalnexus.TemporalOperationResult[api.EraseEventsResult], error) {
	of := schema.Principal{Tenant: req.Tenant}
	err := h.admit(ctx, &of, o)
	req.Tenant = of.Tenant
	if err == nil {
		err = refusal(req.Validate())
	}
	if err == nil && req.Everywhere {
		err = refusal(&schema.ValidationError{Fields: []schema.FieldError{{Field: "everywhere",
			Problem: "is not possible by Nexus: a person confirms the erasing of memories"}}})
	}
	if err != nil {
		return temporalnexus.TemporalOperationResult[api.EraseEventsResult]{}, err
	}
	return attach(ctx, nc, mneme.EraseEventsStart("", req), agents.EraseEvents, req)
}
