package main

import "fmt"

// devFamilies are those to develop with. None of them is reported.
var devFamilies = []family{
	{"go: unused import", []string{"go"}, func(p *place, n *names) failure {
		file, unused := "main.go", n.one("os", "strings", "sort", "bytes", "time", "errors")
		if n.r.IntN(2) == 0 {
			file = "cmd/" + n.word() + "/" + n.word() + ".go"
		}
		p.write("go.mod", "module example.com/"+n.dashed()+"\n\ngo 1.21\n")
		p.write(file, fmt.Sprintf("package main\n\nimport (\n\t\"fmt\"\n\t%q\n)\n\nfunc main() { fmt.Println(%q) }\n",
			unused, n.word()))
		return failure{"go build ./...", plan{replace(file, fmt.Sprintf("\t%q\n", unused), "")}}
	}},
	{"gcc: maths library not linked", []string{"gcc", "make"}, func(p *place, n *names) failure {
		app, f := n.word(), n.one("sqrt", "cbrt", "log2", "tan", "exp")
		p.write(app+".c", "#include <math.h>\n#include <stdio.h>\n\nint main(int argc, char **argv) {\n\t(void)argv;\n"+
			"\tprintf(\"%f\\n\", "+f+"((double)argc));\n\treturn 0;\n}\n")
		p.write("Makefile", "LDLIBS =\n\n"+app+": "+app+".o\n\t$(CC) -o $@ $^ $(LDLIBS)\n")
		return failure{"make " + app, plan{replace("Makefile", "LDLIBS =", "LDLIBS = -lm")}}
	}},
	{"make: spaces for a tab", []string{"make"}, func(p *place, n *names) failure {
		target := n.snake()
		p.write("Makefile", fmt.Sprintf("NAME = %s\n\n%s:\n%*s@echo $(NAME)\n", n.word(), target, 4*(1+n.r.IntN(2)),
			""))
		return failure{"make " + target, plan{run(`sed -i 's/^  */\t/' Makefile`)}}
	}},
	{"git: lock left behind", []string{"git"}, func(p *place, n *names) failure {
		p.sh("git init -q . && git config user.name a && git config user.email a@example.com")
		file := n.word() + ".txt"
		p.write(file, n.word()+"\n")
		p.write(".git/index.lock", "")
		return failure{"git add " + file, plan{run("rm -f .git/index.lock")}}
	}},
	{"python: package outside the search path", []string{"python3"}, func(p *place, n *names) failure {
		pkg, main := n.snake(), n.word()+".py"
		p.write("src/"+pkg+"/__init__.py", fmt.Sprintf("LIMIT = %d\n", n.number()))
		p.write(main, "import "+pkg+"\n\nprint("+pkg+".LIMIT)\n")
		p.write("settings.env", "MODE="+n.word()+"\n")
		return failure{"set -a; . ./settings.env; python3 " + main, plan{line("settings.env", "PYTHONPATH=src")}}
	}},
	{"npm: missing script", []string{"npm", "node"}, func(p *place, n *names) failure {
		script := n.one("build", "lint", "bundle", "check", "generate")
		p.write("package.json", fmt.Sprintf(`{"name": %q, "version": %q, "scripts": {"serve": "node index.js"}}`,
			n.dashed(),
			n.version()))
		p.write("index.js", "console.log('ok')\n")
		return failure{"npm run " + script, plan{run(`npm pkg set scripts.%s="node index.js"`, script)}}
	}},
	{"sh: script not executable", []string{"sh"}, func(p *place, n *names) failure {
		file := "./" + n.word() + "/" + n.dashed()
		p.write(file, "#!/bin/sh\necho ok\n")
		return failure{file, plan{run("chmod +x %s", file)}}
	}},
	{"python: tabs and spaces", []string{"python3"}, func(p *place, n *names) failure {
		file := n.word() + "/" + n.snake() + ".py"
		p.write(file, "def "+n.snake()+"(a):\n        if a:\n\t    return 1\n\treturn 0\n")
		return failure{"python3 " + file, plan{run("expand -t 8 %[1]s > %[1]s.new && mv %[1]s.new %[1]s", file)}}
	}},
}
