package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// Only the agent that owns a memory can delete it irreversibly, however it is selected.
func TestOnlyTheOwningAgentDestroysAMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.vis = schema.VisibilityGlobal
	shared, r := w.source("never: The deploy key is kept by Ana",
		idea{fact: fact("Ana keeps the deploy key"), action: schema.ActionAdd})
	w.write(r)
	w.exec(`UPDATE memories SET pinned = true, deletion_policy = 'never' WHERE id = $1`, shared)
	w.vis = schema.VisibilityPrivate
	hidden := w.memory("Nobody else sees this")
	b := *w
	b.p.Agent = "b"
	own := b.memory("The release notes are b's own")

	for _, mode := range []schema.ForgetMode{schema.ForgetForce, schema.ForgetErase} {
		before := w.get(shared)
		sel := named(shared, hidden, own)
		sel.IncludeDerived = true // Ana's fact, which belongs to a as well
		req := b.forgets(mode, sel)
		preview := b.selects(req)
		require.Equal(t, 2, preview.NotOwner, mode)
		require.Equal(t, 1, preview.NotFound, mode)
		receipt := b.forgetAll(req)
		require.Equal(t, map[string]int{lifecycle.OutcomeNotOwner: 2, lifecycle.OutcomeNotFound: 1}, receipt.Skipped,
			mode)
		require.Equal(t, 1, receipt.Forgotten, mode)
		require.Equal(t, before, w.get(shared), mode)
		own = b.memory("Another of b's own")
	}
	// Every agent that sees a memory may forget it softly: that can be undone, and a pin prevents it.
	require.Equal(t, map[string]int{lifecycle.OutcomePinned: 1}, b.forgetAll(b.forgets("", named(shared))).Skipped)
	w.exec(`UPDATE memories SET pinned = false WHERE id = $1`, shared)
	require.Zero(t, b.selects(b.forgets("", named(shared))).NotOwner)
	require.Equal(t, 1, b.forgetAll(b.forgets("", named(shared))).Forgotten)
}

// A query of excluded words only would select everything else.
func TestForgetQueryMustIncludeAWord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	english := w.memory("The vault has a door")
	w.memory("A themselv is a note")
	german := w.memory("Der Tresor hat keine Tür, the end")
	w.exec(`UPDATE memories SET language = 'de' WHERE id = $1`, german)
	for _, query := range []string{"-zebra", "-zebra -horse", `-"a zebra"`, "vault or -zebra", "-vault", "?!"} {
		_, err := w.SelectForget(ctx, w.modification(), w.forgets(schema.ForgetForce, schema.Selector{Query: query}),
			w.now)
		var invalid *schema.ValidationError
		require.ErrorAs(t, err, &invalid, query)
		require.Equal(t, "selector.query", invalid.Fields[0].Field)
		require.NotContains(t, err.Error(), "zebra")
	}
	for query, want := range map[string][]uuid.UUID{
		"vault -zebra": {english}, "vault or tresor": {english, german}, `"vault has"`: {english}, "vault -door": nil,
		"the -zebra":    {german}, // in English only the excluded word is left
		"doors":         {english},
		"tresor -vault": {german},
		// French keeps this word, which is a stop word in English. An English memory contains it.
		"themselves -zebra": nil,
	} {
		require.ElementsMatch(t, want,
			w.chosen(w.selects(w.forgets(schema.ForgetForce, schema.Selector{Query: query}))), query)
	}
	require.Equal(t, 0, w.count("forget_runs", "total < 0"))
}

// Full text has pairs of characters, but a forget run must find the whole name, and only it.
func TestForgetFindsAWholeChineseName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	named := w.memory("張小明 lives in Porto")
	w.memory("張小龍 lives in Porto")
	require.Equal(t, []uuid.UUID{named},
		w.chosen(w.selects(w.forgets(schema.ForgetForce, schema.Selector{Query: "張小明"}))))
}

// A confirmed run continues where it stopped when its workflow is run again.
func TestSelectForgetReturnsTheStateOfTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.memory("the first")
	op := schema.OperationRef{Tenant: "t", ID: "op", WorkflowID: "wf"}
	first, err := w.SelectForget(ctx, op, w.forgets("", schema.Selector{All: true}), w.now)
	require.NoError(t, err)
	_, err = w.confirm(first, w.token(first))
	require.NoError(t, err)
	again, err := w.SelectForget(ctx, op, schema.ForgetRequest{}, w.now)
	require.NoError(t, err)
	require.Equal(t, schema.ForgetConfirmed, again.State)
	run := uuid.MustParse(first.RunID)
	_, err = w.ForgetBatch(ctx, "t", run, 10, w.now)
	require.NoError(t, err)
	_, err = w.CloseForget(ctx, "t", run, schema.ForgetDone, w.now)
	require.NoError(t, err)
	again, err = w.SelectForget(ctx, op, schema.ForgetRequest{}, w.now)
	require.NoError(t, err)
	require.Equal(t, schema.ForgetDone, again.State)
	again.State = first.State
	require.Equal(t, first, again)
}

// The result of the put contains the caller's name of its record too.
func TestEraseRemovesExternalIDsFromResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	private, other := likes(t, "ana@xyzzycanary.example", "go",
		always), record(t, `{"id": "bystander", "type": "semantic", "confidence": 0.9,
		"payload": {"kind": "semantic", "evidence": [{"kind": "event", "ref": "evt://told"}], "subject": "Bo", "predicate": "knows", "object": "rust", "validity": {"mode": "global"}}}`)
	first := w.putInput(private, other)
	result, err := w.Put(ctx, first)
	require.NoError(t, err)
	again, err := w.Put(ctx, w.putInput(private)) // finds the record, and writes no history
	require.NoError(t, err)
	require.Equal(t, result.Items[0].ID, again.Items[0].ID)
	require.NotEmpty(t, w.columnsWith("xyzzycanary"))
	for _, mode := range []schema.ForgetMode{schema.ForgetErase, schema.ForgetForce} {
		receipt := w.forgetAll(w.forgets(mode, named(uuid.MustParse(result.Items[0].ID))))
		require.Equal(t, 1, receipt.Forgotten)
		require.Empty(t, w.columnsWith("xyzzycanary"))
	}
	replayed, err := w.Put(ctx, first)
	require.NoError(t, err)
	result.Items[0].ExternalID = ""
	require.Equal(t, result, replayed, "the first result, without the name")
}

// The evidence of a revision is in the history of its target. It is removed with the record that the revision wrote.
func TestEraseRemovesEvidenceFromTheTargetsHistory(t *testing.T) {
	t.Parallel()
	const canary = "xyzzycanary"
	for _, action := range []schema.ReviseAction{schema.ReviseSupersede, schema.ReviseContest} {
		for _, mode := range []schema.ForgetMode{schema.ForgetErase, schema.ForgetForce} {
			t.Run(fmt.Sprint(action, mode), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				target := w.created(likes(t, "", "go", always))
				req := w.revision(action, same(likes(t, "", "rust", always)),
					schema.Target{ID: target.String(), IfVersion: 1})
				req.Evidence = []schema.Ref{{Kind: "event", Ref: "mail from " + canary}}
				req.Reason = "told by " + canary
				made := w.applied(req).Record
				require.NotNil(t, made)
				require.Contains(t, w.columnsWith(canary), "memory_history.metadata")
				texts := w.count("memory_history",
					"memory_id = $1 AND (old_content IS NOT NULL OR new_content IS NOT NULL)", target)
				receipt := w.forgetAll(w.forgets(mode, named(uuid.MustParse(made.ID))))
				require.Equal(t, 1, receipt.Forgotten)
				require.Empty(t, w.columnsWith(canary))
				require.Equal(t, texts, w.count("memory_history",
					"memory_id = $1 AND (old_content IS NOT NULL OR new_content IS NOT NULL) AND erased_at IS NULL",
					target), "its own texts stay")
				require.Equal(t, 1, w.count("memory_history",
					"memory_id = $1 AND reason = '[erased]' AND metadata ? 'operationId' AND NOT metadata ? 'evidence'",
					target))

				// The target can be erased afterwards, including its old texts.
				w.forgetAll(w.forgets(schema.ForgetErase, named(target)))
				require.Zero(t, w.count("memory_history",
					"memory_id = $1 AND (old_content IS NOT NULL OR new_content IS NOT NULL)", target))
			})
		}
	}
}

// Requests that no run will carry out: any old one may contain an erased text.
func TestEraseDeletesAbandonedRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.memory("The canary sings")
	for name, age := range map[string]time.Duration{"fresh": time.Minute, "waiting": 5 * time.Hour,
		"abandoned": 48 * time.Hour} {
		require.NoError(t, w.Accept(ctx, schema.OperationRef{Tenant: "t", ID: name}, "put",
			map[string]string{"content": "The canary sings"}, w.now.Add(-age)))
	}
	require.NoError(t, w.Accept(ctx, schema.OperationRef{Tenant: "t2", ID: "foreign"}, "put",
		map[string]string{"content": "The canary sings"}, w.now.Add(-48*time.Hour)))
	receipt := w.forgetAll(w.forgets(schema.ForgetErase, named(id)))
	require.Equal(t, 1, receipt.Removed["staged_requests"])
	require.Equal(t, 3, w.count("staged_requests", "id IN ('fresh', 'waiting', 'foreign')"))

	// They expire by age in all tenants, by the database's clock.
	w.exec(`UPDATE staged_requests SET created_at = now() - interval '6 days'`)
	n, err := w.SweepStaged(ctx)
	require.NoError(t, err)
	require.Zero(t, n)
	w.exec(`UPDATE staged_requests SET created_at = now() - interval '8 days' WHERE id <> 'fresh'`)
	n, err = w.SweepStaged(ctx)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.NoError(t, w.Drop(ctx, schema.OperationRef{Tenant: "t", ID: "fresh"}, w.now))
	require.Zero(t, w.count("staged_requests", "true"))
}

// An erasure has to include the reviews that showed a memory, and the forget runs that selected it.
func TestForgottenWorkflowsNameReviewsAndForgets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source, r := w.source("Ana moved to Lisbon", idea{fact: fact("Ana lives in Lisbon"), action: schema.ActionAdd})
	w.write(r)
	made := w.outcomes(r)[0].MemoryID
	preview := func(workflowID string, sel schema.Selector) schema.ForgetPreview {
		out, err := w.SelectForget(ctx, schema.OperationRef{Tenant: "t", ID: uuid.NewString(), WorkflowID: workflowID},
			w.forgets("", sel), w.now)
		require.NoError(t, err)
		return out
	}
	preview("forget/waits", schema.Selector{Query: "lisbon"})
	preview("forget/elsewhere", schema.Selector{Query: "porto"})
	working := preview("forget/at work", schema.Selector{Query: "lisbon"})
	_, err := w.confirm(working, w.token(working))
	require.NoError(t, err)
	for _, id := range []uuid.UUID{uuid.MustParse(made), source} {
		erase := w.selects(w.forgets(schema.ForgetErase, onlyNamed(id)))
		_, err := w.confirm(erase, w.token(erase))
		require.NoError(t, err)
		_, err = w.ForgetBatch(ctx, "t", uuid.MustParse(erase.RunID), 10, w.now)
		require.NoError(t, err)
		out, err := w.ForgottenWorkflows(ctx, "t", uuid.MustParse(erase.RunID), 0, 10)
		require.NoError(t, err)
		require.Contains(t, out.Workflows, "wf")
		require.Contains(t, out.Workflows, "forget/waits")
		require.NotContains(t, out.Workflows, "forget/elsewhere")
		require.NotContains(t, out.Workflows, "forget/at work", "it is not stopped halfway")
		require.NotContains(t, out.Workflows, "forget/wf", "that is the run itself")
		require.Equal(t, []uuid.UUID{r.BatchID}, out.Batches)
		require.Equal(t, 1, out.Next)
	}
}

func TestForgetItemsAreListedInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := map[string]bool{}
	for i := range 5 {
		ids[w.memory(fmt.Sprintf("Machine %d stands in a hall", i)).String()] = true
	}
	sel := schema.Selector{}
	for id := range ids {
		sel.IDs = append(sel.IDs, id)
	}
	missing := uuid.NewString()
	sel.IDs = append(sel.IDs, missing)
	preview := w.selects(w.forgets("", sel))
	run := uuid.MustParse(preview.RunID)
	var all []schema.ForgetItem
	for from := 0; ; {
		page, err := w.ForgetItems(ctx, w.p, run, from, 4)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		all = append(all, page...)
		from = page[len(page)-1].Ordinal + 1
	}
	require.Len(t, all, 6)
	for i, item := range all[:5] {
		require.Equal(t, schema.ForgetItem{Ordinal: i, MemoryID: item.MemoryID, Version: 1}, item)
		require.True(t, ids[item.MemoryID])
	}
	require.Equal(t, schema.ForgetItem{Ordinal: 5, MemoryID: missing, Outcome: lifecycle.OutcomeNotFound}, all[5])
	w.forgetAll(w.forgets("", sel))
	_, err := w.ForgetItems(ctx, schema.Principal{Tenant: "t", Agent: "stranger"}, run, 0, 4)
	require.True(t, errors.Is(err, pg.ErrNotFound))
}

// Rows that explain actions stay (document 003 D10): force does not change them, and erase empties them.
func TestForceKeepsProtectedMemories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plain, ofWorld := w.fading("The plain note is short"), w.fading("The harbour is north of the river",
		func(m *schema.MemoryRecord) { m.WorldID = "harbour" })
	acted := w.fading("The plan of the harbour was drawn")
	decision := w.fading("The harbour is built", func(m *schema.MemoryRecord) {
		m.Relations = []schema.Relation{{Predicate: lifecycle.ActionLinks[0], TargetID: acted.String(), Weight: 1}}
	})
	stays := []uuid.UUID{ofWorld, acted, decision}
	before := []schema.MemoryRecord{w.get(ofWorld), w.get(acted), w.get(decision)}

	req := w.forgets(schema.ForgetForce, named(plain, ofWorld, acted, decision))
	req.Selector.Everywhere = true
	require.Equal(t, 3, w.selects(req).MustStay)
	receipt := w.forgetAll(req)
	require.Equal(t, 1, receipt.Forgotten)
	require.Equal(t, map[string]int{lifecycle.OutcomeWorld: 1, lifecycle.OutcomeActionLinked: 2}, receipt.Skipped)
	for i, id := range stays {
		require.Equal(t, before[i], w.get(id))
	}
	require.Equal(t, 1, w.count("memory_links", "source_id = $1", decision))

	// A link added between the preview and the batch counts.
	late := w.fading("The ferry sails at noon")
	req = w.forgets(schema.ForgetForce, onlyNamed(late))
	preview := w.selects(req)
	require.Zero(t, preview.MustStay)
	_, err := w.confirm(preview, w.token(preview))
	require.NoError(t, err)
	w.fading("The timetable was published", func(m *schema.MemoryRecord) {
		m.Relations = []schema.Relation{{Predicate: lifecycle.ActionLinks[2], TargetID: late.String(), Weight: 1}}
	})
	out, err := w.ForgetBatch(ctx, "t", uuid.MustParse(preview.RunID), 10, w.now)
	require.NoError(t, err)
	require.Equal(t, map[string]int{lifecycle.OutcomeActionLinked: 1}, out.Receipt.Skipped)

	receipt = w.forgetAll(w.forgets(schema.ForgetErase, onlyNamed(stays...)))
	require.Equal(t, 3, receipt.Forgotten)
	require.Equal(t, 3, w.count("memories",
		"id = ANY($1) AND erased_at IS NOT NULL AND content = '' AND payload = '{}'", stays))
	require.Equal(t, 1, w.count("memories", "id = $1 AND world_id = 'harbour'", ofWorld))
	require.Equal(t, 1, w.count("memory_links", "source_id = $1 AND target_id = $2", decision, acted))
	// An erased memory is not deleted by force afterwards.
	require.Equal(t, map[string]int{lifecycle.OutcomeWorld: 1, lifecycle.OutcomeActionLinked: 2},
		w.forgetAll(w.forgets(schema.ForgetForce, onlyNamed(stays...))).Skipped)
	testkit.CheckInvariants(t, w.owner)
}
