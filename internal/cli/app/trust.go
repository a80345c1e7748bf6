package app

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
)

const maxSensitivityUsage = "public, low, medium (the default), high or hyper; above medium needs --authenticated"

// RegisterTrust registers the flags of the trust context.
func (a *App) RegisterTrust(flags *pflag.FlagSet) {
	t := &a.trust
	flags.BoolVar(&t.Authenticated, "authenticated", false,
		"the reader of the answer is authenticated (docs/trust.md)")
	flags.StringSliceVar(&t.Scopes, "trust-scope", nil, "scope to read in addition to --scope (repeatable)")
	flags.StringVar(&t.Environment, "environment", os.Getenv("MNEME_ENVIRONMENT"),
		"environment in which the answer is shown; the policy may lower its limit (MNEME_ENVIRONMENT)")
	flags.StringVar(&t.Token, "trust-token", os.Getenv("MNEME_TRUST_TOKEN"),
		"signed trust context, for a deployment with a trust key (MNEME_TRUST_TOKEN)")
	flags.Lookup("trust-token").DefValue = "" // help shows defaults, and a token is like a password
}

// TrustContext is the trust context from the flags, nil if none is set.
func (a *App) TrustContext() *schema.TrustContext {
	t := a.trust
	if !t.Authenticated && len(t.Scopes) == 0 && t.Environment == "" && t.Token == "" {
		return nil
	}
	return &t
}

// SensitivityFlag registers the limit of a command that shows single memories.
func SensitivityFlag(flags *pflag.FlagSet) *string {
	return flags.String("max-sensitivity", "", maxSensitivityUsage)
}

// Clearance returns the clearance for the flags under the policy and the key of this process.
func (a *App) Clearance(limit string) (policy.Clearance, error) {
	req := schema.RecallRequest{Principal: a.Cfg.Principal, Query: "any", MaxSensitivity: schema.Sensitivity(limit),
		Trust: a.TrustContext()}
	if err := req.Validate(); err != nil {
		return policy.Clearance{}, err
	}
	rules, err := a.ReadPolicy(a.Cfg.PolicyFile)
	if err != nil {
		return policy.Clearance{}, err
	}
	c := rules.Trust().Clear(req, a.Cfg.TrustKey, time.Now())
	a.NoteTrust(c.Meta())
	return c, nil
}

// NoteTrust prints why less is shown than requested.
func (a *App) NoteTrust(t *schema.TrustMeta) {
	if t == nil || len(t.Problems) == 0 {
		return
	}
	problems := make([]string, len(t.Problems))
	for i, p := range t.Problems {
		problems[i] = string(p)
	}
	a.Note("mneme: shown up to %s: %s", t.MaxSensitivity, strings.Join(problems, ", "))
}

// NewTrust returns the command that signs and checks trust contexts.
func NewTrust(a *App) *cobra.Command {
	cmd := Group(&cobra.Command{
		Use:   "trust",
		Short: "Sign and check the trust contexts of recalls: sign, verify",
		Long: `Sign and check trust contexts. If MNEME_TRUST_KEY is set (32 bytes in base64), a recall needs a token to
be authenticated, to show memories above medium and to read further scopes. The token must be signed with the key
for the recall's principal. Anyone who has a token can use it until it expires.`,
		Example: `  mneme trust sign --agent support --authenticated --max-sensitivity high --expires 10m
  mneme recall "what is owed" --agent support --max-sensitivity high --trust-token "$TOKEN"`,
	})
	cmd.AddCommand(WithTrust(newTrustSign(a)), ForInstallation(newTrustVerify(a)))
	return cmd
}

// SignedTrust is what `trust sign` and `trust verify` print.
type SignedTrust struct {
	Token     string              `json:"token,omitempty"`
	Principal schema.Principal    `json:"principal"`
	Trust     schema.TrustContext `json:"trust"`
	Expires   time.Time           `json:"expires"`
}

func (s SignedTrust) print(t *Text) {
	p := s.Principal
	t.Fields("owner", strings.Trim(p.Tenant+"/"+p.Agent+"/"+p.Project+"/"+p.EffectiveScope(), "/"),
		"policy group", p.PolicyGroup, "authenticated", fmt.Sprint(s.Trust.Authenticated),
		"up to", string(s.Trust.MaxSensitivity), "scopes", strings.Join(s.Trust.Scopes, ", "),
		"environment", s.Trust.Environment, "expires", When(s.Expires))
}

func newTrustSign(a *App) *cobra.Command {
	var limit string
	var expires time.Duration
	cmd := &cobra.Command{
		Use:   "sign",
		Short: "Sign a trust context for the principal that the flags name",
		Long: `Sign a trust context for the principal that the flags name: --authenticated, --max-sensitivity,
--trust-scope and --environment. The token grants only what these flags name. Prints the token; with --json
also its contents.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := RefuseWith(cmd.Flags(), "sign, which makes a token", "trust-token"); err != nil {
				return err
			}
			if err := a.needTrustKey(); err != nil {
				return err
			}
			if expires <= 0 || expires > policy.MaxTrustLifetime {
				return Invalid("expires", "must be more than 0 and at most %s", policy.MaxTrustLifetime)
			}
			grant := a.trust
			grant.Token, grant.MaxSensitivity = "", schema.Sensitivity(limit)
			req := schema.RecallRequest{Principal: a.Cfg.Principal, Query: "any", Trust: &grant}
			if err := req.Validate(); err != nil {
				return err
			}
			slices.Sort(grant.Scopes)
			now := time.Now()
			token, err := policy.SignTrust(a.Cfg.TrustKey, a.Cfg.Principal, grant, now.Add(expires))
			if err != nil {
				return err
			}
			signed, err := policy.ReadTrust(a.Cfg.TrustKey, token, now)
			if err != nil {
				return err
			}
			out := SignedTrust{Token: token, Principal: signed.Principal, Trust: signed.Trust,
				Expires: time.Unix(signed.Expires, 0).UTC()}
			return a.Print(out, func(t *Text) { t.Line("%s", token) })
		},
	}
	cmd.Flags().StringVar(&limit, "max-sensitivity", "",
		"highest sensitivity that may be shown: public, low, medium (the default), high or hyper")
	cmd.Flags().DurationVar(&expires, "expires", time.Hour, "validity of the token")
	return cmd
}

func newTrustVerify(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "verify TOKEN",
		Short: "Show what a token grants, and to whom",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.needTrustKey(); err != nil {
				return err
			}
			signed, err := policy.ReadTrust(a.Cfg.TrustKey, strings.TrimSpace(args[0]), time.Now())
			if err != nil {
				return WithCode(ExitConflict, err)
			}
			out := SignedTrust{Principal: signed.Principal, Trust: signed.Trust,
				Expires: time.Unix(signed.Expires, 0).UTC()}
			return a.Print(out, out.print)
		},
	}
}

func (a *App) needTrustKey() error {
	if len(a.Cfg.TrustKey) == 0 {
		return WithCode(ExitUsage,
			fmt.Errorf("MNEME_TRUST_KEY is not set: use 32 bytes in base64, as from `openssl rand -base64 32`"))
	}
	return nil
}

// PolicyInForce returns the rules of the rules file, read once.
func (a *App) PolicyInForce() (func() *policy.Policy, error) {
	rules, err := a.ReadPolicy(a.Cfg.PolicyFile)
	return func() *policy.Policy { return rules }, err
}

// ReadPolicy reads a rules file; no path means no rules.
func (a *App) ReadPolicy(path string) (*policy.Policy, error) {
	if path == "" {
		return nil, nil
	}
	data, err := ReadInput(path, policy.MaxBytes)
	if err != nil {
		return nil, err
	}
	return policy.Parse(data)
}
