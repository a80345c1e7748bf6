package activities

import (
	"context"

	"go.temporal.io/sdk/activity"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// pace is how many candidates a statement is asked for at once: half as many after one that met its limit, down to one,
// and twice as many, up to the most, after growAfter that did not. Heartbeats carry it, so that the next attempt does
// not begin with what was too much.
type pace struct {
	work *work[paced]
	most int
	good int // statements in a row that met no limit
}

// paced is what heartbeats carry of a pace.
type paced struct {
	Size int `json:"size"`
}

// growAfter is how many statements go well before one is asked for more: to find out that it is too much costs the
// limit of a statement.
const growAfter = 4

// startPace begins with the size that the attempt before came to, or with the one given; 0 is the most.
func startPace(ctx context.Context, size, most int) (*pace, context.Context) {
	w, ctx := startWork(ctx, paced{size})
	p := &pace{work: w, most: max(1, most)}
	if at := w.sofar().Size; at < 1 || at > p.most {
		w.note(paced{p.most})
	}
	return p, ctx
}

func (p *pace) stop() { p.work.stop() }

// size is how many candidates the next statement is asked for.
func (p *pace) size() int { return p.work.sofar().Size }

// slower notes that a statement met its limit, and reports whether fewer than it was asked for can be asked for. That
// is progress: what is asked for becomes less each time.
func (p *pace) slower(ctx context.Context, asked int, err error) bool {
	if !pg.IsTimeout(err) || asked <= 1 || ctx.Err() != nil {
		return false
	}
	p.good = 0
	p.work.note(paced{asked / 2})
	activity.GetLogger(ctx).Warn("a statement met its limit: fewer candidates at once", "candidates", asked/2, "error", err)
	return true
}

// faster notes that a statement went well.
func (p *pace) faster() {
	if p.good++; p.good < growAfter || p.size() == p.most {
		return
	}
	p.good = 0
	p.work.note(paced{min(2*p.size(), p.most)})
}

// through does something with a range, in parts of the pace's size.
func (p *pace) through(ctx context.Context, r schema.Range, fn func(schema.Range) error) error {
	for at := r.From; ; {
		part := r
		part.From, part.To = at, min(at+p.size(), r.To)
		err := fn(part)
		switch {
		case err == nil:
			p.faster()
			if at = part.To; at >= r.To {
				return nil
			}
		case !p.slower(ctx, part.To-part.From, err):
			return err
		}
	}
}
