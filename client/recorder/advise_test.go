package recorder_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/client/recorder"
	"github.com/mneme/mneme/schema"
)

// A request for advice about an error names the last call that failed, as it was recorded, until that call succeeds.
func TestAdviseNamesTheCallThatFailed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	own := &api.FailedCall{Tool: "other", Args: json.RawMessage(`{"a":1}`)}
	d.work(func(ctx workflow.Context) error {
		rec := recorder.Open(ctx, d.options(nil))
		advise := func(req api.AdviseRequest) {
			_, err := rec.Advise(ctx, req)
			require.NoError(t, err)
		}
		do := func(line string, fail bool) {
			_ = workflow.ExecuteActivity(doing(ctx), "shell", command{Line: line, Fail: fail}).Get(ctx, nil)
		}
		about := api.AdviseRequest{Task: "build", Error: "exit 1"}
		advise(about)
		do("make app "+key, true)
		advise(about)
		do("ls", false)
		advise(about)
		advise(api.AdviseRequest{Task: "build"})
		advise(api.AdviseRequest{Task: "build", Error: "exit 1", Failed: own})
		phone := rec.Call("phone", map[string]string{"to": "Ana"})
		phone.Failed(nil)
		advise(about)
		rec.Call("phone", map[string]string{"to": "Bo"}).Returned("hello")
		advise(about)
		rec.Call("phone", map[string]string{"to": "Ana"}).Returned("hello")
		advise(about)
		do("secret", true)
		rec.Call("phone", nil).Failed(nil)
		advise(about)
		require.True(t, rec.Close(ctx, schema.OutcomeSuccess, ""))
		return nil
	}, recorder.Interceptor(recorder.InterceptorOptions{}))
	_, err := d.run("advise")
	require.NoError(t, err)
	var got []string
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, req := range d.asked {
		if req.Failed == nil {
			got = append(got, "")
			continue
		}
		require.NoError(t, req.Validate())
		got = append(got, req.Failed.Tool+" "+string(req.Failed.Args))
	}
	masked := `shell {"fail":true,"line":"[withheld: api_key]"}`
	require.Equal(t, []string{"", masked, masked, "", `other {"a":1}`, `phone {"to":"Ana"}`, `phone {"to":"Ana"}`, "",
		"phone "}, got)
}

// A call whose arguments are hidden is not named.
func TestAdviseNamesNoHiddenCall(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.work(func(ctx workflow.Context) error {
		rec := recorder.Open(ctx, d.options(nil))
		_ = workflow.ExecuteActivity(doing(ctx), "shell", command{Line: "make", Fail: true}).Get(ctx, nil)
		_, err := rec.Advise(ctx, api.AdviseRequest{Error: "exit 1"})
		require.NoError(t, err)
		return nil
	}, recorder.Interceptor(recorder.InterceptorOptions{Hide: []string{"sh*"}}))
	_, err := d.run("hidden")
	require.NoError(t, err)
	require.Len(t, d.asked, 1)
	require.Nil(t, d.asked[0].Failed)
}
