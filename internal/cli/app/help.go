package app

import (
	"errors"
	"fmt"
	"slices"
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
	root.SetFlagErrorFunc(flagError)
	global := root.PersistentFlags()
	topic := &cobra.Command{Use: "flags", Short: "The flags that every command takes", Hidden: true}
	topic.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		cmd.Printf("The flags that every command takes:\n%s", global.FlagUsages())
	})
	root.AddCommand(topic)
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" {
			cmd.Run, cmd.RunE = nil, helpFor
		}
	}
	explainArgs(root)
}

// helpFor prints the help of the command that the arguments name.
func helpFor(cmd *cobra.Command, args []string) error {
	found, rest, err := cmd.Root().Find(args)
	if err == nil && len(rest) > 0 && found.HasSubCommands() {
		err = noCommand(found, rest[0])
	}
	if err != nil {
		return WithCode(ExitUsage, err)
	}
	found.InitDefaultHelpFlag()
	return found.Help()
}

// explainArgs makes the errors for a wrong number of arguments show the usage of the command.
func explainArgs(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		explainArgs(sub)
	}
	check := cmd.Args
	if check == nil {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case check(cmd, args) == nil:
			return nil
		case len(args) == 0:
			return fmt.Errorf("an argument is missing; usage: %s", cmd.UseLine())
		}
		return fmt.Errorf("wrong number of arguments (%d); usage: %s", len(args), cmd.UseLine())
	}
}

// flagError returns an error that names the values a flag accepts. pflag's message only names the Go function that
// failed.
func flagError(cmd *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	if !errors.As(err, &bad) {
		return fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())
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
	case "stringToString":
		problem = "must be key=value pairs separated by commas"
	}
	return Invalid(flag.Name, "%s", problem)
}

// Group makes a command that only has subcommands refuse to run.
func Group(cmd *cobra.Command) *cobra.Command {
	cmd.Args, cmd.SuggestionsMinimumDistance = cobra.ArbitraryArgs, 2
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return WithCode(ExitUsage, noCommand(cmd, args[0]))
		}
		_ = cmd.Help()
		return WithCode(ExitUsage, errors.New("name a command"))
	}
	return cmd
}

// noCommand returns the error for a command that does not exist, with similar names; best those with the same first
// letter.
func noCommand(cmd *cobra.Command, name string) error {
	hint := "; see `" + cmd.CommandPath() + " --help`"
	var near []string
	if name != "" {
		near = cmd.SuggestionsFor(name)
	}
	if alike := slices.DeleteFunc(slices.Clone(near), func(s string) bool { return s[:1] != name[:1] }); len(alike) > 0 {
		near = alike
	}
	if len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return fmt.Errorf("%s has no command %q%s", cmd.CommandPath(), name, hint)
}

// UnknownCommand returns the error if help was requested for a command that does not exist (`mneme recal --help`).
// cobra prints the help of its parent then.
func UnknownCommand(root *cobra.Command, args []string) error {
	if !slices.ContainsFunc(args, func(arg string) bool { return arg == "--help" || arg == "-h" }) {
		return nil
	}
	cmd, rest, err := root.Find(args)
	if err != nil || !cmd.HasSubCommands() {
		return nil
	}
	if err := cmd.ParseFlags(rest); err != nil && !errors.Is(err, pflag.ErrHelp) {
		return nil // executing it reports the error
	}
	if names := cmd.Flags().Args(); len(names) > 0 {
		return noCommand(cmd, names[0])
	}
	return nil
}
