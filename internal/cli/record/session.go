package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/sessions"
)

// NewSession returns the command of sessions: the work of an agent on a stream.
func NewSession(a *app.App) *cobra.Command {
	cmd := app.Group(&cobra.Command{Use: "session",
		Short: "Record the work of an agent, read its state, make an episode of it",
		Long: `Record the work of an agent, read the state of the work, and make an episode of it.

A session is the work of one agent on one stream of the ledger, which is run/SESSION unless --stream names another.
Its first event opens it. It closes when the agent ends it (run.ended), when you close it, or after half an hour without
an event. A later event opens it again, for the next episode. The state of the work and the lists are read from
Postgres.`})
	cmd.AddCommand(newSessionAppend(a), newSessionRecord(a), newSessionWorking(a), newSessionClose(a),
		newSessionList(a),
		newSessionShow(a))
	return cmd
}

// sessionFlags name a session.
func sessionFlags(cmd *cobra.Command, a *app.App, stream *string) func(args []string) (api.SessionRef, error) {
	cmd.Flags().StringVar(stream, "stream", "", "its stream; run/SESSION by default")
	return func(args []string) (api.SessionRef, error) {
		ref := api.SessionRef{Principal: a.Cfg.Principal, Session: args[0], Stream: *stream}
		return ref, ref.Validate()
	}
}

func keyOf(ref api.SessionRef) sessions.Key {
	return sessions.Key{Principal: ref.Principal, Session: ref.Session, Stream: ref.StreamName(),
		WorkflowID: api.SessionWorkflowID(ref)}
}

func newSessionAppend(a *app.App) *cobra.Command {
	stream, settings := "", api.SessionSettings{}
	cmd := &cobra.Command{Use: "append SESSION FILE|-", Short: "Append events from a file of JSON lines",
		Long: `Append events from a file of JSON lines, as for "mneme events append". Events need no stream. The
command ends when they are in the ledger.`,
		Args: cobra.ExactArgs(2)}
	ref := sessionFlags(cmd, a, &stream)
	cmd.Flags().IntVar(&settings.IdleSeconds, "idle-seconds", 0,
		"if this opens the session: close it after this time without an event")
	cmd.Flags().IntVar(&settings.ReflectionThreshold, "reflection-threshold", 0,
		"if this opens the session: reflect after this number of events")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		session, err := ref(args)
		if err != nil {
			return err
		}
		c, err := a.OpenTemporal(cmd.Context())
		if err != nil {
			return err
		}
		out := AppendResult{Events: []ledger.Appended{}}
		err = eachSessionPage(a, session, args[1], func(page []ledger.Event) error {
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			appended, err := mneme.AppendEvents(ctx, c, a.Cfg.TaskQueue,
				api.AppendRequest{SessionRef: session, Settings: settings, Events: page})
			out.Events = append(out.Events, appended.Appended...)
			return err
		})
		if err != nil {
			return err
		}
		return a.Print(out, out.text)
	}
	return cmd
}

// sessionPageBytes bounds the events of one request as JSON.
const sessionPageBytes = 1 << 20

// eachSessionPage reads events of a session, and calls fn with as many as one request takes.
func eachSessionPage(a *app.App, ref api.SessionRef, path string, fn func([]ledger.Event) error) error {
	input, err := a.OpenInput(path)
	if err != nil {
		return err
	}
	defer func() { _ = input.Close() }()
	return eachPageOf(input, ledger.Event{Agent: ref.Principal.Agent, Stream: ref.StreamName()},
		func(page []ledger.Event) error {
			from, size := 0, 0
			for i, e := range page {
				encoded, err := json.Marshal(e)
				if err != nil {
					return fmt.Errorf("event %s: %w", e.ID, err)
				}
				if size += len(encoded); size > sessionPageBytes && i > from {
					if err := fn(page[from:i]); err != nil {
						return err
					}
					from, size = i, len(encoded)
				}
			}
			return fn(page[from:])
		})
}

func newSessionRecord(a *app.App) *cobra.Command {
	stream, outcome := "", ""
	cmd := &cobra.Command{Use: "record SESSION FILE|-",
		Short: "Record a whole session that has ended: one request, one episode",
		Long: `Record a whole session that has ended, at most ` + strconv.Itoa(ledger.MaxAppend) +
			` events: one request, one episode. Record longer ones
with "mneme session append" and "mneme session close".`,
		Args: cobra.ExactArgs(2)}
	ref := sessionFlags(cmd, a, &stream)
	cmd.Flags().StringVar(&outcome, "outcome", "", "success, failure or partial, if the events do not say it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		session, err := ref(args)
		if err != nil {
			return err
		}
		var all []ledger.Event
		if err := eachSessionPage(a, session, args[1], func(page []ledger.Event) error {
			all = append(all, page...)
			return nil
		}); err != nil {
			return err
		}
		c, err := a.OpenTemporal(cmd.Context())
		if err != nil {
			return err
		}
		ctx, cancel := a.Within(cmd.Context())
		defer cancel()
		out, err := mneme.RecordSession(ctx, c, a.Cfg.TaskQueue,
			api.RecordRequest{SessionRef: session, Outcome: schema.Outcome(outcome), Events: all})
		if err != nil {
			return err
		}
		return a.Print(out, func(t *app.Text) { sessionText(t, out) })
	}
	return cmd
}

func newSessionClose(a *app.App) *cobra.Command {
	stream, outcome, summary := "", "", ""
	cmd := &cobra.Command{Use: "close SESSION", Short: "Close a session into its episode", Args: cobra.ExactArgs(1)}
	ref := sessionFlags(cmd, a, &stream)
	cmd.Flags().StringVar(&outcome, "outcome", "", "success, failure or partial; appended as run.ended")
	cmd.Flags().StringVar(&summary, "summary", "", "how it ended, in words")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		session, err := ref(args)
		if err != nil {
			return err
		}
		req := api.CloseRequest{SessionRef: session, Outcome: schema.Outcome(outcome), Summary: summary}
		if err := req.Validate(); err != nil {
			return err
		}
		if _, err := showSession(cmd, a, ref, args); err != nil { // closing it would open it first
			return err
		}
		c, err := a.OpenTemporal(cmd.Context())
		if err != nil {
			return err
		}
		ctx, cancel := a.Within(cmd.Context())
		defer cancel()
		out, err := mneme.CloseSession(ctx, c, a.Cfg.TaskQueue, req)
		if err != nil {
			return err
		}
		return a.Print(out, func(t *app.Text) { sessionText(t, out) })
	}
	return cmd
}

func sessionText(t *app.Text, r api.SessionResult) {
	if r.EpisodeID == "" {
		t.Line("no episode: the session has no event, or the policy writes none")
		return
	}
	t.Line("episode %s of %d events (%d to %d of %s), %s", r.EpisodeID, r.Events, r.FirstSeq, r.LastSeq, r.Stream,
		r.Outcome)
}

func newSessionWorking(a *app.App) *cobra.Command {
	stream := ""
	cmd := &cobra.Command{Use: "working SESSION", Short: "Show the state of the work, to continue it elsewhere",
		Args: cobra.ExactArgs(1)}
	ref := sessionFlags(cmd, a, &stream)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		shown, err := showSession(cmd, a, ref, args)
		if err != nil {
			return err
		}
		if shown.Working == nil {
			return app.WithCode(app.ExitNotFound,
				errors.New("the session is closed: the state of its work was discarded"))
		}
		out := api.SessionWorking{Stream: shown.Stream, Seq: shown.LastSeq, Working: *shown.Working}
		return a.Print(out, func(t *app.Text) { workingText(t, out) })
	}
	return cmd
}

func workingText(t *app.Text, s api.SessionWorking) {
	w := s.Working
	t.Line("%s %s%s, up to event %d of %s", w.State, w.TaskID, w.ThreadID, s.Seq, s.Stream)
	if w.ContextSummary != "" {
		t.Line("%s", app.OneLine(w.ContextSummary))
	}
	for _, next := range w.NextActions {
		t.Line("next: %s", app.OneLine(next))
	}
	for _, question := range w.OpenQuestions {
		t.Line("open: %s", app.OneLine(question))
	}
	for _, constraint := range w.ActiveConstraints {
		t.Line("constraint: %s", app.OneLine(strings.Trim(string(constraint), `"`)))
	}
}

func showSession(
	cmd *cobra.Command,
	a *app.App,
	ref func([]string) (api.SessionRef, error),
	args []string,
) (sessions.Shown, error) {
	session, err := ref(args)
	if err != nil {
		return sessions.Shown{}, err
	}
	st, err := a.OpenStore(cmd.Context())
	if err != nil {
		return sessions.Shown{}, err
	}
	ctx, cancel := a.Within(cmd.Context())
	defer cancel()
	shown, err := st.ShowSession(ctx, keyOf(session))
	if errors.Is(err, pg.ErrNotFound) {
		return shown, app.WithCode(app.ExitNotFound, errors.New("this agent has no such session"))
	}
	return shown, err
}

func newSessionShow(a *app.App) *cobra.Command {
	stream := ""
	cmd := &cobra.Command{Use: "show SESSION", Short: "Show a session and its episodes", Args: cobra.ExactArgs(1)}
	ref := sessionFlags(cmd, a, &stream)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		out, err := showSession(cmd, a, ref, args)
		if err != nil {
			return err
		}
		return a.Print(out, func(t *app.Text) {
			t.Line("%s of %s: %s, %d events (%d to %d of %s)", out.Session.Session, out.AgentID, out.State,
				out.Events, out.FirstSeq, out.LastSeq, out.Stream)
			rows := make([][]string, len(out.Episodes))
			for i, e := range out.Episodes {
				memory := "(none)"
				if e.MemoryID != nil {
					memory = e.MemoryID.String()
				}
				rows[i] = []string{memory, strconv.FormatInt(e.FirstSeq, 10), strconv.FormatInt(e.LastSeq, 10),
					strconv.Itoa(e.Events),
					string(e.Outcome), string(e.Closed), app.When(e.ClosedAt)}
			}
			t.Table("EPISODE FROM TO EVENTS OUTCOME CLOSED AT", rows)
		})
	}
	return cmd
}

// SessionList is the output of `session list`.
type SessionList struct {
	Sessions []sessions.Session `json:"sessions"`
	Note     string             `json:"note,omitempty"` // the list is empty, but sessions of other scopes are not shown
}

func newSessionList(a *app.App) *cobra.Command {
	in := sessions.ListInput{Limit: 100}
	every, allScopes := false, false
	cmd := &cobra.Command{Use: "list", Short: "List sessions, latest change first", Args: cobra.NoArgs,
		Long: `List sessions, latest change first. Like "mneme list", it shows those of --scope, or without a scope; with
--user those of the user and of the agent. --all-scopes shows those of all users and scopes.`}
	cmd.Flags().BoolVar(&in.Open, "open", false, "only open sessions")
	cmd.Flags().BoolVar(&every, "every-agent", false, "sessions of every agent of the tenant")
	cmd.Flags().BoolVar(&allScopes, "all-scopes", false, app.AllScopesUsage)
	cmd.Flags().IntVarP(&in.Limit, "number", "n", in.Limit, "number of sessions, at most "+strconv.Itoa(sessions.MaxPage))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := app.CheckLimit("number", in.Limit, sessions.MaxPage); err != nil {
			return err
		}
		if every {
			if err := app.RefuseWith(cmd.Flags(), "--every-agent", "agent"); err != nil {
				return err
			}
		}
		if err := app.CheckAllScopes(a, allScopes); err != nil {
			return err
		}
		in.Tenant = a.Cfg.Principal.Tenant
		if !allScopes {
			in.Scopes = a.Cfg.Principal.ReadScopes()
		}
		if !every {
			in.Agent = a.Cfg.Principal.Agent
		}
		st, err := a.OpenStore(cmd.Context())
		if err != nil {
			return err
		}
		ctx, cancel := a.Within(cmd.Context())
		defer cancel()
		found, err := st.ListSessions(ctx, in)
		if err != nil {
			return err
		}
		out := SessionList{Sessions: found}
		out.Note, err = app.NoteOtherScopes(len(found), "", allScopes || a.Cfg.Principal.User != "", func() (int, error) {
			all := in
			all.Scopes, all.Limit = nil, 1
			others, err := st.ListSessions(ctx, all)
			return len(others), err
		})
		if err != nil {
			return err
		}
		return a.Print(out, out.text)
	}
	return cmd
}

func (l SessionList) text(t *app.Text) {
	rows := make([][]string, len(l.Sessions))
	for i, s := range l.Sessions {
		rows[i] = []string{s.Session, s.AgentID, schema.UserOf(s.Scope), s.State, strconv.Itoa(s.Events), s.Stream,
			app.When(s.UpdatedAt)}
	}
	t.Table("SESSION AGENT USER STATE EVENTS STREAM UPDATED", rows)
	t.Note(l.Note)
}
