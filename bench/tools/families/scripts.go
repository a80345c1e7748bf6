package families

import (
	"fmt"
	"strings"

	"github.com/mneme/mneme/bench/tools/place"
)

var scriptFamilies = []Family{
	{"python: source in Latin-1", []string{"python3"}, func(p *place.Place, n *names) Failure {
		file := n.dir() + "/" + n.snake() + ".py"
		p.Write(file, strings.Repeat("#\n", n.r.IntN(9))+"name = 'caf\xe9'\nprint(len(name))\n")
		return Failure{Command: "python3 " + file,
			Right: Plan{run("iconv -f latin1 -t utf-8 %[1]s > %[1]s.new && mv %[1]s.new %[1]s", file)}}
	}},
	{"python: file named like a standard module", []string{"python3"}, func(p *place.Place, n *names) Failure {
		module, use := "colorsys", "rgb_to_hls(1, 0, 0)"
		switch n.r.IntN(3) {
		case 0:
			module, use = "secrets", "token_hex(4)"
		case 1:
			module, use = "statistics", "mean([1, 2])"
		}
		p.Write(module+".py", fmt.Sprintf("import %[1]s\n\nprint(%[1]s.%[2]s)\n", module, use))
		main := n.snake() + ".py"
		p.Write(main, fmt.Sprintf("import %[1]s\n\nprint(%[1]s.%[2]s)\n", module, use))
		return Failure{Command: "python3 " + main, Right: Plan{run("mv %[1]s.py my_%[1]s.py", module)}}
	}},
	{"python: print without parentheses", []string{"python3"}, func(p *place.Place, n *names) Failure {
		file := n.dir() + "/" + n.snake() + ".py"
		p.Write(file, fmt.Sprintf("limit = %d\nprint limit\n", n.number()))
		return Failure{Command: "python3 " + file, Right: Plan{run(`sed -i 's/^print \(.*\)$/print(\1)/' %s`, file)}}
	}},
	{"python: trailing comma in JSON", []string{"python3"}, func(p *place.Place, n *names) Failure {
		p.Write("config.json", fmt.Sprintf("{\n  %q: %d,\n  %q: %q,\n}\n", n.snake(), n.number(), n.snake(), n.word()))
		p.Write("load.py", "import json\n\nprint(len(json.load(open('config.json'))))\n")
		return Failure{Command: "python3 load.py", Right: Plan{run(`sed -i -z 's/,\n}/\n}/' config.json`)}}
	}},
	{"python: package without a main module", []string{"python3"}, func(p *place.Place, n *names) Failure {
		pkg := n.snake()
		p.Write(pkg+"/main.py", fmt.Sprintf("print(%d)\n", n.number()))
		return Failure{Command: "python3 " + pkg, Right: Plan{run("mv %[1]s/main.py %[1]s/__main__.py", pkg)}}
	}},
	{"sh: script with Windows line ends", []string{"sh", "python3"}, func(p *place.Place, n *names) Failure {
		file := "./" + n.word() + "/" + n.dashed() + ".sh"
		p.Write(file, fmt.Sprintf("#!/usr/bin/env python3\r\nprint(%d)\r\n", n.number()))
		return Failure{Command: file, Right: Plan{run(`sed -i 's/\r$//' %s`, file)}}
	}},
	{"npm: package.json is not JSON", []string{"npm"}, func(p *place.Place, n *names) Failure {
		p.Write("package.json", fmt.Sprintf("{\n  \"name\": %q,\n  \"version\": %q,\n}\n", n.dashed(), n.version()))
		return Failure{Command: "npm pkg get name", Right: Plan{run(`sed -i -z 's/,\n}/\n}/' package.json`)}}
	}},
	{"npm: engine too old", []string{"npm", "node"}, func(p *place.Place, n *names) Failure {
		p.Write("package.json", fmt.Sprintf("{\"name\": %q, \"version\": %q, \"engines\": {\"node\": \">=%d\"}}\n",
			n.dashed(), n.version(), 90+n.r.IntN(9)))
		p.Write(".npmrc", "engine-strict=true\n")
		return Failure{Command: "npm install", Right: Plan{run("npm pkg delete engines")}}
	}},
	{"node: import outside a module", []string{"node", "npm"}, func(p *place.Place, n *names) Failure {
		file := n.word() + ".js"
		p.Write("package.json", fmt.Sprintf("{\"name\": %q, \"type\": \"commonjs\"}\n", n.dashed()))
		p.Write(file, fmt.Sprintf("import path from 'path'\n\nconsole.log(path.sep, %d)\n", n.number()))
		return Failure{Command: "node " + file, Right: Plan{run("npm pkg set type=module")}}
	}},
}
