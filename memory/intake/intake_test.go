package intake_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/memory/memorytest"
	"github.com/mneme/mneme/schema"
)

func TestAdmit(t *testing.T) {
	t.Parallel()
	recalled := intake.WrapRecalled("r1", "Alice lives in Paris.")
	for name, c := range map[string]struct {
		in       schema.Candidate
		text     string
		recalled bool
		pinned   bool
	}{
		"plain":  {schema.Candidate{Content: "  Tea   is hot. "}, "Tea is hot.", false, false},
		"prefix": {schema.Candidate{Content: "critical: [a]: Tea is hot"}, "Tea is hot", false, true},
		"machine output has no prefix": {schema.Candidate{Content: "CRITICAL: disk full",
			SourceKind: schema.SourceToolOutput}, "CRITICAL: disk full", false, false},
		"recalled alone":       {schema.Candidate{Content: recalled}, "", true, false},
		"recalled with spaces": {schema.Candidate{Content: " \n" + recalled + "\ufeff\t"}, "", true, false},
		"recalled and more":    {schema.Candidate{Content: recalled + " Bob moved."}, "Bob moved.", false, false},
		"more around": {schema.Candidate{Content: "Bob moved." + recalled + "Carol too."},
			"Bob moved. Carol too.", false, false},
		"prefix after recalled": {schema.Candidate{Content: recalled + " critical: stop"}, "stop", false, true},
		"from a retrieval": {schema.Candidate{Content: "Bob moved.",
			Refs: []schema.Ref{{Kind: "event"}, {Kind: schema.RefRetrieval}}}, "", true, false},
	} {
		got := intake.Admit(c.in, memorytest.Principal, "", nil)
		require.Equal(t, c.recalled, got.Recalled, name)
		require.Equal(t, c.pinned, got.Classification.Pinned && !c.recalled, name)
		if !c.recalled {
			require.Equal(t, c.text, got.Text.Storage, name)
		}
		require.Len(t, got.Text.Hash, 32, name)
	}
}

func TestAdmitDropsRecalledText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		before, after := rapid.StringMatching(`[a-m ]{0,12}`).Draw(rt,
			"before"), rapid.StringMatching(`[a-m ]{0,12}`).Draw(rt, "after")
		secret := rapid.StringMatching(`zz[n-z<>/ ]{0,20}zz`).Draw(rt, "recalled")
		got := intake.Admit(schema.Candidate{Content: before + intake.WrapRecalled("r", secret) + after},
			memorytest.Principal, "", nil)
		if got.Recalled != (strings.TrimSpace(before+after) == "") {
			rt.Fatalf("recalled: %v", got.Recalled)
		}
		if !got.Recalled && strings.Contains(got.Text.Storage, "zz") {
			rt.Fatalf("learned %q", got.Text.Storage)
		}
	})
}
