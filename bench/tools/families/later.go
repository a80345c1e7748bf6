package families

import (
	"fmt"
	"regexp"

	"github.com/mneme/mneme/bench/tools/place"
)

// laterFamilies were written after the rules had been changed for the fresh ones, and are run once.
var laterFamilies = []Family{
	{"git: branch not merged", []string{"git"}, func(p *place.Place, n *names) Failure {
		branch := n.dashed()
		repository(p, n.word()+".txt", n.word()+"\n")
		p.Sh("git checkout -q -b " + branch)
		p.Write(n.word()+".md", n.word()+"\n")
		p.Sh("git add -A && git commit -q -m second && git checkout -q main")
		return Failure{Command: "git branch -q -d " + branch, Right: Plan{run("git merge -q %s", branch)}}
	}},
	{"go: embedded file missing", []string{"go"}, func(p *place.Place, n *names) Failure {
		file := n.word() + "/" + n.snake() + ".txt"
		p.Write("go.mod", "module example.com/"+n.dashed()+"\n\ngo 1.21\n")
		p.Write(n.word()+".go", fmt.Sprintf("package main\n\nimport _ \"embed\"\n\n//go:embed %s\nvar text string\n\n"+
			"func main() { println(len(text), %d) }\n", file, n.number()))
		return Failure{Command: "go build -o app .", Right: Plan{run("mkdir -p $(dirname %[1]s) && touch %[1]s", file)}}
	}},
	{"make: variable that refers to itself", []string{"make"}, func(p *place.Place, n *names) Failure {
		name, target := upper(n.snake()), n.snake()
		p.Write("Makefile", fmt.Sprintf("%[1]s = $(%[1]s) %[2]d\n\n%[3]s:\n\t@echo $(%[1]s)\n", name, n.number(),
			target))
		return Failure{Command: "make " + target, Right: Plan{run("sed -i 's/^%[1]s = /%[1]s := /' Makefile", name)}}
	}},
	{"python: relative import in a script", []string{"python3"}, func(p *place.Place, n *names) Failure {
		pkg, other, file := n.word(), n.snake(), n.snake()
		p.Write(pkg+"/__init__.py", "")
		p.Write(pkg+"/"+other+".py", fmt.Sprintf("LIMIT = %d\n", n.number()))
		p.Write(pkg+"/"+file+".py", fmt.Sprintf("from .%s import LIMIT\n\nprint(LIMIT)\n", other))
		return Failure{Command: fmt.Sprintf("python3 %s/%s.py", pkg, file),
			Right: Plan{run("sed -i 's/^from [.]/from /' %s/%s.py", pkg, file)}}
	}},
	{"node: main file of a package missing", []string{"node", "npm"}, func(p *place.Place, n *names) Failure {
		p.Write("package.json", fmt.Sprintf("{\"name\": %q, \"version\": %q, \"main\": %q}\n", n.dashed(), n.version(),
			"lib/"+n.word()+".js"))
		p.Write("start.js", fmt.Sprintf("console.log(%d)\n", n.number()))
		return Failure{Command: "node .", Right: Plan{run("npm pkg set main=start.js")}}
	}},
	{"gzip: output is there already", []string{"gzip"}, func(p *place.Place, n *names) Failure {
		file := n.dir() + ".txt"
		p.Write(file, n.word()+"\n")
		p.Write(file+".gz", "")
		return Failure{Command: "gzip " + file + " < /dev/null", Right: Plan{run("rm -f %s.gz", file)}}
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
