package policy_test

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
)

var (
	trustNow   = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	trustKey   = []byte(strings.Repeat("k", policy.MinTrustKey))
	trustedOne = schema.Principal{Tenant: "t", Agent: "a", Project: "p", Scope: "own", PolicyGroup: "g"}
)

func signed(t testing.TB, key []byte, p schema.Principal, c schema.TrustContext, expires time.Time) string {
	t.Helper()
	token, err := policy.SignTrust(key, p, c, expires)
	require.NoError(t, err)
	return token
}

func TestClearance(t *testing.T) {
	t.Parallel()
	const high, hyper, low, medium, public = schema.SensitivityHigh, schema.SensitivityHyper, schema.SensitivityLow, schema.SensitivityMedium, schema.SensitivityPublic
	good := signed(t, trustKey, trustedOne,
		schema.TrustContext{Authenticated: true, MaxSensitivity: high, Scopes: []string{"s", "z"},
			Environment: "Office"}, trustNow.Add(time.Minute))
	plain := signed(t, trustKey, trustedOne, schema.TrustContext{Authenticated: true}, trustNow.Add(time.Minute))
	rules := policy.TrustRules{Environments: map[string]schema.Sensitivity{"kiosk": low, "office": hyper,
		policy.AnyEnvironment: medium}}
	is := func(problems ...schema.TrustProblem) []schema.TrustProblem { return problems }
	for name, c := range map[string]struct {
		rules    policy.TrustRules
		key      bool
		asked    schema.Sensitivity
		trust    *schema.TrustContext
		limit    schema.Sensitivity
		authed   bool
		scopes   []string
		problems []schema.TrustProblem
	}{
		"empty":         {limit: medium},
		"a lower limit": {asked: public, limit: public},
		"high without authentication": {asked: high, limit: medium,
			problems: is(schema.TrustUnauthenticated)},
		"hyper, authenticated": {asked: hyper, trust: &schema.TrustContext{Authenticated: true},
			limit: hyper, authed: true},
		"authenticated, without a limit": {trust: &schema.TrustContext{Authenticated: true}, limit: medium,
			authed: true},
		"the context allows high": {trust: &schema.TrustContext{Authenticated: true,
			MaxSensitivity: high}, limit: high, authed: true},
		"the context allows high, unauthenticated": {trust: &schema.TrustContext{MaxSensitivity: high}, limit: medium,
			problems: is(schema.TrustUnauthenticated)},
		"the lower of both, the context's": {asked: hyper,
			trust: &schema.TrustContext{Authenticated: true, MaxSensitivity: low}, limit: low, authed: true,
			problems: is(schema.TrustCeiling)},
		"the lower of both, the request's": {asked: public,
			trust: &schema.TrustContext{Authenticated: true, MaxSensitivity: high}, limit: public, authed: true},
		"scopes, sorted and unique": {trust: &schema.TrustContext{Scopes: []string{"z", "s", "own", "z"}},
			limit: medium, scopes: []string{"s", "z"}},
		"an environment": {rules: rules, asked: hyper,
			trust: &schema.TrustContext{Authenticated: true, Environment: "KIOSK"}, limit: low, authed: true,
			problems: is(schema.TrustEnvironment)},
		"an environment above the default": {rules: rules, trust: &schema.TrustContext{Environment: "office"},
			limit: medium},
		"an unlisted environment": {rules: rules, asked: hyper,
			trust: &schema.TrustContext{Authenticated: true, Environment: "train"}, limit: medium, authed: true,
			problems: is(schema.TrustEnvironment)},
		"no environment counts as unlisted": {rules: rules, asked: hyper,
			trust: &schema.TrustContext{Authenticated: true}, limit: medium, authed: true,
			problems: is(schema.TrustEnvironment)},
		"a token without a key": {trust: &schema.TrustContext{Token: "x", Authenticated: true},
			limit: medium, authed: true, problems: is(schema.TrustTokenUnchecked)},
		"with a key, a claim": {key: true, asked: hyper,
			trust: &schema.TrustContext{Authenticated: true, Scopes: []string{"s"}}, limit: medium,
			problems: is(schema.TrustUnproven, schema.TrustUnauthenticated)},
		"with a key, a lower limit needs no token": {key: true, trust: &schema.TrustContext{MaxSensitivity: low},
			limit: low},
		"with a key, nothing claimed": {key: true, limit: medium},
		"a token": {key: true, asked: hyper, trust: &schema.TrustContext{Token: good},
			limit: high, authed: true, scopes: []string{"s", "z"}, problems: is(schema.TrustCeiling)},
		"a token alone": {key: true, trust: &schema.TrustContext{Token: good}, limit: high,
			authed: true, scopes: []string{"s", "z"}},
		"a token, and less claimed": {key: true, asked: hyper,
			trust: &schema.TrustContext{Token: good, MaxSensitivity: low, Scopes: []string{"z"}}, limit: low,
			authed: true, scopes: []string{"z"}, problems: is(schema.TrustCeiling)},
		"a token, and more claimed": {key: true, asked: hyper,
			trust: &schema.TrustContext{Token: good, MaxSensitivity: hyper, Scopes: []string{"s", "q"}}, limit: high,
			authed: true, scopes: []string{"s"}, problems: is(schema.TrustScopes, schema.TrustCeiling)},
		"a token without a limit": {key: true, asked: hyper,
			trust: &schema.TrustContext{Token: plain, MaxSensitivity: hyper}, limit: medium, authed: true,
			problems: is(schema.TrustCeiling)},
		"a token with an environment": {rules: rules, key: true, asked: high,
			trust: &schema.TrustContext{Token: good}, limit: high, authed: true, scopes: []string{"s", "z"}},
		"a token and a stricter environment": {rules: rules, key: true, asked: high,
			trust: &schema.TrustContext{Token: good, Environment: "kiosk"}, limit: low, authed: true,
			scopes: []string{"s", "z"}, problems: is(schema.TrustEnvironment)},
		"an environment of the request alone": {rules: rules, key: true, asked: high,
			trust: &schema.TrustContext{Token: plain, Environment: "office"}, limit: medium, authed: true,
			problems: is(schema.TrustCeiling)},
		"an invalid token": {key: true, asked: hyper,
			trust: &schema.TrustContext{Token: "mt1.x.y", Authenticated: true, Scopes: []string{"s"}}, limit: medium,
			problems: is(schema.TrustTokenInvalid, schema.TrustUnauthenticated)},
	} {
		var key []byte
		if c.key {
			key = trustKey
		}
		got := c.rules.Clear(schema.RecallRequest{Principal: trustedOne, MaxSensitivity: c.asked, Trust: c.trust}, key,
			trustNow)
		require.Equal(t, c.limit, got.Limit, name)
		require.Equal(t, c.authed, got.Authenticated, name)
		require.Equal(t, c.scopes, got.Scopes, name)
		require.Equal(t, c.problems, got.Problems, name)
	}
}

func TestTrustTokens(t *testing.T) {
	t.Parallel()
	said := schema.TrustContext{Authenticated: true, MaxSensitivity: schema.SensitivityHyper, Scopes: []string{"s"},
		Environment: "office"}
	token := signed(t, trustKey, trustedOne, said, trustNow.Add(time.Minute))
	got, err := policy.OpenTrust(trustKey, token, trustedOne, trustNow)
	require.NoError(t, err)
	require.Equal(t, said, got)

	_, err = policy.OpenTrust(trustKey, token, trustedOne, trustNow.Add(time.Minute))
	require.ErrorIs(t, err, policy.ErrTrustExpired)
	_, err = policy.OpenTrust([]byte(strings.Repeat("x", policy.MinTrustKey)), token, trustedOne, trustNow)
	require.ErrorIs(t, err, policy.ErrTrustMalformed)
	for _, change := range []func(*schema.Principal){
		func(p *schema.Principal) { p.Tenant = "u" }, func(p *schema.Principal) { p.Agent = "b" },
		func(p *schema.Principal) { p.Project = "" },
		func(p *schema.Principal) { p.Scope = "" }, func(p *schema.Principal) { p.PolicyGroup = "" },
	} {
		other := trustedOne
		change(&other)
		_, err := policy.OpenTrust(trustKey, token, other, trustNow)
		require.ErrorIs(t, err, policy.ErrTrustPrincipal)
	}
	_, err = policy.SignTrust([]byte("short"), trustedOne, said, trustNow)
	require.ErrorIs(t, err, policy.ErrTrustKey)
	_, err = policy.ReadTrust(nil, token, trustNow)
	require.ErrorIs(t, err, policy.ErrTrustMalformed, "without a key, no token is valid")

	// Forged and truncated tokens are refused.
	body, _ := json.Marshal(policy.SignedTrust{Principal: trustedOne, Trust: said, Expires: trustNow.Unix() + 60})
	parts := strings.Split(token, ".")
	for _, forged := range []string{"", token + "\n", parts[0] + "." + base64.RawURLEncoding.EncodeToString(body) + ".",
		parts[0] + "." + parts[1], parts[0] + "." + parts[1] + "." + parts[2][:20],
		parts[0] + "." + base64.RawURLEncoding.EncodeToString(append(body, ' ')) + "." + parts[2]} {
		_, err := policy.ReadTrust(trustKey, forged, trustNow)
		require.ErrorIs(t, err, policy.ErrTrustMalformed)
	}
	rapid.Check(t, func(rt *rapid.T) { // no byte of a token can be changed
		raw := []byte(token)
		at := rapid.IntRange(0, len(raw)-1).Draw(rt, "at")
		raw[at] = byte(rapid.IntRange(1, 127).Draw(rt, "byte"))
		if string(raw) == token {
			return
		}
		_, err := policy.ReadTrust(trustKey, string(raw), trustNow)
		require.ErrorIs(rt, err, policy.ErrTrustMalformed)
	})
}

// A clearance never exceeds the request, the trust context or the rules.
func TestClearanceBounds(t *testing.T) {
	t.Parallel()
	ladder := schema.SensitivityHyper.AtMost()
	level := rapid.SampledFrom(append([]schema.Sensitivity{""}, ladder...))
	name := rapid.SampledFrom([]string{"", "kiosk", "office", "train"})
	scopes := rapid.SliceOfN(rapid.SampledFrom([]string{"s", "z", "own"}), 0, 3)
	context := rapid.Custom(func(t *rapid.T) schema.TrustContext {
		return schema.TrustContext{Authenticated: rapid.Bool().Draw(t, "authenticated"),
			MaxSensitivity: level.Draw(t, "max"), Scopes: scopes.Draw(t, "scopes"),
			Environment: name.Draw(t, "environment")}
	})
	rank := func(s schema.Sensitivity) int { return slices.Index(ladder, s) }
	under := func(rt *rapid.T, c policy.Clearance, bound schema.Sensitivity, why string) {
		if bound != "" {
			require.LessOrEqual(rt, rank(c.Limit), rank(bound), why)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		rules := policy.TrustRules{Environments: map[string]schema.Sensitivity{},
			Above: map[schema.Sensitivity]schema.Redaction{}}
		for _, e := range []string{"kiosk", "office", policy.AnyEnvironment} {
			if l := level.Draw(rt, e); l != "" {
				rules.Environments[e] = l
			}
		}
		for _, l := range ladder {
			if how := rapid.SampledFrom([]schema.Redaction{"", schema.RedactedMetadata,
				schema.RedactedSummary}).Draw(rt, "above"); how != "" {
				rules.Above[l] = how
			}
		}
		claim, proof := context.Draw(rt, "claim"), context.Draw(rt, "proof")
		req := schema.RecallRequest{Principal: trustedOne, MaxSensitivity: level.Draw(rt, "asked"), Trust: &claim}
		var key []byte
		proven := false
		if rapid.Bool().Draw(rt, "key") {
			key = trustKey
			if proven = rapid.Bool().Draw(rt, "token"); proven {
				claim.Token = signed(t, key, trustedOne, proof, trustNow.Add(time.Hour))
			}
		}
		c := rules.Clear(req, key, trustNow)
		require.True(rt, c.Limit.Valid())
		under(rt, c, req.MaxSensitivity, "what is asked for")
		under(rt, c, claim.MaxSensitivity, "what the context allows")
		if !c.Authenticated {
			under(rt, c, schema.SensitivityMedium, "authentication")
		}
		if key != nil {
			require.False(rt, c.Authenticated && !(proven && proof.Authenticated), "believed without proof")
			require.False(rt, !proven && len(c.Scopes) > 0, "scopes without proof")
		}
		if proven {
			bound := proof.MaxSensitivity
			if bound == "" {
				bound = schema.SensitivityMedium
			}
			under(rt, c, bound, "what is signed")
			for _, s := range c.Scopes {
				require.Contains(rt, proof.Scopes, s)
			}
		}
		if limit, ok := rules.Environments[claim.Environment]; ok && claim.Environment != "" {
			under(rt, c, limit, "the environment")
		}
		require.NotContains(rt, c.Scopes, trustedOne.Scope)
		for _, l := range slices.Concat(c.Metadata, c.Summary) {
			require.Greater(rt, rank(l), rank(c.Limit), "a readable class is not redacted")
			require.False(rt, l == schema.SensitivityHyper && !c.Authenticated, "hyper without authentication")
		}
	})
}

func TestTrustRulesOfAFile(t *testing.T) {
	t.Parallel()
	rules, err := policy.Parse([]byte("trust:\n  environments: {Kiosk: low, \"*\": medium}\n  above_limit: {high: " +
		"summary, hyper: metadata, medium: withhold}\n"))
	require.NoError(t, err)
	require.Empty(t, rules.Rules())
	require.Equal(t, policy.TrustRules{Environments: map[string]schema.Sensitivity{"kiosk": schema.SensitivityLow,
		"*": schema.SensitivityMedium},
		Above: map[schema.Sensitivity]schema.Redaction{schema.SensitivityHigh: schema.RedactedSummary,
			schema.SensitivityHyper: schema.RedactedMetadata}}, rules.Trust())
	var none *policy.Policy
	require.Zero(t, none.Trust())
	for text, fields := range map[string][]string{
		"trust: []":                      {"trust"},
		"trust: {environment: {}}":       {"trust.environment"},
		"trust: {environments: [kiosk]}": {"trust.environments"},
		"trust: {environments: {kiosk: none, a: \"\"}}": {"trust.environments.kiosk",
			"trust.environments.a"},
		"trust: {environments: {kiosk: low, KIOSK: low}}": {"trust.environments.KIOSK"},
		"trust: {environments: {\"\": low}}":              {"trust.environments."},
		"trust: {above_limit: {high: show, low: summary, hyper: redact}}": {"trust.above_limit.high",
			"trust.above_limit.hyper"},
		"trust: {above_limit: {public: summary, secret: withhold}}": {"trust.above_limit.public",
			"trust.above_limit.secret"},
		"{}": {"rules"},
	} {
		_, err := policy.Parse([]byte(text))
		var bad *policy.Error
		require.ErrorAs(t, err, &bad, text)
		var got []string
		for _, f := range bad.Fields {
			got = append(got, f.Field)
		}
		require.ElementsMatch(t, fields, got, text)
	}
}

// Neither an accepted claim nor a signed token grants one user the memories of another.
func TestClearanceOfUser(t *testing.T) {
	t.Parallel()
	maya := trustedOne
	maya.Scope, maya.User = "", "maya"
	granted := schema.TrustContext{Scopes: []string{"user/tom", "kitchen", "user/maya", "user/"}}
	token := signed(t, trustKey, maya, granted, trustNow.Add(time.Minute))
	for name, c := range map[string]struct {
		key   []byte
		trust schema.TrustContext
	}{
		"believed": {nil, granted},
		"signed":   {trustKey, schema.TrustContext{Token: token}},
	} {
		got := policy.TrustRules{}.Clear(schema.RecallRequest{Principal: maya, Query: "q", Trust: &c.trust}, c.key,
			trustNow)
		require.Equal(t, []string{"kitchen"}, got.Scopes, name)
		require.Contains(t, got.Problems, schema.TrustScopes, name)
	}
	tom := maya
	tom.User = "tom"
	_, err := policy.OpenTrust(trustKey, token, tom, trustNow)
	require.ErrorIs(t, err, policy.ErrTrustPrincipal, "a token is for one user")
}
