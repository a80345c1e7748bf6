package place

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	commandLimit = time.Minute
	maxOutput    = 8_000 // bytes; the rest of an output is cut, as the recorder does
)

// Place is the directory of a task. Commands run in Dir; the tools' home directory is Root/home.
type Place struct {
	Root string
	Dir  string // below Root
	env  []string
}

// New makes an empty place. The same root and name always give the same paths, because tools print paths in their
// errors.
func New(root, name string, t Tools) (*Place, error) {
	p := &Place{Root: root, Dir: filepath.Join(root, name)}
	if err := os.RemoveAll(root); err != nil {
		return nil, err
	}
	for _, d := range []string{p.Dir, p.Home()} {
		if err := os.MkdirAll(d, 0o750); err != nil {
			return nil, err
		}
	}
	p.env = append(t.env(), "HOME="+p.Home(), "PWD="+p.Dir)
	// Otherwise a process of Go would write telemetry after the command has ended.
	telemetry := filepath.Join(p.Home(), ".config", "go", "telemetry")
	if err := os.MkdirAll(telemetry, 0o750); err != nil {
		return nil, err
	}
	return p, os.WriteFile(filepath.Join(telemetry, "mode"), []byte("off"), 0o600)
}

// Home returns the home directory of the tools.
func (p *Place) Home() string { return filepath.Join(p.Root, "home") }

// Path returns the path of a file. A relative name is relative to Dir, as for a command.
func (p *Place) Path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.Dir, name)
}

// Write writes a file. A name that ends with .sh is executable.
func (p *Place) Write(name, text string) {
	mode := os.FileMode(0o600)
	if strings.HasSuffix(name, ".sh") {
		mode = 0o700
	}
	check(os.MkdirAll(filepath.Dir(p.Path(name)), 0o750))
	check(os.WriteFile(p.Path(name), []byte(text), mode))
}

// Setenv adds a variable (NAME=VALUE) to the environment of the commands.
func (p *Place) Setenv(variable string) { p.env = append(p.env, variable) }

// Sh runs a command that prepares a task.
func (p *Place) Sh(command string) {
	if output, ok := p.Run(command); !ok {
		check(fmt.Errorf("%s: %s", command, output))
	}
}

// Try calls f, which prepares a task. It returns the error of the call of Write or Sh that failed.
func Try(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			failed, ok := r.(preparation)
			if !ok {
				panic(r)
			}
			err = failed.error
		}
	}()
	f()
	return nil
}

// check panics with a preparation if err is not nil. Try recovers it.
func check(err error) {
	if err != nil {
		panic(preparation{err})
	}
}

type preparation struct{ error }

// Run runs a shell command. It returns the output of the command, and whether the exit code was 0.
func (p *Place) Run(command string) (output string, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env = p.Dir, p.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // with its children
	cmd.WaitDelay = time.Second
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	err := cmd.Run()
	output = strings.TrimRight(printed.String(), " \t\r\n")
	if len(output) > maxOutput {
		output = strings.ToValidUTF8(output[:maxOutput], "")
	}
	if err != nil && output == "" {
		output = err.Error()
	}
	return output, err == nil
}

// Keep copies the place, and returns a function that puts the copy back.
func (p *Place) Keep() (restore func() error, err error) {
	copied := p.Root + ".kept"
	if err := replaceTree(p.Root, copied); err != nil {
		return nil, err
	}
	return func() error { return replaceTree(copied, p.Root) }, nil
}

// replaceTree replaces the directory to with a copy of the directory from. The copy has the same times and modes of
// files, because make compares times. A process left by a tool may still write for a moment, so a failed copy is tried
// again.
func replaceTree(from, to string) (err error) {
	for range 5 {
		if err = os.RemoveAll(to); err == nil {
			output, failed := exec.Command("cp", "-a", from, to).CombinedOutput()
			if failed == nil {
				return nil
			}
			err = fmt.Errorf("copy %s: %w: %s", from, failed, output)
		}
		time.Sleep(200 * time.Millisecond)
	}
	return err
}

// Remove deletes the place and its copy.
func (p *Place) Remove() error {
	return errors.Join(os.RemoveAll(p.Root), os.RemoveAll(p.Root+".kept"))
}
