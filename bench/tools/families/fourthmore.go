package families

import (
	"fmt"
	"strings"

	"github.com/mneme/mneme/bench/tools/place"
)

// fourthSecond is the second half of the set fourth.
var fourthSecond = []Family{
	{"node: name of the directory in a module", []string{"node"}, func(p *place.Place, n *names) Failure {
		dir, file, data := n.one("src/", n.word()+"/"), n.snake()+".js", n.word()+"/"+n.dashed()+".txt"
		p.Write("package.json", fmt.Sprintf("{\"name\": %q, \"type\": \"module\"}\n", n.dashed()))
		p.Write(dir+data, n.word()+"\n")
		p.Write(dir+file, fmt.Sprintf("import fs from 'fs'\n%s\nconst %s = fs.readFileSync(%s, 'utf8')\n"+
			"console.log(%[2]s.length)\n", n.one("", "// "+n.word()+"\n", "import path from 'path'\n"), n.snake(),
			n.one("__dirname + '/"+data+"'", "`${__dirname}/"+data+"`")))
		return Failure{Command: "node " + dir + file + n.one("", " "+n.word(), " --quiet"),
			Right: Plan{run("sed -i 's/__dirname/import.meta.dirname/g' %s", dir+file)}}
	}},
	{"node: await where it is not allowed", []string{"node", "npm"}, func(p *place.Place, n *names) Failure {
		file, load, name := n.one("", n.word()+"/")+n.snake()+".js", n.snake(), n.snake()
		p.Write("package.json", fmt.Sprintf("{\"name\": %q, \"version\": %q, \"type\": \"commonjs\"}\n", n.dashed(),
			n.version()))
		text := fmt.Sprintf("%sfunction %s() {\n  return Promise.resolve(%d)\n}\n\n", n.one("", "// "+n.word()+"\n"), load,
			n.number())
		if n.r.IntN(2) == 0 {
			p.Write(file, text+fmt.Sprintf("const %s = await %s()\nconsole.log(%[1]s)\n", name, load))
			return Failure{Command: "node " + file, Right: Plan{run("npm pkg set type=module")}}
		}
		p.Write(file, text+fmt.Sprintf("function %s() {\n  const %s = await %s()\n  console.log(%[2]s)\n}\n\n%[1]s()\n",
			n.snake(), name, load))
		return Failure{Command: "node " + file, Right: Plan{run("sed -i 's/^function /async function /' %s", file)}}
	}},
	{"node: name imported from a CommonJS file", []string{"node"}, func(p *place.Place, n *names) Failure {
		lib, file, name := n.dir()+".cjs", n.snake()+n.one(".mjs", ".js"), n.snake()
		p.Write("package.json", fmt.Sprintf("{\"name\": %q, \"type\": \"module\"}\n", n.dashed()))
		p.Write(lib, fmt.Sprintf("function build() {\n  return { %s: %d, %s: %d }\n}\n\nmodule.exports = build()\n", name,
			n.number(), n.snake(), n.number()))
		p.Write(file, fmt.Sprintf("import { %s } from './%s'\n\nconsole.log(%[1]s)\n", name, lib))
		return Failure{Command: "node " + file + n.one("", " "+n.word()),
			Right: Plan{run(`sed -i "s/^import \({.*}\) from \(.*\)$/import all from \2\nconst \1 = all/" %s`, file)}}
	}},
	{"node: comments in a JSON file", []string{"node"}, func(p *place.Place, n *names) Failure {
		key := n.snake()
		note := n.one("// %s", "# %s", "/* %s */")
		text := fmt.Sprintf("{\n  %s\n  %q: %q,\n  %s\n  %q: [%d]\n}\n", fmt.Sprintf(note, n.word()), n.snake(),
			"https://"+n.dashed()+".example.com/#"+n.word(), fmt.Sprintf(note, n.word()+" "+n.word()), key, n.number())
		command, file := reading(p, n, text, key, "")
		form := map[byte]string{'/': `\/\/`, '#': "#", '*': `\/\*`}
		mark := note[0]
		if note[1] == '*' {
			mark = '*'
		}
		return Failure{Command: command, Right: Plan{run(`sed -i '/^ *%s/d' %s`, form[mark], file)}}
	}},
	{"npm: package is not in the workspaces", []string{"npm", "node"}, func(p *place.Place, n *names) Failure {
		name, script := n.one("", "@"+n.word()+"/")+n.dashed(), n.one("build", "lint", n.word())
		listed := "packages/" + n.dashed()
		p.Write(listed+"/package.json", fmt.Sprintf("{\"name\": %q, \"version\": %q}\n", n.dashed(), n.version()))
		p.Write(n.one("packages/", "apps/", "tools/"+n.word()+"/")+n.dashed()+"/package.json",
			fmt.Sprintf("{\n  \"name\": %q,\n  \"version\": %q,\n  \"scripts\": {%q: \"echo %d\"}\n}\n", name, n.version(),
				script, n.number()))
		p.Write("package.json", fmt.Sprintf("{\"name\": %q, \"private\": true, \"workspaces\": [%q]}\n", n.dashed(), listed))
		return Failure{Command: fmt.Sprintf("npm run %s %s%s", script, n.one("-w ", "--workspace=", "--workspace "), name),
			Right: Plan{run(`dirname $(grep -rl --include=package.json '"name": "%s"' .)`, name),
				run(`npm pkg set "workspaces[]={output}"`)}}
	}},
	{"npm: version of two numbers", []string{"npm", "node"}, func(p *place.Place, n *names) Failure {
		version := fmt.Sprintf("%d.%d", 3+n.r.IntN(6), n.r.IntN(40))
		p.Write("package.json", fmt.Sprintf("{\"name\": %q, \"version\": %q, \"description\": %q}\n", n.dashed(), version,
			n.word()))
		p.Write("index.js", "module.exports = 1\n")
		return Failure{Command: "npm version " + n.one("patch", "minor", "major") + " --no-git-tag-version",
			Right: Plan{run("npm pkg get version"), run("npm pkg set version={output}.0")},
			Keeps: `grep -q '"version": *"[3-9]' package.json`}
	}},
	{"cargo: lock file of a later version", []string{"cargo", "rustc"}, func(p *place.Place, n *names) Failure {
		dir, name, version := n.one("", n.word()+"/"), n.dashed(), 6+n.r.IntN(40)
		crate(p, dir, name, n)
		p.Sh(fmt.Sprintf("cd ./%s && cargo generate-lockfile -q --offline && sed -i 's/^version = [0-9]*$/version = %d/' "+
			"Cargo.lock", dir, version))
		command := n.one("cargo check -q --locked --offline", "cargo metadata --format-version 1 --locked --offline",
			"cargo tree --locked --offline")
		if dir != "" {
			command += " --manifest-path " + dir + "Cargo.toml"
		}
		return Failure{Command: command,
			Right: Plan{run("sed -i 's/^version = %d$/version = 4/' %sCargo.lock", version, dir)}}
	}},
	{"cargo: feature not declared", []string{"cargo", "rustc"}, func(p *place.Place, n *names) Failure {
		dir, feature := n.one("", n.word()+"/"), n.one(n.word(), n.dashed())
		crate(p, dir, n.dashed(), n)
		p.Sh(fmt.Sprintf("printf '\\n[features]\\ndefault = []\\n%s' >> %sCargo.toml",
			n.one("", n.word()+n.word()+` = []\n`), dir))
		command := fmt.Sprintf(n.one("cargo check -q --offline --features %s", "cargo metadata --format-version 1 "+
			"--offline --features %s", "cargo check --offline -F %s"), feature)
		if dir != "" {
			command += " --manifest-path " + dir + "Cargo.toml"
		}
		return Failure{Command: command, Right: Plan{run(`sed -i '/^\[features\]$/a %s = []' %sCargo.toml`, feature, dir)}}
	}},
	{"rustc: value used after it was moved", []string{"rustc"}, func(p *place.Place, n *names) Failure {
		file, take, name := n.one("", "src/", n.word()+"/")+n.snake()+".rs", n.snake(), n.snake()
		typ, value := "Vec<u32>", fmt.Sprintf("vec![%d]", n.number())
		if n.r.IntN(2) == 0 {
			typ, value = "String", fmt.Sprintf("String::from(%q)", n.word())
		}
		text := fmt.Sprintf("pub fn %s(x: %s) -> usize {\n    x.len()\n}\n\n%spub fn %s() -> usize {\n"+
			"    let %s = %s;\n", take, typ, n.one("", "// "+n.word()+"\n"), n.snake(), name, value)
		at := countLines(text) + 1
		p.Write(file, text+fmt.Sprintf("    let first = %s(%s);\n    first + %[2]s.len()\n}\n", take, name))
		return Failure{Command: "rustc " + n.one("--edition 2021 ", "--edition 2018 ", "-O ") +
			"--crate-type lib --emit metadata -o out.rmeta " + file,
			Right: Plan{run(`sed -i '%ds/(%s)/(%[2]s.clone())/' %[3]s`, at, name, file)}}
	}},
	{"java: class compiled by a later version", []string{"java", "javac"}, func(p *place.Place, n *names) Failure {
		class, out, dir := n.exported(), n.one("out", "build/classes", n.word()), n.one("src/", "app/src/", "")
		p.Write(dir+class+".java", fmt.Sprintf("public class %s {\n\tpublic static void main(String[] args) {\n"+
			"\t\tSystem.out.println(%d);\n\t}\n}\n", class, n.number()))
		p.Sh(fmt.Sprintf("javac -d %s %s.java && printf '\\000\\1%d' | dd of=%[1]s/%[4]s.class bs=1 seek=6 conv=notrunc "+
			"status=none", out, dir+class, 30+n.r.IntN(8), class))
		return Failure{Command: fmt.Sprintf("java %s%s %s%s", n.one("-cp ", "-classpath ", "-ea -cp "), out, class,
			n.one("", " "+n.word())), Right: Plan{run("find . -name %s.java", class), run("javac -d %s {output}", out)}}
	}},
	{"java: archive without a main class", []string{"java", "javac", "jar"}, func(p *place.Place, n *names) Failure {
		main, other, archive := n.exported(), n.exported(), n.one("", "dist/", "lib/")+n.dashed()+".jar"
		p.Write("src/"+main+".java", fmt.Sprintf("public class %s {\n\tpublic static void main(String[] args) {\n"+
			"\t\tSystem.out.println(%s.N);\n\t}\n}\n", main, other))
		p.Write("src/"+other+".java", fmt.Sprintf("class %s {\n\tstatic final int N = %d;\n}\n", other, n.number()))
		p.Sh(fmt.Sprintf("javac -d out src/*.java && mkdir -p $(dirname %s) && jar cf %[1]s -C out . && rm -r out", archive))
		return Failure{Command: "java -jar " + archive + n.one("", " "+n.word(), " --help"),
			Right: Plan{run("basename -s .java $(grep -rl --include='*.java' 'static void main' .)"),
				run("jar ufe %s {output}", archive)}}
	}},
	{"javac: encoding of the sources", []string{"javac", "sed"}, func(p *place.Place, n *names) Failure {
		class, dir, settings, out := n.exported(), n.one("", "src/"), n.one("javac.opts", "conf/"+n.word()+".opts"), n.word()
		file, letter, option, right := dir+class+".java", "é", "US-ASCII", "UTF-8"
		if n.r.IntN(2) == 0 {
			letter, option, right = "\xe9", "UTF-8", "ISO-8859-1"
		}
		p.Write(file, fmt.Sprintf("public class %s {\n%s\tpublic static final String NAME = \"caf%s %s\";\n}\n", class,
			n.one("", "\t// "+n.word()+"\n"), letter, n.word()))
		p.Write(settings, fmt.Sprintf("%s-encoding %s\n-d %s\n", n.one("", "-g\n", "-nowarn\n"), option, out))
		return Failure{Command: "javac @" + settings + " " + file,
			Right: Plan{run("sed -i 's/^-encoding .*/-encoding %s/' %s", right, settings)},
			Keeps: fmt.Sprintf("[ ! -e %s/%s.class ] || grep -qa 'café ' %[1]s/%[2]s.class", out, class)}
	}},
	{"sh: link to a release that was removed", []string{"sh", "ln"}, func(p *place.Place, n *names) Failure {
		link, dir, file := n.one("current", n.word(), "latest"), n.one("releases", "versions", n.word()),
			n.word()+n.one(".conf", ".txt", ".env")
		major, minor := 1+n.r.IntN(5), 10+n.r.IntN(20)
		for _, m := range []int{minor, minor - 1, 2 + n.r.IntN(6)} {
			p.Write(fmt.Sprintf("%s/%d.%d/%s", dir, major, m, file), fmt.Sprintf("%s=%d\n", n.word(), m))
		}
		p.Write(fmt.Sprintf("%s/%d.9/%s", dir, major, file), n.word()+"\n")
		p.Sh(fmt.Sprintf("ln -s %s/%d.%d %s", dir, major, minor+1, link))
		return Failure{Command: fmt.Sprintf(n.one("cat %s/%s", "wc -l %s/%s", "head -n 1 %s/%s", "cd %s && cat %s"), link,
			file), Right: Plan{run("ls -d $(dirname $(readlink %s))/* | sort -V | tail -n 1", link),
			run("ln -sfn {output} %s", link)},
			Keeps: fmt.Sprintf("! cat %s/%s || [ $(readlink %[1]s) = %[3]s/%[4]d.%[5]d ]", link, file, dir, major, minor)}
	}},
	{"sh: option of a tool of another system", []string{"sh", "sed"}, func(p *place.Place, n *names) Failure {
		script, file := "./"+n.one("", "bin/", n.word()+"/")+n.dashed()+".sh", n.word()+".txt"
		p.Write(file, n.word()+"\n")
		call, from, to := fmt.Sprintf("sed -i '' 's/%s/%s/' %s", n.word(), n.word(), file), "sed -i ''", "sed -i"
		switch n.r.IntN(4) {
		case 0:
			call, from, to = "stat -f %z "+file, "stat -f %z", "stat -c %s"
		case 1:
			call, from, to = fmt.Sprintf("date -v-%dd +%%F", 1+n.r.IntN(9)), `date -v-\([0-9]*\)d`, `date -d '\1 days ago'`
		case 2:
			call, from, to = fmt.Sprintf("echo %s | base64 | base64 -D", n.word()), "base64 -D", "base64 -d"
		}
		p.Write(script, fmt.Sprintf("#!/bin/sh\n%sset -e\n%s=%d\n%s\n", n.one("", "# "+n.word()+"\n"), n.snake(), n.number(),
			call))
		return Failure{Command: script + n.one("", " "+n.word(), " --force"),
			Right: Plan{run(`sed -i "s/%s/%s/" %s`, from, to, script)}}
	}},
	{"sh: spaces around an assignment", []string{"sh", "bash"}, func(p *place.Place, n *names) Failure {
		script, name := n.one("", "bin/", n.word()+"/")+n.dashed()+".sh", n.one(upper(n.word()), n.snake())
		text := "#!/bin/bash\nset -e\n" + strings.Repeat("echo "+n.word()+"\n", n.r.IntN(4))
		at := countLines(text) + 1
		p.Write(script, text+fmt.Sprintf("%s%s%s\necho \"$%[1]s\"\n", name, n.one(" = ", " = ", "= ", " ="),
			n.one(n.dashed(), fmt.Sprintf("%q", n.word()), fmt.Sprint(n.number()))))
		return Failure{Command: n.one("bash ", "./", "bash -e ") + script,
			Right: Plan{run("sed -i '%ds/ *= */=/' %s", at, script)}}
	}},
	{"bash: number with a leading zero", []string{"bash"}, func(p *place.Place, n *names) Failure {
		script, name := n.one("", "bin/", n.word()+"/")+n.snake()+".sh", n.snake()
		p.Write(script, fmt.Sprintf("#!/bin/bash\nset -e\n%s%s=$1\necho $((%[2]s + %d))\n", n.one("", "\n", "# "+
			n.word()+"\n"), name, n.number()))
		return Failure{Command: fmt.Sprintf("bash %s 0%d", script, 8+n.r.IntN(2)),
			Right: Plan{run(`sed -i 's/\$((\([a-z]\)/$((10#$\1/' %s`, script)}}
	}},
	{"patch: paths of another depth", []string{"patch", "diff"}, func(p *place.Place, n *names) Failure {
		file, change := n.word()+"/"+n.dashed()+n.one(".txt", ".conf", ".py"), n.dashed()+n.one(".patch", ".diff")
		p.Write(file, n.word()+"\n"+n.word()+"\n"+n.word()+"\n")
		p.Sh(fmt.Sprintf("cp %[1]s new && echo %[2]s >> new; diff -u --label a/%[1]s --label b/%[1]s %[1]s new > %[3]s; "+
			"rm new", file, n.word(), change))
		level, right := 0, `sed -i 's,^\(---\|+++\) [^/]*/,\1 ,' %s`
		if n.r.IntN(2) == 0 {
			p.Sh(fmt.Sprintf(right, change))
			level, right = 1, `sed -i 's,^\(---\|+++\) ,\1 a/,' %s`
		}
		return Failure{Command: fmt.Sprintf(n.one("patch -p%d -f -i %s", "patch -p%d -f < %s", "patch -f -p%d -i %s"), level,
			change), Right: Plan{run(right, change)}}
	}},
	{"cmake: build directory of another generator", []string{"cmake", "ninja", "make"}, func(
		p *place.Place,
		n *names,
	) Failure {
		dir, kept := n.one("build", "out", n.word()), n.word()+"/"+n.word()+".txt"
		first, second := "Unix Makefiles", "Ninja"
		if n.r.IntN(2) == 0 {
			first, second = second, first
		}
		p.Write("CMakeLists.txt", fmt.Sprintf("cmake_minimum_required(VERSION 3.10)\nproject(%s NONE)\n%s", n.word(),
			n.one("", "set("+upper(n.snake())+" 1)\n")))
		p.Sh(fmt.Sprintf("cmake -S . -B %s -G '%s'", dir, first))
		p.Write(dir+"/"+kept, n.word()+"\n")
		return Failure{Command: fmt.Sprintf(n.one(`cmake -S . -B %s -G "%s"`, `cmake -B %s -G "%s"`), dir, second),
			Right: Plan{run("rm -rf %[1]s/CMakeCache.txt %[1]s/CMakeFiles", dir)}, Keeps: "test -s " + dir + "/" + kept}
	}},
	{"sqlite3: apostrophe in a text", []string{"sqlite3"}, func(p *place.Place, n *names) Failure {
		db, file, table, a, b := n.dashed()+".db", n.dir()+".sql", n.snake(), n.word(), n.one("s", n.word())
		rows := fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (id INTEGER, name TEXT);\n", table)
		for range n.r.IntN(4) {
			rows += fmt.Sprintf("INSERT INTO %s VALUES (%d, '%s');\n", table, n.number(), n.word())
		}
		p.Write(file, rows+fmt.Sprintf("INSERT INTO %s VALUES (%d, '%s'%s');\n", table, n.number(), a, b))
		return Failure{Command: fmt.Sprintf(n.one("sqlite3 %s < %s", "sqlite3 -bail %s < %s"), db, file),
			Right: Plan{run(`sed -i "s/\([a-z0-9]\)'\([a-z]\)/\1''\2/g" %s`, file)},
			Keeps: fmt.Sprintf(`grep -q "^INSERT.*%s''*%s" %s`, a, b, file)}
	}},
	{"sqlite3: reserved word as a column", []string{"sqlite3"}, func(p *place.Place, n *names) Failure {
		db, file, word := n.dashed()+".db", n.dir()+".sql", n.one("order", "group", "index", "from", "where", "values",
			"select", "having", "limit", "to")
		columns := n.snake() + " TEXT"
		for range n.r.IntN(3) {
			columns += ", " + n.snake() + n.one(" INTEGER", " TEXT", " REAL")
		}
		p.Write(file, fmt.Sprintf("CREATE TABLE %s (%s, %s INTEGER);\n", n.snake(), columns, word))
		return Failure{Command: fmt.Sprintf(n.one("sqlite3 %s < %s", "sqlite3 -bail %s < %s"), db, file),
			Right: Plan{run(`sed -i 's/\b%s\b/"%[1]s"/' %s`, word, file)}, Keeps: "grep -qi '" + word + ".* INTEGER' " + file}
	}},
	{"openssl: authority in the binary form", []string{"openssl"}, func(p *place.Place, n *names) Failure {
		ca, leaf := n.one("", n.word()+"/")+n.dashed()+n.one(".crt", ".cer", ".pem"), n.dashed()+".pem"
		p.Write(ca, "")
		p.Sh(fmt.Sprintf("openssl req -x509 -newkey ed25519 -nodes -keyout r.key -out r.pem -days 3000 -subj /CN=%s && "+
			"openssl req -new -newkey ed25519 -nodes -keyout l.key -out l.csr -subj /CN=%s && "+
			"openssl x509 -req -in l.csr -CA r.pem -CAkey r.key -CAcreateserial -days 2000 -out %s && "+
			"openssl x509 -in r.pem -outform der -out %s && rm -f r.* l.*", n.dashed(), n.dashed(), leaf, ca))
		return Failure{Command: fmt.Sprintf("openssl verify %s-CAfile %s %s", n.one("", "-show_chain ", "-no-CApath "), ca,
			leaf),
			Right: Plan{run("openssl x509 -inform der -in %[1]s -out %[1]s.new && mv %[1]s.new %[1]s", ca)}}
	}},
	{"pkg-config: package outside the search path", []string{"pkg-config"}, func(p *place.Place, n *names) Failure {
		name, other, settings := n.dashed(), n.dashed(), n.one("build.env", ".env", "conf/"+n.word()+".env")
		missing, known := name, n.one("/usr/lib/pkgconfig", p.Path("share"))
		at := n.one("vendor/", "deps/"+n.word()+"/lib/", n.word()+"/") + "pkgconfig/"
		requires := ""
		if n.r.IntN(2) == 0 { // the package is found, but not the one that it requires
			missing, known, requires = other, p.Path("lib/pkgconfig"), "Requires: "+other+"\n"
			p.Write("lib/pkgconfig/"+name+".pc", pc(name, requires, n))
		}
		p.Write(at+missing+".pc", pc(missing, "", n))
		p.Write(settings, fmt.Sprintf("%s=%d\nPKG_CONFIG_PATH=%s\n", upper(n.snake()), n.number(), known))
		return Failure{Command: fmt.Sprintf("set -a; . ./%s; pkg-config %s %s", settings, n.one("--cflags", "--libs",
			"--exists --print-errors", "--cflags --libs"), name),
			Right: Plan{run("dirname $(find . -name %s.pc)", missing),
				line(settings, "PKG_CONFIG_PATH=$PKG_CONFIG_PATH:{output}")}}
	}},
	{"dpkg-deb: modes of the control files", []string{"dpkg-deb"}, func(p *place.Place, n *names) Failure {
		dir, script := n.one("pkg", "debian/"+n.word(), n.word()), n.one("postinst", "preinst", "prerm", "postrm")
		p.Write(dir+"/DEBIAN/control", fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: all\n"+
			"Maintainer: A <a@example.com>\nDescription: %s\n", n.dashed(), n.version(), n.word()))
		p.Write(dir+"/DEBIAN/"+script, "#!/bin/sh\nexit 0\n")
		wrong := fmt.Sprintf("chmod 755 %[1]s/DEBIAN && chmod %[2]s %[1]s/DEBIAN/%[3]s", dir, n.one("644", "640", "600"),
			script)
		right := dir + "/DEBIAN/" + script
		if n.r.IntN(2) == 0 {
			wrong = fmt.Sprintf("chmod %[2]s %[1]s/DEBIAN && chmod 755 %[1]s/DEBIAN/%[3]s", dir, n.one("700", "777", "750"),
				script)
			right = dir + "/DEBIAN"
		}
		p.Sh(wrong)
		return Failure{Command: fmt.Sprintf("dpkg-deb %s %s %s.deb", n.one("-b", "--build", "--root-owner-group -b"), dir,
			n.word()), Right: Plan{run("chmod 755 %s", right)}}
	}},
	{"jq: number written as a text", []string{"jq"}, func(p *place.Place, n *names) Failure {
		filter, file, key := n.one("", n.word()+"/")+n.snake()+".jq", n.dir()+".json", n.snake()
		value, more := n.number(), n.number()
		p.Write(filter, fmt.Sprintf(".%s + %d\n", key, more))
		p.Write(file, fmt.Sprintf("{%q: %q, %q: %d}\n", key, fmt.Sprint(value), n.snake(), n.number()))
		return Failure{Command: fmt.Sprintf("jq "+n.one("", "-r ", "-e ")+"-f %s %s", filter, file),
			Right: Plan{run(`sed -i 's/^\(\.[a-z0-9_]*\) /(\1 | tonumber) /' %s`, filter)},
			Keeps: fmt.Sprintf(`v=$(jq -r -f %s %s 2>&1) && [ "$v" != %[3]d ] && exit 1; exit 0`, filter, file, value+more)}
	}},
	{"perl: module does not return true", []string{"perl"}, func(p *place.Place, n *names) Failure {
		module, script := n.exported(), n.one("", "bin/", n.word()+"/")+n.snake()+".pl"
		file := n.one("lib/", n.word()+"/") + module + ".pm"
		p.Write(file, fmt.Sprintf("package %s;\nuse strict;\n\nsub %s { return %d }\n\nour $%s = 0;\n", module,
			n.snake(), n.number(), n.snake()))
		p.Write(script, fmt.Sprintf("use strict;\nuse %s;\n\nprint \"%s\\n\";\n", module, n.word()))
		return Failure{Command: "perl -I" + strings.TrimSuffix(file, "/"+module+".pm") + n.one(" ", " -w ", " -c ") + script,
			Right: Plan{line(file, "1;")}}
	}},
}

// crate writes a crate without dependencies.
func crate(p *place.Place, dir, name string, n *names) {
	p.Write(dir+"Cargo.toml", fmt.Sprintf("[package]\nname = %q\nversion = %q\nedition = %q\n", name, n.version(),
		n.one("2018", "2021")))
	p.Write(dir+"src/lib.rs", fmt.Sprintf("pub const N: u32 = %d;\n", n.number()))
}

// pc is the text of a file of pkg-config.
func pc(name, requires string, n *names) string {
	return fmt.Sprintf("Name: %s\nDescription: %s\nVersion: %s\n%sCflags: -I/opt/%[1]s\nLibs: -l%[1]s\n", name, n.word(),
		n.version(), requires)
}
