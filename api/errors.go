package api

import (
	"errors"

	"github.com/mneme/mneme/schema"
)

// Types of application errors, for retry policies and callers.
const (
	ErrTypeInvalidRequest = "InvalidRequest" // the request is invalid; details: *schema.ValidationError
	ErrTypeNotFound       = "NotFound"
	ErrTypeConflict       = "Conflict"
	// The memory does not have the version that the request names; details: schema.VersionConflict.
	ErrTypeVersion      = "VersionConflict"
	ErrTypeItemsPending = "ItemsPending" // some items of the range failed and may be retried
	// ErrTypeStatementTimeout means that a statement reached its time limit in Postgres (pg.ClassLimits). It is
	// retried.
	ErrTypeStatementTimeout = "StatementTimeout"
)

// ErrTypeBudgetExceeded means that a call would exceed the tenant's token budget of the day.
const ErrTypeBudgetExceeded = "BudgetExceeded"

// Types of application errors of forgetting.
const (
	ErrTypeFrozen       = "MutationsFrozen" // the worker's policy forbids changing what is stored
	ErrTypeTokenRefused = "TokenRefused"    // a confirmation token is not valid; details: the reason, a string
)

// ErrTypeTenantsFailed means that a sweep failed for some tenants; details: the names in the result.
const ErrTypeTenantsFailed = "TenantsFailed"

// ErrTypeStalled means that an attempt made no progress for too long and was cancelled. It is retried.
const ErrTypeStalled = "Stalled"

// ErrTypeIndexLost means that the vector index has lost its data. The step is not retried; the drift check fills the
// index.
const ErrTypeIndexLost = "IndexLost"

// ErrTypeUnverified means that a rebuilt index could not be verified.
const ErrTypeUnverified = "Unverified"

// ErrTypeNotRead is the error of a query for a result that the run does not have yet.
const ErrTypeNotRead = "NotRead"

// ErrTypeForbidden means that the caller is not allowed to make the request.
const ErrTypeForbidden = "Forbidden"

// tokenReasons maps the reasons of ErrTypeTokenRefused to errors.
var tokenReasons = map[string]error{
	"malformed": schema.ErrTokenMalformed, "expired": schema.ErrTokenExpired, "other": schema.ErrTokenOther,
	"closed": schema.ErrForgetClosed,
}

// TokenError returns the error for a reason of ErrTypeTokenRefused, or nil.
func TokenError(reason string) error { return tokenReasons[reason] }

// TokenReason returns the reason of ErrTypeTokenRefused for an error, or "".
func TokenReason(err error) string {
	for reason, refused := range tokenReasons {
		if errors.Is(err, refused) {
			return reason
		}
	}
	return ""
}
