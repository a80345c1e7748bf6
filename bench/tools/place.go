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
	maxOutput    = 8_000 // bytes of an output that are kept, as the recorder does
)

// place is the directory of one task: work is where the commands run, home is the home directory of the tools.
type place struct {
	root string
	dir  string // below root
	env  []string
}

// newPlace makes an empty place. The same root and name give the same paths, which are in the errors of tools.
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
	// Go would write its telemetry from a process that outlives the command.
	telemetry := filepath.Join(p.home(), ".config", "go", "telemetry")
	if err := os.MkdirAll(telemetry, 0o750); err != nil {
		return nil, err
	}
	return p, os.WriteFile(filepath.Join(telemetry, "mode"), []byte("off"), 0o600)
}

func (p *place) home() string { return filepath.Join(p.root, "home") }

// path returns the path of a file as a command names it.
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

// check ends the preparation of a task. Families are built by prepared, which returns the error.
func check(err error) {
	if err != nil {
		panic(preparation{err})
	}
}

type preparation struct{ error }

// run runs a command of the shell. It returns what the command printed, and whether it ended with exit code 0.
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

// replaceTree makes to a copy of from, with the times and modes of its files: make decides by them. A tool may leave a
// process that still writes for a moment, so it is tried again.
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
