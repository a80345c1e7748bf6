package main

import "fmt"

// lastFamilies were written after the rules had been changed for the unseen ones, and before any of them was run.
var lastFamilies = []family{
	{"mkdir: file in the place of a directory", []string{"mkdir"}, func(p *place, n *names) failure {
		file := n.dashed()
		p.write(file, n.word()+"\n")
		return failure{fmt.Sprintf("mkdir -p %s/%s", file, n.word()), plan{run("rm -f %s", file)}}
	}},
	{"ar: not an archive", []string{"ar"}, func(p *place, n *names) failure {
		archive := "lib" + n.snake() + ".a"
		p.write(archive, n.word()+"\n")
		return failure{"ar t " + archive, plan{run("rm -f %[1]s && ar rc %[1]s", archive)}}
	}},
	{"msgfmt: translation missing", []string{"msgfmt"}, func(p *place, n *names) failure {
		file := n.dir() + ".po"
		p.write(file, fmt.Sprintf("msgid %q\nmsgstr %q\n\nmsgid %q\n", n.word(), n.word(), n.word()))
		return failure{fmt.Sprintf("msgfmt -o %s.mo %s", n.word(), file), plan{line(file, `msgstr ""`)}}
	}},
	{"cp: directory missing", []string{"cp"}, func(p *place, n *names) failure {
		file, dir := n.snake()+".txt", n.word()+"/"+n.dashed()
		p.write(file, n.word()+"\n")
		return failure{fmt.Sprintf("cp %s %s/", file, dir), plan{run("mkdir -p %s", dir)}}
	}},
	{"comm: file not sorted", []string{"comm"}, func(p *place, n *names) failure {
		first, second := n.dashed()+".txt", n.word()+"/"+n.word()+".txt"
		p.write(first, "z"+n.word()+"\n"+n.word()+"\n")
		p.write(second, n.word()+"\n")
		return failure{fmt.Sprintf("comm -12 %s %s", first, second), plan{run("sort -o %[1]s %[1]s", first)}}
	}},
	{"bash: condition without an end", []string{"bash"}, func(p *place, n *names) failure {
		file := n.dir() + ".sh"
		p.write(file, fmt.Sprintf("%s=%d\nif true; then\n  echo $%[1]s\n", n.snake(), n.number()))
		return failure{"bash " + file, plan{line(file, "fi")}}
	}},
	{"cmp: copy is old", []string{"cmp"}, func(p *place, n *names) failure {
		file, copied := n.snake()+".txt", n.word()+"/"+n.dashed()+".txt"
		p.write(file, n.word()+"\n")
		p.write(copied, "old\n")
		return failure{fmt.Sprintf("cmp %s %s", file, copied), plan{run("cp %s %s", file, copied)}}
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
	{[]string{"cmp"}, func(s seen) []plan {
		if len(s.paths) < 2 {
			return nil
		}
		return []plan{{run("cp %s %s", s.paths[0], s.paths[1])}}
	}},
	{[]string{"msgfmt"}, func(s seen) (out []plan) {
		for _, file := range s.with(".po") {
			out = append(out, plan{line(file, `msgstr ""`)}, plan{line(file, `msgid ""`)})
		}
		return out
	}},
	{[]string{"bash"}, func(s seen) (out []plan) {
		for _, file := range s.with(".sh") {
			out = append(out, plan{line(file, "fi")}, plan{line(file, "done")}, plan{line(file, "}")})
		}
		return out
	}},
}
