package ledger

import (
	"encoding/json"

	"github.com/mneme/mneme/schema"
)

// WorkingUpdate is the payload of working.updated as a Go program writes it. It is read as a schema.WorkingPayload of
// which only some fields are given: a field that is left out keeps its value, a field that is given replaces it. A list
// is replaced as a whole, and an empty one clears it, which schema.WorkingPayload cannot say since it omits empty
// lists.
type WorkingUpdate struct {
	ThreadID          string            `json:"thread_id,omitempty"`
	TaskID            string            `json:"task_id,omitempty"`
	State             schema.TaskState  `json:"state,omitempty"`
	ActiveConstraints []json.RawMessage `json:"active_constraints,omitzero"` // strings or objects
	NextActions       []string          `json:"next_actions,omitzero"`
	OpenQuestions     []string          `json:"open_questions,omitzero"`
	ContextSummary    *string           `json:"context_summary,omitempty"`
}
