package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/mneme/mneme/workflows"
)

func newNexus(a *app) *cobra.Command {
	cmd := group(&cobra.Command{Use: "nexus", Short: "Let workflows of other namespaces call memory as an operation"})
	cmd.AddCommand(newNexusApply(a), newNexusShow(a))
	return cmd
}

// nexusEndpoint is what the commands print.
type nexusEndpoint struct {
	workflows.Endpoint
	Changed    bool       `json:"changed"` // by this command
	Service    string     `json:"service"`
	Operations []string   `json:"operations"`
	Polling    bool       `json:"polling"`        // a worker takes its calls
	Seen       *time.Time `json:"seen,omitempty"` // when one last asked for them
}

// endpointName is what the server takes for one.
var endpointName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]*[a-zA-Z0-9]$`)

func endpointFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("endpoint", workflows.NexusEndpoint, "name of the endpoint, unique on the server")
}

func newNexusApply(a *app) *cobra.Command {
	var retarget bool
	cmd := &cobra.Command{
		Use:   "apply",
		Short: "Create the endpoint that leads to the worker; safe to repeat",
		Long: `Create the endpoint that leads to the worker's task queue (MNEME_TASK_QUEUE) in its namespace
(TEMPORAL_NAMESPACE). Repeated, it changes nothing. An endpoint of that name that leads elsewhere is left
alone, with exit code 6, unless --retarget is given: its callers may expect another service.`,
		Args: cobra.NoArgs,
	}
	name := endpointFlag(cmd)
	cmd.Flags().BoolVar(&retarget, "retarget", false, "redirect an endpoint that leads elsewhere")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !endpointName.MatchString(*name) {
			return invalid("endpoint", "must be letters, digits and hyphens, with a letter first and no hyphen last")
		}
		c, err := a.openTemporal(cmd.Context())
		if err != nil {
			return err
		}
		ctx, cancel := a.within(cmd.Context())
		defer cancel()
		there, changed, err := workflows.EnsureNexusEndpoint(ctx, c, workflows.Endpoint{Name: *name, Namespace: a.cfg.Namespace, TaskQueue: a.cfg.TaskQueue}, retarget)
		if errors.Is(err, workflows.ErrEndpointElsewhere) {
			return &codedError{exitConflict, fmt.Errorf("endpoint %s leads to task queue %s of namespace %s: use another name, or --retarget", *name, there.TaskQueue, there.Namespace)}
		}
		if err != nil {
			return nexusError(err)
		}
		return a.printEndpoint(ctx, there, changed)
	}
	return cmd
}

func newNexusShow(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show where the endpoint leads, and whether a worker takes its calls",
		Args:  cobra.NoArgs,
	}
	name := endpointFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := a.openTemporal(cmd.Context())
		if err != nil {
			return err
		}
		ctx, cancel := a.within(cmd.Context())
		defer cancel()
		there, found, err := workflows.NexusEndpointNamed(ctx, c, *name)
		if err != nil {
			return nexusError(err)
		}
		if !found {
			return &codedError{exitNotFound, errors.New("the server has no endpoint of that name: `mneme nexus apply` makes one")}
		}
		return a.printEndpoint(ctx, there, false)
	}
	return cmd
}

// nexusError marks a server that does not have Nexus.
func nexusError(err error) error {
	var missing *serviceerror.Unimplemented
	if errors.As(err, &missing) {
		return unavailable("this Temporal server has no Nexus, or does not let this client administer it: %w", err)
	}
	return err
}

func (a *app) printEndpoint(ctx context.Context, e workflows.Endpoint, changed bool) error {
	out := nexusEndpoint{Endpoint: e, Changed: changed, Service: workflows.NexusService,
		Operations: workflows.NexusOperations()}
	// Only a worker of this client's own namespace can be seen.
	if e.Namespace == a.cfg.Namespace {
		queue, err := a.temporal.DescribeTaskQueue(ctx, e.TaskQueue, enumspb.TASK_QUEUE_TYPE_NEXUS)
		if err != nil {
			return fmt.Errorf("describe task queue: %w", err)
		}
		for _, poller := range queue.GetPollers() {
			if at := poller.GetLastAccessTime().AsTime(); out.Seen == nil || at.After(*out.Seen) {
				out.Seen = &at
			}
		}
		out.Polling = out.Seen != nil && time.Since(*out.Seen) < workerAway
		if out.Polling && e.TaskQueue == a.cfg.TaskQueue {
			w, err := a.workerState(ctx, a.temporal)
			if err != nil {
				return err
			}
			out.Polling = w.there()
		}
	}
	return a.print(out, func(t *text) {
		verb := "leads"
		if changed {
			verb = "now leads"
		}
		t.line("endpoint %s %s to task queue %s of namespace %s", e.Name, verb, e.TaskQueue, e.Namespace)
		switch {
		case e.Namespace != a.cfg.Namespace:
			t.line("whether a worker takes its calls can be seen from that namespace alone")
		case out.Polling:
			t.line("a worker takes its calls")
		default:
			t.line("no worker takes its calls: `make worker`")
		}
		t.line("service %s: %s", out.Service, strings.Join(out.Operations, ", "))
	})
}
