package testkit

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// Dump returns the pg_dump of a test's database, in its custom format. If this machine has no programs of the server's
// version, it skips the test.
func Dump(t testing.TB, databaseURL string) []byte {
	t.Helper()
	u, password := forLibpq(t, databaseURL)
	return runProgram(t, databaseURL, "pg_dump", password, nil, "--format=custom", "--dbname="+u)
}

// RestoreDump restores a dump into a separate empty database and returns its URL, as the owner, with the schema of
// the tests. The database is dropped with the test.
func RestoreDump(t testing.TB, dump []byte) string {
	t.Helper()
	env, err := stack()
	require.NoError(t, err)
	name := "t_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	// From template0, so that everything in the database comes from the dump.
	require.NoError(t, onServer(env["DATABASE_URL"], "CREATE DATABASE "+name+" TEMPLATE template0"))
	t.Cleanup(func() {
		// the server may be gone, and the database with it
		_ = onServer(env["DATABASE_URL"], "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	})
	restored, err := in(env["DATABASE_URL"], name, "main")
	require.NoError(t, err)
	u, password := forLibpq(t, restored)
	runProgram(t, restored, "pg_restore", password, dump, "--exit-on-error", "--single-transaction", "--dbname="+u)
	return restored
}

// forLibpq removes the parameters from a URL that only our driver understands, and the password, because all users of
// the machine can read the arguments of a program.
func forLibpq(t testing.TB, databaseURL string) (dbname, password string) {
	t.Helper()
	u, err := url.Parse(databaseURL)
	require.NoError(t, err)
	q := u.Query()
	q.Del("search_path")
	u.RawQuery = q.Encode()
	if u.User != nil {
		password, _ = u.User.Password()
		u.User = url.User(u.User.Username())
	}
	return u.String(), password
}

// runProgram runs a program of the server's own version and returns its output.
func runProgram(t testing.TB, databaseURL, name, password string, input []byte, args ...string) []byte {
	t.Helper()
	program := serverProgram(t, databaseURL, name)
	cmd := exec.CommandContext(t.Context(), program[0], append(program[1:], args...)...)
	cmd.Env = append(os.Environ(), "PGPASSWORD="+password)
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s: %s", name, stderr.String())
	return out
}

// serverProgram returns the command line of a program of the server's major version: an older pg_dump refuses the
// server, and an older server may refuse the output of a newer one. It searches the places from which scripts/stack
// gets its server: the distribution's directory, then the private root in the cache, entered by chroot. Then it
// searches the PATH, for a server installed elsewhere.
func serverProgram(t testing.TB, databaseURL, name string) []string {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, databaseURL)
	require.NoError(t, err)
	defer func() { _ = conn.Close(ctx) }()
	var number string
	require.NoError(t, conn.QueryRow(ctx, `SHOW server_version_num`).Scan(&number))
	n, err := strconv.Atoi(number)
	require.NoError(t, err)
	major := n / 10_000

	installed := fmt.Sprintf("/usr/lib/postgresql/%d/bin/%s", major, name)
	if _, err := os.Stat(installed); err == nil {
		return []string{installed}
	}
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		cache = filepath.Join(os.Getenv("HOME"), ".cache")
	}
	roots, err := filepath.Glob(filepath.Join(cache, "mneme", fmt.Sprintf("postgres-%d-*", major), installed))
	require.NoError(t, err)
	if len(roots) > 0 && os.Geteuid() == 0 {
		return []string{"chroot", strings.TrimSuffix(roots[0], installed), installed}
	}
	if path, err := exec.LookPath(name); err == nil {
		out, err := exec.CommandContext(t.Context(), path, "--version").Output()
		if found := majorVersion.FindSubmatch(out); err == nil && found != nil &&
			string(found[1]) == strconv.Itoa(major) {
			return []string{path}
		}
	}
	t.Skipf("no %s of Postgres %d on this machine: neither installed, nor in the cache of scripts/stack, "+
		"nor on the PATH",
		name, major)
	return nil
}

var majorVersion = regexp.MustCompile(`\) (\d+)`)
