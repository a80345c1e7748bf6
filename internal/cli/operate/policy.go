package operate

import (
	"cmp"
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/exchange"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
)

// NewPolicy returns the command that checks classification rules.
func NewPolicy(a *app.App) *cobra.Command {
	cmd := app.Group(&cobra.Command{Use: "policy", Short: "Check classification rules, and show their decisions"})
	cmd.AddCommand(app.ForInstallation(newPolicyCheck(a)), newPolicyExplain(a))
	return cmd
}

// CheckedPolicy is the output of `policy check`.
type CheckedPolicy struct {
	Policy string            `json:"policy"` // short hash, as history names it
	Rules  []policy.RuleInfo `json:"rules"`
}

func newPolicyCheck(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Check a rules file as the worker does",
		Long: `Check a rules file as the worker does: its form, and the types of its conditions. Every problem is
reported, with its rule and field. Neither the database nor Temporal is needed.`,
		Example: "  mneme policy check policy.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := a.ReadPolicy(args[0])
			if err != nil {
				return err
			}
			return a.Print(CheckedPolicy{p.Hash(), p.Rules()}, func(t *app.Text) {
				rows := make([][]string, 0, len(p.Rules()))
				for _, r := range p.Rules() {
					rows = append(rows, []string{r.Name, strings.Join(r.Sets, ", "), r.Description})
				}
				t.Line("policy %s is valid: %d rules", p.Hash(), len(rows))
				if len(rows) > 0 {
					t.Table("RULE SETS DESCRIPTION", rows)
				}
			})
		},
	}
}

// Explained is the output of `policy explain`.
type Explained struct {
	Policy    string               `json:"policy"` // short hash; empty without rules
	Kind      policy.Kind          `json:"kind"`
	Recalled  bool                 `json:"recalled,omitempty"` // it is a result of recall and would not be stored
	Decisions []policy.Decision    `json:"decisions"`
	Matched   []string             `json:"matched"`
	Problems  []policy.RuleProblem `json:"problems"`
	Detected  []string             `json:"detected"`
}

func newPolicyExplain(a *app.App) *cobra.Command {
	var (
		candidate                                    exchange.CandidateFlags
		file, input, record, visibility, kind, claim string
		fact                                         memory.Fact
	)
	cmd := &cobra.Command{
		Use:   "explain [CONTENT|-]",
		Short: "Show how a text would be classified, and by which rules",
		Long: `Show how a candidate, record or fact would be classified. Each field names what decides it: a rule, a
detector, the candidate itself, the classifier or a default. Nothing is stored, and neither the database nor Temporal
is needed. Rules are those of --file, or else of MNEME_POLICY_FILE.

The input is CONTENT with the flags of remember, or a JSON file with a candidate or a full record.
With --kind fact, CONTENT is a fact that the pipeline extracted from such a candidate.`,
		Example: `  mneme policy explain "The API key is in the vault" --file policy.yaml --tag ops
  mneme policy explain --candidate candidate.json --json
  mneme policy explain "Dana lives in Oslo" --kind fact --claim Dana,lives_in,Oslo`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if n := min(len(args), 1) + given(cmd.Flags(), "candidate") + given(cmd.Flags(), "record"); n != 1 {
				return app.Invalid("content", "give CONTENT, --candidate or --record")
			}
			if err := explainWithoutEffect(cmd.Flags(), kind); err != nil {
				return err
			}
			rules, err := a.ReadPolicy(cmp.Or(file, a.Cfg.PolicyFile))
			if err != nil {
				return err
			}
			if record != "" {
				return explainRecord(a, record, rules)
			}
			c, err := candidate.Candidate(a, cmd.Flags(), args)
			if input != "" {
				c, err = readCandidate(a, input)
			}
			if err != nil {
				return err
			}
			req := schema.IngestRequest{Principal: a.Cfg.Principal, Visibility: schema.Visibility(visibility),
				Candidates: []schema.Candidate{c}}
			if err := req.Validate(); err != nil {
				return app.OfItem("candidates[0]", err)
			}
			switch policy.Kind(kind) {
			case policy.KindCandidate:
				in := intake.Admit(c, req.Principal, req.Visibility, rules)
				return explainPolicy(a, policy.KindCandidate, in.Explanation, in.Recalled)
			case policy.KindFact:
				fact.Content, fact.Category = c.Content, c.Category
				if claim != "" {
					parts := strings.SplitN(claim, ",", 3)
					if len(parts) != 3 {
						return app.Invalid("claim", "must be subject,predicate,object")
					}
					fact.Claim = memory.Claim{Subject: parts[0], Predicate: parts[1], Object: parts[2]}
				}
				if !(fact.Confidence >= 0 && fact.Confidence <= 1) {
					return app.Invalid("confidence", "must be between 0 and 1")
				}
				src := intake.FactSource{Candidate: c, Principal: req.Principal, Visibility: req.Visibility, Trust: 1}
				return explainPolicy(a, policy.KindFact, intake.AdmitFact(fact, src, rules), false)
			}
			return app.Invalid("kind", "must be candidate or fact")
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&file, "file", "", "rules file; that of MNEME_POLICY_FILE by default")
	flags.StringVar(&input, "candidate", "",
		"JSON file with a candidate, in place of CONTENT and its flags; - is standard input")
	flags.StringVar(&record, "record", "", "JSON file with a full record")
	flags.StringVar(&visibility, "visibility", "", "of the request: private (the default), group, shared or global")
	flags.StringVar(&kind, "kind", string(policy.KindCandidate),
		"candidate, or fact: extracted from one by the pipeline")
	flags.Float64Var(&fact.Confidence, "confidence", 0.9, "of the fact, with --kind fact")
	flags.StringVar(&claim, "claim", "", "of the fact, as subject,predicate,object")
	candidate.Register(flags)
	return cmd
}

// explainWithoutEffect refuses the flags that have no effect on the input that was given.
func explainWithoutEffect(flags *pflag.FlagSet, kind string) error {
	var described pflag.FlagSet
	new(exchange.CandidateFlags).Register(&described)
	var names []string
	described.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if flags.Changed("record") {
		return app.RefuseWith(flags, "--record", append(names, "visibility", "kind", "confidence", "claim")...)
	}
	if flags.Changed("candidate") {
		if err := app.RefuseWith(flags, "--candidate", names...); err != nil {
			return err
		}
	}
	if policy.Kind(kind) != policy.KindFact {
		return app.RefuseWithout(flags, "--kind fact", "confidence", "claim")
	}
	return nil
}

// given counts a flag that was set.
func given(flags *pflag.FlagSet, name string) int {
	if flags.Changed(name) {
		return 1
	}
	return 0
}

// readCandidate reads a candidate from a JSON file, or from standard input.
func readCandidate(a *app.App, path string) (schema.Candidate, error) {
	const most = 2 * schema.MaxContentBytes // escapes take room
	var data []byte
	var err error
	if path == "-" {
		data, err = io.ReadAll(io.LimitReader(a.In, most+1))
	} else {
		data, err = app.ReadInput(path, most)
	}
	if err != nil {
		return schema.Candidate{}, err
	}
	return schema.DecodeCandidate(data)
}

// explainRecord explains a full record from a JSON file.
func explainRecord(a *app.App, path string, rules *policy.Policy) error {
	data, err := app.ReadInput(path, schema.MaxRequestBytes)
	if err != nil {
		return err
	}
	m, err := schema.DecodeRecord(data)
	if err != nil {
		return err
	}
	return explainPolicy(a, policy.KindRecord, intake.AdmitRecord(m, a.Cfg.Principal, rules), false)
}

func explainPolicy(a *app.App, kind policy.Kind, e policy.Explanation, recalled bool) error {
	out := Explained{Policy: e.Policy, Kind: kind, Recalled: recalled, Decisions: e.Decisions,
		Matched: e.Matched, Problems: e.Problems,
		Detected: append([]string{}, e.Classification.Detected...)}
	return a.Print(out, out.text)
}

func (e Explained) text(t *app.Text) {
	policy := e.Policy
	if policy == "" {
		policy = "no rules"
	}
	note := ""
	if e.Recalled {
		note = "came out of recall: it would be recorded, not stored"
	}
	t.Fields("policy", policy, "kind", string(e.Kind), "detected", strings.Join(e.Detected, ", "),
		"matched", strings.Join(e.Matched, ", "), "note", note)
	t.Line("")
	rows := make([][]string, 0, len(e.Decisions))
	for _, d := range e.Decisions {
		rows = append(rows, []string{d.Field, decided(d.Value), d.By, decided(d.Was)})
	}
	t.Table("FIELD VALUE DECIDED\u00a0BY WAS", rows)
	if len(e.Problems) > 0 {
		t.Line("")
		rows = rows[:0]
		for _, problem := range e.Problems {
			rows = append(rows, []string{problem.Rule, problem.Field, problem.Problem})
		}
		t.Table("RULE FIELD PROBLEM", rows)
	}
}

// decided formats a value for people.
func decided(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []string:
		return strings.Join(v, ", ")
	case string:
		return v
	}
	encoded, _ := json.Marshal(v) // numbers and booleans always encode
	return string(encoded)
}
