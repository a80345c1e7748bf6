package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/client/recorder"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// Job is what the agent is asked to do.
type Job struct {
	Recorder recorder.Options `json:"recorder"`
	Dir      string           `json:"dir"`  // of the module that does not build; it is written first
	Pace     time.Duration    `json:"pace"` // between two repairs, so that one can watch
}

// Done is what the agent did.
type Done struct {
	Repairs []Repaired     `json:"repairs"`
	Outcome schema.Outcome `json:"outcome"`
	Left    string         `json:"left,omitempty"` // what it could not repair
}

// checks are the commands that must pass, in this order.
var checks = []string{"go build ./...", "go vet ./...", "go test ./...", "gofmt -l ."}

const maxRepairs = 30

// FixBuild is the agent: it repairs what the checks complain about until all of them pass. Its activities are recorded
// by the interceptor of the worker, and what it plans and says by the recorder.
func FixBuild(ctx workflow.Context, job Job) (Done, error) {
	rec := recorder.Open(ctx, job.Recorder)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 2 * time.Minute, // a first build compiles the standard library
		HeartbeatTimeout:    3 * time.Second, // when a worker is killed, another one goes on after that
	})
	rec.Heard("The build of greeter fails. Please repair it.")
	var env schema.Environment
	if err := workflow.ExecuteActivity(ctx, WriteProject, Place{Dir: job.Dir}).Get(ctx, &env); err != nil {
		return Done{}, err
	}
	rec.Environment(env)

	done := Done{Outcome: schema.OutcomeFailure}
	changed := false // since the first check passed
	for passed := 0; passed < len(checks) && len(done.Repairs) < maxRepairs; {
		summary := fmt.Sprintf("%d of %d checks pass after %d repairs", passed, len(checks), len(done.Repairs))
		rec.Working(ledger.WorkingUpdate{State: schema.TaskExecuting, ContextSummary: &summary, NextActions: checks[passed:]})
		err := workflow.ExecuteActivity(ctx, RunCheck, Check{Dir: job.Dir, Command: checks[passed]}).Get(ctx, nil)
		var failed *temporal.ApplicationError
		if err == nil {
			if passed++; passed == len(checks) && changed {
				passed, changed = 0, false // all together
			}
			continue
		}
		if !errors.As(err, &failed) || failed.Type() != checkFailed {
			return done, err
		}
		var repaired Repaired
		err = workflow.ExecuteActivity(ctx, Repair, Complaint{Dir: job.Dir, Output: failed.Message()}).Get(ctx, &repaired)
		if err != nil {
			done.Left = failed.Message()
			break
		}
		rec.Thought(fmt.Sprintf("%s complains about %s: %s", checks[passed], repaired.File, repaired.Change))
		done.Repairs = append(done.Repairs, repaired)
		changed = passed > 0
		if job.Pace > 0 {
			if err := workflow.Sleep(ctx, job.Pace); err != nil {
				return done, err
			}
		}
	}
	if done.Left == "" && len(done.Repairs) < maxRepairs {
		done.Outcome = schema.OutcomeSuccess
	}
	said := fmt.Sprintf("The build of greeter is repaired, in %d steps.", len(done.Repairs))
	if done.Outcome != schema.OutcomeSuccess {
		said = "I could not repair the build of greeter."
	}
	rec.Said(said)
	rec.Close(ctx, done.Outcome, said)
	return done, nil
}

//go:embed project
var broken embed.FS

// Place is a directory.
type Place struct {
	Dir string `json:"dir"`
}

// WriteProject writes the module that does not build, and says where the agent works.
func WriteProject(ctx context.Context, in Place) (schema.Environment, error) {
	err := fs.WalkDir(broken, "project", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := broken.ReadFile(path)
		if err != nil {
			return err
		}
		rel := strings.TrimSuffix(strings.TrimPrefix(path, "project/"), ".txt") // so that it is no part of ours
		to := filepath.Join(in.Dir, filepath.FromSlash(rel))
		if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o600)
	})
	if err != nil {
		return schema.Environment{}, err
	}
	defer beat(ctx)()
	version, err := runIn(in.Dir, "go", "env", "GOVERSION")
	return schema.Environment{OS: runtime.GOOS, WorkingDir: in.Dir,
		ToolVersions: map[string]string{"go": strings.TrimPrefix(strings.TrimSpace(version), "go")}}, err
}

// Check is a command that must pass.
type Check struct {
	Dir     string `json:"dir"`
	Command string `json:"command"`
}

// checkFailed is the type of the error of a command that does not pass. Its message is what the command printed.
const checkFailed = "check_failed"

// RunCheck runs a command. One that complains fails, and is not tried again as it is.
func RunCheck(ctx context.Context, in Check) (string, error) {
	defer beat(ctx)()
	words := strings.Fields(in.Command)
	output, err := runIn(in.Dir, words[0], words[1:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) || err == nil && words[0] == "gofmt" && strings.TrimSpace(output) != "" {
		return "", temporal.NewNonRetryableApplicationError(strings.TrimSpace(output), checkFailed, nil)
	}
	return output, err
}

// Complaint is what a check printed.
type Complaint struct {
	Dir    string `json:"dir"`
	Output string `json:"output"`
}

// Repair repairs one of the things that a check complains about.
func Repair(ctx context.Context, in Complaint) (Repaired, error) {
	defer beat(ctx)()
	out, err := project(in.Dir).repair(in.Output)
	if errors.Is(err, errNoRule) {
		return out, temporal.NewNonRetryableApplicationError(err.Error(), "no_rule", nil)
	}
	return out, err
}

// beat tells Temporal every second that the worker lives, until it is stopped.
func beat(ctx context.Context) (stop func()) {
	ctx, stop = context.WithCancel(ctx)
	go func() {
		for ctx.Err() == nil {
			activity.RecordHeartbeat(ctx)
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	}()
	return stop
}

// runIn runs a program in a directory, without the network. It returns what the program printed.
func runIn(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local", "GOPROXY=off", "GOWORK=off", "GOFLAGS=-mod=mod")
	output, err := cmd.CombinedOutput()
	return string(output), err
}
