package families

import (
	"fmt"
	"regexp"
	"slices"
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

// repairsFor returns the repairs that the actor has for the families of a set.
func repairsFor(set string) []repair {
	switch set {
	case "fresh":
		return slices.Concat(catalogue, freshRepairs)
	case "later":
		return slices.Concat(catalogue, freshRepairs, laterRepairs)
	case "further":
		return slices.Concat(catalogue, freshRepairs, laterRepairs, furtherRepairs)
	case "unseen":
		return slices.Concat(catalogue, freshRepairs, laterRepairs, furtherRepairs, unseenRepairs)
	case "last":
		return slices.Concat(catalogue, freshRepairs, laterRepairs, furtherRepairs, unseenRepairs, lastRepairs)
	case "situations":
		return slices.Concat(catalogue, situationsRepairs)
	case "blind":
		return slices.Concat(catalogue, blindRepairs, blindMore)
	}
	return catalogue
}
