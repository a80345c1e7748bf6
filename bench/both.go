package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/bench/changes"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
)

// exchange is a conversation of either evaluation set, with its questions.
type exchange struct {
	tenant    string
	turns     []schema.Candidate
	ids       []string // of the turns
	questions []asked
}

// asked is a question. Evidence is in the order in which it was said.
type asked struct {
	kind, text string
	evidence   []string
	counts     bool // in the sums over all kinds
}

// heldAt is how long after a conversation its questions are asked.
const heldAt = 24 * time.Hour

// both measures retrieval over both sets of evaluation conversations, with every channel and stage left out in turn.
// The pipeline ingests turns in this process. Both sets use the same settings.
func (b *bench) both(ctx context.Context) error {
	all := chosenVariants(leaveOneOut(), b.variants)
	var rows [][]string
	for _, v := range all {
		rows = append(rows, []string{v.name})
	}
	header := []string{"variant"}
	for _, set := range []struct {
		name, file string
		read       func([]byte) (exchange, error)
	}{{"LoCoMo", b.data, readLocomo}, {"BEAM", b.beamData, readBeam}} {
		exchanges, err := readExchanges(set.file, set.read)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Printf("\n(no evaluation data at %s: left out)\n", set.file)
			continue
		}
		if err != nil {
			return err
		}
		results, err := b.askSet(ctx, strings.ToLower(set.name), exchanges, all)
		if err != nil {
			return err
		}
		header = append(header, set.name+" recall@5", "@10", "@20", "NDCG@10", "difference @10")
		for i := range all {
			t := results[i].sum
			rows[i] = append(rows[i], share3(t.at5, t.n), share3(t.at10, t.n), share3(t.at20, t.n), share3(t.ndcg, t.n),
				fmt.Sprintf("%+.3f", t.at10/max(1, t.n)-results[0].sum.at10/max(1, results[0].sum.n)))
		}
		b.reportKinds(set.name, results[0])
	}
	table("Retrieval on both sets, embedder "+b.brain.Embedder.Model().Name, header, rows)
	return nil
}

func share3(x, n float64) string { return fmt.Sprintf("%.3f", x/max(1, n)) }

// leaveOneOut returns the default, the default without each channel and each stage, and the default with each stage
// that is off.
func leaveOneOut() []variant {
	return slices.DeleteFunc(variants(), func(v variant) bool {
		return v.name != "default" && !strings.HasPrefix(v.name, "less ") && !strings.HasPrefix(v.name, "plus ")
	})
}

func chosenVariants(all []variant, wanted string) []variant {
	if wanted == "" {
		return all
	}
	names := strings.Split(wanted, ",")
	return append(all[:1:1], slices.DeleteFunc(all[1:], func(v variant) bool {
		return !slices.ContainsFunc(names, func(w string) bool { return strings.Contains(v.name, w) })
	})...)
}

// setResult has the results of one variant for a set.
type setResult struct {
	sum    sums
	kinds  map[string]*sums
	update updates
	facts  facts
}

// updates counts questions about changes with more than one turn of evidence.
type updates struct{ n, first, above, found int }

func (b *bench) reportKinds(set string, r setResult) {
	var rows [][]string
	for _, kind := range slices.Sorted(maps.Keys(r.kinds)) {
		t := r.kinds[kind]
		rows = append(rows, []string{kind, fmt.Sprintf("%.0f", t.n), share3(t.at5, t.n), share3(t.at10, t.n),
			share3(t.at20, t.n), share3(t.ndcg, t.n)})
	}
	table(set+" by kind of question, default", []string{"kind", "questions", "recall@5", "@10", "@20", "NDCG@10"}, rows)
	if u := r.update; u.n > 0 {
		fmt.Printf("\nOf %d questions about updates, %d have the newest evidence in the first %d; of the %d with the "+
			"newest and an older in the first ten, %d have the newest above.\n", u.n, u.first, beamFirst, u.found,
			u.above)
	}
	fmt.Printf("\nOf %d facts of %s, %d were superseded and %d contested.\n", r.facts.written, set, r.facts.superseded,
		r.facts.contested)
}

// facts counts the facts of a set by what became of them. In conversations few facts change, so most of those that were
// superseded or contested are mistakes.
type facts struct{ written, superseded, contested int }

// countFacts adds the facts of a conversation.
func (b *bench) countFacts(ctx context.Context, s site, tenant string, out *facts) error {
	var n facts
	err := b.owner(ctx, s.url, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT count(*), count(*) FILTER (WHERE status = 'superseded'),
				count(*) FILTER (WHERE status = 'contested')
			FROM memories WHERE tenant = @tenant AND type = 'semantic'`, pgx.NamedArgs{"tenant": tenant}).
			Scan(&n.written, &n.superseded, &n.contested)
	})
	out.written, out.superseded, out.contested = out.written+n.written, out.superseded+n.superseded,
		out.contested+n.contested
	return err
}

// askSet ingests the conversations of a set, and asks all their questions in every variant.
func (b *bench) askSet(ctx context.Context, name string, exchanges []exchange, all []variant) ([]setResult, error) {
	s, drop, err := b.keptSite(ctx, name)
	if err != nil {
		return nil, err
	}
	defer drop()
	results := make([]setResult, len(all))
	for i := range results {
		results[i].kinds = map[string]*sums{}
	}
	for _, x := range exchanges {
		m, err := b.ingestExchange(ctx, s, x)
		if err != nil {
			return nil, fmt.Errorf("conversation %s: %w", x.tenant, err)
		}
		if err := b.countFacts(ctx, s, x.tenant, &results[0].facts); err != nil {
			return nil, err
		}
		for i, v := range all {
			if err := b.askAll(ctx, s, x, m, v, &results[i]); err != nil {
				return nil, fmt.Errorf("%s: %w", v.name, err)
			}
		}
	}
	return results, nil
}

// keptSite is a site that the flag -site keeps.
func (b *bench) keptSite(ctx context.Context, name string) (site, func(), error) {
	if b.site == "" {
		return b.newSite(ctx)
	}
	s, _, err := b.siteIn(ctx, b.site+"_"+name)
	return s, func() {
		if s.Store != nil {
			s.Close()
		}
	}, err
}

// ingestExchange ingests a conversation, unless a kept site has it. It returns the turns from which each memory comes.
func (b *bench) ingestExchange(ctx context.Context, s site, x exchange) (*told, error) {
	known := 0
	if err := b.owner(ctx, s.url, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT count(*) FROM memories WHERE tenant = $1`, x.tenant).Scan(&known)
	}); err != nil {
		return nil, err
	}
	p := b.newPipeline(s.Store)
	who := schema.Principal{Tenant: x.tenant, Agent: "bench-agent"}
	for start := 0; start < len(x.turns) && known == 0; {
		end, size := start, 0
		for ; end < len(x.turns) && end-start < beamRequest && x.turns[end].Session == x.turns[start].Session; end++ {
			if size += len(x.turns[end].Content); size > schema.MaxRequestBytes {
				break
			}
		}
		_, err := p.ingest(ctx, schema.IngestRequest{Principal: who, Candidates: x.turns[start:end]},
			*x.turns[end-1].OccurredAt)
		if err != nil {
			return nil, err
		}
		start = end
	}
	m := &told{}
	m.tenant.Name = x.tenant
	for _, turn := range slices.Backward(x.turns) { // of turns with the same words, the first counts
		m.tenant.Statements = append(m.tenant.Statements, changes.Statement{Text: turn.Content})
	}
	if err := m.trace(ctx, b, s, nil); err != nil {
		return nil, err
	}
	return m, nil
}

// askAll asks the questions of a conversation in one variant.
func (b *bench) askAll(ctx context.Context, s site, x exchange, m *told, v variant, out *setResult) error {
	// What earlier variants recalled must not count as rehearsal.
	if err := b.owner(ctx, s.url, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `TRUNCATE memory_access`)
		return err
	}); err != nil {
		return err
	}
	r := b.recaller(s.Store, x.turns[len(x.turns)-1].OccurredAt.Add(heldAt))
	r.With, r.Without = append(slices.Clone(r.With), v.with...), append(slices.Clone(r.Without), v.without...)
	r.Untracked = true
	if slices.Contains(v.with, rank.StageRerank) {
		r.Reranking = inference.Reranking{Reranker: inference.EmbeddingReranker{Embedder: b.brain.Embedder},
			Blend: rank.RerankBlendEmbedding, Deadline: time.Minute}
	}
	found := make([][]string, len(x.questions))
	if _, _, err := measure(2, len(x.questions), func(n int) error {
		resp, err := r.Recall(ctx, schema.RecallRequest{
			Principal: schema.Principal{Tenant: x.tenant, Agent: "bench-agent"},
			Query:     x.questions[n].text, Limit: schema.MaxRecallLimit})
		if err == nil && len(resp.Meta.Degraded) > 0 {
			err = fmt.Errorf("degraded: %v", resp.Meta.Degraded)
		}
		for _, hit := range resp.Results {
			if hit.Supplementary || len(m.from[hit.ID]) == 0 {
				continue
			}
			// A fact counts as the first turn that it comes from, once. Statements are in reverse.
			at := len(x.turns) - 1 - slices.Max(slices.Collect(maps.Keys(m.from[hit.ID])))
			if !slices.Contains(found[n], x.ids[at]) {
				found[n] = append(found[n], x.ids[at])
			}
		}
		return err
	}); err != nil {
		return err
	}
	for n, q := range x.questions {
		out.add(q, found[n])
		if b.changing.showFailures && v.name == "default" {
			fmt.Printf("%s\t%s\t%s\t%v\t%v\n", x.tenant, q.kind, q.text, q.evidence, found[n][:min(10, len(found[n]))])
		}
	}
	return nil
}

func (r *setResult) add(q asked, found []string) {
	of := r.kinds[q.kind]
	if of == nil {
		of = &sums{}
		r.kinds[q.kind] = of
	}
	of.add(q.evidence, found)
	if q.counts {
		r.sum.add(q.evidence, found)
	}
	if q.kind != beamUpdate || len(q.evidence) < 2 {
		return
	}
	r.update.n++
	newest := slices.Index(found, q.evidence[len(q.evidence)-1])
	if newest >= 0 && newest < beamFirst {
		r.update.first++
	}
	older := -1
	for _, id := range q.evidence[:len(q.evidence)-1] {
		if at := slices.Index(found, id); at >= 0 && (older < 0 || at < older) {
			older = at
		}
	}
	const shown = schema.DefaultRecallLimit
	if newest >= 0 && newest < shown && older >= 0 && older < shown {
		r.update.found++
		if newest < older {
			r.update.above++
		}
	}
}

func readExchanges(name string, read func([]byte) (exchange, error)) (out []exchange, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		x, err := read(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, x)
	}
	return out, lines.Err()
}

func readLocomo(line []byte) (exchange, error) {
	var c conversation
	if err := json.Unmarshal(line, &c); err != nil {
		return exchange{}, err
	}
	x := exchange{tenant: "locomo-" + c.ID}
	var seen map[string]string
	x.turns, seen = c.candidates()
	at := map[string]time.Time{} // time of the last turn of each session; turns are one minute apart
	for i := range x.turns {
		t := &x.turns[i]
		x.ids = append(x.ids, seen[t.Content])
		if last, ok := at[t.Session]; ok {
			next := last.Add(time.Minute)
			t.OccurredAt = &next
		}
		at[t.Session] = *t.OccurredAt
	}
	for _, q := range c.QA {
		if len(q.Evidence) > 0 {
			x.questions = append(x.questions, asked{fmt.Sprint(q.Category), q.Question, q.Evidence,
				q.Category != adversarial})
		}
	}
	return x, nil
}

func readBeam(line []byte) (exchange, error) {
	var c beamConversation
	if err := json.Unmarshal(line, &c); err != nil {
		return exchange{}, err
	}
	x := exchange{tenant: c.ID, turns: c.candidates()}
	for _, turn := range c.Turns {
		x.ids = append(x.ids, fmt.Sprint(turn.ID))
	}
	for _, q := range c.QA {
		if len(q.Evidence) == 0 {
			continue
		}
		// Of an update the turn with the higher id is the newest.
		a := asked{kind: q.Kind, text: q.Question, counts: true}
		for _, id := range slices.Sorted(slices.Values(q.Evidence)) {
			a.evidence = append(a.evidence, fmt.Sprint(id))
		}
		x.questions = append(x.questions, a)
	}
	return x, nil
}
