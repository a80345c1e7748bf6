package main

import (
	"cmp"
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
)

func newPolicy(a *app) *cobra.Command {
	cmd := group(&cobra.Command{Use: "policy", Short: "Check classification rules, and see what they decide"})
	cmd.AddCommand(newPolicyCheck(a), newPolicyExplain(a))
	return cmd
}

// checkedPolicy is what `policy check` prints.
type checkedPolicy struct {
	Policy string            `json:"policy"` // short hash, as history names it
	Rules  []policy.RuleInfo `json:"rules"`
}

func newPolicyCheck(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Check a rules file as the worker does",
		Long: `Check a rules file as the worker does: its form, and the types of its conditions. Every problem is
reported, with its rule and field. Neither the database nor Temporal is needed.`,
		Example: "  mneme policy check policy.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := a.readPolicy(args[0])
			if err != nil {
				return err
			}
			return a.print(checkedPolicy{p.Hash(), p.Rules()}, func(t *text) {
				rows := make([][]string, 0, len(p.Rules()))
				for _, r := range p.Rules() {
					rows = append(rows, []string{r.Name, strings.Join(r.Sets, ", "), r.Description})
				}
				t.line("policy %s is valid: %d rules", p.Hash(), len(rows))
				if len(rows) > 0 {
					t.table("RULE SETS DESCRIPTION", rows)
				}
			})
		},
	}
}

// explained is what `policy explain` prints.
type explained struct {
	Policy    string               `json:"policy"` // short hash; empty without rules
	Kind      policy.PolicyKind    `json:"kind"`
	Recalled  bool                 `json:"recalled,omitempty"` // it came out of recall and would not be stored
	Decisions []policy.Decision    `json:"decisions"`
	Matched   []string             `json:"matched"`
	Problems  []policy.RuleProblem `json:"problems"`
	Detected  []string             `json:"detected"`
}

func newPolicyExplain(a *app) *cobra.Command {
	var (
		candidate                                    candidateFlags
		file, input, record, visibility, kind, claim string
		fact                                         memory.Fact
	)
	cmd := &cobra.Command{
		Use:   "explain [CONTENT|-]",
		Short: "Show which rule would decide what, without storing anything",
		Long: `Show how something would be classified, field by field, and who decides: a rule, a detector, the
candidate itself, the classifier or a default. Nothing is stored, and neither the database nor Temporal
is needed. Rules are those of --file, or else of MNEME_POLICY_FILE.

What is classified is CONTENT with the flags of remember, a candidate from a JSON file, or a full record
from one. With --kind fact, CONTENT is a fact that the pipeline drew from such a candidate.`,
		Example: `  mneme policy explain "The API key is in the vault" --file policy.yaml --tag ops
  mneme policy explain --candidate candidate.json --json
  mneme policy explain "Dana lives in Oslo" --kind fact --claim Dana,lives_in,Oslo`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if n := min(len(args), 1) + given(cmd.Flags(), "candidate") + given(cmd.Flags(), "record"); n != 1 {
				return invalid("content", "give CONTENT, --candidate or --record")
			}
			rules, err := a.readPolicy(cmp.Or(file, a.cfg.PolicyFile))
			if err != nil {
				return err
			}
			if record != "" {
				return a.explainRecord(record, rules)
			}
			c, err := candidate.candidate(a, cmd.Flags(), args)
			if input != "" {
				c, err = a.readCandidate(input)
			}
			if err != nil {
				return err
			}
			req := schema.IngestRequest{Principal: a.cfg.Principal, Visibility: schema.Visibility(visibility), Candidates: []schema.Candidate{c}}
			if err := req.Validate(); err != nil {
				return forFlags(err)
			}
			switch policy.PolicyKind(kind) {
			case policy.PolicyCandidate:
				in := intake.Admit(c, req.Principal, req.Visibility, rules)
				return a.explain(policy.PolicyCandidate, in.Explanation, in.Recalled)
			case policy.PolicyFact:
				fact.Content, fact.Category = c.Content, c.Category
				if claim != "" {
					parts := strings.SplitN(claim, ",", 3)
					if len(parts) != 3 {
						return invalid("claim", "must be subject,predicate,object")
					}
					fact.Claim = memory.Claim{Subject: parts[0], Predicate: parts[1], Object: parts[2]}
				}
				if !(fact.Confidence >= 0 && fact.Confidence <= 1) {
					return invalid("confidence", "must be between 0 and 1")
				}
				src := intake.FactSource{Candidate: c, Principal: req.Principal, Visibility: req.Visibility, Trust: 1}
				return a.explain(policy.PolicyFact, intake.AdmitFact(fact, src, rules), false)
			}
			return invalid("kind", "must be candidate or fact")
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&file, "file", "", "rules file; that of MNEME_POLICY_FILE by default")
	flags.StringVar(&input, "candidate", "", "JSON file with a candidate, in place of CONTENT and its flags; - is standard input")
	flags.StringVar(&record, "record", "", "JSON file with a full record")
	flags.StringVar(&visibility, "visibility", "", "of the request: private (the default), group, shared or global")
	flags.StringVar(&kind, "kind", string(policy.PolicyCandidate), "candidate, or fact: one that the pipeline drew from it")
	flags.Float64Var(&fact.Confidence, "confidence", 0.9, "of the fact, with --kind fact")
	flags.StringVar(&claim, "claim", "", "of the fact, as subject,predicate,object")
	candidate.register(flags)
	return cmd
}

// given counts a flag that was set.
func given(flags *pflag.FlagSet, name string) int {
	if flags.Changed(name) {
		return 1
	}
	return 0
}

// readCandidate reads a candidate from a JSON file, or from standard input.
func (a *app) readCandidate(path string) (schema.Candidate, error) {
	const most = 2 * schema.MaxContentBytes // escapes take room
	var data []byte
	var err error
	if path == "-" {
		data, err = io.ReadAll(io.LimitReader(a.in, most+1))
	} else {
		data, err = readInput(path, most)
	}
	if err != nil {
		return schema.Candidate{}, err
	}
	return schema.DecodeCandidate(data)
}

// explainRecord explains a full record from a JSON file.
func (a *app) explainRecord(path string, rules *policy.Policy) error {
	data, err := readInput(path, schema.MaxRequestBytes)
	if err != nil {
		return err
	}
	m, err := schema.DecodeRecord(data)
	if err != nil {
		return err
	}
	return a.explain(policy.PolicyRecord, intake.AdmitRecord(m, a.cfg.Principal, rules), false)
}

func (a *app) explain(kind policy.PolicyKind, e policy.Explanation, recalled bool) error {
	out := explained{Policy: e.Policy, Kind: kind, Recalled: recalled, Decisions: e.Decisions, Matched: e.Matched, Problems: e.Problems,
		Detected: append([]string{}, e.Classification.Detected...)}
	return a.print(out, out.text)
}

func (e explained) text(t *text) {
	policy := e.Policy
	if policy == "" {
		policy = "no rules"
	}
	note := ""
	if e.Recalled {
		note = "came out of recall: it would be recorded, not stored"
	}
	t.fields("policy", policy, "kind", string(e.Kind), "detected", strings.Join(e.Detected, ", "), "matched", strings.Join(e.Matched, ", "), "note", note)
	t.line("")
	rows := make([][]string, 0, len(e.Decisions))
	for _, d := range e.Decisions {
		rows = append(rows, []string{d.Field, decided(d.Value), d.By, decided(d.Was)})
	}
	t.table("FIELD VALUE DECIDED\u00a0BY WAS", rows)
	if len(e.Problems) > 0 {
		t.line("")
		rows = rows[:0]
		for _, problem := range e.Problems {
			rows = append(rows, []string{problem.Rule, problem.Field, problem.Problem})
		}
		t.table("RULE FIELD PROBLEM", rows)
	}
}

// decided is a value for people.
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
