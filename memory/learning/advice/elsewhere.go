package advice

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/mneme/mneme/memory/learning/align"
	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/memory/normalize"
)

// single makes a procedure from one attempt for the situation. If it has a value without a source, an element of a path
// may be in the steps by chance, such as bin in /usr/bin; then only whole paths vary.
//
// A file whose name tools prescribe may be in another directory now (align.Procedure.Moved).
func single(a trace.Attempt, now Situation) (align.Procedure, bool) {
	out, ok := learned(a, now)
	if !ok {
		return out, false
	}
	then := align.KnownOf(a.Problem, a.Intent, a.Situation)
	return out.Moved(then, align.KnownOf(signature.OfError(now.Error), now.Task,
		trace.Situation{WorkingDir: now.WorkingDir, Failed: now.Failed})), true
}

func learned(a trace.Attempt, now Situation) (align.Procedure, bool) {
	out, ok := align.Learn([]trace.Attempt{elsewhere(a, now, true), a})
	if !ok || out.Guessed() == 0 {
		return out, ok
	}
	if whole, ok := align.Learn([]trace.Attempt{elsewhere(a, now, false), a}); ok && whole.Guessed() < out.Guessed() {
		return whole, true
	}
	return out, true
}

// elsewhere returns a copy of an attempt with other names and paths, as if the problem had occurred in another project.
// align.Learn, given both, keeps what they share as constants and makes parameters of the rest. Words of the call that
// failed, and values of other lines of its error, vary if they are not those of the present situation.
//
// An element of a path varies as well if elements is set: a command may have the element alone.
func elsewhere(a trace.Attempt, now Situation, elements bool) trace.Attempt {
	return newRenaming(a, now, elements).apply(a)
}

// renaming gives other names to the values of an attempt.
type renaming struct {
	now      Situation
	problem  signature.Signature // of the present error
	elements bool                // elements of paths vary alone as well
	marks    map[string]string   // the new text of each value that varies
	figures  []string            // the marks of numbers, versions and quoted words, longest first
	order    []string            // all marks, longest first, when they are complete
}

func newRenaming(a trace.Attempt, now Situation, elements bool) *renaming {
	problem := signature.OfError(now.Error)
	marks := figures(a.Problem, problem, now.Error)
	r := &renaming{now: now, problem: problem, elements: elements, marks: marks, figures: longestFirst(marks)}
	r.markValues(a)
	for _, w := range varied(a.Situation.Failed, now.Failed) {
		r.mark(w, "")
	}
	r.markContext(a.Situation.Context)
	r.markOther(a.Problem.Other)
	if a.Situation.WorkingDir != "" {
		marks[a.Situation.WorkingDir] = marked(a.Situation.WorkingDir)
	}
	r.order = longestFirst(marks)
	return r
}

// markValues marks the names and paths of the problem and the intent.
func (r *renaming) markValues(a trace.Attempt) {
	seen := map[signature.Kind]int{}
	for i, v := range slices.Concat(a.Problem.Values, signature.OfError(a.Intent).Values) {
		there := ""
		if i < len(a.Problem.Values) {
			there, _ = r.problem.Of(v.Kind, seen[v.Kind])
			seen[v.Kind]++
		}
		if v.Kind == signature.Path || v.Kind == signature.Name || v.Kind == signature.URL || v.Kind == signature.ID {
			r.mark(v.Text, there)
		}
	}
}

// markContext marks the values of context keys that have another value now.
func (r *renaming) markContext(context map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(context)) {
		v := context[key]
		if by, ok := r.now.Context[key]; ok && by != v && len(v) >= minMark && strings.Trim(v, "0123456789.") != "" &&
			!strings.ContainsFunc(v, unicode.IsSpace) {
			r.mark(v, "")
		}
	}
}

// markOther marks the values of other lines of the problem that the present error does not have.
func (r *renaming) markOther(other []signature.Value) {
	symbols := slices.ContainsFunc(r.problem.Other, func(v signature.Value) bool { return v.Kind == signature.Symbol })
	for _, v := range other {
		switch {
		case v.Kind == signature.Doing:
			differs := func(w signature.Value) bool { return w.Kind == v.Kind && w != v }
			if slices.ContainsFunc(r.problem.Other, differs) && len(v.Text) >= minMark {
				r.mark(v.Text, "")
			}
		case symbols && v.Kind == signature.Symbol && !hasWord(r.now.Error, v.Text):
			r.marks[v.Text] = marked(v.Text) // as a whole: the present error has one in its place
			if parts := align.WordsOf(v); len(parts) > 1 && len(parts[len(parts)-1]) >= minMark &&
				!hasWord(r.now.Error, parts[len(parts)-1]) {
				r.mark(parts[len(parts)-1], "") // a command may have the name alone
			}
		case v.Kind != signature.Version && !strings.Contains(r.now.Error, v.Text) &&
			replaceWords(v.Text, longestFirst(r.marks), r.marks) == v.Text:
			// A value that contains one of those above varies with it.
			r.mark(v.Text, "")
		}
	}
}

// mark marks a text and its parts that a command may have alone. The present error has there in its place, if not
// empty.
func (r *renaming) mark(text, there string) {
	if user, ok := align.UserOf(text); ok { // a command may have the user alone
		r.marks[user] = marked(user)
		r.marks[text] = r.marks[user] + text[len(user):]
		return
	}
	if issue, ok := align.IssueOf(text); ok {
		r.marks[issue] = "QX" + issue
		r.marks[text] = strings.Replace(marked(text), issue, r.marks[issue], 1)
		return
	}
	for _, part := range append(strings.Split(text, "/"), text) {
		if len(part) < minMark || !strings.ContainsFunc(part, unicode.IsLetter) {
			continue
		}
		if part == text || r.elements && !r.stays(part, there) {
			if r.marks[part] = replaceWords(part, r.figures, r.marks); r.marks[part] == part {
				r.marks[part] = marked(part)
			}
		}
	}
	// A command may have the path without its extension.
	if ext := path.Ext(text); ext != "" && !strings.ContainsAny(text, " \t") {
		bare := strings.TrimSuffix(text, ext)
		if stem := path.Base(bare); len(stem) >= minMark && strings.ContainsFunc(stem, unicode.IsLetter) &&
			!commonStems[normalize.Lower(stem)] {
			r.marks[bare] = marked(bare)
		}
	}
	// A command may have the directory without the file. Its elements may be too short for marks of their own.
	if dir := path.Dir(text); strings.Contains(text, "/") && len(dir) >= minMark &&
		(r.elements || strings.Contains(dir, "/")) {
		r.marks[dir] = marked(dir)
	}
}

// stays reports whether the present error also has an element of a path, such as lib. Such an element does not vary.
func (r *renaming) stays(part, there string) bool {
	if strings.Contains(there, "/") {
		return slices.Contains(strings.Split(there, "/"), part)
	}
	return hasWord(strings.ReplaceAll(r.now.Error, "."+part, ""), part)
}

// replace returns a text with the new names.
func (r *renaming) replace(text string) string { return replaceWords(text, r.order, r.marks) }

// whole returns the new name of a text that is one value, or the text.
func (r *renaming) whole(text string) string {
	if by, ok := r.marks[text]; ok {
		return by
	}
	return text
}

// apply returns a copy of the attempt with the new names, or the attempt if with them it would be another problem.
func (r *renaming) apply(a trace.Attempt) trace.Attempt {
	out := a
	out.ID += "'"
	var ok bool
	if out.Problem, ok = r.applyProblem(a.Problem); !ok {
		return a
	}
	out.Intent = r.replace(a.Intent)
	out.Situation.WorkingDir = r.replace(a.Situation.WorkingDir)
	out.Situation.Context = make(map[string]string, len(a.Situation.Context))
	for key, v := range a.Situation.Context {
		out.Situation.Context[key] = r.whole(v)
	}
	if a.Situation.Failed != nil {
		failed := replaced(*a.Situation.Failed, r.replace)
		out.Situation.Failed = &failed
	}
	out.Steps = nil
	for i, s := range a.Steps {
		step := replaced(s, r.replace)
		r.markReturned(a, i)
		step.Results = make(map[string]string, len(s.Results))
		for at, text := range s.Results {
			step.Results[at] = r.whole(text)
		}
		out.Steps = append(out.Steps, step)
	}
	return out
}

// applyProblem returns the problem with the new names. Some names are words of the error message: with other names it
// would be another problem. Those stay. It returns false if it would still be another problem.
func (r *renaming) applyProblem(old signature.Signature) (signature.Signature, bool) {
	out := signature.OfError(r.replace(old.Line))
	if !signature.Same(out, old) {
		maps.DeleteFunc(r.marks, func(text, _ string) bool {
			return !signature.Same(signature.OfError(replaceWords(old.Line, []string{text}, r.marks)), old)
		})
		r.order = longestFirst(r.marks)
		if out = signature.OfError(r.replace(old.Line)); !signature.Same(out, old) {
			return out, false
		}
	}
	// Values also has values of lines other than Line.
	out.Values, out.Other = slices.Clone(old.Values), slices.Clone(old.Other)
	for i := range out.Values {
		out.Values[i].Text = r.replace(out.Values[i].Text)
	}
	for i := range out.Other {
		out.Other[i].Text = r.replace(out.Other[i].Text)
	}
	return out, true
}

// markReturned marks the results of a step that later steps use.
func (r *renaming) markReturned(a trace.Attempt, step int) {
	for _, text := range firstReturned(a, step) {
		if _, known := r.marks[text]; known {
			continue
		}
		r.marks[text] = marked(text)
		r.order = append(r.order, text)
		slices.SortStableFunc(r.order, func(x, y string) int { return len(y) - len(x) })
	}
}

// commonStems are names that files of many projects have. A command that has such a word may mean something else.
var commonStems = normalize.Set("main index app test tests lib mod setup config settings default build package init")

// varied returns the words of a call that failed that the present call does not have in the same place. Of calls with
// another number of words only the values of options, the files with prescribed names, and the words of those of its
// commands that have as many words vary.
func varied(old, now *trace.Step) (out []string) {
	if old == nil || now == nil || old.Tool != now.Tool {
		return nil
	}
	for _, arg := range slices.Sorted(maps.Keys(old.Args)) {
		present := align.Attached(now.Args[arg].Text)
		for letter, value := range align.Attached(old.Args[arg].Text) {
			if by, ok := present[letter]; ok && by != value {
				out = append(out, value)
			}
		}
		separate := align.Separate(now.Args[arg].Text)
		for option, value := range align.Separate(old.Args[arg].Text) {
			if by, ok := separate[option]; ok && by != value {
				out = append(out, value)
			}
		}
		if commands := align.Commands(old.Args[arg].Text); len(commands) > 1 {
			present := align.Commands(now.Args[arg].Text)
			for i, command := range commands {
				if len(present) == len(commands) && len(command) == len(present[i]) && command[0] == present[i][0] {
					for j, w := range command {
						if w != present[i][j] {
							out = append(out, w)
						}
					}
				}
			}
		}
		before, after := align.Words(old.Args[arg].Text), align.Words(now.Args[arg].Text)
		verbs := align.Subcommands(old.Args[arg].Text)
		for i, w := range before {
			switch {
			case len(before) == len(after) && w != after[i] && !verbs[i]:
				if file, ok := align.ArgumentFile(w); ok {
					w = file
				}
				out = append(out, w)
			case len(before) != len(after) && signature.IsKnownFile(path.Base(w)) && strings.Contains(w, "/"):
				out = append(out, w) // the file is in another directory there
			}
		}
	}
	return out
}

func longestFirst(marks map[string]string) []string {
	return slices.SortedFunc(maps.Keys(marks), func(x, y string) int {
		return cmp.Or(len(y)-len(x), strings.Compare(x, y))
	})
}

// firstReturned returns the results of a step that an argument of a later step contains and that did not occur before:
// the argument's value came from the result. Results of several lines are left out.
func firstReturned(a trace.Attempt, step int) (out []string) {
	known := []string{a.Problem.Line, a.Intent, a.Situation.WorkingDir}
	if a.Situation.Failed != nil {
		known = append(known, textsOf(*a.Situation.Failed)...)
	}
	for _, s := range a.Steps[:step+1] {
		known = append(known, textsOf(s)...)
	}
	var later []string
	for _, s := range a.Steps[step+1:] {
		later = append(later, textsOf(s)...)
	}
	for _, at := range slices.Sorted(maps.Keys(a.Steps[step].Results)) {
		text := a.Steps[step].Results[at]
		has := func(in string) bool { return hasWord(in, text) }
		if len(text) >= minMark && !strings.ContainsAny(text, "\n\t") && marked(text) != text &&
			!slices.ContainsFunc(known, has) && slices.ContainsFunc(later, has) {
			out = append(out, text)
		}
	}
	return out
}

// textsOf returns the arguments of a step that are strings, in the order of their names.
func textsOf(s trace.Step) (out []string) {
	for _, at := range slices.Sorted(maps.Keys(s.Args)) {
		if s.Args[at].Type == "string" {
			out = append(out, s.Args[at].Text)
		}
	}
	return out
}
