//go:build !cel

package memory

// compileCondition refuses every expression: this build is without the expression language.
func compileCondition(string) (policyCondition, []string) {
	return nil, []string{"this build cannot evaluate conditions"}
}
