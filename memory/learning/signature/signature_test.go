package signature_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/memory/normalize"
)

// sameProblem lists occurrences of the same problem by name.
var sameProblem = map[string][]string{
	"go undefined": {"./main.go:12:5: undefined: parseFlags", "cmd/x/run.go:3:17: undefined: Foo"},
	"go undefined build": {"# example.com/a\n./main.go:12:5: undefined: parse",
		"# b/c/d\nsrc/q.go:1:2: undefined: other"},
	"go redeclared":    {"./b.go:3:5: guava redeclared in this block", "vet: c/d.go:9:5: oakElm redeclared in this block"},
	"git refspec":      {"error: src refspec trunk does not match any", "error: src refspec main does not match any"},
	"severity":         {"fatal: You are not currently on a branch.", "You are not currently on a branch."},
	"go unused":        {"./a.go:5:2: declared and not used: x", "b/c.go:15:22: y declared and not used"},
	"go unused import": {`./a.go:3:8: "os" imported and not used`, `./z/q.go:9:2: "net/http" imported and not used`},
	"go missing sum": {"main.go:4:2: missing go.sum entry for module providing package github.com/a/b",
		"x/y.go:14:20: missing go.sum entry for module providing package golang.org/x/text"},
	"go module": {"go: cannot find main module, but found .git/config in /home/a/b",
		"go: cannot find main module, but found .git/config in /srv/x1"},
	"go type": {"./m.go:7:9: cannot use x (variable of type int) as string value in assignment",
		"./o.go:17:9: cannot use count (variable of type float64) as int value in assignment"},
	"go test": {"--- FAIL: TestAdd (0.00s)", "--- FAIL: TestSub/zero (1.25s)"},
	"gcc header": {"foo.c:1:10: fatal error: zlib.h: No such file or directory\ncompilation terminated.",
		"src/net/bar.c:22:10: fatal error: openssl/ssl.h: No such file or directory\ncompilation terminated."},
	"gcc undeclared": {"a.c:3:5: error: ‘foo’ undeclared (first use in this function)",
		"b.c:33:15: error: ‘bar_baz’ undeclared (first use in this function)"},
	"gcc quote styles": {"a.c:3:5: error: ‘foo’ undeclared (first use in this function)",
		"b.c:33:15: error: 'bar' undeclared (first use in this function)"},
	"linker symbol": {"/usr/bin/ld: /tmp/ccX1.o: in function `main':\nm.c:(.text+0xa): undefined reference to `foo'",
		"m2.c:(.text+0x1f): undefined reference to `bar'\ncollect2: error: ld returned 1 exit status"},
	"linker library": {"/usr/bin/ld: cannot find -lssl: No such file or directory",
		"ld: cannot find -lcrypto: No such file or directory"},
	"linker cross": {"x86_64-linux-gnu-ld: cannot find -lz", "/opt/bin/ld: cannot find -lpng"},
	"make rule": {"make: *** No rule to make target 'build'.  Stop.",
		"make[2]: *** No rule to make target 'lib/x.o'.  Stop."},
	"make separator": {"Makefile:3: *** missing separator.  Stop.", "Makefile:141: *** missing separator.  Stop."},
	"git pathspec": {"error: pathspec 'main' did not match any file(s) known to git",
		"error: pathspec 'feature/x-1' did not match any file(s) known to git"},
	"git lock": {"fatal: Unable to create '/home/a/.git/index.lock': File exists.",
		"fatal: Unable to create '/srv/repo/.git/index.lock': File exists."},
	"git repository": {"fatal: not a git repository (or any of the parent directories): .git",
		"2026-01-02T03:04:05Z fatal: not a git repository (or any of the parent directories): .git"},
	"python module": {"Traceback (most recent call last):\n  File \"/a/b.py\", line 3, in <module>\n    " +
		"import numpy\n" +
		"ModuleNotFoundError: No module named 'numpy'", "ModuleNotFoundError: No module named 'yaml.parser'"},
	"python key": {"KeyError: 'user_id'", "KeyError: 'x'"},
	"python attribute": {"AttributeError: 'Foo' object has no attribute 'bar'",
		"AttributeError: 'NoneType' object has no attribute 'split'"},
	"python syntax": {"  File \"a.py\", line 1\nSyntaxError: invalid syntax", "SyntaxError: invalid syntax"},
	"npm script":    {"npm ERR! missing script: build", "npm ERR! missing script: lint"},
	"npm resolve": {"npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve dependency tree\n" +
		"npm ERR! A complete log of this run can be found in: /root/.npm/_logs/2026-01-02T03_04_05_678Z-debug.log",
		"npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve dependency tree"},
	"node module": {"Error: Cannot find module 'express'", "Error: Cannot find module './lib/x'"},
	"node enoent": {"Error: ENOENT: no such file or directory, open '/a/b.txt'",
		"Error: ENOENT: no such file or directory, open 'c.json'"},
	"node port": {"Error: listen EADDRINUSE: address already in use :::3000",
		"Error: listen EADDRINUSE: address already in use :::8081"},
	"http 404": {"GET https://api.example.com/v1/users/17 returned 404 Not Found",
		"GET http://other.test/x returned 404 Not Found"},
	"dial": {"dial tcp 127.0.0.1:5432: connect: connection refused",
		"dial tcp [::1]:6379: connect: connection refused"},
	"dial host": {"dial tcp: lookup db.internal on 10.0.0.2:53: no such host",
		"dial tcp: lookup api.example.com on 192.168.1.1:53: no such host"},
	"rust":    {"error[E0308]: mismatched types\n --> src/main.rs:4:5", "error[E0308]: mismatched types"},
	"timeout": {"request timed out after 30s", "request timed out after 1m30s"},
	"segfault": {"panic: runtime error: index out of range [5] with length 3",
		"panic: runtime error: index out of range [17] with length 2"},
	"nil": {"[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x47]",
		"[signal SIGSEGV: segmentation violation code=0x1 addr=0x8 pc=0x51]"},
	"shell": {"bash: line 1: jq: command not found", "bash: line 7: kubectl: command not found"},
	"uuid": {"workflow 6ba7b810-9dad-11d1-80b4-00c04fd430c8 is not running",
		"workflow 7ba7b810-9dad-11d1-80b4-00c04fd430c9 is not running"},
	"hash":     {"commit 3f2a9bc1 not reachable", "commit 0a1b2c3d4e5f not reachable"},
	"versions": {"requires go >= 1.22 (running go1.21.3)", "requires go >= 1.24.1 (running go1.20)"},
	"colours":  {"\x1b[31merror\x1b[0m: linking failed for target 'app'", "error: linking failed for target 'web'"},
	"pytest": {"FAILED tests/test_a.py::test_b - AssertionError: assert 1 == 2",
		"FAILED tests/test_z.py::test_y - AssertionError: assert 40 == 2"},
	"cache": {"ld: cache mismatch in /home/ana/.cache/build/7f3a (expected 12, got 14)",
		"ld: cache mismatch in /Users/bo/Library/x (expected 3, got 99)"},
	"windows": {`C:\a\b\c.cpp(12): error C2065: 'x': undeclared identifier`,
		`D:\q.cpp(3,5): error C2065: 'yy': undeclared identifier`},
	"typescript": {"src/a.ts(3,5): error TS2304: Cannot find name 'x'.",
		"src/b/c.ts:13:25 - error TS2304: Cannot find name 'Foo'."},
	"remote without quotes": {"fatal: the configured remote harbour has no fetch url set",
		"fatal: the configured remote mirror-2 has no fetch url set"},
	"bare argument": {"lint: call of render passes argument depth of unexpected kind",
		"lint: call of render passes argument colour of unexpected kind"},
	"name with its file": {"error: two modules here: plain (a/b.rs) and orchard (a/c.rs)",
		"error: two modules here: cedar (x.rs) and pebble (q/y.rs)"},
	"container": {"Error: container web-1 is unhealthy", "Error: container ledger is unhealthy"},
	"shell variable": {"deploy.sh: line 3: HOST9: unbound variable", "etc/run.sh: line 17: HARBOUR: unbound variable",
		"run2.sh: line 1: DATA_DIR: unbound variable"},
	"perl module": {"Can't locate Cedar.pm in @INC (you may need to install the Cedar module) at load4-all.pl line 1.",
		"Can't locate Pier7Log.pm in @INC (you may need to install the Pier7Log module) at x.pl line 30."},
	"thread of openssl": {"4077ECA47F00:error:16000069:STORE routines:unregistered scheme:a/store.c:237:scheme=file",
		"40F2B05B3F11:error:16000069:STORE routines:unregistered scheme:a/store.c:237:scheme=file"},
	"host with a number": {"error: web7 is not reachable", "error: cache12a is not reachable"},
	"no word for error": {
		"package example.com/a\n\timports example.com/a/b: build constraints exclude all Go files in /w/b",
		"package example.com/q\n\timports example.com/q/z: build constraints exclude all Go files in /src/z"},
	"killed": {"process exited with code 137", "process exited with code 137"},
}

// otherProblem lists pairs of different problems, most of them of the same tool.
var otherProblem = [][2]string{
	{"./a.go:1:2: undefined: x", "./a.go:1:2: declared and not used: x"},
	{`./a.go:1:2: "os" imported and not used`, "./a.go:1:2: declared and not used: os"},
	{"main.go:4:2: missing go.sum entry for module providing package a/b",
		"main.go:4:2: no required module provides package a/b"},
	{"go: go.mod file not found in current directory or any parent directory",
		"go: go.sum file not found in current directory"},
	{"package foo is not in std", "package foo is not a main package"},
	{"import cycle not allowed", "use of internal package a/b not allowed"},
	{"a.c:1:1: fatal error: x.h: No such file or directory", "a.c:1:1: error: ‘x’ undeclared"},
	{"undefined reference to `foo'", "multiple definition of `foo'"},
	{"/usr/bin/ld: cannot find -lssl", "/usr/bin/ld: cannot open output file a: Permission denied"},
	{"make: *** No rule to make target 'x'.  Stop.", "Makefile:3: *** missing separator.  Stop."},
	{"make: gcc: No such file or directory", "make: gcc: Permission denied"},
	{"fatal: not a git repository", "fatal: repository not found"},
	{"! [rejected] main -> main (fetch first)", "! [rejected] main -> main (non-fast-forward)"},
	{"error: failed to push some refs to 'git@h:x/y' (fetch first)",
		"error: failed to push some refs to 'git@h:x/y' (hook declined)"},
	{"ModuleNotFoundError: No module named 'x'", "ImportError: cannot import name 'x' from 'y'"},
	{"KeyError: 'x'", "ValueError: 'x'"},
	{"TypeError: unsupported operand", "TypeError: missing argument"},
	{"npm ERR! code ERESOLVE", "npm ERR! code ENOENT"},
	{"npm ERR! missing script: build", "npm ERR! code ELIFECYCLE"},
	{"Error: listen EADDRINUSE: address already in use :::3000", "Error: listen EACCES: permission denied 0.0.0.0:80"},
	{"GET https://a.b/c returned 404 Not Found", "GET https://a.b/c returned 500 Internal Server Error"},
	{"HTTP 502", "HTTP 503"},
	{"server returned status 401", "server returned status 403"},
	{"dial tcp 1.2.3.4:80: connect: connection refused", "dial tcp 1.2.3.4:80: i/o timeout"},
	{"connection refused", "connection reset by peer"},
	{"error[E0308]: mismatched types", "error[E0382]: use of moved value"},
	{"error TS2304: Cannot find name 'x'.", "error TS2307: Cannot find name 'x'."},
	{"process exited with code 137", "process exited with code 139"},
	{"error: killed", "error: timeout"},
	{"fatal: Killed", "fatal: Aborted"},
	{"the flag is set", "the flag is not set"},
	{"service can start now with cache enabled", "service can start now with cache enabled and not locked"},
	{"git: permission denied", "docker: permission denied"},
	{"bash: jq: command not found", "bash: /a/jq: Permission denied"},
	{"missing go.mod", "missing package.json"},
	{"SIGSEGV: segmentation violation", "SIGABRT: abort"},
	{"ld: cache mismatch in /a/b", "ld: symbol mismatch in /a/b"},
	{"E: Unable to locate package foo", "E: Could not get lock /var/lib/dpkg/lock"},
	{"AssertionError: assert 1 == 2", "AssertionError: expected call not found"},
	{"error: package manager is locked", "error: package registry is locked"},
	{"error: permission denied by the remote host", "error: connection denied by the remote host"},
	{"error: branch already has an upstream", "error: branch never has an upstream"},
	{"error: container runtime is not running", "error: container network is not running"},
	{"error: service unavailable is returned", "error: service overloaded is returned"},
	{"error: index size is too large for table", "error: index count is too large for table"},
	{"error: argument missing is fatal", "error: argument repeated is fatal"},
	{"error: branch topic has no upstream", "error: branch topic has an upstream"},
	{"error: branch topic has no upstream", "error: tag topic has no upstream"},
	{"error: connection refused (10.0.0.1:80)", "error: connection reset (10.0.0.1:80)"},
	{"error: cannot open (a.txt)", "error: cannot read (a.txt)"},
	{"error: handshake timeout (30s)", "error: handshake mismatch (30s)"},
	{"error: refused (a.txt) and retried (b.txt)", "error: moved (a.txt) and deleted (b.txt)"},
	{"error: module graph has cycles", "error: module cache has cycles"},
	{"error: host key is wrong", "error: host name is wrong"},
	{"error: container billing is unhealthy", "error: container starting is unhealthy"},
	{"error: node down is reported", "error: node lost is reported"},
	{"error: cannot connect to the server", "error: cannot listen to the server"},
	{"disk quota exceeded", "no space left on device"},
	// Embeddings of these pairs are closer than those of most rewordings of one problem (docs/learning.md).
	{"error: connection refused by server", "error: connection reset by server"},
	{"error: cannot open database connection for writing", "error: cannot open database connection for reading"},
	{"error: certificate has expired", "error: certificate is not yet valid"},
	{"error: out of memory", "error: out of disk space"},
	{"undefined reference to symbol", "multiple definition of symbol"},
	{"error: package version is too new", "error: package version is too old"},
	{"fatal: could not read from remote repository", "fatal: could not write to remote repository"},
	{"error: file already exists", "error: file does not exist"},
	{"error: table is locked for update", "error: table is not locked for update"},
	{"cannot start service: port is in use", "cannot stop service: port is in use"},
	{"permission denied while reading config", "permission denied while writing cache"},
	{"error: missing header file", "error: missing library file"},
	{"login failed: wrong password", "login failed: unknown user"},
	{"a.sh: line 3: HOME: unbound variable", "a.sh: line 3: HOME: readonly variable"},
	{"error: text is not valid utf8", "error: text is not valid latin1"},
	{"error: unknown digest sha1", "error: unknown digest sha256"},
	{"psql: FATAL: not allowed here", "psql: PANIC: not allowed here now"},
	{"package example.com/a\n\timports example.com/a/b: build constraints exclude all Go files in /w/b",
		"package example.com/a\n\timports example.com/a/b: import path has a dot in it"},
	{"build failed in stage compile", "build failed in stage link"},
}

func TestOneProblemHasOneSignature(t *testing.T) {
	for name, texts := range sameProblem {
		first := signature.OfError(texts[0])
		require.False(t, first.IsZero(), name)
		for _, text := range texts[1:] {
			other := signature.OfError(text)
			require.Truef(t, signature.Same(first, other), "%s:\n%q\n%q", name, first.Words, other.Words)
		}
	}
}

func TestDifferentProblemsHaveDifferentSignatures(t *testing.T) {
	for _, pair := range otherProblem {
		a, b := signature.OfError(pair[0]), signature.OfError(pair[1])
		require.Falsef(t, signature.Same(a, b), "%q\n%q\n%q\n%q", pair[0], pair[1], a.Words, b.Words)
	}
	var all []signature.Signature
	var names []string
	for name, texts := range sameProblem {
		all, names = append(all, signature.OfError(texts[0])), append(names, name)
	}
	for i := range all {
		for j := range i {
			same := strings.HasPrefix(names[i], "go undefined") && strings.HasPrefix(names[j], "go undefined") ||
				strings.HasPrefix(names[i], "gcc") && strings.HasPrefix(names[j], "gcc") && all[i].Key() == all[j].Key()
			if !same {
				require.Falsef(t, signature.Same(all[i], all[j]), "%s and %s: %q", names[i], names[j], all[i].Words)
			}
		}
	}
}

func TestSignatureOfAnyOccurrence(t *testing.T) {
	word := rapid.StringMatching(`[a-z]{3,10}`)
	rapid.Check(t, func(t *rapid.T) {
		occurrence := func(label string) string {
			return fmt.Sprintf("/%s/%s.go:%d:%d: cannot load '%s' from 0x%x after %dms (build %d)",
				word.Draw(t, label+"dir"), word.Draw(t, label+"file"), rapid.IntRange(1, 9999).Draw(t, label+"line"),
				rapid.IntRange(1, 99).Draw(t, label+"col"), word.Draw(t, label+"name"),
				rapid.Uint32().Draw(t, label+"hex"), rapid.IntRange(1, 99999).Draw(t, label+"ms"),
				rapid.IntRange(0, 1_000_000).Draw(t, label+"n"))
		}
		a, b := signature.OfError(occurrence("a")), signature.OfError(occurrence("b"))
		require.Equal(t, a.Key(), b.Key())
		require.Equal(t, a.Text, b.Text)
	})
}

func TestSignatureIsTotalAndSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := signature.OfError(rapid.String().Draw(t, "a"))
		b := signature.OfError(rapid.String().Draw(t, "b"))
		require.Equal(t, signature.Same(a, b), signature.Same(b, a))
	})
}

func TestValuesOfOccurrence(t *testing.T) {
	s := signature.OfError("ld: cache mismatch in /home/ana/.cache/build (expected 12, got 14)")
	path, ok := s.Of(signature.Path, 0)
	require.True(t, ok)
	require.Equal(t, "/home/ana/.cache/build", path)
	second, _ := s.Of(signature.Number, 1)
	require.Equal(t, "14", second)
	s = signature.OfError("src/a.c:12:5: fatal error: zlib.h: No such file or directory")
	path, _ = s.Of(signature.Path, 0)
	require.Equal(t, "src/a.c", path)
	name, _ := signature.OfError("npm ERR! missing script: build").Of(signature.Name, 0)
	require.Equal(t, "build", name)
}

func TestPythonErrorHasFileOfLastFrame(t *testing.T) {
	s := signature.OfError("Traceback (most recent call last):\n  File \"/srv/run.py\", line 3, in " +
		"<module>\n    go()\n" +
		"  File \"lib/harbour.py\", line 8, in go\n    return 1 / 0\nZeroDivisionError: division by zero\n")
	path, ok := s.Of(signature.Path, 0)
	require.True(t, ok)
	require.Equal(t, "lib/harbour.py", path)
	require.True(t, signature.Same(s, signature.OfError("ZeroDivisionError: division by zero")))
	require.Equal(t, s, signature.OfRecord(s.Line+s.OtherLines(100)), "a record keeps the file")
	for _, library := range []string{"/usr/lib/python3.11/json/encoder.py", "/srv/env/lib/python3.12/site-packages/q.py",
		"/opt/py/lib/python3.11/json/__init__.py", "C:\\Python311\\Lib\\json\\encoder.py"} {
		s = signature.OfError("Traceback (most recent call last):\n  File \"/srv/run.py\", line 3, in <module>\n    go()\n" +
			"  File \"/srv/harbour.py\", line 8, in go\n    dumps(x)\n  File \"" + library + "\", line 231, in dumps\n" +
			"    return 1 / 0\nZeroDivisionError: division by zero\n")
		path, _ = s.Of(signature.Path, 0)
		require.Equal(t, "/srv/harbour.py", path, "the innermost file of the project")
	}
	s = signature.OfError("  File \"/srv/python/run.py\", line 1, in <module>\n  File \"/srv/python/a.py\", line 2\n" +
		"ValueError: no code")
	path, _ = s.Of(signature.Path, 0)
	require.Equal(t, "/srv/python/a.py", path, "a directory of the project")
	s = signature.OfError("  File \"/usr/lib/python3.11/runpy.py\", line 1\nValueError: no code")
	path, _ = s.Of(signature.Path, 0)
	require.Equal(t, "/usr/lib/python3.11/runpy.py", path, "there is no other")
	s = signature.OfError("  File \"<string>\", line 1\nSyntaxError: invalid syntax")
	require.Empty(t, s.Values, "not a file")
}

func TestTruncatedTextIsTheSameProblem(t *testing.T) {
	whole := "error: failed to solve process because the builder has no network access in this sandbox"
	require.True(t, signature.Same(signature.OfError(whole), signature.OfError(whole[:60]+normalize.CutMark)))
	require.False(t, signature.Same(signature.OfError(whole), signature.OfError(whole[:60])))
	require.False(t, signature.Same(signature.OfError("error: failed to solve"), signature.OfError(whole)))
}

func TestRecordKeepsSignature(t *testing.T) {
	for name, texts := range sameProblem {
		s := signature.OfError(texts[0])
		require.True(t, signature.Same(s, signature.Parse(s.Text)), "%s: %q, %q", name, s.Words, s.Text)
	}
}

// What the other lines name is known too, that of lines which say error first. A record keeps it in one line.
func TestOtherLinesHaveValues(t *testing.T) {
	s := signature.OfError("Enumerating objects: 4, done.\nremote: error: refusing to update checked out branch: " +
		"refs/heads/main\nTo ../depot\nerror: failed to push some refs to '../depot/x'\n")
	require.Equal(t, "remote: error: refusing to update checked out branch: refs/heads/main", s.Line)
	require.Equal(t, []signature.Value{{Kind: signature.Name, Text: "../depot/x"},
		{Kind: signature.Path, Text: "../depot"}}, s.Other)
	back := signature.OfRecord(s.Line + s.OtherLines(100))
	require.Equal(t, s, back)
	require.Equal(t, s.Other[:1], signature.OfRecord(s.Line+s.OtherLines(25)).Other, "what fits")
	require.Empty(t, signature.OfRecord(s.Line).Other)

	rapid.Check(t, func(t *rapid.T) {
		s := signature.OfError(strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"error: no 'a b'\n",
			"at /x/y.go:3\n", "q\n", "fatal: no \"z ↵ y\"\n", "see http://h/p\n"}), 1, 9).Draw(t, "lines"), ""))
		back := signature.OfRecord(s.Line + s.OtherLines(rapid.IntRange(0, 200).Draw(t, "limit")))
		require.LessOrEqual(t, len(back.Other), len(s.Other))
		for i, v := range back.Other {
			require.Equal(t, s.Other[i], v)
		}
	})
}

func TestIntentsAreLabels(t *testing.T) {
	a, b := signature.OfIntent("Please set up my project"), signature.OfIntent("set up the projects")
	require.Equal(t, a.Key(), b.Key())
	require.NotEqual(t, a.Key(), signature.OfIntent("set the project").Key())
}

func TestWhatLooksLikeAnError(t *testing.T) {
	for _, text := range []string{"ld: cache mismatch in /a/b", "main.go:3:4: undefined: x", "KeyError: 'x'"} {
		require.True(t, signature.LooksLikeError(text), text)
	}
	for _, text := range []string{"Please set up my project", "I prefer Go for backend services", "clean the house"} {
		require.False(t, signature.LooksLikeError(text), text)
	}
}

func BenchmarkOfError(b *testing.B) {
	text := sameProblem["linker symbol"][0]
	for b.Loop() {
		signature.OfError(text)
	}
}

// The marks at the beginning of a quoted piece of a file tell what the file contains. Names and operators are values.
func TestMarksOfAQuotedPieceIdentifyAProblem(t *testing.T) {
	same := func(a, b string) bool { return signature.Same(signature.OfError(a), signature.OfError(b)) }
	const list = `ReadError: feed.dat: bad character, "[[[ section"... is not a table`
	require.True(t, same(list, `ReadError: other.dat: bad character, "[[[ section"... is not a table`))
	require.True(t, same(list, `ReadError: other.dat: bad character, "[[[ other"... is not a table`))
	require.False(t, same(list, `ReadError: other.dat: bad character, "{{ section"... is not a table`))
	require.True(t, same(`builder: error: '==' does not apply`, `builder: error: '&&' does not apply`))
	require.True(t, same(`builder: error: no part '<east>'`, `builder: error: no part 'west'`))
	s := signature.OfError(list)
	require.True(t, signature.Same(s, signature.Parse(s.Text)), "a stored signature is the same problem")
}

// The number of the line is a value that follows its path.
func TestLineOfAPosition(t *testing.T) {
	for text, want := range map[string]string{
		"./b.go:12:7: limit redeclared in this block":     "12",
		"a/b.ts(7,3): error TS2304: Cannot find name 'x'": "7",
		"main.c:9: error: expected declaration":           "9",
	} {
		got, ok := signature.OfError(text).Of(signature.Line, 0)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	_, ok := signature.OfError("cannot open a.txt").Of(signature.Line, 0)
	require.False(t, ok)
}
