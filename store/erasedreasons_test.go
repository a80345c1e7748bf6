package store_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// A model's reason for a change is in the history of the memory that was changed, and of its successor. It may quote
// the other memories of the proposal, so it is erased with any of them. The texts of the memories that remain stay.
func TestReasonsGoWithWhatTheyMayQuote(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		action schema.Action
		change memory.Change
		erase  string // of old, source and new
	}{
		"a successor and its source":   {schema.ActionUpdate, memory.ChangeSupersede, "source new"},
		"a successor":                  {schema.ActionUpdate, memory.ChangeSupersede, "new"},
		"what was superseded":          {schema.ActionUpdate, memory.ChangeSupersede, "old"},
		"an opponent and its source":   {schema.ActionUpdate, memory.ChangeContest, "source new"},
		"what was contested":           {schema.ActionUpdate, memory.ChangeContest, "old"},
		"the source of a retraction":   {schema.ActionDelete, memory.ChangeRetract, "source"},
		"the source of a supersession": {schema.ActionUpdate, memory.ChangeSupersede, "source"},
		"what was retracted":           {schema.ActionDelete, memory.ChangeRetract, "old"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			ids := map[string]uuid.UUID{"old": w.memory("Ana takes her tea with milk.")}
			f := fact("Ana drinks green tea every day.")
			f.Retracts = c.change == memory.ChangeRetract
			source, r := w.source("a chat with Ana", idea{fact: f, action: c.action, target: ids["old"],
				change: c.change})
			w.exec(`UPDATE proposals SET reason = 'because of plugh' WHERE batch_id = $1`, r.BatchID)
			w.write(r)
			ids["source"] = source
			if c.change != memory.ChangeRetract {
				var id uuid.UUID
				require.NoError(t, w.owner.QueryRow(ctx, `SELECT memory_id FROM proposals WHERE batch_id = $1`,
					r.BatchID).Scan(&id))
				ids["new"] = id
			}
			var erased []uuid.UUID
			for _, name := range strings.Fields(c.erase) {
				erased = append(erased, ids[name])
			}
			require.NotZero(t, w.count("memory_history", "memory_id = $1 AND reason LIKE '%plugh%'", ids["old"]))
			texts := w.count("memory_history", "num_nonnulls(old_content, new_content) > 0 AND memory_id <> ALL($1)",
				erased)
			w.forgetAll(w.forgets(schema.ForgetErase, onlyNamed(erased...)))
			require.Zero(t, w.count("memory_history", "reason LIKE '%plugh%'"))
			require.Zero(t, w.count("memory_links", "reason LIKE '%plugh%'"))
			require.Equal(t, texts, w.count("memory_history", "num_nonnulls(old_content, new_content) > 0"))
			testkit.CheckInvariants(t, w.owner)
		})
	}
}
