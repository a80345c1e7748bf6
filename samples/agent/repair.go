package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mneme/mneme/api"
)

// Repaired says what was changed.
type Repaired struct {
	File   string `json:"file"`
	Change string `json:"change"`

	// For a command: the commands that were tried before it, and the advice that it came from.
	Tried   []string          `json:"tried,omitempty"`
	Advised *api.AdviceOption `json:"advised,omitempty"`
}

// rule repairs one kind of complaint. Groups of the expression are its arguments.
type rule struct {
	complaint *regexp.Regexp
	repair    func(project, []string) (Repaired, error)
}

// rules are tried in this order; the first whose complaint is in an output is applied. Only one repair is made at a
// time, since it moves the lines that other complaints name.
var rules = []rule{
	{regexp.MustCompile(`(go\.mod) requires go >= \S+ \(running go (\d+\.\d+)`), project.goVersion},
	{regexp.MustCompile(`([\w./-]+\.go):(\d+):\d+: .*package ([\w./-]+/[\w./-]+)`), project.importPath},
	{regexp.MustCompile(`([\w./-]+\.go):(\d+):\d+: "[^"]+" imported and not used`), project.dropLine},
	{regexp.MustCompile(`([\w./-]+\.go):(\d+):\d+: declared and not used`), project.dropLine},
	{regexp.MustCompile(`([\w./-]+\.go):(\d+):\d+: undefined: (\w+)\.(\w+)`), project.nearestName},
	{regexp.MustCompile(`([\w./-]+\.go):(\d+):\d+: undefined: (\w+)`), project.addImport},
	{regexp.MustCompile(`([\w./-]+\.go):(\d+):\d+: \S+ format (%\w) has arg .* of wrong type string`), project.verb},
	{regexp.MustCompile(`()()got "([^"]*)", want "([^"]*)"`), project.text},
	{regexp.MustCompile(`(?m)^([\w./-]+\.go)$`), project.format},
}

// errNoRule means that no rule knows what to do about an output.
var errNoRule = errors.New("no rule knows what to do about this")

// knows reports whether a rule covers a complaint.
func knows(output string) bool {
	return slices.ContainsFunc(rules, func(r rule) bool { return r.complaint.MatchString(output) })
}

// project is the directory of a Go module.
type project string

// repair repairs the first thing that an output complains about.
func (p project) repair(output string) (Repaired, error) {
	for _, r := range rules {
		if found := r.complaint.FindStringSubmatch(output); found != nil {
			return r.repair(p, found[1:])
		}
	}
	return Repaired{}, errNoRule
}

func (p project) path(file string) string { return filepath.Join(string(p), filepath.Clean("/"+file)) }

// edit changes one line of a file.
func (p project) edit(at []string, change func(line string) (string, bool)) error {
	data, err := os.ReadFile(p.path(at[0]))
	if err != nil {
		return err
	}
	lines := strings.Split(string(data), "\n")
	n, err := strconv.Atoi(at[1])
	if err != nil || n < 1 || n > len(lines) {
		return errNoRule
	}
	line, keep := change(lines[n-1])
	lines[n-1] = line
	if !keep {
		lines = slices.Delete(lines, n-1, n)
	}
	return os.WriteFile(p.path(at[0]), []byte(strings.Join(lines, "\n")), 0o600)
}

func (p project) goVersion(found []string) (Repaired, error) {
	_, err := runIn(string(p), "go", "mod", "edit", "-go="+found[1])
	return Repaired{File: filepath.Clean(found[0]), Change: "ask for Go " + found[1]}, err
}

func (p project) dropLine(found []string) (Repaired, error) {
	was := ""
	err := p.edit(found, func(line string) (string, bool) { was = strings.TrimSpace(line); return "", false })
	return Repaired{File: filepath.Clean(found[0]), Change: "drop " + was}, err
}

// importPath replaces an import by the package of the module whose path is nearest.
func (p project) importPath(found []string) (Repaired, error) {
	module, err := runIn(string(p), "go", "list", "-m")
	if err != nil {
		return Repaired{}, err
	}
	var packages []string
	err = filepath.WalkDir(string(p), func(path string, d os.DirEntry, err error) error {
		if rel, relErr := filepath.Rel(string(p), path); err == nil && relErr == nil && d.IsDir() {
			packages = append(packages, strings.TrimSpace(module)+"/"+filepath.ToSlash(rel))
		}
		return err
	})
	return p.swap(found[:2], found[2], nearest(found[2], packages), err)
}

// nearestName replaces the name of a package's member by the one that is nearest.
func (p project) nearestName(found []string) (Repaired, error) {
	docs, err := runIn(string(p), "go", "doc", "-short", "./internal/"+found[2])
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^\s*(?:func|type|var|const) (\w+)`).FindAllStringSubmatch(docs, -1) {
		names = append(names, m[1])
	}
	return p.swap(found[:2], found[3], nearest(found[3], names), err)
}

func (p project) verb(found []string) (Repaired, error) {
	return p.swap(found[:2], found[2], "%s", nil)
}

func (p project) swap(at []string, old, replacement string, err error) (Repaired, error) {
	if err == nil && replacement == "" {
		err = errNoRule
	}
	if err == nil {
		err = p.edit(at, func(line string) (string, bool) { return strings.Replace(line, old, replacement, 1), true })
	}
	return Repaired{File: filepath.Clean(at[0]), Change: old + " → " + replacement}, err
}

// addImport imports a package of the standard library that is used and not imported.
func (p project) addImport(found []string) (Repaired, error) {
	name := found[2]
	if _, err := runIn(string(p), "go", "list", name); err != nil {
		return Repaired{}, errNoRule
	}
	data, err := os.ReadFile(p.path(found[0]))
	if err != nil {
		return Repaired{}, err
	}
	clause, rest, _ := strings.Cut(string(data), "\n")
	text := fmt.Sprintf("%s\n\nimport %q\n%s", clause, name, rest)
	err = os.WriteFile(p.path(found[0]), []byte(text), 0o600)
	return Repaired{File: filepath.Clean(found[0]), Change: "import " + name}, err
}

// text inserts the text that a test expects into the string literal that produces the answer.
func (p project) text(found []string) (Repaired, error) {
	got, want := found[2], found[3]
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	missing, ok := strings.CutSuffix(want[at:], got[at:])
	if !ok {
		return Repaired{}, errNoRule
	}
	var out Repaired
	err := filepath.WalkDir(string(p), func(path string, _ os.DirEntry, err error) error {
		if err != nil || out.File != "" || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(data), `"`+got[:at]) {
			return err
		}
		out.File, err = filepath.Rel(string(p), path)
		if err != nil {
			return err
		}
		out.Change = fmt.Sprintf("%q → %q", got[:at], got[:at]+missing)
		changed := strings.Replace(string(data), `"`+got[:at], `"`+got[:at]+missing, 1)
		return os.WriteFile(path, []byte(changed), 0o600)
	})
	if err == nil && out.File == "" {
		err = errNoRule
	}
	return out, err
}

func (p project) format(found []string) (Repaired, error) {
	_, err := runIn(string(p), "gofmt", "-w", filepath.Clean(found[0]))
	return Repaired{File: filepath.Clean(found[0]), Change: "gofmt"}, err
}

// nearest is the word with which another has most letter pairs in common, or "".
func nearest(word string, among []string) string {
	best, most := "", 0.5
	for _, other := range among {
		if near := 2 * float64(common(word, other)) / float64(max(1, len(word)+len(other)-2)); near > most {
			best, most = other, near
		}
	}
	return best
}

func common(a, b string) (n int) {
	pairs := map[string]int{}
	for i := 1; i < len(a); i++ {
		pairs[a[i-1:i+1]]++
	}
	for i := 1; i < len(b); i++ {
		if pair := b[i-1 : i+1]; pairs[pair] > 0 {
			pairs[pair]--
			n++
		}
	}
	return n
}
