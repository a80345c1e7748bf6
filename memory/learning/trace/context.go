package trace

import "github.com/mneme/mneme/schema"

// ContextOf is what an environment says about a situation: os, the versions of tools as go_version, and the scalars
// of its context.
func ContextOf(env *schema.Environment) map[string]string {
	context, _ := contextOf(env)
	return context
}
