package intake_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/memory/memorytest"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

const prefersTea = "User prefers green tea"

func TestCheckExtractionFacts(t *testing.T) {
	t.Parallel()
	with := func(change func(*memory.Fact)) memory.Fact {
		f := memorytest.Fact(prefersTea)
		change(&f)
		return f
	}
	claim := memory.Claim{Subject: "User", Predicate: "prefers", Object: "green tea", Functional: true}
	for name, tt := range map[string]struct {
		in       memory.Fact
		want     *memory.Fact // nil: dropped
		warnings []string
	}{
		"good":       {memorytest.Fact(prefersTea), new(memorytest.Fact(prefersTea)), nil},
		"whitespace": {memorytest.Fact(" User\n prefers\u00a0green tea "), new(memorytest.Fact(prefersTea)), nil},
		"shortest":   {memorytest.Fact("0123456789"), new(memorytest.Fact("0123456789")), nil},
		"too short": {memorytest.Fact(" 012345678 "), nil,
			[]string{"facts[0]: content shorter than 10 characters, dropped"}},
		"empty": {memorytest.Fact(""), nil,
			[]string{"facts[0]: content shorter than 10 characters, dropped"}},
		"longest": {memorytest.Fact(strings.Repeat("漢", 2000)),
			new(memorytest.Fact(strings.Repeat("漢", 2000))), nil},
		"too long": {memorytest.Fact(strings.Repeat("漢", 2001)), nil,
			[]string{"facts[0]: content longer than 2000 characters, dropped"}},
		"bad UTF-8": {memorytest.Fact("User prefers\xff green tea"), new(memorytest.Fact(prefersTea)),
			[]string{"facts[0].content: invalid characters removed"}},
		"NUL": {memorytest.Fact("User prefers green\x00 tea"), new(memorytest.Fact(prefersTea)),
			[]string{"facts[0].content: invalid characters removed"}},
		"confidence high": {with(func(f *memory.Fact) { f.Confidence = 1.1 }), nil,
			[]string{"facts[0]: confidence is not between 0 and 1, dropped"}},
		"confidence low": {with(func(f *memory.Fact) { f.Confidence = -0.1 }), nil,
			[]string{"facts[0]: confidence is not between 0 and 1, dropped"}},
		"confidence NaN": {with(func(f *memory.Fact) { f.Confidence = math.NaN() }), nil,
			[]string{"facts[0]: confidence is not between 0 and 1, dropped"}},
		"category in capitals": {with(func(f *memory.Fact) { f.Category = " FACT " }), new(memorytest.Fact(prefersTea)),
			nil},
		"category unknown": {with(func(f *memory.Fact) { f.Category = "opinion" }),
			new(with(func(f *memory.Fact) { f.Category = schema.CategoryPreference })),
			[]string{"facts[0]: unknown category, read as preference"}},
		"category missing": {with(func(f *memory.Fact) { f.Category = "" }),
			new(with(func(f *memory.Fact) { f.Category = schema.CategoryPreference })),
			[]string{"facts[0]: unknown category, read as preference"}},
		"claim": {with(func(f *memory.Fact) { f.Claim = claim }), new(with(func(f *memory.Fact) { f.Claim = claim })),
			nil},
		"claim cleaned": {with(func(f *memory.Fact) {
			f.Claim = memory.Claim{Subject: " User ", Predicate: "Prefers--best", Object: "green\ttea"}
		}), new(with(func(f *memory.Fact) {
			f.Claim = memory.Claim{Subject: "User", Predicate: "prefers_best", Object: "green tea"}
		})), nil},
		"claim incomplete": {with(func(f *memory.Fact) {
			f.Claim = memory.Claim{Subject: "User", Predicate: "?!", Object: "tea"}
		}), new(memorytest.Fact(prefersTea)),
			[]string{"facts[0].claim: incomplete, ignored"}},
		"claim too long": {with(func(f *memory.Fact) {
			f.Claim = memory.Claim{Subject: strings.Repeat("x", 201), Predicate: "likes", Object: "tea"}
		}), new(memorytest.Fact(prefersTea)), []string{"facts[0].claim: longer than 200 characters, ignored"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := intake.CheckExtraction(memory.Extraction{Facts: []memory.Fact{tt.in}})
			want := []memory.Fact{}
			if tt.want != nil {
				want = append(want, *tt.want)
			}
			require.Equal(t, want, got.Facts)
			require.Equal(t, tt.warnings, got.Warnings)
		})
	}
}

func TestCheckExtractionTriples(t *testing.T) {
	t.Parallel()
	good := memory.Triple{Source: "Alice", Relationship: "works at", Target: "ACME", Confidence: 0.8}
	long := strings.Repeat("x", memory.MaxEntityLength+1)
	got := intake.CheckExtraction(memory.Extraction{Triples: []memory.Triple{
		{Source: " Alice ", Relationship: "works  at", Target: "ACME", Confidence: 0.8},
		{Source: "alice", Relationship: "Works At", Target: "acme", Confidence: 0.3},
		{Source: "Alice", Relationship: " ", Target: "ACME", Confidence: 0.8},
		{Source: "Alice", Relationship: "knows", Target: long, Confidence: 0.8},
		{Source: "Alice", Relationship: "knows", Target: "Bob", Confidence: math.Inf(1)},
	}})
	require.Equal(t, []memory.Triple{good}, got.Triples)
	require.Equal(t, []string{
		"triples[1]: same as triples[0], dropped",
		"triples[2]: incomplete, dropped",
		"triples[3]: name longer than 200 characters, dropped",
		"triples[4]: confidence is not between 0 and 1, dropped",
	}, got.Warnings)
}

func TestCheckExtractionLimits(t *testing.T) {
	t.Parallel()
	var raw memory.Extraction
	for i := range 60 {
		raw.Facts = append(raw.Facts, memorytest.Fact(fmt.Sprintf("Fact number %d", i)))
		raw.Triples = append(raw.Triples,
			memory.Triple{Source: fmt.Sprint(i), Relationship: "precedes", Target: fmt.Sprint(i + 1)})
	}
	got := intake.CheckExtraction(raw)
	require.Equal(t, raw.Facts[:memory.MaxFacts], got.Facts)
	require.Equal(t, raw.Triples[:memory.MaxTriples], got.Triples)
	require.Equal(t, []string{"facts: 40 after the first 20 dropped", "triples: 10 after the first 50 dropped"},
		got.Warnings)

	duplicates := intake.CheckExtraction(memory.Extraction{Facts: []memory.Fact{memorytest.Fact("too short"),
		memorytest.Fact(prefersTea), memorytest.Fact("USER prefers green tea.")}})
	require.Len(t, duplicates.Facts, 1)
	require.Equal(t, "facts[2]: same as facts[1], dropped", duplicates.Warnings[1])

	hopeless := intake.CheckExtraction(memory.Extraction{Facts: make([]memory.Fact, 1000),
		Warnings: []string{"model:\nanswer\x1b was cut\u202e"}})
	require.Len(t, hopeless.Warnings, intake.MaxWarnings)
	require.Equal(t, "model: answer was cut", hopeless.Warnings[0])
	require.Equal(t, "and 952 more warnings", hopeless.Warnings[intake.MaxWarnings-1])

	empty, err := json.Marshal(intake.CheckExtraction(memory.Extraction{}))
	require.NoError(t, err)
	require.JSONEq(t, `{"facts":[]}`, string(empty))
}

// requireChecked requires that an extraction is within the limits of memory/fact.go.
func requireChecked(t require.TestingT, got memory.Extraction) {
	name := func(s string) {
		require.True(t, s != "" && utf8.ValidString(s) && !strings.Contains(s, "\x00"))
		require.LessOrEqual(t, utf8.RuneCountInString(s), memory.MaxEntityLength)
	}
	require.LessOrEqual(t, len(got.Facts), memory.MaxFacts)
	seen := make(map[string]bool)
	for _, f := range got.Facts {
		normalized := normalize.Normalize(f.Content)
		require.Equal(t, normalized.Storage, f.Content)
		require.NotContains(t, f.Content, "\x00")
		n := utf8.RuneCountInString(f.Content)
		require.True(t, n >= memory.MinFactLength && n <= memory.MaxFactLength)
		require.True(t, f.Category.Valid())
		require.True(t, f.Confidence >= 0 && f.Confidence <= 1)
		require.False(t, seen[string(normalized.Hash)], "duplicate fact")
		seen[string(normalized.Hash)] = true
		if f.Claim != (memory.Claim{}) {
			name(f.Claim.Subject)
			name(f.Claim.Predicate)
			name(f.Claim.Object)
		}
	}
	require.LessOrEqual(t, len(got.Triples), memory.MaxTriples)
	for _, tr := range got.Triples {
		name(tr.Source)
		name(tr.Relationship)
		name(tr.Target)
		require.True(t, tr.Confidence >= 0 && tr.Confidence <= 1)
	}
	require.LessOrEqual(t, len(got.Warnings), intake.MaxWarnings)
	for _, warning := range got.Warnings {
		require.LessOrEqual(t, utf8.RuneCountInString(warning), intake.MaxWarningLength)
	}
	_, err := json.Marshal(got)
	require.NoError(t, err)
	require.Equal(t, got, intake.CheckExtraction(got), "checking is idempotent")
}

func TestCheckExtractionProperties(t *testing.T) {
	t.Parallel()
	confidence := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{math.NaN(), math.Inf(-1), 2}))
	name := rapid.OneOf(memorytest.AnyText(), rapid.Just("Alice"), rapid.Just(strings.Repeat("x", 201)))
	facts := rapid.Custom(func(t *rapid.T) memory.Fact {
		return memory.Fact{
			Content: rapid.SampledFrom([]string{"", "secret fact "}).Draw(t, "head") +
				memorytest.AnyText().Draw(t, "content"),
			Category:   schema.Category(rapid.SampledFrom([]string{"fact", "Rule", "odd", ""}).Draw(t, "category")),
			Confidence: confidence.Draw(t, "confidence"),
			Claim: memory.Claim{Subject: name.Draw(t, "subject"), Predicate: name.Draw(t, "predicate"),
				Object: name.Draw(t, "object")},
		}
	})
	triples := rapid.Custom(func(t *rapid.T) memory.Triple {
		return memory.Triple{Source: name.Draw(t, "source"), Relationship: name.Draw(t, "relationship"),
			Target: name.Draw(t, "target"), Confidence: confidence.Draw(t, "confidence")}
	})
	rapid.Check(t, func(t *rapid.T) {
		raw := memory.Extraction{
			Facts:   rapid.SliceOfN(facts, 0, 30).Draw(t, "facts"),
			Triples: rapid.SliceOfN(triples, 0, 8).Draw(t, "triples"),
		}
		got := intake.CheckExtraction(raw)
		requireChecked(t, got)
		require.NotContains(t, strings.Join(got.Warnings, "\n"), "secret", "warnings contain no content")
	})
}

func FuzzCheckExtraction(f *testing.F) {
	f.Add([]byte(`{"facts":[{"content":"User prefers dark mode","category":"preference","confidence":0.9}]}`),
		"warning")
	f.Add([]byte(`{"facts":[{"content":"\u0000\ud800          ","claim":{"predicate":"İΣ_'"}}],"triples":[{"source":"a","relationship":"b","target":"c"}]}`), "\xff")
	f.Add([]byte(`{"facts":[{},{},{}],"triples":[{}],"warnings":["x"]}`), strings.Repeat("é", 500))
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		var raw memory.Extraction
		_ = json.Unmarshal(data, &raw) // possibly a partial extraction
		raw.Warnings = append(raw.Warnings, text)
		raw.Facts = append(raw.Facts, memorytest.Fact(text),
			memory.Fact{Content: string(data), Category: schema.Category(text), Confidence: 1})
		raw.Triples = append(raw.Triples, memory.Triple{Source: text, Relationship: string(data), Target: text})
		requireChecked(t, intake.CheckExtraction(raw))
	})
}

func TestCheckProposal(t *testing.T) {
	t.Parallel()
	neighbors := []memory.Neighbor{{ID: "m1"}, {ID: "m2"}, {ID: ""}}
	for name, tt := range map[string]struct {
		in, want memory.Proposal
	}{
		"add": {
			memory.Proposal{Action: "add", Confidence: 0.9, Reason: "new"},
			memory.Proposal{Action: "add", Confidence: 0.9, Reason: "new"}},
		"update": {
			memory.Proposal{Action: " UPDATE ", TargetID: " m1 ", Confidence: 1, Reason: "newer"},
			memory.Proposal{Action: "update", TargetID: "m1", Confidence: 1, Reason: "newer"}},
		"none with a known target": {
			memory.Proposal{Action: "none", TargetID: "m2"},
			memory.Proposal{Action: "none", TargetID: "m2"}},
		"none with an unknown target": {
			memory.Proposal{Action: "none", TargetID: "m9", Reason: "known"},
			memory.Proposal{Action: "none", Reason: "known",
				Warnings: []string{"proposal: target was not among the candidates; ignored"}}},
		"add with a target": {
			memory.Proposal{Action: "add", TargetID: "m1"},
			memory.Proposal{Action: "add", Warnings: []string{"proposal: add with a target; target ignored"}}},
		"no target": {
			memory.Proposal{Action: "delete", TargetID: " ", Confidence: 0.5, Reason: "gone"},
			memory.Proposal{Action: "none", Confidence: 0.5, Reason: "missing_target_id",
				Warnings: []string{"proposal: delete without a target"}}},
		"invented target": {
			memory.Proposal{Action: "update", TargetID: "m3", Warnings: []string{"earlier"}},
			memory.Proposal{Action: "none", Reason: "unknown_target_id",
				Warnings: []string{"earlier", "proposal: target was not among the candidates"}}},
		"unknown action": {
			memory.Proposal{Action: "merge", TargetID: "m1", Confidence: 0.5},
			memory.Proposal{Action: "none", Confidence: 0.5, Reason: "invalid_action",
				Warnings: []string{"proposal: unknown action"}}},
		"no action": {
			memory.Proposal{},
			memory.Proposal{Action: "none", Reason: "invalid_action", Warnings: []string{"proposal: unknown action"}}},
		"confidence out of range": {
			memory.Proposal{Action: "update", TargetID: "m1", Confidence: 95},
			memory.Proposal{Action: "none", Reason: "invalid_confidence",
				Warnings: []string{"proposal: confidence is not between 0 and 1"}}},
		"confidence not a number": {
			memory.Proposal{Action: "add", Confidence: math.NaN()},
			memory.Proposal{Action: "none", Reason: "invalid_confidence",
				Warnings: []string{"proposal: confidence is not between 0 and 1"}}},
		"reason cleaned": {
			memory.Proposal{Action: "add", Reason: "  line\none\x00\x1b[31m \u202egnol " + strings.Repeat("é", 400)},
			memory.Proposal{Action: "add",
				Reason: "line one [31m gnol " + strings.Repeat("é", 300-len("line one [31m gnol "))}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, intake.CheckProposal(tt.in, neighbors))
		})
	}
}

func TestCheckProposalProperties(t *testing.T) {
	t.Parallel()
	ids := rapid.SampledFrom([]string{"", "m1", "m2", "m3", "m4"})
	rapid.Check(t, func(t *rapid.T) {
		var neighbors []memory.Neighbor
		for _, id := range rapid.SliceOfN(ids, 0, 4).Draw(t, "offered") {
			neighbors = append(neighbors, memory.Neighbor{ID: id})
		}
		got := intake.CheckProposal(memory.Proposal{
			Action: schema.Action(rapid.SampledFrom([]string{"add", "update", "delete", "none", "",
				"odd"}).Draw(t, "action")),
			TargetID: ids.Draw(t, "target"),
			Confidence: rapid.OneOf(rapid.Float64Range(0, 1), rapid.Float64(),
				rapid.Just(math.NaN())).Draw(t, "confidence"),
			Reason:   memorytest.AnyText().Draw(t, "reason"),
			Warnings: rapid.SliceOfN(memorytest.AnyText(), 0, 60).Draw(t, "warnings"),
		}, neighbors)

		if got.TargetID != "" {
			require.True(t, slices.ContainsFunc(neighbors, func(n memory.Neighbor) bool {
				return n.ID == got.TargetID
			}))
		}
		switch got.Action {
		case schema.ActionUpdate, schema.ActionDelete:
			require.NotEmpty(t, got.TargetID)
		case schema.ActionAdd:
			require.Empty(t, got.TargetID)
		default:
			require.Equal(t, schema.ActionNone, got.Action)
		}
		require.True(t, got.Confidence >= 0 && got.Confidence <= 1)
		require.LessOrEqual(t, utf8.RuneCountInString(got.Reason), intake.MaxReasonLength)
		require.LessOrEqual(t, len(got.Warnings), intake.MaxWarnings)
		require.Equal(t, got, intake.CheckProposal(got, neighbors), "checking is idempotent")
	})
}
