package passages_test

import (
	"strings"
	"testing"

	"github.com/mneme/mneme/memory/passages"
)

// BenchmarkBest selects a passage of a 5 kB answer, as recall does for each long result.
func BenchmarkBest(b *testing.B) {
	paragraph := "The database listens on another port since Monday, which the team wrote down in the handbook. " +
		"Whoever deploys reads it first. It has three steps:\n\n- open the tunnel\n- wait for the prompt\n" +
		"- run the migration\n\n"
	plain := strings.Repeat(paragraph, 5_000/len(paragraph))
	for name, text := range map[string]string{"ascii": plain, "accents": strings.ReplaceAll(plain, "whi", "wé")} {
		b.Run(name, func(b *testing.B) {
			wanted := []string{"which", "port", "datab", "liste", "hand", "tunne", "migra"}
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := passages.Best(text, wanted); !ok {
					b.Fatal("no passage")
				}
			}
		})
	}
}
