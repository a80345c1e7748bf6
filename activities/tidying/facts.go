package tidying

import (
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/memory/frame"
	"github.com/mneme/mneme/memory/learning/duplicates"
	"github.com/mneme/mneme/memory/learning/facts"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/tidying"
)

// Reasons not to make a change of facts.
const (
	waitsForPerson = "policy_review"  // the policy requires a person to decide
	notSure        = "low_confidence" // below the policy's confidence
)

// maxRounds is how often a run decides on facts at most. It decides again if evidence was removed in between.
const maxRounds = 3

// FindStatements checks whether there are episodes that UpdateFacts has not read. It returns at most one group.
func (a *Tidying) FindStatements(ctx context.Context, in Request) (Page, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	at, err := a.Store.WatermarkOf(ctx, in.scope(), api.WorkflowUpdateFacts)
	if err != nil {
		return Page{}, step.Fail(err)
	}
	if in.Full {
		at = tidying.Place{}
	}
	_, next, _, err := a.Store.Statements(ctx, in.scope(), tidying.Place{At: in.Until.Add(time.Minute), ID: uuid.Max},
		1)
	if err != nil || next.ID == uuid.Max || !next.After(at) {
		return Page{Next: at}, step.Fail(err)
	}
	return Page{Read: 1, Groups: [][]string{{next.ID.String()}}, Next: next}, nil
}

// UpdateFacts compares the newest episodes with the stored facts, and writes the differences. In shadow mode it
// counts what it would write. If evidence was removed in between, it decides again on the rest.
func (a *Tidying) UpdateFacts(ctx context.Context, in WriteRequest) (api.LearnResult, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	var out api.LearnResult
	var said readings
	for range maxRounds {
		dropped := out.Dropped
		if err := a.learn(ctx, in.Request, &said, &out); err != nil {
			return out, step.Fail(step.Stalled(ctx, err))
		}
		if out.Dropped == dropped {
			break
		}
	}
	if err := a.remember(ctx, in.Request, &said); err != nil {
		return out, step.Fail(step.Stalled(ctx, err))
	}
	a.observe(api.WorkflowUpdateFacts, out)
	return out, nil
}

// learn decides once on all known facts and new statements, and writes the changes.
func (a *Tidying) learn(ctx context.Context, in Request, model *readings, out *api.LearnResult) error {
	known, err := a.Store.KnownFacts(ctx, in.scope())
	if err != nil {
		return err
	}
	said, err := a.said(ctx, in)
	if err != nil {
		return err
	}
	var learner facts.Learner
	byID := map[string]*tidying.Known{}
	conditional := map[string][]*tidying.Known{}
	for i, k := range known {
		byID[k.ID] = &known[i]
		if len(k.Conditions) > 0 {
			key := wordsOf(k.Text, k.Who)
			conditional[key] = append(conditional[key], &known[i])
		}
		learner.Know(k.Fact)
	}
	retired, err := a.Store.RetiredFacts(ctx, in.scope())
	if err != nil {
		return err
	}
	for _, r := range retired {
		learner.Retire(r)
	}
	episodes := map[string]tidying.Statement{}
	again := map[string][]string{} // evidence of conditional facts whose conditions were met
	for _, s := range said {
		text, lasting, err := states(ctx, s)
		if err != nil {
			return err
		}
		if !lasting || !s.Trusted() {
			continue
		}
		inCase := append(slices.Clone(conditional[wordsOf(s.Text, s.Who)]), conditional[wordsOf(text, s.Who)]...)
		s.Text = text
		episodes[s.ID] = s
		if i := slices.IndexFunc(inCase, func(k *tidying.Known) bool {
			return k.Conditions.Hold(s.Context)
		}); i >= 0 {
			again[inCase[i].ID] = append(again[inCase[i].ID], s.ID)
			continue
		}
		learner.Add(s.Observation)
	}
	if a.asks(in) {
		if err := a.readFacts(ctx, in, &learner, episodes, model, out); err != nil {
			return err
		}
	}
	updates := learner.Updates()
	for _, fact := range slices.Sorted(maps.Keys(again)) {
		k := byID[fact]
		updates = append(updates, facts.Update{Action: facts.Reinforce, Target: fact, Text: k.Text, Who: k.Who,
			Conditions: k.Conditions, Confidence: k.Confidence, Evidence: again[fact], Why: "said again"})
	}
	for i, u := range updates {
		if k := byID[u.Target]; k != nil && k.WiderThan(saidIn(u.Evidence, episodes)) {
			updates[i] = u.AsNewFact()
		}
	}
	if a.asks(in) {
		if err := a.judge(ctx, in, updates, byID, model, out); err != nil {
			return err
		}
	}
	wrote := map[int]*tidying.Known{} // facts of this run, by the numbers of their updates
	for i, u := range updates {
		out.Groups++
		target := byID[u.Target]
		if u.Rival > 0 && !a.shadow(in) {
			u, target = against(wrote[u.Rival], u, saidIn(u.Evidence, episodes))
		}
		written, err := a.update(ctx, in, u, target, episodes, out)
		if err != nil {
			return err
		}
		wrote[i+1] = written.Fact
		if u.Rival > 0 && written.Target != nil {
			wrote[u.Rival] = written.Target
		}
		step.Advance(ctx)
	}
	return nil
}

// against returns the contest of a fact that this run has written, and its target. If the fact was not written, or more
// agents read it than the statements, there is nothing to contest.
func against(rival *tidying.Known, u facts.Update, said []tidying.Statement) (facts.Update, *tidying.Known) {
	if rival == nil {
		u = u.AsNewFact()
		u.Why = "said in several sessions"
		return u, nil
	}
	if rival.WiderThan(said) {
		return u.AsNewFact(), nil
	}
	u.Target = rival.ID
	return u, rival
}

// states reports whether a text is a statement, and returns the text as a fact: "Maya lives in Porto", if Maya says "I
// live in Porto". A question or a request is not evidence for a fact, however often it is repeated.
func states(ctx context.Context, s tidying.Statement) (text string, ok bool, err error) {
	read, _, err := rules.Extractor{}.Extract(ctx, inference.Source{Content: s.Text, Kind: schema.SourceUserInput,
		Speaker: s.Who, OccurredAt: s.At})
	if err != nil || len(read.Facts) != 1 || read.Facts[0].Retracts {
		return s.Text, len(read.Facts) > 0, err
	}
	text = read.Facts[0].Content
	own := func(text string) bool {
		return slices.ContainsFunc(frame.Read(text, s.Who), frame.Frame.OfSpeaker)
	}
	named := frame.SpeakerKey(s.Who) != "" && !strings.HasPrefix(s.Who, "agent:") // not by a role such as "user"
	if own(s.Text) && (!named || !own(text)) {
		return s.Text, true, nil // it would no longer be known whom it is about
	}
	return text, true, nil
}

// wordsOf returns a key that is equal for statements of one person in the same words.
func wordsOf(text, who string) string {
	return duplicates.Key(duplicates.Record{Type: schema.TypeSemantic, Content: text, Who: who})
}

// said reads the statements of the newest episodes, in the order in which they were made.
func (a *Tidying) said(ctx context.Context, in Request) ([]tidying.Statement, error) {
	var out []tidying.Statement
	before, more := tidying.Place{At: in.Until.Add(time.Minute), ID: uuid.Max}, true
	for rows := 0; more && rows < tidying.MaxStatements; rows += pageRows {
		page, next, left, err := a.Store.Statements(ctx, in.scope(), before, pageRows)
		if err != nil {
			return nil, err
		}
		out, before, more = append(out, page...), next, left
		step.Advance(ctx)
	}
	slices.SortStableFunc(out, func(x, y tidying.Statement) int { return x.At.Compare(y.At) })
	return out, nil
}

// update writes one change, unless the policy or a stored fact prevents it, and returns what it has written.
func (a *Tidying) update(ctx context.Context, in Request, u facts.Update, target *tidying.Known,
	episodes map[string]tidying.Statement, out *api.LearnResult) (written tidying.Written, err error) {
	evidence := slices.Compact(slices.Sorted(slices.Values(u.Evidence)))
	if u.Action == facts.Reinforce {
		if evidence, err = a.Store.Fresh(ctx, in.Tenant, u.Target, evidence); err != nil || len(evidence) == 0 {
			return written, err
		}
	}
	if reason := a.forbids(u, target); reason != "" {
		refuse(out, reason)
		return written, nil
	}
	if a.shadow(in) {
		count(out, u.Action)
		return written, nil
	}
	said := saidIn(evidence, episodes)
	write := tidying.FactInput{Writes: a.writes(in, "fact:"+string(u.Action)+":"+u.Target, keysOf(u, target, evidence)),
		Scope: in.scope(), Update: u, Target: target, Statements: said, Policy: a.Policy, Rules: step.RulesInForce(a.Rules)}
	if u.Action != facts.Reinforce {
		if write.Embedding, err = a.embed(ctx, u.Who, u.Text); err != nil {
			return written, err
		}
	}
	if written, err = a.Store.WriteFact(ctx, write); err != nil {
		return written, err
	}
	switch status := written.Status; {
	case status == schema.ReviseApplied:
		count(out, u.Action)
	case status == tidying.Gone || status == schema.ReviseVersionConflict || status == schema.ReviseNotFound ||
		status == schema.ReviseNotLive:
		out.Dropped++
	default:
		refuse(out, string(status))
	}
	return written, nil
}

// saidIn returns the statements of episodes.
func saidIn(evidence []string, episodes map[string]tidying.Statement) []tidying.Statement {
	said := make([]tidying.Statement, len(evidence))
	for i, id := range evidence {
		said[i] = episodes[id]
	}
	return said
}

// keysOf are the inputs of a change's key: the statement, its conditions, its speaker and its sessions.
func keysOf(u facts.Update, target *tidying.Known, evidence []string) []string {
	out := append(slices.Clone(evidence), "text:"+u.Text)
	if target != nil {
		out = append(out, "version:"+strconv.Itoa(target.Version))
	}
	for _, key := range slices.Sorted(maps.Keys(u.Conditions)) {
		out = append(out, "if:"+key)
		for _, value := range u.Conditions[key] {
			out = append(out, "is:"+value)
		}
	}
	return out
}

// forbids returns the reason why the policy does not allow a change without review, or "".
func (a *Tidying) forbids(u facts.Update, target *tidying.Known) string {
	own := target != nil && target.Who == u.Who && u.Who != ""
	changes := target != nil && (u.Action == facts.Replace || u.Action == facts.Fork)
	switch {
	case math.IsNaN(u.Confidence) || u.Action != facts.Reinforce && u.Confidence < a.Policy.MinFactConfidence:
		return notSure
	case changes && a.Policy.Supersede != proposals.SupersedeAuto &&
		(a.Policy.Supersede != proposals.SupersedeOwn || !own):
		return waitsForPerson
	}
	return ""
}

func count(out *api.LearnResult, action facts.Action) {
	switch action {
	case facts.Reinforce:
		out.Updated++
	case facts.Contest:
		out.Contested++
	case facts.Replace:
		out.Replaced++
		out.Added++
	default:
		out.Added++
	}
}
