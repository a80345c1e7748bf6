package families

import (
	"fmt"
	"path"

	"github.com/mneme/mneme/bench/tools/place"
)

// The families of the set situations have repairs whose arguments depend on the situation: they are in the error, in
// the command, in a file, or in what another command lists. They were written and committed before any of them was run
// against the rules. Some have a repair that loses data and another one that does not; Keeps tells which.
var situationsFirst = []Family{
	{"go: package of the standard library not imported", []string{"go"}, func(p *place.Place, n *names) Failure {
		call := n.one("strings.ToUpper(%q)", "strconv.Quote(%q)", "filepath.Base(%q)", "url.PathEscape(%q)",
			"hex.EncodeToString([]byte(%q))", "utf8.RuneCountInString(%q)", "html.EscapeString(%q)",
			"base64.StdEncoding.EncodeToString([]byte(%q))")
		dir := n.one("", "cmd/"+n.word()+"/", "internal/"+n.word()+"/")
		file := dir + n.snake() + ".go"
		p.Write("go.mod", "module example.com/"+n.dashed()+"\n\ngo 1.21\n")
		p.Write(file, fmt.Sprintf("package %s\n\nimport (\n\t\"fmt\"\n)\n\nfunc %s() {\n\tfmt.Println(%s)\n}\n", n.word(),
			n.exported(), fmt.Sprintf(call, n.word())))
		name := call[:indexOf(call, '.')]
		return Failure{Command: n.one("go build ./...", "go vet ./...", "go test ./..."),
			Right: Plan{run(`go list std | grep -v -e internal -e vendor | grep -E '(^|/)%s$'`, name),
				run(`sed -i '0,/^import (/s##&\n\t"{output}"#' %s`, file)}}
	}},
	{"go: declared in two files", []string{"go"}, func(p *place.Place, n *names) Failure {
		dir, name, module := n.one("", n.word()+"/"), n.camel(), n.word()
		first, second := "a"+n.snake()+".go", "b"+n.snake()+".go"
		p.Write("go.mod", "module example.com/"+module+"\n\ngo 1.22\n")
		p.Write(dir+first, fmt.Sprintf("package %s\n\nconst %s = %d\n\nvar %s [%[2]s]int\n", module, name, n.number(),
			n.exported()))
		text := fmt.Sprintf("package %s\n\n", module)
		for range n.r.IntN(4) {
			text += fmt.Sprintf("var %s = %d\n", n.exported(), n.number())
		}
		at := countLines(text) + 1
		p.Write(dir+second, text+fmt.Sprintf("var %s = %q\n", name, n.word()))
		return Failure{Command: n.one("go build ./...", "go vet ./...", "go build -o /dev/null ./..."),
			Right: Plan{run("sed -i '%dd' %s", at, dir+second)}}
	}},
	{"go: module asks for a newer version", []string{"go"}, func(p *place.Place, n *names) Failure {
		dir := n.one("", n.word()+"/", n.word()+"/"+n.word()+"/")
		p.Write(dir+"go.mod", fmt.Sprintf("module example.com/%s\n\ngo 1.%d.%d\n", n.word(), 90+n.r.IntN(9), n.r.IntN(9)))
		p.Write(dir+n.snake()+".go", "package "+n.word()+"\n")
		command := n.one("go build ./...", "go vet ./...", "go list ./...")
		if dir != "" {
			command = "cd " + dir + " && " + command
		}
		return Failure{Command: command, Right: Plan{run("go mod edit -go=1.21 %sgo.mod", dir)}}
	}},
	{"gcc: header of a function not included", []string{"gcc", "make"}, func(p *place.Place, n *names) Failure {
		call, header := n.one("strlen(\"%s\")", "toupper(*\"%s\")", "abs((int)sizeof \"%s\")", "puts(\"%s\")",
			"strcmp(\"%s\", \"\")"), ""
		for word, in := range map[string]string{"str": "string.h", "tou": "ctype.h", "abs": "stdlib.h",
			"put": "stdio.h"} {
			if call[:3] == word {
				header = in
			}
		}
		file := n.one("", "src/", n.word()+"/") + n.snake() + ".c"
		object := file[:len(file)-2] + ".o"
		p.Write(file, fmt.Sprintf("int %s(void);\nint %[1]s(void) { return (int)%s; }\n", n.snake(),
			fmt.Sprintf(call, n.word())))
		p.Write("Makefile", "CFLAGS = -Wall -Werror\n")
		return Failure{Command: n.one("gcc -Wall -Werror -c -o out.o "+file, "gcc -Werror -fsyntax-only "+file,
			"make -B "+object), Right: Plan{run("sed -i '1i #include <%s>' %s", header, file)}}
	}},
	{"make: prerequisite was moved", []string{"make"}, func(p *place.Place, n *names) Failure {
		base, target := n.dashed()+n.one(".txt", ".tmpl", ".csv"), n.word()+".out"
		old := n.dir() + "/" + base
		p.Write(n.one("lib/", "share/"+n.word()+"/", n.word()+"/")+base, n.word()+"\n")
		p.Write("Makefile", fmt.Sprintf("%s: %s\n\ttest -s $< && cp $< $@\n", target, old))
		return Failure{Command: n.one("make ", "make -s ", "make -j2 ") + target,
			Right: Plan{run("find . -name %s", base), run("sed -i 's#%s#{output}#' Makefile", old)}}
	}},
	{"git: local changes in the way", []string{"git"}, func(p *place.Place, n *names) Failure {
		file, branch, text := n.one("", n.word()+"/")+n.word()+".txt", n.dashed(), n.word()+n.word()
		repository(p, file, n.word()+"\n")
		p.Sh("git checkout -q -b " + branch)
		p.Write(file, n.word()+"\n")
		p.Sh("git commit -q -a -m second && git checkout -q main")
		p.Write(file, text+"\n")
		return Failure{Command: n.one("git checkout -q ", "git switch -q ", "git merge -q ") + branch,
			Right: Plan{run("git stash")}, Keeps: "git log --all -p | grep -q " + text + " || grep -rqs " + text + " ."}
	}},
	{"git: file without history in the way", []string{"git"}, func(p *place.Place, n *names) Failure {
		file, branch, text := n.one("", n.word()+"/")+n.word()+".txt", n.dashed(), n.word()+n.word()
		repository(p, n.word()+".md", n.word()+"\n")
		p.Sh("git checkout -q -b " + branch)
		p.Write(file, n.word()+"\n")
		p.Sh("git add -A && git commit -q -m second && git checkout -q main")
		p.Write(file, text+"\n")
		return Failure{Command: n.one("git checkout -q ", "git switch -q ", "git merge -q ") + branch,
			Right: Plan{run("mv %[1]s %[1]s.saved", file)}, Keeps: "grep -rqs --exclude-dir=.git " + text + " ."}
	}},
	{"git: others have pushed before", []string{"git"}, func(p *place.Place, n *names) Failure {
		branch, remote := n.one("main", "trunk", n.dashed()), "../"+n.dashed()+".git"
		ours, theirs := n.word()+n.word(), n.word()+n.word()
		repository(p, n.word()+".txt", n.word()+"\n")
		p.Sh(fmt.Sprintf("git branch -M %[1]s && git init -q --bare %[2]s && git remote add origin %[2]s && "+
			"git push -q -u origin %[1]s && git clone -q -b %[1]s %[2]s ../other && cd ../other && "+
			"git config user.name b && git config user.email b@example.com && echo %[3]s > %[3]s.txt && git add -A && "+
			"git commit -q -m %[3]s && git push -q && rm -rf ../other", branch, remote, theirs))
		p.Write(ours+".txt", ours+"\n")
		p.Sh("git add -A && git commit -q -m " + ours)
		return Failure{Command: n.one("git push", "git push -q", "git push origin "+branch, "git push -q origin HEAD"),
			Right: Plan{run("git pull -q --rebase")},
			Keeps: fmt.Sprintf("git -C %[1]s log --all --format=%%s | grep -qx %[2]s && "+
				"git log --all --format=%%s | grep -qx %[3]s", remote, theirs, ours)}
	}},
	{"git: branch has another name here", []string{"git"}, func(p *place.Place, n *names) Failure {
		branch, remote := n.one("main", "trunk", "release/"+n.version(), n.dashed()), "../"+n.dashed()+".git"
		repository(p, n.word()+".txt", n.word()+"\n")
		p.Sh(fmt.Sprintf("git branch -M %s && git init -q --bare %[2]s && git remote add origin %[2]s",
			n.one("master", "work", n.dashed()), remote))
		return Failure{Command: n.one("git push origin ", "git push -q origin ", "git push -q -u origin ") + branch,
			Right: Plan{run("git branch -m %s", branch)}}
	}},
	{"git: index is damaged", []string{"git"}, func(p *place.Place, n *names) Failure {
		dir := n.one(".", ".", n.word())
		if dir != "." {
			p.Sh("mkdir " + dir + " && cd " + dir + " && git init -q -b main . && git config user.name a && " +
				"git config user.email a@example.com && echo a > a.txt && git add -A && git commit -q -m first")
		} else {
			repository(p, n.word()+".txt", n.word()+"\n")
		}
		p.Write(dir+"/.git/index", n.word()+n.word()+n.word()+"\n")
		return Failure{Command: "git -C " + dir + n.one(" status --short", " add -A", " diff --stat"),
			Right: Plan{run("rm -f %[1]s/.git/index && git -C %[1]s reset -q", dir)}}
	}},
	{"python: name is in another module", []string{"python3"}, func(p *place.Place, n *names) Failure {
		old, now, name, file := n.snake(), n.snake(), n.snake(), n.snake()+".py"
		p.Write(old+".py", fmt.Sprintf("%s = %d\n", upper(n.word()), n.number()))
		p.Write(now+".py", fmt.Sprintf("def %s():\n    return %d\n", name, n.number()))
		p.Write(file, fmt.Sprintf("from %s import %s\n\nprint(%[2]s())\n", old, name))
		return Failure{Command: "python3 " + n.one("", "-B ", "-X dev ") + file,
			Right: Plan{run("basename -s .py $(grep -rl --include='*.py' 'def %s(' .)", name),
				run("sed -i 's/^from %[1]s import %[2]s/from {output} import %[2]s/' %[3]s", old, name, file)}}
	}},
	{"python: output of an earlier run in the way", []string{"python3"}, func(p *place.Place, n *names) Failure {
		dir, script, text := n.dir(), n.snake()+".py", n.word()+n.word()
		p.Write(dir+"/"+n.word()+".txt", text+"\n")
		p.Write(script, fmt.Sprintf("import os\nimport sys\n\nos.%s(sys.argv[1])\nprint(%d)\n",
			n.one("mkdir", "makedirs"), n.number()))
		return Failure{Command: fmt.Sprintf("python3 %s %s", script, dir), Right: Plan{run("mv %[1]s %[1]s.old", dir)},
			Keeps: "grep -rqs " + text + " ."}
	}},
	{"python: input is still compressed", []string{"python3"}, func(p *place.Place, n *names) Failure {
		file, script := n.dir()+"/"+n.snake()+n.one(".csv", ".txt", ".json"), n.snake()+".py"
		p.Write(file, n.word()+","+n.word()+"\n")
		p.Sh("gzip " + file)
		p.Write(script, "import sys\n\nwith open(sys.argv[1]) as f:\n    print(f.read().split(',')[1])\n")
		return Failure{Command: fmt.Sprintf("python3 %s %s", script, file), Right: Plan{run("gunzip -k %s.gz", file)}}
	}},
	{"python: input is in another directory", []string{"python3"}, func(p *place.Place, n *names) Failure {
		base, script := n.snake()+n.one(".csv", ".txt", ".json"), n.snake()+".py"
		file := n.one("", n.word()+"/") + base
		p.Write(n.one("archive/", "data/", n.word()+"/"+n.word()+"/")+base, n.word()+","+n.word()+"\n")
		p.Sh("mkdir -p " + path.Dir(file))
		p.Write(script, fmt.Sprintf("with open(%q) as f:\n    print(f.read().split(',')[1])\n", file))
		return Failure{Command: "python3 " + script,
			Right: Plan{run("find . -name %s", base), run("cp {output} %s", file)}}
	}},
}
