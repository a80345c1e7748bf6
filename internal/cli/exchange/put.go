package exchange

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
)

type putFlags struct {
	app.OperationFlags
	visibility, mode string
	noWait           bool
}

// NewPut returns the command that writes full records.
func NewPut(a *app.App) *cobra.Command {
	var f putFlags
	cmd := &cobra.Command{
		Use:   "put FILE.json|-",
		Short: "Write full records of any type",
		Long: `Write full records of any type, from another system or from an agent.

The file, or with - standard input, contains one record, an array of records, or several records in a row. Both
shapes of a record are accepted (mneme schema show MemoryRecord). The fields type, confidence and payload are
required; the others have defaults by type. An id that is not a UUID is kept as the external id.

Nothing is written when a record is invalid. Records are written ` + strconv.Itoa(schema.MaxPutRecords) +
			` at a time. A relation may name a stored record, or
one that comes earlier in the file or in the same group.

Each record has a status: created, updated (working memory replaced, or an episode that grew), discarded
(working memory whose task is done), unchanged, duplicate (a memory has the same content; its id is printed),
active_fact_exists (revise the memory printed), exists (the id is taken, or the record would supersede a live
memory: revise that one), append_only, version_conflict, cyclic_supersession, unknown_reference, no_evidence,
mutations_frozen or shadow_mode. The exit code is 5 if some of the records are refused, and 6 if all are.`,
		Example: `  mneme put skill.json --reason "learned on the build farm"
  jq -c '.memories[]' other.json | mneme put - --visibility shared --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := schema.PutRequest{Operation: f.Operation(a.Cfg.Principal),
				Visibility: schema.Visibility(f.visibility),
				Mode:       schema.WriteMode(f.mode)}
			records, err := readRecords(a, args[0], req)
			if err != nil {
				return err
			}
			return putRecords(cmd.Context(), a, req, records, f.noWait)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.visibility, "visibility", "",
		"visibility of records that do not set one: private (the default), group, shared or global")
	flags.StringVar(&f.mode, "mode", "",
		"write policy, at most as permissive as the worker's: controlled, frozen or shadow")
	flags.BoolVar(&f.noWait, "no-wait", false, "return once the requests are durable")
	f.Register(flags)
	return cmd
}

// MaxPutInput bounds the input of one command.
const MaxPutInput = 256 << 20

// readRecords reads all records of a file. If some are invalid, the error lists the problems of all of them.
func readRecords(a *app.App, path string, req schema.PutRequest) ([]schema.MemoryRecord, error) {
	input := a.In
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, app.WithCode(app.ExitUsage, err)
		}
		defer func() { _ = file.Close() }()
		input = file
	}
	data, err := io.ReadAll(io.LimitReader(input, MaxPutInput+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read records: %w", err)
	case len(data) > MaxPutInput:
		return nil, app.Invalid("file", "is larger than %d MiB", MaxPutInput>>20)
	case !utf8.Valid(data): // the JSON decoder would put replacement characters in
		return nil, app.Invalid("file", "is not valid UTF-8")
	}
	raw, err := splitRecords(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		return nil, err
	}
	out := make([]schema.MemoryRecord, len(raw))
	var bad []schema.FieldError
	for i := range raw {
		err := json.Unmarshal(raw[i], &out[i])
		if err == nil {
			req.Records = out[i : i+1]
			err = app.OfItem("records[0]", req.Validate())
		}
		if err != nil {
			for _, f := range FieldsOf(err) {
				bad = append(bad, schema.FieldError{Field: fmt.Sprintf("record %d: %s", i+1,
					strings.Replace(f.Field, "(patch)", "(record)", 1)), Problem: f.Problem})
			}
		}
	}
	if len(bad) > 0 {
		return nil, &schema.ValidationError{Fields: bad}
	}
	return out, nil
}

// splitRecords splits the input into records: one value, an array, or several values in a row.
func splitRecords(data []byte) ([]json.RawMessage, error) {
	var out []json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var value json.RawMessage
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			line := 1 + bytes.Count(data[:min(int(decoder.InputOffset()), len(data))], []byte("\n"))
			return nil, app.Invalid("file", "is not JSON at or after line %d", line)
		}
		if !bytes.HasPrefix(value, []byte("[")) {
			out = append(out, value)
			continue
		}
		var list []json.RawMessage
		if err := json.Unmarshal(value, &list); err != nil {
			return nil, app.Invalid("file", "is not JSON")
		}
		out = append(out, list...)
	}
	if len(out) == 0 {
		return nil, app.Invalid("file", "contains no record")
	}
	return out, nil
}

// Put is the output of `put`.
type Put struct {
	schema.PutResult
	Counts map[schema.PutStatus]int `json:"counts"`
	Runs   []app.OperationRun       `json:"runs"`
}

// putRecords writes records in as many runs as needed, one after the other, because later records may refer to
// earlier ones.
func putRecords(
	ctx context.Context,
	a *app.App,
	req schema.PutRequest,
	records []schema.MemoryRecord,
	noWait bool,
) error {
	parts := putParts(records)
	for _, part := range parts { // validate all parts before the first is written
		req.Records = part
		if err := req.Validate(); err != nil {
			return err
		}
	}
	out := Put{PutResult: schema.PutResult{Items: []schema.PutItem{}}, Counts: map[schema.PutStatus]int{},
		Runs: []app.OperationRun{}}
	failed := app.InParts(a, "putting", req.OperationID, parts,
		func(operation string, part []schema.MemoryRecord) error {
			req.OperationID, req.Records = operation, part
			return putPart(ctx, a, req, noWait, &out)
		})
	if failed != nil && len(out.Runs) == 0 {
		return failed
	}
	if err := a.Print(out, out.text); err != nil {
		return err
	}
	if failed != nil {
		return fmt.Errorf("not finished, %d of %d records are handled: %w", len(out.Items), len(records), failed)
	}
	refused := 0
	for _, item := range out.Items {
		if !item.Status.Stands() {
			refused++
		}
	}
	switch {
	case refused == 0:
		return nil
	case refused < len(out.Items):
		return app.WithCode(app.ExitPartial, fmt.Errorf("%d of %d records were refused", refused, len(out.Items)))
	case refused == 1:
		return app.WithCode(app.ExitConflict, errors.New("refused: "+string(out.Items[0].Status)))
	}
	return app.WithCode(app.ExitConflict, fmt.Errorf("all %d records were refused", refused))
}

// putPart carries out one run and adds its results to out.
func putPart(ctx context.Context, a *app.App, req schema.PutRequest, noWait bool, out *Put) error {
	var result *schema.PutResult
	if !noWait {
		result = &schema.PutResult{}
	}
	run, err := app.CarryOut(ctx, a, mneme.StartPut, req, result)
	if err != nil {
		return err
	}
	out.Runs = append(out.Runs, run)
	if result == nil {
		return nil
	}
	out.Items = append(out.Items, result.Items...)
	for _, item := range result.Items {
		out.Counts[item.Status]++
	}
	return nil
}

// putParts splits records into requests that Temporal accepts.
func putParts(records []schema.MemoryRecord) [][]schema.MemoryRecord {
	var out [][]schema.MemoryRecord
	from, size := 0, 0
	for i := range records {
		encoded, err := json.Marshal(records[i])
		if err != nil {
			encoded = nil // validated records always encode
		}
		if i-from == schema.MaxPutRecords || i > from && size+len(encoded) > app.MaxBatchBytes {
			out = append(out, records[from:i])
			from, size = i, 0
		}
		size += len(encoded)
	}
	return append(out, records[from:])
}

func (p Put) text(t *app.Text) {
	if len(p.Items) == 0 {
		for _, run := range p.Runs {
			t.Fields("workflow", run.WorkflowID, "run", run.RunID, "ui", run.URL)
		}
		return
	}
	rows := make([][]string, 0, len(p.Items))
	for _, item := range p.Items {
		version := ""
		if item.Version > 0 {
			version = strconv.Itoa(item.Version)
		}
		rows = append(rows, []string{item.ID, string(item.Status), version, item.ExternalID, PutNote(item)})
	}
	t.Table("MEMORY STATUS VERSION EXTERNAL NOTE", rows)
	if len(p.Items) > 1 {
		t.Line("%s", app.Counts(p.Counts))
	}
}

// PutNote explains a status.
func PutNote(item schema.PutItem) string {
	switch item.Status {
	case schema.PutDuplicate:
		return "this memory has the same content"
	case schema.PutConflict:
		return "this memory states another value: revise it"
	case schema.PutExists:
		return cmp.Or(item.Problem, "the id is taken: revise the memory that has it")
	case schema.PutVersion:
		return fmt.Sprintf("the current version is %d", item.Version)
	case schema.PutFrozen, schema.PutShadow:
		return "the worker's or the request's mode allows no writes"
	}
	return item.Problem
}
