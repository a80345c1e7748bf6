package pg

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Refused reports whether the database said that it will never take a value: it is malformed (SQLSTATE
// class 22) or over a limit of the program (class 54). Trying again cannot help. It returns the code
// alone: the message may quote the value.
func Refused(err error) (code string, refused bool) {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || len(pgErr.Code) != 5 {
		return "", false
	}
	switch pgErr.Code[:2] {
	case "22", "54":
		return pgErr.Code, true
	}
	return "", false
}

// ServerError returns what the server itself answered, as its SQLSTATE and its message; false where err is not
// from it, as when it could not be reached. A message about connecting quotes nothing that is stored; others may.
func ServerError(err error) (code, message string, answered bool) {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return "", "", false
	}
	return pgErr.Code, pgErr.Message, true
}

// IsDenied reports whether err says that Postgres answers but refuses this user: a wrong name or password, a database
// that does not exist, or a user that may not act as AppRole. Trying again does not help.
func IsDenied(err error) bool {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return false
	}
	var connecting *pgconn.ConnectError
	const invalidAuthorization, invalidCatalog, insufficientPrivilege = "28", "3D", "42501"
	return strings.HasPrefix(pgErr.Code, invalidAuthorization) || strings.HasPrefix(pgErr.Code, invalidCatalog) ||
		pgErr.Code == insufficientPrivilege && errors.As(err, &connecting)
}
