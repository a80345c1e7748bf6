package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/memory/views"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/events"
)

// NewEvents returns the command that appends, reads and erases events of the ledger.
func NewEvents(a *app.App) *cobra.Command {
	cmd := app.Group(&cobra.Command{Use: "events", Short: "Append to the ledger of events, and read it",
		Long: `Append to the ledger of events, and read it.

The ledger is append-only. Its events are in streams: world/NAME, run/NAME or conversation/NAME. An event has a
number in its stream, without gaps. Erasing empties an event and leaves its number, kind and times.`})
	cmd.AddCommand(newAppend(a), newTail(a), app.ForTenant(newReplay(a)), app.ForTenant(newStreams(a)), newErase(a))
	return cmd
}

// AppendResult is the output of `events append`.
type AppendResult struct {
	Events []ledger.Appended `json:"events"`
}

func newAppend(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "append FILE|-",
		Short: "Append events from a file of JSON lines",
		Long: `Append events from a file of JSON lines, at most ` + strconv.Itoa(ledger.MaxAppend) +
			` in a transaction. A line is an event:

    {"id": "e1", "stream": "run/build-42", "kind": "tool.called", "turn": 1,
     "payload": {"call_id": "c1", "tool": "go", "args": {"cmd": "go build ./..."}}}

Without "id" an event gets a new one, without "agent" that of --agent, without "occurred_at" the current time. An event
whose id exists already is not appended again. An invalid line ends the command. Events appended before it stay, and
the command can be run again.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			input, err := a.OpenInput(args[0])
			if err != nil {
				return err
			}
			defer func() { _ = input.Close() }()
			if err := app.CheckPrincipal(a.Cfg.Principal); err != nil {
				return err
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			out := AppendResult{Events: []ledger.Appended{}}
			err = eachPageOf(input, ledger.Event{Agent: a.Cfg.Principal.Agent}, func(page []ledger.Event) error {
				ctx, cancel := a.Within(cmd.Context())
				defer cancel()
				appended, err := st.Append(ctx, events.AppendInput{Tenant: a.Cfg.Principal.Tenant,
					PolicyGroup: a.Cfg.Principal.PolicyGroup, User: a.Cfg.Principal.User, Events: page,
					Open: views.OpenKinds(a.Cfg.GlobalKinds), Now: time.Now()})
				out.Events = append(out.Events, appended...)
				return err
			})
			if err != nil {
				return err
			}
			return a.Print(out, out.text)
		},
	}
}

func (r AppendResult) text(t *app.Text) {
	added := 0
	for _, e := range r.Events {
		if e.Added {
			added++
		}
	}
	t.Line("%d events appended, %d existed already", added, len(r.Events)-added)
}

// eachPageOf reads events from JSON lines and calls fn with up to ledger.MaxAppend of them. Missing fields are taken
// from base.
func eachPageOf(input io.Reader, base ledger.Event, fn func([]ledger.Event) error) error {
	lines := bufio.NewScanner(input)
	lines.Buffer(make([]byte, 64<<10), 2*ledger.MaxPayloadBytes)
	var page []ledger.Event
	number := 0
	for lines.Scan() {
		number++
		line := lines.Bytes()
		if number == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		e := base
		e.OccurredAt = time.Now().UTC()
		if err := ledger.DecodeEvent(line, &e); err != nil {
			return fmt.Errorf("line %d is not an event: %w", number, err)
		}
		if e.ID == "" {
			e.ID = uuid.Must(uuid.NewV7()).String()
		}
		if err := e.Validate(); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		if page = append(page, e); len(page) == ledger.MaxAppend {
			if err := fn(page); err != nil {
				return err
			}
			page = nil
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return app.Invalid(fmt.Sprintf("line %d", number+1), "is longer than an event may be")
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	if len(page) == 0 {
		return nil
	}
	return fn(page)
}

// EventList is the output of `events tail` and `events replay`.
type EventList struct {
	Events []ledger.Event `json:"events"`
	Next   int64          `json:"next,omitempty"` // the number after which the next page begins
	// Receipts say who erased events and why, by event id.
	Receipts map[string]ledger.Receipt `json:"receipts,omitempty"`
}

func newTail(a *app.App) *cobra.Command {
	limit, before, ceiling := 20, int64(0), string(schema.SensitivityMedium)
	cmd := &cobra.Command{
		Use:   "tail STREAM",
		Short: "Show the latest events of a stream that the agent may see",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := app.CheckPrincipal(a.Cfg.Principal); err != nil {
				return err
			}
			if err := app.CheckLimit("number", limit, events.MaxPage); err != nil {
				return err
			}
			if err := app.CheckNumber("before", before); err != nil {
				return err
			}
			if err := checkStream(args[0]); err != nil {
				return err
			}
			in := events.LatestInput{Principal: a.Cfg.Principal, Stream: args[0], Before: before, Limit: limit,
				MaxSensitivity: schema.Sensitivity(ceiling)}
			if !in.MaxSensitivity.Valid() {
				return app.Invalid("max-sensitivity", "must be public, low, medium, high or hyper")
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			found, err := st.Latest(ctx, in)
			if err != nil {
				return err
			}
			out := EventList{Events: found}
			return a.Print(out, out.text)
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&limit, "number", "n", limit, "number of events, at most "+strconv.Itoa(events.MaxPage))
	flags.Int64Var(&before, "before", 0, "only events before this number")
	flags.StringVar(&ceiling, "max-sensitivity", ceiling, "show events up to this class")
	return cmd
}

func newReplay(a *app.App) *cobra.Command {
	limit, after := events.MaxPage, int64(0)
	cmd := &cobra.Command{
		Use:   "replay STREAM",
		Short: "Show all events of a stream in order, regardless of visibility",
		Long: `Show all events of a stream in order, regardless of visibility: for operators. Erased events are shown without
their payload, with who erased them and why. A full page names the number after which the next page begins.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := app.CheckLimit("number", limit, events.MaxPage); err != nil {
				return err
			}
			if err := app.CheckNumber("after", after); err != nil {
				return err
			}
			if err := checkStream(args[0]); err != nil {
				return err
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			found, err := st.Page(ctx, a.Cfg.Principal.Tenant, args[0], after, limit)
			if err != nil {
				return err
			}
			out := EventList{Events: found}
			var erased []string
			for _, e := range found {
				if e.Erased {
					erased = append(erased, e.ID)
				}
			}
			if len(erased) > 0 {
				if out.Receipts, err = st.Receipts(ctx, a.Cfg.Principal.Tenant, erased); err != nil {
					return err
				}
			}
			if len(found) > 0 && len(found) == limit {
				out.Next = found[len(found)-1].Seq
			}
			return a.Print(out, out.text)
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&limit, "number", "n", limit, "number of events, at most "+strconv.Itoa(events.MaxPage))
	flags.Int64Var(&after, "after", 0, "begin after this number")
	return cmd
}

// checkStream returns an error for a text that cannot be the name of a stream.
func checkStream(stream string) error {
	if ledger.StreamKindOf(stream) == "" {
		return app.Invalid("stream", "must be world/NAME, run/NAME or conversation/NAME")
	}
	return nil
}

func (l EventList) text(t *app.Text) {
	rows := make([][]string, len(l.Events))
	for i, e := range l.Events {
		says := views.Text(e)
		if e.Erased {
			says = "(erased" + erasedBy(l.Receipts[e.ID]) + ")"
		}
		rows[i] = []string{strconv.FormatInt(e.Seq, 10), app.When(e.OccurredAt), strconv.Itoa(e.Turn), e.Agent, e.Kind,
			string(e.Visibility), app.OneLine(says)}
	}
	t.Table("SEQ AT TURN AGENT KIND SEEN_BY WHAT", rows)
	if l.Next > 0 {
		t.Line("more: --after %d", l.Next)
	}
}

// erasedBy returns who erased an event and why, as far as known.
func erasedBy(r ledger.Receipt) (out string) {
	if r.By != "" {
		out += " by " + r.By
	}
	if r.Reason != "" {
		out += ": " + r.Reason
	}
	return out
}

// StreamList is the output of `events streams`.
type StreamList struct {
	Streams []events.Stream `json:"streams"`
}

func newStreams(a *app.App) *cobra.Command {
	after, limit := "", 100
	cmd := &cobra.Command{
		Use:   "streams",
		Short: "List the streams of the tenant",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := app.CheckLimit("number", limit, events.MaxPage); err != nil {
				return err
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			found, err := st.Streams(ctx, a.Cfg.Principal.Tenant, after, limit)
			if err != nil {
				return err
			}
			out := StreamList{Streams: found}
			return a.Print(out, out.text)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&after, "after", "", "begin after this name")
	flags.IntVarP(&limit, "number", "n", limit, "number of streams, at most "+strconv.Itoa(events.MaxPage))
	return cmd
}

func (l StreamList) text(t *app.Text) {
	rows := make([][]string, len(l.Streams))
	for i, s := range l.Streams {
		rows[i] = []string{s.Stream, ofUser(s.Scope), strconv.FormatInt(s.LastSeq, 10), app.When(s.UpdatedAt)}
	}
	t.Table("STREAM USER LAST_SEQ UPDATED", rows)
}

// ofUser returns the user of a stream's scope.
func ofUser(scope string) string {
	if scope == schema.UserScopePrefix {
		return "(several)"
	}
	return schema.UserOf(scope)
}
