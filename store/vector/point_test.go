package vector_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/store/vector"
)

// A point has an id, a version, a vector and the fields to filter by. It has no content and is not authoritative:
// docs/reference/conformance.md, §15.3.
func TestAPointCarriesNoContent(t *testing.T) {
	t.Parallel()
	var fields []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[vector.Point]()) {
		if !f.Anonymous {
			fields = append(fields, f.Name)
		}
	}
	require.ElementsMatch(t, []string{"MemoryID", "Version", "Vector", "Tier", "Typology", "Agent", "Project", "Scope",
		"Visibility", "PolicyGroup", "Type",
		"Category", "Tags", "Who", "Pinned", "Importance", "Sensitivity", "OccurredAt", "ValidFrom", "ValidUntil"},
		fields)
}
