package store_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/transfer"
)

// The audit log of an exported record is that of Get, without and with a limit on sensitivity.
func TestAnExportedRecordHasItsAuditLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, _ := w.contest(claims("Ana", "Lisbon", ""), claims("Ana", "Porto", ""))
	old := w.memory("the safe is green")
	_, r := w.secretSource("what the guard said", idea{fact: fact("the safe was painted red"),
		action: schema.ActionUpdate, target: old, change: memory.ChangeSupersede})
	require.Equal(t, 1, w.write(r).Updated)
	for _, limit := range []schema.Sensitivity{"", schema.SensitivityMedium} {
		x := w.whole()
		x.Filter.MaxSensitivity = limit
		logs := map[string][]schema.AuditEntry{}
		for _, line := range parsed(t, w.export(x)...) {
			if line.Kind == transfer.LineMemory {
				logs[line.Record.ID] = line.Record.AuditLog
			}
		}
		require.JSONEq(t, asJSON(t, w.get(a).AuditLog), asJSON(t, logs[a.String()]))
		require.Len(t, logs[old.String()], 2)
		if limit == "" {
			require.JSONEq(t, asJSON(t, w.get(old).AuditLog), asJSON(t, logs[old.String()]))
		} else {
			require.Equal(t, memory.WithheldReason, logs[old.String()][1].Rationale)
		}
	}
}

func asJSON(t testing.TB, value any) string {
	t.Helper()
	encoded, err := json.Marshal(value)
	require.NoError(t, err)
	return string(encoded)
}
