package rebuilding

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/store/sessions"
)

// Page sizes.
const (
	sessionsPerPage = 20
	streamsPerPage  = 20
	vectorsPerPage  = 500
)

// Rebuilding compares derived data with the ledger and rebuilds it.
type Rebuilding struct {
	Store  *store.Store
	Policy proposals.WritePolicy
	Rules  func() *policy.Policy // classification rules in force; nil, or a nil policy: the defaults
	// WipeIndex empties a tenant's memory index outside Postgres. It is nil if there is none.
	WipeIndex func(ctx context.Context, tenant string) (int, error)
	Now       func() time.Time
}

// PageRequest is a request for the page at Place.
type PageRequest struct {
	Request api.RebuildRequest `json:"request"` // without its state
	Place   api.RebuildPlace   `json:"place"`
}

// PageResult is the result of one page.
type PageResult struct {
	Result api.RebuildResult `json:"result"`
	Next   api.RebuildPlace  `json:"next"`
}

// RebuildPage compares a page and, unless the request only verifies, rebuilds what differs. An interrupted page is
// compared again; what was rebuilt before is then equal.
func (a *Rebuilding) RebuildPage(ctx context.Context, in PageRequest) (PageResult, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	in.Request.DropUnread() // of a newer worker; a client's were refused before
	if err := in.Request.Validate(); err != nil {
		return PageResult{}, step.Fail(err)
	}
	page := a.streams
	switch in.Place.Phase {
	case api.RebuildSessions:
		page = a.sessions
	case api.RebuildVectors:
		page = a.vectors
	}
	out, err := page(ctx, in)
	if err != nil {
		return PageResult{}, step.Fail(step.Stalled(ctx, err))
	}
	return out, nil
}

// note adds one comparison to the result.
func note(r *api.RebuildResult, d api.RebuildDifference) {
	r.Compared++
	if d.Rebuilt {
		r.Rebuilt++
	}
	different := len(d.Fields) > 0 && (d.Kept == "" || d.Kept == ledger.KeptReferred)
	if d.Kept != "" && !different {
		if r.Kept == nil {
			r.Kept = map[string]int{}
		}
		r.Kept[d.Kept]++
	}
	if !different {
		return
	}
	r.Different++
	if !d.Rebuilt {
		r.Left++
	}
	if len(r.Differences) < api.MaxRebuildDifferences {
		r.Differences = append(r.Differences, d)
	}
}

func (a *Rebuilding) eventsInput(in PageRequest, stream string) events.RebuildInput {
	return events.RebuildInput{Tenant: in.Request.Tenant, Stream: stream, Verify: in.Request.Verify,
		Drop: in.Request.Drop,
		Now:  step.Now(a.Now)}
}

// streams compares the event marks of one page of streams.
func (a *Rebuilding) streams(ctx context.Context, in PageRequest) (PageResult, error) {
	names, more := []string{in.Request.Stream}, false
	if in.Request.Stream == "" {
		list, err := a.Store.Streams(ctx, in.Request.Tenant, in.Place.After, streamsPerPage)
		if err != nil {
			return PageResult{}, err
		}
		names, more = names[:0], len(list) == streamsPerPage
		for _, s := range list {
			names = append(names, s.Stream)
		}
	}
	out := PageResult{Next: api.RebuildPlace{Phase: api.RebuildSessions}}
	for _, name := range names {
		compared, err := a.Store.RebuildStream(ctx, a.eventsInput(in, name))
		if err != nil {
			return PageResult{}, err
		}
		if len(compared.Marks) == 0 {
			note(&out.Result, api.RebuildDifference{Rebuilt: compared.Rebuilt})
		}
		for _, seq := range compared.Marks {
			note(&out.Result, api.RebuildDifference{Kind: ledger.DerivedMarks, ID: strconv.FormatInt(seq, 10),
				Stream: name,
				Fields: []string{"marks"}, Rebuilt: compared.Rebuilt})
		}
		if more {
			out.Next = api.RebuildPlace{Phase: api.RebuildStreams, After: name}
		}
		step.Advance(ctx)
	}
	return out, nil
}

// sessions compares the working states and episodes of one page of sessions.
func (a *Rebuilding) sessions(ctx context.Context, in PageRequest) (PageResult, error) {
	var after uuid.UUID
	if in.Place.After != "" {
		var err error
		if after, err = uuid.Parse(in.Place.After); err != nil {
			return PageResult{}, fmt.Errorf("session: %w", err)
		}
	}
	input := sessions.RebuildInput{Tenant: in.Request.Tenant, Stream: in.Request.Stream, After: after,
		Limit:  sessionsPerPage,
		Verify: in.Request.Verify, Drop: in.Request.Drop, Policy: a.Policy.Narrow("", false, nil), Now: step.Now(a.Now)}
	if a.Rules != nil {
		input.Rules = a.Rules()
	}
	page, err := a.Store.RebuildSessions(ctx, input)
	if err != nil {
		return PageResult{}, err
	}
	var out PageResult
	for _, c := range page.Compared {
		note(&out.Result, api.RebuildDifference(c))
	}
	switch {
	case page.More:
		out.Next = api.RebuildPlace{Phase: api.RebuildSessions, After: page.Last.String()}
	case in.Request.Stream != "": // vectors belong to a tenant, not to a stream
		out.Next = api.RebuildPlace{Phase: api.RebuildOver}
	default:
		out.Next = api.RebuildPlace{Phase: api.RebuildVectors}
	}
	return out, nil
}

// vectors removes vectors whose event no longer exists or, with Drop, all vectors. They are computed again when they
// are needed.
func (a *Rebuilding) vectors(ctx context.Context, in PageRequest) (PageResult, error) {
	out := PageResult{Next: api.RebuildPlace{Phase: api.RebuildOver}}
	if in.Request.Drop {
		if _, err := a.Store.WipeVectors(ctx, in.Request.Tenant, step.Now(a.Now)); err != nil || a.WipeIndex == nil {
			return out, err
		}
		if _, err := a.WipeIndex(ctx, in.Request.Tenant); err != nil {
			return out, fmt.Errorf("empty the memory index: %w", err)
		}
		return out, nil
	}
	stray, err := a.Store.StrayVectors(ctx, a.eventsInput(in, ""), in.Place.After, vectorsPerPage)
	if err != nil {
		return PageResult{}, err
	}
	slices.Sort(stray)
	for _, id := range slices.Compact(stray) {
		note(&out.Result, api.RebuildDifference{Kind: ledger.DerivedVectors, ID: id, Fields: []string{"event"},
			Rebuilt: !in.Request.Verify})
	}
	if len(stray) >= vectorsPerPage {
		out.Next = api.RebuildPlace{Phase: api.RebuildVectors, After: stray[len(stray)-1]}
	}
	return out, nil
}
