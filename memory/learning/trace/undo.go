package trace

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mneme/mneme/memory/normalize"
)

var (
	undoes   = normalize.Set("undo rewind")
	goesBack = normalize.Set("restore revert rollback reset")
	earlier  = normalize.Set("checkpoint snapshot edit edits change changes file files workspace worktree")
)

// undo reports whether a call takes back what earlier calls have changed, by the words of the tool's name or of its
// argument command: undo_edit, restore_checkpoint, revert_file. A command of a shell is not one: it may be a repair.
func (s Step) undo() bool {
	for _, name := range []string{s.Tool, s.Args["command"].Text} {
		words := strings.FieldsFunc(normalize.Lower(name), func(r rune) bool { return !unicode.IsLetter(r) })
		in := func(set map[string]bool) bool {
			return slices.ContainsFunc(words, func(w string) bool { return set[w] })
		}
		if !strings.Contains(name, " ") && (in(undoes) || in(goesBack) && in(earlier)) {
			return true
		}
	}
	return false
}

// withoutUndone returns steps without those that were undone, and without the undoing calls. A call that undoes takes
// back the step before it. One at the beginning takes back an earlier attempt. If no other step is left, going back was
// the repair, and the steps are returned as they are.
func withoutUndone(steps []Step, check bool) []Step {
	if !slices.ContainsFunc(steps, Step.undo) {
		return steps
	}
	var out []Step
	for _, s := range steps {
		switch {
		case !s.undo():
			out = append(out, s)
		case len(out) > 0:
			out = out[:len(out)-1]
		}
	}
	least := 1
	if check {
		least = 2
	}
	if len(out) < least {
		return steps
	}
	return out
}
