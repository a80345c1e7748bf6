package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// put puts one to three records.
func (y *year) put(ctx workflow.Context) {
	y.putThese(ctx, slices.Repeat([]func(time.Time) (map[string]any, *yearMemory){y.invent}, 1+y.chance.IntN(3))...)
}

func (y *year) putThese(ctx workflow.Context, records ...func(time.Time) (map[string]any, *yearMemory)) {
	now := y.now()
	req := schema.PutRequest{Operation: y.operation()}
	var made []*yearMemory
	for _, invent := range records {
		record, m := invent(now)
		encoded, err := json.Marshal(record)
		y.must(err)
		var r schema.MemoryRecord
		y.must(json.Unmarshal(encoded, &r))
		req.Records = append(req.Records, r)
		made = append(made, m)
	}
	var out schema.PutResult
	y.must(y.child(ctx, workflows.Put, req).Get(ctx, &out))
	for i, m := range made {
		if out.Items[i].Status != schema.PutCreated {
			y.must(fmt.Errorf("put of %s: %s %s", m.name, out.Items[i].Status, out.Items[i].Problem))
		}
		m.id = out.Items[i].ID
		m.note("create", now)
		y.model.add(m)
	}
	y.step(ctx, y.learnMentions)
	y.around("put", now, schema.RetainHistory)
	y.did["put"]++
}

// ingest runs the pipeline on two texts. The model adopts the resulting memories as they are; one text in six cannot be
// read.
func (y *year) ingest(ctx workflow.Context) {
	person, other := y.name(), y.name()
	texts := []string{person + " uses Postgres. " + person + " works at Corvex.",
		other + " likes Corvex. " + other + " speaks Danish."}
	if y.chance.IntN(3) == 0 {
		texts[1] += " The rest is unreadable."
	}
	var out api.IngestResult
	y.must(y.child(ctx, workflows.Ingest, testkit.Request(y.p, schema.SourceMemory, texts...)).Get(ctx, &out))
	if out.ToReview > 0 || len(out.Deduped) > 0 || len(out.Deferred) > 0 {
		y.must(fmt.Errorf("want only new memories: %+v", out))
	}
	now := y.now()
	for i := range texts {
		y.model.jobs = append(y.model.jobs, yearJob{dead: i >= len(texts)-out.Dead, finished: now})
	}
	y.step(ctx, y.learnNew)
	y.step(ctx, y.learnMentions)
	y.around("ingest", now, schema.RetainJobsCompleted)
	if out.Dead > 0 {
		y.around("job dead", now, schema.RetainJobsDead)
	}
	y.did["ingest"]++
	y.did["job dead"] += out.Dead
}

// recall asks for one to three memories by their names.
func (y *year) recall(ctx workflow.Context) {
	var names []string
	for range 1 + y.chance.IntN(3) {
		if m := y.one((*yearMemory).live); m != nil && !slices.Contains(names, m.name) {
			names = append(names, m.name)
		}
	}
	if len(names) == 0 {
		return
	}
	var out schema.RecallResponse
	now := y.now()
	y.must(y.child(ctx, workflows.Recall,
		schema.RecallRequest{Principal: y.p, Query: strings.Join(names, " "), Limit: len(names),
			IDsOnly: true}).Get(ctx, &out))
	if slices.Contains(out.Meta.Degraded, "track") { // on an overloaded machine
		tracked := false
		y.step(ctx, func(ctx context.Context) error {
			return y.db.QueryRow(ctx, `SELECT EXISTS (SELECT FROM retrievals WHERE tenant = $1 AND id = $2)`,
				y.p.Tenant, out.RetrievalID).Scan(&tracked)
		})
		if !tracked {
			return
		}
	}
	var ids []string
	for _, r := range out.Results {
		if r.Supplementary {
			continue
		}
		if m := y.model.memories[r.ID]; m == nil || !m.live() {
			y.complain("a recall returned %s, which is not live", r.ID)
			continue
		}
		ids = append(ids, r.ID)
	}
	slices.SortFunc(ids, func(a, b string) int {
		return strings.Compare(y.model.memories[a].name, y.model.memories[b].name)
	})
	y.model.recalled(out.RetrievalID, ids, now)
	y.around("recall", now, schema.RetainRetrievals)
	y.did["recall"]++
	// Feedback comes within the hour, after days, or after the retrieval has been deleted.
	after := now
	for range 1 + y.chance.IntN(3) {
		after = after.Add(time.Duration([]float64{0.02, 0.3, 4, 11,
			35}[y.chance.IntN(5)] * (0.5 + y.chance.Float64()) * float64(yearDay)))
		y.at(after, func(ctx workflow.Context) { y.feedback(ctx, out.RetrievalID, ids) })
	}
}

// feedback gives feedback on the results of a retrieval, in one of the possible ways.
func (y *year) feedback(ctx workflow.Context, retrieval string, ids []string) {
	c := y.chance
	all := []schema.Verdict{schema.VerdictSucceeded, schema.VerdictPartly, schema.VerdictFailed, schema.VerdictUnused,
		schema.VerdictSucceeded}
	req := schema.FeedbackRequest{Operation: y.operation(), RetrievalID: retrieval}
	said, rest := map[string]schema.Verdict{}, schema.Verdict("")
	if way := c.IntN(5); way == 0 {
		which := c.IntN(3)
		req.Outcome = []schema.Outcome{schema.OutcomeSuccess, schema.OutcomeFailure, schema.OutcomePartial}[which]
		rest = []schema.Verdict{schema.VerdictSucceeded, schema.VerdictFailed, schema.VerdictPartly}[which]
	} else {
		for _, id := range ids {
			if v := all[c.IntN(len(all))]; way != 1 || c.IntN(2) == 0 {
				req.Items, said[id] = append(req.Items, schema.FeedbackItem{MemoryID: id, Verdict: v}), v
			}
		}
		if way == 1 {
			req.AllOthersUnused, rest = true, schema.VerdictUnused
		}
		if c.IntN(8) == 0 || len(req.Items) == 0 && rest == "" {
			stranger := uuid.NewString()
			req.Items, said[stranger] = append(req.Items,
				schema.FeedbackItem{MemoryID: stranger, Verdict: schema.VerdictFailed}), schema.VerdictFailed
		}
	}
	now := y.now()
	var out schema.FeedbackResult
	err := y.child(ctx, workflows.Feedback, req).Get(ctx, &out)
	want, there := y.model.feedback(retrieval, said, rest, req.AllOthersUnused, now)
	y.did["feedback"]++
	if !there {
		y.did["feedback too late"]++
		var app *temporal.ApplicationError
		if !errors.As(err, &app) || app.Type() != api.ErrTypeNotFound {
			y.complain("feedback on a retrieval that is gone: %v", err)
		}
		return
	}
	y.must(err)
	got := map[string]schema.FeedbackStatus{}
	for _, item := range out.Items {
		got[item.MemoryID] = item.Status
		y.did["feedback "+string(item.Status)]++
	}
	for id, status := range want {
		if got[id] != status {
			y.complain("feedback on %s: %s, want %s", y.nameOf(id), got[id], status)
		}
	}
	if len(got) != len(want) {
		y.complain("feedback on %d memories, want %d", len(got), len(want))
	}
}

func (y *year) nameOf(id string) string {
	if m := y.model.memories[id]; m != nil {
		return m.name
	}
	return id
}

// forget forgets one to three memories. Soft deletions are often undone, sometimes too late.
func (y *year) forget(ctx workflow.Context, mode schema.ForgetMode) {
	var chosen []*yearMemory
	for range 1 + y.chance.IntN(3) {
		// Memories of worlds and those that actions rest on cannot be removed by force (document 003 D10).
		m := y.one(func(m *yearMemory) bool {
			return !m.gone && !m.erased && (m.live() || y.chance.IntN(4) == 0) &&
				(mode != schema.ForgetForce || !m.world && !m.bearing())
		})
		if m != nil && !slices.Contains(chosen, m) {
			chosen = append(chosen, m)
		}
		if mode != schema.ForgetSoft {
			break
		}
	}
	if len(chosen) == 0 {
		return
	}
	req := schema.ForgetRequest{Operation: y.operation(), Mode: mode, Execute: mode == schema.ForgetSoft}
	for _, m := range chosen {
		req.Selector.IDs = append(req.Selector.IDs, m.id)
	}
	req.Selector.OnlyNamed = mode == schema.ForgetErase // the model knows the named memories only
	run := y.child(ctx, workflows.Forget, req)
	id := fmt.Sprintf("year/%s/%d", y.p.Tenant, y.ids)
	if mode != schema.ForgetSoft { // the run waits for confirmation
		y.must(workflow.Sleep(ctx, 10*time.Minute))
		var token string
		now := y.now()
		y.step(ctx, func(ctx context.Context) error {
			var runID uuid.UUID
			err := y.db.QueryRow(ctx, `SELECT id FROM forget_runs WHERE tenant = $1 AND workflow_id = $2`, y.p.Tenant,
				id).Scan(&runID)
			if err == nil {
				token, err = y.store.ForgetToken(ctx, y.p, runID, now)
			}
			return err
		})
		y.must(run.SignalChildWorkflow(ctx, api.SignalConfirm, schema.ForgetConfirmation{Token: token}).Get(ctx, nil))
	}
	var out schema.ForgetReceipt
	y.must(run.Get(ctx, &out))
	now, forgotten := y.now(), 0
	for _, m := range chosen {
		if y.model.forget(mode, m.id, now) {
			forgotten++
		}
	}
	if out.Forgotten != forgotten {
		y.complain("%d forgotten (%s), want %d", out.Forgotten, mode, forgotten)
	}
	y.did["forget "+string(mode)]++
	for _, m := range chosen {
		if m.deleted == nil || y.chance.IntN(3) == 0 {
			continue
		}
		// Early, at the last possible moment, at the first moment that is too late, and long after.
		window := y.model.policyOf(m).keep
		delay := []time.Duration{5 * yearDay, window - time.Millisecond, window, window + 5*yearDay}[y.chance.IntN(4)]
		y.at(m.deleted.Add(delay), func(ctx workflow.Context) { y.recover(ctx, m) })
	}
}

func (y *year) recover(ctx workflow.Context, m *yearMemory) {
	now := y.now()
	var out schema.RecoverResult
	y.must(y.child(ctx, workflows.Recover,
		schema.RecoverRequest{Operation: y.operation(), Targets: []schema.Target{{ID: m.id}}}).Get(ctx, &out))
	want := y.model.recover(m.id, now)
	if got := out.Items[0].Status; got != want {
		y.complain("recovery of %s: %s, want %s", m.name, got, want)
	}
	y.did["recover "+string(want)]++
}
