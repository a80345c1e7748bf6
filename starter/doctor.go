package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/admin"
	"github.com/mneme/mneme/store/vector"
	"github.com/mneme/mneme/workflows"
)

const (

	// doctorPatience bounds one check, and --timeout does if it is shorter: what hangs must not hide the rest.
	doctorPatience = 5 * time.Second
	// doctorTenants is how many tenants the checks look at that go from one to the next.
	doctorTenants = 500
)

// checkStatus is how a check came out.
type checkStatus string

const (
	checkOK      checkStatus = "ok"
	checkWarn    checkStatus = "warn"    // it works, and somebody should look
	checkFail    checkStatus = "fail"    // something does not work, or will not for long
	checkSkipped checkStatus = "skipped" // it needs something that is not there, which another check says
)

// verdict is what a check says.
type verdict struct {
	Status checkStatus `json:"status"`
	Found  string      `json:"found"`
	Do     string      `json:"do,omitempty"` // one command or one sentence; of what is not ok
}

func fine(format string, args ...any) verdict {
	return verdict{Status: checkOK, Found: fmt.Sprintf(format, args...)}
}

func warn(do, format string, args ...any) verdict {
	return verdict{Status: checkWarn, Found: fmt.Sprintf(format, args...), Do: do}
}

func fail(do, format string, args ...any) verdict {
	return verdict{Status: checkFail, Found: fmt.Sprintf(format, args...), Do: do}
}

// finding is one check with its verdict. The names are for scripts, and stay.
type finding struct {
	Check string `json:"check"`
	verdict
	TookMS int64 `json:"took_ms"`
}

// diagnosis is what `doctor` prints.
type diagnosis struct {
	OK     bool                `json:"ok"` // nothing failed, nothing warns
	Counts map[checkStatus]int `json:"counts"`
	Checks []finding           `json:"checks"`
}

// need is what a check cannot do without.
type need int

const (
	needNothing  need = iota
	needPostgres      // it answers
	needSchema        // and has the migrations that this program knows
	needStore         // and can be used as the application's role
	needTemporal      // it answers, and has the namespace
	needBoth          // needStore and needTemporal
)

// check is one thing to look at. An error means that it could not be looked at.
type check struct {
	name string
	need need
	look func(*doctor, context.Context) (verdict, error)
}

// doctorChecks are in the order in which they are made and told: what others rest on comes first.
func doctorChecks() []check {
	return []check{
		{"configuration", needNothing, (*doctor).configuration},
		{"policy_file", needNothing, (*doctor).policyFile},

		{"postgres", needNothing, (*doctor).postgres},
		{"migrations", needPostgres, (*doctor).migrations},
		{"clock", needPostgres, (*doctor).clock},
		{"connections", needPostgres, (*doctor).connections},
		{"database_role", needSchema, (*doctor).databaseRole},
		{"extensions", needSchema, (*doctor).extensions},
		{"row_level_security", needSchema, (*doctor).rowLevelSecurity},
		{"append_only", needSchema, (*doctor).appendOnly},
		{"invalid_indexes", needSchema, (*doctor).invalidIndexes},
		{"statistics", needSchema, (*doctor).statistics},

		{"temporal", needNothing, (*doctor).temporal},
		{"search_attributes", needTemporal, (*doctor).searchAttributes},
		{"namespace_retention", needTemporal, (*doctor).namespaceRetention},
		{"worker", needTemporal, (*doctor).worker},
		{"payload_key", needTemporal, (*doctor).payloadKey},
		{"trust_key", needTemporal, (*doctor).trustKey},
		{"schedules_missing", needTemporal, (*doctor).schedulesMissing},
		{"schedules_failed", needTemporal, (*doctor).schedulesFailed},
		{"schedules_paused", needTemporal, (*doctor).schedulesPaused},
		{"schedules_differ", needTemporal, (*doctor).schedulesDiffer},

		{"jobs_waiting", needStore, (*doctor).jobsWaiting},
		{"jobs_dead", needStore, (*doctor).jobsDead},
		{"jobs_orphaned", needBoth, (*doctor).jobsOrphaned},
		{"index", needStore, (*doctor).indexAnswers},
		{"index_generation", needStore, (*doctor).indexGeneration},
		{"index_rebuild", needBoth, (*doctor).indexRebuild},
		{"index_lag", needStore, (*doctor).indexLag},
		{"index_parked", needStore, (*doctor).indexParked},
		{"index_drift", needStore, (*doctor).indexDrift},
		{"decay_overdue", needStore, (*doctor).decayOverdue},
		{"sweep_holds", needStore, (*doctor).sweepHolds},
		{"retention_windows", needStore, (*doctor).retentionWindows},
	}
}

// doctor makes the checks. What a check has reached, those behind it use.
type doctor struct {
	a     *app
	specs []workflows.ScheduleSpec // that the schedules are compared with
	now   func() time.Time

	db       *admin.Inspector
	migrated bool
	store    *store.Store
	client   client.Client
	index    vector.Index

	scheduled []workflows.ScheduleStatus // read once
	looked    error                      // or why it could not be
	unread    bool                       // the worker's payloads cannot be read here
}

func newDoctor(a *app) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   doctorName,
		Short: "Check everything that an operator would, and say what to do",
		Long: fmt.Sprintf(`Check everything that an operator would: settings, Postgres and its schema, Temporal and its namespace, the
worker, schedules, jobs, the vector index, decay and retention. Each check has a name, says ok, warn or
fail, what was found, and what to do. It changes nothing, shows no content, and goes on when a part is not
there: what needs that part is skipped. Each check takes %s at most.

JSON is {"ok":…,"counts":{…},"checks":[{"check":…,"status":…,"found":…,"do":…,"took_ms":…}]}.

Exit codes: 0 when all is well; 5 when something warns; 1 when something fails; 4 when what fails is that
Postgres, its migrations, Temporal or the worker is not there.`, doctorPatience),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			specs, err := a.readSchedules(file)
			if err != nil {
				return err
			}
			d := &doctor{a: a, specs: specs, now: time.Now}
			out := d.examine(cmd.Context())
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			if err := a.print(out, out.text); err != nil {
				return err
			}
			return out.problem()
		},
	}
	cmd.Flags().StringVar(&file, "schedules", "", "schedules file that those of the installation are compared with (default: the defaults)")
	return cmd
}

// examine makes every check.
func (d *doctor) examine(ctx context.Context) diagnosis {
	out := diagnosis{Counts: map[checkStatus]int{checkOK: 0, checkWarn: 0, checkFail: 0, checkSkipped: 0}, Checks: []finding{}}
	for _, c := range doctorChecks() {
		began := time.Now()
		f := finding{Check: c.name, verdict: d.check(ctx, c)}
		f.TookMS = time.Since(began).Milliseconds()
		out.Checks = append(out.Checks, f)
		out.Counts[f.Status]++
	}
	if d.db != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		d.db.Close(ctx)
	}
	out.OK = out.Counts[checkWarn]+out.Counts[checkFail] == 0
	return out
}

// limit bounds one check.
func (d *doctor) limit() time.Duration { return min(max(doctorPatience, d.a.probe), d.a.timeout) }

func (d *doctor) check(ctx context.Context, c check) verdict {
	ctx, cancel := context.WithTimeout(ctx, d.limit())
	defer cancel()
	if v, ok := d.lacks(ctx, c.need); ok {
		return v
	}
	v, err := c.look(d, ctx)
	switch {
	case err == nil:
		v.Found = oneLine(v.Found)
		return v
	case ctx.Err() != nil:
		return fail("Look at what keeps it busy, and try again.", "it was not answered within %s", d.limit())
	}
	return fail("Look at the server's log, and try again.", "it could not be looked at: %s", oneLine(err.Error()))
}

// lacks says what a check has to do without, if that is so.
func (d *doctor) lacks(ctx context.Context, n need) (verdict, bool) {
	skipped := func(why string) (verdict, bool) { return verdict{Status: checkSkipped, Found: why}, true }
	needsStore, needsTemporal := n == needStore || n == needBoth, n == needTemporal || n == needBoth
	switch {
	case (n == needPostgres || n == needSchema || needsStore) && d.db == nil:
		return skipped("Postgres is not there")
	case (n == needSchema || needsStore) && !d.migrated:
		return skipped("the schema is behind")
	case needsTemporal && d.client == nil:
		return skipped("Temporal is not there")
	}
	if needsStore && d.store == nil {
		st, err := d.a.openStore(ctx)
		if err != nil {
			return skipped("the schema cannot be used as the application: " + oneLine(err.Error()))
		}
		d.store = st
	}
	return verdict{}, false
}

// problem is the error that the command ends with.
func (out diagnosis) problem() error {
	n := out.Counts
	if n[checkFail] == 0 && n[checkWarn] == 0 {
		return nil
	}
	code, text := exitPartial, fmt.Sprintf("%d of %d checks warn", n[checkWarn], len(out.Checks))
	if n[checkFail] > 0 {
		code, text = exitFailure, fmt.Sprintf("%d of %d checks failed, %d warn", n[checkFail], len(out.Checks), n[checkWarn])
	}
	for _, f := range out.Checks {
		switch f.Check {
		case "postgres", "migrations", "temporal", "worker":
			if f.Status == checkFail {
				code = exitUnavailable
			}
		}
	}
	return &codedError{code, errors.New(text)}
}

func (out diagnosis) text(t *text) {
	rows := make([][]string, 0, len(out.Checks))
	for _, f := range out.Checks {
		rows = append(rows, []string{string(f.Status), f.Check, f.Found})
	}
	t.table("STATUS CHECK FOUND", rows)
	for _, f := range out.Checks {
		if f.Status == checkWarn || f.Status == checkFail {
			t.line("")
			t.line("%s %s: %s", f.Status, f.Check, f.Found)
			t.line("  %s", f.Do)
		}
	}
}

// configuration tells whether the settings can be read.
func (d *doctor) configuration(context.Context) (verdict, error) {
	if err := d.a.cfgErr; err != nil {
		return fail("Correct the variables that are named: docs/configuration.md lists them.", "%s", err), nil
	}
	c := d.a.cfg
	return fine("namespace %s, task queue %s, index %s, brain %s, embedder %s", c.Namespace, c.TaskQueue, d.a.indexName(), c.Brain, c.Embedder), nil
}

// policyFile tells whether a worker that starts now would take the rules.
func (d *doctor) policyFile(context.Context) (verdict, error) {
	path := d.a.cfg.PolicyFile
	if path == "" {
		return fine("none is set"), nil
	}
	policies, err := config.LoadPolicies(path, slog.New(slog.DiscardHandler))
	if err != nil {
		return fail("Correct the file: `mneme policy check FILE` says more. A worker that runs keeps the rules before; one that starts refuses.", "%s", err), nil
	}
	return fine("rules %s", policies.Current().Hash()), nil
}

// listed names a few of many.
func listed(names []string) string {
	const shown = 8
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:shown], ", ") + fmt.Sprintf(" and %d more", len(names)-shown)
}

// days is a duration that is about days.
func days(d time.Duration) string {
	if d >= 48*time.Hour {
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	}
	return span(d)
}
