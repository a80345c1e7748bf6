package openai

import (
	"context"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/reply"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema/ledger"
)

// Limits of the events in a reflection's prompt, in characters: of one event, and of all together. With many long
// events each gets an equal share, but at least minEventChars.
const (
	maxEventChars = 1_000
	maxSpanChars  = 48_000
	minEventChars = 160
)

var reflectionSystem = system("reflection")

var reflectionSchema = []byte(
	`{"type":"object","properties":{"belief":{"type":"string"},` +
		`"based_on":{"type":"array","items":{"type":"integer"}}},` +
		`"required":["belief","based_on"],"additionalProperties":false}`,
)

var _ inference.Reasoner = (*chat)(nil)

// Reflect implements inference.Reasoner. The model sees numbers instead of ids. An answer with an unknown number is not
// used.
func (c *chat) Reflect(
	ctx context.Context,
	agent string,
	span []ledger.Event,
) (inference.Belief, inference.Usage, error) {
	a, usage, err := c.complete(ctx, reflectionPrompt(agent, span))
	if err != nil {
		return inference.Belief{}, usage, err
	}
	if a.text == "" || a.partial {
		return inference.Belief{}, usage, &inference.AnswerError{Problem: "it is empty or was cut off"}
	}
	text, places, err := reply.Belief(a.text, len(span))
	if err != nil {
		return inference.Belief{}, usage, &inference.AnswerError{Problem: err.Error()}
	}
	belief := inference.Belief{Text: text}
	for _, place := range places {
		belief.BasedOn = append(belief.BasedOn, span[place].ID)
	}
	return belief, usage, nil
}

func reflectionPrompt(agent string, span []ledger.Event) prompt {
	type event struct {
		N     int    `json:"n"`
		Turn  int    `json:"turn,omitempty"`
		Agent string `json:"agent"`
		Kind  string `json:"kind"`
		Text  string `json:"text"`
	}
	data := struct {
		Agent  string  `json:"agent"`
		Events []event `json:"events"`
	}{Agent: agent}
	most := max(minEventChars, min(maxEventChars, maxSpanChars/max(1, len(span))))
	for i, e := range span {
		text := views.Text(e)
		if cut := firstChars(text, most); cut != text {
			text = cut + " [truncated]"
		}
		data.Events = append(data.Events, event{N: i + 1, Turn: e.Turn, Agent: e.Agent, Kind: e.Kind, Text: text})
	}
	return prompt{
		name: "reflection", schema: reflectionSchema, system: reflectionSystem,
		user: enclose("agent and events", "", encode(data)) +
			"\n\nSay what the agent should still know of these events, as one JSON object.",
	}
}
