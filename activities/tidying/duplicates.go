package tidying

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/learning/duplicates"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/learning"
	"github.com/mneme/mneme/store/tidying"
)

// Sizes of a part of a run.
const (
	pageRows = 500 // records of one transaction
	partRows = 5_000
	partSets = 100 // groups that one activity returns, so that histories stay small
)

// Reasons not to merge duplicates.
const (
	lessTrusted = "less_trusted" // a record is not merged into a more trusted one
	notTheSame  = "not_the_same" // a record has changed since it was found

	modelDiffers = "model_differs" // a model distinguishes records that the rules consider the same
)

// start is where a run begins: at the watermark of its workflow, or learning.Overlap before it. A change has the time
// at which its step began; the step may wait for an embedder before its transaction.
func (a *Tidying) start(ctx context.Context, in Request, workflow string) (tidying.Place, error) {
	if !in.From.At.IsZero() || in.Full {
		return in.From, nil
	}
	at, err := a.Store.WatermarkOf(ctx, in.scope(), workflow)
	if err == nil && !at.At.IsZero() && workflow != api.WorkflowCompressEpisodes { // that workflow reads old episodes
		at = tidying.Place{At: at.At.Add(-learning.Overlap)}
	}
	return at, err
}

// FindDuplicates reads records that changed, page by page, and returns those that may be the same.
func (a *Tidying) FindDuplicates(ctx context.Context, in Request) (Page, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	at, err := a.start(ctx, in, api.WorkflowResolveDuplicates)
	if err != nil {
		return Page{}, step.Fail(err)
	}
	out := Page{Next: at, More: true}
	near := restated{read: func(add func(duplicates.Record)) error {
		return a.Store.EachFact(ctx, in.scope(), tidying.MaxStatements, add)
	}}
	for rows := 0; rows < partRows && len(out.Groups) < partSets && out.More; rows += pageRows {
		page, err := a.Store.FindDuplicates(ctx, in.scope(), out.Next, in.Until, pageRows, step.Now(a.Now))
		if err != nil {
			return Page{}, step.Fail(step.Stalled(ctx, err))
		}
		out.Read, out.Next, out.More = out.Read+page.Read, page.Next, page.More
		out.Groups = append(out.Groups, names(page.Groups)...)
		step.Advance(ctx)
		more, err := near.groups(page)
		if err != nil {
			return Page{}, step.Fail(step.Stalled(ctx, err))
		}
		out.Groups = append(out.Groups, more...)
		step.Advance(ctx)
	}
	return out, nil
}

// restated finds facts that restate others in other words. It reads the facts of the scope once, if any has changed: at
// most tidying.MaxStatements, those that changed last.
type restated struct {
	read  func(add func(duplicates.Record)) error
	pool  *duplicates.Pool
	taken map[string]bool // ids that are in a group: a record is in one group of a part
}

// groups returns the facts of a page with the facts that they restate, without those that are already in a group.
func (r *restated) groups(page tidying.DuplicatePage) ([][]string, error) {
	if len(page.IDs) == 0 {
		return nil, nil
	}
	if r.pool == nil {
		r.pool, r.taken = &duplicates.Pool{}, map[string]bool{}
		if err := r.read(r.pool.Add); err != nil {
			return nil, err
		}
	}
	for _, group := range names(page.Groups) {
		for _, id := range group {
			r.taken[id] = true
		}
	}
	var out [][]string
	for _, fact := range page.IDs {
		id := fact.String()
		if r.taken[id] {
			continue
		}
		group := []string{id}
		for _, other := range r.pool.Restated(id) {
			if !r.taken[other] && len(group) < tidying.MaxSame {
				group = append(group, other)
			}
		}
		if len(group) < 2 {
			continue
		}
		for _, id := range group {
			r.taken[id] = true
		}
		out = append(out, group)
	}
	return out, nil
}

func names(groups [][]uuid.UUID) [][]string {
	out := make([][]string, len(groups))
	for i, g := range groups {
		for _, id := range g {
			out[i] = append(out[i], id.String())
		}
	}
	return out
}

func ids(group []string) ([]uuid.UUID, error) {
	out := make([]uuid.UUID, len(group))
	for i, name := range group {
		var err error
		if out[i], err = uuid.Parse(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ResolveDuplicates merges the records of each group that are the same. In shadow mode it counts what it would do.
func (a *Tidying) ResolveDuplicates(ctx context.Context, in WriteRequest) (api.LearnResult, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	var out api.LearnResult
	for _, group := range in.Groups {
		if err := a.resolve(ctx, in.Request, group, &out); err != nil {
			return out, step.Fail(step.Stalled(ctx, err))
		}
		step.Advance(ctx)
	}
	a.observe(api.WorkflowResolveDuplicates, out)
	return out, nil
}

func (a *Tidying) resolve(ctx context.Context, in Request, group []string, out *api.LearnResult) error {
	members, err := ids(group)
	if err != nil {
		return err
	}
	records, err := a.Store.SameAs(ctx, in.scope(), members)
	if err != nil {
		return err
	}
	if out.Groups++; len(records) < 2 {
		out.Dropped++ // forgotten, erased or merged since
		return nil
	}
	records, left := together(records)
	for range left {
		refuse(out, lessTrusted)
	}
	plain := make([]duplicates.Record, len(records))
	for i, r := range records {
		plain[i] = r.Record
	}
	if len(records) < 2 {
		return nil
	}
	plans := duplicates.Plans(plain)
	if len(plans) == 0 {
		refuse(out, notTheSame)
	}
	for _, plan := range plans {
		if err := a.merge(ctx, in, plan, records, out); err != nil {
			return err
		}
	}
	return nil
}

// merge executes a plan for some of the records.
func (a *Tidying) merge(ctx context.Context, in Request, plan duplicates.Merge, records []tidying.Same,
	out *api.LearnResult) error {
	if a.shadow(in) {
		out.Merged += len(plan.Away)
		return nil
	}
	var of []tidying.Same
	var plain []duplicates.Record
	var evidence []string
	for _, r := range records {
		if r.ID == plan.Keep || slices.Contains(plan.Away, r.ID) {
			of, plain = append(of, r), append(plain, r.Record)
			evidence = append(evidence, r.ID+"#"+strconv.Itoa(r.Version))
		}
	}
	if a.Judge != nil && plan.Kind == duplicates.Restated {
		var ok bool
		var err error
		if plan, ok, err = a.judged(ctx, in, plan, plain, evidence, out); err != nil || !ok {
			return err
		}
	}
	done, err := a.Store.Merge(ctx, tidying.MergeInput{Writes: a.writes(in, "merge", evidence), Scope: in.scope(),
		Records: of, Plan: plan, Policy: a.Policy})
	switch {
	case err != nil:
		return err
	case done.Status == schema.ReviseApplied:
		out.Merged += len(plan.Away)
		out.Replaced += len(plan.Away)
		out.Updated++
	case done.Status == schema.ReviseVersionConflict || done.Status == schema.ReviseNotFound ||
		done.Status == schema.ReviseNotLive:
		out.Dropped++
	default:
		refuse(out, string(done.Status))
	}
	return nil
}

// judged returns a merge without the restated facts that a model distinguishes. A model never adds to a merge, and if
// it does not answer, the rules decide. Its answers are stored, so that it is asked about a pair once, as long as both
// texts stay. It returns false if nothing is left to merge.
func (a *Tidying) judged(ctx context.Context, in Request, plan duplicates.Merge, records []duplicates.Record,
	evidence []string, out *api.LearnResult) (duplicates.Merge, bool, error) {
	byID := map[string]duplicates.Record{}
	for _, r := range records {
		byID[r.ID] = r
	}
	keep := byID[plan.Keep]
	var asked []string
	var answers []tidying.Answer
	for _, id := range plan.Away {
		if other := byID[id]; duplicates.Compare(keep, other) == duplicates.Restated {
			about, err := pairOf(keep, other)
			if err != nil {
				return plan, false, err
			}
			asked, answers = append(asked, id), append(answers, about)
		}
	}
	known, err := a.Store.ModelAnswers(ctx, in.Tenant, tidying.AskDuplicates, answers)
	if err != nil {
		return plan, false, err
	}
	var open []int
	for i := range answers {
		if answers[i].Text = known[answers[i].About()]; answers[i].Text == "" {
			open = append(open, i)
		}
	}
	if err := a.askDuplicates(ctx, in, open, answers, func(i int) [2]string {
		return [2]string{keep.Content, byID[asked[i]].Content}
	}, evidence, out); err != nil {
		return plan, false, err
	}
	left := slices.DeleteFunc(slices.Clone(records), func(r duplicates.Record) bool {
		i := slices.Index(asked, r.ID)
		return i >= 0 && answers[i].Text == tidying.AnswerDiffers
	})
	for range len(records) - len(left) {
		refuse(out, modelDiffers)
	}
	plan, ok := duplicates.Plan(left)
	return plan, ok, nil
}

// pairOf returns the stored form of a question about two facts, without an answer.
func pairOf(one, other duplicates.Record) (tidying.Answer, error) {
	texts := []string{one.Content, other.Content}
	slices.Sort(texts)
	both, err := ids([]string{one.ID, other.ID})
	if err != nil {
		return tidying.Answer{}, err
	}
	return tidying.Pair(both[0], both[1], questionOf(texts...)), nil
}

// askDuplicates asks a model about pairs, and sets and stores the texts of their answers. Without an answer a text stays
// empty.
func (a *Tidying) askDuplicates(ctx context.Context, in Request, open []int, answers []tidying.Answer,
	pair func(int) [2]string, evidence []string, out *api.LearnResult) error {
	if len(open) == 0 {
		return nil
	}
	size := promptOverhead
	pairs := make([][2]string, len(open))
	for n, i := range open {
		pairs[n] = pair(i)
		size += len(pairs[n][0]) + len(pairs[n][1])
	}
	var same []bool
	spent, err := a.meter().Ask(ctx, step.Metered{Tenant: in.Tenant, Purpose: string(tidying.AskDuplicates),
		Key: string(tidying.AskDuplicates) + ":" + a.writes(in, "merge", evidence).Evidence, Bytes: size,
		Answer: inference.DuplicatesAnswerTokens}, func(ctx context.Context) (usage inference.Usage, err error) {
		same, usage, err = a.Judge.JudgeDuplicates(ctx, pairs)
		return usage, err
	})
	out.Tokens, out.Held = out.Tokens+spent.Tokens, out.Held || spent.Held
	switch {
	case err != nil || spent.Held:
		return err
	case spent.Failed != "" || len(same) != len(pairs):
		refuse(out, modelSilent)
		return nil
	}
	var said []tidying.Answer
	for n, i := range open {
		if answers[i].Text = tidying.AnswerDiffers; same[n] {
			answers[i].Text = tidying.AnswerSame
		}
		said = append(said, answers[i])
	}
	return a.Store.KeepModelAnswers(ctx, in.Tenant, tidying.AskDuplicates, said, step.Now(a.Now))
}

// together picks the records to merge, and counts the others. A less trusted record is not merged, so that it does not
// gain trust from the record that it repeats. Of several pinned records only the most confident is merged.
func together(records []tidying.Same) (picked []tidying.Same, lessTrusted int) {
	slices.SortStableFunc(records, func(x, y tidying.Same) int {
		return cmp.Or(cmp.Compare(y.Trust, x.Trust), cmp.Compare(y.Confidence, x.Confidence), cmp.Compare(x.ID, y.ID))
	})
	pinned := false
	for _, r := range records {
		switch {
		case r.Trust < records[0].Trust:
			lessTrusted++
		case r.Pinned && pinned:
		default:
			picked, pinned = append(picked, r), pinned || r.Pinned
		}
	}
	return picked, lessTrusted
}

// FinishPage moves the watermark of a workflow past a page, except in shadow mode.
func (a *Tidying) FinishPage(ctx context.Context, in DoneRequest) error {
	if a.shadow(in.Request) || in.Next.At.IsZero() {
		return nil
	}
	return step.Fail(a.Store.MoveWatermark(ctx, in.scope(), in.Workflow, in.Next, "", step.Now(a.Now)))
}
