package workflows

import (
	"net/url"
	"testing"

	"github.com/nexus-rpc/sdk-go/nexus"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporalnexus"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/schema"
)

// link is the link that a server adds to a request of a workflow in a namespace.
func link(namespace string) nexus.Link {
	return temporalnexus.ConvertLinkWorkflowEventToNexusLink(&commonpb.Link_WorkflowEvent{Namespace: namespace,
		WorkflowId: "w", RunId: "r",
		Reference: &commonpb.Link_WorkflowEvent_EventRef{EventRef: &commonpb.Link_WorkflowEvent_EventReference{
			EventId: 5, EventType: enumspb.EVENT_TYPE_NEXUS_OPERATION_SCHEDULED}}})
}

func TestCallers(t *testing.T) {
	t.Parallel()
	other := nexus.Link{URL: &url.URL{Scheme: "https", Host: "example.org"}, Type: "note"}
	for _, c := range []struct {
		bindings, endpoint, tenant string
		links                      []nexus.Link
		want                       string // tenant of the request; empty when it is refused
	}{
		{"", "", "acme", nil, "acme"},
		{"*=acme", "", "acme", nil, "acme"},
		{"*=acme", "", "", nil, "acme"},
		{"*=acme, *=umbra", "", "umbra", nil, "umbra"},
		{"*=acme, *=umbra", "", "", nil, ""},
		{"*=acme", "", "umbra", nil, ""},
		{"namespace:shop=acme", "", "acme", []nexus.Link{other, link("shop")}, "acme"},
		{"namespace:shop=acme", "", "", []nexus.Link{link("shop")}, "acme"},
		{"namespace:shop=acme,namespace:shop=umbra", "", "umbra", []nexus.Link{link("shop")}, "umbra"},
		{"namespace:shop=acme", "", "acme", []nexus.Link{link("bank")}, ""},
		{"namespace:shop=acme", "", "acme", nil, ""},
		{"namespace:shop=acme", "", "acme", []nexus.Link{link("shop"), link("bank")}, ""},
		{"namespace:shop=acme,namespace:bank=umbra", "", "umbra", []nexus.Link{link("shop")}, ""},
		{"endpoint:front=acme", "front", "acme", nil, "acme"},
		{"endpoint:front=acme", "back", "acme", nil, ""},
		{"endpoint:front=acme", "", "acme", nil, ""}, // a server that adds no link
		{"endpoint:front=acme,namespace:shop=acme", "front", "acme", []nexus.Link{link("shop")}, "acme"},
		{"endpoint:front=acme,namespace:shop=acme", "front", "acme", []nexus.Link{link("bank")}, ""},
		{"endpoint:front=acme,namespace:shop=umbra", "front", "", []nexus.Link{link("shop")}, ""},
	} {
		callers, err := ParseCallers(c.bindings)
		require.NoError(t, err)
		p := schema.Principal{Tenant: c.tenant}
		err = callers.admit(&p, callerOf(c.endpoint, c.links))
		if c.want != "" {
			require.NoError(t, err, "%+v", c)
			require.Equal(t, c.want, p.Tenant)
			continue
		}
		var refused *nexus.HandlerError
		require.ErrorAs(t, err, &refused, "%+v", c)
		require.False(t, refused.Retryable())
	}
	for _, bad := range []string{"acme", "namespace:=acme", "namespace:shop=", "shop=acme", "queue:x=acme", "=acme"} {
		_, err := ParseCallers(bad)
		require.Error(t, err, bad)
	}
}

// A token is not signed: a caller that can send a cancellation must not reach every run of the namespace.
func TestCancelReachesOnlyOwnRuns(t *testing.T) {
	t.Parallel()
	bound, err := ParseCallers("*=acme/eu")
	require.NoError(t, err)
	own := api.WorkflowID(api.KindForget, "acme/eu", "bot", "key/1")
	for _, c := range []struct{ kind, id string }{
		{api.KindRecall, own}, {api.KindForget, "somebody-elses"}, {api.KindForget, "forget/acme"},
		{api.KindForget, api.WorkflowID(api.KindForget, "acme", "bot", "k")},
		{api.KindForget, api.WorkflowID(api.KindForget, "umbra", "bot", "k")},
		{api.KindForget, api.SyncIndexWorkflowID("pgvector")},
	} {
		var refused *nexus.HandlerError
		require.ErrorAs(t, nexusHandlers{callers: bound}.cancellable(t.Context(), nil, c.kind, c.id, ""), &refused,
			c.id)
	}
	require.NoError(t, nexusHandlers{callers: bound}.cancellable(t.Context(), nil, api.KindForget, own, ""))
}
