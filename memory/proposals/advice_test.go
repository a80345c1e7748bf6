package proposals_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/proposals"
)

func TestChangesByAssistants(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		known, knownBy, fact, saidBy string
		changes                      bool
	}{
		"an item of its list": {"- **Length:** about 300 pages.", "assistant", "- **Length:** about 500 pages.",
			"assistant", false},
		"an item of its list by a person": {"2. **Budget**: the snacks cost $50.", "assistant",
			"The snacks budget was raised to $75.", "user", false},
		"a person's list":    {"- Standup: 9:30.", "user", "- Standup: 10:00.", "user", true},
		"what a person said": {"Our standup is at 9:30.", "user", "Our standup moved to 10:00.", "assistant", false},
		"its own report": {"Our standup is at 9:30.", "assistant", "Our standup moved to 10:00.", "assistant",
			true},
		"another answer":         {"The budget is $30.", "assistant", "The budget is $25.", "assistant", false},
		"an unknown speaker's":   {"Our standup is at 9:30.", "", "Our standup moved to 10:00.", "assistant", true},
		"corrected by a person":  {"Our standup is at 9:30.", "assistant", "Our standup moved to 10:00.", "user", true},
		"a person's own, as now": {"The budget is $30.", "user", "The budget is $25.", "user", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := neighbor("a", tt.known, monday)
			old.Who = tt.knownBy
			_, ok := proposals.FindChange(memory.Fact{Content: tt.fact, Speaker: tt.saidBy, SaidAt: tuesday},
				[]memory.Neighbor{old})
			require.Equal(t, tt.changes, ok)
		})
	}
}
