package schema

import (
	"fmt"
	"slices"
)

// Limits of a trust context.
const (
	MaxTrustScopes      = 32
	MaxTrustToken       = 8 << 10 // characters
	MaxSafeSummaryChars = 1_000
)

// TrustContext is what a recall says of the trust that it is made under (document 004 §13 and §15.8). It
// affects what is shown, never what is stored.
//
// Where the deployment has a trust key, what it claims beyond the least is believed only as far as the
// token says it too: see docs/trust.md.
type TrustContext struct {
	Authenticated  bool        `json:"authenticated,omitempty"`
	MaxSensitivity Sensitivity `json:"max_sensitivity,omitempty"` // a ceiling on that of the request; empty: none
	Scopes         []string    `json:"scopes,omitempty"`          // may be read beside principal.scope
	Environment    string      `json:"environment,omitempty"`     // in which the answer is shown; a policy may lower the limit for it
	Token          string      `json:"token,omitempty"`           // signed; proves the above
}

// Redaction says what is shown of a memory above the limit.
type Redaction string

// The redactions. Neither shows content.
const (
	RedactedMetadata Redaction = "metadata" // id, type, category, sensitivity and dates
	RedactedSummary  Redaction = "summary"  // these and the stored safe summary
)

// TrustMeta says what a recall's trust context came to.
type TrustMeta struct {
	Authenticated  bool           `json:"authenticated"`
	MaxSensitivity Sensitivity    `json:"max_sensitivity"` // content up to here is shown
	Scopes         []string       `json:"scopes,omitempty"`
	Problems       []TrustProblem `json:"problems,omitempty"` // what was claimed or asked for and not granted
}

// TrustProblem says why less was granted than was claimed or asked for.
type TrustProblem string

// The problems of a trust context.
const (
	TrustUnproven        TrustProblem = "unproven"      // claimed without a token, where one is needed
	TrustTokenInvalid    TrustProblem = "token_invalid" // not signed with the key, or not a token
	TrustTokenExpired    TrustProblem = "token_expired"
	TrustTokenOther      TrustProblem = "token_other"     // signed for another principal
	TrustTokenUnchecked  TrustProblem = "token_unchecked" // there is no key to check it with: its bearer is believed
	TrustUnauthenticated TrustProblem = "unauthenticated" // more than medium was asked for, which needs authentication
	TrustEnvironment     TrustProblem = "environment"     // the policy lowers the limit in this environment
	TrustCeiling         TrustProblem = "max_sensitivity" // more was asked for than the trust context allows
	TrustScopes          TrustProblem = "scopes"          // not every scope was granted
)

func (t *TrustContext) validate(p *problems, path string) {
	if t == nil {
		return
	}
	if t.MaxSensitivity != "" && !t.MaxSensitivity.Valid() {
		p.add(path+"max_sensitivity", "must be one of %s", names(sensitivities))
	}
	if len(t.Scopes) > MaxTrustScopes {
		p.add(path+"scopes", "must hold at most %d scopes", MaxTrustScopes)
	}
	for i, scope := range t.Scopes[:min(len(t.Scopes), MaxTrustScopes)] {
		at := fmt.Sprintf("%sscopes[%d]", path, i)
		checkText(p, at, scope, MaxNameLength)
		if scope == "" {
			p.add(at, "is empty")
		}
	}
	checkText(p, path+"environment", t.Environment, MaxNameLength)
	checkText(p, path+"token", t.Token, MaxTrustToken)
}

// Validate reports every field that is wrong, as a *ValidationError.
func (t *TrustContext) Validate() error {
	var p problems
	t.validate(&p, "")
	return p.err()
}

// Lower returns the lower of two sensitivities; an empty one is no bound.
func (v Sensitivity) Lower(other Sensitivity) Sensitivity {
	switch {
	case v == "":
		return other
	case other == "" || slices.Index(sensitivities, v) <= slices.Index(sensitivities, other):
		return v
	}
	return other
}

// Above returns the classes above v, in ascending order.
func (v Sensitivity) Above() []Sensitivity {
	return sensitivities[slices.Index(sensitivities, v)+1:]
}
