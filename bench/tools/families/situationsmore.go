package families

import (
	"fmt"
	"strings"

	"github.com/mneme/mneme/bench/tools/place"
)

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
