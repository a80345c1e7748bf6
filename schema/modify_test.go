package schema_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
)

func modifyRequest(change func(*schema.ModifyRequest)) schema.ModifyRequest {
	r := schema.ModifyRequest{Operation: schema.Operation{Principal: schema.Principal{Tenant: "t", Agent: "a"},
		Reason: "it was wrong"}}
	for range 3 {
		content := "Tea is served hot."
		r.Patches = append(r.Patches, schema.Patch{ID: uuid.NewString(), Content: &content})
	}
	if change != nil {
		change(&r)
	}
	return r
}

func fieldsOf(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var bad *schema.ValidationError
	require.True(t, errors.As(err, &bad))
	var out []string
	for _, f := range bad.Fields {
		out = append(out, f.Field)
	}
	return out
}

func TestModifyRequestValidate(t *testing.T) {
	t.Parallel()
	set := func(text string) func(*schema.ModifyRequest) {
		return func(r *schema.ModifyRequest) { r.Patches[1].Content = &text }
	}
	for name, test := range map[string]struct {
		change func(*schema.ModifyRequest)
		fields []string
	}{
		"good":      {nil, nil},
		"no tenant": {func(r *schema.ModifyRequest) { r.Principal.Tenant = "" }, []string{"principal.tenant"}},
		"none":      {func(r *schema.ModifyRequest) { r.Patches = nil }, []string{"patches"}},
		"too many": {func(r *schema.ModifyRequest) { r.Patches = manyPatches(schema.MaxPatches + 1) },
			[]string{"patches"}},
		"maximum": {func(r *schema.ModifyRequest) { r.Patches = manyPatches(schema.MaxPatches) }, nil},
		"no id":   {func(r *schema.ModifyRequest) { r.Patches[1].ID = "" }, []string{"patches[1].id"}},
		"an odd id": {func(r *schema.ModifyRequest) { r.Patches[1].ID = "{" + r.Patches[1].ID + "}" },
			[]string{"patches[1].id"}},
		"an id twice": {func(r *schema.ModifyRequest) { r.Patches[2].ID = strings.ToUpper(r.Patches[1].ID) },
			[]string{"patches[2].id"}},
		"a negative version": {func(r *schema.ModifyRequest) { r.Patches[1].IfVersion = -1 },
			[]string{"patches[1].if_version"}},
		"nothing to change": {func(r *schema.ModifyRequest) {
			r.Patches[1] = schema.Patch{ID: r.Patches[1].ID, Force: true}
		}, []string{"patches[1]"}},
		"no reason": {func(r *schema.ModifyRequest) { r.Reason = " "; r.Patches[0].Reason = "mine" },
			[]string{"patches[1].reason", "patches[2].reason"}},
		"a reason each": {func(r *schema.ModifyRequest) { r.Reason = ""; eachReason(r, "mine") }, nil},
		"a long reason": {func(r *schema.ModifyRequest) {
			r.Patches[1].Reason = strings.Repeat("x", schema.MaxReasonLength+1)
		}, []string{"patches[1].reason"}},
		"blank":     {set(" \n\ufeff"), []string{"patches[1].content"}},
		"too long":  {set(strings.Repeat("x", schema.MaxContentBytes+1)), []string{"patches[1].content"}},
		"bad UTF-8": {set("\xff"), []string{"patches[1].content"}},
		"NUL":       {set("a\x00b"), []string{"patches[1].content"}},
		"all too long": {func(r *schema.ModifyRequest) {
			r.Patches = manyPatches(5)
			long := strings.Repeat("x", schema.MaxContentBytes)
			for i := range r.Patches {
				r.Patches[i].Content = &long
			}
		}, []string{"patches"}},
		"an unknown category": {func(r *schema.ModifyRequest) {
			r.Patches[1].Category = ptr(schema.Category("dream"))
		}, []string{"patches[1].category"}},
		"importance": {func(r *schema.ModifyRequest) { r.Patches[1].Importance = ptr(1.1) },
			[]string{"patches[1].importance"}},
		"importance NaN": {func(r *schema.ModifyRequest) { r.Patches[1].Importance = ptr(math.NaN()) },
			[]string{"patches[1].importance"}},
		"pinned with less importance": {func(r *schema.ModifyRequest) {
			r.Patches[1].Importance, r.Patches[1].Pinned = ptr(0.5), ptr(true)
		}, []string{"patches[1].importance"}},
		"pinned with importance 1": {func(r *schema.ModifyRequest) {
			r.Patches[1].Importance, r.Patches[1].Pinned = ptr(1.0), ptr(true)
		}, nil},
		"tags": {func(r *schema.ModifyRequest) {
			r.Patches[1].Tags = &[]string{"ok", " ", strings.Repeat("x", schema.MaxTagLength+1)}
		}, []string{"patches[1].tags[1]", "patches[1].tags[2]"}},
		"too many tags": {func(r *schema.ModifyRequest) {
			r.Patches[1].Tags = ptr(strings.Split(strings.Repeat("x ", schema.MaxTags)+"x", " "))
		}, []string{"patches[1].tags"}},
		"who": {func(r *schema.ModifyRequest) { r.Patches[1].Who = ptr(strings.Repeat("x", schema.MaxNameLength+1)) },
			[]string{"patches[1].who"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := modifyRequest(test.change)
			err := r.Validate()
			require.Equal(t, test.fields, fieldsOf(t, err))
		})
	}
}

func manyPatches(n int) []schema.Patch {
	out := make([]schema.Patch, n)
	for i := range out {
		out[i] = schema.Patch{ID: uuid.NewString(), Who: ptr("x")}
	}
	return out
}

func eachReason(r *schema.ModifyRequest, reason string) {
	for i := range r.Patches {
		r.Patches[i].Reason = reason
	}
}

func TestRecoverRequestValidate(t *testing.T) {
	t.Parallel()
	id := uuid.NewString()
	for name, test := range map[string]struct {
		change func(*schema.RecoverRequest)
		fields []string
	}{
		"good":      {nil, nil},
		"no reason": {func(r *schema.RecoverRequest) { r.Reason = "" }, []string{"reason"}},
		"none":      {func(r *schema.RecoverRequest) { r.Targets = nil }, []string{"targets"}},
		"too many": {func(r *schema.RecoverRequest) {
			for i := range schema.MaxRecoverIDs {
				r.Targets = append(r.Targets, schema.Target{ID: fmt.Sprintf("00000000-0000-0000-0000-%012d", i)})
			}
		}, []string{"targets"}},
		"an odd id": {func(r *schema.RecoverRequest) { r.Targets[0].ID = "x" }, []string{"targets[0].id"}},
		"an id twice": {func(r *schema.RecoverRequest) { r.Targets = append(r.Targets, r.Targets[0]) },
			[]string{"targets[1].id"}},
		"a negative version": {func(r *schema.RecoverRequest) { r.Targets[0].IfVersion = -1 },
			[]string{"targets[0].if_version"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := schema.RecoverRequest{Operation: schema.Operation{Principal: schema.Principal{Tenant: "t", Agent: "a"},
				Reason: "by mistake"}, Targets: []schema.Target{{ID: id}}}
			if test.change != nil {
				test.change(&r)
			}
			require.Equal(t, test.fields, fieldsOf(t, r.Validate()))
		})
	}
}

func TestSummaries(t *testing.T) {
	t.Parallel()
	patched := func(statuses ...schema.PatchStatus) (r schema.ModifyResult) {
		for i, s := range statuses {
			r.Results = append(r.Results, schema.PatchResult{ID: fmt.Sprint(i), Status: s})
		}
		return r
	}
	require.Equal(t, "ok", patched(schema.PatchUpdated, schema.PatchNoChanges).Summary())
	require.Equal(t, "partial", patched(schema.PatchNoChanges, schema.PatchNotFound).Summary())
	require.Equal(t, "refused", patched(schema.PatchDuplicate, schema.PatchNotFound).Summary())
	require.Equal(t, []string{"1"}, patched(schema.PatchNoChanges, schema.PatchUpdated).Changed())
	r := schema.RecoverResult{Items: []schema.RecoverItem{{ID: "a", Status: schema.RecoverRecovered},
		{ID: "b", Status: schema.RecoverNotFound}}}
	require.Equal(t, "partial", r.Summary())
	require.Equal(t, []string{"a"}, r.Changed())
	require.Equal(t, 1, r.Refused())
}
