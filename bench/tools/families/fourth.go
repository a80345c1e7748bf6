package families

import (
	"fmt"
	"path"
	"strings"

	"github.com/mneme/mneme/bench/tools/place"
)

// fourthFirst is the first half of the set fourth. It was written before any of it was run, by an author who had read
// neither the rules nor what is written about them.
var fourthFirst = []Family{
	{"go: replacement directory was moved", []string{"go"}, func(p *place.Place, n *names) Failure {
		name := n.dashed()
		module := n.one("example.com/", "example.org/"+n.word()+"/") + name
		old, now := n.one("./libs/", "./third_party/", "./")+name, n.one("modules/", "internal/", n.word()+"/"+n.word()+"/")
		p.Write(now+name+"/go.mod", "module "+module+"\n\ngo 1.21\n")
		p.Write(now+name+"/lib.go", fmt.Sprintf("package lib\n\nconst N = %d\n", n.number()))
		p.Write("go.mod", fmt.Sprintf("module example.com/%s\n\ngo 1.21\n\nrequire %s v0.0.0\n\nreplace %[2]s => %[3]s\n",
			n.dashed(), module, old))
		p.Write(n.one("", "cmd/"+n.word()+"/")+"main.go",
			fmt.Sprintf("package main\n\nimport lib %q\n\nfunc main() { println(lib.N) }\n", module))
		return Failure{Command: "go " + n.one("build ./...", "vet ./...", "list -deps ./..."),
			Right: Plan{run("dirname $(grep -rl --include=go.mod '^module %s$' .)", module),
				run("go mod edit -replace=%s={output}", module)}}
	}},
	{"go: file with cgo left out", []string{"go", "gcc"}, func(p *place.Place, n *names) Failure {
		module, pkg, settings := "example.com/"+n.dashed(), n.word(), n.one("build.env", "ci/"+n.word()+".env", ".env")
		p.Write(settings, fmt.Sprintf("%s=%d\nCGO_ENABLED=0\n%s", upper(n.snake()), n.number(),
			n.one("", upper(n.word())+"="+n.word()+"\n")))
		p.Write("go.mod", "module "+module+"\n\ngo 1.21\n")
		p.Write(pkg+"/"+n.snake()+".go", fmt.Sprintf("package %s\n\n// #define LIMIT %d\nimport \"C\"\n\n"+
			"const N = C.LIMIT\n", pkg, n.number()))
		p.Write("main.go", fmt.Sprintf("package main\n\nimport \"%s/%s\"\n\nfunc main() { println(%[2]s.N) }\n", module,
			pkg))
		return Failure{Command: fmt.Sprintf("set -a; . ./%s; go %s", settings, n.one("build -o app .", "vet .",
			"build ./...")), Right: Plan{run("sed -i 's/^CGO_ENABLED=.*/CGO_ENABLED=1/' %s", settings)}}
	}},
	{"go: method has a pointer receiver", []string{"go"}, func(p *place.Place, n *names) Failure {
		dir, typ, method, face := n.one("", n.word()+"/", "internal/"+n.word()+"/"), n.exported(), n.exported(), n.exported()
		p.Write("go.mod", "module example.com/"+n.dashed()+"\n\ngo 1.21\n")
		p.Write(dir+n.snake()+".go", fmt.Sprintf("package %s\n\ntype %s interface{ %s() int }\n\n"+
			"type %s struct{ %s int }\n\nfunc (x *%[4]s) %[3]s() int { return %[6]d }\n\n%[7]s = %[4]s{}\n", n.word(), face,
			method, typ, n.camel(), n.number(), "var "+n.camel()+" "+face))
		return Failure{Command: "go " + n.one("build ./...", "vet ./...", "test ./..."),
			Right: Plan{run("sed -i 's/= %[1]s{/= \\&%[1]s{/' $(grep -rl --include='*.go' '= %[1]s{' .)", typ)}}
	}},
	{"go: struct tag without quotes", []string{"go"}, func(p *place.Place, n *names) Failure {
		file, key, name := n.one("", n.word()+"/")+n.snake()+".go", n.one("json", "xml", "yaml", "db"), n.word()+"_"+n.word()
		p.Write("go.mod", "module example.com/"+n.dashed()+"\n\ngo 1.21\n")
		p.Write(file, fmt.Sprintf("package %s\n\ntype %s struct {\n%s\t%s string `%s:%s`\n}\n", n.word(), n.exported(),
			strings.Repeat("\t// "+n.word()+"\n", n.r.IntN(3)), n.exported(), key, name))
		return Failure{Command: "go vet " + n.one("./...", "./"+path.Dir(file), "-structtag ./..."),
			Right: Plan{run("sed -i 's/`\\([a-z]*\\):\\([a-z0-9_]*\\)`/`\\1:\"\\2\"`/' %s", file)},
			Keeps: fmt.Sprintf("grep -q '`%s:.*%s' %s", key, name, file)}
	}},
	{"gcc: function hidden by a strict standard", []string{"gcc"}, func(p *place.Place, n *names) Failure {
		file := n.one("", "src/", n.word()+"/") + n.snake() + ".c"
		header, call, _ := strings.Cut(n.one("string.h strdup(s) != 0", "stdio.h popen(s, s) != 0", "stdio.h fileno(stdout)",
			"stdlib.h setenv(s, s, 1)", "string.h strtok_r(s, s, &s) != 0", "stdlib.h mkstemp(s)"), " ")
		p.Write(file, fmt.Sprintf("#include <%s>\n\nint %s(char *s);\nint %[2]s(char *s) { return %s; }\n", header, n.snake(),
			call))
		p.Write(options, n.one("-std=c11", "-std=c99", "-std=c17")+"\n"+n.one("", "-O1\n")+
			n.one("-Werror=implicit-function-declaration\n", "-Wall\n-Werror=implicit-function-declaration\n"))
		return Failure{Command: fmt.Sprintf("gcc @%s "+n.one("-c -o out.o", "-fsyntax-only", "-S -o out.s")+" %s", options,
			file), Right: Plan{line(options, "-D_GNU_SOURCE")}}
	}},
	{"gcc: two headers with the same guard", []string{"gcc"}, func(p *place.Place, n *names) Failure {
		first, second, macro, guard := n.snake()+".h", n.snake()+".h", upper(n.word()), upper(n.snake())+"_H"
		dir, file, value := n.one("", "include/", n.word()+"/"), n.snake()+".c", n.number()
		for i, header := range []string{first, second} {
			p.Write(dir+header, fmt.Sprintf("%s#ifndef %s\n#define %[2]s\n#define %s %d\n#endif\n",
				n.one("", "// "+n.word()+"\n"), guard, []string{upper(n.word()), macro}[i], value))
		}
		p.Write(file, fmt.Sprintf("#include \"%s\"\n#include \"%s\"\n%s", dir+first, dir+second, printing(macro)))
		return Failure{Command: "gcc " + n.one("-Wall -o app ", "-o app -O1 ", "-std=c11 -o app ") + file,
			Right: Plan{run("grep -rlw --include='*.h' 'define %s' .", macro),
				run(`sed -i 's/^\(#ifndef\|#define\) \(\w*_H\)$/\1 \2_2/' {output}`)},
			Keeps: fmt.Sprintf(`[ ! -x app ] || [ "$(./app)" = %d ]`, value)}
	}},
	{"gcc: header of a submodule that is not checked out", []string{"gcc", "git"}, func(
		p *place.Place,
		n *names,
	) Failure {
		sub, header, file := n.one("deps/", "third_party/", "")+n.dashed(), n.snake()+".h", n.snake()+".c"
		at := p.Root + "/" + n.dashed() + "-origin"
		p.Sh(fmt.Sprintf("git config --global protocol.file.allow always && git init -q -b main %[1]s && cd %[1]s && "+
			"git config user.name a && git config user.email a@example.com && echo '#define LIMIT %d' > %s && git add -A && "+
			"git commit -q -m %s", at, n.number(), header, n.word()))
		repository(p, file, "#include \""+header+"\"\n"+printing("LIMIT"))
		p.Write(options, "-Wall\n-I"+sub+"\n"+n.one("", "-O1\n"))
		p.Sh(fmt.Sprintf("git submodule --quiet add %s %s && git add -A && git commit -q -m second && "+
			"git submodule --quiet deinit -f %[2]s && rm -rf .git/modules", at, sub))
		return Failure{Command: fmt.Sprintf(n.one("gcc @%s -c %s", "gcc @%s -o app %s", "gcc @%s -fsyntax-only %s"), options,
			file), Right: Plan{run("git submodule --quiet update --init")}}
	}},
	{"g++: method not marked const", []string{"g++"}, func(p *place.Place, n *names) Failure {
		file, typ, method := n.one("", "src/", n.word()+"/")+n.snake()+n.one(".cpp", ".cc"), n.exported(), n.snake()
		p.Write(file, fmt.Sprintf("struct %s {\n%s\tint %s() { return %d; }\n};\n\nint %s(const %[1]s &x) {\n"+
			"\treturn x.%[3]s();\n}\n", typ, n.one("", "\tint "+n.word()+" = 0;\n"), method, n.number(), n.snake()))
		return Failure{Command: "g++ " + n.one("-c -o out.o ", "-fsyntax-only ", "-std=c++17 -c -o out.o ") + file,
			Right: Plan{run(`sed -i 's/ %s() {/ %[1]s() const {/' %s`, method, file)}}
	}},
	{"make: dollar of the shell not doubled", []string{"make"}, func(p *place.Place, n *names) Failure {
		name, target, end := n.one(n.word(), "f", "name"), n.one("dist", "install", n.snake()), n.one(".txt", ".conf", ".md")
		one, two := n.word()+end, n.word()+end
		p.Write(one, n.word()+"\n")
		p.Write(two, n.word()+"\n")
		p.Write("Makefile", fmt.Sprintf("%s = %d\n\n%s:\n\tmkdir -p out\n\tfor %s in %s; do %s $%[4]s out/ || exit 1; done\n",
			upper(n.snake()), n.number(), target, name, n.one(one+" "+two, "*"+end), n.one("cp", "install -m 644", "cp -f",
				"ln -f")))
		return Failure{Command: n.one("make ", "make -s ") + target,
			Right: Plan{run(`sed -i '/^\t/s/\$\([a-z]\)/$$\1/g' Makefile`)}}
	}},
	{"git: merge not concluded", []string{"git"}, func(p *place.Place, n *names) Failure {
		file, other, third, text := n.word()+".txt", n.dashed(), n.dashed(), n.word()+n.word()
		repository(p, file, n.word()+"\n")
		p.Sh(fmt.Sprintf("git checkout -q -b %[1]s && echo %[2]s > %[3]s && git commit -q -a -m %[2]s && "+
			"git checkout -q -b %[4]s main && echo %[5]s > %[5]s.md && git add -A && git commit -q -m %[5]s && "+
			"git checkout -q main && echo %[6]s > %[3]s && git commit -q -a -m %[6]s; git %[7]s %[1]s; "+
			"echo %[8]s > %[3]s && git add -A", other, n.word(), file, third, n.word(), n.word(),
			n.one("merge -q", "merge -q", "cherry-pick"), text))
		return Failure{Command: n.one("git merge -q ", "git merge ") + third,
			Right: Plan{run("git commit -q --no-edit")},
			Keeps: fmt.Sprintf("grep -rqs --exclude-dir=.git %[1]s . || git stash list -p | grep -q %[1]s", text)}
	}},
	{"git: reference is empty after a crash", []string{"git"}, func(p *place.Place, n *names) Failure {
		branch, text := n.one("main", "trunk", n.dashed()), n.word()+n.word()
		repository(p, n.word()+".txt", n.word()+"\n")
		p.Sh(fmt.Sprintf("git branch -M %s && git commit -q --allow-empty -m %s && git commit -q --allow-empty -m %s && "+
			": > .git/refs/heads/%[1]s", branch, n.word(), text))
		return Failure{Command: "git " + n.one("log --oneline", "diff HEAD", "commit -q --allow-empty -m "+n.word()),
			Right: Plan{run("tail -n 1 .git/logs/HEAD | cut -d' ' -f2"), run("echo {output} > .git/$(cut -c6- .git/HEAD)")},
			Keeps: fmt.Sprintf("[ -f .git/refs/heads/%[1]s ] && { [ ! -s .git/refs/heads/%[1]s ] || "+
				"git log --format=%%s %[1]s | grep -qx %[2]s; }", branch, text)}
	}},
	{"git: branch on two remotes", []string{"git"}, func(p *place.Place, n *names) Failure {
		branch, text := n.dashed(), n.word()+n.word()
		own, other := n.one("origin", "upstream", n.word()), n.one("fork", "mirror", n.word())
		repository(p, n.word()+".txt", n.word()+"\n")
		for _, remote := range []string{own, other} {
			subject := text
			if remote == other {
				subject = n.word()
			}
			p.Sh(fmt.Sprintf("git init -q --bare ../%[1]s.git && git remote add %[1]s ../%[1]s.git && "+
				"git push -q %[1]s main && git checkout -q -b %[2]s && git commit -q --allow-empty -m %[3]s && "+
				"git push -q %[1]s %[2]s && git checkout -q main && git branch -q -D %[2]s", remote, branch, subject))
		}
		p.Sh("git branch -q -u " + own + "/main")
		return Failure{Command: n.one("git checkout ", "git checkout -q ", "git switch ") + branch,
			Right: Plan{run("git config branch.main.remote"), run("git config checkout.defaultRemote {output}")},
			Keeps: fmt.Sprintf("! git rev-parse -q --verify refs/heads/%s || git log --format=%%s %[1]s | grep -qx %s", branch,
				text)}
	}},
	{"git: path is ignored", []string{"git"}, func(p *place.Place, n *names) Failure {
		dir, end, secret := n.one("build", n.word(), "dist"), n.one(".log", ".bin", ".out"), n.word()+".secret"
		file, list := dir+"/"+n.dashed()+end, n.one(".gitignore", ".git/info/exclude")
		repository(p, n.word()+".txt", n.word()+"\n")
		p.Sh("mkdir -p .git/info && cat > " + list + " <<'EOF'\n" + n.one("", "# "+n.word()+"\n") +
			n.one(dir+"/*", "*"+end, dir+"/*"+end) + "\n*.secret\nEOF")
		p.Write(file, n.word()+"\n")
		return Failure{Command: n.one("git add ", "git add -v ", "git add -- ") + file,
			Right: Plan{run("git add -f %s", file)}, Keeps: "git check-ignore -q " + secret}
	}},
	{"git: directory outside the sparse checkout", []string{"git"}, func(p *place.Place, n *names) Failure {
		in, out := n.word(), n.dir()
		file := out + "/" + n.dashed() + n.one(".txt", ".md", ".csv")
		repository(p, in+"/"+n.word()+".txt", n.word()+"\n")
		p.Write(file, n.word()+"\n")
		p.Write(out+"/"+n.word()+n.word()+".txt", n.word()+"\n")
		p.Sh("git add -A && git commit -q -m second && git sparse-checkout set " + in)
		return Failure{Command: fmt.Sprintf(n.one("git add %s", "git rm -q --cached %s", "git mv %s moved.txt"), file),
			Right: Plan{run("git sparse-checkout add %s", out)}}
	}},
	{"git: repository of a worktree was moved", []string{"git"}, func(p *place.Place, n *names) Failure {
		tree, old, now := n.dashed()+"-tree", n.dashed()+"-main", n.one("", n.word()+"/")+n.dashed()+"-main"
		p.Sh(fmt.Sprintf("git init -q -b main %[1]s && cd %[1]s && git config user.name a && "+
			"git config user.email a@example.com && git commit -q --allow-empty -m %[2]s && "+
			"git worktree add -q -b %[3]s ../%[4]s && cd .. && mkdir -p $(dirname %[5]s) && mv %[1]s %[5]s", old, n.word(),
			n.dashed(), tree, now))
		return Failure{Command: "git -C " + tree + n.one(" status --short", " log --oneline", " diff --stat"),
			Right: Plan{run("dirname $(find . -type d -name .git)"), run("git -C {output} worktree repair $PWD/%s", tree)}}
	}},
	{"python: percent sign in an INI file", []string{"python3"}, func(p *place.Place, n *names) Failure {
		file, section, key, script := n.dir()+n.one(".ini", ".cfg"), n.word(), n.snake(), n.snake()+".py"
		value := n.word() + "%" + n.one("40", "2f", "ab", "!") + n.word()
		p.Write(file, fmt.Sprintf("[%s]\nroot = /srv/%s\n%s%s = %s\npath = %%(root)s/%s\n", section, n.word(),
			n.one("", n.snake()+" = "+n.word()+"\n"), key, value, n.word()))
		p.Write(script, "import configparser\nimport sys\n\nconfig = configparser.ConfigParser()\n"+
			"config.read(sys.argv[1])\nfor section in config.sections():\n    print(len(dict(config[section])))\n"+
			"    print(len(''.join(config[section].values())))\n")
		return Failure{Command: fmt.Sprintf("python3 %s%s %s", n.one("", "-B "), script, file),
			Right: Plan{run(`sed -i 's/%%\([^(%%]\)/%%%%\1/g' %s`, file)},
			Keeps: fmt.Sprintf("sed 's/%%%%/%%/g' %s | grep -qF '= %s' && grep -qF '= %%(root)s' %[1]s", file, value)}
	}},
	{"python: ampersand in an XML file", []string{"python3"}, func(p *place.Place, n *names) Failure {
		file, script, tag, a, b := n.dir()+n.one(".xml", ".svg", ".xml"), n.snake()+".py", n.word(), n.word(), n.word()
		text := "<" + tag + ">\n"
		for range 1 + n.r.IntN(4) {
			text += fmt.Sprintf("  <%s>%d &lt; %s</%[1]s>\n", n.word(), n.number(), n.word())
		}
		at := countLines(text) + 1
		p.Write(file, fmt.Sprintf("%s  <name>%s & %s</name>\n</%s>\n", text, a, b, tag))
		p.Write(script, "import sys\nimport xml.etree.ElementTree as ET\n\n"+
			"print(len(list(ET.parse(sys.argv[1]).getroot())))\n")
		return Failure{Command: fmt.Sprintf("python3 %s %s", script, file),
			Right: Plan{run(`sed -i '%ds/&/\&amp;/' %s`, at, file)},
			Keeps: fmt.Sprintf(`grep -q '%s &\(amp;\)\? %s' %s && grep -q '[0-9] &lt; ' %[3]s`, a, b, file)}
	}},
	{"python: table with another separator", []string{"python3"}, func(p *place.Place, n *names) Failure {
		file, script, column := n.dir()+n.one(".csv", ".txt"), n.snake()+".py", n.snake()
		by, value := n.one(";", "\t", "|"), fmt.Sprintf("%d,%d", n.number(), n.r.IntN(10))
		p.Write(file, strings.Join([]string{n.word(), column, n.word()}, by)+"\n"+
			strings.Join([]string{n.word(), value, n.word()}, by)+"\n")
		p.Write(script, fmt.Sprintf("import csv\nimport sys\n\nwith open(sys.argv[1], newline='') as f:\n"+
			"    rows = list(csv.DictReader(f))\nfor row in rows:\n    if %[1]q not in row:\n"+
			"        raise SystemExit(f'{sys.argv[1]}: no column %[1]s in {list(row)[0]!r}')\n"+
			"print(len(rows), rows[0][%[1]q])\n", column))
		return Failure{Command: fmt.Sprintf("python3 %s %s", script, file),
			Right: Plan{run(`sed -i "s/DictReader(f)/DictReader(f, delimiter='%s')/" %s`,
				strings.ReplaceAll(by, "\t", `\\t`), script)},
			Keeps: fmt.Sprintf("grep -qF '%s' %s", by+value+by, file)}
	}},
	{"python: output in an encoding without the character", []string{"python3"}, func(
		p *place.Place,
		n *names,
	) Failure {
		settings, script := n.one(".env", "conf/"+n.word()+".env", n.word()+".env"), n.one("", n.word()+"/")+n.snake()+".py"
		p.Write(settings, fmt.Sprintf("%s=%d\nPYTHONIOENCODING=%s\n%s=%s\n", upper(n.snake()), n.number(),
			n.one("ascii", "latin-1", "cp1252", "us-ascii:strict"), upper(n.snake()), n.word()))
		p.Write(script, fmt.Sprintf("for name in (%q, %q):\n    print(name, '%s', %d)\n", n.word(), n.word(),
			n.one("→", "✓", "Ω", "√"), n.number()))
		return Failure{Command: fmt.Sprintf("set -a; . ./%s; python3 %s", settings, script),
			Right: Plan{run("sed -i 's/^PYTHONIOENCODING=.*/PYTHONIOENCODING=utf-8/' %s", settings)}}
	}},
	{"python: socket of an earlier process", []string{"python3"}, func(p *place.Place, n *names) Failure {
		at, script := n.one("run/", "tmp/", "")+n.dashed()+".sock", n.snake()+".py"
		p.Write(script, "import socket\nimport sys\n\nserver = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)\n"+
			"server.bind(sys.argv[1])\nserver.listen(1)\nprint('ready')\n")
		p.Sh(fmt.Sprintf("mkdir -p $(dirname %s) && python3 %s %[1]s", at, script))
		return Failure{Command: fmt.Sprintf("python3 %s%s %s", n.one("", "-u ", "-X dev "), script, at),
			Right: Plan{run("rm -f %s", at)}}
	}},
	{"python: file dated before 1980", []string{"python3", "find"}, func(p *place.Place, n *names) Failure {
		dir, out, end := n.dashed(), n.word(), n.one(".txt", ".py", ".md")
		for i := range 2 + n.r.IntN(3) {
			p.Write(dir+"/"+n.one("", n.word()+"/")+n.dashed()+end, n.word()+"\n")
			if i == 0 {
				p.Sh(fmt.Sprintf("find %s -type f -exec touch -d 19%d-01-0%d {} +", dir, 70+n.r.IntN(9), 2+n.r.IntN(7)))
			}
		}
		p.Write("pack.py", "import shutil\nimport sys\n\nshutil.make_archive(sys.argv[1], 'zip', sys.argv[2])\n")
		return Failure{Command: fmt.Sprintf(n.one("python3 -m zipfile -c %s.zip %s", "python3 pack.py %s %s"), out, dir),
			Right: Plan{run("find %s ! -newermt 1980-01-02 -exec touch {} +", dir)}}
	}},
	{"python: default of a dataclass that can change", []string{"python3"}, func(p *place.Place, n *names) Failure {
		kind := n.one("list", "dict", "set")
		value, function := map[string]string{"list": "[]", "dict": "{}", "set": "set()"}[kind], n.snake()
		command, file := program(p, n, function, fmt.Sprintf("from dataclasses import dataclass, field\n\n\n@dataclass\n"+
			"class %s:\n    %s: str = ''\n    %s: %s = %s\n\n\ndef %s(value):\n    return %[1]s(value)\n", n.exported(),
			n.snake(), n.snake(), kind, value, function))
		return Failure{Command: command, Right: Plan{run(`sed -i 's/: %s = .*/: %[1]s = field(default_factory=%[1]s)/' %s`,
			kind, file)}}
	}},
	{"python: interpreter of an environment is gone", []string{"sh", "python3"}, func(p *place.Place, n *names) Failure {
		dir, script, pkg := n.one(".venv", "venv", "env", n.word()+"/.venv"), n.snake()+".py", n.snake()
		name := n.one("python", "python3")
		p.Sh(fmt.Sprintf("python3 -m venv --without-pip %[1]s && mkdir $(ls -d %[1]s/lib/*/site-packages)/%[2]s && "+
			"rm -f %[1]s/bin/python* && ln -s /usr/local/opt/python@3.%[3]d/bin/python3 %[1]s/bin/python && "+
			"ln -s python %[1]s/bin/python3", dir, pkg, 5+n.r.IntN(3)))
		p.Write(script, fmt.Sprintf("print(%d)\n", n.number()))
		return Failure{Command: fmt.Sprintf("%s/bin/%s %s%s", dir, name, script, n.one("", " "+n.word(), " --verbose")),
			Right: Plan{run("command -v python3"), run("ln -sfn {output} %s/bin/python", dir)},
			Keeps: fmt.Sprintf("ls %s/lib/*/site-packages | grep -qx %s", dir, pkg)}
	}},
}
