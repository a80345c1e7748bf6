package app

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

// OperationFlags are the flags of every command that changes memories.
type OperationFlags struct {
	Reason, Actor, operationID string
}

// RegisterRequired registers the flags for a command whose request must have a reason.
func (f *OperationFlags) RegisterRequired(flags *pflag.FlagSet) {
	f.Register(flags)
	flags.Lookup("reason").Usage = "reason, kept in history (required)"
}

// Register registers the flags for a command whose request may have a reason.
func (f *OperationFlags) Register(flags *pflag.FlagSet) {
	f.RegisterReason(flags)
	flags.StringVar(&f.operationID, "operation-id", "",
		"repeated, the operation returns its first result; another one with this id is refused")
}

// RegisterReason registers the flags for a command that may have a reason, and that has no result to repeat.
func (f *OperationFlags) RegisterReason(flags *pflag.FlagSet) {
	flags.StringVar(&f.Reason, "reason", "", "reason, kept in history (optional)")
	flags.StringVar(&f.Actor, "actor", Operator(), "actor, kept in history")
}

// Operation returns the operation that the flags describe, by a principal.
func (f *OperationFlags) Operation(p schema.Principal) schema.Operation {
	return schema.Operation{Principal: p, OperationID: f.operationID, Actor: f.Actor, Reason: f.Reason}
}

// OperationRun is the run of an operation as commands show it.
type OperationRun struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	URL        string `json:"url,omitempty"`
}

// CarryOut starts the run of an operation and, unless result is nil, waits for its result.
func CarryOut[Request, Result any](
	ctx context.Context,
	a *App,
	start func(context.Context, client.Client, string, Request) (client.WorkflowRun, error),
	req Request,
	result *Result,
) (OperationRun, error) {
	c, err := a.OpenTemporal(ctx)
	if err != nil {
		return OperationRun{}, err
	}
	limited, cancel := a.Within(ctx)
	defer cancel()
	run, err := start(limited, c, a.Cfg.TaskQueue, req)
	if err != nil {
		return OperationRun{}, err
	}
	a.Interrupted = "the request is durable, and its run continues: " + run.GetID()
	if result != nil {
		if err := a.Follow(ctx, run, result); err != nil {
			return OperationRun{}, err
		}
	}
	return OperationRun{WorkflowID: run.GetID(), RunID: run.GetRunID(), URL: a.RunURL(run.GetID(), run.GetRunID())}, nil
}

// InParts carries out an operation part by part, each under its own id, and stops at the first failure.
func InParts[T any](a *App, doing, operation string, parts [][]T, carry func(operation string, part []T) error) error {
	total := 0
	for _, part := range parts {
		total += len(part)
	}
	bar := a.Counting(total, doing)
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

// Counting shows a bar of steps on a terminal and nothing elsewhere.
func (a *App) Counting(total int, what string) *progressbar.ProgressBar {
	file, ok := a.ErrOut.(*os.File)
	show := ok && total > schema.MaxPatches && term.IsTerminal(int(file.Fd()))
	return progressbar.NewOptions(total, progressbar.OptionSetWriter(a.ErrOut), progressbar.OptionSetVisibility(show),
		progressbar.OptionShowCount(),
		progressbar.OptionSetWidth(24), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish())
}

// OfItem removes the item's prefix from the field names of a request with only one item.
func OfItem(path string, err error) error {
	var bad *schema.ValidationError
	if !errors.As(err, &bad) {
		return err
	}
	fields := make([]schema.FieldError, len(bad.Fields))
	for i, f := range bad.Fields {
		fields[i] = schema.FieldError{Field: strings.TrimPrefix(strings.TrimPrefix(f.Field, path), "."),
			Problem: f.Problem}
		if fields[i].Field == "" {
			fields[i].Field = "(patch)"
		}
	}
	return &schema.ValidationError{Fields: fields}
}

// Operator returns the name of the user who runs the command, for history.
func Operator() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return "operator:" + u.Username
	}
	return "operator"
}

// MaxBatchBytes bounds a batch's candidates as JSON: Temporal warns of payloads over 512 KB.
const MaxBatchBytes = 300 << 10
