package exchange

import (
	"fmt"
	"strings"
	"time"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
)

// locomoConversation is one conversation of LoCoMo (Maharana et al., ACL 2024) as a line of JSON.
type locomoConversation struct {
	ID    string       `json:"conversation"`
	Turns []locomoTurn `json:"turns"`
}

type locomoTurn struct {
	ID      string `json:"id"`
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
	Session int    `json:"session"`
	When    string `json:"when"` // of the session
	Caption string `json:"image_caption"`
}

// candidates returns one observation for each turn.
func (c locomoConversation) candidates() ([]schema.Candidate, error) {
	out := make([]schema.Candidate, 0, len(c.Turns))
	for i, turn := range c.Turns {
		at, err := ParseLocomoTime(turn.When)
		if err != nil {
			return nil, app.Invalid(fmt.Sprintf("turns[%d].when", i), `must be a time such as "1:56 pm on 8 May, 2023"`)
		}
		content := turn.Text
		if turn.Caption != "" {
			content = strings.TrimSpace(content + " [shares " + turn.Caption + "]")
		}
		out = append(out, schema.Candidate{
			Content: content, SourceKind: schema.SourceObservation, Speaker: turn.Speaker,
			Session:    fmt.Sprintf("%s/%d", c.ID, turn.Session),
			OccurredAt: &at, Refs: []schema.Ref{{Kind: "event", Ref: c.ID + "/" + turn.ID}},
		})
	}
	return out, nil
}

// ParseLocomoTime reads "1:56 pm on 8 May, 2023". The data set has no time zones.
func ParseLocomoTime(s string) (time.Time, error) {
	return time.Parse("3:04 pm on 2 January, 2006", strings.ToLower(strings.TrimSpace(s)))
}
