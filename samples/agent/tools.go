package main

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/schema"
)

//go:embed greeter service
var broken embed.FS

// Place is a directory, and what is written there.
type Place struct {
	Dir     string `json:"dir"`
	Service string `json:"service,omitempty"` // the name of a service; empty: the module greeter
}

// WriteProject writes a module that does not build, and says where the agent works.
func WriteProject(ctx context.Context, in Place) (schema.Environment, error) {
	root, names := "greeter", strings.NewReplacer()
	if in.Service != "" {
		root, names = "service", strings.NewReplacer("NAME", in.Service, "VENDOR", "vendor")
	}
	err := fs.WalkDir(broken, root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := broken.ReadFile(path)
		if err != nil {
			return err
		}
		rel := strings.TrimSuffix(strings.TrimPrefix(path, root+"/"), ".txt") // so that it is not part of this module
		to := filepath.Join(in.Dir, filepath.FromSlash(names.Replace(rel)))
		if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
			return err
		}
		return os.WriteFile(to, []byte(names.Replace(string(data))), 0o600)
	})
	if err != nil {
		return schema.Environment{}, err
	}
	defer heartbeat(ctx)()
	version, err := runIn(in.Dir, "go", "env", "GOVERSION")
	return schema.Environment{OS: runtime.GOOS, WorkingDir: in.Dir,
		ToolVersions: map[string]string{"go": strings.TrimPrefix(strings.TrimSpace(version), "go")}}, err
}

// Check is a command that must pass.
type Check struct {
	Dir     string `json:"dir"`
	Command string `json:"command"`
}

// checkFailed is the type of the error of a command that fails. Its message is the output of the command.
const checkFailed = "check_failed"

// RunCheck runs a command. A command that fails is not retried unchanged.
func RunCheck(ctx context.Context, in Check) (string, error) {
	defer heartbeat(ctx)()
	words := strings.Fields(in.Command)
	output, err := runIn(in.Dir, words[0], words[1:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) || err == nil && words[0] == "gofmt" && strings.TrimSpace(output) != "" {
		return "", temporal.NewNonRetryableApplicationError(strings.TrimSpace(output), checkFailed, nil)
	}
	return output, err
}

// RunCommand runs a command that may repair something. A command that fails is not retried unchanged.
func RunCommand(ctx context.Context, in Check) (string, error) { return RunCheck(ctx, in) }

// Complaint is the output of a check.
type Complaint struct {
	Dir    string `json:"dir"`
	Output string `json:"output"`
}

// Repair repairs one of the problems that a check reports.
func Repair(ctx context.Context, in Complaint) (Repaired, error) {
	defer heartbeat(ctx)()
	out, err := project(in.Dir).repair(in.Output)
	if errors.Is(err, errNoRule) {
		return out, temporal.NewNonRetryableApplicationError(err.Error(), "no_rule", nil)
	}
	return out, err
}

// heartbeat tells Temporal every second that the worker lives, until it is stopped.
func heartbeat(ctx context.Context) (stop func()) {
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
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local", "GOPROXY=off", "GOWORK=off", "GOFLAGS=")
	output, err := cmd.CombinedOutput()
	return string(output), err
}
