package tidying

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/memory/learning/compress"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/tidying"
)

// FindThreads reads episodes that have become old, page by page, and returns one episode of each thread.
func (a *Tidying) FindThreads(ctx context.Context, in Request) (Page, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	at, err := a.start(ctx, in, api.WorkflowCompressEpisodes)
	if err != nil {
		return Page{}, step.Fail(err)
	}
	out := Page{Next: at, More: true}
	for rows := 0; rows < partRows && len(out.Groups) < partSets && out.More; rows += pageRows {
		page, err := a.Store.OldThreads(ctx, in.scope(), out.Next, in.Until.Add(-compress.MinAge), pageRows)
		if err != nil {
			return Page{}, step.Fail(step.Stalled(ctx, err))
		}
		out.Read, out.Next, out.More = out.Read+page.Read, page.Next, page.More
		for _, id := range page.Threads {
			out.Groups = append(out.Groups, []string{id.String()})
		}
		step.Advance(ctx)
	}
	return out, nil
}

// CompressThreads writes the summaries of threads. In shadow mode it counts what it would write.
func (a *Tidying) CompressThreads(ctx context.Context, in WriteRequest) (api.LearnResult, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	var out api.LearnResult
	models := time.Now().Add(modelsFor)
	for _, group := range in.Groups {
		if err := a.compress(ctx, in.Request, group[0], models, &out); err != nil {
			return out, step.Fail(step.Stalled(ctx, err))
		}
		step.Advance(ctx)
	}
	a.observe(api.WorkflowCompressEpisodes, out)
	return out, nil
}

func (a *Tidying) compress(ctx context.Context, in Request, of string, models time.Time,
	out *api.LearnResult) error {
	id, err := uuid.Parse(of)
	if err != nil {
		return err
	}
	out.Groups++
	episodes, err := a.Store.Thread(ctx, in.scope(), id)
	if err != nil {
		return err
	}
	plain, byID := make([]compress.Episode, len(episodes)), map[string]tidying.Old{}
	for i, e := range episodes {
		plain[i], byID[e.ID] = e.Episode, e
	}
	for _, batch := range compress.Batches(plain, in.Until) {
		if err := a.summarise(ctx, in, batch, byID, models, out); err != nil {
			return err
		}
		step.Advance(ctx)
	}
	return nil
}

// summarise writes the summary of a batch, and a second one of the episodes that did not fit.
func (a *Tidying) summarise(ctx context.Context, in Request, batch []compress.Episode, byID map[string]tidying.Old,
	models time.Time, out *api.LearnResult) error {
	for len(batch) >= compress.LeastOld {
		summary, ok := compress.Summarise(batch)
		if !ok {
			refuse(out, compress.NotShorter)
			return nil
		}
		if a.Writer != nil && !a.shadow(in) && time.Now().Before(models) {
			if err := a.write(ctx, in, batch, &summary, out); err != nil {
				return err
			}
		}
		if err := a.keep(ctx, in, summary, byID, out); err != nil {
			return err
		}
		batch = leftOut(batch, summary)
	}
	return nil
}

func leftOut(batch []compress.Episode, s compress.Summary) (left []compress.Episode) {
	in := map[string]bool{}
	for _, id := range s.LeftOut {
		in[id] = true
	}
	for _, e := range batch {
		if in[e.ID] {
			left = append(left, e)
		}
	}
	return left
}

func (a *Tidying) keep(ctx context.Context, in Request, summary compress.Summary, byID map[string]tidying.Old,
	out *api.LearnResult) error {
	sources, plain, seen := []tidying.Old{}, []compress.Episode{}, []string{}
	for _, id := range summary.Sources {
		e := byID[id]
		sources, plain = append(sources, e), append(plain, e.Episode)
		seen = append(seen, e.ID+"#"+strconv.Itoa(e.Version))
	}
	if problem, ok := compress.Check(summary.Text, plain); !ok {
		refuse(out, problem.Reason)
		return nil
	}
	if a.shadow(in) {
		out.Added++
		return nil
	}
	embedding, err := a.embed(ctx, "", summary.Text)
	if err != nil {
		return err
	}
	done, err := a.Store.KeepSummary(ctx, tidying.SummaryInput{Writes: a.writes(in, "summary", seen), Scope: in.scope(),
		Sources: sources, Summary: summary, Policy: a.Policy, Rules: step.RulesInForce(a.Rules), Embedding: embedding})
	switch {
	case err != nil:
		return err
	case done == tidying.SummaryKept:
		out.Added++
		out.Updated += len(sources)
	case done == tidying.SummaryDropped:
		out.Dropped++
	default:
		refuse(out, string(done))
	}
	return nil
}

// embedFor is the time limit of an embedding. If it is exceeded, the outbox requests the embedding later.
const embedFor = 30 * time.Second

// embed returns the embedding of a memory that a speaker stated; the speaker may be empty.
func (a *Tidying) embed(ctx context.Context, speaker, text string) (*pg.Embedding, error) {
	if a.Embedder == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, embedFor)
	defer cancel()
	return step.Embedding(ctx, a.Embedder, a.Embedder.Model().Passage(speaker, text))
}
