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

// Callers maps callers of the Nexus service to the tenants for which they may act: by the namespace of the calling
// workflow, by the endpoint of the call, and for every caller. All kinds that are set must allow the tenant. The zero
// value accepts any tenant, as starting a workflow does.
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

// callerOf reads the caller from the links of a request. If links disagree, the caller is unknown.
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

// admit checks that a caller may act for the tenant that the principal names. A caller that is bound to one tenant need
// not name it.
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

// admitCancel checks a request to cancel a run of a tenant. Such a request has no link. The operation's token, which
// only its caller has, proves that it is allowed.
func (c Callers) admitCancel(tenant, endpoint string) error {
	c.byNamespace = nil
	return c.admit(&schema.Principal{Tenant: tenant}, nexusCaller{endpoint: endpoint})
}

// forbidden is a refusal that does not reveal which tenants exist.
func forbidden() error {
	const message = "principal.tenant: this caller may not act for it"
	return &nexus.HandlerError{Type: nexus.HandlerErrorTypeUnauthorized, Message: message,
		RetryBehavior: nexus.HandlerErrorRetryBehaviorNonRetryable,
		Cause:         temporal.NewNonRetryableApplicationError(message, api.ErrTypeForbidden, nil)}
}
