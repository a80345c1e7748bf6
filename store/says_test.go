package store_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// prefers is the fact that the extractor finds if Maya says "I prefer Python."
func prefers(what string) memory.Fact {
	f := fact("Maya prefers " + what)
	f.Category = schema.CategoryPreference
	f.Claim = memory.Claim{Subject: "Maya", Predicate: "prefers", Object: what}
	return f
}

// told stages a turn of a speaker and runs the pipeline for its ideas up to the write.
func (w *world) told(speaker, content string, ideas ...idea) (source uuid.UUID, facts []uuid.UUID) {
	w.t.Helper()
	ack, r := w.stage(schema.Candidate{Content: content, SourceKind: schema.SourceUserInput, Speaker: speaker})
	require.Empty(w.t, ack.Deduped)
	source = uuid.MustParse(ack.MemoryIDs[0])
	w.decided(r, source, ideas...)
	w.write(r)
	for _, o := range w.outcomes(r) {
		if o.MemoryID == "" {
			facts = append(facts, uuid.Nil)
			continue
		}
		facts = append(facts, uuid.MustParse(o.MemoryID))
	}
	return source, facts
}

func add(f memory.Fact) idea { return idea{fact: f, action: schema.ActionAdd} }

// found returns the ids that full-text search finds for the world's principal.
func (w *world) found(query string) []uuid.UUID {
	w.t.Helper()
	hits, err := w.SearchText(ctx, pg.Filter{Principal: w.p}, query, 20)
	require.NoError(w.t, err)
	out := []uuid.UUID{}
	for _, h := range hits {
		out = append(out, h.ID)
	}
	return out
}

// A person asks to erase a fact: the turn that it was extracted from has the same content.
func TestEraseOfAFactIncludesItsSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source, facts := w.told("Maya", "I prefer Python.", add(prefers("Python")))
	require.ElementsMatch(t, []uuid.UUID{source, facts[0]}, w.found("python"))

	receipt := w.forgetAll(w.forgets(schema.ForgetErase, named(facts[0])))
	require.Equal(t, 2, receipt.Forgotten)
	require.Empty(t, w.found("python"))
	_, err := w.SweepLexemes(ctx, "t", w.now)
	require.NoError(t, err)
	require.Empty(t, w.columnsWith("python"))
	require.Equal(t, 2, w.count("index_outbox", "op = 'delete' AND memory_id IN ($1, $2)", source, facts[0]))
	require.Zero(t, w.count("memory_hints", "true"))
	w.requireExactStats()
}

// everywhere and onlyNamed are selectors with and without the memories that have the same content.
func everywhere(ids ...uuid.UUID) schema.Selector {
	s := named(ids...)
	s.Everywhere = true
	return s
}

func onlyNamed(ids ...uuid.UUID) schema.Selector {
	s := named(ids...)
	s.OnlyNamed = true
	return s
}

// echoOf is the entry of a memory in a list, or the zero value.
func echoOf(echoes []schema.ForgetEcho, id uuid.UUID) schema.ForgetEcho {
	for _, e := range echoes {
		if e.ID == id.String() {
			return e
		}
	}
	return schema.ForgetEcho{}
}

func tiesOf(echoes []schema.ForgetEcho) map[string]string {
	out := map[string]string{}
	for _, e := range echoes {
		out[e.ID] = e.Tie
	}
	return out
}

// Without everywhere, memories with the same content are shown, not changed, and named in the result.
func TestForgetShowsMemoriesWithTheSameContent(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetSoft, schema.ForgetForce, schema.ForgetErase} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			source, facts := w.told("Maya", "I prefer Python.", add(prefers("Python")))
			bystander, _ := w.told("Ben", "I prefer Python, too.")
			preview := w.selects(w.forgets(mode, onlyNamed(facts[0])))
			require.Equal(t, 1, preview.Total)
			require.False(t, preview.Everywhere)
			require.Equal(t, 1, preview.SaysSame)
			require.Equal(t, []schema.ForgetEcho{{ID: source.String(), Tie: "source"}}, preview.Echoes)

			receipt := w.forgetAll(w.forgets(mode, onlyNamed(facts[0])))
			require.Equal(t, []string{facts[0].String()}, receipt.IDs)
			require.Equal(t, 1, receipt.StillSaid)
			require.Equal(t, preview.Echoes, receipt.Echoes)
			require.ElementsMatch(t, []uuid.UUID{source, bystander}, w.found("python"))
			status, err := w.ForgetStatus(ctx, w.p, uuid.MustParse(receipt.RunID))
			require.NoError(t, err)
			require.Equal(t, receipt, status.ForgetReceipt)
		})
	}
}

// Everywhere includes them in every mode, with a token that covers all of them.
func TestForgetEverywhere(t *testing.T) {
	t.Parallel()
	for _, mode := range []schema.ForgetMode{schema.ForgetSoft, schema.ForgetForce, schema.ForgetErase} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			source, facts := w.told("Maya", "I prefer Python.", add(prefers("Python")))
			req := w.forgets(mode, everywhere(facts[0]))
			req.Execute = true
			preview := w.selects(req)
			require.Equal(t, schema.ForgetPreviewed, preview.State,
				"memories that were found and not named need confirmation")
			require.Equal(t, []any{2, true, 1}, []any{preview.Total, preview.Everywhere, preview.SaysSame})
			require.ElementsMatch(t, []string{facts[0].String(), source.String()}, preview.Sample)
			require.Equal(t, 1, w.count("forget_runs", "id = $1 AND digest = $2", preview.RunID,
				lifecycle.ForgetDigest([]lifecycle.SelectedRow{{ID: facts[0], Version: 1}, {ID: source, Version: 1}})))
			narrow := w.selects(w.forgets(mode, onlyNamed(facts[0])))
			_, err := w.confirm(preview, w.token(narrow))
			require.ErrorIs(t, err, schema.ErrTokenOther)

			receipt := w.forgetAll(req)
			require.Equal(t, []string{facts[0].String(), source.String()}, receipt.IDs)
			require.Zero(t, receipt.StillSaid)
			require.Empty(t, receipt.Echoes)
			require.Empty(t, w.found("python"))
			items, err := w.ForgetItems(ctx, w.p, uuid.MustParse(receipt.RunID), 0, 10)
			require.NoError(t, err)
			require.Equal(t, []string{"", "source"}, []string{items[0].Tie, items[1].Tie})
			w.requireExactStats()
		})
	}
}

// Only an erase includes them by default.
func TestOnlyEraseIsEverywhereByDefault(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, facts := w.told("Maya", "I prefer Python.", add(prefers("Python")))
	for mode, want := range map[schema.ForgetMode]int{schema.ForgetSoft: 1, schema.ForgetForce: 1,
		schema.ForgetErase: 2} {
		preview := w.selects(w.forgets(mode, named(facts[0])))
		require.Equal(t, want, preview.Total, mode)
		require.Equal(t, 1, preview.SaysSame, mode)
	}
	both := everywhere(facts[0])
	both.OnlyNamed = true
	req := w.forgets("", both)
	var invalid *schema.ValidationError
	require.ErrorAs(t, req.Validate(), &invalid)
	require.Equal(t, "selector.only_named", invalid.Fields[0].Field)
}

// A turn with several facts is marked. If one fact is erased, the others stay.
func TestEraseOfOneOfSeveralFactsOfATurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	home := lives("Maya lives in Oslo", "Maya", "Oslo")
	source, facts := w.told("Maya", "I prefer Python and live in Oslo.", add(prefers("Python")), add(home),
		add(fact("The weather of Oslo is Maya's topic")))
	preview := w.selects(w.forgets(schema.ForgetErase, named(facts[0])))
	require.Equal(t, []schema.ForgetEcho{{ID: source.String(), Tie: "source", AlsoSays: 2}}, preview.Echoes)
	require.ElementsMatch(t, []uuid.UUID{facts[0], source}, w.chosen(preview))

	w.forgetAll(w.forgets(schema.ForgetErase, named(facts[0])))
	_, err := w.SweepLexemes(ctx, "t", w.now)
	require.NoError(t, err)
	require.Empty(t, w.columnsWith("python"))
	require.NotNil(t, w.get(source).ErasedAt)
	require.ElementsMatch(t, []uuid.UUID{facts[1], facts[2]}, w.found("oslo"))
	require.Equal(t, "Maya lives in Oslo", w.get(facts[1]).Content)

	// Additional sentences count if there are more of them than facts extracted from them.
	long, more := w.told("Maya", "I prefer Rust. My sister is a nurse. My brother sells boats. Bye!",
		add(prefers("Rust")))
	preview = w.selects(w.forgets(schema.ForgetErase, onlyNamed(more[0])))
	require.Equal(t, schema.ForgetEcho{ID: long.String(), Tie: "source", AlsoSays: 2}, echoOf(preview.Echoes, long))
}

// A memory that the caller may not see is neither shown nor removed nor counted. One that it sees and does not own is
// counted.
func TestEverywhereIsLimitedToTheCaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	say := func(p schema.Principal, vis schema.Visibility) (uuid.UUID, uuid.UUID) {
		other := *w
		other.p, other.vis = p, vis
		source, facts := other.told("Maya", "I prefer Python.", add(prefers("Python")))
		return source, facts[0]
	}
	source, asked := say(w.p, schema.VisibilityPrivate)
	for _, p := range []schema.Principal{{Tenant: "t", Agent: "b"}, {Tenant: "t2", Agent: "a"},
		{Tenant: "t", Agent: "a", Scope: "user/ben"}, {Tenant: "t", Agent: "a", Project: "p"}} {
		say(p, schema.VisibilityPrivate)
	}
	say(schema.Principal{Tenant: "t", Agent: "c"}, schema.VisibilityGlobal)
	preview := w.selects(w.forgets(schema.ForgetErase, named(asked)))
	require.ElementsMatch(t, []uuid.UUID{asked, source}, w.chosen(preview))
	require.Zero(t, preview.SaysSameNotOwner, "copies are searched in the scope of the original")
	before := w.count("memories", "erased_at IS NULL AND content LIKE '%Python%'")
	w.forgetAll(w.forgets(schema.ForgetErase, named(asked)))
	require.Equal(t, before-2, w.count("memories", "erased_at IS NULL AND content LIKE '%Python%'"))

	// Another agent extracted a fact from the shared memory: only that agent can destroy its fact.
	w.vis = schema.VisibilityGlobal
	shared, facts := w.told("Maya", "I prefer Zig.", add(prefers("Zig")))
	w.exec(`UPDATE memories SET agent_id = 'b' WHERE id = $1`, shared)
	preview = w.selects(w.forgets(schema.ForgetErase, named(facts[0])))
	require.Equal(t, []int{1, 0, 1}, []int{preview.Total, preview.SaysSame, preview.SaysSameNotOwner})
	require.Empty(t, preview.Echoes)
	preview = w.selects(w.forgets(schema.ForgetSoft, everywhere(facts[0])))
	require.ElementsMatch(t, []uuid.UUID{facts[0], shared}, w.chosen(preview),
		"a soft deletion may include shared memories")
	w.exec(`UPDATE memories SET visibility = 'private' WHERE id = $1`, shared)
	preview = w.selects(w.forgets(schema.ForgetErase, named(facts[0])))
	require.Equal(t, []int{1, 0, 0}, []int{preview.Total, preview.SaysSame, preview.SaysSameNotOwner})
}

// Restatements are found by content, by claim, by their words and by the pipeline's decisions. A statement by another
// person or about another subject is not found.
func TestEverywhereFindsRestatements(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.memory("Maya prefers Python")
	w.exec(`UPDATE memories SET status = 'superseded', version = version + 1 WHERE id = $1`, old)
	source, facts := w.told("Maya", "I prefer Python.", add(prefers("Python")))
	asked := facts[0]
	triple := prefers("Python")
	triple.Content = "Python is what Maya prefers"
	_, worded := w.told("Ben", "Maya says that it has to be Python.", add(triple))
	knownTurn, _ := w.told("Maya", "As I said, Python it is for me.",
		idea{fact: prefers("Python"), action: schema.ActionNone, target: asked})
	again, _ := w.told("Maya", "Well, I really prefer Python!")
	ben, _ := w.told("Ben", "I prefer Python.\u200b")
	rust, _ := w.told("Maya", "I prefer Rust over Python.", add(prefers("Rust")))
	no := fact("Maya does not prefer Python")
	_, negated := w.told("Ben", "No Python for Maya, I think.", add(no))

	preview := w.selects(w.forgets(schema.ForgetErase, named(asked)))
	ties := tiesOf(preview.Echoes)
	require.Equal(t, map[string]string{source.String(): "source", worded[0].String(): "restatement",
		knownTurn.String(): "source", again.String(): "restatement",
		old.String(): "restatement"}, without(ties, w.sourceOf(worded[0])))
	require.Equal(t, "source", ties[w.sourceOf(worded[0]).String()], "the source of the restatement")
	for _, id := range []uuid.UUID{ben, rust, negated[0]} {
		require.Empty(t, ties[id.String()])
	}
}

func without(ties map[string]string, id uuid.UUID) map[string]string {
	out := map[string]string{}
	for k, v := range ties {
		if k != id.String() {
			out[k] = v
		}
	}
	return out
}

// sourceOf returns the one memory that another was extracted from.
func (w *world) sourceOf(id uuid.UUID) uuid.UUID {
	w.t.Helper()
	var out uuid.UUID
	require.NoError(w.t,
		w.owner.QueryRow(ctx, `SELECT target_id FROM memory_links WHERE predicate = 'derived_from' AND source_id = $1`,
			id).Scan(&out))
	return out
}

// Memories derived from an erased memory are erased too, over any number of steps, but not their other sources.
func TestEverywhereIncludesDerivedMemories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source, facts := w.told("Maya", "I prefer Python.", add(prefers("Python")))
	_, others := w.told("Maya", "I live in Oslo.", add(lives("Maya lives in Oslo", "Maya", "Oslo")))
	summary, further := w.memory("Maya in a line: a Pythonista of the north"), w.memory("All of us in a line")
	relate := func(from, to uuid.UUID) {
		w.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
			VALUES ('t', $1, 'derived_from', $2, now())`, from, to)
	}
	relate(summary, facts[0])
	relate(summary, others[0])
	relate(further, summary)
	preview := w.selects(w.forgets(schema.ForgetErase, named(facts[0])))
	require.Equal(t, map[string]string{source.String(): "source", summary.String(): "derived",
		further.String(): "derived"}, tiesOf(preview.Echoes))
	require.Equal(t, 1, echoOf(preview.Echoes, summary).AlsoSays)

	// A named turn includes its facts and the other turns with the same content.
	again, _ := w.told("Maya", "Python, as I said.",
		idea{fact: prefers("Python"), action: schema.ActionNone, target: facts[0]})
	preview = w.selects(w.forgets(schema.ForgetErase, named(source)))
	require.Equal(t, map[string]string{facts[0].String(): "derived", again.String(): "source",
		summary.String(): "derived", further.String(): "derived"}, tiesOf(preview.Echoes))
}

// A turn with several facts includes its facts, and the turns with one of them.
func TestEverywhereOfATurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, facts := w.told("Maya", "Python, please.", add(prefers("Python")))
	home := lives("Maya lives in Oslo", "Maya", "Oslo")
	turn, more := w.told("Maya", "I prefer Python and live in Oslo.",
		idea{fact: prefers("Python"), action: schema.ActionNone, target: facts[0]}, add(home))
	other, _ := w.told("Maya", "Rust is fine, too.", add(prefers("Rust")))
	preview := w.selects(w.forgets(schema.ForgetErase, named(turn)))
	require.Equal(t, map[string]string{facts[0].String(): "derived", more[1].String(): "derived",
		first.String(): "source"}, tiesOf(preview.Echoes))
	require.NotContains(t, w.chosen(preview), other)

	// A procedure learned from it is derived and does not restate it.
	skill := w.created(record(t,
		`{"type": "competence", "confidence": 0.9, "payload": {"kind": "competence", "skill_name": "set up Python", "triggers": [{"signal": "setup"}],
		"recipe": [{"step": "install it"}]}}`))
	w.exec(`INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
		VALUES ('t', $1, 'derived_from', $2, now())`, skill, first)
	preview = w.selects(w.forgets(schema.ForgetErase, named(first)))
	require.NotContains(t, w.chosen(preview), skill)
	require.Equal(t, 1, preview.Derived)
}

// A fork makes a different claim about the same subject, and is not a restatement; a narrowed copy is.
func TestEverywhereKeepsForks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	golang := w.created(likes(t, "", "go", always))
	req := w.revision(schema.ReviseFork,
		same(likes(t, "", "python", `{"mode": "conditional", "conditions": {"kind": "data"}}`)), w.as(golang)...)
	req.TargetConditions = &schema.Validity{Mode: schema.ValidConditional, Conditions: []byte(`{"kind": "backend"}`)}
	forked := w.applied(req)
	require.Len(t, forked.Created, 2)
	python, narrowed := uuid.MustParse(forked.Created[0]), uuid.MustParse(forked.Created[1])
	require.Equal(t, map[string]string{narrowed.String(): "derived"},
		tiesOf(w.selects(w.forgets(schema.ForgetErase, named(golang))).Echoes))
	require.Empty(t, w.selects(w.forgets(schema.ForgetErase, named(python))).Echoes)
}

// A soft forget keeps pinned memories, and the result reports them. Memories changed before the confirmation are kept
// too.
func TestEverywhereKeepsPinnedAndChangedMemories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source, facts := w.told("Maya", "I prefer Python.", add(prefers("Python")))
	w.exec(`UPDATE memories SET pinned = true WHERE id = $1`, source)
	preview := w.selects(w.forgets(schema.ForgetSoft, everywhere(facts[0])))
	require.Equal(t, 1, preview.Pinned)
	receipt := w.forgetAll(w.forgets(schema.ForgetSoft, everywhere(facts[0])))
	require.Equal(t, map[string]int{lifecycle.OutcomePinned: 1}, receipt.Skipped)
	require.Equal(t, 1, receipt.StillSaid)
	require.Equal(t, source.String(), receipt.Echoes[0].ID)

	// It is also found from a tombstone, and removed by erase.
	preview = w.selects(w.forgets(schema.ForgetErase, named(facts[0])))
	require.Equal(t, 2, preview.Total)
	w.touch(source)
	_, err := w.confirm(preview, w.token(preview))
	require.NoError(t, err)
	run := uuid.MustParse(preview.RunID)
	_, err = w.ForgetBatch(ctx, "t", run, 10, w.now)
	require.NoError(t, err)
	receipt, err = w.CloseForget(ctx, "t", run, schema.ForgetDone, w.now)
	require.NoError(t, err)
	require.Equal(t, []any{1, 1, 1},
		[]any{receipt.Forgotten, receipt.Skipped[lifecycle.OutcomeVersionConflict], receipt.StillSaid})

	// A fact that was erased alone still has its source.
	receipt = w.forgetAll(w.forgets(schema.ForgetErase, named(facts[0])))
	require.Equal(t, map[string]int{lifecycle.OutcomeErased: 1}, receipt.Skipped)
	require.Equal(t, []string{source.String()}, receipt.IDs)
	require.Empty(t, w.found("python"))
}

// A filter that selects facts includes their sources, however many there are.
func TestEverywhereOfMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n = schema.MaxForgetSample + 5
	var candidates []schema.Candidate
	for i := range n {
		candidates = append(candidates,
			schema.Candidate{Content: "I tested machine " + strings.Repeat("x", i+1) + " for us.", Speaker: "Maya",
				SourceKind: schema.SourceUserInput})
	}
	ack, r := w.stage(candidates...)
	for i, id := range ack.MemoryIDs {
		w.decided(r, uuid.MustParse(id), add(fact("Machine "+strings.Repeat("x", i+1)+" works")))
	}
	require.Equal(t, n, w.write(r).Added)
	sel := schema.Selector{Types: []schema.MemoryType{schema.TypeSemantic}}
	preview := w.selects(w.forgets(schema.ForgetErase, sel))
	require.Equal(t, 2*n, preview.Total)
	require.Equal(t, n, preview.SaysSame)
	require.Len(t, preview.Echoes, schema.MaxForgetSample)
	receipt := w.forgetAll(w.forgets(schema.ForgetErase, sel))
	require.Equal(t, 2*n, receipt.Forgotten)
	require.Len(t, receipt.IDs, 2*n)
	require.Zero(t, w.count("memories", "erased_at IS NULL"))
}
