package testkit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

// plants violate one invariant each, bypassing all triggers and keys; double semicolons separate alternatives. Names in
// braces are memories of plantable.
var plants = map[string]string{
	"one active fact per claim and ground": `DROP INDEX memories_active_fact; UPDATE memories SET subject = 'Ana' WHERE id IN ('{new}', '{artful}')`,
	"live agrees with status and deletion": `ALTER TABLE memories ALTER COLUMN live DROP EXPRESSION; UPDATE memories
		SET live = true WHERE id = '{old}'`,
	"a superseded memory has a successor": `UPDATE memories SET superseded_by = gen_random_uuid()
		WHERE id = '{old}'`,
	"a current memory has no successor": `UPDATE memories SET superseded_by = '{artful}'
		WHERE id = '{new}'`,
	"supersession has no cycles": `UPDATE memories SET superseded_by = '{old}'
		WHERE id = '{new}'`,
	"a successor has a supersedes relation": `DELETE FROM memory_links WHERE target_id = '{old}'
		AND predicate = 'supersedes'`,
	"supersedes and superseded_by agree": `UPDATE memories SET superseded_by = '{artful}'
		WHERE id = '{old}'`,
	"a repeated statement is linked to its record": `UPDATE proposals
		SET state = 'skipped', outcome = 'already_known', memory_id = '{artful}'`,
	"relations have existing ends": `INSERT INTO memory_links (tenant, source_id,
		predicate, target_id, created_at) VALUES ('t', '{new}', 'supports', gen_random_uuid(), now())`,
	"a revision writes its relations": `DELETE FROM memory_history
		WHERE event = 'deleted'; DELETE FROM memory_links WHERE source_id = '{rival}'`,
	"a revision names its evidence": `UPDATE memory_history
		SET metadata = metadata - 'evidence' WHERE memory_id = '{new}'`,
	"a concluded memory has evidence": `DELETE FROM memory_provenance
		WHERE memory_id = '{fact}'; DELETE FROM memory_links WHERE source_id = '{fact}'`,
	"contradiction is mutual": `DELETE FROM memory_links WHERE source_id = '{other}'
		AND predicate = 'contradicts'`,
	"one history row for each version": `DELETE FROM memory_history WHERE memory_id = '{old}'
		AND version = 2`,
	"no history row without a version": `UPDATE memories SET version = 1 WHERE id = '{old}'`,
	"history is ordered by version": `UPDATE memory_history SET version = 3 - version
		WHERE memory_id = '{old}'`,
	"history starts with the creation": `UPDATE memory_history SET event = 'modified'
		WHERE memory_id = '{new}' AND version = 1`,
	"the history of a removed memory is complete and ends with the removal": `DELETE FROM memory_history
		WHERE memory_id = '{forced}' AND version = 2`,
	"history has the replaced content": `UPDATE memory_history SET old_content = 'another'
		WHERE memory_id = '{old}' AND version = 2`,
	"history has the current content": `UPDATE memories SET content = 'another'
		WHERE id = '{new}'`,
	"a deleted memory has a deletion in history": `UPDATE memories SET deleted_at = now()
		WHERE id = '{new}'`,
	"every earlier version is stored": `DELETE FROM memory_versions
		WHERE memory_id = '{old}'`,
	"stored versions are contiguous in time": `UPDATE memory_versions
		SET until = since - interval '1 s' WHERE memory_id = '{old}'`,
	"the last stored version ends at the start of the current one": `UPDATE memory_versions
		SET until = until + interval '1 s' WHERE memory_id = '{old}'`,
	"a stored version has its version number": `UPDATE memory_versions
		SET record = jsonb_set(record, '{version}', '7') WHERE memory_id = '{old}'`,
	"a derived memory is no more trusted than its sources": `UPDATE memories SET source_trust = 0.1
		WHERE id = '{source}'`,
	"the payload agrees with the validity": `UPDATE memories SET validity = 'conditional'
		WHERE id = '{new}'`,
	"the payload has the type of the memory": `ALTER TABLE memories DROP CONSTRAINT memories_payload_of_type; UPDATE memories
		SET payload = payload - 'kind' WHERE id = '{new}'`,
	"a pinned memory has maximal importance and no decay": `UPDATE memories SET pinned = true, importance = 0.5
		WHERE id = '{new}'`,
	"an erased memory has no content": `UPDATE memories SET who = 'Ana'
		WHERE id = '{erased}'`,
	"no other row contains erased content": `INSERT INTO memory_provenance (tenant, memory_id, position, kind, ref,
		created_at) VALUES ('t', '{erased}', 0, 'event', 'e', now());;
		INSERT INTO memory_versions SELECT tenant, '{erased}', version, since, until, record FROM memory_versions
		LIMIT 1;;
		UPDATE memory_embeddings SET memory_id = '{erased}' WHERE memory_id = '{artful}';;
		UPDATE entity_claims SET memory_id = '{erased}' WHERE memory_id = '{new}';;
		UPDATE memory_entity_mentions SET memory_id = '{erased}' WHERE ctid = (SELECT min(ctid)
		FROM memory_entity_mentions);; UPDATE entity_relation_sources SET memory_id = '{erased}'
		WHERE ctid = (SELECT min(ctid) FROM entity_relation_sources);;
		UPDATE memory_artifacts SET memory_id = '{erased}';; UPDATE memory_links
		SET target_id = '{erased}', reason = 'because' WHERE ctid = (SELECT min(ctid) FROM memory_links);;
		UPDATE memory_history SET new_content = 'again' WHERE memory_id = '{erased}'
		AND version = 1;; UPDATE memory_history SET reason = 'again' WHERE memory_id = '{erased}' AND version = 1;;
		UPDATE memory_candidates SET memory_id = '{erased}';; UPDATE proposals
			SET memory_id = '{erased}';; UPDATE proposals SET target_id = '{erased}', decided_at = '-infinity'`,
	"no row contains content forgotten by force": `UPDATE memory_history SET old_content = 'again'
		WHERE memory_id = '{forced}' AND version = 1`,
	"no staged request refers to memories erased long ago": `INSERT INTO staged_requests (tenant, id, kind, body,
		created_at)
		SELECT 't', 'x', 'modify', '{"id": "{erased}"}', erased_at - interval '1 day' FROM memories
			WHERE id = '{erased}'`,
	"dependent rows have a memory": `UPDATE entity_claims
		SET memory_id = gen_random_uuid() WHERE memory_id = '{new}'`,
	"embeddings are of the current text": `UPDATE memory_embeddings
		SET content_hash = sha256('other') WHERE memory_id = '{artful}'`,
	"counts of mentions are exact": `UPDATE entities SET mentions = mentions + 1`,
	"counts of edges are exact":    `DELETE FROM entity_relation_sources`,
	"referenced artifacts exist":   `DELETE FROM artifacts`,
	"an artifact has a memory or an uploader": `DELETE FROM memory_artifacts; DELETE
		FROM artifact_holders`,
	"counts of documents are exact": `UPDATE lexeme_stats SET docs = docs + 1
		WHERE lexeme = 'bob'`,
	"counts of words are exact": `UPDATE corpus_stats
		SET lexemes = lexemes - 1`,
	"the last outbox entry has the current version": `DELETE FROM index_outbox
		WHERE memory_id = '{old}' AND op = 'delete'`,
	"counts of a forget run are exact": `UPDATE forget_items SET outcome = 'pinned'
		WHERE memory_id = '{erased}'`,
	"a memory is forgotten once per version": `INSERT INTO forget_items
		SELECT tenant, gen_random_uuid(), ordinal, memory_id, version, outcome FROM forget_items
			WHERE memory_id = '{erased}'`,
	"no request outlives its operation": `INSERT INTO staged_requests (tenant, id, kind,
		body, created_at) SELECT tenant, id, 'put', '{}', now() FROM operations LIMIT 1`,
}

// Every invariant can fail.
func TestInvariantsCanFail(t *testing.T) {
	t.Parallel()
	url := DatabaseURL(t)
	db, ctx := Owner(t, url), context.Background()
	names := plantable(t, OpenStore(t, url))
	CheckInvariants(t, db)
	for _, i := range invariants {
		plant, ok := plants[i.name]
		require.True(t, ok, "nothing violates %q", i.name)
		for way := range strings.SplitSeq(plant, ";;") {
			tx, err := db.Begin(ctx)
			require.NoError(t, err)
			_, err = tx.Exec(ctx, `SET LOCAL session_replication_role = replica; `+names.Replace(way))
			require.NoError(t, err, i.name+": "+way)
			rows, err := tx.Query(ctx, i.query)
			require.NoError(t, err, i.name+": "+way)
			found, err := pgx.CollectRows(rows, pgx.RowTo[string])
			require.NoError(t, err, i.name+": "+way)
			require.NotEmpty(t, found, i.name+": "+way)
			require.NoError(t, tx.Rollback(ctx))
		}
	}
	require.Len(t, plants, len(invariants))
}

// plantable creates a memory of every kind that an invariant covers, and returns their names.
func plantable(t *testing.T, s *store.Store) *strings.Replacer {
	t.Helper()
	ctx, now := context.Background(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p := schema.Principal{Tenant: "t", Agent: "a"}
	policy := proposals.WritePolicy{Mode: schema.ModeControlled, AllowUpdateDelete: true, MinFactConfidence: 0.5}
	vector := &pg.Embedding{Model: inference.EmbeddingModel{Name: rank.HashModel, Dimensions: 384},
		Vector: make([]float32, 384)}
	vector.Vector[0] = 1
	operation := func() schema.OperationRef {
		return schema.OperationRef{Tenant: p.Tenant, ID: uuid.NewString(), WorkflowID: "wf"}
	}
	asks := schema.Operation{Principal: p, Reason: "because"}
	record := func(who, where string) schema.MemoryRecord {
		payload := fmt.Sprintf(`{"kind":"semantic","evidence":[{"kind":"event","ref":"evt://told"}],"subject":%q,"predicate":"lives_in","object":%q,"validity":{"mode":"global"}}`, who, where)
		return schema.MemoryRecord{Type: schema.TypeSemantic, Content: who + " lives in " + where + ".",
			Confidence: 0.9, SourceTrust: 1, Payload: json.RawMessage(payload)}
	}
	put := func(m schema.MemoryRecord) string {
		result, err := s.Put(ctx, edit.PutInput{Operation: operation(), Policy: policy, Now: now,
			Embeddings: []*pg.Embedding{vector},
			Request: schema.PutRequest{Operation: asks, Visibility: schema.VisibilityPrivate,
				Records: []schema.MemoryRecord{m}}})
		require.NoError(t, err)
		require.Equal(t, schema.PutCreated, result.Items[0].Status)
		return result.Items[0].ID
	}
	revise := func(action schema.ReviseAction, id string, m schema.MemoryRecord) string {
		result, err := s.Revise(ctx, edit.ReviseInput{Operation: operation(), Policy: policy, Now: now.Add(time.Minute),
			Request: schema.ReviseRequest{Operation: asks, Action: action,
				Targets: []schema.Target{{ID: id, IfVersion: 1}}, Record: &m,
				Evidence: []schema.Ref{{Kind: "event", Ref: "evt://1"}}}})
		require.NoError(t, err)
		require.Equal(t, schema.ReviseApplied, result.Status, result.Why)
		return result.Created[0]
	}
	forget := func(mode schema.ForgetMode, id string) {
		preview, err := s.SelectForget(ctx, operation(),
			schema.ForgetRequest{Operation: asks, Mode: mode, Selector: schema.Selector{IDs: []string{id}}}, now)
		require.NoError(t, err)
		run := uuid.MustParse(preview.RunID)
		token, err := s.ForgetToken(ctx, p, run, now)
		require.NoError(t, err)
		_, err = s.ConfirmForget(ctx, p.Tenant, run, schema.ForgetConfirmation{Token: token}, now)
		require.NoError(t, err)
		_, err = s.ForgetBatch(ctx, p.Tenant, run, 10, now.Add(time.Minute))
		require.NoError(t, err)
	}
	old, other, erased, forced := put(record("Ana", "Lisbon")), put(record("Bob", "Rome")), put(record("Cleo",
		"Rome")), put(record("Dan", "Rome"))
	fresh, rival := revise(schema.ReviseSupersede, old, record("Ana", "Porto")), revise(schema.ReviseContest, other,
		record("Bob", "Porto"))
	forget(schema.ForgetErase, erased)
	forget(schema.ForgetForce, forced)
	kept, err := s.PutArtifact(ctx, p, strings.NewReader("a log"), "text/plain", "", now)
	require.NoError(t, err)
	naming := record("Eve", "Rome")
	naming.Provenance.Sources = []schema.Ref{{Kind: "artifact", Ref: kept.Address}}
	artful := put(naming)

	ack, err := s.Stage(ctx, pipeline.StageInput{OperationID: uuid.NewString(), WorkflowID: "wf", MaxAttempts: 3,
		Now: now, Policy: policy,
		Request: schema.IngestRequest{Principal: p, Visibility: schema.VisibilityPrivate,
			Candidates: []schema.Candidate{{Content: "Fay wrote a letter"}}}})
	require.NoError(t, err)
	source := uuid.MustParse(ack.MemoryIDs[0])
	r := schema.Range{Tenant: p.Tenant, BatchID: uuid.MustParse(ack.BatchID), From: 0, To: 1}
	f := memory.Fact{Content: "Fay knows Gil.", Category: schema.CategoryFact, Confidence: 0.9}
	require.NoError(t, s.SaveExtractions(ctx, p.Tenant,
		[]pipeline.Extracted{{CandidateID: source, Extraction: memory.Extraction{Facts: []memory.Fact{f},
			Triples: []memory.Triple{{Source: "Fay", Relationship: "knows", Target: "Gil", Confidence: 0.9}}}}}, now))
	require.NoError(t, s.SaveDecisions(ctx, r, []uuid.UUID{source}, []pipeline.Decided{{CandidateID: source, Fact: f,
		Proposal: memory.Proposal{Action: schema.ActionAdd, Confidence: 0.9, Reason: "new"}}}, now))
	_, err = s.Write(ctx, pipeline.WriteInput{Range: r, MaxRounds: 3, Now: now})
	require.NoError(t, err)
	_, err = s.Link(ctx, r, now)
	require.NoError(t, err)
	outcomes, err := s.FactOutcomes(ctx, p.Tenant, r.BatchID)
	require.NoError(t, err)
	return strings.NewReplacer("{old}", old, "{new}", fresh, "{other}", other, "{rival}", rival, "{erased}", erased,
		"{forced}", forced,
		"{artful}", artful, "{source}", source.String(), "{fact}", outcomes[0].MemoryID)
}
