package recorder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/schema/ledger"
)

// Call is a recorded tool call without a result yet.
type Call struct {
	recorder *Recorder
	id       string
	tool     string
	args     json.RawMessage // as recorded
	began    time.Time
	ended    bool
	hidden   bool            // its result is not recorded
	future   workflow.Future // of the interceptor
	ctx      workflow.Context
}

// Call records that a tool is called, with its arguments as an object (tool.called). The interceptor does this for
// activities.
func (r *Recorder) Call(tool string, args any) *Call {
	if r == nil {
		return nil
	}
	if args == nil {
		return r.call(tool, nil)
	}
	return r.call(tool, []any{args})
}

func (r *Recorder) call(tool string, args []any) *Call {
	r.settle() // results that arrived before this call are recorded first, so that data flow can be found
	r.calls++
	tool = cut(clean(tool), 200, cutMark)
	if tool == "" {
		tool = "unknown"
	}
	c := &Call{recorder: r, tool: tool, args: argsOf(args, r.set.MaxBytes), began: workflow.Now(r.ctx),
		id: fmt.Sprintf("%s-%d", r.prefix[:12], r.calls)}
	r.compose(ledger.KindToolCalled, ledger.ToolCall{CallID: c.id, Tool: tool, Args: c.args})
	return c
}

// Returned records the result of the call (tool.returned).
func (c *Call) Returned(result any, artifacts ...string) {
	if c == nil || c.ended {
		return
	}
	c.ended = true
	r := c.recorder
	r.problem = c.after(r.problem, true)
	out := ledger.ToolResult{CallID: c.id, DurationMS: r.since(c.began), Artifacts: artifactsOf(artifacts)}
	if result != nil && !c.hidden {
		out.Result = valueOf(result, r.set.MaxBytes)
	}
	r.compose(ledger.KindToolReturned, out)
}

// Failed records that the call failed (tool.failed).
func (c *Call) Failed(err error) {
	if c == nil || c.ended {
		return
	}
	c.ended = true
	r := c.recorder
	r.problem = c.after(r.problem, false)
	out := ledger.ToolResult{CallID: c.id, DurationMS: r.since(c.began), Error: "failed"}
	if err != nil && !c.hidden {
		out.Error = textOf(messageOf(err), r.set.MaxBytes)
	}
	r.compose(ledger.KindToolFailed, out)
}

// after returns the call whose failure is the problem after c has ended: the last one that failed and did not succeed
// since. A call whose arguments are not recorded is not named.
func (c *Call) after(problem *Call, ok bool) *Call {
	switch {
	case !ok && c.hidden:
		return nil
	case !ok:
		return c
	case problem != nil && problem.tool == c.tool && bytes.Equal(problem.args, c.args):
		return nil
	}
	return problem
}

// lastFailed returns the call whose failure is the problem now, or nil. It records nothing: a result that has arrived
// is recorded with the next event.
func (r *Recorder) lastFailed() *api.FailedCall {
	problem := r.problem
	for _, c := range r.open {
		if c.future.IsReady() {
			problem = c.after(problem, c.future.Get(c.ctx, nil) == nil) // does not wait
		}
	}
	if problem == nil || len(problem.args) > api.MaxAdviceArgs {
		return nil
	}
	return &api.FailedCall{Tool: problem.tool, Args: problem.args}
}

// messageOf returns the error message of a tool, without the text that Temporal adds.
func messageOf(err error) string {
	if app := new(temporal.ApplicationError); errors.As(err, &app) && app.Message() != "" {
		return app.Message()
	}
	return err.Error()
}

// settle records the results that have arrived. It is called before any other event is recorded, so that events are in
// the order in which the workflow saw them. It does not change the futures of the workflow.
func (r *Recorder) settle() {
	if !r.ready() {
		return
	}
	open := r.open
	r.open = nil // add calls settle
	for _, c := range open {
		if !c.future.IsReady() {
			r.open = append(r.open, c)
		}
	}
	for _, c := range open {
		if c.future.IsReady() {
			c.finish()
		}
	}
}

// ready reports whether a result has arrived that is not recorded.
func (r *Recorder) ready() bool {
	return slices.ContainsFunc(r.open, func(c *Call) bool { return c.future.IsReady() })
}

//workflowcheck:ignore
func (c *Call) finish() {
	if err := c.future.Get(c.ctx, nil); err != nil { // does not wait
		c.Failed(err)
		return
	}
	var raw converter.RawValue
	if err := c.future.Get(c.ctx, &raw); err != nil {
		c.Returned(note("not readable", nil)) // by the workflow's data converter
		return
	}
	if raw.Payload() == nil {
		c.Returned(nil)
		return
	}
	c.Returned(raw)
}
