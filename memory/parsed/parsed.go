// Package parsed caches parsed texts for the whole process. Parsing a text takes as long as a query, and the same texts
// are parsed again and again: neighbours of facts, facts in each step of an ingest, and candidates of recalls.
package parsed

import (
	"crypto/sha256"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mneme/mneme/memory/frame"
	"github.com/mneme/mneme/memory/question"
)

const (
	// MaxTexts is the number of texts whose words are cached, and the number of those whose statements are. The words
	// of a text take a few kilobytes.
	MaxTexts = 16_384
	// Lifetime is the age at which Expire empties the cache, so that erased texts do not stay.
	Lifetime = 10 * time.Minute
)

// Text returns question.ReadText(text, who). The result is shared and must not be changed.
func Text(text, who string) question.Text { return shared.text(text, who) }

// Statements returns frame.Read(text, who). The result is shared and must not be changed.
func Statements(text, who string) []frame.Frame { return shared.statements(text, who) }

// Expire empties the cache if its oldest text may be older than Lifetime. Callers that read many texts call it first.
func Expire(now time.Time) { shared.expire(now) }

var shared = newCache(MaxTexts)

type key [sha256.Size]byte

type cache struct {
	texts  *lru.Cache[key, question.Text]
	frames *lru.Cache[key, []frame.Frame]

	mu    sync.Mutex
	since time.Time // time of the last reset
}

func newCache(size int) *cache {
	c := &cache{}
	c.texts, _ = lru.New[key, question.Text](size) // New fails only for a size below 1
	c.frames, _ = lru.New[key, []frame.Frame](size)
	return c
}

func keyOf(text, who string) key { return sha256.Sum256([]byte(who + "\x00" + text)) }

func (c *cache) text(text, who string) question.Text {
	return cached(c.texts, text, who, question.ReadText)
}

func (c *cache) statements(text, who string) []frame.Frame {
	return cached(c.frames, text, who, frame.Read)
}

func cached[T any](in *lru.Cache[key, T], text, who string, parse func(text, who string) T) T {
	k := keyOf(text, who)
	if read, ok := in.Get(k); ok {
		return read
	}
	read := parse(text, who)
	in.Add(k, read)
	return read
}

func (c *cache) expire(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.since) <= Lifetime {
		return
	}
	c.texts.Purge()
	c.frames.Purge()
	c.since = now
}
