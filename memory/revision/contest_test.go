package revision_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
)

func TestEndContests(t *testing.T) {
	t.Parallel()
	global := schema.Validity{Mode: schema.ValidGlobal}
	summer := schema.Validity{Mode: schema.ValidConditional, Conditions: json.RawMessage(`{"season":"summer"}`)}
	holder := func(status schema.Status, v schema.Validity) []revision.Holder {
		return []revision.Holder{{ID: "h", Status: status, Validity: v}}
	}
	both := []revision.PlannedRelation{{Source: "s", Predicate: revision.RelationContradicts, Target: "h"},
		{Source: "h", Predicate: revision.RelationContradicts, Target: "s"}}
	for name, c := range map[string]struct {
		side      revision.Side
		freed     bool
		relations []revision.PlannedRelation
	}{
		"nothing contests it": {revision.Side{Validity: global}, true, nil},
		"a third memory contests it": {revision.Side{Validity: global, Contests: true,
			Rivals: holder(schema.StatusContested, global)}, false, nil},
		"a contested memory makes its claim": {revision.Side{Validity: global,
			Rivals: holder(schema.StatusContested, global)}, false, both},
		"an active memory makes its claim": {revision.Side{Validity: global,
			Rivals: holder(schema.StatusActive, global)}, false, nil},
		"the claim is made on another ground": {revision.Side{Validity: global,
			Rivals: holder(schema.StatusContested, summer)}, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.side.ID = "s"
			freed, relations := revision.EndContests([]revision.Side{c.side})
			require.Equal(t, c.freed, len(freed) == 1)
			require.Equal(t, c.relations, relations)
		})
	}
}
