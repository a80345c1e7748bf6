package commit

import (
	"strings"

	"github.com/mneme/mneme/schema"
)

// ClaimOf is a functional claim. Active facts are unique by their claim and conditions.
type ClaimOf struct {
	Owner              schema.Principal
	Visibility         schema.Visibility
	Subject, Predicate string
}

// Key identifies the claim within a tenant.
func (c ClaimOf) Key() string {
	return strings.Join([]string{c.Owner.Scope, ClaimSpace(c.Owner, c.Visibility), strings.ToLower(c.Subject),
		c.Predicate}, "\x1f")
}

// FunctionalClaim returns the row's claim and reports whether it is functional.
func (m *MemoryRow) FunctionalClaim() (ClaimOf, bool) {
	return ClaimOf{m.Owner, m.Visibility, m.Subject, m.Predicate}, m.Type == schema.TypeSemantic && m.Functional
}
