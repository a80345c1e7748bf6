package main

import (
	"math"
	"math/rand/v2"
	"sort"
	"strings"

	"github.com/mneme/mneme/schema"
)

// The natural corpus: sentences whose words are as unevenly frequent as in natural text (Zipf's law over 60,000
// words). The most frequent are English function words. In contrast to the templates, few memories are alike, and a
// question's words range from those of most memories to those of a few.

const naturalWords = 60_000

var functionWords = strings.Fields(`the of and to a in is that it for was on with as be at by this had not are but
	from or have an they which one you were all her she there would their we him been has when who will no more if out
	so what up said about into than its only do my could some other then`)

// naturalText draws sentences.
type naturalText struct {
	r     *rand.Rand
	words []string
	upTo  []float64 // upTo[i] is the chance of the words 0 to i
}

func newNaturalText(r *rand.Rand) *naturalText {
	t := &naturalText{r: r, words: make([]string, naturalWords), upTo: make([]float64, naturalWords)}
	total := 0.0
	for i := range t.words {
		t.words[i] = inventedWord(i)
		if i < len(functionWords) {
			t.words[i] = functionWords[i]
		}
		total += 1 / (float64(i) + 2.7) // Zipf-Mandelbrot
		t.upTo[i] = total
	}
	for i := range t.upTo {
		t.upTo[i] /= total
	}
	return t
}

// inventedWord is the n-th word of a language of consonants and vowels.
func inventedWord(n int) string {
	const consonants, vowels = "bdfgklmnprtvz", "aeiou"
	var word strings.Builder
	for n = n*7 + 65; n > 0; n /= len(consonants) * len(vowels) {
		word.WriteByte(consonants[n%len(consonants)])
		word.WriteByte(vowels[n/len(consonants)%len(vowels)])
	}
	word.WriteByte('x') // an ending that no stemmer removes
	return word.String()
}

func (t *naturalText) word() string {
	return t.words[sort.SearchFloat64s(t.upTo, t.r.Float64())]
}

// sentence has 6 words or more, 18 on average.
func (t *naturalText) sentence() string {
	words := make([]string, 6+min(60, int(12*t.r.ExpFloat64())))
	for i := range words {
		words[i] = t.word()
	}
	words[0] = strings.ToUpper(words[0][:1]) + words[0][1:]
	return strings.Join(words, " ") + "."
}

func natural(n int) []schema.Candidate {
	t := newNaturalText(rand.New(rand.NewPCG(5, 6)))
	out := make([]schema.Candidate, n)
	for i := range out {
		out[i] = schema.Candidate{Content: t.sentence(), SourceKind: schema.SourceObservation}
	}
	return out
}

// naturalQuestion asks for two to five words of one memory: now and then only for common ones.
func naturalQuestion(r *rand.Rand, memories []schema.Candidate) string {
	words := strings.Fields(strings.ToLower(strings.TrimSuffix(memories[r.IntN(len(memories))].Content, ".")))
	asked := make([]string, 2+r.IntN(4))
	for i := range asked {
		asked[i] = words[min(len(words)-1, int(float64(len(words))*math.Sqrt(r.Float64())))]
	}
	return "what was said about " + strings.Join(asked, " ")
}

// corpus has the memories and questions of the recall part.
type corpus struct {
	name      string
	memories  []schema.Candidate
	questions []string
}

func (b *bench) corpora(size int) []corpus {
	var out []corpus
	if b.corpus != "natural" {
		c := corpus{name: "templates", memories: inSessions(observations(size))}
		r := rand.New(rand.NewPCG(3, 4))
		for range b.queries {
			c.questions = append(c.questions, question(r, size))
		}
		out = append(out, c)
	}
	if b.corpus != "templates" {
		c := corpus{name: "natural text", memories: inSessions(natural(size))}
		r := rand.New(rand.NewPCG(3, 4))
		for range b.queries {
			c.questions = append(c.questions, naturalQuestion(r, c.memories))
		}
		out = append(out, c)
	}
	return out
}
