package recall

import (
	"crypto/sha256"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mneme/mneme/memory/question"
)

const (
	// maxTexts is the number of parsed texts that a process caches. Each takes a few kilobytes.
	maxTexts = 16_384
	// textLifetime is the age at which the next recall drops the cache, so that erased texts do not stay.
	textLifetime = 10 * time.Minute
)

// parsed is shared by all recalls of the process, because the parse depends only on the text.
var parsed parsedTexts

// parsedTexts caches recently parsed texts. Parsing a text costs as much as a query, and the same memories are
// often candidates. The zero value is ready.
type parsedTexts struct {
	mu    sync.Mutex
	since time.Time // time of the last reset
	kept  *lru.Cache[[sha256.Size]byte, question.Text]
}

// read is question.ReadText with the cache. The result is shared and must not be changed.
func (t *parsedTexts) read(text, who string) question.Text {
	kept := t.current(time.Now())
	key := sha256.Sum256([]byte(who + "\x00" + text))
	if read, ok := kept.Get(key); ok {
		return read
	}
	read := question.ReadText(text, who)
	kept.Add(key, read)
	return read
}

// current returns the cache, emptied if it is too old.
func (t *parsedTexts) current(now time.Time) *lru.Cache[[sha256.Size]byte, question.Text] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept == nil {
		t.kept, _ = lru.New[[sha256.Size]byte, question.Text](maxTexts) // fails only for a size below 1
		t.since = now
	}
	if now.Sub(t.since) > textLifetime {
		t.kept.Purge()
		t.since = now
	}
	return t.kept
}
