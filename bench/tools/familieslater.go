package main

import (
	"fmt"
	"regexp"
)

// laterFamilies were written after the rules had been changed for the fresh ones, and are run once.
var laterFamilies = []family{
	{"git: branch not merged", []string{"git"}, func(p *place, n *names) failure {
		branch := n.dashed()
		p.repository(n.word()+".txt", n.word()+"\n")
		p.sh("git checkout -q -b " + branch)
		p.write(n.word()+".md", n.word()+"\n")
		p.sh("git add -A && git commit -q -m second && git checkout -q main")
		return failure{"git branch -q -d " + branch, plan{run("git merge -q %s", branch)}}
	}},
	{"go: embedded file missing", []string{"go"}, func(p *place, n *names) failure {
		file := n.word() + "/" + n.snake() + ".txt"
		p.write("go.mod", "module example.com/"+n.dashed()+"\n\ngo 1.21\n")
		p.write(n.word()+".go", fmt.Sprintf("package main\n\nimport _ \"embed\"\n\n//go:embed %s\nvar text string\n\n"+
			"func main() { println(len(text), %d) }\n", file, n.number()))
		return failure{"go build -o app .", plan{run("mkdir -p $(dirname %[1]s) && touch %[1]s", file)}}
	}},
	{"make: variable that refers to itself", []string{"make"}, func(p *place, n *names) failure {
		name, target := upper(n.snake()), n.snake()
		p.write("Makefile", fmt.Sprintf("%[1]s = $(%[1]s) %[2]d\n\n%[3]s:\n\t@echo $(%[1]s)\n", name, n.number(),
			target))
		return failure{"make " + target, plan{run("sed -i 's/^%[1]s = /%[1]s := /' Makefile", name)}}
	}},
	{"python: relative import in a script", []string{"python3"}, func(p *place, n *names) failure {
		pkg, other, file := n.word(), n.snake(), n.snake()
		p.write(pkg+"/__init__.py", "")
		p.write(pkg+"/"+other+".py", fmt.Sprintf("LIMIT = %d\n", n.number()))
		p.write(pkg+"/"+file+".py", fmt.Sprintf("from .%s import LIMIT\n\nprint(LIMIT)\n", other))
		return failure{fmt.Sprintf("python3 %s/%s.py", pkg, file),
			plan{run("sed -i 's/^from [.]/from /' %s/%s.py", pkg, file)}}
	}},
	{"node: main file of a package missing", []string{"node", "npm"}, func(p *place, n *names) failure {
		p.write("package.json", fmt.Sprintf("{\"name\": %q, \"version\": %q, \"main\": %q}\n", n.dashed(), n.version(),
			"lib/"+n.word()+".js"))
		p.write("start.js", fmt.Sprintf("console.log(%d)\n", n.number()))
		return failure{"node .", plan{run("npm pkg set main=start.js")}}
	}},
	{"gzip: output is there already", []string{"gzip"}, func(p *place, n *names) failure {
		file := n.dir() + ".txt"
		p.write(file, n.word()+"\n")
		p.write(file+".gz", "")
		return failure{"gzip " + file + " < /dev/null", plan{run("rm -f %s.gz", file)}}
	}},
}

var (
	unmergedForm = regexp.MustCompile(`branch '?([\w-]+)'? is not fully merged`)
	variableForm = regexp.MustCompile("[vV]ariable [`'‘]([A-Z0-9_]+)['’]")
)

// laterRepairs are additional repairs that the actor has for these families.
var laterRepairs = []repair{
	{forGit, each(matched(unmergedForm), "git merge -q %s")},
	{forGit, always("git reset -q")},
	{forGo, each(ending(".txt"), "mkdir -p $(dirname %[1]s) && touch %[1]s")},
	{forMake, each(matched(variableForm), "sed -i 's/^%[1]s = /%[1]s := /' Makefile")},
	{forPython, each(ending(".py"), "sed -i 's/^from [.]/from /' %s")},
	{forNode, always("npm pkg set main=start.js")},
	{forNode, always("npm pkg set name=app")},
	{[]string{"gzip"}, each(ending(".txt"), "rm -f %s.gz")},
	{[]string{"gzip"}, each(ending(".txt"), "gzip -f -k %s")},
}
