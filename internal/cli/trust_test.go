package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

func TestTrustFlags(t *testing.T) {
	t.Parallel()
	c := newCLI(t, harness.New(t, nil))
	c.remember("The vault opens at noon.", "--sensitivity", "high")
	id := c.list("--max-sensitivity", "high", "--authenticated").Items[0].ID
	whole := []string{"--max-sensitivity", "high", "--authenticated"}

	require.Empty(t, c.recall("when does the vault open", "--max-sensitivity", "high").Results,
		"high needs authentication")
	require.Contains(t, c.run("recall", "vault", "--max-sensitivity", "high").is(app.ExitOK).err,
		"shown up to medium: unauthenticated")
	require.NotEmpty(t, c.recall(append(whole, "when does the vault open")...).Results)
	for _, command := range [][]string{{"get", id}, {"history", id}, {"lineage", id}} {
		c.run(command...).is(app.ExitNotFound)
		require.Contains(t, c.run(append(command, whole...)...).is(app.ExitOK).out, "vault")
	}
	require.Empty(t, c.list().Items)

	// With a key, every caller needs a token.
	c.cfg.TrustKey = bytes.Repeat([]byte("k"), 32)
	require.Empty(t, c.recall(append(whole, "vault")...).Results)
	require.Contains(t, c.run(append([]string{"recall", "vault"}, whole...)...).is(app.ExitOK).err, "unproven")
	c.run(append([]string{"get", id}, whole...)...).is(app.ExitNotFound)
	token := strings.TrimSpace(c.run("trust", "sign", "--authenticated", "--max-sensitivity", "high", "--trust-scope",
		"ops", "--expires", "10m").is(app.ExitOK).out)
	found := c.recall("vault", "--max-sensitivity", "high", "--trust-token", token)
	require.NotEmpty(t, found.Results)
	require.Equal(t, &schema.TrustMeta{Authenticated: true, MaxSensitivity: schema.SensitivityHigh,
		Scopes: []string{"ops"}}, found.Meta.Trust)
	require.Empty(t, c.recall("vault", "--max-sensitivity", "high", "--trust-token", token, "--agent",
		"another").Results)
	c.run("get", id, "--max-sensitivity", "high", "--trust-token", token).is(app.ExitOK)

	// A policy redacts results above the limit.
	c.cfg.PolicyFile = tempFile(t, "policy.yaml", "trust: {above_limit: {high: metadata}, environments: {kiosk: low}}")
	stub := c.recall("vault", "--type", "semantic").Results
	for _, r := range stub {
		require.Equal(t, schema.RedactedMetadata, r.Redacted)
		require.Empty(t, r.Content)
	}
	require.NotEmpty(t, c.recall("vault", "--type", "semantic", "--type", "episodic").Results)
	require.Equal(t, schema.SensitivityLow,
		c.recall("vault", "--environment", "Kiosk", "--trust-token", token).Meta.Trust.MaxSensitivity)
}

func TestTrustSignAndVerify(t *testing.T) {
	t.Parallel()
	c := newOfflineCLI(t)
	c.run("trust", "sign").is(app.ExitUsage)
	c.run("trust", "verify", "mt1.x.y").is(app.ExitUsage)
	c.cfg.TrustKey = bytes.Repeat([]byte("k"), 32)
	var out, back app.SignedTrust
	c.run("trust", "sign", "--authenticated", "--scope", "hr", "--json").is(app.ExitOK).json(&out)
	require.Equal(t, schema.TrustContext{Authenticated: true, MaxSensitivity: schema.SensitivityMedium}, out.Trust,
		"omitted rights are not granted")
	c.run("trust", "verify", out.Token, "--json").is(app.ExitOK).json(&back)
	out.Token = ""
	require.Equal(t, out, back)
	require.Contains(t, c.run("trust", "verify", c.run("trust", "sign").is(app.ExitOK).out).is(app.ExitOK).out,
		"medium")
	c.run("trust", "verify", "mt1.x.y").is(app.ExitConflict)
	for _, args := range [][]string{{"--expires", "0s"}, {"--expires", "8000h"}, {"--max-sensitivity", "all"},
		{"--agent", ""}} {
		c.run(append([]string{"trust", "sign"}, args...)...).is(app.ExitUsage)
	}
}
