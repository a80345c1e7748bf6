package workflows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/workflows"
)

// The preference example of document 004 §7: the user's statement is remembered, later experience favours another
// language in another kind of project, and a reviewer keeps both.
func TestGoAndPythonPreference(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	o := onlooker{t, h, testkit.Principal()}
	golang := known(t, h, o.p, "Dana prefers Go for backend services.")[0]
	later, result := h.Ingest(t, testkit.Request(o.p, schema.SourceOutcome,
		"The notebook of the data science project was rewritten in Python, as Dana had asked."))
	require.Zero(t, result.Dead)
	seen := later.Ack.MemoryIDs[0]
	require.Equal(t, schema.StatusActive, o.get(golang).Status, "new experience overwrites nothing")
	noted := o.live(schema.TypeSemantic) // the statement about the notebook is kept as well, but is no preference
	require.Len(t, noted, 2)
	noted = slices.DeleteFunc(noted, func(id string) bool { return id == golang })
	preferred := func(situation string) []string {
		return slices.DeleteFunc(o.found("What does Dana prefer?", situation, schema.TypeSemantic),
			func(id string) bool { return slices.Contains(noted, id) })
	}

	python := recordOf(t,
		`{"type": "semantic", "confidence": 0.8, "content": "Dana prefers Python for data science.", "payload": {"kind": "semantic", "evidence": [{"kind": "event", "ref": "evt://told"}], "subject": "Dana",
		"predicate": "prefers_for_backend_services", "object": "Python", "validity": {"mode": "conditional", "conditions": {"project_kind": "data_science"}}}}`)
	evidence := func(req *schema.ReviseRequest) {
		req.Evidence = []schema.Ref{{Kind: "observation", Ref: seen}, {Kind: "human", Ref: "Dana"}}
	}
	refused := o.revise(schema.ReviseFork, &python, evidence, golang)
	require.Equal(t, schema.ReviseOverlap, refused.Status,
		"a preference without conditions excludes another one")
	require.Equal(t, []string{golang}, preferred(""), "nothing has changed")
	forked := o.revise(schema.ReviseFork, &python, func(req *schema.ReviseRequest) {
		evidence(req)
		req.TargetConditions = &schema.Validity{Mode: schema.ValidConditional,
			Conditions: json.RawMessage(`{"project_kind": "backend_service"}`)}
	}, golang)
	require.Equal(t, schema.ReviseApplied, forked.Status, forked.Why)
	forPython, forGo := forked.Created[0], forked.Created[1]

	// Each applies under its own conditions.
	for situation, want := range map[string][]string{
		`{"project_kind": "data_science"}`: {forPython}, `{"project_kind": "backend_service"}`: {forGo},
		`{"project_kind": "game"}`: {}, "": sorted(forPython, forGo), `{"season": "summer"}`: sorted(forPython, forGo),
	} {
		require.Equal(t, want, preferred(situation), situation)
	}
	for _, id := range forked.Created {
		m := o.get(id)
		require.Equal(t, schema.StatusActive, m.Status)
		require.Equal(t, schema.AuditFork, m.AuditLog[len(m.AuditLog)-1].Action)
	}
	// Neither deleted the other: the earlier preference is in history, with the actor and reason of the change.
	old := o.get(golang)
	require.Equal(t, schema.StatusSuperseded, old.Status)
	require.Nil(t, old.DeletedAt)
	require.Equal(t, forGo, old.SupersededBy)
	require.Equal(t, "Dana prefers Go for backend services.", old.Content)
	step := o.lastStep(golang)
	require.Equal(t, []string{string(schema.AuditFork), "person:mia", "said so later"},
		[]string{string(step.Action), step.ChangedBy, step.Reason})
	name := map[string]string{golang: "said", forGo: "go", forPython: "python", seen: "notebook"}
	require.Subset(t, o.edges(forPython, name), []string{"notebook supports python", "python derived_from said"})
	require.Subset(t, o.edges(golang, name),
		[]string{"go supersedes said", "go derived_from said", "python derived_from said"})
	require.Contains(t, o.get(forPython).Provenance.Sources, schema.Ref{Kind: "human", Ref: "Dana"})

	// A later statement of the user about Go changes only the preference for Go.
	rust := recordOf(t,
		`{"type": "semantic", "confidence": 0.9, "content": "Dana prefers Rust for backend services.", "payload": {"kind": "semantic", "evidence": [{"kind": "event", "ref": "evt://told"}], "subject": "Dana",
		"predicate": "prefers_for_backend_services", "object": "Rust", "validity": {"mode": "conditional", "conditions": {"project_kind": "backend_service"}}}}`)
	replaced := o.revise(schema.ReviseSupersede, &rust, nil, forGo)
	require.Equal(t, schema.ReviseApplied, replaced.Status, replaced.Why)
	require.Equal(t, replaced.Created, preferred(`{"project_kind": "backend_service"}`))
	require.Equal(t, []string{forPython}, preferred(`{"project_kind": "data_science"}`))
	require.Equal(t, 1, o.get(forPython).Version)
	testkit.CheckInvariants(t, testkit.Owner(t, h.DatabaseURL))
}

// linkerFailure is an episode in which a build failed with the linker's error.
func linkerFailure(n int, os, log string) string {
	return fmt.Sprintf(`{"type": "episodic", "confidence": 1, "source_trust": 0.9, "provenance": {"sources": [{"kind": "tool_call", "ref": "tool://build#%[1]d"}, {"kind": "artifact", "ref": %[3]q}]},
		"payload": {"kind": "episodic", "timeline": [
			{"t": "2026-11-0%[1]dT10:00:00Z", "event_kind": "tool_call", "ref": "tool://build#%[1]d", "summary": "make all"},
			{"t": "2026-11-0%[1]dT10:00:09Z", "event_kind": "error", "ref": "log://build#%[1]d", "summary": "ld: cache mismatch"}],
			"artifacts": [%[3]q], "environment": {"os": %[2]q, "tool_versions": {"ld": "1015.7"}}, "outcome": "failure"}}`, n, os, log)
}

// The linker example of document 004 §5 and §8: the episodes stay unchanged, the fix is a competence with the episodes
// as evidence, and the fix for other conditions is active as well.
func TestLinkerError(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	o := onlooker{t, h, testkit.Principal()}
	ctx := context.Background()
	put := func(records ...string) (ids []string) {
		t.Helper()
		_, _, result := runPut(t, h, putRequest(t, o.p, records...))
		for _, item := range result.Items {
			require.Equal(t, schema.PutCreated, item.Status, item.Problem)
			ids = append(ids, item.ID)
		}
		return ids
	}
	keep := func(n int) string {
		t.Helper()
		log, err := h.Store.PutArtifact(ctx, o.p,
			strings.NewReader(fmt.Sprintf("build %d\nld: cache mismatch for module Atlas\n", n)), "text/plain", "",
			time.Now())
		require.NoError(t, err)
		return log.Address
	}
	var failures []string
	for n := range 3 {
		failures = append(failures, linkerFailure(n+1, "macos", keep(n+1)))
	}
	episodes := put(failures...)
	derived := func(ids []string) string {
		var out []string
		for _, id := range ids {
			out = append(out, fmt.Sprintf(`{"predicate": "derived_from", "target_id": %q, "weight": 1}`, id))
		}
		return strings.Join(out, ", ")
	}
	fix := put(fmt.Sprintf(`{"type": "competence", "confidence": 0.7, "provenance": {"sources": [{"kind": "tool_call", "ref": "tool://build#3"}]}, "relations": [%s],
		"payload": {"kind": "competence", "skill_name": "fix_linker_cache_error", "triggers": [{"signal": "ld: cache mismatch", "conditions": {"os": "macos"}}],
			"recipe": [{"step": "Clear the build cache", "tool": "shell", "validation": "the cache directory is gone"},
				{"step": "Rebuild with clean flags", "tool": "build", "validation": "the build succeeds"}],
			"required_tools": ["shell", "build"], "failure_modes": ["The cache directory is locked"], "fallbacks": ["Reinstall the toolchain"], "version": "1.0"}}`, derived(episodes)))[0]
	first := o.get(fix)
	require.LessOrEqual(t, first.SourceTrust, 0.9, "no more trusted than its evidence")

	// The fix cannot be written into the episode.
	var changed schema.MemoryRecord
	require.NoError(t, json.Unmarshal([]byte(strings.Replace(failures[0], "ld: cache mismatch",
		"ld: cache mismatch, fixed by clearing the cache", 1)), &changed))
	changed.ID = episodes[0]
	_, _, result := runPut(t, h, schema.PutRequest{Operation: schema.Operation{Principal: o.p,
		Reason: "it is known now"}, Records: []schema.MemoryRecord{changed}})
	require.Equal(t, schema.PutAppendOnly, result.Items[0].Status)
	text := "The linker failed; clearing the cache fixed it."
	_, patched := modify(t, h, modifyRequest(o.p, schema.Patch{ID: episodes[0], Content: &text}))
	require.Equal(t, schema.PatchAppendOnly, patched.Results[0].Status)
	require.Equal(t, schema.ReviseEpisodic, o.revise(schema.ReviseRetract, nil, nil, episodes[0]).Status)
	var kept, given schema.EpisodicPayload
	require.NoError(t, json.Unmarshal(o.get(episodes[0]).Payload, &kept))
	require.NoError(t, json.Unmarshal(recordOf(t, failures[0]).Payload, &given))
	require.Equal(t, given, kept)
	_, log, err := h.Store.GetArtifact(ctx, o.p, kept.Artifacts[0])
	require.NoError(t, err)
	require.Contains(t, string(log), "ld: cache mismatch", "the evidence can be read")

	// On the other system another fix works better: it is learned in addition to the first.
	elsewhere := put(linkerFailure(4, "linux", keep(4)))[0]
	lld := recordOf(t,
		`{"type": "competence", "confidence": 0.9, "payload": {"kind": "competence", "skill_name": "fix_linker_cache_error",
		"triggers": [{"signal": "ld: cache mismatch", "conditions": {"os": "linux"}}], "recipe": [{"step": "Link with lld", "tool": "build", "validation": "the build succeeds"}],
		"required_tools": ["build"], "failure_modes": ["lld is not installed"], "fallbacks": ["Clear the build cache"], "version": "1.0"}}`)
	forked := o.revise(schema.ReviseFork, &lld, func(req *schema.ReviseRequest) {
		req.Evidence = []schema.Ref{{Kind: "outcome", Ref: elsewhere}}
	}, fix)
	require.Equal(t, schema.ReviseApplied, forked.Status, forked.Why)
	require.Len(t, forked.Created, 1)
	second := forked.Created[0]
	now := o.get(fix)
	require.Equal(t, schema.StatusActive, now.Status)
	require.JSONEq(t, string(first.Payload), string(now.Payload), "the first is unchanged")
	require.Equal(t, first.Confidence, now.Confidence)

	// A recall of the error text returns both, each with its conditions and its steps in order.
	require.Equal(t, sorted(fix, second), o.found("ld: cache mismatch", "", schema.TypeCompetence))
	answer := o.recall(schema.RecallRequest{Query: "ld: cache mismatch"})
	byID := map[string]schema.RecallResult{}
	for _, r := range answer.Results {
		byID[r.ID] = r
	}
	require.Contains(t, byID, fix, "recall also returns what was learned from episodes")
	require.Contains(t, byID, second)
	require.Regexp(t, `(?s)os is macos.*Clear the build cache.*Rebuild with clean flags.*locked.*Reinstall`,
		byID[fix].Content)
	require.Regexp(t, `(?s)os is linux.*Link with lld`, byID[second].Content)

	// Lineage names the evidence of each.
	name := map[string]string{fix: "fix", second: "second", elsewhere: "elsewhere", episodes[0]: "1", episodes[1]: "2",
		episodes[2]: "3"}
	require.Equal(t, []string{"fix derived_from 1", "fix derived_from 2", "fix derived_from 3",
		"second derived_from fix"}, o.edges(fix, name))
	require.Subset(t, o.edges(second, name),
		[]string{"elsewhere supports second", "fix derived_from 1", "second derived_from fix"})
	require.Equal(t, []string{"fix derived_from 1", "second derived_from fix"}, o.edges(episodes[0], name),
		"the lineage of an episode leads to its derivations")
	testkit.CheckInvariants(t, testkit.Owner(t, h.DatabaseURL))
}

// The contradiction rules of document 004 §7: new evidence replaces, forks or contests the existing memory, depending
// on its revision policy and on the support of each side. Both sides and the reason are kept.
func TestContradictionRules(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	lives := func(town, policy string, confidence float64, conditions string) schema.MemoryRecord {
		validity := `{"mode": "global"}`
		if conditions != "" {
			validity = `{"mode": "conditional", "conditions": ` + conditions + `}`
		}
		return recordOf(t,
			fmt.Sprintf(`{"type": "semantic", "confidence": %v, "provenance": {"sources": [{"kind": "event", "ref": "evt://%[2]s"}, {"kind": "event", "ref": "evt://%[2]s/2"}]},
			"payload": {"kind": "semantic", "evidence": [{"kind": "event", "ref": "evt://told"}], "subject": "Ana", "predicate": "lives_in", "object": %[2]q, "validity": %s, "revision_policy": %q}}`, confidence, town, validity, policy))
	}
	const query = "Where does Ana live?"
	summer, winter := `{"season": "summer"}`, &schema.Validity{Mode: schema.ValidConditional,
		Conditions: json.RawMessage(`{"season": "winter"}`)}
	for name, c := range map[string]struct {
		policy     string
		confidence float64 // of the existing memory; the new one has 0.8
		ground     string  // of the existing memory
		conditions string  // of the new memory
		left       *schema.Validity
		want       schema.ReviseAction
		why        string
	}{
		"replace, and the new one has at least as much support": {policy: "replace", confidence: 0.5,
			want: schema.ReviseSupersede, why: "at least as much speaks for the record"},
		"replace, and the new one has less support": {policy: "replace", confidence: 1,
			want: schema.ReviseContest, why: "less speaks for the record"},
		"replace, and the new one is a special case": {policy: "replace", confidence: 0.1,
			conditions: summer, want: schema.ReviseContest, why: "does not hold everywhere"},
		"fork, with conditions for each": {policy: "fork", confidence: 1, conditions: summer,
			left: winter, want: schema.ReviseFork, why: "disjoint"},
		"fork, without conditions for the old one": {policy: "fork", confidence: 0.1, conditions: summer,
			want: schema.ReviseContest, why: "not disjoint"},
		"contest, whatever the support": {policy: "contest", confidence: 0.1,
			want: schema.ReviseContest, why: "policy contest"},
		"disjoint conditions are no contradiction under any policy": {policy: "contest", confidence: 1,
			ground: `{"season": "winter"}`, conditions: summer, want: schema.ReviseFork, why: "both hold"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := onlooker{t, h, testkit.Principal()}
			held := putRecord(t, h.Temporal, h.TaskQueue, o.p, lives("Lisbon", c.policy, c.confidence, c.ground))
			porto := lives("Porto", c.policy, 0.8, c.conditions)
			result := o.revise(schema.ReviseReconcile, &porto, func(req *schema.ReviseRequest) {
				req.TargetConditions = c.left
			}, held)
			require.Equal(t, schema.ReviseApplied, result.Status, result.Why)
			require.Equal(t, c.want, result.Action)
			require.Contains(t, result.Why, c.why)
			fresh := result.Created[0]
			require.Equal(t, fmt.Sprint([]string{"person:mia", "said so later"}),
				fmt.Sprint([]string{o.lastStep(held).ChangedBy, o.lastStep(held).Reason}))
			require.Contains(t, o.get(held).Content, "Lisbon", "both sides are kept")
			require.Contains(t, o.get(fresh).Content, "Porto")
			switch c.want {
			case schema.ReviseSupersede:
				require.Equal(t, []string{fresh}, o.found(query, ""))
				require.Equal(t, schema.StatusSuperseded, o.get(held).Status)
				require.Equal(t, []string{"new supersedes old"},
					o.edges(held, map[string]string{held: "old", fresh: "new"}))
				require.Empty(t, o.contradictions())
			case schema.ReviseFork:
				other := held
				if c.left != nil {
					other = result.Created[1]
				}
				require.Equal(t, []string{fresh}, o.found(query, summer))
				require.Equal(t, []string{other}, o.found(query, `{"season": "winter"}`))
				require.Equal(t, sorted(fresh, other), o.found(query, ""),
					"without a known season, both may apply")
				require.Empty(t, o.contradictions())
			default:
				answer := o.recall(schema.RecallRequest{Query: query})
				require.Len(t, answer.Results, 2)
				for _, r := range answer.Results {
					require.Equal(t, schema.StatusContested, r.Status, "the result is marked as contested")
				}
				sides := o.contradictions()
				require.Len(t, sides, 1)
				require.ElementsMatch(t, []string{held, fresh}, []string{sides[0].Left.ID, sides[0].Right.ID})
				require.Equal(t, schema.AuditContest, o.lastStep(held).Action)
				require.Equal(t, []string{"new contradicts old", "old contradicts new"},
					o.edges(held, map[string]string{held: "old", fresh: "new"}))
			}
		})
	}

	t.Run("resolving ends a contradiction", func(t *testing.T) {
		t.Parallel()
		o := onlooker{t, h, testkit.Principal()}
		lisbon := putRecord(t, h.Temporal, h.TaskQueue, o.p, lives("Lisbon", "contest", 0.9, ""))
		porto := lives("Porto", "contest", 0.9, "")
		fresh := o.revise(schema.ReviseReconcile, &porto, nil, lisbon).Created[0]
		stale := reviseRequest(o.p, schema.ReviseResolve, nil, schema.Target{ID: lisbon, IfVersion: 1},
			schema.Target{ID: fresh, IfVersion: 1})
		stale.Winner = lisbon
		_, refused := revise(t, h.Temporal, h.TaskQueue, stale)
		require.Equal(t, schema.ReviseVersionConflict, refused.Status,
			"a caller with an old version cannot resolve it")
		require.Len(t, o.contradictions(), 1)
		result := o.revise(schema.ReviseResolve, nil, func(req *schema.ReviseRequest) { req.Winner = lisbon }, lisbon,
			fresh)
		require.Equal(t, schema.ReviseApplied, result.Status, result.Why)
		require.Empty(t, o.contradictions())
		require.Equal(t, []string{lisbon}, o.found(query, ""))
		require.Equal(t, schema.StatusActive, o.get(lisbon).Status)
		require.Equal(t, schema.StatusSuperseded, o.get(fresh).Status)
		require.Equal(t, []string{"new contradicts old", "old contradicts new", "old supersedes new"},
			o.edges(lisbon, map[string]string{lisbon: "old", fresh: "new"}), "the contradiction stays in history")
		require.Equal(t, schema.AuditResolve, o.lastStep(fresh).Action)
	})

	t.Run("a retracted memory keeps its evidence", func(t *testing.T) {
		t.Parallel()
		o := onlooker{t, h, testkit.Principal()}
		lisbon := putRecord(t, h.Temporal, h.TaskQueue, o.p, lives("Lisbon", "replace", 0.9, ""))
		before := o.get(lisbon)
		result := o.revise(schema.ReviseRetract, nil, nil, lisbon)
		require.Equal(t, schema.ReviseApplied, result.Status, result.Why)
		require.Empty(t, o.found(query, ""))
		after := o.get(lisbon)
		require.Equal(t, schema.StatusRetracted, after.Status)
		require.Nil(t, after.DeletedAt)
		require.Equal(t, before.Content, after.Content)
		require.Subset(t, after.Provenance.Sources, before.Provenance.Sources)
		require.Equal(t, []schema.AuditAction{schema.AuditCreate, schema.AuditRetract},
			[]schema.AuditAction{after.AuditLog[0].Action, after.AuditLog[1].Action})
		require.Equal(t, schema.ReviseNotLive, o.revise(schema.ReviseRetract, nil, nil, lisbon).Status)
	})

	t.Run("the same value is no conflict", func(t *testing.T) {
		t.Parallel()
		o := onlooker{t, h, testkit.Principal()}
		lisbon := putRecord(t, h.Temporal, h.TaskQueue, o.p, lives("Lisbon", "replace", 0.5, ""))
		again := lives("Lisbon", "replace", 0.9, "")
		again.Content = "Ana has her home in Lisbon."
		require.Equal(t, schema.ReviseNoConflict, o.revise(schema.ReviseReconcile, &again, nil, lisbon).Status)
		require.Equal(t, 1, o.get(lisbon).Version)
	})

	// In the pipeline, a contradiction waits for review, and both sides stay active until the decision.
	for name, c := range map[string]struct {
		held, said string
		listed     bool // as a contradiction
	}{
		"another value": {"Dana lives in Lisbon.", "Dana lives in Porto.", false},
		"a negation": {"The build cache is enabled in production.", "The build cache is disabled in production.",
			true},
	} {
		for _, verdict := range []schema.Decision{schema.DecisionApprove, schema.DecisionReject} {
			t.Run(name+" waits for review: "+string(verdict), func(t *testing.T) {
				t.Parallel()
				o := onlooker{t, h, testkit.Principal()}
				result, item := moved(t, h, o.p, c.held, c.said)
				require.Equal(t, []string{c.said, c.held}, []string{item.Fact, item.TargetNow.Content},
					"the review shows both memories")
				before := o.get(item.TargetID)
				require.Equal(t, schema.StatusActive, before.Status, "an unconfirmed statement overwrites nothing")
				if c.listed {
					sides := o.contradictions()
					require.Len(t, sides, 1)
					require.Equal(t, schema.ContradictionOfProposal, sides[0].Kind)
					require.Equal(t, []string{c.said, c.held}, []string{sides[0].Left.Content, sides[0].Right.Content})
				}
				recalled := func() (out []string) {
					for _, r := range o.recall(schema.RecallRequest{Query: c.said}).Results {
						out = append(out, r.Content)
					}
					return out
				}
				require.ElementsMatch(t, []string{c.said, c.held}, recalled())

				decided := decide(t, h, decision(o.p, item, verdict), result.BatchID)
				require.Empty(t, o.contradictions())
				after := o.get(item.TargetID)
				if verdict == schema.DecisionApprove {
					require.Equal(t, schema.ReviewApplied, decided.Status)
					require.Equal(t, []string{c.said}, recalled())
					require.Equal(t, schema.StatusSuperseded, after.Status)
					require.Equal(t, decided.MemoryID, after.SupersededBy)
					require.Equal(t, "operator:rita", o.lastStep(item.TargetID).ChangedBy)
				} else {
					require.Equal(t, schema.ReviewRejected, decided.Status)
					require.Contains(t, recalled(), c.held)
					require.Equal(t, before.Version, after.Version)
				}
				require.Equal(t, c.held, after.Content, "kept in history in both cases")
			})
		}
	}

	// Where updates are allowed, the revision policy of the existing memory still decides.
	eager := harness.New(t, func(d *workflows.Dependencies) { d.Policy.AllowUpdateDelete = true })
	for policy, waits := range map[schema.RevisionPolicy]bool{schema.PolicyReplace: false, schema.PolicyFork: true,
		schema.PolicyContest: true} {
		t.Run("the pipeline may update, and the policy is "+string(policy), func(t *testing.T) {
			t.Parallel()
			o := onlooker{t, eager, testkit.Principal()}
			held := lives("Lisbon", string(policy), 0.5, "") // the new one has more support
			held.Content = "Ana lives in Lisbon."
			id := putRecord(t, eager.Temporal, eager.TaskQueue, o.p, held)
			_, result := eager.Ingest(t, testkit.Request(o.p, schema.SourceMemory, "Ana lives in Porto."))
			require.Zero(t, result.Dead)
			if !waits {
				require.Equal(t, schema.StatusSuperseded, o.get(id).Status)
				return
			}
			require.Equal(t, 1, result.ToReview)
			require.Equal(t, schema.StatusActive, o.get(id).Status, "the pipeline must not replace it")
			items, err := eager.Store.ListReviews(context.Background(), o.p, pipeline.ReviewFilter{}, pg.Page{})
			require.NoError(t, err)
			require.Equal(t, proposals.ReasonRevisionPolicy, items[0].Outcome)
			require.Equal(t, schema.ReviewApplied,
				decide(t, eager, decision(o.p, items[0], schema.DecisionApprove), result.BatchID).Status,
				"a reviewer may")
			require.Equal(t, schema.StatusSuperseded, o.get(id).Status)
		})
	}
	t.Cleanup(func() { testkit.CheckInvariants(t, testkit.Owner(t, h.DatabaseURL)) })
}
