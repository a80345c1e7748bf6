package proposals_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
)

func neighbor(id, content string, at time.Time) memory.Neighbor {
	return memory.Neighbor{ID: id, Version: 1, Content: content, Hash: normalize.Normalize(content).Hash,
		Type: schema.TypeSemantic, Status: schema.StatusActive, OccurredAt: at}
}

var (
	monday  = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	tuesday = monday.AddDate(0, 0, 1)
)

func TestFindChange(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fact      string
		at        time.Time
		neighbors []memory.Neighbor
		target    string // empty for none
		also      []string
		change    memory.Change
	}{
		"a new value": {"Our standup moved to 10:00.", tuesday,
			[]memory.Neighbor{neighbor("a", "Our retro is at 15:00.", monday),
				neighbor("b", "Our standup is at 9:30.", monday)}, "b", nil, memory.ChangeSupersede},
		"restatements change with the target": {"I live in Oslo now.", tuesday,
			[]memory.Neighbor{neighbor("a", "I live in Lyon.", monday), neighbor("b", "My home is in Lyon.", monday)},
			"a", []string{"b"}, memory.ChangeSupersede},
		"a later statement is not changed": {"Our standup is at 9:30.", monday,
			[]memory.Neighbor{neighbor("a", "Our standup is at 10:00.", tuesday)}, "", nil, ""},
		"an episode is not changed": {"Our standup moved to 10:00.", tuesday,
			[]memory.Neighbor{{ID: "a", Content: "Our standup is at 9:30.", Type: schema.TypeEpisodic,
				OccurredAt: monday}}, "", nil, ""},
		"a text with other statements is not changed": {"Maya lives in Oslo.", tuesday,
			[]memory.Neighbor{neighbor("a", "Maya lives in Lyon. She has two dogs.", monday)}, "", nil, ""},
		"an ambiguous change": {"The rate limit was raised to 500.", tuesday,
			[]memory.Neighbor{neighbor("a", "The rate limit of the search API is 100.", monday),
				neighbor("b", "The rate limit of the billing API is 200.", monday)}, "", nil, ""},
		"a probable change contests": {"Maya works at Globex.", tuesday,
			[]memory.Neighbor{neighbor("a", "Maya works at Acme.", monday)}, "a", nil, memory.ChangeContest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, ok := proposals.FindChange(memory.Fact{Content: tt.fact, SaidAt: tt.at}, tt.neighbors)
			require.Equal(t, tt.target != "", ok)
			require.Equal(t, tt.target, found.Target.ID)
			require.Equal(t, tt.also, found.Also)
			require.Equal(t, tt.change, found.Change)
		})
	}
}

// A fact with the claim of a neighbour does not contest it by saying more or less about the same value.
func TestDetailsContestNothing(t *testing.T) {
	t.Parallel()
	of := func(object string) memory.Claim {
		return memory.Claim{Subject: "Maya", Predicate: "works_at", Object: object}
	}
	for _, tt := range []struct {
		known, fact   string
		before, after memory.Claim
		contests      bool
	}{
		{"Maya works at Globex.", "Maya works at Globex as an engineer.", of("Globex"), of("Globex"), false},
		{"Maya works at Globex.", "Maya works at Globex in Zurich.", of("Globex"), of("globex"), false},
		{"Maya works at Globex in Zurich.", "Maya works at Globex.", of("Globex"), of("Globex"), false},
		{"Maya works at Globex in Zurich.", "Maya works at Acme.", of("Globex"), of("Acme"), true},
		{"Maya works at Globex.", "Maya no longer works at Globex.", of("Globex"), of("Globex"), true},
	} {
		n := neighbor("a", tt.known, monday)
		n.Claim = tt.before
		_, ok := proposals.FindChange(memory.Fact{Content: tt.fact, Claim: tt.after, SaidAt: tuesday},
			[]memory.Neighbor{n})
		require.Equal(t, tt.contests, ok, "%s: %s", tt.known, tt.fact)
	}
}

func TestOwnStatements(t *testing.T) {
	t.Parallel()
	old := neighbor("a", "I live in Lyon.", monday)
	old.Who = "Maya"
	found, ok := proposals.FindChange(memory.Fact{Content: "I live in Oslo now.", Speaker: "Maya", SaidAt: tuesday},
		[]memory.Neighbor{old})
	require.True(t, ok)
	require.True(t, found.Own)
	_, ok = proposals.FindChange(memory.Fact{Content: "I live in Oslo now.", Speaker: "Tom", SaidAt: tuesday},
		[]memory.Neighbor{old})
	require.False(t, ok, "Tom speaks about himself")
}

func TestFindRetracted(t *testing.T) {
	t.Parallel()
	neighbors := []memory.Neighbor{neighbor("a", "Maya likes spaces.", monday),
		neighbor("b", "Maya likes tabs.", monday), neighbor("c", "Maya likes tabs!", monday)}
	p := proposals.FindRetracted(memory.Fact{Content: "Maya likes tabs.", Retracts: true, SaidAt: tuesday}, neighbors)
	require.Equal(t, memory.Proposal{Action: schema.ActionDelete, TargetID: "b", Also: []string{"c"},
		Change: memory.ChangeRetract, Own: true, Confidence: 0.9, Reason: "taken back"}, p)
	p = proposals.FindRetracted(memory.Fact{Content: "Maya likes mustard.", Retracts: true}, neighbors)
	require.Equal(t, schema.ActionNone, p.Action)
}

func TestMostChangedNeighborsAreOffered(t *testing.T) {
	t.Parallel()
	var found []memory.Neighbor
	for _, text := range []string{"The launch party is loud.", "The launch was fun.", "A launch needs a checklist.",
		"The launch crew likes tea.", "A launch is a launch.", "The launch is planned for May 3."} {
		found = append(found, neighbor(text, text, monday))
	}
	fact := memory.Fact{Content: "The launch slipped to June 10.", SaidAt: tuesday}
	offered := proposals.Offer(fact, found)
	require.Len(t, offered, proposals.OfferedNeighbors)
	require.Equal(t, "The launch is planned for May 3.", offered[0].Content)
}

// A memory that was found only by words for the fact's attribute is offered if the fact gives the attribute another
// value. One that says something else in such words is not, or the fact would supersede it.
func TestMemoriesWithWordsForTheAttributeAreOfferedIfTheyChange(t *testing.T) {
	t.Parallel()
	for said, tt := range map[string]struct{ changed, other []string }{
		"I moved to Antwerp.": {[]string{"I live in Ghent.", "Our flat is in Ghent."},
			[]string{"My house has a red door.", "I live with Tom.", "I live alone.", "The town has a flat road.",
				"My house is near Central Park.", "My home office is in the attic.", "The address book is on my phone.",
				"My flat is cold.", "My apartment is on the third floor.", "My house insurance is with Allianz."}},
		"I joined Globex.": {[]string{"I work at Acme.", "I work for Acme."},
			[]string{"I work with Tom.", "My job is stressful.", "My company car is a Golf."}},
		"We switched to Mattermost.":  {[]string{"We use Slack for chat."}, nil},
		"I've switched to green tea.": {[]string{"I drink coffee in the morning."}, nil},
	} {
		fact := memory.Fact{Content: said, SaidAt: tuesday}
		offered := func(text string) []memory.Neighbor {
			n := neighbor(text, text, monday)
			n.Score = proposals.AttributeScore
			return proposals.Offer(fact, []memory.Neighbor{n})
		}
		for _, text := range tt.changed {
			require.Len(t, offered(text), 1, "%s %s", text, said)
		}
		for _, text := range tt.other {
			require.Empty(t, offered(text), "%s %s", text, said)
		}
	}
}

func TestAttributeWords(t *testing.T) {
	t.Parallel()
	words := func(text string) []string { return proposals.AttributeWords(memory.Fact{Content: text}) }
	require.Subset(t, words("I moved to Oslo."), []string{"live", "home"})
	require.Subset(t, words("I joined Globex."), []string{"work", "employer"})
	require.Empty(t, words("I climbed a hill near Oslo."))
	require.Empty(t, words(strings.Repeat("I moved to Oslo. ", 100)), "a long text has many statements")
}

func TestEvaluateChanges(t *testing.T) {
	t.Parallel()
	fact := memory.Fact{Content: "Maya lives in Oslo.", Confidence: 0.9}
	target := neighbor("a", "Maya lives in Lyon.", monday)
	kept, pinned := target, target
	kept.Kept, pinned.Pinned = true, true
	for name, tt := range map[string]struct {
		supersede proposals.Supersede
		change    memory.Change
		own       bool
		target    memory.Neighbor
		state     schema.ProposalState
		reason    string
	}{
		"sure": {proposals.SupersedeAuto, memory.ChangeSupersede, false, target,
			schema.ProposalApplied, ""},
		"likely": {proposals.SupersedeAuto, memory.ChangeContest, false, target, schema.ProposalApplied,
			""},
		"no change in the text": {proposals.SupersedeAuto, "", false, target, schema.ProposalBlocked,
			proposals.ReasonDestructiveDisabled},
		"another speaker's, own allowed": {proposals.SupersedeOwn, memory.ChangeSupersede, false, target,
			schema.ProposalBlocked, proposals.ReasonDestructiveDisabled},
		"the speaker's own": {proposals.SupersedeOwn, memory.ChangeSupersede, true, target, schema.ProposalApplied,
			""},
		"review": {proposals.SupersedeReview, memory.ChangeSupersede, true, target,
			schema.ProposalBlocked, proposals.ReasonDestructiveDisabled},
		"pinned": {proposals.SupersedeAuto, memory.ChangeSupersede, true, pinned,
			schema.ProposalBlocked, proposals.ReasonPinnedTarget},
		"kept by its policy": {proposals.SupersedeAuto, memory.ChangeSupersede, true, kept, schema.ProposalBlocked,
			proposals.ReasonRevisionPolicy},
		"kept, but contested": {proposals.SupersedeAuto, memory.ChangeContest, true, kept, schema.ProposalApplied,
			""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			policy := proposals.DefaultWritePolicy()
			policy.Supersede = tt.supersede
			v := proposals.EvaluateWrite(policy, fact,
				memory.Proposal{Action: schema.ActionUpdate, TargetID: "a", Confidence: 0.9, Change: tt.change,
					Own: tt.own}, &tt.target)
			require.Equal(t, tt.state, v.State)
			require.Equal(t, tt.reason, v.Reason)
			if tt.change == "" {
				return
			}
			policy.AllowUpdateDelete = true // it is for updates and deletes that are no certain changes
			require.Equal(t, v, proposals.EvaluateWrite(policy, fact,
				memory.Proposal{Action: schema.ActionUpdate, TargetID: "a", Confidence: 0.9, Change: tt.change,
					Own: tt.own}, &tt.target))
		})
	}
}
