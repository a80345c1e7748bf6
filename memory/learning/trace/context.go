package trace

import "github.com/mneme/mneme/schema"

// ContextOf returns the context keys of an environment: os, the versions of tools, such as go_version, and the scalars
// of its context.
func ContextOf(env *schema.Environment) map[string]string {
	context, _ := contextOf(env)
	return context
}
