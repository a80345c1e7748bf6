package outcome_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/outcome"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
)

const (
	applied, skipped, blocked = schema.ProposalApplied, schema.ProposalSkipped, schema.ProposalBlocked
	add, update, remove, none = schema.ActionAdd, schema.ActionUpdate, schema.ActionDelete, schema.ActionNone
	lyon, oslo                = "Maya lives in Lyon.", "Maya lives in Oslo."
)

func TestFactMessages(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]schema.FactOutcome{
		"remembered: Maya lives in Oslo.": {Action: add, State: applied},
		"remembered: Maya lives in Oslo. ": { // the submitted sentence is the fact itself
			Action: none, State: skipped, Skipped: proposals.ReasonAlreadyKnown, MemoryID: "s", SourceID: "s"},
		"already known: Maya lives in Oslo.": {Action: none, State: skipped, Skipped: proposals.ReasonAlreadyKnown,
			MemoryID: "m", SourceID: "s"},
		"already known: Maya lives in Oslo. ": {Action: add, State: skipped, Skipped: "duplicate_content_hash",
			MemoryID: "m"},

		"updates: Maya lives in Lyon → Maya lives in Oslo.": {Action: update,
			State: applied, TargetID: "m", Target: lyon},
		"updates: an earlier memory → Maya lives in Oslo.": {Action: update,
			State: applied, TargetID: "m"},
		"contradicts: Maya lives in Lyon ↔ Maya lives in Oslo; both are kept and marked": {Action: add,
			State: applied, Contested: true, Target: lyon},
		"contradicts: Maya lives in Lyon ↔ Maya lives in Oslo; both are kept and marked ": {Action: update,
			State: applied, Contested: true, TargetID: "m", Target: lyon},
		"contradicts another memory, both are kept and marked: Maya lives in Oslo.": {Action: add,
			State: applied, Contested: true},
		"takes back: Maya lives in Lyon.": {Action: update,
			State: applied, Retracts: true, TargetID: "m", Target: lyon},
		"takes back: Maya lives in Lyon. ": {Action: remove,
			State: applied, TargetID: "m", Target: lyon},
		"takes back: an earlier memory": {Action: remove,
			State: applied, TargetID: "m"},
		"waits for review: Maya lives in Lyon → Maya lives in Oslo; see mneme review show p": {Action: update,
			State: blocked, Skipped: proposals.ReasonDestructiveDisabled, Target: lyon, ProposalID: "p"},
		"waits for review: takes back Maya lives in Lyon (the memory is pinned)": {Action: remove,
			State: blocked, Skipped: proposals.ReasonPinnedTarget, Target: lyon},
		"waits for review: Maya lives in Lyon → Maya lives in Oslo (they contradict each other)": {Action: update,
			State: blocked, Skipped: proposals.ReasonContradiction, Target: lyon},
		"waits for review: Maya lives in Lyon → Maya lives in Oslo (both cannot hold)": {Action: add,
			State: blocked, Skipped: "active_fact_exists", MemoryID: "m", Target: lyon},
		"waits for review: an earlier memory → Maya lives in Oslo (some_new_reason)": {Action: update,
			State: blocked, Skipped: "some_new_reason"},

		"not written, because shadow mode writes nothing: Maya lives in " +
			"Oslo.": {Action: add, State: blocked, Skipped: proposals.ReasonShadowMode},
		"not written, because frozen mode keeps only what was said: Maya lives in Lyon → Maya lives in " +
			"Oslo.": {Action: update, State: blocked, Skipped: proposals.ReasonMutationsFrozen, Target: lyon},

		"not sure enough to keep (confidence 0.5): Maya lives in Oslo.": {State: skipped,
			Skipped: proposals.ReasonLowFactConfidence, Confidence: 0.5},
		"not sure enough to keep (confidence 0.45): Maya lives in Oslo.": {State: skipped,
			Skipped: proposals.ReasonLowFactConfidence, Confidence: 0.45},
		"nothing in it to keep: Maya lives in Oslo.": {State: skipped,
			Skipped: proposals.ReasonEmptyFactContent},
		"takes back what no memory says: Maya lives in Oslo.": {Action: none,
			State: skipped, Skipped: proposals.ReasonRetractionWithoutTarget, Retracts: true},
		"forgotten meanwhile: Maya lives in Oslo.": {State: skipped,
			Skipped: "parent_forgotten"},
		"not written (some_new_reason): Maya lives in Oslo.": {State: skipped,
			Skipped: "some_new_reason"},
		"only kept as said, because the decision about it could not be used: Maya lives in Oslo.": {State: skipped,
			Skipped: proposals.ReasonUndecided},

		"rejected in review: Maya lives in Oslo.":                           {State: schema.ProposalRejected},
		"expired, because it was not reviewed in time: Maya lives in Oslo.": {State: schema.ProposalExpired},
		"still being worked on: Maya lives in Oslo.":                        {State: schema.ProposalProposed},
	} {
		f.Content = oslo
		require.Equal(t, strings.TrimSpace(want), outcome.Fact(f))
	}
}

// Withheld content is named by its kind and never quoted.
func TestWithheldContentIsNotQuoted(t *testing.T) {
	t.Parallel()
	hyper := func(f schema.FactOutcome, kinds ...string) schema.FactOutcome {
		f.Withheld, f.Sensitivity, f.Detected = true, schema.SensitivityHyper, kinds
		return f
	}
	for want, f := range map[string]schema.FactOutcome{
		"remembered; an API key was found and is " +
			"withheld": hyper(schema.FactOutcome{Action: add, State: applied}, sensitive.DetectedAPIKey,
			sensitive.DetectedEmail),
		"updates: an earlier memory; a password and an IBAN were found and are " +
			"withheld": hyper(schema.FactOutcome{Action: update, State: applied}, sensitive.DetectedPassword,
			sensitive.DetectedIBAN),
		"waits for review; see mneme review show p; a secret was found and is " +
			"withheld": hyper(schema.FactOutcome{Action: add, State: blocked,
			Skipped: proposals.ReasonDestructiveDisabled, ProposalID: "p"}, sensitive.DetectedSecret),
		"not sure enough to keep (confidence 0.5); withheld, because its sensitivity is " +
			"hyper": hyper(schema.FactOutcome{State: skipped, Skipped: proposals.ReasonLowFactConfidence,
			Confidence: 0.5}),
	} {
		require.Equal(t, want, outcome.Fact(f))
	}
	require.Equal(t, "kept as said; a private key, an access token and a password were found and are withheld",
		outcome.Candidate(schema.CandidateOutcome{Stored: true, Withheld: true,
			Detected: []string{sensitive.DetectedPrivateKey, sensitive.DetectedToken, sensitive.DetectedPassword}},
			nil))
}

// Every sensitive kind that recall withholds by default has its own words.
func TestEveryWithheldKindHasMessage(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"-----BEGIN RSA PRIVATE KEY-----", "AKIAIOSFODNN7EXAMPLQ",
		"Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc", "my password is hunter2x",
		"postgres://ann:s3cretpw@db.acme.example/x", "4111 1111 1111 1111", "DE89370400440532013000",
		"my passport number is X1234567"} {
		level, kinds := sensitive.Detect(text)
		require.True(t, sensitive.IsWithheld(level), text)
		require.NotContains(t, outcome.Withheld(level, kinds), "sensitivity", text)
	}
	require.False(t, sensitive.IsWithheld(schema.SensitivityMedium))
}

func TestCandidateMessages(t *testing.T) {
	t.Parallel()
	took := schema.FactOutcome{SourceID: "s", Action: add, State: applied}
	unsure := schema.FactOutcome{SourceID: "s", State: skipped, Skipped: proposals.ReasonLowFactConfidence}
	elsewhere := schema.FactOutcome{SourceID: "other", Action: add, State: applied}
	for want, c := range map[string]struct {
		candidate schema.CandidateOutcome
		facts     []schema.FactOutcome
	}{
		"remembered":    {schema.CandidateOutcome{Stored: true}, []schema.FactOutcome{unsure, took}},
		"kept as said":  {schema.CandidateOutcome{Stored: true}, []schema.FactOutcome{unsure, elsewhere}},
		"kept as said ": {schema.CandidateOutcome{Stored: true}, nil},
		"already known": {schema.CandidateOutcome{Stored: true, Deduped: true}, nil},
		"only evaluated, because shadow mode writes nothing": {schema.CandidateOutcome{}, nil},
		"came out of recall: recorded, not learned again":    {schema.CandidateOutcome{Recalled: true}, nil},
	} {
		c.candidate.MemoryID = "s"
		require.Equal(t, strings.TrimSpace(want), outcome.Candidate(c.candidate, c.facts))
	}
	for want, c := range map[string]schema.CandidateOutcome{
		"remembered":    {},
		"already known": {Deduped: true},
		"came out of recall: recorded, not learned again": {Recalled: true},
		"remembered; an API key was found and is withheld": {Withheld: true,
			Detected: []string{sensitive.DetectedAPIKey}},
	} {
		require.Equal(t, want, outcome.Accepted(c))
	}
}

// A message is one short line, also for long memories.
func TestMessagesAreShortLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("on and\n on ", 500)
	line := outcome.Fact(schema.FactOutcome{Action: update, State: applied, Content: long, Target: long})
	require.NotContains(t, line, "\n")
	require.Less(t, len([]rune(line)), 700)
	require.Contains(t, line, "…")
}

// Every machine-readable reason of packages memory and store has a message.
func TestEveryReasonHasMessage(t *testing.T) {
	t.Parallel()
	seen, named := map[string]bool{}, regexp.MustCompile("^[rR]eason[A-Z]")
	for _, dir := range []string{"..", "../../store"} {
		require.NoError(t, filepath.WalkDir(dir, func(source string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(source) != ".go" || strings.HasSuffix(source, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), source, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				spec, ok := n.(*ast.ValueSpec)
				if !ok || len(spec.Values) != 1 || !named.MatchString(spec.Names[0].Name) {
					return true
				}
				if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
					reason, err := strconv.Unquote(literal.Value)
					require.NoError(t, err)
					require.True(t, outcome.Knows(reason), "%s: %s", spec.Names[0].Name, reason)
					seen[reason] = true
				}
				return true
			})
			return nil
		}))
	}
	for _, reason := range []string{proposals.ReasonUndecided, proposals.ReasonShadowMode, "active_fact_exists",
		"forgotten"} {
		require.True(t, seen[reason], reason)
	}
	require.False(t, outcome.Knows("some_new_reason"))
}
