package schema

import "github.com/mneme/mneme/schema/check"

// FieldError is one thing that is wrong with a request or a record.
type FieldError = check.FieldError

// ValidationError says what is wrong with a request or a record, field by field.
type ValidationError = check.ValidationError
