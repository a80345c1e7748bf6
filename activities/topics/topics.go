package topics

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/budget"
	rules "github.com/mneme/mneme/memory/topics"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/topics"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/budgets"
	"github.com/mneme/mneme/store/pg"
	storetopics "github.com/mneme/mneme/store/topics"
)

// Topics keeps the answers of standing questions up to date.
type Topics struct {
	Store    *store.Store
	Recaller *recall.Recaller
	Writer   inference.TopicWriter // if nil, the rules answer
	Budget   int64                 // tokens of a tenant and day; 0: no limit
	Held     func(use string)      // called when a call does not fit into the budget; may be nil
	Now      func() time.Time
}

// purpose is the purpose of tokens that topics reserve.
const purpose = "topic"

// TopicRef names a topic.
type TopicRef struct {
	Tenant string `json:"tenant"`
	Topic  string `json:"topic"`
}

func (r TopicRef) id() (uuid.UUID, error) {
	id, err := uuid.Parse(r.Topic)
	if err != nil {
		return uuid.Nil, &schema.ValidationError{Fields: []schema.FieldError{{Field: "topic",
			Problem: "must be a UUID"}}}
	}
	return id, nil
}

// CheckTopicRequest is a request to compare a topic's evidence. Misread has the problems found when the run's input
// was decoded.
type CheckTopicRequest struct {
	TopicRef
	Misread []schema.FieldError `json:"misread,omitempty"`
}

// CheckTopicResult is a topic's current evidence set, compared with that of its answer.
type CheckTopicResult struct {
	Refresh  bool   `json:"refresh"`
	Changed  int    `json:"changed"`
	Memories int    `json:"memories"` // number of memories in the evidence
	Hash     string `json:"hash"`
	Drafted  bool   `json:"drafted,omitempty"` // there is a draft of this evidence already
}

// CheckTopic compares the evidence set that recall finds for a topic now with that of its current answer, and records
// the result. It calls no chat model. Its recall is not recorded as an access, because a sweep must not keep memories
// alive.
func (a *Topics) CheckTopic(ctx context.Context, in CheckTopicRequest) (CheckTopicResult, error) {
	if len(in.Misread) > 0 {
		return CheckTopicResult{}, step.Fail(&schema.ValidationError{Fields: in.Misread})
	}
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	out, err := a.check(ctx, in.TopicRef)
	return out, step.Fail(step.Stalled(ctx, err))
}

func (a *Topics) check(ctx context.Context, ref TopicRef) (CheckTopicResult, error) {
	id, err := ref.id()
	if err != nil {
		return CheckTopicResult{}, err
	}
	topic, err := a.Store.TopicByID(ctx, ref.Tenant, id)
	if err != nil {
		return CheckTopicResult{}, err
	}
	state, err := a.Store.TopicState(ctx, ref.Tenant, id)
	if err != nil {
		return CheckTopicResult{}, err
	}
	evidence, err := a.evidence(ctx, topic)
	if err != nil {
		return CheckTopicResult{}, err
	}
	refs := rules.Refs(evidence)
	due := rules.Judge(state.Number, state.Blanked, state.Refs, refs)
	out := CheckTopicResult{Refresh: due.Refresh, Changed: due.Changed, Memories: len(refs), Hash: rules.Hash(refs)}
	out.Drafted = state.Drafted == out.Hash
	return out, a.Store.NoteCheck(ctx, ref.Tenant, id, due.Changed, "", step.Now(a.Now))
}

// request returns the recall request of a topic.
func request(t topics.Topic) schema.RecallRequest {
	return schema.RecallRequest{Principal: t.Principal, ReadPolicy: t.ReadPolicy, Query: t.Question, Limit: t.Evidence,
		Superseded: true}
}

// Filter returns the filter of memories that the principal of a topic may see now.
func Filter(r *recall.Recaller, t topics.Topic) pg.Filter { return r.Filter(request(t)) }

// evidence returns the memories that recall finds for a topic and that its principal may read in full. A degraded
// recall cannot show whether evidence has changed, so it is an error and is retried.
func (a *Topics) evidence(ctx context.Context, t topics.Topic) ([]rules.Evidence, error) {
	quiet := *a.Recaller
	quiet.Untracked, quiet.Reranking, quiet.Observe = true, inference.Reranking{}, nil
	found, err := quiet.Recall(ctx, request(t))
	if err != nil {
		return nil, err
	}
	if len(found.Meta.Degraded) > 0 {
		return nil, fmt.Errorf("recall left out %v", found.Meta.Degraded)
	}
	var ids []uuid.UUID
	current := map[string]schema.Currentness{}
	for _, row := range found.Results {
		id, err := uuid.Parse(row.ID)
		if err != nil || row.Supplementary || row.Redacted != "" {
			continue
		}
		ids = append(ids, id)
		current[row.ID] = row.Currentness
	}
	evidence, err := a.Store.Evidence(ctx, Filter(a.Recaller, t), ids)
	for i, e := range evidence {
		evidence[i].Currentness = current[e.ID]
	}
	return evidence, err
}

// DraftTopicRequest is a request for an answer of an evidence set.
type DraftTopicRequest struct {
	TopicRef
	Hash  string `json:"hash"`            // of the evidence set that was checked
	Rules bool   `json:"rules,omitempty"` // the model could not be reached: the rules write it
	Key   string `json:"key"`             // for the reservation of tokens, with the number of the attempt
}

// DraftTopicResult describes the draft.
type DraftTopicResult struct {
	Outcome   storetopics.Outcome `json:"outcome"`
	Parts     int                 `json:"parts"`
	WrittenBy string              `json:"written_by"`
	Fallback  string              `json:"fallback,omitempty"`
	Tokens    int64               `json:"tokens,omitempty"`
}

// byRules is the author of an extract.
const byRules = "rules"

// DraftTopic writes the answer of an evidence set and stores it as the topic's draft. If the evidence has changed
// since it was checked, nothing is written and no model is asked. A model's answer that does not pass rules.Check is
// replaced by the extract.
func (a *Topics) DraftTopic(ctx context.Context, in DraftTopicRequest) (DraftTopicResult, error) {
	ctx, stop := step.Heartbeat(ctx)
	defer stop()
	out, err := a.draft(ctx, in)
	var exceeded *budget.ExceededError
	if errors.As(err, &exceeded) {
		return out, temporal.NewNonRetryableApplicationError(exceeded.Error(), api.ErrTypeBudgetExceeded, nil)
	}
	return out, step.Fail(step.Stalled(ctx, err))
}

func (a *Topics) draft(ctx context.Context, in DraftTopicRequest) (DraftTopicResult, error) {
	id, err := in.id()
	if err != nil {
		return DraftTopicResult{}, err
	}
	topic, err := a.Store.TopicByID(ctx, in.Tenant, id)
	if err != nil {
		return DraftTopicResult{}, err
	}
	state, err := a.Store.TopicState(ctx, in.Tenant, id)
	if err != nil {
		return DraftTopicResult{}, err
	}
	if state.Drafted == in.Hash { // by an attempt whose acknowledgement was lost
		return DraftTopicResult{Outcome: storetopics.Written, Parts: state.DraftParts, WrittenBy: state.DraftBy}, nil
	}
	asOf := step.Now(a.Now)
	evidence, err := a.evidence(ctx, topic)
	if err != nil {
		return DraftTopicResult{}, err
	}
	refs := rules.Refs(evidence)
	if rules.Hash(refs) != in.Hash {
		return DraftTopicResult{Outcome: storetopics.Outdated}, nil
	}
	draft := storetopics.Draft{Tenant: in.Tenant, Topic: id, Filter: Filter(a.Recaller, topic), Evidence: refs,
		WrittenBy: byRules, AsOf: asOf, Parts: rules.Extract(evidence)}
	if a.Writer != nil && len(evidence) > 0 {
		if in.Rules {
			draft.Fallback = "the model could not be reached"
		} else if err := a.byModel(ctx, in, topic, evidence, &draft); err != nil {
			return DraftTopicResult{}, err
		}
	}
	outcome, err := a.Store.SaveDraft(ctx, draft, step.Now(a.Now))
	return DraftTopicResult{Outcome: outcome, Parts: len(draft.Parts), WrittenBy: draft.WrittenBy,
		Fallback: draft.Fallback, Tokens: draft.PromptTokens + draft.CompletionTokens}, err
}

// promptOverhead is the size of the prompt without question and texts.
const promptOverhead = 3_000

// byModel replaces the extract by a model's answer, within the token budget.
func (a *Topics) byModel(ctx context.Context, in DraftTopicRequest, topic topics.Topic, evidence []rules.Evidence,
	draft *storetopics.Draft) error {
	texts := make([]string, len(evidence))
	size := promptOverhead + len(topic.Question)
	for i, e := range evidence {
		texts[i] = rules.Shown(e)
		size += len(texts[i])
	}
	key := fmt.Sprintf("%s/%s/%d", in.Key, in.Hash, attempt(ctx))
	if err := a.Store.ReserveTokens(ctx, budgets.Reservation{Tenant: in.Tenant, Key: key, Purpose: purpose,
		Tokens: budget.Estimate(size, inference.TopicAnswerTokens), Limit: a.Budget}, step.Now(a.Now)); err != nil {
		var exceeded *budget.ExceededError
		if errors.As(err, &exceeded) && a.Held != nil {
			a.Held(purpose)
		}
		return err
	}
	said, usage, err := a.Writer.WriteTopic(ctx, topic.Question, texts)
	used := usage.PromptTokens + usage.CompletionTokens
	// A call without usage may have been charged: its reservation stays.
	if used > 0 {
		if settleErr := a.Store.SettleTokens(context.WithoutCancel(ctx), in.Tenant, key, used,
			step.Now(a.Now)); settleErr != nil {
			return settleErr
		}
	}
	draft.PromptTokens, draft.CompletionTokens = usage.PromptTokens, usage.CompletionTokens
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		wait, throttled, permanent, reason := step.Classify(err)
		if permanent {
			draft.Fallback = reason
			return nil
		}
		if wait == 0 && throttled {
			wait = step.RetryWait(int32(attempt(ctx)))
		}
		return step.PendingError(1, min(wait, step.MaxRetryAfter), reason)
	}
	parts, err := rules.Check(said, evidence)
	if err != nil {
		draft.Fallback = err.Error()
		return nil
	}
	draft.Parts, draft.WrittenBy = parts, usage.Model
	if draft.WrittenBy == "" {
		draft.WrittenBy = "model"
	}
	return nil
}

func attempt(ctx context.Context) int {
	if !activity.IsActivity(ctx) {
		return 1
	}
	return int(activity.GetInfo(ctx).Attempt)
}

// PublishTopicRequest is a request to publish the draft of an evidence set.
type PublishTopicRequest struct {
	TopicRef
	Hash string `json:"hash"`
}

// PublishTopicResult is the outcome of publishing a draft.
type PublishTopicResult struct {
	Outcome storetopics.Outcome `json:"outcome"`
	Number  int                 `json:"number,omitempty"` // of the current answer
}

// PublishTopic makes a draft the current answer, unless one of its memories was changed or forgotten since.
func (a *Topics) PublishTopic(ctx context.Context, in PublishTopicRequest) (PublishTopicResult, error) {
	id, err := in.id()
	if err != nil {
		return PublishTopicResult{}, step.Fail(err)
	}
	topic, err := a.Store.TopicByID(ctx, in.Tenant, id)
	if err != nil {
		return PublishTopicResult{}, step.Fail(err)
	}
	outcome, number, err := a.Store.PublishDraft(ctx, in.Tenant, id, Filter(a.Recaller, topic), in.Hash,
		step.Now(a.Now))
	return PublishTopicResult{Outcome: outcome, Number: number}, step.Fail(err)
}

// HoldTopicRequest has the reason why a topic was not answered.
type HoldTopicRequest struct {
	TopicRef
	Changed int    `json:"changed"`
	Why     string `json:"why"`
}

// HoldTopic records on a topic why its refresh did not answer it. The next check removes the reason.
func (a *Topics) HoldTopic(ctx context.Context, in HoldTopicRequest) error {
	id, err := in.id()
	if err != nil {
		return step.Fail(err)
	}
	return step.Fail(a.Store.NoteCheck(ctx, in.Tenant, id, in.Changed, in.Why, step.Now(a.Now)))
}
