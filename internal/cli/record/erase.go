package record

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/events"
	"github.com/mneme/mneme/store/sessions"
)

// EraseResult is the output of `events erase`.
type EraseResult struct {
	Erased   int      `json:"erased"`
	Runs     int      `json:"runs,omitempty"`     // deleted runs that carried or showed the events
	Indexed  int      `json:"indexed,omitempty"`  // events that were removed from a memory index outside Postgres
	Episodes []string `json:"episodes,omitempty"` // records that repeat the events and were not erased
	// MoreEpisodes means that there are more than those in Episodes.
	MoreEpisodes bool     `json:"more_episodes,omitempty"`
	Unknown      []string `json:"unknown,omitempty"` // ids without an event of the user, or without an event
	User         string   `json:"user,omitempty"`    // whose events were erased, with --all
	// StillWritten means, with --all, that new events arrived until the end, so that some may be left.
	StillWritten bool `json:"still_written,omitempty"`
	// Unreached means that Temporal did not answer: runs of Context may still show the events. No session carried
	// them.
	Unreached bool `json:"unreached,omitempty"`
	// Receipt is the receipt of erased records that repeated the events, if these were to be erased too.
	Receipt *schema.ForgetReceipt `json:"receipt,omitempty"`
}

type eraseFlags struct {
	app.OperationFlags
	yes, everywhere, all bool
}

func newErase(a *app.App) *cobra.Command {
	var f eraseFlags
	cmd := &cobra.Command{
		Use:   "erase ID... | --all --user NAME",
		Short: "Empty events permanently: their payloads are removed, their numbers stay",
		Long: `Empty events permanently: their payloads are removed, their numbers stay. The command also
deletes the Temporal histories of the sessions that received the events, and of the tenant's runs that read contexts
and memories, and removes the events from a memory index in Qdrant or in a hosted service. Without Temporal the command
only empties the events and says so; run it again later.

If no event has one of the ids, nothing is deleted. The exit code is 3 if the only event is not found, and 5 if some of
several are not.

Episodes that repeat the events are listed. With --everywhere they are erased as "mneme erase --everywhere" does, with
memories extracted from them, and the receipt is printed. Episodes of another agent are not erased: repeat the
command with its name as --agent. The other events of these sessions are still in the ledger.

With --all and a user it empties all events of the user's streams, of every agent. Erase the user's memories as well:
mneme forget --user NAME --all --mode erase. If agents write for the user all the time, newer events may be left, and
the exit code is 5. If the command is interrupted, the run continues; the same command shows its result.`,
		Example: `  mneme events erase e2 --yes
  mneme events erase e2 e3 --everywhere --reason "asked for by the user" --yes
  mneme events erase --all --user maya --reason "asked for by the user" --yes`,
		Args: cobra.MaximumNArgs(ledger.MaxAppend),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !f.yes {
				return app.Invalid("yes", "is required: erased payloads cannot be recovered")
			}
			if f.everywhere && strings.TrimSpace(f.Reason) == "" {
				return app.Invalid("reason", "is required with --everywhere: the records' history keeps it")
			}
			if !f.everywhere {
				err := app.RefuseWithout(cmd.Flags(), "--everywhere: erasing the same events twice is harmless", "operation-id")
				if err != nil {
					return err
				}
			}
			if f.all {
				return f.eraseAll(cmd.Context(), a, args)
			}
			if len(args) == 0 {
				return app.Invalid("id", "is required, unless --all and a user are given")
			}
			return f.erase(cmd.Context(), a, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.yes, "yes", false, "confirm")
	flags.BoolVar(&f.everywhere, "everywhere", false, "also erase the episodes that repeat the events")
	flags.BoolVar(&f.all, "all", false, "all events of the streams of the user (--user)")
	f.Register(flags)
	return cmd
}

// eraseAll erases the events of all streams of the user, in a run that continues if the command is interrupted.
func (f *eraseFlags) eraseAll(ctx context.Context, a *app.App, ids []string) error {
	p := a.Cfg.Principal
	switch {
	case len(ids) > 0:
		return app.Invalid("all", "must not be given with ids")
	case p.User == "":
		return app.Invalid("user", "is required with --all")
	case f.everywhere:
		return app.Invalid("everywhere", "must not be given with --all: mneme forget --all erases the user's memories")
	}
	operation := f.Operation(p)
	req := api.EraseEventsRequest{Tenant: p.Tenant, User: p.User, All: true, Actor: operation.By(),
		Reason: operation.Reason}
	if err := req.Validate(); err != nil {
		return err
	}
	c, err := a.OpenTemporal(ctx)
	if err != nil {
		return f.emptyAll(ctx, a, err)
	}
	limited, cancel := a.Within(ctx)
	run, err := mneme.StartEraseEvents(limited, c, a.Cfg.TaskQueue, req)
	cancel()
	if err != nil {
		return err
	}
	a.Interrupted = "the run continues: " + run.GetID()
	var done api.EraseEventsResult
	if err := a.Follow(ctx, run, &done); err != nil {
		return err
	}
	out := EraseResult{User: p.User, Erased: done.Erased, Runs: done.Runs, Indexed: done.Indexed, Episodes: done.Episodes,
		MoreEpisodes: done.MoreEpisodes, StillWritten: done.StillWritten}
	if err := a.Print(out, out.text); err != nil {
		return err
	}
	return out.problem(nil)
}

// emptyAll empties the events of the user without Temporal, which did not answer. It returns the error of Temporal if
// histories of sessions may still contain the events.
func (f *eraseFlags) emptyAll(ctx context.Context, a *app.App, away error) error {
	st, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	p, operation := a.Cfg.Principal, f.Operation(a.Cfg.Principal)
	all, carried := EraseResult{User: p.User, Unreached: true}, false
	for place := (events.Place{}); ; {
		limited, cancel := a.Within(ctx)
		erased, err := st.EraseUserPage(limited, sessions.EraseInput{Tenant: p.Tenant, User: p.User, Now: time.Now(),
			Receipt: ledger.Receipt{By: operation.By(), Reason: operation.Reason}},
			events.UserPage{After: place, Limit: ledger.MaxAppend})
		cancel()
		if err != nil {
			return err
		}
		if erased.Read == 0 {
			break
		}
		all.Erased, carried, place = all.Erased+erased.Events, carried || len(erased.Workflows) > 0, erased.Last
		for _, id := range erased.Episodes {
			all.Episodes = append(all.Episodes, id.String())
		}
	}
	if carried {
		return fmt.Errorf("%d events are emptied, but session histories may still contain them: %w", all.Erased, away)
	}
	slices.Sort(all.Episodes)
	all.Episodes = slices.Compact(all.Episodes)
	return a.Print(all, all.text)
}

// erase erases the events with these ids and prints the result.
func (f *eraseFlags) erase(ctx context.Context, a *app.App, ids []string) error {
	out, err := f.erasePage(ctx, a, ids)
	if err != nil {
		return err
	}
	if err := a.Print(out, out.text); err != nil {
		return err
	}
	return out.problem(ids)
}

// erasePage empties at most ledger.MaxAppend events, and deletes the histories that may contain them.
func (f *eraseFlags) erasePage(ctx context.Context, a *app.App, ids []string) (out EraseResult, err error) {
	st, err := a.OpenStore(ctx)
	if err != nil {
		return out, err
	}
	limited, cancel := a.Within(ctx)
	defer cancel()
	operation := f.Operation(a.Cfg.Principal)
	erased, err := st.EraseEvents(limited, sessions.EraseInput{Tenant: operation.Principal.Tenant,
		User: operation.Principal.User, IDs: ids, Now: time.Now(),
		Receipt: ledger.Receipt{By: operation.By(), Reason: operation.Reason}})
	if err != nil {
		return out, err
	}
	out.Erased, out.Unknown = erased.Events, erased.Unknown
	if !slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(out.Unknown, id) }) {
		return out, nil
	}
	for _, id := range erased.Episodes {
		out.Episodes = append(out.Episodes, id.String())
	}
	gone, err := eraseHistories(ctx, a, ids)
	if err != nil && len(erased.Workflows) > 0 {
		return out, fmt.Errorf("%d events are emptied, but session histories may still contain them: %w", out.Erased, err)
	}
	out.Runs, out.Indexed, out.Unreached = gone.Runs, gone.Indexed, err != nil
	if f.everywhere && len(out.Episodes) > 0 {
		receipt, err := f.eraseEpisodes(ctx, a, out.Episodes)
		if err != nil {
			return out, fmt.Errorf("%d events are emptied, but episodes still repeat them: %w", out.Erased, err)
		}
		out.Receipt = &receipt
		out.Episodes = slices.DeleteFunc(out.Episodes, func(id string) bool { return slices.Contains(receipt.IDs, id) })
	}
	return out, nil
}

// problem returns the error of a command that did not find all events, or that may have left some.
func (r EraseResult) problem(ids []string) error {
	switch {
	case r.StillWritten:
		return app.WithCode(app.ExitPartial, errors.New("newer events may be left: agents wrote for the user all the time"))
	case len(r.Unknown) == 0:
		return nil
	case len(ids) == 1:
		return app.WithCode(app.ExitNotFound, errors.New("the event is not found"))
	}
	return app.WithCode(app.ExitPartial, fmt.Errorf("%d of %d events are not found", len(r.Unknown), len(ids)))
}

// eraseEpisodes erases records and memories with the same content, as `mneme erase --everywhere --yes` does.
func (f *eraseFlags) eraseEpisodes(ctx context.Context, a *app.App, ids []string) (schema.ForgetReceipt, error) {
	var out schema.ForgetReceipt
	c, err := a.OpenTemporal(ctx)
	if err != nil {
		return out, err
	}
	limited, cancel := a.Within(ctx)
	defer cancel()
	req := schema.ForgetRequest{Operation: f.Operation(a.Cfg.Principal), Mode: schema.ForgetErase,
		Selector: schema.Selector{IDs: ids, Everywhere: true}}
	run, err := mneme.StartForget(limited, c, a.Cfg.TaskQueue, req)
	if err != nil {
		return out, err
	}
	a.Interrupted = "the request is durable, and its run waits or continues: " + run.GetID()
	if err := f.confirm(limited, a, c, run); err != nil {
		return out, err
	}
	err = a.Follow(ctx, run, &out)
	return out, err
}

// confirm confirms the run, unless it needs no confirmation.
func (f *eraseFlags) confirm(ctx context.Context, a *app.App, c client.Client, run client.WorkflowRun) error {
	preview, err := mneme.ForgetPreview(ctx, c, run)
	if err != nil || preview.State != schema.ForgetPreviewed {
		return err
	}
	id, err := uuid.Parse(preview.RunID)
	if err != nil {
		return err
	}
	token, err := a.Store.ForgetToken(ctx, a.Cfg.Principal, id, time.Now())
	if err != nil || token == "" { // empty: it has been confirmed already
		return err
	}
	_, err = mneme.ConfirmForget(ctx, c, run.GetID(), schema.ForgetConfirmation{Token: token, Actor: f.Actor})
	return err
}

func (r EraseResult) text(t *app.Text) {
	t.Line("%d events emptied", r.Erased)
	for _, id := range r.Unknown {
		t.Line("event %s is not found", app.Printable(id))
	}
	if r.Runs > 0 {
		t.Line("%d runs that contained or showed them deleted", r.Runs)
	}
	if r.StillWritten {
		t.Line("events of user %s still arrived: stop the agents that write for the user, then run the command again",
			app.Printable(r.User))
	}
	if r.Indexed > 0 {
		t.Line("%d events removed from the memory index", r.Indexed)
	}
	if r.Unreached {
		t.Line("Temporal was not reached: contexts that showed them stay in its histories until the command " +
			"is run again")
	}
	if r.Receipt != nil {
		t.Line("%d records that repeated them erased (run %s)", r.Receipt.Forgotten, r.Receipt.RunID)
		for _, place := range r.Receipt.Pending {
			t.Line("not reached yet: %s", place)
		}
	}
	if r.User != "" && len(r.Episodes) > 0 {
		more := map[bool]string{true: "more than "}[r.MoreEpisodes]
		t.Line("%s%d episodes repeat them: mneme forget --user %s --all --mode erase", more, len(r.Episodes), r.User)
		return
	}
	for _, id := range r.Episodes {
		t.Line("episode %s repeats them: mneme erase %s", id, id)
	}
}

// eraseHistories deletes the histories of the sessions that may have carried events, and of the runs that may have
// shown them. The server may take a minute over a run that has just ended.
func eraseHistories(ctx context.Context, a *app.App, ids []string) (api.EraseEventsResult, error) {
	c, err := a.OpenTemporal(ctx)
	if err != nil {
		return api.EraseEventsResult{}, err
	}
	return mneme.EraseEvents(ctx, c, a.Cfg.TaskQueue, api.EraseEventsRequest{Tenant: a.Cfg.Principal.Tenant,
		User: a.Cfg.Principal.User, IDs: ids})
}
