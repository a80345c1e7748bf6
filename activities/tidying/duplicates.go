package tidying

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/memory/learning/duplicates"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/tidying"
)

// Sizes of a part of a run.
const (
	pageRows = 500 // records of one transaction
	partRows = 5_000
	partSets = 100 // groups that one activity returns, so that histories stay small
)

// Reasons for which duplicates stay.
const (
	lessTrusted = "less_trusted" // a record is not merged into a more trusted one
	notTheSame  = "not_the_same" // they changed since they were found
)

// overlap is the time before the watermark that is read again, because earlier transactions may commit later.
const overlap = 2 * time.Minute

// start is where a run begins: at the watermark of its workflow, or a little before.
func (a *Tidying) start(ctx context.Context, in Request, workflow string) (tidying.Place, error) {
	if !in.From.At.IsZero() || in.Full {
		return in.From, nil
	}
	at, err := a.Store.WatermarkOf(ctx, in.scope(), workflow)
	if err == nil && !at.At.IsZero() && workflow != api.WorkflowCompressEpisodes { // that workflow reads old episodes
		at = tidying.Place{At: at.At.Add(-overlap)}
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
	for rows := 0; rows < partRows && len(out.Groups) < partSets && out.More; rows += pageRows {
		page, err := a.Store.FindDuplicates(ctx, in.scope(), out.Next, in.Until, pageRows, step.Now(a.Now))
		if err != nil {
			return Page{}, step.Fail(step.Stalled(ctx, err))
		}
		out.Read, out.Next, out.More = out.Read+page.Read, page.Next, page.More
		out.Groups = append(out.Groups, names(page.Groups)...)
		step.Advance(ctx)
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
	evidence := make([]string, len(records))
	for i, r := range records {
		plain[i], evidence[i] = r.Record, r.ID+"#"+strconv.Itoa(r.Version)
	}
	if len(records) < 2 {
		return nil
	}
	plan, ok := duplicates.Plan(plain)
	switch {
	case !ok:
		refuse(out, notTheSame)
		return nil
	case a.shadow(in):
		out.Merged += len(plan.Away)
		return nil
	}
	done, err := a.Store.Merge(ctx, tidying.MergeInput{Writes: a.writes(in, "merge", evidence), Scope: in.scope(),
		Records: records, Plan: plan, Policy: a.Policy})
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

// together picks the records that are merged, and counts the others: a less trusted record is not merged, so that it
// takes no trust from what it repeats. Only the surest of several pinned records is merged.
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

// FinishPage moves the watermark of a workflow past a page, unless the run is one in shadow mode.
func (a *Tidying) FinishPage(ctx context.Context, in DoneRequest) error {
	if a.shadow(in.Request) || in.Next.At.IsZero() {
		return nil
	}
	return step.Fail(a.Store.MoveWatermark(ctx, in.scope(), in.Workflow, in.Next, "", step.Now(a.Now)))
}
