package learn_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/activities/advising"
	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/workflows/learn"
)

var steps *advising.Advising

// A request with a field of a wrong type or given twice names the field. An unknown field is left out.
func TestAdviceNamesMisreadFields(t *testing.T) {
	who := map[string]any{"tenant": "t", "agent": "a"}
	for name, c := range map[string]struct {
		workflow string
		request  map[string]any
		want     string // empty: the request is carried out
	}{
		"advise, a wrong type": {api.WorkflowAdvise, map[string]any{"principal": who, "task": 5}, "task: must be a string"},
		"advise, twice": {api.WorkflowAdvise, map[string]any{"principal": who, "task": "x", "Task": "y"},
			"task: is given twice"},
		"advise, unknown": {api.WorkflowAdvise, map[string]any{"principal": who, "task": "x", "contxt": who}, ""},
		"report, a wrong type": {api.WorkflowReport, map[string]any{"principal": who, "steps": map[string]any{}},
			"steps: must be a list"},
		"report, unknown": {api.WorkflowReport, map[string]any{"principal": who, "out": "come"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			env := harness.Environment()
			env.RegisterWorkflow(learn.Advise)
			env.RegisterWorkflow(learn.Report)
			env.RegisterActivity(steps)
			env.OnActivity(steps.Advise, mock.Anything, mock.Anything).Return(func(_ context.Context,
				in advising.AdviseRequest) (out advising.AdviseResult, err error) {
				return out, in.Request.Validate()
			}).Maybe()
			env.OnActivity(steps.Report, mock.Anything, mock.Anything).Return(func(_ context.Context,
				in api.ReportRequest) (out advising.ReportResult, err error) {
				require.Empty(t, in.Unknown())
				return out, nil
			}).Maybe()
			env.ExecuteWorkflow(c.workflow, c.request)
			err := env.GetWorkflowError()
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			var failed *temporal.ApplicationError
			require.ErrorAs(t, err, &failed)
			require.Equal(t, api.ErrTypeInvalidRequest, failed.Type())
			require.Equal(t, "invalid request: "+c.want, failed.Message())
		})
	}
}
