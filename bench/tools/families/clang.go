package families

import (
	"fmt"

	"github.com/mneme/mneme/bench/tools/place"
)

// options is the file of the compiler's options that the commands of these families name as @FILE.
const options = "build.rsp"

func printing(what string) string {
	return "#include <stdio.h>\n\nint main(void) {\n\tprintf(\"%d\\n\", " + what + ");\n\treturn 0;\n}\n"
}

var cFamilies = []Family{
	{"gcc: directory of a header not searched", []string{"gcc"}, func(p *place.Place, n *names) Failure {
		header, file := n.snake()+".h", n.snake()+".c"
		p.Write(n.dir()+"/"+header, fmt.Sprintf("#define LIMIT %d\n", n.number()))
		p.Write(file, "#include \""+header+"\"\n"+printing("LIMIT"))
		p.Write(options, "-Wall\n")
		return Failure{Command: fmt.Sprintf("gcc @%s -c %s", options, file),
			Right: Plan{run(`echo "-I$(dirname $(find . -name %s))" >> %s`, header, options)}}
	}},
	{"gcc: macro not defined", []string{"gcc"}, func(p *place.Place, n *names) Failure {
		macro := "HAVE_" + upper(n.snake())
		file := n.word() + "/" + n.snake() + ".c"
		p.Write(file, fmt.Sprintf("#ifndef %[1]s\n#error %[1]s is not set\n#endif\n%[2]s", macro, printing(macro)))
		p.Write(options, "-O1\n")
		return Failure{Command: fmt.Sprintf("gcc @%s -o app %s", options, file), Right: Plan{line(options, "-D"+macro+"=1")}}
	}},
	{"gcc: standard too old", []string{"gcc"}, func(p *place.Place, n *names) Failure {
		file, i := n.snake()+".c", n.word()
		p.Write(file, fmt.Sprintf("int %s(void) {\n\tint sum = 0;\n"+
			"\tfor (int %[2]s = 0; %[2]s < %[3]d; %[2]s++) sum += %[2]s;\n\treturn sum;\n}\n", n.snake(), i,
			n.number()))
		p.Write(options, n.one("-std=c89", "-std=gnu89")+"\n-O1\n")
		return Failure{Command: fmt.Sprintf("gcc @%s -c %s", options, file), Right: Plan{line(options, "-std=c11")}}
	}},
	{"gcc: code that depends on its position", []string{"gcc"}, func(p *place.Place, n *names) Failure {
		file, lib := n.snake(), "lib"+n.word()+".so"
		p.Write(file+".c", fmt.Sprintf("#include <stdio.h>\nint %[1]s = %[2]d;\n"+
			"int *at_%[1]s(void) { puts(\"x\"); return &%[1]s; }\n", n.snake(), n.number()))
		p.Write(options, "-O1 -fno-pic\n")
		return Failure{Command: fmt.Sprintf("gcc @%s -c %[2]s.c && gcc -shared -o %[3]s %[2]s.o", options, file, lib),
			Right: Plan{line(options, "-fPIC")}}
	}},
	{"gcc: variable defined in a header", []string{"gcc"}, func(p *place.Place, n *names) Failure {
		shared, header, one, two := n.snake(), n.word()+".h", n.word()+".c", n.word()+".c"
		p.Write(header, "int "+shared+";\n")
		p.Write(one, fmt.Sprintf("#include %q\nvoid set(void) { %s = %d; }\n", header, shared, n.number()))
		p.Write(two, fmt.Sprintf("#include %q\nvoid set(void);\nint main(void) { set(); return %s == 0; }\n", header,
			shared))
		p.Write(options, "-O1\n")
		return Failure{Command: fmt.Sprintf("gcc @%s -o app %s %s", options, one, two),
			Right: Plan{line(options, "-fcommon")}}
	}},
	{"gcc: directory of a library not searched", []string{"gcc"}, func(p *place.Place, n *names) Failure {
		lib, dir, file := n.word(), n.dir(), n.snake()+".c"
		p.Write("src.c", fmt.Sprintf("int limit(void) { return %d; }\n", n.number()))
		p.Write(dir+"/README", "built\n")
		p.Sh(fmt.Sprintf("gcc -c src.c && ar rcs %s/lib%s.a src.o && rm src.c src.o", dir, lib))
		p.Write(file, "int limit(void);\n"+printing("limit()"))
		p.Write(options, "-L/usr/local/lib\n")
		// Two calls: the second needs what the first one found.
		return Failure{Command: fmt.Sprintf("gcc @%s -o app %s @%s -l%s", options, file, options, lib),
			Right: Plan{run("dirname $(find . -name 'lib%s.*')", lib), line(options, "-L./"+dir)}}
	}},
	{"make: configuration not copied", []string{"make"}, func(p *place.Place, n *names) Failure {
		config, target := n.word()+".mk", n.snake()
		p.Write(config+".example", fmt.Sprintf("LIMIT = %d\n", n.number()))
		p.Write("Makefile", fmt.Sprintf("include %s\n\n%s:\n\t@echo $(LIMIT)\n", config, target))
		return Failure{Command: "make " + target, Right: Plan{run("cp %[1]s.example %[1]s", config)}}
	}},
	{"make: directory of the output missing", []string{"make"}, func(p *place.Place, n *names) Failure {
		dir, target := n.dir(), n.snake()
		p.Write("Makefile", fmt.Sprintf("%[1]s: %[2]s/%[3]s.txt\n\n%[2]s/%[3]s.txt:\n\techo %[4]d > $@\n", target, dir,
			n.word(), n.number()))
		return Failure{Command: "make " + target, Right: Plan{run("mkdir -p %s", dir)}}
	}},
	{"make: broken object file", []string{"make", "gcc"}, func(p *place.Place, n *names) Failure {
		file := n.snake()
		p.Write(file+".c", printing(fmt.Sprint(n.number())))
		p.Write("Makefile", fmt.Sprintf("app: %[1]s.o\n\t$(CC) -o $@ $^\n\nclean:\n\trm -f app *.o\n", file))
		p.Write(file+".o", "cut off\n")
		return Failure{Command: "make app", Right: Plan{run("make clean")}}
	}},
}
