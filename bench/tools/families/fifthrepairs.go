package families

import (
	"regexp"
	"slices"
	"strings"
)

// seen makes entries of the catalogue for failures whose command and output have a form. In a way, <1> is the first
// submatch of the form, and " ;; " is between two calls. A call that begins with "append FILE: " adds a line to a file.
func seen(programs []string, form string, ways ...string) (out []repair) {
	const most = 4 // of an entry that Ways uses
	re := regexp.MustCompile(form)
	for some := range slices.Chunk(ways, most) {
		out = append(out, repair{programs, func(s Seen) (plans []Plan) {
			m := re.FindStringSubmatch(s.Command + "\n" + s.Output)
			if m == nil {
				return nil
			}
			values := []string{}
			for i, v := range m {
				values = append(values, "<"+string(rune('0'+i))+">", v)
			}
			for _, way := range some {
				plans = append(plans, calls(strings.NewReplacer(values...).Replace(way)))
			}
			return plans
		}})
	}
	return out
}

// calls makes the plan that a way describes.
func calls(way string) (out Plan) {
	for call := range strings.SplitSeq(way, " ;; ") {
		if to, ok := strings.CutPrefix(call, "append "); ok {
			path, text, _ := strings.Cut(to, ": ")
			out = append(out, line(path, text))
			continue
		}
		out = append(out, run("%s", call))
	}
	return out
}

var forFifth = []string{"go", "gcc", "make", "cmake", "ninja", "openssl", "ssh-keygen", "sqlite3", "node", "npm",
	"java",
	"javac", "perl", "rustc", "cargo", "tar", "xz", "jq", "dpkg-deb", "msgfmt", "shellcheck", "systemd-analyze"}

// fifthRepairs are the repairs that the actor has for the set fifth in addition to the catalogue.
var fifthRepairs = slices.Concat(
	[]repair{{forFifth, each(allPaths, "touch %s")}, {forFifth, each(allPaths, "chmod 644 %s")},
		{forFifth, each(allPaths, `sed -i 's/\r$//' %s`)}},

	seen(forGo, `(?s)(?:vet: |\n)(?:\./)?(\S+\.go):(\d+):\d+: assignment mismatch`, "sed -i '<2>s/ := / = /' <1>",
		"sed -i '<2>s/^/\\/\\/ /' <1>", "sed -i '<2>s/ := / := must(/' <1>", "sed -i '<2>s/ := /, _ := /' <1>",
		"sed -i '<2>s/ := /, err := /' <1>", "sed -i '<2>d' <1>"),
	seen(forGo, `cd (\S+) && go `, "go work init ./<1>", "go work use ./<1>", "go work sync", "cd <1> && go mod tidy",
		"cd <1> && go work use ..", "go work edit -go=1.22"),
	seen(forGo, `(\S+)/main\.go:\d+:\d+: use of internal package example\.[\w.]+/[\w-]+/([\w./-]+)/internal/(\S+) not`,
		"mv <2>/internal <2>/<3> ;; sed -i 's#/internal/<3>\"#/<3>\"#' <1>/main.go",
		"mv <2>/internal/<3> <2>/<3> ;; sed -i 's#/internal/<3>\"#/<3>\"#' <1>/main.go",
		"cp -r <2>/internal . ;; go mod tidy", "mv <2>/internal/<3> <1>/<3>",
		"go mod edit -replace=<2>/internal/<3>=./<2>/internal/<3>", "sed -i 's#/internal/<3>\"#/<3>\"#' <1>/main.go"),

	seen(forC, `@link\.rsp`, "append link.rsp: -fsanitize=address", "append link.rsp: -fsanitize=undefined",
		"append link.rsp: --coverage", "append link.rsp: -fopenmp", "append link.rsp: -lm",
		"append link.rsp: -lgcov -lpthread",
		"append link.rsp: -Wl,--no-as-needed", "sed -i '/^-s/d' link.rsp", "append link.rsp: -static"),
	seen(forMake, `(grep): ([\w.-]+): No such file`, "sed -i '1i .ONESHELL:' Makefile",
		"sed -i '1i .PHONY: all' Makefile", "sed -i '1i SHELL = /bin/bash' Makefile", "sed -i 's/^\\tcd /\\t@cd /' Makefile",
		"find . -name '<2>' ;; sed -i 's#^<2>:#<2>: {output}#' Makefile", "sed -i '1i .SILENT:' Makefile", "mkdir -p <2>"),
	seen(forMake, `\*\*\* (\w+) is not set: add a line like "(\w+ = \S+)" to (\S+)\.  Stop`, "append <3>: <2>",
		"append <3>: <1> =", "append Makefile: <2>", "append <3>: export <1>", "sed -i '/^\\$(error/d' <3>", "rm -f <3>"),
	seen(forMake, `make: (clang(?:\+\+)?-\d+): No such file`, "sed -i 's/^CC = .*/CC = gcc/' toolchain.mk",
		"sed -i 's/^CXX = .*/CXX = g++/' toolchain.mk", "sed -i 's/^CC = .*/CC = clang/' toolchain.mk",
		"sed -i 's/^CXX = .*/CXX = clang++/' toolchain.mk", "append toolchain.mk: PATH := /usr/lib/llvm/bin:$(PATH)",
		"append toolchain.mk: SHELL = /bin/bash", "ln -s $(command -v <1>) ./<1>"),

	seen(forCmake, `CMake Error at (\S+):\d+ \(cmake_minimum_required\)[^,]*CMake (\S+) or higher`,
		"sed -i 's/VERSION <2>/VERSION 3.10/' <1>", "sed -i 's/VERSION 3.10/VERSION <2>/' CMakeLists.txt",
		"sed -i 's/VERSION <2>/VERSION <2>.0/' <1>", "sed -i '1i cmake_policy(VERSION 3.10)' <1>",
		"append <1>: cmake_policy(SET CMP0048 NEW)"),
	seen(forCmake, `cmake --preset (\S+)`, "cp CMakePresets.json CMakeUserPresets.json",
		`sed -i 's/"version": [0-9]*/"version": 3/' CMakePresets.json`,
		"sed -i 's/VERSION 3.20/VERSION 3.25/' CMakeLists.txt",
		`sed -i 's/"version": [0-9]*/"version": "3"/' CMakePresets.json`, `sed -i '/"version"/d' CMakePresets.json`,
		`sed -i 's/"name": "<1>"/"name": "default"/' CMakePresets.json`),
	seen(forCmake, `-B (\S+)`, "rm -rf <1>", "mkdir -p <1>"),
	seen([]string{"ninja"}, `multiple rules generate (\S+)`, `sed -i '0,\#^build <1>:#!{\#^build <1>:#d}' build.ninja`,
		`sed -i 's#^build <1>:#build | <1>:#' build.ninja`, "rm -f <1>", `sed -i '/^default/d' build.ninja`,
		"sed -i '1i ninja_required_version = 1.5' build.ninja", "ninja -t clean", "ninja -t restat"),

	seen(forGit, `git push`, "git pull -q --rebase", "git push -q --force-with-lease", "git fetch -q",
		"git pull -q --ff-only",
		"git reset -q --hard @{upstream}", "git config push.default current", "git push -q --set-upstream origin HEAD",
		"git pull -q --no-rebase"),
	seen(forGit, `-F (\S+)\n(?s:.*)branch (\S*?([A-Z]+-\d+)\S*),`, "sed -i '1s/^/<3>: /' <1>", "sed -i '1s/^/<3> /' <1>",
		"append <1>: <3>", "git branch -m <3>", "git config commit.template <1>", "sed -i '1s/^/[<3>] /' <1>",
		"sed -i 's/^Change/fix: change/' <1>"),
	seen(forGit, `pre-commit: (\S+) has`, "git rm -q --cached <1> ;; append .gitignore: <1>", "git rm -q -f <1>",
		"gzip -k <1>",
		"append .gitignore: <1>", "git config core.bigFileThreshold 1k", "git config http.postBuffer 524288000",
		"echo '<1> binary' >> .gitattributes", "rm -f <1> ;; git add -A"),
	seen(forGit, `git add (\S+?(\.\w+)) && `, `sed -i 's/\r$//' <1>`, "echo '*<2> -text' >> .gitattributes",
		"git config core.autocrlf true", "git config core.safecrlf false", "echo '*<2> text' >> .gitattributes",
		"git add --renormalize .", "git config core.eol crlf"),
	seen(forGit, `Cannot delete branch '(\S+)'`, "git checkout -q --force", "git fetch -q --prune",
		"git symbolic-ref --short refs/remotes/origin/HEAD | cut -d/ -f2- ;; git checkout -q {output}",
		"git config branch.<1>.merge refs/heads/<1>", "git config init.defaultBranch ;; git checkout -q {output}",
		"git worktree prune", "git branch -q --unset-upstream"),
	seen(forGit, `bad (?:boolean|numeric) config value '([^']*)' for '(\S+?)'`, "git config --unset <2>",
		"git config --global <2> true", "git config --unset-all <1>", "git init -q", "rm -f .git/config.lock"),
	seen(forGit, `tag '(\S+)' already exists`, "git tag -d <1>", "git fetch -q --tags --force", "git checkout -q <1>",
		"git pack-refs --all", "git tag <1>-2", "git branch -q -D <1>"),
	seen(forGit, `git apply (?:--?\w+ )?(\S+)`, "git config apply.ignoreWhitespace change",
		"git config apply.whitespace fix",
		"git config core.whitespace cr-at-eol", `sed -i 's/\r$//' <1>`, `sed -i 's/[ \t]*$//' <1>`,
		"git config core.autocrlf input", "git config diff.ignoreSubmodules all"),
	seen(forGit, `signingkey`, "find $HOME/.ssh -name '*.pub' ;; git config user.signingkey {output}",
		"git config commit.gpgsign false", "git config gpg.format openpgp",
		"git config user.signingkey $HOME/.ssh/id_rsa.pub",
		"find $HOME/.ssh -type f ! -name '*.pub' ;; git config gpg.ssh.defaultKeyCommand {output}",
		"git config gpg.program gpg2", "git config gpg.ssh.allowedSignersFile .git/signers"),
	seen(forGit, `(\S+) main\n(?s:.*)'(\S+)/(\S+?\.git)' does not appear`,
		"find <2> -type d -name <3> ;; git remote set-url <1> {output}", "mkdir -p <2>/<3>",
		"git remote set-url <1> <2>/<3>/.git", "git remote set-url --push <1> file://<2>/<3>", "git remote prune <1>",
		"find <2> -type d -name <3> ;; git remote add <1>2 {output}", "git config remote.pushDefault <1>"),
	seen(forGit, `&& (\S+?/[^/ ]+)/(\S+)\n(?s:.*)Permission denied`, "chmod +x <2>", "git config core.fileMode false",
		"git update-index --chmod=+x <2> ;; git commit -q -m mode", "git update-index --chmod=+x <2>", "chmod -R a+x <1>",
		"chmod +x <2> ;; git add -A", "sed -i '1s,.*,#!/bin/bash,' <2>"),

	seen(forScripts, `(\S+)\nloading (\S+)\n[^\n]*FOREIGN KEY`, "sed -i '/^<2>$/d' <1> && echo <2> >> <1>",
		"sed -i 's/$/.sql/' <1>", "sed -i '/^<2>$/d' <1>", "sed -i '/foreign_keys/d' <2>.sql", "sed -i '1d' schema.sql",
		"sed -i '1i PRAGMA foreign_keys = ON;' schema.sql"),
	seen(forSqlite, `sqlite3 (?:-bail )?(\S+) < (\S+)\n(?s:.*)table (\S+) has (\d+) columns but (\d+) values`,
		`sqlite3 <1> "SELECT group_concat(name) FROM (SELECT name FROM pragma_table_info('<3>') LIMIT <5>)" ;; `+
			`sed -i 's/INTO <3> VALUES/INTO <3> ({output}) VALUES/' <2>`, "sqlite3 <1> 'ALTER TABLE <3> ADD COLUMN extra'",
		`sqlite3 <1> "SELECT group_concat(name) FROM pragma_table_info('<3>')" ;; `+
			`sed -i 's/INTO <3> VALUES/INTO <3> ({output}) VALUES/' <2>`, "sed -i 's/INSERT INTO/INSERT OR IGNORE INTO/' <2>",
		"sed -i 's/INTO <3> VALUES/INTO <3> DEFAULT VALUES/' <2>", "sqlite3 <1> VACUUM"),

	seen(forOpenssl, `(\S+)\.pem\n(?s:.*)error 10 at`,
		"openssl x509 -req -in <1>.csr -CA pki/ca.pem -CAkey pki/ca.key -CAcreateserial -days 365 -out <1>.pem",
		"openssl x509 -in pki/ca.pem -signkey pki/ca.key -days 3650 -out pki/new.pem && mv pki/new.pem pki/ca.pem",
		"cat pki/ca.pem >> <1>.pem", "openssl rehash pki",
		"openssl x509 -req -in <1>.csr -signkey <1>.key -days 365 -out <1>.pem", "rm -f pki/ca.srl"),
	seen(forOpenssl, `-verify_hostname (\S+) (\S+)\.pem`,
		"openssl x509 -req -in <2>.csr -CA pki/ca.pem -CAkey pki/ca.key -CAcreateserial -days 365 -out <2>.pem",
		"echo subjectAltName=DNS:<1> > san.ext ;; openssl x509 -req -in <2>.csr -CA pki/ca.pem -CAkey pki/ca.key "+
			"-CAcreateserial -days 365 -extfile san.ext -out <2>.pem", "echo '127.0.0.1 <1>' >> hosts",
		"echo subjectAltName=IP:127.0.0.1 > san.ext ;; openssl x509 -req -in <2>.csr -CA pki/ca.pem -CAkey pki/ca.key "+
			"-CAcreateserial -days 365 -extfile san.ext -out <2>.pem", "cat pki/ca.pem >> <2>.pem", "openssl rehash pki"),
	seen([]string{"ssh-keygen"}, `-f (\S+) -I (\w+)@(\S+) -n file -s (\S+)\.sig`,
		"cut -d' ' -f1,2 keys/<2>.pub ;; append <1>: <2>@<3> {output}", "append <1>: <2>@<3>",
		"cut -d' ' -f1,2 keys/<2>.pub ;; append <1>: {output} <2>@<3>", "chmod 600 <1> keys/*",
		`sed -i 's/^\S*/<2>@<3>/' <1>`, "cat keys/<2>.pub >> <1>", "ssh-keygen -R <3> -f <1>"),
)
