package advice

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mneme/mneme/memory/normalize"
)

// removes reports whether a call removes data that cannot be made again: by the words of the tool's name, or by a
// command or a statement in one of its arguments. It is a guess that only decides between repairs that both work. The
// removal of what tools make again, such as caches, does not count.
func removes(tool string, args []string) bool {
	name := strings.FieldsFunc(normalize.Lower(tool), func(r rune) bool { return !unicode.IsLetter(r) })
	if slices.ContainsFunc(name, func(w string) bool { return removingTools[w] }) &&
		!slices.ContainsFunc(name, madeAgain.MatchString) {
		return true
	}
	return slices.ContainsFunc(args, func(text string) bool {
		if removingSQL.MatchString(text) {
			return true
		}
		for _, command := range commandEnd.Split(text, -1) {
			if removingCommand(strings.Fields(command)) {
				return true
			}
		}
		return false
	})
}

var (
	removingTools = normalize.Set("delete remove drop truncate purge erase wipe destroy unlink")
	removingSQL   = regexp.MustCompile(`(?i)\b(?:drop\s+(?:table|database|schema|column|index|view|user|role)|` +
		`delete\s+from|truncate\s+table)\b`)
	commandEnd = regexp.MustCompile(`[;|&\n()]+|\s-exec\s`)

	// before are programs that run another one.
	before          = normalize.Set("sudo env xargs nice time nohup exec command")
	removingProgram = normalize.Set("rm unlink shred truncate mkfs wipefs dropdb")

	// removingVerbs are subcommands, by program; removingOptions are the options that make a subcommand remove data.
	removingVerbs = map[string]map[string]bool{
		"git":       normalize.Set("clean filter-branch"),
		"docker":    normalize.Set("rm rmi prune"),
		"podman":    normalize.Set("rm rmi prune"),
		"kubectl":   normalize.Set("delete"),
		"terraform": normalize.Set("destroy"),
		"helm":      normalize.Set("uninstall delete"),
		"redis-cli": normalize.Set("flushall flushdb del"),
		"svn":       normalize.Set("delete revert"),
		"btrfs":     normalize.Set("delete"),
		"zfs":       normalize.Set("destroy"),
	}
	removingOptions = map[string][]string{
		"git reset":    {"--hard"},
		"git checkout": {"--", "-f", "--force", "--ours", "--theirs", "."},
		"git switch":   {"-f", "--force", "--discard-changes"},
		"git restore":  {""},
		"git push":     {"-f", "--force", "--mirror", "--delete", "-d"},
		"git branch":   {"-D"},
		"git stash":    {"drop", "clear"},
		"git worktree": {"--force", "-f"},
		"git reflog":   {"expire"},
		"find":         {"-delete"},
		"rsync":        {"--delete"},
		"kafka-topics": {"--delete"},
	}

	// madeAgain matches names of what tools make again.
	madeAgain = regexp.MustCompile(`(?i)^(?:node_modules|vendor|__pycache__|\.?cache|\.?tmp|temp|build|dist|target|out|` +
		`bin|obj|index\.lock|.*\.(?:o|a|so|pyc|class|d|lock|pid|tmp|cache|log|rej|orig|new))$|cache`)
)

func removingCommand(words []string) bool {
	for len(words) > 0 && (before[path.Base(words[0])] || strings.Contains(words[0], "=") ||
		strings.HasPrefix(words[0], "-")) {
		words = words[1:]
	}
	if len(words) == 0 {
		return false
	}
	program, rest := path.Base(words[0]), words[1:]
	if removingProgram[program] {
		lasts := func(w string) bool { return !strings.HasPrefix(w, "-") && !remade(w) }
		return slices.ContainsFunc(rest, lasts) || len(rest) == 0 || program != "rm"
	}
	var verbs []string // git -C DIR VERB, docker volume VERB
	for i := 0; i < len(rest) && len(verbs) < 2; i++ {
		if rest[i] == "-C" || rest[i] == "-c" {
			i++
		} else if !strings.HasPrefix(rest[i], "-") {
			verbs = append(verbs, rest[i])
		}
	}
	verb := ""
	if len(verbs) > 0 {
		verb = verbs[0]
	}
	if grouped := program == "docker" || program == "podman"; removingVerbs[program][verb] ||
		grouped && len(verbs) > 1 && removingVerbs[program][verbs[1]] {
		return true
	}
	for _, key := range []string{program, program + " " + verb} {
		for _, option := range removingOptions[key] {
			if option == "" || slices.Contains(rest, option) {
				return true
			}
		}
	}
	return false
}

// remade reports whether a path names something that tools make again.
func remade(file string) bool {
	file = strings.Trim(file, `"'`)
	return slices.ContainsFunc(strings.Split(file, "/"), madeAgain.MatchString) || strings.HasSuffix(file, ".git/index")
}
