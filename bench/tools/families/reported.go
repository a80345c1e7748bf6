package families

import (
	"fmt"
	"strings"

	"github.com/mneme/mneme/bench/tools/place"
)

// devFamilies are those to develop with. None of them is reported.
var devFamilies = []Family{
	{"go: unused import", []string{"go"}, func(p *place.Place, n *names) Failure {
		file, unused := "main.go", n.one("os", "strings", "sort", "bytes", "time", "errors")
		if n.r.IntN(2) == 0 {
			file = "cmd/" + n.word() + "/" + n.word() + ".go"
		}
		p.Write("go.mod", "module example.com/"+n.dashed()+"\n\ngo 1.21\n")
		p.Write(file, fmt.Sprintf("package main\n\nimport (\n\t\"fmt\"\n\t%q\n)\n\nfunc main() { fmt.Println(%q) }\n",
			unused, n.word()))
		return Failure{Command: "go build ./...", Right: Plan{replace(file, fmt.Sprintf("\t%q\n", unused), "")}}
	}},
	{"gcc: maths library not linked", []string{"gcc", "make"}, func(p *place.Place, n *names) Failure {
		app, f := n.word(), n.one("sqrt", "cbrt", "log2", "tan", "exp")
		p.Write(app+".c", "#include <math.h>\n#include <stdio.h>\n\nint main(int argc, char **argv) {\n\t(void)argv;\n"+
			"\tprintf(\"%f\\n\", "+f+"((double)argc));\n\treturn 0;\n}\n")
		p.Write("Makefile", "LDLIBS =\n\n"+app+": "+app+".o\n\t$(CC) -o $@ $^ $(LDLIBS)\n")
		return Failure{Command: "make " + app, Right: Plan{replace("Makefile", "LDLIBS =", "LDLIBS = -lm")}}
	}},
	{"make: spaces for a tab", []string{"make"}, func(p *place.Place, n *names) Failure {
		target := n.snake()
		p.Write("Makefile", fmt.Sprintf("NAME = %s\n\n%s:\n%*s@echo $(NAME)\n", n.word(), target, 4*(1+n.r.IntN(2)),
			""))
		return Failure{Command: "make " + target, Right: Plan{run(`sed -i 's/^  */\t/' Makefile`)}}
	}},
	{"git: lock left behind", []string{"git"}, func(p *place.Place, n *names) Failure {
		p.Sh("git init -q . && git config user.name a && git config user.email a@example.com")
		file := n.word() + ".txt"
		p.Write(file, n.word()+"\n")
		p.Write(".git/index.lock", "")
		return Failure{Command: "git add " + file, Right: Plan{run("rm -f .git/index.lock")}}
	}},
	{"python: package outside the search path", []string{"python3"}, func(p *place.Place, n *names) Failure {
		pkg, main := n.snake(), n.word()+".py"
		p.Write("src/"+pkg+"/__init__.py", fmt.Sprintf("LIMIT = %d\n", n.number()))
		p.Write(main, "import "+pkg+"\n\nprint("+pkg+".LIMIT)\n")
		p.Write("settings.env", "MODE="+n.word()+"\n")
		return Failure{Command: "set -a; . ./settings.env; python3 " + main,
			Right: Plan{line("settings.env", "PYTHONPATH=src")}}
	}},
	{"npm: missing script", []string{"npm", "node"}, func(p *place.Place, n *names) Failure {
		script := n.one("build", "lint", "bundle", "check", "generate")
		p.Write("package.json", fmt.Sprintf(`{"name": %q, "version": %q, "scripts": {"serve": "node index.js"}}`,
			n.dashed(),
			n.version()))
		p.Write("index.js", "console.log('ok')\n")
		return Failure{Command: "npm run " + script, Right: Plan{run(`npm pkg set scripts.%s="node index.js"`, script)}}
	}},
	{"sh: script not executable", []string{"sh"}, func(p *place.Place, n *names) Failure {
		file := "./" + n.word() + "/" + n.dashed()
		p.Write(file, "#!/bin/sh\necho ok\n")
		return Failure{Command: file, Right: Plan{run("chmod +x %s", file)}}
	}},
	{"python: tabs and spaces", []string{"python3"}, func(p *place.Place, n *names) Failure {
		file := n.word() + "/" + n.snake() + ".py"
		p.Write(file, "def "+n.snake()+"(a):\n        if a:\n\t    return 1\n\treturn 0\n")
		return Failure{Command: "python3 " + file,
			Right: Plan{run("expand -t 8 %[1]s > %[1]s.new && mv %[1]s.new %[1]s", file)}}
	}},
}

var goFamilies = []Family{
	{"go: module of the repository not required", []string{"go"}, func(p *place.Place, n *names) Failure {
		lib, f := n.word(), n.exported()
		module := "example.com/" + n.dashed() + "/" + lib
		p.Write("go.mod", "module example.com/"+n.dashed()+"\n\ngo 1.21\n")
		p.Write(lib+"/go.mod", "module "+module+"\n\ngo 1.21\n")
		p.Write(lib+"/lib.go", fmt.Sprintf("package %s\n\nfunc %s() int { return %d }\n", lib, f, n.number()))
		p.Write(n.word()+".go", fmt.Sprintf("package main\n\nimport %q\n\nfunc main() { println(%s.%s()) }\n", module,
			lib, f))
		return Failure{Command: "go build -o app .",
			Right: Plan{run("go mod edit -require=%[1]s@v0.0.0 -replace=%[1]s=./%[2]s", module, lib)}}
	}},
	{"go: go.mod out of date", []string{"go"}, func(p *place.Place, n *names) Failure {
		one, two := n.word(), n.word()
		at := "example.com/" + n.dashed() + "/"
		p.Write("go.mod", fmt.Sprintf("module %[1]sapp\n\ngo 1.21\n\nrequire %[1]s%[2]s v0.1.0\n\n"+
			"replace %[1]s%[2]s => ./%[2]s\n\nreplace %[1]s%[3]s => ./%[3]s\n", at, one, two))
		p.Write(one+"/go.mod", fmt.Sprintf("module %[1]s%[2]s\n\ngo 1.21\n\nrequire %[1]s%[3]s v0.%[4]d.0\n", at, one,
			two,
			n.number()))
		p.Write(one+"/a.go", fmt.Sprintf("package %s\n\nimport %q\n\nfunc Sum() int { return %s.N }\n", one, at+two,
			two))
		p.Write(two+"/go.mod", fmt.Sprintf("module %s%s\n\ngo 1.21\n", at, two))
		p.Write(two+"/b.go", fmt.Sprintf("package %s\n\nconst N = %d\n", two, n.number()))
		p.Write("main.go", fmt.Sprintf("package main\n\nimport %q\n\nfunc main() { println(%s.Sum()) }\n", at+one, one))
		return Failure{Command: "go " + n.one("build -o app ./...", "vet ./..."), Right: Plan{run("go mod tidy")}}
	}},
	{"go: no go.mod", []string{"go"}, func(p *place.Place, n *names) Failure {
		p.Write(n.word()+".go", fmt.Sprintf("package main\n\nfunc main() { println(%d) }\n", n.number()))
		return Failure{Command: "go " + n.one("build ./...", "vet ./...", "test ./..."),
			Right: Plan{run("go mod init example.com/app")}}
	}},
	{"go: code not generated", []string{"go"}, func(p *place.Place, n *names) Failure {
		constant, script := n.exported(), "gen_"+n.word()+".sh"
		p.Write("go.mod", "module example.com/"+n.dashed()+"\n\ngo 1.21\n")
		p.Write(script, fmt.Sprintf("#!/bin/sh\nprintf 'package main\\n\\nconst %s = %d\\n' > zz_generated.go\n",
			constant,
			n.number()))
		p.Write(n.word()+".go", fmt.Sprintf("package main\n\n//go:generate ./%s\n\nfunc main() { println(%s) }\n",
			script,
			constant))
		return Failure{Command: "go build -o app .", Right: Plan{run("go generate ./...")}}
	}},
	{"go: two packages in a directory", []string{"go"}, func(p *place.Place, n *names) Failure {
		other := n.word()
		file := "z" + n.word() + ".go"
		p.Write("go.mod", "module example.com/"+n.dashed()+"\n\ngo 1.21\n")
		p.Write("a"+n.word()+".go", "package main\n\nfunc main() { println(limit) }\n")
		p.Write(file, fmt.Sprintf("package %s\n\nconst limit = %d\n", other, n.number()))
		return Failure{Command: "go build -o app .", Right: Plan{run("sed -i 's/^package .*/package main/' %s", file)}}
	}},
	{"go: go.mod asks for a later Go", []string{"go"}, func(p *place.Place, n *names) Failure {
		p.Write("go.mod", fmt.Sprintf("module example.com/%s\n\ngo 1.%d.%d\n", n.dashed(), 90+n.r.IntN(9), n.r.IntN(5)))
		p.Write(n.word()+".go", fmt.Sprintf("package main\n\nfunc main() { println(%d) }\n", n.number()))
		return Failure{Command: "go " + n.one("build -o app .", "vet ./..."), Right: Plan{run("go mod edit -go=1.21")}}
	}},
	{"go: vendor directory out of date", []string{"go"}, func(p *place.Place, n *names) Failure {
		lib := n.word()
		module := "example.com/" + n.dashed() + "/" + lib
		p.Write("go.mod", fmt.Sprintf("module example.com/app\n\ngo 1.21\n\nrequire %[1]s v0.%[3]d.0\n\n"+
			"replace %[1]s => ./%[2]s\n", module, lib, n.number()))
		p.Write(lib+"/go.mod", "module "+module+"\n\ngo 1.21\n")
		p.Write(lib+"/lib.go", fmt.Sprintf("package %s\n\nconst N = %d\n", lib, n.number()))
		p.Write(n.word()+".go", fmt.Sprintf("package main\n\nimport %q\n\nfunc main() { println(%s.N) }\n", module,
			lib))
		p.Write("vendor/modules.txt", "")
		return Failure{Command: "go build -o app .", Right: Plan{run("go mod vendor")}}
	}},
	{"go: wrong verb of Printf", []string{"go"}, func(p *place.Place, n *names) Failure {
		dir := n.word()
		name, file := n.camel(), dir+"/"+n.word()+".go"
		p.Write("go.mod", "module example.com/"+n.dashed()+"\n\ngo 1.21\n")
		p.Write(file, fmt.Sprintf("package %[1]s\n\nimport \"fmt\"\n\n"+
			"func %[2]s(%[3]s string) { fmt.Printf(\"%%d\\n\", %[3]s) }\n", dir,
			strings.ToUpper(name[:1])+name[1:]+"Print", name))
		return Failure{Command: "go vet ./...", Right: Plan{run("sed -i 's/%%d/%%v/' %s", file)}}
	}},
}

// options is the file of the compiler's options that the commands of these families name as @FILE.
const options = "build.rsp"

func printing(what string) string {
	return "#include <stdio.h>\n\nint main(void) {\n\tprintf(\"%d\\n\", " + what + ");\n\treturn 0;\n}\n"
}

var cFamilies = []Family{
	{"gcc: directory of a header not searched", []string{"gcc"}, func(p *place.Place, n *names) Failure {
		header, file := n.snake()+".h", n.snake()+".c"
		p.Write(n.dir()+"/"+header, fmt.Sprintf("#define LIMIT %d\n", n.number()))
		p.Write(file, "#include \""+header+"\"\n"+printing("LIMIT"))
		p.Write(options, "-Wall\n")
		return Failure{Command: fmt.Sprintf("gcc @%s -c %s", options, file),
			Right: Plan{run(`echo "-I$(dirname $(find . -name %s))" >> %s`, header, options)}}
	}},
	{"gcc: macro not defined", []string{"gcc"}, func(p *place.Place, n *names) Failure {
		macro := "HAVE_" + upper(n.snake())
		file := n.word() + "/" + n.snake() + ".c"
		p.Write(file, fmt.Sprintf("#ifndef %[1]s\n#error %[1]s is not set\n#endif\n%[2]s", macro, printing(macro)))
		p.Write(options, "-O1\n")
		return Failure{Command: fmt.Sprintf("gcc @%s -o app %s", options, file), Right: Plan{line(options, "-D"+macro+"=1")}}
	}},
	{"gcc: standard too old", []string{"gcc"}, func(p *place.Place, n *names) Failure {
		file, i := n.snake()+".c", n.word()
		p.Write(file, fmt.Sprintf("int %s(void) {\n\tint sum = 0;\n"+
			"\tfor (int %[2]s = 0; %[2]s < %[3]d; %[2]s++) sum += %[2]s;\n\treturn sum;\n}\n", n.snake(), i,
			n.number()))
		p.Write(options, n.one("-std=c89", "-std=gnu89")+"\n-O1\n")
		return Failure{Command: fmt.Sprintf("gcc @%s -c %s", options, file), Right: Plan{line(options, "-std=c11")}}
	}},
	{"gcc: code that depends on its position", []string{"gcc"}, func(p *place.Place, n *names) Failure {
		file, lib := n.snake(), "lib"+n.word()+".so"
		p.Write(file+".c", fmt.Sprintf("#include <stdio.h>\nint %[1]s = %[2]d;\n"+
			"int *at_%[1]s(void) { puts(\"x\"); return &%[1]s; }\n", n.snake(), n.number()))
		p.Write(options, "-O1 -fno-pic\n")
		return Failure{Command: fmt.Sprintf("gcc @%s -c %[2]s.c && gcc -shared -o %[3]s %[2]s.o", options, file, lib),
			Right: Plan{line(options, "-fPIC")}}
	}},
	{"gcc: variable defined in a header", []string{"gcc"}, func(p *place.Place, n *names) Failure {
		shared, header, one, two := n.snake(), n.word()+".h", n.word()+".c", n.word()+".c"
		p.Write(header, "int "+shared+";\n")
		p.Write(one, fmt.Sprintf("#include %q\nvoid set(void) { %s = %d; }\n", header, shared, n.number()))
		p.Write(two, fmt.Sprintf("#include %q\nvoid set(void);\nint main(void) { set(); return %s == 0; }\n", header,
			shared))
		p.Write(options, "-O1\n")
		return Failure{Command: fmt.Sprintf("gcc @%s -o app %s %s", options, one, two),
			Right: Plan{line(options, "-fcommon")}}
	}},
	{"gcc: directory of a library not searched", []string{"gcc"}, func(p *place.Place, n *names) Failure {
		lib, dir, file := n.word(), n.dir(), n.snake()+".c"
		p.Write("src.c", fmt.Sprintf("int limit(void) { return %d; }\n", n.number()))
		p.Write(dir+"/README", "built\n")
		p.Sh(fmt.Sprintf("gcc -c src.c && ar rcs %s/lib%s.a src.o && rm src.c src.o", dir, lib))
		p.Write(file, "int limit(void);\n"+printing("limit()"))
		p.Write(options, "-L/usr/local/lib\n")
		// Two calls: the second needs what the first one found.
		return Failure{Command: fmt.Sprintf("gcc @%s -o app %s @%s -l%s", options, file, options, lib),
			Right: Plan{run("dirname $(find . -name 'lib%s.*')", lib), line(options, "-L./"+dir)}}
	}},
	{"make: configuration not copied", []string{"make"}, func(p *place.Place, n *names) Failure {
		config, target := n.word()+".mk", n.snake()
		p.Write(config+".example", fmt.Sprintf("LIMIT = %d\n", n.number()))
		p.Write("Makefile", fmt.Sprintf("include %s\n\n%s:\n\t@echo $(LIMIT)\n", config, target))
		return Failure{Command: "make " + target, Right: Plan{run("cp %[1]s.example %[1]s", config)}}
	}},
	{"make: directory of the output missing", []string{"make"}, func(p *place.Place, n *names) Failure {
		dir, target := n.dir(), n.snake()
		p.Write("Makefile", fmt.Sprintf("%[1]s: %[2]s/%[3]s.txt\n\n%[2]s/%[3]s.txt:\n\techo %[4]d > $@\n", target, dir,
			n.word(), n.number()))
		return Failure{Command: "make " + target, Right: Plan{run("mkdir -p %s", dir)}}
	}},
	{"make: broken object file", []string{"make", "gcc"}, func(p *place.Place, n *names) Failure {
		file := n.snake()
		p.Write(file+".c", printing(fmt.Sprint(n.number())))
		p.Write("Makefile", fmt.Sprintf("app: %[1]s.o\n\t$(CC) -o $@ $^\n\nclean:\n\trm -f app *.o\n", file))
		p.Write(file+".o", "cut off\n")
		return Failure{Command: "make app", Right: Plan{run("make clean")}}
	}},
}

func upper(s string) string { return strings.ToUpper(s) }

// repository makes one with a commit.
func repository(p *place.Place, file, text string) {
	p.Sh("git init -q -b main . && git config user.name a && git config user.email a@example.com")
	p.Write(file, text)
	p.Sh("git add -A && git commit -q -m first")
}

var gitFamilies = []Family{
	{"git: no identity", []string{"git"}, func(p *place.Place, n *names) Failure {
		p.Sh("git config --global user.useConfigOnly true && git init -q -b main .")
		file := n.word() + ".md"
		p.Write(file, n.word()+"\n")
		p.Sh("git add -A")
		return Failure{Command: fmt.Sprintf("git commit -q -m 'Add %s'", file),
			Right: Plan{run("git config user.name builder && git config user.email builder@example.com")}}
	}},
	{"git: changes in the way of a checkout", []string{"git"}, func(p *place.Place, n *names) Failure {
		file, branch := n.dir()+".txt", n.dashed()
		repository(p, file, n.word()+"\n")
		p.Sh("git checkout -q -b " + branch)
		p.Write(file, n.word()+"\n")
		p.Sh("git commit -q -a -m second && git checkout -q main")
		p.Write(file, n.word()+"\n")
		return Failure{Command: "git checkout -q " + branch, Right: Plan{run("git stash")}}
	}},
	{"git: directory of another owner", []string{"git"}, func(p *place.Place, n *names) Failure {
		repository(p, n.word()+".txt", n.word()+"\n")
		p.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER=1") // how git's own tests give a directory another owner
		return Failure{Command: "git " + n.one("status", "log"),
			Right: Plan{run("git config --global --add safe.directory %s", p.Dir)}}
	}},
	{"git: conflict not resolved", []string{"git"}, func(p *place.Place, n *names) Failure {
		file, branch := n.word()+".txt", n.dashed()
		repository(p, file, n.word()+"\n")
		p.Sh("git checkout -q -b " + branch)
		p.Write(file, n.word()+"\n")
		p.Sh("git commit -q -a -m theirs && git checkout -q main")
		p.Write(file, n.word()+"\n")
		p.Sh("git commit -q -a -m ours; git merge -q " + branch + " || true")
		return Failure{Command: "git commit -q -m merged", Right: Plan{run("git checkout -q --ours . && git add -A")}}
	}},
	{"git: branch without upstream", []string{"git"}, func(p *place.Place, n *names) Failure {
		branch := n.dashed()
		repository(p, n.word()+".txt", n.word()+"\n")
		p.Sh("git init -q --bare ../origin.git && git remote add origin ../origin.git && git checkout -q -b " + branch)
		return Failure{Command: "git push -q", Right: Plan{run("git push -q --set-upstream origin %s", branch)}}
	}},
	{"git: submodule from a local directory", []string{"git"}, func(p *place.Place, n *names) Failure {
		lib := n.dashed()
		repository(p, n.word()+".txt", n.word()+"\n")
		at := "../" + lib + ".git"
		p.Sh(fmt.Sprintf("git init -q -b main %[1]s && cd %[1]s && git -c user.name=a -c "+
			"user.email=a@example.com commit -q "+
			"--allow-empty -m first", at))
		return Failure{Command: fmt.Sprintf("git submodule add -q %s/%s deps/%s", p.Root, lib+".git", lib),
			Right: Plan{run("git config --global protocol.file.allow always")}}
	}},
}

var scriptFamilies = []Family{
	{"python: source in Latin-1", []string{"python3"}, func(p *place.Place, n *names) Failure {
		file := n.dir() + "/" + n.snake() + ".py"
		p.Write(file, strings.Repeat("#\n", n.r.IntN(9))+"name = 'caf\xe9'\nprint(len(name))\n")
		return Failure{Command: "python3 " + file,
			Right: Plan{run("iconv -f latin1 -t utf-8 %[1]s > %[1]s.new && mv %[1]s.new %[1]s", file)}}
	}},
	{"python: file named like a standard module", []string{"python3"}, func(p *place.Place, n *names) Failure {
		module, use := "colorsys", "rgb_to_hls(1, 0, 0)"
		switch n.r.IntN(3) {
		case 0:
			module, use = "secrets", "token_hex(4)"
		case 1:
			module, use = "statistics", "mean([1, 2])"
		}
		p.Write(module+".py", fmt.Sprintf("import %[1]s\n\nprint(%[1]s.%[2]s)\n", module, use))
		main := n.snake() + ".py"
		p.Write(main, fmt.Sprintf("import %[1]s\n\nprint(%[1]s.%[2]s)\n", module, use))
		return Failure{Command: "python3 " + main, Right: Plan{run("mv %[1]s.py my_%[1]s.py", module)}}
	}},
	{"python: print without parentheses", []string{"python3"}, func(p *place.Place, n *names) Failure {
		file := n.dir() + "/" + n.snake() + ".py"
		p.Write(file, fmt.Sprintf("limit = %d\nprint limit\n", n.number()))
		return Failure{Command: "python3 " + file, Right: Plan{run(`sed -i 's/^print \(.*\)$/print(\1)/' %s`, file)}}
	}},
	{"python: trailing comma in JSON", []string{"python3"}, func(p *place.Place, n *names) Failure {
		p.Write("config.json", fmt.Sprintf("{\n  %q: %d,\n  %q: %q,\n}\n", n.snake(), n.number(), n.snake(), n.word()))
		p.Write("load.py", "import json\n\nprint(len(json.load(open('config.json'))))\n")
		return Failure{Command: "python3 load.py", Right: Plan{run(`sed -i -z 's/,\n}/\n}/' config.json`)}}
	}},
	{"python: package without a main module", []string{"python3"}, func(p *place.Place, n *names) Failure {
		pkg := n.snake()
		p.Write(pkg+"/main.py", fmt.Sprintf("print(%d)\n", n.number()))
		return Failure{Command: "python3 " + pkg, Right: Plan{run("mv %[1]s/main.py %[1]s/__main__.py", pkg)}}
	}},
	{"sh: script with Windows line ends", []string{"sh", "python3"}, func(p *place.Place, n *names) Failure {
		file := "./" + n.word() + "/" + n.dashed() + ".sh"
		p.Write(file, fmt.Sprintf("#!/usr/bin/env python3\r\nprint(%d)\r\n", n.number()))
		return Failure{Command: file, Right: Plan{run(`sed -i 's/\r$//' %s`, file)}}
	}},
	{"npm: package.json is not JSON", []string{"npm"}, func(p *place.Place, n *names) Failure {
		p.Write("package.json", fmt.Sprintf("{\n  \"name\": %q,\n  \"version\": %q,\n}\n", n.dashed(), n.version()))
		return Failure{Command: "npm pkg get name", Right: Plan{run(`sed -i -z 's/,\n}/\n}/' package.json`)}}
	}},
	{"npm: engine too old", []string{"npm", "node"}, func(p *place.Place, n *names) Failure {
		p.Write("package.json", fmt.Sprintf("{\"name\": %q, \"version\": %q, \"engines\": {\"node\": \">=%d\"}}\n",
			n.dashed(), n.version(), 90+n.r.IntN(9)))
		p.Write(".npmrc", "engine-strict=true\n")
		return Failure{Command: "npm install", Right: Plan{run("npm pkg delete engines")}}
	}},
	{"node: import outside a module", []string{"node", "npm"}, func(p *place.Place, n *names) Failure {
		file := n.word() + ".js"
		p.Write("package.json", fmt.Sprintf("{\"name\": %q, \"type\": \"commonjs\"}\n", n.dashed()))
		p.Write(file, fmt.Sprintf("import path from 'path'\n\nconsole.log(path.sep, %d)\n", n.number()))
		return Failure{Command: "node " + file, Right: Plan{run("npm pkg set type=module")}}
	}},
}
