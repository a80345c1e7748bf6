package families

import (
	"fmt"
	"path"
	"strings"

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

// situationsSecond is the second half of the set situations.
var situationsSecond = []Family{
	{"sqlite3: row exists already", []string{"sqlite3"}, func(p *place.Place, n *names) Failure {
		db, file, table, text := n.dashed()+".db", n.dir()+".sql", n.snake(), n.word()+n.word()
		id := n.number()
		p.Sh(fmt.Sprintf("sqlite3 %s \"CREATE TABLE %s (id INTEGER PRIMARY KEY, name TEXT); "+
			"INSERT INTO %[2]s VALUES (%[3]d, '%[4]s')\"", db, table, id, text))
		rows := ""
		for i := range 1 + n.r.IntN(3) {
			rows += fmt.Sprintf("INSERT INTO %s VALUES (%d, '%s');\n", table, 1000+i, n.word())
		}
		p.Write(file, rows+fmt.Sprintf("INSERT INTO %s VALUES (%d, '%s');\n", table, id, n.word()))
		return Failure{Command: fmt.Sprintf(n.one("sqlite3 %s < %s", "sqlite3 -bail %s < %s"), db, file),
			Right: Plan{run("sed -i 's/^INSERT INTO/INSERT OR IGNORE INTO/' %s", file)}, Keeps: "grep -aq " + text + " " + db}
	}},
	{"sqlite3: table exists already", []string{"sqlite3"}, func(p *place.Place, n *names) Failure {
		db, file, table, text := n.dashed()+".db", n.dir()+".sql", n.snake(), n.word()+n.word()
		p.Sh(fmt.Sprintf("sqlite3 %s \"CREATE TABLE %s (name TEXT); INSERT INTO %[2]s VALUES ('%[3]s')\"", db, table,
			text))
		p.Write(file, fmt.Sprintf("CREATE TABLE %s (name TEXT);\n", table))
		return Failure{Command: fmt.Sprintf(n.one("sqlite3 %s < %s", "sqlite3 -bail %s < %s"), db, file),
			Right: Plan{run("sed -i 's/^CREATE TABLE /CREATE TABLE IF NOT EXISTS /' %s", file)},
			Keeps: "sqlite3 " + db + " .dump | grep -q " + text}
	}},
	{"ssh-keygen: public key missing", []string{"ssh-keygen"}, func(p *place.Place, n *names) Failure {
		key := n.one("", n.dir()+"/") + n.one("id_ed25519", n.snake(), n.dashed()+"_key")
		p.Write(key, "")
		p.Sh(fmt.Sprintf("rm %[1]s && ssh-keygen -q -t ed25519 -N '' -f %[1]s && rm %[1]s.pub", key))
		return Failure{Command: fmt.Sprintf(n.one("ssh-keygen -l -f %s.pub", "ssh-keygen -lf %s.pub",
			"ssh-keygen -e -f %s.pub"), key), Right: Plan{run("ssh-keygen -y -f %[1]s > %[1]s.pub", key)}}
	}},
	{"openssl: certificate between is missing", []string{"openssl"}, func(p *place.Place, n *names) Failure {
		bundle, between, leaf := n.word()+"/"+n.dashed()+".pem", n.one("", n.word()+"/")+n.dashed()+".crt",
			n.dashed()+".pem"
		p.Write(bundle, "")
		p.Write(between, "")
		p.Write("ca.ext", "basicConstraints=CA:TRUE\n")
		p.Sh(fmt.Sprintf("openssl req -x509 -newkey ed25519 -nodes -keyout r.key -out %[1]s -days 3000 -subj /CN=%[4]s && "+
			"openssl req -new -newkey ed25519 -nodes -keyout i.key -out i.csr -subj /CN=%[5]s && "+
			"openssl x509 -req -in i.csr -CA %[1]s -CAkey r.key -extfile ca.ext -days 2500 -out %[2]s && "+
			"openssl req -new -newkey ed25519 -nodes -keyout l.key -out l.csr -subj /CN=%[6]s && "+
			"openssl x509 -req -in l.csr -CA %[2]s -CAkey i.key -days 2000 -out %[3]s && rm -f *.key *.csr *.ext *.srl",
			bundle, between, leaf, n.dashed(), n.dashed(), n.dashed()))
		return Failure{Command: fmt.Sprintf("openssl verify "+n.one("-CAfile", "-trusted")+" %s %s", bundle, leaf),
			Right: Plan{run("find . -name '*.crt'"), run("cat {output} >> %s", bundle)}}
	}},
	{"sh: helper outside the search path", []string{"sh"}, func(p *place.Place, n *names) Failure {
		helper, settings := n.dashed(), n.one("env.sh", "conf/"+n.word()+".sh", n.word()+".env")
		file := n.one("tools/", "scripts/"+n.word()+"/", n.word()+"/bin/") + helper
		p.Write(settings, fmt.Sprintf("%s=%d\n", upper(n.snake()), n.number()))
		p.Write(file, "#!/bin/sh\necho \"$1\"\n")
		p.Sh("chmod +x " + file)
		return Failure{Command: fmt.Sprintf(". ./%s; %s%s", settings, helper, n.one("", " "+n.word(), " -v")),
			Right: Plan{run("dirname $(find . -type f -name %s)", helper), line(settings, "PATH=$PATH:{output}")}}
	}},
	{"sh: name of a file with an apostrophe", []string{"sh", "find", "xargs"}, func(p *place.Place, n *names) Failure {
		dir, script, text := n.word(), "./"+n.one("", "bin/", n.word()+"/")+n.dashed()+".sh", n.word()+n.word()
		end := n.one("txt", "csv", "log")
		p.Write(dir+"/"+n.word()+"'s "+n.word()+"."+end, text+"\n")
		p.Write(dir+"/"+n.word()+"."+end, n.word()+"\n")
		p.Write(script, fmt.Sprintf("#!/bin/sh\nfind %s -name '*.%s' | xargs %s\n", dir, end,
			n.one("wc -c", "cat", "cksum", "ls -l")))
		return Failure{Command: script + n.one("", " > out.txt", " "+n.word()),
			Right: Plan{run(`sed -i 's/| xargs /| xargs -d "\\n" /' %s`, script)}, Keeps: "grep -rqs " + text + " " + dir}
	}},
	{"sh: pattern not quoted", []string{"sh", "find"}, func(p *place.Place, n *names) Failure {
		script, text, end := "./"+n.one("", "bin/", n.word()+"/")+n.dashed()+".sh", n.word()+n.word(),
			n.one("log", "csv", "dat")
		p.Write(n.word()+"."+end, text+"\n")
		p.Write(n.word()+"."+end, text+"\n")
		p.Write(script, fmt.Sprintf("#!/bin/sh\nfind %s -name *.%s %s\n", n.one(".", "$PWD"), end,
			n.one("-print", "-size +1k", "-mtime +3")))
		return Failure{Command: script + n.one("", " > out.txt", " "+n.word()),
			Right: Plan{run(`sed -i 's/-name \(\*[^ ]*\)/-name "\1"/' %s`, script)},
			Keeps: fmt.Sprintf("[ $(grep -ls %s *.%s | wc -l) = 2 ]", text, end)}
	}},
	{"node: file of a module was moved", []string{"node"}, func(p *place.Place, n *names) Failure {
		base, script := n.dashed(), n.snake()+".js"
		old := "./" + n.word() + "/" + base
		p.Write(n.one("src/", "lib/"+n.word()+"/", n.word()+"/")+base+".js", fmt.Sprintf("module.exports = %d\n",
			n.number()))
		p.Write(script, fmt.Sprintf("const %s = require('%s')\n\nconsole.log(%[1]s)\n", n.word(), old))
		return Failure{Command: "node " + script + n.one("", " "+n.word()),
			Right: Plan{run("find . -name %s.js", base), run("sed -i 's#%s#{output}#' %s", old, script)}}
	}},
	{"node: package of the project not linked", []string{"node"}, func(p *place.Place, n *names) Failure {
		name, script := n.dashed(), n.snake()+".js"
		p.Write(n.one("packages/", "libs/", n.word()+"/"+n.word()+"/")+name+"/index.js",
			fmt.Sprintf("exports.n = %d\n", n.number()))
		p.Write(script, fmt.Sprintf("const { n } = require('%s')\n\nconsole.log(n)\n", name))
		return Failure{Command: "node " + script + n.one("", " "+n.word()),
			Right: Plan{run("find . -type d -name %s", name),
				run("mkdir -p node_modules && cp -r {output} node_modules/")}}
	}},
	{"rustc: trait not derived", []string{"rustc"}, func(p *place.Place, n *names) Failure {
		typ, file, trait := n.exported(), n.one("", "src/")+n.snake()+".rs", n.one("Clone", "Default", "std::hash::Hash")
		p.Write(file, fmt.Sprintf("pub struct %s {\n    pub %s: u32,\n}\n\npub fn %s<T: %s>(_: Option<T>) {}\n\n"+
			"pub fn %s() {\n    %[3]s::<%[1]s>(None)\n}\n", typ, n.snake(), n.snake(), trait, n.snake()))
		return Failure{Command: "rustc " + n.one("--edition 2021 ", "-O ") +
			"--crate-type lib --emit metadata -o out.rmeta " + file,
			Right: Plan{run(`sed -i 's/^pub struct %s/#[derive(%s)]\n&/' %s`, typ,
				trait[strings.LastIndex(trait, ":")+1:], file)}}
	}},
	{"rustc: file of a module was moved", []string{"rustc"}, func(p *place.Place, n *names) Failure {
		dir, module, constant := n.one("src/", n.word()+"/"), n.snake(), upper(n.snake())
		p.Write(dir+n.one("old/", n.word()+"/")+module+".rs", fmt.Sprintf("pub const %s: u32 = %d;\n", constant,
			n.number()))
		p.Write(dir+"lib.rs", fmt.Sprintf("pub mod %s;\n\npub const %s: u32 = %[1]s::%[3]s;\n", module, upper(n.snake()),
			constant))
		return Failure{Command: "rustc " + n.one("--edition 2021 ", "-O ") +
			"--crate-type lib --emit metadata -o out.rmeta " + dir + "lib.rs",
			Right: Plan{run("find . -name %s.rs", module), run("cp {output} %s%s.rs", dir, module)}}
	}},
	{"javac: sources of a package in another directory", []string{"javac"}, func(p *place.Place, n *names) Failure {
		pkg, class, main := n.word(), n.exported(), n.exported()
		p.Write(n.one("libs/", "vendor/"+n.word()+"/", n.word()+"/src/")+pkg+"/"+class+".java",
			fmt.Sprintf("package %s;\n\npublic class %s {\n\tpublic static final int N = %d;\n}\n", pkg, class, n.number()))
		file := n.one("", "app/") + main + ".java"
		p.Write(file, fmt.Sprintf("import %s.%s;\n\npublic class %s {\n\tint n = %[2]s.N;\n}\n", pkg, class, main))
		p.Write("javac.opts", "-d out\n")
		return Failure{Command: "javac @javac.opts " + n.one("", "-g ", "-nowarn ") + file,
			Right: Plan{run("dirname $(find . -type d -name %s)", pkg), line("javac.opts", "-sourcepath {output}")}}
	}},
	{"patch: other line ends", []string{"patch", "diff"}, func(p *place.Place, n *names) Failure {
		file, change := n.dir()+n.one(".txt", ".conf", ".ini"), n.dashed()+".patch"
		p.Write(file, n.word()+"\n"+n.word()+"\n"+n.word()+"\n")
		p.Sh(fmt.Sprintf("cp %[1]s %[1]s.new && echo %[2]s >> %[1]s.new; diff -u %[1]s %[1]s.new > %[3]s; "+
			`rm %[1]s.new && sed -i 's/$/\r/' %[1]s`, file, n.word(), change))
		return Failure{Command: fmt.Sprintf(n.one("patch -p0 -f -i %s", "patch -p0 -f < %s"), change),
			Right: Plan{run(`sed -i 's/\r$//' %s`, file)}}
	}},
}
