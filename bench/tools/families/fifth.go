package families

import (
	"fmt"
	"strings"

	"github.com/mneme/mneme/bench/tools/place"
)

// fifthFirst is the first half of the set fifth. It was written before any of it was run, by an author who had read
// neither the rules nor what is written about them. What a repair needs is in the error, in the command or in the
// situation, or is always the same. The one exception says so.
var fifthFirst = []Family{
	{"go: error of a call is not taken", []string{"go"}, func(p *place.Place, n *names) Failure {
		file, name, before := n.one("main.go", "cmd/"+n.word()+"/main.go", n.word()+".go"), n.camel(), n.r.IntN(5)
		pkg, call, _ := strings.Cut(n.one(`strconv Atoi("12")`, "os Getwd()", "os Hostname()", `net/url Parse("a")`,
			`time ParseDuration("3s")`, `os ReadFile("a.txt")`), " ")
		p.Write("go.mod", "module example.com/"+n.dashed()+"\n\ngo 1.21\n")
		p.Write(file, fmt.Sprintf("package main\n\nimport %q\n\nfunc main() {\n%s\t%s := %s.%s\n\t_ = %[3]s\n}\n", pkg,
			strings.Repeat("\tprintln()\n", before), name, pkg[strings.LastIndex(pkg, "/")+1:], call))
		return Failure{Command: n.one("go build ./...", "go vet ./..."),
			Right: Plan{run("sed -i '%ds/ := /, _ := /' %s", 6+before, file)}}
	}},
	{"go: module is not in the workspace file", []string{"go"}, func(p *place.Place, n *names) Failure {
		p.Setenv("GOWORK=")
		dir := n.one("services/", "libs/", "", n.word()+"/")
		first, second := dir+n.dashed(), dir+n.dashed()
		for _, d := range []string{first, second} {
			p.Write(d+"/go.mod", "module example.com/"+d+"\n\ngo 1.21\n")
			p.Write(d+"/main.go", fmt.Sprintf("package main\n\nfunc main() { println(%d) }\n", n.number()))
		}
		p.Write("go.work", "go 1.21\n\nuse ./"+first+"\n")
		return Failure{Command: "cd " + second + " && go " + n.one("build -o app .", "vet .", "build ./..."),
			Right: Plan{run("go work use ./%s", second)}}
	}},
	{"go: package of another part is internal", []string{"go"}, func(p *place.Place, n *names) Failure {
		module, part, pkg, main := "example.com/"+n.dashed(), n.dir(), n.word(), n.one("cmd/", n.word()+"/")+n.dashed()
		p.Write("go.mod", "module "+module+"\n\ngo 1.21\n")
		p.Write(part+"/internal/"+pkg+"/"+n.word()+".go", fmt.Sprintf("package %s\n\nconst N = %d\n", pkg, n.number()))
		p.Write(main+"/main.go", fmt.Sprintf("package main\n\nimport \"%s/%s/internal/%s\"\n\n"+
			"func main() { println(%[3]s.N) }\n", module, part, pkg))
		return Failure{Command: n.one("go build -o app ./"+main, "go vet ./...", "go build ./..."),
			Right: Plan{run("mv %[1]s/internal/%[2]s %[1]s/%[2]s", part, pkg),
				run("sed -i 's#/internal/%s\"#/%[1]s\"#' %s/main.go", pkg, main)}}
	}},
	{"gcc: option of the compiler missing at the link", []string{"gcc"}, func(p *place.Place, n *names) Failure {
		file := n.one("", "src/", n.word()+"/") + n.snake()
		flag := n.one("-fsanitize=address", "-fsanitize=undefined", "--coverage", "-fopenmp")
		p.Write(file+".c", fmt.Sprintf("int main(int argc, char **argv) {\n\tint a[%d] = {0};\n"+
			"\t#pragma omp parallel\n\ta[argc] = argc >> argc;\n\treturn a[argc + 1] + argv[0][0] == 0;\n}\n",
			9+n.number()))
		p.Write("compile.rsp", n.one("", "-g\n", "-O1\n")+flag+"\n")
		p.Write("link.rsp", n.one("", "-s\n", "-O1\n")+"-Wl,--as-needed\n")
		return Failure{Command: fmt.Sprintf("gcc @compile.rsp -c -o main.o %s.c && gcc @link.rsp -o app main.o", file),
			Right: Plan{line("link.rsp", flag)}}
	}},
	{"make: lines of a recipe need one shell", []string{"make"}, func(p *place.Place, n *names) Failure {
		dir, file, target := n.dir(), n.word()+n.one(".txt", ".csv", ".conf"), n.one("report", "dist", n.snake())
		p.Write(dir+"/"+file, n.word()+"\n")
		p.Write("Makefile", fmt.Sprintf("%s%s:\n\tcd %s\n\t%s %s\n", n.one("", "# "+n.word()+"\n", upper(n.word())+" = 1\n"),
			target, dir, n.one("grep .", "grep -c .", "grep -v '^#'", "grep -n ."), file))
		return Failure{Command: n.one("make ", "make -s ") + target, Right: Plan{run(`sed -i '1i .ONESHELL:' Makefile`)}}
	}},
	{"make: setting of this machine is missing", []string{"make"}, func(p *place.Place, n *names) Failure {
		file, name, target := n.one("local.mk", "config.mk", n.word()+".mk"), upper(n.snake()), n.snake()
		value := n.one("eu", "debug", n.word(), fmt.Sprint(n.number()))
		p.Write(file, fmt.Sprintf("%s = %d\n", upper(n.snake()), n.number()))
		p.Write("Makefile", fmt.Sprintf("include %s\n\nifndef %s\n$(error %[2]s is not set: add a line like "+
			"\"%[2]s = %[3]s\" to %[1]s)\nendif\n\n%[4]s:\n\t@echo $(%[2]s)\n", file, name, value, target))
		return Failure{Command: "make " + target, Right: Plan{line(file, name+" = "+value)}}
	}},
	{"make: compiler of another machine", []string{"make", "gcc", "g++"}, func(p *place.Place, n *names) Failure {
		file, version := n.snake(), n.one("-15", "-16", "-17", "-18", "-19")
		variable, compiler, right, end := "CC", "clang", "gcc", ".c"
		if n.r.IntN(2) == 0 {
			variable, compiler, right, end = "CXX", "clang++", "g++", ".cpp"
		}
		p.Write(file+end, "int main() { return 0; }\n")
		p.Write("toolchain.mk", fmt.Sprintf("%s%s = %s%s\n", n.one("", "AR = ar\n"), variable, compiler, version))
		p.Write("Makefile", fmt.Sprintf("include toolchain.mk\n\n%s: %[1]s%s\n\t$(%s) %s-o $@ $<\n", file, end, variable,
			n.one("", "-O1 ", "-g ")))
		return Failure{Command: "make " + file, Right: Plan{run("sed -i 's/^%s = .*/%[1]s = %s/' toolchain.mk", variable,
			right)}}
	}},
	{"cmake: part of the project asks for a later version", []string{"cmake"}, func(p *place.Place, n *names) Failure {
		part, version := n.one("libs/", "", "third_party/")+n.dashed(), fmt.Sprintf("%d.%d", 4+n.r.IntN(3), 40+n.r.IntN(50))
		p.Write("CMakeLists.txt", fmt.Sprintf("cmake_minimum_required(VERSION 3.10)\nproject(%s NONE)\n"+
			"add_subdirectory(%s)\n", n.word(), part))
		p.Write(part+"/CMakeLists.txt", fmt.Sprintf("cmake_minimum_required(VERSION %s)\nset(%s %d)\n", version,
			upper(n.snake()), n.number()))
		return Failure{Command: "cmake -S . -B " + n.one("build", "out", n.word()),
			Right: Plan{run("sed -i 's/VERSION %s/VERSION 3.10/' %s/CMakeLists.txt", version, part)}}
	}},
	{"cmake: presets of a later format", []string{"cmake", "make"}, func(p *place.Place, n *names) Failure {
		preset := n.one("release", "debug", n.dashed())
		p.Write("CMakeLists.txt", fmt.Sprintf("cmake_minimum_required(VERSION 3.20)\nproject(%s NONE)\n", n.word()))
		p.Write("CMakePresets.json", fmt.Sprintf("{\n  \"version\": %d,\n  \"configurePresets\": [{\"name\": %q, "+
			"\"generator\": \"Unix Makefiles\", \"binaryDir\": %q}]\n}\n", 70+n.r.IntN(20), preset, n.word()))
		return Failure{Command: "cmake --preset " + preset,
			Right: Plan{run(`sed -i 's/"version": [0-9]*/"version": 3/' CMakePresets.json`)}}
	}},
	{"ninja: two rules make the same file", []string{"ninja"}, func(p *place.Place, n *names) Failure {
		text, files := "rule copy\n  command = cp $in $out\n\n", []string{}
		for range 2 + n.r.IntN(3) {
			source, out := n.word()+".txt", n.one("out/", "")+n.snake()+n.one(".bin", ".gen")
			p.Write(source, n.word()+"\n")
			text += fmt.Sprintf("build %s: copy %s\n", out, source)
			files = append(files, out, source)
		}
		out := files[0]
		p.Write("build.ninja", text+fmt.Sprintf("build %s: copy %s\n", out, files[len(files)-1])+n.one("",
			"default "+out+"\n"))
		return Failure{Command: n.one("ninja -t targets all", "ninja -n ", "ninja -v "),
			Right: Plan{run(`sed -i '0,\#^build %[1]s:#!{\#^build %[1]s:#d}' build.ninja`, out)}}
	}},
	// Which repair is right depends on the branch: main refuses changed history, and a changed history cannot be rebased
	// on its old form.
	{"git: push after both sides have changed", []string{"git"}, func(p *place.Place, n *names) Failure {
		file, branch, text, first := n.word()+".txt", "main", n.word()+n.word(), n.word()
		repository(p, file, first+"\n")
		p.Sh("git init -q --bare -b main ../origin.git && git remote add origin ../origin.git && git push -q -u origin main")
		p.Write("../origin.git/hooks/update", "#!/bin/sh\n[ $1 != refs/heads/main ] || [ $2 = $(git merge-base $2 $3) ] || "+
			"{ echo 'main is protected: its history cannot be changed'; exit 1; }\n")
		p.Sh("chmod +x ../origin.git/hooks/update")
		right := run("git pull -q --rebase")
		if n.r.IntN(2) == 0 {
			branch = n.one("feature/", "fix/", "") + n.dashed()
			right = run("git push -q --force-with-lease")
			p.Sh(fmt.Sprintf("git checkout -q -b %s && echo %s > %s && git commit -q -a -m %[2]s && "+
				"git push -q -u origin %[1]s && echo %[4]s > %[3]s && git commit -q -a --amend -m %[4]s", branch, n.word(), file,
				text))
		} else {
			p.Sh(fmt.Sprintf("echo %[1]s > %[1]s.md && git add -A && git commit -q -m %[1]s && git push -q && "+
				"git reset -q --hard HEAD~1 && echo %[2]s > %[3]s && git commit -q -a -m %[2]s", n.word(), text, file))
		}
		return Failure{Command: n.one("git push", "git push -q", "git push --no-verify"), Right: Plan{right},
			Keeps: "git log --all --format=%s | grep -qx " + text, Context: map[string]string{"branch": branch}}
	}},
	{"git: message without the ticket of the branch", []string{"git"}, func(p *place.Place, n *names) Failure {
		ticket := fmt.Sprintf("%s-%d", n.one("PROJ", "OPS", "WEB"), n.number())
		branch, message := n.one("feature/", "fix/", "")+ticket+"-"+n.word(), n.one("message.txt", ".git/"+n.word())
		repository(p, n.word()+".txt", n.word()+"\n")
		p.Sh("git checkout -q -b " + branch)
		p.Write(message, "Change "+n.word()+" and "+n.word()+"\n")
		p.Write(".git/hooks/commit-msg", "#!/bin/sh\nbranch=$(git symbolic-ref --short HEAD)\n"+
			"ticket=$(echo $branch | grep -o '[A-Z][A-Z]*-[0-9][0-9]*' | head -n 1)\n"+
			"head -n 1 $1 | grep -q \"^$ticket: \" || { echo \"commit-msg: the first line must start with the ticket of the "+
			"branch $branch, a colon and a space\"; exit 1; }\n")
		p.Sh("chmod +x .git/hooks/commit-msg")
		return Failure{Command: "git commit -q --allow-empty -F " + message,
			Right: Plan{run("sed -i '1s/^/%s: /' %s", ticket, message)}, Context: map[string]string{"branch": branch}}
	}},
	{"git: file is too large for the hook", []string{"git"}, func(p *place.Place, n *names) Failure {
		file, limit := n.dir()+n.one(".bin", ".csv", ".zip"), 1000*(1+n.r.IntN(9))
		repository(p, n.word()+".txt", n.word()+"\n")
		p.Write(".gitignore", n.one("*.o\n", "out/\n"))
		p.Write(file, strings.Repeat("x", limit+n.number()))
		p.Write(n.word()+".md", n.word()+"\n")
		p.Write(".git/hooks/pre-commit", fmt.Sprintf("#!/bin/sh\nfor f in $(git diff --cached --name-only "+
			"--diff-filter=A); do\n  size=$(git cat-file -s :$f)\n  [ $size -le %d ] || { echo \"pre-commit: $f has $size "+
			"bytes, the limit is %[1]d; do not add build results\"; exit 1; }\ndone\n", limit))
		p.Sh("chmod +x .git/hooks/pre-commit && git add -A")
		return Failure{Command: "git commit -q -m " + n.word(),
			Right: Plan{run("git rm -q --cached %s", file), line(".gitignore", file)}, Keeps: "test -s " + file}
	}},
	{"git: line ends that would be changed", []string{"git"}, func(p *place.Place, n *names) Failure {
		end := n.one(".bat", ".cmd", ".sh", ".conf", ".py", ".bat")
		file := n.one("", n.word()+"/") + n.dashed() + end
		repository(p, n.word()+".txt", n.word()+"\n")
		p.Write(file, n.word()+"\r\n"+n.word()+"\r\n")
		p.Write("check.sh", "#!/bin/sh\n# Programs of Windows need its line ends, all others must not have them.\n"+
			"case $1 in *.bat | *.cmd) want=yes ;; *) want=no ;; esac\nhas=no\n"+
			"git show :$1 | grep -q \"$(printf '\\r')\" && has=yes\n"+
			"[ $has = $want ] || { echo \"$1: Windows line ends: $has, wanted: $want\"; exit 1; }\n")
		p.Sh("git config core.autocrlf input && git config core.safecrlf true")
		right := run(`sed -i 's/\r$//' %s`, file)
		if end == ".bat" || end == ".cmd" {
			right = run("echo '*%s -text' >> .gitattributes", end)
		}
		return Failure{Command: fmt.Sprintf("git add %s && ./check.sh %[1]s", file), Right: Plan{right}}
	}},
	{"git: branch to delete is checked out", []string{"git"}, func(p *place.Place, n *names) Failure {
		first, branch := n.one("main", "trunk", "develop"), n.one("feature/", "fix/", "")+n.dashed()
		p.Sh(fmt.Sprintf("git init -q -b %[1]s ../up && git -C ../up -c user.name=a -c user.email=a@example.com commit -q "+
			"--allow-empty -m %[2]s && git clone -q ../up . && git checkout -q -b %[3]s", first, n.word(), branch))
		return Failure{Command: n.one("git branch -d ", "git branch -D ", "git branch -q -d ") + branch,
			Right: Plan{run("git symbolic-ref --short refs/remotes/origin/HEAD | cut -d/ -f2-"),
				run("git checkout -q {output}")}}
	}},
	{"git: value of a setting is invalid", []string{"git"}, func(p *place.Place, n *names) Failure {
		key, value, _ := strings.Cut(n.one("core.filemode maybe", "core.ignorecase "+n.word(), "core.bigfilethreshold 2GiB",
			"core.precomposeunicode sometimes", "core.symlinks "+n.word(), "core.packedgitlimit lots"), " ")
		repository(p, n.word()+".txt", n.word()+"\n")
		p.Sh(fmt.Sprintf("git config %s %s", key, value))
		return Failure{Command: "git " + n.one("status --short", "log --oneline", "diff HEAD"),
			Right: Plan{run("git config --unset %s", key)}}
	}},
	{"git: tag exists already", []string{"git"}, func(p *place.Place, n *names) Failure {
		tag := n.one("v", "release-", "") + n.version()
		repository(p, n.word()+".txt", n.word()+"\n")
		p.Sh("git tag " + tag + " && git commit -q --allow-empty -m " + n.word())
		return Failure{Command: "git tag " + n.one("", "-a -m "+n.word()+" ", "-m "+n.word()+" ") + tag,
			Right: Plan{run("git tag -d %s", tag)}}
	}},
	{"git: patch has other white space", []string{"git"}, func(p *place.Place, n *names) Failure {
		file, change, a, b := n.dir()+n.one(".txt", ".c"), n.dashed()+n.one(".patch", ".diff"), n.word(), n.word()
		repository(p, file, fmt.Sprintf("%s\n%s  %s\n%s\n", n.word(), a, b, n.word()))
		p.Sh(fmt.Sprintf("echo %s >> %s && git diff > %s && git checkout -q -- %[2]s && sed -i 's/%[4]s  %[5]s/%[4]s "+
			"%[5]s/' "+
			"%[3]s", n.word(), file, change, a, b))
		return Failure{Command: n.one("git apply ", "git apply -v ", "git apply --check ") + change,
			Right: Plan{run("git config apply.ignoreWhitespace change")}}
	}},
	{"git: key to sign with is not set", []string{"git", "ssh-keygen"}, func(p *place.Place, n *names) Failure {
		file := n.one("id_ed25519", "id_"+n.word(), n.dashed())
		p.Sh(fmt.Sprintf("mkdir -p $HOME/.ssh && ssh-keygen -q -t ed25519 -N '' -C %s -f $HOME/.ssh/%s", n.word(), file))
		repository(p, n.word()+".txt", n.word()+"\n")
		p.Sh("git config gpg.format ssh")
		return Failure{Command: n.one("git commit -q --allow-empty -S -m ", "git commit --allow-empty -S -m ") + n.word(),
			Right: Plan{run("find $HOME/.ssh -name '*.pub'"), run("git config user.signingkey {output}")}}
	}},
	{"git: repository of a remote was moved", []string{"git"}, func(p *place.Place, n *names) Failure {
		name, now := n.dashed()+".git", n.one("archive/", n.word()+"/", "srv/"+n.word()+"/")
		remote := n.one("origin", "origin", "upstream")
		repository(p, n.word()+".txt", n.word()+"\n")
		p.Sh(fmt.Sprintf("git init -q --bare ../%[1]s && git remote add %[2]s %[3]s/%[1]s && git push -q -u %[2]s main && "+
			"mkdir -p ../%[4]s && mv ../%[1]s ../%[4]s", name, remote, p.Root, now))
		return Failure{Command: n.one("git fetch", "git pull", "git push") + n.one(" -q", "") + " " + remote + " main",
			Right: Plan{run("find %s -type d -name %s", p.Root, name), run("git remote set-url %s {output}", remote)}}
	}},
	{"git: executable bit is not recorded", []string{"git"}, func(p *place.Place, n *names) Failure {
		file, fresh := n.one("bin/", "", n.word()+"/")+n.dashed(), "../"+n.one("fresh", n.word())
		repository(p, file, "#!/bin/sh\necho "+n.word()+"\n")
		return Failure{Command: fmt.Sprintf("rm -rf %s && git clone -q . %[1]s && %[1]s/%[2]s", fresh, file),
			Right: Plan{run("git update-index --chmod=+x %s", file), run("git commit -q -m mode")}}
	}},
	{"sqlite3: rows loaded before those to which they refer", []string{"sh", "sqlite3"}, func(
		p *place.Place,
		n *names,
	) Failure {
		db, script, parent, child, other := n.word()+".db", "./"+n.dashed()+".sh", n.word(), n.word(), n.word()
		order := n.one("load.order", n.word()+".list")
		p.Write("schema.sql", fmt.Sprintf("CREATE TABLE %s (id INTEGER PRIMARY KEY);\nCREATE TABLE %s (id INTEGER, "+
			"up INTEGER REFERENCES %[1]s (id));\nCREATE TABLE %[3]s (id INTEGER);\n", parent, child, other))
		p.Write(parent+".sql", fmt.Sprintf("INSERT INTO %s VALUES (%d);\n", parent, 7))
		p.Write(child+".sql", fmt.Sprintf("PRAGMA foreign_keys = ON;\nINSERT INTO %s VALUES (%d, 7);\n", child, n.number()))
		p.Write(other+".sql", fmt.Sprintf("INSERT INTO %s VALUES (%d);\n", other, n.number()))
		p.Write(order, n.one(other+"\n"+child+"\n"+parent+"\n", child+"\n"+parent+"\n"+other+"\n",
			child+"\n"+other+"\n"+parent+"\n"))
		p.Write(script, fmt.Sprintf("#!/bin/sh\nset -e\nrm -f %s\nsqlite3 %[1]s < schema.sql\nfor table in $(cat $1); do\n"+
			"  echo \"loading $table\"\n  sqlite3 -bail %[1]s < $table.sql\ndone\n", db))
		return Failure{Command: script + " " + order, Right: Plan{run("sed -i '/^%s$/d' %s && echo %[1]s >> %[2]s", child,
			order)},
			Keeps: "grep -qx " + child + " " + order + " && grep -q foreign_keys " + child + ".sql"}
	}},
	{"sqlite3: fewer values than columns", []string{"sqlite3"}, func(p *place.Place, n *names) Failure {
		db, file, table, columns := n.dashed()+".db", n.dir()+".sql", n.word(), []string{}
		for range 3 + n.r.IntN(3) {
			columns = append(columns, n.snake())
		}
		given := len(columns) - 1 - n.r.IntN(2)
		p.Sh(fmt.Sprintf("sqlite3 %s 'CREATE TABLE %s (%s)'", db, table, strings.Join(columns, " INTEGER, ")+" INTEGER"))
		values := strings.TrimSuffix(strings.Repeat(fmt.Sprint(n.number(), ", "), given), ", ")
		p.Write(file, fmt.Sprintf("INSERT INTO %s VALUES (%s);\n", table, values))
		return Failure{Command: fmt.Sprintf(n.one("sqlite3 %s < %s", "sqlite3 -bail %s < %s"), db, file),
			Right: Plan{run(`sqlite3 %s "SELECT group_concat(name) FROM (SELECT name FROM pragma_table_info('%s') LIMIT %d)"`,
				db,
				table, given), run("sed -i 's/INTO %s VALUES/INTO %[1]s ({output}) VALUES/' %s", table, file)}}
	}},
	{"openssl: certificate has expired", []string{"openssl"}, func(p *place.Place, n *names) Failure {
		leaf, ca, old := n.one("", "certs/")+n.dashed(), 3000, -1
		right := run("openssl x509 -req -in %s.csr -CA pki/ca.pem -CAkey pki/ca.key -CAcreateserial -days 365 -out %[1]s.pem",
			leaf)
		if n.r.IntN(2) == 0 {
			ca, old = -1, 300
			right = run("openssl x509 -in pki/ca.pem -signkey pki/ca.key -days 3650 -out pki/new.pem && " +
				"mv pki/new.pem pki/ca.pem")
		}
		authority(p, n, leaf, n.dashed()+".example.com", ca, old)
		return Failure{Command: fmt.Sprintf("openssl verify %s-CAfile pki/ca.pem %s.pem", n.one("", "-show_chain ",
			"-no-CApath "), leaf), Right: Plan{right}}
	}},
	{"openssl: name is not in the certificate", []string{"openssl"}, func(p *place.Place, n *names) Failure {
		leaf, host := n.one("", "certs/")+n.dashed(), n.dashed()+n.one(".example.com", ".example.org", ".internal")
		authority(p, n, leaf, n.dashed()+".example.com", 3000, 300)
		return Failure{Command: fmt.Sprintf("openssl verify -CAfile pki/ca.pem -verify_hostname %s %s.pem", host, leaf),
			Right: Plan{run("echo subjectAltName=DNS:%s > san.ext", host), run("openssl x509 -req -in %s.csr -CA pki/ca.pem "+
				"-CAkey pki/ca.key -CAcreateserial -days 365 -extfile san.ext -out %[1]s.pem", leaf)}}
	}},
	{"ssh-keygen: signer is not allowed", []string{"ssh-keygen"}, func(p *place.Place, n *names) Failure {
		user, other, file, list := n.word(), n.word(), n.dashed()+".txt", n.one("allowed_signers", "conf/signers")
		p.Write(file, n.word()+"\n")
		p.Write(list, "")
		p.Write("keys/README", n.word()+"\n")
		for _, u := range []string{user, other} {
			p.Sh(fmt.Sprintf("ssh-keygen -q -t ed25519 -N '' -C %s -f %[1]s && mv %[1]s.pub keys/", u))
		}
		p.Sh(fmt.Sprintf("ssh-keygen -q -Y sign -f %s -n file %s && rm -f %[1]s %[3]s && "+
			"echo \"%[3]s@example.com $(cut -d' ' -f1,2 keys/%[3]s.pub)\" > %[4]s", user, file, other, list))
		return Failure{Command: fmt.Sprintf("ssh-keygen -Y verify -f %s -I %s@example.com -n file -s %s.sig < %[3]s", list,
			user, file), Right: Plan{run("cut -d' ' -f1,2 keys/%s.pub", user), line(list, user+"@example.com {output}")}}
	}},
}

// authority makes pki/ca.pem, and a certificate with its key and its request. The days may be negative.
func authority(p *place.Place, n *names, leaf, host string, ca, days int) {
	p.Write("pki/ca.ext", "basicConstraints=critical,CA:TRUE\n")
	p.Write(leaf+".pem", "")
	p.Sh(fmt.Sprintf("openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout pki/ca.key -out ca.csr "+
		"-subj /CN=%[1]s && openssl x509 -req -in ca.csr -signkey pki/ca.key -days %[2]d -extfile pki/ca.ext -out "+
		"pki/ca.pem && "+
		"openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout %[3]s.key -out %[3]s.csr -subj "+
		"/CN=%[4]s "+
		"&& openssl x509 -req -in %[3]s.csr -CA pki/ca.pem -CAkey pki/ca.key -CAcreateserial -days %[5]d -out %[3]s.pem && "+
		"rm -f ca.csr pki/ca.ext", n.dashed(), ca, leaf, host, days))
}
