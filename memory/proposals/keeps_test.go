package proposals_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/memorytest"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
)

func TestKeepsItsPlace(t *testing.T) {
	t.Parallel()
	held := revision.Standing{Type: schema.TypeSemantic, Status: schema.StatusActive, Confidence: 0.8, SourceTrust: 1,
		Sources: 1}
	said := revision.Standing{Type: schema.TypeSemantic, Confidence: 0.9, SourceTrust: 1, Sources: 1}
	for name, c := range map[string]struct {
		held, said func(*revision.Standing)
		want       bool
	}{
		"equal support": {func(*revision.Standing) {}, func(s *revision.Standing) {
			s.Confidence = 0.8
		}, false},
		"more support for the memory": {func(*revision.Standing) {}, func(s *revision.Standing) {
			s.Confidence = 0.5
		}, true},
		"the fact's source is less trusted": {func(*revision.Standing) {}, func(s *revision.Standing) {
			s.SourceTrust = 0.2
		}, true},
		"policy contest": {func(s *revision.Standing) { s.Policy = schema.PolicyContest },
			func(*revision.Standing) {}, true},
		"policy fork": {func(s *revision.Standing) { s.Policy = schema.PolicyFork },
			func(*revision.Standing) {}, true},
		"policy replace": {func(s *revision.Standing) { s.Policy = schema.PolicyReplace },
			func(*revision.Standing) {}, false},
		"a narrower ground": {func(s *revision.Standing) {
			s.Validity = memorytest.When(`{"os":"linux"}`)
		}, func(*revision.Standing) {}, true},
		"a time window": {func(s *revision.Standing) { s.Validity = memorytest.During(0, 4, "") },
			func(*revision.Standing) {}, true},
		"contested": {func(s *revision.Standing) { s.Status = schema.StatusContested },
			func(*revision.Standing) {}, true},
		"an episode": {func(s *revision.Standing) {
			s.Type, s.Policy = schema.TypeEpisodic, schema.PolicyContest
		}, func(*revision.Standing) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			existing, incoming := held, said
			c.held(&existing)
			c.said(&incoming)
			require.Equal(t, c.want, revision.KeepsItsPlace(existing, incoming))
		})
	}
}
