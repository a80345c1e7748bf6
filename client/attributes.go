package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/schema"
)

// Search attributes as typed keys (RegisterSearchAttributes).
var (
	AttrTenant  = temporal.NewSearchAttributeKeyKeyword(api.AttributeTenant)
	AttrAgent   = temporal.NewSearchAttributeKeyKeyword(api.AttributeAgent)
	AttrProject = temporal.NewSearchAttributeKeyKeyword(api.AttributeProject)
	AttrPhase   = temporal.NewSearchAttributeKeyKeyword(api.AttributePhase)
	AttrOutcome = temporal.NewSearchAttributeKeyKeyword(api.AttributeOutcome)
)

// OfPrincipal returns the search attributes with which a run is started.
func OfPrincipal(p schema.Principal) temporal.SearchAttributes {
	return temporal.NewSearchAttributes(Whose(p)...)
}

// OfTenant returns the search attributes of a run for which only the tenant is known.
func OfTenant(tenant string) temporal.SearchAttributes {
	return temporal.NewSearchAttributes(AttrTenant.ValueSet(tenant))
}

// Whose returns the search attributes of a principal, to set on a run.
func Whose(p schema.Principal) []temporal.SearchAttributeUpdate {
	return []temporal.SearchAttributeUpdate{AttrTenant.ValueSet(p.Tenant), AttrAgent.ValueSet(p.Agent),
		AttrProject.ValueSet(p.Project)}
}

// RegisterSearchAttributes registers Mneme's search attributes in the namespace. It may be called repeatedly. A run
// that sets an unregistered attribute would not make progress.
func RegisterSearchAttributes(ctx context.Context, c client.Client, namespace string) error {
	wanted, err := missingSearchAttributes(ctx, c, namespace)
	if err != nil {
		return err
	}
	if len(wanted) == 0 {
		return nil
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx,
		&operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: wanted})
	var exists *serviceerror.AlreadyExists
	if err != nil && !errors.As(err, &exists) {
		return fmt.Errorf("register search attributes: %w", err)
	}
	return nil
}

// missingSearchAttributes returns Mneme's search attributes that the namespace does not know.
func missingSearchAttributes(
	ctx context.Context,
	c client.Client,
	namespace string,
) (map[string]enumspb.IndexedValueType, error) {
	wanted := map[string]enumspb.IndexedValueType{}
	for _, key := range []temporal.SearchAttributeKeyKeyword{AttrTenant, AttrAgent, AttrProject, AttrPhase,
		AttrOutcome} {
		wanted[key.GetName()] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	}
	listed, err := c.OperatorService().ListSearchAttributes(ctx,
		&operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return nil, fmt.Errorf("list search attributes: %w", err)
	}
	for name := range listed.GetCustomAttributes() {
		delete(wanted, name)
	}
	return wanted, nil
}

// MissingSearchAttributes returns the sorted names of Mneme's search attributes that the namespace does not know.
func MissingSearchAttributes(ctx context.Context, c client.Client, namespace string) ([]string, error) {
	wanted, err := missingSearchAttributes(ctx, c, namespace)
	return slices.Sorted(maps.Keys(wanted)), err
}
