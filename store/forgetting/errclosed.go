package forgetting

import "errors"

// ErrForgetClosed means that a forget run has ended without having been confirmed.
var ErrForgetClosed = errors.New("the run has expired or was cancelled")
