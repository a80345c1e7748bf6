package doctor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/operate"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/admin"
	"github.com/mneme/mneme/store/vector"
)

const (

	// checkTimeout bounds one check, or --timeout if that is shorter, so that one check that hangs does not hide the
	// others.
	checkTimeout = 5 * time.Second
	// doctorTenants is the maximum number of tenants that a check visits.
	doctorTenants = 500
)

// CheckStatus is the outcome of a check.
type CheckStatus string

const (
	CheckOK      CheckStatus = "ok"
	CheckWarn    CheckStatus = "warn"    // it works, but needs attention
	CheckFail    CheckStatus = "fail"    // something does not work, or will soon stop working
	CheckSkipped CheckStatus = "skipped" // a dependency is missing, which another check reports
)

// verdict is the result of a check.
type verdict struct {
	Status CheckStatus `json:"status"`
	Found  string      `json:"found"`
	Do     string      `json:"do,omitempty"` // one command or one sentence, if the check is not ok
}

func fine(format string, args ...any) verdict {
	return verdict{Status: CheckOK, Found: fmt.Sprintf(format, args...)}
}

func warn(do, format string, args ...any) verdict {
	return verdict{Status: CheckWarn, Found: fmt.Sprintf(format, args...), Do: do}
}

func fail(do, format string, args ...any) verdict {
	return verdict{Status: CheckFail, Found: fmt.Sprintf(format, args...), Do: do}
}

// Finding is one check with its verdict. Scripts use the names, so they must not change.
type Finding struct {
	Check string `json:"check"`
	verdict
	TookMS int64 `json:"took_ms"`
}

// Diagnosis is the output of `doctor`.
type Diagnosis struct {
	OK     bool                `json:"ok"` // no check failed or warned
	Counts map[CheckStatus]int `json:"counts"`
	Checks []Finding           `json:"checks"`
}

// need is a dependency of a check.
type need int

const (
	needNothing  need = iota
	needPostgres      // it answers
	needSchema        // and has this program's migrations
	needStore         // and can be used as the application's role
	needTemporal      // it answers, and has the namespace
	needBoth          // needStore and needTemporal
)

// check is one thing to check. An error means that it could not be checked.
type check struct {
	name string
	need need
	run  func(*Doctor, context.Context) (verdict, error)
}

// DoctorChecks are in the order in which they run and are reported: checks that others depend on come first.
func DoctorChecks() []check {
	return []check{
		{"configuration", needNothing, (*Doctor).configuration},
		{"policy_file", needNothing, (*Doctor).policyFile},
		{"memory_index", needNothing, (*Doctor).memoryIndex},

		{"postgres", needNothing, (*Doctor).postgres},
		{"migrations", needPostgres, (*Doctor).migrations},
		{"clock", needPostgres, (*Doctor).clock},
		{"connections", needPostgres, (*Doctor).connections},
		{"database_role", needSchema, (*Doctor).databaseRole},
		{"extensions", needSchema, (*Doctor).extensions},
		{"row_level_security", needSchema, (*Doctor).rowLevelSecurity},
		{"append_only", needSchema, (*Doctor).appendOnly},
		{"invalid_indexes", needSchema, (*Doctor).invalidIndexes},
		{"statistics", needSchema, (*Doctor).statistics},

		{"temporal", needNothing, (*Doctor).temporal},
		{"search_attributes", needTemporal, (*Doctor).searchAttributes},
		{"namespace_retention", needTemporal, (*Doctor).namespaceRetention},
		{"worker", needTemporal, (*Doctor).worker},
		{"payload_key", needTemporal, (*Doctor).payloadKey},
		{"trust_key", needTemporal, (*Doctor).trustKey},
		{"schedules_missing", needTemporal, (*Doctor).schedulesMissing},
		{"schedules_failed", needTemporal, (*Doctor).schedulesFailed},
		{"schedules_paused", needTemporal, (*Doctor).schedulesPaused},
		{"schedules_differ", needTemporal, (*Doctor).schedulesDiffer},

		{"jobs_waiting", needStore, (*Doctor).jobsWaiting},
		{"jobs_dead", needStore, (*Doctor).jobsDead},
		{"jobs_orphaned", needBoth, (*Doctor).JobsOrphaned},
		{"forgets_unfinished", needBoth, (*Doctor).forgetsUnfinished},
		{"sessions_idle", needStore, (*Doctor).sessionsIdle},
		{"event_partitions", needStore, (*Doctor).eventPartitions},
		{"evidence_waiting", needStore, (*Doctor).evidenceWaiting},
		{"index", needStore, (*Doctor).indexAnswers},
		{"index_generation", needStore, (*Doctor).indexGeneration},
		{"index_rebuild", needBoth, (*Doctor).indexRebuild},
		{"index_lag", needStore, (*Doctor).indexLag},
		{"index_parked", needStore, (*Doctor).indexParked},
		{"index_drift", needStore, (*Doctor).indexDrift},
		{"decay_overdue", needStore, (*Doctor).decayOverdue},
		{"sweep_holds", needStore, (*Doctor).sweepHolds},
		{"retention_windows", needStore, (*Doctor).retentionWindows},
	}
}

// Doctor runs the checks. A check may use the results of earlier checks.
type Doctor struct {
	A     *app.App
	Specs []mneme.ScheduleSpec // the expected schedules
	Now   func() time.Time

	db       *admin.Inspector
	migrated bool
	Store    *store.Store
	Client   client.Client
	index    vector.Index

	scheduled   []mneme.ScheduleStatus // read once
	scheduleErr error                  // the error of reading them
	unread      bool                   // the worker's payloads cannot be read here
}

// NewDoctor returns the command that checks the installation.
func NewDoctor(a *app.App) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   app.DoctorName,
		Short: "Check the installation, and say how to fix what is wrong",
		Long: fmt.Sprintf(
			`Check the installation: settings, Postgres and its schema, Temporal and its namespace, the worker,
schedules, jobs, the vector index, decay and retention. Each check has a name and says ok, warn or fail, what was
found, and what to do. The command changes nothing and shows no content. If a part is missing, the checks that need
it are skipped. Each check takes %s at most.

JSON is {"ok":…,"counts":{…},"checks":[{"check":…,"status":…,"found":…,"do":…,"took_ms":…}]}.

Exit codes: 0 if all checks are ok; 5 if one warns; 1 if one fails; 4 if Postgres, its migrations, Temporal or
the worker is missing.`, checkTimeout),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			specs, err := operate.ReadSchedules(a, file)
			if err != nil {
				return err
			}
			d := &Doctor{A: a, Specs: specs, Now: time.Now}
			out := d.Examine(cmd.Context())
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			if err := a.Print(out, out.text); err != nil {
				return err
			}
			return out.problem()
		},
	}
	cmd.Flags().StringVar(&file, "schedules", "",
		"schedules file to compare the installation with (default: the built-in schedules)")
	return cmd
}

// Examine runs every check.
func (d *Doctor) Examine(ctx context.Context) Diagnosis {
	out := Diagnosis{Counts: map[CheckStatus]int{CheckOK: 0, CheckWarn: 0, CheckFail: 0, CheckSkipped: 0},
		Checks: []Finding{}}
	for _, c := range DoctorChecks() {
		began := time.Now()
		f := Finding{Check: c.name, verdict: d.check(ctx, c)}
		f.TookMS = time.Since(began).Milliseconds()
		out.Checks = append(out.Checks, f)
		out.Counts[f.Status]++
	}
	if d.db != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		d.db.Close(ctx)
	}
	out.OK = out.Counts[CheckWarn]+out.Counts[CheckFail] == 0
	return out
}

// limit bounds one check.
func (d *Doctor) limit() time.Duration { return min(max(checkTimeout, d.A.Probe), d.A.Timeout) }

func (d *Doctor) check(ctx context.Context, c check) verdict {
	ctx, cancel := context.WithTimeout(ctx, d.limit())
	defer cancel()
	if v, ok := d.lacks(ctx, c.need); ok {
		return v
	}
	v, err := c.run(d, ctx)
	switch {
	case err == nil:
		v.Found = app.OneLine(v.Found)
		return v
	case ctx.Err() != nil:
		return fail("Find out what keeps the server busy, and try again.", "no answer within %s", d.limit())
	}
	return fail("Read the server's log, and try again.", "it could not be checked: %s", app.OneLine(err.Error()))
}

// lacks returns the verdict of a check whose dependency is missing, and whether that is so.
func (d *Doctor) lacks(ctx context.Context, n need) (verdict, bool) {
	skipped := func(why string) (verdict, bool) { return verdict{Status: CheckSkipped, Found: why}, true }
	needsStore, needsTemporal := n == needStore || n == needBoth, n == needTemporal || n == needBoth
	switch {
	case (n == needPostgres || n == needSchema || needsStore) && d.db == nil:
		return skipped("Postgres is missing")
	case (n == needSchema || needsStore) && !d.migrated:
		return skipped("the schema is out of date")
	case needsTemporal && d.Client == nil:
		return skipped("Temporal is missing")
	}
	if needsStore && d.Store == nil {
		st, err := d.A.OpenStore(ctx)
		if err != nil {
			return skipped("the schema cannot be used as the application: " + app.OneLine(err.Error()))
		}
		d.Store = st
	}
	return verdict{}, false
}

// problem returns the error of the command.
func (out Diagnosis) problem() error {
	n := out.Counts
	if n[CheckFail] == 0 && n[CheckWarn] == 0 {
		return nil
	}
	code, text := app.ExitPartial, fmt.Sprintf("%d of %d checks warn", n[CheckWarn], len(out.Checks))
	if n[CheckFail] > 0 {
		code, text = app.ExitFailure, fmt.Sprintf("%d of %d checks failed, %d warn", n[CheckFail],
			len(out.Checks), n[CheckWarn])
	}
	for _, f := range out.Checks {
		switch f.Check {
		case "postgres", "migrations", "temporal", "worker":
			if f.Status == CheckFail {
				code = app.ExitUnavailable
			}
		}
	}
	return app.WithCode(code, errors.New(text))
}

func (out Diagnosis) text(t *app.Text) {
	rows := make([][]string, 0, len(out.Checks))
	for _, f := range out.Checks {
		rows = append(rows, []string{string(f.Status), f.Check, f.Found})
	}
	t.Table("STATUS CHECK FOUND", rows)
	for _, f := range out.Checks {
		if f.Status == CheckWarn || f.Status == CheckFail {
			t.Line("")
			t.Line("%s %s: %s", f.Status, f.Check, f.Found)
			t.Line("  %s", f.Do)
		}
	}
}

// configuration checks whether the settings can be read.
func (d *Doctor) configuration(context.Context) (verdict, error) {
	if err := d.A.CfgErr; err != nil {
		return fail("Correct the variables that are named: docs/configuration.md lists them.", "%s", err), nil
	}
	c := d.A.Cfg
	return fine("namespace %s, task queue %s, index %s, brain %s, embedder %s", c.Namespace,
		c.TaskQueue, d.A.IndexName(), c.Brain, c.Embedder), nil
}

// policyFile checks whether a worker that starts now would accept the rules.
func (d *Doctor) policyFile(context.Context) (verdict, error) {
	path := d.A.Cfg.PolicyFile
	if path == "" {
		return fine("none is set"), nil
	}
	policies, err := config.LoadPolicies(path, slog.New(slog.DiscardHandler))
	if err != nil {
		return fail("Correct the file: `mneme policy check FILE` gives details. A running worker "+
			"keeps its previous rules; a worker that starts refuses the file.", "%s", err), nil
	}
	return fine("rules %s", policies.Current().Hash()), nil
}

// listed names the first few of many.
func listed(names []string) string {
	const shown = 8
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:shown], ", ") + fmt.Sprintf(" and %d more", len(names)-shown)
}

// days formats a duration in days.
func days(d time.Duration) string {
	if d >= 48*time.Hour {
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	}
	return app.Span(d)
}
