package app

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageTemplate is cobra's, with a reference in place of the global flags.
const usageTemplate = `Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} [command]{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Global flags (--json, --tenant, --timeout and others): mneme help flags{{end}}{{if .HasAvailableSubCommands}}

Use "{{.CommandPath}} [command] --help" for more information about a command.{{end}}
`

// SetHelp sets the help of all commands, and the errors for flags that cannot be parsed.
func SetHelp(root *cobra.Command) {
	root.SetUsageTemplate(usageTemplate)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(err) })
	global := root.PersistentFlags()
	topic := &cobra.Command{Use: "flags", Short: "The flags that every command takes", Hidden: true}
	topic.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		cmd.Printf("The flags that every command takes:\n%s", global.FlagUsages())
	})
	root.AddCommand(topic)
}

// flagError returns an error that names the values a flag accepts. pflag's message only names the Go function that
// failed.
func flagError(err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	flag := bad.GetFlag()
	problem := "cannot be read"
	switch flag.Value.Type() {
	case "int", "int32", "int64":
		problem = "must be a whole number"
	case "float64":
		problem = "must be a number"
	case "bool":
		problem = "must be true or false"
	case "stringSlice":
		problem = "must be values separated by commas; quote a value that contains a double quote as in CSV"
	case "duration":
		problem = "must be a duration such as 30s, 5m or 36h"
	}
	return Invalid(flag.Name, "%s", problem)
}

// Group makes a command that only has subcommands refuse to run.
func Group(cmd *cobra.Command) *cobra.Command {
	cmd.Args, cmd.SuggestionsMinimumDistance = cobra.ArbitraryArgs, 2
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			hint := ""
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				hint = "; did you mean " + strings.Join(near, " or ") + "?"
			}
			return WithCode(ExitUsage, fmt.Errorf("%s has no command %q%s", cmd.CommandPath(), args[0], hint))
		}
		_ = cmd.Help()
		return WithCode(ExitUsage, errors.New("name a command"))
	}
	return cmd
}
