package store_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
)

var vocabulary = []string{"alpha", "beta", "gamma", "alpha alpha beta", "the", "of and", "running runs"}

func TestTextStatisticsStayExact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	retired := 0
	rapid.Check(t, func(rt *rapid.T) {
		w := *w
		w.p.Tenant = uuid.NewString()
		var live []uuid.UUID
		text := func(suffix string) string {
			out := ""
			for range rapid.IntRange(1, 3).Draw(rt, "words") {
				out += rapid.SampledFrom(vocabulary).Draw(rt, "word") + " "
			}
			return out + suffix
		}
		for step := range rapid.IntRange(1, 3).Draw(rt, "steps") {
			ack, r := w.stage(say(text(""), text(""), text(fmt.Sprint("source ", step)))...)
			for _, id := range ack.MemoryIDs {
				live = append(live, uuid.MustParse(id))
			}
			parent := live[len(live)-1]
			if len(ack.Deduped) > 0 && ack.Deduped[len(ack.Deduped)-1] == 2 {
				continue
			}
			ideas := []idea{{fact: fact(text("added")), action: schema.ActionAdd},
				{fact: fact(text("added")), action: schema.ActionAdd}}
			for _, action := range []schema.Action{schema.ActionUpdate, schema.ActionDelete, schema.ActionUpdate} {
				target := rapid.SampledFrom(live[:len(live)-1]).Draw(rt, "target")
				ideas = append(ideas, idea{fact: fact(text("changed")), action: action, target: target})
			}
			w.decided(r, parent, ideas...)
			counts := w.write(r)
			retired += counts.Updated + counts.Deleted
			for _, o := range w.outcomes(r) {
				if o.State == schema.ProposalApplied && o.Action != schema.ActionDelete {
					live = append(live, uuid.MustParse(o.MemoryID))
				}
			}
		}
		w.requireExactStats()
	})
	require.Positive(t, retired, "the sequences retired some memories")
}

func TestTextStatisticsStayExactUnderConcurrency(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	targets := make([]uuid.UUID, 12)
	for i := range targets {
		targets[i] = w.memory(fmt.Sprintf("alpha beta gamma number %d", i))
	}
	errs := make(chan error, 12)
	var wg sync.WaitGroup
	for i := range 6 {
		other := *w
		other.p.Scope = []string{"", "s"}[i%2] // two scope locks: only the statistics are shared
		ack, r := other.stage(say(fmt.Sprintf("source %d of delta", i))...)
		w.decided(r, uuid.MustParse(ack.MemoryIDs[0]),
			idea{fact: fact(fmt.Sprintf("epsilon alpha %d", i)), action: schema.ActionUpdate, target: targets[2*i]},
			idea{fact: fact("unused words"), action: schema.ActionDelete, target: targets[2*i+1]})
		staged := other.input(say("zeta alpha", "eta beta", fmt.Sprintf("theta gamma %d", i))...)
		wg.Go(func() {
			_, err := other.Stage(ctx, staged)
			errs <- err
		})
		wg.Go(func() {
			_, err := other.Write(ctx, pipeline.WriteInput{Range: r, MaxRounds: 3, Now: w.now})
			errs <- err
		})
	}
	wg.Wait()
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
	require.Equal(t, 12, w.count("memories", "NOT live"))
	w.requireExactStats()
}

func TestWritersOfTheSameWordsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	errs := make(chan error, 40)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for round := range 5 {
				words := fmt.Sprintf("text%dof%d ", round, worker)
				for n := range 997 { // the same words in another order
					words += fmt.Sprintf("word%d ", n*(2*worker+1)%997)
				}
				_, err := w.Stage(ctx, w.input(say(words)...))
				errs <- err
			}
		})
	}
	wg.Wait()
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
	w.requireExactStats()
}
