package parsed

import (
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mneme/mneme/memory/frame"
	"github.com/mneme/mneme/memory/question"
)

// A cached text equals a newly parsed one, and depends on the speaker.
func TestCachedTextsEqualNewReadings(t *testing.T) {
	t.Parallel()
	kept := newCache(16)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, said := range [][2]string{
				{"My standup is at 9.", "Anna"}, {"My standup is at 9.", "Ben"}, {"My standup is at 9.", ""},
				{"Ana", "bc"}, {"Anab", "c"}, {"The ledger moved to Postgres 17.", "Anna"},
			} {
				words, statements := question.ReadText(said[0], said[1]), frame.Read(said[0], said[1])
				for range 2 {
					if got := kept.text(said[0], said[1]); !reflect.DeepEqual(got, words) {
						t.Errorf("%q of %q: read %+v, want %+v", said[0], said[1], got, words)
					}
					if got := kept.statements(said[0], said[1]); !reflect.DeepEqual(got, statements) {
						t.Errorf("%q of %q: read %+v, want %+v", said[0], said[1], got, statements)
					}
				}
			}
		})
	}
	wg.Wait()
	if n, m := kept.texts.Len(), kept.frames.Len(); n != 6 || m != 6 {
		t.Errorf("%d and %d texts are cached, want 6", n, m)
	}
}

func TestTheCacheExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := newCache(2)
		for range 2 { // it begins again
			kept.text("My standup is at 9.", "Anna")
			kept.statements("My standup is at 9.", "Anna")
			time.Sleep(Lifetime - time.Nanosecond)
			if kept.texts.Len() != 1 || kept.frames.Len() != 1 {
				t.Error("the cache was emptied before its expiry")
			}
			time.Sleep(2 * time.Nanosecond)
			if kept.texts.Len()+kept.frames.Len() != 0 {
				t.Error("the cache was not emptied at its expiry")
			}
		}
	})
}
