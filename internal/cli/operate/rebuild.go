package operate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema/ledger"
)

// Rebuilt is the output of `rebuild`.
type Rebuilt struct {
	WorkflowID string             `json:"workflow_id"`
	RunID      string             `json:"run_id"`
	URL        string             `json:"url,omitempty"`
	Equal      *bool              `json:"equal,omitempty"`  // unless --detach
	Result     *api.RebuildResult `json:"result,omitempty"` // unless --detach
}

// NewRebuild returns the command that compares derived data with the ledger.
func NewRebuild(a *app.App) *cobra.Command {
	var in api.RebuildRequest
	detach := false
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Compare derived data with the ledger, and rebuild differing parts",
		Long: `Compare the data derived from a tenant's ledger with the ledger, and rebuild differing parts. Derived data are
the episodic records of closed sessions, the state of the work of open sessions, the marks by which views find the
latest events, and the vectors of events. Views, beliefs and contexts are computed from events each time and need no
rebuild.

--verify only compares. It names differences by kind, id and field, never by content, and then exits with 1.
--drop rebuilds everything, even if it is equal.

A record that was changed or forgotten is not replaced. A record whose events were erased or purged cannot
be rebuilt. Each item is replaced in one transaction, so that agents can continue to work. Interrupting this
command does not interrupt the rebuild.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			in.Tenant = a.Cfg.Principal.Tenant
			if err := in.Validate(); err != nil {
				return err
			}
			c, err := a.OpenTemporal(ctx)
			if err != nil {
				return err
			}
			limited, cancel := a.Within(ctx)
			run, err := mneme.StartRebuild(limited, c, a.Cfg.TaskQueue, in)
			cancel()
			if err != nil {
				return err
			}
			out := Rebuilt{WorkflowID: run.GetID(), RunID: run.GetRunID(), URL: a.RunURL(run.GetID(), run.GetRunID())}
			if detach {
				return a.Print(out, out.text)
			}
			a.Interrupted = "it continues in workflow " + run.GetID() + ": the same command shows it again"
			var result api.RebuildResult
			if err := a.Follow(ctx, run, &result); err != nil {
				return err
			}
			equal := result.Equal()
			out.Result, out.Equal = &result, &equal
			if err := a.Print(out, out.text); err != nil || equal {
				return err
			}
			return app.WithCode(app.ExitFailure,
				errors.New("not equal to the ledger: "+strconv.Itoa(result.Left)+" differ"))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&in.Stream, "stream", "", "only data derived from this stream")
	flags.BoolVar(&in.Verify, "verify", false, "only compare; the exit code is 1 if something differs")
	flags.BoolVar(&in.Drop, "drop", false, "rebuild everything, even if it is equal")
	flags.BoolVar(&detach, "detach", false, "do not wait for the end")
	return cmd
}

// keptTexts are the reasons why something was not changed.
var keptTexts = map[string]string{
	ledger.KeptChanged:    "changed since by a person or by a sweep",
	ledger.KeptForgotten:  "forgotten",
	ledger.KeptEventsGone: "cannot be rebuilt: their events were erased or purged",
	ledger.KeptReferred:   "other memories refer to it",
}

func (r Rebuilt) text(t *app.Text) {
	t.Fields("workflow", r.WorkflowID, "ui", r.URL)
	p := r.Result
	if p == nil {
		return
	}
	rows := make([][]string, len(p.Differences))
	for i, d := range p.Differences {
		became := "differs"
		switch {
		case d.Rebuilt:
			became = "rebuilt"
		case d.Kept != "":
			became = keptTexts[d.Kept]
		}
		rows[i] = []string{d.Kind, d.ID, d.Stream, strings.Join(d.Fields, ","), became}
	}
	if len(rows) > 0 {
		t.Table("KIND ID STREAM FIELDS STATE", rows)
	}
	if more := p.Different - len(p.Differences); more > 0 {
		t.Line("and %d more", more)
	}
	for _, reason := range slices.Sorted(maps.Keys(p.Kept)) {
		t.Line("%d not replaced: %s", p.Kept[reason], keptTexts[reason])
	}
	state := "equal to the ledger"
	if !*r.Equal {
		state = "not equal to the ledger"
	}
	t.Line("%s", fmt.Sprintf("%s: %d compared, %d differed, %d rebuilt", state, p.Compared, p.Different, p.Rebuilt))
}
