package record

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// JSON may need six bytes for one byte of a payload, as for the signs of HTML. Each page still fits into one request.
func TestSessionPagesFitIntoARequest(t *testing.T) {
	t.Parallel()
	ref := api.SessionRef{Principal: schema.Principal{Tenant: "t", Agent: "a"}, Session: "s"}
	var lines strings.Builder
	for i := range 8 {
		fmt.Fprintf(&lines, `{"id":"e%d","kind":"agent.spoke","payload":{"text":"%s"}}`+"\n", i,
			strings.Repeat("<", 200_000))
	}
	a, read := &app.App{In: strings.NewReader(lines.String())}, 0
	require.NoError(t, eachSessionPage(a, ref, "-", func(page []ledger.Event) error {
		read += len(page)
		encoded, err := json.Marshal(api.AppendRequest{SessionRef: ref, Events: page})
		require.NoError(t, err)
		require.NoError(t, schema.CheckEncodedSize("events", len(encoded)), "%d events", len(page))
		return nil
	}))
	require.Equal(t, 8, read)
}
