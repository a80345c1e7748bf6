package main

import (
	"fmt"
	"strings"
)

var scriptFamilies = []family{
	{"python: source in Latin-1", []string{"python3"}, func(p *place, n *names) failure {
		file := n.dir() + "/" + n.snake() + ".py"
		p.write(file, strings.Repeat("#\n", n.r.IntN(9))+"name = 'caf\xe9'\nprint(len(name))\n")
		return failure{"python3 " + file,
			plan{run("iconv -f latin1 -t utf-8 %[1]s > %[1]s.new && mv %[1]s.new %[1]s", file)}}
	}},
	{"python: file named like a standard module", []string{"python3"}, func(p *place, n *names) failure {
		module, use := "colorsys", "rgb_to_hls(1, 0, 0)"
		switch n.r.IntN(3) {
		case 0:
			module, use = "secrets", "token_hex(4)"
		case 1:
			module, use = "statistics", "mean([1, 2])"
		}
		p.write(module+".py", fmt.Sprintf("import %[1]s\n\nprint(%[1]s.%[2]s)\n", module, use))
		main := n.snake() + ".py"
		p.write(main, fmt.Sprintf("import %[1]s\n\nprint(%[1]s.%[2]s)\n", module, use))
		return failure{"python3 " + main, plan{run("mv %[1]s.py my_%[1]s.py", module)}}
	}},
	{"python: print without parentheses", []string{"python3"}, func(p *place, n *names) failure {
		file := n.dir() + "/" + n.snake() + ".py"
		p.write(file, fmt.Sprintf("limit = %d\nprint limit\n", n.number()))
		return failure{"python3 " + file, plan{run(`sed -i 's/^print \(.*\)$/print(\1)/' %s`, file)}}
	}},
	{"python: trailing comma in JSON", []string{"python3"}, func(p *place, n *names) failure {
		p.write("config.json", fmt.Sprintf("{\n  %q: %d,\n  %q: %q,\n}\n", n.snake(), n.number(), n.snake(), n.word()))
		p.write("load.py", "import json\n\nprint(len(json.load(open('config.json'))))\n")
		return failure{"python3 load.py", plan{run(`sed -i -z 's/,\n}/\n}/' config.json`)}}
	}},
	{"python: package without a main module", []string{"python3"}, func(p *place, n *names) failure {
		pkg := n.snake()
		p.write(pkg+"/main.py", fmt.Sprintf("print(%d)\n", n.number()))
		return failure{"python3 " + pkg, plan{run("mv %[1]s/main.py %[1]s/__main__.py", pkg)}}
	}},
	{"sh: script with Windows line ends", []string{"sh", "python3"}, func(p *place, n *names) failure {
		file := "./" + n.word() + "/" + n.dashed() + ".sh"
		p.write(file, fmt.Sprintf("#!/usr/bin/env python3\r\nprint(%d)\r\n", n.number()))
		return failure{file, plan{run(`sed -i 's/\r$//' %s`, file)}}
	}},
	{"npm: package.json is not JSON", []string{"npm"}, func(p *place, n *names) failure {
		p.write("package.json", fmt.Sprintf("{\n  \"name\": %q,\n  \"version\": %q,\n}\n", n.dashed(), n.version()))
		return failure{"npm pkg get name", plan{run(`sed -i -z 's/,\n}/\n}/' package.json`)}}
	}},
	{"npm: engine too old", []string{"npm", "node"}, func(p *place, n *names) failure {
		p.write("package.json", fmt.Sprintf("{\"name\": %q, \"version\": %q, \"engines\": {\"node\": \">=%d\"}}\n",
			n.dashed(), n.version(), 90+n.r.IntN(9)))
		p.write(".npmrc", "engine-strict=true\n")
		return failure{"npm install", plan{run("npm pkg delete engines")}}
	}},
	{"node: import outside a module", []string{"node", "npm"}, func(p *place, n *names) failure {
		file := n.word() + ".js"
		p.write("package.json", fmt.Sprintf("{\"name\": %q, \"type\": \"commonjs\"}\n", n.dashed()))
		p.write(file, fmt.Sprintf("import path from 'path'\n\nconsole.log(path.sep, %d)\n", n.number()))
		return failure{"node " + file, plan{run("npm pkg set type=module")}}
	}},
}
