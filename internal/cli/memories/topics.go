package memories

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	activity "github.com/mneme/mneme/activities/topics"
	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/topics"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/pg"
	storetopics "github.com/mneme/mneme/store/topics"
)

// NewTopics returns the command that manages standing questions.
func NewTopics(a *app.App) *cobra.Command {
	cmd := app.Group(&cobra.Command{Use: "topics", Short: "Keep questions open, answered from memory and refreshed",
		Long: `Keep questions open. A topic is a question that is answered from memory; each sentence of the answer names the
memories that support it. A refresh answers the question again if its evidence has changed; a schedule does so every
hour. A topic belongs to the agent, project, scope, user and policy group that opened it. It shows only what its owner
may see.`})
	cmd.AddCommand(newTopicAdd(a), newTopicList(a), newTopicShow(a), newTopicRefresh(a), newTopicRemove(a))
	return cmd
}

func newTopicAdd(a *app.App) *cobra.Command {
	var req topics.TopicRequest
	policy := ""
	cmd := &cobra.Command{
		Use:   "add QUESTION",
		Short: "Open a topic; the next refresh answers it",
		Long: `Open a topic. If the question is open already, its topic is printed. The next refresh answers it: the
one of the schedule, or ` + "`mneme topics refresh ID`" + `.`,
		Example: `  mneme topics add "What do we know about the billing service?"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Principal, req.Question, req.ReadPolicy = a.Cfg.Principal, args[0], schema.ReadPolicy(policy)
			if err := req.Validate(); err != nil {
				return err
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			topic, err := st.AddTopic(ctx, req, time.Now())
			if err != nil {
				return err
			}
			return a.Print(topic, func(t *app.Text) { t.Line("%s  %s", topic.ID, topic.Question) })
		},
	}
	cmd.Flags().StringVar(&policy, "read-policy", "", "read policy of the answer: isolated, shared or group")
	cmd.Flags().IntVar(&req.Evidence, "evidence", 0,
		fmt.Sprintf("maximum number of memories in an answer (default %d)",
			topics.DefaultEvidence))
	return cmd
}

// topicStore opens the store, and returns the filter of what a topic's principal may see under the current rules.
func topicStore(a *app.App, cmd *cobra.Command) (*store.Store, storetopics.Seeing, error) {
	if err := app.CheckPrincipal(a.Cfg.Principal); err != nil {
		return nil, nil, err
	}
	recaller, err := a.Recaller(cmd.Context())
	if err != nil {
		return nil, nil, err
	}
	return recaller.Store, func(t topics.Topic) pg.Filter { return activity.Filter(recaller, t) }, nil
}

// topicList is the output of `topics list`.
type topicList struct {
	Topics []topics.Topic `json:"topics"`
	Next   string         `json:"next,omitempty"` // the cursor of the next page
}

func newTopicList(a *app.App) *cobra.Command {
	limit, after := 50, ""
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the open topics with their freshness",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from := uuid.Nil
			if after != "" {
				var err error
				if from, err = app.ParseID("after", after); err != nil {
					return err
				}
			}
			if err := app.CheckLimit("limit", limit, pg.MaxPage); err != nil {
				return err
			}
			st, see, err := topicStore(a, cmd)
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			found, err := st.ListTopics(ctx, a.Cfg.Principal, from, limit, see)
			if err != nil {
				return err
			}
			out := topicList{Topics: found}
			if out.Topics == nil {
				out.Topics = []topics.Topic{}
			}
			if len(found) == limit {
				out.Next = found[len(found)-1].ID
			}
			return a.Print(out, func(t *app.Text) {
				if len(found) == 0 {
					t.Line("no topics")
				}
				for _, topic := range found {
					t.Line("%s  %-28s %s", topic.ID, freshness(topic), app.OneLine(topic.Question))
				}
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", limit, "maximum number of topics, up to 500")
	cmd.Flags().StringVar(&after, "after", "", "id of the last topic of the previous page")
	return cmd
}

// freshness returns the freshness of a topic in words.
func freshness(t topics.Topic) string {
	out := strings.ReplaceAll(string(t.Freshness), "_", " ")
	if t.Freshness == topics.Stale {
		out += fmt.Sprintf(" (%d changed)", t.Changed)
	}
	if t.Held != "" {
		out += ", held: " + strings.ReplaceAll(t.Held, "_", " ")
	}
	return out
}

// topicShown is the output of `topics show`.
type topicShown struct {
	topics.Topic
	History []topics.TopicAnswer `json:"history,omitempty"` // newest first, with --history
}

func newTopicShow(a *app.App) *cobra.Command {
	history := false
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a topic with its answer",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := app.ParseID("id", args[0])
			if err != nil {
				return err
			}
			st, see, err := topicStore(a, cmd)
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			out := topicShown{}
			if out.Topic, err = st.Topic(ctx, a.Cfg.Principal, id, see); err != nil {
				return err
			}
			if history {
				if out.History, err = st.Answers(ctx, a.Cfg.Principal, id, see); err != nil {
					return err
				}
			}
			return a.Print(out, out.text)
		},
	}
	cmd.Flags().BoolVar(&history, "history", false, "show earlier answers too")
	return cmd
}

func (s topicShown) text(t *app.Text) {
	t.Line("%s", s.Question)
	t.Line("%s", freshness(s.Topic))
	if s.Answer != nil {
		answerText(t, *s.Answer)
	}
	for _, answer := range s.History {
		if s.Answer == nil || answer.Number != s.Answer.Number {
			t.Line("")
			answerText(t, answer)
		}
	}
}

func answerText(t *app.Text, a topics.TopicAnswer) {
	by := a.WrittenBy
	if a.Fallback != "" {
		by += " (" + app.OneLine(a.Fallback) + ")"
	}
	t.Line("answer %d, as of %s, of %d memories, by %s", a.Number, a.AsOf.UTC().Format(time.RFC3339), a.Memories, by)
	switch {
	case a.BlankedAt != nil:
		t.Line("  blanked: one of its memories was forgotten")
	case a.Withheld:
		t.Line("  withheld: you may not see all of its memories")
	case a.Unknown():
		t.Line("  nothing is known")
	}
	for _, p := range a.Parts {
		marks := ""
		if p.Outdated {
			marks += " [outdated]"
		}
		if p.Contested {
			marks += " [contested]"
		}
		t.Line("  - %s%s", app.OneLine(p.Text), marks)
		t.Line("    %s", strings.Join(p.Memories, " "))
	}
}

// topicRefreshed is the output of `topics refresh`.
type topicRefreshed struct {
	app.OperationRun
	Result *api.RefreshTopicResult  `json:"result,omitempty"` // of one topic
	Sweep  *api.RefreshTopicsResult `json:"sweep,omitempty"`  // of all topics of the tenant
}

func newTopicRefresh(a *app.App) *cobra.Command {
	all, shadow := false, false
	cmd := &cobra.Command{
		Use:   "refresh [ID]",
		Short: "Answer a topic again if its evidence has changed",
		Long: `Answer a topic again if its evidence has changed. A refresh over the same evidence changes nothing and asks no model.
With --all, every topic of the tenant is compared. With --shadow, answers are drafted and not published. A refresh that
does not fit into the token budget of the day exits with 6; the previous answer stays.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) == 1) {
				return app.Invalid("id", "name a topic, or --all")
			}
			if all {
				if err := app.RefusePrincipal(cmd.Flags(), "--all"); err != nil {
					return err
				}
			}
			out, held := topicRefreshed{}, 0
			var err error
			if all {
				out.Sweep = &api.RefreshTopicsResult{}
				out.OperationRun, err = app.CarryOut(cmd.Context(), a, mneme.StartRefreshTopics,
					api.RefreshTopicsInput{Tenant: a.Cfg.Principal.Tenant, Shadow: shadow}, out.Sweep)
				held = out.Sweep.Held
			} else {
				out.Result = &api.RefreshTopicResult{}
				out.OperationRun, err = refreshOwn(a, cmd, args[0], shadow, out.Result)
				if out.Result.Outcome == api.TopicHeld {
					held = 1
				}
			}
			if err != nil {
				return err
			}
			if err := a.Print(out, out.text); err != nil {
				return err
			}
			if held > 0 {
				return app.WithCode(app.ExitConflict,
					fmt.Errorf("the token budget of the day is used up: %d held", held))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every topic of the tenant")
	cmd.Flags().BoolVar(&shadow, "shadow", false, "draft answers, and publish none")
	return cmd
}

// refreshOwn refreshes a topic of the principal.
func refreshOwn(a *app.App, cmd *cobra.Command, arg string, shadow bool,
	result *api.RefreshTopicResult) (app.OperationRun, error) {
	id, err := app.ParseID("id", arg)
	if err != nil {
		return app.OperationRun{}, err
	}
	st, see, err := topicStore(a, cmd)
	if err != nil {
		return app.OperationRun{}, err
	}
	ctx, cancel := a.Within(cmd.Context())
	defer cancel()
	if _, err := st.Topic(ctx, a.Cfg.Principal, id, see); err != nil {
		return app.OperationRun{}, err
	}
	return app.CarryOut(cmd.Context(), a, mneme.StartRefreshTopic,
		api.RefreshTopicInput{Tenant: a.Cfg.Principal.Tenant, Topic: id.String(), Shadow: shadow}, result)
}

func (r topicRefreshed) text(t *app.Text) {
	if s := r.Sweep; s != nil {
		t.Line("%d topics compared: %d fresh, %d answered, %d would be, %d held, %d moving, %d failed; %d tokens",
			s.Checked,
			s.Fresh, s.Answered, s.Would, s.Held, s.Moving, s.Failed, s.Tokens)
		return
	}
	line := strings.ReplaceAll(r.Result.Outcome, "_", " ") + fmt.Sprintf(": %d memories, %d changed", r.Result.Memories,
		r.Result.Changed)
	if r.Result.Number > 0 {
		line += fmt.Sprintf("; answer %d, %d sentences, by %s", r.Result.Number, r.Result.Parts, r.Result.WrittenBy)
	}
	if r.Result.Fallback != "" {
		line += " (" + app.OneLine(r.Result.Fallback) + ")"
	}
	if r.Result.Tokens > 0 {
		line += fmt.Sprintf("; %d tokens", r.Result.Tokens)
	}
	t.Line("%s", line)
}

func newTopicRemove(a *app.App) *cobra.Command {
	all, f := false, app.OperationFlags{}
	cmd := &cobra.Command{
		Use:   "remove ID | --all --user NAME",
		Short: "Close a topic; its answers are deleted",
		Long: `Close a topic; its answers are deleted. --all closes all topics of a user, of every agent. Who removed how
many, when and why is recorded: mneme users removals.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) == 1) {
				return app.Invalid("id", "name a topic, or use --all with a user")
			}
			if all {
				return removeTopicsOfUser(a, cmd, f)
			}
			id, err := app.ParseID("id", args[0])
			if err != nil {
				return err
			}
			if err := app.CheckPrincipal(a.Cfg.Principal); err != nil {
				return err
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			if err := st.RemoveTopic(ctx, f.Operation(a.Cfg.Principal), id, time.Now()); err != nil {
				return err
			}
			return a.Print(map[string]string{"removed": id.String()}, func(t *app.Text) { t.Line("removed %s", id) })
		},
	}
	f.RegisterReason(cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, "all topics of the user (--user), of every agent")
	return cmd
}

// removeTopicsOfUser closes all topics of the user, of every agent and project.
func removeTopicsOfUser(a *app.App, cmd *cobra.Command, f app.OperationFlags) error {
	if err := app.NeedUser(a, cmd.Flags()); err != nil {
		return err
	}
	st, err := a.OpenStore(cmd.Context())
	if err != nil {
		return err
	}
	ctx, cancel := a.Within(cmd.Context())
	defer cancel()
	n, err := st.RemoveTopicsOf(ctx, f.Operation(a.Cfg.Principal), time.Now())
	if err != nil {
		return err
	}
	return a.Print(map[string]int{"removed": n}, func(t *app.Text) { t.Line("topics removed: %d", n) })
}
