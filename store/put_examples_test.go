package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// The example records of document 004 §15A.12 are stored and returned unchanged.
func TestExampleRecordsOfTheRFC(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, example := range []string{`{
		"id": "9a2b0000-0000-4000-8000-000000000001", "type": "semantic", "sensitivity": "low", "confidence": 0.9, "salience": 0.8,
		"created_at": "2026-01-28T00:00:00Z", "updated_at": "2026-01-28T00:00:00Z",
		"lifecycle": {"decay": {"curve": "exponential", "half_life_seconds": 7776000}, "last_reinforced_at": "2026-01-28T00:00:00Z"},
		"provenance": {"sources": [{"kind": "event", "ref": "evt://..."}]},
		"payload": {"kind": "semantic", "evidence": [{"kind": "event", "ref": "evt://told"}], "subject": "user", "predicate": "prefers_backend_language", "object": "go",
			"validity": {"mode": "conditional", "conditions": {"project_kind": "backend_service"}}, "revision": {"status": "active"}}}`, `{
		"id": "c01d0000-0000-4000-8000-000000000001", "type": "competence", "sensitivity": "medium", "confidence": 0.7, "salience": 0.6,
		"created_at": "2026-01-28T00:00:00Z", "updated_at": "2026-01-28T00:00:00Z",
		"lifecycle": {"decay": {"curve": "exponential", "half_life_seconds": 2592000}, "last_reinforced_at": "2026-01-28T00:00:00Z"},
		"provenance": {"sources": [{"kind": "tool_call", "ref": "tool://build#123"}]},
		"payload": {"kind": "competence", "skill_name": "fix_linker_cache_error",
			"triggers": [{"signal": "ld: cache mismatch", "conditions": {"os": "macos"}}],
			"recipe": [{"step": "Clear build cache", "tool": "shell", "validation": "cache directory removed"},
				{"step": "Rebuild with clean flags", "tool": "build", "validation": "build succeeds"}],
			"failure_modes": ["If cache directory is locked, retry with elevated permissions"], "fallbacks": ["Reinstall toolchain"], "version": "1.0"}}`} {
		m := record(t, "%s", example)
		id := w.created(m)
		encoded, err := json.Marshal(w.get(id))
		require.NoError(t, err)
		requireContains(t, example, string(encoded))
		require.Equal(t, schema.PutUnchanged, w.putAll(m)[0].Status)
	}
	require.Equal(t, "user prefers backend language go when project kind is backend service",
		strings.ReplaceAll(w.get(uuid.MustParse("9a2b0000-0000-4000-8000-000000000001")).Content, "_", " "))
}

// requireContains requires that everything in the first JSON object is in the second.
func requireContains(t testing.TB, want, got string) {
	t.Helper()
	var w, g map[string]any
	require.NoError(t, json.Unmarshal([]byte(want), &w))
	require.NoError(t, json.Unmarshal([]byte(got), &g))
	contains(t, "", w, g)
}

func contains(t testing.TB, path string, want, got any) {
	t.Helper()
	object, ok := want.(map[string]any)
	if !ok {
		require.Equal(t, want, got, path)
		return
	}
	in, ok := got.(map[string]any)
	require.True(t, ok, path)
	for key, value := range object {
		if list, ok := value.([]any); ok {
			other, ok := in[key].([]any)
			require.True(t, ok && len(list) == len(other), path+"."+key)
			for i := range list {
				contains(t, fmt.Sprintf("%s.%s[%d]", path, key, i), list[i], other[i])
			}
			continue
		}
		contains(t, path+"."+key, value, in[key])
	}
}

// A memory that is derived directly or through others loses trust once, even if derivations form a cycle. The history
// of a memory that the principal may not see does not name the principal.
func TestTrustFallsAlongLongDerivations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	state := task(t, "state", "planning", "a plan")
	w.putAll(state)
	const n = 600
	w.exec(`INSERT INTO memories (tenant, id, agent_id, type, category, tier, typology, content, normalized_content,
		content_hash, payload, confidence, importance, salience,
			salience_at, decay_curve, half_life, min_salience, reinforcement_gain, last_reinforced_at, deletion_policy,
			occurred_at, created_at, updated_at, created_by)
		SELECT 't', md5('n' || g)::uuid, CASE g WHEN 7 THEN 'other' ELSE 'a' END, 'episodic', 'fact', 'session',
		'episodic', 'n' || g, 'n' || g, sha256(('n' || g)::bytea),
			'{"kind": "episodic", "timeline": []}', 1, 0.5, 1, $2, 'exponential', '1 day', 0, 0, $2, 'auto_prune', $2,
				$2, $2, 'x' FROM generate_series(1, $1::integer) g`, n, w.now)
	w.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
		SELECT 't', md5('n' || g)::uuid, 'derived_from', CASE g WHEN 1 THEN $2 ELSE md5('n' || g - 1)::uuid END, now()
		FROM generate_series(1, $1::integer) g
		UNION ALL SELECT 't', md5('n1')::uuid, 'derived_from', md5('n' || $1::integer)::uuid, now()`, n,
		memory.RecordID("t", "state"))
	w.exec(`UPDATE memories SET source_trust = 0.2 WHERE content = 'n5'`)
	w.exec(`DELETE FROM index_outbox`)

	state.SourceTrust = 0.5
	state.Confidence = 0.9
	require.Equal(t, schema.PutUpdated, w.putAll(state)[0].Status)
	require.Equal(t, n-1, w.count("memories", "content ~ '^n[0-9]+$' AND source_trust = 0.5 AND version = 2"))
	require.Equal(t, 1, w.count("memories", "content = 'n5' AND source_trust = 0.2 AND version = 1"),
		"trust is never raised")
	const told = "reason = 'a source is trusted less' AND changed_by = 'trust-policy' AND action = 'modify' " +
		"AND version = 2"
	require.Equal(t, n-2, w.count("memory_history", told+" AND metadata ? 'operationId'"))
	require.Equal(t, 1, w.count("memory_history", told+" AND metadata = '{}' AND memory_id = md5('n7')::uuid"))
	require.Equal(t, n-1, w.count("index_outbox o",
		"op = 'upsert' AND version = 2 AND EXISTS (SELECT FROM memories m WHERE m.id = o.memory_id AND m.content ~ "+
			"'^n[0-9]+$')"))
	require.Equal(t, n-1, w.count("memory_versions v", "version = 1 AND record->>'content' ~ '^n[0-9]+$'"))
}
