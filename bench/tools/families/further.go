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

// unseenFamilies were written after the rules had been changed for the further ones, and before any of them was run.
var unseenFamilies = []Family{
	{"ln: link exists", []string{"ln"}, func(p *place.Place, n *names) Failure {
		target, link := n.word()+"/"+n.dashed(), n.dashed()
		p.Write(link, n.word()+"\n")
		return Failure{Command: fmt.Sprintf("ln -s %s %s", target, link), Right: Plan{run("rm -f %s", link)}}
	}},
	{"sed: command not terminated", []string{"sed"}, func(p *place.Place, n *names) Failure {
		script, file := n.dir()+".sed", n.word()+".txt"
		p.Write(script, fmt.Sprintf("s/%s/%s\n", n.word(), n.word()))
		p.Write(file, n.word()+"\n")
		return Failure{Command: fmt.Sprintf("sed -f %s %s", script, file), Right: Plan{run(`sed -i 's,$,/,' %s`, script)}}
	}},
	{"sort: file not sorted", []string{"sort"}, func(p *place.Place, n *names) Failure {
		file := n.dir() + ".list"
		p.Write(file, "z"+n.word()+"\n"+n.word()+"\n")
		return Failure{Command: "sort -c " + file, Right: Plan{run("sort -o %[1]s %[1]s", file)}}
	}},
	{"javac: class in a file of another name", []string{"javac"}, func(p *place.Place, n *names) Failure {
		dir, file, class := n.word(), n.exported(), n.exported()
		p.Write(dir+"/"+file+".java", fmt.Sprintf("public class %s {\n\tint value = %d;\n}\n", class, n.number()))
		return Failure{Command: fmt.Sprintf("javac -d out %s/*.java", dir),
			Right: Plan{run("mv %[1]s/%[2]s.java %[1]s/%[3]s.java", dir, file, class)}}
	}},
	{"base64: characters of another alphabet", []string{"base64"}, func(p *place.Place, n *names) Failure {
		file := n.dashed() + ".enc"
		p.Write(file, n.word()+"\n")
		p.Sh(fmt.Sprintf("base64 %[1]s > %[1]s.new && mv %[1]s.new %[1]s && sed -i '1s/^/*/' %[1]s", file))
		return Failure{Command: "base64 -d " + file, Right: Plan{run("sed -i 's/[^A-Za-z0-9+=/]//g' %s", file)}}
	}},
	{"g++: header of the library not included", []string{"g++"}, func(p *place.Place, n *names) Failure {
		file, header := n.snake()+".cpp", n.one("vector", "list", "set", "deque")
		p.Write(file, fmt.Sprintf("template <class T> using %s = std::%s<T>;\n", n.snake(), header))
		return Failure{Command: "g++ -c " + file, Right: Plan{run("sed -i '1i #include <%s>' %s", header, file)}}
	}},
	{"iconv: file in another encoding", []string{"iconv"}, func(p *place.Place, n *names) Failure {
		file := n.dir() + ".txt"
		p.Write(file, n.word()+" caf\xe9 "+n.word()+"\n")
		return Failure{Command: fmt.Sprintf("iconv -f UTF-8 -t UTF-16 -o %s.out %s", n.word(), file),
			Right: Plan{run("iconv -f LATIN1 -t UTF-8 %[1]s -o %[1]s.new && mv %[1]s.new %[1]s", file)}}
	}},
	{"ninja: source missing", []string{"ninja"}, func(p *place.Place, n *names) Failure {
		source, object := n.dir()+".c", n.snake()+".o"
		p.Write("build.ninja", fmt.Sprintf("rule copy\n  command = cp $in $out\nbuild %s: copy %s\n", object, source))
		return Failure{Command: "ninja " + object, Right: Plan{run("mkdir -p $(dirname %[1]s) && touch %[1]s", source)}}
	}},
}

var (
	publicForm = regexp.MustCompile(`(\w+)/(\w+)\.java:\d+: error: class (\w+) is public`)
	headerForm = regexp.MustCompile(`std::(\w+)`)
	forUnseen  = []string{"ln", "sed", "sort", "javac", "base64", "g++", "iconv", "ninja"}
)

// unseenRepairs are additional repairs that the actor has for these families.
var unseenRepairs = []repair{
	{forUnseen, each(allPaths, "mkdir -p %s")},
	{forUnseen, each(allPaths, "chmod 644 %s")},
	{forUnseen, each(allPaths, `sed -i 's/\r$//' %s`)},
	{forUnseen, each(allPaths, "touch %s")},
	{[]string{"ln"}, each(quoted, "rm -f %s")},
	{[]string{"ln"}, each(quoted, "mkdir -p %s")},
	{[]string{"sed"}, each(ending(".sed"), `sed -i 's,$,/,' %s`)},
	{[]string{"sed"}, each(ending(".sed"), `sed -i '$a p' %s`)},
	{[]string{"sort"}, each(ending(".list"), "sort -o %[1]s %[1]s")},
	{[]string{"sort"}, each(ending(".list"), "sort -u -r -o %[1]s %[1]s")},
	{[]string{"javac"}, func(s Seen) (out []Plan) {
		for _, m := range publicForm.FindAllStringSubmatch(s.Output, -1) {
			out = append(out, Plan{run("mv %[1]s/%[2]s.java %[1]s/%[3]s.java", m[1], m[2], m[3])})
		}
		return out
	}},
	{[]string{"javac"}, always("mkdir -p out")},
	{[]string{"base64"}, each(ending(".enc"), "sed -i 's/[^A-Za-z0-9+=/]//g' %s")},
	{[]string{"base64"}, each(ending(".enc"), "tr -d ' ' < %[1]s > %[1]s.new && mv %[1]s.new %[1]s")},
	{[]string{"g++"}, func(s Seen) (out []Plan) {
		for _, header := range matched(headerForm)(s) {
			for _, file := range s.with(".cpp") {
				out = append(out, Plan{run("sed -i '1i #include <%s>' %s", header, file)})
			}
		}
		return out
	}},
	{[]string{"g++"}, each(ending(".cpp"), "sed -i '1i using namespace std;' %s")},
	{[]string{"iconv"}, each(allPaths, "iconv -f LATIN1 -t UTF-8 %[1]s -o %[1]s.new && mv %[1]s.new %[1]s")},
	{[]string{"iconv"}, each(allPaths, `sed -i '1s/^\xef\xbb\xbf//' %s`)},
	{[]string{"ninja"}, each(ending(".c"), "mkdir -p $(dirname %[1]s) && touch %[1]s")},
	{[]string{"ninja"}, always("rm -f .ninja_log")},
}

// lastFamilies were written after the rules had been changed for the unseen ones, and before any of them was run.
var lastFamilies = []Family{
	{"mkdir: file in the place of a directory", []string{"mkdir"}, func(p *place.Place, n *names) Failure {
		file := n.dashed()
		p.Write(file, n.word()+"\n")
		return Failure{Command: fmt.Sprintf("mkdir -p %s/%s", file, n.word()), Right: Plan{run("rm -f %s", file)}}
	}},
	{"ar: not an archive", []string{"ar"}, func(p *place.Place, n *names) Failure {
		archive := "lib" + n.snake() + ".a"
		p.Write(archive, n.word()+"\n")
		return Failure{Command: "ar t " + archive, Right: Plan{run("rm -f %[1]s && ar rc %[1]s", archive)}}
	}},
	{"msgfmt: translation missing", []string{"msgfmt"}, func(p *place.Place, n *names) Failure {
		file := n.dir() + ".po"
		p.Write(file, fmt.Sprintf("msgid %q\nmsgstr %q\n\nmsgid %q\n", n.word(), n.word(), n.word()))
		return Failure{Command: fmt.Sprintf("msgfmt -o %s.mo %s", n.word(), file), Right: Plan{line(file, `msgstr ""`)}}
	}},
	{"cp: directory missing", []string{"cp"}, func(p *place.Place, n *names) Failure {
		file, dir := n.snake()+".txt", n.word()+"/"+n.dashed()
		p.Write(file, n.word()+"\n")
		return Failure{Command: fmt.Sprintf("cp %s %s/", file, dir), Right: Plan{run("mkdir -p %s", dir)}}
	}},
	{"comm: file not sorted", []string{"comm"}, func(p *place.Place, n *names) Failure {
		first, second := n.dashed()+".txt", n.word()+"/"+n.word()+".txt"
		p.Write(first, "z"+n.word()+"\n"+n.word()+"\n")
		p.Write(second, n.word()+"\n")
		return Failure{Command: fmt.Sprintf("comm -12 %s %s", first, second), Right: Plan{run("sort -o %[1]s %[1]s", first)}}
	}},
	{"bash: condition without an end", []string{"bash"}, func(p *place.Place, n *names) Failure {
		file := n.dir() + ".sh"
		p.Write(file, fmt.Sprintf("%s=%d\nif true; then\n  echo $%[1]s\n", n.snake(), n.number()))
		return Failure{Command: "bash " + file, Right: Plan{line(file, "fi")}}
	}},
	{"cmp: copy is old", []string{"cmp"}, func(p *place.Place, n *names) Failure {
		file, copied := n.snake()+".txt", n.word()+"/"+n.dashed()+".txt"
		p.Write(file, n.word()+"\n")
		p.Write(copied, "old\n")
		return Failure{Command: fmt.Sprintf("cmp %s %s", file, copied), Right: Plan{run("cp %s %s", file, copied)}}
	}},
}

var forLast = []string{"mkdir", "ar", "msgfmt", "cp", "comm", "bash", "cmp"}

// lastRepairs are additional repairs that the actor has for these families.
var lastRepairs = []repair{
	{forLast, each(allPaths, "mkdir -p %s")},
	{forLast, each(allPaths, "mkdir -p $(dirname %s)")},
	{forLast, each(allPaths, "chmod 644 %s")},
	{forLast, each(allPaths, `sed -i 's/\r$//' %s`)},
	{forLast, each(allPaths, "touch %s")},
	{forLast, each(quoted, "rm -f %s")},
	{forLast, each(quoted, "mkdir -p %s")},
	{[]string{"ar"}, each(ending(".a"), "rm -f %[1]s && ar rc %[1]s")},
	{[]string{"ar"}, each(ending(".a"), "ranlib %s")},
	{[]string{"comm"}, each(ending(".txt"), "sort -o %[1]s %[1]s")},
	{[]string{"comm"}, each(ending(".txt"), "sort -r -o %[1]s %[1]s")},
	{[]string{"cmp"}, func(s Seen) []Plan {
		if len(s.paths) < 2 {
			return nil
		}
		return []Plan{{run("cp %s %s", s.paths[0], s.paths[1])}}
	}},
	{[]string{"msgfmt"}, func(s Seen) (out []Plan) {
		for _, file := range s.with(".po") {
			out = append(out, Plan{line(file, `msgstr ""`)}, Plan{line(file, `msgid ""`)})
		}
		return out
	}},
	{[]string{"bash"}, func(s Seen) (out []Plan) {
		for _, file := range s.with(".sh") {
			out = append(out, Plan{line(file, "fi")}, Plan{line(file, "done")}, Plan{line(file, "}")})
		}
		return out
	}},
}
