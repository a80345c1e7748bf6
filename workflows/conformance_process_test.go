package workflows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// TestSection15_4IngestionAPI: user inputs, tool outputs, observations and outcomes are ingested, and each becomes a
// candidate in the staging area.
func TestSection15_4IngestionAPI(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	db := testkit.Owner(t, h.DatabaseURL)
	for _, kind := range []schema.SourceKind{schema.SourceUserInput, schema.SourceToolOutput, schema.SourceObservation,
		schema.SourceOutcome} {
		t.Run(string(kind), func(t *testing.T) {
			o := onlooker{t, h, testkit.Principal()}
			started, result := h.Ingest(t, testkit.Request(o.p, kind, "The build of Atlas takes an hour.",
				"The tests of Atlas take a minute."))
			require.Zero(t, result.Dead)
			require.Len(t, started.Ack.MemoryIDs, 2)
			require.Equal(t, 2, testkit.Rows(t, db, "memory_candidates", "tenant = $1 AND source_kind = $2", o.p.Tenant,
				string(kind)))
			for _, id := range started.Ack.MemoryIDs {
				require.Equal(t, schema.TypeEpisodic, o.get(id).Type, "an event is an episode")
			}
		})
	}
}

// gatedExtractor blocks until it is released.
type gatedExtractor struct {
	inference.Extractor
	gate chan struct{}
}

func (e gatedExtractor) Extract(ctx context.Context, src inference.Source) (memory.Extraction, inference.Usage, error) {
	select {
	case <-e.gate:
	case <-ctx.Done():
		return memory.Extraction{}, inference.Usage{}, ctx.Err()
	}
	return e.Extractor.Extract(ctx, src)
}

// TestSection15_5ProcessModel: ingestion answers at once; facts are extracted later.
func TestSection15_5ProcessModel(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	h := harness.New(t, func(d *workflows.Dependencies) {
		d.Brain.Extractor = gatedExtractor{d.Brain.Extractor, gate}
	})
	o := onlooker{t, h, testkit.Principal()}
	ctx, cancel := context.WithTimeout(context.Background(), harness.WaitLimit)
	defer cancel()
	req := testkit.Request(o.p, schema.SourceUserInput, "I moved to Lisbon.")
	req.Candidates[0].Speaker = "Ana"
	started, err := mneme.StartIngest(ctx, h.Temporal, h.TaskQueue, req)
	require.NoError(t, err)
	require.Equal(t, started.Ack.MemoryIDs, o.live(), "it is stored")
	require.Equal(t, started.Ack.MemoryIDs, o.found("moved to Lisbon", ""), "and can be found")
	close(gate)
	require.Zero(t, harness.Wait(t, started.Run).Dead)
	require.Len(t, o.live(), 2, "a fact was extracted from it")
}

// TestSection15_5Classification: candidates are classified before they are persisted, and rules
// override the classifier.
func TestSection15_5Classification(t *testing.T) {
	t.Parallel()
	var rules atomic.Pointer[policy.Policy]
	h := harness.New(t, func(d *workflows.Dependencies) { d.Rules = rules.Load })
	o := onlooker{t, h, testkit.Principal()}
	plain := o.get(known(t, h, o.p, "The office plants are watered on Mondays.")[0])
	require.Equal(t, []any{schema.TypeSemantic, schema.SensitivityLow, 1.0, schema.CurveExponential, "",
		schema.VisibilityPrivate},
		[]any{plain.Type, plain.Sensitivity, plain.Confidence, plain.Lifecycle.Decay.Curve, plain.Scope,
			plain.Visibility}, "of the classifier, with a value in every field")
	require.NotZero(t, plain.Lifecycle.Decay.HalfLifeSeconds)
	require.NotZero(t, plain.Lifecycle.DeletionPolicy)

	parsed, err := policy.Parse([]byte(`
rules:
  - name: plants
    when: candidate.content.contains("plants")
    set: {type: episodic, sensitivity: medium, confidence: 0.3, decay: {curve: linear, half_life: 3d}, scope: garden, visibility: shared, deletion_policy: manual_only}
`))
	require.NoError(t, err)
	rules.Store(parsed)
	started, result := h.Ingest(t, testkit.Request(o.p, schema.SourceMemory,
		"The kitchen plants are watered on Fridays."))
	require.Zero(t, result.Dead)
	m := o.get(started.Ack.MemoryIDs[0])
	require.Equal(t, []any{schema.TypeEpisodic, schema.SensitivityMedium, 0.3, schema.CurveLinear, "garden",
		schema.VisibilityShared, schema.DeleteManualOnly},
		[]any{m.Type, m.Sensitivity, m.Confidence, m.Lifecycle.Decay.Curve, m.Scope, m.Visibility,
			m.Lifecycle.DeletionPolicy})
	require.EqualValues(t, 3*86400, m.Lifecycle.Decay.HalfLifeSeconds)
	history := testkit.History(t, h.Store, o.p, uuid.MustParse(m.ID))
	require.Contains(t, string(history[0].Metadata), `"plants"`, "history names the rule")

	// A record that is put whole is classified in the same way, except for its type.
	_, _, put := runPut(t, h, putRequest(t, o.p,
		`{"type": "semantic", "sensitivity": "low", "confidence": 0.9, "payload": {"kind": "semantic", "evidence": [{"kind": "event", "ref": "evt://told"}], "subject": "plants", "predicate": "need", "object": "light for plants", "validity": {"mode": "global"}}}`))
	m = o.get(put.Items[0].ID)
	require.Equal(t, []any{schema.TypeSemantic, schema.SensitivityMedium, schema.CurveLinear},
		[]any{m.Type, m.Sensitivity, m.Lifecycle.Decay.Curve})
}

// TestSection15_6DistinctSchemas: memories of different types keep their own schemas.
func TestSection15_6DistinctSchemas(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	o := onlooker{t, h, testkit.Principal()}
	req := testkit.Request(o.p, schema.SourceUserInput, "I moved to Lisbon.")
	req.Candidates[0].Speaker = "Ana"
	started, _ := h.Ingest(t, req)
	facts := o.live(schema.TypeSemantic)
	require.Len(t, facts, 1)
	var fact schema.SemanticPayload
	require.NoError(t, json.Unmarshal(o.get(facts[0]).Payload, &fact))
	require.Equal(t, []string{"Ana", "moved_to", `"Lisbon"`, "global"},
		[]string{fact.Subject, fact.Predicate, string(fact.Object), string(fact.Validity.Mode)})
	var episode schema.EpisodicPayload
	require.NoError(t, json.Unmarshal(o.get(started.Ack.MemoryIDs[0]).Payload, &episode))
	require.NotEmpty(t, episode.Timeline)
	for i, payload := range []string{
		`{"kind": "episodic", "timeline": []}`, `{"kind": "working", "thread_id": "t", "state": "planning"}`,
		`{"kind": "semantic", "evidence": [{"kind": "event", "ref": "evt://told"}], "subject": "a", "predicate": "b", "object": "c", "validity": {"mode": "global"}}`,
		`{"kind": "competence", "skill_name": "s", "triggers": [], "recipe": []}`,
		`{"kind": "plan_graph", "plan_id": "p", "version": "1", "nodes": [], "edges": []}`, `"text"`,
	} {
		for n, kind := range []schema.MemoryType{schema.TypeEpisodic, schema.TypeWorking, schema.TypeSemantic,
			schema.TypeCompetence, schema.TypePlanGraph} {
			if i == n {
				continue
			}
			_, err := mneme.StartPut(context.Background(), h.Temporal, h.TaskQueue,
				putRequest(t, o.p, fmt.Sprintf(`{"type": %q, "confidence": 1, "content": "x", "payload": %s}`, kind,
					payload)))
			var invalid *schema.ValidationError
			require.ErrorAs(t, err, &invalid, "%s as %s", payload, kind)
			require.Contains(t, invalid.Fields[0].Field, "records[0].payload")
		}
	}
}
