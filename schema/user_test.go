package schema_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
)

func problemsOf(t *testing.T, err error) map[string]string {
	t.Helper()
	if err == nil {
		return nil
	}
	var bad *schema.ValidationError
	require.True(t, errors.As(err, &bad), "%v", err)
	out := map[string]string{}
	for _, f := range bad.Fields {
		out[f.Field] = f.Problem
	}
	return out
}

// Every request with both a user and a scope is refused.
func TestUserAndScopeExcludeEachOther(t *testing.T) {
	t.Parallel()
	p := schema.Principal{Tenant: "acme", Agent: "support", Scope: "kitchen", User: "maya"}
	op := schema.Operation{Principal: p, Reason: "asked"}
	const id = "0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b"
	for name, err := range map[string]error{
		"ingest": (&schema.IngestRequest{Principal: p,
			Candidates: []schema.Candidate{{Content: "I live in Lyon."}}}).Validate(),
		"recall":   (&schema.RecallRequest{Principal: p, Query: "where"}).Validate(),
		"put":      (&schema.PutRequest{Operation: op}).Validate(),
		"modify":   (&schema.ModifyRequest{Operation: op}).Validate(),
		"revise":   (&schema.ReviseRequest{Operation: op}).Validate(),
		"forget":   (&schema.ForgetRequest{Operation: op, Selector: schema.Selector{IDs: []string{id}}}).Validate(),
		"recover":  (&schema.RecoverRequest{Operation: op}).Validate(),
		"review":   (&schema.ReviewRequest{Operation: op}).Validate(),
		"feedback": (&schema.FeedbackRequest{Operation: op, RetrievalID: id}).Validate(),
	} {
		problem := problemsOf(t, err)["principal.scope"]
		require.Contains(t, problem, "principal.user", name)
		require.NotContains(t, err.Error(), "maya", name)
	}
}

func TestUserNames(t *testing.T) {
	t.Parallel()
	problem := func(name string) string {
		r := schema.RecallRequest{Principal: schema.Principal{Tenant: "acme", Agent: "support", User: name},
			Query: "where"}
		return problemsOf(t, r.Validate())["principal.user"]
	}
	for _, name := range []string{"maya", "Maya", "maya@acme.example", "auth0|64f0c1", "6f1c…", "李雷", "user:17",
		"a.b-c_d~e+f=g", strings.Repeat("x", schema.MaxUserLength)} {
		require.Empty(t, problem(name), name)
	}
	for _, name := range []string{" maya", "maya ", "may a", "a/b", "/", "a\tb", "a\nb", "a\x00b", "\xff", "may\u200ba",
		"\ufffd", "\u202eayam", "a\u00a0b",
		strings.Repeat("x", schema.MaxUserLength+1)} {
		require.NotEmpty(t, problem(name), "%q", name)
	}
	require.Len(t, []rune(schema.UserScope(strings.Repeat("x", schema.MaxUserLength))), schema.MaxNameLength,
		"the scope is a name as well")
}

func TestScopesOfUser(t *testing.T) {
	t.Parallel()
	agent := schema.Principal{Tenant: "acme", Agent: "support"}
	maya, scoped := agent, agent
	maya.User, scoped.Scope = "maya", "kitchen"

	require.Equal(t, "user/maya", maya.EffectiveScope())
	require.Equal(t, []string{"user/maya", ""}, maya.ReadScopes())
	require.Equal(t, schema.Principal{Tenant: "acme", Agent: "support", Scope: "user/maya"}, maya.Owner())
	require.True(t, maya.MayRead("user/maya") && maya.MayRead("") && maya.MayChange("user/maya"))
	for _, other := range []string{"user/may", "user/maya2", "user/Maya", "user/", "kitchen"} {
		require.False(t, maya.MayRead(other) || maya.MayChange(other), other)
	}
	require.False(t, maya.MayChange(""), "what is the agent's is not the user's to change")

	require.Equal(t, agent, agent.Owner())
	require.Equal(t, []string{""}, agent.ReadScopes())
	require.Equal(t, []string{"kitchen"}, scoped.ReadScopes())
	for _, p := range []schema.Principal{agent, scoped} {
		require.True(t, p.MayRead("user/maya") && p.MayChange("user/maya"), "an agent reaches by id what it keeps")
	}

	require.Equal(t, "maya", schema.UserOf("user/maya"))
	for _, scope := range []string{"", "kitchen", "users/maya", "user"} {
		require.Empty(t, schema.UserOf(scope))
	}
}

// The JSON of a principal without a user must not change, because ids and digests are derived from it.
func TestPrincipalWithoutUserIsUnchanged(t *testing.T) {
	t.Parallel()
	encoded, err := json.Marshal(schema.Principal{Tenant: "acme", Agent: "support", Project: "p", Scope: "s",
		PolicyGroup: "g"})
	require.NoError(t, err)
	require.JSONEq(t, `{"tenant":"acme","agent":"support","project":"p","scope":"s","policy_group":"g"}`,
		string(encoded))
}

// A record that is put for a user must not name another scope.
func TestPutForUserRefusesOtherScope(t *testing.T) {
	t.Parallel()
	for scope, refused := range map[string]bool{"": false, "user/maya": false, "user/tom": true, "kitchen": true} {
		r := schema.PutRequest{Operation: schema.Operation{Principal: schema.Principal{Tenant: "acme", Agent: "support",
			User: "maya"}},
			Records: []schema.MemoryRecord{{Scope: scope}}}
		require.Equal(t, refused, problemsOf(t, r.Validate())["records[0].scope"] != "", scope)
	}
}
