package changes

import "strings"

// Frames are phrases before or after a statement. %s is the statement.
var (
	devFrames = []string{"For the record: %s", "Please note: %s", "Quick note: %s", "So that you know: %s",
		"%s Thanks!",
		"%s Please keep that in mind.", "One more thing: %s", "Hi, %s", "%s Just so that it is written down somewhere."}
	heldoutFrames = []string{"Before I forget: %s", "Oh, and another thing. %s", "Morning! %s",
		"%s Long story, ask me over lunch.", "%s Not that anyone asked.", "Notes from the call: %s", "%s :)",
		"Hello there. %s", "%s That's all from me.", "Could you write this down? %s"}
)

// shareFramed is the share of statements that get a frame.
const shareFramed = 0.2

// framed puts the text into a random frame, with probability shareFramed. Otherwise it returns the text unchanged.
func (g *generator) framed(text string) string {
	if g.Float64() >= shareFramed {
		return text
	}
	frame := pick(g.Rand, g.frames)
	if strings.HasPrefix(frame, "%s ") && !strings.ContainsAny(text[len(text)-1:], ".!?") {
		text += "."
	}
	return strings.Replace(frame, "%s", text, 1)
}
