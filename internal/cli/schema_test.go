package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/exchange"
	"github.com/mneme/mneme/internal/cli/operate"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
)

func TestSchemaListAndShow(t *testing.T) {
	t.Parallel()
	c := &cli{t: t} // needs neither Postgres nor Temporal
	var list app.Page[operate.SchemaInfo]
	c.run("schema", "list", "--json").is(app.ExitOK).json(&list)
	names := map[string]string{}
	for _, s := range list.Items {
		names[s.Name] = s.ID
		require.NotEmpty(t, s.Description)
	}
	for _, name := range []string{"MemoryRecord", "Lifecycle", "DecayProfile", "Provenance", "ProvenanceRef",
		"Relation", "AuditEntry", "EpisodicPayload", "WorkingPayload",
		"SemanticPayload", "CompetencePayload", "PlanGraphPayload"} {
		require.Equal(t, "mem://schemas/"+name, names[name])
		shown := c.run("schema", "show", name).is(app.ExitOK).out
		require.Equal(t, shown, c.run("schema", "show", names[name]).is(app.ExitOK).out)
		require.JSONEq(t, shown, c.run("schema", "show", name, "--json").is(app.ExitOK).out)
		require.Contains(t, shown, `"$schema": "https://json-schema.org/draft/2020-12/schema"`)
	}
	require.Contains(t, c.run("schema", "list").is(app.ExitOK).out, "mem://schemas/MemoryRecord")
	require.Contains(t, c.run("schema", "show", "../secrets", "--json").is(app.ExitNotFound).problem().Message,
		"mneme schema list")
	c.run("schema").is(app.ExitUsage)
	c.run("schema", "show").is(app.ExitUsage)
}

func TestSchemaValidate(t *testing.T) {
	t.Parallel()
	c := &cli{t: t}
	var lines [][]byte
	for i, kind := range testkit.MemoryTypes {
		encoded, err := schema.EncodeRecord(testkit.RecordGen(kind).Example(i),
			[]schema.Shape{schema.ShapeAppendix, schema.ShapeCanonical}[i%2])
		require.NoError(t, err)
		lines = append(lines, encoded)
	}
	var report operate.Validated
	c.run("schema", "validate", "--json",
		writeFile(t, "\ufeff"+string(bytes.Join(lines, []byte("\r\n\n"))))).is(app.ExitOK).json(&report)
	require.Equal(t, operate.Validated{Records: 5, Invalid: []exchange.LineError{}}, report)

	var pretty bytes.Buffer
	require.NoError(t, json.Indent(&pretty, lines[2], "", "  "))
	for _, text := range []string{string(lines[2]), pretty.String(), "\n\n" + pretty.String() + "\n"} {
		require.Contains(t, c.runWith(t.Context(), text, "schema", "validate", "-").is(app.ExitOK).out,
			"1 of 1 records valid")
	}

	spoilt := strings.Replace(string(lines[2]), `"confidence":`, `"certainty":"secretvalue","confidence":7,"x":`, 1)
	o := c.runWith(t.Context(), string(lines[0])+"\n"+spoilt+"\n{broken secretvalue\n", "schema", "validate", "-",
		"--json").is(app.ExitUsage)
	report = operate.Validated{}
	require.NoError(t, json.Unmarshal([]byte(o.out), &report))
	require.Equal(t, 3, report.Records)
	require.Len(t, report.Invalid, 2)
	require.Equal(t, 2, report.Invalid[0].Line)
	fields := map[string]string{}
	for _, f := range report.Invalid[0].Fields {
		fields[f.Field] = f.Problem
	}
	require.Equal(t, "unknown field", fields["certainty"])
	require.Equal(t, "must be between 0 and 1", fields["confidence"])
	require.Equal(t, "(json)", report.Invalid[1].Fields[0].Field)
	require.Contains(t, o.err, "2 of 3 records are not valid")
	require.NotContains(t, o.out+o.err, "secretvalue")

	o = c.runWith(t.Context(), spoilt, "schema", "validate", "-").is(app.ExitUsage)
	require.Contains(t, o.out, "line 1: confidence: must be between 0 and 1\n")
	require.NotContains(t, o.out+o.err, "secretvalue")
	o = c.runWith(t.Context(), "{\n  \"id\": \"secretvalue\n}", "schema", "validate", "-").is(app.ExitUsage)
	require.Contains(t, o.out, "line 1: (json): is not valid JSON")
	require.Contains(t, c.runWith(t.Context(), strings.Repeat("[", 5_000_000), "schema", "validate",
		"-").is(app.ExitUsage).out, "line 1: (json): must be at most")

	require.Equal(t, "file", c.runWith(t.Context(), " \n\n", "schema", "validate", "-",
		"--json").is(app.ExitUsage).problem().Fields[0].Field)
	c.run("schema", "validate", "/nowhere/at/all").is(app.ExitUsage)
}
