package schema

import "errors"

// Why a confirm token is refused. None of them says anything about the token's text.
var (
	// ErrTokenMalformed means that the text is no token.
	ErrTokenMalformed = errors.New("the confirm token is malformed")
	// ErrTokenExpired means that the token was good and has expired.
	ErrTokenExpired = errors.New("the confirm token has expired")
	// ErrTokenOther means that the token is not for this run, its rows and its mode.
	ErrTokenOther = errors.New("the confirm token is for other memories")
)

// ErrForgetClosed means that a forget run has ended without having been confirmed.
var ErrForgetClosed = errors.New("the run has expired or was cancelled")
