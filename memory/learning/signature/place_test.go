package signature_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/signature"
)

// requireSame fails unless the texts are occurrences of one problem.
func requireSame(t *testing.T, texts ...string) {
	t.Helper()
	first := signature.OfError(texts[0])
	for _, text := range texts[1:] {
		other := signature.OfError(text)
		require.Truef(t, signature.Same(first, other), "%q\n%q", first.Words, other.Words)
	}
}

// requireOther fails if the texts are occurrences of one problem.
func requireOther(t *testing.T, a, b string) {
	t.Helper()
	require.Falsef(t, signature.Same(signature.OfError(a), signature.OfError(b)), "%q\n%q", a, b)
}

// A program of the project is a value. A program of the system, and one without a directory, is part of the problem.
func TestProgramOfTheProjectIsAValue(t *testing.T) {
	requireSame(t, "./bin/harvest: symbol lookup error: undefined symbol",
		"out/pier-two: symbol lookup error: undefined symbol", "/srv/a/bin/q: symbol lookup error: undefined symbol")
	requireSame(t, "/usr/bin/ld: cannot open output", "ld: cannot open output", "/opt/x/bin/ld: cannot open output")
	path, ok := signature.OfError("./bin/harvest: symbol lookup error: undefined symbol").Of(signature.Path, 0)
	require.True(t, ok)
	require.Equal(t, "./bin/harvest", path)
	requireOther(t, "tar: cannot open output", "ld: cannot open output")
}

// A position makes the word before it a file, whatever its name.
func TestPositionMakesAFile(t *testing.T) {
	requireSame(t, "GNUmakefile:12: *** extraneous text after directive.  Stop.",
		"build.mk:3: *** extraneous text after directive.  Stop.", "Makefile:7: *** extraneous text after directive.  Stop.")
	requireSame(t, "crontab: line 12: bad minute in entry", "etc/jobs: line 3: bad minute in entry",
		"/srv/x/nightly.tab: line 3: bad minute in entry")
	requireSame(t, "Useless bareword in void context at tools/sweep line 9.",
		"Useless bareword in void context at pier.pl line 114.", "Useless bareword in void context at Rakefile line 2.")
	requireSame(t, "bash: line 3: jq: command not found", "bash: line 4: yq: command not found")
	requireOther(t, "zsh:1: bad option here", "make:1: bad option here")
	for text, want := range map[string][2]string{
		"GNUmakefile:12: *** extraneous text after directive.":    {"GNUmakefile", "12"},
		"crontab: line 5: bad minute in entry":                    {"crontab", "5"},
		"Useless bareword in void context at tools/sweep line 9.": {"tools/sweep", "9"},
	} {
		s := signature.OfError(text)
		path, _ := s.Of(signature.Path, 0)
		line, _ := s.Of(signature.Line, 0)
		require.Equal(t, want, [2]string{path, line}, text)
	}
	_, ok := signature.OfError("error:12: bad minute in entry").Of(signature.Path, 0)
	require.False(t, ok, "a severity is not a file")
	_, ok = signature.OfError("localhost:8080: connection refused").Of(signature.Path, 0)
	require.False(t, ok, "a host is not a file")
	_, ok = signature.OfError("2026-01-02T03:04:05: bad minute in entry").Of(signature.Path, 0)
	require.False(t, ok, "a time is not a file")
}

// A line that only says that something failed comes after one that names a place, and after one that says why.
func TestLineThatOnlySaysThatSomethingFailed(t *testing.T) {
	for text, want := range map[string]string{
		"Useless bareword in void context at tools/sweep line 9.\nExecution of tools/sweep aborted due to errors."://
		"Useless bareword in void context at tools/sweep line 9.",
		"Error: the build of target 'pier' failed.\npier.x:3: the anchor is not tied": "pier.x:3: the anchor is not tied",
		"tools/sweep had errors.\nUseless bareword in void context at pier line 9."://
		"Useless bareword in void context at pier line 9.",
		"reading the list\nError: job failed": "Error: job failed",
		"reading the list\nError: test failed in 3 seconds because the port is taken"://
		"Error: test failed in 3 seconds because the port is taken",
	} {
		require.Equal(t, want, signature.OfError(text).Line)
	}
}

// The name of a class is a value inside of a sentence, and part of the problem before a colon.
func TestNameOfAClass(t *testing.T) {
	requireSame(t, "builder: the exception ParseException is never handled",
		"builder: the exception DAOFault is never handled")
	requireSame(t, "TypeError: Object of type set is not hashable here",
		"TypeError: Object of type URLSet is not hashable here",
		"TypeError: Object of type Fraction is not hashable here")
	requireSame(t, "builder: class URI has no members here", "builder: class PierLog has no members here")
	requireOther(t, "ParseException: bad here", "LinkException: bad here")
	requireOther(t, "Uncaught exception ParseException: bad here", "Uncaught exception LinkException: bad here")
	requireOther(t, "error: type mismatch is found", "error: type inference is found")
	name, _ := signature.OfError("builder: the exception ParseException is never handled").Of(signature.Name, 0)
	require.Equal(t, "ParseException", name)
}

// What a program suggests is not part of the problem. Its names are values of the other lines.
func TestSuggestionIsNotPartOfTheProblem(t *testing.T) {
	requireSame(t, "pier: unknown setting 'depht'", "pier: unknown setting 'widht'; did you mean 'width'?",
		"pier: unknown setting 'colr'. Did you mean: 'color'", "pier: unknown setting 'xy' (did you mean 'x' or 'y'?)",
		"pier: unknown setting 'xy', perhaps you meant 'x'")
	requireSame(t, "label \"top\" was never set (did you forget to call \"set top\"?) at tools/x line 4.",
		"label \"end\" was never set at y.pl line 10.")
	s := signature.OfError("pier: unknown setting 'widht'; did you mean 'width'?\nsee 'pier help'")
	require.Equal(t, []signature.Value{{Kind: signature.Name, Text: "widht"}}, s.Values)
	require.Equal(t, []signature.Value{{Kind: signature.Name, Text: "width"}, {Kind: signature.Name, Text: "pier help"}},
		s.Other)
	require.Equal(t, s, signature.OfRecord(s.Line+s.OtherLines(200)), "a record gives the same values")
	require.Equal(t, s.Other[:1], signature.OfRecord(s.Line).Other)
	require.Equal(t, []string{"did", "mean"}, signature.OfError("did you mean 'x'?").Words)
}

// A tool that wraps its text breaks lines at other words when names are longer. The lines of a paragraph are one.
func TestWrappedParagraphIsOneLine(t *testing.T) {
	short := signature.OfError("pier error at list.x:3 (load):\n" +
		"  The harbour of the plan is asked for by \"east.x\" since the last run of\n" +
		"  the builder, and was read.\n\n" +
		"  The builder could not find a part of the plan of the name \"tide\" in the\n" +
		"  directories of \"east\".\n\n    tide.part\n    tide.list\n")
	long := signature.OfError("pier error at list.x:3 (load):\n" +
		"  The harbour of the plan is asked for by \"east.x\" since the last run of\n" +
		"  the builder, and was read.\n\n" +
		"  The builder could not find a part of the plan of the name\n" +
		"  \"tide-and-moon-and-stars\" in the directories of \"east\".\n\n" +
		"    tide-and-moon-and-stars.part\n    tide-and-moon-and-stars.list\n")
	named := func(texts ...string) (out []signature.Value) {
		for _, text := range texts {
			out = append(out, signature.Value{Kind: signature.Name, Text: text})
		}
		return out
	}
	require.Equal(t, named("tide", "east", "east.x"), short.Other[:3])
	require.Equal(t, named("tide-and-moon-and-stars", "east", "east.x"), long.Other[:3])
	separate := signature.OfError("pier: error: two parts are not tied to the plan of the harbour\n" +
		"  error: the part \"tide\" of the list is not tied to anything in the plan of it\n" +
		"  error: the part \"moon\" is not tied to anything\n")
	require.Equal(t, named("tide", "moon"), separate.Other)
}
