package exchange

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/transfer"
)

// NewExport returns the command that exports memories with their history and evidence.
func NewExport(a *app.App) *cobra.Command {
	var filter app.FilterFlags
	var x transfer.ExportSelection
	var output string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Export memories with their history and evidence",
		Long: `Write memories as JSON Lines, with their history, versions, evidence, relations, claims, entities and
artifacts. Importing the file restores them with the same ids, versions and times.

An export has the agent's own memories of all projects and scopes and of any sensitivity, including
superseded ones and, unlike "mneme list", those of all users: a backup must be complete. --project, --user,
--scope and the filters limit it. --all-agents exports the whole tenant, --include-deleted adds forgotten
memories; with both and no filter the file contains everything.

The file is a snapshot of the database. Its contents are not encrypted: protect it.`,
		Example: `  mneme export --all-agents --include-deleted -o backup.jsonl
  mneme export --tag ops --since 2026-01-01 | gzip > ops.jsonl.gz`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if x.AllAgents {
				if err := app.RefuseWith(cmd.Flags(), "--all-agents", "agent"); err != nil {
					return err
				}
			}
			// the copy is for people who may read the database, so it contains everything that is not excluded
			limit := schema.Sensitivity(filter.MaxSensitivity)
			f, err := filter.Filter(cmd.Flags(), a.Cfg, policy.UpTo(limit))
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("valid-at") {
				f.At = time.Time{} // memories that are not valid now are exported too
			}
			x.Filter, x.Filter.MaxSensitivity = f, limit
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			return export(cmd.Context(), a, st, x, output)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&x.AllAgents, "all-agents", false, "memories of every agent of the tenant")
	flags.BoolVar(&x.IncludeDeleted, "include-deleted", false, "forgotten and erased memories too")
	flags.StringVarP(&output, "output", "o", "-", "file to write; - is standard output")
	filter.Narrow(flags)
	return cmd
}

// Exported is what `export -o` prints.
type Exported struct {
	transfer.ExportCounts
	File string `json:"file"`
}

// export writes to standard output, or to a file that appears when it is complete.
func export(ctx context.Context, a *app.App, st *store.Store, x transfer.ExportSelection, output string) error {
	if output == "-" {
		counts, err := writeExport(ctx, st, x, a.Out)
		if err != nil {
			return err
		}
		a.Note("mneme: %d memories and %d artifacts", counts.Memories, counts.Artifacts)
		return nil
	}
	file, err := os.CreateTemp(filepath.Dir(output), filepath.Base(output)+".*")
	if err != nil {
		return app.WithCode(app.ExitUsage, err)
	}
	defer func() { _ = os.Remove(file.Name()) }() // does nothing after the rename
	counts, err := writeExport(ctx, st, x, file)
	if err = cmp.Or(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), output); err != nil {
		return fmt.Errorf("write export: %w", err)
	}
	return a.Print(Exported{ExportCounts: counts, File: output}, func(t *app.Text) {
		t.Line("%d memories, %d artifacts and %d events in %s", counts.Memories, counts.Artifacts, counts.Events,
			output)
	})
}

func writeExport(
	ctx context.Context,
	st *store.Store,
	x transfer.ExportSelection,
	to io.Writer,
) (transfer.ExportCounts, error) {
	out := bufio.NewWriterSize(to, 1<<20)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	counts, err := st.Export(ctx, x, time.Now(), func(line transfer.ExportLine) error { return encoder.Encode(line) })
	return counts, cmp.Or(err, out.Flush())
}
