package tidying

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/facts"
	"github.com/mneme/mneme/store/tidying"
)

// Limits of the questions to a model in one run of UpdateFacts.
const (
	maxShown     = 40 // statements of one call
	maxReads     = 5  // calls about statements
	maxConflicts = 20 // pairs in the one call about conflicts
)

// Reasons for which the rules overrule a model's answer, or a model weakens a decision of the rules.
const (
	modelNotSaid  = "model_not_said"  // a statement does not say what the model claims
	modelBothHold = "model_both_hold" // a model says that both statements of a conflict can hold
)

// readings has the answers of a model in one activity. If facts are decided again because evidence was forgotten, the
// model is not asked again. The answers are stored after the changes are written, so that a retried activity asks
// again.
type readings struct {
	done     bool
	joins    []join
	shown    map[string]bool // episodes of the statements of answered calls
	verdicts map[string]tidying.Answer
}

// join is a model's answer about a batch of statements.
type join struct {
	given    []facts.Alone
	proposed []facts.Proposed
}

// readFacts asks a model for statements that say the same in different words. The learner counts them as one.
func (a *Tidying) readFacts(ctx context.Context, in Request, l *facts.Learner, episodes map[string]tidying.Statement,
	said *readings, out *api.LearnResult) error {
	first := !said.done
	if first {
		said.done, said.shown, said.verdicts = true, map[string]bool{}, map[string]tidying.Answer{}
		if err := a.askFacts(ctx, in, l, episodes, said, out); err != nil {
			return err
		}
	}
	there := func(id string) bool {
		_, ok := episodes[id]
		return ok
	}
	for _, j := range said.joins {
		given := make([]facts.Alone, len(j.given))
		for i, s := range j.given {
			given[i] = s.Of(there)
		}
		for _, p := range j.proposed {
			if l.Again(p, given) != nil && first {
				refuse(out, modelNotSaid)
			}
		}
	}
	return nil
}

func (a *Tidying) askFacts(ctx context.Context, in Request, l *facts.Learner, episodes map[string]tidying.Statement,
	said *readings, out *api.LearnResult) error {
	known, err := a.shownBefore(ctx, in, episodes)
	if err != nil {
		return err
	}
	began := time.Now()
	for _, batch := range l.Alone(func(id string) bool { return !known[id] }, maxShown, maxReads) {
		if time.Since(began) > modelsFor {
			return nil // the rest is for the next run
		}
		statements, size := make([]facts.Statement, len(batch)), promptOverhead
		var ids []string
		for i, s := range batch {
			statements[i] = facts.Statement{Number: i + 1, Speaker: s.Who, Text: s.Text}
			size += len(s.Who) + len(s.Text)
			ids = append(ids, s.Episodes()...)
		}
		var proposed []facts.Proposed
		ok := false
		spent, err := a.meter().Ask(ctx, step.Metered{Tenant: in.Tenant, Purpose: string(tidying.AskFacts),
			Key: string(tidying.AskFacts) + ":" + evidence.HashOf(ids), Bytes: size,
			Answer: inference.FactsAnswerTokens}, func(ctx context.Context) (usage inference.Usage, err error) {
			proposed, ok, usage, err = a.Reader.ReadFacts(ctx, statements)
			return usage, err
		})
		out.Tokens, out.Held = out.Tokens+spent.Tokens, out.Held || spent.Held
		switch {
		case err != nil:
			return err
		case spent.Held:
			return nil
		case spent.Failed != "":
			refuse(out, modelSilent)
			return nil // the next run asks again
		case !ok:
			refuse(out, modelSilent)
		default:
			said.joins = append(said.joins, join{batch, proposed})
		}
		for _, id := range ids {
			said.shown[id] = true
		}
	}
	return nil
}

func (a *Tidying) meter() step.Meter {
	return step.Meter{Store: a.Store, Limit: a.Budget, Held: a.Held, Now: a.Now}
}

// shownBefore returns the episodes whose statements an earlier run has shown to a model.
func (a *Tidying) shownBefore(ctx context.Context, in Request, episodes map[string]tidying.Statement) (map[string]bool,
	error) {
	var asked []tidying.Answer
	for id := range episodes {
		one, err := shownAnswer(id)
		if err != nil {
			return nil, err
		}
		asked = append(asked, one)
	}
	known, err := a.Store.ModelAnswers(ctx, in.Tenant, tidying.AskFacts, asked)
	out := map[string]bool{}
	for about := range known {
		out[about[0].String()] = true
	}
	return out, err
}

// shownAnswer is the stored answer for an episode that was shown to a model.
func shownAnswer(episode string) (tidying.Answer, error) {
	id, err := uuid.Parse(episode)
	return tidying.Answer{Memory: id, Other: id, Question: questionOf(string(tidying.AskFacts)),
		Text: tidying.AnswerShown}, err
}

// questionOf returns the hash that identifies a question with these texts.
func questionOf(texts ...string) []byte {
	h := sha256.New()
	for _, text := range texts {
		h.Write(append([]byte(text), 0))
	}
	return h.Sum(nil)
}

// judge asks a model whether both statements of a doubtful conflict can hold. If it says so, the change is weakened.
func (a *Tidying) judge(ctx context.Context, in Request, updates []facts.Update, byID map[string]*tidying.Known,
	said *readings, out *api.LearnResult) error {
	var doubtful []int
	var asked []tidying.Answer
	for i, u := range updates {
		target := byID[u.Target]
		if !u.Doubtful() || target == nil || a.forbids(u, target) != "" || len(doubtful) == maxConflicts {
			continue
		}
		id, err := uuid.Parse(u.Target)
		if err != nil {
			return err
		}
		doubtful = append(doubtful, i)
		asked = append(asked, tidying.Answer{Memory: id, Other: id, Question: questionOf(target.Text, u.Text)})
	}
	known, err := a.Store.ModelAnswers(ctx, in.Tenant, tidying.AskConflicts, asked)
	if err != nil {
		return err
	}
	var open []int // indexes into asked
	for i, one := range asked {
		if text, ok := known[one.About()]; ok {
			asked[i].Text = text
		} else if now, ok := said.verdicts[string(one.Question)]; ok {
			asked[i].Text = now.Text
		} else {
			open = append(open, i)
		}
	}
	if err := a.askConflicts(ctx, in, open, asked, func(i int) facts.Pair {
		u := updates[doubtful[i]]
		return facts.Pair{Held: byID[u.Target].Text, Said: u.Text}
	}, out); err != nil {
		return err
	}
	for i, one := range asked {
		if one.Text != "" {
			said.verdicts[string(one.Question)] = one
		}
		u := &updates[doubtful[i]]
		if now := u.Judged(facts.Verdict(one.Text)); now.Action != u.Action {
			*u = now
			refuse(out, modelBothHold)
		}
	}
	return nil
}

// askConflicts asks a model about pairs and sets the texts of their answers. Without an answer a text stays empty.
func (a *Tidying) askConflicts(ctx context.Context, in Request, open []int, asked []tidying.Answer,
	pair func(int) facts.Pair, out *api.LearnResult) error {
	if len(open) == 0 {
		return nil
	}
	pairs, size := make([]facts.Pair, len(open)), promptOverhead
	var keys []string
	for n, i := range open {
		pairs[n] = pair(i)
		pairs[n].Number = n + 1
		size += len(pairs[n].Held) + len(pairs[n].Said)
		keys = append(keys, string(asked[i].Question))
	}
	var verdicts []facts.Verdict
	spent, err := a.meter().Ask(ctx, step.Metered{Tenant: in.Tenant, Purpose: string(tidying.AskConflicts),
		Key: string(tidying.AskConflicts) + ":" + evidence.HashOf(keys), Bytes: size,
		Answer: inference.ConflictsAnswerTokens}, func(ctx context.Context) (usage inference.Usage, err error) {
		verdicts, usage, err = a.Reader.JudgeConflicts(ctx, pairs)
		return usage, err
	})
	out.Tokens, out.Held = out.Tokens+spent.Tokens, out.Held || spent.Held
	switch {
	case err != nil || spent.Held:
		return err
	case spent.Failed != "":
		refuse(out, modelSilent)
		return nil
	case len(verdicts) != len(pairs):
		refuse(out, modelSilent)
		verdicts = make([]facts.Verdict, len(pairs))
		for n := range verdicts {
			verdicts[n] = facts.Unsure
		}
	}
	for n, i := range open {
		asked[i].Text = string(verdicts[n])
	}
	return nil
}

// remember stores the answers of a model. It is called after the changes that follow from them are written.
func (a *Tidying) remember(ctx context.Context, in Request, said *readings) error {
	var shown, verdicts []tidying.Answer
	for id := range said.shown {
		one, err := shownAnswer(id)
		if err != nil {
			return err
		}
		shown = append(shown, one)
	}
	for _, v := range said.verdicts {
		verdicts = append(verdicts, v)
	}
	if err := a.Store.KeepModelAnswers(ctx, in.Tenant, tidying.AskFacts, shown, step.Now(a.Now)); err != nil {
		return err
	}
	return a.Store.KeepModelAnswers(ctx, in.Tenant, tidying.AskConflicts, verdicts, step.Now(a.Now))
}

// asks reports whether a model may be asked. A run in shadow mode does not ask one.
func (a *Tidying) asks(in Request) bool { return a.Reader != nil && !a.shadow(in) }
