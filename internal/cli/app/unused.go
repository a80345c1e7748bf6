package app

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every command inherits the flags that say for whom it runs. A command that has no use for one of them refuses it:
// an operator who names a user would otherwise take the numbers of a whole tenant for those of the user.
var (
	principalFlags = []string{"agent", "user", "project", "scope", "policy-group"}
	trustFlags     = []string{"authenticated", "trust-scope", "environment", "trust-token"}
)

// The annotations of ForTenant, ForInstallation and WithTrust.
const (
	runsFor   = "mneme_runs_for"
	usesTrust = "mneme_uses_trust"

	wholeTenant  = "a whole tenant"
	installation = "the whole installation"
)

// ForTenant marks a command, and its subcommands, that work for a whole tenant: they refuse the flags that name an
// agent, a user or a scope.
func ForTenant(cmd *cobra.Command) *cobra.Command { return annotate(cmd, runsFor, wholeTenant) }

// ForInstallation marks a command, and its subcommands, that use no tenant.
func ForInstallation(cmd *cobra.Command) *cobra.Command { return annotate(cmd, runsFor, installation) }

// WithTrust marks a command, and its subcommands, that use the trust context of the flags. Others refuse its flags.
func WithTrust(cmd *cobra.Command) *cobra.Command { return annotate(cmd, usesTrust, "yes") }

func annotate(cmd *cobra.Command, key, value string) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[key] = value
	return cmd
}

// annotated returns the annotation of a command or of the nearest command above it.
func annotated(cmd *cobra.Command, key string) string {
	for ; cmd != nil; cmd = cmd.Parent() {
		if value, ok := cmd.Annotations[key]; ok {
			return value
		}
	}
	return ""
}

// refuseUnused refuses the inherited flags that a command has no use for. Variables of the environment are not refused:
// they are defaults for all commands.
func refuseUnused(cmd *cobra.Command) error {
	var unused []string
	whom := annotated(cmd, runsFor)
	if whom != "" {
		unused = append(unused, principalFlags...)
	}
	if whom == installation {
		unused = append(unused, "tenant")
	}
	if annotated(cmd, usesTrust) == "" {
		unused = append(unused, trustFlags...)
	}
	if name := givenOf(cmd.Flags(), unused); name != "" {
		if whom != "" && !slices.Contains(trustFlags, name) {
			return Invalid(name, "has no effect: %s works for %s; leave the flag out", cmd.CommandPath(), whom)
		}
		return Invalid(name, "has no effect on %s; leave the flag out", cmd.CommandPath())
	}
	return nil
}

// RefuseWith refuses flags that have no effect together with another one: an option as the caller wrote it, such as
// "--all".
func RefuseWith(flags *pflag.FlagSet, option string, names ...string) error {
	if name := givenOf(flags, names); name != "" {
		return Invalid(name, "has no effect with %s; leave it out", option)
	}
	return nil
}

// RefuseWithout refuses flags that have an effect only together with another one.
func RefuseWithout(flags *pflag.FlagSet, option string, names ...string) error {
	if name := givenOf(flags, names); name != "" {
		return Invalid(name, "has an effect only with %s", option)
	}
	return nil
}

// RefusePrincipal refuses the flags that name a principal together with an option that makes a command work for a whole
// tenant.
func RefusePrincipal(flags *pflag.FlagSet, option string) error {
	return RefuseWith(flags, option, principalFlags...)
}

// givenOf returns the first of the flags that was given a value on the command line, or "".
func givenOf(flags *pflag.FlagSet, names []string) string {
	for _, name := range names {
		if f := flags.Lookup(name); f != nil && f.Changed && f.Value.String() != "" {
			return name
		}
	}
	return ""
}

// NeedUser checks that a command with --all, which works for all agents of a user, names a user and no agent.
func NeedUser(a *App, flags *pflag.FlagSet) error {
	if a.Cfg.Principal.User == "" {
		return Invalid("user", "is required with --all")
	}
	return RefuseWith(flags, "--all, which is for every agent of the user", "agent", "project", "policy-group")
}
