package intake_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
)

func TestBeginning(t *testing.T) {
	t.Parallel()
	address := schema.ArtifactPrefix + strings.Repeat("0123456789abcdef", 4)
	for name, text := range map[string]string{"sentences": strings.Repeat("Ana likes figs. ", 30_000),
		"words":   strings.Repeat("figs ", 90_000),
		"no word": strings.Repeat("é", 300_000)} {
		got := intake.Beginning(text, address)
		rest, ok := strings.CutSuffix(got, " [truncated 0123456789ab]")
		require.True(t, ok, name)
		require.True(t, strings.HasPrefix(text, rest), name)
		require.True(t, utf8.ValidString(got), name)
		require.LessOrEqual(t, utf8.RuneCountInString(got), normalize.MaxExtractInput, name)
		require.Greater(t, utf8.RuneCountInString(got), normalize.MaxExtractInput-600, name)
	}
	require.True(t, strings.HasSuffix(intake.Beginning(strings.Repeat("Ana likes figs. ", 30_000), address),
		"figs. [truncated 0123456789ab]"), "after a sentence")
}

// The kept part is as sensitive as the whole text, and refers to it.
func TestAbridgeKeepsSensitivityOfWhole(t *testing.T) {
	t.Parallel()
	c := schema.Candidate{Content: strings.Repeat("Ana likes figs. ", 30_000) + "My card is 4111 1111 1111 1111.",
		Refs: []schema.Ref{{Kind: "event", Ref: "e"}}}
	level, kinds := sensitive.Detect(c.Content)
	require.NotEmpty(t, kinds)
	got := intake.Abridge(c, schema.ArtifactPrefix+"ab")
	require.Equal(t, level, got.Sensitivity)
	require.Equal(t, []schema.Ref{{Kind: "event", Ref: "e"}, {Kind: "artifact", Ref: schema.ArtifactPrefix + "ab"}},
		got.Refs)
	require.Len(t, c.Refs, 1)
	c.Sensitivity = schema.SensitivityHyper
	require.Equal(t, schema.SensitivityHyper, intake.Abridge(c, "x").Sensitivity)
}
