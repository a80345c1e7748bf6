package app

// AllScopesUsage is the usage of --all-scopes.
const AllScopesUsage = "of every scope, those of users included"

// CheckAllScopes refuses --all-scopes with a flag that names one scope.
func CheckAllScopes(a *App, all bool) error {
	switch p := a.Cfg.Principal; {
	case all && p.User != "":
		return Invalid("all-scopes", "must not be given with a user: a user reads no scope of another user")
	case all && p.Scope != "":
		return Invalid("all-scopes", "must not be given with a scope")
	}
	return nil
}

// NoteOtherScopes returns a note if a listing is empty, but would not be with --all-scopes.
func NoteOtherScopes(found int, before string, all bool, count func() (int, error)) (string, error) {
	if found > 0 || before != "" || all {
		return "", nil
	}
	others, err := count()
	if err != nil || others == 0 {
		return "", err
	}
	return "none in this scope; --all-scopes lists those of users and of other scopes", nil
}
