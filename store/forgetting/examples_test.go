package forgetting_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/commit"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/forgetting"
)

// exampleCases are payloads, and what they are without examples; empty if they have none.
var exampleCases = map[string]struct{ payload, want string }{
	"none":        {`{"recipe": [{"step": "a"}], "inputs_schema": {"properties": {"a": {"type": "string"}}}}`, ``},
	"other place": {`{"examples": [1], "recipe": [{"examples": [1], "args_schema": {"examples": [1]}}]}`, ``},
	"parameter": {`{"recipe": [{"args_schema": {"x-parameters": {"a": {"from": "b", "examples": ["x"]}}}}]}`,
		`{"recipe": [{"args_schema": {"x-parameters": {"a": {"from": "b"}}}}]}`},
	"second step, second parameter": {
		`{"recipe": [{"step": "a"}, {"args_schema": {"x-parameters": {"a": {}, "b": {"examples": []}}}}]}`,
		`{"recipe": [{"step": "a"}, {"args_schema": {"x-parameters": {"a": {}, "b": {}}}}]}`},
	"input": {`{"inputs_schema": {"properties": {"a": {"examples": ["x"]}}, "n": 12345678901234567890}}`,
		`{"inputs_schema": {"properties": {"a": {}}, "n": 12345678901234567890}}`},
	"input with the name examples": {`{"inputs_schema": {"properties": {"examples": {"type": "string"}}}}`, ``},
	"both": {`{"recipe": [{"args_schema": {"x-parameters": {"a": {"examples": 1}}}}],
		"inputs_schema": {"properties": {"a": {"examples": 1}}}}`,
		`{"recipe": [{"args_schema": {"x-parameters": {"a": {}}}}], "inputs_schema": {"properties": {"a": {}}}}`},
	"null": {`{"recipe": null, "inputs_schema": {"properties": null}}`, ``},

	// Forms that learning does not write, but a put may have.
	"recipe without a list": {`{"recipe": {"args_schema": {"x-parameters": {"a": {"examples": 1}}}}}`,
		`{"recipe": {"args_schema": {"x-parameters": {"a": {}}}}}`},
	"recipe by name": {`{"recipe": {"a": {"args_schema": {"x-parameters": {"a": {"examples": 1}}}}}}`, ``},
	"list of schemas": {`{"recipe": [{"args_schema": [{"x-parameters": {"a": {"examples": 1}}}]}]}`,
		`{"recipe": [{"args_schema": [{"x-parameters": {"a": {}}}]}]}`},
	"list of parameters": {`{"recipe": [{"args_schema": {"x-parameters": [{"a": {"examples": 1}}, 2]}}]}`,
		`{"recipe": [{"args_schema": {"x-parameters": [{"a": {}}, 2]}}]}`},
	"list in a parameter": {`{"recipe": [{"args_schema": {"x-parameters": {"a": [{"examples": 1}]}}}]}`,
		`{"recipe": [{"args_schema": {"x-parameters": {"a": [{}]}}}]}`},
	"list in a list": {`{"recipe": [[{"args_schema": {"x-parameters": {"a": {"examples": 1}}}}]]}`,
		`{"recipe": [[{"args_schema": {"x-parameters": {"a": {}}}}]]}`},
	"list in a list of parameters": {`{"recipe": [{"args_schema": {"x-parameters": [[{"a": {"examples": 1}}]]}}]}`, ``},
	"list of properties": {`{"inputs_schema": [{"properties": [{"a": [{"examples": 1}]}]}]}`,
		`{"inputs_schema": [{"properties": [{"a": [{}]}]}]}`},
}

func TestWithoutExamples(t *testing.T) {
	t.Parallel()
	for name, c := range exampleCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var members map[string]json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(c.payload), &members))
			removed, err := forgetting.WithoutExamples(members)
			require.NoError(t, err)
			got, err := json.Marshal(members)
			require.NoError(t, err)
			if c.want == "" {
				require.False(t, removed)
				require.JSONEq(t, c.payload, string(got))
				return
			}
			require.True(t, removed)
			require.JSONEq(t, c.want, string(got))
			again, err := forgetting.WithoutExamples(members)
			require.NoError(t, err)
			require.False(t, again)
			if name == "input" {
				require.Contains(t, string(got), "12345678901234567890")
			}
		})
	}
}

// What the store finds is what it removes, and history loses its texts only without it. If the three differed, an
// erasure would not end.
func TestExamplesAreFoundWhereTheyAreRemoved(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := testkit.DatabaseURL(t)
	st, owner := testkit.OpenStore(t, url), testkit.Owner(t, url)
	id := uuid.New()
	put, err := st.Put(ctx, edit.PutInput{Operation: schema.OperationRef{Tenant: "t", ID: uuid.NewString(),
		WorkflowID: "put"}, Request: schema.PutRequest{Operation: schema.Operation{Principal: schema.Principal{
		Tenant: "t", Agent: "ana"}}, Records: []schema.MemoryRecord{{ID: id.String(), Type: schema.TypeCompetence,
		Payload: json.RawMessage(`{"kind": "competence", "skill_name": "a", "triggers": [{"signal": "a"}],
			"recipe": [{"step": "a"}]}`),
		Confidence: 1, Salience: 1, Importance: 1, SourceTrust: 1}}}, Policy: proposals.DefaultWritePolicy(),
		Now: time.Now()})
	require.NoError(t, err)
	require.Equal(t, schema.PutCreated, put.Items[0].Status)
	_, err = owner.Exec(ctx, `INSERT INTO learned (tenant, memory_id, kind, group_id, key, updated_at)
		VALUES ('t', $1, 'competence', $1, 'error:x', now())`, id)
	require.NoError(t, err)
	undo := errors.New("undo")
	for name, c := range exampleCases {
		_, err := owner.Exec(ctx, `
			UPDATE memories
			SET payload = '{"kind": "competence"}' || $2::jsonb
			WHERE id = $1`, id, c.payload)
		require.NoError(t, err, name)
		err = commit.Write(ctx, st.DB, "t", time.Now(), func(c2 *commit.Change) error {
			var found bool
			if err := c2.Tx.QueryRow(ctx, `SELECT `+forgetting.HasExamples("m.payload")+`
				FROM memories m
				WHERE m.tenant = 't' AND m.id = $1`, id).Scan(&found); err != nil {
				return err
			}
			require.Equal(t, c.want != "", found, "%s: condition", name)
			var erased int
			if err := c2.Tx.QueryRow(ctx, `SELECT mneme_erase_repeated($1, now())`,
				[]uuid.UUID{id}).Scan(&erased); err != nil {
				return err
			}
			require.Equal(t, c.want == "", erased > 0, "%s: history", name)
			return undo
		})
		require.ErrorIs(t, err, undo, name)
	}
}
