package app

import (
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the Makefile.
var version = ""

// Version returns the version of the program, or "unknown".
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// NewVersion returns the command that prints the version.
func NewVersion(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := Version()
			return a.Print(map[string]string{"version": v}, func(t *Text) { t.Line("mneme %s", v) })
		},
	}
}
