package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/schema"
)

// canary is part of every invalid value. No error may quote it.
const canary = "XyzzyCanary"

func ptr[T any](v T) *T { return &v }

func goodRequest() schema.IngestRequest {
	return schema.IngestRequest{
		Principal:      schema.Principal{Tenant: "t", Agent: "a", Project: "p", Scope: "s", PolicyGroup: "g"},
		Visibility:     schema.VisibilityGroup,
		IdempotencyKey: "key", Mode: schema.ModeFrozen, MinFactConfidence: ptr(1.0),
		Candidates: []schema.Candidate{{Content: "first"}, {
			Content: "second", SourceKind: schema.SourceOutcome, Speaker: "bob", Session: "1",
			OccurredAt: ptr(time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)),
			Refs:       []schema.Ref{{Kind: "event", Ref: "r"}, {Kind: "human", Ref: "r2", Hash: "h"}},
			Category:   schema.CategoryRule,
			Tags:       []string{"one", "two"}, Sensitivity: schema.SensitivityHyper, Importance: ptr(0.0),
			IdempotencyKey: "k2",
		}},
	}
}

func requireFields(t *testing.T, err error, want ...string) {
	t.Helper()
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid)
	var got []string
	for _, f := range invalid.Fields {
		got = append(got, f.Field)
		require.NotEmpty(t, f.Problem)
		require.NotContains(t, f.Problem, canary, "a problem must not quote the value")
	}
	require.Equal(t, want, got)
	require.NotContains(t, err.Error(), canary)
}

func long(n int) string { return canary + strings.Repeat("é", n+1-len(canary)) }

// texts returns invalid short texts by reason.
func texts(limit int) map[string]string {
	return map[string]string{"NUL": canary + "\x00", "not UTF-8": canary + "\xff", "too long": long(limit)}
}

func TestIngestRequestReportsEveryInvalidField(t *testing.T) {
	t.Parallel()
	type bad struct {
		field string
		put   func(*schema.IngestRequest)
	}
	cases := map[string]bad{
		"visibility unknown": {"visibility", func(r *schema.IngestRequest) { r.Visibility = canary }},
		"group without group": {"principal.policy_group", func(r *schema.IngestRequest) {
			r.Principal.PolicyGroup = ""
		}},
		"mode unknown": {"mode", func(r *schema.IngestRequest) { r.Mode = canary }},
		"confidence below": {"min_fact_confidence", func(r *schema.IngestRequest) {
			r.MinFactConfidence = ptr(-0.1)
		}},
		"confidence above": {"min_fact_confidence", func(r *schema.IngestRequest) {
			r.MinFactConfidence = ptr(1.1)
		}},
		"confidence NaN": {"min_fact_confidence", func(r *schema.IngestRequest) {
			r.MinFactConfidence = ptr(math.NaN())
		}},
		"no candidates": {"candidates", func(r *schema.IngestRequest) { r.Candidates = nil }},
		"too many candidates": {"candidates", func(r *schema.IngestRequest) {
			r.Candidates = many(schema.MaxBatch+1, "x")
		}},
		"too much content": {"candidates", func(r *schema.IngestRequest) {
			r.Candidates = many(5, strings.Repeat("x", schema.MaxContentBytes))
		}},
		"content empty": {"candidates[1].content", func(r *schema.IngestRequest) {
			r.Candidates[1].Content = ""
		}},
		"content blank": {"candidates[1].content", func(r *schema.IngestRequest) {
			r.Candidates[1].Content = " \n\t\u00a0\u2003"
		}},
		"content BOM only": {"candidates[1].content", func(r *schema.IngestRequest) {
			r.Candidates[1].Content = "\ufeff \ufeff"
		}},
		"content too large": {"candidates[1].content", func(r *schema.IngestRequest) {
			r.Candidates[1].Content = canary + strings.Repeat("x", schema.MaxContentBytes)
		}},
		"content not UTF-8": {"candidates[1].content", func(r *schema.IngestRequest) {
			r.Candidates[1].Content = canary + "\xc3"
		}},
		"content NUL": {"candidates[1].content", func(r *schema.IngestRequest) {
			r.Candidates[1].Content = canary + "\x00"
		}},
		"source kind": {"candidates[1].source_kind", func(r *schema.IngestRequest) {
			r.Candidates[1].SourceKind = canary
		}},
		"category": {"candidates[1].category", func(r *schema.IngestRequest) {
			r.Candidates[1].Category = canary
		}},
		"sensitivity": {"candidates[1].sensitivity", func(r *schema.IngestRequest) {
			r.Candidates[1].Sensitivity = canary
		}},
		"importance below": {"candidates[1].importance", func(r *schema.IngestRequest) {
			r.Candidates[1].Importance = ptr(-0.01)
		}},
		"importance above": {"candidates[1].importance", func(r *schema.IngestRequest) {
			r.Candidates[1].Importance = ptr(1.01)
		}},
		"importance NaN": {"candidates[1].importance", func(r *schema.IngestRequest) {
			r.Candidates[1].Importance = ptr(math.NaN())
		}},
		"importance infinite": {"candidates[1].importance", func(r *schema.IngestRequest) {
			r.Candidates[1].Importance = ptr(math.Inf(1))
		}},
		"time of a ref, in UTC": {"candidates[1].refs[0].timestamp", func(r *schema.IngestRequest) {
			r.Candidates[1].Refs = []schema.Ref{{Kind: "event", Ref: "r",
				Timestamp: ptr(time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7200)))}}
		}},
		"occurred at year 0": {"candidates[1].occurred_at", func(r *schema.IngestRequest) {
			r.Candidates[1].OccurredAt = ptr(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC))
		}},
		"occurred at 10000": {"candidates[1].occurred_at", func(r *schema.IngestRequest) {
			r.Candidates[1].OccurredAt = ptr(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))
		}},
		"occurred at, in UTC": {"candidates[1].occurred_at", func(r *schema.IngestRequest) {
			r.Candidates[1].OccurredAt = ptr(time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7200)))
		}},
		"too many tags": {"candidates[1].tags", func(r *schema.IngestRequest) {
			r.Candidates[1].Tags = strings.Split(strings.Repeat("t,", schema.MaxTags)+"t", ",")
		}},
		"tag blank": {"candidates[1].tags[1]", func(r *schema.IngestRequest) { r.Candidates[1].Tags[1] = " " }},
		"too many refs": {"candidates[1].refs", func(r *schema.IngestRequest) {
			r.Candidates[1].Refs = make([]schema.Ref, schema.MaxRefs+1)
			fillRefs(r.Candidates[1].Refs)
		}},
		"ref kind": {"candidates[1].refs[1].kind", func(r *schema.IngestRequest) {
			r.Candidates[1].Refs[1].Kind = canary
		}},
		"ref kind missing": {"candidates[1].refs[1].kind", func(r *schema.IngestRequest) {
			r.Candidates[1].Refs[1].Kind = ""
		}},
		"ref empty": {"candidates[1].refs[1].ref", func(r *schema.IngestRequest) {
			r.Candidates[1].Refs[1].Ref = ""
		}},
		"tenant missing": {"principal.tenant", func(r *schema.IngestRequest) { r.Principal.Tenant = "" }},
		"tenant blank":   {"principal.tenant", func(r *schema.IngestRequest) { r.Principal.Tenant = " \t" }},
		"agent missing":  {"principal.agent", func(r *schema.IngestRequest) { r.Principal.Agent = "" }},
	}
	short := map[string]struct {
		limit int
		put   func(*schema.IngestRequest, string)
	}{
		"principal.tenant": {schema.MaxNameLength, func(r *schema.IngestRequest, v string) {
			r.Principal.Tenant = v
		}},
		"principal.agent": {schema.MaxNameLength, func(r *schema.IngestRequest, v string) {
			r.Principal.Agent = v
		}},
		"principal.project": {schema.MaxNameLength, func(r *schema.IngestRequest, v string) {
			r.Principal.Project = v
		}},
		"principal.scope": {schema.MaxNameLength, func(r *schema.IngestRequest, v string) {
			r.Principal.Scope = v
		}},
		"principal.policy_group": {schema.MaxNameLength, func(r *schema.IngestRequest, v string) {
			r.Principal.PolicyGroup = v
		}},
		"idempotency_key": {schema.MaxIdempotencySize, func(r *schema.IngestRequest, v string) {
			r.IdempotencyKey = v
		}},
		"candidates[1].speaker": {schema.MaxNameLength, func(r *schema.IngestRequest, v string) {
			r.Candidates[1].Speaker = v
		}},
		"candidates[1].session": {schema.MaxNameLength, func(r *schema.IngestRequest, v string) {
			r.Candidates[1].Session = v
		}},
		"candidates[1].idempotency_key": {schema.MaxIdempotencySize, func(r *schema.IngestRequest, v string) {
			r.Candidates[1].IdempotencyKey = v
		}},
		"candidates[1].tags[0]": {schema.MaxTagLength, func(r *schema.IngestRequest, v string) {
			r.Candidates[1].Tags[0] = v
		}},
		"candidates[1].refs[0].ref": {schema.MaxRefLength, func(r *schema.IngestRequest, v string) {
			r.Candidates[1].Refs[0].Ref = v
		}},
		"candidates[1].refs[0].hash": {schema.MaxNameLength, func(r *schema.IngestRequest, v string) {
			r.Candidates[1].Refs[0].Hash = v
		}},
	}
	for field, s := range short {
		for how, value := range texts(s.limit) {
			cases[field+" "+how] = bad{field, func(r *schema.IngestRequest) { s.put(r, value) }}
		}
		r := goodRequest()
		s.put(&r, strings.Repeat("é", s.limit))
		require.NoError(t, r.Validate(), "%s holds %d characters", field, s.limit)
	}
	good := goodRequest()
	require.NoError(t, good.Validate())
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := goodRequest()
			c.put(&r)
			requireFields(t, r.Validate(), c.field)
		})
	}
}

func many(n int, content string) []schema.Candidate {
	out := make([]schema.Candidate, n)
	for i := range out {
		out[i].Content = content
	}
	return out
}

func fillRefs(refs []schema.Ref) {
	for i := range refs {
		refs[i] = schema.Ref{Kind: "event", Ref: "r"}
	}
}

func TestValidateMessageIsShort(t *testing.T) {
	t.Parallel()
	r := goodRequest()
	r.Principal.Tenant, r.Candidates[0].Content, r.Candidates[1].Category = "", "", canary
	requireFields(t, r.Validate(), "principal.tenant", "candidates[0].content", "candidates[1].category")

	r = goodRequest()
	r.Candidates = many(schema.MaxBatch, "")
	err := r.Validate()
	var invalid *schema.ValidationError
	require.ErrorAs(t, err, &invalid)
	require.Len(t, invalid.Fields, schema.MaxBatch)
	require.Less(t, len(err.Error()), 1000)
	require.Contains(t, err.Error(), "490 more")
}

func TestRecallRequestReportsEveryInvalidField(t *testing.T) {
	t.Parallel()
	since := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	good := func() schema.RecallRequest {
		return schema.RecallRequest{Principal: schema.Principal{Tenant: "t", Agent: "a", PolicyGroup: "g"},
			ReadPolicy: schema.ReadGroup, Query: "q", Limit: 1_000_000,
			Types: []schema.MemoryType{schema.TypeSemantic}, Categories: []schema.Category{schema.CategoryFact},
			Tags: []string{"x"}, ImportanceMin: 1,
			Since: &since, Until: ptr(since.Add(time.Second)), MaxSensitivity: schema.SensitivityHigh}
	}
	g := good()
	require.NoError(t, g.Validate(), "a limit that is too high is clamped, not refused")
	cases := map[string]struct {
		field string
		put   func(*schema.RecallRequest)
	}{
		"tenant":          {"principal.tenant", func(r *schema.RecallRequest) { r.Principal.Tenant = "" }},
		"agent":           {"principal.agent", func(r *schema.RecallRequest) { r.Principal.Agent = "" }},
		"policy":          {"read_policy", func(r *schema.RecallRequest) { r.ReadPolicy = canary }},
		"group needed":    {"principal.policy_group", func(r *schema.RecallRequest) { r.Principal.PolicyGroup = "" }},
		"query empty":     {"query", func(r *schema.RecallRequest) { r.Query = "" }},
		"query blank":     {"query", func(r *schema.RecallRequest) { r.Query = " \n\t\u00a0" }},
		"query NUL":       {"query", func(r *schema.RecallRequest) { r.Query = canary + "\x00" }},
		"query not UTF-8": {"query", func(r *schema.RecallRequest) { r.Query = canary + "\xff" }},
		"query too long":  {"query", func(r *schema.RecallRequest) { r.Query = long(schema.MaxQueryBytes) }},
		"types": {"types", func(r *schema.RecallRequest) {
			r.Types = []schema.MemoryType{schema.TypeWorking, canary}
		}},
		"categories":      {"categories", func(r *schema.RecallRequest) { r.Categories = []schema.Category{canary} }},
		"tags":            {"tags", func(r *schema.RecallRequest) { r.Tags = []string{canary + "\x00"} }},
		"a blank tag":     {"tags", func(r *schema.RecallRequest) { r.Tags = []string{canary, " \t"} }},
		"who":             {"who", func(r *schema.RecallRequest) { r.Who = long(schema.MaxNameLength) }},
		"importance":      {"importance_min", func(r *schema.RecallRequest) { r.ImportanceMin = math.NaN() }},
		"importance over": {"importance_min", func(r *schema.RecallRequest) { r.ImportanceMin = 1.5 }},
		"sensitivity":     {"max_sensitivity", func(r *schema.RecallRequest) { r.MaxSensitivity = canary }},
		"until":           {"until", func(r *schema.RecallRequest) { r.Until = &since }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := good()
			c.put(&r)
			requireFields(t, r.Validate(), c.field)
		})
	}
}

func TestDecodeCandidateRefusesWithoutQuoting(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ in, field string }{
		"unknown field": {`{"content":"` + canary + `","colour":"` + canary + `"}`, "colour"},
		"unknown in ref": {`{"content":"x","refs":[{"kind":"event","ref":"r","` + "size" + `":"` + canary + `"}]}`,
			"size"},
		"content a number":    {`{"content":12345678901234567890}`, "content"},
		"content an object":   {`{"content":{"text":"` + canary + `"}}`, "content"},
		"importance a string": {`{"content":"x","importance":"` + canary + `"}`, "importance"},
		"importance too big":  {`{"content":"x","importance":1e999}`, "importance"},
		"tags a string":       {`{"content":"x","tags":"` + canary + `"}`, "tags"},
		"tag a number":        {`{"content":"x","tags":[1]}`, "tags"},
		"ref kind a number":   {`{"content":"x","refs":[{"kind":1,"ref":"r"}]}`, "refs.kind"},
		"time not a time":     {`{"content":"x","occurred_at":"` + canary + `"}`, "occurred_at"},
		"time a number":       {`{"content":"x","occurred_at":17}`, "occurred_at"},
		"not JSON":            {canary, "(json)"},
		"cut short":           {`{"content":"` + canary, "(json)"},
		"empty":               {``, "(json)"},
		"bad escape":          {`{"content":"\q` + canary + `"}`, "(json)"},
		"an array":            {`[{"content":"` + canary + `"}]`, "(json)"},
		"a string":            {`"` + canary + `"`, "(json)"},
		"null":                {`null`, "(json)"},
		"trailing object":     {`{"content":"x"}{"content":"` + canary + `"}`, "(json)"},
		"trailing word":       {`{"content":"x"} ` + canary, "(json)"},
		"trailing brace":      {`{"content":"x"}}`, "(json)"},
		"trailing bracket":    {`{"content":"x"}]`, "(json)"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := schema.DecodeCandidate([]byte(c.in))
			require.Zero(t, got)
			requireFields(t, err, c.field)
		})
	}
}

func TestDecodeCandidateReadsEveryField(t *testing.T) {
	t.Parallel()
	want := goodRequest().Candidates[1]
	encoded, err := json.Marshal(want)
	require.NoError(t, err)
	got, err := schema.DecodeCandidate(append(append([]byte(" \n"), encoded...), " \n\t"...))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestDecodeCandidateNeverQuotesContent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		encoded := []byte(`{"content":"` + canary + `","tags":["` + canary + `"],"refs":[{"kind":"event","ref":"` +
			canary + `"}],"occurred_at":"2024-01-01T00:00:00Z","importance":0.5}`)
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			at := rapid.IntRange(0, len(encoded)-1).Draw(t, "at")
			if rapid.Bool().Draw(t, "cut") {
				encoded = encoded[:at+1]
			} else {
				encoded[at] = rapid.SampledFrom([]byte(`"{}[]:,0a\`)).Draw(t, "byte")
			}
		}
		if _, err := schema.DecodeCandidate(encoded); err != nil {
			var invalid *schema.ValidationError
			if !errors.As(err, &invalid) {
				t.Fatalf("%T", err)
			}
			for _, f := range invalid.Fields {
				if strings.Contains(f.Problem, "anary") {
					t.Fatalf("quotes content: %v", f)
				}
			}
		}
	})
}

func TestStricterNeverLoosens(t *testing.T) {
	t.Parallel()
	const s, f, c = schema.ModeShadow, schema.ModeFrozen, schema.ModeControlled
	for _, x := range [][3]schema.WriteMode{
		{s, s, s}, {s, f, s}, {s, c, s}, {f, s, s}, {f, f, f}, {f, c, f}, {c, s, s}, {c, f, f}, {c, c, c},
		{s, "", s}, {f, "", f}, {c, "", c}, {c, "SHADOW", c}, {"", f, f}, {"", "", ""},
	} {
		require.Equal(t, x[2], x[0].Stricter(x[1]), "%q with %q", x[0], x[1])
	}
}

func TestSensitivityAtMost(t *testing.T) {
	t.Parallel()
	all := []schema.Sensitivity{"public", "low", "medium", "high", "hyper"}
	for i, v := range all {
		require.Equal(t, all[:i+1], v.AtMost())
	}
	require.Empty(t, schema.Sensitivity("").AtMost(), "an unknown class admits nothing")
	require.Empty(t, schema.Sensitivity("HIGH").AtMost())
}

func TestValid(t *testing.T) {
	t.Parallel()
	for _, ok := range []bool{schema.TypePlanGraph.Valid(), schema.CategoryIssue.Valid(),
		schema.SensitivityHyper.Valid(), schema.VisibilityGlobal.Valid(),
		schema.ReadGroup.Valid(), schema.SourceMemory.Valid(), schema.ModeShadow.Valid(), schema.JobDead.Valid()} {
		require.True(t, ok)
	}
	for _, v := range []interface{ Valid() bool }{schema.MemoryType("x"), schema.Category(""),
		schema.Sensitivity("Low"), schema.Visibility(" private"),
		schema.ReadPolicy("all"), schema.SourceKind("tool"), schema.WriteMode("on"), schema.JobState("done")} {
		require.False(t, v.Valid(), fmt.Sprintf("%T %q", v, v))
	}
}
