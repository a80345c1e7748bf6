package exchange

import (
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/store/pipeline"
)

// NewArtifact returns the command that stores and fetches files.
func NewArtifact(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "artifact",
		Short: "Store, fetch and remove files that episodes refer to: logs, screenshots",
	}
	cmd.AddCommand(newArtifactPut(a), newArtifactGet(a), newArtifactRemove(a))
	app.Group(cmd)
	return cmd
}

func newArtifactPut(a *app.App) *cobra.Command {
	var address, mediaType string
	cmd := &cobra.Command{
		Use:   "put FILE|-",
		Short: "Store a file under the address of its content",
		Long: `Store a file under the address of its content: "sha256:" and the hash in hexadecimal. Episodes name
the address in payload.artifacts. The same bytes are stored once. At most ` +
			strconv.Itoa(pipeline.MaxArtifactBytes>>20) + ` MiB.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			input, err := a.OpenInput(args[0])
			if err != nil {
				return err
			}
			defer func() { _ = input.Close() }()
			if args[0] != "-" && mediaType == "" {
				mediaType = mime.TypeByExtension(filepath.Ext(args[0]))
			}
			if err := app.CheckPrincipal(a.Cfg.Principal); err != nil {
				return err
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			artifact, err := st.PutArtifact(ctx, a.Cfg.Principal, input, mediaType, address, time.Now())
			if err != nil {
				return err
			}
			return a.Print(artifact, func(t *app.Text) { describeArtifact(t, artifact) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&address, "address", "", "refuse the file unless this is its address")
	flags.StringVar(&mediaType, "media-type", "", "media type; from the file's name by default")
	return cmd
}

func newArtifactGet(a *app.App) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "get ADDRESS",
		Short: "Fetch an artifact that you stored, or that a memory you may see refers to",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.JSON && path == "" {
				return app.Invalid("output", "is required with --json: the bytes cannot be printed with the JSON")
			}
			if err := app.CheckPrincipal(a.Cfg.Principal); err != nil {
				return err
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			artifact, data, err := st.GetArtifact(ctx, a.Cfg.Principal, args[0])
			if err != nil {
				return err
			}
			if path == "" {
				_, err := a.Out.Write(data)
				return err
			}
			if err := writeArtifact(path, data); err != nil {
				return err
			}
			return a.Print(artifact, func(t *app.Text) { describeArtifact(t, artifact) })
		},
	}
	cmd.Flags().StringVarP(&path, "output", "o", "", "file to write; standard output by default")
	return cmd
}

func writeArtifact(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return app.WithCode(app.ExitUsage, err)
	}
	if _, err := file.Write(data); err != nil {
		_ = file.Close()
		return fmt.Errorf("write %s: %w", path, err)
	}
	return file.Close()
}

func newArtifactRemove(a *app.App) *cobra.Command {
	all, f := false, app.OperationFlags{}
	cmd := &cobra.Command{
		Use:   "remove ADDRESS | --all --user NAME",
		Short: "Remove an artifact that you stored",
		Long: `Remove an artifact that you stored. --all removes all artifacts that a user stored, through every agent.
An artifact stays stored while a memory refers to it, or if another user or agent has stored the same bytes. Who
removed how many, when and why is recorded: mneme users removals.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) == 1) {
				return app.Invalid("address", "name an artifact, or use --all with a user")
			}
			p, check := a.Cfg.Principal, app.CheckPrincipal(a.Cfg.Principal)
			if all {
				check = app.NeedUser(a, cmd.Flags())
			}
			if check != nil {
				return check
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			var out pipeline.RemovedArtifacts
			if all {
				out, err = st.RemoveArtifactsOf(ctx, f.Operation(p), time.Now())
			} else {
				out, err = st.RemoveArtifact(ctx, f.Operation(p), args[0], time.Now())
			}
			if err != nil {
				return err
			}
			return a.Print(out, func(t *app.Text) {
				t.Line("artifacts removed: %d", out.Removed)
				if out.Kept > 0 {
					t.Line("still stored: %d, because a memory refers to them, or others have stored the same bytes", out.Kept)
				}
			})
		},
	}
	f.RegisterReason(cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, "all artifacts of the user (--user), of every agent")
	return cmd
}

func describeArtifact(t *app.Text, artifact pipeline.Artifact) {
	t.Fields("artifact", artifact.Address, "media type", artifact.MediaType, "bytes",
		strconv.FormatInt(artifact.Size, 10),
		"stored", app.When(artifact.CreatedAt))
}
