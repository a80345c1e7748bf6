// Package tidying has the activities of ResolveDuplicates, CompressEpisodes and UpdateFacts. An activity reads a few
// pages of a scope, or decides on groups and writes the decisions. Requests and results hold only ids and counts.
package tidying

import (
	"time"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/tidying"
)

// Tidying resolves duplicates, compresses episodes and updates facts.
type Tidying struct {
	Store    *store.Store
	Embedder inference.Embedder
	Writer   inference.EpisodeWriter  // if nil, the rules write summaries
	Judge    inference.DuplicateJudge // if nil, the rules decide on facts in another form
	Reader   inference.FactReader     // if nil, the rules find facts and conflicts alone
	Budget   int64                    // tokens of a tenant and day; 0: no limit
	Held     func(use string)         // called when a call does not fit into the budget; may be nil
	Policy   proposals.WritePolicy
	Rules    func() *policy.Policy
	Observe  func(workflow, verdict string, n int) // called with the number of changes by verdict; may be nil
	Now      func() time.Time
}

// Request asks for the next part of a run.
type Request struct {
	api.LearnScope
	WorkflowID string        `json:"workflow_id"`
	Shadow     bool          `json:"shadow,omitempty"`
	Full       bool          `json:"full,omitempty"`
	From       tidying.Place `json:"from"`  // where the previous part ended; zero: at the watermark
	Until      time.Time     `json:"until"` // when the run began; later changes are for the next run
}

// Page is what a part has read.
type Page struct {
	Read   int           `json:"read"`
	Groups [][]string    `json:"groups,omitempty"` // ids of memories to decide on together
	Next   tidying.Place `json:"next"`
	More   bool          `json:"more"`
}

// WriteRequest is a request to decide on the groups of a page and to write what is decided.
type WriteRequest struct {
	Request
	Groups [][]string `json:"groups"`
}

// DoneRequest records that a page is finished.
type DoneRequest struct {
	Request
	Workflow string        `json:"workflow"`
	Next     tidying.Place `json:"next"`
}

func (r Request) scope() tidying.Scope {
	return tidying.Scope{Tenant: r.Tenant, Agent: r.Agent, Project: r.Project, Scope: r.Scope}
}

// writes is the origin of a change. Its key depends only on the evidence.
func (a *Tidying) writes(r Request, what string, ids []string) tidying.Writes {
	hash := evidence.HashOf(ids)
	return tidying.Writes{Key: what + ":" + hash, WorkflowID: r.WorkflowID, Evidence: hash, Now: step.Now(a.Now)}
}

// shadow reports whether nothing may be written.
func (a *Tidying) shadow(r Request) bool { return r.Shadow || a.Policy.MutationsFrozen() }

// refuse counts a refusal.
func refuse(out *api.LearnResult, reason string) {
	if out.Refused == nil {
		out.Refused = map[string]int{}
	}
	out.Refused[reason]++
}

// observe reports the verdicts on changes.
func (a *Tidying) observe(workflow string, r api.LearnResult) {
	if a.Observe == nil {
		return
	}
	for verdict, n := range r.Verdicts() {
		a.Observe(workflow, verdict, n)
	}
}
