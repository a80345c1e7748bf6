package proposals_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
)

func TestKeepsTarget(t *testing.T) {
	t.Parallel()
	standing := func(sources int) revision.Standing {
		return revision.Standing{Type: schema.TypeSemantic, Status: schema.StatusActive, Confidence: 1, SourceTrust: 1,
			Sources: sources, Policy: schema.PolicyReplace, Validity: schema.Validity{Mode: schema.ValidGlobal}}
	}
	contested := standing(1)
	contested.Status = schema.StatusContested
	episode := standing(9)
	episode.Type = schema.TypeEpisodic
	forks := standing(1)
	forks.Policy = schema.PolicyFork
	for name, c := range map[string]struct {
		proposal memory.Proposal
		target   revision.Standing
		want     bool
	}{
		"equal support":               {memory.Proposal{Action: schema.ActionUpdate}, standing(1), false},
		"more support for the target": {memory.Proposal{Action: schema.ActionUpdate}, standing(9), true},
		"a delete":                    {memory.Proposal{Action: schema.ActionDelete}, standing(9), true},
		"an addition":                 {memory.Proposal{Action: schema.ActionAdd}, standing(9), false},
		"an episode":                  {memory.Proposal{Action: schema.ActionUpdate}, episode, false},
		"contested":                   {memory.Proposal{Action: schema.ActionUpdate}, contested, true},
		"a change outweighs the support of the target": {
			memory.Proposal{Action: schema.ActionUpdate, Change: memory.ChangeSupersede}, standing(9), false},
		"a change resolves a contest": {
			memory.Proposal{Action: schema.ActionUpdate, Change: memory.ChangeSupersede}, contested, false},
		"a change does not outweigh the policy": {
			memory.Proposal{Action: schema.ActionUpdate, Change: memory.ChangeSupersede}, forks, true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, proposals.KeepsTarget(c.proposal, c.target, standing(1)))
		})
	}
}
