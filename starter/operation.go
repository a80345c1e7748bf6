package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/pflag"
	"go.temporal.io/sdk/client"
	"golang.org/x/term"

	"github.com/mneme/mneme/schema"
)

// operationFlags are what every command that changes memories takes.
type operationFlags struct {
	reason, actor, operationID string
}

// registerRequired is register for the commands whose request has to give a reason.
func (f *operationFlags) registerRequired(flags *pflag.FlagSet) {
	f.register(flags)
	flags.Lookup("reason").Usage = "why, for history (required)"
}

func (f *operationFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.reason, "reason", "", "why, for history (optional)")
	flags.StringVar(&f.actor, "actor", operator(), "who, for history")
	flags.StringVar(&f.operationID, "operation-id", "", "the same id always answers with the first result")
}

func (f *operationFlags) operation(p schema.Principal) schema.Operation {
	return schema.Operation{Principal: p, OperationID: f.operationID, Actor: f.actor, Reason: f.reason}
}

// operationRun is the run of an operation as commands show it.
type operationRun struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	URL        string `json:"url,omitempty"`
}

// carryOut starts the run of an operation and, unless result is nil, waits for what becomes of it.
func carryOut[Request, Result any](ctx context.Context, a *app,
	start func(context.Context, client.Client, string, Request) (client.WorkflowRun, error), req Request, result *Result) (operationRun, error) {
	c, err := a.openTemporal(ctx)
	if err != nil {
		return operationRun{}, err
	}
	limited, cancel := a.within(ctx)
	defer cancel()
	run, err := start(limited, c, a.cfg.TaskQueue, req)
	if err != nil {
		return operationRun{}, err
	}
	a.interrupted = "the request is durable, and its run goes on: " + run.GetID()
	if result != nil {
		if err := a.follow(ctx, run, result); err != nil {
			return operationRun{}, err
		}
	}
	return operationRun{WorkflowID: run.GetID(), RunID: run.GetRunID(), URL: a.runURL(run.GetID(), run.GetRunID())}, nil
}

// inParts carries an operation out part by part, each under an id of its own, and stops at the first
// that fails.
func inParts[T any](a *app, doing, operation string, parts [][]T, carry func(operation string, part []T) error) error {
	total := 0
	for _, part := range parts {
		total += len(part)
	}
	bar := a.counting(total, doing)
	defer func() { _ = bar.Exit() }()
	for i, part := range parts {
		id := operation
		if len(parts) > 1 && id != "" {
			id = fmt.Sprintf("%s/%d", operation, i+1)
		}
		if err := carry(id, part); err != nil {
			return err
		}
		_ = bar.Add(len(part))
	}
	return nil
}

// counting shows a bar of steps on a terminal and nothing elsewhere.
func (a *app) counting(total int, what string) *progressbar.ProgressBar {
	file, ok := a.errOut.(*os.File)
	show := ok && total > schema.MaxPatches && term.IsTerminal(int(file.Fd()))
	return progressbar.NewOptions(total, progressbar.OptionSetWriter(a.errOut), progressbar.OptionSetVisibility(show), progressbar.OptionShowCount(),
		progressbar.OptionSetWidth(24), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetDescription(what),
		progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish())
}

// ofItem names the fields of a request's only item by themselves.
func ofItem(path string, err error) error {
	var bad *schema.ValidationError
	if !errors.As(err, &bad) {
		return err
	}
	fields := make([]schema.FieldError, len(bad.Fields))
	for i, f := range bad.Fields {
		fields[i] = schema.FieldError{Field: strings.TrimPrefix(strings.TrimPrefix(f.Field, path), "."), Problem: f.Problem}
		if fields[i].Field == "" {
			fields[i].Field = "(patch)"
		}
	}
	return &schema.ValidationError{Fields: fields}
}

// operator names who runs the command, for history.
func operator() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return "operator:" + u.Username
	}
	return "operator"
}

// maxBatchBytes bounds a batch's candidates as JSON: Temporal warns of payloads over 512 KB.
const maxBatchBytes = 300 << 10
