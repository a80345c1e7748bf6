package main

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

// place is the directory of a task. Commands run in dir; the tools' home directory is root/home.
type place struct {
	root string
	dir  string // below root
	env  []string
}

// newPlace makes an empty place. The same root and name always give the same paths, because tools print paths in their
// errors.
func newPlace(root, name string, t tools) (*place, error) {
	p := &place{root: root, dir: filepath.Join(root, name)}
	if err := os.RemoveAll(root); err != nil {
		return nil, err
	}
	for _, d := range []string{p.dir, p.home()} {
		if err := os.MkdirAll(d, 0o750); err != nil {
			return nil, err
		}
	}
	p.env = append(t.env(), "HOME="+p.home(), "PWD="+p.dir)
	// Otherwise a process of Go would write telemetry after the command has ended.
	telemetry := filepath.Join(p.home(), ".config", "go", "telemetry")
	if err := os.MkdirAll(telemetry, 0o750); err != nil {
		return nil, err
	}
	return p, os.WriteFile(filepath.Join(telemetry, "mode"), []byte("off"), 0o600)
}

func (p *place) home() string { return filepath.Join(p.root, "home") }

// path returns the path of a file. A relative name is relative to dir, as for a command.
func (p *place) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.dir, name)
}

// write writes a file. A name that ends with .sh is executable.
func (p *place) write(name, text string) {
	mode := os.FileMode(0o600)
	if strings.HasSuffix(name, ".sh") {
		mode = 0o700
	}
	check(os.MkdirAll(filepath.Dir(p.path(name)), 0o750))
	check(os.WriteFile(p.path(name), []byte(text), mode))
}

// sh runs a command that prepares a task.
func (p *place) sh(command string) {
	if output, ok := p.run(command); !ok {
		check(fmt.Errorf("%s: %s", command, output))
	}
}

// check panics with a preparation if err is not nil. The caller of a family's setup recovers and returns the error.
func check(err error) {
	if err != nil {
		panic(preparation{err})
	}
}

type preparation struct{ error }

// run runs a shell command. It returns the output of the command, and whether the exit code was 0.
func (p *place) run(command string) (output string, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env = p.dir, p.env
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

// keep copies the place, and returns a function that puts the copy back.
func (p *place) keep() (restore func() error, err error) {
	copied := p.root + ".kept"
	if err := replaceTree(p.root, copied); err != nil {
		return nil, err
	}
	return func() error { return replaceTree(copied, p.root) }, nil
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

// remove deletes the place and its copy.
func (p *place) remove() error {
	return errors.Join(os.RemoveAll(p.root), os.RemoveAll(p.root+".kept"))
}
