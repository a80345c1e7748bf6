// Command mneme is Mneme's command line: it hands experience in, asks what is known, and shows what
// the pipeline does.
package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mneme/mneme/internal/config"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second ^C ends the program at once
	a := &app{in: os.Stdin, out: os.Stdout, errOut: os.Stderr}
	a.cfg, a.cfgErr = config.Load()
	code := a.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// run executes one command line and returns its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	defer a.close()
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.errOut)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if !a.started {
		// Flags and arguments were not understood; --json may be among those not read.
		a.json = a.json || slices.Contains(args, "--json")
		err = &codedError{exitUsage, err}
	}
	code := exitCode(ctx, err)
	a.printError(code, err)
	return code
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "mneme",
		Short: "Long-term memory for AI agents",
		Long: `Long-term memory for AI agents.

What is handed in goes through a durable Temporal workflow: it is staged, facts are extracted from it,
how they change what is already known is decided, and the result is written with its evidence. Recall
reads Postgres directly.

Every command prints text, or JSON with --json; errors go to standard error. Settings come from the
environment; what is not set there is read from .local/env, which ` + "`make up`" + ` writes.

Exit codes:
  0    success
  1    failure
  2    the command line or the request is invalid
  3    not found
  4    Postgres, Temporal or the worker is not there, or does not let this user in
  5    partly done: some lines, queries or jobs failed
  6    refused: what stands is in the way (another version, a duplicate, a rule)
  130  interrupted`,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.started = true
			return a.prepare(cmd)
		},
	}
	p, flags := &a.cfg.Principal, root.PersistentFlags()
	flags.StringVar(&p.Tenant, "tenant", p.Tenant, "whose memory (MNEME_TENANT)")
	flags.StringVar(&p.Agent, "agent", p.Agent, "on whose behalf (MNEME_AGENT)")
	flags.StringVar(&p.Project, "project", p.Project, "project (MNEME_PROJECT)")
	flags.StringVar(&p.User, "user", p.User, "one of the agent's users, whose memories are kept apart from other users' (MNEME_USER)")
	flags.StringVar(&p.Scope, "scope", p.Scope, "explicit scope; without one, scoped memories stay out (MNEME_SCOPE)")
	flags.StringVar(&p.PolicyGroup, "policy-group", p.PolicyGroup, "group whose memories are shared (MNEME_POLICY_GROUP)")
	a.registerTrust(flags)
	flags.BoolVar(&a.json, "json", false, "print JSON")
	flags.DurationVar(&a.timeout, "timeout", 30*time.Second, "how long to wait for Postgres, Temporal and a worker to answer")

	root.AddCommand(
		newRemember(a),
		newImport(a),
		newRecall(a),
		newFeedback(a),
		newGet(a),
		newList(a),
		newHistory(a),
		newPut(a),
		newArtifact(a),
		newModify(a),
		newRevise(a),
		newForget(a),
		newErase(a),
		newRecover(a),
		newReview(a),
		newContradictions(a),
		newLineage(a),
		newExport(a),
		newPolicy(a),
		newTrust(a),
		newJobs(a),
		newReindex(a),
		newIndex(a),
		newNexus(a),
		newSchedules(a),
		newDecay(a),
		newRetention(a),
		newSweeps(a),
		newSchema(a),
		newStatus(a),
		newStats(a),
		newDoctor(a),
		newMigrate(a),
		newVersion(a),
	)
	root.CompletionOptions.HiddenDefaultCmd = true
	group(root)
	setHelp(root)
	return root
}
