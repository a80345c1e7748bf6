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

// blindSecond is the second half of the set blind.
var blindSecond = []Family{
	{"python: environment variable of the example missing", []string{"python3"}, func(p *place.Place, n *names) Failure {
		name, value := upper(n.word()+"_"+n.one("region", "mode", "tier", "backend")), n.dashed()
		settings := n.one(".env", "local.env", "conf/"+n.word()+".env", n.word()+".env")
		p.Write(settings, fmt.Sprintf("%s=%d\n", upper(n.snake()), n.number()))
		p.Write(settings+".example", fmt.Sprintf("%s=%d\n# %s\n%s=%s\n%s=%d\n", upper(n.snake()), n.number(), n.word(),
			name,
			value, upper(n.snake()), n.number()))
		file := n.one("", n.word()+"/") + n.snake() + ".py"
		p.Write(file, fmt.Sprintf("import os\n\n%s = {%q: %d, %q: %d}\n\n\ndef main():\n"+
			"    print(%[1]s[os.environ[%[6]q]])\n\n\nmain()\n", upper(n.word()), value, n.number(), n.dashed(),
			n.number(), name))
		return Failure{Command: fmt.Sprintf("set -a; . ./%s; python3 %s", settings, file),
			Right: Plan{run("grep '^%s=' %s.example", name, settings), line(settings, "{output}")}}
	}},
	{"python: string of TOML without quotes", []string{"python3"}, func(p *place.Place, n *names) Failure {
		file, section, key := n.dir()+".toml", n.word(), n.snake()
		var text strings.Builder
		for range n.r.IntN(4) {
			fmt.Fprintf(&text, "%s = %d\n", n.snake(), n.number())
		}
		fmt.Fprintf(&text, "\n[%s]\n", section)
		for range n.r.IntN(3) {
			fmt.Fprintf(&text, "%s = %q\n", n.snake(), n.word())
		}
		at := strings.Count(text.String(), "\n") + 1
		fmt.Fprintf(&text, "%s = %s\n%s = %d\n", key,
			n.one(n.word(), "3."+n.version(), "/srv/"+n.word(), n.dashed()+".example.com"), n.snake(), n.number())
		p.Write(file, text.String())
		script := n.snake() + ".py"
		p.Write(script, fmt.Sprintf("import sys\nimport tomllib\n\nwith open(sys.argv[1], 'rb') as f:\n"+
			"    settings = tomllib.load(f)\nprint(settings[%q][%q].upper())\n", section, key))
		return Failure{Command: fmt.Sprintf("python3 %s %s", script, file),
			Right: Plan{run(`sed -i '%ds/= *\(.*\)$/= "\1"/' %s`, at, file)}}
	}},
	{"python: migration of the database not applied", []string{"python3", "sqlite3"}, func(
		p *place.Place,
		n *names,
	) Failure {
		db, table, column := n.one("", n.word()+"/")+n.dashed()+n.one(".db", ".sqlite"), n.snake(), n.snake()
		script, dir := n.snake()+".py", n.one("migrations", "db/migrate", "sql")
		p.Write(db, "")
		p.Write(dir+"/0001_init.sql", fmt.Sprintf("CREATE TABLE %s (id INTEGER PRIMARY KEY);\n", table))
		p.Sh(fmt.Sprintf("sqlite3 %s < %s/0001_init.sql", db, dir))
		for i, name := range []string{n.snake(), column, n.snake()} {
			p.Write(fmt.Sprintf("%s/%04d_%s.sql", dir, i+2, n.word()), fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s %s;\n",
				table, name, n.one("TEXT", "INTEGER DEFAULT 0", "REAL")))
		}
		p.Write(script, fmt.Sprintf("import sqlite3\nimport sys\n\ndb = sqlite3.connect(sys.argv[1])\n"+
			"print(db.execute(%q).fetchall())\n", fmt.Sprintf(n.one("SELECT %s FROM %s", "SELECT max(%s) FROM %s",
			"SELECT id, %s FROM %s ORDER BY id"), column, table)))
		return Failure{Command: fmt.Sprintf("python3 %s %s", script, db),
			Right: Plan{run("grep -rlw --include='*.sql' %s .", column), run("sqlite3 %s < {output}", db)}}
	}},
	{"node: conflict in a JSON file", []string{"node"}, func(p *place.Place, n *names) Failure {
		ours, key := n.number(), n.snake()
		text := fmt.Sprintf("<<<<<<< HEAD\n{\n  %q: [%d]\n}\n=======\n{\n  %[1]q: [%[3]d],\n  %[4]q: true\n}\n"+
			">>>>>>> %[5]s\n", key, ours, n.number(), n.snake(), n.dashed())
		command, file := reading(p, n, text, key, "")
		return Failure{Command: command, Right: Plan{run(`sed -i '/^<<<<<<< /d;/^=======$/,/^>>>>>>> /d' %s`, file)}}
	}},
	{"node: page of HTML in place of JSON", []string{"node"}, func(p *place.Place, n *names) Failure {
		key := n.snake()
		text := n.one("<!DOCTYPE html>\n<html><body>", "<html>\n<head><title>", "<!doctype html><p>") + n.word() + "\n"
		good := fmt.Sprintf("{\n  %q: [%d],\n  %q: %q\n}\n", key, n.number(), n.snake(), n.word())
		command, file := reading(p, n, text, key, good)
		return Failure{Command: command, Right: Plan{run("cp %[1]s.bak %[1]s", file)}}
	}},
	{"javac: class not imported", []string{"javac"}, func(p *place.Place, n *names) Failure {
		pkg, class, dir := n.word(), n.exported(), n.one("src", n.word())
		name := n.one("java.util.List", "java.util.Map", "java.util.Set", "java.util.Deque", "java.util.Scanner",
			"java.io.File", "java.io.Reader", "java.io.Writer", "java.nio.file.Path", "java.nio.file.FileSystem")
		file := fmt.Sprintf("%s/%s/%s.java", dir, pkg, class)
		local := name[strings.LastIndex(name, ".")+1:]
		p.Write(file, fmt.Sprintf("package %s;\n\npublic class %s {\n\tprivate int %s = %d;\n\n\tpublic %s %s() {\n"+
			"\t\treturn null;\n\t}\n}\n", pkg, class, n.word(), n.number(), local, n.camel()))
		return Failure{Command: fmt.Sprintf("javac -d %s %s", n.one("out", "target/classes", "build"), file),
			Right: Plan{run("sed -i '1a import %s;' %s", name, file)}}
	}},
	{"openssl: line end missing between certificates", []string{"openssl"}, func(p *place.Place, n *names) Failure {
		bundle, leaf := n.dir()+n.one(".pem", ".crt"), n.dashed()+".pem"
		for _, ca := range []string{"first", "second"} {
			p.Sh(fmt.Sprintf("openssl req -x509 -newkey ed25519 -nodes -keyout %[1]s.key -out %[1]s.crt -days 3000 "+
				"-subj /CN=%s", ca, n.dashed()))
		}
		p.Sh(fmt.Sprintf("openssl req -new -newkey ed25519 -nodes -keyout leaf.key -out leaf.csr -subj /CN=%s && "+
			"openssl x509 -req -in leaf.csr -CA second.crt -CAkey second.key -CAcreateserial -days 2000 -out %s",
			n.dashed(), leaf))
		p.Write(bundle, "")
		p.Sh(fmt.Sprintf(`printf %%s "$(cat first.crt)" > %[1]s && cat second.crt >> %[1]s && `+
			"rm first.* second.* leaf.*", bundle))
		return Failure{Command: fmt.Sprintf(n.one("openssl verify -CAfile %[1]s %[2]s", "openssl verify -trusted %[1]s %[2]s",
			"openssl crl2pkcs7 -nocrl -certfile %[1]s -out %[3]s.p7b"), bundle, leaf, n.word()),
			Right: Plan{run(`sed -i 's/-----END CERTIFICATE-----\(.\)/-----END CERTIFICATE-----\n\1/' %s`, bundle)}}
	}},
	{"sh: argument with a space not quoted", []string{"sh"}, func(p *place.Place, n *names) Failure {
		file := n.word() + " " + n.dashed() + n.one(".txt", ".csv", ".log")
		script := "./" + n.one("", "bin/", n.word()+"/") + n.dashed() + ".sh"
		p.Write(file, n.word()+"\n"+n.word()+"\n")
		p.Write(script, fmt.Sprintf("#!/bin/sh\nset -e\n%s=%d\n%s\necho $%[1]s\n", n.snake(), n.number(),
			n.one("wc -l $1", "head -n 1 $1", "[ -s $1 ]", "cksum $1", "cp $1 backup", "grep -c . $1")))
		return Failure{Command: fmt.Sprintf("%s "+n.one(`"%s"`, "'%s'"), script, file),
			Right: Plan{run(`sed -i 's/\$\([1-9]\)/"$\1"/g' %s`, script)}}
	}},
}

// reading writes a JSON file, its earlier copy if there is one, and a program that needs the key. It returns the
// program's command and the file.
func reading(p *place.Place, n *names, text, key, earlier string) (command, file string) {
	file = n.dir() + "/" + n.snake() + ".json"
	p.Write(file, text)
	if earlier != "" {
		p.Write(file+".bak", earlier)
	}
	script := n.snake() + ".js"
	if n.r.IntN(2) == 0 {
		p.Write(script, fmt.Sprintf("const %s = require('./%s')\n\nconsole.log(%[1]s.%[3]s.length)\n", n.word(),
			file, key))
		return "node " + script, p.Path(file)
	}
	p.Write(script, fmt.Sprintf("const fs = require('fs')\n\n"+
		"const %s = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'))\nconsole.log(%[1]s.%[2]s.length)\n",
		n.word(), key))
	return fmt.Sprintf("node %s %s", script, file), file
}

var (
	keyErrorForm = regexp.MustCompile(`KeyError: '(\w+)'`)
	sourcedForm  = regexp.MustCompile(`\. \./([^;]+);`)
	lineForm     = regexp.MustCompile(`at line (\d+)`)
	absentColumn = regexp.MustCompile(`no such column: (\w+)`)
	databaseForm = regexp.MustCompile(`\S+\.(?:db|sqlite)\b`)
	symbolForm   = regexp.MustCompile(`symbol:\s+class (\w+)`)
	forJava      = []string{"javac"}
	forShell     = []string{"sh"}
	forOpenssl   = []string{"openssl"}
)

// imports makes plans that import the classes not found from packages.
func imports(packages ...string) func(s Seen) []Plan {
	return func(s Seen) (out []Plan) {
		for _, file := range s.with(".java") {
			for _, class := range matched(symbolForm)(s) {
				for _, pkg := range packages {
					out = append(out, Plan{run("sed -i '1a import %s.%s;' %s", pkg, class, file)})
				}
			}
		}
		return out
	}
}

// variables makes plans that set the variable not found in the file that the command reads.
func variables(s Seen) (out []Plan) {
	for _, m := range sourcedForm.FindAllStringSubmatch(s.Command, -1) {
		for _, name := range matched(keyErrorForm)(s) {
			out = append(out, Plan{run("grep '^%s=' %s.example", name, m[1]), line(m[1], "{output}")},
				Plan{line(m[1], name+"=1")}, Plan{line(m[1], name+"=default")}, Plan{line(m[1], "export "+name)})
		}
	}
	return out
}

// migrations makes plans that change the database that the command names.
func migrations(s Seen) (out []Plan) {
	for _, db := range databaseForm.FindAllString(s.Command, -1) {
		for _, column := range matched(absentColumn)(s) {
			out = append(out, Plan{run("grep -rlw --include='*.sql' %s .", column), run("sqlite3 %s < {output}", db)})
		}
		out = append(out, Plan{run("sqlite3 %s < $(find . -name '0001*.sql')", db)},
			Plan{run("sqlite3 %s REINDEX", db)},
			Plan{run("rm -f %s", db)})
	}
	return out
}

// numbered makes plans that change the line of a file that the error names.
func numbered(s Seen) (out []Plan) {
	for _, file := range s.with(".toml") {
		for _, at := range matched(lineForm)(s) {
			out = append(out, Plan{run(`sed -i '%ss/= *\(.*\)$/= "\1"/' %s`, at, file)},
				Plan{run("sed -i '%sd' %s", at, file)},
				Plan{run("sed -i '%ss/=/:/' %s", at, file)}, Plan{run("sed -i '%ss/^/# /' %s", at, file)})
		}
	}
	return out
}

// blindMore are additional repairs that the actor has for blindSecond.
var blindMore = []repair{
	{forPython, variables},
	{forPython, numbered},
	{forPython, migrations},

	{forNode, each(ending(".json"), `sed -i '/^<<<<<<< /d;/^=======$/,/^>>>>>>> /d' %s`)},
	{forNode, each(ending(".json"), `sed -i '/^[<=>]\{7\}/d' %s`)},
	{forNode, each(ending(".json"), "cp %[1]s.bak %[1]s")},
	{forNode, each(ending(".json"), "echo '{}' > %s")},
	{forNode, each(ending(".json"), `sed -i "s/'/\"/g" %s`)},

	{forJava, imports("java.util", "java.io", "java.nio.file")},
	{forJava, imports("java.lang.reflect", "java.util.function", "java.time")},
	{forJava, each(matched(symbolForm), "mkdir -p out && touch out/%s.class")},
	{forJava, each(ending(".java"), "sed -i 's/^public class/class/' %s")},
	{forJava, each(ending(".java"), "sed -i '/^package/d' %s")},
	{forJava, each(ending(".java"), `sed -i '1s/^\xef\xbb\xbf//' %s`)},

	{forOpenssl, each(ending(".pem", ".crt"),
		`sed -i 's/-----END CERTIFICATE-----\(.\)/-----END CERTIFICATE-----\n\1/' %s`)},
	{forOpenssl, each(ending(".pem", ".crt"), `sed -i 's/\r$//' %s`)},
	{forOpenssl, each(ending(".pem", ".crt"), "sed -i '/^$/d' %s")},
	{forOpenssl, each(ending(".pem", ".crt"), "sed -i 's/CERTIFICATE/TRUSTED CERTIFICATE/' %s")},
	{forOpenssl, each(ending(".pem", ".crt"), "echo >> %s")},

	{forShell, each(ending(".sh"), `sed -i 's/\$\([1-9]\)/"$\1"/g' %s`)},
	{forShell, each(ending(".sh"), `sed -i 's/\$\([1-9]\)/${\1}/g' %s`)},
	{forShell, each(ending(".sh"), `sed -i 's/\$\([1-9]\)/$*/g' %s`)},
	{forShell, each(ending(".sh"), "sed -i 's/^set -e$/set -eu/' %s")},
}
