package align

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/memory/normalize"
)

// words adds the words of the arguments of the call that failed, subcommands not included.
func (k Known) words(failed trace.Step) {
	const (
		read = 4  // number of arguments with several words that are read
		most = 12 // number of words of an argument
		last = 3  // number of words counted from the end
	)
	n := 0
	for _, arg := range slices.Sorted(maps.Keys(failed.Args)) {
		text := failed.Args[arg].Text
		options := Attached(text)
		for _, letter := range slices.Sorted(maps.Keys(options)) {
			k.add(fmt.Sprintf("failed.%s.option.%s", arg, letter), options[letter])
		}
		words, verbs := Words(text), Subcommands(text)
		if len(words) < 2 || n == read {
			continue
		}
		n++
		for i, w := range words[:min(len(words), most)] {
			if !verbs[i] {
				k.add(fmt.Sprintf("failed.%s.word.%d", arg, i), w)
				if file, ok := ArgumentFile(w); ok {
					k.add(fmt.Sprintf("failed.%s.word.%d.at", arg, i), file)
				}
			}
		}
		for i := range min(len(words), last) {
			if at := len(words) - 1 - i; !verbs[at] {
				k.add(fmt.Sprintf("failed.%s.last_word.%d", arg, i), words[at])
			}
		}
	}
}

// attached matches an option of one capital letter with its value.
var attached = regexp.MustCompile(`^-([A-Z])([\w./~@+-]*\w/?)$`)

// Attached returns the values that follow options of one capital letter without a space, by the letter: east in -Ieast.
// Of several options with the same letter it returns the first.
func Attached(text string) map[string]string {
	out := map[string]string{}
	for _, word := range strings.Fields(text) {
		if m := attached.FindStringSubmatch(word); m != nil && out[m[1]] == "" {
			out[m[1]] = m[2]
		}
	}
	return out
}

// Separate returns the words that follow options, by the option: out in -cp out. Some options have no value: then it is
// a word that happens to follow.
func Separate(text string) map[string]string {
	out := map[string]string{}
	words := strings.Fields(text)
	for i, word := range words[:max(0, len(words)-1)] {
		if value := fields(words[i+1]); strings.HasPrefix(word, "-") && len(value) == 1 && out[word] == "" {
			out[word] = value[0]
		}
	}
	return out
}

// ArgumentFile returns the name of a file with arguments in a call: list.x in @list.x.
func ArgumentFile(word string) (string, bool) {
	file, ok := strings.CutPrefix(word, "@")
	return file, ok && path.Ext(file) != ""
}

// optionValue matches an option with its value.
var optionValue = regexp.MustCompile(`(^|\s)(-[\w-]+)=('[^']*'|"[^"]*"|[^\s;|&]*)`)

// Words returns the words of an argument, without quotes and without options. The value of an option is a word if it
// follows the option, or if it is a path: an equal word elsewhere is equal to a setting (-count=1) by chance.
func Words(text string) []string {
	return fields(optionValue.ReplaceAllStringFunc(text, func(option string) string {
		if _, value, _ := strings.Cut(option, "="); pathForm.MatchString(value) && !numberForm.MatchString(value) {
			return option
		}
		return " "
	}))
}

// fields returns the words of a text, without quotes and options.
func fields(text string) []string {
	return slices.DeleteFunc(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("'\"`;|&<>(){}=,", r)
	}), func(w string) bool { return strings.HasPrefix(w, "-") })
}

var (
	commandEnd = regexp.MustCompile(`[;|&\n()]+`)
	verbForm   = regexp.MustCompile(`^[a-z][a-z-]*$`)

	// withVerbs has programs whose first word is a subcommand.
	withVerbs = normalize.Set(`git go npm yarn pnpm cargo docker podman kubectl helm terraform systemctl apt apt-get dnf
		yum brew pip pip3 gh hg svn rustup dotnet conda poetry uv bundle gem openssl`)
)

// Commands returns the words of each command of an argument (Words), without subcommands.
func Commands(text string) (out [][]string) {
	for _, command := range commandEnd.Split(text, -1) {
		verbs := Subcommands(command)
		var words []string
		for i, w := range Words(command) {
			if !verbs[i] {
				words = append(words, w)
			}
		}
		if len(words) > 0 {
			out = append(out, words)
		}
	}
	return out
}

// Subcommands returns the indexes of the words of an argument (Words) that are subcommands of programs: branch in git
// branch topic.
func Subcommands(text string) map[int]bool {
	out := map[int]bool{}
	n := 0
	for _, command := range commandEnd.Split(text, -1) {
		words := Words(command)
		for i, w := range words {
			if !withVerbs[path.Base(w)] {
				continue
			}
			// The value of git -C DIR is not the subcommand.
			if _, after, _ := strings.Cut(command, w); strings.HasPrefix(strings.TrimSpace(after), "-C ") {
				i++
			}
			if i+1 < len(words) && verbForm.MatchString(words[i+1]) {
				out[n+i+1] = true
			}
			break
		}
		n += len(words)
	}
	return out
}
