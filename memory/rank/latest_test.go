package rank_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/question"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
)

// ranking is a list of candidates with scores. Each is a day later than the one before.
type ranking struct {
	evidence []rank.Evidence
	said     map[uuid.UUID]rank.Quote
}

func ranked(scores []float64, texts ...string) ranking {
	r := ranking{said: map[uuid.UUID]rank.Quote{}}
	for i, text := range texts {
		id := uuid.UUID{15: byte(i + 1)}
		r.evidence = append(r.evidence, rank.Evidence{ID: id, Score: scores[i],
			Channels: map[string]float64{rank.ChannelText: scores[i]},
			Features: rank.Features{Type: schema.TypeSemantic,
				OccurredAt: time.Date(2026, 3, 1+i, 9, 0, 0, 0, time.UTC)}})
		r.said[id] = rank.Quote{Text: question.ReadText(text, ""), Bytes: len(text)}
	}
	rank.Rank(r.evidence)
	return r
}

// asked returns the numbers of the candidates in their new order, and their marks.
func (r ranking) asked(text string) (order []int, marks map[int]schema.Currentness) {
	marks = map[int]schema.Currentness{}
	for _, e := range rank.Latest(r.evidence, r.said, []question.Question{question.Read(text)}) {
		n := int(e.ID[15])
		order = append(order, n)
		if e.Currentness != "" {
			marks[n] = e.Currentness
		}
	}
	return order, marks
}

func TestLatestRanksNewestFirstAndMarksOlder(t *testing.T) {
	t.Parallel()
	r := ranked(
		[]float64{0.9, 0.4, 0.3},
		"We use Jenkins for CI.",
		"We switched from Jenkins to GitHub Actions for CI.",
		"Our parcels go with FedEx.",
	)
	order, marks := r.asked("What do we use for CI?")
	require.Equal(t, []int{2, 1, 3}, order)
	require.Equal(t, map[int]schema.Currentness{1: schema.CurrentnessOlder}, marks)

	order, marks = r.asked("What did we use for CI before GitHub Actions?")
	require.Equal(t, []int{1, 2, 3}, order, "the question asks for the past")
	require.Equal(t, map[int]schema.Currentness{1: schema.CurrentnessOlder}, marks)
}

func TestLatestRanksWhatCameBeforeAnEventFirst(t *testing.T) {
	t.Parallel()
	// A statement with a new amount has no word for the event.
	r := ranked([]float64{0.4, 0.9}, "Our rent is 1,450 euros a month.", "Our rent is 1,600 euros a month now.")
	order, _ := r.asked("What was our rent before the increase?")
	require.Equal(t, []int{1, 2}, order)
	// A named value is still the one before which the question asks.
	r = ranked([]float64{0.5, 0.6, 0.9}, "Dana lives in Lyon.", "Dana moved to Oslo.", "Dana lives in Bergen now.")
	order, _ = r.asked("Where did Dana live before Bergen?")
	require.Equal(t, 2, order[0])
	order, _ = r.asked("Where did Dana live originally?")
	require.Equal(t, 1, order[0])
}

func TestLatestMarksPartlyOutdatedText(t *testing.T) {
	t.Parallel()
	r := ranked([]float64{0.9, 0.4}, "I live in Lyon. I drive a Skoda.", "I moved from Lyon to Oslo.")
	order, marks := r.asked("Where do I live?")
	require.Equal(t, []int{2, 1}, order)
	require.Equal(t, map[int]schema.Currentness{1: schema.CurrentnessMixed}, marks)
}

func TestLatestKeepsCompatibleStatements(t *testing.T) {
	t.Parallel()
	for question, texts := range map[string][2]string{
		"Where does Dana's brother live?": {"Dana's brother lives in Lyon.", "Dana's sister moved to Oslo."},
		"When does the pool open on Sundays?": {"The pool opens at 8:00 on Sundays.",
			"The pool opens at 6:30 on Mondays now."},
		"Which port does the gateway use?": {"The gateway listens on port 8080.",
			"The crawler listens on port 9090 now."},
		"What does the old scanner work with?": {"The old scanner works with Windows.",
			"The new scanner works with anything."},
	} {
		order, marks := ranked([]float64{0.9, 0.8}, texts[0], texts[1]).asked(question)
		require.Equal(t, []int{1, 2}, order, question)
		require.Empty(t, marks, question)
	}
}

// A doubt does not put a candidate first that only the context of another has brought.
func TestLatestNeedsAMatchOfItsOwn(t *testing.T) {
	t.Parallel()
	for found, want := range map[bool][]int{true: {2, 1}, false: {1, 2}} {
		r := ranked([]float64{0.35, 0.12}, "The flat upstairs is empty.", "A young couple moved into the flat upstairs.")
		if !found {
			r.evidence[1].Channels = nil
		}
		order, _ := r.asked("Is the flat upstairs empty?")
		require.Equal(t, want, order)
	}
}

func TestLatestIgnoresLongTexts(t *testing.T) {
	t.Parallel()
	require.Empty(t, rank.Latest(nil, nil, nil))
	r := ranked([]float64{0.9, 0.4}, "We use Jenkins for CI.", "We switched from Jenkins to GitHub Actions for CI.")
	for id, q := range r.said {
		q.Bytes = memory.MaxLatestChars + 1
		r.said[id] = q
	}
	order, marks := r.asked("What do we use for CI?")
	require.Equal(t, []int{1, 2}, order)
	require.Empty(t, marks)
}

// A supersedes link is enough. The texts need not be related.
func TestLatestRanksSupersededBelowSuccessor(t *testing.T) {
	t.Parallel()
	r := ranked([]float64{0.9, 0.4}, "one thing", "quite another")
	r.evidence[0].SupersededBy = r.evidence[1].ID
	order, marks := r.asked("What is it?")
	require.Equal(t, []int{2, 1}, order)
	require.Equal(t, map[int]schema.Currentness{1: schema.CurrentnessOlder}, marks)
}

// A text that reports a change often shares fewer words with the question. It comes before the old value unless an
// assistant wrote it, the question does not ask for a current value, or it is hardly relevant.
func TestLatestRanksReportedChangeFirst(t *testing.T) {
	t.Parallel()
	texts := []string{"I spent $43 on books in January, which is $8 over my $35 monthly budget for books and magazines",
		"I want to spend my increased January book budget of $50 on a new series; which fits quiet winter " +
			"evenings at home?"}
	first := func(question, speaker string, relevance float64) int {
		r := ranked([]float64{0.9, 0.6}, texts...)
		for i := range r.evidence {
			e := &r.evidence[i]
			e.Type, e.Speaker, e.Relevance = schema.TypeEpisodic, "user", 0.8
			quote := r.said[e.ID]
			quote.Bytes = memory.MaxLatestChars + 1 // too long to be compared as a statement
			r.said[e.ID] = quote
			if e.ID[15] == 2 {
				e.Speaker, e.Relevance = speaker, relevance
			}
		}
		order, _ := r.asked(question)
		return order[0]
	}
	require.Equal(t, 2, first("What is my monthly budget for books?", "user", 0.7))
	require.Equal(t, 1, first("What is my monthly budget for books?", "assistant", 0.7))
	require.Equal(t, 1, first("What is my monthly budget for books?", "user", 0.1))
	require.Equal(t, 1, first("What would you do about my monthly budget for books?", "user", 0.7))
	require.Equal(t, 1, first("Have I ever spent more than my monthly budget for books?", "user", 0.7))
	require.Equal(t, 1, first("What is my weekly limit on groceries?", "user", 0.7), "a change of something else")
}

// Long turns share words by chance, so they need stronger evidence. Short statements are compared as before.
func TestLatestOfLongTurns(t *testing.T) {
	t.Parallel()
	const (
		old = "I live in Lyon. The old harbour is near, and my sister runs a bakery there with her husband and two cousins."
		now = "I moved from Lyon to Oslo. My cousin found a cheap flat next to the opera, and the ferry leaves every hour."
		far = "Our choir sang five songs by Fauré at the town hall, and the mayor gave every soloist a bottle of wine."
	)
	question := "Where do I live?"
	order, marks := ranked([]float64{0.9, 0.8, 0.1}, old, now, far).asked(question)
	require.Equal(t, []int{1, 2, 3}, order)
	require.Empty(t, marks)

	order, marks = ranked([]float64{0.9, 0.8, 0.1}, "I live in Lyon.", "I moved from Lyon to Oslo.",
		far).asked(question)
	require.Equal(t, []int{2, 1, 3}, order, "statements between turns")
	require.Equal(t, map[int]schema.Currentness{1: schema.CurrentnessOlder}, marks)

	r := ranked([]float64{0.9, 0.8, 0.1}, old, now, far)
	for i := range r.evidence {
		r.evidence[i].Status = schema.StatusContested
	}
	order, _ = r.asked(question)
	require.Equal(t, []int{2, 1, 3}, order, "the contradiction was found at write time")
}
