package store_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
)

const (
	trusted = 1.0
	doubted = 0.3
)

// lived ingests one fact about where Ana lives, from a source with a trust, and returns the memory of its outcome.
func (w *world) lived(said string, trust float64, i idea) (uuid.UUID, schema.FactOutcome) {
	w.t.Helper()
	return w.livedFrom(schema.Candidate{Content: said}, trust, i)
}

func (w *world) livedFrom(c schema.Candidate, trust float64, i idea) (uuid.UUID, schema.FactOutcome) {
	w.t.Helper()
	ack, r := w.stage(c)
	source := uuid.MustParse(ack.MemoryIDs[0])
	w.exec(`UPDATE memories SET source_trust = $2 WHERE id = $1`, source, trust)
	w.decided(r, source, i)
	w.write(r)
	outcomes := w.outcomes(r)
	require.Len(w.t, outcomes, 1)
	id, _ := uuid.Parse(outcomes[0].MemoryID) // there is none if the proposal waits for a review
	return id, outcomes[0]
}

var (
	inPorto   = idea{fact: lives("Ana lives in Porto", "Ana", "Porto"), action: schema.ActionAdd}
	nearRiver = idea{fact: lives("Ana lives in Porto near the river", "Ana", "Porto"), action: schema.ActionAdd}
	inCentre  = idea{fact: lives("Ana lives in Porto in the old centre", "Ana", "Porto"), action: schema.ActionAdd}
)

func toOslo(target uuid.UUID) idea {
	return idea{fact: lives("Ana lives in Oslo", "Ana", "Oslo"), action: schema.ActionUpdate, target: target}
}

// requireBlocked checks that a new value waits for a review and that the memories are as they were.
func (w *world) requireBlocked(o schema.FactOutcome, ids ...uuid.UUID) {
	w.t.Helper()
	require.Equal(w.t, schema.ProposalBlocked, o.State)
	require.Equal(w.t, proposals.ReasonActiveFactExists, o.Skipped)
	for _, id := range ids {
		require.Equal(w.t, schema.StatusActive, w.get(id).Status)
	}
	require.Zero(w.t, w.count("memories", "superseded_by IS NOT NULL"))
	w.requireExactStats()
}

// A detail of another agent's fact gives no right to replace that fact.
func TestADetailDoesNotReplaceTheFactOfAnotherAgent(t *testing.T) {
	t.Parallel()
	for _, linked := range []bool{false, true} { // true: a link that an earlier version wrote
		a := newWorld(t)
		a.p.Project, a.vis = "p", schema.VisibilityShared
		b := a.another("b")
		b.p.Project, b.vis = "p", schema.VisibilityShared

		theirs, _ := a.lived("from a", trusted, inPorto)
		detail, o := b.lived("from b", trusted, nearRiver)
		require.Equal(t, schema.ProposalApplied, o.State)
		require.Zero(t, a.count("memory_links", "predicate = 'details'"))
		if linked {
			a.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, weight, created_at)
				VALUES ('t', $1, 'details', $2, 1, now())`, detail, theirs)
		}
		_, o = b.lived("from b again", trusted, toOslo(detail))
		b.requireBlocked(o, theirs, detail)
	}
}

// A detail in another project or scope of the same agent is not replaced either.
func TestADetailOfAnotherScopeIsNotReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.p.Scope = "home"
	elsewhere, _ := w.lived("first", trusted, nearRiver)
	w.p.Scope = ""
	known, _ := w.lived("second", trusted, inPorto)
	w.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, weight, created_at)
		VALUES ('t', $1, 'details', $2, 1, now())`, elsewhere, known)
	_, o := w.lived("third", trusted, toOslo(known))
	require.Equal(t, schema.ProposalApplied, o.State)
	require.Equal(t, schema.StatusSuperseded, w.get(known).Status)
	require.Equal(t, 1, w.count("memories", "id = $1 AND status = 'active' AND live", elsewhere))
}

// A source that is trusted less may add a detail and change it, but it does not replace what a better source said.
func TestADetailDoesNotReplaceWhatABetterSourceSaid(t *testing.T) {
	t.Parallel()
	for _, saved := range []bool{false, true} { // true: the source of the change is itself a lasting memory
		w := newWorld(t)
		known, _ := w.lived("from Ana", trusted, inPorto)
		detail, o := w.lived("from a tool", doubted, nearRiver)
		require.Equal(t, schema.ProposalApplied, o.State)
		source := schema.Candidate{Content: "from a tool again"}
		if saved {
			source = schema.Candidate{Content: "Ana lives in Oslo", SourceKind: schema.SourceMemory}
		}
		_, o = w.livedFrom(source, doubted, toOslo(detail))
		w.requireBlocked(o, known, detail)
	}
}

// The same holds for a better source's detail of a fact that could be replaced.
func TestABetterSourcesDetailIsNotReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	known, _ := w.lived("from a tool", doubted, inPorto)
	detail, _ := w.lived("from Ana", trusted, nearRiver)
	_, o := w.lived("from a tool again", doubted, toOslo(known))
	w.requireBlocked(o, known, detail)
}

// A person who approves the change replaces both.
func TestAnApprovedChangeReplacesDetailsOfBetterSources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	known, _ := w.lived("from Ana", trusted, inPorto)
	detail, _ := w.lived("from a tool", doubted, nearRiver)
	_, o := w.lived("from a tool again", doubted, toOslo(detail))
	w.requireBlocked(o, known, detail)
	items, err := w.ListReviews(ctx, w.p, pipeline.ReviewFilter{}, pg.Page{Limit: 5})
	require.NoError(t, err)
	require.Len(t, items, 1)
	result := w.settle(items[0], schema.DecisionApprove)
	require.Equal(t, schema.ReviewApplied, result.Status, result.Why)
	for _, id := range []uuid.UUID{known, detail} {
		require.Equal(t, schema.StatusSuperseded, w.get(id).Status)
	}
}

// Who takes back a detail does not take back the value. Who takes back the value takes back what says more about it.
func TestRetractingADetailKeepsTheFact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	known, _ := w.lived("first", trusted, inPorto)
	river, _ := w.lived("second", trusted, nearRiver)
	centre, _ := w.lived("third", trusted, inCentre)
	status := func(id uuid.UUID) schema.Status { return w.get(id).Status }

	_, o := w.lived("fourth", trusted, retraction("Ana lives in Porto near the river", river))
	require.Equal(t, schema.ProposalApplied, o.State)
	require.Equal(t, []schema.Status{schema.StatusActive, schema.StatusRetracted, schema.StatusActive},
		[]schema.Status{status(known), status(river), status(centre)})

	_, o = w.lived("fifth", trusted, retraction("Ana lives in Porto", known))
	require.Equal(t, schema.ProposalApplied, o.State)
	require.Equal(t, []schema.Status{schema.StatusRetracted, schema.StatusRetracted},
		[]schema.Status{status(known), status(centre)})
	w.requireExactStats()
}

// A fact that repeats the value without the detail replaces the detail only.
func TestADetailIsReplacedByTheFactItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	known, _ := w.lived("first", trusted, inPorto)
	detail, _ := w.lived("second", trusted, nearRiver)
	again := inPorto
	again.action, again.target, again.change = schema.ActionUpdate, detail, memory.ChangeSupersede
	id, _ := w.lived("third", trusted, again)
	require.Equal(t, known, id)
	require.Equal(t, schema.StatusActive, w.get(known).Status)
	require.Equal(t, schema.StatusSuperseded, w.get(detail).Status)
}

// A memory that says the same as the target, but may not be replaced, is not passed over: the change waits.
func TestARestatementOfTheTargetIsKept(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"policy contest":  `UPDATE memories SET revision_policy = 'contest' WHERE id = $1`,
		"a better source": `UPDATE memories SET source_trust = 1 WHERE id = $1`,
		"for a time": `UPDATE memories SET validity = 'timeboxed', valid_from = now(),
			valid_until = now() + interval '1 day' WHERE id = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			known, _ := w.lived("first", doubted, inPorto)
			again, _ := w.lived("second", doubted,
				idea{fact: fact("The home of Ana is in Porto"), action: schema.ActionAdd})
			w.exec(change, again)
			moved := toOslo(known)
			moved.also, moved.change = []uuid.UUID{again}, memory.ChangeSupersede
			_, o := w.lived("third", doubted, moved)
			w.requireBlocked(o, known, again)
		})
	}
}

// So does a retraction, which would leave the statement current in that memory. A person may approve it for both.
func TestARetractionWaitsIfItMayNotRetractARestatement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	known, _ := w.lived("from a tool", doubted, inPorto)
	again, _ := w.lived("from Ana", trusted,
		idea{fact: fact("The home of Ana is in Porto"), action: schema.ActionAdd})
	_, o := w.lived("from a tool again", doubted, retraction("Ana lives in Porto", known, again))
	require.Equal(t, schema.ProposalBlocked, o.State)
	require.Equal(t, proposals.ReasonRevisionPolicy, o.Skipped)
	for _, id := range []uuid.UUID{known, again} {
		require.Equal(t, schema.StatusActive, w.get(id).Status)
	}
	items, err := w.ListReviews(ctx, w.p, pipeline.ReviewFilter{}, pg.Page{Limit: 5})
	require.NoError(t, err)
	require.Len(t, items, 1)
	result := w.settle(items[0], schema.DecisionApprove)
	require.Equal(t, schema.ReviewApplied, result.Status, result.Why)
	for _, id := range []uuid.UUID{known, again} {
		require.Equal(t, schema.StatusRetracted, w.get(id).Status)
	}
	w.requireExactStats()
}

// A detail is replaced with the value, even if a rule has given their sources another scope than the request has.
func TestADetailInTheScopeOfItsSourceIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lived := func(said string, i idea) (uuid.UUID, schema.FactOutcome) {
		ack, r := w.stage(schema.Candidate{Content: said})
		source := uuid.MustParse(ack.MemoryIDs[0])
		w.exec(`UPDATE memories SET scope = 'home' WHERE id = $1`, source)
		w.decided(r, source, i)
		w.write(r)
		o := w.outcomes(r)[0]
		require.Equal(t, schema.ProposalApplied, o.State)
		return uuid.MustParse(o.MemoryID), o
	}
	known, _ := lived("first", inPorto)
	detail, _ := lived("second", nearRiver)
	require.Equal(t, 1, w.count("memory_links", "predicate = 'details'"))
	require.Equal(t, 2, w.count("memories", "scope = 'home' AND id IN ($1, $2)", known, detail))
	lived("third", toOslo(known))
	for _, id := range []uuid.UUID{known, detail} {
		require.Equal(t, schema.StatusSuperseded, w.get(id).Status)
	}
}

// An agent may replace its detail by another one with the same value. That contradicts no other agent's fact, whether
// the change is applied, or waits for a review that no one makes.
func TestAnotherDetailDoesNotContradictTheSameValue(t *testing.T) {
	t.Parallel()
	setUp := func(t *testing.T) (b *world, theirs, detail uuid.UUID, again idea) {
		a := newWorld(t)
		a.p.Project, a.vis = "p", schema.VisibilityShared
		b = a.another("b")
		theirs, _ = a.lived("from a", trusted, inPorto)
		detail, _ = b.lived("from b", trusted, nearRiver)
		return b, theirs, detail, idea{fact: inCentre.fact, action: schema.ActionUpdate, target: detail}
	}
	t.Run("applied", func(t *testing.T) {
		t.Parallel()
		b, theirs, detail, again := setUp(t)
		next, o := b.lived("from b again", trusted, again)
		require.Equal(t, schema.ProposalApplied, o.State)
		require.Equal(t, next.String(), b.get(detail).SupersededBy)
		require.Equal(t, []schema.Status{schema.StatusActive, schema.StatusActive},
			[]schema.Status{b.get(theirs).Status, b.get(next).Status})
		b.requireExactStats()
	})
	t.Run("not reviewed", func(t *testing.T) {
		t.Parallel()
		b, theirs, detail, again := setUp(t)
		b.policy.AllowUpdateDelete = false
		_, r := unreviewed(t, b, "from b again", again)
		b.expireAll(r)
		require.Equal(t, schema.ProposalExpired, b.outcomes(r)[0].State)
		require.Equal(t, []schema.Status{schema.StatusActive, schema.StatusActive},
			[]schema.Status{b.get(theirs).Status, b.get(detail).Status})
		require.Zero(t, b.count("memory_links", "predicate = 'contradicts'"))
	})
}
