package step

import (
	"context"

	"go.temporal.io/sdk/activity"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// Pace is the number of candidates in one statement. It is halved after a statement that timed out, down to one, and
// doubled after growAfter successful ones, up to a maximum. Heartbeats contain it, so that the next attempt does not
// begin with a number that was too large.
type Pace struct {
	work *Work[paced]
	most int
	good int // consecutive statements that did not time out
}

// paced is the part of a Pace that heartbeats contain.
type paced struct {
	Size int `json:"size"`
}

// growAfter is how many statements must succeed before the size grows, because a statement that is too large costs its
// whole time limit.
const growAfter = 4

// StartPace begins with the size that the previous attempt reached, or with the given size; 0 means most.
func StartPace(ctx context.Context, size, most int) (*Pace, context.Context) {
	w, ctx := StartWork(ctx, paced{size})
	p := &Pace{work: w, most: max(1, most)}
	if at := w.SoFar().Size; at < 1 || at > p.most {
		w.Note(paced{p.most})
	}
	return p, ctx
}

// Stop ends the heartbeats.
func (p *Pace) Stop() { p.work.Stop() }

// Size returns the number of candidates for the next statement.
func (p *Pace) Size() int { return p.work.SoFar().Size }

// Slower records that a statement timed out, and reports whether fewer candidates can be requested. That is progress:
// the number becomes smaller each time.
func (p *Pace) Slower(ctx context.Context, asked int, err error) bool {
	if !pg.IsTimeout(err) || asked <= 1 || ctx.Err() != nil {
		return false
	}
	p.good = 0
	p.work.Note(paced{asked / 2})
	activity.GetLogger(ctx).Warn("a statement met its limit: fewer candidates at once", "candidates",
		asked/2, "error", err)
	return true
}

// Faster records that a statement succeeded.
func (p *Pace) Faster() {
	if p.good++; p.good < growAfter || p.Size() == p.most {
		return
	}
	p.good = 0
	p.work.Note(paced{min(2*p.Size(), p.most)})
}

// Through calls fn for the parts of a range, each of the pace's size.
func (p *Pace) Through(ctx context.Context, r schema.Range, fn func(schema.Range) error) error {
	for at := r.From; ; {
		part := r
		part.From, part.To = at, min(at+p.Size(), r.To)
		err := fn(part)
		switch {
		case err == nil:
			p.Faster()
			if at = part.To; at >= r.To {
				return nil
			}
		case !p.Slower(ctx, part.To-part.From, err):
			return err
		}
	}
}
