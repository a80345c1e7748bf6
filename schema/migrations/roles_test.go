package migrations_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema/migrations"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/admin"
	"github.com/mneme/mneme/store/pg"
)

// someone creates a role that may log in, and returns its name and the URL with which it connects to a schema.
func someone(t *testing.T, superuser *pgx.Conn, databaseURL string, may ...string) (name, as string) {
	t.Helper()
	name = "r_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	run(t, superuser, "CREATE ROLE "+name+" LOGIN PASSWORD 'secret' "+strings.Join(may, " "))
	t.Cleanup(func() {
		_, _ = superuser.Exec(ctx, "REVOKE mneme_app FROM "+name+" CASCADE")
		_, _ = superuser.Exec(ctx, "DROP OWNED BY "+name+" CASCADE")
		_, _ = superuser.Exec(ctx, "DROP ROLE "+name)
	})
	u, err := url.Parse(databaseURL)
	require.NoError(t, err)
	u.User = url.UserPassword(name, "secret")
	return name, u.String()
}

func run(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		_, err := conn.Exec(ctx, statement)
		require.NoError(t, err, statement)
	}
}

func appRole(t *testing.T, databaseURL string) admin.AppRoleState {
	t.Helper()
	i, err := admin.Inspect(ctx, databaseURL)
	require.NoError(t, err)
	defer i.Close(ctx)
	state, err := i.AppRole(ctx)
	require.NoError(t, err)
	return state
}

// Since Postgres 16 a role that is no superuser is a member of a role that it creates, but may not act as it. The
// migrations give it that right, because the application acts as the role.
func TestTheCreatorOfTheRoleMayActAsIt(t *testing.T) {
	t.Parallel()
	at := emptySchema(t)
	superuser := testkit.Owner(t, at)
	var place string
	require.NoError(t, superuser.QueryRow(ctx, "SELECT current_schema()").Scan(&place))
	owner, as := someone(t, superuser, at, "CREATEROLE")
	run(t, superuser, "ALTER SCHEMA "+place+" OWNER TO "+owner,
		"GRANT mneme_app TO "+owner+" WITH ADMIN TRUE, INHERIT FALSE, SET FALSE") // as CREATE ROLE does
	require.False(t, appRole(t, as).Usable, "a member that may not SET ROLE")
	_, err := migrations.Up(ctx, as)
	require.NoError(t, err)
	require.True(t, appRole(t, as).Usable)
	s, err := store.Open(ctx, pg.Config{URL: as, MaxConns: 1})
	require.NoError(t, err)
	s.Close()
}

// Row-level security does not bind a role that has the rights of the tables' owner.
func TestTheApplicationMustNotHaveTheOwnersRights(t *testing.T) {
	t.Parallel()
	at := testkit.FreshDatabaseURL(t)
	superuser := testkit.Owner(t, at)
	owner, _ := someone(t, superuser, at)
	run(t, superuser, "ALTER TABLE memories OWNER TO "+owner, "GRANT "+owner+" TO mneme_app")
	t.Cleanup(func() { _, _ = superuser.Exec(ctx, "REVOKE "+owner+" FROM mneme_app") })
	require.Equal(t, 1, appRole(t, at).Owns)
	_, err := store.Open(ctx, pg.Config{URL: at, MaxConns: 1})
	require.ErrorContains(t, err, "row-level security")

	run(t, superuser, "REVOKE "+owner+" FROM mneme_app")
	require.Zero(t, appRole(t, at).Owns)
	s, err := store.Open(ctx, pg.Config{URL: at, MaxConns: 1})
	require.NoError(t, err)
	s.Close()
}

// A URL that cannot be parsed is not quoted: it has a password.
func TestErrorsContainNoPassword(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"host=127.0.0.1 password = 'hunter2 secret' port=x",
		"postgres://u:hunter2secret@127.0.0.1:port/x", "postgres//u:hunter2secret@127.0.0.1/x",
		"postgres://u:hun%ter2secret@127.0.0.1/x"} {
		_, err := migrations.Up(ctx, address)
		require.ErrorContains(t, err, "cannot be parsed")
		require.NotContains(t, err.Error(), "ter2")
		_, err = migrations.List(ctx, address)
		require.ErrorContains(t, err, "cannot be parsed")
		require.NotContains(t, err.Error(), "ter2")
	}
}
