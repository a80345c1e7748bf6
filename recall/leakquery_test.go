package recall_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
)

// leakQuery is a case: a request, the configuration of the deployment, and what the model grants it.
type leakQuery struct {
	req      schema.RecallRequest
	policy   int
	key      []byte
	hostile  bool
	limit    schema.Sensitivity // limit of full content
	scopes   []string
	redacted map[schema.Sensitivity]schema.Redaction
}

// draw generates a case, and computes the resulting trust without the code under test.
func (w *leakWorld) draw(n int) leakQuery {
	r := rand.New(rand.NewPCG(*leakSeed, uint64(n)))
	q := leakQuery{policy: r.IntN(len(w.policy)), hostile: r.IntN(2) == 0}
	some := w.rows[r.IntN(len(w.rows))]
	req := &q.req
	req.Principal, req.Limit = leakPrincipal(r), oneOf(r, 0, 3, 10, schema.MaxRecallLimit)
	if r.IntN(3) > 0 {
		req.Principal = some.p
	}
	req.Principal = leakAsker(r, req.Principal)
	req.ReadPolicy = oneOf[schema.ReadPolicy](r, "", "isolated", "shared", "shared", "shared", "group")
	if req.ReadPolicy == schema.ReadGroup && req.Principal.PolicyGroup == "" {
		req.Principal.PolicyGroup = "h"
	}
	req.Query = oneOf(r, "needle", some.mark, some.asked(), "where is the needle "+some.mark, "what does Alice keep",
		"Boris and the "+oneOf(r, leakTopics...),
		"needle last week", "needle in May 2026", "sm"+some.mark[2:], oneOf(r, leakTopics...), "zyzzyva", "*'\"&|!:",
		"whom does "+oneOf(r, leakPeople...)+" know", "who owns "+leakName(r.IntN(leakNames)))
	req.Traversal, req.IDsOnly = oneOf(r, "", "", "", schema.TraversalPrimary), r.IntN(20) == 0
	req.KeywordQuery = oneOf(r, "", "", "", "needle")
	req.MaxSensitivity = oneOf(r, append(ladder, "", "", "hyper", "hyper")...)
	switch r.IntN(8) {
	case 0:
		req.Types = []schema.MemoryType{oneOf(r, leakTypes...)}
	case 1:
		req.Categories = []schema.Category{some.category, "issue"}
	case 2:
		req.Tags = []string{oneOf(r, "X", "y")}
	case 3:
		req.Who = oneOf(r, "alice", "Boris")
	case 4:
		pinned := r.IntN(2) == 0
		req.Pinned = &pinned
	case 5:
		req.ImportanceMin = oneOf(r, 0.4, 0.8)
	}
	if r.IntN(6) == 0 {
		since, until := leakNow.AddDate(0, 0, -30), leakNow.AddDate(0, 0, -2)
		req.Since, req.Until = &since, &until
	}
	if r.IntN(4) == 0 {
		req.Context = json.RawMessage(oneOf(r, `{"os":"linux"}`, `{"os":"windows","x":1}`))
	}
	if r.IntN(6) == 0 {
		at := leakNow.AddDate(0, 0, oneOf(r, -20, 6, 20))
		req.ValidAt = &at
	}
	req.Expand, req.Explain, req.Layers, req.Superseded = r.IntN(3) > 0, r.IntN(2) == 0, r.IntN(4) == 0, r.IntN(4) == 0
	if r.IntN(5) == 0 {
		req.Task = &schema.Task{Intent: oneOf(r, "needle", "skill_"+some.mark),
			ErrorSignature: oneOf(r, "", "needle "+some.mark), BudgetTokens: oneOf(r, 0, 200)}
	}
	req.With = w.allOn
	if r.IntN(2) == 0 {
		req.With = nil
	}
	for range r.IntN(5) {
		req.Without = append(req.Without, oneOf(r, w.without...))
	}
	if r.IntN(2) == 0 { // one or no kind of supplement gets all the space
		kept := oneOf(r, leakSupplements...)
		req.Without = append(req.Without,
			slices.DeleteFunc(slices.Clone(leakSupplements), func(s string) bool {
				return s == kept || s == "expand_sources"
			})...)
	}
	if r.IntN(8) == 0 { // prefixes of words are for the rescue
		req.Query, req.KeywordQuery, req.Task, req.Without = oneOf(r, "kestr", "saff graniti", some.mark[:5], "artif",
			"viol "+some.mark[:5]), "", nil, recall.Channels()
	}
	w.drawTrust(r, &q)
	req.Payload = r.IntN(3) == 0
	if req.Principal.User != "" { // no grant gives access to another user's memories
		q.scopes = slices.DeleteFunc(slices.Clone(q.scopes), func(s string) bool {
			return strings.HasPrefix(s, "user/")
		})
	}
	return q
}

func (w *leakWorld) drawTrust(r *rand.Rand, q *leakQuery) {
	req := &q.req
	low := func(levels ...schema.Sensitivity) schema.Sensitivity { // the lowest one that is set
		out := schema.Sensitivity("hyper")
		for _, l := range levels {
			if l != "" && rung(l) < rung(out) {
				out = l
			}
		}
		return out
	}
	environment := func(name string) schema.Sensitivity {
		if q.policy != 1 {
			return ""
		}
		return map[string]schema.Sensitivity{"kiosk": "low", "office": "hyper"}[name]
	}
	elsewhere := schema.Sensitivity("")
	if q.policy == 1 {
		elsewhere = "high"
	}
	in := func(name string) schema.Sensitivity {
		return low(func() schema.Sensitivity {
			if known := environment(name); known != "" {
				return known
			}
			return elsewhere
		}())
	}

	claim := schema.TrustContext{Authenticated: r.IntN(3) > 0,
		MaxSensitivity: oneOf(r, append(ladder, "", "", "hyper")...),
		Environment:    oneOf(r, "", "kiosk", "office", "elsewhere")}
	if r.IntN(3) == 0 {
		claim.Scopes = oneOf(r, []string{"s"}, []string{"s"}, []string{"s", "user/n"})
	}
	said, authenticated := claim, claim.Authenticated
	if r.IntN(4) == 0 {
		said, claim, authenticated = schema.TrustContext{}, schema.TrustContext{}, false
	} else {
		req.Trust = &said
	}
	q.scopes = claim.Scopes
	asked := req.MaxSensitivity
	if asked == "" {
		asked = claim.MaxSensitivity
	}
	limit := low(claim.MaxSensitivity, in(claim.Environment))
	if r.IntN(3) == 0 {
		q.key = leakKey
		switch r.IntN(5) {
		case 0, 1: // signed for this principal, and presented unchanged
			if claim.MaxSensitivity == "" {
				claim.MaxSensitivity = "medium"
			}
			token, err := policy.SignTrust(leakKey, req.Principal, claim, leakNow.Add(time.Minute))
			if err != nil {
				panic(err)
			}
			said = schema.TrustContext{Token: token}
			req.Trust = &said
			if asked = req.MaxSensitivity; asked == "" {
				asked = claim.MaxSensitivity
			}
			limit = low(claim.MaxSensitivity, in(claim.Environment))
		case 2, 3, 4: // not signed, signed with another key, expired, or for another principal
			p, key, expires := req.Principal, leakKey, leakNow.Add(time.Minute)
			switch r.IntN(4) {
			case 0:
				p.Agent += "x"
			case 1:
				key = []byte("another key of thirty-two bytes or more")
			case 2:
				expires = leakNow
			case 3:
				p.Scope += "s"
				if p.User != "" && r.IntN(2) == 0 {
					p.Scope, p.User = "", p.User+"s"
				}
			}
			if req.Trust != nil && r.IntN(2) == 0 {
				said.Token, _ = policy.SignTrust(key, p, claim, expires)
			}
			authenticated, q.scopes = false, nil
			limit = low(limit, in(""))
		}
	}
	if asked == "" {
		asked = "medium"
	}
	q.limit = low(asked, limit)
	if !authenticated {
		q.limit = low(q.limit, "medium")
	}
	q.redacted = map[schema.Sensitivity]schema.Redaction{}
	rules := []map[schema.Sensitivity]schema.Redaction{nil,
		{"medium": "metadata", "high": "summary", "hyper": "summary"},
		{"low": "summary", "medium": "summary", "high": "metadata", "hyper": "metadata"}}[q.policy]
	for level, how := range rules {
		if rung(level) > rung(q.limit) && (level != "hyper" || authenticated) {
			q.redacted[level] = how
		}
	}
}

// readable reports whether a case may read a memory's content at all. If requested, a superseded memory may name its
// successor.
func (q leakQuery) readable(r *leakRow) bool {
	return (r.live() || r.gone == "" && r.status == schema.StatusSuperseded) && q.reaches(r)
}

// reaches reports whether a case may see a memory, whatever its state.
func (q leakQuery) reaches(r *leakRow) bool {
	return rung(r.sensitivity) <= rung(q.limit) && reaches(*r, q.req, q.scopes)
}

// answers reports whether a memory may be a full result of a case.
func (q leakQuery) answers(r *leakRow) bool { return r.live() && q.readable(r) && meets(*r, q.req) }

// redacts returns how a memory above the limit may be shown.
func (q leakQuery) redacts(r *leakRow) schema.Redaction {
	req := q.req
	if !r.live() || !reaches(*r, req, q.scopes) || !shownMeets(*r, req) || !holds(*r, leakNow) || len(req.Tags) > 0 ||
		req.Who != "" || req.Pinned != nil || req.ImportanceMin > 0 {
		return ""
	}
	return q.redacted[r.sensitivity]
}
