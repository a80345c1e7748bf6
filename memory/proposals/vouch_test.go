package proposals_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
)

func TestVouch(t *testing.T) {
	t.Parallel()
	const (
		add, update, remove, none = schema.ActionAdd, schema.ActionUpdate, schema.ActionDelete, schema.ActionNone
		supersede, contest        = memory.ChangeSupersede, memory.ChangeContest
	)
	lyon := neighbor("lyon", "Maya lives in Lyon.", monday)
	oslo := neighbor("oslo", "Maya lives in Oslo.", monday)
	acme := neighbor("acme", "Maya works at Acme.", monday)
	dogs := neighbor("dogs", "Maya has two dogs.", monday)
	later := neighbor("later", "Maya has two dogs.", tuesday.AddDate(0, 0, 1))
	said := neighbor("said", "Maya has two dogs.", monday)
	said.Type = schema.TypeEpisodic
	search := neighbor("search", "The rate limit of the search API is 100.", monday)
	billing := neighbor("billing", "The rate limit of the billing API is 200.", monday)
	const (
		moved  = "Maya moved from Lyon to Oslo."   // surely changes lyon
		globex = "Maya works at Globex."           // probably changes acme
		garden = "Maya bought a house with a lawn" // changes nothing
		limits = "The rate limit was raised to 500."
	)
	propose := func(a schema.Action, target string, c memory.Change) memory.Proposal {
		return memory.Proposal{Action: a, TargetID: target, Confidence: 0.6, Reason: "the model's", Change: c}
	}
	for name, tt := range map[string]struct {
		fact      string
		neighbors []memory.Neighbor
		model     memory.Proposal
		action    schema.Action
		target    string
		change    memory.Change
		reason    string
	}{
		"both are sure": {moved, []memory.Neighbor{lyon}, propose(update, "lyon", supersede), update, "lyon", supersede,
			"the model's"},
		"the model is less sure than the words": {moved, []memory.Neighbor{lyon},
			propose(update, "lyon", contest), update, "lyon", supersede, "the model's"},
		"the model gives no certainty": {moved, []memory.Neighbor{lyon}, propose(update, "lyon", ""),
			update, "lyon", supersede, "the model's"},
		"a delete is a change that keeps the target": {moved, []memory.Neighbor{lyon}, propose(remove, "lyon", ""),
			update, "lyon", supersede,
			"change: names the value that it replaces, by the rules; the model proposed delete"},
		"the model is surer than the words": {globex, []memory.Neighbor{acme}, propose(update, "acme", supersede),
			update, "acme", supersede, "the model's"},
		"both think it probable": {globex, []memory.Neighbor{acme}, propose(update, "acme", contest),
			update, "acme", contest, "the model's"},
		"probable, the model's certainty unset": {globex, []memory.Neighbor{acme}, propose(update, "acme", ""), update,
			"acme", contest, "the model's"},
		"probable, and the model adds": {globex, []memory.Neighbor{acme}, propose(add, "", ""), add, "", "",
			"the model's"},
		"the model alone is sure": {garden, []memory.Neighbor{dogs}, propose(update, "dogs", supersede),
			update, "dogs", contest, "the model's"},
		"the model alone thinks it probable": {garden, []memory.Neighbor{dogs}, propose(update, "dogs", contest),
			update, "dogs", contest, "the model's"},
		"a refinement that the model alone sees": {garden, []memory.Neighbor{dogs}, propose(update, "dogs", ""), update,
			"dogs", "", "the model's"},
		"a delete that the model alone sees": {garden, []memory.Neighbor{dogs}, propose(remove, "dogs", ""), remove,
			"dogs", "", "the model's"},
		"the model overlooks a change": {moved, []memory.Neighbor{dogs, lyon}, propose(add, "", ""), update, "lyon",
			supersede,
			"change: names the value that it replaces, by the rules; the model proposed add"},
		"the model mistakes a change for known": {moved, []memory.Neighbor{lyon}, propose(none, "lyon", ""), update,
			"lyon", supersede,
			"change: names the value that it replaces, by the rules; the model proposed none"},
		"the model changes another memory": {moved, []memory.Neighbor{dogs, lyon}, propose(update, "dogs", supersede),
			update, "lyon", supersede,
			"change: names the value that it replaces, by the rules; the model proposed update"},
		"a known fact": {"Maya lives in Oslo now.", []memory.Neighbor{oslo, lyon},
			propose(none, "oslo", ""), none, "oslo", "", "the model's"},
		"known, in words that only a model matches": {garden, []memory.Neighbor{dogs}, propose(none, "dogs", ""), none,
			"dogs", "", "the model's"},
		"the model chooses between two": {limits, []memory.Neighbor{search, billing},
			propose(update, "billing", supersede), update, "billing", supersede, "the model's"},
		"an episode stays true": {garden, []memory.Neighbor{said}, propose(update, "said", supersede),
			add, "", "", proposals.WhyStaysTrue},
		"an episode is not deleted": {garden, []memory.Neighbor{said}, propose(remove, "said", ""), add,
			"", "", proposals.WhyStaysTrue},
		"a later statement stays": {garden, []memory.Neighbor{later},
			propose(update, "later", supersede), add, "", "", proposals.WhyStaysTrue},
		"known only from an episode": {garden, []memory.Neighbor{said}, propose(none, "", ""), add, "", "",
			proposals.WhyOnlyFading},
		"known, but not where": {garden, []memory.Neighbor{said, dogs}, propose(none, "", ""), none,
			"", "", "the model's"},
		"new": {garden, []memory.Neighbor{dogs}, propose(add, "", ""), add, "", "",
			"the model's"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fact := memory.Fact{Content: tt.fact, Confidence: 0.9, SaidAt: tuesday}
			got := proposals.Vouch(tt.model, fact, tt.neighbors)
			require.Equal(t, tt.action, got.Action)
			require.Equal(t, tt.target, got.TargetID)
			require.Equal(t, tt.change, got.Change)
			require.Equal(t, tt.reason, got.Reason)
			require.Equal(t, got, intake.CheckProposal(got, tt.neighbors), "the result is well-formed")
			require.Equal(t, got, proposals.Vouch(got, fact, tt.neighbors), "Vouch is idempotent")
		})
	}
}

// A model's answer never supersedes or retracts a memory that the words of the fact do not change.
func TestVouchNeedsMoreThanTheModel(t *testing.T) {
	t.Parallel()
	neighbors := []memory.Neighbor{neighbor("dogs", "Maya has two dogs.", monday),
		neighbor("tea", "Maya likes tea.", monday)}
	fact := memory.Fact{Content: "The build takes nine minutes.", Confidence: 0.9, SaidAt: tuesday}
	_, changes := proposals.FindChange(fact, neighbors)
	require.False(t, changes)
	for _, action := range []schema.Action{schema.ActionAdd, schema.ActionUpdate, schema.ActionDelete,
		schema.ActionNone, "drop"} {
		for _, target := range []string{"dogs", "tea", "other", ""} {
			for _, change := range []memory.Change{memory.ChangeSupersede, memory.ChangeContest, memory.ChangeRetract,
				"wipe", ""} {
				p := intake.CheckProposal(memory.Proposal{Action: action, TargetID: target, Change: change,
					Confidence: 1, Also: []string{"dogs", "tea"}}, neighbors)
				if change == memory.ChangeRetract && p.Change == change {
					continue // package reply does not allow this answer
				}
				got := proposals.Vouch(p, fact, neighbors)
				require.Contains(t, []memory.Change{memory.ChangeContest, ""}, got.Change)
				if p.Change == "" {
					require.Equal(t, p.Action, got.Action)
				}
				v := proposals.EvaluateWrite(proposals.DefaultWritePolicy(), fact, got, &neighbors[0])
				require.False(t, got.Action == schema.ActionDelete && v.State == schema.ProposalApplied)
			}
		}
	}
}

func TestVouchRetractions(t *testing.T) {
	t.Parallel()
	const tabs = "Maya likes tabs."
	cleared := proposals.VouchRetractions(memory.Extraction{Facts: []memory.Fact{{Content: tabs, Cue: "actually"}}},
		tabs)
	require.Equal(t, []memory.Fact{{Content: tabs}}, cleared.Facts, "a cue that is not in the source")
	for name, tt := range map[string]struct {
		source string
		fact   memory.Fact
		kept   bool
	}{
		"explicitly": {"Forget  that Maya likes tabs.",
			memory.Fact{Content: tabs, Retracts: true, Cue: "forget that"}, true},
		"the source states it": {"Maya likes tabs.", memory.Fact{Content: tabs, Retracts: true, Cue: "forget that"},
			false},
		"without a cue":    {"Forget that Maya likes tabs.", memory.Fact{Content: tabs, Retracts: true}, false},
		"not a retraction": {"Actually Maya likes tabs.", memory.Fact{Content: tabs, Cue: "actually"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := memory.Extraction{Facts: []memory.Fact{tt.fact, {Content: "Maya has two dogs."}}}
			out := proposals.VouchRetractions(in, tt.source)
			if tt.kept {
				require.Equal(t, in, out)
				return
			}
			require.Equal(t, []memory.Fact{{Content: "Maya has two dogs."}}, out.Facts)
			require.Equal(t, []string{"facts[0]: retracts something that its source does not retract; dropped"}, out.Warnings)
		})
	}
}
