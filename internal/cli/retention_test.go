package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/operate"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
)

// Setting a window does not change whether memories decay: omitted settings keep their current values.
func TestRetentionSetKeepsOmittedSettings(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	exempt := func() bool {
		var list operate.RetentionList
		c.run("retention", "list", "--json").is(app.ExitOK).json(&list)
		return lifecycle.RetentionRules(list.Policies).For(schema.RetainWorld, schema.TierPersistent,
			schema.TypologyProcedural).DecayExempt
	}
	require.True(t, exempt())
	var said operate.RetentionSet
	c.run("retention", "set", "world", "--tier", "persistent", "--keep", "90d", "--reason", "a test",
		"--json").is(app.ExitOK).json(&said)
	require.Equal(t, schema.Any, string(said.Typology))
	require.Len(t, said.Also, 1, "the other setting is shown")
	require.Equal(t, schema.TypologyProcedural, said.Also[0].Typology)
	require.True(t, exempt())

	var set schema.RetentionPolicy
	c.run("retention", "set", "memory", "--typology", "episodic", "--keep", "30d", "--then", "archive", "--reason",
		"a test").is(app.ExitOK)
	c.run("retention", "set", "memory", "--typology", "episodic", "--keep", "7d", "--reason", "a test",
		"--json").is(app.ExitOK).json(&set)
	require.Equal(t, []any{schema.ExpiryArchive, int64(7 * 86400)}, []any{set.OnExpiry, set.KeepSeconds})

	c.run("retention", "set", "world", "--tier", "persistent", "--typology", "procedural", "--keep", "90d",
		"--decay-exempt=false", "--reason", "a test").is(app.ExitOK)
	require.False(t, exempt(), "an explicit flag removes the exemption")
}

// Times are printed with their zone, so that they can be read elsewhere.
func TestTimesHaveAZone(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	c.remember("Dana prefers tabs.")
	c.remember("The build takes nine minutes.", "--source-kind", "observation")
	const zoned = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)`
	require.Regexp(t, `next +`+zoned, c.run("decay", "outlook").is(app.ExitOK).out)
	c.run("retention", "set", "memory", "--keep", "7d", "--reason", "a test").is(app.ExitOK)
	require.Regexp(t, zoned, c.run("retention", "changes").is(app.ExitOK).out)
	c.run("decay", "run").is(app.ExitOK)
	require.NotRegexp(t, `\d{4}-\d\d-\d\d \d\d:`, c.run("sweeps").is(app.ExitOK).out)
}
