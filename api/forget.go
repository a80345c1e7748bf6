package api

import "github.com/mneme/mneme/schema"

// ForgetRest is a confirmed run of Forget that continues in a new execution. It is the input of ContinueForget.
type ForgetRest struct {
	Tenant  string               `json:"tenant"`
	Preview schema.ForgetPreview `json:"preview"`
	Receipt schema.ForgetReceipt `json:"receipt"` // so far

	BatchSize int `json:"batch_size,omitempty"` // of the request
}
