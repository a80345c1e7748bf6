package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/read"
)

// Every read of single memories has the sensitivity limit of recall, unless the caller sets another one.
func TestReadsAreLimitedBySensitivity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	open := w.keep(semantic("open", "x", "states", "open", `{"mode":"global"}`))
	secret := semantic("secret", "y", "states", "secret", `{"mode":"global"}`)
	secret.Sensitivity, secret.Relations = schema.SensitivityHigh, []schema.Relation{{Predicate: "supports",
		TargetID: open.String(), Weight: 1}}
	id := w.keep(secret)
	_, err := w.owner.Exec(ctx,
		`INSERT INTO memory_links (tenant, source_id, target_id, predicate, weight, reason, created_at)
			VALUES ($1, $2, $3, 'supports', 1, 'it tells', now())`, w.p.Tenant, open, id)
	require.NoError(t, err)
	high := policy.UpTo(schema.SensitivityHigh)
	future := time.Now().Add(time.Hour)

	for name, reader := range map[string]func(...policy.Clearance) error{
		"get":     func(c ...policy.Clearance) error { _, err := w.Get(ctx, w.p, id, c...); return err },
		"as of":   func(c ...policy.Clearance) error { _, err := w.GetAsOf(ctx, w.p, id, future, c...); return err },
		"lineage": func(c ...policy.Clearance) error { _, err := w.Lineage(ctx, w.p, id, 1, c...); return err },
	} {
		require.ErrorIs(t, reader(), pg.ErrNotFound, name)
		require.ErrorIs(t, reader(policy.Clearance{}), pg.ErrNotFound, name)
		require.NoError(t, reader(high), name)
	}
	steps, err := w.HistoryAt(ctx, w.p, id, read.HistoryPage{})
	require.NoError(t, err)
	require.Empty(t, steps)
	steps, err = w.HistoryAt(ctx, w.p, id, read.HistoryPage{}, high)
	require.NoError(t, err)
	require.NotEmpty(t, steps)

	m, err := w.Get(ctx, w.p, open)
	require.NoError(t, err)
	require.Empty(t, m.Relations, "a relation to it could reveal it")
	m, err = w.Get(ctx, w.p, open, high)
	require.NoError(t, err)
	require.Len(t, m.Relations, 1)
	tree, err := w.Lineage(ctx, w.p, open, 1)
	require.NoError(t, err)
	for _, n := range tree.Nodes[1:] {
		require.True(t, n.Withheld)
		require.Empty(t, n.Content)
	}
}

func TestSafeSummariesAreErasedWithTheMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	record := semantic("Dana earns much", "x", "states", "much", `{"mode":"global"}`)
	record.Sensitivity, record.SafeSummary = schema.SensitivityHigh, "Dana's pay is on record"
	id := w.keep(record)
	require.Equal(t, "Dana's pay is on record", w.get(id).SafeSummary)
	encoded, err := json.Marshal(w.get(id))
	require.NoError(t, err)
	back, err := schema.DecodeRecord(encoded)
	require.NoError(t, err)
	require.Equal(t, "Dana's pay is on record", back.SafeSummary)

	again := w.putInput(back)
	result, err := w.Put(ctx, again)
	require.NoError(t, err)
	require.Equal(t, schema.PutUnchanged, result.Items[0].Status, result.Items[0].Problem)

	loud := semantic("another", "x", "states", "another", `{"mode":"global"}`)
	loud.SafeSummary = "the password is hunter2x"
	_, err = w.Put(ctx, w.putInput(loud))
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid)
	require.NotContains(t, err.Error(), "hunter2x")

	w.forgetAll(w.forgets(schema.ForgetErase, named(id)))
	require.Empty(t, w.columnsWith("is on record"))
}
