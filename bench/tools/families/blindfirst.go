package families

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/mneme/mneme/bench/tools/place"
)

// blindFirst and blindSecond were written by an author who knew neither the rules nor the results of the other sets,
// and before any of them was run.
var blindFirst = []Family{
	{"go: imports have the old name of the module", []string{"go"}, func(p *place.Place, n *names) Failure {
		host := func() string { return n.one("example.com", "git.example.org", "code.example.net") }
		old, module, pkg := host()+"/"+n.dashed(), host()+"/"+n.word()+"/"+n.dashed(), n.word()
		file := n.one("main.go", n.word()+".go", "cmd/"+n.word()+"/main.go")
		p.Write("go.mod", "module "+module+"\n\ngo "+n.one("1.21", "1.22", "1.23.0")+"\n")
		p.Write(pkg+"/"+n.snake()+".go", fmt.Sprintf("package %s\n\nconst %s = %d\n", pkg, "Limit", n.number()))
		p.Write(file, fmt.Sprintf("package main\n\nimport (\n\t\"fmt\"\n\n\t\"%s/%s\"\n)\n\n"+
			"func main() { fmt.Println(%[2]s.Limit) }\n", old, pkg))
		return Failure{Command: n.one("go build ./...", "go vet ./...", "go build -o app ./"+path.Dir(file)),
			Right: Plan{run("go list -m"),
				run("grep -rl --include='*.go' %[1]s . | xargs sed -i 's#\"%[1]s/#\"{output}/#'", old)}}
	}},
	{"rustc: type not imported", []string{"rustc"}, func(p *place.Place, n *names) Failure {
		file := n.one("", n.word()+"/", "src/"+n.word()+"/") + n.snake() + ".rs"
		typ := n.one("collections::HashMap<u32, u32>", "collections::BTreeSet<u64>", "collections::VecDeque<u8>",
			"rc::Rc<u16>", "cell::RefCell<i64>", "path::PathBuf", "time::Duration", "fs::File", "net::TcpStream")
		at := strings.LastIndex(typ, "::")
		module, local := typ[:at], typ[at+2:]
		name, _, _ := strings.Cut(local, "<")
		p.Write(file, fmt.Sprintf("pub struct %s {\n    pub %s: u32,\n    pub %s: %s,\n}\n", n.exported(), n.snake(),
			n.snake(), local))
		return Failure{Command: "rustc " + n.one("--edition 2021 ", "--edition 2018 ", "-O ") +
			"--crate-type lib --emit metadata -o out.rmeta " + file,
			Right: Plan{run("sed -i '1i use std::%s::%s;' %s", module, name, file)}}
	}},
	{"cargo: no such version of a local crate", []string{"cargo", "rustc"}, func(p *place.Place, n *names) Failure {
		dir, crate := n.one("", n.word()+"/"), n.dashed()
		found := fmt.Sprintf("%d.%d.%d", n.r.IntN(3), 1+n.r.IntN(20), n.r.IntN(9))
		wanted := fmt.Sprintf("%d.%d", 3+n.r.IntN(5), n.r.IntN(30))
		p.Write(dir+"Cargo.toml", fmt.Sprintf("[package]\nname = %q\nversion = \"0.1.0\"\nedition = \"2021\"\n\n"+
			"[dependencies]\n%s = { path = %[2]q, version = %[3]q }\n", n.dashed(), crate, wanted))
		p.Write(dir+"src/main.rs", fmt.Sprintf("fn main() {\n    println!(\"{}\", %d);\n}\n", n.number()))
		p.Write(dir+crate+"/Cargo.toml", fmt.Sprintf("[package]\nname = %q\nversion = %q\nedition = \"2021\"\n", crate,
			found))
		p.Write(dir+crate+"/src/lib.rs", fmt.Sprintf("pub const N: u32 = %d;\n", n.number()))
		command := "cargo " + n.one("check -q", "build", "tree") + " --offline"
		if dir != "" {
			command += " --manifest-path " + dir + "Cargo.toml"
		}
		return Failure{Command: command, Right: Plan{replace(dir+"Cargo.toml", fmt.Sprintf("version = %q", wanted),
			fmt.Sprintf("version = %q", found))}}
	}},
	{"make: library before the objects", []string{"make", "gcc"}, func(p *place.Place, n *names) Failure {
		app, dir, lib, symbol := n.word(), n.dir(), n.word(), n.snake()
		archive(p, dir+"/lib"+lib+".a", symbol, n)
		p.Write("main.c", calling(symbol))
		p.Write("Makefile", fmt.Sprintf("LDLIBS = -L%s -l%s\n\n%s: main.o\n\t$(CC) -o $@ $(LDLIBS) $^\n", dir, lib,
			app))
		return Failure{Command: "make " + app, Right: Plan{replace("Makefile", "$(LDLIBS) $^", "$^ $(LDLIBS)")}}
	}},
	{"make: library not named", []string{"make", "gcc"}, func(p *place.Place, n *names) Failure {
		app, dir, symbol := n.word(), n.dir(), n.snake()
		for _, name := range []string{n.snake(), symbol, n.snake()} {
			archive(p, dir+"/lib"+n.word()+".a", name, n)
		}
		p.Write("main.c", calling(symbol))
		p.Write("Makefile", fmt.Sprintf("LDLIBS =%s\n\n%s: main.o\n\t$(CC) -o $@ $^ $(LDLIBS)\n",
			n.one("", " -lm", " -lpthread"), app))
		return Failure{Command: "make " + app, Right: Plan{run("find . -name '*.a' | xargs grep -lw %s", symbol),
			replace("Makefile", "LDLIBS =", "LDLIBS = {output}")}}
	}},
	{"git: on no branch", []string{"git"}, func(p *place.Place, n *names) Failure {
		branch := n.one("main", "trunk", "develop", "release/"+n.version(), n.dashed())
		file, remote := n.word()+".txt", "../"+n.dashed()+".git"
		repository(p, file, n.word()+"\n")
		p.Sh(fmt.Sprintf("git branch -M %[1]s && git init -q --bare %[2]s && git remote add origin %[2]s && "+
			"git push -q -u origin %[1]s", branch, remote))
		p.Write(file, n.word()+"\n")
		p.Sh("git commit -q -a -m second && git checkout -q " + n.one("--detach", "HEAD~0", "HEAD~1"))
		return Failure{Command: n.one("git push", "git push -q", "git pull -q", "git pull --ff-only"),
			Right: Plan{run("git for-each-ref --format='%%(refname:short)' refs/heads"), run("git checkout -q {output}")}}
	}},
	{"python: modules import each other", []string{"python3"}, func(p *place.Place, n *names) Failure {
		first, second, constant, function, total := n.snake(), n.snake(), upper(n.snake()), n.snake(), n.snake()
		dir, at := n.one("", n.word()+"/"), ""
		if dir != "" {
			at = strings.TrimSuffix(dir, "/") + "."
			p.Write(dir+"__init__.py", "")
		}
		p.Write(dir+first+".py", fmt.Sprintf("from %s%s import %s\n\n%s = %d\n\n\ndef %s():\n    return %[3]s() + 1\n",
			at, second, function, constant, n.number(), total))
		p.Write(dir+second+".py", fmt.Sprintf("from %s%s import %s\n\n\ndef %s():\n    return %[3]s * %[5]d\n", at,
			first, constant, function, n.number()))
		command := fmt.Sprintf("python3 -c 'from %s%s import %s; print(%[3]s())'", at, first, total)
		if n.r.IntN(2) == 0 {
			file := n.snake() + ".py"
			p.Write(file, fmt.Sprintf("import %s%s as m\n\nprint(m.%s())\n", at, first, total))
			command = "python3 " + file
		}
		return Failure{Command: command, Right: Plan{run("sed -i -e '/^from /{h;d}' -e '$G' %s", p.Path(dir+first+".py"))}}
	}},
	{"sh: interpreter of another machine", []string{"sh", "perl"}, func(p *place.Place, n *names) Failure {
		file := "./" + n.one("", "bin/", n.word()+"/") + n.dashed() + ".pl"
		p.Write(file, fmt.Sprintf("#!%s\nuse strict;\n\nmy $%s = %d;\nprint \"$%[2]s\\n\";\n",
			n.one("/usr/local/bin/perl", "/opt/perl/bin/perl", "/usr/bin/perl5.18", "/sw/bin/perl -w"), n.snake(),
			n.number()))
		p.Sh("chmod +x " + file)
		return Failure{Command: file + n.one("", " "+n.word(), " > out.txt"),
			Right: Plan{run("sed -i '1s|^#!.*|#!/usr/bin/env perl|' %s", file)}}
	}},
}

// calling is a program that calls a function of a library.
func calling(symbol string) string {
	return fmt.Sprintf("int %s(int n);\n\n", symbol) + printing(symbol+"(3)")
}

// archive makes a static library with a function.
func archive(p *place.Place, file, symbol string, n *names) {
	p.Write(file+".c", fmt.Sprintf("int %s(int n);\nint %[1]s(int n) { return n + %d; }\n", symbol, n.number()))
	p.Sh(fmt.Sprintf("gcc -c -o %[1]s.o %[1]s.c && ar rc %[1]s %[1]s.o && rm %[1]s.o", file))
}

var (
	providesForm = regexp.MustCompile(`provides package ([^\s;]+)`)
	useForm      = regexp.MustCompile(`\+ use (std::[\w:]+);`)
	missingType  = regexp.MustCompile("cannot find type `(\\w+)`")
	wantedForm   = regexp.MustCompile("requirement `[\\w-]+ = \"\\^?([^\"]+)\"`\\s+.*didn't match: (\\S+)")
	undefined    = regexp.MustCompile("undefined reference to [`'‘](\\w+)['’]")
	forBlind     = []string{"go", "rustc", "cargo", "javac", "openssl", "sh"}
	forRust      = []string{"rustc"}
	forCargo     = []string{"cargo"}
)

// older returns the module of a package that no required module provides.
func older(s Seen) (out []string) {
	for _, pkg := range matched(providesForm)(s) {
		out = append(out, path.Dir(pkg))
	}
	return out
}

// manifest is the file of cargo that the command names.
func manifest(s Seen) string {
	if _, file, ok := strings.Cut(s.Command, "--manifest-path "); ok {
		return file
	}
	return "Cargo.toml"
}

// blindRepairs are additional repairs that the actor has for blindFirst.
var blindRepairs = []repair{
	{forBlind, each(allPaths, "touch %s")},
	{forBlind, each(allPaths, "chmod 644 %s")},

	{forGo, func(s Seen) (out []Plan) {
		for _, old := range older(s) {
			out = append(out, Plan{run("go list -m"),
				run("grep -rl --include='*.go' %[1]s . | xargs sed -i 's#\"%[1]s/#\"{output}/#'", old)})
		}
		return out
	}},
	{forGo, each(older, "go mod edit -require=%s@v1.0.0")},
	{forGo, each(matched(providesForm), "go get %s")},

	{forRust, func(s Seen) (out []Plan) {
		for _, file := range s.with(".rs") {
			for _, use := range matched(useForm)(s) {
				out = append(out, Plan{run("sed -i '1i use %s;' %s", use, file)})
			}
		}
		return out
	}},
	{forRust, func(s Seen) (out []Plan) {
		for _, file := range s.with(".rs") {
			for _, name := range matched(missingType)(s) {
				out = append(out, Plan{run("sed -i '1i mod %s;' %s", name, file)},
					Plan{run("sed -i 's/%[1]s/std::%[1]s/' %[2]s", name, file)})
			}
		}
		return out
	}},
	{forRust, each(ending(".rs"), "sed -i '1i extern crate core;' %s")},
	{forRust, each(ending(".rs"), "sed -i '1i use std::prelude::v1::*;' %s")},
	{forRust, each(ending(".rs"), "sed -i '1i #![allow(dead_code)]' %s")},
	{forRust, each(ending(".rs"), "rustfmt %s")},

	{forCargo, func(s Seen) (out []Plan) {
		for _, m := range wantedForm.FindAllStringSubmatch(s.Output, -1) {
			old := fmt.Sprintf("version = %q", m[1])
			out = append(out, Plan{replace(manifest(s), old, fmt.Sprintf("version = %q", m[2]))},
				Plan{replace(manifest(s), old, fmt.Sprintf("version = \">=%s\"", m[1]))},
				Plan{replace(manifest(s), `version = "0.1.0"`, fmt.Sprintf("version = %q", m[2]))})
		}
		return out
	}},
	{forCargo, always("rm -f Cargo.lock")},
	{forCargo, always("cargo update --offline")},
	{forCargo, always("cargo clean")},
	{forCargo, func(s Seen) []Plan {
		return []Plan{{run(`sed -i 's/^edition = .*/edition = "2018"/' %s`, manifest(s))}}
	}},
	{forCargo, func(s Seen) []Plan { return []Plan{{line(manifest(s), "[workspace]")}} }},

	{forMake, func(Seen) []Plan { return []Plan{{replace("Makefile", "$(LDLIBS) $^", "$^ $(LDLIBS)")}} }},
	{forMake, func(Seen) []Plan { return []Plan{{replace("Makefile", "$(CC)", "$(CC) -static")}} }},
	{forMake, func(s Seen) (out []Plan) {
		for _, symbol := range matched(undefined)(s) {
			out = append(out, Plan{run("find . -name '*.a' | xargs grep -lw %s", symbol),
				replace("Makefile", "LDLIBS =", "LDLIBS = {output}")})
		}
		return out
	}},
	{forMake, always("rm -f *.o")},

	{forGit, func(Seen) []Plan {
		return []Plan{{run("git for-each-ref --format='%%(refname:short)' refs/heads"),
			run("git checkout -q {output}")}}
	}},
	{forGit, always("git checkout -q -b recovered")},
	{forGit, always("git fetch -q --all")},
	{forGit, always("git reset -q --hard")},
	{forGit, always("git config push.default current")},
	{forGit, always("git remote prune origin")},

	{forPython, each(ending(".py"), "sed -i -e '/^from /{h;d}' -e '$G' %s")},
	{forPython, always("find . -name __pycache__ -prune -exec rm -rf {} +")},

	{[]string{"sh"}, each(ending(".pl", ".sh"), "sed -i '1s|^#!.*|#!/usr/bin/env perl|' %s")},
	{[]string{"sh"}, each(ending(".pl", ".sh"), "sed -i '1s|^#!.*|#!/bin/bash|' %s")},
	{[]string{"sh"}, each(ending(".pl", ".sh"), "sed -i '1d' %s")},
}
