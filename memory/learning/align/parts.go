package align

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const (
	maxAfter   = 3  // elements that are left out of the beginning of a path
	keptForUse = 60 // bindings of maxBindings that are kept for the results of steps
)

// divided adds parts of values that a command may have although no tool prints them alone: a path without its first
// elements (.after.N), and the part before the @ of an address (.user).
func (k Known) divided() {
	for _, name := range slices.Sorted(maps.Keys(k)) {
		value := k[name]
		if len(k) > maxBindings-keptForUse {
			return
		}
		if partOf(name) != "" || strings.HasSuffix(name, ".rel") || strings.ContainsAny(value, " \t\n") ||
			sourceOf(name) == "working_dir" || sourceOf(name) == "context." {
			continue
		}
		if user, ok := UserOf(value); ok {
			k[name+".user"] = user
		}
		if strings.HasPrefix(value, "/") || strings.Contains(value, "://") {
			continue
		}
		rest := strings.TrimPrefix(value, "./")
		for n := 1; n <= maxAfter; n++ {
			_, after, ok := strings.Cut(rest, "/")
			if !ok || after == "" {
				break
			}
			k.add(fmt.Sprintf("%s.after.%d", name, n), after)
			rest = after
		}
	}
}

// UserOf returns the part before the @ of an address such as user@example.com.
func UserOf(value string) (string, bool) {
	user, domain, ok := strings.Cut(value, "@")
	return user, ok && len(user) >= minWithin && strings.Contains(domain, ".") && !strings.ContainsAny(domain, "@/:") &&
		!strings.ContainsAny(user, "/:=")
}

var issue = regexp.MustCompile(`(?:^|[^\w-])([A-Z][A-Z0-9]+-\d+)-[A-Za-z]`)

// IssueOf returns the issue in the name of a branch: SHOP-12 in fix/SHOP-12-totals.
func IssueOf(branch string) (string, bool) {
	m := issue.FindStringSubmatch(branch)
	if m == nil {
		return "", false
	}
	return m[1], true
}
