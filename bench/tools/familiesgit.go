package main

import (
	"fmt"
	"strings"
)

func upper(s string) string { return strings.ToUpper(s) }

// repository makes one with a commit.
func (p *place) repository(file, text string) {
	p.sh("git init -q -b main . && git config user.name a && git config user.email a@example.com")
	p.write(file, text)
	p.sh("git add -A && git commit -q -m first")
}

var gitFamilies = []family{
	{"git: no identity", []string{"git"}, func(p *place, n *names) failure {
		p.sh("git config --global user.useConfigOnly true && git init -q -b main .")
		file := n.word() + ".md"
		p.write(file, n.word()+"\n")
		p.sh("git add -A")
		return failure{fmt.Sprintf("git commit -q -m 'Add %s'", file),
			plan{run("git config user.name builder && git config user.email builder@example.com")}}
	}},
	{"git: changes in the way of a checkout", []string{"git"}, func(p *place, n *names) failure {
		file, branch := n.dir()+".txt", n.dashed()
		p.repository(file, n.word()+"\n")
		p.sh("git checkout -q -b " + branch)
		p.write(file, n.word()+"\n")
		p.sh("git commit -q -a -m second && git checkout -q main")
		p.write(file, n.word()+"\n")
		return failure{"git checkout -q " + branch, plan{run("git stash")}}
	}},
	{"git: directory of another owner", []string{"git"}, func(p *place, n *names) failure {
		p.repository(n.word()+".txt", n.word()+"\n")
		p.env = append(p.env, "GIT_TEST_ASSUME_DIFFERENT_OWNER=1") // how git's own tests give a directory another owner
		return failure{"git " + n.one("status", "log"), plan{run("git config --global --add safe.directory %s", p.dir)}}
	}},
	{"git: conflict not resolved", []string{"git"}, func(p *place, n *names) failure {
		file, branch := n.word()+".txt", n.dashed()
		p.repository(file, n.word()+"\n")
		p.sh("git checkout -q -b " + branch)
		p.write(file, n.word()+"\n")
		p.sh("git commit -q -a -m theirs && git checkout -q main")
		p.write(file, n.word()+"\n")
		p.sh("git commit -q -a -m ours; git merge -q " + branch + " || true")
		return failure{"git commit -q -m merged", plan{run("git checkout -q --ours . && git add -A")}}
	}},
	{"git: branch without upstream", []string{"git"}, func(p *place, n *names) failure {
		branch := n.dashed()
		p.repository(n.word()+".txt", n.word()+"\n")
		p.sh("git init -q --bare ../origin.git && git remote add origin ../origin.git && git checkout -q -b " + branch)
		return failure{"git push -q", plan{run("git push -q --set-upstream origin %s", branch)}}
	}},
	{"git: submodule from a local directory", []string{"git"}, func(p *place, n *names) failure {
		lib := n.dashed()
		p.repository(n.word()+".txt", n.word()+"\n")
		at := "../" + lib + ".git"
		p.sh(fmt.Sprintf("git init -q -b main %[1]s && cd %[1]s && git -c user.name=a -c "+
			"user.email=a@example.com commit -q "+
			"--allow-empty -m first", at))
		return failure{fmt.Sprintf("git submodule add -q %s/%s deps/%s", p.root, lib+".git", lib),
			plan{run("git config --global protocol.file.allow always")}}
	}},
}
