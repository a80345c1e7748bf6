package pg

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Refused reports whether the database will never accept a value, because it is malformed (SQLSTATE class 22) or
// exceeds a limit of the program (class 54). A retry cannot help. It returns only the code, because the message may
// quote the value.
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

// ServerError returns the server's answer as SQLSTATE and message. It returns false if err is not from the server,
// for example if it could not be reached. Messages about connecting contain no stored data; others may.
func ServerError(err error) (code, message string, answered bool) {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return "", "", false
	}
	return pgErr.Code, pgErr.Message, true
}

// IsDenied reports whether Postgres refuses this user: a wrong name or password, a database that does not exist, or
// a user that may not act as AppRole. A retry does not help.
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
