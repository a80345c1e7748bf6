package workflows

// ErrTypeUnverified is the type of the error with which a rebuild ends that could not be shown to be whole.
const ErrTypeUnverified = "Unverified"

// ErrTypeNotRead is the type of the error of a query for a record that the run has not read.
const ErrTypeNotRead = "NotRead"

// ErrTypeForbidden is the type of the application error behind a refused caller.
const ErrTypeForbidden = "Forbidden"
