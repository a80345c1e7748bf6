package main

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/mneme/mneme/api"
)

// catalogue has the commands that the agent tries, in this order, if neither Mneme nor its own rules know what to do.
// {dir} is the directory of the file that an error names.
var catalogue = []string{"gofmt -w .", "go mod tidy", "go mod vendor", "go generate {dir}"}

// allowed are the beginnings of the commands that the agent runs when they are advised. It never runs a memory's text
// unchecked.
var allowed = []string{"gofmt -w ", "go mod tidy", "go mod vendor", "go generate "}

var (
	goFile   = regexp.MustCompile(`(?m)^([\w./-]+\.go):\d+`)
	duration = regexp.MustCompile(`\b\d+(\.\d+)?m?s\b`)
)

// fileOf is the file that a complaint names first, or go.mod if it names none.
func fileOf(complaint string) string {
	if found := goFile.FindStringSubmatch(complaint); found != nil {
		return path.Clean(found[1])
	}
	return "go.mod"
}

// commands are those of the catalogue for a complaint, with those that did not help before last.
func commands(complaint string, didNotHelp []api.DidNotHelp) []string {
	var first, last []string
	for _, command := range catalogue {
		command = strings.ReplaceAll(command, "{dir}", "./"+path.Dir(fileOf(complaint)))
		if slices.ContainsFunc(didNotHelp, func(d api.DidNotHelp) bool { return commandIn(d.Steps) == command }) {
			last = append(last, command)
		} else {
			first = append(first, command)
		}
	}
	return append(first, last...)
}

// commandOf is the command of an option that the agent can follow, or "". The directory is the agent's own, whatever
// the option says.
func commandOf(option api.AdviceOption) string {
	command := commandIn(option.Steps)
	if strings.ContainsAny(command, "{}") ||
		!slices.ContainsFunc(allowed, func(start string) bool { return strings.HasPrefix(command, start) }) {
		return ""
	}
	return command
}

// commandIn is the only command of some steps, or "". The check at their end is made in any case.
func commandIn(steps []api.AdviceStep) (command string) {
	for _, step := range steps {
		text, _ := step.Args["command"].(string)
		switch {
		case step.Tool == "RunCheck":
		case step.Tool == "RunCommand" && command == "":
			command = text
		default:
			return ""
		}
	}
	return command
}

// sameComplaint reports whether two outputs of a check are equal, ignoring the duration of tests.
func sameComplaint(a, b string) bool {
	return duration.ReplaceAllString(a, "") == duration.ReplaceAllString(b, "")
}
