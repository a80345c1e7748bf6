package views_test

import (
	"testing"

	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema/ledger"
)

// BenchmarkBuild builds contexts from 100,000 events of one stream, far more than a reader passes.
func BenchmarkBuild(b *testing.B) {
	var events []ledger.Event
	for seq := range 100_000 {
		events = append(events, say(seq+1, agents[seq%len(agents)], kinds[seq%3+5], "the oven is on fire"))
	}
	for name, memory := range map[string]views.Memory{
		"window": {}, "reflections": {ReflectionThreshold: 8}, "salience": {UseSalience: true},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r := views.Request{Viewer: views.Viewer{Agent: "baker"}, Events: events, Memory: memory}
				_, err := views.Build(b.Context(), r)
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
