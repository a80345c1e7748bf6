package proposals_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
)

func TestKeepLasting(t *testing.T) {
	t.Parallel()
	lasting := memory.Neighbor{ID: "lasting", Type: schema.TypeSemantic, Visibility: schema.VisibilityShared}
	said := memory.Neighbor{ID: "said", Type: schema.TypeEpisodic, Visibility: schema.VisibilityShared}
	task := memory.Neighbor{ID: "task", Type: schema.TypeWorking, Visibility: schema.VisibilityShared}
	skill := memory.Neighbor{ID: "skill", Type: schema.TypeCompetence, Visibility: schema.VisibilityShared}
	bounded := memory.Neighbor{ID: "bounded", Type: schema.TypeSemantic, Visibility: schema.VisibilityShared,
		Bounded: true}
	all := []memory.Neighbor{said, lasting, task, skill, bounded}
	none := func(target string) memory.Proposal {
		return memory.Proposal{Action: schema.ActionNone, TargetID: target, Confidence: 0.9, Reason: "known",
			Warnings: []string{"w"}}
	}
	add := func(reason string) memory.Proposal {
		return memory.Proposal{Action: schema.ActionAdd, Confidence: 0.9, Reason: reason, Warnings: []string{"w"}}
	}
	for name, c := range map[string]struct {
		in, want memory.Proposal
		meantFor schema.Visibility
	}{
		"a lasting record":      {none("lasting"), none("lasting"), schema.VisibilityShared},
		"a narrower visibility": {none("lasting"), none("lasting"), schema.VisibilityPrivate},
		"a wider visibility": {none("lasting"), add(proposals.WhyKnownToFew),
			schema.VisibilityGlobal},
		"an episode": {none("said"), add(proposals.WhyOnlyFading),
			schema.VisibilityPrivate},
		"working memory": {none("task"), add(proposals.WhyOnlyFading),
			schema.VisibilityPrivate},
		"a procedure": {none("skill"), add(proposals.WhyOnlyFading),
			schema.VisibilityPrivate},
		"a bounded fact": {none("bounded"), add(proposals.WhyBounded),
			schema.VisibilityPrivate},
		"none without a target": {none(""), none(""), schema.VisibilityPrivate},
		"an unknown target":     {none("gone"), none("gone"), schema.VisibilityPrivate},
	} {
		require.Equal(t, c.want, proposals.KeepLasting(c.in, all, c.meantFor), name)
	}
	for _, action := range []schema.Action{schema.ActionAdd, schema.ActionUpdate, schema.ActionDelete} {
		p := memory.Proposal{Action: action, TargetID: "said", Confidence: 0.9}
		require.Equal(t, p, proposals.KeepLasting(p, all, schema.VisibilityPrivate), "%s", action)
	}
}

func TestTieOf(t *testing.T) {
	t.Parallel()
	record := proposals.Restated{Trust: 0.8, Sensitivity: schema.SensitivityMedium, Visibility: schema.VisibilityShared}
	for name, c := range map[string]struct {
		again proposals.Restated
		want  string
	}{
		"equal": {record, revision.RelationDerivedFrom},
		"trusted more": {proposals.Restated{Trust: 1, Sensitivity: schema.SensitivityMedium,
			Visibility: schema.VisibilityShared}, revision.RelationDerivedFrom},
		"less sensitive": {proposals.Restated{Trust: 0.8, Sensitivity: schema.SensitivityLow,
			Visibility: schema.VisibilityShared}, revision.RelationDerivedFrom},
		"wider": {proposals.Restated{Trust: 0.8, Sensitivity: schema.SensitivityMedium,
			Visibility: schema.VisibilityGlobal}, revision.RelationDerivedFrom},
		"trusted less": {proposals.Restated{Trust: 0.7, Sensitivity: schema.SensitivityMedium,
			Visibility: schema.VisibilityShared}, proposals.RelationRestates},
		"more sensitive": {proposals.Restated{Trust: 0.8, Sensitivity: schema.SensitivityHigh,
			Visibility: schema.VisibilityShared}, proposals.RelationRestates},
		"narrower": {proposals.Restated{Trust: 0.8, Sensitivity: schema.SensitivityMedium,
			Visibility: schema.VisibilityPrivate}, proposals.RelationRestates},
	} {
		require.Equal(t, c.want, proposals.TieOf(record, c.again), name)
	}
}

func TestRestateCountsAsOneSuccess(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	m := lifecycle.Rated{Type: schema.TypeSemantic, Confidence: 0.8, CreatedAt: created,
		Decay: memory.DefaultDecay(schema.TypeSemantic), Salience: 1, SalienceAt: created}
	later := created.Add(90 * 24 * time.Hour)
	r, err := proposals.Restate(m, later)
	require.NoError(t, err)
	require.InDelta(t, 0.5, r.Before, 1e-9)
	require.InDelta(t, 0.6, r.After, 1e-9)
	require.Equal(t, later, r.SalienceAt, "a new curve begins")
	require.True(t, r.Reinforced)
	require.InDelta(t, 0.8, r.Confidence, 1e-9)
	require.Nil(t, r.Payload)
	before, _ := m.Decay.DueAt(m.Salience, m.SalienceAt, m.CreatedAt, false)
	require.True(t, r.DueAt.After(before))

	m.Pinned = true
	r, err = proposals.Restate(m, later)
	require.NoError(t, err)
	require.Nil(t, r.DueAt, "a pinned memory does not fade")
}

func TestSourceRef(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 13, 0, 0, 0, time.FixedZone("", 3600))
	for kind, want := range map[schema.SourceKind]string{schema.SourceUserInput: "human", schema.SourceMemory: "human",
		schema.SourceToolOutput: "tool_call",
		schema.SourceOutcome:    "outcome", schema.SourceObservation: "observation"} {
		ref := proposals.SourceRef(kind, "0195", at)
		require.Equal(t, want, ref.Kind)
		require.Equal(t, "memory:0195", ref.Ref)
		require.Equal(t, at.UTC(), *ref.Timestamp)
		m := schema.Candidate{Content: "x", Refs: []schema.Ref{ref}}
		require.NoError(t, (&schema.IngestRequest{Principal: schema.Principal{Tenant: "t", Agent: "a"},
			Candidates: []schema.Candidate{m}}).Validate(), "it is a valid reference")
	}
}
