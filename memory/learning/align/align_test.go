package align_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/learning/align"
	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/schema"
)

func shell(cmd string) trace.Step {
	return trace.Step{Tool: "shell", Args: map[string]trace.Scalar{"cmd": {Text: cmd, Type: "string"}}}
}

func fix(n int, os string, commands ...string) trace.Attempt {
	a := trace.Attempt{ID: fmt.Sprint(n), Outcome: schema.OutcomeSuccess,
		Problem:   signature.OfError(fmt.Sprintf("ld: cache mismatch in /home/u%d/c%d (got %d)", n, n, n)),
		Situation: trace.Situation{Context: map[string]string{"os": os}}}
	for i, c := range commands {
		s := shell(c)
		s.ID = fmt.Sprint(i)
		a.Steps = append(a.Steps, s)
	}
	return a
}

func clear(n int, os string) trace.Attempt {
	return fix(n, os, fmt.Sprintf("rm -rf /home/u%d/c%d", n, n), "make all")
}

func TestVaryingValueIsParameterFromError(t *testing.T) {
	p, ok := align.Learn([]trace.Attempt{clear(1, "linux"), clear(2, "linux"), clear(3, "linux")})
	require.True(t, ok)
	require.Len(t, p.Steps, 2)
	require.Equal(t, "rm -rf {path}", p.Steps[0].Args["cmd"].String())
	require.Equal(t, []align.Param{{Name: "path", From: "error.path.0", Examples: []string{"/home/u1/c1", "/home/u2/c2",
		"/home/u3/c3"}}}, p.Params)
	require.True(t, p.Steps[1].Args["cmd"].Constant())
	require.True(t, p.Replay(clear(9, "linux")))
	wrong := clear(9, "linux")
	wrong.Steps[0] = shell("rm -rf /elsewhere")
	require.False(t, p.Replay(wrong), "a path from another error")

	values, missing := p.Values(align.KnownOf(clear(7, "").Problem, "", trace.Situation{}))
	require.Empty(t, missing)
	args, missing := p.Steps[0].Fill(values)
	require.Empty(t, missing)
	require.JSONEq(t, `{"cmd":"rm -rf /home/u7/c7"}`, string(args))
}

// The failed call has the directory as an argument. A caller who asks for advice knows the directory, but not the call.
func TestDirectoryIsBoundToWorkingDirectory(t *testing.T) {
	var attempts []trace.Attempt
	for n := range 3 {
		dir := trace.Scalar{Text: fmt.Sprintf("/home/w%d", n), Type: "string"}
		a := fix(n, "linux")
		a.Situation.WorkingDir = dir.Text
		a.Situation.Failed = &trace.Step{Tool: "check", Args: map[string]trace.Scalar{"dir": dir}}
		a.Steps = []trace.Step{{ID: "0", Tool: "run", Args: map[string]trace.Scalar{"dir": dir}}}
		attempts = append(attempts, a)
	}
	p, ok := align.Learn(attempts)
	require.True(t, ok)
	require.Len(t, p.Params, 1)
	require.Equal(t, "working_dir", p.Params[0].From)
}

func TestPartialStepsAreConditionalOrOptional(t *testing.T) {
	var attempts []trace.Attempt
	for i := range 6 {
		os, commands := "linux", []string{fmt.Sprintf("rm -rf /home/u%d/c%d", i, i), "make all"}
		if i%2 == 1 {
			os, commands = "macos", append([]string{"xattr -c ."}, commands...)
		}
		attempts = append(attempts, fix(i, os, commands...))
	}
	attempts[0].Steps = append(attempts[0].Steps, shell("date"))
	p, ok := align.Learn(attempts)
	require.True(t, ok)
	require.Len(t, p.Steps, 3, "a step of only one attempt is left out")
	require.Equal(t, map[string][]string{"os": {"macos"}}, p.Steps[0].When)
	require.True(t, p.Replay(clear(8, "linux")))
	require.False(t, p.Replay(clear(8, "macos")))
}

func TestValuesComeFromResultsOfEarlierSteps(t *testing.T) {
	var attempts []trace.Attempt
	for i := range 3 {
		a := fix(i, "linux", "find-port", fmt.Sprintf("serve --port=%d", 3000+i*7))
		a.Steps[0].Results = map[string]string{"port": fmt.Sprint(3000 + i*7)}
		a.Steps[1].DependsOn = []string{"0"}
		attempts = append(attempts, a)
	}
	p, _ := align.Learn(attempts)
	require.Equal(t, "serve --port={port}", p.Steps[1].Args["cmd"].String())
	require.Equal(t, "step.0.port", p.Params[0].From)
	require.Equal(t, []int{0}, p.Steps[1].Needs)
}

func TestPartOfValueIsBound(t *testing.T) {
	var attempts []trace.Attempt
	for i, lib := range []string{"ssl", "png", "zip"} {
		a := fix(i, "linux", "apt-get install -y lib"+lib+"-dev")
		a.Problem = signature.OfError("/usr/bin/ld: cannot find -l" + lib)
		attempts = append(attempts, a)
	}
	p, _ := align.Learn(attempts)
	require.Equal(t, "apt-get install -y lib{name}-dev", p.Steps[0].Args["cmd"].String())
}

func TestDifferentFixesAreDifferentClusters(t *testing.T) {
	attempts := []trace.Attempt{clear(1, "linux"), fix(2, "macos", "brew reinstall llvm", "make all"),
		clear(3, "linux"),
		fix(4, "linux", "make clean all")}
	require.Equal(t, [][]int{{0, 2}, {1}, {3}}, align.Clusters(attempts, 0.75))
}

func TestProcedureSurvivesRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z{}]{1,6}`)
		var attempts []trace.Attempt
		fixed := word.Draw(t, "fixed")
		for i := range rapid.IntRange(1, 5).Draw(t, "n") {
			attempts = append(attempts, fix(i, word.Draw(t, "os"), "run "+fixed+" "+word.Draw(t, "arg"),
				fmt.Sprintf("rm /home/u%d/c%d", i, i)))
		}
		p, ok := align.Learn(attempts)
		require.True(t, ok)
		back := align.OfRecipe(p.Recipe())
		require.True(t, align.Same(p, back))
		for _, a := range attempts {
			require.Equal(t, p.Replay(a), back.Replay(a))
		}
	})
}

func TestTemplatesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[a-z]{1,8}`).Draw(t, "value")
		tpl := align.Template{Type: "string",
			Parts: []align.Part{{Text: rapid.StringMatching(`[A-Z{} ]{1,5}`).Draw(t, "a")},
				{Param: "x"}, {Text: rapid.StringMatching(`[A-Z{} ]{1,5}`).Draw(t, "b")}}}
		text, missing := tpl.Fill(map[string]string{"x": value})
		require.Empty(t, missing)
		got, ok := tpl.Match(text)
		require.True(t, ok)
		require.Equal(t, value, got["x"])
	})
}

func TestAnySequencesAlign(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var attempts []trace.Attempt
		for i := range rapid.IntRange(1, 8).Draw(t, "attempts") {
			attempts = append(attempts, fix(i, "linux", rapid.SliceOfN(
				rapid.SampledFrom([]string{"a", "b x", "c /p/q", "d"}), 0, 10).Draw(t, "steps")...))
		}
		p, ok := align.Learn(attempts)
		if ok {
			require.NotEmpty(t, p.Steps)
			for i, s := range p.Steps {
				for _, n := range s.Needs {
					require.Less(t, n, i)
				}
			}
		}
		require.InDelta(t, align.Alike(attempts[0].Steps, attempts[0].Steps), 1, 1)
	})
}

// A value may be part of a word, such as a file name in the name of a copy or an account in the name of a directory.
func TestAValueInsideAWordIsAParameter(t *testing.T) {
	for name, c := range map[string]struct {
		command func(n int) string
		want    string
	}{
		"something follows": {
			func(n int) string { return fmt.Sprintf("cp -r /home/u%d/c%d /home/u%d/c%d.saved", n, n, n, n) },
			"cp -r {path} {path}.saved"},
		"something goes before": {func(n int) string {
			return fmt.Sprintf("restore --from=/backup/home/u%d/c%d", n, n)
		},
			"restore --from=/backup{path}"},
		"two of them": {func(n int) string { return fmt.Sprintf("link /home/u%d/c%d@/home/u%d", n, n, n) },
			"link {path}@{path_2}"},
	} {
		t.Run(name, func(t *testing.T) {
			var attempts []trace.Attempt
			for _, n := range []int{101, 102, 131} { // the values share their first and last characters
				attempts = append(attempts, fix(n, "linux", c.command(n)))
			}
			p, ok := align.Learn(attempts)
			require.True(t, ok)
			require.Equal(t, c.want, p.Steps[0].Args["cmd"].String())
			require.Zero(t, p.Guessed())
			require.True(t, p.Replay(fix(77, "linux", c.command(77))))
		})
	}
}

// Letters of an option or of a library's file name around a value do not make it another word. All other letters do.
func TestAValueAfterAnAffixIsAParameter(t *testing.T) {
	learned := func(before string) string {
		var attempts []trace.Attempt
		for n := 1; n < 4; n++ {
			a := fix(n, "linux", fmt.Sprintf("find . -name %szone%d.a", before, n))
			a.Problem = signature.OfError(fmt.Sprintf("ld: cannot find -lzone%d", n))
			attempts = append(attempts, a)
		}
		p, ok := align.Learn(attempts)
		require.True(t, ok)
		require.Len(t, p.Params, 1)
		return p.Params[0].From
	}
	require.Equal(t, "error.name.0", learned(""))
	require.Equal(t, "error.name.0", learned("-L"))
	require.Equal(t, "error.name.0", learned("lib"))
	require.Equal(t, "error.name.0", learned("./lib"))

	rapid.Check(t, func(t *rapid.T) {
		before := rapid.StringMatching(`[a-z]{1,6}`).Draw(t, "before")
		require.Equal(t, before == "lib", align.Affixed(before+"zone.a", len(before)))
		require.False(t, align.Affixed("x"+before+"zone.a", 1+len(before)), "a part of another word")
		require.True(t, align.Affixed("cc -"+before[:1]+"zone", 5))
	})
}

// What the repair needs may be in no error: it is a word of the call that failed, or a part of one.
func TestAWordOfTheFailedCallIsAParameter(t *testing.T) {
	for name, c := range map[string]struct {
		failed, repair func(n int) string
		want, from     string
	}{
		"a word": {
			func(n int) string { return fmt.Sprintf("git merge -q topic%d", n) },
			func(n int) string { return fmt.Sprintf("git merge --force topic%d", n) },
			"git merge --force {word}", "failed.cmd.word.2"},
		"the last element of a path": {
			func(n int) string { return fmt.Sprintf("go build ./cmd/tool%d", n) },
			func(n int) string { return fmt.Sprintf("go generate ./internal/tool%d/api", n) },
			"go generate ./internal/{word}/api", "failed.cmd.word.2.base"},
		"a name without its ending": {
			func(n int) string { return fmt.Sprintf("python3 src/job%d.py", n) },
			func(n int) string { return fmt.Sprintf("rm -f src/job%d.lock", n) },
			"rm -f {word}.lock", "failed.cmd.word.1.bare"},
		"a word of a statement in quotes": {
			func(n int) string { return fmt.Sprintf("sqlite3 app.db 'SELECT id FROM table%d'", n) },
			func(n int) string { return fmt.Sprintf("sqlite3 app.db 'CREATE TABLE table%d (id)'", n) },
			"sqlite3 app.db 'CREATE TABLE {word} (id)'", "failed.cmd.word.5"},
		"the last word of calls of different lengths": {
			func(n int) string { return "load " + strings.Repeat("again ", n%3) + fmt.Sprintf("feed%d", n) },
			func(n int) string { return fmt.Sprintf("sign feed%d", n) },
			"sign {last_word}", "failed.cmd.last_word.0"},
		"the value that is attached to an option": {
			func(n int) string {
				return fmt.Sprintf("load -Iparts%d -w %s run.dat", n, strings.Repeat("again ", n%3))
			},
			func(n int) string { return fmt.Sprintf("seal parts%d/list", n) },
			"seal {i}/list", "failed.cmd.option.I"},
		"the value of an option": {
			func(n int) string { return fmt.Sprintf("serve --root=/srv/site%d -v", n) },
			func(n int) string { return fmt.Sprintf("mkdir -p /srv/site%d/log", n) },
			"mkdir -p {word}/log", "failed.cmd.word.1"},
	} {
		t.Run(name, func(t *testing.T) {
			attempt := func(n int) trace.Attempt {
				a := fix(n, "linux", c.repair(n))
				a.Problem = signature.OfError("tool: the input is not ready")
				failed := shell(c.failed(n))
				a.Situation.Failed = &failed
				return a
			}
			p, ok := align.Learn([]trace.Attempt{attempt(101), attempt(202), attempt(333)})
			require.True(t, ok)
			require.Equal(t, c.want, p.Steps[0].Args["cmd"].String())
			require.Len(t, p.Params, 1)
			require.Equal(t, c.from, p.Params[0].From)
			require.True(t, p.Replay(attempt(7777)))
			failed := shell(c.failed(55))
			values, missing := p.Values(align.KnownOf(signature.Signature{}, "", trace.Situation{Failed: &failed}))
			require.Empty(t, missing)
			text, _ := p.Steps[0].Args["cmd"].Fill(values)
			require.Equal(t, c.repair(55), text)
			_, missing = p.Values(align.KnownOf(signature.Signature{}, "", trace.Situation{}))
			require.Equal(t, []string{p.Params[0].Name}, missing)
		})
	}
}

// A value that several sources gave is taken from the one that a caller has.
func TestAParameterHasABindingOfEachSource(t *testing.T) {
	problem := func(n int) signature.Signature {
		return signature.OfError(fmt.Sprintf("error: the depot is closed\nTo ../depot%d", n))
	}
	failed := func(n int) *trace.Step {
		s := shell(fmt.Sprintf("push ../depot%d now", n))
		return &s
	}
	var attempts []trace.Attempt
	for n := 1; n < 4; n++ {
		a := fix(n, "linux", fmt.Sprintf("open ../depot%d", n))
		a.Problem, a.Situation.Failed = problem(n), failed(n)
		attempts = append(attempts, a)
	}
	p, ok := align.Learn(attempts)
	require.True(t, ok)
	back := align.OfRecipe(p.Recipe())
	require.Equal(t, p.Params, back.Params)
	require.Equal(t, "failed.cmd.word.1", back.Params[0].From)
	require.Equal(t, []string{"output.path.0"}, back.Params[0].Or)
	for name, known := range map[string]align.Known{
		"both":       align.KnownOf(problem(8), "", trace.Situation{Failed: failed(8)}),
		"the call":   align.KnownOf(signature.Signature{}, "", trace.Situation{Failed: failed(8)}),
		"the output": align.KnownOf(problem(8), "", trace.Situation{}),
	} {
		values, missing := back.Values(known)
		require.Empty(t, missing, name)
		require.Equal(t, "../depot8", values[back.Params[0].Name], name)
	}
}

// The place of a value among the values of its kind may change. Its shape decides between the sources that gave it.
func TestAValueKeepsItsShape(t *testing.T) {
	attempt := func(n int, problem string) trace.Attempt {
		a := fix(n, "linux", fmt.Sprintf("sed -i p script%d.sed", n))
		failed := shell(fmt.Sprintf("sed -f script%d.sed in.txt", n))
		a.Problem, a.Situation.Failed = signature.OfError(problem), &failed
		return a
	}
	p, ok := align.Learn([]trace.Attempt{attempt(101, "sed: 'script101.sed' ends early"),
		attempt(202, "sed: 'script202.sed' ends early"), attempt(333, "sed: 'script333.sed' ends early")})
	require.True(t, ok)
	require.Equal(t, "error.name.0", p.Params[0].From)
	for problem, want := range map[string]string{
		"sed: 'script7.sed' ends early":       "script7.sed",
		"sed: 's' of 'script7.sed' ends":      "script7.sed",
		"sed: 's' ends early":                 "script7.sed",
		"sed: 'script7.sed' or 's' ends here": "script7.sed",
	} {
		values, missing := p.Values(align.KnownOf(signature.OfError(problem), "", attempt(7, problem).Situation))
		require.Empty(t, missing)
		require.Equal(t, want, values[p.Params[0].Name], problem)
	}
	values, _ := p.Values(align.KnownOf(signature.OfError("sed: 's' ends early"), "", trace.Situation{}))
	require.Equal(t, "s", values[p.Params[0].Name], "no source has such a value")
}

// A part from the line of the problem is preferred to the whole from another line.
func TestTheLineOfTheProblemIsPreferredToOthers(t *testing.T) {
	var attempts []trace.Attempt
	for _, name := range []string{"vector", "deque", "forward_list"} {
		a := fix(len(name), "linux", "include <"+name+">")
		a.Problem = signature.OfError("x.c:1:1: error: ‘" + name + "’ is not a type\nnote: see ‘<" + name + ">’")
		attempts = append(attempts, a)
	}
	p, ok := align.Learn(attempts)
	require.True(t, ok)
	require.Equal(t, "include <{name}>", p.Steps[0].Args["cmd"].String())
	require.Equal(t, "error.name.0", p.Params[0].From)
}

func TestWordsOfAnArgument(t *testing.T) {
	for text, want := range map[string][]string{
		"":                               {},
		"make":                           {"make"},
		"git merge -q --no-ff topic":     {"git", "merge", "topic"},
		"run --path=/a/b -DX=1 'c d'":    {"run", "/a/b", "c", "d"},
		"run -n=2 --as='a b' x --in=a.c": {"run", "x", "a.c"},
		`echo "a b" > out.txt && cat x`:  {"echo", "a", "b", "out.txt", "cat", "x"},
		"f(a, b)":                        {"f", "a", "b"},
	} {
		require.Equal(t, want, align.Words(text), text)
	}
}

// The subcommand of a program is not what a repair is about: an equal word of it is equal by chance.
func TestSubcommandIsNotAValue(t *testing.T) {
	for name, c := range map[string]struct {
		failed []string
		repair func(verb string, n int) string
		want   string
	}{
		"a subcommand": {[]string{"git tag pier%d", "git stash branch pier%d", "git -C . notes pier%d"},
			func(verb string, n int) string { return fmt.Sprintf("git %s -f pier%d", verb, n) }, "git {value} -f {last_word}"},
		"one after another command": {
			[]string{"cd x && npm pack pier%d", "cd x && npm view pier%d", "cd x && npm run pier%d"},
			func(verb string, n int) string { return fmt.Sprintf("npm %s -f pier%d", verb, n) }, "npm {value} -f {word}"},
	} {
		t.Run(name, func(t *testing.T) {
			var attempts []trace.Attempt
			for n, command := range c.failed {
				failed := shell(fmt.Sprintf(command, n))
				words := align.Words(failed.Args["cmd"].Text)
				a := fix(n, "linux", c.repair(words[len(words)-2], n))
				a.Problem, a.Situation.Failed = signature.OfError("tool: the input is not ready"), &failed
				attempts = append(attempts, a)
			}
			p, ok := align.Learn(attempts)
			require.True(t, ok)
			require.Equal(t, c.want, p.Steps[0].Args["cmd"].String())
		})
	}
}

// Two numbers that begin or end with the same digit have no constant part.
func TestNumberIsNotDivided(t *testing.T) {
	var attempts []trace.Attempt
	for _, n := range []int{24, 27, 84} {
		a := fix(n, "linux", fmt.Sprintf("sed -i 's/^form = %d$/form = 4/' list.x", n))
		a.Problem = signature.OfError(fmt.Sprintf("loader: error: cannot read it\nform `%d` was found", n))
		attempts = append(attempts, a)
	}
	for _, some := range [][]trace.Attempt{attempts[:2], {attempts[0], attempts[2]}, attempts} {
		p, ok := align.Learn(some)
		require.True(t, ok)
		require.Equal(t, "sed -i 's/^form = {name}$/form = 4/' list.x", p.Steps[0].Args["cmd"].String())
	}
}

// The error has the whole path. The directory with a word of the command gives it too, but by chance.
func TestWholeValueOfTheErrorIsPreferred(t *testing.T) {
	var attempts []trace.Attempt
	for n := range 3 {
		dir, part := fmt.Sprintf("/srv/job%d", n), fmt.Sprintf("pier%d", n)
		failed := shell("cd ./" + part + " && builder check")
		a := fix(n, "linux", "edit "+dir+"/"+part+"/plan.x")
		a.Problem = signature.OfError("builder: error: the plan is not tied\nplan: " + dir + "/" + part + "/plan.x")
		a.Situation.Failed, a.Situation.WorkingDir, a.Intent = &failed, dir, "check ./"+part+" again"
		attempts = append(attempts, a)
	}
	p, ok := align.Learn(attempts)
	require.True(t, ok)
	require.Equal(t, "edit {path}", p.Steps[0].Args["cmd"].String())
	require.Equal(t, "output.path.0", p.Params[0].From)
}

// The name that an earlier line has is more surely there than one that is made of it in a later line, or in a result.
func TestEarlierValueOfOtherLinesIsPreferred(t *testing.T) {
	var attempts []trace.Attempt
	for n := range 3 {
		a := fix(n, "linux")
		a.Problem = signature.OfError(fmt.Sprintf("builder: error: a part is missing\nno part \"tide%d\"\n"+
			"set \"tide%[1]d-at\"", n))
		find, set := shell("find parts"), shell(fmt.Sprintf("builder set tide%d-at", n))
		find.Results = map[string]string{"": fmt.Sprintf("/srv/tide%d", n)}
		find.ID, set.ID = "1", "2"
		a.Steps = []trace.Step{find, set}
		attempts = append(attempts, a)
	}
	p, ok := align.Learn(attempts)
	require.True(t, ok)
	require.Equal(t, "builder set {name}-at", p.Steps[1].Args["cmd"].String())
	require.Equal(t, "output.name.0", p.Params[0].From)
}

func TestReplayOfAttemptWithFailedCheck(t *testing.T) {
	check := shell("make all")
	p, ok := align.Learn([]trace.Attempt{clear(1, "linux"), clear(2, "linux"), clear(3, "linux")})
	require.True(t, ok)
	failed := fix(4, "linux", "rm -rf /home/u4/c4")
	failed.Outcome, failed.Situation.Failed = schema.OutcomeFailure, &check
	require.False(t, p.Replay(failed), "the attempt has no check")
	failed.Checked = true
	require.True(t, p.Replay(failed))
	failed.Steps[0] = shell("rm -rf bin")
	require.False(t, p.Replay(failed), "another repair")
}
