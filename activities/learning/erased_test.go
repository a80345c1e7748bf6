package learning_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	rules "github.com/mneme/mneme/memory/topics"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/topics"
	"github.com/mneme/mneme/store/edit"
	storelearning "github.com/mneme/mneme/store/learning"
	"github.com/mneme/mneme/store/pg"
	storetopics "github.com/mneme/mneme/store/topics"
)

// newLearned returns a world with a procedure that was learned, and the episode of a failure that it repeats.
func newLearned(t *testing.T) (*world, uuid.UUID) {
	t.Helper()
	w := newWorld(t)
	for n := range 3 {
		testkit.Build(ana, n, "linux", testkit.ClearCache(n)).Record(t, w.store)
	}
	failed := w.failed(ana, 9, "reset xyzzycanary")
	require.Equal(t, 1, w.learn(ana, schema.TypeCompetence).Added)
	return w, failed
}

// forget forgets memories of an agent.
func (w *world) forget(p schema.Principal, mode schema.ForgetMode, ids ...uuid.UUID) schema.ForgetReceipt {
	w.t.Helper()
	var named schema.Selector
	for _, id := range ids {
		named.IDs = append(named.IDs, id.String())
	}
	now := time.Now()
	preview, err := w.store.SelectForget(ctx, schema.OperationRef{Tenant: p.Tenant, ID: uuid.NewString(),
		WorkflowID: "forget"}, schema.ForgetRequest{Operation: schema.Operation{Principal: p, Reason: "asked for"},
		Mode: mode, Selector: named}, now)
	require.NoError(w.t, err)
	run := uuid.MustParse(preview.RunID)
	token, err := w.store.ForgetToken(ctx, p, run, now)
	require.NoError(w.t, err)
	_, err = w.store.ConfirmForget(ctx, p.Tenant, run, schema.ForgetConfirmation{Token: token}, now)
	require.NoError(w.t, err)
	for range 100 {
		out, err := w.store.ForgetBatch(ctx, p.Tenant, run, 1, now)
		require.NoError(w.t, err)
		if out.Receipt.Remaining == 0 {
			_, err = w.store.CloseForget(ctx, p.Tenant, run, schema.ForgetDone, now)
			require.NoError(w.t, err)
			_, err = w.store.SweepLexemes(ctx, p.Tenant, now)
			require.NoError(w.t, err)
			return out.Receipt
		}
	}
	require.FailNow(w.t, "the run does not end")
	return schema.ForgetReceipt{}
}

// places returns the tables that have a word, apart from the ledger, which is not part of a memory.
func (w *world) places(word string) []string {
	w.t.Helper()
	db := testkit.Owner(w.t, w.url)
	var out []string
	for _, table := range testkit.Tables(w.t, db) {
		if table != "events" && testkit.Rows(w.t, db, table, table+"::text ILIKE '%"+word+"%'") > 0 {
			out = append(out, table)
		}
	}
	return out
}

// embed gives each procedure a vector, as of its present text.
func (w *world) embed() {
	w.t.Helper()
	_, err := testkit.Owner(w.t, w.url).Exec(ctx, `
		INSERT INTO memory_embeddings (tenant, id, memory_id, model, dims, embedding, tier, typology, content_hash,
			created_at)
		SELECT tenant, gen_random_uuid(), id, 'model', 2, '[1,2]', tier, typology, content_hash, now()
		FROM memories WHERE type = 'competence' AND live`)
	require.NoError(w.t, err)
}

// What a procedure repeats of an erased episode goes with it, from all tables: of an episode in which only other
// repairs were tried, and of one in which the repair helped after another one. The procedure stays, and the next run
// restores what the remaining episodes show.
func TestAProcedureForgetsWhatItRepeatsOfAnErasedEpisode(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetErase, schema.ForgetForce} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for n := range 3 {
				testkit.Build(ana, n, "linux", testkit.ClearCache(n)).Record(t, w.store)
			}
			failed := w.failed(ana, 9, "reset xyzzycanary")
			helped := testkit.Build(ana, 10, "linux", "touch plughcanary", testkit.ClearCache(10)).Record(t, w.store)
			w.failed(ana, 11, "make clean")
			require.Equal(t, 1, w.learn(ana, schema.TypeCompetence).Added)
			testkit.Build(ana, 12, "linux", testkit.ClearCache(12)).Record(t, w.store)
			require.Equal(t, 1, w.learn(ana, schema.TypeCompetence).Updated)
			for _, word := range []string{"xyzzycanary", "plughcanary"} {
				require.Subset(t, w.places(word), []string{"memories", "memory_versions", "memory_history"})
			}
			key := w.known(ana)[0].Key

			for _, one := range []struct {
				episode uuid.UUID
				word    string
			}{{failed, "xyzzycanary"}, {helped, "plughcanary"}} {
				w.embed()
				receipt := w.forget(ana, mode, one.episode)
				require.Equal(t, 1, receipt.Forgotten)
				require.Equal(t, 1, receipt.Removed["failure_modes"])
				require.Empty(t, w.places(one.word))
				require.Zero(t, w.count("memory_embeddings", "true"))
				testkit.CheckInvariants(t, testkit.Owner(t, w.url))
				found, err := w.store.Learning.Find(ctx, storelearning.Lookup{Filter: pg.Filter{Principal: ana},
					Keys: []string{key}, Limit: 10})
				require.NoError(t, err)
				require.Len(t, found, 1, "the procedure stays")
				require.Empty(t, procedureOf(t, found[0]).FailureModes)
				require.Len(t, procedureOf(t, found[0]).Recipe, 2)
				written := fmt.Sprintf("memory_id = '%s' AND version = %d", found[0].ID, found[0].Version)
				require.Equal(t, 1, w.count("index_outbox", "op = 'upsert' AND "+written), "it is indexed again")
				require.Equal(t, 1, w.count("memory_history",
					"reason = 'an episode that it may repeat was removed' AND "+written))

				require.Equal(t, 1, w.learn(ana, schema.TypeCompetence).Updated)
				require.Empty(t, w.places(one.word), "not restored")
				require.Contains(t, procedureOf(t, w.known(ana)[0]).FailureModes, "did not help: shell: make clean")
				require.Zero(t, w.learn(ana, schema.TypeCompetence).Changes())
				testkit.CheckInvariants(t, testkit.Owner(t, w.url))
			}
			require.Equal(t, []string{"did not help: shell: make clean"}, procedureOf(t, w.known(ana)[0]).FailureModes)
		})
	}
}

// An erased episode also goes from a procedure that is deleted and can be recovered.
func TestAFormerProcedureForgetsAnErasedEpisode(t *testing.T) {
	t.Parallel()
	w, failed := newLearned(t)
	id := w.known(ana)[0].ID
	w.forget(ana, schema.ForgetSoft, id)
	require.Empty(t, w.known(ana))
	w.forget(ana, schema.ForgetErase, failed)
	require.Empty(t, w.places("xyzzycanary"))
	out, err := w.store.Recover(ctx, edit.RecoverInput{Operation: schema.OperationRef{Tenant: "t", ID: uuid.NewString(),
		WorkflowID: "recover"}, Request: schema.RecoverRequest{Operation: schema.Operation{Principal: ana,
		Reason: "needed"}, Targets: []schema.Target{{ID: id.String()}}}, Policy: w.a.Policy, Now: time.Now()})
	require.NoError(t, err)
	require.Equal(t, schema.RecoverRecovered, out.Items[0].Status)
	require.Len(t, w.known(ana), 1)
	testkit.CheckInvariants(t, testkit.Owner(t, w.url))
}

// A soft forget can be undone, so it changes no procedure.
func TestASoftForgetChangesNoProcedure(t *testing.T) {
	t.Parallel()
	w, failed := newLearned(t)
	w.forget(ana, schema.ForgetSoft, failed)
	require.Contains(t, string(w.known(ana)[0].Payload), "xyzzycanary")
}

// A run that selects an episode and the procedure that repeats it removes both, in separate batches.
func TestAnEpisodeIsErasedTogetherWithAProcedure(t *testing.T) {
	t.Parallel()
	w, failed := newLearned(t)
	receipt := w.forget(ana, schema.ForgetErase, failed, w.known(ana)[0].ID)
	require.Equal(t, 2, receipt.Forgotten, "%+v", receipt)
	require.Empty(t, w.known(ana))
	require.Empty(t, w.places("xyzzycanary"))
}

// A procedure of several agents also forgets the episode of an agent that does not own it.
func TestASharedProcedureForgetsTheEpisodeOfAnotherAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mia, zoe := schema.Principal{Tenant: "t", Agent: "mia"}, schema.Principal{Tenant: "t", Agent: "zoe"}
	for n := range 2 {
		testkit.Build(ana, n, "linux", testkit.ClearCache(n)).Record(t, w.store)
		testkit.Build(mia, 20+n, "linux", testkit.ClearCache(20+n)).Record(t, w.store)
	}
	failed := w.failed(zoe, 9, "reset xyzzycanary")
	_, err := testkit.Owner(t, w.url).Exec(ctx, `UPDATE memories SET visibility = 'shared'`)
	require.NoError(t, err)
	require.Equal(t, 1, w.learn(schema.Principal{Tenant: "t"}, schema.TypeCompetence).Added)
	require.Equal(t, 1, w.count("memories",
		"type = 'competence' AND agent_id <> 'zoe' AND payload::text LIKE '%xyzzycanary%'"))
	require.Equal(t, 1, w.forget(zoe, schema.ForgetErase, failed).Forgotten)
	require.Empty(t, w.places("xyzzycanary"))
	require.Equal(t, 1, w.count("memories", "type = 'competence' AND live"))
}

// An erasure does not fail if a procedure then equals another one.
func TestAProcedureThatEqualsAnotherAfterAnErasure(t *testing.T) {
	t.Parallel()
	w, failed := newLearned(t)
	p := procedureOf(t, w.known(ana)[0])
	p.FailureModes = nil
	for i, step := range p.Recipe {
		var args map[string]any
		require.NoError(t, json.Unmarshal(step.ArgsSchema, &args))
		params, _ := args["x-parameters"].(map[string]any)
		for _, one := range params {
			delete(one.(map[string]any), "examples")
		}
		var err error
		p.Recipe[i].ArgsSchema, err = json.Marshal(args)
		require.NoError(t, err)
	}
	payload, err := json.Marshal(p)
	require.NoError(t, err)
	put, err := w.store.Put(ctx, edit.PutInput{Operation: schema.OperationRef{Tenant: "t", ID: uuid.NewString(),
		WorkflowID: "put"}, Request: schema.PutRequest{Operation: schema.Operation{Principal: ana},
		Records: []schema.MemoryRecord{{ID: uuid.NewString(), Type: schema.TypeCompetence, Payload: payload,
			Confidence: 1, Salience: 1, Importance: 1, SourceTrust: 1}}}, Policy: w.a.Policy, Now: time.Now()})
	require.NoError(t, err)
	require.Equal(t, schema.PutCreated, put.Items[0].Status)
	require.Equal(t, 1, w.forget(ana, schema.ForgetErase, failed).Forgotten)
	require.Empty(t, w.places("xyzzycanary"))
	var payloads, hashes int
	require.NoError(t, testkit.Owner(t, w.url).QueryRow(ctx, `
		SELECT count(DISTINCT payload), count(DISTINCT content_hash)
		FROM memories
		WHERE type = 'competence' AND live`).Scan(&payloads, &hashes))
	require.Equal(t, 1, payloads, "they are equal")
	require.Equal(t, 2, hashes)
}

// An answer of a standing question may repeat a procedure with the words of the erased episode.
func TestAnAnswerForgetsWhatAProcedureRepeats(t *testing.T) {
	t.Parallel()
	w, failed := newLearned(t)
	now := time.Now()
	id := uuid.MustParse(w.known(ana)[0].ID.String())
	see := pg.Filter{Principal: ana}
	publish := func(question string, publish bool) {
		topic, err := w.store.AddTopic(ctx, topics.TopicRequest{Principal: ana, Question: question}, now)
		require.NoError(t, err)
		evidence, err := w.store.Evidence(ctx, see, []uuid.UUID{id})
		require.NoError(t, err)
		require.Len(t, evidence, 1)
		refs, of := rules.Refs(evidence), uuid.MustParse(topic.ID)
		_, err = w.store.SaveDraft(ctx, storetopics.Draft{Tenant: ana.Tenant, Topic: of, Filter: see,
			Parts: rules.Extract(evidence), Evidence: refs, WrittenBy: "rules", AsOf: now}, now)
		require.NoError(t, err)
		if publish {
			_, _, err = w.store.PublishDraft(ctx, ana.Tenant, of, see, rules.Hash(refs), now)
			require.NoError(t, err)
		}
	}
	publish("How is the build repaired?", true)
	publish("What may fail?", false)
	require.Subset(t, w.places("xyzzycanary"), []string{"topic_answers", "topic_drafts"})
	require.Equal(t, 1, w.forget(ana, schema.ForgetErase, failed).Removed["failure_modes"])
	require.Empty(t, w.places("xyzzycanary"))
	require.Equal(t, 1, w.count("topic_answers", "blanked_at IS NOT NULL"))
}

// Outcomes are counted by situation. The values of a situation that only an erased episode shows go with it, and the
// next run counts what the others show.
func TestAProcedureForgetsTheSituationOfAnErasedEpisode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n := range 3 {
		testkit.Build(ana, n, "linux", testkit.ClearCache(n)).Record(t, w.store)
	}
	gone := testkit.Build(ana, 3, "xyzzycanary", testkit.ClearCache(3)).Record(t, w.store)
	require.Equal(t, 1, w.learn(ana, schema.TypeCompetence).Added)
	require.Contains(t, w.places("xyzzycanary"), "learned")
	w.forget(ana, schema.ForgetErase, gone)
	require.Empty(t, w.places("xyzzycanary"))
	w.learn(ana, schema.TypeCompetence)
	require.Empty(t, w.places("xyzzycanary"))
	stats := w.known(ana)[0].Stats
	require.EqualValues(t, 3, stats.In["linux"].Trials())
	testkit.CheckInvariants(t, testkit.Owner(t, w.url))
}
