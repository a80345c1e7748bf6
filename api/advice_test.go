package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/schema"
)

// A wrong failed call is refused with the name of the field.
func TestAdviseRequestNamesWhatIsWrongWithTheFailedCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failed *api.FailedCall
		want   string // empty: the request is valid
	}{
		"none":             {nil, ""},
		"a tool":           {&api.FailedCall{Tool: "shell"}, ""},
		"with arguments":   {&api.FailedCall{Tool: "shell", Args: json.RawMessage(` {"cmd":"make"} `)}, ""},
		"no tool":          {&api.FailedCall{Args: json.RawMessage(`{}`)}, "failed.tool"},
		"a long name":      {&api.FailedCall{Tool: strings.Repeat("x", api.MaxAdviceTool+1)}, "failed.tool"},
		"a NUL":            {&api.FailedCall{Tool: "a\x00b"}, "failed.tool"},
		"no object":        {&api.FailedCall{Tool: "shell", Args: json.RawMessage(`["make"]`)}, "failed.args"},
		"null":             {&api.FailedCall{Tool: "shell", Args: json.RawMessage(`null`)}, "failed.args"},
		"no JSON":          {&api.FailedCall{Tool: "shell", Args: json.RawMessage(`{"cmd":`)}, "failed.args"},
		"a NUL in a value": {&api.FailedCall{Tool: "shell", Args: json.RawMessage(`{"cmd":"\u0000"}`)}, "failed.args"},
		"long arguments": {&api.FailedCall{Tool: "shell",
			Args: json.RawMessage(`{"cmd":"` + strings.Repeat("x", api.MaxAdviceArgs) + `"}`)}, "failed.args"},
		"deep arguments": {&api.FailedCall{Tool: "shell",
			Args: json.RawMessage(strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100))}, "failed.args"},
	} {
		req := api.AdviseRequest{Principal: schema.Principal{Tenant: "t", Agent: "a"}, Error: "exit 1",
			Failed: c.failed}
		err := req.Validate()
		if c.want == "" {
			require.NoError(t, err, name)
			continue
		}
		var invalid *schema.ValidationError
		require.ErrorAs(t, err, &invalid, name)
		require.Len(t, invalid.Fields, 1, name)
		require.True(t, strings.HasPrefix(invalid.Fields[0].Field, c.want), "%s: %s", name, invalid.Fields[0].Field)
	}
}

// A request that names no failed call has the id and the JSON that it had before the field existed.
func TestAdviseRequestWithoutAFailedCallIsUnchanged(t *testing.T) {
	t.Parallel()
	req := api.AdviseRequest{Principal: schema.Principal{Tenant: "t", Agent: "a"}, Task: "build", Error: "exit 1"}
	encoded, err := json.Marshal(req)
	require.NoError(t, err)
	require.NotContains(t, string(encoded), "failed")
	with := req
	with.Failed = &api.FailedCall{Tool: "shell", Args: json.RawMessage(`{"cmd":"make"}`)}
	require.NotEqual(t, api.AdviseWorkflowID(req), api.AdviseWorkflowID(with))
	encoded, err = json.Marshal(with)
	require.NoError(t, err)
	require.Contains(t, string(encoded), `"failed":{"tool":"shell","args":{"cmd":"make"}}`)
}

// Nothing in a request is ignored, and text that Postgres cannot store is refused with the name of its field.
func TestAdviceRequestsNameWhatIsWrong(t *testing.T) {
	t.Parallel()
	const id = "0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b"
	for text, want := range map[string]string{
		`{"task":"x"}`:                                                      "",
		`{"task":"x","contxt":{"os":"linux"}}`:                              "contxt: unknown field",
		`{"task":" \n","error":"\t"}`:                                       "task: is required, or error",
		`{"task":"x","context":{"os":5}}`:                                   "context.os: must be a string",
		`{"task":"x","context":{"a b":true}}`:                               "context.(other): must be a string",
		`{"task":"x","context":["os"]}`:                                     "context: must be an object",
		`{"task":"x","context":{"os":"linux","os":"macos"}}`:                "context.os: is given twice",
		`{"task":"x","failed":{"tol":"shell"}}`:                             "failed.tol: unknown field",
		`{"task":"x","context":{"os":"li\u0000nux"}}`:                       "context: contains a NUL character",
		`{"task":"x","preferences":{"\u0000":"x"}}`:                         "preferences: contains a NUL character",
		`{"advice_id":"` + id + `","outcome":"success"}`:                    "",
		`{"advice_id":"` + id + `","outcom":"success"}`:                     "outcom: unknown field",
		`{"advice_id":"` + id + `","outcome":"success","session":"\u0000"}`: "session: contains a NUL character",
		`{"advice_id":"` + id + `","steps":[{"ok":false,"error":"\u0000"}]}`: "steps[0].error: contains a NUL " +
			"character",
	} {
		text = `{"principal":{"tenant":"t","agent":"a"},` + text[1:]
		var err error
		if strings.Contains(text, "advice_id") {
			var req api.ReportRequest
			require.NoError(t, json.Unmarshal([]byte(text), &req), text)
			err = req.Validate()
		} else {
			var req api.AdviseRequest
			require.NoError(t, json.Unmarshal([]byte(text), &req), text)
			err = req.Validate()
		}
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.EqualError(t, err, "invalid request: "+want, text)
	}
}
