package operate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/exchange"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/jsonschema"
)

// NewSchema returns the command that shows the canonical schemas and checks records.
func NewSchema(a *app.App) *cobra.Command {
	cmd := app.Group(&cobra.Command{Use: "schema", Short: "Show the canonical schemas, and check records against them"})
	cmd.AddCommand(newSchemaList(a), newSchemaShow(a), newSchemaValidate(a))
	return cmd
}

// SchemaInfo is one schema document in the output of list.
type SchemaInfo struct {
	Name        string `json:"name"`
	ID          string `json:"id"`
	Description string `json:"description"`
}

func newSchemaList(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the JSON Schema documents",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			out := app.Page[SchemaInfo]{Items: []SchemaInfo{}}
			for _, name := range jsonschema.Names() {
				data, _ := jsonschema.Document(name)
				var document struct {
					ID          string `json:"$id"`
					Description string `json:"description"`
				}
				if err := json.Unmarshal(data, &document); err != nil {
					return fmt.Errorf("schema %s: %w", name, err)
				}
				out.Items = append(out.Items, SchemaInfo{Name: name, ID: document.ID,
					Description: document.Description})
			}
			return a.Print(out, func(t *app.Text) {
				rows := make([][]string, 0, len(out.Items))
				for _, s := range out.Items {
					rows = append(rows, []string{s.Name, s.ID, s.Description})
				}
				t.Table("NAME ID DESCRIPTION", rows)
			})
		},
	}
}

func newSchemaShow(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Print a JSON Schema document, such as MemoryRecord or mem://schemas/MemoryRecord",
		Args:  cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return jsonschema.Names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			data, ok := jsonschema.Document(args[0])
			if !ok {
				return app.WithCode(app.ExitNotFound,
					errors.New("there is no schema of that name: see mneme schema list"))
			}
			return a.Print(json.RawMessage(data), func(t *app.Text) { t.Buf.Write(data) })
		},
	}
}

// Validated is the report of a validation.
type Validated struct {
	Records int                  `json:"records"`
	Invalid []exchange.LineError `json:"invalid"`
}

func newSchemaValidate(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE|-",
		Short: "Check records against the canonical schemas",
		Long: `Check one record, or JSON Lines with one record each, against the canonical schemas. A record may have
the shape of the schema appendix or of the canonical schemas, and must be complete. Every field that is
wrong is named with its path; values are not shown. The exit code is 2 if a record is not valid.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			in, err := a.OpenInput(args[0])
			if err != nil {
				return err
			}
			defer func() { _ = in.Close() }()
			out := Validated{Invalid: []exchange.LineError{}}
			err = eachRecord(in, func(line int, data []byte) {
				out.Records++
				_, err := schema.DecodeRecord(data)
				var bad *schema.ValidationError
				if errors.As(err, &bad) {
					out.Invalid = append(out.Invalid, exchange.LineError{Line: line, Fields: bad.Fields})
				}
			})
			if err != nil {
				return err
			}
			if out.Records == 0 {
				return app.Invalid("file", "contains no record")
			}
			err = a.Print(out, func(t *app.Text) {
				for _, bad := range out.Invalid {
					for _, field := range bad.Fields {
						t.Line("line %d: %s", bad.Line, app.Printable(field.Error()))
					}
				}
				t.Line("%d of %d records valid", out.Records-len(out.Invalid), out.Records)
			})
			if err == nil && len(out.Invalid) > 0 {
				err = app.WithCode(app.ExitUsage,
					fmt.Errorf("%d of %d records are not valid", len(out.Invalid), out.Records))
			}
			return err
		},
	}
}

// eachRecord calls fn for every record of a file with the number of its first line. If the first line that is not blank
// is complete JSON, every line is a record; otherwise the whole file is one.
func eachRecord(in io.Reader, fn func(line int, data []byte)) error {
	read := bufio.NewReader(in)
	for line, first := 1, true; ; line++ {
		data, err := nextLine(read)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		last := err != nil
		if line == 1 {
			data = bytes.TrimPrefix(data, []byte("\ufeff"))
		}
		if len(bytes.TrimSpace(data)) > 0 {
			if first && !last && !json.Valid(data) {
				rest, err := io.ReadAll(io.LimitReader(read, schema.MaxRecordBytes+1))
				if err != nil {
					return fmt.Errorf("read: %w", err)
				}
				fn(line, append(append(data, '\n'), rest...))
				return nil
			}
			first = false
			fn(line, data)
		}
		if last {
			return nil
		}
	}
}

// nextLine reads a line. It keeps only as many bytes as a record may have, and skips the rest.
func nextLine(read *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := read.ReadSlice('\n')
		if len(line) <= schema.MaxRecordBytes {
			line = append(line, part...)
		}
		switch {
		case err == nil, errors.Is(err, io.EOF):
			return bytes.TrimRight(line, "\r\n"), err
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("read: %w", err)
		}
	}
}
