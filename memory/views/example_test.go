package views_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema/ledger"
)

func villageEvents() []ledger.Event {
	return []ledger.Event{
		say(1, "narrator", ledger.KindWorldObserved, "The oven is on fire."),
		say(2, "smith", ledger.KindAgentThought, "Good."),
		say(3, "baker", ledger.KindAgentThought, "Water, quick."),
		say(4, "guest", ledger.KindUserInjected, "Is there bread?"),
		say(5, "baker", ledger.KindAgentSpoke, "Not today."),
	}
}

func ExampleViewer_Visible() {
	for _, e := range (views.Viewer{Agent: "baker"}).Visible(villageEvents()) {
		fmt.Println(e.Agent, e.Kind)
	}
	// Output:
	// narrator world.observed
	// baker agent.thought
	// guest user.injected
	// baker agent.spoke
}

func ExampleEpisodicMemory() {
	memory := views.EpisodicMemory{Viewer: views.Viewer{Agent: "smith"}, Window: 2}
	for _, e := range memory.Recall(villageEvents()) {
		fmt.Println(views.Text(e))
	}
	// Output:
	// Good.
	// Is there bread?
}

func ExampleSalienceMemory_Rank() {
	memory := views.SalienceMemory{Viewer: views.Viewer{Agent: "baker"}, K: 2}
	ranked, err := memory.Rank(context.Background(), villageEvents(), views.Now{Turn: 5, Scene: "the oven is burning"})
	if err != nil {
		fmt.Println(err)
	}
	for _, s := range ranked {
		fmt.Printf("%.3f = 0.3·%.2f + 0.4·%.2f + 0.3·%.2f  %s\n", s.Salience, s.Relevance, s.Recency, s.Importance,
			views.Text(s.Event))
	}
	// Output:
	// 0.697 = 0.3·0.17 + 0.4·0.90 + 0.3·0.95  Is there bread?
	// 0.628 = 0.3·0.50 + 0.4·0.67 + 0.3·0.70  The oven is on fire.
}

func ExampleReflectionTracker() {
	baker, events := views.Viewer{Agent: "baker"}, villageEvents()
	tracker := views.ReflectionTracker{Viewer: baker, Threshold: 4}
	span, due := tracker.Due(events)
	fmt.Println(due, len(span.Events), "events")

	reflection := span.Reflection("The bakery must be rebuilt.", []string{"e1", "e2"})
	_, err := baker.Check(reflection, events)
	fmt.Println(err)

	reflection.BasedOn = []string{"e1", "e5"}
	least, err := baker.Check(reflection, events)
	fmt.Println(least, err)

	payload, err := json.Marshal(reflection)
	fmt.Println(string(payload), err)
	// Output:
	// true 4 events
	// invalid request: based_on[1]: is not an event that the agent sees
	// low <nil>
	// {"belief":"The bakery must be rebuilt.","based_on":["e1","e5"],"covers":4,"through":"e5"} <nil>
}

func ExampleBeliefs() {
	events := append(villageEvents(),
		reflect(6, "baker", ledger.Reflection{Belief: "I need water.", BasedOn: []string{"e1"}}),
		reflect(7, "smith", ledger.Reflection{Belief: "The bakery is lost.", BasedOn: []string{"e1"}}))
	fmt.Print(views.Beliefs(views.Viewer{Agent: "baker"}, events).Mermaid())
	// Output:
	// flowchart LR
	//     b1(["baker, turn 6: I need water."])
	//     b2(["smith, turn 7: The bakery is lost."])
	//     e1["world.observed, turn 1: The oven is on fire."]
	//     b1 --> e1
	//     b2 --> e1
	//     b1 -.-|"1 shared"| b2
}

func ExampleBuild() {
	built, err := views.Build(context.Background(), views.Request{
		Viewer:       views.Viewer{Agent: "baker"},
		Events:       villageEvents(),
		Identity:     "You are the baker.",
		OutputFormat: `{"say": string}`,
		BudgetTokens: 500,
	})
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(built.Text())
	// Output:
	// ## IDENTITY
	// You are the baker.
	//
	// ## CURRENT SCENE
	// - The oven is on fire.
	//
	// ## YOUR MEMORY
	// Remembered:
	// - turn 1, narrator, world.observed: The oven is on fire.
	// - turn 3, you, agent.thought: Water, quick.
	// - turn 4, guest, user.injected: Is there bread?
	// - turn 5, you, agent.spoke: Not today.
	//
	// ## VISITOR
	// - turn 4, guest: Is there bread?
	//
	// ## OUTPUT FORMAT
	// {"say": string}
}
