package families

import (
	"fmt"
	"strings"

	"github.com/mneme/mneme/bench/tools/place"
)

// fifthSecond is the second half of the set fifth.
var fifthSecond = []Family{
	// Only the error tells which of the three limits is too low.
	{"python: limit of the shell too low", []string{"python3"}, func(p *place.Place, n *names) Failure {
		limits, script := map[string]int{"n": 400, "f": 90000, "v": 4000000}, n.snake()+".py"
		low := n.one("n", "f", "v")
		limits[low] = map[string]int{"n": 20 + n.r.IntN(20), "f": 4 + n.r.IntN(9), "v": 90000 + 100*n.number()}[low]
		file := n.one("limits.env", "ci/limits.env", n.word()+".env")
		for _, l := range strings.Split(n.one("n f v", "v n f", "f v n"), " ") {
			p.Write(file+"."+l, fmt.Sprintf("ulimit -%s %d\n", l, limits[l]))
		}
		p.Sh(fmt.Sprintf("cat %[1]s.* > %[1]s && rm %[1]s.*", file))
		p.Write(script, fmt.Sprintf("%s = bytearray(200_000_000)\nfiles = [open(__file__) for _ in range(80)]\n"+
			"with open('%s.out', 'w') as f:\n    f.write('a' * 100_000)\n", n.word(), n.word()))
		return Failure{Command: fmt.Sprintf(". ./%s; python3 %s", file, script),
			Right: Plan{run("sed -i '/^ulimit -%s /d' %s", low, file)}}
	}},
	{"python: pinned package wants another Python", []string{"python3"}, func(p *place.Place, n *names) Failure {
		name, list, vendor := n.word(), n.one("requirements.txt", "deps/"+n.word()+".txt"), n.one("vendor", "lib", n.word())
		older, later := fmt.Sprintf("1.%d.0", n.r.IntN(9)), fmt.Sprintf("2.%d.0", n.r.IntN(9))
		p.Write("wheels/"+name+"-"+older+"-py3-none-any.whl", wheel(name, older, "", n))
		p.Write("wheels/"+name+"-"+later+"-py3-none-any.whl", wheel(name, later, fmt.Sprintf("Requires-Python: >=3.%d\n",
			40+n.r.IntN(50)), n))
		p.Write(list, name+"=="+later+"\n")
		return Failure{Command: fmt.Sprintf("python3 -m pip install -q --no-index --find-links wheels -r %s -t %s", list,
			vendor),
			Right: Plan{run("ls wheels | grep '^%s-' | sort -V | head -n 1 | cut -d- -f2", name),
				run("sed -i 's/^%s==.*/%[1]s=={output}/' %s", name, list)}, Keeps: "grep -q '^" + name + "' " + list}
	}},
	{"python: package was built again with another hash", []string{"python3"}, func(p *place.Place, n *names) Failure {
		name, list, version := n.word(), n.one("requirements.txt", "deps/"+n.word()+".txt"), n.version()
		p.Write("wheels/"+name+"-"+version+"-py3-none-any.whl", wheel(name, version, "", n))
		p.Write("sum.py", "import hashlib\nimport sys\n\nprint(hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest())\n")
		sum, _ := p.Run("python3 sum.py wheels/*.whl; rm sum.py")
		old := fmt.Sprintf("%016x%016x%016x%016x", n.r.Uint64(), n.r.Uint64(), n.r.Uint64(), n.r.Uint64())
		p.Write(list, fmt.Sprintf("%s==%s --hash=sha256:%s\n", name, version, old))
		return Failure{Command: fmt.Sprintf("python3 -m pip install -q --no-index --find-links wheels -r %s -t %s", list,
			n.one("vendor", "lib", n.word())), Right: Plan{run("sed -i 's/%s/%s/' %s", old, sum, list)},
			Keeps: "grep -q 'hash=sha256' " + list}
	}},
	{"python: option twice in an INI file", []string{"python3"}, func(p *place.Place, n *names) Failure {
		file, script, key := n.dir()+n.one(".ini", ".cfg"), n.snake()+".py", n.snake()
		text := fmt.Sprintf("[%s]\n%s = %d\n", n.word(), key, n.number())
		for range n.r.IntN(4) {
			text += fmt.Sprintf("%s = %d\n", n.snake(), n.number())
		}
		p.Write(file, text+fmt.Sprintf("%s = %d\n[%s]\n%[1]s = 1\n", key, n.number(), n.word()))
		p.Write(script, "import configparser\nimport sys\n\nconfig = configparser.ConfigParser()\n"+
			"config.read(sys.argv[1])\nif len(config.sections()) != 2:\n    sys.exit('a section is missing')\n"+
			fmt.Sprintf("print([config[s][%q] for s in config.sections()])\n", key))
		return Failure{Command: fmt.Sprintf("python3 %s %s", script, file),
			Right: Plan{run("sed -i '%dd' %s", countLines(text)+1, file)}}
	}},
	{"python: times with and without a zone", []string{"python3"}, func(p *place.Place, n *names) Failure {
		function := n.snake()
		command, file := program(p, n, function, fmt.Sprintf("import datetime\n\n\ndef %s(name):\n"+
			"    made = datetime.datetime.fromisoformat('2026-0%d-02T03:04:05+00:00')\n    now = datetime.datetime.now()\n"+
			"    return %s\n", function, 1+n.r.IntN(9), n.one("made < now", "now - made", "max(made, now)")))
		return Failure{Command: command, Right: Plan{run(`sed -i 's/\.now()/.now(datetime.timezone.utc)/' %s`, file)}}
	}},
	{"python: dictionary changed in a loop", []string{"python3"}, func(p *place.Place, n *names) Failure {
		function, table, key := n.snake(), n.snake(), n.one("key", "name", n.word())
		command, file := program(p, n, function, fmt.Sprintf("def %s(name):\n    %s = {name: 1, %q: %d}\n"+
			"    for %s in %[2]s:\n        %[6]s\n    return len(%[2]s)\n", function, table, n.word(), n.number(), key,
			n.one("del "+table+"["+key+"]", table+".pop("+key+")", table+"["+key+" + '2'] = 2")))
		return Failure{Command: command,
			Right: Plan{run(`sed -i 's/for \(\w*\) in \(\w*\):/for \1 in list(\2):/' %s`, file)}}
	}},
	{"python: file opened in the wrong mode", []string{"python3"}, func(p *place.Place, n *names) Failure {
		function, data := n.snake(), n.word()+n.one(".txt", ".dat")
		p.Write(data, n.word()+"\n")
		from, to, use := "rb", "r", n.one("return len(f.read().split(name))", "return name in f.read()")
		if n.r.IntN(2) == 0 {
			from, to, use = "w", "wb", n.one("return f.write(name.encode())", "f.write(bytes(9))")
		}
		command, file := program(p, n, function, fmt.Sprintf("def %s(name):\n    with open('%s', '%s') as f:\n        %s\n",
			function, data, from, use))
		return Failure{Command: command, Right: Plan{run(`sed -i "s/'%s')/'%s')/" %s`, from, to, file)}}
	}},
	{"python: two services on one port", []string{"python3"}, func(p *place.Place, n *names) Failure {
		file, script, port := n.one("services.ini", "conf/"+n.word()+".ini"), n.snake()+".py", 20000+n.r.IntN(9000)
		first, second, third := n.word(), n.word(), n.word()
		p.Write(file, fmt.Sprintf("[%s]\nport = %d\n\n[%s]\nport = %d\n\n[%s]\nport = %d\n", first, port, third, port+1,
			second,
			port+n.r.IntN(2)))
		p.Write(script, "import configparser\nimport socket\nimport sys\n\nconfig = configparser.ConfigParser()\n"+
			"config.read(sys.argv[1])\nopen_sockets = []\nfor name in config.sections():\n"+
			"    s = socket.socket()\n    port = config.getint(name, 'port')\n    try:\n        s.bind(('127.0.0.1', port))\n"+
			"    except OSError as e:\n        sys.exit(f'{name}: cannot listen on 127.0.0.1:{port}: {e.strerror}')\n"+
			"    open_sockets.append(s)\nif len(open_sockets) < 3:\n    sys.exit('a service is missing')\n")
		return Failure{Command: fmt.Sprintf("python3 %s %s", script, file),
			Right: Plan{run(`sed -i '/^\[%s\]/,/^port/s/^port = .*/port = 0/' %s`, second, file)}}
	}},
	{"python: locale that is not installed", []string{"python3"}, func(p *place.Place, n *names) Failure {
		file, script := n.one("app.env", "conf/"+n.word()+".env", ".env"), n.snake()+".py"
		p.Write(file, fmt.Sprintf("%s=%d\nLC_ALL=%s\n", upper(n.snake()), n.number(), n.one("xx_XX.UTF-8", "qq_DE.UTF-8",
			"yy_FR.ISO-8859-1")))
		p.Write(script, fmt.Sprintf("import locale\n\nlocale.setlocale(locale.LC_ALL, '')\nprint(locale.str(%d.5))\n",
			n.number()))
		return Failure{Command: fmt.Sprintf("set -a; . ./%s; python3 %s", file, script),
			Right: Plan{run("locale -a | grep -i utf | head -n 1"), run("sed -i 's/^LC_ALL=.*/LC_ALL={output}/' %s", file)}}
	}},
	{"python: home of another installation", []string{"python3"}, func(p *place.Place, n *names) Failure {
		file, script := n.one("dev.env", "conf/"+n.word()+".env", ".env"), n.snake()+".py"
		p.Write(file, fmt.Sprintf("%s=%d\nPYTHONHOME=/srv/%s/python3.%d\n", upper(n.snake()), n.number(), n.word(),
			2+n.r.IntN(7)))
		p.Write(script, fmt.Sprintf("print(%d)\n", n.number()))
		return Failure{Command: fmt.Sprintf("set -a; . ./%s; python3 %s", file, script),
			Right: Plan{run("sed -i '/^PYTHONHOME=/d' %s", file)}}
	}},
	{"npm: new version with changes that are not committed", []string{"npm", "node", "git"}, func(
		p *place.Place,
		n *names,
	) Failure {
		file, text := n.word()+".js", n.word()+n.word()
		p.Write("package.json", fmt.Sprintf("{\"name\": %q, \"version\": \"1.%d.0\"}\n", n.dashed(), n.number()))
		repository(p, file, "// "+n.word()+"\n")
		p.Write(file, "// "+text+"\n")
		return Failure{Command: "npm version " + n.one("minor", "patch", "major"),
			Right: Plan{run("git commit -q -a -m wip")}, Keeps: "git log --all -p | grep -q " + text + " || grep -q " + text +
				" " + file}
	}},
	{"node: option that the environment may not set", []string{"node"}, func(p *place.Place, n *names) Failure {
		file, script := n.one("app.env", "conf/"+n.word()+".env", ".env"), n.snake()+".js"
		option := n.one("--check", "--test", "--interactive", "--print", "--prof-process", "--v8-options")
		p.Write(file, fmt.Sprintf("%s=%d\nNODE_OPTIONS=\"--max-old-space-size=%d %s\"\n", upper(n.snake()), n.number(),
			200+n.number(), option))
		p.Write(script, fmt.Sprintf("console.log(%d)\n", n.number()))
		return Failure{Command: fmt.Sprintf("set -a; . ./%s; node %s", file, script),
			Right: Plan{run("sed -i 's/ %s//' %s", option, file)}, Keeps: "grep -q max-old-space-size " + file}
	}},
	{"node: hash that OpenSSL no longer has", []string{"node"}, func(p *place.Place, n *names) Failure {
		file, script, lib := n.one("app.env", "conf/"+n.word()+".env", ".env"), n.snake()+".js", n.snake()
		p.Write(file, fmt.Sprintf("%s=%d\n", upper(n.snake()), n.number()))
		p.Write("lib/"+lib+".js", fmt.Sprintf("const crypto = require('crypto')\n\nexports.sum = (text) => "+
			"crypto.createHash('md4').update(text).digest('%s')\n", n.one("hex", "base64")))
		p.Write(script, fmt.Sprintf("console.log(require('./lib/%s').sum('%s'))\n", lib, n.word()))
		return Failure{Command: fmt.Sprintf("set -a; . ./%s; node %s", file, script),
			Right: Plan{line(file, "NODE_OPTIONS=--openssl-legacy-provider")}}
	}},
	{"node: JSON imported without its type", []string{"node"}, func(p *place.Place, n *names) Failure {
		script, data := n.one("", "src/", n.word()+"/")+n.snake()+".mjs", n.dashed()+".json"
		p.Write(script[:strings.LastIndex(script, "/")+1]+data, fmt.Sprintf("{%q: %d}\n", n.word(), n.number()))
		p.Write(script, fmt.Sprintf("import %s from './%s'\n\nconsole.log(Object.keys(%[1]s))\n", n.word(), data))
		return Failure{Command: "node " + script + n.one("", " "+n.word()),
			Right: Plan{run(`sed -i "s/\(from '[^']*\.json'\)/\1 with { type: 'json' }/" %s`, script)}}
	}},
	{"java: option that a later version removed", []string{"java"}, func(p *place.Place, n *names) Failure {
		file, option := n.one("jvm.options", "conf/"+n.word()+".options"), n.one("+UseConcMarkSweepGC", "+AggressiveOpts",
			"+UseParNewGC", "MaxPermSize=64m", "+CMSClassUnloadingEnabled", "+UseSplitVerifier")
		p.Write(file, fmt.Sprintf("-Xmx%dm\n%s-XX:%s\n%s", 64+n.number(), n.one("", "-Xss2m\n"), option,
			n.one("", "-D"+n.word()+"="+n.word()+"\n")))
		return Failure{Command: "java @" + file + n.one(" -version", " --version", " -showversion --version"),
			Right: Plan{run("sed -i '/%s/d' %s", strings.TrimPrefix(option, "+"), file)}, Keeps: "grep -q Xmx " + file}
	}},
	{"javac: language level too low", []string{"javac"}, func(p *place.Place, n *names) Failure {
		class, file := n.exported(), n.one("javac.opts", "conf/"+n.word()+".opts")
		level, code, _ := strings.Cut(n.one("16 boolean f(Object o) { return o instanceof String s && s.isEmpty(); }",
			"15 String s = \"\"\"\n\t\ta\n\t\t\"\"\";", "14 int f(int a) { return switch (a) { case 1 -> 2; default -> 3; "+
				"}; }"), " ")
		p.Write(file, fmt.Sprintf("%s--release %d\n-d %s\n", n.one("", "-g\n"), 9+n.r.IntN(4), n.word()))
		p.Write(class+".java", fmt.Sprintf("public class %s {\n\tint %s = %d;\n\t%s\n}\n", class, n.camel(), n.number(),
			code))
		return Failure{Command: fmt.Sprintf("javac @%s %s.java", file, class),
			Right: Plan{run("sed -i 's/^--release .*/--release %s/' %s", level, file)}}
	}},
	{"perl: script asks for a later version", []string{"perl"}, func(p *place.Place, n *names) Failure {
		file := n.one("", "bin/", n.word()+"/") + n.snake() + ".pl"
		p.Write(file, fmt.Sprintf("%suse v5.%d.0;\n\nprint \"%s\\n\";\n", n.one("", "# "+n.word()+"\n"), 70+2*n.r.IntN(10),
			n.word()))
		return Failure{Command: "perl " + n.one("", "-w ", "-c ") + file,
			Right: Plan{run(`sed -i 's/^use v5\..*/use v5.10;/' %s`, file)}}
	}},
	{"rustc: pattern is not covered", []string{"rustc"}, func(p *place.Place, n *names) Failure {
		file, typ, a, b, c := n.one("", "src/")+n.snake()+".rs", n.exported(), n.exported(), n.exported(), n.exported()
		text := fmt.Sprintf("pub enum %s {\n    %s,\n    %s,\n    %s,\n}\n\n%spub fn %s(x: %[1]s) -> u32 {\n    match x {\n",
			typ, a,
			b, c, n.one("", "// "+n.word()+"\n", "// "+n.word()+"\n// "+n.word()+"\n"), n.snake())
		p.Write(file, text+fmt.Sprintf("        %s::%s => %d,\n        %[1]s::%[4]s => %[3]d,\n    }\n}\n", typ, a,
			n.number(),
			c))
		return Failure{Command: "rustc " + n.one("--edition 2021 ", "--edition 2018 ") +
			"--crate-type lib --emit metadata -o out.rmeta " + file,
			Right: Plan{run(`sed -i '%da\        %s::%s => 0,' %s`, countLines(text), typ, b, file)}}
	}},
	{"cargo: file of a program was moved", []string{"cargo", "rustc"}, func(p *place.Place, n *names) Failure {
		name, dir := n.dashed(), n.one("tools/", "src/tools/", n.word()+"/")
		p.Write("Cargo.toml", fmt.Sprintf("[package]\nname = %q\nversion = %q\nedition = \"2021\"\n\n[[bin]]\nname = %q\n"+
			"path = \"src/%s/%[3]s.rs\"\n", n.dashed(), n.version(), name, n.one("bin", n.word())))
		p.Write(dir+name+".rs", fmt.Sprintf("fn main() {\n    println!(\"%d\");\n}\n", n.number()))
		return Failure{Command: n.one("cargo check -q --offline", "cargo check --offline", "cargo check -q --offline --bins"),
			Right: Plan{run("find . -name %s.rs", name), run(`sed -i 's#^path = .*#path = "{output}"#' Cargo.toml`)}}
	}},
	{"curl: server has another port", []string{"sh", "curl", "python3"}, func(p *place.Place, n *names) Failure {
		port := server(p, n, "http")
		p.Write("client.conf", fmt.Sprintf("timeout=9\nport=%d\n", port+1+n.r.IntN(99)))
		script := smoke(p, n, `curl -fsS "http://127.0.0.1:$(sed -n 's/^port=//p' client.conf)/"`)
		return Failure{Command: script, Right: Plan{run("sed -n 's/^port=//p' server.conf"),
			run("sed -i 's/^port=.*/port={output}/' client.conf")}}
	}},
	{"curl: token was replaced", []string{"sh", "curl", "python3"}, func(p *place.Place, n *names) Failure {
		port := server(p, n, "http")
		p.Write("secrets/token", n.word()+n.word()+"\n")
		p.Write("headers.txt", "Accept: text/plain\nAuthorization: Bearer "+n.word()+n.word()+"\n")
		script := smoke(p, n, fmt.Sprintf("curl -fsS -H @headers.txt http://127.0.0.1:%d/", port))
		return Failure{Command: script, Right: Plan{run("cat secrets/token"),
			run("sed -i 's/Bearer .*/Bearer {output}/' headers.txt")}, Keeps: "test -s secrets/token"}
	}},
	{"curl: certificate of an own authority", []string{"sh", "curl", "python3", "openssl"}, func(
		p *place.Place,
		n *names,
	) Failure {
		host := n.dashed() + ".test"
		p.Sh(fmt.Sprintf("mkdir -p certs && for c in server other; do openssl req -x509 -newkey ec -pkeyopt "+
			"ec_paramgen_curve:P-256 -nodes -keyout $c.key -out $c.pem -days 900 -subj /CN=%s -addext "+
			"subjectAltName=DNS:%[1]s; "+
			"done && mv other.pem bundle.pem && cat server.key server.pem > certs/both.pem && mv server.pem certs/ca.pem && "+
			"rm *.key", host))
		port := server(p, n, "https")
		script := smoke(p, n, fmt.Sprintf("curl -fsS --resolve %s:%d:127.0.0.1 --cacert bundle.pem https://%[1]s:%[2]d/",
			host, port))
		return Failure{Command: script, Right: Plan{run("cat certs/ca.pem >> bundle.pem")},
			Keeps: "[ $(grep -c BEGIN bundle.pem) -ge 1 ]; grep -q cacert ./*.sh"}
	}},
	{"curl: time limit too short", []string{"sh", "curl", "python3"}, func(p *place.Place, n *names) Failure {
		port := server(p, n, "slow")
		p.Write("curl.conf", fmt.Sprintf("silent\nshow-error\nmax-time = 0.%d\n", 1+n.r.IntN(3)))
		script := smoke(p, n, fmt.Sprintf("curl -f -K curl.conf http://127.0.0.1:%d/", port))
		return Failure{Command: script, Right: Plan{run("sed -i 's/^max-time = .*/max-time = 30/' curl.conf")}}
	}},
	{"sh: option of a command is missing", []string{"sh"}, func(p *place.Place, n *names) Failure {
		script, dir, other := "./"+n.one("", "bin/", n.word()+"/")+n.dashed()+".sh", n.dashed(), n.dashed()
		p.Write(dir+"/"+n.word()+".txt", n.word()+"\n")
		tool, option := n.one("mkdir", "cp", "rm", "ln -s"), ""
		call := map[string]string{"mkdir": "mkdir " + dir, "cp": "cp " + dir + " " + other, "rm": "rm " + dir,
			"ln -s": "ln -s " + dir + " " + other}[tool]
		switch tool {
		case "mkdir":
			option = "mkdir -p"
		case "ln -s":
			p.Sh("ln -s /nonexistent " + other)
			option = "ln -sfn"
		default:
			option = tool + " -r"
		}
		p.Write(script, fmt.Sprintf("#!/bin/sh\nset -e\n%s%s\n", n.one("", "# "+n.word()+"\n"), call))
		return Failure{Command: script + n.one("", " "+n.word()), Right: Plan{run("sed -i 's/^%s /%s /' %s", tool, option,
			script)}}
	}},
	{"sh: test of an empty variable", []string{"sh"}, func(p *place.Place, n *names) Failure {
		script, name := "./"+n.one("", "bin/", n.word()+"/")+n.dashed()+".sh", upper(n.snake())
		p.Write(script, fmt.Sprintf("#!/bin/sh\nset -e\n%s[ $%s != %s ]\necho %s\n", strings.Repeat("echo "+n.word()+"\n",
			n.r.IntN(3)), name, n.word(), n.word()))
		return Failure{Command: script + n.one("", " "+n.word()),
			Right: Plan{run(`sed -i 's/\[ \(\$[A-Z0-9_]*\) /[ "\1" /' %s`, script)}}
	}},
	{"sh: time limit of a step too short", []string{"sh"}, func(p *place.Place, n *names) Failure {
		script, file, first, second := "./"+n.dashed()+".sh", n.one("limits.conf", "conf/"+n.word()+".conf"), n.word(),
			n.word()
		slow, limits := first, map[string]string{first: "5", second: "5"}
		if n.r.IntN(2) == 0 {
			slow = second
		}
		limits[slow] = "0." + fmt.Sprint(1+n.r.IntN(3))
		p.Write(file, fmt.Sprintf("%s_limit=%s\n%s_limit=%s\n", first, limits[first], second, limits[second]))
		p.Write(script, fmt.Sprintf("#!/bin/sh\n. ./%s\nfor step in %s %s; do\n  eval limit=\\$${step}_limit\n"+
			"  timeout $limit sleep 0.4 || { echo \"step $step was stopped after $limit s, the limit in %[1]s\"; exit 1; "+
			"}\ndone\n",
			file, first, second))
		return Failure{Command: script, Right: Plan{run("sed -i 's/^%s_limit=.*/%[1]s_limit=60/' %s", slow, file)}}
	}},
	{"sh: slash in a text to put in", []string{"sh", "sed"}, func(p *place.Place, n *names) Failure {
		script, file, mark := "./"+n.one("", "bin/")+n.dashed()+".sh", n.word()+".tmpl", upper(n.word())
		p.Write(file, "root = @"+mark+"@\n")
		p.Write(script, fmt.Sprintf("#!/bin/sh\nset -e\n%ssed \"s/@%s@/$1/\" %s\n", n.one("", "# "+n.word()+"\n"), mark,
			file))
		return Failure{Command: fmt.Sprintf("%s /%s/%s", script, n.one("srv", "opt", "var"), n.word()),
			Right: Plan{run(`sed -i 's,s/@\([A-Z0-9]*\)@/$1/,s|@\1@|$1|,' %s`, script)}}
	}},
	{"sh: script expects the root of the project", []string{"sh"}, func(p *place.Place, n *names) Failure {
		dir, script, file := n.one("tools", "scripts", n.word()), n.dashed()+".sh", n.word()+"/"+n.dashed()+".conf"
		p.Write(file, n.word()+"\n")
		p.Write(dir+"/"+script, fmt.Sprintf("#!/bin/sh\nset -e\n%s %s\n", n.one("cat", "wc -l", "cksum"), file))
		return Failure{Command: "cd " + dir + " && ./" + script + n.one("", " "+n.word()),
			Right: Plan{run(`sed -i '2i cd "$(dirname "$0")/.."' %s/%s`, dir, script)}}
	}},
	{"sh: lock of a run that was stopped", []string{"sh"}, func(p *place.Place, n *names) Failure {
		script, lock := "./"+n.one("", "bin/")+n.dashed()+".sh", n.one("run/", "tmp/", "")+n.word()+".lock"
		p.Write(lock+"/pid", fmt.Sprintln(4_000_000+n.number()))
		p.Write(script, fmt.Sprintf("#!/bin/sh\nif ! mkdir %s 2>/dev/null; then\n  echo \"another run has the lock "+
			"%[1]s: process $(cat %[1]s/pid)\"\n  exit 1\nfi\nrmdir %[1]s\n", lock))
		return Failure{Command: script + n.one("", " "+n.word(), " --force"), Right: Plan{run("rm -r %s", lock)}}
	}},
	{"sh: version of the project is not that of the tag", []string{"sh", "npm"}, func(p *place.Place, n *names) Failure {
		kind, version := n.one("node", "python", "c"), fmt.Sprintf("%d.%d.%d", 4+n.r.IntN(4), n.r.IntN(30), n.r.IntN(10))
		script, file, right := "./"+n.one("check-", "release-")+n.word()+".sh", "VERSION", run("echo %s > VERSION", version)
		switch kind {
		case "node":
			file, right = "package.json", run("npm pkg set version=%s", version)
			p.Write(file, fmt.Sprintf("{\n  \"name\": %q,\n  \"version\": %q\n}\n", n.dashed(), n.version()))
		case "python":
			file, right = "pyproject.toml", run(`sed -i 's/^version = .*/version = "%s"/' pyproject.toml`, version)
			p.Write(file, fmt.Sprintf("[project]\nname = %q\nversion = %q\n", n.dashed(), n.version()))
		default:
			p.Write(file, n.version()+"\n")
		}
		// The error does not name the file: the kind of the project is in the situation.
		p.Write(script, fmt.Sprintf("#!/bin/sh\nhas=$(sed -n '/^\\( "+
			"*\"\\?version\\|[0-9]\\)/s/[^0-9]*\\([0-9.]*\\).*/\\1/p' %s)\n"+
			"[ \"$has\" = \"$1\" ] || { echo \"the tag is $1, but the version is $has\"; exit 1; }\n", file))
		return Failure{Command: script + " " + version, Right: Plan{right}, Context: map[string]string{"project": kind}}
	}},
	{"sh: settings of the environment are missing", []string{"sh"}, func(p *place.Place, n *names) Failure {
		environment, script := n.one("staging", "production", "testing"), "./"+n.one("start", "deploy", n.word())+".sh"
		for _, e := range []string{"staging", "production", "testing"} {
			p.Write("env/"+e+".env", fmt.Sprintf("STAGE=%s\n%s=%d\n", e, upper(n.snake()), n.number()))
		}
		// The error does not name the environment, which is in the situation.
		p.Write("../home/stage", environment+"\n")
		p.Write(script, "#!/bin/sh\n[ -f .env ] || { echo 'there is no .env: copy the one of this environment from env/'; "+
			"exit 1; }\n. ./.env\n[ \"$STAGE\" = \"$(cat ~/stage)\" ] || { echo 'these settings are of another environment'; "+
			"exit 1; }\n")
		return Failure{Command: script + n.one("", " "+n.word()), Right: Plan{run("cp env/%s.env .env", environment)},
			Context: map[string]string{"environment": environment}}
	}},
	{"tar: list names a file that is not there", []string{"tar"}, func(p *place.Place, n *names) Failure {
		list, gone, files := n.one("files.list", "conf/"+n.word()+".list"), n.dir()+".txt", []string{}
		for range 2 + n.r.IntN(3) {
			files = append(files, n.word()+n.one(".txt", ".md"))
			p.Write(files[len(files)-1], n.word()+"\n")
		}
		right, end, at := run(`sed -i 's/\r$//' %s`, list), "\r\n", n.r.IntN(len(files))
		if n.r.IntN(2) == 0 {
			right, end = run(`sed -i '\#^%s$#d' %s`, gone, list), "\n"
			files = append(files[:at], append([]string{gone}, files[at:]...)...)
		}
		p.Write(list, strings.Join(files, end)+end)
		return Failure{Command: fmt.Sprintf("tar -c%sf %s.tar -T %s", n.one("", "z"), n.word(), list), Right: Plan{right},
			Keeps: "[ $(grep -c . " + list + ") -ge 2 ]"}
	}},
	{"xz: limit of the memory too low", []string{"xz"}, func(p *place.Place, n *names) Failure {
		file, settings := n.dir()+".xz", n.one("xz.env", "conf/"+n.word()+".env")
		p.Write(file, "")
		p.Sh(fmt.Sprintf("echo %s | xz %s > %s", n.word(), n.one("-7", "-8", "-9"), file))
		p.Write(settings, fmt.Sprintf("XZ_DEFAULTS=--memlimit=%dMiB\n", 2+n.r.IntN(14)))
		return Failure{Command: fmt.Sprintf("set -a; . ./%s; xz %s %s", settings, n.one("-dc", "-t", "-dkf"), file),
			Right: Plan{run("sed -i 's/memlimit=[0-9]*MiB/memlimit=500MiB/' %s", settings)}}
	}},
	{"jq: data has another form", []string{"jq"}, func(p *place.Place, n *names) Failure {
		filter, file, key := n.one("", n.word()+"/")+n.snake()+".jq", n.dir()+".json", n.snake()
		program, data, right := "."+key, fmt.Sprintf("[{%q: %d}]", key, n.number()), "1s/^/.[] | /"
		switch n.r.IntN(3) {
		case 0:
			data, right = fmt.Sprintf(`"{\"%s\": %d}"`, key, n.number()), "1s/^/fromjson | /"
		case 1:
			program, data, right = "."+key+"[]", fmt.Sprintf("{%q: null, %q: []}", key, n.snake()), `s/\[\]/[]?/`
		}
		p.Write(filter, program+n.one("\n", " | tostring\n", " | type\n"))
		p.Write(file, data+"\n")
		return Failure{Command: fmt.Sprintf("jq %s-f %s %s", n.one("", "-r ", "-c "), filter, file),
			Right: Plan{run("sed -i '%s' %s", right, filter)}}
	}},
	{"dpkg-deb: configuration file is not in the package", []string{"dpkg-deb"}, func(p *place.Place, n *names) Failure {
		dir, name := n.one("pkg", "debian/"+n.word(), n.word()), n.dashed()
		has, gone := "/etc/"+name+".conf", "/etc/"+n.dir()+n.one(".conf", ".yaml", ".ini")
		p.Write(dir+"/DEBIAN/control", fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: all\n"+
			"Maintainer: A <a@example.com>\nDescription: %s\n", name, n.version(), n.word()))
		p.Write(dir+has, n.word()+"\n")
		p.Write(dir+"/DEBIAN/conffiles", n.one(has+"\n"+gone+"\n", gone+"\n"+has+"\n"))
		p.Sh("chmod -R u=rwX,go=rX " + dir)
		return Failure{Command: fmt.Sprintf("dpkg-deb %s %s %s.deb", n.one("-b", "--build", "--root-owner-group -b"), dir,
			n.word()), Right: Plan{run(`sed -i '\#^%s$#d' %s/DEBIAN/conffiles`, gone, dir)},
			Keeps: "grep -qx " + has + " " + dir + "/DEBIAN/conffiles"}
	}},
	{"msgfmt: message twice", []string{"msgfmt"}, func(p *place.Place, n *names) Failure {
		file, text := n.one("po/", "locale/", n.word()+"/")+n.one("de", "fr", "es")+".po", n.word()
		messages := ""
		for range n.r.IntN(3) {
			messages += fmt.Sprintf("msgid %q\nmsgstr %q\n\n", n.word(), n.word())
		}
		p.Write(file, fmt.Sprintf("msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=UTF-8\\n\"\n\nmsgid "+
			"%q\nmsgstr %q\n\n"+
			"%smsgid %[1]q\nmsgstr %[4]q\n", text, n.word(), messages, n.word()))
		return Failure{Command: fmt.Sprintf("msgfmt %s-o %s.mo %s", n.one("", "-v ", "-c "), n.word(), file),
			Right: Plan{run("msguniq --use-first -o %[1]s %[1]s", file)}}
	}},
	{"shellcheck: finding that the project allows", []string{"shellcheck"}, func(p *place.Place, n *names) Failure {
		file, code, text := n.one("", "bin/", n.word()+"/")+n.dashed()+".sh", "SC2034", n.snake()+"=1"
		switch n.r.IntN(4) {
		case 0:
			code, text = "SC2086", "ls $1"
		case 1:
			code, text = "SC2164", "cd "+n.word()
		case 2:
			code, text = "SC2012", "ls | wc -l"
		}
		p.Write(".shellcheckrc", "external-sources=true\n")
		p.Write(file, "#!/bin/sh\n"+n.one("", "# "+n.word()+"\n")+text+"\n")
		return Failure{Command: "shellcheck " + n.one("", "-x ", "-f gcc ") + file,
			Right: Plan{line(".shellcheckrc", "disable="+code)}}
	}},
	{"systemd: path of a program is relative", []string{"systemd-analyze"}, func(p *place.Place, n *names) Failure {
		file, program := n.one("", "deploy/", n.word()+"/")+n.dashed()+".service", n.one("bin/",
			n.word()+"/")+n.dashed()+".sh"
		p.Write(program, "#!/bin/sh\n")
		p.Write(file, fmt.Sprintf("[Unit]\nDescription=%s\n\n[Service]\n%sExecStart=%s %s\n", n.word(),
			n.one("", "Type=simple\n"), program, n.word()))
		return Failure{Command: "systemd-analyze verify " + n.one("", "--man=no ") + "./" + file,
			Right: Plan{run("sed -i \"s,^ExecStart=,ExecStart=$PWD/,\" %s", file)}}
	}},
}

// wheel is a package of Python with one module.
func wheel(name, version, requires string, n *names) string {
	info := name + "-" + version + ".dist-info/"
	return zipped([][2]string{{name + ".py", fmt.Sprintf("LIMIT = %d\n", n.number())},
		{info + "METADATA", fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n%s", name, version, requires)},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "RECORD", name + ".py,,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n"}})
}

// server writes a program that serves on a port in the background, for 20 seconds at most, and its settings.
func server(p *place.Place, n *names, kind string) (port int) {
	port = 30000 + n.r.IntN(2500)
	p.Write("server.conf", fmt.Sprintf("name=%s\nport=%d\nkind=%s\n", n.word(), port, kind))
	p.Write("serve.py", `import http.server
import os
import signal
import ssl
import time

conf = dict(line.strip().split('=', 1) for line in open('server.conf') if '=' in line)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if conf['kind'] == 'slow':
            time.sleep(0.5)
        known = not os.path.exists('secrets/token') or self.headers.get('Authorization', '') == (
            'Bearer ' + open('secrets/token').read().strip())
        self.send_response(200 if known else 401)
        self.send_header('Content-Length', '3')
        self.end_headers()
        self.wfile.write(b'ok\n')


server = http.server.HTTPServer(('127.0.0.1', int(conf['port'])), Handler)
if conf['kind'] == 'https':
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain('certs/both.pem')
    server.socket = context.wrap_socket(server.socket, server_side=True)
child = os.fork()
if child:
    with open('server.pid', 'w') as f:
        f.write(str(child))
    os._exit(0)
signal.alarm(20)
null = os.open('/dev/null', os.O_RDWR)
for fd in 0, 1, 2:
    os.dup2(null, fd)
server.serve_forever()
`)
	return port
}

// smoke writes a script that calls the server.
func smoke(p *place.Place, n *names, call string) (script string) {
	script = "./" + n.one("smoke", "health", n.word()) + ".sh"
	p.Write(script, "#!/bin/sh\npython3 serve.py || exit 1\ntrap 'kill $(cat server.pid)' EXIT\n"+call+"\n")
	return script
}
