package proposals_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
)

func TestContestUnreviewed(t *testing.T) {
	t.Parallel()
	update, remove := memory.Proposal{Action: schema.ActionUpdate}, memory.Proposal{Action: schema.ActionDelete}
	certain := memory.Proposal{Action: schema.ActionUpdate, Change: memory.ChangeSupersede}
	for name, c := range map[string]struct {
		u    proposals.Unreviewed
		want bool
	}{
		"a certain change": {proposals.Unreviewed{Proposal: certain, Fact: "Ana lives in Porto",
			Existing: "Ana lives in Faro"}, true},
		"the memory has changed": {proposals.Unreviewed{Proposal: certain, Fact: "Ana lives in Porto",
			Existing: "Ana lives in Porto now", Changed: true}, false},
		"contradicting words": {proposals.Unreviewed{Proposal: update, Fact: "Ana does not like green tea",
			Existing: "Ana likes green tea"}, true},
		"contradicting words, changed": {proposals.Unreviewed{Proposal: update, Fact: "Ana does not like green tea",
			Existing: "Ana likes green tea a lot", Changed: true}, true},
		"another value of the one claim": {proposals.Unreviewed{Proposal: memory.Proposal{Action: schema.ActionAdd},
			Fact: "Ana lives in Porto", Existing: "Ana lives in Faro", Claims: true}, true},
		"a delete": {proposals.Unreviewed{Proposal: remove, Fact: "Ana moved away",
			Existing: "Ana lives in Faro"}, true},
		"a policy against replacement": {proposals.Unreviewed{Proposal: update,
			Outcome: proposals.ReasonRevisionPolicy, Fact: "The sky is grey", Existing: "The sky is blue"}, true},
		"a further detail": {proposals.Unreviewed{Proposal: update,
			Outcome: proposals.ReasonDestructiveDisabled, Fact: "Ana likes green tea", Existing: "Ana likes tea"},
			false},
		"an addition": {proposals.Unreviewed{Proposal: memory.Proposal{Action: schema.ActionAdd},
			Fact: "Ana sings", Existing: "Ana dances"}, false},
		"a missing text": {proposals.Unreviewed{Proposal: certain, Existing: "Ana lives in Faro",
			Claims: true}, false},
	} {
		require.Equal(t, c.want, proposals.ContestUnreviewed(c.u), name)
	}
}

func TestMayContradict(t *testing.T) {
	t.Parallel()
	require.True(t, proposals.MayContradict(schema.ActionUpdate, proposals.ReasonDestructiveDisabled))
	require.True(t, proposals.MayContradict(schema.ActionDelete, ""))
	require.True(t, proposals.MayContradict(schema.ActionAdd, proposals.ReasonActiveFactExists))
	require.False(t, proposals.MayContradict(schema.ActionAdd, proposals.ReasonCandidatesChanged))
	require.False(t, proposals.MayContradict(schema.ActionNone, ""))
}
