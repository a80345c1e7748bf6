package memory_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/memorytest"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

func TestInferCategory(t *testing.T) {
	t.Parallel()
	for category, contents := range map[schema.Category][]string{
		schema.CategoryPreference: {
			"User prefers dark mode",
			"I prefer tabs", "She preferred the old layout", "PREFERS: vim",
			"Alice likes short answers", "Alice liked the mock-up", "User dislikes pop-ups",
			"I really like Go", "We don't like surprises", "We don’t like surprises", "Bob doesn't like meetings",
			"Users would like an export button", "I'd like a summary", "They never like it",
			"The customer wants a refund",
			"Bob always prefers tabs", "Alice prefers tabs and never uses spaces",
		},
		schema.CategoryDecision: {
			"Decided to use PostgreSQL", "Everyone agreed on Go",
			"The team will use pgx", "We'll use Qdrant", "We’ll now use Qdrant", "We will not use MongoDB",
			"I won't use it",
			"We decided to never deploy on Fridays",
		},
		schema.CategoryRule: {
			"Never deploy on Fridays.", "Always run migrations first, the old order was broken",
			"Tokens must not be logged", "You mustn’t push to main", "You must prefer composition",
			"critical: never expose tokens",
		},
		schema.CategoryLearning: {
			"Learned that retries must be idempotent", "We discovered a faster path", "Learnt the hard way",
		},
		schema.CategoryIssue: {
			"There is a bug in the parser", "The build is broken", "The build is always broken on Mondays",
			"Login broke again", "Problem: the cache is cold", "Two bugs remain. User prefers dark mode.",
		},
		schema.CategoryFact: {
			"", "...", "Signet stores data in SQLite",
			"A tissue sample", "Mustard is yellow", "He is debugging", "The debugger is attached",
			"It looks like rain", "Something like this", "Like a database", "It feels just like home",
			"The post got 300 likes", "the likes of us",
			"They reuse it", "The will is signed; we use it", "I use vim",
			"A must-have gadget", "An always-on display", "Bug-free since 2020", "The tool bug_report is new",
			"Undecided voters disagreed", "unwanted mail", "See https://example.com/bug/broken",
		},
	} {
		for _, content := range contents {
			require.Equal(t, category, memory.InferCategory(content), content)
		}
	}
}

func TestInferCategoryProperties(t *testing.T) {
	t.Parallel()
	neutral := rapid.SampledFrom(strings.Fields("tissue mustard debugging problematic server liked-by buggies and " +
		"the runs 42 . , ; 🚀"))
	rapid.Check(t, func(t *rapid.T) {
		content := memorytest.AnyText().Draw(t, "content")
		category := memory.InferCategory(content)
		require.True(t, category.Valid())
		require.Equal(t, category, memory.InferCategory(normalize.StorageContent(content)),
			"whitespace does not matter")

		words := rapid.SliceOfN(neutral, 0, 8).Draw(t, "words")
		require.Equal(t, schema.CategoryFact, memory.InferCategory(strings.Join(words, " ")))
		at := rapid.IntRange(0, len(words)).Draw(t, "at")
		with := append(append(append([]string{}, words[:at]...), "Decided"), words[at:]...)
		require.Equal(t, schema.CategoryDecision, memory.InferCategory(strings.Join(with, " ")))
	})
}

func TestClassify(t *testing.T) {
	t.Parallel()
	ptr := func(f float64) *float64 { return &f }
	episode := memory.Classification{
		Type: schema.TypeEpisodic, Tier: schema.TierSession, Typology: schema.TypologyEpisodic,
		Category: schema.CategoryFact, Sensitivity: schema.SensitivityLow, Confidence: 1, Importance: 0.5,
		Decay: memory.DefaultDecay(schema.TypeEpisodic), DeletionPolicy: schema.DeleteAutoPrune,
	}
	explicit := memory.Classification{
		Type: schema.TypeSemantic, Tier: schema.TierPersistent, Typology: schema.TypologySemantic,
		Category: schema.CategoryFact, Sensitivity: schema.SensitivityLow, Confidence: 1, Importance: 0.8,
		Decay: memory.DefaultDecay(schema.TypeSemantic), DeletionPolicy: schema.DeleteAutoPrune,
	}
	with := func(c memory.Classification, change func(*memory.Classification)) memory.Classification {
		change(&c)
		return c
	}
	for name, tt := range map[string]struct {
		candidate schema.Candidate
		want      memory.Classification
	}{
		"observation":    {schema.Candidate{Content: "text", SourceKind: schema.SourceObservation}, episode},
		"kind not given": {schema.Candidate{Content: "text"}, episode},
		"explicit save":  {schema.Candidate{Content: "text", SourceKind: schema.SourceMemory}, explicit},
		"category inferred": {schema.Candidate{Content: "User prefers tea"},
			with(episode, func(c *memory.Classification) { c.Category = schema.CategoryPreference })},
		"category given": {schema.Candidate{Content: "User prefers tea", Category: schema.CategorySemantic},
			with(episode, func(c *memory.Classification) { c.Category = schema.CategorySemantic })},
		"sensitivity given": {schema.Candidate{Content: "text", Sensitivity: schema.SensitivityHyper},
			with(episode, func(c *memory.Classification) { c.Sensitivity = schema.SensitivityHyper })},
		"importance given": {schema.Candidate{Content: "text", Importance: ptr(0)},
			with(episode, func(c *memory.Classification) { c.Importance = 0 })},
		"importance NaN": {schema.Candidate{Content: "text", Importance: ptr(math.NaN())}, episode},
		"pinned": {schema.Candidate{Content: "critical: [B,c]: text", SourceKind: schema.SourceMemory,
			Importance: ptr(0.1), Tags: []string{"A", "b"}},
			with(explicit, func(c *memory.Classification) {
				c.Importance, c.Pinned, c.Tags, c.DeletionPolicy = 1, true, []string{"a", "b",
					"c"}, schema.DeleteManualOnly
			})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, memory.Classify(tt.candidate, normalize.CandidatePrefix(tt.candidate)))
		})
	}
}

func TestClassifyProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		importance := rapid.Float64().Draw(t, "importance")
		c := schema.Candidate{
			Content: memorytest.AnyText().Draw(t, "content"),
			SourceKind: schema.SourceKind(rapid.SampledFrom([]string{"", "memory", "user_input", "tool_output",
				"odd"}).Draw(t, "kind")),
			Category:    schema.Category(rapid.SampledFrom([]string{"", "rule", "odd"}).Draw(t, "category")),
			Sensitivity: schema.Sensitivity(rapid.SampledFrom([]string{"", "high", "odd"}).Draw(t, "sensitivity")),
			Importance:  &importance,
			Tags:        rapid.SliceOfN(rapid.StringN(0, 3, -1), 0, 60).Draw(t, "tags"),
		}
		got := memory.Classify(c, normalize.ParsePrefix(c.Content))
		require.True(t, got.Category.Valid())
		require.True(t, got.Sensitivity.Valid())
		require.True(t, got.Importance >= 0 && got.Importance <= 1)
		require.LessOrEqual(t, len(got.Tags), schema.MaxTags)
		tier, typology := memory.Placement(got.Type)
		require.Equal(t, tier, got.Tier)
		require.Equal(t, typology, got.Typology)
		if got.Pinned {
			require.Equal(t, 1.0, got.Importance)
			require.NotEqual(t, schema.DeleteAutoPrune, got.DeletionPolicy)
		}
	})
}

func TestClassifyFact(t *testing.T) {
	t.Parallel()
	got := memory.ClassifyFact(memory.Fact{Content: "User prefers tea", Category: schema.CategoryPreference,
		Confidence: 0.9})
	require.Equal(t, schema.TypeSemantic, got.Type)
	require.Equal(t, schema.TierPersistent, got.Tier)
	require.Equal(t, schema.CategoryPreference, got.Category)
	require.Equal(t, 0.9, got.Importance)
	require.Equal(t, 0.9, got.Confidence)
	require.Equal(t, schema.SensitivityLow, got.Sensitivity)
	require.False(t, got.Pinned)

	require.Equal(t, schema.CategoryIssue, memory.ClassifyFact(memory.Fact{Content: "The build is broken"}).Category)
	require.Zero(t, memory.ClassifyFact(memory.Fact{Confidence: math.NaN()}).Importance)

	for want, sources := range map[schema.Sensitivity][]schema.Sensitivity{
		schema.SensitivityLow:  {"", schema.SensitivityPublic, schema.SensitivityLow},
		schema.SensitivityHigh: {schema.SensitivityMedium, schema.SensitivityHigh, schema.SensitivityPublic},
		// A class that this version does not know ranks above all known classes.
		schema.SensitivityHyper: {schema.SensitivityLow, "cosmic"},
	} {
		require.Equal(t, want, got.DerivedFrom(sources...).Sensitivity)
	}
}

func TestPlacement(t *testing.T) {
	t.Parallel()
	for memoryType, want := range map[schema.MemoryType]struct {
		tier     schema.Tier
		typology schema.Typology
		deletion schema.DeletionPolicy
	}{
		schema.TypeEpisodic:   {schema.TierSession, schema.TypologyEpisodic, schema.DeleteAutoPrune},
		schema.TypeWorking:    {schema.TierInteraction, schema.TypologyEpisodic, schema.DeleteAutoPrune},
		schema.TypeSemantic:   {schema.TierPersistent, schema.TypologySemantic, schema.DeleteAutoPrune},
		schema.TypeCompetence: {schema.TierPersistent, schema.TypologyProcedural, schema.DeleteManualOnly},
		schema.TypePlanGraph:  {schema.TierPersistent, schema.TypologyProcedural, schema.DeleteManualOnly},
		"unknown category":    {schema.TierSession, schema.TypologyEpisodic, schema.DeleteAutoPrune},
	} {
		tier, typology := memory.Placement(memoryType)
		require.Equal(t, want.tier, tier, memoryType)
		require.Equal(t, want.typology, typology, memoryType)
		require.Equal(t, want.deletion, memory.DefaultDeletion(memoryType, false), memoryType)
		require.Equal(t, schema.DeleteManualOnly, memory.DefaultDeletion(memoryType, true), memoryType)
	}
}
