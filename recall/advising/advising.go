package advising

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/memory/learning/advice"
	"github.com/mneme/mneme/memory/learning/competence"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	storeadvising "github.com/mneme/mneme/store/advising"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/search"
)

// maxCandidates is the number of procedures and plans that are considered; those for the same problem come first.
const maxCandidates = 50

// Adviser advises agents and records reports on its advice. It is safe for concurrent use.
type Adviser struct {
	Store    *store.Store
	Recaller *recall.Recaller // whose filter is used
	Now      func() time.Time // time.Now when nil

	// Observe, if set, is called after every answer and report, with its outcome and duration.
	Observe func(operation, outcome string, took time.Duration)
}

// Outcomes of answers and reports, as Observe gets them.
const (
	Advised   = "advised"
	Tentative = "tentative" // the advice is a fix that helped once
	Unsure    = "unsure"    // no candidate is certain enough
	Unknown   = "unknown"   // there is no candidate
	Reported  = "reported"
	Held      = "held" // the reported outcome counts only in the reporter's own advice
	Failed    = "failed"
)

// Advise chooses a procedure or a plan for a situation. It fails on an invalid request (*schema.ValidationError) or
// if Postgres is unavailable.
func (a *Adviser) Advise(ctx context.Context, req api.AdviseRequest) (api.AdviseResponse, error) {
	return a.AdviseAs(ctx, uuid.Must(uuid.NewV7()), req)
}

// AdviseAs is Advise with an id chosen by the caller. A caller that may repeat the call uses the same id, and the
// advice is stored once.
func (a *Adviser) AdviseAs(ctx context.Context, id uuid.UUID, req api.AdviseRequest) (api.AdviseResponse, error) {
	start := time.Now()
	out, err := a.advise(ctx, id, req)
	outcome := Unknown
	switch {
	case err != nil:
		outcome = Failed
	case out.Best != nil && out.Best.Tentative:
		outcome = Tentative
	case out.Best != nil:
		outcome = Advised
	case len(out.Others) > 0:
		outcome = Unsure
	}
	a.observe("advise", outcome, start)
	return out, err
}

func (a *Adviser) advise(ctx context.Context, id uuid.UUID, req api.AdviseRequest) (api.AdviseResponse, error) {
	if err := req.Validate(); err != nil {
		return api.AdviseResponse{}, err
	}
	f := a.filter(req.Principal, req.ReadPolicy)
	s := advice.Situation{Task: req.Task, Error: req.Error, Context: req.Context, Preferences: req.Preferences,
		WorkingDir: req.WorkingDir}
	if f := req.Failed; f != nil {
		s.Failed = trace.CallOf(f.Tool, f.Args)
	}
	candidates, public, err := a.candidates(ctx, f, s)
	if err != nil {
		return api.AdviseResponse{}, err
	}
	answer := advice.Advise(s, candidates)
	var tried []advice.DidNotHelp
	if problem := signature.OfError(s.Error); !answer.Sure() && !problem.IsZero() {
		episodes, err := a.Store.EpisodesWith(ctx, f, problem.Words, asked(s))
		if err != nil {
			return api.AdviseResponse{}, err
		}
		attempts, reports := attemptsOf(episodes)
		candidates = append(candidates, tentative(s, attempts, reports, readerOf(f.Principal))...)
		answer, tried = advice.Advise(s, candidates), advice.Tried(s, attempts, candidates...)
	}
	out := api.AdviseResponse{AdviceID: id.String(), MissingContext: answer.MissingContext}
	for _, t := range tried {
		steps, err := stepsOf(t.Steps)
		if err != nil {
			return api.AdviseResponse{}, err
		}
		out.DidNotHelp = append(out.DidNotHelp, api.DidNotHelp{Steps: steps, Chance: t.Chance, Episode: t.Episode})
	}
	types, stats := map[string]schema.MemoryType{}, map[string]evidence.Stats{}
	for _, c := range candidates {
		types[c.ID], stats[c.ID] = schema.TypeCompetence, c.Stats
		if c.Plan != nil {
			types[c.ID] = schema.TypePlanGraph
		}
	}
	maps.Copy(stats, public) // a report is counted after the outcomes that count for everyone
	options := answer.Others
	if answer.Best != nil {
		options = slices.Concat([]advice.Option{*answer.Best}, options)
	}
	kept := storeadvising.Advice{ID: id, Principal: req.Principal, Situation: competence.Situation(req.Context),
		Problem: asked(s)}
	for i, o := range options {
		kept.Offered = append(kept.Offered, storeadvising.Offer{ID: o.ID, Stats: stats[o.ID]})
		option, err := optionOf(o, types[o.ID])
		if err != nil {
			return api.AdviseResponse{}, err
		}
		if i == 0 && answer.Best != nil {
			out.Best = &option
		} else {
			out.Others = append(out.Others, option)
		}
	}
	return out, a.Store.SaveAdvice(ctx, kept, a.now())
}

// asked returns the hash of the problem or the task of a situation.
func asked(s advice.Situation) string {
	return evidence.ProblemHash(trace.Attempt{Problem: signature.OfError(s.Error), Intent: s.Task}.Key())
}

// filter returns the filter of a recall without a situation, because procedures and plans hold their own
// conditions.
func (a *Adviser) filter(p schema.Principal, policy schema.ReadPolicy) pg.Filter {
	return a.Recaller.Filter(schema.RecallRequest{Principal: p, ReadPolicy: policy})
}

// candidates reads possible solutions: procedures for the same problem, or else those that share words with it, and
// those that share words with the task. public is as in candidatesOf.
func (a *Adviser) candidates(ctx context.Context, f pg.Filter, s advice.Situation) (out []advice.Candidate,
	public map[string]evidence.Stats, err error) {
	problem := signature.OfError(s.Error)
	var ids []uuid.UUID
	if !problem.IsZero() {
		if ids, err = a.Store.ForProblem(ctx, f, problem.Text); err != nil {
			return nil, nil, err
		}
	}
	texts := []string{s.Task}
	if len(ids) == 0 {
		texts = append(texts, problem.Text)
	}
	texts = slices.DeleteFunc(texts, func(t string) bool { return strings.TrimSpace(t) == "" })
	var near []search.Hit
	if len(texts) > 0 {
		if near, err = a.Store.SearchSignals(ctx, f, texts, maxCandidates); err != nil {
			return nil, nil, err
		}
	}
	for _, h := range near {
		if len(ids) < maxCandidates && !slices.Contains(ids, h.ID) {
			ids = append(ids, h.ID)
		}
	}
	solutions, err := a.Store.SolutionsWith(ctx, f, ids)
	if err != nil {
		return nil, nil, err
	}
	out, public = candidatesOf(solutions, readerOf(f.Principal))
	return out, public, nil
}

// candidatesOf returns the solutions from trusted sources as candidates, with the outcomes that count for a reader. If
// these include feedback that does not count for others, public has the outcomes without it.
func candidatesOf(solutions []storeadvising.Solution, who evidence.Reader) (out []advice.Candidate,
	public map[string]evidence.Stats) {
	public = map[string]evidence.Stats{}
	for _, s := range solutions {
		if s.Trust < evidence.Default().MinTrust {
			continue
		}
		c := advice.Candidate{ID: s.ID.String(), Evidence: s.Evidence}
		var performance *schema.Performance
		if s.Type == schema.TypePlanGraph {
			c.Plan = &schema.PlanGraphPayload{}
			if json.Unmarshal(s.Payload, c.Plan) != nil {
				continue
			}
			performance = c.Plan.Metrics
		} else {
			c.Competence = &schema.CompetencePayload{}
			if json.Unmarshal(s.Payload, c.Competence) != nil {
				continue
			}
			performance = c.Competence.Performance
		}
		switch c.Stats = evidence.Claimed(performance); {
		case s.Stats != nil:
			c.Stats = s.For(who)
		case s.HeldSuccesses > 0 || s.HeldFailures > 0:
			public[c.ID], c.Stats = c.Stats, c.Stats.Then(s.HeldSuccesses, s.HeldFailures)
		}
		out = append(out, c)
	}
	return out, public
}

// attemptsOf returns the attempts in episodes, and the reports on each episode.
func attemptsOf(episodes []storeadvising.Episode) (attempts []trace.Attempt, reports map[string]evidence.Reports) {
	reports = map[string]evidence.Reports{}
	for _, e := range episodes {
		var p schema.EpisodicPayload
		if json.Unmarshal(e.Payload, &p) != nil {
			continue
		}
		id := e.ID.String()
		reports[id] = evidence.Reports{List: e.Reports, Shared: e.Shared}
		attempts = append(attempts, trace.OfEpisode(trace.Meta{Episode: id, Source: trace.Source{Agent: e.AgentID,
			Session: e.Session, Origin: e.CreatedBy, Witnessed: e.Witnessed, Trust: e.Trust}}, p)...)
	}
	return attempts, reports
}

// tentative returns candidates for fixes that the ledger has seen help before, with the outcomes that count for a
// reader.
func tentative(s advice.Situation, attempts []trace.Attempt, reports map[string]evidence.Reports,
	who evidence.Reader) []advice.Candidate {
	out := advice.Tentative(s, attempts)
	for i, c := range out {
		var of evidence.Reports
		for _, e := range c.Evidence { // a report names the newest episode at that time
			of.List, of.Shared = append(of.List, reports[e].List...), of.Shared || reports[e].Shared
		}
		of = of.With(c.Shown)
		out[i].Stats = of.Counted(of.For(who))
	}
	return out
}

func optionOf(o advice.Option, kind schema.MemoryType) (api.AdviceOption, error) {
	out := api.AdviceOption{MemoryID: o.ID, Name: o.Name, Type: string(kind), Confidence: o.Confidence,
		Tentative: o.Tentative, Evidence: o.Evidence, Missing: o.Missing, Unknown: o.Unknown, Fallbacks: o.Fallbacks,
		FailureModes: o.FailureModes}
	var err error
	out.Steps, err = stepsOf(o.Steps)
	return out, err
}

func stepsOf(steps []advice.Step) (out []api.AdviceStep, err error) {
	for _, s := range steps {
		step := api.AdviceStep{Text: s.Text, Tool: s.Tool, Validation: s.Validation, Optional: s.Optional,
			Missing: s.Missing}
		if len(s.Args) > 0 {
			if err := json.Unmarshal(s.Args, &step.Args); err != nil {
				return nil, errors.New("the arguments of a step are not an object")
			}
		}
		out = append(out, step)
	}
	return out, nil
}

// Report counts the outcome of advice. A repeated report counts once.
func (a *Adviser) Report(ctx context.Context, req api.ReportRequest) (api.ReportResult, error) {
	start := time.Now()
	result, err := a.report(ctx, req)
	outcome := Reported
	switch {
	case err != nil:
		outcome = Failed
	case result.Held != "":
		outcome = Held
	}
	a.observe("report", outcome, start)
	return result, err
}

func (a *Adviser) report(ctx context.Context, req api.ReportRequest) (api.ReportResult, error) {
	if err := req.Validate(); err != nil {
		return api.ReportResult{}, err
	}
	r := advice.Report{Used: req.Used, Outcome: req.Outcome, Context: req.Context, Agent: req.Principal.Agent,
		User: readerOf(req.Principal).User, Session: req.Session, At: a.now()}
	for _, s := range req.Steps {
		r.Steps = append(r.Steps, advice.StepOutcome{OK: s.OK, Skipped: s.Skipped, Error: s.Error})
	}
	out, err := a.Store.Count(ctx, a.filter(req.Principal, req.ReadPolicy), uuid.MustParse(req.AdviceID), r, a.now())
	switch {
	case errors.Is(err, pg.ErrNotFound):
		err = invalid("advice_id", "must be the id of advice that you were given in the last thirty days")
	case errors.Is(err, storeadvising.ErrReported):
		err = invalid("outcome", "differs from what was reported before")
	}
	return api.ReportResult{Changed: out.Changed, Status: out.Status, Successor: out.Successor,
		CountsFor: out.CountsFor, Held: out.Held}, err
}

// readerOf returns the source of a principal's reports.
func readerOf(p schema.Principal) evidence.Reader {
	return evidence.Reader{Agent: p.Agent, User: evidence.UserKey(p.Tenant, p.Agent, p.User)}
}

func invalid(field, problem string) error {
	return &schema.ValidationError{Fields: []schema.FieldError{{Field: field, Problem: problem}}}
}

func (a *Adviser) now() time.Time {
	if a.Now != nil {
		return a.Now().UTC()
	}
	return time.Now().UTC()
}

func (a *Adviser) observe(operation, outcome string, start time.Time) {
	if a.Observe != nil {
		a.Observe(operation, outcome, time.Since(start))
	}
}
