package recall

import (
	"github.com/mneme/mneme/memory/timeexpr"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// Filter returns the filter of a recall without the request's own conditions: it admits all that the principal of a
// request may see now under the policy in force.
func (r *Recaller) Filter(req schema.RecallRequest) pg.Filter {
	now := r.now()
	req.Types, req.Categories, req.Tags, req.Who, req.Pinned, req.Since, req.Until = nil, nil, nil, "", nil, nil, nil
	req.ImportanceMin, req.Context = 0, nil
	return pg.FilterOf(req, r.trustRules().Clear(req, r.TrustKey, now), now, timeexpr.Begun(nil, now))
}
