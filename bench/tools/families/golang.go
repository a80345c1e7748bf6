package families

import (
	"fmt"
	"strings"

	"github.com/mneme/mneme/bench/tools/place"
)

var goFamilies = []Family{
	{"go: module of the repository not required", []string{"go"}, func(p *place.Place, n *names) Failure {
		lib, f := n.word(), n.exported()
		module := "example.com/" + n.dashed() + "/" + lib
		p.Write("go.mod", "module example.com/"+n.dashed()+"\n\ngo 1.21\n")
		p.Write(lib+"/go.mod", "module "+module+"\n\ngo 1.21\n")
		p.Write(lib+"/lib.go", fmt.Sprintf("package %s\n\nfunc %s() int { return %d }\n", lib, f, n.number()))
		p.Write(n.word()+".go", fmt.Sprintf("package main\n\nimport %q\n\nfunc main() { println(%s.%s()) }\n", module,
			lib, f))
		return Failure{Command: "go build -o app .",
			Right: Plan{run("go mod edit -require=%[1]s@v0.0.0 -replace=%[1]s=./%[2]s", module, lib)}}
	}},
	{"go: go.mod out of date", []string{"go"}, func(p *place.Place, n *names) Failure {
		one, two := n.word(), n.word()
		at := "example.com/" + n.dashed() + "/"
		p.Write("go.mod", fmt.Sprintf("module %[1]sapp\n\ngo 1.21\n\nrequire %[1]s%[2]s v0.1.0\n\n"+
			"replace %[1]s%[2]s => ./%[2]s\n\nreplace %[1]s%[3]s => ./%[3]s\n", at, one, two))
		p.Write(one+"/go.mod", fmt.Sprintf("module %[1]s%[2]s\n\ngo 1.21\n\nrequire %[1]s%[3]s v0.%[4]d.0\n", at, one,
			two,
			n.number()))
		p.Write(one+"/a.go", fmt.Sprintf("package %s\n\nimport %q\n\nfunc Sum() int { return %s.N }\n", one, at+two,
			two))
		p.Write(two+"/go.mod", fmt.Sprintf("module %s%s\n\ngo 1.21\n", at, two))
		p.Write(two+"/b.go", fmt.Sprintf("package %s\n\nconst N = %d\n", two, n.number()))
		p.Write("main.go", fmt.Sprintf("package main\n\nimport %q\n\nfunc main() { println(%s.Sum()) }\n", at+one, one))
		return Failure{Command: "go " + n.one("build -o app ./...", "vet ./..."), Right: Plan{run("go mod tidy")}}
	}},
	{"go: no go.mod", []string{"go"}, func(p *place.Place, n *names) Failure {
		p.Write(n.word()+".go", fmt.Sprintf("package main\n\nfunc main() { println(%d) }\n", n.number()))
		return Failure{Command: "go " + n.one("build ./...", "vet ./...", "test ./..."),
			Right: Plan{run("go mod init example.com/app")}}
	}},
	{"go: code not generated", []string{"go"}, func(p *place.Place, n *names) Failure {
		constant, script := n.exported(), "gen_"+n.word()+".sh"
		p.Write("go.mod", "module example.com/"+n.dashed()+"\n\ngo 1.21\n")
		p.Write(script, fmt.Sprintf("#!/bin/sh\nprintf 'package main\\n\\nconst %s = %d\\n' > zz_generated.go\n",
			constant,
			n.number()))
		p.Write(n.word()+".go", fmt.Sprintf("package main\n\n//go:generate ./%s\n\nfunc main() { println(%s) }\n",
			script,
			constant))
		return Failure{Command: "go build -o app .", Right: Plan{run("go generate ./...")}}
	}},
	{"go: two packages in a directory", []string{"go"}, func(p *place.Place, n *names) Failure {
		other := n.word()
		file := "z" + n.word() + ".go"
		p.Write("go.mod", "module example.com/"+n.dashed()+"\n\ngo 1.21\n")
		p.Write("a"+n.word()+".go", "package main\n\nfunc main() { println(limit) }\n")
		p.Write(file, fmt.Sprintf("package %s\n\nconst limit = %d\n", other, n.number()))
		return Failure{Command: "go build -o app .", Right: Plan{run("sed -i 's/^package .*/package main/' %s", file)}}
	}},
	{"go: go.mod asks for a later Go", []string{"go"}, func(p *place.Place, n *names) Failure {
		p.Write("go.mod", fmt.Sprintf("module example.com/%s\n\ngo 1.%d.%d\n", n.dashed(), 90+n.r.IntN(9), n.r.IntN(5)))
		p.Write(n.word()+".go", fmt.Sprintf("package main\n\nfunc main() { println(%d) }\n", n.number()))
		return Failure{Command: "go " + n.one("build -o app .", "vet ./..."), Right: Plan{run("go mod edit -go=1.21")}}
	}},
	{"go: vendor directory out of date", []string{"go"}, func(p *place.Place, n *names) Failure {
		lib := n.word()
		module := "example.com/" + n.dashed() + "/" + lib
		p.Write("go.mod", fmt.Sprintf("module example.com/app\n\ngo 1.21\n\nrequire %[1]s v0.%[3]d.0\n\n"+
			"replace %[1]s => ./%[2]s\n", module, lib, n.number()))
		p.Write(lib+"/go.mod", "module "+module+"\n\ngo 1.21\n")
		p.Write(lib+"/lib.go", fmt.Sprintf("package %s\n\nconst N = %d\n", lib, n.number()))
		p.Write(n.word()+".go", fmt.Sprintf("package main\n\nimport %q\n\nfunc main() { println(%s.N) }\n", module,
			lib))
		p.Write("vendor/modules.txt", "")
		return Failure{Command: "go build -o app .", Right: Plan{run("go mod vendor")}}
	}},
	{"go: wrong verb of Printf", []string{"go"}, func(p *place.Place, n *names) Failure {
		dir := n.word()
		name, file := n.camel(), dir+"/"+n.word()+".go"
		p.Write("go.mod", "module example.com/"+n.dashed()+"\n\ngo 1.21\n")
		p.Write(file, fmt.Sprintf("package %[1]s\n\nimport \"fmt\"\n\n"+
			"func %[2]s(%[3]s string) { fmt.Printf(\"%%d\\n\", %[3]s) }\n", dir,
			strings.ToUpper(name[:1])+name[1:]+"Print", name))
		return Failure{Command: "go vet ./...", Right: Plan{run("sed -i 's/%%d/%%v/' %s", file)}}
	}},
}
