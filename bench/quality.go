package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/vector"
)

// conversation is one line of the evaluation data.
type conversation struct {
	ID    string `json:"conversation"`
	Turns []struct {
		ID, Speaker, Text, When string
		Session                 int
		Caption                 string `json:"image_caption"`
	} `json:"turns"`
	QA []struct {
		Question string
		Category int
		Evidence []string
	} `json:"qa"`
}

// The compared rankers.
const (
	rankPipeline = "recall, turns ingested through the pipeline"
	rankTurns    = "recall, turns alone"
	rankText     = "recall, turns alone, full text only"
	rankBM25     = "BM25 (k1 1.2, b 0.75)"
)

// timeoutFactor multiplies the deadlines of recalls whose results are judged, so that they skip no stage on a busy
// machine.
const timeoutFactor = 30

// ranker answers a question with turn ids, best first.
type ranker func(question string) ([]string, error)

// quality measures retrieval over the evaluation conversations. Every turn is one memory, and every question is judged
// by the turns with its answer. All columns are over the questions of the types 1 to 4, except the last macro average,
// over all five.
func (b *bench) quality(ctx context.Context) error {
	names := []string{rankPipeline, rankTurns, rankText, rankBM25}
	scores := map[string]*score{}
	for _, name := range names {
		scores[name] = &score{}
	}
	turns, raised := 0, 0
	there, err := b.conversations(func(c conversation) error {
		for _, t := range c.Turns {
			turns++
			if _, kinds := sensitive.Detect(t.Text + "\n" + t.Caption); len(kinds) > 0 {
				raised++
			}
		}
		return b.scoreConversation(ctx, c, scores)
	})
	if err != nil || !there {
		return err
	}
	var rows [][]string
	for _, name := range names {
		rows = append(rows, scores[name].row(name))
	}
	table(fmt.Sprintf("Retrieval quality, %.0f questions of types 1 to 4 and %.0f adversarial, embedder %s",
		scores[rankBM25].total.n, scores[rankBM25].by[adversarial].n,
		b.brain.Embedder.Model().Name), []string{"ranker", "recall@5", "recall@10", "recall@20",
		"NDCG@10", "multi-hop @10", "temporal @10", "open-domain @10", "single-hop @10",
		"adversarial @10", "macro @10, types 1-4", "macro @10, five types"}, rows)
	fmt.Printf("\nOf %d turns without secrets, %d were raised by the detectors of sensitive text.\n", turns, raised)
	return nil
}

// conversations calls fn for each evaluation conversation, and reports whether there are any.
func (b *bench) conversations(fn func(conversation) error) (there bool, err error) {
	file, err := os.Open(b.data)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Printf("\n(no evaluation data at %s: left out)\n", b.data)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var c conversation
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return true, fmt.Errorf("%s: %w", b.data, err)
		}
		if err := fn(c); err != nil {
			return true, err
		}
	}
	return true, lines.Err()
}

// scoreConversation ingests a conversation, asks its questions and adds the results to the scores.
func (b *bench) scoreConversation(ctx context.Context, c conversation, scores map[string]*score) error {
	s, drop, err := b.newSite(ctx)
	if err != nil {
		return err
	}
	defer drop()
	turns, seen := c.candidates()
	if err := b.load(ctx, s, turns, 1); err != nil {
		return err
	}
	full, dropFull, err := b.newSite(ctx)
	if err != nil {
		return err
	}
	defer dropFull()
	if err := b.ingestAll(ctx, full, turns); err != nil {
		return err
	}
	recaller := func(s site, without ...string) ranker {
		r := &recall.Recaller{Store: s.Store, Index: vector.PGVector{Store: s.Store}, Embedder: b.brain.Embedder,
			Settings: recall.Settings{Without: without, TimeoutFactor: timeoutFactor}}
		return func(q string) ([]string, error) {
			resp, err := r.Recall(ctx, schema.RecallRequest{Principal: principal, Query: q,
				Limit: schema.MaxRecallLimit})
			if err == nil && len(resp.Meta.Degraded) > 0 {
				err = fmt.Errorf("degraded: %v", resp.Meta.Degraded)
			}
			var ids []string
			for _, hit := range resp.Results {
				// A fact counts as the turn it came from, once.
				if id := cmp.Or(seen[hit.Content], hit.Ref); !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
			return ids, err
		}
	}
	rankers := map[string]ranker{
		rankPipeline: recaller(full), rankTurns: recaller(s), rankText: recaller(s, rank.ChannelVector),
		rankBM25: b.bm25(ctx, s, seen),
	}
	for _, q := range c.QA {
		if len(q.Evidence) == 0 {
			continue
		}
		for name, rank := range rankers {
			ids, err := rank(q.Question)
			if err != nil {
				return err
			}
			scores[name].add(q.Category, q.Evidence, ids)
		}
	}
	return nil
}

// ingestAll ingests candidates, one request after the other.
func (b *bench) ingestAll(ctx context.Context, s site, candidates []schema.Candidate) error {
	queue, stop, err := b.startWorker(s)
	if err != nil {
		return err
	}
	defer stop()
	for batch := range slices.Chunk(candidates, schema.MaxBatch) {
		started, err := mneme.StartIngest(ctx, b.temporal, queue,
			schema.IngestRequest{Principal: principal, Candidates: batch})
		if err != nil {
			return err
		}
		if err := started.Run.Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

func when(text string) *time.Time {
	t, err := time.Parse("3:04 pm on 2 January, 2006", text)
	if err != nil {
		return nil
	}
	return &t
}

// bm25 is the textbook ranker over the same lexemes, in memory.
func (b *bench) bm25(ctx context.Context, s site, turnOf map[string]string) ranker {
	type doc struct {
		id  string
		tf  map[string]float64
		len float64
	}
	const k1, bb = 1.2, 0.75
	var docs []doc
	df := map[string]float64{}
	total := 0.0
	load := func() error {
		return b.owner(ctx, s.url, func(conn *pgx.Conn) error {
			rows, err := conn.Query(ctx,
				`SELECT m.content, l.lexeme, cardinality(l.positions) FROM memories m, unnest(m.tsv) l ORDER BY m.id`)
			if err != nil {
				return err
			}
			var content, lexeme string
			var n float64
			_, err = pgx.ForEachRow(rows, []any{&content, &lexeme, &n}, func() error {
				if id := turnOf[content]; len(docs) == 0 || docs[len(docs)-1].id != id {
					docs = append(docs, doc{id: id, tf: map[string]float64{}})
				}
				d := &docs[len(docs)-1]
				d.tf[lexeme] += n
				d.len += n
				df[lexeme]++
				total += n
				return nil
			})
			return err
		})
	}
	return func(q string) ([]string, error) {
		if docs == nil {
			if err := load(); err != nil {
				return nil, err
			}
		}
		var lexemes []string
		err := b.owner(ctx, s.url, func(conn *pgx.Conn) error {
			rows, err := conn.Query(ctx, `SELECT lexeme FROM unnest(to_tsvector('english', $1))`, q)
			if err != nil {
				return err
			}
			lexemes, err = pgx.CollectRows(rows, pgx.RowTo[string])
			return err
		})
		if err != nil {
			return nil, err
		}
		type hit struct {
			id    string
			score float64
		}
		var hits []hit
		for _, d := range docs {
			sum := 0.0
			for _, l := range lexemes {
				if f := d.tf[l]; f > 0 {
					idf := math.Log(1 + (float64(len(docs))-df[l]+0.5)/(df[l]+0.5))
					sum += idf * f * (k1 + 1) / (f + k1*(1-bb+bb*d.len/(total/float64(len(docs)))))
				}
			}
			if sum > 0 {
				hits = append(hits, hit{d.id, sum})
			}
		}
		slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
		ids := make([]string, 0, 20)
		for _, h := range hits[:min(20, len(hits))] {
			ids = append(ids, h.id)
		}
		return ids, nil
	}
}

// sums are the metrics of some questions.
type sums struct{ n, at5, at10, at20, ndcg float64 }

// adversarial is the type of questions about something that was not said, or was said by another speaker. Types are 1
// to 5.
const adversarial = 5

type score struct {
	total sums // of the types 1 to 4
	by    [adversarial + 1]sums
}

func (s *score) add(category int, evidence, ids []string) {
	s.by[category].add(evidence, ids)
	if category != adversarial {
		s.total.add(evidence, ids)
	}
}

// add judges the answer to one question.
func (t *sums) add(evidence, ids []string) {
	found := func(k int) float64 {
		n := 0.0
		for _, e := range evidence {
			if slices.Contains(ids[:min(k, len(ids))], e) {
				n++
			}
		}
		return n / float64(len(evidence))
	}
	dcg, ideal := 0.0, 0.0
	for i, id := range ids[:min(10, len(ids))] {
		if slices.Contains(evidence, id) {
			dcg += 1 / math.Log2(float64(i)+2)
		}
	}
	for i := range min(10, len(evidence)) {
		ideal += 1 / math.Log2(float64(i)+2)
	}
	t.n++
	t.at5 += found(5)
	t.at10 += found(10)
	t.at20 += found(20)
	t.ndcg += dcg / ideal
}

// micro returns recall@10 averaged over the questions of the types 1 to 4.
func (s *score) micro() float64 { return s.total.at10 / max(1, s.total.n) }

// macro returns recall@10 averaged over the given number of types, with equal weights.
func (s *score) macro(types int) float64 {
	sum := 0.0
	for category := 1; category <= types; category++ {
		sum += s.by[category].at10 / max(1, s.by[category].n)
	}
	return sum / float64(types)
}

func (s *score) row(name string) []string {
	share := func(x, n float64) string { return fmt.Sprintf("%.3f", x/max(1, n)) }
	t := s.total
	out := []string{name, share(t.at5, t.n), share(t.at10, t.n), share(t.at20, t.n), share(t.ndcg, t.n)}
	for category := 1; category <= adversarial; category++ {
		out = append(out, share(s.by[category].at10, s.by[category].n))
	}
	return append(out, fmt.Sprintf("%.3f", s.macro(adversarial-1)), fmt.Sprintf("%.3f", s.macro(adversarial)))
}
