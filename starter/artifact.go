package main

import (
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pipeline"
)

func newArtifact(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "artifact",
		Short: "Store and fetch what episodes refer to: logs, screenshots, files",
	}
	cmd.AddCommand(newArtifactPut(a), newArtifactGet(a))
	group(cmd)
	return cmd
}

func newArtifactPut(a *app) *cobra.Command {
	var address, mediaType string
	cmd := &cobra.Command{
		Use:   "put FILE|-",
		Short: "Store a file under the address of its content",
		Long: `Store a file under the address of its content, sha256: and its SHA-256. Episodes name it in
payload.artifacts. The same bytes are stored once. At most ` + strconv.Itoa(pipeline.MaxArtifactBytes>>20) + ` MiB.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			input := a.in
			if args[0] != "-" {
				file, err := os.Open(args[0])
				if err != nil {
					return &codedError{exitUsage, err}
				}
				defer func() { _ = file.Close() }()
				input = file
				if mediaType == "" {
					mediaType = mime.TypeByExtension(filepath.Ext(args[0]))
				}
			}
			if err := checkPrincipal(a.cfg.Principal); err != nil {
				return err
			}
			st, err := a.openStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.within(cmd.Context())
			defer cancel()
			artifact, err := st.PutArtifact(ctx, a.cfg.Principal, input, mediaType, address, time.Now())
			if err != nil {
				return err
			}
			return a.print(artifact, func(t *text) { describeArtifact(t, artifact) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&address, "address", "", "refuse the file unless this is its address")
	flags.StringVar(&mediaType, "media-type", "", "media type; from the file's name by default")
	return cmd
}

func newArtifactGet(a *app) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "get ADDRESS",
		Short: "Fetch an artifact that you brought, or that a memory you may see refers to",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.json && path == "" {
				return invalid("output", "is required with --json: the bytes need a place of their own")
			}
			if err := checkPrincipal(a.cfg.Principal); err != nil {
				return err
			}
			st, err := a.openStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.within(cmd.Context())
			defer cancel()
			artifact, data, err := st.GetArtifact(ctx, a.cfg.Principal, args[0])
			if err != nil {
				return err
			}
			if path == "" {
				_, err := a.out.Write(data)
				return err
			}
			if err := writeArtifact(path, data); err != nil {
				return err
			}
			return a.print(artifact, func(t *text) { describeArtifact(t, artifact) })
		},
	}
	cmd.Flags().StringVarP(&path, "output", "o", "", "file to write; standard output by default")
	return cmd
}

// checkPrincipal refuses a principal without a name, as requests do.
func checkPrincipal(p schema.Principal) error {
	switch {
	case p.Tenant == "":
		return invalid("tenant", "is required")
	case p.Agent == "":
		return invalid("agent", "is required")
	}
	return nil
}

func writeArtifact(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return &codedError{exitUsage, err}
	}
	if _, err := file.Write(data); err != nil {
		_ = file.Close()
		return fmt.Errorf("write %s: %w", path, err)
	}
	return file.Close()
}

func describeArtifact(t *text, artifact pipeline.Artifact) {
	t.fields("artifact", artifact.Address, "media type", artifact.MediaType, "bytes", strconv.FormatInt(artifact.Size, 10), "stored", when(artifact.CreatedAt))
}
