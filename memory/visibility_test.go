package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// who returns an agent of a project and a policy group.
func who(agent, project, group string) schema.Principal {
	return schema.Principal{Tenant: "t", Agent: agent, Project: project, PolicyGroup: group}
}

func kept(owner schema.Principal, v schema.Visibility) memory.Holding {
	return memory.Holding{Owner: owner, Visibility: v}
}

const (
	private = schema.VisibilityPrivate
	group   = schema.VisibilityGroup
	shared  = schema.VisibilityShared
	public  = schema.VisibilityGlobal
)

func TestMayLook(t *testing.T) {
	t.Parallel()
	b := who("b", "p", "g")
	for name, c := range map[string]struct {
		asker schema.Principal
		v     schema.Visibility
		want  bool
	}{
		"owner":                                 {b, private, true},
		"owner from another project":            {who("b", "q", ""), private, true},
		"stranger, private":                     {who("a", "p", "g"), private, false},
		"stranger, global":                      {who("a", "q", ""), public, true},
		"same project, shared":                  {who("a", "p", ""), shared, true},
		"another project, shared":               {who("a", "q", "g"), shared, false},
		"same group, group":                     {who("a", "q", "g"), group, true},
		"same project but not group":            {who("a", "p", "h"), group, false},
		"unknown visibility means private":      {who("a", "p", "g"), "everyone", false},
		"unknown visibility, seen by its owner": {b, "", true},
	} {
		require.Equal(t, c.want, memory.MayLook(c.asker, kept(b, c.v)), name)
	}
	require.False(t, memory.MayLook(who("a", "p", ""), kept(who("b", "p", ""), group)), "empty groups do not match")
}

func TestNarrower(t *testing.T) {
	t.Parallel()
	order := []schema.Visibility{private, group, shared, public}
	for i, a := range order {
		for k, b := range order {
			require.Equal(t, i < k, memory.Narrower(a, b), "%s and %s", a, b)
		}
	}
	require.False(t, memory.Narrower("everyone", private))
	require.True(t, memory.Narrower("everyone", group))
}

func TestRevisionHolding(t *testing.T) {
	t.Parallel()
	a, b := who("a", "p", "g"), who("b", "p", "g")
	for name, c := range map[string]struct {
		targets []memory.Holding
		want    memory.Holding
	}{
		"its owner's":          {[]memory.Holding{kept(b, shared)}, kept(b, shared)},
		"one owner, narrowest": {[]memory.Holding{kept(b, public), kept(b, group)}, kept(b, group)},
		"several owners":       {[]memory.Holding{kept(b, shared), kept(a, public)}, kept(a, shared)},
		"back to one of them": {[]memory.Holding{kept(b, shared), kept(who("c", "p", ""), shared), kept(b, shared)},
			kept(a, shared)},
		"one agent, two projects": {[]memory.Holding{kept(b, shared), kept(who("b", "q", "g"), shared)},
			kept(a, shared)},
		"none": {nil, kept(a, public)},
	} {
		require.Equal(t, c.want, memory.RevisionHolding(a, c.targets), name)
	}
}

func TestInTheOpen(t *testing.T) {
	t.Parallel()
	a, b := who("a", "p", "g"), who("b", "p", "g")
	for name, c := range map[string]struct {
		record  memory.Holding
		targets []memory.Holding
		want    bool
	}{
		"own, hidden":                   {kept(a, private), []memory.Holding{kept(a, public)}, true},
		"own, shown":                    {kept(a, public), []memory.Holding{kept(a, private)}, true},
		"another's, unchanged":          {kept(b, shared), []memory.Holding{kept(b, shared)}, true},
		"another's, hidden from others": {kept(b, private), []memory.Holding{kept(b, shared)}, false},
		"another's, hidden from it":     {kept(a, private), []memory.Holding{kept(b, shared)}, false},
		"another's, shown to more":      {kept(a, public), []memory.Holding{kept(b, shared)}, false},
		"another's, other project":      {kept(who("a", "q", "g"), shared), []memory.Holding{kept(b, shared)}, false},
		"two, narrowest":                {kept(a, group), []memory.Holding{kept(b, public), kept(b, group)}, true},
		"two, widest":                   {kept(a, public), []memory.Holding{kept(b, public), kept(b, group)}, false},
		"own targets are ignored":       {kept(a, shared), []memory.Holding{kept(a, private), kept(b, shared)}, true},
		"no targets":                    {kept(a, private), nil, true},
	} {
		require.Equal(t, c.want, memory.InTheOpen(a, c.record, c.targets), name)
	}
}

func TestHides(t *testing.T) {
	t.Parallel()
	a, b := who("a", "p", "g"), who("b", "p", "g")
	for name, c := range map[string]struct {
		known, other memory.Holding
		want         bool
	}{
		"own":                          {kept(a, private), kept(a, public), false},
		"another's by a private one":   {kept(a, private), kept(b, shared), true},
		"another's by its private one": {kept(b, private), kept(b, shared), true},
		"another's by a group's":       {kept(a, group), kept(b, shared), true},
		"another's by an equal one":    {kept(a, shared), kept(b, shared), false},
		"another's by a wider one":     {kept(a, public), kept(b, shared), false},
		"another's of another project": {kept(who("a", "q", "g"), shared), kept(b, shared), true},
	} {
		require.Equal(t, c.want, memory.Hides(a, c.known, c.other), name)
	}
}

// By default, the result of a revision of other agents' memories stays visible to them and to no one else.
func TestRevisionKeepsVisibility(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := who("a", "p", "g")
		var targets []memory.Holding
		for range rapid.IntRange(1, 4).Draw(t, "targets") {
			target := kept(who(rapid.SampledFrom([]string{"b", "c"}).Draw(t, "agent"), "p", "g"),
				rapid.SampledFrom([]schema.Visibility{group, shared, public}).Draw(t, "visibility"))
			targets = append(targets, target) // of one project and group, so all agents see all targets
		}
		held := memory.RevisionHolding(a, targets)
		require.True(t, memory.InTheOpen(a, held, targets))
		for _, target := range targets {
			require.True(t, memory.MayLook(target.Owner, held))
			require.False(t, memory.Narrower(target.Visibility, held.Visibility), "no wider than the narrowest target")
		}
	})
}
