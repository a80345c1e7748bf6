package families

import (
	"regexp"
	"strings"
)

var (
	verifyingForm   = regexp.MustCompile(`verifying ([^@\s]+)@(\S+): checksum`)
	failedForm      = regexp.MustCompile(`FAIL\s+[\w./-]+/(\w+)\s+[\d.]+s`)
	goldenForm      = regexp.MustCompile(`(testdata/[\w.-]+) differs`)
	unusedForm      = regexp.MustCompile(`([\w./-]+\.go):(\d+):\d+: declared and not used: (\w+)`)
	mangledForm     = regexp.MustCompile("undefined reference to [`'‘](\\w+)\\(")
	unknownForm     = regexp.MustCompile(`option ['‘](-[\w-]+)['’]`)
	unclosedForm    = regexp.MustCompile(`([\w.]+):(\d+): \*\*\* unterminated call`)
	noRemoteForm    = regexp.MustCompile(`'([\w-]+)' does not appear`)
	groupForm       = regexp.MustCompile(`'refs/heads/([\w-]+)' exists`)
	noPackageForm   = regexp.MustCompile(`No module named '(\w+)'`)
	importPathForm  = regexp.MustCompile(`PYTHONPATH=(\S+)`)
	collectionsForm = regexp.MustCompile(`module 'collections' has no attribute '(\w+)'`)
	startForm       = regexp.MustCompile(`Start directory is not importable: '([^']+)'`)
	memberForm      = regexp.MustCompile("adding `([^`]+)` to the `workspace.members` .* located at: (\\S+)")
	currentForm     = regexp.MustCompile(`current:\s+(\S+)`)
	mutableForm     = regexp.MustCompile("cannot borrow `(\\w+)` as mutable, as")
	exceptionForm   = regexp.MustCompile(`unreported exception (\w+)`)
	sharedForm      = regexp.MustCompile(`shared libraries: (\S+): cannot open`)
	configForm      = regexp.MustCompile(`file\s+provided\s+by\s+"(\w+)"`)
	initialForm     = regexp.MustCompile(`cmake -C (\S+) -S \. -B (\S+)`)
	globalForm      = regexp.MustCompile(`Global symbol "\$(\w+)" .* at (\S+) line (\d+)`)
	filterForm      = regexp.MustCompile(`-f (\S+) (\S+)`)
	badOptionForm   = regexp.MustCompile(`(\S+): line (\d+): Bad configuration option: (\w+)`)
	changedForm     = regexp.MustCompile(`(?m)^(\S+): FAILED$`)
	sumsForm        = regexp.MustCompile(`sha256sum -c .*?(\S+)$`)

	forThird  = []string{"g++", "cmake", "sqlite3", "perl", "jq", "ssh", "sha256sum", "cargo", "rustc", "javac"}
	forSqlite = []string{"sqlite3"}
	forCmake  = []string{"cmake"}
	forCpp    = []string{"g++"}
	forPerl   = []string{"perl"}
	forJq     = []string{"jq"}
)

// thirdRepairs are the repairs that the actor has for the set third in addition to the catalogue.
var thirdRepairs = []repair{
	{forThird, each(allPaths, "touch %s")},
	{forThird, each(allPaths, "chmod 644 %s")},
	{forThird, each(allPaths, `sed -i 's/\r$//' %s`)},

	{forGo, inOutput(verifyingForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run(`sed -i '\#^%s #d' go.sum && go mod tidy`, m[1])}, {run("go get %s@%s", m[1], m[2])},
			{run("go mod edit -droprequire=%s", m[1])}, {run("go mod edit -exclude=%s@%s", m[1], m[2])}}
	})},
	{forGo, always("go clean -modcache")},
	{forGo, always("go mod download")},
	{forGo, always("go clean -testcache")},
	{forGo, inOutput(failedForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("go test ./%s -update", m[1])}, {run("go test ./%s -count=1", m[1])},
			{run("go test ./%s -short", m[1])}}
	})},
	{forGo, inOutput(goldenForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("rm -f $(find . -path '*/%s')", m[1])}, {run(`sed -i 's/\r$//' $(find . -path '*/%s')`, m[1])}}
	})},
	{forGo, inOutput(unusedForm, func(_ Seen, m []string) []Plan {
		file := strings.TrimPrefix(m[1], "./")
		return []Plan{{run(`sed -i '%ss/%s := /_ = /' %s`, m[2], m[3], file)}, {run("sed -i '%sd' %s", m[2], file)},
			{run("sed -i '%ss,^,// ,' %s", m[2], file)}, {run("sed -i '%ss/ := / = /' %s", m[2], file)}}
	})},

	{forCpp, each(ending(".cpp", ".cc"), `sed -i 's/^#include "\(.*\)"/extern "C" {\n#include "\1"\n}/' %s`)},
	{forCpp, each(ending(".cpp", ".cc"), "sed -i '1i #include <cmath>' %s")},
	{forCpp, each(ending(".cpp", ".cc"), "sed -i '1i using namespace std;' %s")},
	{forCpp, inOutput(mangledForm, func(s Seen, m []string) []Plan {
		return forEach(s.with(".cpp", ".cc"), func(file string) Plan {
			return Plan{run(`sed -i 's/\b%s(/::%[1]s(/' %s`, m[1],
				file)}
		})
	})},
	{forCpp, always("ranlib $(find . -name 'lib*.a')")},

	{forC, inOutput(unknownForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("sed -i '/^%s$/d' %s", m[1], options)}, {line(options, "-Wno-unknown-warning-option")},
			{run("sed -i 's/^%s$/%[1]s=1/' %s", m[1], options)}}
	})},

	{forMake, inOutput(unclosedForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("sed -i '%ss/$/)/' %s", m[2], m[1])}, {run("sed -i '%ss/$/}/' %s", m[2], m[1])},
			{run("sed -i '%sd' %s", m[2], m[1])}, {run("sed -i '%ss/:=/=/' %s", m[2], m[1])}}
	})},

	{forGit, inOutput(noRemoteForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("git remote"), run("git remote rename {output} %s", m[1])},
			{run("git remote add %s ../%[1]s.git", m[1])}, {run("git config remote.pushDefault %s", m[1])},
			{run("git remote set-url %s ../%[1]s.git", m[1])}}
	})},
	{forGit, inOutput(groupForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("git branch -m %[1]s %[1]s-old", m[1])}, {run("git branch -q -D %s", m[1])},
			{run("rm -f .git/refs/heads/%s.lock", m[1])}, {run("git checkout -q %s", m[1])}}
	})},
	{forGit, always("git pack-refs --all")},
	{forGit, always("git fetch -q --all")},
	{forGit, always("git fetch -q --tags")},
	{forGit, always("git fetch -q --unshallow --tags")},
	{forGit, always("git pull -q")},
	{forGit, always("git rebase --abort")},
	{forGit, always("git rebase --skip")},
	{forGit, always("git rebase --continue")},
	{forGit, always("git merge --abort")},
	{forGit, always("git reset -q --hard")},

	{forPython, inOutput(noPackageForm, func(s Seen, m []string) (out []Plan) {
		for _, dir := range matchedIn(importPathForm, s.Command) {
			out = append(out, Plan{run("python3 -m pip install -q --no-index --find-links wheels -t %s %s", dir, m[1])})
		}
		return append(out, Plan{run("python3 -m pip install -q --no-index -t . %s", m[1])}, Plan{run("mkdir -p %s", m[1])})
	})},
	{forPython, inOutput(collectionsForm, func(s Seen, m []string) []Plan {
		return forEach(s.with(".py"), func(file string) Plan {
			return Plan{run(`sed -i 's/collections\.%[1]s/collections.abc.%[1]s/' %[2]s`, m[1], file)}
		})
	})},
	{forPython, inOutput(collectionsForm, func(s Seen, m []string) []Plan {
		return forEach(s.with(".py"), func(file string) Plan {
			return Plan{run(`sed -i 's/collections\.%[1]s/typing.%[1]s/' %[2]s`, m[1], file)}
		})
	})},
	{forPython, each(ending(".py"), "sed -i '1i import collections.abc' %s")},
	{forPython, each(ending(".py"), `sed -i 's/json\.dumps(\([^()]*\))/json.dumps(\1, default=str)/' %s`)},
	{forPython, each(ending(".py"), `sed -i 's/json\.dumps(\([^()]*\))/json.dumps(\1, skipkeys=True)/' %s`)},
	{forPython, inOutput(startForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("touch %s/__init__.py", m[1])}, {run("chmod 755 %s", m[1])}, {run("mkdir -p %s", m[1])},
			{run("touch %s/conftest.py", m[1])}}
	})},

	{forNode, always("npm install --package-lock-only")},
	{forNode, always("rm -f package-lock.json")},
	{forNode, always("npm cache clean --force")},
	{forNode, always("npm rebuild")},
	{forNode, always("npm pkg set type=commonjs")},
	{forNode, each(ending(".js"), `sed -i "s#from '\(\./[^']*\)'#from '\1.js'#" %s`)},
	{forNode, each(ending(".js"), `sed -i "s#from '\(\./[^']*\)'#from '\1/index.js'#" %s`)},

	{forCargo, inOutput(memberForm, func(_ Seen, m []string) []Plan {
		return []Plan{{replace(m[2], "members = [", "members = [\""+m[1]+"\", ")}, {line(m[2], "[package]")},
			{run(`sed -i 's/^resolver = .*/resolver = "1"/' %s`, m[2])}}
	})},
	{forCargo, each(matched(currentForm), `sed -i 's/^edition = .*/edition = "2018"/' %s`)},
	{forCargo, func(s Seen) []Plan {
		return forEach(matched(currentForm)(s), func(file string) Plan { return Plan{line(file, "[workspace]")} })
	}},
	{forCargo, always("cargo clean")},
	{forCargo, always("cargo update --offline")},
	{forCargo, always("rm -f Cargo.lock")},

	{forRust, inOutput(mutableForm, func(s Seen, m []string) []Plan {
		return forEach(s.with(".rs"), func(file string) Plan {
			return Plan{run(`sed -i 's/let %[1]s\b/let mut %[1]s/' %[2]s`, m[1], file)}
		})
	})},
	{forRust, inOutput(mutableForm, func(s Seen, m []string) []Plan {
		return forEach(s.with(".rs"), func(file string) Plan {
			return Plan{run(`sed -i 's/ %[1]s\./ (\&mut %[1]s)./' %[2]s`, m[1], file)}
		})
	})},
	{forRust, inOutput(mutableForm, func(s Seen, m []string) []Plan {
		return forEach(s.with(".rs"), func(file string) Plan {
			return Plan{run(`sed -i 's/let %[1]s = /let %[1]s: \&mut _ = \&mut /' %[2]s`, m[1], file)}
		})
	})},
	{forRust, each(ending(".rs"), "rustfmt %s")},
	{forRust, each(ending(".rs"), "sed -i '1i #![allow(unused_mut)]' %s")},

	{forJava, inOutput(exceptionForm, func(s Seen, m []string) []Plan {
		return forEach(s.with(".java"), func(file string) Plan {
			return Plan{run("sed -i 's/) {$/) throws %s {/' %s", m[1],
				file)}
		})
	})},
	{forJava, inOutput(exceptionForm, func(s Seen, m []string) []Plan {
		return forEach(s.with(".java"), func(file string) Plan {
			return Plan{run("sed -i '1i import java.io.%s;' %s", m[1],
				file)}
		})
	})},
	{forJava, each(ending(".java"), "sed -i '/^import/d' %s")},
	{forJava, each(ending(".java"), "sed -i 's/^public class/class/' %s")},
	{forJava, each(ending(".java"), "sed -i 's/public void/public static void/' %s")},

	{forScripts, each(ending(".sh"), "sed -i '1s,^#!/bin/sh,#!/bin/bash,' %s")},
	{forScripts, each(ending(".sh"), "sed -i '1s,^#!.*,#!/usr/bin/env perl,' %s")},
	{forScripts, each(ending(".sh"), "sed -i 's/pipefail/errexit/' %s")},
	{forScripts, each(ending(".sh"), `sed -i 's/\$\([1-9]\)/"$\1"/g' %s`)},
	{forScripts, inOutput(sharedForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("find . -name '%s.*'", m[1]), run("ln -s $(basename {output}) $(dirname {output})/%s", m[1])},
			{run("touch %s", m[1])}, {run("chmod +x $(find . -name '%s*')", m[1])}, {run("mkdir -p lib && touch lib/%s", m[1])}}
	})},

	{forSqlite, func(s Seen) []Plan {
		return forEach(databaseForm.FindAllString(s.Command, 1), func(db string) Plan {
			return Plan{run("mv %[1]s %[1]s.sql && sqlite3 %[1]s < %[1]s.sql", db)}
		})
	}},
	{forSqlite, each(ending(".db", ".sqlite"), "rm -f %s")},
	{forSqlite, each(ending(".db", ".sqlite"), "sqlite3 %s VACUUM")},
	{forSqlite, each(ending(".db", ".sqlite"), "sqlite3 %s 'PRAGMA integrity_check'")},
	{forSqlite, each(ending(".db", ".sqlite"), "mv %[1]s %[1]s.gz && gunzip %[1]s.gz")},

	{forCmake, inCommand(initialForm, func(s Seen, m []string) (out []Plan) {
		for _, name := range matched(configForm)(s) {
			out = append(out, Plan{run("dirname $(find $PWD -name %sConfig.cmake)", name),
				line(m[1], "set("+name+`_DIR "{output}" CACHE PATH "" FORCE)`)})
		}
		return append(out, Plan{line(m[1], `set(CMAKE_PREFIX_PATH "/usr/local" CACHE PATH "")`)},
			Plan{line(m[1], `set(CMAKE_MODULE_PATH "cmake" CACHE PATH "")`)}, Plan{run("rm -rf %s", m[2])})
	})},
	{forCmake, always("sed -i 's/VERSION 3.10/VERSION 3.20/' CMakeLists.txt")},
	{forCmake, always("sed -i 's/ NONE)/ C)/' CMakeLists.txt")},

	{forPerl, inOutput(globalForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run(`sed -i '%ss/\$%s/my $%[2]s/' %[3]s`, m[3], m[1], m[2])}, {run("sed -i '%sd' %s", m[3], m[2])}}
	})},
	{forPerl, inOutput(globalForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run(`sed -i '%ss/\$%s/local $%[2]s/' %[3]s`, m[3], m[1], m[2])}}
	})},
	{forPerl, each(ending(".pl", ".t"), `sed -i '1i use lib "lib";' %s`)},
	{forPerl, each(ending(".pl", ".t"), `sed -i '1i use warnings;' %s`)},

	{forJq, inCommand(filterForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run(`sed -i 's/\.\([a-z0-9]*-[a-z0-9-]*\)/."\1"/' %s`, m[1])}, {run("sed -i 's/-/_/' %s", m[1])},
			{run("sed -i 's/-/\\\\-/' %s", m[1])}, {run(`sed -i -z 's/,\n}/\n}/' %s`, m[2])}}
	})},
	{forJq, inCommand(filterForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run(`sed -i '1s/^\xef\xbb\xbf//' %s`, m[2])}, {run("sed -i 's/^/def f: null; /' %s", m[1])}}
	})},

	{[]string{"ssh"}, inOutput(badOptionForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("sed -i '1i IgnoreUnknown %s' %s", m[3], m[1])}, {run("chmod 600 %s", m[1])},
			{run("sed -i '%ss/ yes/ no/' %s", m[2], m[1])}, {run("sed -i '%ss/ yes/=yes/' %s", m[2], m[1])}}
	})},
	{[]string{"ssh"}, inOutput(badOptionForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("sed -i '1i Host *' %s", m[1])}, {run(`sed -i 's/^ *//' %s`, m[1])}}
	})},

	{[]string{"sha256sum"}, inCommand(sumsForm, func(s Seen, m []string) (out []Plan) {
		for _, file := range matched(changedForm)(s) {
			out = append(out, Plan{run(`sed -i '\#  %[1]s$#d' %[2]s && sha256sum %[1]s >> %[2]s`, file, m[1])},
				Plan{run("sha256sum %s > %s", file, m[1])}, Plan{run("sha256sum %s >> %s", file, m[1])})
		}
		return append(out, Plan{run("sort -o %[1]s %[1]s", m[1])})
	})},
	{[]string{"sha256sum"}, inCommand(sumsForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("sed -i 's/  / */' %s", m[1])}, {run("sed -i '/^$/d' %s", m[1])}}
	})},
}
