package workflows_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// Retention rules apply to every batch that begins after their change, and history names the rules that were used.
func TestRulesInForce(t *testing.T) {
	t.Parallel()
	var current atomic.Pointer[policy.Policy]
	h := harness.New(t, func(d *workflows.Dependencies) { d.Rules = current.Load })
	p := testkit.Principal()
	ctx := context.Background()
	remembered := func(text string) (schema.MemoryRecord, map[string]any) {
		t.Helper()
		started, result := h.Ingest(t, testkit.Request(p, schema.SourceMemory, text))
		require.Zero(t, result.Dead)
		id := uuid.MustParse(started.Ack.MemoryIDs[0])
		m, err := h.Store.Get(ctx, p, id, policy.UpTo(schema.SensitivityHyper))
		require.NoError(t, err)
		history := testkit.History(t, h.Store, p, id)
		var metadata map[string]any
		require.NoError(t, json.Unmarshal(history[0].Metadata, &metadata))
		return m, metadata
	}

	m, metadata := remembered("The office plants are watered on Mondays.")
	require.Equal(t, schema.SensitivityLow, m.Sensitivity)
	require.NotContains(t, metadata, "policy")

	rules, err := policy.Parse([]byte(`
rules:
  - name: plants
    when: candidate.content.contains("plants")
    set: {sensitivity: medium, visibility: shared, decay: {half_life: 3d}, deletion_policy: manual_only}
`))
	require.NoError(t, err)
	current.Store(rules)
	m, metadata = remembered("The kitchen plants are watered on Fridays.")
	require.Equal(t, schema.SensitivityMedium, m.Sensitivity)
	require.Equal(t, schema.VisibilityShared, m.Visibility)
	require.EqualValues(t, 3*86400, m.Lifecycle.Decay.HalfLifeSeconds)
	require.Equal(t, schema.DeleteManualOnly, m.Lifecycle.DeletionPolicy)
	require.Equal(t, rules.Hash(), metadata["policy"])
	require.Equal(t, []any{"plants"}, metadata["rules"])
}

// Secrets found by the detectors are not recalled by default, and neither are the facts derived from them.
func TestASecretIsNotRecalledByDefault(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	p := testkit.Principal()
	ctx := context.Background()
	started, result := h.Ingest(t, testkit.Request(p, schema.SourceUserInput,
		"Dana lives in Oslo. The password of the vault is hunter2x."))
	require.Zero(t, result.Dead)
	require.NotZero(t, result.Written.Added, "facts were extracted from it")
	m, err := h.Store.Get(ctx, p, uuid.MustParse(started.Ack.MemoryIDs[0]), policy.UpTo(schema.SensitivityHyper))
	require.NoError(t, err)
	require.Equal(t, schema.SensitivityHyper, m.Sensitivity)

	r := h.Recaller()
	for _, query := range []string{"what is the password of the vault", "where does Dana live"} {
		answer, err := r.Recall(ctx, schema.RecallRequest{Principal: p, Query: query})
		require.NoError(t, err)
		require.Empty(t, answer.Results, query)
		answer, err = r.Recall(ctx, schema.RecallRequest{Principal: p, Query: query,
			MaxSensitivity: schema.SensitivityHyper,
			Trust:          &schema.TrustContext{Authenticated: true}})
		require.NoError(t, err)
		require.NotEmpty(t, answer.Results, query)
		for _, found := range answer.Results {
			m, err := h.Store.Get(ctx, p, uuid.MustParse(found.ID), policy.UpTo(schema.SensitivityHyper))
			require.NoError(t, err)
			require.Equal(t, schema.SensitivityHyper, m.Sensitivity, "facts too")
		}
	}
}
