package signature

import (
	"regexp"
	"strings"
)

// ofSystem matches the directories of programs that are installed. Other programs with a directory are the project's.
var ofSystem = regexp.MustCompile(`^/(?:usr|opt|s?bin|lib(?:exec|\d+)?|nix|snap|Library|Applications)/|` +
	`/(?:\.local|\.cargo|\.nvm|\.pyenv|\.rbenv|\.rustup|\.sdkman|\.asdf)/`)

// ofProject reports whether the name of a program is the path of one that the project has or makes.
func ofProject(name string) bool { return strings.Contains(name, "/") && !ofSystem.MatchString(name) }
