package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema/migrations"
	"github.com/mneme/mneme/store/admin"
	"github.com/mneme/mneme/store/pg"
)

// postgres checks whether the database answers.
func (d *Doctor) postgres(ctx context.Context) (verdict, error) {
	const do = "Start it (`make up`), or fix DATABASE_URL."
	databaseURL, err := d.A.DatabaseURL()
	if err != nil {
		return fail(do, "%s", err), nil
	}
	db, err := admin.Inspect(ctx, databaseURL)
	if err != nil {
		if code, message, answered := pg.ServerError(err); answered { // it answers, but refuses the connection
			return JudgeRefusal(code, message), nil
		}
		return fail(do, "it does not answer: %s", app.Message(err)), nil
	}
	d.db = db
	version, err := db.Version(ctx)
	return fine("version %s", version), err
}

// JudgeRefusal returns a verdict with the reason why a server refused the connection.
func JudgeRefusal(code, message string) verdict {
	switch {
	case code == "53300": // too_many_connections
		return fail("Lower MNEME_DB_MAX_CONNS, run fewer workers, or raise max_connections.",
			"no more connections: %s", message)
	case strings.HasPrefix(code, "53"): // insufficient_resources
		return fail("Give the server more memory or disk space.", "it lacks resources: %s", message)
	case code == "57P03": // cannot_connect_now
		return fail("Wait until it has started or recovered, and try again; its log shows the progress.",
			"it is not ready yet: %s", message)
	}
	return fail("Correct DATABASE_URL, or the rights of its role.", "it refuses: %s", message)
}

// migrations checks whether the schema is that of this program.
func (d *Doctor) migrations(ctx context.Context) (verdict, error) {
	at, err := d.db.MigrationVersion(ctx)
	if err != nil {
		return verdict{}, err
	}
	latest := migrations.Latest()
	d.migrated = at >= latest
	switch {
	case at < latest:
		return fail("`mneme migrate up`, as the schema's owner.", "the database is at version %d of %d", at, latest),
			nil
	case at > latest:
		return warn("Update this program: it is older than the schema.",
			"the database is at version %d, and this program knows %d", at, latest), nil
	}
	return fine("version %d", at), nil
}

// Limits for the difference between the clocks of this machine and of Postgres. Times in records come from the
// workers' clocks, and due times are compared with both.
const (
	clockWarn = 5 * time.Second
	clockFail = time.Minute
)

func (d *Doctor) clock(ctx context.Context) (verdict, error) {
	ahead, err := d.db.ClockAhead(ctx, d.Now)
	if err != nil {
		return verdict{}, err
	}
	const do = "Synchronize both clocks (NTP), and find out which one is wrong: `date -u` on each machine."
	found, far := fmt.Sprintf("Postgres is %s ahead of this machine", ahead.Round(time.Millisecond)), ahead
	if ahead < 0 {
		far = -ahead
		found = fmt.Sprintf("Postgres is %s behind this machine", far.Round(time.Millisecond))
	}
	switch {
	case far > clockFail:
		return fail(do, "%s", found), nil
	case far > clockWarn:
		return warn(do, "%s", found), nil
	}
	return fine("%s", found), nil
}

func (d *Doctor) connections(ctx context.Context) (verdict, error) {
	c, err := d.db.Connections(ctx)
	if err != nil {
		return verdict{}, err
	}
	return JudgeConnections(c), nil
}

// JudgeConnections warns if eight in ten connections are used, and fails if almost none is left.
func JudgeConnections(c admin.Connections) verdict {
	const do = "Lower MNEME_DB_MAX_CONNS, run fewer workers, or raise max_connections."
	switch share := float64(c.Open) / float64(max(1, c.Most)); {
	case share >= 0.95:
		return fail(do, "%d of %d connections are in use", c.Open, c.Most)
	case share >= 0.8:
		return warn(do, "%d of %d connections are in use", c.Open, c.Most)
	}
	return fine("%d of %d are in use", c.Open, c.Most)
}

// databaseRole checks whether row-level security separates tenants even if a query lacks its filter.
func (d *Doctor) databaseRole(ctx context.Context) (verdict, error) {
	role, err := d.db.AppRole(ctx)
	if err != nil {
		return verdict{}, err
	}
	name := pg.AppRole
	switch {
	case !role.Exists:
		return fail("`mneme migrate up`, as a role that may create roles.", "role %s is missing", name), nil
	case role.Bypasses:
		return fail("ALTER ROLE "+name+" NOSUPERUSER NOBYPASSRLS.", "row-level security does not bind role %s", name),
			nil
	case role.Owns > 0:
		return fail("ALTER TABLE … OWNER TO the schema's owner, for each; or REVOKE the owner FROM "+name+".",
			"role %s owns %d tables, itself or as a member of their owner, and row-level security does not bind "+
				"an owner", name, role.Owns), nil
	case !role.Usable:
		return fail("GRANT "+name+" TO the role in DATABASE_URL.",
			"the role in DATABASE_URL may not SET ROLE %s", name), nil
	}
	return fine("row-level security binds %s", name), nil
}

func (d *Doctor) extensions(ctx context.Context) (verdict, error) {
	found, err := d.db.Extensions(ctx)
	if err != nil {
		return verdict{}, err
	}
	var missing, old, there []string
	for _, e := range found {
		switch {
		case e.Installed == "":
			missing = append(missing, e.Name)
		case OlderThan(e.Installed, e.Least):
			old = append(old, fmt.Sprintf("%s %s (needs %s)", e.Name, e.Installed, e.Least))
		default:
			there = append(there, e.Name+" "+e.Installed)
		}
	}
	switch {
	case len(missing) > 0:
		return fail("CREATE EXTENSION "+missing[0]+", as a superuser.", "missing: %s", listed(missing)), nil
	case len(old) > 0:
		return fail("Install a newer one, then ALTER EXTENSION … UPDATE.", "too old: %s", listed(old)), nil
	}
	return fine("%s", listed(there)), nil
}

// OlderThan compares versions such as 0.8.0 number by number.
func OlderThan(version, least string) bool {
	have, want := strings.Split(version, "."), strings.Split(least, ".")
	for i := range want {
		w, _ := strconv.Atoi(want[i])
		h := 0
		if i < len(have) {
			h, _ = strconv.Atoi(have[i])
		}
		if h != w {
			return h < w
		}
	}
	return false
}

func (d *Doctor) rowLevelSecurity(ctx context.Context) (verdict, error) {
	unbound, err := d.db.UnboundTables(ctx)
	if err != nil || len(unbound) == 0 {
		return fine("every table with a tenant column has it"), err
	}
	return fail("ALTER TABLE … ENABLE ROW LEVEL SECURITY, or DROP POLICY if another was added; and find out why it "+
		"was changed.", "off, without a policy, or with one that admits other tenants, on %s", listed(unbound)), nil
}

func (d *Doctor) appendOnly(ctx context.Context) (verdict, error) {
	absent, err := d.db.AbsentGuards(ctx)
	if err != nil || len(absent) == 0 {
		return fine("all triggers for history and versions exist"), err
	}
	return fail("ALTER TABLE … ENABLE TRIGGER …, and find out what was changed in the meantime.",
		"missing or disabled: %s", listed(absent)), nil
}

func (d *Doctor) invalidIndexes(ctx context.Context) (verdict, error) {
	invalid, err := d.db.InvalidIndexes(ctx)
	if err != nil || len(invalid) == 0 {
		return fine("none"), err
	}
	return fail("REINDEX INDEX CONCURRENTLY …, for each; `mneme reindex` rebuilds those of embeddings.",
		"unusable after a failed build: %s", listed(invalid)), nil
}

func (d *Doctor) statistics(ctx context.Context) (verdict, error) {
	unknown, err := d.db.Unanalysed(ctx)
	if err != nil {
		return verdict{}, err
	}
	bloated, err := d.db.Bloated(ctx)
	if err != nil {
		return verdict{}, err
	}
	switch {
	case len(unknown) > 0:
		return warn("ANALYZE, and check that autovacuum runs.", "never analysed, with over 1,000 rows: %s",
			listed(unknown)), nil
	case len(bloated) > 0:
		return warn("VACUUM (ANALYZE) for each, and check that autovacuum keeps up: long transactions block "+
			"it.",
			"more dead rows than live ones: %s", listed(bloated)), nil
	}
	return fine("every larger table has planner statistics"), nil
}
