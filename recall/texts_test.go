package recall

import (
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/mneme/mneme/memory/question"
)

// The cached analysis of a text equals a new one, and depends on the speaker.
func TestCachedTextsEqualNewReadings(t *testing.T) {
	t.Parallel()
	var kept parsedTexts
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, said := range [][2]string{
				{"My standup is at 9.", "Anna"}, {"My standup is at 9.", "Ben"}, {"My standup is at 9.", ""},
				{"Ana", "bc"}, {"Anab", "c"}, {"The ledger moved to Postgres 17.", "Anna"},
			} {
				want := question.ReadText(said[0], said[1])
				for range 2 {
					if got := kept.read(said[0], said[1]); !reflect.DeepEqual(got, want) {
						t.Errorf("%q of %q: read %+v, want %+v", said[0], said[1], got, want)
					}
				}
			}
		})
	}
	wg.Wait()
	if n := kept.kept.Len(); n != 6 {
		t.Errorf("%d texts are cached, want 6", n)
	}
	if n := kept.current(time.Now().Add(2 * textLifetime)).Len(); n != 0 {
		t.Errorf("%d texts are cached after their expiry, want none", n)
	}
}
