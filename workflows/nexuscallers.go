package workflows

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nexus-rpc/sdk-go/nexus"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/temporalnexus"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/schema"
)

// Callers says which tenants a caller of the Nexus service may act for: by the namespace of the calling workflow, by
// the endpoint that it calls through, and for every caller. Each kind that is set has to agree. The zero value
// accepts the tenant in the request, as starting a workflow does.
//
// The check relies on this: Temporal writes the caller's namespace into the request's link, and a workflow cannot
// change it; servers from 1.30 on report the endpoint of a request. A client that may post to the server's Nexus HTTP
// routes writes the link itself, so that route needs the server's own authorisation.
type Callers struct {
	byNamespace, byEndpoint map[string][]string
	anyone                  []string
}

// ParseCallers reads a list of bindings separated by commas: namespace:NAME=TENANT, endpoint:NAME=TENANT,
// *=TENANT. A name may have several.
func ParseCallers(text string) (Callers, error) {
	var out Callers
	for binding := range strings.SplitSeq(text, ",") {
		binding = strings.TrimSpace(binding)
		if binding == "" {
			continue
		}
		who, tenant, ok := strings.Cut(binding, "=")
		kind, name, named := strings.Cut(who, ":")
		switch {
		case !ok || tenant == "" || named && name == "":
			return Callers{}, fmt.Errorf("%q is not KIND:NAME=TENANT", binding)
		case who == "*":
			out.anyone = append(out.anyone, tenant)
		case named && kind == "namespace":
			bind(&out.byNamespace, name, tenant)
		case named && kind == "endpoint":
			bind(&out.byEndpoint, name, tenant)
		default:
			return Callers{}, fmt.Errorf("%q: must start with namespace:, endpoint: or *=", binding)
		}
	}
	return out, nil
}

// Bound reports whether any caller is bound to a tenant.
func (c Callers) Bound() bool {
	return c.anyone != nil || c.byEndpoint != nil || c.byNamespace != nil
}

func bind(m *map[string][]string, name, tenant string) {
	if *m == nil {
		*m = map[string][]string{}
	}
	(*m)[name] = append((*m)[name], tenant)
}

// nexusCaller is what the server reports about a caller. Either field may be empty, if not reported.
type nexusCaller struct{ namespace, endpoint string }

// callerOf reads who calls out of the links of a request. Links that disagree tell nothing.
func callerOf(endpoint string, links []nexus.Link) nexusCaller {
	out := nexusCaller{endpoint: endpoint}
	for _, link := range links {
		event, err := temporalnexus.ConvertNexusLinkToLinkWorkflowEvent(link)
		if err != nil {
			continue // another kind of link
		}
		if out.namespace != "" && out.namespace != event.GetNamespace() {
			return nexusCaller{endpoint: endpoint}
		}
		out.namespace = event.GetNamespace()
	}
	return out
}

// admit checks that a caller may act for the tenant that the principal names. One that is bound to a single
// tenant need not name it.
func (c Callers) admit(p *schema.Principal, from nexusCaller) error {
	var kinds [][]string
	if c.anyone != nil {
		kinds = append(kinds, c.anyone)
	}
	if c.byEndpoint != nil {
		kinds = append(kinds, c.byEndpoint[from.endpoint])
	}
	if c.byNamespace != nil {
		kinds = append(kinds, c.byNamespace[from.namespace])
	}
	for _, tenants := range kinds {
		if p.Tenant == "" && len(tenants) == 1 {
			p.Tenant = tenants[0]
		}
		if !slices.Contains(tenants, p.Tenant) {
			return forbidden()
		}
	}
	return nil
}

// admitCancel checks who cancels a run of a tenant. A request to cancel has no link: what proves its
// right is the operation's token, which only its caller has.
func (c Callers) admitCancel(tenant, endpoint string) error {
	c.byNamespace = nil
	return c.admit(&schema.Principal{Tenant: tenant}, nexusCaller{endpoint: endpoint})
}

// forbidden does not say which tenants there are.
func forbidden() error {
	const message = "principal.tenant: this caller may not act for it"
	return &nexus.HandlerError{Type: nexus.HandlerErrorTypeUnauthorized, Message: message,
		RetryBehavior: nexus.HandlerErrorRetryBehaviorNonRetryable,
		Cause:         temporal.NewNonRetryableApplicationError(message, api.ErrTypeForbidden, nil)}
}
