package activities

import (
	"errors"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/store/forgetting"
)

// tokenReasons are the reasons of ErrTypeTokenRefused, with the errors that they stand for.
var tokenReasons = map[string]error{
	"malformed": lifecycle.ErrTokenMalformed, "expired": lifecycle.ErrTokenExpired, "other": lifecycle.ErrTokenOther, "closed": forgetting.ErrForgetClosed,
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
