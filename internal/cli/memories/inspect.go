package memories

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/read"
)

// NewGet returns the command that shows one memory in any state.
func NewGet(a *app.App) *cobra.Command {
	var asOf, shape string
	var limit *string
	cmd := &cobra.Command{
		Use:   "get ID",
		Short: "Show one memory in any state",
		Long: `Show one memory in any state: its content, evidence, relations and changes.

--as-of shows the memory as it was at a time. Text erased since then is not shown.

--shape prints the record as JSON in one of its two shapes: appendix (lifecycle,
provenance, relations), which --json prints too, or canonical (decay_profile, relationships).

The audit log has the latest ` + strconv.Itoa(schema.MaxAuditEntries) + ` changes; "history" shows all of them.

A memory above the limit of --max-sensitivity is not found.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := app.ParseID("id", args[0])
			if err != nil {
				return err
			}
			at, err := app.ParseTime("as_of", asOf)
			if err != nil {
				return err
			}
			if shape != "" && shape != string(schema.ShapeAppendix) && shape != string(schema.ShapeCanonical) {
				return app.Invalid("shape", "must be appendix or canonical")
			}
			seen, err := a.Clearance(*limit)
			if err != nil {
				return err
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			var m schema.MemoryRecord
			if at != nil {
				m, err = st.GetAsOf(ctx, a.Cfg.Principal, id, *at, seen)
			} else {
				m, err = st.Get(ctx, a.Cfg.Principal, id, seen)
			}
			if err != nil {
				return err
			}
			if shape != "" {
				encoded, err := schema.EncodeRecord(m, schema.Shape(shape))
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(a.Out, "%s\n", encoded)
				return err
			}
			return a.Print(m, func(t *app.Text) { record(t, m, a.Cfg.ImportanceDecay) })
		},
	}
	limit = app.SensitivityFlag(cmd.Flags())
	cmd.Flags().StringVar(&shape, "shape", "", "print JSON in the shape appendix or canonical")
	cmd.Flags().StringVar(&asOf, "as-of", "", "as it was at this time (RFC 3339, or a date)")
	return cmd
}

// record prints a memory in full. rate is the share of its importance that a memory keeps for each day.
func record(t *app.Text, m schema.MemoryRecord, rate float64) {
	pinned := ""
	if m.Lifecycle.Pinned {
		pinned = "yes"
	}
	refs := make([]string, 0, len(m.Provenance.Sources))
	for _, ref := range m.Provenance.Sources {
		refs = append(refs, ref.Kind+"="+ref.Ref)
	}
	relations := make([]string, 0, len(m.Relations))
	for _, r := range m.Relations {
		relations = append(relations, r.Predicate+" "+r.TargetID)
	}
	t.Fields(
		"id", m.ID,
		"version", strconv.Itoa(m.Version),
		"kind", fmt.Sprintf("%s, %s (%s, %s)", m.Category, m.Type, m.Tier, m.Typology),
		"owner", strings.Trim(m.Tenant+"/"+m.Agent+"/"+m.Project+"/"+m.Scope, "/"),
		"visibility", string(m.Visibility),
		"status", Standing(m),
		"sensitivity", string(m.Sensitivity),
		"tags", strings.Join(m.Tags, ", "),
		"who", m.Who,
		"pinned", pinned,
		"worth", worth(m, time.Now(), rate),
		"occurred", app.When(m.OccurredAt),
		"created", app.When(m.CreatedAt)+" by "+m.Provenance.CreatedBy,
		"updated", app.When(m.UpdatedAt),
		"accessed", accessed(m),
		"falls due", app.WhenSet(m.Lifecycle.DecayDueAt),
		"deleted", app.WhenSet(m.DeletedAt),
		"archived", app.WhenSet(m.ArchivedAt),
		"supersedes", m.Supersedes,
		"superseded by", m.SupersededBy,
		"erased", app.WhenSet(m.ErasedAt),
		"evidence", strings.Join(refs, ", "),
		"relations", strings.Join(relations, ", "),
	)
	t.Line("")
	if m.ErasedAt != nil {
		t.Line("no text is left: it was erased")
	} else {
		t.Line("%s", app.Printable(m.Content))
	}
	if len(m.AuditLog) > 0 {
		t.Line("")
		rows := make([][]string, 0, len(m.AuditLog))
		for _, e := range m.AuditLog {
			rows = append(rows, []string{app.When(e.Timestamp), string(e.Action), e.Actor, e.Rationale})
		}
		t.Table("WHEN ACTION BY WHY", rows)
	}
	if m.AuditOmitted > 0 {
		t.Line("%d earlier changes: mneme history %s", m.AuditOmitted, m.ID)
	}
}

// Standing returns the state of a memory in words. A deleted record is shown as deleted, whatever its status.
func Standing(m schema.MemoryRecord) string {
	gone := ""
	switch {
	case m.ErasedAt != nil:
		return "erased"
	case m.DeletedAt != nil:
		gone = "deleted"
	case m.ArchivedAt != nil:
		gone = "archived"
	default:
		return string(m.Status)
	}
	if m.Status != schema.StatusActive {
		gone += ", " + string(m.Status)
	}
	return gone
}

func accessed(m schema.MemoryRecord) string {
	if m.AccessCount == 0 {
		return "never"
	}
	return fmt.Sprintf("%d times, last %s", m.AccessCount, app.WhenSet(m.LastAccessed))
}

// NewList returns the command that lists memories.
func NewList(a *app.App) *cobra.Command {
	var filter app.FilterFlags
	var before, asOf string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List memories, newest first",
		Long: `List the live memories that the principal may see, newest first. JSON is {"items":[…],"next":"ID"};
--before takes next, for the next page.

--as-of lists the memories as they were recorded at a time (record time). --valid-at lists those that are valid at a
time (validity; with --as-of the same time by default). Both together list what was then recorded as valid.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			seen, err := a.Clearance(filter.MaxSensitivity)
			if err != nil {
				return err
			}
			f, err := filter.Filter(cmd.Flags(), a.Cfg, seen)
			if err != nil {
				return err
			}
			if f.AsOf, err = app.ParseTime("as_of", asOf); err != nil {
				return err
			}
			if f.AsOf != nil && !cmd.Flags().Changed("valid-at") {
				f.At = *f.AsOf
			}
			if limit < 1 || limit > 500 {
				return app.Invalid("limit", "must be between 1 and 500")
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			found, err := st.List(ctx, f, pg.Page{Before: before, Limit: limit})
			if err != nil {
				return err
			}
			out := app.Page[schema.MemoryRecord]{Items: found}
			if len(found) == 0 {
				if out.Note, err = a.UnknownTenant(ctx); err != nil {
					return err
				}
			}
			if len(found) == limit {
				out.Next = found[len(found)-1].ID
			}
			return a.Print(out, func(t *app.Text) {
				rows := make([][]string, 0, len(found))
				at := time.Now()
				if f.AsOf != nil {
					at = *f.AsOf
				}
				for _, m := range found {
					rows = append(rows, []string{m.ID, app.When(m.CreatedAt), string(m.Type), string(m.Category),
						app.Number(importanceAt(m, at, a.Cfg.ImportanceDecay)), m.Content})
				}
				t.Table("ID CREATED TYPE CATEGORY WORTH MEMORY", rows)
				t.Note(out.Note)
				if out.Next != "" {
					t.Line("more: --before %s", out.Next)
				}
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&before, "before", "", "id of the last memory of the previous page")
	flags.IntVar(&limit, "limit", 50, "maximum number of memories, up to 500")
	flags.StringVar(&asOf, "as-of", "", "as it was at this time (RFC 3339, or a date)")
	filter.Register(flags)
	return cmd
}

// NewHistory returns the command that shows the history of a memory.
func NewHistory(a *app.App) *cobra.Command {
	var page read.HistoryPage
	var sensitivity *string
	cmd := &cobra.Command{
		Use:   "history ID",
		Short: "Show every step of a memory, with actor and reason",
		Long: `Show every step of a memory, oldest first, with actor and reason. JSON is {"items":[…],"next":"ID"};
--after takes next, for the next page. A step has an action and the resulting version, or neither if
nothing changed.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := app.ParseID("id", args[0])
			if err != nil {
				return err
			}
			if page.Limit < 1 || page.Limit > 1000 {
				return app.Invalid("limit", "must be between 1 and 1000")
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			seen, err := a.Clearance(*sensitivity)
			if err != nil {
				return err
			}
			steps, err := st.HistoryAt(ctx, a.Cfg.Principal, id, page, seen)
			if err != nil {
				return err
			}
			if len(steps) == 0 && page.After == "" {
				return fmt.Errorf("history of memory %s: %w", id, pg.ErrNotFound)
			}
			return printHistory(a, steps, page.Limit)
		},
	}
	sensitivity = app.SensitivityFlag(cmd.Flags())
	cmd.Flags().StringVar(&page.After, "after", "", "id of the last step of the previous page")
	cmd.Flags().IntVar(&page.Limit, "limit", 200, "maximum number of steps, up to 1000")
	return cmd
}

func printHistory(a *app.App, steps []schema.HistoryEntry, limit int) error {
	out := app.Page[schema.HistoryEntry]{Items: steps}
	if len(steps) == limit {
		out.Next = steps[limit-1].ID
	}
	return a.Print(out, func(t *app.Text) {
		rows := make([][]string, 0, len(steps))
		for _, h := range steps {
			version := ""
			if h.Version > 0 {
				version = strconv.Itoa(h.Version)
			}
			event := string(h.Event)
			if h.Action != "" {
				event += " (" + string(h.Action) + ")"
			}
			rows = append(rows, []string{app.When(h.CreatedAt), event, version, h.ChangedBy, h.Reason, change(h)})
		}
		t.Table("WHEN EVENT VERSION BY REASON CHANGE", rows)
		if out.Next != "" {
			t.Line("more: --after %s", out.Next)
		}
	})
}

// change describes what a step changed in the content.
func change(h schema.HistoryEntry) string {
	switch {
	case h.OldContent != nil && h.NewContent != nil:
		return *h.OldContent + " → " + *h.NewContent
	case h.NewContent != nil:
		return "+ " + *h.NewContent
	case h.OldContent != nil:
		return "- " + *h.OldContent
	}
	return ofFact(h)
}

// ofFact names the fact of the memory that a step is about.
func ofFact(h schema.HistoryEntry) string {
	var of struct {
		Proposal string `json:"proposalId"`
		Ordinal  *int   `json:"factOrdinal"`
	}
	if json.Unmarshal(h.Metadata, &of) != nil || of.Ordinal == nil {
		return ""
	}
	return fmt.Sprintf("fact %d, proposal %s", *of.Ordinal+1, of.Proposal)
}

// worth returns the current importance of a memory. The stored value is as of a time, and fades from then on.
func worth(m schema.MemoryRecord, now time.Time, rate float64) string {
	salience := m.Salience
	if !m.Lifecycle.Pinned {
		salience = memory.DecayOf(m.Lifecycle.Decay).Salience(m.Salience, now.Sub(m.SalienceAt))
	}
	importance := importanceAt(m, now, rate)
	return fmt.Sprintf("importance %s (%s at first), confidence %s, salience %s (%s as of %s)",
		app.Number(importance), app.Number(m.Importance), app.Number(m.Confidence),
		app.Number(salience), app.Number(m.Salience), app.When(m.SalienceAt))
}

// importanceAt returns a memory's importance at a time, if it keeps the share rate for each day.
func importanceAt(m schema.MemoryRecord, at time.Time, rate float64) float64 {
	accessed := m.CreatedAt
	if m.LastAccessed != nil {
		accessed = *m.LastAccessed
	}
	return memory.Importance(m.Importance, at.Sub(accessed), rate, m.Lifecycle.Pinned)
}
