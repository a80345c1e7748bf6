package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/exchange"
	"github.com/mneme/mneme/internal/cli/operate"
	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/migrations"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/pipeline"
	"github.com/mneme/mneme/workflows"
)

func TestRecallFiltersAndBatch(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	c.remember("critical: [ops]: Never deploy on Fridays.")
	c.remember("I prefer to deploy with Helm.", "--source-kind", "user_input", "--speaker", "Dana", "--occurred-at",
		"2026-03-02T09:00:00Z")
	c.remember("The deploy token of the vault is long.", "--sensitivity", "high")

	texts := func(args ...string) string {
		var out []string
		for _, r := range c.recall(append([]string{"deploy"}, args...)...).Results {
			out = append(out, r.Content)
		}
		return strings.Join(out, "|")
	}
	require.Contains(t, texts(), "Never deploy on Fridays.")
	require.NotContains(t, texts(), "token")
	require.Contains(t, texts("--max-sensitivity", "high", "--authenticated"), "token")
	require.Equal(t, "Never deploy on Fridays.", texts("--pinned"))
	require.Equal(t, "Never deploy on Fridays.", texts("--tag", "Ops"))
	require.NotContains(t, texts("--pinned=false"), "Fridays")
	require.Equal(t, "I prefer to deploy with Helm.", texts("--who", "dana", "--type", "episodic"))
	require.Contains(t, texts("--until", "2026-03-03"), "Helm")
	require.NotContains(t, texts("--since", "2026-03-03T00:00:00Z"), "Helm")
	require.Empty(t, texts("--scope", "elsewhere"))
	require.Len(t, c.recall("deploy", "--limit", "1").Results, 1)

	o := c.runWith(t.Context(), "when may we deploy\n\nwhat does Dana prefer\n", "recall", "--batch",
		"-").is(app.ExitPartial)
	lines := strings.Split(strings.TrimSpace(o.out), "\n")
	require.Len(t, lines, 3)
	var answers [3]struct {
		Query       string                `json:"query"`
		RetrievalID string                `json:"retrieval_id"`
		Results     []schema.RecallResult `json:"results"`
		Error       *app.ErrorBody        `json:"error"`
	}
	for i, line := range lines {
		require.NoError(t, json.Unmarshal([]byte(line), &answers[i]))
	}
	require.Equal(t, "when may we deploy", answers[0].Query)
	require.NotEmpty(t, answers[0].Results)
	require.Equal(t, "Never deploy on Fridays.", answers[0].Results[0].Content)
	require.Equal(t, "query", answers[1].Error.Fields[0].Field)
	require.Empty(t, answers[1].RetrievalID)
	require.Contains(t, answers[2].Results[0].Content, "Helm")
	require.Contains(t, o.err, "1 of 3 queries failed")

	for field, args := range map[string][]string{
		"query": {""}, "type": {"x", "--type", "dream"}, "category": {"x", "--category", "dream"},
		"read_policy": {"x", "--read-policy", "all"}, "since": {"x", "--since", "noon"},
		"importance_min": {"x", "--importance-min", "3"},
		"format":         {"x", "--format", "xml"}, "batch": {"--batch", "file"},
		"max_sensitivity": {"x", "--max-sensitivity", "none"},
	} {
		require.Equal(t, field, c.run(append([]string{"recall", "--json"},
			args...)...).is(app.ExitUsage).problem().Fields[0].Field)
	}
	o = c.run("recall", "when may we deploy", "--limit", "-1").is(app.ExitOK)
	require.Contains(t, o.out, "found 1 in", "clamped, as too many are")
	require.Contains(t, o.err, "--limit -1 is outside 1 to 50: 1 is used")
	require.Contains(t, c.run("recall", "when may we deploy", "--limit", "51").is(app.ExitOK).err,
		"--limit 51 is outside 1 to 50: 50 is used")
	for _, quiet := range [][]string{{}, {"--limit", "50"}, {"--limit", "60", "--json"}} {
		require.Empty(t, c.run(append([]string{"recall", "when may we deploy"}, quiet...)...).is(app.ExitOK).err)
	}
	require.Contains(t, c.run("recall", "zebra", "--scope", "elsewhere").is(app.ExitOK).out, "nothing is known")
}

func TestListPagesAndFilters(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	var lines strings.Builder
	for i := range 5 {
		fmt.Fprintf(&lines, `{"content":"Machine %d stands in hall %d.","source_kind":"memory","tags":["t%d"]}`+"\n", i,
			i, i%2)
	}
	c.importFile(app.ExitOK, writeFile(t, lines.String()), "--mode", "frozen", "--wait")
	var all []string
	for before := ""; ; {
		p := c.list("--limit", "2", "--before", before)
		all = append(all, contents(p)...)
		if before = p.Next; before == "" {
			break
		}
	}
	require.Len(t, all, 5)
	require.Len(t, c.list("--tag", "T1").Items, 2)
	require.Contains(t, c.run("list", "--limit", "2").is(app.ExitOK).out, "more: --before ")
	require.Empty(t, c.list("--agent", "other").Items)

	require.Equal(t, "limit", c.run("list", "--limit", "0", "--json").is(app.ExitUsage).problem().Fields[0].Field)
	require.Equal(t, "before", c.run("list", "--before", "x", "--json").is(app.ExitUsage).problem().Fields[0].Field)
	for _, command := range []string{"get", "history"} {
		require.Equal(t, "id", c.run(command, "x", "--json").is(app.ExitUsage).problem().Fields[0].Field)
		require.Contains(t, c.run(command, uuid.NewString(), "--json").is(app.ExitNotFound).problem().Message,
			"not found")
	}
}

// poisoned refuses texts that contain the word poison, until it is cured.
type poisoned struct {
	inference.Extractor
	cured *atomic.Bool
}

func (p poisoned) Extract(ctx context.Context, src inference.Source) (memory.Extraction, inference.Usage, error) {
	if strings.Contains(src.Content, "poison") && !p.cured.Load() {
		return memory.Extraction{}, inference.Usage{}, &inference.PermanentError{Reason: "no appetite"}
	}
	return p.Extractor.Extract(ctx, src)
}

func TestJobs(t *testing.T) {
	t.Parallel()
	var cured atomic.Bool
	c := newCLI(t, harness.New(t, func(d *workflows.Dependencies) {
		d.Brain.Extractor = poisoned{d.Brain.Extractor, &cured}
	}))
	o := c.run("remember", "--wait", "--json", "The poison cabinet stands in hall 4.").is(app.ExitPartial)
	var r exchange.Remembered
	o.json(&r)
	require.Len(t, r.DeadJobs, 1)
	path := writeFile(t, `{"content":"The poison is gone by noon."}`+"\n"+
		`{"content":"Dana prefers tabs over spaces."}`)
	report := c.importFile(app.ExitPartial, path, "--wait")
	require.Equal(t, 1, *report.DeadJobs)
	require.Equal(t, 2, report.Added)

	var dead app.Page[schema.Job]
	c.run("jobs", "list", "--state", "dead", "--limit", "1", "--json").is(app.ExitOK).json(&dead)
	require.Equal(t, r.DeadJobs[0].ID, dead.Items[0].ID)
	c.run("jobs", "list", "--state", "dead", "--limit", "1", "--after", dead.Next, "--json").is(app.ExitOK).json(&dead)
	second := dead.Items[0].ID
	require.NotEqual(t, r.DeadJobs[0].ID, second)
	require.Contains(t, c.run("jobs", "list").is(app.ExitOK).out, "no appetite")
	require.Contains(t, c.run("jobs", "show", second).is(app.ExitOK).out, "no appetite")

	c.run("jobs", "retry", second, "--wait").is(app.ExitPartial)
	require.Contains(t, c.run("jobs", "retry", "--all", "--wait").is(app.ExitPartial).out, "dead again",
		"each is replayed once")
	cured.Store(true)
	require.Contains(t, c.run("jobs", "retry", second, "--wait").is(app.ExitOK).out, "1 facts")
	var replayed app.Page[operate.Retried]
	c.run("jobs", "retry", "--all", "--wait", "--json").is(app.ExitOK).json(&replayed)
	require.Equal(t, []string{r.DeadJobs[0].ID}, []string{replayed.Items[0].JobID}, "what is dead, and nothing else")
	require.Len(t, replayed.Items, 1)
	c.run("jobs", "retry", "--all").is(app.ExitOK)
	require.Contains(t, c.run("jobs", "retry", second).is(app.ExitFailure).err, "only a dead job")
	require.Zero(t, *c.importFile(app.ExitOK, path, "--wait").DeadJobs)

	c.run("jobs", "show", uuid.NewString()).is(app.ExitNotFound)
	c.run("jobs", "retry", uuid.NewString()).is(app.ExitNotFound)
	c.run("jobs", "retry", "x").is(app.ExitUsage)
	c.run("jobs", "retry").is(app.ExitUsage)
	c.run("jobs", "retry", second, "--all").is(app.ExitUsage)
	c.run("jobs", "list", "--state", "odd").is(app.ExitUsage)
	c.run("jobs", "list", "--batch", "odd").is(app.ExitUsage)
	c.run("jobs", "list", "--after", "odd").is(app.ExitUsage)
	c.run("jobs").is(app.ExitUsage)
	c.run("jobs", "lost").is(app.ExitUsage)
}

func TestStatus(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	c := newCLI(t, h)
	c.remember("Never deploy on Fridays.")
	var s operate.SystemStatus
	c.run("status", "--json").is(app.ExitOK).json(&s)
	require.True(t, s.OK && s.Postgres.Reachable && s.Postgres.Migrated && s.Temporal.Reachable && s.Worker.Polling)
	require.EqualValues(t, 1, s.Counts.Memories[schema.TypeSemantic])
	require.Contains(t, c.run("status").is(app.ExitOK).out, "1 semantic")

	c.cfg.TaskQueue = "nobody-" + uuid.NewString()
	c.run("status", "--json").is(app.ExitUnavailable)
	c.cfg.TaskQueue = h.TaskQueue

	// Another tenant sees none of these.
	s = operate.SystemStatus{}
	c.run("status", "--json", "--tenant", "stranger-"+uuid.NewString()).is(app.ExitOK).json(&s)
	require.Empty(t, s.Counts.Memories)
	require.Contains(t, s.Note, "is not known")
}

// A misspelt tenant is distinguished from one without results.
func TestUnknownTenantIsNamed(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	id := c.remember("Dana prefers tabs.").MemoryIDs[0]
	known := c.cfg.Principal.Tenant
	says := func(tenant string) (out []bool) {
		note := "tenant " + tenant + " is not known"
		for _, args := range [][]string{{"recall", "quasars"}, {"list", "--tag", "none"}, {"status"}} {
			args = append(args, "--tenant", tenant)
			text, structured := c.run(args...).is(app.ExitOK), c.run(append(args, "--json")...).is(app.ExitOK)
			require.Equal(t, strings.Contains(text.out, note), strings.Contains(structured.out, note), args)
			out = append(out, strings.Contains(text.out, note))
		}
		lines := c.runWith(t.Context(), "quasars\n", "recall", "--batch", "-", "--tenant", tenant).is(app.ExitOK).out
		return append(out, strings.Contains(lines, note))
	}
	require.Equal(t, []bool{true, true, true, true}, says("stranger-"+uuid.NewString()))
	require.Equal(t, []bool{false, false, false, false}, says(known))
	c.run("erase", id, "--reason", "a test", "--yes").is(app.ExitOK)
	require.Equal(t, []bool{false, false, false, false}, says(known), "what was forgotten was known")
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	c := newCLI(t, h)
	var up struct {
		Applied []string `json:"applied"`
		Version int64    `json:"version"`
	}
	c.run("migrate", "up", "--json").is(app.ExitOK).json(&up)
	require.Empty(t, up.Applied)
	require.Equal(t, migrations.Latest(), up.Version)
	c.run("migrate", "status").is(app.ExitOK)

	// With an empty schema, every command says what to do, and one command does it.
	name := "t_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	owner := testkit.Owner(t, h.DatabaseURL)
	_, err := owner.Exec(t.Context(), "CREATE SCHEMA "+name)
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = owner.Exec(context.Background(), "DROP SCHEMA "+name+" CASCADE") })
	u, err := url.Parse(h.DatabaseURL)
	require.NoError(t, err)
	q := u.Query()
	q.Set("search_path", name+",public")
	u.RawQuery = q.Encode()
	c.cfg.DatabaseURL = u.String()
	c.run("migrate", "status").is(app.ExitFailure)
	require.Contains(t, c.run("recall", "x").is(app.ExitUnavailable).err, "mneme migrate up")
	require.Contains(t, c.run("status").is(app.ExitUnavailable).err, "mneme migrate up")
	c.run("migrate", "up", "--json").is(app.ExitOK).json(&up)
	require.NotEmpty(t, up.Applied)
	c.run("migrate", "status").is(app.ExitOK)
	c.run("list").is(app.ExitOK)

	// With a database of the former series of migrations, the commands say how to proceed.
	_, err = owner.Exec(t.Context(),
		"UPDATE "+name+".goose_db_version SET version_id = version_id - 100 WHERE version_id > 0")
	require.NoError(t, err)
	for _, action := range []string{"up", "status"} {
		require.Contains(t, c.run("migrate", action).is(app.ExitFailure).err, "create a new database")
	}
	require.Contains(t, c.run("list").is(app.ExitUnavailable).err, "mneme migrate up")
	s := c.run("status").is(app.ExitUnavailable)
	require.Contains(t, s.err, "mneme migrate up")
	require.Contains(t, s.out, "up, but the database was made by an earlier build")
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	reachable := c.cfg.DatabaseURL
	c.cfg.DatabaseURL = "postgres://nobody@127.0.0.1:1/none?sslmode=disable&connect_timeout=2"
	for _, args := range [][]string{{"recall", "x"}, {"list"}, {"status"}, {"migrate", "up"}, {"migrate", "status"},
		{"remember", "x", "--wait"}, {"jobs", "list"}} {
		o := c.run(append(args, "--timeout", "3s")...).is(app.ExitUnavailable)
		require.Contains(t, o.err, "Postgres does not answer", args)
		require.Equal(t, 1, strings.Count(o.err, "\n"), o.err)
	}
	c.cfg.DatabaseURL = ""
	require.Contains(t, c.run("list").is(app.ExitUnavailable).err, "make up")

	c.cfg.DatabaseURL = reachable
	c.cfg.TemporalEnv = noTemporal()
	for _, args := range [][]string{{"remember", "x"}, {"import", writeFile(t, `{"content":"x"}`)}, {"status"}} {
		require.Contains(t, c.run(append(args, "--timeout", "2s")...).is(app.ExitUnavailable).err,
			"Temporal does not answer", args)
	}
}

// Postgres answers but rejects the user: the message asks for another password, database or role, and not for a
// restart.
func TestWrongCredentials(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	c := newCLI(t, h)
	owner := testkit.Owner(t, h.DatabaseURL)
	outsider := "outsider_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	_, err := owner.Exec(t.Context(), "CREATE ROLE "+outsider+" LOGIN PASSWORD 'secret'")
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = owner.Exec(context.Background(), "DROP ROLE "+outsider) })
	u, err := url.Parse(h.DatabaseURL)
	require.NoError(t, err)
	absent, password, role := *u, *u, *u
	absent.Path = "/nothere"
	password.User = url.UserPassword(outsider, "wrong")
	role.User = url.UserPassword(outsider, "secret")
	for name, wrong := range map[string]url.URL{"database": absent, "password": password, "role": role} {
		c.cfg.DatabaseURL = wrong.String()
		for _, args := range [][]string{{"recall", "x"}, {"list"}, {"status"}, {"remember", "x", "--wait"}} {
			o := c.run(args...).is(app.ExitUnavailable)
			require.Contains(t, o.err, "Postgres refuses the connection", "%s %v", name, args)
			require.Contains(t, o.err, "DATABASE_URL")
		}
	}
	for _, wrong := range []url.URL{absent, password, role} {
		c.cfg.DatabaseURL = wrong.String()
		require.Contains(t, c.run("migrate", "status").is(app.ExitUnavailable).err, "Postgres refuses the connection")
	}
}

// Temporal answers but rejects this client.
func TestTemporalRefusesCredentials(t *testing.T) {
	t.Parallel()
	for _, code := range []codes.Code{codes.Unauthenticated, codes.PermissionDenied} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		server := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
			return status.Error(code, "who are you")
		}))
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(server.Stop)
		c := &cli{t: t, cfg: config.Config{TemporalEnv: temporalAt(listener.Addr().String(), "default"),
			Principal: testkit.Principal(), TaskQueue: "any", Namespace: "default"}}
		o := c.run("remember", "x", "--timeout", "5s").is(app.ExitUnavailable)
		require.Contains(t, o.err, "Temporal refuses the connection", code)
		require.Contains(t, o.err, "TEMPORAL_API_KEY")
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	c := &cli{t: t}
	for _, args := range [][]string{{}, {"recal"}, {"get"}, {"get", "a", "b"}, {"remember"}, {"--nonsense"},
		{"import", "x", "--parallel", "many"}} {
		o := c.run(args...).is(app.ExitUsage)
		require.Contains(t, o.err, "mneme: ", args)
	}
	require.Equal(t, "unknown flag: --nonsense; see `mneme list --help`",
		c.run("list", "--nonsense", "--json").is(app.ExitUsage).problem().Message)
	require.Contains(t, c.run("version").is(app.ExitOK).out, "mneme ")
	require.Contains(t, c.run("--help").is(app.ExitOK).out, "Exit codes")
	require.Contains(t, c.run("recal").err, "did you mean recall")
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	interrupted, cancel := context.WithCancel(context.Background())
	cancel()
	for _, test := range []struct {
		ctx  context.Context
		err  error
		want int
	}{
		{nil, nil, app.ExitOK},
		{nil, errors.New("odd"), app.ExitFailure},
		{nil, app.Invalid("a", "b"), app.ExitUsage},
		{nil, fmt.Errorf("deep: %w", app.Invalid("a", "b")), app.ExitUsage},
		{nil, fmt.Errorf("deep: %w", pg.ErrNotFound), app.ExitNotFound},
		{nil, fmt.Errorf("deep: %w", pg.ErrNotMigrated), app.ExitUnavailable},
		{nil, pipeline.ErrNotDead, app.ExitFailure},
		// Postgres is reachable
		{nil, fmt.Errorf("deep: %w", &pg.TimeoutError{Class: pg.ClassPipeline, Err: &pgconn.PgError{Code: "57014"}}),
			app.ExitFailure},
		{nil, app.DatabaseError(&pgconn.PgError{Code: "55P03"}), app.ExitFailure},
		{nil, app.Unavailable("gone"), app.ExitUnavailable},
		{nil, fmt.Errorf("slow: %w", context.DeadlineExceeded), app.ExitUnavailable},
		{nil, serviceerror.NewUnavailable("gone"), app.ExitUnavailable},
		{nil, fmt.Errorf("deep: %w", &pgconn.PgError{Code: "28P01"}), app.ExitUnavailable},
		{nil, &pgconn.PgError{Code: "42501"}, app.ExitFailure}, // permission for a row, not for a connection
		{nil, serviceerror.NewDeadlineExceeded("slow"), app.ExitUnavailable},
		{nil, fmt.Errorf("deep: %w", app.WithCode(app.ExitPartial, errors.New("some"))), app.ExitPartial},
		{interrupted, app.Unavailable("gone"), app.ExitInterrupted},
		{interrupted, context.Canceled, app.ExitInterrupted},
	} {
		if test.ctx == nil {
			test.ctx = context.Background()
		}
		require.Equal(t, test.want, app.ExitCode(test.ctx, test.err), "%v", test.err)
	}
}

func TestParseRef(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]schema.Ref{
		"event=chat/17":           {Kind: "event", Ref: "chat/17"},
		"artifact=a=b#sha256:00":  {Kind: "artifact", Ref: "a=b", Hash: "sha256:00"},
		"event=page#part#h":       {Kind: "event", Ref: "page#part", Hash: "h"},
		"event=#h":                {Kind: "event", Ref: "#h"},
		"event=trailing#":         {Kind: "event", Ref: "trailing#"},
		"tool_call=corvid/x#4 2#": {Kind: "tool_call", Ref: "corvid/x#4 2#"},
	} {
		got, err := app.ParseRef(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
	for _, in := range []string{"", "event", "event=", "=x"} {
		_, err := app.ParseRef(in)
		require.Error(t, err, in)
	}
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	at, err := app.ParseTime("since", "2026-05-08T13:56:00+02:00")
	require.NoError(t, err)
	require.Equal(t, "2026-05-08T11:56:00Z", at.UTC().Format(time.RFC3339))
	at, err = app.ParseTime("since", "2026-05-08")
	require.NoError(t, err)
	require.Equal(t, time.Date(2026, 5, 8, 0, 0, 0, 0, time.Local), *at)
	at, err = app.ParseTime("since", "")
	require.NoError(t, err)
	require.Nil(t, at)
	_, err = app.ParseTime("since", "8 May")
	require.Error(t, err)
}

// Content must not be able to control the terminal or break a table.
func TestOutputIsSafe(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a b [31mred", app.OneLine("a\n\tb \x1b[31mred\u202e"))
	require.Equal(t, "a\nb", app.Printable("a\nb\x07"))
	var out app.Text
	out.Width = 12
	out.Table("A B", [][]string{{"1", "a long\nline of text"}, {"22", "x"}})
	require.Equal(t, "A   B\n1   a long …\n22  x\n", out.Buf.String())
}
