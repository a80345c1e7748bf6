package families

import (
	"path"
	"regexp"
	"strings"
)

var (
	replacedForm    = regexp.MustCompile(`([\w.-]+\.[a-z]+/[\w./-]+)@v\S+ ?\(replaced by (\S+)\)`)
	replacementForm = regexp.MustCompile(`([\w.-]+\.[a-z]+/[\w./-]+)@v[^\s:]+: replacement directory (\S+)`)
	sourceForm      = regexp.MustCompile(`(?:^|; )\. \./([^;\s]+);`)
	excludedForm    = regexp.MustCompile(`exclude all Go files in (\S+)`)
	pointerForm     = regexp.MustCompile(`of (?:struct )?type (\w+)\).*method (\w+) has pointer`)
	vetForm         = regexp.MustCompile(`([\w./-]+\.go):(\d+):\d+: struct field tag`)
	implicitForm    = regexp.MustCompile(`implicit declaration of function ['‘](\w+)['’]`)
	undeclaredForm  = regexp.MustCompile(`['‘](\w+)['’] undeclared`)
	noHeaderForm    = regexp.MustCompile(`fatal error: (\S+): No such file`)
	constForm       = regexp.MustCompile(`passing ['‘]const (\w+)['’] as ['‘]this['’]`)
	calledForm      = regexp.MustCompile(`in call to ['‘][^'’]*::(\w+)\(`)
	mergingForm     = regexp.MustCompile(`git merge (?:-q )?(\S+)$`)
	switchForm      = regexp.MustCompile(`git (?:checkout|switch) (?:-q )?(\S+)$`)
	addForm         = regexp.MustCompile(`git add (?:-v |-- )?(\S+)$`)
	sparseForm      = regexp.MustCompile(`(?m)outside of your sparse-checkout[^\n]*(?:\n[^\n:]*:)?\n(\S+)$`)
	worktreeForm    = regexp.MustCompile(`not a git repository: (\S+)/\.git/worktrees`)
	percentForm     = regexp.MustCompile(`must be followed by '%' or '\('`)
	xmlForm         = regexp.MustCompile(`invalid token\): line (\d+)`)
	noColumnForm    = regexp.MustCompile(`(\S+): no column (\w+) in`)
	codecForm       = regexp.MustCompile(`'[\w-]+' codec can't encode`)
	socketForm      = regexp.MustCompile(`python3 (?:-\w+ (?:dev )?)?(\S+\.py) (\S+\.sock)`)
	zippedForm      = regexp.MustCompile(`(?:\.zip|pack\.py \S+) (\S+)$`)
	mutableDefault  = regexp.MustCompile(`mutable default <class '(\w+)'>`)
	interpreterForm = regexp.MustCompile(`^((\S+)/bin/python3?) `)
	namedForm       = regexp.MustCompile(`Named export '(\w+)' not found`)
	workspaceForm   = regexp.MustCompile(`--workspace=(\S+)`)
	versionForm     = regexp.MustCompile(`Invalid version: (\w+)`)
	lockForm        = regexp.MustCompile("lock file version `(\\d+)`")
	lockFileForm    = regexp.MustCompile(`lock file at: (\S+)`)
	featureForm     = regexp.MustCompile(`(?:does not contain th(?:is|ese) features?: |not have the feature .)([\w-]+)`)
	movedForm       = regexp.MustCompile(`(?m)^(\d+)\s+\|[^\n]*\n[^\n]*value moved here`)
	borrowForm      = regexp.MustCompile("borrow of moved value: `(\\w+)`")
	laterForm       = regexp.MustCompile(`java (?:-ea )?-(?:cp|classpath) (\S+) (\w+)`)
	archiveForm     = regexp.MustCompile(`-jar (\S+)`)
	optionsForm     = regexp.MustCompile(`javac @(\S+) (\S+\.java)`)
	linkForm        = regexp.MustCompile(`^(?:cat|wc -l|head -n 1|cd) ([\w-]+)(?:/\S+| && .*)$`)
	assignedForm    = regexp.MustCompile(`(\S+\.sh): line (\d+): (\S+): command not found`)
	octalForm       = regexp.MustCompile(`(\S+\.sh): line (\d+): (\w+): value too great for base`)
	patchForm       = regexp.MustCompile(`-p\d (?:-f )?(?:-i |< )(\S+)$`)
	buildForm       = regexp.MustCompile(`-B (\S+)`)
	nearForm        = regexp.MustCompile(`near line (\d+): near "([\w-]+)"`)
	sqlForm         = regexp.MustCompile(`< (\S+\.sql)`)
	authorityForm   = regexp.MustCompile(`-(?:CAfile|trusted) (\S+)`)
	wantedPackage   = regexp.MustCompile("file providing `([^'`]+)'|containing `([^'`]+)\\.pc'")
	debForm         = regexp.MustCompile(`-(?:b|-build) (\S+) `)
	postinstForm    = regexp.MustCompile(`maintainer script '(\w+)'`)
	filterFileForm  = regexp.MustCompile(`-f (\S+) (\S+)$`)
	searchedForm    = regexp.MustCompile(`-I(\S+)`)
	returnForm      = regexp.MustCompile(`(\S+\.pm) did not return a true value`)

	forFourth = []string{"g++", "cmake", "sqlite3", "perl", "jq", "cargo", "rustc", "javac", "java", "openssl", "patch",
		"pkg-config", "dpkg-deb", "bash"}
	forBash = []string{"bash", "sh"}
)

// sourced makes plans that change the file of variables that the command reads.
func sourced(f func(file string) []Plan) func(s Seen) []Plan {
	return inCommand(sourceForm, func(_ Seen, m []string) []Plan { return f(m[1]) })
}

// replacements makes plans for a module and its replacement that is missing.
func replacements(f func(module, old string) []Plan) func(s Seen) []Plan {
	return func(s Seen) (out []Plan) {
		for _, form := range []*regexp.Regexp{replacedForm, replacementForm} {
			out = append(out, submatches(form, s.Output, func(m []string) []Plan { return f(m[1], m[2]) })...)
		}
		return out
	}
}

// cargoFile is the manifest that a command of cargo uses.
func cargoFile(s Seen, name string) string {
	for _, m := range matchedIn(regexp.MustCompile(`--manifest-path (\S+)/Cargo.toml`), s.Command) {
		return m + "/" + name
	}
	return name
}

// fourthRepairs are the repairs that the actor has for the set fourth in addition to the catalogue.
var fourthRepairs = []repair{
	{forFourth, each(allPaths, "touch %s")},
	{forFourth, each(allPaths, `sed -i 's/\r$//' %s`)},
	{forFourth, each(allPaths, "chmod 644 %s")},

	{forGo, replacements(func(module, old string) []Plan {
		return []Plan{{run("go mod edit -dropreplace=%s", module)},
			{run("mkdir -p %[1]s && cd %[1]s && go mod init %[2]s", old, module)},
			{run("dirname $(grep -rl --include=go.mod '^module %s$' .)", module),
				run("go mod edit -replace=%s={output}", module)},
			{run("go get %s@latest", module)}}
	})},
	{forGo, sourced(func(file string) []Plan {
		return []Plan{{line(file, "GOFLAGS=-tags=cgo")}, {line(file, "GOOS=linux")},
			{run("sed -i 's/^CGO_ENABLED=.*/CGO_ENABLED=1/' %s", file)}, {line(file, "CC=gcc")}}
	})},
	{forGo, inOutput(excludedForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("sed -i '/go:build/d' %s/*.go", m[1])}, {run("sed -i '/^import \"C\"$/d' %s/*.go", m[1])}}
	})},
	{forGo, inOutput(pointerForm, func(_ Seen, m []string) []Plan {
		at := "$(grep -rl --include='*.go' '= " + m[1] + "{' .)"
		return []Plan{{run("sed -i 's/= %[1]s{/= *%[1]s{/' %[2]s", m[1], at)},
			{run("sed -i 's/^func (x \\*%[1]s) %[2]s()/func (x %[1]s) %[2]s() int { return 0 }\\n&/' %[3]s", m[1], m[2], at)},
			{run("sed -i 's/= %[1]s{/= \\&%[1]s{/' %[2]s", m[1], at)},
			{run("sed -i 's/^type %[1]s struct/type %[1]s interface/' %[2]s", m[1], at)}}
	})},
	{forGo, inOutput(vetForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("sed -i '%ss/ *`[^`]*`$//' %s", m[2], m[1])}, {run("sed -i \"%ss/`/'/g\" %s", m[2], m[1])},
			{run("sed -i 's/`\\([a-z]*\\):\\([a-z0-9_]*\\)`/`\\1:\"\\2\"`/' %s", m[1])},
			{run("sed -i 's/`\\([a-z]*\\):\\([a-z0-9_]*\\)`/`\\1=\"\\2\"`/' %s", m[1])}}
	})},

	{forC, inOutput(implicitForm, func(s Seen, m []string) []Plan {
		return forEach(s.with(".c"), func(file string) Plan {
			return Plan{run("sed -i '1i #define %[1]s __%[1]s' %[2]s", m[1], file)}
		})
	})},
	{forC, each(ending(".c"), "sed -i '1i #include <unistd.h>' %s")},
	{forC, compilerFlag(once, "-D_GNU_SOURCE")},
	{forC, compilerFlag(once, "-pedantic")},
	{forC, inOutput(undeclaredForm, func(s Seen, m []string) []Plan {
		return forEach(s.with(".c"), func(file string) Plan {
			return Plan{run("sed -i '1i #define %s 1' %s", m[1], file)}
		})
	})},
	{forC, inOutput(undeclaredForm, func(_ Seen, m []string) []Plan {
		find := run("grep -rlw --include='*.h' 'define %s' .", m[1])
		return []Plan{{find, run("sed -i '1i #pragma once' {output}")}, {find, run("touch {output}")},
			{find, run(`sed -i 's/^\(#ifndef\|#define\) \(\w*_H\)$/\1 \2_2/' {output}`)}}
	})},
	{forC, inOutput(noHeaderForm, func(s Seen, m []string) []Plan {
		return []Plan{{run("touch %s", m[1])}, {run("git checkout -q -- .")}, {run("git submodule --quiet sync")},
			{run("git submodule --quiet update --init")}}
	})},
	{forC, inOutput(noHeaderForm, func(s Seen, m []string) []Plan {
		return forEach(s.with(".c"), func(file string) Plan {
			return Plan{run(`sed -i 's/^#include "\(%s\)"/#include <\1>/' %s`, m[1], file)}
		})
	})},

	{forCpp, inOutput(constForm, func(s Seen, m []string) []Plan {
		return forEach(s.with(".cpp", ".cc"), func(file string) Plan {
			return Plan{run("sed -i 's/const %[1]s &/%[1]s const \\&/' %[2]s", m[1], file)}
		})
	})},
	{forCpp, inOutput(calledForm, func(s Seen, m []string) (out []Plan) {
		for _, file := range s.with(".cpp", ".cc") {
			out = append(out, Plan{run("sed -i 's/ %s() {/ %[1]s() noexcept {/' %s", m[1], file)},
				Plan{run("sed -i 's/int %s() {/static %[1]s() {/' %s", m[1], file)},
				Plan{run("sed -i 's/ %s() {/ %[1]s() const {/' %s", m[1], file)})
		}
		return out
	})},
	{forCpp, each(ending(".cpp", ".cc"), "sed -i '1i using namespace std;' %s")},
	{forCpp, each(ending(".cpp", ".cc"), "sed -i 's/^struct/class/' %s")},

	{forMake, always(`sed -i '1i SHELL = /bin/bash' Makefile`)},
	{forMake, always(`sed -i '/^\t/s/\$\([a-z]\)/\\$\1/g' Makefile`)},
	{forMake, always(`sed -i '/^\t/s/\$\([a-z][a-z0-9]*\)/$(\1)/g' Makefile`)},
	{forMake, always(`sed -i '/^\t/s/\$\([a-z]\)/$$\1/g' Makefile`)},
	{forMake, always(`sed -i '/^\t/s/ || exit 1//' Makefile`)},

	{forGit, inCommand(mergingForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("git merge --abort")}, {run("git reset -q --hard")}, {run("git commit -q --no-edit")},
			{run("git rebase -q %s", m[1])}}
	})},
	{forGit, always("git cherry-pick --abort")},
	{forGit, always("git fsck --no-progress")},
	{forGit, always("git clean -fdq")},
	{forGit, always("git fetch -q --all")},
	{forGit, func(s Seen) []Plan {
		if !strings.Contains(s.Output, "HEAD") && !strings.Contains(s.Output, "broken") {
			return nil
		}
		put := run("echo {output} > .git/$(cut -c6- .git/HEAD)")
		return []Plan{{run("rm -f .git/$(cut -c6- .git/HEAD)")}, {run("head -n 1 .git/logs/HEAD | cut -d' ' -f2"), put},
			{run("cat .git/HEAD"), put}, {run("tail -n 1 .git/logs/HEAD | cut -d' ' -f2"), put}}
	}},
	{forGit, inCommand(switchForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("git branch -q %s", m[1])}, {run("git config checkout.defaultRemote origin")},
			{run("git config branch.main.remote"), run("git config checkout.defaultRemote {output}")},
			{run("git config checkout.guess false")}}
	})},
	{forGit, inCommand(switchForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("git remote"), run("git config checkout.defaultRemote {output}")},
			{run("git remote prune origin")}, {run("git config branch.%s.remote origin", m[1])}}
	})},
	{forGit, inCommand(addForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("rm -f .gitignore")}, {run("rm -f .git/info/exclude")}, {run("git add -f %s", m[1])},
			{run("git config core.excludesFile %s", m[1])}}
	})},
	{forGit, inCommand(addForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("mkdir -p %s", path.Dir(m[1]))}, {run("git update-index --no-assume-unchanged %s", m[1])},
			{run("git checkout -q -- %s", m[1])}}
	})},
	{forGit, inOutput(sparseForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("git checkout -q HEAD -- %s", m[1])}, {run("mkdir -p %s && touch %s", path.Dir(m[1]), m[1])},
			{run("git sparse-checkout add %s", path.Dir(m[1]))}, {run("git sparse-checkout reapply")}}
	})},
	{forGit, inCommand(gitDirForm, func(_ Seen, m []string) []Plan {
		find := run("dirname $(find . -type d -name .git)")
		return []Plan{{run("git init -q %s.new", m[1])}, {find, run("git -C {output} worktree prune")},
			{find, run("git -C {output} worktree repair $PWD/%s", m[1])}, {run("chmod -R u+rwX %s", m[1])}}
	})},
	{forGit, inOutput(worktreeForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("mkdir -p %s/.git/worktrees", m[1])}, {run("git init -q %s", m[1])}}
	})},

	{forPython, inOutput(percentForm, func(s Seen, _ []string) (out []Plan) {
		for _, file := range s.with(".ini", ".cfg") {
			out = append(out, Plan{run("sed -i 's/%%/%%%%/g' %s", file)}, Plan{run(`sed -i 's/%%\([^(%%]\)/\\%%\1/g' %s`, file)},
				Plan{run(`sed -i 's/%%\([^(%%]\)/%%%%\1/g' %s`, file)}, Plan{run(`sed -i 's/%%\([^(%%]\)/\1/g' %s`, file)})
		}
		return out
	})},
	{forPython, each(ending(".ini", ".cfg"), `sed -i 's/= \(.*\)$/= "\1"/' %s`)},
	{forPython, inOutput(xmlForm, func(s Seen, m []string) (out []Plan) {
		for _, file := range s.with(".xml", ".svg") {
			out = append(out, Plan{run(`sed -i '%sd' %s`, m[1], file)}, Plan{run(`sed -i 's/&/\&amp;/g' %s`, file)},
				Plan{run(`sed -i '%ss/&/\&amp;/' %s`, m[1], file)}, Plan{run(`sed -i '%ss/&//' %s`, m[1], file)})
		}
		return out
	})},
	{forPython, each(ending(".xml", ".svg"), `sed -i '1i <?xml version="1.0" encoding="UTF-8"?>' %s`)},
	{forPython, each(ending(".xml", ".svg"), `sed -i '1s/^\xef\xbb\xbf//' %s`)},
	{forPython, inOutput(noColumnForm, func(s Seen, m []string) (out []Plan) {
		for _, by := range []string{";", `\\t`, "|"} {
			out = append(out, forEach(s.with(".py"), func(file string) Plan {
				return Plan{run(`sed -i "s/DictReader(f)/DictReader(f, delimiter='%s')/" %s`, by, file)}
			})...)
		}
		return out
	})},
	{forPython, inOutput(noColumnForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run(`sed -i '1s/^\xef\xbb\xbf//' %s`, m[1])}, {run("sed -i 's/;/,/g' %s", m[1])},
			{run(`sed -i 's/\t/,/g' %s`, m[1])}, {run("sed -i 's/|/,/g' %s", m[1])}}
	})},
	{forPython, inOutput(codecForm, func(s Seen, _ []string) []Plan {
		return sourced(func(file string) []Plan {
			return []Plan{{line(file, "LC_ALL=en_US.UTF-8")}, {line(file, "PYTHONUTF8=1")},
				{run("sed -i 's/^PYTHONIOENCODING=.*/PYTHONIOENCODING=utf-8/' %s", file)},
				{run("sed -i 's/^PYTHONIOENCODING=.*/PYTHONIOENCODING=iso-8859-15/' %s", file)}}
		})(s)
	})},
	{forPython, inOutput(codecForm, func(s Seen, _ []string) []Plan {
		return forEach(s.with(".py"), func(file string) Plan {
			return Plan{run("sed -i '1i # -*- coding: utf-8 -*-' %s", file)}
		})
	})},
	{forPython, inCommand(socketForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("chmod 777 %s", m[2])}, {run("sed -i 's/^server.bind/server.setsockopt(socket.SOL_SOCKET, "+
			"socket.SO_REUSEADDR, 1)\\n&/' %s", m[1])}, {run("rm -f %s", m[2])}, {run("touch %s", m[2])}}
	})},
	{forPython, inCommand(zippedForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("touch %s", m[1])}, {run("chmod -R u+rwX %s", m[1])},
			{run("find %s ! -newermt 1980-01-02 -exec touch {} +", m[1])}, {run("touch %s/*", m[1]+"/*")}}
	})},
	{forPython, inOutput(mutableDefault, func(s Seen, m []string) []Plan {
		return forEach(s.with(".py"), func(file string) Plan {
			return Plan{run(`sed -i 's/: %s = .*/: %[1]s = field(default=%[1]s())/' %s`, m[1], file)}
		})
	})},
	{forPython, inOutput(mutableDefault, func(s Seen, m []string) []Plan {
		return forEach(s.with(".py"), func(file string) Plan {
			return Plan{run(`sed -i 's/: %s = .*/: %[1]s = field(default_factory=%[1]s)/' %s`, m[1], file)}
		})
	})},
	{forPython, each(ending(".py"), "sed -i '1i from __future__ import annotations' %s")},
	{forScripts, inCommand(interpreterForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("chmod +x %s", m[1])}, {run("rm -rf %[1]s && python3 -m venv --without-pip %[1]s", m[2])},
			{run("command -v python3"), run("ln -sfn {output} %s/bin/python", m[2])},
			{run("mkdir -p %[1]s/bin && touch %[1]s/bin/python", m[2])}}
	})},

	{forNode, each(ending(".js"), "sed -i 's/__dirname/process.cwd()/g' %s")},
	{forNode, each(ending(".js"), `sed -i "1i const __dirname = '.'" %s`)},
	{forNode, each(ending(".js"), "sed -i 's/__dirname/import.meta.dirname/g' %s")},
	{forNode, always("npm pkg set type=commonjs")},
	{forNode, each(ending(".js"), "sed -i 's/^function /async function /' %s")},
	{forNode, each(ending(".js"), "sed -i 's/ = await / = yield /' %s")},
	{forNode, inOutput(namedForm, func(s Seen, m []string) []Plan {
		return forEach(s.with(".mjs", ".js"), func(file string) Plan {
			return Plan{run("sed -i 's/^import {/import * as {/' %s", file)}
		})
	})},
	{forNode, inOutput(namedForm, func(s Seen, m []string) []Plan {
		return forEach(s.with(".mjs", ".js"), func(file string) Plan {
			return Plan{run(`sed -i "s/^import \({.*}\) from \(.*\)$/import all from \2\nconst \1 = all/" %s`, file)}
		})
	})},
	{forNode, inOutput(namedForm, func(s Seen, m []string) []Plan {
		return forEach(s.with(".cjs"), func(file string) Plan {
			return Plan{run("mv %s %s", file, strings.TrimSuffix(file, ".cjs")+".js")}
		})
	})},
	{forNode, each(ending(".json"), `sed -i 's,//.*,,' %s`)},
	{forNode, each(ending(".json"), `sed -i '/^ *#/d' %s`)},
	{forNode, each(ending(".json"), `sed -i '/^ *\/\//d' %s`)},
	{forNode, each(ending(".json"), `sed -i '/^ *\/\*/d' %s`)},
	{forNode, inOutput(workspaceForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("npm pkg set \"workspaces[]=%s\"", m[1])}, {run("npm pkg set workspaces.packages=%s", m[1])},
			{run(`dirname $(grep -rl --include=package.json '"name": "%s"' .)`, m[1]),
				run(`npm pkg set "workspaces[]={output}"`)}, {run("npm install --package-lock-only")}}
	})},
	{forNode, inOutput(versionForm, func(Seen, []string) []Plan {
		return []Plan{{run("npm pkg set version=1.0.0")}, {run("npm pkg get version"), run("npm pkg set version=v{output}")},
			{run("npm pkg get version"), run("npm pkg set version={output}.0")}, {run("npm pkg fix")}}
	})},
	{forNode, inOutput(versionForm, func(Seen, []string) []Plan {
		return []Plan{{run("npm pkg delete version")}, {run("npm config set sign-git-tag false --location=project")}}
	})},
	{forNode, always("npm cache clean --force")},

	{forCargo, inOutput(lockForm, func(s Seen, m []string) []Plan {
		file := cargoFile(s, "Cargo.lock")
		return []Plan{{run("rm -f %s", file)}, {run(`sed -i 's/^version = %s$/version = "%[1]s"/' %s`, m[1], file)},
			{run("sed -i 's/^version = %s$/version = 4/' %s", m[1], file)}, {run("cargo generate-lockfile --offline")}}
	})},
	{forCargo, inOutput(lockFileForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run(`sed -i 's/^edition = .*/edition = "2024"/' %s/Cargo.toml`, path.Dir(m[1]))},
			{run("git checkout -q -- %s", m[1])}}
	})},
	{forCargo, inOutput(featureForm, func(s Seen, m []string) []Plan {
		file := cargoFile(s, "Cargo.toml")
		return []Plan{{line(file, "[features]\n"+m[1]+" = []")}, {run("sed -i '/^version/a %s = true' %s", m[1], file)},
			{run(`sed -i '/^\[features\]$/a %s = []' %s`, m[1], file)}, {line(file, "[dependencies]\n"+m[1]+" = \"*\"")}}
	})},
	{forCargo, always("cargo clean")},
	{forCargo, always("cargo update --offline")},
	{forCargo, always("cargo fetch --offline")},
	{forCargo, func(s Seen) []Plan {
		return []Plan{{run(`sed -i 's/^edition = .*/edition = "2015"/' %s`, cargoFile(s, "Cargo.toml"))},
			{line(cargoFile(s, "Cargo.toml"), "[workspace]")}}
	}},
	{forRust, inOutput(borrowForm, func(s Seen, m []string) (out []Plan) {
		for _, at := range matched(movedForm)(s) {
			for _, file := range s.with(".rs") {
				out = append(out, Plan{run(`sed -i '%ss/(%s)/(\&%[2]s)/' %[3]s`, at, m[1], file)},
					Plan{run(`sed -i 's/let %s\b/let mut %[1]s/' %s`, m[1], file)},
					Plan{run(`sed -i '%ss/(%s)/(%[2]s.clone())/' %[3]s`, at, m[1], file)},
					Plan{run(`sed -i '%ss/(%s)/(*%[2]s)/' %[3]s`, at, m[1], file)})
			}
		}
		return out
	})},
	{forRust, each(ending(".rs"), "sed -i '1i #![allow(unused_variables)]' %s")},
	{forRust, each(ending(".rs"), "rustfmt %s")},

	{[]string{"java"}, inCommand(laterForm, func(_ Seen, m []string) []Plan {
		find := run("find . -name %s.java", m[2])
		return []Plan{{run("rm -f %s/%s.class", m[1], m[2])}, {find, run("cp {output} %s", m[1])},
			{find, run("javac -d %s {output}", m[1])}, {run("chmod -R u+rwX %s", m[1])}}
	})},
	{[]string{"java"}, inCommand(laterForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("mv %[1]s/%[2]s.class %[1]s/lower.class", m[1], m[2])}, {run("mkdir -p %s/META-INF", m[1])}}
	})},
	{[]string{"java"}, inCommand(archiveForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("jar ufe %s Main", m[1])}, {run("jar uf %s src", m[1])},
			{run("basename -s .java $(grep -rl --include='*.java' 'static void main' .)"), run("jar ufe %s {output}", m[1])},
			{run("basename -s .java $(grep -rL --include='*.java' 'static void main' .)"), run("jar ufe %s {output}", m[1])}}
	})},
	{[]string{"java"}, inCommand(archiveForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("chmod +x %s", m[1])}, {run("echo 'Main-Class: Main' > MANIFEST.MF")}}
	})},
	{forJava, inCommand(optionsForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("sed -i 's/^-encoding .*/-encoding US-ASCII/' %s", m[1])},
			{run("sed -i 's/^-encoding .*/-encoding ISO-8859-1/' %s", m[1])},
			{run("sed -i 's/^-encoding .*/-encoding UTF-8/' %s", m[1])},
			{run(`LC_ALL=C sed -i 's/[\x80-\xff]//g' %s`, m[2])}}
	})},
	{forJava, inCommand(optionsForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run(`sed -i '1s/^/\xef\xbb\xbf/' %s`, m[2])}, {line(m[1], "-nowarn")}, {run("mkdir -p out")}}
	})},

	{forScripts, inCommand(linkForm, func(_ Seen, m []string) []Plan {
		newest := "ls -d $(dirname $(readlink %s))/* | sort %s | tail -n 1"
		return []Plan{{run(newest, m[1], "-f"), run("ln -sfn {output} %s", m[1])}, {run("mkdir -p %s", m[1])},
			{run(newest, m[1], "-V"), run("ln -sfn {output} %s", m[1])}, {run("rm -f %s", m[1])}}
	})},
	{forScripts, inCommand(linkForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("chmod -R u+rwX %s", m[1])}, {run("rm -f %[1]s && mkdir %[1]s", m[1])},
			{run("readlink %s", m[1]), run("touch {output}")}}
	})},
	{forScripts, each(ending(".sh"), `sed -i "s/sed -i ''/sed -i/" %s`)},
	{forScripts, each(ending(".sh"), `sed -i "s/date -v-\([0-9]*\)d/date -d '\1 days ago'/" %s`)},
	{forScripts, each(ending(".sh"), `sed -i "s/stat -f %%z/stat -c %%s/" %s`)},
	{forScripts, each(ending(".sh"), `sed -i "s/base64 -D/base64 -d/" %s`)},
	{forBash, inOutput(assignedForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("sed -i '%ss/%s/\\$%[2]s/' %s", m[2], m[3], m[1])},
			{run("sed -i '%ss/^/local /' %s", m[2], m[1])},
			{run("sed -i '%ss/ *= */=/' %s", m[2], m[1])}, {run("sed -i '%ss/ = / == /' %s", m[2], m[1])}}
	})},
	{forBash, inOutput(assignedForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("sed -i '1s,bash,sh,' %s", m[1])}, {run("printf '#!/bin/sh\\n' > %[1]s && chmod +x %[1]s", m[3])},
			{run("command -v %s", m[3])}}
	})},
	{forBash, inOutput(octalForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run(`sed -i 's/\$((\([a-z]\)/$(($\1/' %s`, m[1])},
			{run(`sed -i 's/\$((\([a-z]\)/$((8#$\1/' %s`, m[1])},
			{run(`sed -i 's/\$((\([a-z]\)/$((10#$\1/' %s`, m[1])}, {run(`sed -i 's/echo \$((\(.*\)))/let x="\1"/' %s`, m[1])}}
	})},
	{forBash, inOutput(octalForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run(`sed -i 's/=\$1$/="$1"/' %s`, m[1])}, {run("sed -i '1s,.*,#!/bin/bash -x,' %s", m[1])}}
	})},

	{[]string{"patch"}, inCommand(patchForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run(`sed -i 's,^\(---\|+++\) [^/]*/,\1 ,' %s`, m[1])}, {run("sed -i 's,/,\\\\,g' %s", m[1])},
			{run(`sed -i 's,^\(---\|+++\) ,\1 a/,' %s`, m[1])}, {run(`sed -i 's,\t.*$,,' %s`, m[1])}}
	})},
	{[]string{"patch"}, inCommand(patchForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run(`sed -i '1,2d' %s`, m[1])}, {run("sed -i 's/^@@ .*/@@/' %s", m[1])}}
	})},

	{forCmake, inCommand(buildForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("rm -rf %s", m[1])}, {run("rm -rf %s/CMakeFiles", m[1])},
			{run("rm -rf %[1]s/CMakeCache.txt %[1]s/CMakeFiles", m[1])}, {run("touch %s/CMakeCache.txt", m[1])}}
	})},
	{forCmake, always("sed -i 's/VERSION 3.10/VERSION 3.20/' CMakeLists.txt")},
	{forCmake, always("sed -i 's/ NONE)/ C)/' CMakeLists.txt")},

	{forSqlite, inCommand(sqlForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run(`sed -i "s/\([a-z0-9]\)'\([a-z]\)/\1\\\\\\\\'\2/g" %s`, m[1])},
			{run(`sed -i "s/\([a-z0-9]\)'\([a-z]\)/\1\2/g" %s`, m[1])},
			{run(`sed -i "s/\([a-z0-9]\)'\([a-z]\)/\1''\2/g" %s`, m[1])}, {run(`sed -i "s/'/\"/g" %s`, m[1])}}
	})},
	{forSqlite, inOutput(nearForm, func(s Seen, m []string) (out []Plan) {
		for _, file := range matchedIn(sqlForm, s.Command) {
			out = append(out, Plan{run("sed -i '%sd' %s", m[1], file)}, Plan{run(`sed -i "s/\b%s\b/'%[1]s'/" %s`, m[2], file)},
				Plan{run(`sed -i 's/\b%s\b/"%[1]s"/' %s`, m[2], file)}, Plan{run(`sed -i 's/\b%s\b/\U&/' %s`, m[2], file)})
		}
		return out
	})},
	{forSqlite, each(ending(".db"), "rm -f %s")},
	{forSqlite, each(ending(".db"), "sqlite3 %s VACUUM")},

	{forOpenssl, inCommand(authorityForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("base64 %[1]s > %[1]s.new && mv %[1]s.new %[1]s", m[1])},
			{run("openssl x509 -inform pem -in %[1]s -out %[1]s.new && mv %[1]s.new %[1]s", m[1])},
			{run("openssl x509 -inform der -in %[1]s -out %[1]s.new && mv %[1]s.new %[1]s", m[1])},
			{run("openssl rehash $(dirname %s)", m[1])}}
	})},

	{[]string{"pkg-config"}, inOutput(wantedPackage, func(s Seen, m []string) []Plan {
		name, find := m[1]+m[2], "dirname $(find . -name %s.pc)"
		return sourced(func(file string) []Plan {
			return []Plan{{run("find . -name %s.pc", name), line(file, "PKG_CONFIG_PATH=$PKG_CONFIG_PATH:{output}")},
				{line(file, "PKG_CONFIG_PATH=$PKG_CONFIG_PATH:/usr/local/lib/pkgconfig")},
				{run(find, name), line(file, "PKG_CONFIG_PATH=$PKG_CONFIG_PATH:{output}")}, {line(file, "PKG_CONFIG_PATH=.")}}
		})(s)
	})},
	{[]string{"dpkg-deb"}, inCommand(debForm, func(s Seen, m []string) (out []Plan) {
		for _, script := range matched(postinstForm)(s) {
			out = append(out, Plan{run("chmod 755 %s/DEBIAN/%s", m[1], script)})
		}
		return append(out, Plan{run("chmod -R 777 %s", m[1])}, Plan{run("chmod 755 %s", m[1])},
			Plan{run("chmod 755 %s/DEBIAN", m[1])})
	})},
	{[]string{"dpkg-deb"}, inCommand(debForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run("chmod 644 %s/DEBIAN/*", m[1])}, {run("chmod -R u+x %s", m[1])},
			{run("echo >> %s/DEBIAN/control", m[1])}}
	})},

	{forJq, inCommand(filterFileForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run(`sed -i 's/ \([0-9]*\)$/ "\1"/' %s`, m[1])},
			{run(`sed -i 's/^\(\.[a-z0-9_]*\) /(\1 | tostring) /' %s`, m[1])},
			{run(`sed -i 's/^\(\.[a-z0-9_]*\) /(\1 | tonumber) /' %s`, m[1])},
			{run(`sed -i 's/^\(\.[a-z0-9_]*\) /(\1 | length) /' %s`, m[1])}}
	})},
	{forJq, inCommand(filterFileForm, func(_ Seen, m []string) []Plan {
		return []Plan{{run(`sed -i "s/\"/'/g" %s`, m[2])}, {run("sed -i 's/^/. | /' %s", m[1])}}
	})},

	{forPerl, inOutput(returnForm, func(s Seen, m []string) (out []Plan) {
		for _, dir := range matchedIn(searchedForm, s.Command) {
			file := dir + "/" + m[1]
			out = append(out, Plan{line(file, "__END__")}, Plan{line(file, "return;")}, Plan{line(file, "1;")},
				Plan{run("sed -i 's/^use strict;/no strict;/' %s", file)})
		}
		return out
	})},
	{forPerl, each(ending(".pl"), `sed -i '1i use lib "lib";' %s`)},
}
