package schema

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mneme/mneme/schema/check"
)

// UserScopePrefix begins the scope of a user: an agent's memories for the user maya have the scope user/maya.
const UserScopePrefix = "user/"

// MaxUserLength is how many characters the name of a user may have: its scope is a name as well.
const MaxUserLength = MaxNameLength - len(UserScopePrefix)

// UserScope is the scope of a user.
func UserScope(name string) string { return UserScopePrefix + name }

// UserOf returns the name of the user that a scope belongs to; empty for any other scope.
func UserOf(scope string) string {
	name, _ := strings.CutPrefix(scope, UserScopePrefix)
	if name == scope {
		return ""
	}
	return name
}

// EffectiveScope is the scope in which the principal writes: that of its user, if it acts for one.
func (v Principal) EffectiveScope() string {
	if v.User != "" {
		return UserScope(v.User)
	}
	return v.Scope
}

// ReadScopes are the scopes whose memories the principal reads: its own and, if it acts for a user, also the memories
// of the agent without a scope.
func (v Principal) ReadScopes() []string {
	if v.User != "" {
		return []string{UserScope(v.User), ""}
	}
	return []string{v.Scope}
}

// Owner is the principal as the owner of what it writes: the user has become the scope.
func (v Principal) Owner() Principal {
	v.Scope, v.User = v.EffectiveScope(), ""
	return v
}

// MayRead reports whether the principal may read memories of a scope by their ids. A principal that acts for a user
// reads that user's memories and those without a scope. Without a user, an agent can read all of its memories by id,
// whatever their scope.
func (v Principal) MayRead(scope string) bool {
	return v.User == "" || scope == "" || scope == UserScope(v.User)
}

// MayChange reports whether the principal may change memories of a scope by their ids. A principal that acts for a
// user changes only that user's memories.
func (v Principal) MayChange(scope string) bool {
	return v.User == "" || scope == UserScope(v.User)
}

// CheckUser reports what is wrong with the principal's user, as a *ValidationError.
func (v *Principal) CheckUser() error {
	var p check.Problems
	v.validateUser(&p, "principal.")
	return p.Err()
}

// validateUser checks the name of a user, and that the request does not name a scope as well.
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

// UserNameProblem returns what is wrong with the name of a user, or "".
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

// notInUserName reports whether a name may not contain a character. The replacement character replaces bytes that are
// not UTF-8, so that two different names would become equal.
func notInUserName(r rune) bool {
	return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == '/' || r == utf8.RuneError
}

// Check reports what is wrong with a principal of a request, as a *ValidationError.
func (v *Principal) Check() error {
	var p check.Problems
	v.validate(&p, "principal.")
	return p.Err()
}
