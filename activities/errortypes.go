package activities

// Types of application errors, for retry policies and callers.
const (
	ErrTypeInvalidRequest = "InvalidRequest" // the caller's fault; details: *schema.ValidationError
	ErrTypeNotFound       = "NotFound"
	ErrTypeConflict       = "Conflict"
	ErrTypeVersion        = "VersionConflict" // a memory is at another version than the request names; details: schema.VersionConflict
	ErrTypeItemsPending   = "ItemsPending"    // some items of the range failed and may be tried again
	// ErrTypeStatementTimeout means that Postgres ended a statement at its limit (pg.ClassLimits). It is tried again.
	ErrTypeStatementTimeout = "StatementTimeout"
)

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
