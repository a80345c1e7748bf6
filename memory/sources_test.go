package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

func TestJudgeOf(t *testing.T) {
	t.Parallel()
	agent := schema.Principal{Tenant: "t", Agent: "a", Project: "p", PolicyGroup: "g"}
	maya := agent
	maya.User = "maya"
	other := agent
	other.Agent = "b"
	held := func(p schema.Principal, v schema.Visibility) memory.Holding {
		return memory.Holding{Owner: p.Owner(), Visibility: v}
	}
	theirs := other
	theirs.User = "maya"
	asAgent, asUser := memory.VerdictSource{Agent: "a"}, memory.VerdictSource{Agent: "a", User: "maya"}
	shared := held(agent, schema.VisibilityShared)
	for name, tt := range map[string]struct {
		by   schema.Principal
		on   memory.Holding
		want memory.VerdictSource
		ok   bool
	}{
		"an agent on its own":                  {agent, held(agent, schema.VisibilityPrivate), memory.VerdictSource{}, false},
		"a user on her own":                    {maya, held(maya, schema.VisibilityPrivate), memory.VerdictSource{}, false},
		"an agent on that of its user":         {agent, held(maya, schema.VisibilityPrivate), memory.VerdictSource{}, false},
		"a user on that of the agent":          {maya, held(agent, schema.VisibilityPrivate), asUser, true},
		"an agent on what it shares":           {agent, shared, asAgent, true},
		"a user on what the agent shares":      {maya, shared, asAgent, true},
		"another agent":                        {other, shared, memory.VerdictSource{Agent: "b"}, true},
		"a user of another agent":              {theirs, shared, memory.VerdictSource{Agent: "b"}, true},
		"an agent on what its group reads":     {agent, held(agent, schema.VisibilityGroup), asAgent, true},
		"an agent on what every project reads": {agent, held(agent, schema.VisibilityGlobal), asAgent, true},
	} {
		got, ok := memory.VerdictSourceOf(tt.by, tt.on)
		require.Equal(t, tt.want, got, name)
		require.Equal(t, tt.ok, ok, name)
	}
}

func TestAgreed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ own, others, want int }{
		{0, 0, 0}, {0, 5, 0}, {1, 0, 1}, {6, 0, 1}, {6, 1, 1}, {6, 2, 2}, {2, 6, 2},
	} {
		require.Equal(t, tt.want, memory.Agreed(tt.own, tt.others), tt)
	}
}
