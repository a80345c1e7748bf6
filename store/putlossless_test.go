package store_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
)

// A record that was put is returned with every field of every type (document 004 §4). The store adds only the id, the
// version, the due time, and a created entry after the audit log.
func TestPutAndGetLoseNothing(t *testing.T) {
	t.Parallel()
	for _, kind := range testkit.MemoryTypes {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.now = time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC) // no time in the record is in the future
			generator := testkit.WithAudit(testkit.RecordGen(kind))
			rapid.Check(t, func(rt *rapid.T) {
				m := generator.Draw(rt, "record")
				w.p = schema.Principal{Tenant: uuid.NewString(), Agent: "a"} // so that its id is free
				target := w.created(episode(t, "", "something that others may name"))
				past := episode(t, "", "something that is believed no longer")
				past.Status = schema.StatusRetracted
				before := w.created(past) // no other record may be superseded
				// The records that it refers to must exist, and they determine its trust.
				for i := range m.Relations {
					m.Relations[i].TargetID = target.String()
					if m.Relations[i].Predicate == "supersedes" {
						m.Relations[i].TargetID = before.String()
					}
				}
				if m.Supersedes != "" {
					m.Supersedes = before.String()
				}
				if m.SupersededBy != "" {
					m.SupersededBy = target.String()
				}
				encoded, err := json.Marshal(m)
				require.NoError(rt, err)
				var sent schema.MemoryRecord
				require.NoError(rt, json.Unmarshal(encoded, &sent))

				sent.Tenant, sent.Agent, sent.Project, sent.PolicyGroup = "", "", "", ""
				result, err := w.Put(ctx, w.putInput(sent))
				require.NoError(rt, err)
				require.Equal(rt, schema.PutCreated, result.Items[0].Status, result.Items[0].Problem)
				got, err := w.Get(ctx, w.p, uuid.MustParse(result.Items[0].ID), policy.UpTo(schema.SensitivityHyper))
				require.NoError(rt, err)
				again, err := json.Marshal(got)
				require.NoError(rt, err)
				var back schema.MemoryRecord
				require.NoError(rt, json.Unmarshal(again, &back))

				require.GreaterOrEqual(rt, len(back.AuditLog), len(sent.AuditLog))
				require.Equal(rt, sent.AuditLog, back.AuditLog[:len(sent.AuditLog)])
				require.True(rt, memory.SameJSON(withoutRevision(rt, sent), withoutRevision(rt, back)),
					"payload\n%s\n%s", sent.Payload, back.Payload)
				require.Subset(rt, back.Relations, sent.Relations)
				if len(sent.Relations) != len(back.Relations) { // a successor also has its supersedes relation
					require.Len(rt, back.Relations, len(sent.Relations)+1)
					require.NotEmpty(rt, sent.Supersedes)
				}
				if _, found := sensitive.Detect(memory.RecordContent(sent).Storage + "\n" +
					string(sent.Payload)); len(found) > 0 {
					back.Sensitivity = sent.Sensitivity // raised by the store
				}
				sent.Content = normalize.StorageContent(sent.Content) // normalized as in document 002
				if sent.SupersededAt == nil {
					back.SupersededAt = nil // set to the last update
				}
				// Set by the store.
				for _, r := range []*schema.MemoryRecord{&sent, &back} {
					r.AuditLog, r.Payload, r.Relations = nil, nil, nil
					r.Lifecycle.DecayDueAt, r.Version, r.Tenant, r.Agent = nil, 0, "", ""
				}
				require.Equal(rt, sent, back)
			})
		})
	}
}

// withoutRevision is a payload without the values that repeat fields of the record.
func withoutRevision(t require.TestingT, m schema.MemoryRecord) json.RawMessage {
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(m.Payload, &members))
	delete(members, "revision")
	encoded, err := json.Marshal(members)
	require.NoError(t, err)
	return encoded
}
