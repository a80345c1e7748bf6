package rules

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
)

// corpusRate is the share of the corpus that must give the expected facts.
const corpusRate = 0.98

// corpusHalf is the number of sentences that the rules were developed with. The others were written at the same time
// and used only to measure the finished rules.
const corpusHalf = 250

// sentence is one line of testdata/corpus.jsonl: a text, and the facts to extract from it. The expected facts were
// written by hand, not by the program.
type sentence struct {
	Input      string            `json:"input"`
	Speaker    string            `json:"speaker"`
	SourceKind schema.SourceKind `json:"source_kind"`
	OccurredAt time.Time         `json:"occurred_at"`
	Want       []expected        `json:"want"`
	WantAny    [][]expected      `json:"want_any"` // alternatives that are equally correct
}

// expected is a fact, compared without its final full stop or exclamation mark. Category and cue are compared if they
// are set.
type expected struct {
	Content  string          `json:"content"`
	Category schema.Category `json:"category"`
	Cue      string          `json:"cue"`
	Retracts bool            `json:"retracts"`
	Hedged   bool            `json:"hedged"` // too uncertain to be written
}

func (e expected) matches(f memory.Fact) bool {
	return trimEnd(e.Content) == trimEnd(f.Content) && e.Retracts == f.Retracts &&
		e.Hedged == (f.Confidence < proposals.DefaultMinFactConfidence) &&
		(e.Category == "" || e.Category == f.Category) && (e.Cue == "" || e.Cue == f.Cue)
}

func trimEnd(s string) string { return strings.TrimRight(s, ".! ") }

func (s sentence) source() inference.Source {
	return inference.Source{Content: s.Input, Kind: s.SourceKind, Speaker: s.Speaker, OccurredAt: s.OccurredAt,
		Category: memory.InferCategory(s.Input)}
}

func (s sentence) accepts(facts []memory.Fact) bool {
	alternatives := s.WantAny
	if alternatives == nil {
		alternatives = [][]expected{s.Want}
	}
	for _, want := range alternatives {
		ok := len(want) == len(facts)
		for i := 0; ok && i < len(want); i++ {
			ok = want[i].matches(facts[i])
		}
		if ok {
			return true
		}
	}
	return false
}

func readCorpus(t testing.TB) []sentence {
	t.Helper()
	file, err := os.Open("testdata/corpus.jsonl")
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	var out []sentence
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var s sentence
		require.NoError(t, json.Unmarshal(lines.Bytes(), &s), "line %d", len(out)+1)
		out = append(out, s)
	}
	return out
}

func TestCorpus(t *testing.T) {
	all := readCorpus(t)
	require.Len(t, all, 500)
	passed := 0
	for half, part := range map[string][]sentence{"first": all[:corpusHalf], "second": all[corpusHalf:]} {
		t.Run(half, func(t *testing.T) {
			right := 0
			for _, s := range part {
				ex := extractFrom(t, s.source())
				if s.accepts(ex.Facts) {
					right++
					continue
				}
				got, _ := json.Marshal(ex.Facts)
				t.Logf("%s: %q\n\tgot %s", s.Speaker, s.Input, got)
			}
			t.Logf("%d of %d sentences of the %s half give the expected facts", right, len(part), half)
			passed += right
		})
	}
	rate := float64(passed) / float64(len(all))
	t.Logf("corpus: %d of %d sentences give the expected facts (%.1f %%)", passed, len(all), 100*rate)
	require.GreaterOrEqual(t, rate, corpusRate)
}
