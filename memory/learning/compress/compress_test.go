package compress_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/learning/compress"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

var now = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

func episode(n int, outcome schema.Outcome, asked, failure string) compress.Episode {
	at := now.AddDate(0, 0, -60+n)
	return compress.Episode{ID: fmt.Sprintf("ep-%c", 'a'+rune(n)), Thread: "t", At: at,
		Payload: schema.EpisodicPayload{Outcome: outcome, Timeline: []schema.TimelineEvent{
			{T: at, EventKind: ledger.KindUserInjected, Summary: "user: " + asked},
			{T: at, EventKind: ledger.KindToolCalled, Summary: "call shell: make -j" + strings.Repeat(" noise", 50)},
			{T: at, EventKind: ledger.KindToolFailed, Summary: "shell failed: " + failure},
			{T: at, EventKind: ledger.KindOutcome, Summary: "ended " + string(outcome)},
		}}}
}

func batch() []compress.Episode {
	return []compress.Episode{
		episode(0, "success", "deploy billing for Acme to port 8443", "ld: cache mismatch in /var/c1"),
		episode(1, "failure", "ask Priya for the 42 keys", "permission denied"),
		episode(2, "success", "raise the limit to 1,500", "E0308 mismatched types"),
	}
}

func TestExtractKeepsNamesNumbersAndOutcomes(t *testing.T) {
	s, ok := compress.Summarise(batch())
	require.True(t, ok)
	problem, ok := compress.Check(s.Text, batch())
	require.True(t, ok, "%+v", problem)
	for _, want := range []string{"Acme", "8443", "Priya", "42", "1,500", "E0308", "/var/c1", "failure", "success"} {
		require.Contains(t, s.Text, want)
	}
	require.NotContains(t, s.Text, "noise")
	require.Equal(t, []string{"ep-a", "ep-b", "ep-c"}, s.Sources)
}

func TestLossySummaryIsRefused(t *testing.T) {
	s, _ := compress.Summarise(batch())
	for reason, text := range map[string]string{
		compress.Empty:        " \n…",
		compress.LosesName:    strings.ReplaceAll(s.Text, "Priya", "someone"),
		compress.LosesOutcome: strings.ReplaceAll(s.Text, "failure", "done"),
		compress.Invents:      s.Text + " It took 777 minutes.",
		compress.NotShorter:   s.Text + strings.Repeat(" more", 3_000),
	} {
		problem, ok := compress.Check(text, batch())
		require.False(t, ok, reason)
		require.Equal(t, reason, problem.Reason)
	}
	_, ok := compress.Check(strings.ReplaceAll(s.Text, "8443", "84431"), batch())
	require.False(t, ok, "a number inside another does not count")

	sources := batch()
	sources[0].ID = "01a206b4-b843-7277-a059-37faed777c83"
	problem, ok := compress.Check(s.Text+" It took 777 minutes, twice 844.", sources)
	require.False(t, ok, "digits of an id or of another number are no source")
	require.Equal(t, compress.Problem{Reason: compress.Invents, Missing: []string{"777", "844"}}, problem)
	_, ok = compress.Check(s.Text+" See "+sources[0].ID+".", sources)
	require.True(t, ok, "a summary may cite a source")
}

func TestWhichEpisodesAreCompressed(t *testing.T) {
	var all []compress.Episode
	for i := range 30 {
		all = append(all, episode(i%26, "success", "x", "y"))
		all[i].At, all[i].ID = now.AddDate(0, 0, -60+i), fmt.Sprint(i)
	}
	all[3].Pinned, all[4].Summarised = true, true
	got := compress.Batches(all, now)
	total := 0
	for _, b := range got {
		require.GreaterOrEqual(t, len(b), compress.LeastOld)
		require.LessOrEqual(t, len(b), compress.MostOld)
		for _, e := range b {
			require.NotContains(t, []string{"3", "4", "28", "29"}, e.ID)
			total++
		}
	}
	require.Equal(t, 26, total)
	require.Empty(t, compress.Batches(all, all[3].At), "too recent")
	require.Empty(t, compress.Batches(nil, now))
}

func TestEveryExtractPassesItsCheck(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(
			`([A-Z][a-z]{2,6}|\d{1,5}(\.\d+)?|[a-z]{2,5}|/[a-z]{2}/[a-z]{2}|, | )+`))
		var all []compress.Episode
		for i := range rapid.IntRange(1, 6).Draw(t, "n") {
			all = append(all, episode(i, rapid.SampledFrom([]schema.Outcome{"success", "failure", "partial",
				""}).Draw(t, "o"),
				text.Draw(t, "asked"), text.Draw(t, "failure")))
		}
		s, ok := compress.Summarise(all)
		require.True(t, ok)
		var in []compress.Episode
		for _, e := range all {
			for _, id := range s.Sources {
				if e.ID == id {
					in = append(in, e)
				}
			}
		}
		problem, ok := compress.Check(s.Text, in)
		require.True(t, ok, "%+v in %q", problem, s.Text)
	})
}
