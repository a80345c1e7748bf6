package families

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Seen is the actor's knowledge of a failure: the command, its output, and the directory.
type Seen struct {
	Command string
	Output  string
	Dir     string
	paths   []string // in the command and the output
	names   []string // in quotes
}

var (
	quotedForm = regexp.MustCompile("[`'\"‘]([^`'\"‘’\\s]{1,120})['\"’]")
	pathForm   = regexp.MustCompile(`[\w.+-]*(?:/[\w.+-]+)+|[\w+-]+\.[a-z]{1,7}\b`)
	wordForm   = regexp.MustCompile(`-l([\w.+-]+)`)
	macroForm  = regexp.MustCompile(`\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b`)
	branchForm = regexp.MustCompile(`--set-upstream origin (\S+)`)
)

// systems are directories whose files the agent never repairs.
var systems = []string{"/usr/", "/bin/", "/lib", "/root/.", "/tmp/cc", "/home/", "/opt/", "/dev/"}

// Look returns what a command and its output show.
func Look(command, output, dir, home string) Seen {
	s := Seen{Command: command, Output: output, Dir: dir}
	for _, text := range []string{output, command} {
		for _, p := range pathForm.FindAllString(text, -1) {
			own := strings.HasPrefix(p, dir)
			system := slices.ContainsFunc(systems, func(at string) bool { return strings.HasPrefix(p, at) })
			if (own || !system) && !strings.HasPrefix(p, home) && !slices.Contains(s.paths, p) {
				s.paths = append(s.paths, p)
			}
		}
		for _, m := range quotedForm.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(s.names, m[1]) {
				s.names = append(s.names, m[1])
			}
		}
	}
	return s
}

// programs returns the programs that the command names. A command that names none is a command of the shell.
func (s Seen) programs() (out []string) {
	for _, p := range []string{"go", "gcc", "make", "git", "python3", "npm", "node", "gzip", "sqlite3",
		"ssh-keygen", "tar", "perl", "bash", "cmake", "openssl", "jq", "patch",
		"ln", "sed", "sort", "javac", "base64", "g++", "iconv", "ninja", "mkdir", "ar", "msgfmt", "cp",
		"comm", "cmp", "rustc", "cargo", "ssh", "sha256sum", "java", "pkg-config", "dpkg-deb", "xz", "shellcheck",
		"systemd-analyze"} {
		if regexp.MustCompile(`(^|[\s;])` + regexp.QuoteMeta(p) + `\s`).MatchString(s.Command) {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		out = append(out, "sh")
	}
	return out
}

// with returns the paths with one of the endings.
func (s Seen) with(ends ...string) (out []string) {
	for _, p := range s.paths {
		if slices.ContainsFunc(ends, func(e string) bool { return strings.HasSuffix(p, e) }) {
			out = append(out, p)
		}
	}
	return out
}

// repair is an entry of the catalogue: something that sometimes helps with a program, and the ways to do it here.
type repair struct {
	programs []string
	ways     func(s Seen) []Plan
}

func always(format string) func(Seen) []Plan {
	return func(Seen) []Plan { return []Plan{{{Shell, map[string]string{"cmd": format}}}} }
}

// each makes a plan for each of several values, with the value in a command.
func each(values func(s Seen) []string, format string) func(Seen) []Plan {
	return func(s Seen) (out []Plan) {
		for _, v := range values(s) {
			out = append(out, Plan{run(format, v)})
		}
		return out
	}
}

func ending(ends ...string) func(Seen) []string {
	return func(s Seen) []string { return s.with(ends...) }
}

func quoted(s Seen) []string { return s.names }

func matched(form *regexp.Regexp) func(Seen) []string {
	return func(s Seen) (out []string) {
		for _, m := range form.FindAllStringSubmatch(s.Output, -1) {
			if v := m[len(m)-1]; !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
		return out
	}
}

// compilerFlag adds an option of the compiler where the project keeps them.
func compilerFlag(values func(s Seen) []string, format string) func(Seen) []Plan {
	return func(s Seen) (out []Plan) {
		for _, v := range values(s) {
			text := format
			if strings.Contains(format, "%s") {
				text = fmt.Sprintf(format, v)
			}
			if strings.Contains(s.Command, "@"+options) {
				out = append(out, Plan{line(options, text)})
			} else {
				out = append(out, Plan{replace("Makefile", "LDLIBS =", "LDLIBS = "+text)})
			}
		}
		return out
	}
}

func once(Seen) []string { return []string{""} }

var (
	forGo     = []string{"go"}
	forC      = []string{"gcc", "make"}
	forMake   = []string{"make"}
	forGit    = []string{"git"}
	forPython = []string{"python3"}
	forNode   = []string{"npm", "node"}
	forAll    = []string{"go", "gcc", "make", "git", "python3", "npm", "node", "sh", "gzip", "sqlite3", "ssh-keygen"}
	forFiles  = []string{"sh", "python3", "make", "gzip", "sqlite3", "ssh-keygen"}
)

// catalogue has the repairs of the actor. It does not depend on the families.
var catalogue = []repair{
	{forGo, always("go mod tidy")},
	{forGo, always("go mod vendor")},
	{forGo, always("go generate ./...")},
	{forGo, always("go mod init example.com/app")},
	{forGo, always("go mod edit -go=1.21")},
	{forGo, always("gofmt -w .")},
	{forGo, each(ending(".go"), "sed -i 's/^package .*/package main/' %s")},
	{forGo, each(ending(".go"), "sed -i 's/%%d/%%v/' %s")},
	{forGo, func(s Seen) (out []Plan) { // a module of the repository
		for _, p := range s.paths {
			if host, _, ok := strings.Cut(p, "/"); ok && strings.Contains(strings.Trim(host, "."), ".") {
				out = append(out, Plan{run("go mod edit -require=%[1]s@v0.0.0 -replace=%[1]s=./%[2]s", p,
					path.Base(p))})
			}
		}
		return out
	}},
	{forGo, func(s Seen) (out []Plan) { // an import that is not used
		for _, p := range s.with(".go") {
			for _, n := range s.names {
				out = append(out, Plan{replace(p, fmt.Sprintf("\t%q\n", n), "")})
			}
		}
		return out
	}},

	{forC, compilerFlag(once, "-lm")},
	{forC, compilerFlag(once, "-lpthread")},
	{forC, compilerFlag(once, "-std=c11")},
	{forC, compilerFlag(once, "-fPIC")},
	{forC, compilerFlag(once, "-fcommon")},
	{forC, compilerFlag(once, "-Wno-error")},
	{forC, compilerFlag(matched(macroForm), "-D%s=1")},
	{forC, each(ending(".h"), `echo "-I$(dirname $(find . -name %s))" >> `+options)},
	{forC, func(s Seen) (out []Plan) { // a library that is somewhere in the project
		for _, lib := range matched(wordForm)(s) {
			out = append(out, Plan{run("dirname $(find . -name 'lib%s.*')", lib), line(options, "-L{output}")})
		}
		return out
	}},
	{forMake, always("make clean")},
	{forMake, always(`sed -i 's/^  */\t/' Makefile`)},
	{forMake, each(func(s Seen) (out []string) {
		for _, p := range s.paths {
			if d := path.Dir(p); d != "." {
				out = append(out, d)
			}
		}
		return out
	}, "mkdir -p %s")},
	{forMake, each(ending(".mk", "Makefile"), "cp %[1]s.example %[1]s")},
	{forMake, each(ending(".c", ".o", ".txt"), "touch %s")},

	{forGit, always("rm -f .git/index.lock")},
	{forGit, always("git stash")},
	{forGit, always("git gc -q")},
	{forGit, always("git checkout -q --ours . && git add -A")},
	{forGit, always("git config user.name builder && git config user.email builder@example.com")},
	{forGit, always("git config --global protocol.file.allow always")},
	{forGit, always("git config pull.rebase true")},
	{forGit, func(s Seen) []Plan { return []Plan{{run("git config --global --add safe.directory %s", s.Dir)}} }},
	{forGit, each(matched(branchForm), "git push -q --set-upstream origin %s")},

	{forPython, func(Seen) []Plan { return []Plan{{line("settings.env", "PYTHONPATH=src")}} }},
	{forPython, each(ending(".py"), "expand -t 8 %[1]s > %[1]s.new && mv %[1]s.new %[1]s")},
	{forPython, each(ending(".py"), "iconv -f latin1 -t utf-8 %[1]s > %[1]s.new && mv %[1]s.new %[1]s")},
	{forPython, each(ending(".py"), `sed -i 's/^print \(.*\)$/print(\1)/' %s`)},
	{forPython, each(quoted, "mv %[1]s.py my_%[1]s.py")},
	{forPython, each(quoted, "mv %[1]s/main.py %[1]s/__main__.py")},
	{forPython, each(ending(".json"), `sed -i -z 's/,\n}/\n}/' %s`)},

	{forNode, each(ending(".json"), `sed -i -z 's/,\n}/\n}/' %s`)},
	{forNode, always("npm pkg delete engines")},
	{forNode, always("npm pkg set type=module")},
	{forNode, always("npm pkg set private=true")},
	{forNode, always("rm -rf node_modules")},
	{forNode, each(quoted, `npm pkg set scripts.%s="node index.js"`)},

	{forFiles, each(func(s Seen) []string { return s.paths }, "chmod +x %s")},
	{forFiles, each(func(s Seen) []string { return s.paths }, `sed -i 's/\r$//' %s`)},
	{forAll, always("sync")},
}

// Ways returns all repairs that the actor has for a failure of a set, at most four for each entry.
func Ways(s Seen, set string) (out []Plan) {
	const most = 4
	programs := s.programs()
	for _, r := range repairsFor(set) {
		if !slices.ContainsFunc(r.programs, func(p string) bool { return slices.Contains(programs, p) }) {
			continue
		}
		found := r.ways(s)
		for _, p := range found[:min(len(found), most)] {
			if !Has(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// repairsFor returns the repairs that the actor has for the families of a set.
func repairsFor(set string) []repair {
	switch set {
	case "fresh":
		return slices.Concat(catalogue, freshRepairs)
	case "later":
		return slices.Concat(catalogue, freshRepairs, laterRepairs)
	case "further":
		return slices.Concat(catalogue, freshRepairs, laterRepairs, furtherRepairs)
	case "unseen":
		return slices.Concat(catalogue, freshRepairs, laterRepairs, furtherRepairs, unseenRepairs)
	case "last":
		return slices.Concat(catalogue, freshRepairs, laterRepairs, furtherRepairs, unseenRepairs, lastRepairs)
	case "situations":
		return slices.Concat(catalogue, situationsRepairs)
	case "third":
		return slices.Concat(catalogue, thirdRepairs)
	case "fourth":
		return slices.Concat(catalogue, fourthRepairs)
	case "fifth":
		return slices.Concat(catalogue, fifthRepairs, fifthMore)
	case "blind":
		return slices.Concat(catalogue, blindRepairs, blindMore)
	}
	return catalogue
}
