package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/vector"
)

// variant is one way to switch channels and stages.
type variant struct {
	name          string
	with, without []string
}

// structural are the stages without which a page is not comparable, because weak results and duplicates would take
// places on it.
var structural = []string{"relevant", "collapse"}

// variants returns the default; the default without each channel and each stage; the default with each stage that is
// off; fusion without any stage; fusion with each stage alone; and each channel alone.
func variants() []variant {
	out := []variant{{name: "default"}}
	channels := recall.Channels()
	stages := slices.DeleteFunc(recall.Stages(), func(s string) bool { return slices.Contains(structural, s) })
	but := func(names []string, name string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(s string) bool { return s == name })
	}
	for _, c := range channels {
		out = append(out, variant{name: "less channel " + c, without: []string{c}})
	}
	for _, s := range stages {
		switch {
		case s == rank.StageRerank || recall.OffByDefault(s):
			out = append(out, variant{name: "plus stage " + s, with: []string{s}})
		default:
			out = append(out, variant{name: "less stage " + s, without: []string{s}})
		}
	}
	out = append(out, variant{name: "fusion alone", without: stages})
	for _, s := range stages {
		out = append(out, variant{name: "fusion and stage " + s, with: []string{s}, without: but(stages, s)})
	}
	for _, c := range channels {
		out = append(out, variant{name: "channel " + c + " alone", without: slices.Concat(stages, but(channels, c))})
	}
	return out
}

// ablation measures what each channel and each stage of shaping adds to retrieval over the evaluation
// conversations, with every turn ingested by the pipeline. The embedder reranks.
func (b *bench) ablation(ctx context.Context) error {
	all := chosenVariants(variants(), b.variants)
	tallies := make([]score, len(all))
	there, err := b.conversations(func(c conversation) error { return b.ablate(ctx, c, all, tallies) })
	if err != nil || !there {
		return err
	}
	var rows [][]string
	base := tallies[0]
	for i, v := range all {
		t := tallies[i]
		rows = append(rows, []string{v.name, fmt.Sprintf("%.3f", t.micro()),
			fmt.Sprintf("%+.3f", t.micro()-base.micro()),
			fmt.Sprintf("%.3f", t.macro(adversarial)),
			fmt.Sprintf("%+.3f", t.macro(adversarial)-base.macro(adversarial)),
			fmt.Sprintf("%.3f", t.total.ndcg/max(1, t.total.n))})
	}
	table(fmt.Sprintf("Ablation, recall@10 of turns taken through the pipeline, %.0f questions of types 1 to 4",
		base.total.n),
		[]string{"variant", "micro, types 1-4", "difference", "macro, five types", "difference", "NDCG@10"}, rows)
	return nil
}

// ablate asks the questions of one conversation in every variant.
func (b *bench) ablate(ctx context.Context, c conversation, all []variant, tallies []score) error {
	s, drop, err := b.newSite(ctx)
	if err != nil {
		return err
	}
	defer drop()
	turns, seen := c.candidates()
	if err := b.ingestAll(ctx, s, turns); err != nil {
		return err
	}
	for i, v := range all {
		// What earlier variants recalled must not count as rehearsal.
		if err := b.owner(ctx, s.url, func(conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, `TRUNCATE memory_access`)
			return err
		}); err != nil {
			return err
		}
		r := &recall.Recaller{Store: s.Store, Index: vector.PGVector{Store: s.Store}, Embedder: b.brain.Embedder,
			Settings: recall.Settings{With: v.with, Without: v.without, TimeoutFactor: timeoutFactor}}
		if slices.Contains(v.with, rank.StageRerank) {
			r.Reranking = inference.Reranking{Reranker: inference.EmbeddingReranker{Embedder: b.brain.Embedder},
				Blend: rank.RerankBlendEmbedding, Deadline: time.Minute}
		}
		found := make([][]string, len(c.QA))
		if _, _, err := measure(2, len(c.QA), func(n int) error {
			if len(c.QA[n].Evidence) == 0 {
				return nil
			}
			resp, err := r.Recall(ctx, schema.RecallRequest{Principal: principal, Query: c.QA[n].Question,
				Limit: schema.MaxRecallLimit})
			if err == nil && len(resp.Meta.Degraded) > 0 {
				err = fmt.Errorf("degraded: %v", resp.Meta.Degraded)
			}
			for _, hit := range resp.Results {
				// A fact counts as the turn it came from, once.
				if id := cmp.Or(seen[hit.Content], hit.Ref); !hit.Supplementary && !slices.Contains(found[n], id) {
					found[n] = append(found[n], id)
				}
			}
			return err
		}); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		for n, q := range c.QA {
			if len(q.Evidence) > 0 {
				tallies[i].add(q.Category, q.Evidence, found[n])
			}
		}
	}
	return nil
}

// candidates returns the turns of a conversation, and the turn ids by content, because repeated turns are one memory.
func (c conversation) candidates() ([]schema.Candidate, map[string]string) {
	turns := make([]schema.Candidate, 0, len(c.Turns))
	seen := map[string]string{}
	for _, t := range c.Turns {
		text := normalize.StorageContent(t.Text + " " + t.Caption)
		if seen[text] == "" {
			seen[text] = t.ID
			turns = append(turns, schema.Candidate{Content: text, Speaker: t.Speaker,
				SourceKind: schema.SourceObservation,
				Session:    fmt.Sprint(t.Session),
				OccurredAt: when(t.When), Refs: []schema.Ref{{Kind: "event", Ref: t.ID}}})
		}
	}
	return turns, seen
}
