package schema

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mneme/mneme/schema/check"
)

// UserScopePrefix is the prefix of the scope of a user. An agent's memories for the user maya have the scope user/maya.
const UserScopePrefix = "user/"

// MaxUserLength is the maximum number of characters of the name of a user. The scope of the user must be a valid name.
const MaxUserLength = MaxNameLength - len(UserScopePrefix)

// UserScope returns the scope of a user.
func UserScope(name string) string { return UserScopePrefix + name }

// UserOf returns the name of the user of a scope, or "" for other scopes.
func UserOf(scope string) string {
	name, _ := strings.CutPrefix(scope, UserScopePrefix)
	if name == scope {
		return ""
	}
	return name
}

// EffectiveScope returns the scope in which the principal writes: that of its user, if it acts for one.
func (v Principal) EffectiveScope() string {
	if v.User != "" {
		return UserScope(v.User)
	}
	return v.Scope
}

// ReadScopes returns the scopes that the principal reads: its own and, if it acts for a user, also the empty scope.
func (v Principal) ReadScopes() []string {
	if v.User != "" {
		return []string{UserScope(v.User), ""}
	}
	return []string{v.Scope}
}

// Owner returns the principal as the owner of its writes, with the scope of the user instead of the user.
func (v Principal) Owner() Principal {
	v.Scope, v.User = v.EffectiveScope(), ""
	return v
}

// MayRead reports whether the principal may read memories of a scope by their ids. A principal that acts for a user
// reads that user's memories and those without a scope. Without a user, an agent can read its memories of all scopes.
func (v Principal) MayRead(scope string) bool {
	return v.User == "" || scope == "" || scope == UserScope(v.User)
}

// MayChange reports whether the principal may change memories of a scope by their ids. A principal that acts for a
// user changes only that user's memories.
func (v Principal) MayChange(scope string) bool {
	return v.User == "" || scope == UserScope(v.User)
}

// CheckUser checks the user of the principal. It returns a *ValidationError.
func (v *Principal) CheckUser() error {
	var p check.Problems
	v.validateUser(&p, "principal.")
	return p.Err()
}

// validateUser checks the name of a user, and that the request does not also name a scope.
func (v *Principal) validateUser(p *check.Problems, path string) {
	if v.User == "" {
		return
	}
	if v.Scope != "" {
		p.Add(path+"scope", "must be empty where %suser is given: a user has the scope %s<name>", path, UserScopePrefix)
	}
	if problem := UserNameProblem(v.User); problem != "" {
		p.Add(path+"user", "%s", problem)
	}
}

// UserNameProblem returns the problem of the name of a user, or "".
func UserNameProblem(name string) string {
	var p check.Problems
	switch check.Text(&p, "user", name, MaxUserLength); {
	case len(p.Fields) > 0:
		return p.Fields[0].Problem
	case strings.ContainsFunc(name, notInUserName):
		return "must be of printable characters without white space and without a slash"
	}
	return ""
}

// notInUserName reports whether a character is not allowed in a name. The replacement character is not allowed because
// invalid UTF-8 becomes it, and two different names would become equal.
func notInUserName(r rune) bool {
	return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == '/' || r == utf8.RuneError
}

// Check checks the principal of a request. It returns a *ValidationError.
func (v *Principal) Check() error {
	var p check.Problems
	v.validate(&p, "principal.")
	return p.Err()
}
