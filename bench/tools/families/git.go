package families

import (
	"fmt"
	"strings"

	"github.com/mneme/mneme/bench/tools/place"
)

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
