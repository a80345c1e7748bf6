package schema

import (
	"fmt"
	"slices"
)

// needPoints reports what the points of a curve lack: read as zero, a share that is left out would be the
// end of all salience. Points that could not be read are not checked further.
func (d *decoder) needPoints(points *[]DecayPoint) {
	const path = "lifecycle.decay.points"
	if len(*points) > MaxDecayPoints {
		return // what the check says of them is enough
	}
	for i := range *points {
		point := fmt.Sprintf("%s[%d]", path, i)
		if slices.ContainsFunc(d.fields, func(f FieldError) bool { return f.Field == d.asGiven(point) }) {
			continue // it is no object
		}
		for _, name := range []string{"after_seconds", "share"} {
			if at := join(point, name); !d.seen[at] {
				d.add(d.asGiven(at), "is required")
			}
		}
	}
	if slices.ContainsFunc(d.fields, func(f FieldError) bool { return under(f.Field, d.asGiven(path)) }) {
		*points = nil
	}
}

// checkDecayPoints holds the points of a custom curve to document 004 §15A.7: decay is monotonic.
func checkDecayPoints(p *problems, path string, d DecayProfile) {
	switch {
	case len(d.Points) == 0, d.Curve != "" && !slices.Contains(decayCurves, d.Curve):
		return
	case d.Curve != CurveCustom:
		p.add(path, "only a custom curve has points")
		return
	case len(d.Points) > MaxDecayPoints:
		p.add(path, "must hold at most %d points", MaxDecayPoints)
		return
	}
	for i, point := range d.Points {
		after, share := fmt.Sprintf("%s[%d].after_seconds", path, i), fmt.Sprintf("%s[%d].share", path, i)
		if point.AfterSeconds < 0 || point.AfterSeconds > MaxDurationSeconds {
			p.add(after, "must be between 0 and %d", MaxDurationSeconds)
		} else if i > 0 && point.AfterSeconds <= d.Points[i-1].AfterSeconds {
			p.add(after, "must be later than the point before it")
		}
		switch {
		case !unit(point.Share):
			p.add(share, "must be between 0 and 1")
		case point.AfterSeconds == 0 && point.Share != 1:
			p.add(share, "must be 1 at 0 seconds: nothing has faded yet")
		case i > 0 && point.Share > d.Points[i-1].Share:
			p.add(share, "must not be more than that of the point before it: salience never rises by itself")
		}
	}
}
