package main

import (
	"fmt"
	"strings"
)

var goFamilies = []family{
	{"go: module of the repository not required", []string{"go"}, func(p *place, n *names) failure {
		lib, f := n.word(), n.exported()
		module := "example.com/" + n.dashed() + "/" + lib
		p.write("go.mod", "module example.com/"+n.dashed()+"\n\ngo 1.21\n")
		p.write(lib+"/go.mod", "module "+module+"\n\ngo 1.21\n")
		p.write(lib+"/lib.go", fmt.Sprintf("package %s\n\nfunc %s() int { return %d }\n", lib, f, n.number()))
		p.write(n.word()+".go", fmt.Sprintf("package main\n\nimport %q\n\nfunc main() { println(%s.%s()) }\n", module,
			lib, f))
		return failure{"go build -o app .",
			plan{run("go mod edit -require=%[1]s@v0.0.0 -replace=%[1]s=./%[2]s", module, lib)}}
	}},
	{"go: go.mod out of date", []string{"go"}, func(p *place, n *names) failure {
		one, two := n.word(), n.word()
		at := "example.com/" + n.dashed() + "/"
		p.write("go.mod", fmt.Sprintf("module %[1]sapp\n\ngo 1.21\n\nrequire %[1]s%[2]s v0.1.0\n\n"+
			"replace %[1]s%[2]s => ./%[2]s\n\nreplace %[1]s%[3]s => ./%[3]s\n", at, one, two))
		p.write(one+"/go.mod", fmt.Sprintf("module %[1]s%[2]s\n\ngo 1.21\n\nrequire %[1]s%[3]s v0.%[4]d.0\n", at, one,
			two,
			n.number()))
		p.write(one+"/a.go", fmt.Sprintf("package %s\n\nimport %q\n\nfunc Sum() int { return %s.N }\n", one, at+two,
			two))
		p.write(two+"/go.mod", fmt.Sprintf("module %s%s\n\ngo 1.21\n", at, two))
		p.write(two+"/b.go", fmt.Sprintf("package %s\n\nconst N = %d\n", two, n.number()))
		p.write("main.go", fmt.Sprintf("package main\n\nimport %q\n\nfunc main() { println(%s.Sum()) }\n", at+one, one))
		return failure{"go " + n.one("build -o app ./...", "vet ./..."), plan{run("go mod tidy")}}
	}},
	{"go: no go.mod", []string{"go"}, func(p *place, n *names) failure {
		p.write(n.word()+".go", fmt.Sprintf("package main\n\nfunc main() { println(%d) }\n", n.number()))
		return failure{"go " + n.one("build ./...", "vet ./...", "test ./..."),
			plan{run("go mod init example.com/app")}}
	}},
	{"go: code not generated", []string{"go"}, func(p *place, n *names) failure {
		constant, script := n.exported(), "gen_"+n.word()+".sh"
		p.write("go.mod", "module example.com/"+n.dashed()+"\n\ngo 1.21\n")
		p.write(script, fmt.Sprintf("#!/bin/sh\nprintf 'package main\\n\\nconst %s = %d\\n' > zz_generated.go\n",
			constant,
			n.number()))
		p.write(n.word()+".go", fmt.Sprintf("package main\n\n//go:generate ./%s\n\nfunc main() { println(%s) }\n",
			script,
			constant))
		return failure{"go build -o app .", plan{run("go generate ./...")}}
	}},
	{"go: two packages in a directory", []string{"go"}, func(p *place, n *names) failure {
		other := n.word()
		file := "z" + n.word() + ".go"
		p.write("go.mod", "module example.com/"+n.dashed()+"\n\ngo 1.21\n")
		p.write("a"+n.word()+".go", "package main\n\nfunc main() { println(limit) }\n")
		p.write(file, fmt.Sprintf("package %s\n\nconst limit = %d\n", other, n.number()))
		return failure{"go build -o app .", plan{run("sed -i 's/^package .*/package main/' %s", file)}}
	}},
	{"go: go.mod asks for a later Go", []string{"go"}, func(p *place, n *names) failure {
		p.write("go.mod", fmt.Sprintf("module example.com/%s\n\ngo 1.%d.%d\n", n.dashed(), 90+n.r.IntN(9), n.r.IntN(5)))
		p.write(n.word()+".go", fmt.Sprintf("package main\n\nfunc main() { println(%d) }\n", n.number()))
		return failure{"go " + n.one("build -o app .", "vet ./..."), plan{run("go mod edit -go=1.21")}}
	}},
	{"go: vendor directory out of date", []string{"go"}, func(p *place, n *names) failure {
		lib := n.word()
		module := "example.com/" + n.dashed() + "/" + lib
		p.write("go.mod", fmt.Sprintf("module example.com/app\n\ngo 1.21\n\nrequire %[1]s v0.%[3]d.0\n\n"+
			"replace %[1]s => ./%[2]s\n", module, lib, n.number()))
		p.write(lib+"/go.mod", "module "+module+"\n\ngo 1.21\n")
		p.write(lib+"/lib.go", fmt.Sprintf("package %s\n\nconst N = %d\n", lib, n.number()))
		p.write(n.word()+".go", fmt.Sprintf("package main\n\nimport %q\n\nfunc main() { println(%s.N) }\n", module,
			lib))
		p.write("vendor/modules.txt", "")
		return failure{"go build -o app .", plan{run("go mod vendor")}}
	}},
	{"go: wrong verb of Printf", []string{"go"}, func(p *place, n *names) failure {
		dir := n.word()
		name, file := n.camel(), dir+"/"+n.word()+".go"
		p.write("go.mod", "module example.com/"+n.dashed()+"\n\ngo 1.21\n")
		p.write(file, fmt.Sprintf("package %[1]s\n\nimport \"fmt\"\n\n"+
			"func %[2]s(%[3]s string) { fmt.Printf(\"%%d\\n\", %[3]s) }\n", dir,
			strings.ToUpper(name[:1])+name[1:]+"Print", name))
		return failure{"go vet ./...", plan{run("sed -i 's/%%d/%%v/' %s", file)}}
	}},
}
