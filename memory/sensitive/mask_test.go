package sensitive_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/sensitive"
)

// A sensitive line is replaced by a note that names the kind of secret. Other lines stay.
func TestMask(t *testing.T) {
	t.Parallel()
	key := "ghp_" + "q7Rt2VbX9kLmZ4pW8sYc3NfH6jDg5TaE1uQo"
	for text, want := range map[string]string{
		"":                       "",
		"the build is green":     "the build is green",
		"write to ann@acme.io":   "write to ann@acme.io", // may be shown
		"use " + key:             "[withheld: api_key]",
		"one\nuse " + key:        "one\n[withheld: api_key]",
		key + "\n" + key + "\nx": "[withheld: api_key]\nx",
		"Password:\nhunter2x":    "[withheld: password]",
		"a\n-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE\nMIIF": "[withheld: private_key]",
		"card 4111-1111-1111-1111.":                           "[withheld: payment_card]",
	} {
		got, changed := sensitive.Mask(text)
		require.Equal(t, want, got)
		require.Equal(t, want != text, changed)
	}
}

func TestMaskJSON(t *testing.T) {
	t.Parallel()
	key := "ghp_" + "q7Rt2VbX9kLmZ4pW8sYc3NfH6jDg5TaE1uQo"
	for value, want := range map[string]string{
		`{"b":1.50,"a":["x",null,true]}`:                         `{"b":1.50,"a":["x",null,true]}`,
		`{"password":"swordfish","user":"ann"}`:                  `{"password":"[withheld: password]","user":"ann"}`,
		`{"pin":4821}`:                                           `{"pin":"[withheld: password]"}`,
		`{"in":[{"token":"` + key + `"}],"n":1.50}`:              `{"in":[{"token":"[withheld: api_key]"}],"n":1.50}`,
		`{"cmd":"first\nexport DB_PASSWORD=\"abc12345\"\nlast"}`: `{"cmd":"first\n[withheld: password]\nlast"}`,
		`{"` + key + `":1}`:                                      `{"withheld":"api_key"}`,
		`["` + key + `"]`:                                        `["[withheld: api_key]"]`,
		`"` + key + `"`:                                          `"[withheld: api_key]"`,
		`{`:                                                      `{`,
	} {
		got, changed := sensitive.MaskJSON(json.RawMessage(value))
		require.Equal(t, want, string(got))
		require.Equal(t, want != value, changed)
	}
}

// A masked text contains nothing sensitive, and masking it again changes nothing.
func TestMaskProperties(t *testing.T) {
	t.Parallel()
	part := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"\n", " ", "\"", "password", ": ", "=", "hunter2x", "pin", "4821", "Bearer ",
		"ghp_" + "q7Rt2VbX9kLmZ4pW8sYc3NfH6jDg5TaE1uQo",
		"postgres://app:", "h4rdt0guess@db/x", "4111 1111 1111 1111", "IBAN ", "GB29NWBK60161331926819", "token",
		"secret",
	}))
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(part, 0, 12)
		text := strings.Join(parts.Draw(t, "text"), "")
		masked, changed := sensitive.Mask(text)
		level, _ := sensitive.Detect(masked)
		require.False(t, sensitive.IsWithheld(level), masked)
		again, changedAgain := sensitive.Mask(masked)
		require.Equal(t, masked, again)
		require.False(t, changedAgain)
		if !changed {
			require.Equal(t, text, masked)
		}
		value, err := json.Marshal(
			map[string]any{strings.Join(parts.Draw(t, "name"), ""): text, "list": []any{text, 4821, nil}},
		)
		require.NoError(t, err)
		shown, _ := sensitive.MaskJSON(value)
		require.True(t, json.Valid(shown))
		level, kinds := sensitive.Detect(string(shown))
		require.False(t, sensitive.IsWithheld(level), "%v in %s of %s", kinds, shown, value)
		var object map[string]any
		require.NoError(t, json.Unmarshal(shown, &object))
	})
}
