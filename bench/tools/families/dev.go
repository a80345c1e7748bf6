package families

import (
	"fmt"

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
