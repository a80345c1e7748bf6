package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
	"go.temporal.io/sdk/client"

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
