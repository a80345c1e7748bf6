package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/exchange"
	"github.com/mneme/mneme/internal/cli/learn"
	"github.com/mneme/mneme/internal/cli/memories"
	"github.com/mneme/mneme/internal/cli/operate"
	"github.com/mneme/mneme/internal/cli/record"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/internal/doctor"
)

// Main runs the command line of the process and ends it.
func Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second ^C ends the program at once
	a := &app.App{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	a.Cfg, a.CfgErr = config.Load()
	code := run(ctx, a, os.Args[1:])
	stop()
	os.Exit(code)
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, a *app.App, args []string) int {
	defer a.Close()
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.ErrOut)
	err := app.UnknownCommand(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if err == nil {
		return app.ExitOK
	}
	err = app.Advise(err)
	if !a.Started {
		// Flags and arguments were not understood; --json may be among those not read.
		a.JSON = a.JSON || slices.Contains(args, "--json")
		err = app.WithCode(app.ExitUsage, err)
	}
	code := app.ExitCode(ctx, err)
	a.PrintError(code, err)
	return code
}

func newRoot(a *app.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "mneme",
		Short: "Long-term memory for AI agents",
		Long: `Long-term memory for AI agents.

A durable Temporal workflow processes each input: it stages the input, extracts facts, decides how they
change existing memories, and writes the result with its evidence. Recall reads Postgres directly.

Every command prints text, or JSON with --json; errors go to standard error. Settings come from the
environment, or else from .local/env, which ` + "`make up`" + ` writes.

Exit codes:
  0    success
  1    failure
  2    the command line or the request is invalid
  3    not found
  4    Postgres, Temporal or the worker cannot be reached, or refuses this user
  5    partly done: some lines, queries or jobs failed
  6    refused: it conflicts with what is stored (another version, a duplicate, a rule)
  130  interrupted`,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.Started = true
			return a.Prepare(cmd)
		},
	}
	root.Version = app.Version() // for --version
	root.SetVersionTemplate("mneme {{.Version}}\n")
	p, flags := &a.Cfg.Principal, root.PersistentFlags()
	flags.StringVar(&p.Tenant, "tenant", p.Tenant, "tenant, which owns the memories (MNEME_TENANT)")
	flags.StringVar(&p.Agent, "agent", p.Agent, "agent on whose behalf the command runs (MNEME_AGENT)")
	flags.StringVar(&p.Project, "project", p.Project, "project (MNEME_PROJECT)")
	flags.StringVar(&p.User, "user", p.User,
		"user of the agent; each user's memories are separate (MNEME_USER)")
	flags.StringVar(&p.Scope, "scope", p.Scope, "explicit scope; without it, scoped memories are hidden (MNEME_SCOPE)")
	flags.StringVar(&p.PolicyGroup, "policy-group", p.PolicyGroup,
		"group whose memories are shared (MNEME_POLICY_GROUP)")
	a.RegisterTrust(flags)
	flags.BoolVar(&a.JSON, "json", false, "print JSON")
	flags.DurationVar(&a.Timeout, "timeout", 30*time.Second,
		"how long to wait for Postgres, Temporal and a worker to answer")

	root.AddCommand(
		exchange.NewRemember(a),
		exchange.NewImport(a),
		app.WithTrust(memories.NewRecall(a)),
		memories.NewAdvise(a),
		memories.NewFeedback(a),
		app.WithTrust(memories.NewGet(a)),
		app.WithTrust(memories.NewList(a)),
		app.WithTrust(memories.NewHistory(a)),
		exchange.NewPut(a),
		exchange.NewArtifact(a),
		memories.NewModify(a),
		memories.NewRevise(a),
		memories.NewForget(a),
		memories.NewErase(a),
		memories.NewRecover(a),
		memories.NewReview(a),
		app.WithTrust(memories.NewContradictions(a)),
		app.WithTrust(memories.NewLineage(a)),
		memories.NewTopics(a),
		learn.NewConsolidate(a),
		app.WithTrust(learn.NewLearned(a)),
		app.WithTrust(learn.NewPlan(a)),
		record.NewEvents(a),
		record.NewSession(a),
		record.NewContext(a),
		record.NewReflect(a),
		record.NewBeliefs(a),
		exchange.NewExport(a),
		operate.NewPolicy(a),
		app.NewTrust(a),
		app.ForTenant(operate.NewUsers(a)),
		app.ForTenant(operate.NewJobs(a)),
		app.ForInstallation(operate.NewReindex(a)),
		app.ForTenant(operate.NewRebuild(a)),
		app.ForTenant(operate.NewIndex(a)),
		app.ForInstallation(operate.NewNexus(a)),
		app.ForInstallation(operate.NewSchedules(a)),
		app.ForTenant(operate.NewDecay(a)),
		app.ForTenant(operate.NewRetention(a)),
		app.ForTenant(operate.NewSweeps(a)),
		app.ForInstallation(operate.NewSchema(a)),
		app.ForTenant(operate.NewStatus(a)),
		app.ForTenant(operate.NewStats(a)),
		app.ForInstallation(doctor.NewDoctor(a)),
		app.ForInstallation(operate.NewMigrate(a)),
		app.ForInstallation(app.NewVersion(a)),
	)
	root.CompletionOptions.HiddenDefaultCmd = true
	app.Group(root)
	app.SetHelp(root)
	return root
}
