package align

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/memory/learning/trace"
)

// Sources of a parameter's value. A binding is one of these names; FromCaller is none.
//
//	error.KIND.N     the N-th value of the kind in the error text (signature.Value): error.path.0
//	task.KIND.N      likewise in the words of the task
//	context.KEY      the situation: context.os, context.go_version
//	working_dir      the directory
//	failed.ARG       an argument of the call that failed
//	step.N.PATH      the result of an earlier step, by the number of the step from 0
//
// followed by .dir, .base or .stem for the directory, the last element or the last element without its extension, or
// by .rel for a path relative to working_dir.
const FromCaller = ""

const (
	maxBindings = 200 // of one situation
	// bindShare is the share of the attempts in which a binding gives the value.
	bindShare = 0.9
)

// Known are the values that an attempt had before a step, by their bindings.
type Known map[string]string

// KnownOf are the values of a situation before the first step.
func KnownOf(problem signature.Signature, task string, s trace.Situation) Known {
	k := Known{}
	k.values("error", problem)
	if task != "" {
		k.values("task", signature.OfError(task))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Context)) {
		k.add("context."+key, s.Context[key])
	}
	k.add("working_dir", s.WorkingDir)
	if s.Failed != nil {
		for _, arg := range slices.Sorted(maps.Keys(s.Failed.Args)) {
			k.add("failed."+arg, s.Failed.Args[arg].Text)
		}
	}
	k.relative(s.WorkingDir)
	return k
}

// relative adds the paths below a directory as they are named from it: a tool often reports the whole path of what a
// command names from the directory.
func (k Known) relative(dir string) {
	if dir == "" {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(k)) {
		if rel, ok := strings.CutPrefix(k[name], strings.TrimSuffix(dir, "/")+"/"); ok && rel != "" {
			k.add(name+".rel", rel)
		}
	}
}

// Returned adds the result of a step.
func (k Known) Returned(step int, results map[string]string) {
	const read = 4 // results whose values are looked for in their texts
	for i, at := range slices.Sorted(maps.Keys(results)) {
		name := strings.TrimSuffix(fmt.Sprintf("step.%d.%s", step, at), ".")
		k.add(name, results[at])
		if i < read && strings.ContainsAny(results[at], " \n") {
			k.values(name, signature.OfError(results[at]))
		}
	}
}

func (k Known) values(prefix string, s signature.Signature) {
	seen := map[signature.Kind]int{}
	for _, v := range s.Values {
		k.add(fmt.Sprintf("%s.%s.%d", prefix, v.Kind, seen[v.Kind]), v.Text)
		seen[v.Kind]++
	}
}

func (k Known) add(name, value string) {
	if value == "" || len(k) >= maxBindings {
		return
	}
	k[name] = value
	if strings.ContainsAny(value, `/\`) || strings.Contains(value, ".") && !strings.Contains(value, " ") {
		slashed := strings.ReplaceAll(value, `\`, "/")
		base := path.Base(slashed)
		k[name+".dir"] = strings.TrimSuffix(value, value[len(path.Dir(slashed)):])
		k[name+".base"] = base
		k[name+".stem"] = strings.TrimSuffix(base, path.Ext(base))
	}
}

// bind finds the binding that gives the texts in the attempts; the simplest of several. Texts have one entry for each
// of the attempts.
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

// pieces divides what varies until each piece is constant or has a binding. Where that cannot be done, it is one piece
// that the caller has to give.
func pieces(known []Known, p piece) []piece {
	if p.from = bind(known, p.texts); p.from != FromCaller {
		return []piece{p}
	}
	head, middle, tail := p.trim()
	if middle.from = bind(known, middle.texts); middle.from != FromCaller {
		return around(head, middle, tail, len(p.texts))
	}
	if parts, ok := within(known, p.texts, maxWithin); ok {
		return parts
	}
	return []piece{p}
}

func around(head string, middle piece, tail string, n int) []piece {
	fixed := func(text string) piece { return piece{constant: true, texts: slices.Repeat([]string{text}, n)} }
	return []piece{fixed(head), middle, fixed(tail)}
}

// Constants of values that are a part of a word.
const (
	minWithin = 3 // characters of such a value; a shorter one may be there by chance
	maxWithin = 3 // such values of one word
)

// within finds values that are a part of each text, so that the text before and after them is constant or has such
// values as well.
func within(known []Known, texts []string, depth int) ([]piece, bool) {
	if !slices.ContainsFunc(texts, func(t string) bool { return t != texts[0] }) {
		return []piece{{constant: true, texts: texts}}, true
	}
	if depth == 0 || len(known) == 0 {
		return nil, false
	}
	names := slices.SortedFunc(maps.Keys(known[0]), func(a, b string) int {
		// The longest value first: it leaves least to chance.
		return cmp.Or(len(known[0][b])-len(known[0][a]), rank(a)-rank(b), strings.Compare(a, b))
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

// wordIn is where a value is in a text so that no letter or digit touches it other than those of an affix, or -1.
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

// touched reports whether the character at a place of a text makes one word with the end of a value next to it.
func touched(text string, at int, end byte) bool {
	inWord := func(c byte) bool {
		return c >= 0x80 || unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c))
	}
	return at >= 0 && at < len(text) && inWord(text[at]) && inWord(end)
}

// Affixed reports whether the text before i makes no other word of it: an option of one letter, as in -DNAME, or the
// beginning of a library's file, as in libNAME.so.
func Affixed(text string, i int) bool {
	option := i >= 2 && text[i-2] == '-' && unicode.IsLetter(rune(text[i-1])) && (i == 2 || text[i-3] == ' ')
	const library = "lib"
	at := i - len(library)
	return option || at >= 0 && text[at:i] == library && !touched(text, at-1, library[0])
}

// simpler prefers what is known before the first step, what an asker always knows (the directory before the arguments
// of the call that failed), and what needs no part to be taken.
func simpler(a, b string) bool { return rank(a) < rank(b) }

func rank(name string) int {
	for i, prefix := range []string{"error.", "working_dir", "failed.", "context.", "task.", "step."} {
		if strings.HasPrefix(name, prefix) {
			return 100*i + len(name)
		}
	}
	return 1_000
}

// nameOf is a short name for a parameter with a binding.
func nameOf(binding string, taken map[string]bool) string {
	name := "value"
	if binding != FromCaller {
		parts := strings.Split(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(binding, ".dir"), ".base"),
			".stem"), ".")
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
