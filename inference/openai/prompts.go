package openai

import (
	"embed"
	"strings"
)

//go:embed prompts/*.txt
var prompts embed.FS

// system returns the system prompt of a use. It panics if there is none, since the files are part of the program.
func system(use string) string {
	text, err := prompts.ReadFile("prompts/" + use + ".txt")
	if err != nil {
		panic(err)
	}
	return strings.TrimSuffix(string(text), "\n")
}
