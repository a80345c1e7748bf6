package ledger

import (
	"encoding/json"

	"github.com/mneme/mneme/schema"
)

// WorkingUpdate is the payload of working.updated as a Go program writes it. It is read as a partial
// schema.WorkingPayload: an absent field keeps its value, a present field replaces it. A list is replaced as a whole,
// and an empty list clears it, which schema.WorkingPayload cannot express because it omits empty lists.
type WorkingUpdate struct {
	ThreadID          string            `json:"thread_id,omitempty"`
	TaskID            string            `json:"task_id,omitempty"`
	State             schema.TaskState  `json:"state,omitempty"`
	ActiveConstraints []json.RawMessage `json:"active_constraints,omitzero"` // strings or objects
	NextActions       []string          `json:"next_actions,omitzero"`
	OpenQuestions     []string          `json:"open_questions,omitzero"`
	ContextSummary    *string           `json:"context_summary,omitempty"`
}
