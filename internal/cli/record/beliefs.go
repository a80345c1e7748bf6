package record

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/store/pg"
)

// NewBeliefs returns the command that shows the beliefs of agents and their evidence.
func NewBeliefs(a *app.App) *cobra.Command {
	cmd := app.Group(&cobra.Command{Use: "beliefs", Short: "Show the beliefs of agents, and their evidence",
		Long: `Show the beliefs of agents, and their evidence: the reflections in the ledger that the agent may see.

A belief has lost support if some of its events were erased. When the last of its events is
erased, the belief is erased too.`})
	cmd.AddCommand(newBeliefsList(a), newBeliefsShow(a), newBeliefsDraw(a))
	return cmd
}

// BeliefList is the output of `beliefs list`.
type BeliefList struct {
	views.BeliefGraph
	Erased []string `json:"erased,omitempty"` // ids of beliefs that were erased
}

func newBeliefsList(a *app.App) *cobra.Command {
	q := beliefsQuery{limit: 100}
	cmd := &cobra.Command{
		Use:   "list [STREAM]",
		Short: "List the beliefs of a stream that the agent sees, or its own beliefs",
		Long: `List the beliefs of a stream that the agent sees, or without a stream its own beliefs. Without a user, the
beliefs in streams of users are listed only if the stream is named.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, err := q.read(cmd.Context(), a, args)
			if err != nil {
				return err
			}
			return a.Print(out, out.text)
		},
	}
	q.flags(cmd)
	return cmd
}

func newBeliefsDraw(a *app.App) *cobra.Command {
	q := beliefsQuery{limit: 100}
	cmd := &cobra.Command{
		Use:   "draw [STREAM]",
		Short: "Draw the beliefs of a stream and their evidence as a Mermaid graph",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, err := q.read(cmd.Context(), a, args)
			if err != nil {
				return err
			}
			drawn := struct {
				Mermaid string `json:"mermaid"`
			}{out.Mermaid()}
			return a.Print(drawn, func(t *app.Text) { t.Line("%s", strings.TrimSuffix(drawn.Mermaid, "\n")) })
		},
	}
	q.flags(cmd)
	return cmd
}

func newBeliefsShow(a *app.App) *cobra.Command {
	q := beliefsQuery{}
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one belief and the events that it is based on",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.id = args[0]
			out, err := q.read(cmd.Context(), a, nil)
			if err != nil {
				return err
			}
			if len(out.Beliefs)+len(out.Erased) == 0 {
				return fmt.Errorf("belief %s: %w", q.id, pg.ErrNotFound)
			}
			return a.Print(out, func(t *app.Text) { out.detail(t, q.id) })
		},
	}
	q.ceilingFlag(cmd)
	return cmd
}

// beliefsQuery selects beliefs.
type beliefsQuery struct {
	id      string // one of them
	limit   int
	ceiling string
}

func (q *beliefsQuery) flags(cmd *cobra.Command) {
	cmd.Flags().IntVarP(&q.limit, "number", "n", q.limit,
		"number of the latest beliefs, at most "+strconv.Itoa(events.MaxPage))
	q.ceilingFlag(cmd)
}

func (q *beliefsQuery) ceilingFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&q.ceiling, "max-sensitivity", string(schema.SensitivityMedium),
		"show events up to this class")
}

func (q *beliefsQuery) read(ctx context.Context, a *app.App, args []string) (BeliefList, error) {
	p := a.Cfg.Principal
	if err := app.CheckPrincipal(p); err != nil {
		return BeliefList{}, err
	}
	v := views.Viewer{Agent: p.Agent, PolicyGroup: p.PolicyGroup, User: p.User,
		MaxSensitivity: schema.Sensitivity(q.ceiling)}
	if !v.MaxSensitivity.Valid() {
		return BeliefList{}, app.Invalid("max-sensitivity", "must be public, low, medium, high or hyper")
	}
	if q.id == "" {
		if err := app.CheckLimit("number", q.limit, events.MaxPage); err != nil {
			return BeliefList{}, err
		}
	}
	st, err := a.OpenStore(ctx)
	if err != nil {
		return BeliefList{}, err
	}
	ctx, cancel := a.Within(ctx)
	defer cancel()
	var found []ledger.Event
	if q.id != "" {
		found, err = st.ByIDFor(ctx, p.Tenant, p.User, []string{q.id})
		found = slices.DeleteFunc(found, func(e ledger.Event) bool {
			return e.Kind != ledger.KindAgentReflected || !e.Erased && !v.Sees(e) || e.Erased && e.Agent != p.Agent
		})
	} else {
		in := events.ReflectionsInput{Principal: p, MaxSensitivity: v.MaxSensitivity, Limit: q.limit}
		if len(args) > 0 {
			in.Stream = args[0]
		}
		found, err = st.Reflections(ctx, in)
	}
	if err != nil {
		return BeliefList{}, err
	}
	var out BeliefList
	var cited []string
	for _, e := range found {
		if e.Erased {
			out.Erased = append(out.Erased, e.ID)
		}
		r, _ := ledger.Payload[ledger.Reflection](e)
		cited = append(cited, r.BasedOn...)
	}
	evidence, err := st.ByIDFor(ctx, p.Tenant, p.User, cited)
	if err != nil {
		return BeliefList{}, err
	}
	out.BeliefGraph = views.Beliefs(v, append(found, evidence...))
	return out, nil
}

func (l BeliefList) text(t *app.Text) {
	evidence := map[string]int{}
	for _, edge := range l.Based {
		evidence[edge.Belief]++
	}
	rows := make([][]string, 0, len(l.Beliefs)+len(l.Erased))
	for _, b := range l.Beliefs {
		rows = append(rows, []string{b.ID, b.Agent, strconv.Itoa(b.Turn), strconv.Itoa(b.Covers),
			strconv.Itoa(evidence[b.ID]), support(b), app.OneLine(b.Belief)})
	}
	for _, id := range l.Erased {
		rows = append(rows, []string{id, "", "", "", "", "", "(erased)"})
	}
	t.Table("ID AGENT TURN COVERS BASED_ON SUPPORT BELIEF", rows)
}

func support(b views.Belief) string {
	if b.LostSupport {
		return "lost some"
	}
	return ""
}

// detail prints one belief. The list also has the beliefs that it is based on.
func (l BeliefList) detail(t *app.Text, id string) {
	for range l.Erased {
		t.Line("(erased)")
	}
	rows := make([][]string, 0, len(l.Events))
	for _, b := range l.Beliefs {
		if b.ID != id {
			rows = append(rows, []string{b.ID, strconv.Itoa(b.Turn), b.Agent, ledger.KindAgentReflected,
				app.OneLine(b.Belief)})
			continue
		}
		t.Line("%s, turn %d, for %d events", b.Agent, b.Turn, b.Covers)
		t.Line("%s", b.Belief)
		if b.LostSupport {
			t.Line("It has lost support: some of its evidence was erased.")
		}
	}
	for _, e := range l.Events {
		says := app.OneLine(e.Text)
		switch {
		case e.Erased:
			says = "(erased)"
		case !e.Seen:
			says = "(not visible to this agent, or deleted)"
		}
		rows = append(rows, []string{e.ID, strconv.Itoa(e.Turn), e.Agent, e.Kind, says})
	}
	t.Table("ID TURN AGENT KIND WHAT", rows)
}
