package workflows_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// A change that the words prove is made whatever a model decides, keeps the replaced fact, and is the only kind of
// change that needs no review.
func TestCertainChangesNeedNoModel(t *testing.T) {
	t.Parallel()
	const before, after, other = "Our standup is at 9:30.", "Our standup moved to 10:00.", "Our standup is loud."
	replyTo := func(action schema.Action, target string, change memory.Change) testkit.ModelReply {
		reply := testkit.DecisionOf(action, target)
		reply.Content = strings.Replace(reply.Content, `"action"`, `"change":"`+string(change)+`","action"`, 1)
		return reply
	}
	for name, answer := range map[string]func(right, wrong string) testkit.ModelReply{
		"agrees": func(right, _ string) testkit.ModelReply {
			return replyTo(schema.ActionUpdate, right, memory.ChangeSupersede)
		},
		"without confidence": func(right, _ string) testkit.ModelReply {
			return replyTo(schema.ActionUpdate, right, "")
		},
		"deletes": func(right, _ string) testkit.ModelReply {
			return replyTo(schema.ActionDelete, right, "")
		},
		"adds": func(_, _ string) testkit.ModelReply { return replyTo(schema.ActionAdd, "", "") },
		"decides that it is known": func(right, _ string) testkit.ModelReply {
			return replyTo(schema.ActionNone, right, "")
		},
		"picks another memory": func(_, wrong string) testkit.ModelReply {
			return replyTo(schema.ActionUpdate, wrong, memory.ChangeSupersede)
		},
		"names a memory that was not offered": func(_, _ string) testkit.ModelReply {
			return replyTo(schema.ActionUpdate, firstNamed, memory.ChangeSupersede)
		},
		"says nothing": func(_, _ string) testkit.ModelReply { return testkit.ModelReply{Content: ""} },
		"talks": func(_, _ string) testkit.ModelReply {
			return testkit.ModelReply{Content: "I would update the first one."}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := testkit.NewModel(t, func(_ context.Context, call testkit.ModelCall) testkit.ModelReply {
				if call.Kind == testkit.Extraction {
					return testkit.FactsOf(call.Data)
				}
				offered := call.Offered()
				if offered.Fact.Content != after {
					return testkit.DecisionOf(schema.ActionAdd, "")
				}
				right, wrong := "", ""
				for _, c := range offered.Candidates {
					switch {
					case c.Kind == "episode":
					case c.Content == before:
						right = c.ID
					case c.Content == other:
						wrong = c.ID
					}
				}
				return answer(right, wrong)
			})
			h := harness.New(t, func(d *workflows.Dependencies) { d.Brain = model.Brain(t) })
			p := testkit.Principal()
			monday := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
			for i, text := range []string{before, other, after} {
				at := monday.AddDate(0, 0, i)
				req := testkit.Request(p, schema.SourceUserInput)
				req.Candidates = []schema.Candidate{{Content: text, SourceKind: schema.SourceUserInput, Speaker: "Maya",
					OccurredAt: &at}}
				_, result := h.Ingest(t, req)
				require.Zero(t, result.Dead)
			}
			db := testkit.Owner(t, h.DatabaseURL)
			status := func(text string) []string {
				return testkit.Strings(t, db, `SELECT status FROM memories WHERE type = 'semantic' AND content = $1`,
					text)
			}
			require.Equal(t, []string{"superseded"}, status(before))
			require.Equal(t, []string{"active"}, status(after))
			require.Equal(t, []string{"active"}, status(other))
			require.Zero(t, testkit.Rows(t, db, "memories", "deleted_at IS NOT NULL"), "nothing is deleted")
		})
	}
}

// A change that only a model detects is not applied without review: both memories are kept and marked.
func TestAModelAloneSupersedesNothing(t *testing.T) {
	t.Parallel()
	const before, after = "Maya has two dogs.", "Maya found a new home for both of her pets."
	model := testkit.NewModel(t, func(_ context.Context, call testkit.ModelCall) testkit.ModelReply {
		if call.Kind == testkit.Extraction {
			return testkit.FactsOf(call.Data)
		}
		for _, c := range call.Offered().Candidates {
			if c.Content == before && c.Kind != "episode" {
				return testkit.ModelReply{Content: `{"reason":"x","action":"update","change":"supersede","target_id":"` + c.ID + `","confidence":1}`}
			}
		}
		return testkit.DecisionOf(schema.ActionAdd, "")
	})
	h := harness.New(t, func(d *workflows.Dependencies) { d.Brain = model.Brain(t) })
	p := testkit.Principal()
	for _, text := range []string{before, after} {
		_, result := h.Ingest(t, testkit.Request(p, schema.SourceUserInput, text))
		require.Zero(t, result.Dead)
	}
	db := testkit.Owner(t, h.DatabaseURL)
	require.Equal(t, []string{"contested", "contested"}, testkit.Strings(t, db,
		`SELECT status FROM memories WHERE type = 'semantic' AND content = ANY($1)`, []string{before, after}))
}
