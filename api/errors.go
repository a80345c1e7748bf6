package api

import (
	"errors"

	"github.com/mneme/mneme/schema"
)

// Types of application errors, for retry policies and callers.
const (
	ErrTypeInvalidRequest = "InvalidRequest" // the caller's fault; details: *schema.ValidationError
	ErrTypeNotFound       = "NotFound"
	ErrTypeConflict       = "Conflict"
	// A memory is at another version than the request names; details: schema.VersionConflict.
	ErrTypeVersion      = "VersionConflict"
	ErrTypeItemsPending = "ItemsPending" // some items of the range failed and may be tried again
	// ErrTypeStatementTimeout means that Postgres ended a statement at its limit (pg.ClassLimits). It is tried again.
	ErrTypeStatementTimeout = "StatementTimeout"
)

// ErrTypeBudgetExceeded means that a call did not fit into what is left of the tenant's token budget of the day.
const ErrTypeBudgetExceeded = "BudgetExceeded"

// Types of application errors of forgetting.
const (
	ErrTypeFrozen       = "MutationsFrozen" // the worker's policy forbids changing what is stored
	ErrTypeTokenRefused = "TokenRefused"    // a confirm token is not good; details: the reason, a string
)

// ErrTypeTenantsFailed is the type of a sweep's failure for some tenants; details: their names, as far as a
// result has them.
const ErrTypeTenantsFailed = "TenantsFailed"

// ErrTypeStalled means that an attempt went on for too long without progress and was cancelled. It is tried again.
const ErrTypeStalled = "Stalled"

// ErrTypeIndexLost is the type of the error with which an index is left alone that has lost what it was told.
const ErrTypeIndexLost = "IndexLost"

// ErrTypeUnverified is the type of the error with which a rebuild ends that could not be shown to be whole.
const ErrTypeUnverified = "Unverified"

// ErrTypeNotRead is the type of the error of a query for a record that the run has not read.
const ErrTypeNotRead = "NotRead"

// ErrTypeForbidden is the type of the application error for a refused caller.
const ErrTypeForbidden = "Forbidden"

// tokenReasons are the reasons of ErrTypeTokenRefused, with the errors that they stand for.
var tokenReasons = map[string]error{
	"malformed": schema.ErrTokenMalformed, "expired": schema.ErrTokenExpired, "other": schema.ErrTokenOther,
	"closed": schema.ErrForgetClosed,
}

// TokenError returns the error that a reason of ErrTypeTokenRefused stands for, or nil.
func TokenError(reason string) error { return tokenReasons[reason] }

// TokenReason returns the reason of ErrTypeTokenRefused that stands for an error, or "".
func TokenReason(err error) string {
	for reason, refused := range tokenReasons {
		if errors.Is(err, refused) {
			return reason
		}
	}
	return ""
}
