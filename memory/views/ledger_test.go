package views_test

import (
	"encoding/json"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

var (
	noon   = time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)
	agents = []string{"baker", "smith", "judge"}
	kinds  = []string{"world.observed", "judge.verdict", "user.injected", "run.started", "agent.reflected",
		"verdict.final",
		"clue.found", "agent.spoke", "agent.thought", "tool.called", "market.closed"}
	words = []string{"bread", "oven", "fire", "rain", "letter", "mill", "Bread!", "don't"}
)

// say returns an event of the stream run/village with a text.
func say(seq int, agent, kind, text string) ledger.Event {
	payload, err := json.Marshal(ledger.Text{Text: text})
	if err != nil {
		panic(err)
	}
	at := noon.Add(time.Duration(seq) * time.Minute)
	return ledger.Event{ID: fmt.Sprintf("e%d", seq), Stream: "run/village", Seq: int64(seq), Agent: agent, Kind: kind,
		Turn: seq, OccurredAt: at, RecordedAt: &at, Payload: payload}
}

// reflect returns an event that holds a reflection.
func reflect(seq int, agent string, r ledger.Reflection) ledger.Event {
	e := say(seq, agent, ledger.KindAgentReflected, "")
	payload, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	e.Payload = payload
	return e
}

func ids(events []ledger.Event) []string {
	out := []string{}
	for _, e := range events {
		out = append(out, e.ID)
	}
	return out
}

// anyLedger draws a ledger as in document 001: one stream, in order, without visibility.
func anyLedger() *rapid.Generator[[]ledger.Event] {
	return rapid.Custom(func(t *rapid.T) []ledger.Event {
		var out []ledger.Event
		turn := 0
		for seq := range rapid.IntRange(0, 40).Draw(t, "length") {
			turn += rapid.IntRange(0, 2).Draw(t, "turns")
			text := fmt.Sprint(rapid.SliceOfN(rapid.SampledFrom(words), 0, 4).Draw(t, "words"))
			kind := rapid.SampledFrom(kinds).Draw(t, "kind")
			e := say(seq+1, rapid.SampledFrom(agents).Draw(t, "agent"), kind, text)
			if kind == "agent.reflected" {
				e = reflect(seq+1, e.Agent, ledger.Reflection{Belief: text + " it is", BasedOn: []string{"e1"}})
			}
			e.Turn = turn
			out = append(out, e)
		}
		return out
	})
}

// hardLedger draws a ledger of several streams whose events use all fields.
func hardLedger() *rapid.Generator[[]ledger.Event] {
	return rapid.Custom(func(t *rapid.T) []ledger.Event {
		events := anyLedger().Draw(t, "events")
		seqs := map[string]int64{}
		for i := range events {
			e := &events[i]
			e.Stream = rapid.SampledFrom([]string{"run/village", "world/town", "conversation/a"}).Draw(t, "stream")
			seqs[e.Stream]++
			e.Seq = seqs[e.Stream]
			at := e.RecordedAt.Add(time.Duration(rapid.IntRange(-3, 3).Draw(t, "skew")) * time.Minute)
			e.RecordedAt = &at
			e.Visibility = rapid.SampledFrom([]schema.Visibility{"", "", "private", "group", "shared", "global",
				"odd"}).Draw(t, "visibility")
			e.Sensitivity = rapid.SampledFrom([]schema.Sensitivity{"", "public", "low", "medium", "high", "hyper",
				"odd"}).Draw(t, "sensitivity")
			e.PolicyGroup = rapid.SampledFrom([]string{"", "guild", "court"}).Draw(t, "group")
			e.Erased = rapid.IntRange(0, 9).Draw(t, "erased") == 0
		}
		return events
	})
}
