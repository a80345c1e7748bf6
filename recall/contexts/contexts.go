package contexts

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/store/sessions"
)

// Builder builds contexts. Only Store and Recaller are required. It is safe for concurrent use.
type Builder struct {
	Store    *store.Store
	Recaller *recall.Recaller // recalls memories and computes the clearance

	// Index returns the memory index for an agent's context. If it is nil or returns nil, relevance is computed from
	// words.
	Index func(tenant, agent string) views.MemoryIndex
	// Extra returns the EXTRA section, from what the viewer sees, for requests that do not set it. May be nil.
	Extra func(views.Seen) string
}

// Degraded parts of a context.
const (
	WithoutIndex  = "index"
	WithoutRecall = "recall"
	// WithoutWorking means that the state of the task is more sensitive than the request may see.
	WithoutWorking = "working"
)

// Build answers a request. It fails if the request is invalid (*schema.ValidationError) or Postgres is unavailable.
// If recall or the index fails, the context is built without it and Degraded names it.
func (b *Builder) Build(ctx context.Context, req ledger.ContextRequest) (ledger.ContextResponse, error) {
	if err := req.Validate(); err != nil {
		return ledger.ContextResponse{}, err
	}
	asked := req.RecallRequest()
	clearance := b.Recaller.TrustMeta(asked)
	out := ledger.ContextResponse{Trust: clearance}
	var index views.MemoryIndex
	if req.Memory.UseSalience && req.Memory.UseIndex {
		if b.Index != nil {
			index = b.Index(req.Principal.Tenant, req.Principal.Agent)
		}
		if index == nil {
			out.Degraded = append(out.Degraded, WithoutIndex)
		}
	}
	memory := settings(req.Memory)
	view := events.ViewInput{Tenant: req.Principal.Tenant, Streams: req.Streams, Memory: memory,
		Turn: req.Turn, Scene: req.Scene, Index: index, Viewer: views.Viewer{Agent: req.Principal.Agent,
			PolicyGroup: req.Principal.PolicyGroup, User: req.Principal.User,
			MaxSensitivity: clearance.MaxSensitivity}}
	read, err := b.Store.ForView(ctx, view)
	if err != nil {
		return ledger.ContextResponse{}, err
	}
	r := views.Request{Viewer: read.Viewer, Events: read.Events, Turn: read.Turn, Identity: req.Identity,
		Memory: memory,
		Index:  index, Scene: req.Scene, Extra: b.Extra, OutputFormat: req.OutputFormat,
		BudgetTokens: cmp.Or(req.BudgetTokens, ledger.MaxContextTokens)}
	if req.Extra != "" {
		r.Extra = func(views.Seen) string { return req.Extra }
	}
	if asked.Query != "" {
		found, err := b.Recaller.Recall(ctx, asked)
		switch {
		case ctx.Err() != nil:
			return ledger.ContextResponse{}, fmt.Errorf("build a context: %w", context.Cause(ctx))
		case err != nil:
			out.Degraded = append(out.Degraded, WithoutRecall)
		}
		r.Recalled = found.Results
		out.Degraded = append(out.Degraded, found.Meta.Degraded...)
	}
	working, err := b.Store.WorkingOf(ctx, sessions.WorkingInput{Principal: req.Principal, Session: req.Session,
		Streams: req.Streams})
	switch {
	case err != nil:
		return ledger.ContextResponse{}, fmt.Errorf("build a context: %w", err)
	case working == nil:
	case sensitive.Rank(working.Sensitivity) > sensitive.Rank(clearance.MaxSensitivity):
		out.Degraded = append(out.Degraded, WithoutWorking)
	default:
		r.Working = &working.Payload
	}
	built, err := views.Build(ctx, r)
	if err != nil && index != nil && ctx.Err() == nil { // an index is advisory
		out.Degraded = append(out.Degraded, WithoutIndex)
		view.Index, r.Index = nil, nil
		if read.Partial { // without an index fewer events may be enough, and not the same ones
			if read, err = b.Store.ForView(ctx, view); err != nil {
				return ledger.ContextResponse{}, err
			}
			r.Events, r.Turn = read.Events, read.Turn
		}
		built, err = views.Build(ctx, r)
	}
	if err != nil {
		return ledger.ContextResponse{}, err
	}
	out.Text, out.Tokens, out.Over = built.Text(), built.Tokens, built.Over
	out.Turn, out.Events, out.Partial = read.Turn, len(read.Events), read.Partial
	for _, s := range built.Sections {
		out.Sections = append(out.Sections, ledger.ContextSection{Name: string(s.Name), LeftOut: s.LeftOut, Cut: s.Cut})
	}
	out.Degraded = slices.Compact(out.Degraded)
	return out, nil
}

func settings(m ledger.MemorySettings) views.Memory {
	out := views.Memory{Window: m.Window, UseSalience: m.UseSalience, TopK: m.TopK, Lambda: m.Lambda,
		Importance: m.Importance, ReflectionThreshold: m.ReflectionThreshold, MaxBeliefs: m.MaxBeliefs}
	if m.Weights != nil {
		out.Weights = views.Weights(*m.Weights)
	}
	return out
}
