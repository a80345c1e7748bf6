package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/operate"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/store/eventindex"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/store/vectorindex"
)

// memoryIndex warns if the text of events is sent to another machine.
func (d *Doctor) memoryIndex(context.Context) (verdict, error) {
	switch kind := d.A.Cfg.MemoryIndex.Kind; kind {
	case config.MemoryIndexHosted:
		return warn("If that is not wanted, set it to vectors or off, and wipe the service.", eventindex.HostedWarning),
			nil
	case config.MemoryIndexVectors:
		return fine("in Postgres"), nil
	case config.MemoryIndexQdrant:
		return fine("in the Qdrant server of the vector index, which the check index covers"), nil
	default:
		return fine("off"), nil
	}
}

// indexAnswers checks whether the vector index answers.
func (d *Doctor) indexAnswers(ctx context.Context) (verdict, error) {
	const do = "Start it, or correct QDRANT_URL. Until then recall uses full text and reports it, and new " +
		"memories wait."
	index, closeIndex, err := d.A.Cfg.OpenIndex(d.Store)
	if err != nil {
		return fail(do, "%s", err), nil
	}
	d.A.Closers = append(d.A.Closers, closeIndex)
	if q, ok := index.(*vector.Qdrant); ok {
		if err := q.Check(ctx); err != nil {
			return fail(do, "%s does not answer: %s", index.Name(), err), nil
		}
	}
	d.index = index
	return fine("%s answers", index.Name()), nil
}

// generations returns the searched generation, and the one that is being built.
func (d *Doctor) generations(ctx context.Context) (active, building *vectorindex.Generation, err error) {
	known, err := d.Store.Generations(ctx, d.A.IndexName())
	for i := range known {
		switch known[i].State {
		case vectorindex.GenerationActive:
			active = &known[i]
		case vectorindex.GenerationBuilding:
			building = &known[i]
		}
	}
	return active, building, err
}

func (d *Doctor) indexGeneration(ctx context.Context) (verdict, error) {
	active, _, err := d.generations(ctx)
	if err != nil {
		return verdict{}, err
	}
	if active == nil {
		return fail("Start a worker, which creates one. If one is running, `mneme reindex`.",
			"index %s has no generation: recall cannot search by vector", d.A.IndexName()), nil
	}
	if v, lost, err := d.indexLost(ctx, *active); lost || err != nil {
		return v, err
	}
	found := fmt.Sprintf("%s, %d dimensions", active.Model.Name, active.Model.Dimensions)
	if c := d.A.Cfg; c.Embedder == "local" && c.Local.Dir == "" {
		return fine("%s; to compare it with the configured model, that model would have to be loaded", found), nil
	}
	brain, err := d.A.Cfg.NewBrain(ctx)
	if err != nil {
		return fail("Correct the settings of the brain and the embedder.", "%s", err), nil
	}
	if model := brain.Embedder.Model(); model != active.Model {
		return warn("`mneme reindex` embeds everything again; until then recall answers from the old "+
			"model's generation.",
			"the index is of %s, and the configured model is %s with %d dimensions", found, model.Name,
			model.Dimensions), nil
	}
	return fine("%s", found), nil
}

// indexLost returns a verdict if the index answers and does not search the active generation: it has lost the
// generation, or searches another one.
func (d *Doctor) indexLost(ctx context.Context, active vectorindex.Generation) (v verdict, lost bool, err error) {
	if d.index == nil {
		return verdict{}, false, nil // the check index reports it
	}
	const do = "`mneme index drift` fills it from Postgres. SyncIndex and the hourly check do so too, if a worker and " +
		"the schedules run."
	searched, err := d.index.Searched(ctx, active)
	switch {
	case errors.Is(err, vector.ErrMissing):
		return fail(do, "index %s has lost the generation that is to be searched: recall cannot search by vector",
			d.index.Name()), true, nil
	case err != nil:
		return verdict{}, false, err
	case !searched:
		return fail(do, "index %s searches another generation than the active one", d.index.Name()), true, nil
	}
	return verdict{}, false, nil
}

// rebuildGrace is how long a rebuild may be without a run: a new run is about to continue it, or its last step is
// running.
const rebuildGrace = 10 * time.Minute

func (d *Doctor) indexRebuild(ctx context.Context) (verdict, error) {
	_, building, err := d.generations(ctx)
	if err != nil {
		return verdict{}, err
	}
	if building == nil {
		return fine("none is running"), nil
	}
	since := d.Now().Sub(building.CreatedAt)
	runs, err := operate.RunsStill(ctx, d.Client, api.ReindexWorkflowID(d.A.IndexName()))
	if err != nil {
		return verdict{}, err
	}
	if !runs && since > rebuildGrace {
		return warn("`mneme reindex` continues it where it stopped.",
			"a rebuild was started %s ago and no run continues it; all writes still go to it too", app.Span(since)), nil
	}
	return fine("one has been running for %s", app.Span(since)), nil
}

func (d *Doctor) indexLag(ctx context.Context) (verdict, error) {
	lag, err := d.Store.OutboxLag(ctx)
	if err != nil {
		return verdict{}, err
	}
	if lag.Oldest == nil {
		return fine("none"), nil
	}
	behind, most := d.Now().Sub(*lag.Oldest), d.A.Cfg.ReadyIndexLag
	if most > 0 && behind > most {
		return fail("`mneme index status`, then `mneme schedules list`: the index or the embedder "+
			"fails, or sync_index does not run.",
			"%d changes wait, the oldest for %s, longer than MNEME_READY_INDEX_LAG (%s)", lag.Pending,
			app.Span(behind), app.Span(most)), nil
	}
	return fine("%d changes wait, the oldest for %s", lag.Pending, app.Span(behind)), nil
}

func (d *Doctor) indexParked(ctx context.Context) (verdict, error) {
	lag, err := d.Store.OutboxLag(ctx)
	if err != nil {
		return verdict{}, err
	}
	if lag.Parked > 0 {
		return warn("`mneme index parked --tenant T` says why; `mneme index retry --tenant T` retries them.",
			"%d changes are no longer retried%s: recall does not find those memories by vector",
			lag.Parked, d.whose(ctx, func(ctx context.Context, tenant string) (int, error) {
				parked, err := d.Store.ParkedOutbox(ctx, tenant, uuid.Nil, doctorCounts)
				return len(parked), err
			}, " memories")), nil
	}
	return fine("none"), nil
}

// indexDrift compares the numbers of live memories and of points. Pending or parked changes explain a difference of
// their number. Equal numbers prove nothing; the schedule drift compares one by one.
func (d *Doctor) indexDrift(ctx context.Context) (verdict, error) {
	active, _, err := d.generations(ctx)
	if err != nil {
		return verdict{}, err
	}
	if active == nil || d.index == nil {
		return verdict{Status: CheckSkipped, Found: "there is no index to compare with"}, nil
	}
	if _, lost, err := d.indexLost(ctx, *active); lost || err != nil {
		return verdict{Status: CheckSkipped, Found: "the index is lost: index_generation reports it"}, err
	}
	counting, cancel := context.WithTimeout(ctx, checkTimeout*4/5)
	defer cancel()
	var live, points, apart int64
	checked, more, err := d.eachTenant(counting, func(ctx context.Context, tenant string) error {
		n, has, err := d.countBoth(ctx, *active, tenant)
		if err == nil && n != has { // written between the two counts? a second look tells
			was := n - has
			if n, has, err = d.countBoth(ctx, *active, tenant); err == nil {
				apart += lesser(was, n-has)
			}
		}
		live, points = live+n, points+has
		return err
	})
	if err != nil && counting.Err() != nil && ctx.Err() == nil {
		return fine("there are too many to count here: the schedule drift compares them"), nil
	}
	if err != nil {
		return verdict{}, err
	}
	lag, err := d.Store.OutboxLag(ctx)
	if err != nil {
		return verdict{}, err
	}
	if apart > lag.Pending+lag.Parked {
		return warn("`mneme index drift` compares them one by one and repairs what differs.",
			"%d live memories and %d points%s: a difference of %d, and %d changes wait or are parked",
			live, points, ofTenants(checked, more), apart, lag.Pending+lag.Parked), nil
	}
	return fine("%d live memories, %d points%s", live, points, ofTenants(checked, more)), nil
}

// countBoth counts a tenant's live memories and its points.
func (d *Doctor) countBoth(
	ctx context.Context,
	g vectorindex.Generation,
	tenant string,
) (live, points int64, err error) {
	if live, err = d.Store.LiveCount(ctx, tenant); err == nil {
		points, err = d.index.Count(ctx, g, tenant)
	}
	return live, points, err
}

// lesser returns the size of the smaller of two differences, or 0 if they are in opposite directions.
func lesser(a, b int64) int64 {
	if a > 0 != (b > 0) {
		return 0
	}
	return min(max(a, -a), max(b, -b))
}
