package families

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/mneme/mneme/bench/tools/place"
)

// freshFamilies were written after the rules, to measure families that were not used to develop them.
var freshFamilies = []Family{
	{"git: unrelated histories", []string{"git"}, func(p *place.Place, n *names) Failure {
		branch := n.dashed()
		repository(p, n.word()+".txt", n.word()+"\n")
		p.Sh("git checkout -q --orphan " + branch + " && git rm -rfq .")
		p.Write(n.word()+".md", n.word()+"\n")
		p.Sh("git add -A && git commit -q -m other && git checkout -q main")
		return Failure{Command: "git merge -q " + branch,
			Right: Plan{run("git merge -q --allow-unrelated-histories -m joined %s", branch)}}
	}},
	{"git: push to a branch that is checked out", []string{"git"}, func(p *place.Place, n *names) Failure {
		at := "../" + n.dashed()
		repository(p, n.word()+".txt", n.word()+"\n")
		p.Sh(fmt.Sprintf("git clone -q . %[1]s && git remote add origin %[1]s && git fetch -q", at))
		p.Write(n.word()+".md", n.word()+"\n")
		p.Sh("git add -A && git commit -q -m second")
		return Failure{Command: "git push -q origin main",
			Right: Plan{run("git -C %s config receive.denyCurrentBranch ignore", at)}}
	}},
	{"git: branch in another worktree", []string{"git"}, func(p *place.Place, n *names) Failure {
		branch, tree := n.dashed(), p.Root+"/"+n.dashed()+"-tree"
		repository(p, n.word()+".txt", n.word()+"\n")
		p.Sh(fmt.Sprintf("git worktree add -q -b %s %s", branch, tree))
		return Failure{Command: "git checkout -q " + branch, Right: Plan{run("git worktree remove --force %s", tree)}}
	}},
	{"go: build constraint excludes a package", []string{"go"}, func(p *place.Place, n *names) Failure {
		module, pkg := "example.com/"+n.dashed(), n.word()
		p.Write("go.mod", "module "+module+"\n\ngo 1.21\n")
		p.Write(pkg+"/"+n.word()+".go",
			fmt.Sprintf("//go:build ignore\n\npackage %s\n\nconst N = %d\n", pkg, n.number()))
		p.Write("main.go", fmt.Sprintf("package main\n\nimport \"%[1]s/%[2]s\"\n\nfunc main() { println(%[2]s.N) }\n",
			module, pkg))
		return Failure{Command: "go build -o app .", Right: Plan{run("sed -i '/^.*go:build/d' %s/*.go", pkg)}}
	}},
	{"gcc: warning taken for an error", []string{"gcc"}, func(p *place.Place, n *names) Failure {
		file := n.snake() + ".c"
		p.Write(file, fmt.Sprintf("int %s(void) {\n\tint %s = %d;\n\treturn 0;\n}\n", n.snake(), n.snake(), n.number()))
		p.Write(options, "-Wall\n-Werror\n")
		return Failure{Command: fmt.Sprintf("gcc @%s -c %s", options, file), Right: Plan{line(options, "-Wno-error")}}
	}},
	{"make: dependency of a header that is gone", []string{"make", "gcc"}, func(p *place.Place, n *names) Failure {
		file := n.snake()
		p.Write(file+".c", printing(fmt.Sprint(n.number())))
		p.Write(file+".d", fmt.Sprintf("%s.o: %s.c %s.h\n", file, file, n.word()))
		p.Write("Makefile", fmt.Sprintf("app: %s.o\n\t$(CC) -o $@ $^\n\n-include *.d\n", file))
		return Failure{Command: "make app", Right: Plan{run("rm -f *.d")}}
	}},
	{"python: mark at the beginning of JSON", []string{"python3"}, func(p *place.Place, n *names) Failure {
		file := n.dir() + "/" + n.snake() + ".json"
		p.Write(file, fmt.Sprintf("\xef\xbb\xbf{%q: %d}\n", n.snake(), n.number()))
		p.Write("load.py", "import json, sys\n\nprint(len(json.load(open(sys.argv[1], encoding='utf-8'))))\n")
		return Failure{Command: "python3 load.py " + file, Right: Plan{run(`sed -i '1s/^\xef\xbb\xbf//' %s`, file)}}
	}},
	{"node: require in a module", []string{"node", "npm"}, func(p *place.Place, n *names) Failure {
		file := n.word() + ".js"
		p.Write("package.json", fmt.Sprintf("{\"name\": %q, \"type\": \"module\"}\n", n.dashed()))
		p.Write(file, fmt.Sprintf("const path = require('path')\n\nconsole.log(path.sep, %d)\n", n.number()))
		return Failure{Command: "node " + file, Right: Plan{run("npm pkg set type=commonjs")}}
	}},
	{"sh: directory missing", []string{"sh"}, func(p *place.Place, n *names) Failure {
		dir := n.word() + "/" + n.dashed()
		return Failure{Command: fmt.Sprintf("cd %s && pwd", dir), Right: Plan{run("mkdir -p %s", dir)}}
	}},
	{"tar: archive is not compressed", []string{"tar", "gzip"}, func(p *place.Place, n *names) Failure {
		file, archive := n.word()+".txt", n.dashed()+".tgz"
		p.Write(file, n.word()+"\n")
		p.Sh(fmt.Sprintf("tar -cf %s %s", archive, file))
		return Failure{Command: "gzip -t " + archive,
			Right: Plan{run("gzip -c %[1]s > %[1]s.new && mv %[1]s.new %[1]s", archive)}}
	}},
	{"sqlite3: table not created", []string{"sqlite3"}, func(p *place.Place, n *names) Failure {
		db, table := n.dashed()+".db", n.snake()
		p.Write("schema.sql", fmt.Sprintf("CREATE TABLE %s (id INTEGER);\n", table))
		return Failure{Command: fmt.Sprintf("sqlite3 %s 'SELECT count(*) FROM %s'", db, table),
			Right: Plan{run("sqlite3 %s < schema.sql", db)}}
	}},
	{"ssh-keygen: key that all may read", []string{"ssh-keygen"}, func(p *place.Place, n *names) Failure {
		key := n.dir() + ".pem"
		p.Write(key, "")
		p.Sh(fmt.Sprintf("rm %[1]s && ssh-keygen -q -t ed25519 -N '' -f %[1]s && chmod 644 %[1]s", key))
		return Failure{Command: "ssh-keygen -y -f " + key, Right: Plan{run("chmod 600 %s", key)}}
	}},
}

var originForm = regexp.MustCompile(`To (\S+)`)

// merged is the branch that the command merges.
func merged(s Seen) []string {
	if branch, ok := strings.CutPrefix(s.Command, "git merge -q "); ok {
		return []string{branch}
	}
	return nil
}

// freshRepairs are repairs that the actor has in addition to the catalogue for these families.
var freshRepairs = []repair{
	{forGit, each(merged, "git merge -q --allow-unrelated-histories -m joined %s")},
	{forGit, each(matched(originForm), "git -C %s config receive.denyCurrentBranch ignore")},
	{forGit, each(func(s Seen) []string { return s.paths }, "git worktree remove --force %s")},
	{forGo, each(func(s Seen) []string { return s.paths }, "sed -i '/^.*go:build/d' %s/*.go")},
	{forMake, always("rm -f *.d")},
	{forPython, each(ending(".json"), `sed -i '1s/^\xef\xbb\xbf//' %s`)},
	{forNode, always("npm pkg set type=commonjs")},
	{forFiles, each(func(s Seen) []string { return s.paths }, "mkdir -p %s")},
	{forFiles, each(ending(".tgz"), "gzip -c %[1]s > %[1]s.new && mv %[1]s.new %[1]s")},
	{forFiles, each(ending(".db"), "sqlite3 %s < schema.sql")},
	{forFiles, each(ending(".pem"), "chmod 600 %s")},
}

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
