package memories

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
)

// NewRecall returns the command that answers a question from memory.
func NewRecall(a *app.App) *cobra.Command {
	var (
		filter  app.FilterFlags
		task    taskFlags
		shaping shapingFlags
		limit   int
		batch   string
		format  string
	)
	cmd := &cobra.Command{
		Use:   "recall QUERY",
		Short: "Search memory",
		Long: `Search memory for a query. Results come best first; WHY names the channels that found a result, each with
its own score.

With --intent, --error-signature, --budget or --layers, the answer comes in layers. Recall then also selects the
matching procedure or plan that fits --context best, or names the context that would decide.
--expand adds supplementary rows: turns around the results, their sources, and more. --payload adds the structured
payloads of the results: the steps of a procedure, the nodes of a plan.

If nothing is relevant enough, there are no results. --min-score changes this floor, and --min-score 0
removes it. If a later statement changes a result, the result is marked: superseded, or older.

--format prompt prints the results in a block for a model. When a transcript with the block is ingested, the
block is skipped.

--batch - reads one query a line from standard input and prints one JSON object a line, in the same
order: the response, and "query". A query that fails has "error" instead, and the exit code is 5.`,
		Example: `  mneme recall "when may we deploy" --category rule
  mneme recall "the build fails" --error-signature "ld: cache mismatch" --context os=macos --budget 2000
  mneme recall --batch - --limit 20 < questions.txt`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := filter.Request(cmd.Flags(), a.Cfg.Principal)
			if err != nil {
				return err
			}
			req.Limit, req.Trust = limit, a.TrustContext()
			task.apply(cmd.Flags(), &req)
			shaping.apply(cmd.Flags(), &req)
			switch {
			case batch != "" && batch != "-":
				return app.Invalid("batch", "must be -, for standard input")
			case batch != "" && len(args) > 0:
				return app.Invalid("query", "comes from standard input with --batch")
			case batch == "" && len(args) == 0:
				return app.Invalid("query", "is empty")
			case format != "text" && format != "prompt" && format != "json":
				return app.Invalid("format", "must be text, prompt or json")
			case format != "json" && cmd.Flags().Changed("format") && (a.JSON || batch != ""):
				return app.Invalid("format", "must be json with --json or --batch, or left out")
			case format == "prompt" && shaping.explain:
				return app.Invalid("explain", "has no effect with --format prompt; leave it out")
			}
			a.JSON = a.JSON || format == "json" || batch != ""
			req.Query = strings.Join(args, " ")
			if batch != "" {
				req.Query = "any"
			}
			if err := app.OfFlags(req.Validate()); err != nil {
				return err
			}
			if most := recall.ClampLimit(limit); limit != 0 && most != limit {
				a.Note("mneme: --limit %d is outside 1 to %d: %d is used", limit, schema.MaxRecallLimit, most)
			}
			recaller, err := a.Recaller(cmd.Context())
			if err != nil {
				return err
			}
			if batch != "" {
				return recallBatch(cmd.Context(), a, recaller, req)
			}
			return recallOne(cmd.Context(), a, recaller, req, format)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&limit, "limit", 0, fmt.Sprintf("maximum number of results, clamped to 1 to %d (default %d)",
		schema.MaxRecallLimit, schema.DefaultRecallLimit))
	flags.StringVar(&batch, "batch", "", "-: read one query a line from standard input")
	flags.StringVar(&format, "format", "text", "text, prompt or json")
	filter.Register(flags)
	task.register(flags)
	shaping.register(flags)
	return cmd
}

func recallOne(ctx context.Context, a *app.App, r *recall.Recaller, req schema.RecallRequest, format string) error {
	ctx, cancel := a.Within(ctx)
	defer cancel()
	response, err := r.Recall(ctx, req)
	if err != nil {
		return err
	}
	if len(response.Meta.Degraded) > 0 {
		a.Note("mneme: degraded, without %s", strings.Join(response.Meta.Degraded, ", "))
	}
	a.NoteTrust(response.Meta.Trust)
	out := answered{RecallResponse: response}
	if len(response.Results) == 0 {
		if out.Note, err = a.UnknownTenant(ctx); err != nil {
			return err
		}
	}
	return a.Print(out, func(t *app.Text) {
		if format == "prompt" {
			t.Line("%s", intake.WrapRecalled(response.RetrievalID, Prompt(response)))
			return
		}
		results(t, response, req.MinScore)
		t.Note(out.Note)
	})
}

// answered is the output of `recall` as JSON.
type answered struct {
	schema.RecallResponse
	Note string `json:"note,omitempty"` // that the tenant is not known
}

// answer is one line of a batch.
type answer struct {
	Query string `json:"query"`
	*schema.RecallResponse
	Note  string         `json:"note,omitempty"` // that the tenant is not known
	Error *app.ErrorBody `json:"error,omitempty"`
}

func recallBatch(ctx context.Context, a *app.App, r *recall.Recaller, req schema.RecallRequest) error {
	out := bufio.NewWriter(a.Out)
	defer func() { _ = out.Flush() }()
	queries := bufio.NewScanner(a.In)
	queries.Buffer(nil, 1<<20)
	asked, failed := 0, 0
	for queries.Scan() {
		asked++
		req.Query = strings.TrimSpace(queries.Text())
		line := answer{Query: req.Query}
		err := func() error {
			ctx, cancel := a.Within(ctx)
			defer cancel()
			response, err := r.Recall(ctx, req)
			line.RecallResponse = &response
			if err == nil && len(response.Results) == 0 {
				line.Note, err = a.UnknownTenant(ctx)
			}
			return err
		}()
		if err != nil {
			if code := app.ExitCode(ctx, err); code == app.ExitInterrupted || code == app.ExitUnavailable {
				return err
			}
			failed++
			body := app.BodyOf(err)
			line.RecallResponse, line.Error = nil, &body
		}
		if err := app.WriteJSON(out, line); err != nil {
			return err
		}
		if err := out.Flush(); err != nil { // a caller may wait for each answer before it writes the next line
			return err
		}
	}
	if err := queries.Err(); err != nil {
		return fmt.Errorf("read queries: %w", err)
	}
	if failed > 0 {
		return app.WithCode(app.ExitPartial, fmt.Errorf("%d of %d queries failed", failed, asked))
	}
	return nil
}

// Nothing is the text for an empty answer, with the reason if results were found and left out, or if parts failed.
func Nothing(meta schema.RecallMeta, minScore *float64) string {
	if !meta.Unknown && len(meta.Degraded) > 0 {
		return "the answer is empty, and parts of the recall failed: " + strings.Join(meta.Degraded, ", ")
	}
	if !meta.Unknown {
		return "nothing of what was found fits into the answer"
	}
	line := "nothing is known about that"
	floor := meta.Floor
	if minScore != nil {
		floor = *minScore
	}
	found := 0
	for _, n := range meta.Channels {
		found += n
	}
	if found > 0 && meta.Relevance < floor {
		line += fmt.Sprintf(" (best relevance %s, below %s; --min-score 0 shows what was found)",
			app.Number(meta.Relevance), app.Number(floor))
	}
	return line
}

// results prints a response as a table.
func results(t *app.Text, response schema.RecallResponse, minScore *float64) {
	if len(response.Results) == 0 {
		t.Line("%s", Nothing(response.Meta, minScore))
		return
	}
	found, extra := inLayers(response)
	rows, marks := make([][]string, 0, len(found)), make([]app.Mark, 0, len(found))
	for _, r := range found {
		pinned := ""
		if r.Pinned {
			pinned = "*"
		}
		rows = append(rows, []string{app.Number(r.Score) + pinned, why(r), string(r.Category),
			r.OccurredAt.Local().Format("2006-01-02"), who(r) + shown(r, response)})
		marks = append(marks, app.Mark{Full: validityNote(r), Short: shortNote(r)})
	}
	header := "SCORE WHY CATEGORY DATE MEMORY"
	if len(response.Layers) > 0 {
		header = "LAYER " + header
		for i, r := range found {
			rows[i] = slices.Insert(rows[i], 0, string(schema.LayerOf(r.Type)))
		}
	}
	t.MarkedTable(header, rows, marks)
	explanations(t, found)
	payloads(t, found)
	supplements(t, extra)
	selections(t, response.Selections)
	t.Line("")
	layersLine(t, response.Layers)
	t.Line("found %d in %.1f ms (retrieval %s; * pinned)", len(rows), response.Meta.TimingsMS["total"],
		response.RetrievalID)
}

// why names the channels that found a result, strongest first. A result that no channel found was added because of
// another one: it replaced that one, or is next to it in the session.
func why(r schema.RecallResult) string {
	channels := r.Channels
	names := slices.SortedFunc(maps.Keys(channels), func(x, y string) int {
		return cmp.Or(cmp.Compare(channels[y], channels[x]), strings.Compare(x, y))
	})
	names = slices.DeleteFunc(names, func(name string) bool { return channels[name] < 0.005 }) // shown as 0.00
	if len(names) == 0 {
		if r.SupersededBy != "" {
			return "replaced by a result"
		}
		return "next to a result"
	}
	for i, name := range names {
		names[i] = name + " " + app.Number(channels[name])
	}
	return strings.Join(names, ", ")
}

func who(r schema.RecallResult) string {
	if r.Who == "" || r.Type != schema.TypeEpisodic {
		return ""
	}
	return r.Who + ": "
}

// validityNote describes the conditions and times of a memory's validity, if it has any, and whether it is contested or
// superseded.
func validityNote(r schema.RecallResult) string {
	var parts []string
	v := r.Validity
	if v.Mode == schema.ValidConditional {
		parts = append(parts, "if "+string(v.Conditions))
	}
	if v.Mode == schema.ValidTimeboxed && v.Start != nil {
		parts = append(parts, "from "+v.Start.UTC().Format(time.RFC3339))
	}
	if v.Mode == schema.ValidTimeboxed && v.End != nil {
		parts = append(parts, "until "+v.End.UTC().Format(time.RFC3339))
	}
	if r.Status == schema.StatusContested {
		parts = append(parts, "contested")
	}
	switch {
	case r.SupersededBy != "":
		parts = append(parts, "superseded by "+r.SupersededBy)
	case r.Status == schema.StatusSuperseded || r.Currentness == schema.CurrentnessSuperseded:
		parts = append(parts, "superseded")
	case r.Currentness == schema.CurrentnessMixed:
		parts = append(parts, "partly superseded")
	}
	if r.Newer != "" && r.Newer != r.SupersededBy {
		parts = append(parts, "older: see "+r.Newer)
	}
	if r.HeldUntil != nil {
		parts = append(parts, "held until "+r.HeldUntil.UTC().Format(time.DateOnly))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// shortNote is the short form of validityNote: whether a memory is contested or outdated.
func shortNote(r schema.RecallResult) string {
	switch {
	case r.Status == schema.StatusContested:
		return " (contested)"
	case r.SupersededBy != "", r.Status == schema.StatusSuperseded, r.Currentness == schema.CurrentnessSuperseded:
		return " (superseded)"
	case r.Currentness == schema.CurrentnessMixed:
		return " (partly superseded)"
	case r.Newer != "":
		return " (older)"
	}
	return ""
}

// Prompt renders results for a model: one line each, with the kind and whether it is current before the content. A
// line has an id if another one refers to it.
func Prompt(response schema.RecallResponse) string {
	if len(response.Results) == 0 {
		return "Nothing is known about that."
	}
	found, extra := inLayers(response)
	lines := make([]string, 0, len(response.Results))
	named := map[string]bool{}
	for _, r := range found {
		named[r.SupersededBy], named[r.Newer] = r.SupersededBy != "", r.Newer != ""
	}
	for _, r := range slices.Concat(found, extra) {
		label := string(r.Category)
		if r.Pinned {
			label = "critical " + label
		}
		if r.Supplementary {
			label = supplementKind(r)
		}
		label += ", " + r.OccurredAt.UTC().Format(time.DateOnly)
		if r.Currentness != "" && !r.Supplementary {
			label += ", " + string(r.Currentness)
		}
		if named[r.ID] {
			label += ", " + r.ID
		}
		lines = append(lines, fmt.Sprintf("- [%s] %s%s", label, who(r), app.OneLine(shown(r, response)+validityNote(r))))
		if len(r.Payload) > 0 {
			lines = append(lines, "  payload: "+app.OneLine(string(r.Payload)))
		}
	}
	return strings.Join(lines, "\n")
}

// shown returns the part of a result that is printed: for a long text, the passage that answers. In an answer with
// layers, the budget has already chosen the part.
func shown(r schema.RecallResult, response schema.RecallResponse) string {
	if p := r.Passage; p != nil && !r.Truncated && len(response.Layers) == 0 {
		return normalize.MarkCut(r.Content, p.Start, p.End)
	}
	return r.Content
}
