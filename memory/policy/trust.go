package policy

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
)

// Trust limits (document 004 §13 and §15.9).
const (

	// UnprovenLimit is the limit for callers who are not authenticated. The RFC leaves it to the implementation:
	// medium is the default limit of recall.
	UnprovenLimit = schema.SensitivityMedium
	// MaxTrustLifetime is the longest validity of a signed trust context, which cannot be revoked.
	MaxTrustLifetime = 30 * 24 * time.Hour
)

// AnyEnvironment is the name under which a policy sets the limit for all environments that it does not name, and for
// requests without an environment.
const AnyEnvironment = "*"

// TrustRules has a policy's rules for showing memories (docs/trust.md). The zero value lowers no limit and withholds
// all memories above the limit.
type TrustRules struct {
	// Environments has the highest sensitivity that is shown in an environment, by its name in lower case.
	Environments map[string]schema.Sensitivity
	// Above sets how memories above the limit are shown, by their sensitivity. Others are withheld.
	Above map[schema.Sensitivity]schema.Redaction
}

// Clearance has the permissions that follow from a trust context.
type Clearance struct {
	Authenticated bool
	Limit         schema.Sensitivity // content up to here; empty means DefaultLimit
	Scopes        []string           // in addition to the principal's
	Metadata      []schema.Sensitivity
	Summary       []schema.Sensitivity
	Problems      []schema.TrustProblem
}

// UpTo returns a clearance up to a sensitivity, for a caller that has authenticated the principal.
func UpTo(limit schema.Sensitivity) Clearance { return Clearance{Authenticated: true, Limit: limit} }

// Meta returns the clearance in the form of an answer's meta data.
func (c Clearance) Meta() *schema.TrustMeta {
	return &schema.TrustMeta{
		Authenticated:  c.Authenticated,
		MaxSensitivity: cmp.Or(c.Limit, sensitive.DefaultLimit),
		Scopes:         c.Scopes,
		Problems:       c.Problems,
	}
}

// Clear returns the clearance of a recall (document 004 §13). Its limit is the lowest of the request's limit, the limit
// of its trust context, and the limit of the policy for the environment. If none of these is set it is DefaultLimit,
// and without authentication at most UnprovenLimit.
//
// key is the deployment's trust key. Without a key the context is not checked. With one, authentication, a limit above
// UnprovenLimit and scopes need a token that the key has signed for the principal. They then apply only if both the
// token and the context grant them.
func (r TrustRules) Clear(req schema.RecallRequest, key []byte, now time.Time) Clearance {
	var c Clearance
	claims, environments := c.proven(req, key, now)
	if req.Principal.User != "" {
		own := ownScopes(claims.Scopes, req.Principal)
		c.note(schema.TrustScopes, len(own) < len(claims.Scopes))
		claims.Scopes = own
	}
	c.Authenticated, c.Scopes = claims.Authenticated, trustScopes(claims.Scopes, req.Principal.EffectiveScope())

	c.Limit = cmp.Or(req.MaxSensitivity, claims.MaxSensitivity, sensitive.DefaultLimit)
	c.lower(claims.MaxSensitivity, schema.TrustCeiling)
	for _, name := range environments {
		c.lower(r.environment(name), schema.TrustEnvironment)
	}
	if !c.Authenticated {
		c.lower(UnprovenLimit, schema.TrustUnauthenticated)
	}
	for _, level := range c.Limit.Above() {
		if level == schema.SensitivityHyper && !c.Authenticated {
			continue // not even its existence
		}
		switch r.Above[level] {
		case schema.RedactedMetadata:
			c.Metadata = append(c.Metadata, level)
		case schema.RedactedSummary:
			c.Summary = append(c.Summary, level)
		}
	}
	return c
}

// proven returns the claims of the request's trust context as far as they count, and the environments whose limits
// apply: one that the request names and, with a key, one that the token names.
func (c *Clearance) proven(req schema.RecallRequest, key []byte, now time.Time) (schema.TrustContext, []string) {
	var claims schema.TrustContext
	if req.Trust != nil {
		claims = *req.Trust
	}
	// An environment without a signature can only lower the limit.
	environments := []string{claims.Environment}
	if len(key) == 0 {
		c.note(schema.TrustTokenUnchecked, claims.Token != "")
		return claims, environments
	}
	environments = append(environments, "")
	if claims.Token == "" {
		c.note(schema.TrustUnproven, claims.Authenticated || len(claims.Scopes) > 0 ||
			sensitive.Rank(claims.MaxSensitivity) > sensitive.Rank(UnprovenLimit))
		claims.Authenticated, claims.Scopes = false, nil
		return claims, environments
	}
	signed, err := OpenTrust(key, claims.Token, req.Principal, now)
	if err != nil {
		c.note(trustProblem(err), true)
		claims.Authenticated, claims.Scopes = false, nil
		return claims, environments
	}
	// The claims of the request can only narrow those of the token. Claims that the request omits come from the token.
	scopes := signed.Scopes
	if len(claims.Scopes) > 0 {
		scopes = slices.DeleteFunc(slices.Clone(claims.Scopes),
			func(s string) bool { return !slices.Contains(signed.Scopes, s) })
		c.note(schema.TrustScopes, len(scopes) < len(claims.Scopes))
	}
	environments[0], environments[1] = cmp.Or(claims.Environment, signed.Environment), signed.Environment
	claims.Authenticated, claims.Scopes = signed.Authenticated, scopes
	claims.MaxSensitivity = claims.MaxSensitivity.Lower(signed.MaxSensitivity)
	return claims, environments
}

// note adds a problem once, if it applies.
func (c *Clearance) note(problem schema.TrustProblem, applies bool) {
	if applies && !slices.Contains(c.Problems, problem) {
		c.Problems = append(c.Problems, problem)
	}
}

// lower lowers the limit, and notes why if that changes it.
func (c *Clearance) lower(to schema.Sensitivity, why schema.TrustProblem) {
	lowered := c.Limit.Lower(to)
	c.note(why, lowered != c.Limit)
	c.Limit = lowered
}

// environment returns the policy's limit in an environment, or "" for none.
func (r TrustRules) environment(name string) schema.Sensitivity {
	if limit, ok := r.Environments[strings.ToLower(name)]; ok && name != "" {
		return limit
	}
	return r.Environments[AnyEnvironment]
}

// ownScopes returns the scopes that do not belong to another user, because no grant gives a user the memories of
// another.
func ownScopes(scopes []string, p schema.Principal) []string {
	return slices.DeleteFunc(slices.Clone(scopes), func(s string) bool {
		return strings.HasPrefix(s, schema.UserScopePrefix) && s != p.EffectiveScope()
	})
}

// trustScopes returns the scopes other than the principal's, each once, in order.
func trustScopes(scopes []string, own string) []string {
	var out []string
	for _, s := range scopes {
		if s != "" && s != own && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

// Errors of a signed trust context. They do not quote it.
var (
	ErrTrustMalformed = errors.New("the trust token is not valid")
	ErrTrustExpired   = errors.New("the trust token has expired")
	ErrTrustPrincipal = errors.New("the trust token is for another principal")
	ErrTrustKey       = errors.New("a trust key must have at least 32 bytes")
)

func trustProblem(err error) schema.TrustProblem {
	switch {
	case errors.Is(err, ErrTrustExpired):
		return schema.TrustTokenExpired
	case errors.Is(err, ErrTrustPrincipal):
		return schema.TrustTokenOther
	}
	return schema.TrustTokenInvalid
}

// MinTrustKey is the least length of a trust key in bytes, that of the MAC.
const MinTrustKey = sha256.Size

// SignedTrust is the content of a trust token.
type SignedTrust struct {
	Principal schema.Principal    `json:"principal"`
	Trust     schema.TrustContext `json:"trust"`   // without a token
	Expires   int64               `json:"expires"` // Unix seconds
}

const (
	trustPrefix = "mt1."
	trustDomain = "mneme.trust" // so that other MACs with the same key are not valid tokens
)

// SignTrust returns a token that proves a principal's trust context: the context with an HMAC-SHA256. It is not
// encrypted. Each holder of the token has its permissions until it expires, so keep it secret like a password. The
// caller must limit its lifetime to MaxTrustLifetime.
func SignTrust(key []byte, p schema.Principal, t schema.TrustContext, expires time.Time) (string, error) {
	if len(key) < MinTrustKey {
		return "", ErrTrustKey
	}
	t.Token, t.MaxSensitivity = "", cmp.Or(t.MaxSensitivity, sensitive.DefaultLimit) // the default if missing
	body, err := json.Marshal(SignedTrust{Principal: p, Trust: t, Expires: expires.Unix()})
	if err != nil {
		return "", err // unreachable: names, numbers and booleans
	}
	encoding := base64.RawURLEncoding
	return trustPrefix + encoding.EncodeToString(body) + "." + encoding.EncodeToString(trustMAC(key, body)), nil
}

// ReadTrust checks a token's signature and time, and returns its content. The error is ErrTrustMalformed, also if
// another key has signed the token, or ErrTrustExpired. The MAC is checked first, in constant time, so that the
// answer reveals nothing about a forged token.
func ReadTrust(key []byte, token string, now time.Time) (SignedTrust, error) {
	encoded, ok := strings.CutPrefix(token, trustPrefix)
	body, mac, parts := strings.Cut(encoded, ".")
	// Even a strict decoder skips line breaks.
	if !ok || !parts || len(key) < MinTrustKey || len(token) > schema.MaxTrustToken || strings.ContainsAny(token,
		"\r\n") {
		return SignedTrust{}, ErrTrustMalformed
	}
	encoding := base64.RawURLEncoding.Strict()
	raw, err := encoding.DecodeString(body)
	given, err2 := encoding.DecodeString(mac)
	if err != nil || err2 != nil || !hmac.Equal(given, trustMAC(key, raw)) {
		return SignedTrust{}, ErrTrustMalformed // not wrapped: the decoder's error quotes the text
	}
	var signed SignedTrust
	if json.Unmarshal(raw, &signed) != nil || signed.Trust.Validate() != nil {
		return SignedTrust{}, ErrTrustMalformed // unreachable while only SignTrust signs
	}
	if now.Unix() >= signed.Expires {
		return SignedTrust{}, ErrTrustExpired
	}
	return signed, nil
}

// OpenTrust is ReadTrust for a request of a principal, which must equal the principal of the token. To act for another
// agent, group, project or scope, a caller needs another token.
func OpenTrust(key []byte, token string, p schema.Principal, now time.Time) (schema.TrustContext, error) {
	signed, err := ReadTrust(key, token, now)
	if err != nil {
		return schema.TrustContext{}, err
	}
	if signed.Principal != p {
		return schema.TrustContext{}, ErrTrustPrincipal
	}
	return signed.Trust, nil
}

func trustMAC(key, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	normalize.WritePart(h, []byte(trustDomain))
	normalize.WritePart(h, body)
	return h.Sum(nil)
}
