package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// The tools of the actor.
const (
	shell = "shell"       // cmd
	edit  = "edit_file"   // path, old, new: replaces all occurrences
	add   = "append_line" // path, line
)

// action is one call of a tool.
type action struct {
	tool string
	args map[string]string
}

// plan is a repair: calls one after the other.
type plan []action

func run(format string, values ...any) action {
	return action{shell, map[string]string{"cmd": fmt.Sprintf(format, values...)}}
}

func replace(path, old, by string) action {
	return action{edit, map[string]string{"path": path, "old": old, "new": by}}
}

func line(path, text string) action {
	return action{add, map[string]string{"path": path, "line": text}}
}

// do carries out an action. It returns the tool's answer, and whether the action succeeded.
func (p *place) do(a action) (output string, ok bool) {
	if a.tool == shell {
		return p.run(a.args["cmd"])
	}
	path := p.path(a.args["path"])
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error(), false
	}
	var changed string
	switch old := a.args["old"]; {
	case a.tool == add:
		changed = strings.TrimRight(string(text), "\n") + "\n" + a.args["line"] + "\n"
	case a.tool != edit:
		return "no such tool: " + a.tool, false
	case old == "" || !strings.Contains(string(text), old):
		return "the text to replace is not in " + a.args["path"], false
	default:
		changed = strings.ReplaceAll(string(text), old, a.args["new"])
	}
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		return err.Error(), false
	}
	return "changed " + a.args["path"], true
}

// key returns a key that is equal for equal plans.
func (p plan) key() string {
	var out []string
	for _, a := range p {
		out = append(out, a.tool, a.args["cmd"], a.args["path"], a.args["old"], a.args["new"], a.args["line"])
	}
	return strings.Join(out, "\x00")
}

func (p plan) String() string {
	var out []string
	for _, a := range p {
		words := []string{a.tool}
		for _, name := range []string{"cmd", "path", "old", "new", "line"} {
			if v, ok := a.args[name]; ok {
				words = append(words, fmt.Sprintf("%s=%q", name, v))
			}
		}
		out = append(out, strings.Join(words, " "))
	}
	return strings.Join(out, "; ")
}

func has(plans []plan, p plan) bool {
	return slices.ContainsFunc(plans, func(o plan) bool { return o.key() == p.key() })
}
