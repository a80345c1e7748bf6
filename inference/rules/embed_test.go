package rules

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func cosine(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestEmbedIsAlwaysAUnitVector(t *testing.T) {
	check := func(t require.TestingT, text string) {
		v := embed(text)
		require.Len(t, v, HashDimensions)
		require.InDelta(t, 1, cosine(v, v), 1e-5)
		require.Equal(t, v, embed(text))
	}
	for _, text := range []string{"", " ", "!!!", "the", "a", "to be or not to be", "\xff\xfe", "東京", "'s", "🙂",
		strings.Repeat("a", 100_000), strings.Repeat("word ", 20_000)} {
		check(t, text)
	}
	rapid.Check(t, func(r *rapid.T) { check(r, rapid.String().Draw(r, "text")) })
}

// The space hash-v1 must never change, because vectors in a database outlive the process that made them. If this test
// fails, the space needs a new name.
func TestEmbedIsPinned(t *testing.T) {
	h := fnv.New64a()
	for _, text := range []string{"", "!!!", "Caroline prefers Go over Rust for backend services.",
		"Don't deploy v1.2.3 on Fridays, the café's Wi-Fi is slow", "東京に住んでいます",
		"running runs ran; parties party PARTY 2023-05-07"} {
		for _, f := range embed(text) {
			_ = binary.Write(h, binary.LittleEndian, math.Float32bits(f))
		}
	}
	assert.Equal(t, "dc8e21e301586b3d", hex.EncodeToString(h.Sum(nil)))
}

func TestEmbedOfRelatedTexts(t *testing.T) {
	query := embed("Which programming language does Caroline prefer?")
	near := cosine(query, embed("Caroline prefers Go over other programming languages."))
	far := cosine(query, embed("The staging database was migrated to Frankfurt last week."))
	assert.Greater(t, near, 0.3)
	assert.Less(t, far, 0.15)

	assert.Greater(t, cosine(embed("postgres migrations"), embed("PostgreSQL migration")), 0.5, "spellings")
	assert.InDelta(t, 1, cosine(embed("Caroline’s dogs"), embed("caroline's DOGS")), 1e-6, "case and apostrophes")
	assert.Greater(t, cosine(embed("the port is 5432"), embed("the port is 5432 now")),
		cosine(embed("the port is 5432"), embed("the port is 5433")))
	assert.Less(t, cosine(embed("bread bread bread bread butter"), embed("bread")), 0.95,
		"repeated words do not hide the others")
}

func TestEmbedConcurrently(t *testing.T) {
	texts := []string{"The cache is Redis.", "", "Never deploy on Fridays."}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, usage, err := New().Embedder.Embed(context.Background(), texts)
			assert.NoError(t, err)
			assert.Zero(t, usage)
			for i, text := range texts {
				assert.Equal(t, embed(text), got[i])
			}
		})
	}
	wg.Wait()
	model := New().Embedder.Model()
	assert.Equal(t, "hash-v1", model.Name)
	assert.Equal(t, 384, model.Dimensions)
	none, _, err := HashEmbedder{}.Embed(context.Background(), nil)
	assert.NoError(t, err)
	assert.Empty(t, none)
}

func TestLightStem(t *testing.T) {
	for _, group := range []string{
		"run runs running", "party parties", "prefer prefers preferred preferring", "cat cats",
		"deploy deploys deployed deploying",
		"make makes making", "watch watches watched", "try tries tried trying", "class classes", "bus", "news", "this",
		"need", "sing", "red",
	} {
		words := strings.Fields(group)
		want := string(lightStem([]byte(words[0])))
		for _, w := range words[1:] {
			assert.Equal(t, want, string(lightStem([]byte(w))), w)
		}
	}
	assert.NotEqual(t, string(lightStem([]byte("sing"))), "s")
}

// BenchmarkEmbed embeds a text of 30 words.
func BenchmarkEmbed(b *testing.B) {
	text := "Caroline went to a support group yesterday and it was so powerful that she decided to start a career in " +
		"counseling and mental health, working with people who need help."
	b.ReportAllocs()
	for b.Loop() {
		_ = embed(text)
	}
}
