package families

import (
	"fmt"

	"github.com/mneme/mneme/bench/tools/place"
)

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
