package recall

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"

	"github.com/mneme/mneme/memory/frame"
)

const (
	// maxTexts is how many read texts a process keeps. One takes a few kilobytes.
	maxTexts = 4096
	// textLifetime is how long it keeps one. What is erased is gone from the process after it.
	textLifetime = 10 * time.Minute
)

// parsedTexts keeps the texts that were read last. Reading one is a pure function that costs as much as a query, and
// the same memories are candidates again and again. The zero value is ready.
type parsedTexts struct {
	once sync.Once
	kept *expirable.LRU[[sha256.Size]byte, frame.Text]
}

// read is frame.ReadText. The result is shared and must not be changed.
func (t *parsedTexts) read(text, who string) frame.Text {
	t.once.Do(func() {
		t.kept = expirable.NewLRU[[sha256.Size]byte, frame.Text](maxTexts, nil, textLifetime)
	})
	key := sha256.Sum256([]byte(who + "\x00" + text))
	if read, ok := t.kept.Get(key); ok {
		return read
	}
	read := frame.ReadText(text, who)
	t.kept.Add(key, read)
	return read
}
