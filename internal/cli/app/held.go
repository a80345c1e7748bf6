package app

import (
	"regexp"
	"strings"

	"github.com/mneme/mneme/store/admin"
)

// HeldText prints what is stored of a user, and the commands that erase it.
func HeldText(t *Text, h admin.HeldOfUser) {
	user := Printable(h.User)
	if h.Nothing() {
		t.Line("nothing is stored of user %s", user)
		return
	}
	t.Line("stored of user %s, and how to erase it:", user)
	line := func(n int64, what, command string) {
		if n > 0 {
			t.Line("  %s (%d): mneme %s --user %s", what, n, command, user)
		}
	}
	line(h.Events, "events", "events erase --all")
	line(h.Topics, "topics", "topics remove --all")
	for _, m := range h.Memories {
		line(m.Memories, "memories", "forget --all --mode erase --agent "+shellWord(Printable(m.Agent)))
	}
	line(h.Artifacts, "artifacts", "artifact remove --all")
}

var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// shellWord returns a text as one word of a shell command.
func shellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
