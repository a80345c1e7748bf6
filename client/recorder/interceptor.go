package recorder

import (
	"errors"
	"path"
	"slices"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/api"
)

// InterceptorOptions set what the interceptor records. The lists hold names of activities and child workflows; *
// matches any characters but "/" (path.Match).
type InterceptorOptions struct {
	Allow []string // empty: all
	Deny  []string // never recorded, even if in Allow
	// Hide lists activities whose calls are recorded without arguments, result and error.
	Hide []string

	// Open gives the options of a session for each workflow that the worker runs, and nil for one that is not to be
	// recorded. A session that it opens is closed with the run. If Open is nil, the interceptor records in workflows
	// that call recorder.Open.
	Open func(*workflow.Info) *Options
}

// Interceptor returns an interceptor of a worker (worker.Options.Interceptors). In a workflow with a recorder, it
// records each activity, local activity and child workflow as a tool call with its arguments, result or error, and
// duration.
//
// It may be added to a worker whose workflows are running: runs that began without it replay unchanged, and are not
// recorded. What a run records is decided when its recorder is opened. Do not remove the interceptor while runs that
// it records are open; set Options.Off instead, which stops recording in new runs.
func Interceptor(o InterceptorOptions) interceptor.WorkerInterceptor {
	return &workers{options: o}
}

type workers struct {
	interceptor.WorkerInterceptorBase
	options InterceptorOptions
}

func (w *workers) InterceptWorkflow(
	_ workflow.Context,
	next interceptor.WorkflowInboundInterceptor,
) interceptor.WorkflowInboundInterceptor {
	in := &inbound{open: w.options.Open, holder: &holder{
		filter: filter{Allow: w.options.Allow, Deny: w.options.Deny, Hide: w.options.Hide}}}
	in.Next = next
	return in
}

// filter determines which activities are recorded.
type filter struct {
	Allow []string `json:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty"`
	Hide  []string `json:"hide,omitempty"`
}

func (f *filter) records(name string) bool {
	return f != nil && name != api.ActivityAppendEvents && (len(f.Allow) == 0 || matches(f.Allow, name)) &&
		!matches(f.Deny, name)
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok || err != nil && pattern == name
	})
}

// holder is the state that the parts of an interceptor share for one run.
type holder struct {
	filter  filter
	current *Recorder
	all     []*Recorder
}

func (h *holder) opened(r *Recorder) {
	h.current = r
	h.all = append(h.all, r)
}

type holderKey struct{}

func holderOf(ctx workflow.Context) *holder {
	h, _ := ctx.Value(holderKey{}).(*holder)
	return h
}

type inbound struct {
	interceptor.WorkflowInboundInterceptorBase
	holder *holder
	open   func(*workflow.Info) *Options
}

func (i *inbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	out := &outbound{holder: i.holder}
	out.Next = next
	return i.Next.Init(out)
}

func (i *inbound) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	ctx = workflow.WithValue(ctx, holderKey{}, i.holder)
	var own *Recorder
	if i.open != nil {
		own = open(ctx, func() Options {
			if o := i.open(workflow.GetInfo(ctx)); o != nil {
				return *o
			}
			return Options{Off: true}
		}, i.holder)
	}
	result, err := i.Next.ExecuteWorkflow(ctx, in)
	again := new(workflow.ContinueAsNewError)
	for _, r := range i.holder.all {
		if r == own && !errors.As(err, &again) {
			summary := ""
			if err != nil {
				summary = messageOf(err)
			}
			r.Close(ctx, outcomeOf(err, temporal.IsCanceledError(err)), summary)
		} else {
			r.Flush(ctx)
		}
	}
	return result, err
}

type outbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	holder *holder
}

func (o *outbound) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	call := o.holder.call(ctx, name, args)
	return call.follow(o.Next.ExecuteActivity(ctx, name, args...))
}

func (o *outbound) ExecuteLocalActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	call := o.holder.call(ctx, name, args)
	return call.follow(o.Next.ExecuteLocalActivity(ctx, name, args...))
}

func (o *outbound) ExecuteChildWorkflow(ctx workflow.Context, name string, args ...any) workflow.ChildWorkflowFuture {
	call := o.holder.call(ctx, name, args)
	future := o.Next.ExecuteChildWorkflow(ctx, name, args...)
	call.follow(future)
	return future
}

// call records a call in the recorder that was opened last.
func (h *holder) call(ctx workflow.Context, name string, args []any) *Call {
	r := h.current
	if r == nil || r.closed || !r.set.Tools.records(name) {
		return nil
	}
	hidden := matches(r.set.Tools.Hide, name)
	if hidden {
		args = nil
	}
	c := r.call(name, args)
	c.ctx, c.hidden = ctx, hidden
	return c
}

// follow stores the future of a call and returns it.
func (c *Call) follow(future workflow.Future) workflow.Future {
	if c != nil {
		c.future = future
		c.recorder.open = append(c.recorder.open, c)
	}
	return future
}
