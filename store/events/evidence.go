package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/pg"
)

// held reads the events with these ids, in no order, and locks them against erasure until the transaction ends.
func held(ctx context.Context, tx pgx.Tx, tenant string, ids []string) ([]ledger.Event, error) {
	if _, err := tx.Exec(ctx, `SELECT mneme_hold_events($1)`, ids); err != nil {
		return nil, err
	}
	return collect(ctx, tx, byIDSQL, pg.Args{"tenant": tenant, "ids": ids})
}

// cites returns the ids of the events that a reflection cites.
func cites(r ledger.Reflection) []string {
	ids := slices.Clone(r.BasedOn)
	if r.Through != "" {
		ids = append(ids, r.Through)
	}
	return ids
}

// withEvidence checks the reflections in a request by the rule of Reflect (views.Viewer.Check), and returns the
// events with the class of each reflection raised to that of its evidence. Evidence may be in the ledger or earlier
// in the request. A stored reflection is not checked again, because its evidence may have been erased since.
func withEvidence(ctx context.Context, tx pgx.Tx, in AppendInput, list []ledger.Event) ([]ledger.Event, error) {
	var ids []string
	for _, e := range list {
		if r, is := reflectionOf(e); is {
			ids = append(append(ids, e.ID), cites(r)...)
		}
	}
	if ids == nil {
		return list, nil
	}
	there, err := held(ctx, tx, in.Tenant, ids)
	if err != nil {
		return nil, err
	}
	known := make(map[string]ledger.Event, len(ids)) // events that a reflection may cite, by id
	stored := make(map[string]bool, len(there))
	for _, e := range there {
		stored[e.ID] = true
	}
	if there, err = readable(ctx, tx, in.Tenant, in.User, there); err != nil {
		return nil, err
	}
	for _, e := range there {
		known[e.ID] = e
	}
	var p check.Problems
	out := slices.Clone(list)
	for i, e := range out {
		if stored[e.ID] {
			continue
		}
		e.PolicyGroup, e.Visibility = cmp.Or(e.PolicyGroup, in.PolicyGroup), ledger.VisibilityOf(e, in.Open)
		if r, is := reflectionOf(e); is {
			least, err := views.Viewer{Agent: e.Agent, PolicyGroup: e.PolicyGroup}.Check(r, cited(known, r))
			if err = under(err, fmt.Sprintf("events[%d].payload.", i), &p); err != nil {
				return nil, err
			}
			e.Sensitivity = raised(e.Sensitivity, least)
			out[i].Sensitivity = e.Sensitivity
		}
		known[e.ID] = e
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	return out, nil
}

func reflectionOf(e ledger.Event) (ledger.Reflection, bool) {
	r, _ := ledger.Payload[ledger.Reflection](e) // a reflection without a payload fails the check
	return r, e.Kind == ledger.KindAgentReflected
}

func cited(known map[string]ledger.Event, r ledger.Reflection) []ledger.Event {
	var out []ledger.Event
	for _, id := range cites(r) {
		if e, found := known[id]; found {
			out = append(out, e)
		}
	}
	return out
}

// under adds validation errors of a part of a request to p, under the path of the part. It returns any other error.
func under(err error, path string, p *check.Problems) error {
	var invalid *schema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	for _, f := range invalid.Fields {
		p.Add(path+f.Field, "%s", f.Problem)
	}
	return nil
}

// raised returns the class of a reflection, raised to that of its evidence.
func raised(own, least schema.Sensitivity) schema.Sensitivity {
	own = cmp.Or(own, schema.SensitivityLow)
	if own.Lower(least) == own {
		return least
	}
	return own
}
