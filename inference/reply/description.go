package reply

import (
	"fmt"

	"github.com/mneme/mneme/memory/learning/wording"
)

// Description reads the answer {"name":"…","steps":[{"number":1,"tool":"…","text":"…"}]}. It is strict: an answer
// with an unreadable part, an unknown member, or more steps than any procedure has, is an error.
func Description(text string) (wording.Description, error) {
	var read struct {
		Name  string `json:"name"`
		Steps []struct {
			Number int    `json:"number"`
			Tool   string `json:"tool"`
			Text   string `json:"text"`
		} `json:"steps"`
	}
	if err := only(text, "steps", &read); err != nil {
		return wording.Description{}, err
	}
	if len(read.Steps) > wording.MaxShow {
		return wording.Description{}, fmt.Errorf("answer.steps: has more than %d elements", wording.MaxShow)
	}
	out := wording.Description{Name: read.Name}
	for _, s := range read.Steps {
		out.Steps = append(out.Steps, wording.Step{Number: s.Number, Tool: s.Tool, Text: s.Text})
	}
	return out, nil
}
