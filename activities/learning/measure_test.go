package learning_test

import (
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
)

// Episodes a second and memory, with MNEME_MEASURE_EPISODES episodes of 50 problems; 60 without it, as a test that a
// second run has nothing to do.
func TestEpisodesASecond(t *testing.T) {
	w := newWorld(t)
	n, err := strconv.Atoi(os.Getenv("MNEME_MEASURE_EPISODES"))
	if err != nil {
		n = 60
	}
	for i := range n {
		s := testkit.NewStory(ana, i).Says("Build the app please").In("linux", "/w", nil)
		problem := "error: module " + words[i%len(words)] + " is missing its manifest"
		s.Does("make app", problem).Does("fetch "+words[i%len(words)]+" "+strconv.Itoa(i), "").Does("make app", "")
		s.Ends(schema.OutcomeSuccess).Record(t, w.store)
	}
	began := time.Now()
	got := w.learn(ana, schema.TypeCompetence)
	first := time.Since(began)
	require.Equal(t, n, got.Read)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	began = time.Now()
	require.Zero(t, w.learn(ana, schema.TypeCompetence).Read)
	t.Logf("%d episodes in %s (%.0f/s), %d added; second run %s; heap %d MB", n, first, float64(n)/first.Seconds(), got.Added,
		time.Since(began), m.HeapSys>>20)
}

var words = []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet"}
