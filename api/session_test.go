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
