package memory_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// A user is a wall, whatever the visibility and the owner are.
func TestMayLookForAUser(t *testing.T) {
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
		"her own":                               {scope("a", "user/maya"), private, true, true},
		"another user's":                        {scope("a", "user/tom"), private, false, false},
		"another user's, shared with everybody": {scope("a", "user/tom"), public, false, false},
		"the agent's":                           {scope("a", ""), private, true, false},
		"the agent's, of a scope":               {scope("a", "kitchen"), private, false, false},
		"hers, kept by another agent":           {scope("b", "user/maya"), private, false, false},
		"hers, shared by another agent":         {scope("b", "user/maya"), shared, true, true},
		"shared by another agent":               {scope("b", ""), shared, true, false},
	} {
		require.Equal(t, c.look, memory.MayLook(maya, kept(c.owner, c.v)), name)
		require.Equal(t, c.change, memory.MayChange(maya, kept(c.owner, c.v)), name)
		require.True(t, memory.MayLook(c.owner, kept(c.owner, c.v)) && memory.MayChange(c.owner, kept(c.owner, c.v)), name)
	}
}

// Nothing grants one user the memories of another: not a claim that is believed, and not a signed token.
func TestClearanceOfAUser(t *testing.T) {
	t.Parallel()
	maya := trustedOne
	maya.Scope, maya.User = "", "maya"
	granted := schema.TrustContext{Scopes: []string{"user/tom", "kitchen", "user/maya", "user/"}}
	token := signed(t, trustKey, maya, granted, trustNow.Add(time.Minute))
	for name, c := range map[string]struct {
		key   []byte
		trust schema.TrustContext
	}{
		"believed": {nil, granted},
		"signed":   {trustKey, schema.TrustContext{Token: token}},
	} {
		got := memory.TrustRules{}.Clear(schema.RecallRequest{Principal: maya, Query: "q", Trust: &c.trust}, c.key, trustNow)
		require.Equal(t, []string{"kitchen"}, got.Scopes, name)
		require.Contains(t, got.Problems, schema.TrustScopes, name)
	}
	tom := maya
	tom.User = "tom"
	_, err := memory.OpenTrust(trustKey, token, tom, trustNow)
	require.ErrorIs(t, err, memory.ErrTrustPrincipal, "a token is for one user")
}

// Rules see whose the memory is, and do not move it to where others read it.
func TestRulesAndUsers(t *testing.T) {
	t.Parallel()
	p := parsePolicy(t, `rules:
  - {name: hr, when: 'candidate.content.contains("salary")', set: {scope: hr, sensitivity: high}}
  - {name: maya, when: 'principal.user == "maya"', set: {tags: [maya]}}
`)
	c := schema.Candidate{Content: "My salary is paid in May."}
	in := memory.PolicyInput{Kind: memory.PolicyCandidate, Candidate: c, Principal: schema.Principal{Tenant: "t", Agent: "a"}}
	classify := func() memory.Explanation { return p.Explain(memory.Classify(c, memory.CandidatePrefix(c)), in) }

	require.Equal(t, "hr", classify().Classification.Scope)
	in.Principal.User = "maya"
	e := classify()
	require.Empty(t, e.Classification.Scope)
	require.Equal(t, schema.SensitivityHigh, e.Classification.Sensitivity, "the rest of the rule holds")
	require.Contains(t, e.Classification.Tags, "maya")
	require.Equal(t, []memory.RuleProblem{{Rule: "hr", Field: "set.scope", Problem: "what is a user's stays in the user's scope"}}, e.Problems)
	// A fact is classified with the scope of its source.
	in.Kind, in.Principal = memory.PolicyFact, schema.Principal{Tenant: "t", Agent: "a", Scope: "user/maya"}
	require.Empty(t, classify().Classification.Scope)
}

func TestRevisionForAUserIsKeptInTheUsersScope(t *testing.T) {
	t.Parallel()
	maya := who("a", "p", "")
	maya.User = "maya"
	require.Equal(t, maya.Owner(), memory.RevisionHolding(maya, nil).Owner)
	target := kept(maya.Owner(), shared)
	require.Equal(t, target, memory.RevisionHolding(maya, []memory.Holding{target}))
}
