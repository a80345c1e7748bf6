package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/client/recorder"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// Job is the agent's task.
type Job struct {
	Recorder recorder.Options `json:"recorder"`
	Dir      string           `json:"dir"`     // of the module that does not build; it is written first
	Service  string           `json:"service"` // its name, a word; empty: the module greeter
	Pace     time.Duration    `json:"pace"`    // between two repairs, so that one can watch
}

// Done is the agent's result.
type Done struct {
	Repairs []Repaired     `json:"repairs"`
	Outcome schema.Outcome `json:"outcome"`
	Left    string         `json:"left,omitempty"` // the problem that it could not repair
}

// checks are the commands that must pass, in this order.
var checks = []string{"go build ./...", "go vet ./...", "go test ./...", "gofmt -l ."}

const maxRepairs = 30

// FixBuild is the agent: it repairs the problems that the checks report until all checks pass. Before each repair it
// asks Mneme for advice, and after the next check it reports the outcome. The interceptor of the worker records its
// activities, and the recorder records its plans and messages.
func FixBuild(ctx workflow.Context, job Job) (Done, error) {
	rec := recorder.Open(ctx, job.Recorder)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 2 * time.Minute, // a first build compiles the standard library
		HeartbeatTimeout:    3 * time.Second, // when a worker is killed, another one continues after that
	})
	rec.Heard(fmt.Sprintf("The build of %s fails. Please repair it.", job.name()))
	var env schema.Environment
	err := workflow.ExecuteActivity(ctx, WriteProject, Place{Dir: job.Dir, Service: job.Service}).Get(ctx, &env)
	if err != nil {
		return Done{}, err
	}
	rec.Environment(env)

	a := agent{rec: rec, job: job, env: env}
	done := Done{Outcome: schema.OutcomeFailure}
	changed := false // since the first check passed
	for passed := 0; passed < len(checks) && a.acts < maxRepairs; {
		summary := fmt.Sprintf("%d of %d checks pass after %d repairs", passed, len(checks), len(done.Repairs))
		rec.Working(ledger.WorkingUpdate{State: schema.TaskExecuting, ContextSummary: &summary,
			NextActions: checks[passed:]})
		err := workflow.ExecuteActivity(ctx, RunCheck, Check{Dir: job.Dir, Command: checks[passed]}).Get(ctx, nil)
		var failed *temporal.ApplicationError
		if err != nil && (!errors.As(err, &failed) || failed.Type() != checkFailed) {
			return done, err
		}
		complaint := ""
		if failed != nil {
			complaint = failed.Message()
		}
		if repaired := a.settle(ctx, complaint); repaired != nil {
			done.Repairs = append(done.Repairs, *repaired)
		}
		if failed == nil {
			if passed++; passed == len(checks) && changed {
				passed, changed = 0, false // all together
			}
			continue
		}
		advised, err := rec.Advise(ctx, a.question(complaint)) // the line before work
		if err != nil {
			workflow.GetLogger(ctx).Warn("no advice", "error", err)
		}
		repaired, err := a.act(ctx, complaint, advised)
		if err != nil {
			done.Left = complaint
			break
		}
		if repaired != nil {
			rec.Thought(fmt.Sprintf("%s complains about %s: %s", checks[passed], repaired.File, repaired.Change))
			done.Repairs = append(done.Repairs, *repaired)
		}
		changed = passed > 0
		if job.Pace > 0 {
			if err := workflow.Sleep(ctx, job.Pace); err != nil {
				return done, err
			}
		}
	}
	if done.Left == "" && a.acts < maxRepairs {
		done.Outcome = schema.OutcomeSuccess
	}
	said := fmt.Sprintf("The build of %s is repaired, in %d steps.", job.name(), len(done.Repairs))
	if done.Outcome != schema.OutcomeSuccess {
		said = fmt.Sprintf("I could not repair the build of %s.", job.name())
	}
	rec.Said(said)
	rec.Close(ctx, done.Outcome, said)
	return done, nil
}

func (j Job) name() string {
	if j.Service == "" {
		return "greeter"
	}
	return j.Service
}

// agent is the agent's state while it works.
type agent struct {
	rec  *recorder.Recorder
	job  Job
	env  schema.Environment
	acts int

	// State of the current attempt.
	complaint string
	advice    api.AdviseResponse
	command   string            // the last command that it ran; empty if one of its rules made the repair
	followed  *api.AdviceOption // the advice with that command
	tried     []string          // commands that did not change the complaint
}

// question asks what to do about a complaint.
func (a *agent) question(complaint string) api.AdviseRequest {
	return api.AdviseRequest{Task: "repair the build", Error: complaint, WorkingDir: a.job.Dir,
		Context: map[string]string{"os": a.env.OS, "go_version": a.env.ToolVersions["go"]}}
}

// act follows advice or, without advice, a rule of the agent; without either, it tries the commands of the catalogue.
// It returns the repair if a rule made one; only the next check shows whether a command helped.
func (a *agent) act(ctx workflow.Context, complaint string, advised api.AdviseResponse) (*Repaired, error) {
	a.acts++
	a.complaint, a.advice, a.command, a.followed = complaint, advised, "", nil
	if option := advised.Best; option != nil {
		if command := commandOf(*option); command != "" && !a.hasTried(command) {
			a.command, a.followed = command, option
			return nil, a.run(ctx)
		}
	}
	err := errNoRule
	if knows(complaint) {
		var repaired Repaired
		err = workflow.ExecuteActivity(ctx, Repair, Complaint{Dir: a.job.Dir, Output: complaint}).Get(ctx, &repaired)
		if err == nil {
			return &repaired, nil
		}
	}
	for _, command := range commands(complaint, advised.DidNotHelp) {
		if !a.hasTried(command) {
			a.command = command
			return nil, a.run(ctx)
		}
	}
	return nil, err
}

// run runs a command. A failure only means that it did not help.
func (a *agent) run(ctx workflow.Context) error {
	err := workflow.ExecuteActivity(ctx, RunCommand, Check{Dir: a.job.Dir, Command: a.command}).Get(ctx, nil)
	var failed *temporal.ApplicationError
	if errors.As(err, &failed) && failed.Type() == checkFailed {
		return nil
	}
	return err
}

func (a *agent) hasTried(command string) bool { return slices.Contains(a.tried, command) }

// settle reports the outcome of the last step, now that the check has run again. It returns the repair if a command
// made one.
func (a *agent) settle(ctx workflow.Context, complaint string) (repaired *Repaired) {
	if a.complaint == "" {
		return nil
	}
	outcome := schema.OutcomeFailure
	if !sameComplaint(a.complaint, complaint) {
		outcome = schema.OutcomeSuccess
	}
	if a.advice.AdviceID != "" {
		report := api.ReportRequest{AdviceID: a.advice.AdviceID, Outcome: outcome}
		if a.followed != nil {
			report.Used = a.followed.MemoryID
		}
		if _, err := a.rec.Report(ctx, report); err != nil { // the line after work
			workflow.GetLogger(ctx).Warn("not reported", "error", err)
		}
	}
	switch {
	case outcome == schema.OutcomeFailure:
		if a.command != "" {
			a.tried = append(a.tried, a.command)
		}
	default:
		if a.command != "" {
			repaired = &Repaired{File: fileOf(a.complaint), Change: a.command, Tried: a.tried, Advised: a.followed}
			a.rec.Thought(fmt.Sprintf("%s helped with %s", a.command, repaired.File))
		}
		a.tried = nil
	}
	a.complaint = ""
	return repaired
}
