package memories

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/exchange"
	"github.com/mneme/mneme/schema"
)

type modifyFlags struct {
	app.OperationFlags
	content, category, who string
	importance             float64
	tags                   []string
	noTags, pin, unpin     bool
	ifVersion              int
	force                  bool
	file                   string
}

// onePatch are the flags that belong to one memory.
var onePatch = []string{"content", "category", "importance", "tag", "no-tags", "pin",
	"unpin", "who", "if-version", "force"}

// NewModify returns the command that changes memories.
func NewModify(a *app.App) *cobra.Command {
	var f modifyFlags
	cmd := &cobra.Command{
		Use:   "modify ID | --file PATCHES.jsonl|-",
		Short: "Change a memory, or many, with a reason",
		Long: `Change one memory or many. Fields that are not given are not changed. The old version is kept, and
history says what changed, who did it and why.

The content of an episode is never changed. The content of a competence or a plan is made from its
structure: put or revise the record instead. The content of a pinned memory is changed only with --force. If a
memory has a claim, new content replaces the claim by a statement of the text. To replace one claim by another,
supersede the memory.

--file reads patches, one JSON object a line:

  id (required), content, category, importance, tags [], pinned, who, if_version, force, reason

Nothing is changed if a line is invalid. Patches are applied in order, ` + strconv.Itoa(schema.MaxPatches) +
			` in one run at most.

Each memory has a status: updated, no_changes, not_found, deleted, not_live, version_conflict,
duplicate_content_hash, pinned, append_only, structured_content or mutations_frozen. For one
memory, the exit code is 3 if it is not found and 6 if it is refused. For several, it is 5 if some were refused.`,
		Example: `  mneme modify 0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b --content "Ana lives in Porto." \
    --if-version 3 --reason "she moved"
  mneme modify --file patches.jsonl --reason "clean-up of the tags" --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags := cmd.Flags()
			if flags.Changed("file") {
				if len(args) > 0 {
					return app.Invalid("file", "cannot be combined with an id")
				}
				for _, name := range onePatch {
					if flags.Changed(name) {
						return app.Invalid(name, "needs an id, and cannot be combined with --file")
					}
				}
				patches, err := readPatches(a, f.file, f.Operation(a.Cfg.Principal))
				if err != nil {
					return err
				}
				return modify(cmd.Context(), a, f.Operation(a.Cfg.Principal), patches, true)
			}
			if len(args) == 0 {
				return app.Invalid("id", "is required, or --file")
			}
			patch, err := f.patch(a, flags, args[0])
			if err != nil {
				return err
			}
			return modify(cmd.Context(), a, f.Operation(a.Cfg.Principal), []schema.Patch{patch}, false)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.content, "content", "", "new text; with - from standard input")
	flags.StringVar(&f.category, "category", "",
		"fact, preference, decision, procedural, semantic, rule, learning or issue")
	flags.Float64Var(&f.importance, "importance", 0, "importance, 0 to 1")
	flags.StringSliceVar(&f.tags, "tag", nil, "tag (repeatable); the tags given replace all present ones")
	flags.BoolVar(&f.noTags, "no-tags", false, "remove all tags")
	flags.BoolVar(&f.pin, "pin", false, "pin the memory: importance 1, and it does not fade")
	flags.BoolVar(&f.unpin, "unpin", false, "remove the pin, so that the memory fades again")
	flags.StringVar(&f.who, "who", "", "speaker; empty to remove it")
	app.AllowEmpty(flags, "who")
	flags.IntVar(&f.ifVersion, "if-version", 0, "only if this is the current version")
	flags.BoolVar(&f.force, "force", false, "change the content of a pinned memory")
	flags.StringVar(&f.file, "file", "", "read patches from a file, or with - from standard input")
	f.RegisterRequired(flags)
	return cmd
}

// patch converts the flags to a patch of one memory.
func (f *modifyFlags) patch(a *app.App, flags *pflag.FlagSet, id string) (schema.Patch, error) {
	p := schema.Patch{ID: id, IfVersion: f.ifVersion, Content: app.Optional(flags, "content", f.content),
		Importance: app.Optional(flags, "importance", f.importance),
		Who:        app.Optional(flags, "who", f.who), Tags: app.Optional(flags, "tag", f.tags),
		Category: app.Optional(flags, "category", schema.Category(f.category)), Force: f.force}
	switch {
	case f.pin && f.unpin:
		return p, app.Invalid("unpin", "cannot be combined with --pin")
	case f.noTags && p.Tags != nil:
		return p, app.Invalid("no-tags", "cannot be combined with --tag")
	case f.noTags:
		p.Tags = &[]string{}
	}
	if f.pin || f.unpin {
		p.Pinned = &f.pin
	}
	if p.Content != nil && *p.Content == "-" {
		text, err := app.ReadContent(a.In)
		if err != nil {
			return p, err
		}
		p.Content = &text
	}
	return p, nil
}

// readPatches reads patches from lines of JSON. If lines are invalid, the error lists the problems of all of them.
func readPatches(a *app.App, path string, op schema.Operation) ([]schema.Patch, error) {
	input := a.In
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, app.WithCode(app.ExitUsage, err)
		}
		defer func() { _ = file.Close() }()
		input = file
	}
	lines := bufio.NewScanner(input)
	lines.Buffer(make([]byte, 0, 64<<10), 2*schema.MaxRequestBytes)
	var out []schema.Patch
	var bad []schema.FieldError
	n := 0
	for lines.Scan() {
		n++
		data := lines.Bytes()
		if n == 1 {
			data = bytes.TrimPrefix(data, []byte("\ufeff"))
		}
		if len(bytes.TrimSpace(data)) == 0 {
			continue
		}
		patch, err := checkedPatch(data, op)
		if err != nil {
			for _, f := range exchange.FieldsOf(err) {
				bad = append(bad, schema.FieldError{Field: fmt.Sprintf("line %d: %s", n, f.Field), Problem: f.Problem})
			}
			continue
		}
		out = append(out, patch)
	}
	switch {
	case errors.Is(lines.Err(), bufio.ErrTooLong):
		return nil, app.Invalid(fmt.Sprintf("line %d", n+1), "is longer than %d MiB", 2*schema.MaxRequestBytes>>20)
	case lines.Err() != nil:
		return nil, fmt.Errorf("read patches: %w", lines.Err())
	case len(bad) > 0:
		return nil, &schema.ValidationError{Fields: bad}
	case len(out) == 0:
		return nil, app.Invalid("file", "contains no patch")
	}
	return out, nil
}

func checkedPatch(line []byte, op schema.Operation) (schema.Patch, error) {
	if !utf8.Valid(line) { // the JSON decoder would put replacement characters in
		return schema.Patch{}, app.Invalid("(json)", "is not valid UTF-8")
	}
	patch, err := schema.DecodePatch(line)
	if err != nil {
		return patch, err
	}
	req := schema.ModifyRequest{Operation: op, Patches: []schema.Patch{patch}}
	return patch, app.OfItem("patches[0]", req.Validate())
}

// Modified is the output of `modify`.
type Modified struct {
	schema.ModifyResult
	Counts map[schema.PatchStatus]int `json:"counts"`
	Runs   []app.OperationRun         `json:"runs"`
}

// modify applies patches in as many runs as they need, one after the other.
func modify(ctx context.Context, a *app.App, op schema.Operation, patches []schema.Patch, several bool) error {
	req := schema.ModifyRequest{Operation: op, Patches: patches}
	if !several {
		if err := app.OfFlags(app.OfItem("patches[0]", req.Validate())); err != nil {
			return err
		}
	}
	parts := PartsOf(patches)
	out := Modified{ModifyResult: schema.ModifyResult{Results: []schema.PatchResult{}},
		Counts: map[schema.PatchStatus]int{}, Runs: []app.OperationRun{}}
	failed := app.InParts(a, "modifying", op.OperationID, parts, func(operation string, part []schema.Patch) error {
		req.OperationID, req.Patches = operation, part
		return modifyPart(ctx, a, req, &out)
	})
	if failed != nil && len(out.Results) == 0 {
		return failed
	}
	if err := a.Print(out, out.text); err != nil {
		return err
	}
	if failed != nil {
		return fmt.Errorf("not finished, %d of %d patches are done: %w", len(out.Results), len(patches), failed)
	}
	refused := out.Refused()
	switch {
	case refused == 0:
		return nil
	case several:
		return app.WithCode(app.ExitPartial, fmt.Errorf("%d of %d patches were refused", refused, len(patches)))
	case out.Results[0].Status == schema.PatchNotFound:
		return app.WithCode(app.ExitNotFound, errors.New("the memory is not found"))
	}
	return app.WithCode(app.ExitConflict, errors.New("refused: "+patchNote(out.Results[0])))
}

// modifyPart carries out one run and adds its results to out.
func modifyPart(ctx context.Context, a *app.App, req schema.ModifyRequest, out *Modified) error {
	var result schema.ModifyResult
	run, err := app.CarryOut(ctx, a, mneme.StartModify, req, &result)
	if err != nil {
		return err
	}
	out.Runs = append(out.Runs, run)
	out.Results = append(out.Results, result.Results...)
	out.Updated += result.Updated
	for _, r := range result.Results {
		out.Counts[r.Status]++
	}
	return nil
}

// PartsOf splits patches into requests. No request has a memory twice or is larger than Temporal accepts.
func PartsOf(patches []schema.Patch) [][]schema.Patch {
	var out [][]schema.Patch
	var part []schema.Patch
	seen, size := map[string]bool{}, 0
	for _, p := range patches {
		encoded, err := json.Marshal(p)
		if err != nil {
			encoded = nil // strings and finite numbers always encode
		}
		id := strings.ToLower(p.ID)
		if len(part) == schema.MaxPatches || seen[id] || len(part) > 0 && size+len(encoded) > app.MaxBatchBytes {
			out, part, seen, size = append(out, part), nil, map[string]bool{}, 0
		}
		part, seen[id], size = append(part, p), true, size+len(encoded)
	}
	return append(out, part)
}

func (m Modified) text(t *app.Text) {
	rows := make([][]string, 0, len(m.Results))
	for _, r := range m.Results {
		rows = append(rows, []string{r.ID, string(r.Status), versions(r.CurrentVersion, r.NewVersion), patchNote(r)})
	}
	t.Table("MEMORY STATUS VERSION NOTE", rows)
	if len(m.Results) > 1 {
		t.Line("%s", app.Counts(m.Counts))
	}
}

// versions formats a version, or the step from one to the next.
func versions(before, after int) string {
	switch {
	case before == 0:
		return ""
	case after == 0:
		return strconv.Itoa(before)
	}
	return fmt.Sprintf("%d → %d", before, after)
}

// patchNote explains a status.
func patchNote(r schema.PatchResult) string {
	switch r.Status {
	case schema.PatchUpdated:
		if r.ContentChanged && !r.Embedded {
			return "will be embedded later"
		}
		return ""
	case schema.PatchDuplicate:
		return "memory " + r.DuplicateID + " has the same content"
	case schema.PatchVersionConflict:
		return fmt.Sprintf("the current version is %d", r.CurrentVersion)
	case schema.PatchDeleted:
		return "it is deleted: recover it first"
	case schema.PatchNotLive:
		return "it is superseded, retracted or archived"
	case schema.PatchPinned:
		return "it is pinned: --force changes the content, --unpin the importance"
	case schema.PatchAppendOnly:
		return "the content of an episode does not change"
	case schema.PatchStructured:
		return "its content is made from its structure: put or revise it"
	case schema.PatchFrozen:
		return "the worker is configured to change no memories"
	case schema.PatchNotFound:
		return "not found, or not visible to you"
	}
	return ""
}
