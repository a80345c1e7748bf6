package duplicates_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/learning/duplicates"
	"github.com/mneme/mneme/schema"
)

// A record with more tags than a record may have could be neither put again nor imported.
func TestAMergeKeepsToTheLimitOfTags(t *testing.T) {
	t.Parallel()
	record := func(id string, confidence float64, from, n int) duplicates.Record {
		r := duplicates.Record{ID: id, Type: schema.TypeSemantic, Content: "Ana likes green tea.", Confidence: confidence}
		for i := range n {
			r.Tags = append(r.Tags, fmt.Sprintf("t%02d", from-i))
		}
		return r
	}
	plan, ok := duplicates.Plan([]duplicates.Record{record("a", 0.9, 90, 20), record("b", 0.8, 60, 20)})
	require.True(t, ok)
	require.Len(t, plan.Tags, schema.MaxTags)
	for _, tag := range record("a", 0.9, 90, 20).Tags {
		require.Contains(t, plan.Tags, tag, "the kept record loses none")
	}
}
