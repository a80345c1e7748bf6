package operate

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

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/workflows"
)

// NewNexus returns the command that sets up the Nexus endpoint for other namespaces.
func NewNexus(a *app.App) *cobra.Command {
	cmd := app.Group(&cobra.Command{Use: "nexus",
		Short: "Let workflows of other namespaces call Mneme as an operation"})
	cmd.AddCommand(newNexusApply(a), newNexusShow(a))
	return cmd
}

// NexusEndpoint is the output of the commands.
type NexusEndpoint struct {
	mneme.Endpoint
	Changed    bool       `json:"changed"` // by this command
	Service    string     `json:"service"`
	Operations []string   `json:"operations"`
	Polling    bool       `json:"polling"`        // a worker polls for its calls
	Seen       *time.Time `json:"seen,omitempty"` // last poll for them
}

// endpointName matches the names that the server accepts.
var endpointName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]*[a-zA-Z0-9]$`)

func endpointFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("endpoint", api.NexusEndpoint, "name of the endpoint, unique on the server")
}

func newNexusApply(a *app.App) *cobra.Command {
	var retarget bool
	cmd := &cobra.Command{
		Use:   "apply",
		Short: "Create the endpoint of the worker; safe to repeat",
		Long: `Create the endpoint that leads to the worker's task queue (MNEME_TASK_QUEUE) in its namespace
(TEMPORAL_NAMESPACE). Repeating it changes nothing. If an endpoint of that name leads elsewhere, it is not
changed, and the exit code is 6, unless --retarget is given: its callers may expect another service.`,
		Args: cobra.NoArgs,
	}
	name := endpointFlag(cmd)
	cmd.Flags().BoolVar(&retarget, "retarget", false, "redirect an endpoint that leads elsewhere")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !endpointName.MatchString(*name) {
			return app.Invalid("endpoint",
				"must be letters, digits and hyphens, with a letter first and no hyphen last")
		}
		c, err := a.OpenTemporal(cmd.Context())
		if err != nil {
			return err
		}
		ctx, cancel := a.Within(cmd.Context())
		defer cancel()
		there, changed, err := mneme.EnsureNexusEndpoint(ctx, c,
			mneme.Endpoint{Name: *name, Namespace: a.Cfg.Namespace, TaskQueue: a.Cfg.TaskQueue}, retarget)
		if errors.Is(err, mneme.ErrEndpointElsewhere) {
			return app.WithCode(app.ExitConflict,
				fmt.Errorf("endpoint %s leads to task queue %s of namespace %s: use another name, or --retarget",
					*name, there.TaskQueue, there.Namespace))
		}
		if err != nil {
			return nexusError(err)
		}
		return printEndpoint(ctx, a, there, changed)
	}
	return cmd
}

func newNexusShow(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the target of the endpoint, and whether a worker answers its calls",
		Args:  cobra.NoArgs,
	}
	name := endpointFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := a.OpenTemporal(cmd.Context())
		if err != nil {
			return err
		}
		ctx, cancel := a.Within(cmd.Context())
		defer cancel()
		there, found, err := mneme.NexusEndpointNamed(ctx, c, *name)
		if err != nil {
			return nexusError(err)
		}
		if !found {
			return app.WithCode(app.ExitNotFound,
				errors.New("the server has no endpoint of that name: `mneme nexus apply` makes one"))
		}
		return printEndpoint(ctx, a, there, false)
	}
	return cmd
}

// nexusError marks a server that does not have Nexus.
func nexusError(err error) error {
	var missing *serviceerror.Unimplemented
	if errors.As(err, &missing) {
		return app.Unavailable("this Temporal server has no Nexus, or does not let this client administer it: %w", err)
	}
	return err
}

func printEndpoint(ctx context.Context, a *app.App, e mneme.Endpoint, changed bool) error {
	out := NexusEndpoint{Endpoint: e, Changed: changed, Service: api.NexusService,
		Operations: workflows.NexusOperations()}
	// Only workers in this client's own namespace are visible.
	if e.Namespace == a.Cfg.Namespace {
		queue, err := a.Temporal.DescribeTaskQueue(ctx, e.TaskQueue, enumspb.TASK_QUEUE_TYPE_NEXUS)
		if err != nil {
			return fmt.Errorf("describe task queue: %w", err)
		}
		for _, poller := range queue.GetPollers() {
			if at := poller.GetLastAccessTime().AsTime(); out.Seen == nil || at.After(*out.Seen) {
				out.Seen = &at
			}
		}
		out.Polling = out.Seen != nil && time.Since(*out.Seen) < app.WorkerAway
		if out.Polling && e.TaskQueue == a.Cfg.TaskQueue {
			w, err := a.WorkerState(ctx, a.Temporal)
			if err != nil {
				return err
			}
			out.Polling = w.There()
		}
	}
	return a.Print(out, func(t *app.Text) {
		verb := "leads"
		if changed {
			verb = "now leads"
		}
		t.Line("endpoint %s %s to task queue %s of namespace %s", e.Name, verb, e.TaskQueue, e.Namespace)
		switch {
		case e.Namespace != a.Cfg.Namespace:
			t.Line("only that namespace shows whether a worker takes its calls")
		case out.Polling:
			t.Line("a worker takes its calls")
		default:
			t.Line("no worker takes its calls: `make worker`")
		}
		t.Line("service %s: %s", out.Service, strings.Join(out.Operations, ", "))
	})
}
