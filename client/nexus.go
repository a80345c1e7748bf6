package client

import (
	"context"
	"errors"
	"fmt"

	nexuspb "go.temporal.io/api/nexus/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// Endpoint is a Nexus endpoint of the server. Endpoints do not belong to a namespace, and their names are unique on a
// server.
type Endpoint struct {
	Name      string `json:"name"`
	ID        string `json:"id"`
	Version   int64  `json:"version"`
	Namespace string `json:"namespace"` // namespace of the target
	TaskQueue string `json:"task_queue"`
}

// ErrEndpointElsewhere means that the endpoint has another target.
var ErrEndpointElsewhere = errors.New("the endpoint leads to another namespace or task queue")

// NexusEndpointNamed returns the endpoint with a name. found reports whether it exists.
func NexusEndpointNamed(ctx context.Context, c client.Client, name string) (out Endpoint, found bool, err error) {
	listed, err := c.OperatorService().ListNexusEndpoints(ctx, &operatorservice.ListNexusEndpointsRequest{Name: name})
	if err != nil {
		return Endpoint{}, false, fmt.Errorf("list nexus endpoints: %w", err)
	}
	for _, e := range listed.GetEndpoints() {
		if e.GetSpec().GetName() == name {
			return endpointOf(e), true, nil
		}
	}
	return Endpoint{}, false, nil
}

// EnsureNexusEndpoint creates or updates an endpoint so that its target is the task queue. It may be called repeatedly.
// changed reports whether it changed anything. An endpoint with another target is changed only if retarget is set.
// Otherwise the error is ErrEndpointElsewhere, because its callers may expect another service.
func EnsureNexusEndpoint(
	ctx context.Context,
	c client.Client,
	want Endpoint,
	retarget bool,
) (out Endpoint, changed bool, err error) {
	spec := &nexuspb.EndpointSpec{Name: want.Name,
		Target: &nexuspb.EndpointTarget{Variant: &nexuspb.EndpointTarget_Worker_{
			Worker: &nexuspb.EndpointTarget_Worker{Namespace: want.Namespace, TaskQueue: want.TaskQueue}}}}
	there, found, err := NexusEndpointNamed(ctx, c, want.Name)
	if err != nil {
		return Endpoint{}, false, err
	}
	if !found {
		created, err := c.OperatorService().CreateNexusEndpoint(ctx,
			&operatorservice.CreateNexusEndpointRequest{Spec: spec})
		var exists *serviceerror.AlreadyExists
		if err == nil {
			return endpointOf(created.GetEndpoint()), true, nil
		}
		if !errors.As(err, &exists) {
			return Endpoint{}, false, fmt.Errorf("create nexus endpoint: %w", err)
		}
		if there, found, err = NexusEndpointNamed(ctx, c, want.Name); err != nil || !found { // created concurrently
			return Endpoint{}, false, errors.Join(errors.New("create nexus endpoint: it exists and is not listed"), err)
		}
	}
	if there.Namespace == want.Namespace && there.TaskQueue == want.TaskQueue {
		return there, false, nil
	}
	if !retarget {
		return there, false, ErrEndpointElsewhere
	}
	updated, err := c.OperatorService().UpdateNexusEndpoint(ctx,
		&operatorservice.UpdateNexusEndpointRequest{Id: there.ID, Version: there.Version, Spec: spec})
	if err != nil {
		return there, false, fmt.Errorf("update nexus endpoint: %w", err)
	}
	return endpointOf(updated.GetEndpoint()), true, nil
}

func endpointOf(e *nexuspb.Endpoint) Endpoint {
	target := e.GetSpec().GetTarget().GetWorker()
	return Endpoint{Name: e.GetSpec().GetName(), ID: e.GetId(), Version: e.GetVersion(),
		Namespace: target.GetNamespace(), TaskQueue: target.GetTaskQueue()}
}
