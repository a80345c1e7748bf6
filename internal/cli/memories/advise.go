package memories

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/recall/advising"
	"github.com/mneme/mneme/schema"
)

// NewAdvise returns the command that advises what to do, and records reports of the outcome.
func NewAdvise(a *app.App) *cobra.Command {
	var req api.AdviseRequest
	errorFile, policy, failed, failedArgs := "", "", "", ""
	cmd := &cobra.Command{
		Use:   "advise TASK",
		Short: "Ask what to do, based on what worked before",
		Long: `Ask what to do. The answer is the procedure or plan that fits the task, the error and the context best. It has the
steps with their parameters filled in, the confidence, missing parameters, and alternatives. If nothing is certain
enough, the answer lists the candidates and the context that would decide between them.

Afterwards ` + "`mneme advise report ID`" + ` reports the outcome, so that the next answer is better.`,
		Example: `  make app 2> error.txt || mneme advise "build the app" --error-file error.txt --context os=linux
  mneme advise "load the data" --error "invalid header" --failed-tool shell --failed-args '{"cmd":"load sales.csv"}'
  mneme advise report 01a209df-163f-7e14-a0e0-26682bfb2f46 --outcome success --used 01a209df-0000-7000-8000-000000000000`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Principal, req.Task, req.ReadPolicy = a.Cfg.Principal, strings.Join(args,
				" "), schema.ReadPolicy(policy)
			if errorFile != "" {
				in, err := a.OpenInput(errorFile)
				if err != nil {
					return err
				}
				defer func() { _ = in.Close() }()
				var cut bool
				if req.Error, cut, err = readEnd(in, api.MaxAdviceError); err != nil {
					return fmt.Errorf("read the error: %w", err)
				}
				if cut {
					a.Note("mneme: the error is longer than %d KiB: its end is used", api.MaxAdviceError>>10)
				}
			}
			if failed != "" || failedArgs != "" {
				req.Failed = &api.FailedCall{Tool: failed, Args: json.RawMessage(failedArgs)}
			}
			if err := req.Validate(); err != nil {
				return err
			}
			recaller, err := a.Recaller(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			adviser := advising.Adviser{Store: recaller.Store, Recaller: recaller}
			out, err := adviser.Advise(ctx, req)
			if err != nil {
				return err
			}
			return a.Print(out, func(t *app.Text) { adviceText(t, out) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&req.Error, "error", "", "the error, as it was reported")
	flags.StringVar(&errorFile, "error-file", "", "file with the error; - is standard input. Of a long file, the end is read")
	flags.StringToStringVar(&req.Context, "context", nil,
		"the situation, as key=value pairs: os=linux,project_kind=service")
	flags.StringToStringVar(&req.Preferences, "prefer", nil, "preferences of the user, with the same keys as --context")
	flags.StringVar(&req.WorkingDir, "working-dir", "", "the directory in which to work")
	flags.StringVar(&failed, "failed-tool", "", "the tool whose call failed")
	flags.StringVar(&failedArgs, "failed-args", "", "the arguments of that call, as a JSON object")
	flags.StringVar(&policy, "read-policy", "", "memories to use: isolated (the agent's own), shared or group")
	cmd.MarkFlagsMutuallyExclusive("error", "error-file")
	cmd.AddCommand(newAdviseReport(a))
	return cmd
}

// readEnd reads a text. Of one with more than the given number of bytes, it returns the whole lines at the end, because
// the output of a tool ends with its error, and reports that it was cut.
func readEnd(in io.Reader, most int) (text string, cut bool, err error) {
	var end []byte
	for chunk := make([]byte, 32<<10); err == nil; {
		var n int
		n, err = in.Read(chunk)
		end = append(end, chunk[:n]...)
		if len(end) > 2*most {
			end, cut = append(end[:0], end[len(end)-most-1:]...), true // one more, to see whether a line begins there
		}
	}
	if !errors.Is(err, io.EOF) {
		return "", false, err
	}
	if cut = cut || len(end) > most; cut {
		end = end[max(0, len(end)-most-1):]
		_, rest, found := bytes.Cut(end, []byte("\n"))
		if end = end[1:]; found && len(rest) > 0 {
			end = rest
		}
	}
	return strings.ToValidUTF8(string(end), ""), cut, nil
}

func adviceText(t *app.Text, out api.AdviseResponse) {
	t.Line("advice %s", out.AdviceID)
	if out.Best == nil {
		if len(out.Others) == 0 {
			t.Line("nothing is known about this")
		} else {
			t.Line("nothing is certain enough; candidates:")
		}
	} else {
		optionText(t, *out.Best)
	}
	for _, o := range out.Others {
		t.Line("")
		optionText(t, o)
	}
	if len(out.MissingContext) > 0 {
		t.Line("")
		t.Line("it would help to know: --context %s=…", strings.Join(out.MissingContext, "=… --context "))
	}
}

func optionText(t *app.Text, o api.AdviceOption) {
	kind := map[string]string{string(schema.TypePlanGraph): "plan"}[o.Type]
	if kind == "" {
		kind = "procedure"
	}
	if o.Tentative {
		kind = "what helped before"
	}
	t.Line("%s (%s %s): %s", app.OneLine(o.Name), kind, o.MemoryID, sureness(o.Confidence))
	for i, s := range o.Steps {
		line := fmt.Sprintf("  %d. %s", i+1, app.OneLine(s.Text))
		if len(s.Args) > 0 {
			args, _ := json.Marshal(s.Args) // decoded from JSON
			line += fmt.Sprintf("\n     %s %s", s.Tool, args)
		}
		if s.Optional {
			line += " (optional)"
		}
		if s.Validation != "" {
			line += "\n     then: " + app.OneLine(s.Validation)
		}
		t.Line("%s", line)
	}
	list := func(title string, values []string) {
		if len(values) > 0 {
			t.Line("  %s: %s", title, app.OneLine(strings.Join(values, "; ")))
		}
	}
	list("missing parameters", o.Missing)
	list("unknown", o.Unknown)
	list("otherwise", o.Fallbacks)
	list("possible failures", o.FailureModes)
	list("evidence", o.Evidence)
}

// sureness returns a confidence in words.
func sureness(confidence float64) string {
	word := "unsure"
	switch {
	case confidence >= 0.75:
		word = "very likely"
	case confidence >= 0.6:
		word = "likely"
	case confidence >= 0.4:
		word = "worth a try"
	}
	return fmt.Sprintf("%s (%.2f)", word, confidence)
}

// adviceReported is the output of `advise report`.
type adviceReported struct {
	app.OperationRun
	api.ReportResult
}

// heldText says why a report counts only in the reporter's own advice, or "".
func heldText(r api.ReportResult) string {
	switch r.Held {
	case schema.HeldOneSource:
		return "it counts in your own advice now, and in that of others when another one reports the same"
	case schema.HeldRepeated:
		return "it counts in your own advice; for others, a session counts once, or a day if there is no session"
	}
	return ""
}

// reportText says what became of a report, unless it counted as usual.
func reportText(r api.ReportResult) string {
	switch r.Status {
	case schema.ReportCarried:
		return r.Successor + " is in its place now and has the same steps"
	case schema.ReportSuperseded:
		if r.Successor == "" {
			return "it was superseded: the outcome counts for the former version only"
		}
		return "it was superseded by " + r.Successor + ", which has other steps or is for other situations: the outcome " +
			"counts for the former version only"
	case schema.ReportShown:
		return "an episode of the session has shown this outcome before"
	case schema.ReportUndecided:
		return "a partial or unknown outcome does not count"
	case schema.ReportGone:
		return "it was forgotten or retracted, or you may no longer read it: the outcome does not count"
	}
	return ""
}

func newAdviseReport(a *app.App) *cobra.Command {
	var req api.ReportRequest
	outcome, policy := "", ""
	cmd := &cobra.Command{
		Use:   "report ID",
		Short: "Report the outcome after advice; the same report counts once",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Principal, req.AdviceID, req.Outcome = a.Cfg.Principal, args[0], schema.Outcome(outcome)
			req.ReadPolicy = schema.ReadPolicy(policy)
			if err := req.Validate(); err != nil {
				return err
			}
			var out adviceReported
			var err error
			out.OperationRun, err = app.CarryOut(cmd.Context(), a, mneme.StartReport, req, &out.ReportResult)
			if err != nil {
				return err
			}
			return a.Print(out, func(t *app.Text) {
				for _, said := range []string{reportText(out.ReportResult), heldText(out.ReportResult)} {
					if said != "" {
						t.Line("%s", said)
					}
				}
				if len(out.Changed) == 0 {
					t.Line("nothing changed")
				}
				for _, id := range out.Changed {
					t.Line("counted for %s", id)
				}
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&outcome, "outcome", "", "success, failure or partial")
	flags.StringVar(&req.Used, "used", "", "id of the memory that was followed; empty if none was")
	app.AllowEmpty(flags, "used")
	flags.StringToStringVar(&req.Context, "context", nil, "the situation, as key=value pairs: os=linux")
	flags.StringVar(&req.Session, "session", "", "the session of the work; in the advice for others it counts once")
	flags.StringVar(&policy, "read-policy", "", "the read policy of the request for advice")
	return cmd
}
