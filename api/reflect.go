package api

import (
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
	"github.com/mneme/mneme/schema/ledger"
)

// Validate checks a request to reflect. It returns a *schema.ValidationError.
func (in *ReflectInput) Validate() error {
	if err := in.DecodeErr(); err != nil {
		return err
	}
	var p check.Problems
	for _, name := range []struct{ field, value string }{
		{"principal.tenant", in.Principal.Tenant}, {"principal.agent", in.Principal.Agent}} {
		if name.value == "" {
			p.Add(name.field, "is required")
		}
		check.Text(&p, name.field, name.value, schema.MaxNameLength)
	}
	if ledger.StreamKindOf(in.Stream) == "" {
		p.Add("stream", "must be world/NAME, run/NAME or conversation/NAME")
	}
	check.Text(&p, "stream", in.Stream, ledger.MaxStream)
	if in.Threshold < 1 || in.Threshold > MaxReflectionThreshold {
		p.Add("threshold", "must be between 1 and %d", MaxReflectionThreshold)
	}
	if in.Through < 0 {
		p.Add("through", "must not be negative")
	}
	if in.Visibility != "" && !in.Visibility.Valid() {
		p.Add("visibility", "must be private, group, shared or global")
	}
	if in.MaxSensitivity != "" && !in.MaxSensitivity.Valid() {
		p.Add("max_sensitivity", "must be public, low, medium, high or hyper")
	}
	return p.Err()
}

// MaxReflectionThreshold is the maximum threshold of a reflection. All events of a reflection are read at once.
const MaxReflectionThreshold = 1_000
