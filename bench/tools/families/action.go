package families

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mneme/mneme/bench/tools/place"
)

// The tools of the actor.
const (
	Shell = "shell"       // cmd
	edit  = "edit_file"   // path, old, new: replaces all occurrences
	add   = "append_line" // path, line
)

// Action is one call of a tool.
type Action struct {
	Tool string
	Args map[string]string
}

// Plan is a repair: calls one after the other.
type Plan []Action

func run(format string, values ...any) Action {
	return Action{Shell, map[string]string{"cmd": fmt.Sprintf(format, values...)}}
}

func replace(path, old, by string) Action {
	return Action{edit, map[string]string{"path": path, "old": old, "new": by}}
}

func line(path, text string) Action {
	return Action{add, map[string]string{"path": path, "line": text}}
}

// Do carries out an action in a place. It returns the tool's answer, and whether the action succeeded.
func (a Action) Do(p *place.Place) (output string, ok bool) {
	if a.Tool == Shell {
		return p.Run(a.Args["cmd"])
	}
	path := p.Path(a.Args["path"])
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error(), false
	}
	var changed string
	switch old := a.Args["old"]; {
	case a.Tool == add:
		changed = strings.TrimRight(string(text), "\n") + "\n" + a.Args["line"] + "\n"
	case a.Tool != edit:
		return "no such tool: " + a.Tool, false
	case old == "" || !strings.Contains(string(text), old):
		return "the text to replace is not in " + a.Args["path"], false
	default:
		changed = strings.ReplaceAll(string(text), old, a.Args["new"])
	}
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		return err.Error(), false
	}
	return "changed " + a.Args["path"], true
}

// Key returns a key that is equal for equal plans.
func (p Plan) Key() string {
	var out []string
	for _, a := range p {
		out = append(out, a.Tool, a.Args["cmd"], a.Args["path"], a.Args["old"], a.Args["new"], a.Args["line"])
	}
	return strings.Join(out, "\x00")
}

func (p Plan) String() string {
	var out []string
	for _, a := range p {
		words := []string{a.Tool}
		for _, name := range []string{"cmd", "path", "old", "new", "line"} {
			if v, ok := a.Args[name]; ok {
				words = append(words, fmt.Sprintf("%s=%q", name, v))
			}
		}
		out = append(out, strings.Join(words, " "))
	}
	return strings.Join(out, "; ")
}

// Has reports whether plans have an equal plan.
func Has(plans []Plan, p Plan) bool {
	return slices.ContainsFunc(plans, func(o Plan) bool { return o.Key() == p.Key() })
}

// After fills in the answer of the previous call.
func (a Action) After(last string) Action {
	args := map[string]string{}
	for name, v := range a.Args {
		args[name] = strings.ReplaceAll(v, "{output}", last)
	}
	return Action{a.Tool, args}
}
