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
	present := signature.OfError(now.Error)
	marks := figures(a.Problem, present, now.Error)
	known := longestFirst(marks)
	var there string // the value in the place of the present error, if it has one
	// An element of a path that the present error has as well, such as lib, does not vary.
	stays := func(part string) bool {
		if strings.Contains(there, "/") {
			return slices.Contains(strings.Split(there, "/"), part)
		}
		return hasWord(strings.ReplaceAll(now.Error, "."+part, ""), part)
	}
	mark := func(text string) {
		if user, ok := align.UserOf(text); ok { // a command may have the user alone
			marks[user] = marked(user)
			marks[text] = marks[user] + text[len(user):]
			return
		}
		if issue, ok := align.IssueOf(text); ok {
			marks[issue] = "QX" + issue
			marks[text] = strings.Replace(marked(text), issue, marks[issue], 1)
			return
		}
		for _, part := range append(strings.Split(text, "/"), text) {
			if len(part) < minMark || !strings.ContainsFunc(part, unicode.IsLetter) {
				continue
			}
			if part == text || elements && !stays(part) {
				if marks[part] = replaceWords(part, known, marks); marks[part] == part {
					marks[part] = marked(part)
				}
			}
		}
		// A command may have the path without its extension.
		if ext := path.Ext(text); ext != "" && !strings.ContainsAny(text, " \t") {
			bare := strings.TrimSuffix(text, ext)
			if stem := path.Base(bare); len(stem) >= minMark && strings.ContainsFunc(stem, unicode.IsLetter) &&
				!commonStems[normalize.Lower(stem)] {
				marks[bare] = marked(bare)
			}
		}
		// A command may have the directory without the file. Its elements may be too short for marks of their own.
		if dir := path.Dir(text); strings.Contains(text, "/") && len(dir) >= minMark &&
			(elements || strings.Contains(dir, "/")) {
			marks[dir] = marked(dir)
		}
	}
	seen := map[signature.Kind]int{}
	for i, v := range slices.Concat(a.Problem.Values, signature.OfError(a.Intent).Values) {
		if there = ""; i < len(a.Problem.Values) {
			there, _ = present.Of(v.Kind, seen[v.Kind])
			seen[v.Kind]++
		}
		if v.Kind == signature.Path || v.Kind == signature.Name || v.Kind == signature.URL || v.Kind == signature.ID {
			mark(v.Text)
		}
	}
	there = ""
	for _, w := range varied(a.Situation.Failed, now.Failed) {
		mark(w)
	}
	for _, key := range slices.Sorted(maps.Keys(a.Situation.Context)) {
		v := a.Situation.Context[key]
		if by, ok := now.Context[key]; ok && by != v && len(v) >= minMark && strings.Trim(v, "0123456789.") != "" &&
			!strings.ContainsFunc(v, unicode.IsSpace) {
			mark(v)
		}
	}
	symbols := slices.ContainsFunc(present.Other, func(v signature.Value) bool { return v.Kind == signature.Symbol })
	for _, v := range a.Problem.Other {
		if v.Kind == signature.Doing {
			if slices.ContainsFunc(present.Other, func(w signature.Value) bool { return w.Kind == v.Kind && w != v }) &&
				len(v.Text) >= minMark {
				mark(v.Text)
			}
			continue
		}
		if symbols && v.Kind == signature.Symbol && !hasWord(now.Error, v.Text) {
			marks[v.Text] = marked(v.Text) // as a whole: the present error has one in its place
			if parts := align.WordsOf(v); len(parts) > 1 && len(parts[len(parts)-1]) >= minMark &&
				!hasWord(now.Error, parts[len(parts)-1]) {
				mark(parts[len(parts)-1]) // a command may have the name alone
			}
			continue
		}
		// A value that contains one of those above varies with it.
		if v.Kind != signature.Version && !strings.Contains(now.Error, v.Text) &&
			replaceWords(v.Text, longestFirst(marks), marks) == v.Text {
			mark(v.Text)
		}
	}
	if a.Situation.WorkingDir != "" {
		marks[a.Situation.WorkingDir] = marked(a.Situation.WorkingDir)
	}
	old := longestFirst(marks)
	replace := func(text string) string { return replaceWords(text, old, marks) }
	out := a
	out.ID += "'"
	if out.Problem = signature.OfError(replace(a.Problem.Line)); !signature.Same(out.Problem, a.Problem) {
		// Some names are words of the error message: with other names it would be another problem. They stay.
		maps.DeleteFunc(marks, func(old, _ string) bool {
			return !signature.Same(signature.OfError(replaceWords(a.Problem.Line, []string{old}, marks)), a.Problem)
		})
		old = longestFirst(marks)
		if out.Problem = signature.OfError(replace(a.Problem.Line)); !signature.Same(out.Problem, a.Problem) {
			return a
		}
	}
	// Problem.Values also has values of lines other than Problem.Line.
	out.Problem.Values = slices.Clone(a.Problem.Values)
	for i := range out.Problem.Values {
		out.Problem.Values[i].Text = replace(out.Problem.Values[i].Text)
	}
	out.Problem.Other = slices.Clone(a.Problem.Other)
	for i := range out.Problem.Other {
		out.Problem.Other[i].Text = replace(out.Problem.Other[i].Text)
	}
	out.Intent = replace(a.Intent)
	out.Situation.WorkingDir = replace(a.Situation.WorkingDir)
	out.Situation.Context = make(map[string]string, len(a.Situation.Context))
	for key, v := range a.Situation.Context {
		if by, ok := marks[v]; ok {
			v = by
		}
		out.Situation.Context[key] = v
	}
	if a.Situation.Failed != nil {
		failed := replaced(*a.Situation.Failed, replace)
		out.Situation.Failed = &failed
	}
	out.Steps = nil
	for i, s := range a.Steps {
		out.Steps = append(out.Steps, replaced(s, replace))
		for _, text := range firstReturned(a, i) {
			if _, known := marks[text]; known {
				continue
			}
			marks[text] = marked(text)
			old = append(old, text)
			slices.SortStableFunc(old, func(x, y string) int { return len(y) - len(x) })
		}
		out.Steps[i].Results = make(map[string]string, len(s.Results))
		for at, text := range s.Results {
			if by, ok := marks[text]; ok {
				text = by
			}
			out.Steps[i].Results[at] = text
		}
	}
	return out
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
