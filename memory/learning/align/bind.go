package align

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/memory/learning/trace"
)

// FromCaller is the empty binding: the caller must give the value. A binding names the source of a parameter's value:
//
//	error.KIND.N     the N-th value of a kind in the error text (signature.Value), from 0: error.path.0
//	output.KIND.N    the same for the other lines of the error text
//	error.KIND.N.word.M     the M-th word of such a value that has several, without a sign such as ^ before a version
//	task.KIND.N      the same for the text of the task
//	error.issue, output.issue and task.issue  the issue in the name of a branch (IssueOf)
//	context.KEY      a key of the context: context.os, context.go_version
//	working_dir      the working directory
//	failed.ARG       an argument of the call that failed
//	failed.ARG.word.N       the N-th word of such an argument, options not counted (Words): failed.cmd.word.2
//	failed.ARG.word.N.at    such a word without the @ before the name of a file
//	failed.ARG.last_word.N  the same, counted from the end
//	failed.ARG.option.X     the value that is attached to an option of one capital letter: dir in -Idir
//	step.N.PATH      the result of an earlier step, numbered from 0
//
// A suffix takes a part of a path: .dir the directory, .parent the directory above it, .base the last element, .stem
// the last element without its extension, .bare the path without its extension, .rel the path relative to working_dir,
// .after.N the path without its first N elements. The suffix .user takes the part before the @ of an address.
const FromCaller = ""

const (
	maxBindings = 300 // bindings of one situation
	bindShare   = 0.9 // a binding must give the right value in this share of the attempts
)

// Known has the values that are known before a step, by binding.
type Known map[string]string

// KnownOf returns the values that are known before the first step.
func KnownOf(problem signature.Signature, task string, s trace.Situation) Known {
	k := Known{}
	k.values("error", problem.Values)
	if task != "" {
		k.values("task", signature.OfError(task).Values)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Context)) {
		k.add("context."+key, s.Context[key])
	}
	k.add("working_dir", s.WorkingDir)
	if s.Failed != nil {
		for _, arg := range slices.Sorted(maps.Keys(s.Failed.Args)) {
			if text := s.Failed.Args[arg].Text; len(Words(text)) < 2 {
				k.add("failed."+arg, text)
			} else if len(k) < maxBindings {
				k["failed."+arg] = text // parts of a path are those of its words
			}
		}
	}
	k.values("output", problem.Other)
	if s.Failed != nil {
		k.words(*s.Failed)
	}
	k.relative(s.WorkingDir)
	k.divided()
	return k
}

// relative adds a .rel binding for each path below dir, because tools often report absolute paths while commands use
// relative ones. The paths ./a and a have the .rel binding a.
func (k Known) relative(dir string) {
	for _, name := range slices.Sorted(maps.Keys(k)) {
		rel, ok := strings.CutPrefix(k[name], "./")
		if !ok && dir != "" {
			rel, ok = strings.CutPrefix(k[name], strings.TrimSuffix(dir, "/")+"/")
		}
		if !ok && strings.Contains(name, ".path.") && partOf(name) == "" && !strings.HasPrefix(k[name], "/") {
			rel, ok = k[name], true // already relative
		}
		if ok && rel != "" {
			k.add(name+".rel", rel)
		}
	}
}

// Returned adds the result of a step.
func (k Known) Returned(step int, results map[string]string) {
	const read = 4 // number of results in whose text values are searched
	for i, at := range slices.Sorted(maps.Keys(results)) {
		name := strings.TrimSuffix(fmt.Sprintf("step.%d.%s", step, at), ".")
		k.add(name, results[at])
		if i < read && strings.ContainsAny(results[at], " \n") {
			k.values(name, signature.OfError(results[at]).Values)
		}
	}
}

func (k Known) values(prefix string, values []signature.Value) {
	seen := map[signature.Kind]int{}
	for _, v := range values {
		name := fmt.Sprintf("%s.%s.%d", prefix, v.Kind, seen[v.Kind])
		k.add(name, v.Text)
		seen[v.Kind]++
		if issue, ok := IssueOf(v.Text); ok {
			k.add(prefix+".issue", issue)
		}
		if words := WordsOf(v); len(words) > 1 || len(words) == 1 && words[0] != v.Text {
			for i, w := range words[:min(len(words), maxValueWords)] {
				k.add(fmt.Sprintf("%s.word.%d", name, i), w)
			}
		}
	}
}

// maxValueWords is the number of words of a value that have bindings of their own.
const maxValueWords = 4

// WordsOf returns the words of a value in an error text, without a sign such as ^ before a version and a colon after a
// word. A value of one word without such a sign is its only word. The words of a symbol are its parts.
func WordsOf(v signature.Value) []string {
	if v.Kind == signature.Symbol {
		return strings.Split(v.Text, "::")
	}
	if v.Kind != signature.Name && v.Kind != signature.Version {
		return []string{v.Text}
	}
	words := fields(v.Text)
	for i, w := range words {
		words[i] = strings.TrimRight(strings.TrimLeft(w, "^~!"), ":")
	}
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}

func (k Known) add(name, value string) {
	if value == "" || len(k) >= maxBindings {
		return
	}
	k[name] = value
	if strings.ContainsAny(value, `/\`) || strings.Contains(value, ".") && !strings.Contains(value, " ") {
		slashed := strings.ReplaceAll(value, `\`, "/")
		base := path.Base(slashed)
		if dir := path.Dir(path.Dir(strings.TrimPrefix(value, "./"))); dir != "." && dir != "/" {
			k[name+".parent"] = dir
		}
		k[name+".dir"] = "."
		if strings.Contains(slashed, "/") {
			k[name+".dir"] = strings.TrimSuffix(value, value[len(path.Dir(slashed)):])
		}
		k[name+".base"] = base
		k[name+".stem"] = strings.TrimSuffix(base, path.Ext(base))
		if ext := path.Ext(base); ext != "" && ext != base {
			k[name+".bare"] = strings.TrimSuffix(value, ext)
		}
	}
}

// bind returns the simplest binding that gives the texts, one for each attempt, or FromCaller if there is none.
func bind(known []Known, texts []string) string {
	if len(texts) == 0 {
		return FromCaller
	}
	candidates := map[string]bool{}
	for i, k := range known {
		for name, value := range k {
			if value == texts[i] {
				candidates[name] = true
			}
		}
	}
	best := FromCaller
	for _, name := range slices.Sorted(maps.Keys(candidates)) {
		hits := 0
		for i, k := range known {
			if k[name] == texts[i] {
				hits++
			}
		}
		if float64(hits) < bindShare*float64(len(texts)) {
			continue
		}
		if best == FromCaller || simpler(name, best) {
			best = name
		}
	}
	return best
}

// maxOthers is the number of further bindings of a parameter.
const maxOthers = 3

// others returns bindings of other sources that gave the values of a piece too, the simplest of each source. A caller
// may know one and not the other: the error, but not the call that failed.
func others(known []Known, p piece) (out []string) {
	if p.from == FromCaller || strings.HasPrefix(p.from, "step.") {
		return nil
	}
	best := map[string]string{} // by source
	for _, name := range slices.Sorted(maps.Keys(known[0])) {
		source := sourceOf(name)
		all := source != sourceOf(p.from) && !strings.HasPrefix(name, "step.")
		for i := 0; i < len(known) && all; i++ {
			all = known[i][name] == p.texts[i]
		}
		if all && (best[source] == "" || simpler(name, best[source])) {
			best[source] = name
		}
	}
	out = slices.SortedFunc(maps.Values(best), func(a, b string) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a, b))
	})
	return out[:min(len(out), maxOthers)]
}

// pieces divides a varying piece into constants and pieces with a binding. If that is impossible, it returns one piece
// that the caller must give.
func pieces(known []Known, p piece) []piece {
	p.from = bind(known, p.texts)
	if source := sourceOf(p.from); source == inOutput || stepPart(p.from) > 0 {
		// The other lines are the least reliable source, and only a step's whole result is surely meant: a part from a
		// better source is preferred.
		if parts, ok := within(preferred(known, p.from), p.texts, maxWithin); ok {
			return parts
		}
	}
	if p.from != FromCaller {
		return []piece{p}
	}
	head, middle, tail := p.trim()
	if middle.from = bind(known, middle.texts); middle.from != FromCaller {
		return around(head, middle, tail, len(p.texts))
	}
	if parts, ok := within(known, p.texts, maxWithin); ok {
		return parts
	}
	head, middle, tail = p.trimWords()
	if middle.from = bind(known, middle.texts); middle.from != FromCaller {
		return around(head, middle, tail, len(p.texts))
	}
	return []piece{p}
}

// preferred returns the values that are tried before a binding, although only a part of them fits. Before a value of
// another line, these are the earlier values of the same kind. Words of the failed call or of the task are not among
// them, because they may be equal by chance.
func preferred(known []Known, binding string) []Known {
	source := sourceOf(binding)
	kind, at := placeOf(binding)
	out := make([]Known, len(known))
	for i, k := range known {
		out[i] = maps.Clone(k)
		maps.DeleteFunc(out[i], func(name, _ string) bool {
			from := sourceOf(name)
			if source != inOutput {
				return from == source
			}
			k, n := placeOf(name)
			return from == inOutput && (k != kind || n >= at) || from == inWords || from == inTask || from == inSteps
		})
	}
	return out
}

// placeOf returns the kind and the number of a binding: name and 2 of output.name.2.
func placeOf(binding string) (kind string, n int) {
	parts := strings.Split(binding, ".")
	if len(parts) < 3 {
		return "", 0
	}
	n, _ = strconv.Atoi(parts[2]) // 0 for another binding
	return parts[1], n
}

func around(head string, middle piece, tail string, n int) []piece {
	fixed := func(text string) piece { return piece{constant: true, texts: slices.Repeat([]string{text}, n)} }
	return []piece{fixed(head), middle, fixed(tail)}
}

// Constants of values within a word.
const (
	minWithin = 3 // least length of such a value; a shorter one may match by chance
	maxWithin = 3 // values within one word
)

// within divides the texts into known values and constants: each text contains the value of the same binding, and the
// texts before and after it are constant or can be divided in the same way.
func within(known []Known, texts []string, depth int) ([]piece, bool) {
	if !slices.ContainsFunc(texts, func(t string) bool { return t != texts[0] }) {
		return []piece{{constant: true, texts: texts}}, true
	}
	if depth == 0 || len(known) == 0 {
		return nil, false
	}
	names := slices.SortedFunc(maps.Keys(known[0]), func(a, b string) int {
		// A part of a step's result last: a caller must take it itself. Then the longest value first: it is the least
		// likely to match by chance.
		return cmp.Or(stepPart(a)-stepPart(b), len(known[0][b])-len(known[0][a]), rank(a)-rank(b), strings.Compare(a, b))
	})
	for _, name := range names {
		heads, values, tails := make([]string, len(texts)), make([]string, len(texts)), make([]string, len(texts))
		all := true
		for i, text := range texts {
			value := known[i][name]
			at := wordIn(text, value)
			if all = len(value) >= minWithin && at >= 0; !all {
				break
			}
			heads[i], values[i], tails[i] = text[:at], value, text[at+len(value):]
		}
		if !all {
			continue
		}
		before, ok := within(known, heads, depth-1)
		if !ok {
			continue
		}
		if after, ok := within(known, tails, depth-1); ok {
			return slices.Concat(before, []piece{{texts: values, from: name}}, after), true
		}
	}
	return nil, false
}

// stepPart returns 1 for a part of a result of a step, and 0 for other bindings.
func stepPart(binding string) int {
	if sourceOf(binding) == inSteps && partOf(binding) != "" {
		return 1
	}
	return 0
}

// wordIn returns the index of a value in a text as a whole word, or after an affix (Affixed). It returns -1 if there is
// none.
func wordIn(text, value string) int {
	if value == "" {
		return -1
	}
	for from := 0; ; {
		at := strings.Index(text[from:], value)
		if at < 0 {
			return -1
		}
		at += from
		if (!touched(text, at-1, value[0]) || Affixed(text, at)) && !touched(text, at+len(value), value[len(value)-1]) {
			return at
		}
		from = at + 1
	}
}

// touched reports whether the character at an index of a text and the adjacent end of a value belong to one word.
func touched(text string, at int, end byte) bool {
	inWord := func(c byte) bool {
		return c >= 0x80 || unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c))
	}
	return at >= 0 && at < len(text) && inWord(text[at]) && inWord(end)
}

// Affixed reports whether a name at i follows an affix that does not change its meaning: an option of one letter, as in
// -DNAME, or the prefix of a library's file, as in libNAME.so.
func Affixed(text string, i int) bool {
	option := i >= 2 && text[i-2] == '-' && unicode.IsLetter(rune(text[i-1])) && (i == 2 || text[i-3] == ' ')
	const library = "lib"
	at := i - len(library)
	return option || at >= 0 && text[at:i] == library && !touched(text, at-1, library[0])
}

// simpler reports whether a is the better binding: known before the first step, more likely to be known to a caller
// (the directory rather than arguments of the failed call), a whole value rather than a word of it, and without a
// suffix.
func simpler(a, b string) bool { return rank(a) < rank(b) }

func rank(name string) int {
	if at := slices.Index(sources, sourceOf(name)); at >= 0 {
		return 100*at + len(name)
	}
	return 100 * len(sources)
}

// Sources of bindings.
const (
	inWords  = "words."  // single words of the call that failed
	inTask   = "task."   // the task
	inOutput = "output." // other lines of the error
	inSteps  = "step."   // results of earlier steps
)

// sources are the beginnings of bindings, the simplest first.
var sources = []string{"error.", "working_dir", "failed.", "context.", inWords, inTask, inOutput, inSteps}

func sourceOf(name string) string {
	for _, source := range sources {
		switch {
		case !strings.HasPrefix(name, source):
		case source == "failed." && (strings.Contains(name, ".word.") ||
			strings.Contains(name, ".last_word.") || strings.Contains(name, ".option.")):
			return inWords
		default:
			return source
		}
	}
	return ""
}

// partOf returns the suffix of a binding that takes a part of a path, or nothing.
func partOf(binding string) string {
	for _, suffix := range []string{".dir", ".parent", ".base", ".stem", ".bare"} {
		if strings.HasSuffix(binding, suffix) {
			return suffix
		}
	}
	return ""
}

// nameOf returns a short unused name for a parameter with a binding, and marks it as taken.
func nameOf(binding string, taken map[string]bool) string {
	name := "value"
	if binding != FromCaller {
		parts := strings.Split(strings.TrimSuffix(binding, partOf(binding)), ".")
		name = parts[len(parts)-1]
		if strings.Trim(name, "0123456789") == "" && len(parts) > 1 {
			name = parts[len(parts)-2]
		}
		name = strings.Map(func(r rune) rune {
			if r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
				return r
			}
			return '_'
		}, strings.ToLower(name))
	}
	out := name
	for n := 2; taken[out]; n++ {
		out = fmt.Sprintf("%s_%d", name, n)
	}
	taken[out] = true
	return out
}
