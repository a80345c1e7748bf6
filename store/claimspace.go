package store

import (
	"strings"

	"github.com/mneme/mneme/schema"
)

// claimOf is a functional claim, by what active facts are unique by beside their ground.
type claimOf struct {
	owner              schema.Principal
	visibility         schema.Visibility
	subject, predicate string
}

func (c claimOf) key() string {
	return strings.Join([]string{c.owner.Scope, claimSpace(c.owner, c.visibility), strings.ToLower(c.subject), c.predicate}, "\x1f")
}

func (m *memoryRow) claimed() (claimOf, bool) {
	return claimOf{m.Owner, m.Visibility, m.Subject, m.Predicate}, m.Type == schema.TypeSemantic && m.Functional
}
