package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// freshFamilies were written after the rules, to measure families that were not used to develop them.
var freshFamilies = []family{
	{"git: unrelated histories", []string{"git"}, func(p *place, n *names) failure {
		branch := n.dashed()
		p.repository(n.word()+".txt", n.word()+"\n")
		p.sh("git checkout -q --orphan " + branch + " && git rm -rfq .")
		p.write(n.word()+".md", n.word()+"\n")
		p.sh("git add -A && git commit -q -m other && git checkout -q main")
		return failure{"git merge -q " + branch,
			plan{run("git merge -q --allow-unrelated-histories -m joined %s", branch)}}
	}},
	{"git: push to a branch that is checked out", []string{"git"}, func(p *place, n *names) failure {
		at := "../" + n.dashed()
		p.repository(n.word()+".txt", n.word()+"\n")
		p.sh(fmt.Sprintf("git clone -q . %[1]s && git remote add origin %[1]s && git fetch -q", at))
		p.write(n.word()+".md", n.word()+"\n")
		p.sh("git add -A && git commit -q -m second")
		return failure{"git push -q origin main", plan{run("git -C %s config receive.denyCurrentBranch ignore", at)}}
	}},
	{"git: branch in another worktree", []string{"git"}, func(p *place, n *names) failure {
		branch, tree := n.dashed(), p.root+"/"+n.dashed()+"-tree"
		p.repository(n.word()+".txt", n.word()+"\n")
		p.sh(fmt.Sprintf("git worktree add -q -b %s %s", branch, tree))
		return failure{"git checkout -q " + branch, plan{run("git worktree remove --force %s", tree)}}
	}},
	{"go: build constraint excludes a package", []string{"go"}, func(p *place, n *names) failure {
		module, pkg := "example.com/"+n.dashed(), n.word()
		p.write("go.mod", "module "+module+"\n\ngo 1.21\n")
		p.write(pkg+"/"+n.word()+".go",
			fmt.Sprintf("//go:build ignore\n\npackage %s\n\nconst N = %d\n", pkg, n.number()))
		p.write("main.go", fmt.Sprintf("package main\n\nimport \"%[1]s/%[2]s\"\n\nfunc main() { println(%[2]s.N) }\n",
			module, pkg))
		return failure{"go build -o app .", plan{run("sed -i '/^.*go:build/d' %s/*.go", pkg)}}
	}},
	{"gcc: warning taken for an error", []string{"gcc"}, func(p *place, n *names) failure {
		file := n.snake() + ".c"
		p.write(file, fmt.Sprintf("int %s(void) {\n\tint %s = %d;\n\treturn 0;\n}\n", n.snake(), n.snake(), n.number()))
		p.write(options, "-Wall\n-Werror\n")
		return failure{fmt.Sprintf("gcc @%s -c %s", options, file), plan{line(options, "-Wno-error")}}
	}},
	{"make: dependency of a header that is gone", []string{"make", "gcc"}, func(p *place, n *names) failure {
		file := n.snake()
		p.write(file+".c", printing(fmt.Sprint(n.number())))
		p.write(file+".d", fmt.Sprintf("%s.o: %s.c %s.h\n", file, file, n.word()))
		p.write("Makefile", fmt.Sprintf("app: %s.o\n\t$(CC) -o $@ $^\n\n-include *.d\n", file))
		return failure{"make app", plan{run("rm -f *.d")}}
	}},
	{"python: mark at the beginning of JSON", []string{"python3"}, func(p *place, n *names) failure {
		file := n.dir() + "/" + n.snake() + ".json"
		p.write(file, fmt.Sprintf("\xef\xbb\xbf{%q: %d}\n", n.snake(), n.number()))
		p.write("load.py", "import json, sys\n\nprint(len(json.load(open(sys.argv[1], encoding='utf-8'))))\n")
		return failure{"python3 load.py " + file, plan{run(`sed -i '1s/^\xef\xbb\xbf//' %s`, file)}}
	}},
	{"node: require in a module", []string{"node", "npm"}, func(p *place, n *names) failure {
		file := n.word() + ".js"
		p.write("package.json", fmt.Sprintf("{\"name\": %q, \"type\": \"module\"}\n", n.dashed()))
		p.write(file, fmt.Sprintf("const path = require('path')\n\nconsole.log(path.sep, %d)\n", n.number()))
		return failure{"node " + file, plan{run("npm pkg set type=commonjs")}}
	}},
	{"sh: directory missing", []string{"sh"}, func(p *place, n *names) failure {
		dir := n.word() + "/" + n.dashed()
		return failure{fmt.Sprintf("cd %s && pwd", dir), plan{run("mkdir -p %s", dir)}}
	}},
	{"tar: archive is not compressed", []string{"tar", "gzip"}, func(p *place, n *names) failure {
		file, archive := n.word()+".txt", n.dashed()+".tgz"
		p.write(file, n.word()+"\n")
		p.sh(fmt.Sprintf("tar -cf %s %s", archive, file))
		return failure{"gzip -t " + archive, plan{run("gzip -c %[1]s > %[1]s.new && mv %[1]s.new %[1]s", archive)}}
	}},
	{"sqlite3: table not created", []string{"sqlite3"}, func(p *place, n *names) failure {
		db, table := n.dashed()+".db", n.snake()
		p.write("schema.sql", fmt.Sprintf("CREATE TABLE %s (id INTEGER);\n", table))
		return failure{fmt.Sprintf("sqlite3 %s 'SELECT count(*) FROM %s'", db, table),
			plan{run("sqlite3 %s < schema.sql", db)}}
	}},
	{"ssh-keygen: key that all may read", []string{"ssh-keygen"}, func(p *place, n *names) failure {
		key := n.dir() + ".pem"
		p.write(key, "")
		p.sh(fmt.Sprintf("rm %[1]s && ssh-keygen -q -t ed25519 -N '' -f %[1]s && chmod 644 %[1]s", key))
		return failure{"ssh-keygen -y -f " + key, plan{run("chmod 600 %s", key)}}
	}},
}

var originForm = regexp.MustCompile(`To (\S+)`)

// merged is the branch that the command merges.
func merged(s seen) []string {
	if branch, ok := strings.CutPrefix(s.command, "git merge -q "); ok {
		return []string{branch}
	}
	return nil
}

// freshRepairs are repairs that the actor has in addition to the catalogue for these families.
var freshRepairs = []repair{
	{forGit, each(merged, "git merge -q --allow-unrelated-histories -m joined %s")},
	{forGit, each(matched(originForm), "git -C %s config receive.denyCurrentBranch ignore")},
	{forGit, each(func(s seen) []string { return s.paths }, "git worktree remove --force %s")},
	{forGo, each(func(s seen) []string { return s.paths }, "sed -i '/^.*go:build/d' %s/*.go")},
	{forMake, always("rm -f *.d")},
	{forPython, each(ending(".json"), `sed -i '1s/^\xef\xbb\xbf//' %s`)},
	{forNode, always("npm pkg set type=commonjs")},
	{forFiles, each(func(s seen) []string { return s.paths }, "mkdir -p %s")},
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
	case "blind":
		return slices.Concat(catalogue, blindRepairs, blindMore)
	}
	return catalogue
}
