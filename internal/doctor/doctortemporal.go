package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/operate"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/memory/lifecycle"
)

// temporal checks whether the server answers and has the namespace.
func (d *Doctor) temporal(ctx context.Context) (verdict, error) {
	const do = "Start it (`make up`), or correct TEMPORAL_ADDRESS."
	c, err := d.A.OpenTemporal(ctx)
	if err != nil {
		return fail(do, "%s", err), nil
	}
	_, err = c.WorkflowService().DescribeNamespace(ctx,
		&workflowservice.DescribeNamespaceRequest{Namespace: d.A.Cfg.Namespace})
	var missing *serviceerror.NamespaceNotFound
	switch {
	case errors.As(err, &missing):
		return fail("Create it (`temporal operator namespace create --namespace "+d.A.Cfg.Namespace+
			"`), or correct TEMPORAL_NAMESPACE.", "there is no namespace %s", d.A.Cfg.Namespace), nil
	case err != nil:
		return fail(do, "%s", err), nil
	}
	d.Client = c
	return fine("namespace %s", d.A.Cfg.Namespace), nil
}

func (d *Doctor) searchAttributes(ctx context.Context) (verdict, error) {
	missing, err := mneme.MissingSearchAttributes(ctx, d.Client, d.A.Cfg.Namespace)
	if err != nil || len(missing) == 0 {
		return fine("registered"), err
	}
	return fail("Start a worker: it registers them. A run that sets an unregistered one is stuck.",
		"not registered: %s", listed(missing)), nil
}

// namespaceRetention compares how long Temporal keeps the histories of ended runs with how long a deleted memory is
// kept. A purge removes a tombstone with its text after TombstoneWindow (document 002 "Retention Worker"); a history
// that is kept longer still has the request that brought the text.
func (d *Doctor) namespaceRetention(ctx context.Context) (verdict, error) {
	described, err := d.Client.WorkflowService().DescribeNamespace(ctx,
		&workflowservice.DescribeNamespaceRequest{Namespace: d.A.Cfg.Namespace})
	if err != nil {
		return verdict{}, err
	}
	kept := described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	if kept > lifecycle.TombstoneWindow {
		return warn(
			fmt.Sprintf("`temporal operator namespace update --namespace %s --retention %dh`: the text of "+
				"requests stays in histories after a purge has removed it elsewhere, unless it was erased or "+
				"payloads are encrypted.",
				d.A.Cfg.Namespace, int(lifecycle.TombstoneWindow.Hours())),
			"histories are kept for %s, longer than a deleted memory (%s)", days(kept),
			days(lifecycle.TombstoneWindow)), nil
	}
	if kept < lifecycle.CompletedJobsWindow {
		return fine("histories are kept for %s; a job, which names its run, for %s", days(kept),
			days(lifecycle.CompletedJobsWindow)), nil
	}
	return fine("histories are kept for %s", days(kept)), nil
}

func (d *Doctor) worker(ctx context.Context) (verdict, error) {
	w, err := d.A.WorkerState(ctx, d.Client)
	if err != nil {
		return verdict{}, err
	}
	const do = "Start one (`make worker`), with this MNEME_TASK_QUEUE."
	switch away := app.Span(d.Now().Sub(w.Seen)); {
	case w.Seen.IsZero():
		return fail(do, "no worker polls task queue %s", d.A.Cfg.TaskQueue), nil
	case !w.There():
		return fail(do, "the last worker polled task queue %s %s ago, and does not answer",
			d.A.Cfg.TaskQueue, away), nil
	case !w.Asked:
		return fine("one polled task queue %s %s ago", d.A.Cfg.TaskQueue, away), nil
	}
	return fine("one answers on task queue %s", d.A.Cfg.TaskQueue), nil
}

// converter returns the data converter of this program's settings.
func (d *Doctor) converter() (converter.DataConverter, error) {
	options := client.Options{DataConverter: converter.GetDefaultDataConverter()}
	err := config.Encrypt(&options, d.A.Cfg.PayloadKey, d.A.Cfg.ReadKeys...)
	return options.DataConverter, err
}

// payloadKey checks the key with a result that a worker has written: that of the latest run that a schedule started.
func (d *Doctor) payloadKey(ctx context.Context) (verdict, error) {
	dc, err := d.converter()
	if err != nil {
		return verdict{}, err
	}
	known, err := d.schedules(ctx)
	if err != nil {
		return verdict{}, err
	}
	var runs []*mneme.ScheduleRun
	for _, s := range known {
		if s.Last != nil {
			runs = append(runs, s.Last)
		}
	}
	slices.SortFunc(runs, func(a, b *mneme.ScheduleRun) int { return b.StartedAt.Compare(a.StartedAt) })
	for _, run := range runs {
		events := d.Client.GetWorkflowHistory(ctx, run.WorkflowID, "", false,
			enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if app.IsNotFound(err) {
				break
			}
			if err != nil {
				return verdict{}, err
			}
			if result := event.GetWorkflowExecutionCompletedEventAttributes().GetResult().GetPayloads(); len(result) == 1 {
				v := JudgePayload(dc, len(d.A.Cfg.PayloadKey) > 0, result[0])
				d.unread = v.Status == CheckFail
				return v, nil
			}
		}
	}
	return fine("no scheduled run has ended yet: unknown whether the worker has the same"), nil
}

// JudgePayload judges whether the worker that wrote a payload has the same payload key as dc, if any.
func JudgePayload(dc converter.DataConverter, keyed bool, p *commonpb.Payload) verdict {
	plain := string(p.GetMetadata()[converter.MetadataEncoding]) == converter.MetadataEncodingJSON
	var read any
	switch err := dc.FromPayload(p, &read); {
	case err != nil && keyed:
		return fail("Set the MNEME_PAYLOAD_KEY here that the worker has.",
			"the worker encrypts with another key: neither side can read the other's payloads")
	case err != nil:
		return fail("Set the MNEME_PAYLOAD_KEY here that the worker has.",
			"the worker encrypts, and MNEME_PAYLOAD_KEY is not set here")
	case plain && keyed:
		return warn("Set the same MNEME_PAYLOAD_KEY for the worker, and restart it.",
			"MNEME_PAYLOAD_KEY is set here, and the worker does not encrypt")
	case plain:
		return fine("none is set here, and the worker has none")
	}
	return fine("the worker has the same")
}

// trustKey checks that there is a key with which the claims of workflows in other namespaces are verified.
func (d *Doctor) trustKey(ctx context.Context) (verdict, error) {
	if len(d.A.Cfg.TrustKey) > 0 {
		return fine("set"), nil
	}
	var names []string
	request := &operatorservice.ListNexusEndpointsRequest{PageSize: 100}
	for {
		found, err := d.Client.OperatorService().ListNexusEndpoints(ctx, request)
		var absent *serviceerror.Unimplemented
		var denied *serviceerror.PermissionDenied
		if errors.As(err, &absent) || errors.As(err, &denied) {
			return fine("not set; unknown whether a Nexus endpoint leads here"), nil
		}
		if err != nil {
			return verdict{}, err
		}
		for _, e := range found.GetEndpoints() {
			if w := e.GetSpec().GetTarget().GetWorker(); w.GetNamespace() == d.A.Cfg.Namespace &&
				w.GetTaskQueue() == d.A.Cfg.TaskQueue {
				names = append(names, e.GetSpec().GetName())
			}
		}
		if request.NextPageToken = found.GetNextPageToken(); len(request.NextPageToken) == 0 {
			break
		}
	}
	if len(names) == 0 || d.A.Cfg.Callers.Bound() {
		return JudgeCallers(names, d.A.Cfg.Callers.Bound(), ""), nil
	}
	other, err := d.otherNamespace(ctx)
	return JudgeCallers(names, false, other), err
}

// JudgeCallers judges whether workflows in other namespaces can call through the endpoints although there is no trust
// key. Callers in the worker's own namespace do not matter, because they can start its workflows anyway.
func JudgeCallers(endpoints []string, bound bool, other string) verdict {
	switch {
	case len(endpoints) == 0:
		return fine("not set, and no Nexus endpoint leads here")
	case bound:
		return fine("not set; MNEME_NEXUS_CALLERS binds callers of Nexus endpoint %s to their tenants",
			listed(endpoints))
	case other == "":
		return fine("not set; Nexus endpoint %s can be called only from this namespace; the server has no other",
			listed(endpoints))
	}
	return warn("Set MNEME_NEXUS_CALLERS (docs/nexus.md) for the worker and here; or MNEME_TRUST_KEY, "+
		"and give callers tokens (docs/trust.md).",
		"MNEME_TRUST_KEY and MNEME_NEXUS_CALLERS are not set: callers of Nexus endpoint %s "+
			"from other namespaces, such as %s, are not authenticated", listed(endpoints), other)
}

// otherNamespace names a namespace that is neither this one nor the server's own, or "" if there is none.
func (d *Doctor) otherNamespace(ctx context.Context) (string, error) {
	request := &workflowservice.ListNamespacesRequest{PageSize: 100}
	for {
		found, err := d.Client.WorkflowService().ListNamespaces(ctx, request)
		var denied *serviceerror.PermissionDenied
		if errors.As(err, &denied) {
			return "one that this client may not list", nil
		}
		if err != nil {
			return "", err
		}
		for _, n := range found.GetNamespaces() {
			if name := n.GetNamespaceInfo().GetName(); name != d.A.Cfg.Namespace && name != "temporal-system" {
				return name, nil
			}
		}
		if request.NextPageToken = found.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return "", nil
		}
	}
}

// schedules reads the schedules once for all checks.
func (d *Doctor) schedules(ctx context.Context) ([]mneme.ScheduleStatus, error) {
	if d.scheduled == nil && d.scheduleErr == nil {
		var s mneme.Schedules
		if s, d.scheduleErr = operate.Schedules(ctx, d.A); d.scheduleErr == nil {
			d.scheduled, d.scheduleErr = s.Statuses(ctx, d.Specs)
		}
	}
	return d.scheduled, d.scheduleErr
}

// which returns the names of the schedules for which is returns true, each with its text.
func (d *Doctor) which(ctx context.Context, is func(mneme.ScheduleStatus) (string, bool)) ([]string, error) {
	known, err := d.schedules(ctx)
	var out []string
	for _, s := range known {
		if more, ok := is(s); ok {
			out = append(out, s.Name+more)
		}
	}
	return out, err
}

func (d *Doctor) schedulesMissing(ctx context.Context) (verdict, error) {
	found, err := d.which(ctx, func(s mneme.ScheduleStatus) (string, bool) {
		return "", s.Missing && slices.ContainsFunc(d.Specs, func(spec mneme.ScheduleSpec) bool {
			return spec.Name == s.Name
		})
	})
	if err != nil || len(found) == 0 {
		return fine("none"), err
	}
	return fail("`mneme schedules apply`, or start a worker.", "missing: %s", listed(found)), nil
}

func (d *Doctor) schedulesFailed(ctx context.Context) (verdict, error) {
	found, err := d.which(ctx, func(s mneme.ScheduleStatus) (string, bool) {
		return " (" + s.Note + ")", s.PausedBy == mneme.PausedByFailure
	})
	if err != nil || len(found) == 0 {
		return fine("none is paused by a failure"), err
	}
	return fail("Fix what failed, then `mneme schedules resume NAME` and `mneme schedules trigger NAME`.",
		"paused by a failure: %s", listed(found)), nil
}

func (d *Doctor) schedulesPaused(ctx context.Context) (verdict, error) {
	found, err := d.which(ctx, func(s mneme.ScheduleStatus) (string, bool) {
		return " (" + s.Note + ")", s.PausedBy == mneme.PausedByOperator
	})
	if err != nil || len(found) == 0 {
		return fine("none is paused by a person"), err
	}
	return warn("`mneme schedules resume NAME`, when the reason no longer applies.",
		"paused by a person: %s", listed(found)), nil
}

func (d *Doctor) schedulesDiffer(ctx context.Context) (verdict, error) {
	elsewhere, ours := "", []string(nil)
	found, err := d.which(ctx, func(s mneme.ScheduleStatus) (string, bool) {
		if slices.Contains(s.Differs, mneme.DifferentTaskQueue) {
			elsewhere = s.TaskQueue
			return " (belongs to task queue " + s.TaskQueue + ")", true
		}
		differs := s.Differs
		if d.unread { // correct arguments would look different
			differs = slices.DeleteFunc(slices.Clone(differs), func(what string) bool { return what == "arguments" })
		}
		if len(differs) > 0 {
			ours = append(ours, s.Name)
		}
		return " (" + listed(differs) + ")", len(differs) > 0
	})
	if err != nil || len(found) == 0 {
		return fine("all match the file"), err
	}
	switch {
	case elsewhere != "" && len(ours) > 0: // apply refuses a file at the first schedule that is elsewhere
		return warn("`mneme schedules apply FILE` with a file that names "+listed(ours)+
			" only; leave those of task queue "+
			elsewhere+" to the installation that has them, or correct MNEME_TASK_QUEUE.",
			"different from the file: %s", listed(found)), nil
	case elsewhere != "":
		return warn("Leave them to the installation that has them, or correct MNEME_TASK_QUEUE; only if task queue "+
			elsewhere+" no longer exists, use --take-over with the file to move them here.",
			"not of this task queue: %s", listed(found)), nil
	}
	return warn("`mneme schedules apply [FILE]`; or `mneme doctor --schedules FILE`, if they are another file's.",
		"different from the file: %s", listed(found)), nil
}
