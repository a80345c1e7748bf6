package inference

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Cache is an Embedder that caches the latest vectors by the hash of the text. A repeated question, or a text that
// several steps of the pipeline embed, costs one call to the model. Concurrent callers with the same text share one
// call. It stores no text. It is safe for concurrent use.
//
// A vector depends only on the text and the model, so tenants share entries; a caller can learn only that an answer
// came sooner. Across processes, the database is the cache: the vector of a memory is stored under the hash of its
// content, and the vector of a proposal with the proposal.
type Cache struct {
	Embedder
	mu      sync.Mutex
	vectors *lru.Cache[cacheKey, []float32]
	flights map[cacheKey]chan struct{} // closed when the call for the vector ends
}

// cacheKey is the hash of a text, and how it is embedded.
type cacheKey struct {
	query bool
	hash  [sha256.Size]byte
}

var _ interface {
	Embedder
	QueryEmbedder
} = (*Cache)(nil)

// NewCache returns e with a cache of the latest vectors. The number of entries must be at least 1. An entry takes about
// 100 bytes, and 4 bytes for each dimension.
func NewCache(e Embedder, entries int) (*Cache, error) {
	vectors, err := lru.New[cacheKey, []float32](entries)
	if err != nil {
		return nil, fmt.Errorf("embedding cache: %w", err)
	}
	return &Cache{Embedder: e, vectors: vectors, flights: map[cacheKey]chan struct{}{}}, nil
}

// Embed implements Embedder. The usage counts only texts that were not cached.
func (c *Cache) Embed(ctx context.Context, texts []string) ([][]float32, Usage, error) {
	return c.get(ctx, false, texts, c.Embedder.Embed)
}

// EmbedQuery implements QueryEmbedder.
func (c *Cache) EmbedQuery(ctx context.Context, text string) ([]float32, Usage, error) {
	_, differ := c.Embedder.(QueryEmbedder)
	vectors, usage, err := c.get(
		ctx,
		differ,
		[]string{text},
		func(ctx context.Context, texts []string) ([][]float32, Usage, error) {
			v, usage, err := EmbedQuery(ctx, c.Embedder, texts[0])
			return [][]float32{v}, usage, err
		},
	)
	if err != nil {
		return nil, usage, err
	}
	return vectors[0], usage, nil
}

// get fills in cached vectors, embeds texts that no other caller is embedding, and waits for the rest. If the call of
// another caller failed, for example because its context ended, get tries the text again.
func (c *Cache) get(
	ctx context.Context,
	query bool,
	texts []string,
	embed func(context.Context, []string) ([][]float32, Usage, error),
) ([][]float32, Usage, error) {
	keys, out := make([]cacheKey, len(texts)), make([][]float32, len(texts))
	for i, t := range texts {
		keys[i] = cacheKey{query: query, hash: sha256.Sum256([]byte(t))}
	}
	var usage Usage
	for {
		if err := ctx.Err(); err != nil {
			return nil, usage, err
		}
		mine, theirs := c.claim(keys, out)
		if len(mine) > 0 {
			spent, err := c.embedClaimed(ctx, texts, keys, out, mine, embed)
			usage = usage.Add(spent)
			if err != nil {
				return nil, usage, err
			}
		}
		if len(theirs) == 0 && !slices.ContainsFunc(out, func(v []float32) bool { return v == nil }) {
			return out, usage, nil
		}
		for _, flight := range theirs {
			select {
			case <-flight:
			case <-ctx.Done():
				return nil, usage, ctx.Err()
			}
		}
	}
}

// claim fills in cached vectors. It returns the positions of the texts that the caller must embed, each text once,
// and the calls of other callers to wait for.
func (c *Cache) claim(keys []cacheKey, out [][]float32) (mine []int, theirs []chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	claimed := map[cacheKey]bool{}
	for i, key := range keys {
		if out[i] != nil || claimed[key] {
			continue
		}
		if v, ok := c.vectors.Get(key); ok {
			out[i] = slices.Clone(v)
		} else if flight := c.flights[key]; flight != nil {
			theirs = append(theirs, flight)
		} else {
			c.flights[key], claimed[key] = make(chan struct{}), true
			mine = append(mine, i)
		}
	}
	return mine, theirs
}

// embedClaimed embeds the claimed texts, caches their vectors, and always releases the claims.
func (c *Cache) embedClaimed(ctx context.Context, texts []string, keys []cacheKey, out [][]float32, mine []int,
	embed func(context.Context, []string) ([][]float32, Usage, error)) (usage Usage, err error) {
	var vectors [][]float32
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for n, i := range mine {
			if n < len(vectors) {
				c.vectors.Add(keys[i], vectors[n])
			}
			close(c.flights[keys[i]])
			delete(c.flights, keys[i])
		}
	}()
	asked := make([]string, len(mine))
	for n, i := range mine {
		asked[n] = texts[i]
	}
	got, usage, err := embed(ctx, asked)
	if err != nil {
		return usage, err
	}
	if len(got) != len(mine) || slices.ContainsFunc(got, func(v []float32) bool { return v == nil }) {
		return usage, fmt.Errorf("the embedder returned %d vectors for %d texts", len(got), len(mine))
	}
	vectors = got
	// This map serves texts that occur more than once, and entries that the cache evicts at once.
	embedded := make(map[cacheKey][]float32, len(mine))
	for n, i := range mine {
		embedded[keys[i]] = got[n]
	}
	for i, key := range keys {
		if v := embedded[key]; v != nil && out[i] == nil {
			out[i] = slices.Clone(v)
		}
	}
	return usage, nil
}
