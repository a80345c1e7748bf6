// Package parsed caches parsed texts for the whole process. Parsing a text takes as long as a query, and the same texts
// are parsed again and again: neighbours of facts, facts in each step of an ingest, and candidates of recalls.
package parsed

import (
	"crypto/sha256"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mneme/mneme/memory/frame"
	"github.com/mneme/mneme/memory/question"
)

const (
	// MaxTexts is the number of texts whose words are cached, and the number of those whose statements are. The words
	// of a text take a few kilobytes.
	MaxTexts = 16_384
	// Lifetime is how long after the first text the cache is emptied, so that erased texts do not stay.
	Lifetime = 10 * time.Minute
)

// Text returns question.ReadText(text, who). The result is shared and must not be changed.
func Text(text, who string) question.Text { return shared.text(text, who) }

// Statements returns frame.Read(text, who). The result is shared and must not be changed.
func Statements(text, who string) []frame.Frame { return shared.statements(text, who) }

var shared = newCache(MaxTexts)

type key [sha256.Size]byte

type cache struct {
	texts  *lru.Cache[key, question.Text]
	frames *lru.Cache[key, []frame.Frame]

	ending atomic.Bool // the cache will be emptied
}

func newCache(size int) *cache {
	c := &cache{}
	c.texts, _ = lru.New[key, question.Text](size) // New fails only for a size below 1
	c.frames, _ = lru.New[key, []frame.Frame](size)
	return c
}

func keyOf(text, who string) key { return sha256.Sum256([]byte(who + "\x00" + text)) }

func (c *cache) text(text, who string) question.Text {
	return cached(c, c.texts, text, who, question.ReadText)
}

func (c *cache) statements(text, who string) []frame.Frame {
	return cached(c, c.frames, text, who, frame.Read)
}

func cached[T any](c *cache, in *lru.Cache[key, T], text, who string, parse func(text, who string) T) T {
	k := keyOf(text, who)
	if read, ok := in.Get(k); ok {
		return read
	}
	read := parse(text, who)
	in.Add(k, read)
	if c.ending.CompareAndSwap(false, true) {
		time.AfterFunc(Lifetime, c.empty)
	}
	return read
}

func (c *cache) empty() {
	c.ending.Store(false) // first: a text that is added now starts the next lifetime, or is removed below
	c.texts.Purge()
	c.frames.Purge()
}
