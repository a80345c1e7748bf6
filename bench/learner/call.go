package learner

import (
	"encoding/json"

	"github.com/mneme/mneme/schema/ledger"
)

// Called adds a call with its arguments, and the tool's answer.
func (s *Session) Called(tool string, args map[string]string, output string, ok bool) {
	s.calls++
	id := callID(s.calls)
	encoded, _ := json.Marshal(args) // of texts
	s.add(ledger.KindToolCalled, ledger.ToolCall{CallID: id, Tool: tool, Args: encoded})
	if !ok {
		s.add(ledger.KindToolFailed, ledger.ToolResult{CallID: id, Error: output, DurationMS: 20})
		return
	}
	answer, _ := json.Marshal(output) // of a text
	s.add(ledger.KindToolReturned, ledger.ToolResult{CallID: id, Result: answer, DurationMS: 20})
}
