package store_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/read"
	"github.com/mneme/mneme/store/search"
	"github.com/mneme/mneme/store/vector"
)

func (w *world) search(query string) []search.Hit {
	w.t.Helper()
	hits, err := w.SearchText(ctx, pg.Filter{Principal: w.p, MaxSensitivity: schema.SensitivityHyper}, query, 50)
	require.NoError(w.t, err)
	return hits
}

// question is a query as the filter's tenant analyzes it.
func question(t testing.TB, s interface {
	Analyse(context.Context, string, search.Wording) (search.Question, error)
}, f pg.Filter, query string) search.Question {
	t.Helper()
	q, err := s.Analyse(ctx, f.Principal.Tenant, search.Wording{Query: query})
	require.NoError(t, err)
	return q
}

func TestSearchTextTakesAnyString(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stage(say(`quotes ' " : * | & ! ( ) \ are words`, "plain words", `it's a "test":* of <-> operators`,
		"日本語 слова ümläut 🧠 a-b_c https://x.de/y?z=1 a@b.de 1.5e3 ../x")...)
	link := w.memory(`see http://x.de/it's or http://h.de/a(b)|c'd`) // the lexemes contain quotes
	for _, q := range []string{`http://x.de/it's`, `x.de/it's`, `h.de/a(b)`} {
		require.Equal(t, link, w.search(q)[0].ID, q)
	}
	for _, q := range []string{"'", `"`, ":*", "|", "&", "!", "(", ")", `\`, `\'`, "''", "a & | b", "!(", "it's:*",
		"<->", "-", "the of", "ÿ", "\u2028", "🧠", "../x", "plain' | 'words", "x" + strings.Repeat("y", 3000)} {
		for _, hit := range w.search(q) {
			require.True(t, hit.Score >= 0 && hit.Score <= 1, "%q scored %v", q, hit.Score)
		}
	}
	nasty := rapid.StringOf(rapid.OneOf(rapid.SampledFrom([]rune(`'":*|&!()\<->@/.,;%_ tesquowrdpla`)), rapid.Rune()))
	rapid.Check(t, func(rt *rapid.T) {
		q := strings.ReplaceAll(nasty.Draw(rt, "query"), "\x00", "")
		if !utf8.ValidString(q) {
			return
		}
		hits, err := w.SearchText(ctx, pg.Filter{Principal: w.p}, q, 10)
		if err != nil {
			rt.Fatalf("%q: %v", q, err)
		}
		for _, hit := range hits {
			if math.IsNaN(hit.Score) || hit.Score < 0 || hit.Score > 1 {
				rt.Fatalf("%q scored %v", q, hit.Score)
			}
		}
	})
}

func TestSearchTextFindsQuotedText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(rt *rapid.T) {
		w := *w
		w.p.Tenant = uuid.NewString()
		c := schema.Candidate{Content: strings.ReplaceAll(rapid.String().Draw(rt, "content"), "\x00", "") + " anchor"}
		ack, err := w.Stage(ctx, w.input(c))
		if err != nil {
			rt.Fatal(err)
		}
		hits := w.search(c.Content)
		if len(hits) != 1 || hits[0].ID.String() != ack.MemoryIDs[0] {
			rt.Fatalf("%q finds %v", c.Content, hits)
		}
	})
}

func TestSearchTextRanksByRarityFrequencyAndLength(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 30 {
		w.memory(fmt.Sprintf("a common sentence about deploys, number %d", i))
	}
	rare := w.memory("a common sentence about kubernetes")
	short := w.memory("Deploys need kestrels")
	long := w.memory("Deploys need kestrels, and besides that " + strings.Repeat("many other unrelated topics come up ",
		3) + "such as lunch, weather, music, holidays, tax and bees")
	thrice := w.memory("falcon falcon falcon")
	once := w.memory("falcon swan heron")

	require.Equal(t, rare, w.search("common kubernetes")[0].ID, "the rare word decides")
	hits := w.search("kestrels")
	require.Equal(t, []uuid.UUID{short, long}, []uuid.UUID{hits[0].ID, hits[1].ID}, "the shorter text is more relevant")
	require.Greater(t, hits[0].Score, hits[1].Score)
	hits = w.search("falcon")
	require.Equal(t, []uuid.UUID{thrice, once}, []uuid.UUID{hits[0].ID, hits[1].ID})
	require.Less(t, w.search("kestrels zyzzyva")[0].Score, w.search("kestrels")[0].Score,
		"a query with an unknown word has less than the full score")
	require.Empty(t, w.search("zyzzyva"))
	require.Empty(t, w.search("the of and"), "stop words find nothing")
	require.NotEmpty(t, w.search("deploying"), "words are stemmed")
}

func TestSearchVectorKeepsTenantsAndModelsApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	near, far := w.memory("near"), w.memory("far")
	w.setVector(near, 0.1)
	w.setVector(far, 0.9)
	other := *w
	other.p.Tenant = "t2"
	other.setVector(other.memory("theirs"), 0)
	index := vector.PGVector{Store: w.Store}
	hits, err := index.Search(ctx, pg.Filter{Principal: w.p}, pg.Embedding{Model: hash, Vector: axis()}, 10)
	require.NoError(t, err)
	require.Len(t, hits, 2)
	require.Equal(t, near, hits[0].ID)
	require.InDelta(t, math.Cos(0.1), hits[0].Score, 0.01)
	hits, err = index.Search(ctx, pg.Filter{Principal: w.p}, pg.Embedding{Model: hash, Vector: axis()}, 1)
	require.NoError(t, err)
	require.Len(t, hits, 1)
	hits, err = index.Search(ctx, pg.Filter{Principal: w.p},
		pg.Embedding{Model: otherModel, Vector: make([]float32, 8)}, 10)
	require.NoError(t, err)
	require.Empty(t, hits)
	require.NoError(t, index.Apply(ctx, vector.Generation{Model: hash}, "t",
		vector.Changes{Upserts: []vector.Point{{MemoryID: near}}, Deletes: []vector.Ref{{MemoryID: far}}}))
	require.NotEmpty(t, index.Name())
}

// TestFilterAdmits checks the shared filter row by row. Every reader uses this filter.
func TestFilterAdmits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	jan := time.Date(2024, 1, 15, 0, 0, 0, 0, time.UTC)
	type doc struct {
		agent, project, scope, group string
		vis                          schema.Visibility
		c                            schema.Candidate
	}
	docs := map[string]doc{
		"own":           {agent: "a", vis: schema.VisibilityPrivate},
		"own in p":      {agent: "a", project: "p", vis: schema.VisibilityPrivate},
		"own in s":      {agent: "a", scope: "s", vis: schema.VisibilityPrivate},
		"b private":     {agent: "b", vis: schema.VisibilityPrivate},
		"b group g":     {agent: "b", group: "g", vis: schema.VisibilityGroup},
		"b group h":     {agent: "b", group: "h", vis: schema.VisibilityGroup},
		"b shared":      {agent: "b", vis: schema.VisibilityShared},
		"b shared in p": {agent: "b", project: "p", vis: schema.VisibilityShared},
		"b shared in q": {agent: "b", project: "q", vis: schema.VisibilityShared},
		"b shared in s": {agent: "b", scope: "s", vis: schema.VisibilityShared},
		"b global":      {agent: "b", vis: schema.VisibilityGlobal},
		"b global in p": {agent: "b", project: "p", vis: schema.VisibilityGlobal},
		"public": {agent: "c", vis: schema.VisibilityPrivate,
			c: schema.Candidate{Sensitivity: schema.SensitivityPublic}},
		"high": {agent: "c", vis: schema.VisibilityPrivate,
			c: schema.Candidate{Sensitivity: schema.SensitivityHigh}},
		"hyper": {agent: "c", vis: schema.VisibilityPrivate,
			c: schema.Candidate{Sensitivity: schema.SensitivityHyper}},
		"tagged": {agent: "d", vis: schema.VisibilityPrivate, c: schema.Candidate{Tags: []string{"x", "y"}}},
		"tagged x": {agent: "d", vis: schema.VisibilityPrivate,
			c: schema.Candidate{Tags: []string{"x"}, Importance: ptr(0.2)}},
		"january": {agent: "e", vis: schema.VisibilityPrivate,
			c: schema.Candidate{OccurredAt: &jan, Speaker: "Bob", Category: schema.CategoryRule}},
		"explicit pinned": {agent: "e", vis: schema.VisibilityPrivate,
			c: schema.Candidate{SourceKind: schema.SourceMemory, Content: "critical: "}},
	}
	byID := map[string]string{}
	for name, d := range docs {
		in := *w
		in.p = schema.Principal{Tenant: "t", Agent: d.agent, Project: d.project, Scope: d.scope, PolicyGroup: d.group}
		in.vis = d.vis
		d.c.Content += "needle " + name
		ack, _ := in.stage(d.c)
		byID[ack.MemoryIDs[0]] = name
	}
	a := schema.Principal{Tenant: "t", Agent: "a"}
	with := func(f pg.Filter, change func(*pg.Filter)) pg.Filter { change(&f); return f }
	agent := func(name string) pg.Filter {
		return pg.Filter{Principal: schema.Principal{Tenant: "t", Agent: name}}
	}
	shared := pg.Filter{Principal: a, ReadPolicy: schema.ReadShared}
	cases := map[string]struct {
		f    pg.Filter
		want string
	}{
		"isolated by default": {pg.Filter{Principal: a}, "own,own in p"},
		"isolated":            {pg.Filter{Principal: a, ReadPolicy: schema.ReadIsolated}, "own,own in p"},
		"unknown policy":      {pg.Filter{Principal: a, ReadPolicy: "everything"}, "own,own in p"},
		"isolated, project": {with(pg.Filter{Principal: a}, func(f *pg.Filter) { f.Principal.Project = "p" }),
			"own in p"},
		"isolated, scope": {with(pg.Filter{Principal: a}, func(f *pg.Filter) { f.Principal.Scope = "s" }),
			"own in s"},
		"shared": {shared, "own,own in p,b shared,b global,b global in p"},
		"shared, project": {with(shared, func(f *pg.Filter) { f.Principal.Project = "p" }),
			"own in p,b shared in p,b global in p"},
		"shared, scope": {with(shared, func(f *pg.Filter) { f.Principal.Scope = "s" }),
			"own in s,b shared in s"},
		"shared, group": {with(shared, func(f *pg.Filter) { f.Principal.PolicyGroup = "g" }),
			"own,own in p,b shared,b global,b global in p,b group g"},
		"group": {pg.Filter{Principal: schema.Principal{Tenant: "t", Agent: "a", PolicyGroup: "h"},
			ReadPolicy: schema.ReadGroup}, "own,own in p,b shared,b global,b global in p,b group h"},
		"group, none named": {pg.Filter{Principal: a, ReadPolicy: schema.ReadGroup},
			"own,own in p,b shared,b global,b global in p"},
		"other tenant": {pg.Filter{Principal: schema.Principal{Tenant: "t2", Agent: "a"},
			ReadPolicy: schema.ReadShared}, ""},
		"medium by default": {agent("c"), "public"},
		"high": {with(agent("c"), func(f *pg.Filter) { f.MaxSensitivity = schema.SensitivityHigh }),
			"public,high"},
		"hyper": {with(agent("c"), func(f *pg.Filter) { f.MaxSensitivity = schema.SensitivityHyper }),
			"public,high,hyper"},
		"unknown sensitivity": {with(agent("c"), func(f *pg.Filter) { f.MaxSensitivity = "all" }), ""},
		"one tag":             {with(agent("d"), func(f *pg.Filter) { f.Tags = []string{"x"} }), "tagged,tagged x"},
		"all tags":            {with(agent("d"), func(f *pg.Filter) { f.Tags = []string{"y", "x"} }), "tagged"},
		"unknown tag":         {with(agent("d"), func(f *pg.Filter) { f.Tags = []string{"x", "z"} }), ""},
		"importance": {with(agent("d"), func(f *pg.Filter) { f.ImportanceMin, f.Now = 0.5, w.now }),
			"tagged"},
		"since": {with(agent("e"), func(f *pg.Filter) { f.Since = ptr(jan.Add(time.Second)) }),
			"explicit pinned"},
		"since, inclusive": {with(agent("e"), func(f *pg.Filter) { f.Since = &jan }), "january,explicit pinned"},
		"until, exclusive": {with(agent("e"), func(f *pg.Filter) { f.Until = &jan }), ""},
		"until": {with(agent("e"), func(f *pg.Filter) { f.Until = ptr(jan.Add(time.Second)) }),
			"january"},
		"who, ignoring case": {with(agent("e"), func(f *pg.Filter) { f.Who = "bOB" }), "january"},
		"pinned":             {with(agent("e"), func(f *pg.Filter) { f.Pinned = ptr(true) }), "explicit pinned"},
		"not pinned":         {with(agent("e"), func(f *pg.Filter) { f.Pinned = ptr(false) }), "january"},
		"types": {with(agent("e"), func(f *pg.Filter) {
			f.Types = []schema.MemoryType{schema.TypeSemantic}
		}), "explicit pinned"},
		"categories": {with(agent("e"), func(f *pg.Filter) {
			f.Categories = []schema.Category{schema.CategoryRule, schema.CategoryIssue}
		}), "january"},
		"injection in a string": {with(agent("e"), func(f *pg.Filter) { f.Who = "' OR true --" }), ""},
	}
	var all []uuid.UUID
	for id := range byID {
		all = append(all, uuid.MustParse(id))
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := strings.FieldsFunc(c.want, func(r rune) bool { return r == ',' })
			names := func(ids []string) []string {
				out := []string{}
				for _, id := range ids {
					out = append(out, byID[id])
				}
				return out
			}
			hits, err := w.SearchText(ctx, c.f, "needle", 100)
			require.NoError(t, err)
			var text, listed, hydrated, allowed []string
			for _, h := range hits {
				text = append(text, h.ID.String())
			}
			records, err := w.List(ctx, c.f, pg.Page{})
			require.NoError(t, err)
			for _, r := range records {
				listed = append(listed, r.ID)
			}
			ok, err := w.Authorize(ctx, c.f, all)
			require.NoError(t, err)
			for id := range ok {
				allowed = append(allowed, id.String())
			}
			rows, err := w.Hydrate(ctx, c.f, all, w.now)
			require.NoError(t, err)
			for id := range rows {
				hydrated = append(hydrated, id.String())
			}
			require.ElementsMatch(t, want, names(text), "search")
			require.ElementsMatch(t, want, names(listed), "list")
			require.ElementsMatch(t, want, names(allowed), "authorize")
			require.ElementsMatch(t, want, names(hydrated), "hydrate")
		})
	}
}

func TestTimeboxedMemoriesAreValidInTheirWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.memory("the office is closed")
	w.exec(`UPDATE memories SET validity = 'timeboxed', valid_from = '2026-03-01', valid_until = '2026-03-02'
		WHERE id = $1`, id)
	for at, want := range map[string]bool{"2026-02-28T23:59:59Z": false, "2026-03-01T00:00:00Z": true,
		"2026-03-02T00:00:00Z": false} {
		when, err := time.Parse(time.RFC3339, at)
		require.NoError(t, err)
		ok, err := w.Authorize(ctx, pg.Filter{Principal: w.p, At: when}, []uuid.UUID{id})
		require.NoError(t, err)
		_, shown := ok[id]
		require.Equal(t, want, shown, at)
	}
}

func ptr[T any](v T) *T { return &v }

func TestGetShowsWhatTheCallerMaySee(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	put := func(p schema.Principal, v schema.Visibility) uuid.UUID {
		x := *w
		x.p, x.vis = p, v
		ack, _ := x.stage(say("text of " + p.Agent + p.Project + string(v))...)
		return uuid.MustParse(ack.MemoryIDs[0])
	}
	b := schema.Principal{Tenant: "t", Agent: "b", Project: "p", PolicyGroup: "g"}
	private, group, shared, global := put(b, schema.VisibilityPrivate), put(b, schema.VisibilityGroup), put(b,
		schema.VisibilityShared), put(b, schema.VisibilityGlobal)
	for name, c := range map[string]struct {
		p    schema.Principal
		want [4]bool // private, group, shared, global
	}{
		"owner":                   {b, [4]bool{true, true, true, true}},
		"owner without a project": {schema.Principal{Tenant: "t", Agent: "b"}, [4]bool{true, true, true, true}},
		"stranger":                {schema.Principal{Tenant: "t", Agent: "a"}, [4]bool{false, false, false, true}},
		"colleague":               {schema.Principal{Tenant: "t", Agent: "a", Project: "p"}, [4]bool{false, false, true, true}},
		"other project": {schema.Principal{Tenant: "t", Agent: "a", Project: "q", PolicyGroup: "h"},
			[4]bool{false, false, false, true}},
		"group member": {schema.Principal{Tenant: "t", Agent: "a", PolicyGroup: "g"},
			[4]bool{false, true, false, true}},
		"other tenant": {schema.Principal{Tenant: "t2", Agent: "b", Project: "p", PolicyGroup: "g"}, [4]bool{}},
	} {
		for i, id := range []uuid.UUID{private, group, shared, global} {
			m, err := w.Get(ctx, c.p, id, policy.UpTo(schema.SensitivityHyper))
			steps, historyErr := w.HistoryAt(ctx, c.p, id, read.HistoryPage{})
			require.NoError(t, historyErr)
			require.Equal(t, c.want[i], len(steps) > 0, "%s %d: history quotes content", name, i)
			if c.want[i] {
				require.NoError(t, err, "%s %d", name, i)
				continue
			}
			require.ErrorIs(t, err, pg.ErrNotFound, "%s %d", name, i)
			require.Zero(t, m)
		}
	}
	w.forget(global)
	m, err := w.Get(ctx, b, global)
	require.NoError(t, err)
	require.NotNil(t, m.DeletedAt, "an operator may read a forgotten memory")
}

func TestListIsPagedNewestFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var all []string
	for i := range 7 {
		all = append(all, w.memory(fmt.Sprintf("memory %d", i)).String())
	}
	var seen []string
	page := pg.Page{Limit: 3}
	for {
		got, err := w.List(ctx, pg.Filter{Principal: w.p}, page)
		require.NoError(t, err)
		if len(got) == 0 {
			break
		}
		require.LessOrEqual(t, len(got), 3)
		for _, m := range got {
			seen = append(seen, m.ID)
		}
		page.Before = seen[len(seen)-1]
	}
	require.Len(t, seen, 7)
	for i := range seen {
		require.Equal(t, all[6-i], seen[i])
	}
	_, err := w.List(ctx, pg.Filter{Principal: w.p}, pg.Page{Before: "nonsense"})
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid)
}

func TestTrackingCountsWithoutRewriting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.memory("one"), w.memory("two")
	other := *w
	other.p.Tenant = "t2"
	theirs := other.memory("theirs")
	xmin := func() (v string) {
		require.NoError(t, w.owner.QueryRow(ctx,
			`SELECT string_agg(xmin::text || version || updated_at, ',' ORDER BY id) FROM memories`).Scan(&v))
		return v
	}
	before := xmin()
	r := search.Retrieval{ID: uuid.New(), Principal: w.p, MemoryIDs: []uuid.UUID{one, theirs},
		Took: time.Millisecond}
	require.NoError(t, w.TrackRetrieval(ctx, r, w.now))
	r.ID = uuid.New()
	require.NoError(t, w.TrackRetrieval(ctx, r, w.now.Add(-time.Hour)))
	require.Equal(t, before, xmin(), "reading does not rewrite rows")
	m := w.get(one)
	require.EqualValues(t, 2, m.AccessCount)
	require.True(t, w.now.Equal(*m.LastAccessed), "the latest access, whatever the order of arrival")
	require.Zero(t, w.get(two).AccessCount)
	require.Equal(t, 1, w.count("memory_access", "true"), "another tenant's memory is not touched")
	require.Equal(t, 2, w.count("retrievals", "true"))
}

func TestStatsCountWhatATenantHolds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.memory("one")
	w.memory("two")
	w.stage(schema.Candidate{Content: "three", SourceKind: schema.SourceMemory})
	w.forget(id)
	other := *w
	other.p.Tenant = "t2"
	other.memory("theirs")
	s, err := w.Stats(ctx, "t")
	require.NoError(t, err)
	require.Equal(t, map[schema.MemoryType]int64{schema.TypeEpisodic: 1, schema.TypeSemantic: 1}, s.Memories)
	require.EqualValues(t, 3, s.History)
	require.EqualValues(t, 3, s.IndexPending)
	require.Equal(t, map[schema.JobState]int64{schema.JobPending: 3}, s.Jobs)
	require.NotNil(t, s.OldestJob)
}

// In a large tenant, a caller may see only a small part: the memories that it may not see do not take the places of
// those that it may see, even if they contain the common words of the query.
func TestRankTextSearchesWiderForLimitedReaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine := w.memory("the otter and the heron")
	w.exec(`INSERT INTO memories (tenant, id, agent_id, type, category, tier, typology, content, normalized_content,
		content_hash, payload, confidence, importance, salience,
			salience_at, decay_curve, half_life, min_salience, reinforcement_gain, last_reinforced_at, deletion_policy,
			occurred_at, created_at, updated_at, created_by)
		SELECT 't', gen_random_uuid(), 'other', 'episodic', 'fact', 'session', 'episodic', c, c, sha256(c::bytea),
		'{"kind": "episodic", "timeline": []}', 1, 0.5, 1,
			now(), 'exponential', '1 day', 0, 0, now(), 'auto_prune', now(), now(), now(), 'x'
		FROM (SELECT CASE WHEN g % 2 = 0 THEN 'otter heron falcon ' ELSE 'nothing ' END || g AS c
		FROM generate_series(1, 6000) g) x;
		DELETE FROM lexeme_stats; DELETE FROM corpus_stats;
		INSERT INTO lexeme_stats SELECT m.tenant, l.lexeme, count(*) FROM memories m, unnest(m.tsv) l GROUP BY 1, 2;
		INSERT INTO corpus_stats SELECT tenant, count(*), sum(length(tsv)) FROM memories GROUP BY 1`)
	f := pg.Filter{Principal: w.p}
	ranking, err := w.RankText(ctx, f, question(t, w, f, "otter heron falcon"), 10)
	require.NoError(t, err)
	require.Len(t, ranking.Hits, 1)
	require.Equal(t, mine, ranking.Hits[0].ID)
}

// The source of a fact is shown only to those who may read it: the id of a hidden source does not leave the store,
// and is not used to collapse results.
func TestFeaturesShowVisibleSourcesOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	drawn := w.claimed("Mia lives in the north", "Mia", "the north")
	var source uuid.UUID
	require.NoError(t, w.owner.QueryRow(ctx,
		`SELECT target_id FROM memory_links WHERE predicate = 'derived_from' AND source_id = $1`, drawn).Scan(&source))
	w.exec(`UPDATE memories SET visibility = 'global' WHERE id = $1`, drawn)
	sheets, err := w.Authorize(ctx, pg.Filter{Principal: w.p}, []uuid.UUID{drawn})
	require.NoError(t, err)
	require.Equal(t, source, sheets[drawn].Source)
	other := w.p
	other.Agent = "other"
	sheets, err = w.Authorize(ctx, pg.Filter{Principal: other, ReadPolicy: schema.ReadShared}, []uuid.UUID{drawn})
	require.NoError(t, err)
	require.Len(t, sheets, 1)
	require.Zero(t, sheets[drawn].Source)
}

func TestASecondRankingKeepsTheFirst(t *testing.T) {
	t.Parallel()
	a, b, c := uuid.UUID{1}, uuid.UUID{2}, uuid.UUID{3}
	first := search.TextRanking{Hits: []search.Hit{{ID: a, Score: 0.5, Terms: 1}, {ID: b, Score: 0.3, Terms: 2}}}
	second := search.TextRanking{Hits: []search.Hit{{ID: c, Score: 0.4, Terms: 3}, {ID: b, Score: 0.35, Terms: 2}}}
	want := []search.Hit{{ID: a, Score: 0.5, Terms: 1}, {ID: c, Score: 0.4, Terms: 3}, {ID: b, Score: 0.35, Terms: 2}}
	require.Equal(t, want, store.Add(first, second, 5).Hits)
	require.Equal(t, want[:2], store.Add(first, second, 2).Hits)
}
