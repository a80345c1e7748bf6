package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

func TestContestUnreviewed(t *testing.T) {
	t.Parallel()
	update, remove := memory.Proposal{Action: schema.ActionUpdate}, memory.Proposal{Action: schema.ActionDelete}
	certain := memory.Proposal{Action: schema.ActionUpdate, Change: memory.ChangeSupersede}
	for name, c := range map[string]struct {
		u    memory.Unreviewed
		want bool
	}{
		"a certain change":               {memory.Unreviewed{Proposal: certain, Fact: "Ana lives in Porto", Existing: "Ana lives in Faro"}, true},
		"of a memory that has changed":   {memory.Unreviewed{Proposal: certain, Fact: "Ana lives in Porto", Existing: "Ana lives in Porto now", Changed: true}, false},
		"words that contradict":          {memory.Unreviewed{Proposal: update, Fact: "Ana does not like green tea", Existing: "Ana likes green tea"}, true},
		"they still do":                  {memory.Unreviewed{Proposal: update, Fact: "Ana does not like green tea", Existing: "Ana likes green tea a lot", Changed: true}, true},
		"another value of the one claim": {memory.Unreviewed{Proposal: memory.Proposal{Action: schema.ActionAdd}, Fact: "Ana lives in Porto", Existing: "Ana lives in Faro", Claims: true}, true},
		"what is to be deleted":          {memory.Unreviewed{Proposal: remove, Fact: "Ana moved away", Existing: "Ana lives in Faro"}, true},
		"what is not to be replaced":     {memory.Unreviewed{Proposal: update, Outcome: memory.ReasonRevisionPolicy, Fact: "The sky is grey", Existing: "The sky is blue"}, true},
		"a further detail":               {memory.Unreviewed{Proposal: update, Outcome: memory.ReasonDestructiveDisabled, Fact: "Ana likes green tea", Existing: "Ana likes tea"}, false},
		"an addition":                    {memory.Unreviewed{Proposal: memory.Proposal{Action: schema.ActionAdd}, Fact: "Ana sings", Existing: "Ana dances"}, false},
		"a text that is gone":            {memory.Unreviewed{Proposal: certain, Existing: "Ana lives in Faro", Claims: true}, false},
	} {
		require.Equal(t, c.want, memory.ContestUnreviewed(c.u), name)
	}
}
