package families

import (
	"fmt"
	"regexp"

	"github.com/mneme/mneme/bench/tools/place"
)

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
