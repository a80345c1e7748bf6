package memory

import "strings"

// assistants has the speaker names of assistants in recorded conversations.
var assistants = map[string]bool{"assistant": true, "ai": true, "bot": true, "chatbot": true,
	"llm": true, "copilot": true}

// IsAssistant reports whether a speaker is an assistant: it has the name of one, or is the agent that owns the memory.
// It returns false for an unknown speaker.
func IsAssistant(speaker, agent string) bool {
	return speaker != "" && (strings.EqualFold(speaker, agent) || assistants[strings.ToLower(speaker)])
}
