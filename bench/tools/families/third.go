package families

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/mneme/mneme/bench/tools/place"
)

// thirdFamilies were written before any of them was run, by an author who had not read the rules, but the reference of
// the benchmarks, which describes some of them.
var thirdFamilies = []Family{
	{"go: checksum of a module changed", []string{"go"}, func(p *place.Place, n *names) Failure {
		module, version := "example.com/"+n.dashed()+"/"+n.word(), fmt.Sprintf("v1.%d.%d", n.r.IntN(30), n.r.IntN(10))
		pkg := path.Base(module)
		p.Setenv("GOPROXY=file://" + p.Root + "/proxy")
		p.Setenv("GOFLAGS=-modcacherw")
		publish(p, module, version, fmt.Sprintf("package %s\n\nconst N = %d\n", pkg, n.number()))
		p.Write("go.mod", fmt.Sprintf("module example.com/%s\n\ngo 1.21\n\nrequire %s %s\n", n.dashed(), module, version))
		p.Write(n.one("", "cmd/"+n.word()+"/")+"main.go",
			fmt.Sprintf("package main\n\nimport %q\n\nfunc main() { println(%s.N) }\n", module, pkg))
		p.Sh("go mod tidy && rm -rf ../home/go")
		publish(p, module, version, fmt.Sprintf("package %s\n\nconst N = %d // fixed\n", pkg, n.number()))
		return Failure{Command: "go " + n.one("build ./...", "vet ./...", "list -deps ./..."),
			Right: Plan{run(`sed -i '\#^%s #d' go.sum && go mod tidy`, module)}}
	}},
	{"go: golden file out of date", []string{"go"}, func(p *place.Place, n *names) Failure {
		pkg, golden := n.word(), "testdata/"+n.dashed()+n.one(".golden", ".txt")
		p.Write("go.mod", "module example.com/"+n.dashed()+"\n\ngo 1.21\n")
		p.Write(pkg+"/"+pkg+".go", fmt.Sprintf("package %s\n\nfunc render() string { return \"%s: %d\\n\" }\n", pkg,
			n.word(), n.number()))
		p.Write(pkg+"/"+golden, n.word()+"\n")
		p.Write(pkg+"/"+n.word()+"_test.go", fmt.Sprintf("package %s\n\n"+
			"import (\n\t\"flag\"\n\t\"os\"\n\t\"testing\"\n)\n\n"+
			"var update = flag.Bool(\"update\", false, \"write the golden files\")\n\n"+
			"func Test%s(t *testing.T) {\n\tgot := render()\n\tif *update {\n\t\t_ = os.WriteFile(%[3]q, []byte(got), 0o600)\n"+
			"\t}\n\twant, err := os.ReadFile(%[3]q)\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n"+
			"\tif got != string(want) {\n\t\tt.Fatalf(\"%[3]s differs: got %%q, want %%q\", got, want)\n\t}\n}\n", pkg,
			n.exported(), golden))
		return Failure{Command: n.one("go test ./...", "go test ./"+pkg, "go test -count=1 ./..."),
			Right: Plan{run("go test ./%s -update", pkg)}}
	}},
	{"go: variable not used", []string{"go"}, func(p *place.Place, n *names) Failure {
		file, name := n.one("main.go", n.word()+".go", "cmd/"+n.word()+"/main.go"), n.camel()
		before := n.r.IntN(5)
		p.Write("go.mod", "module example.com/"+n.dashed()+"\n\ngo 1.21\n")
		p.Write(file, fmt.Sprintf("package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc main() {\n%s"+
			"\t%s := %s\n\tfmt.Println(%d)\n}\n", strings.Repeat("\tfmt.Println()\n", before), name,
			n.one("len(os.Args)", fmt.Sprintf("os.Getenv(%q)", upper(n.word())), "os.Getpid()"), n.number()))
		return Failure{Command: n.one("go build ./...", "go vet ./...", "go build -o app ./"+path.Dir(file)),
			Right: Plan{run(`sed -i '%ds/%s := /_ = /' %s`, 9+before, name, file)}}
	}},
	{"g++: header of C without extern", []string{"g++", "gcc"}, func(p *place.Place, n *names) Failure {
		dir, lib, function := n.one("", "src/", n.word()+"/"), n.word(), n.snake()
		header, file := dir+function+".h", dir+n.word()+n.one(".cpp", ".cc")
		p.Write(header, fmt.Sprintf("int %s(int n);\n", function))
		p.Sh("mkdir -p vendor")
		archive(p, "vendor/lib"+lib+".a", function, n)
		p.Write(file, fmt.Sprintf("#include <cstdio>\n#include \"%[1]s.h\"\n\nint main() {\n"+
			"\tstd::printf(\"%%d\\n\", %[1]s(%d));\n\treturn 0;\n}\n", function, n.number()))
		return Failure{Command: fmt.Sprintf(n.one("g++ -o app %s vendor/lib%s.a", "g++ -O1 -o app %s -Lvendor -l%s",
			"g++ -Wall %s vendor/lib%s.a -o app"), file, lib),
			Right: Plan{run(`sed -i 's/^#include "\(.*\)"/extern "C" {\n#include "\1"\n}/' %s`, file)}}
	}},
	{"gcc: option of another compiler", []string{"gcc"}, func(p *place.Place, n *names) Failure {
		file := n.one("", n.word()+"/") + n.snake() + ".c"
		flag := n.one("-Weverything", "-fcolor-diagnostics", "-Wshorten-64-to-32", "-fblocks", "-Wthread-safety",
			"-Wdocumentation", "-Wconditional-uninitialized", "-fslp-vectorize")
		p.Write(file, printing(fmt.Sprint(n.number())))
		p.Write(options, "-O1\n"+n.one("", "-Wall\n", "-g\n")+flag+"\n"+n.one("", "-Wextra\n"))
		return Failure{Command: fmt.Sprintf("gcc @%s "+n.one("-c", "-o app", "-fsyntax-only")+" %s", options, file),
			Right: Plan{run("sed -i '/^%s$/d' %s", flag, options)}}
	}},
	{"make: call of a function not closed", []string{"make"}, func(p *place.Place, n *names) Failure {
		file, target, name := n.one("Makefile", "GNUmakefile", n.word()+".mk"), n.snake(), upper(n.snake())
		before := ""
		for range n.r.IntN(6) {
			before += fmt.Sprintf("%s = %d\n", upper(n.snake()), n.number())
		}
		p.Write(n.word()+".c", "")
		p.Write(file, fmt.Sprintf("%s%s := $(%s\n\n%s:\n\t@test -n \"$(%[2]s)\"\n", before, name,
			n.one("wildcard *.c", "patsubst %.c,%.o,$(wildcard *.c)", "sort "+n.word()+" "+n.word(),
				"addprefix "+n.word()+"/,"+n.word(), "notdir "+n.dir()), target))
		command := "make " + target
		if strings.HasSuffix(file, ".mk") {
			command = "make -f " + file + " " + target
		}
		return Failure{Command: command, Right: Plan{run("sed -i '%ds/$/)/' %s", strings.Count(before, "\n")+1, file)}}
	}},
	{"git: remote has another name", []string{"git"}, func(p *place.Place, n *names) Failure {
		named, called := n.one("upstream", "github", n.word()), n.one("origin", "origin", "fork", n.word())
		repository(p, n.word()+".txt", n.word()+"\n")
		p.Sh(fmt.Sprintf("git init -q --bare ../%[1]s.git && git remote add %[2]s ../%[1]s.git && git push -q %[2]s main",
			n.dashed(), named))
		return Failure{Command: fmt.Sprintf(n.one("git fetch -q %s", "git pull -q %s main", "git push -q %s main",
			"git push %s HEAD"), called), Right: Plan{run("git remote"), run("git remote rename {output} %s", called)}}
	}},
	{"git: branch in the place of a group", []string{"git"}, func(p *place.Place, n *names) Failure {
		branch, text := n.dashed(), n.word()+n.word()
		repository(p, n.word()+".txt", n.word()+"\n")
		p.Sh("git checkout -q -b " + branch)
		p.Write(n.word()+".md", text+"\n")
		p.Sh("git add -A && git commit -q -m " + text + " && git checkout -q main")
		return Failure{Command: fmt.Sprintf(n.one("git branch %s/%s", "git checkout -q -b %s/%s", "git switch -q -c %s/%s"),
			branch, n.dashed()), Right: Plan{run("git branch -m %[1]s %[1]s-old", branch)},
			Keeps: "git log --all --format=%s | grep -qx " + text}
	}},
	{"git: tags not fetched", []string{"git"}, func(p *place.Place, n *names) Failure {
		at := "../" + n.dashed() + ".git"
		tagged(p, n, at)
		p.Sh("git clone -q --no-tags " + at + " .")
		return Failure{Command: describing(n), Right: Plan{run("git fetch -q --tags")}}
	}},
	{"git: history is cut off", []string{"git"}, func(p *place.Place, n *names) Failure {
		at := n.dashed() + ".git"
		tagged(p, n, "../"+at)
		p.Sh("git clone -q --depth 1 file://" + p.Root + "/" + at + " .")
		return Failure{Command: describing(n), Right: Plan{run("git fetch -q --unshallow --tags")}}
	}},
	{"git: rebase left unfinished", []string{"git"}, func(p *place.Place, n *names) Failure {
		file, work, other, main := n.word()+".txt", n.dashed(), n.dashed(), n.one("main", "main", "develop", "trunk")
		text := n.word() + n.word()
		repository(p, file, n.word()+"\n")
		p.Sh(fmt.Sprintf("git branch -M %s && git checkout -q -b %s && echo %s > %s && git commit -q -a -m %[3]s && "+
			"git checkout -q -b %[5]s %[1]s && echo %[6]s > %[4]s && git commit -q -a -m %[6]s && git checkout -q %[1]s && "+
			"echo %[7]s > %[7]s.md && git add -A && git commit -q -m %[7]s && git checkout -q %[2]s; "+
			"git rebase -q %[5]s || true", main, work, text, file, other, n.word(), n.word()))
		return Failure{Command: n.one("git rebase ", "git rebase -q ") + main, Right: Plan{run("git rebase --abort")},
			Keeps: "git log --all --format=%s | grep -qx " + text}
	}},
	{"python: wheel not installed", []string{"python3"}, func(p *place.Place, n *names) Failure {
		name, file, vendor := n.word()+"_"+n.word(), n.one("", n.word()+"/")+n.snake()+".py", n.one("vendor", "deps", "lib")
		version := n.version()
		info := name + "-" + version + ".dist-info/"
		p.Sh("mkdir -p " + vendor)
		p.Write("wheels/"+name+"-"+version+"-py3-none-any.whl", zipped([][2]string{
			{name + ".py", fmt.Sprintf("LIMIT = %d\n", n.number())},
			{info + "METADATA", fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n", name, version)},
			{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
			{info + "RECORD", name + ".py,,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n"}}))
		p.Sh("python3 -m pip --version")
		p.Write(file, fmt.Sprintf("%s\n\nprint(LIMIT)\n", n.one("from "+name+" import LIMIT",
			"import "+name+"\n\nLIMIT = "+name+".LIMIT")))
		return Failure{Command: "PYTHONPATH=" + vendor + " python3 " + file,
			Right: Plan{run("python3 -m pip install -q --no-index --find-links wheels -t %s %s", vendor, name)}}
	}},
	{"python: class moved to collections.abc", []string{"python3"}, func(p *place.Place, n *names) Failure {
		class := n.one("Mapping", "MutableMapping", "Iterable", "Callable", "Sequence", "Hashable")
		function := n.snake()
		command, file := program(p, n, function, fmt.Sprintf("import collections\n\n\ndef %s(value):\n"+
			"    return isinstance(value, collections.%s)\n", function, class))
		return Failure{Command: command,
			Right: Plan{run(`sed -i 's/collections\.%[1]s/collections.abc.%[1]s/' %[2]s`, class, file)}}
	}},
	{"python: type that JSON does not know", []string{"python3"}, func(p *place.Place, n *names) Failure {
		module, value := "datetime", fmt.Sprintf("datetime.date(2024, 5, %d)", 1+n.r.IntN(30))
		switch n.r.IntN(4) {
		case 0:
			module, value = "decimal", fmt.Sprintf("decimal.Decimal(%d)", n.number())
		case 1:
			module, value = "uuid", fmt.Sprintf("uuid.UUID(int=%d)", n.number())
		case 2:
			module, value = "pathlib", fmt.Sprintf("pathlib.Path(%q)", n.dir())
		}
		function := n.snake()
		command, file := program(p, n, function, fmt.Sprintf("import json\nimport %s\n\n\ndef %s(name):\n"+
			"    record = {'name': name, %q: %s}\n    text = json.dumps(record)\n    return len(text)\n", module, function,
			n.snake(), value))
		return Failure{Command: command,
			Right: Plan{run(`sed -i 's/json\.dumps(\([^()]*\))/json.dumps(\1, default=str)/' %s`, file)}}
	}},
	{"python: directory of tests is no package", []string{"python3"}, func(p *place.Place, n *names) Failure {
		dir := n.one("tests/", "checks/", n.word()+"/tests/") + n.one("unit", n.word())
		p.Write(dir+"/test_"+n.snake()+".py", fmt.Sprintf("import unittest\n\n\nclass %s(unittest.TestCase):\n"+
			"    def test_%s(self):\n        self.assertEqual(%[3]d, %[3]d)\n", n.exported(), n.snake(), n.number()))
		return Failure{Command: fmt.Sprintf("python3 -m unittest "+n.one("discover -s %s -t .", "discover -q -t . -s %s",
			"discover %s -t ."), dir), Right: Plan{run("touch %s/__init__.py", dir)}}
	}},
	{"npm: lock file out of date", []string{"npm", "node"}, func(p *place.Place, n *names) Failure {
		first, second := n.dashed(), n.dashed()
		for _, name := range []string{first, second} {
			p.Write("libs/"+name+"/package.json", fmt.Sprintf("{\"name\": %q, \"version\": %q}\n", name, n.version()))
		}
		p.Write("package.json", fmt.Sprintf("{\"name\": %q, \"version\": %q, \"dependencies\": {%q: \"file:libs/%[3]s\"}}\n",
			n.dashed(), n.version(), first))
		p.Sh("npm install --package-lock-only && npm pkg set dependencies." + second + "=file:libs/" + second)
		return Failure{Command: n.one("npm ci", "npm ci --ignore-scripts", "npm ci --omit=dev"),
			Right: Plan{run("npm install --package-lock-only")}}
	}},
	{"node: import without extension", []string{"node"}, func(p *place.Place, n *names) Failure {
		dir, script, name := n.one("lib", "src", n.word()), n.snake()+".js", n.snake()
		p.Write("package.json", fmt.Sprintf("{\"name\": %q, \"type\": \"module\"}\n", n.dashed()))
		p.Write(dir+"/"+name+".js", fmt.Sprintf("export const limit = %d\n", n.number()))
		p.Write(script, fmt.Sprintf("import { limit } from './%s/%s'\n\nconsole.log(limit)\n", dir, name))
		return Failure{Command: "node " + script + n.one("", " "+n.word(), " --dry-run"),
			Right: Plan{run(`sed -i "s#from '\(\./[^']*\)'#from '\1.js'#" %s`, script)}}
	}},
	{"cargo: crate is not in the workspace", []string{"cargo", "rustc"}, func(p *place.Place, n *names) Failure {
		root, dir, old, crate := n.one("", n.word()+"/"), n.one("crates/", "", "libs/"), n.dashed(), n.dashed()
		p.Write(root+"Cargo.toml", fmt.Sprintf("[workspace]\nmembers = [%q]\nresolver = \"2\"\n", dir+old))
		for _, c := range []string{old, crate} {
			p.Write(root+dir+c+"/Cargo.toml", fmt.Sprintf("[package]\nname = %q\nversion = %q\nedition = \"2021\"\n", c,
				n.version()))
			p.Write(root+dir+c+"/src/lib.rs", fmt.Sprintf("pub const N: u32 = %d;\n", n.number()))
		}
		return Failure{Command: fmt.Sprintf(n.one("cd %s && cargo check -q --offline", "cd %s && cargo metadata "+
			"--format-version 1 --offline", "cargo check --offline --manifest-path %s/Cargo.toml"), root+dir+crate),
			Right: Plan{replace(p.Path(root+"Cargo.toml"), "members = [", fmt.Sprintf("members = [%q, ", dir+crate))}}
	}},
	{"rustc: variable not mutable", []string{"rustc"}, func(p *place.Place, n *names) Failure {
		file, name := n.one("", "src/", n.word()+"/")+n.snake()+".rs", n.snake()
		typ, change := "Vec<u32>", fmt.Sprintf("push(%d)", n.number())
		if n.r.IntN(2) == 0 {
			typ, change = "String", fmt.Sprintf("push_str(%q)", n.word())
		}
		init, _, _ := strings.Cut(typ, "<")
		p.Write(file, fmt.Sprintf("pub const %s: u32 = %d;\n\npub fn %s() -> %s {\n"+
			"    let %s = %s::new();\n    %[5]s.%[7]s;\n    %[5]s\n}\n", upper(n.snake()), n.number(), n.snake(), typ, name,
			init, change))
		return Failure{Command: "rustc " + n.one("--edition 2021 ", "--edition 2018 ", "-O ") +
			"--crate-type lib --emit metadata -o out.rmeta " + file,
			Right: Plan{run(`sed -i 's/let %[1]s\b/let mut %[1]s/' %[2]s`, name, file)}}
	}},
	{"javac: exception not declared", []string{"javac"}, func(p *place.Place, n *names) Failure {
		class, dir := n.exported(), n.one("", "src/", n.word()+"/")
		exception, body := "IOException", "System.in.read();"
		switch n.r.IntN(4) {
		case 0:
			exception, body = "InterruptedException", fmt.Sprintf("Thread.sleep(%d);", n.number())
		case 1:
			exception, body = "ClassNotFoundException", fmt.Sprintf("Class.forName(%q);", n.word())
		case 2:
			exception, body = "FileNotFoundException", fmt.Sprintf("new FileReader(%q);", n.snake()+".txt")
		}
		file := dir + class + ".java"
		p.Write(file, fmt.Sprintf("import java.io.*;\n\npublic class %s {\n\tprivate int %s = %d;\n\n\tpublic void %s() {\n"+
			"\t\t%s\n\t}\n}\n", class, n.camel(), n.number(), n.camel(), body))
		return Failure{Command: "javac -d " + n.one("out ", "build ", "target/classes ") + file,
			Right: Plan{run("sed -i 's/) {$/) throws %s {/' %s", exception, file)}}
	}},
	{"sh: script needs bash", []string{"sh", "bash"}, func(p *place.Place, n *names) Failure {
		file, name := "./"+n.one("", "bin/", n.word()+"/")+n.dashed()+".sh", n.snake()
		p.Write(file, fmt.Sprintf("#!/bin/sh\n%sset -%s pipefail\n%s=(%s %s)\necho \"${%[3]s[0]}\"\n",
			n.one("", "# "+n.word()+"\n", "\n"), n.one("euo", "eo", "o"), name, n.word(), n.word()))
		return Failure{Command: file + n.one("", " "+n.word(), " > out.txt"),
			Right: Plan{run("sed -i '1s,^#!/bin/sh,#!/bin/bash,' %s", file)}}
	}},
	{"sh: name of a shared library not linked", []string{"sh", "gcc"}, func(p *place.Place, n *names) Failure {
		dir, name, function, program := n.one("lib", "lib64", "vendor/lib"), n.word(), n.snake(), n.dashed()
		soname := fmt.Sprintf("lib%s.so.%d", name, 1+n.r.IntN(9))
		file := fmt.Sprintf("%s/%s.%d.%d", dir, soname, n.r.IntN(9), n.r.IntN(9))
		p.Write("lib.c", fmt.Sprintf("int %[1]s(void);\nint %[1]s(void) { return 0; }\n", function))
		p.Write("main.c", fmt.Sprintf("int %[1]s(void);\nint main(void) { return %[1]s(); }\n", function))
		p.Sh(fmt.Sprintf("mkdir -p %s bin && gcc -shared -fPIC -Wl,-soname,%s -o %s lib.c && "+
			"gcc -o bin/%s main.c %[3]s '-Wl,-rpath,$ORIGIN/../%[1]s' && rm lib.c main.c", dir, soname, file, program))
		return Failure{Command: "./bin/" + program + n.one("", " "+n.word(), " --version"),
			Right: Plan{run("find . -name '%s.*'", soname),
				run("ln -s $(basename {output}) $(dirname {output})/%s", soname)}}
	}},
	{"sqlite3: text of a dump in place of the database", []string{"sqlite3"}, func(p *place.Place, n *names) Failure {
		db, table := n.one("", n.word()+"/")+n.dashed()+n.one(".db", ".sqlite"), n.snake()
		p.Write(db, fmt.Sprintf("PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE %s (id INTEGER, name TEXT);\n"+
			"INSERT INTO %[1]s VALUES (%d, '%s');\nCOMMIT;\n", table, n.number(), n.word()))
		return Failure{Command: fmt.Sprintf(n.one("sqlite3 %s 'SELECT count(*) FROM %s'",
			"sqlite3 %s 'SELECT name FROM %s ORDER BY id'", "sqlite3 -json %s 'SELECT * FROM %s'"), db, table),
			Right: Plan{run("mv %[1]s %[1]s.sql && sqlite3 %[1]s < %[1]s.sql", db)}}
	}},
	{"cmake: package outside the search path", []string{"cmake"}, func(p *place.Place, n *names) Failure {
		name, settings := n.exported(), n.one("local.cmake", "cache.cmake", "conf/"+n.word()+".cmake")
		p.Write("CMakeLists.txt", fmt.Sprintf("cmake_minimum_required(VERSION 3.10)\nproject(%s NONE)\n"+
			"%sfind_package(%s%s)\n", n.word(), n.one("", "set(LIMIT 3)\n"), name, n.one(" REQUIRED", " CONFIG REQUIRED")))
		p.Write(settings, fmt.Sprintf("set(%s %d CACHE STRING \"\")\n", upper(n.snake()), n.number()))
		p.Write(n.one("deps/", "third_party/", n.word()+"/")+n.one("", "lib/cmake/")+name+"/"+name+"Config.cmake",
			fmt.Sprintf("set(%s_LIMIT %d)\n", name, n.number()))
		return Failure{Command: fmt.Sprintf("cmake -C %s -S . -B %s", settings, n.one("build", "out", n.word())),
			Right: Plan{run("dirname $(find $PWD -name %sConfig.cmake)", name),
				line(settings, "set("+name+`_DIR "{output}" CACHE PATH "" FORCE)`)}}
	}},
	{"perl: variable not declared", []string{"perl"}, func(p *place.Place, n *names) Failure {
		file, name := n.one("", "bin/", n.word()+"/")+n.snake()+n.one(".pl", ".pl", ".t"), n.snake()
		before := n.one("use strict;\n", "use strict;\nuse warnings;\n\n", "use v5.12;\n\n") +
			strings.Repeat("print \"\\n\";\n", n.r.IntN(4))
		p.Write(file, fmt.Sprintf("%s$%s = %d;\nprint \"$%[2]s\\n\";\n", before, name, n.number()))
		return Failure{Command: "perl " + n.one("", "-w ", "-c ") + file,
			Right: Plan{run(`sed -i '%ds/\$%s/my $%[2]s/' %[3]s`, strings.Count(before, "\n")+1, name, file)}}
	}},
	{"jq: name with a hyphen", []string{"jq"}, func(p *place.Place, n *names) Failure {
		filter, file, key := n.one("", n.word()+"/")+n.snake()+".jq", n.dir()+".json", n.word()+"-"+n.word()
		list := n.word()
		p.Write(filter, fmt.Sprintf(n.one(".%s[] | .%s\n", ".%s[0].%s\n", ".%s | last | .%s\n"), list, key))
		p.Write(file, fmt.Sprintf("{%q: [{%q: %d}]}\n", list, key, n.number()))
		return Failure{Command: fmt.Sprintf("jq "+n.one("-e ", "-e -r ", "-ec ")+"-f %s %s", filter, file),
			Right: Plan{run(`sed -i 's/\.\([a-z0-9]*-[a-z0-9-]*\)/."\1"/' %s`, filter)}}
	}},
	{"ssh: option of another system", []string{"ssh"}, func(p *place.Place, n *names) Failure {
		file, host := n.one("ssh_config", "conf/ssh_config", n.word()+"/"+n.dashed()+".conf"), n.dashed()
		option := n.one("UseKeychain", "HPNDisabled", "TcpRcvBufPoll", "NoneEnabled", "AskPassGUI")
		p.Write(file, fmt.Sprintf("Host %s\n  HostName %s.example.com\n%s  %s yes\n  Port %d\n", host, n.dashed(),
			n.one("", "  User "+n.word()+"\n"), option, 1024+n.number()))
		return Failure{Command: fmt.Sprintf("ssh -G -F %s %s", file, host),
			Right: Plan{run("sed -i '1i IgnoreUnknown %s' %s", strings.ToLower(option), file)}}
	}},
	{"sha256sum: file was built again", []string{"sha256sum"}, func(p *place.Place, n *names) Failure {
		dir, sums, files := n.one("", "dist/", n.word()+"/"), n.one("SHA256SUMS", n.word()+".sha256", "conf/checksums.txt"),
			[]string{}
		for range 2 + n.r.IntN(3) {
			file := dir + n.dashed() + n.one(".bin", ".txt", ".tgz")
			p.Write(file, n.word()+"\n")
			files = append(files, file)
		}
		p.Write(sums, "")
		p.Sh("sha256sum " + strings.Join(files, " ") + " > " + sums)
		changed := files[n.r.IntN(len(files))]
		p.Write(changed, fmt.Sprintln(n.word(), n.number()))
		return Failure{Command: "sha256sum -c " + n.one("", "--quiet ", "--strict ") + sums,
			Right: Plan{run(`sed -i '\#  %[1]s$#d' %[2]s && sha256sum %[1]s >> %[2]s`, changed, sums)},
			Keeps: fmt.Sprintf("[ $(wc -l < %s) = %d ]", sums, len(files))}
	}},
}

// publish writes a version of a module to the directory that the place has as its proxy.
func publish(p *place.Place, module, version, code string) {
	at, mod := p.Root+"/proxy/"+module+"/@v/", "module "+module+"\n\ngo 1.21\n"
	p.Write(at+"list", version+"\n")
	p.Write(at+version+".info", fmt.Sprintf("{\"Version\": %q, \"Time\": \"2025-05-05T05:05:05Z\"}\n", version))
	p.Write(at+version+".mod", mod)
	root := module + "@" + version + "/"
	p.Write(at+version+".zip", zipped([][2]string{{root + "go.mod", mod}, {root + "lib.go", code}}))
}

// zipped makes an archive of files: names and texts. Writing to a buffer does not fail.
func zipped(files [][2]string) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		if in, err := w.Create(f[0]); err == nil {
			_, _ = io.WriteString(in, f[1])
		}
	}
	_ = w.Close()
	return b.String()
}

// tagged makes a repository whose first commit has a tag.
func tagged(p *place.Place, n *names, at string) {
	p.Sh(fmt.Sprintf("git init -q -b main %[1]s && cd %[1]s && git config user.name a && "+
		"git config user.email a@example.com && git commit -q --allow-empty -m %[2]s && git tag -a v%[3]s -m %[2]s && "+
		"git commit -q --allow-empty -m %[4]s", at, n.word(), n.version(), n.word()))
}

func describing(n *names) string {
	return "git describe" + n.one("", " --tags", " --tags --abbrev=0", " --long")
}

// program writes code with a function, and calls the function: in the same file, or from a script that imports it. It
// returns the command and the file with the code.
func program(p *place.Place, n *names, function, code string) (command, file string) {
	call, script := fmt.Sprintf("\n\nprint(%s(%q))\n", function, n.word()), n.snake()+".py"
	if n.r.IntN(2) == 0 {
		p.Write(script, code+call)
		return "python3 " + script, script
	}
	module := n.snake()
	file = n.one("", "lib/", n.word()+"/") + module + ".py"
	p.Write(file, code)
	from := strings.ReplaceAll(strings.TrimSuffix(file, ".py"), "/", ".")
	p.Write(script, "from "+from+" import "+function+call)
	return "python3 " + script, file
}
