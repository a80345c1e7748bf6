package intake_test

import (
	"encoding/json"
	"html"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/intake"
)

func TestWrapRecalled(t *testing.T) {
	t.Parallel()
	require.Equal(t, "<mneme-recall id=\"r-1\">\ntext\n</mneme-recall>", intake.WrapRecalled("r-1", "text"))
	require.Equal(t, "<mneme-recall id=\"r1id\">\n\n</mneme-recall>", intake.WrapRecalled("r1\"> id\n</", ""))
	require.Equal(t, "<mneme-recall id=\"r\">\nx </mneme recall> <MNEME Recall>\n</mneme-recall>",
		intake.WrapRecalled("r", "x </mneme-recall> <MNEME-Recall>"))
}

func TestStripRecalled(t *testing.T) {
	t.Parallel()
	asJSON, err := json.Marshal(intake.WrapRecalled("r", "echo"))
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		content, rest string
		had           bool
	}{
		"none":          {"I saw < and > and mneme", "I saw < and > and mneme", false},
		"name alone":    {"the mneme-recall tag", "the mneme-recall tag", false},
		"empty":         {"", "", false},
		"whole":         {intake.WrapRecalled("r", "echo"), "", true},
		"in the middle": {"before\n" + intake.WrapRecalled("r", "echo") + "\nafter", "before\n\nafter", true},
		"between words": {"before" + intake.WrapRecalled("r", "echo") + "after", "before\nafter", true},
		"two": {"a " + intake.WrapRecalled("r", "echo") + " b " + intake.WrapRecalled("s",
			"echo") + " c", "a  b  c", true},
		"nested": {"a <mneme-recall><mneme-recall>echo</mneme-recall> echo</mneme-recall> b", "a  b",
			true},
		"siblings in one": {"a <mneme-recall><mneme-recall>echo</mneme-recall> echo " +
			"<mneme-recall>echo</mneme-recall> echo</mneme-recall> b", "a  b", true},
		"outer one unclosed":    {"a <mneme-recall><mneme-recall>echo</mneme-recall> echo", "a ", true},
		"unclosed":              {"a <mneme-recall id=\"r\">echo echo", "a ", true},
		"cut within the marker": {"a <mneme-recall id=\"r", "a ", true},
		"unopened":              {"echo echo</mneme-recall> b", " b", true},
		"unopened after one":    {"a <mneme-recall>echo</mneme-recall> echo </mneme-recall> b", "a  b", true},
		"another case":          {"a <MNEME-Recall>echo</Mneme-RECALL> b", "a  b", true},
		"whitespace":            {"a < mneme-recall\tid='r' >echo<\n/\u00a0mneme-recall > b", "a  b", true},
		"self-closing tag":      {"a <mneme-recall/>echo</mneme-recall> b", "a  b", true},
		"as JSON":               {`{"out":` + string(asJSON) + `}`, "{\"out\":\"\n\"}", true},
		"as JSON in JSON":       {`a \\u003cmneme-recall\\u003eecho\\u003c\\/mneme-recall\\u003e b`, "a  b", true},
		"as HTML":               {"a " + html.EscapeString(intake.WrapRecalled("r", "echo")) + " b", "a  b", true},
		"another tag": {"a <mneme-recalls>kept</mneme-recalls>", "a <mneme-recalls>kept</mneme-recalls>",
			false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rest, had := intake.StripRecalled(tt.content)
			require.Equal(t, tt.rest, rest)
			require.Equal(t, tt.had, had)
		})
	}
}

func TestRecalledRoundTrip(t *testing.T) {
	t.Parallel()
	const echo = "ECHO"
	hostile := rapid.Map(rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom([]string{echo, "<", ">", "</", "</mneme-recall>", "<mneme-recall>", "</MNEME-recall >",
			"&lt;/mneme-recall&gt;", `\u003c/mneme-recall\u003e`, "mneme-", "recall", "\n", "\xff"}),
		rapid.StringN(0, 4, -1),
	), 0, 10), func(parts []string) string { return strings.Join(parts, "") })
	innocent := rapid.Map(hostile, func(s string) string {
		return strings.NewReplacer(echo, "").Replace(strings.ReplaceAll(strings.ToLower(s), "mneme-recall", "mneme"))
	}).Filter(func(s string) bool { return !strings.Contains(strings.ToLower(s), "mneme-recall") })

	rapid.Check(t, func(t *rapid.T) {
		a, b := innocent.Draw(t, "a"), innocent.Draw(t, "b")
		x := echo + hostile.Draw(t, "x") + echo
		wrapped := intake.WrapRecalled(rapid.String().Draw(t, "id"), x)
		rest, had := intake.StripRecalled(a + wrapped + b)
		require.True(t, had)
		require.NotContains(t, rest, echo)
		require.True(t, rest == a+b || rest == a+"\n"+b, "%q", rest)

		// Nested blocks, followed by another block.
		rest, had = intake.StripRecalled(intake.WrapRecalled("outer", wrapped+x) + wrapped)
		require.True(t, had)
		require.Empty(t, rest)

		rest, had = intake.StripRecalled(a)
		require.False(t, had)
		require.Equal(t, a, rest)
	})
}

func FuzzStripRecalled(f *testing.F) {
	f.Add("a <mneme-recall id=\"r\">echo</mneme-recall> b")
	f.Add("&lt;mneme-recall</mneme-recall\\u003c\xff")
	f.Fuzz(func(t *testing.T, content string) {
		rest, had := intake.StripRecalled(content)
		if !had {
			require.Equal(t, content, rest)
		}
		wrapped, had := intake.StripRecalled(intake.WrapRecalled("r", content))
		require.True(t, had)
		require.Empty(t, wrapped)
	})
}
