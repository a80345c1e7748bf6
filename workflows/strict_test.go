package workflows_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/workflows"
)

// ignoring are the workflows that do not refuse an unknown field themselves.
var ignoring = map[string]string{
	"Advise":   "ignores and logs it: the rest of the request means the same",
	"Report":   "ignores and logs it",
	"Ingest":   "returns the names of ignored fields",
	"Recall":   "returns the names of ignored fields",
	"Get":      "ignores and logs it",
	"Feedback": "the first activity ignores and logs it",

	"ContinueForget": "only Forget and client.ResumeForget start it",
}

// registering registers workflows in the SDK's test environment.
type registering struct {
	registry
	env *testsuite.TestWorkflowEnvironment
}

func (r *registering) RegisterWorkflow(fn any) { r.env.RegisterWorkflow(fn) }
func (r *registering) RegisterActivity(of any) { r.env.RegisterActivity(of) }

// Every other workflow refuses a misspelt field before it does anything: a misspelt shadow must not make a real write,
// and a misspelt everywhere must not leave text.
func TestWorkflowsRefuseUnknownFields(t *testing.T) {
	for _, name := range registeredWorkflows {
		if ignoring[name] != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			env := harness.Environment()
			workflows.Register(&registering{env: env}, workflows.Dependencies{})
			env.ExecuteWorkflow(name, map[string]any{"shadw": true})
			var failed *temporal.ApplicationError
			require.ErrorAs(t, env.GetWorkflowError(), &failed)
			require.Equal(t, api.ErrTypeInvalidRequest, failed.Type())
			require.Equal(t, "invalid request: shadw: unknown field", failed.Message())
		})
	}
}
