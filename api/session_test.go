package api_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
)

// A request with a misspelt field is refused with the path of the field, and can be read without it.
func TestAppendRequestNamesUnknownFields(t *testing.T) {
	t.Parallel()
	var req api.AppendRequest
	require.NoError(t, json.Unmarshal([]byte(`{"principal":{"tenant":"t","agent":"a"},"session":"s","events":[
		{"id":"e","kind":"world.observed","visiblity":"private"}]}`), &req))
	require.EqualError(t, req.Validate(), "invalid request: events[0].visiblity: unknown field")
	require.True(t, req.DropUnread())
	require.NoError(t, req.Validate())
	require.NoError(t, json.Unmarshal([]byte(`{"principal":{"tenant":"t","agent":"a"},"session":"s",
		"settings":{"idle_seconds":"x"}}`), &req))
	require.False(t, req.DropUnread())
	require.EqualError(t, req.Validate(), "invalid request: settings.idle_seconds: must be a whole number")
}

// No public input ignores a misspelt field, in itself or in its parts. What continue-as-new passes on is not checked,
// because workers of two versions exchange it.
func TestInputsNameMisreadFields(t *testing.T) {
	t.Parallel()
	for text, in := range map[string]interface {
		DecodeErr() error
		DropUnread() bool
	}{
		`{"tenant":"t","shadw":true}`:                               &api.LearnInput{},
		`{"tenent":"t"}`:                                            &api.ConsolidateAllInput{},
		`{"tenant":"t","projct":"p"}`:                               &api.ConsolidateWhenQuietInput{},
		`{"tenant":"t","verfy":true}`:                               &api.RebuildRequest{},
		`{"tenant":"t","everywher":true}`:                           &api.EraseEventsRequest{},
		`{"session":"s","outcom":"success"}`:                        &api.CloseRequest{},
		`{"session":"s","events":[{"id":"e","visiblity":"group"}]}`: &api.RecordRequest{},
		`{"session":"s","settings":{"idle_secnds":5}}`:              &api.SessionInput{},
		`{"stream":"run/s","max_sensitivty":"low"}`:                 &api.ReflectInput{},
		`{"tenant":"t"}`:                                            &api.SyncIndexInput{},
	} {
		require.NoError(t, json.Unmarshal([]byte(text), in), text)
		require.ErrorContains(t, in.DecodeErr(), ": unknown field", text)
		require.True(t, in.DropUnread(), text)
		require.NoError(t, in.DecodeErr(), text)
	}
	for text, want := range map[string]string{
		`{"tenant":"t","shadow":true,"Shadow":false}`:                     "invalid request: Shadow: is given twice",
		`{"tenant":"t","shadow":"yes"}`:                                   "invalid request: shadow: must be true or false",
		`{"tenant":"t","so_far":{"read":1,"newer":2},"cursor":"{}"}`:      "",
		`{"tenant":"t","agent":"a","project":"","scope":"","full":false}`: "",
	} {
		var in api.LearnInput
		require.NoError(t, json.Unmarshal([]byte(text), &in), text)
		if want == "" {
			require.NoError(t, in.DecodeErr(), text)
			continue
		}
		require.EqualError(t, in.DecodeErr(), want, text)
	}
}
