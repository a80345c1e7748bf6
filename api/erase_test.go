package api_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
)

// A request names ids, or all events of a user; all events of a tenant cannot be erased by leaving the user out.
func TestEraseEventsRequestIsValidated(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"tenant":"t","ids":["a"]}`:                          "",
		`{"tenant":"t","user":"maya","ids":["a"]}`:            "",
		`{"tenant":"t","user":"maya","all":true}`:             "",
		`{"tenant":"t","user":"maya","all":true,"ids":null}`:  "",
		`{"tenant":"t","all":true}`:                           "user: is required with all",
		`{"tenant":"t","user":"maya"}`:                        "ids: must hold 1 to 1000 ids of a tenant",
		`{"user":"maya","all":true}`:                          "tenant: is required",
		`{"tenant":"t","user":"maya","all":true,"ids":["a"]}`: "all: must not be given with ids",
		`{"tenant":"t","user":"a b","all":true}`:              "user: ",
		`{"tenant":"t","ids":["a"],"everywhere":true}`:        "reason: is required with everywhere",
		`{"tenant":"t","user":"maya","all":true,"everywhere":true,"reason":"r"}`: "everywhere: must not be given " +
			"with all",
	} {
		var req api.EraseEventsRequest
		require.NoError(t, json.Unmarshal([]byte(text), &req))
		err := req.Validate()
		if want == "" {
			require.NoError(t, err, text)
		} else {
			require.ErrorContains(t, err, "invalid request: "+want, text)
		}
	}
}

// The result of many steps lists each episode once, and a bounded number of them.
func TestEraseEventsResultIsBounded(t *testing.T) {
	t.Parallel()
	var r api.EraseEventsResult
	r.AddEpisodes([]string{"b", "a"})
	r.AddEpisodes([]string{"a"})
	require.Equal(t, []string{"a", "b"}, r.Episodes)
	require.False(t, r.MoreEpisodes)
	for i := range api.MaxErasedEpisodes {
		r.AddEpisodes([]string{"c" + string(rune('0'+i%10)) + string(rune('a'+i/10%26)) + string(rune('a'+i/260))})
	}
	require.Len(t, r.Episodes, api.MaxErasedEpisodes)
	require.True(t, r.MoreEpisodes)
}
