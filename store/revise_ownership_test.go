package store_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/edit"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/store/read"
)

// another is the same world as another agent of the tenant sees it.
func (w *world) another(agent string) *world {
	other := *w
	other.p.Agent = agent
	return &other
}

func (w *world) keepAs(v schema.Visibility, m schema.MemoryRecord) uuid.UUID {
	w.t.Helper()
	id, err := w.Insert(ctx, w.p, v, m, w.now)
	require.NoError(w.t, err)
	return id
}

func seenBy(v schema.Visibility, m schema.MemoryRecord) *schema.MemoryRecord {
	m.Visibility = v
	return &m
}

// A memory shared by another agent may be revised. The result must stay visible to its owner, and the answer must not
// reveal the owner's private memories.
func TestRevisionOfASharedMemoryStaysVisibleToItsOwner(t *testing.T) {
	t.Parallel()
	for _, action := range []schema.ReviseAction{schema.ReviseSupersede, schema.ReviseContest, schema.ReviseReconcile} {
		t.Run(string(action), func(t *testing.T) {
			t.Parallel()
			a := newWorld(t)
			b := a.another("b")
			shown := a.keepAs(schema.VisibilityGlobal, claims("Ana", "Lisbon", ""))
			secret := a.keepAs(schema.VisibilityPrivate, claims("Ana", "Porto", ""))
			for _, v := range []schema.Visibility{schema.VisibilityPrivate, schema.VisibilityGroup,
				schema.VisibilityShared} {
				for _, town := range []string{"Porto", "Faro"} { // the content and claim of a's private memory
					r := b.refused(schema.ReviseNotOwner,
						b.revision(action, seenBy(v, claims("Ana", town, "")), b.as(shown)...))
					require.Empty(t, r.Conflicts)
					require.NotContains(t, r.Why, secret.String())
				}
			}
			r := b.applied(b.revision(action, same(claims("Ana", "Porto", "")), b.as(shown)...))
			require.Equal(t, schema.VisibilityGlobal, a.get(uuid.MustParse(r.Created[0])).Visibility,
				"its successor has the same visibility")
			require.Equal(t, schema.StatusActive, a.get(secret).Status)
		})
	}
	t.Run("wider", func(t *testing.T) {
		t.Parallel()
		a := newWorld(t)
		b := a.another("b")
		shown := a.keepAs(schema.VisibilityShared, claims("Ana", "Lisbon", ""))
		b.refused(schema.ReviseNotOwner,
			b.revision(schema.ReviseSupersede, seenBy(schema.VisibilityGlobal, claims("Ana", "Porto", "")),
				b.as(shown)...))
		b.applied(b.revision(schema.ReviseSupersede, same(claims("Ana", "Porto", "")), b.as(shown)...))
	})
	t.Run("merge", func(t *testing.T) {
		t.Parallel()
		a := newWorld(t)
		b := a.another("b")
		shown := a.keepAs(schema.VisibilityGlobal, claims("Ana", "Lisbon", ""))
		own := b.keepAs(schema.VisibilityPrivate, claims("Ana", "Porto", ""))
		merge := func(record *schema.MemoryRecord) schema.ReviseRequest {
			return b.revision(schema.ReviseMerge, record, b.as(shown, own)...)
		}
		b.refused(schema.ReviseNotOwner, merge(same(claims("Ana", "Faro", ""))))
		r := b.applied(merge(seenBy(schema.VisibilityGlobal, claims("Ana", "Faro", ""))))
		require.Equal(t, "Ana lives in Faro.", a.get(uuid.MustParse(r.Created[0])).Content)
	})
	t.Run("by an existing memory", func(t *testing.T) {
		t.Parallel()
		a := newWorld(t)
		b := a.another("b")
		shown := a.keepAs(schema.VisibilityGlobal, claims("Ana", "Lisbon", ""))
		own := b.keepAs(schema.VisibilityPrivate, claims("Ana", "Porto", ""))
		for _, action := range []schema.ReviseAction{schema.ReviseSupersede, schema.ReviseContest} {
			b.refused(schema.ReviseNotOwner, b.revision(action, &schema.MemoryRecord{ID: own.String()}, b.as(shown)...))
		}
		b.refused(schema.ReviseNotOwner,
			b.revision(schema.ReviseContest, &schema.MemoryRecord{ID: shown.String()}, b.as(own)...))
		a.exec(`UPDATE memories SET status = 'contested'`)
		win := b.revision(schema.ReviseResolve, nil, b.as(shown, own)...)
		win.Winner = own.String()
		b.refused(schema.ReviseNotOwner, win)
		win.Winner = shown.String()
		require.Equal(t, schema.ReviseApplied, b.revise(win).Status, "a memory that everyone sees may be the successor")
	})
	t.Run("seen by its owner only", func(t *testing.T) {
		t.Parallel()
		a := newWorld(t)
		b := a.another("b")
		b.p.PolicyGroup = "ops"
		a.p.PolicyGroup = "ops"
		shown := a.keepAs(schema.VisibilityGroup, claims("Ana", "Lisbon", ""))
		a.p.PolicyGroup = "hr"
		hidden := a.keepAs(schema.VisibilityGroup, claims("Ana", "Porto", ""))
		r := b.refused(schema.ReviseDuplicate,
			b.revision(schema.ReviseSupersede, same(claims("Ana", "Porto", "")), b.as(shown)...))
		require.Empty(t, r.Conflicts, "the conflicting memory is not named")
		require.NotContains(t, r.Why, hidden.String())
	})
}

// Rules finally decide the visibility and scope of a record, also for a record of a revision.
func TestRulesDecideWhereARevisionIsKept(t *testing.T) {
	t.Parallel()
	a := newWorld(t)
	b := a.another("b")
	rules := policyOf(t, `
rules:
  - name: salaries
    when: candidate.content.contains("earns")
    set: {visibility: private, scope: hr}
`)
	under := func(w *world, req schema.ReviseRequest) schema.ReviseResult {
		require.NoError(t, req.Validate())
		in := w.reviseInput(req)
		in.Rules = rules
		result, err := w.Revise(ctx, in)
		require.NoError(t, err)
		return result
	}
	earns := semantic("Ana earns much.", "Ana", "earns", "much", `{"mode":"global"}`)
	old := a.keepAs(schema.VisibilityGlobal, claims("Ana", "Lisbon", ""))
	r := under(b, b.revision(schema.ReviseSupersede, &earns, b.as(old)...))
	require.Equal(t, schema.ReviseNotOwner, r.Status, "b may not hide a's memory through a rule either")
	r = under(a, a.revision(schema.ReviseSupersede, seenBy(schema.VisibilityGlobal, earns), a.as(old)...))
	require.Equal(t, schema.ReviseApplied, r.Status)
	m := a.get(uuid.MustParse(r.Created[0]))
	require.Equal(t, schema.VisibilityPrivate, m.Visibility)
	require.Equal(t, "hr", m.Scope)
	testkit.CheckInvariants(t, a.owner)
}

// If updates and deletes are allowed, the pipeline supersedes a fact where a revision would.
func TestPipelineFollowsTheRevisionPolicy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy     schema.RevisionPolicy
		validity   string
		confidence float64 // of the fact
		applied    bool
	}{
		"replace, as sure":   {schema.PolicyReplace, "", 1, true},
		"replace, less sure": {schema.PolicyReplace, "", 0.5, false},
		"contest":            {schema.PolicyContest, "", 1, false},
		"fork":               {schema.PolicyFork, "", 1, false},
		"conditional": {schema.PolicyReplace, `{"mode":"conditional","conditions":{"season":"winter"}}`, 1,
			false},
		"timeboxed": {schema.PolicyReplace, `{"mode":"timeboxed","start":"2026-01-01T00:00:00Z"}`, 1, false},
	} {
		for _, action := range []schema.Action{schema.ActionUpdate, schema.ActionDelete} {
			t.Run(name+" "+string(action), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				validity := c.validity
				if validity == "" {
					validity = `{"mode":"global"}`
				}
				target := w.keep(*with(semantic("Ana lives in Lisbon.", "Ana", "lives_in", "Lisbon", validity),
					func(m *schema.MemoryRecord) {
						m.Confidence, m.Provenance.Sources = 1, heard
						m.Payload = json.RawMessage(string(m.Payload[:len(m.Payload)-1]) + `,"revision_policy":"` +
							string(c.policy) + `"}`)
					}))
				f := lives("Ana lives in Porto now.", "Ana", "Porto")
				f.Confidence = c.confidence
				_, r := w.source("a chat with Ana", idea{fact: f, action: action, target: target})
				counts := w.write(r)
				out := w.outcomes(r)[0]
				if c.applied {
					require.Equal(t, schema.ProposalApplied, out.State)
					return
				}
				require.Equal(t, schema.WriteCounts{Blocked: 1}, counts)
				require.Equal(t, schema.ProposalBlocked, out.State)
				require.Equal(t, proposals.ReasonRevisionPolicy, out.Skipped)
				require.True(t, out.ReviewNeeded)
				require.Equal(t, schema.StatusActive, w.get(target).Status)
				require.Nil(t, w.get(target).DeletedAt)

				waiting, err := w.ListReviews(ctx, w.p, pipeline.ReviewFilter{}, pg.Page{})
				require.NoError(t, err)
				require.Len(t, waiting, 1)
				decided, err := w.DecideProposal(ctx, schema.OperationRef{Tenant: w.p.Tenant, ID: uuid.NewString(),
					WorkflowID: "wf"}, pipeline.DecideInput{Principal: w.p,
					BatchID: r.BatchID, ProposalID: uuid.MustParse(waiting[0].ProposalID),
					Decision: schema.DecisionApprove, By: "human:dana", Reason: "seen",
					Policy: w.policy, Now: w.now})
				require.NoError(t, err)
				require.Equal(t, schema.ReviewApplied, decided.Status, "a person may: %s", decided.Why)
				testkit.CheckInvariants(t, w.owner)
			})
		}
	}
}

// An existing record is trusted at most as much as what is merged into it, and so is what was derived from it.
func TestMergingIntoAMemoryLowersItsTrust(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	weak := func(m schema.MemoryRecord) schema.MemoryRecord {
		m.SourceTrust, m.Sensitivity = 0.2, schema.SensitivityHigh
		return m
	}
	x, y := w.keep(weak(claims("Ana", "Lisbon", ""))), w.keep(weak(claims("Ben", "Lisbon", "")))
	whole := w.keep(semantic("Ana and Ben live in Lisbon.", "Ana and Ben", "live_in", "Lisbon", `{"mode":"global"}`))
	drawn := w.keep(*with(semantic("Ana and Ben are neighbours.", "Ana", "states", "neighbours", `{"mode":"global"}`),
		func(m *schema.MemoryRecord) {
			m.Relations = []schema.Relation{{Predicate: "derived_from", TargetID: whole.String(), Weight: 1}}
		}))
	further := w.keep(*with(semantic("Lisbon has neighbours.", "Lisbon", "states", "neighbours", `{"mode":"global"}`),
		func(m *schema.MemoryRecord) {
			m.Relations = []schema.Relation{{Predicate: "derived_from", TargetID: drawn.String(), Weight: 1}}
		}))
	r := w.applied(w.revision(schema.ReviseMerge, &schema.MemoryRecord{ID: whole.String()}, w.as(x, y)...))
	require.Equal(t, w.get(whole).Version, r.Record.Version)
	require.Equal(t, schema.SensitivityHigh, w.get(whole).Sensitivity)
	for _, id := range []uuid.UUID{whole, drawn, further} {
		require.InDelta(t, 0.2, w.get(id).SourceTrust, 0)
		require.Equal(t, 2, w.get(id).Version)
	}

	// A target that is derived from the record changes twice, and the answer reports both changes.
	rumour := w.keep(weak(claims("Eva", "Lisbon", `{"season":"summer"}`)))
	whole = w.keep(claims("Eva", "Faro", ""))
	drawn = w.keep(*with(claims("Eva's cat", "Faro", ""), func(m *schema.MemoryRecord) {
		m.Relations = []schema.Relation{{Predicate: "derived_from", TargetID: whole.String(), Weight: 1}}
	}))
	req := w.revision(schema.ReviseSupersede, &schema.MemoryRecord{ID: whole.String()}, w.as(drawn)...)
	req.Evidence = []schema.Ref{{Kind: "observation", Ref: rumour.String()}}
	r = w.applied(req)
	require.Equal(t, 3, w.get(drawn).Version)
	require.Equal(t, 3, r.Targets[0].Version)
	require.InDelta(t, 0.2, w.get(drawn).SourceTrust, 0)
}

// However a set of conditions is written, it has one active fact.
func TestOneActiveFactPerConditionSet(t *testing.T) {
	t.Parallel()
	for name, grounds := range map[string][]string{
		"a value as a list": {`{"mode":"conditional","conditions":{"os":"linux"}}`,
			`{"mode":"conditional","conditions":{"os":["linux"]}}`,
			`{"mode":"conditional","conditions":{"os":["linux","linux"]}}`,
			`{"mode":"timeboxed","conditions":{"os":"linux"},"start":"2026-01-01T00:00:00Z"}`},
		"lists": {`{"mode":"conditional","conditions":{"os":["linux","mac"]}}`,
			`{"mode":"conditional","conditions":{"os":["mac","linux"]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			first := w.keep(semantic("The build takes an hour.", "build", "takes", "an hour", grounds[0]))
			for i, ground := range grounds {
				record := semantic(fmt.Sprintf("The build takes %d minutes.", i), "build", "takes", fmt.Sprint(i),
					ground)
				item := w.putOne(record)
				require.Equal(t, schema.PutConflict, item.Status, ground)
				require.Equal(t, first.String(), item.ID)
			}
			hashes := testkit.Strings(t, w.owner, `SELECT conditions_hash FROM memories`)
			require.Len(t, hashes, 1)
		})
	}
}

func (w *world) putOne(m schema.MemoryRecord) schema.PutItem {
	w.t.Helper()
	req := schema.PutRequest{Operation: schema.Operation{Principal: w.p}, Visibility: w.vis,
		Records: []schema.MemoryRecord{m}}
	require.NoError(w.t, req.Validate())
	result, err := w.Put(ctx, edit.PutInput{Operation: schema.OperationRef{Tenant: w.p.Tenant, ID: uuid.NewString(),
		WorkflowID: "wf"}, Request: req, Policy: w.policy, Now: w.now})
	require.NoError(w.t, err)
	return result.Items[0]
}

// While a claim is contested, no further memory makes the claim active.
func TestNoActiveFactIsAddedToAContest(t *testing.T) {
	t.Parallel()
	contested := func(t *testing.T) (*world, []uuid.UUID) {
		w := newWorld(t)
		old := w.keep(claims("Ana", "Lisbon", ""))
		r := w.applied(w.revision(schema.ReviseContest, same(claims("Ana", "Porto", "")), w.as(old)...))
		return w, []uuid.UUID{old, uuid.MustParse(r.Created[0])}
	}
	resolve := func(w *world, sides []uuid.UUID) {
		req := w.revision(schema.ReviseResolve, nil, w.as(sides...)...)
		req.Winner = sides[0].String()
		w.applied(req)
	}
	t.Run("put", func(t *testing.T) {
		t.Parallel()
		w, sides := contested(t)
		item := w.putOne(claims("Ana", "Faro", ""))
		require.Equal(t, schema.PutConflict, item.Status)
		require.Contains(t, []string{sides[0].String(), sides[1].String()}, item.ID)
		require.Equal(t, schema.PutCreated, w.putOne(claims("Ana", "Faro", `{"season":"summer"}`)).Status,
			"other conditions")
		resolve(w, sides)
	})
	t.Run("pipeline", func(t *testing.T) {
		t.Parallel()
		w, sides := contested(t)
		_, r := w.source("a chat with Ana",
			idea{fact: lives("Ana lives in Faro now.", "Ana", "Faro"), action: schema.ActionAdd})
		require.Equal(t, schema.WriteCounts{Blocked: 1}, w.write(r))
		require.Equal(t, "active_fact_exists", w.outcomes(r)[0].Skipped)
		for i, town := range []string{"Lisbon", "Porto"} {
			_, r = w.source("a chat about "+town,
				idea{fact: lives("Ana lives in "+town+".", "Ana", town), action: schema.ActionAdd})
			require.Equal(t, schema.WriteCounts{Skipped: 1}, w.write(r), "a party of the contest is not new")
			require.Equal(t, sides[i].String(), w.outcomes(r)[0].MemoryID)
		}
		resolve(w, sides)
	})
	t.Run("approved", func(t *testing.T) {
		t.Parallel()
		w, sides := contested(t)
		_, r := w.source("a chat with Ana",
			idea{fact: lives("Ana lives in Faro now.", "Ana", "Faro"), action: schema.ActionAdd})
		w.write(r)
		waiting, err := w.ListReviews(ctx, w.p, pipeline.ReviewFilter{}, pg.Page{})
		require.NoError(t, err)
		decided, err := w.DecideProposal(ctx, schema.OperationRef{Tenant: w.p.Tenant, ID: uuid.NewString(),
			WorkflowID: "wf"}, pipeline.DecideInput{Principal: w.p,
			BatchID: r.BatchID, ProposalID: uuid.MustParse(waiting[0].ProposalID), Decision: schema.DecisionApprove,
			By: "human:dana", Reason: "seen", Policy: w.policy, Now: w.now})
		require.NoError(t, err)
		require.ElementsMatch(t, []string{sides[0].String(), sides[1].String()}, decided.Superseded,
			"a person ends the contest")
		require.Equal(t, 1, w.count("memories", "subject = 'Ana' AND functional AND live"))
		testkit.CheckInvariants(t, w.owner)
	})
	t.Run("recovered", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		gone := w.keep(claims("Ana", "Faro", ""))
		w.exec(`UPDATE memories SET deleted_at = now() WHERE id = $1`, gone)
		old := w.keep(claims("Ana", "Lisbon", ""))
		w.revise(w.revision(schema.ReviseContest, same(claims("Ana", "Porto", "")), w.as(old)...))
		req := schema.RecoverRequest{Operation: schema.Operation{Principal: w.p, Reason: "back"}, Targets: w.as(gone)}
		result, err := w.Recover(ctx, edit.RecoverInput{Operation: schema.OperationRef{Tenant: w.p.Tenant,
			ID: uuid.NewString(), WorkflowID: "wf"}, Request: req, Policy: w.policy, Now: w.now})
		require.NoError(t, err)
		require.Equal(t, schema.RecoverActiveFact, result.Items[0].Status)
	})
}

// A relation to a memory that the caller may not read is not shown, nor its reason.
func TestSharedMemoriesRevealNoHiddenOnes(t *testing.T) {
	t.Parallel()
	a := newWorld(t)
	b := a.another("b")
	const why = "the private letter says so"
	secret := a.keepAs(schema.VisibilityPrivate,
		semantic("A letter came.", "letter", "states", "came", `{"mode":"global"}`))
	shown := a.keepAs(schema.VisibilityGlobal, *with(claims("Ana", "Lisbon", ""), func(m *schema.MemoryRecord) {
		m.Relations = []schema.Relation{{Predicate: "derived_from", TargetID: secret.String(), Weight: 1, Reason: why}}
	}))
	contested := a.keepAs(schema.VisibilityGlobal, claims("Ben", "Lisbon", ""))
	tell := func(req schema.ReviseRequest) uuid.UUID {
		req.Reason = why
		return uuid.MustParse(a.applied(req).Created[0])
	}
	rival := tell(a.revision(schema.ReviseContest, seenBy(schema.VisibilityPrivate, claims("Ben", "Porto", "")),
		a.as(contested)...))
	require.Len(t, a.get(shown).Relations, 1)
	require.Equal(t, why, a.get(contested).Relations[0].Reason)
	later := a.now.Add(1)
	visible := func() string {
		var seen []any
		for _, id := range []uuid.UUID{shown, contested} {
			then, err := b.GetAsOf(ctx, b.p, id, later)
			require.NoError(t, err)
			tree, err := b.Lineage(ctx, b.p, id, 1)
			require.NoError(t, err)
			tree.Edges = slices.DeleteFunc(tree.Edges, func(e read.LineageEdge) bool { return e.Reason == "" })
			tree.Nodes = slices.DeleteFunc(tree.Nodes, func(n read.LineageNode) bool { return n.Withheld })
			seen = append(seen, b.get(id).Relations, b.get(id).AuditLog, then.Relations, then.AuditLog, b.history(id),
				tree)
		}
		list, err := b.List(ctx, pg.Filter{Principal: b.p, ReadPolicy: schema.ReadShared}, pg.Page{})
		require.NoError(t, err)
		require.NotEmpty(t, list)
		for _, m := range list {
			seen = append(seen, m.Relations)
		}
		encoded, err := json.Marshal(seen)
		require.NoError(t, err)
		return string(encoded)
	}
	for _, hidden := range []string{secret.String(), rival.String(), why} {
		require.NotContains(t, visible(), hidden)
	}
	after := tell(a.revision(schema.ReviseSupersede, seenBy(schema.VisibilityPrivate, claims("Ana", "Porto", "")),
		a.as(shown)...))
	require.Equal(t, why, a.history(shown)[1].Reason, "the owner sees it")
	h := b.history(shown)
	require.Equal(t, "[withheld]", h[1].Reason)
	require.NotContains(t, string(h[1].Metadata), after.String())
	require.Equal(t, "[withheld]", b.get(shown).AuditLog[1].Rationale)
}
