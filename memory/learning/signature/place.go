package signature

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/normalize"
)

// ofSystem matches the directories of programs that are installed. Other programs with a directory are the project's.
var ofSystem = regexp.MustCompile(`^/(?:usr|opt|s?bin|lib(?:exec|\d+)?|nix|snap|Library|Applications)/|` +
	`/(?:\.local|\.cargo|\.nvm|\.pyenv|\.rbenv|\.rustup|\.sdkman|\.asdf)/`)

// ofProject reports whether the name of a program is the path of one that the project has or makes.
func ofProject(name string) bool { return strings.Contains(name, "/") && !ofSystem.MatchString(name) }

// place is the kind of a hit that is a file because a position follows it. It is a Path whose name is not part of the
// problem.
const place Kind = "place"

// anyFile is a path or a name of a file.
const anyFile = `[\w./@+~-]*[A-Za-z_][\w./@+~-]*`

// These match positions: a file at the beginning of a line, or after "at", with the number of a line.
var (
	colonPosition = regexp.MustCompile(`^(` + anyFile + `):(\d{1,6}):(?:(\d{1,6}):)?(?:\s|$)`)
	wordPosition  = regexp.MustCompile(`^(` + anyFile + `): line (\d{1,6}): `)
	atPosition    = regexp.MustCompile(`\bat (` + anyFile + `),? line (\d{1,6})\b`)
)

// positions takes the files and the lines of positions. What reports a position without a file (bash: line 3: …) is a
// word before it that is not a file.
func positions(work string, take func(from, to int, kind Kind, text string)) {
	for _, form := range []*regexp.Regexp{colonPosition, wordPosition, atPosition} {
		m := form.FindStringSubmatchIndex(work)
		if m == nil || notFiles[normalize.Lower(work[m[2]:m[3]])] || dated.MatchString(work[m[2]:m[3]]) {
			continue
		}
		if form == colonPosition {
			end := max(m[5], m[len(m)-1]) // of the line or the column
			take(m[2], end, place, work[m[2]:end])
			return
		}
		file, line := work[m[2]:m[3]], work[m[4]:m[5]]
		take(m[2], m[3], place, file)
		take(m[4], m[5], Line, line)
		return
	}
}

var dated = regexp.MustCompile(`^` + dateTime)

// notFiles has words that stand before a number of a line and are not files.
var notFiles = normalize.Set(`error fatal warning panic exception err note bash sh dash ash ksh zsh fish awk gawk mawk
	nawk bc dc sed perl python python3 make gcc g++ cc clang ld localhost step line stdin`)

// pythonFrame matches a stack frame of Python.
var pythonFrame = regexp.MustCompile(`(?m)^\s*File "([^"<\n]+)", line \d+`)

// ofLibrary matches the files of Python and of packages that are installed.
var ofLibrary = regexp.MustCompile(`(?i)[/\\](?:site|dist)-packages[/\\]|[/\\]lib(?:64)?[/\\]python\d[\d.]*[/\\]|` +
	`[/\\]python\d+[/\\]lib[/\\]`)

// locate adds the file of the innermost stack frame of a Python error as a value: of the frames in the project, if
// there are any.
func (s *Signature) locate(text string) {
	if len(s.Values) >= maxValues || pythonFrame.MatchString(s.Line) {
		return
	}
	frames := pythonFrame.FindAllStringSubmatch(text[max(0, len(text)-maxRead):], -1)
	for _, own := range []bool{true, false} {
		for _, frame := range slices.Backward(frames) {
			if !own || !ofLibrary.MatchString(frame[1]) {
				s.setFrame(frame[1])
				return
			}
		}
	}
}

// setFrame sets the file of the innermost stack frame.
func (s *Signature) setFrame(file string) {
	s.Frame = file
	s.Values = append(s.Values, Value{Path, file})
}
