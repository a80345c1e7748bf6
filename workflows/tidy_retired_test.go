package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows/learn"
)

// What was corrected or taken back stays so, although earlier sessions said it more often. Said again later, in two
// sessions, it counts.
func TestUpdateFactsKeepsACorrection(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	o := onlooker{t, h, testkit.Principal()}
	day := func(n int) time.Time { return time.Date(2026, 2, n, 9, 0, 0, 0, time.UTC) }
	say := func(text string, days ...int) {
		for _, n := range days {
			m := sessionEpisode(t, fmt.Sprint(text, n), text, "go", day(n))
			m.Who = "Maya"
			insert(t, h, o.p, schema.VisibilityPrivate, m)
		}
	}
	say("I live in Lyon.", 2, 3, 4, 5, 6, 7)
	say("I like tabs.", 2, 3, 4, 5, 6, 7)
	say("I drive a Skoda.", 2, 3)
	old := told(t, o, day(1), "I live in Lyon.", nil)
	tabs := told(t, o, day(1), "I like tabs.", nil)
	moved := told(t, o, day(10), "I moved from Lyon to Oslo.", nil)
	told(t, o, day(11), "Forget that I like tabs.", nil)
	told(t, o, day(12), "I drive a Volvo now.", nil)
	require.Equal(t, schema.StatusSuperseded, o.get(old.MemoryID).Status)
	require.Equal(t, schema.StatusRetracted, o.get(tabs.MemoryID).Status)

	facts := func() []string { return contents(t, h, "type = 'semantic' AND status = 'active'") }
	held := facts()
	_, out := learnNow(t, h, learn.UpdateFacts, privateOf(o.p))
	require.Equal(t, held, facts(), "%+v", out)
	require.Equal(t, schema.StatusActive, o.get(moved.MemoryID).Status)

	say("I like tabs.", 20, 21)
	_, out = learnNow(t, h, learn.UpdateFacts, privateOf(o.p))
	require.Equal(t, 1, out.Added, "%+v", out)
	require.Len(t, facts(), len(held)+1)
}

// A run does not begin again because the newest episode was forgotten.
func TestUpdateFactsAfterTheNewestEpisodeIsForgotten(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	at := time.Now().Add(-time.Hour)
	var ids []uuid.UUID
	for i := range 3 {
		ids = append(ids, insert(t, h, p, schema.VisibilityPrivate, sessionEpisode(t, fmt.Sprint("s-", i),
			"I prefer gofmt for formatting.", "go", at.Add(time.Duration(i)*time.Minute)))...)
	}
	_, out := learnNow(t, h, learn.UpdateFacts, privateOf(p))
	require.Equal(t, 1, out.Read)
	forgetNow(t, h, p, ids[2].String())
	_, out = learnNow(t, h, learn.UpdateFacts, privateOf(p))
	require.Equal(t, api.LearnResult{Outcome: api.OutcomeOK}, out)
}
