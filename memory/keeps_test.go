package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

func TestWhatKeepsItsPlace(t *testing.T) {
	t.Parallel()
	held := memory.Standing{Type: schema.TypeSemantic, Status: schema.StatusActive, Confidence: 0.8, SourceTrust: 1, Sources: 1}
	said := memory.Standing{Type: schema.TypeSemantic, Confidence: 0.9, SourceTrust: 1, Sources: 1}
	for name, c := range map[string]struct {
		held, said func(*memory.Standing)
		want       bool
	}{
		"as much speaks for the fact":     {func(*memory.Standing) {}, func(s *memory.Standing) { s.Confidence = 0.8 }, false},
		"more speaks for the memory":      {func(*memory.Standing) {}, func(s *memory.Standing) { s.Confidence = 0.5 }, true},
		"the fact's source is mistrusted": {func(*memory.Standing) {}, func(s *memory.Standing) { s.SourceTrust = 0.2 }, true},
		"to be contested":                 {func(s *memory.Standing) { s.Policy = schema.PolicyContest }, func(*memory.Standing) {}, true},
		"to be forked":                    {func(s *memory.Standing) { s.Policy = schema.PolicyFork }, func(*memory.Standing) {}, true},
		"to be replaced":                  {func(s *memory.Standing) { s.Policy = schema.PolicyReplace }, func(*memory.Standing) {}, false},
		"a special case":                  {func(s *memory.Standing) { s.Validity = when(`{"os":"linux"}`) }, func(*memory.Standing) {}, true},
		"for a time":                      {func(s *memory.Standing) { s.Validity = during(0, 4, "") }, func(*memory.Standing) {}, true},
		"contested":                       {func(s *memory.Standing) { s.Status = schema.StatusContested }, func(*memory.Standing) {}, true},
		"no semantic memory":              {func(s *memory.Standing) { s.Type, s.Policy = schema.TypeEpisodic, schema.PolicyContest }, func(*memory.Standing) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			existing, incoming := held, said
			c.held(&existing)
			c.said(&incoming)
			require.Equal(t, c.want, memory.KeepsItsPlace(existing, incoming))
		})
	}
}
