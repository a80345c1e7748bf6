package tidying

import (
	"context"
	"slices"
	"time"

	"github.com/mneme/mneme/activities/step"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory/learning/compress"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/wording"
)

// Constants of summaries that a model writes.
const (
	modelsFor      = 4 * time.Minute // limit of model calls in one activity; after that the rules write
	promptOverhead = 3_000           // bytes of the prompt without the episodes
	purpose        = "summary"       // the purpose of reserved tokens
)

// Reasons to use the summary of the rules instead of a model's.
const (
	modelSilent  = "model_no_answer"
	modelLonger  = "model_not_shorter"
	modelInvents = "model_invents"
	modelPrefix  = "model_" // prefix of a reason from package compress
)

// write replaces the rules' summary by a model's, if it is shorter, loses nothing that has to be kept, and contains
// nothing that its episodes do not contain.
func (a *Tidying) write(ctx context.Context, in Request, batch []compress.Episode, summary *compress.Summary,
	out *api.LearnResult) error {
	var texts []string
	var sources []compress.Episode
	size := promptOverhead
	for _, e := range batch {
		if !slices.Contains(summary.Sources, e.ID) {
			continue
		}
		one, ok := compress.Summarise([]compress.Episode{e})
		if !ok {
			return nil
		}
		texts, sources, size = append(texts, one.Text), append(sources, e), size+len(one.Text)
	}
	meter := step.Meter{Store: a.Store, Limit: a.Budget, Held: a.Held, Now: a.Now}
	said := ""
	spent, err := meter.Ask(ctx, step.Metered{Tenant: in.Tenant, Purpose: purpose,
		Key: purpose + ":" + evidence.HashOf(summary.Sources), Bytes: size, Answer: inference.EpisodesAnswerTokens},
		func(ctx context.Context) (usage inference.Usage, err error) {
			said, usage, err = a.Writer.SummarizeEpisodes(ctx, texts)
			return usage, err
		})
	out.Tokens, out.Held = out.Tokens+spent.Tokens, out.Held || spent.Held
	if err != nil || spent.Held {
		return err
	}
	if reason := unusable(said, spent, summary.Text, texts, sources); reason != "" {
		refuse(out, reason)
		return nil
	}
	summary.Text = said
	return nil
}

// unusable returns the reason why a model's summary is not used, or "" if it is used.
func unusable(said string, spent step.Spent, rules string, texts []string, sources []compress.Episode) string {
	if spent.Failed != "" || said == "" {
		return modelSilent
	}
	if len(said) >= len(rules) {
		return modelLonger
	}
	if problem, ok := compress.Check(said, sources); !ok {
		return modelPrefix + problem.Reason
	}
	if wording.CheckSummary(said, texts) != nil {
		return modelInvents
	}
	return ""
}
