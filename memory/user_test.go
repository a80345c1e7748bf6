package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// A request for one user never reads or changes the memories of another, whatever their visibility and owner.
func TestMayLookOfUser(t *testing.T) {
	t.Parallel()
	maya := who("a", "p", "g")
	maya.User = "maya"
	scope := func(agent, s string) schema.Principal {
		o := who(agent, "p", "g")
		o.Scope = s
		return o
	}
	for name, c := range map[string]struct {
		owner        schema.Principal
		v            schema.Visibility
		look, change bool
	}{
		"her own":                       {scope("a", "user/maya"), private, true, true},
		"another user's":                {scope("a", "user/tom"), private, false, false},
		"another user's, global":        {scope("a", "user/tom"), public, false, false},
		"the agent's":                   {scope("a", ""), private, true, false},
		"the agent's, in a scope":       {scope("a", "kitchen"), private, false, false},
		"hers, of another agent":        {scope("b", "user/maya"), private, false, false},
		"hers, shared by another agent": {scope("b", "user/maya"), shared, true, true},
		"shared by another agent":       {scope("b", ""), shared, true, false},
	} {
		require.Equal(t, c.look, memory.MayLook(maya, kept(c.owner, c.v)), name)
		require.Equal(t, c.change, memory.MayChange(maya, kept(c.owner, c.v)), name)
		require.True(t, memory.MayLook(c.owner, kept(c.owner, c.v)) && memory.MayChange(c.owner, kept(c.owner, c.v)),
			name)
	}
}

func TestRevisionForAUserIsKeptInTheUsersScope(t *testing.T) {
	t.Parallel()
	maya := who("a", "p", "")
	maya.User = "maya"
	require.Equal(t, maya.Owner(), memory.RevisionHolding(maya, nil).Owner)
	target := kept(maya.Owner(), shared)
	require.Equal(t, target, memory.RevisionHolding(maya, []memory.Holding{target}))
}
