package families

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

func indexOf(s string, c byte) int { return strings.IndexByte(s, c) }

func countLines(s string) int { return strings.Count(s, "\n") }

var (
	undefinedName  = regexp.MustCompile(`undefined: (\w+)`)
	placeForm      = regexp.MustCompile(`([\w./-]+\.go):(\d+):\d+`)
	changedDir     = regexp.MustCompile(`^cd (\S+) &&`)
	suggestedForm  = regexp.MustCompile(`include ['‘]<([\w.]+)>['’]`)
	functionForm   = regexp.MustCompile(`declaration of (?:built-in )?function ['‘](\w+)['’]`)
	neededForm     = regexp.MustCompile(`No rule to make target '([^']+)'`)
	gitFileForm    = regexp.MustCompile(`(?m)^\t(\S+)$`)
	refspecForm    = regexp.MustCompile(`src refspec (\S+) does not match`)
	gitDirForm     = regexp.MustCompile(`^git -C (\S+)`)
	importForm     = regexp.MustCompile(`cannot import name '(\w+)' from '(\w+)'`)
	existsForm     = regexp.MustCompile(`File exists: '([^']+)'`)
	noSuchForm     = regexp.MustCompile(`No such file or directory: '([^']+)'`)
	redirectedForm = regexp.MustCompile(`^sqlite3 (?:-bail )?(\S+) < (\S+)`)
	uniqueForm     = regexp.MustCompile(`failed: (\w+)\.`)
	tableForm      = regexp.MustCompile(`table (\w+) already exists`)
	publicKeyForm  = regexp.MustCompile(`(\S+)\.pub\b`)
	bundleForm     = regexp.MustCompile(`-(?:CAfile|trusted) (\S+) (\S+)`)
	notFoundForm   = regexp.MustCompile(`(\S+): not found`)
	scriptForm     = regexp.MustCompile(`^(\./\S+)`)
	noModuleForm   = regexp.MustCompile(`Cannot find module '([^']+)'`)
	boundForm      = regexp.MustCompile("the trait bound `(\\w+): ([\\w:]+)` is not satisfied")
	noFileForm     = regexp.MustCompile("file not found for module `(\\w+)`")
	createForm     = regexp.MustCompile(`create file "([^"]+)" or`)
	packageForm    = regexp.MustCompile(`package ([\w.]+) does not exist`)
)

// submatches calls f with the groups of each match of a form in a text.
func submatches(form *regexp.Regexp, text string, f func(m []string) []Plan) (out []Plan) {
	for _, m := range form.FindAllStringSubmatch(text, -1) {
		out = append(out, f(m)...)
	}
	return out
}

// inOutput makes plans from the groups of each match in the output, inCommand from those in the command.
func inOutput(form *regexp.Regexp, f func(s Seen, m []string) []Plan) func(s Seen) []Plan {
	return func(s Seen) []Plan {
		return submatches(form, s.Output, func(m []string) []Plan { return f(s, m) })
	}
}

func inCommand(form *regexp.Regexp, f func(s Seen, m []string) []Plan) func(s Seen) []Plan {
	return func(s Seen) []Plan {
		return submatches(form, s.Command, func(m []string) []Plan { return f(s, m) })
	}
}

// forEach makes a plan for each value.
func forEach(values []string, f func(v string) Plan) (out []Plan) {
	for _, v := range values {
		out = append(out, f(v))
	}
	return out
}

var forScripts = []string{"sh"}

// situationsRepairs are the repairs that the actor has for the set situations in addition to the catalogue.
var situationsRepairs = []repair{
	{forGo, inOutput(undefinedName, func(s Seen, m []string) []Plan {
		return forEach(s.with(".go"), func(file string) Plan {
			return Plan{run(`go list std | grep -v -e internal -e vendor | grep -E '(^|/)%s$'`, m[1]),
				run(`sed -i '0,/^import (/s##&\n\t"{output}"#' %s`, file)}
		})
	})},
	{forGo, inOutput(undefinedName, func(s Seen, m []string) []Plan {
		return forEach(s.with(".go"), func(file string) Plan { return Plan{line(file, "var "+m[1]+" any")} })
	})},
	{forGo, inOutput(placeForm, func(s Seen, m []string) []Plan {
		file := strings.TrimPrefix(m[1], "./")
		return []Plan{{run("sed -i '%sd' %s", m[2], file)}, {run("sed -i '%ss,^,// ,' %s", m[2], file)}}
	})},
	{forGo, func(s Seen) []Plan {
		dir := ""
		if m := changedDir.FindStringSubmatch(s.Command); m != nil {
			dir = m[1]
		}
		return []Plan{{run("go mod edit -go=1.21 %sgo.mod", dir)}, {run("go mod edit -toolchain=none %sgo.mod", dir)}}
	}},
	{forGo, always("go get go@latest")},
	{forGo, always("go clean -cache -testcache -n")},

	{forC, inOutput(suggestedForm, func(s Seen, m []string) []Plan {
		return forEach(s.with(".c"), func(file string) Plan { return Plan{run("sed -i '1i #include <%s>' %s", m[1], file)} })
	})},
	{forC, inOutput(functionForm, func(s Seen, m []string) []Plan {
		return forEach(s.with(".c"), func(file string) Plan { return Plan{run("sed -i '1i extern %s;' %s", m[1], file)} })
	})},
	{forC, each(ending(".c"), "sed -i '1i #include <unistd.h>' %s")},
	{forC, each(ending(".c"), "sed -i '1i #define _GNU_SOURCE' %s")},
	{forMake, inOutput(neededForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("find . -name %s", path.Base(m[1])), run("sed -i 's#%s#{output}#' Makefile", m[1])},
			{run("mkdir -p %s && touch %s", path.Dir(m[1]), m[1])}, {run("sed -i 's#%s##' Makefile", m[1])}}
	})},
	{forMake, always("rm -f *.out")},

	{forGit, inOutput(gitFileForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("git checkout -q -- %s", m[1])}, {run("rm -f %s", m[1])}, {run("mv %[1]s %[1]s.saved", m[1])},
			{run("git add %s", m[1])}}
	})},
	{forGit, always("git reset -q --hard")},
	{forGit, always("git clean -fdq")},
	{forGit, always("git pull -q --rebase")},
	{forGit, always("git push -q --force")},
	{forGit, always("git fetch -q && git reset -q --hard @{u}")},
	{forGit, always("git fetch -q --tags")},
	{forGit, inOutput(refspecForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("git branch -m %s", m[1])}, {run("git checkout -q %s", m[1])}, {run("git tag -d %s", m[1])}}
	})},
	{forGit, inCommand(gitDirForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("rm -f %[1]s/.git/index && git -C %[1]s reset -q", m[1])}, {run("rm -rf %s/.git", m[1])},
			{run("git -C %s fsck", m[1])}, {run("git -C %s checkout -q -- .", m[1])}}
	})},

	{forPython, inOutput(importForm, func(s Seen, m []string) []Plan {
		return forEach(s.with(".py"), func(file string) Plan {
			return Plan{run("basename -s .py $(grep -rl --include='*.py' 'def %s(' .)", m[1]),
				run("sed -i 's/^from %[1]s import %[2]s/from {output} import %[2]s/' %[3]s", m[2], m[1], file)}
		})
	})},
	{forPython, inOutput(importForm, func(_ Seen, m []string) []Plan {
		return []Plan{{line(m[2]+".py", m[1]+" = None")}, {run("rm -rf __pycache__ %s.pyc", m[2])},
			{run("touch __init__.py")}}
	})},
	{forPython, inOutput(existsForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("mv %[1]s %[1]s.old", m[1])}, {run("rm -rf %s", m[1])}, {run("rmdir %s", m[1])},
			{run("chmod 755 %s", m[1])}}
	})},
	{forPython, inOutput(noSuchForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("gunzip -k %s.gz", m[1])}, {run("touch %s", m[1])},
			{run("find . -name %s", path.Base(m[1])), run("cp {output} %s", m[1])}, {run("mkdir -p %s", path.Dir(m[1]))}}
	})},

	{[]string{"sqlite3"}, inCommand(redirectedForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("sed -i 's/^INSERT INTO/INSERT OR IGNORE INTO/' %s", m[2])},
			{run("sed -i 's/^CREATE TABLE /CREATE TABLE IF NOT EXISTS /' %s", m[2])}, {run("rm -f %s", m[1])},
			{run("sqlite3 %s VACUUM", m[1])}}
	})},
	{[]string{"sqlite3"}, inCommand(redirectedForm, func(s Seen, m []string) (out []Plan) {
		for _, table := range matched(uniqueForm)(s) {
			out = append(out, Plan{run("sqlite3 %s 'DELETE FROM %s'", m[1], table)},
				Plan{run("sqlite3 %s 'REINDEX %s'", m[1], table)})
		}
		for _, table := range matched(tableForm)(s) {
			out = append(out, Plan{run("sqlite3 %s 'DROP TABLE %s'", m[1], table)},
				Plan{run("sqlite3 %s 'ALTER TABLE %s RENAME TO %[2]s_old'", m[1], table)})
		}
		return out
	})},

	{[]string{"ssh-keygen"}, inCommand(publicKeyForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("ssh-keygen -y -f %[1]s > %[1]s.pub", m[1])}, {run("touch %s.pub", m[1])},
			{run("cp %[1]s %[1]s.pub", m[1])}, {run("chmod 600 %s", m[1])}}
	})},
	{forOpenssl, inCommand(bundleForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("find . -name '*.crt'"), run("cat {output} >> %s", m[1])}, {run("cat %s >> %s", m[2], m[1])},
			{run("openssl x509 -in %[1]s -out %[1]s", m[2])}, {run("openssl rehash .")}}
	})},
	{forOpenssl, each(ending(".pem", ".crt"), `sed -i 's/\r$//' %s`)},
	{forOpenssl, each(ending(".pem", ".crt"), "echo >> %s")},

	{forScripts, inOutput(notFoundForm, func(s Seen, m []string) (out []Plan) {
		for _, settings := range matchedIn(sourcedForm, s.Command) {
			out = append(out, Plan{run("dirname $(find . -type f -name %s)", m[1]), line(settings, "PATH=$PATH:{output}")},
				Plan{line(settings, "PATH=/usr/local/bin:$PATH")}, Plan{line(settings, "set +e")})
		}
		return append(out, Plan{run("chmod +x $(find . -type f -name %s)", m[1])})
	})},
	{forScripts, inCommand(scriptForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run(`sed -i 's/| xargs /| xargs -d "\\n" /' %s`, m[1])}, {run("sed -i 's/| xargs /| xargs -r /' %s",
			m[1])}, {run("sed -i 's/^find /find -L /' %s", m[1])}, {run("sed -i 's,^#!/bin/sh,#!/bin/bash,' %s", m[1])}}
	})},
	{forScripts, inCommand(scriptForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run(`sed -i 's/-name \(\*[^ ]*\)/-name "\1"/' %s`, m[1])}, {run(`sed -i 's/\$\([1-9]\)/"$\1"/g' %s`,
			m[1])}, {run(`find . -name "*'*" -delete`)}}
	})},
	{forScripts, func(s Seen) []Plan {
		return forEach(s.with(".log", ".csv", ".dat", ".txt"), func(file string) Plan { return Plan{run("rm -f %s", file)} })
	}},

	{forNode, inOutput(noModuleForm, func(s Seen, m []string) (out []Plan) {
		base := path.Base(m[1])
		for _, script := range s.with(".js")[:min(1, len(s.with(".js")))] {
			out = append(out, Plan{run("find . -name %s.js", base), run("sed -i 's#%s#{output}#' %s", m[1], script)},
				Plan{run("sed -i 's#%s#./%s#' %s", m[1], base, script)})
		}
		return append(out, Plan{run("find . -type d -name %s", base),
			run("mkdir -p node_modules && cp -r {output} node_modules/")}, Plan{run("touch %s.js", base)})
	})},
	{forNode, always("npm install --offline")},

	{forRust, inOutput(boundForm, func(s Seen, m []string) []Plan {
		trait := m[2][strings.LastIndex(m[2], ":")+1:]
		return forEach(s.with(".rs"), func(file string) Plan {
			return Plan{run(`sed -i 's/^pub struct %s/#[derive(%s)]\n&/' %s`, m[1], trait, file)}
		})
	})},
	{forRust, inOutput(boundForm, func(s Seen, m []string) []Plan {
		return forEach(s.with(".rs"), func(file string) Plan { return Plan{line(file, "unsafe impl Send for "+m[1]+" {}")} })
	})},
	{forRust, inOutput(noFileForm, func(s Seen, m []string) (out []Plan) {
		for _, wanted := range matchedIn(createForm, s.Output) {
			out = append(out, Plan{run("find . -name %s.rs", m[1]), run("cp {output} %s", wanted)},
				Plan{run("touch %s", wanted)})
		}
		for _, file := range s.with("lib.rs")[:min(1, len(s.with("lib.rs")))] {
			out = append(out, Plan{run("sed -i '/^pub mod %s;/d' %s", m[1], file)})
		}
		return out
	})},
	{forRust, always("rm -f out.rmeta")},
	{forRust, each(ending(".rs"), "rustfmt %s")},
	{forRust, each(ending(".rs"), "sed -i '1i #![allow(dead_code)]' %s")},
	{forRust, each(ending(".rs"), "sed -i 's/^pub struct/#[derive(Debug)]\\n&/' %s")},

	{forJava, inOutput(packageForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("dirname $(find . -type d -name %s)", m[1]), line("javac.opts", "-sourcepath {output}")},
			{line("javac.opts", "-sourcepath .")}, {line("javac.opts", "-cp lib")}, {run("mkdir -p %s", m[1])}}
	})},
	{forJava, each(ending(".java"), "sed -i '/^import/d' %s")},
	{forJava, each(ending(".java"), "sed -i '/^package/d' %s")},
	{forJava, always("mkdir -p out")},

	{[]string{"patch"}, each(allPaths, `sed -i 's/\r$//' %s`)},
	{[]string{"patch"}, each(allPaths, "chmod 644 %s")},
	{[]string{"patch"}, each(ending(".patch"), "patch -R -p0 -s -f -i %s")},
	{[]string{"patch"}, each(ending(".patch"), "sed -i 's/ *$//' %s")},
	{[]string{"patch"}, always("find . -name '*.rej' -delete")},
}

func matchedIn(form *regexp.Regexp, text string) (out []string) {
	for _, m := range form.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(out, m[1]) {
			out = append(out, m[1])
		}
	}
	return out
}
