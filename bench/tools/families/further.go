package families

import (
	"fmt"
	"regexp"

	"github.com/mneme/mneme/bench/tools/place"
)

// furtherFamilies are failures of other tools. They were written before the request for advice had the failed call,
// and before any of them was run.
var furtherFamilies = []Family{
	{"tar: directory to extract to missing", []string{"tar"}, func(p *place.Place, n *names) Failure {
		file, archive, dir := n.word()+".txt", n.dashed()+".tar", n.word()+"/"+n.dashed()
		p.Write(file, n.word()+"\n")
		p.Sh(fmt.Sprintf("tar -cf %s %s", archive, file))
		return Failure{Command: fmt.Sprintf("tar -xf %s -C %s", archive, dir), Right: Plan{run("mkdir -p %s", dir)}}
	}},
	{"sqlite3: column missing", []string{"sqlite3"}, func(p *place.Place, n *names) Failure {
		db, table, column := n.dashed()+".db", n.snake(), n.snake()
		p.Sh(fmt.Sprintf("sqlite3 %s 'CREATE TABLE %s (id INTEGER)'", db, table))
		return Failure{Command: fmt.Sprintf("sqlite3 %s 'SELECT %s FROM %s'", db, column, table),
			Right: Plan{run("sqlite3 %s 'ALTER TABLE %s ADD COLUMN %s'", db, table, column)}}
	}},
	{"perl: module outside the search path", []string{"perl"}, func(p *place.Place, n *names) Failure {
		module, file := n.exported(), n.dir()+".pl"
		p.Write("lib/"+module+".pm", fmt.Sprintf("package %s;\n\n1;\n", module))
		p.Write(file, fmt.Sprintf("use %s;\n\nprint %d, \"\\n\";\n", module, n.number()))
		return Failure{Command: "perl " + file, Right: Plan{run(`sed -i '1i use lib "lib";' %s`, file)}}
	}},
	{"bash: variable not set", []string{"bash"}, func(p *place.Place, n *names) Failure {
		file, name := n.word()+".sh", upper(n.snake())
		p.Write("settings.sh", fmt.Sprintf("%s=%d\n", upper(n.snake()), n.number()))
		p.Write(file, fmt.Sprintf("set -u\n. ./settings.sh\necho \"$%s\"\n", name))
		return Failure{Command: "bash " + file, Right: Plan{line("settings.sh", name+"=1")}}
	}},
	{"cmake: build directory was moved", []string{"cmake"}, func(p *place.Place, n *names) Failure {
		old, dir := n.dashed(), n.dashed()
		p.Write("CMakeLists.txt", fmt.Sprintf("cmake_minimum_required(VERSION 3.10)\nproject(%s NONE)\n", n.word()))
		p.Sh(fmt.Sprintf("cmake -S . -B %[1]s/build && mv %[1]s %[2]s", old, dir))
		return Failure{Command: fmt.Sprintf("cmake -S . -B %s/build", dir), Right: Plan{run("rm -rf %s/build", dir)}}
	}},
	{"openssl: key missing", []string{"openssl"}, func(_ *place.Place, n *names) Failure {
		key := n.dashed() + ".pem"
		return Failure{Command: fmt.Sprintf("openssl req -new -key %s -subj /CN=%s -out %s.csr", key, n.word(), n.dashed()),
			Right: Plan{run("openssl genpkey -algorithm ed25519 -out %s", key)}}
	}},
	{"jq: comma at the end of an object", []string{"jq"}, func(p *place.Place, n *names) Failure {
		file := n.dir() + ".json"
		p.Write(file, fmt.Sprintf("{\n  %q: %d,\n}\n", n.snake(), n.number()))
		return Failure{Command: "jq . " + file, Right: Plan{run(`sed -i -z 's/,\n}/\n}/' %s`, file)}}
	}},
	{"patch: already applied", []string{"patch", "diff"}, func(p *place.Place, n *names) Failure {
		file, change := n.dir()+".txt", n.dashed()+".patch"
		p.Write(file, n.word()+"\n"+n.word()+"\n")
		p.Sh(fmt.Sprintf("cp %[1]s %[1]s.orig && echo %[2]s >> %[1]s", file, n.word()))
		p.Sh(fmt.Sprintf("diff -u %[1]s.orig %[1]s > %[2]s; rm %[1]s.orig", file, change))
		return Failure{Command: "patch -N -p0 -i " + change, Right: Plan{run("patch -R -p0 -s -i %s", change)}}
	}},
}

var (
	columnForm  = regexp.MustCompile(`no such column: (\w+)`)
	queryForm   = regexp.MustCompile(`^sqlite3 (\S+) .* FROM (\w+)`)
	unboundForm = regexp.MustCompile(`(\w+): unbound variable`)
	forFurther  = []string{"tar", "perl", "bash", "cmake", "openssl", "jq", "patch"}
)

func allPaths(s Seen) []string { return s.paths }

// furtherRepairs are additional repairs that the actor has for these families.
var furtherRepairs = []repair{
	{forFurther, each(allPaths, "mkdir -p %s")},
	{forFurther, each(allPaths, "rm -rf %s")},
	{forFurther, each(allPaths, "touch %s")},
	{forFurther, each(allPaths, "chmod 644 %s")},
	{forFurther, each(allPaths, `sed -i 's/\r$//' %s`)},
	{[]string{"sqlite3"}, func(s Seen) (out []Plan) {
		for _, column := range matched(columnForm)(s) {
			for _, m := range queryForm.FindAllStringSubmatch(s.Command, -1) {
				out = append(out, Plan{run("sqlite3 %s 'ALTER TABLE %s ADD COLUMN %s'", m[1], m[2], column)})
			}
		}
		return out
	}},
	{[]string{"sqlite3"}, each(ending(".db"), "sqlite3 %s VACUUM")},
	{[]string{"perl"}, each(ending(".pl"), `sed -i '1i use lib "lib";' %s`)},
	{[]string{"perl"}, each(ending(".pl"), `sed -i '1i use strict;' %s`)},
	{[]string{"bash"}, func(s Seen) (out []Plan) {
		for _, name := range matched(unboundForm)(s) {
			out = append(out, Plan{line("settings.sh", name+"=1")})
		}
		return out
	}},
	{[]string{"openssl"}, each(ending(".pem"), "openssl genpkey -algorithm ed25519 -out %s")},
	{[]string{"jq"}, each(ending(".json"), `sed -i -z 's/,\n}/\n}/' %s`)},
	{[]string{"jq"}, each(ending(".json"), `sed -i '1s/^\xef\xbb\xbf//' %s`)},
	{[]string{"patch"}, each(ending(".patch"), "patch -R -p0 -s -i %s")},
	{[]string{"patch"}, always("find . -name '*.rej' -delete")},
}
