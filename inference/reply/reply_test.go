package reply_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/inference/reply"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/schema"
)

// The neighbours in the malformed decisions.
const (
	first  = "0197f0a0-0000-7000-8000-000000000001"
	second = "0197f0a0-0000-7000-8000-000000000002"
)

var neighbors = []memory.Neighbor{{ID: first, Version: 1}, {ID: second, Version: 4}}

const (
	none   = schema.ActionNone
	add    = schema.ActionAdd
	update = schema.ActionUpdate
	remove = schema.ActionDelete
)

// The facts in the malformed extractions.
const (
	ana  = "Ana lives in Oslo since 2026."
	team = "The team deploys on Tuesdays only."
	ben  = "Ben prefers tea to coffee."
)

func facts(contents ...string) []string { return contents }
func warn(warnings ...string) []string  { return warnings }

func numbered(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("The number of this fact is %d.", i))
	}
	return out
}

func notObjects(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("answer.facts[%d]: must be an object", i))
	}
	return out
}

// An extractionCase is a file of testdata/malformed/extraction with the expected result.
type extractionCase struct {
	name     string
	facts    []string
	triples  int
	warnings []string
}

// A decisionCase is a file of testdata/malformed/decision with the expected result. The names of files that are
// readable despite their form begin with ok-; all others give no decision.
type decisionCase struct {
	name     string
	action   schema.Action
	target   string
	warnings []string
}

var extractions = []extractionCase{
	{"01-empty", facts(), 0, warn("answer: holds no JSON object with facts")},
	{"02-whitespace", facts(), 0, warn("answer: holds no JSON object with facts")},
	{"03-prose-only", facts(), 0, warn("answer: holds no JSON object with facts")},
	{"04-null", facts(), 0, warn("answer: holds no JSON object with facts")},
	{"05-number", facts(), 0, warn("answer: holds no JSON object with facts")},
	{"06-json-string", facts(), 0, warn("answer: ends too early", "answer: holds no JSON object with facts")},
	{"07-bare-array", facts(), 0, warn("answer: an array instead of an object; ignored",
		"answer: holds no JSON object with facts")},
	{"08-empty-object", facts(), 0, warn("answer: holds no JSON object with facts")},
	{"09-wrong-key", facts(), 0, warn("answer: holds no JSON object with facts")},
	{"10-wrapped-in-result", facts(), 0, warn("answer: holds no JSON object with facts")},
	{"11-facts-null", facts(), 0, warn("answer.facts: must be an array")},
	{"12-facts-object", facts(), 1, warn("answer.facts: must be an array")},
	{"13-facts-string", facts(), 0, warn("answer.facts: must be an array")},
	{"14-elements-not-objects", facts(team), 0,
		warn("answer.facts[0]: must be an object", "answer.facts[1]: must be an object",
			"answer.facts[2]: must be an object", "answer.facts[3]: must be an object",
			"answer.facts[4]: must be an object")},
	{"15-content-missing", facts(ana), 0, warn("answer.facts[0].content: missing")},
	{"16-content-number", facts(ana), 0, warn("answer.facts[0].content: must be a string")},
	{"17-content-null", facts(ana), 0, warn("answer.facts[0].content: missing")},
	{"18-content-too-short", facts(ana), 0, warn("facts[0]: content shorter than 10 characters, dropped")},
	{"19-content-too-long", facts(ana), 0, warn("facts[0]: content longer than 2000 characters, dropped")},
	{"20-content-nul-character", facts("Ana lives in Oslo.", ana), 0,
		warn("facts[0].content: invalid characters removed")},
	{"21-category-missing", facts(ben, ana), 0, warn("facts[0]: unknown category, read as preference")},
	{"22-category-unknown", facts(ben, ana), 0, warn("facts[0]: unknown category, read as preference")},
	{"23-category-array", facts(ana), 0, warn("answer.facts[0].category: must be a string")},
	{"24-confidence-string", facts(ana), 0, warn("answer.facts[0].confidence: must be a number")},
	{"25-confidence-word", facts(ana), 0, warn("answer.facts[0].confidence: must be a number")},
	{"26-confidence-over-one", facts(ana), 0, warn("facts[0]: confidence is not between 0 and 1, dropped")},
	{"27-confidence-negative", facts(ana), 0, warn("facts[0]: confidence is not between 0 and 1, dropped")},
	{"28-confidence-nan", facts(ana), 0, warn("answer.facts[0]: is not valid JSON")},
	{"29-confidence-overflow", facts(ana), 0, warn("answer.facts[0].confidence: must be a number")},
	{"30-confidence-missing", facts(ana), 0, warn("answer.facts[0].confidence: missing")},
	{"31-truncated-in-second-fact", facts(ana), 0,
		warn("answer: ends too early", "answer.facts[1]: is not valid JSON")},
	{"32-truncated-between-facts", facts(ana, team), 0, warn("answer: ends too early")},
	{"33-truncated-before-first-fact", facts(), 0, warn("answer: ends too early")},
	{"34-truncated-in-entities", facts(ana), 1,
		warn("answer: ends too early", "answer.entities[1]: is not valid JSON")},
	{"35-truncated-in-escape", facts(ana), 0, warn("answer: ends too early", "answer.facts[1]: is not valid JSON")},
	{"36-trailing-comma", facts(ana, team), 1,
		warn("answer.facts[2]: is empty", "answer.entities[1]: is empty", "answer: is not valid JSON in places")},
	{"37-single-quotes", facts(), 0, warn("answer: holds no JSON object with facts")},
	{"38-one-fact-single-quotes", facts(ana, team), 0, warn("answer.facts[1]: is not valid JSON")},
	{"39-unquoted-keys", facts(), 0, warn("answer: holds no JSON object with facts")},
	{"40-comment", facts(ana, ben), 0, warn("answer.facts[1]: is not valid JSON")},
	{"41-raw-line-break-in-string", facts(ana), 0, warn("answer.facts[0]: is not valid JSON")},
	{"42-python-literals", facts(ana), 0,
		warn("answer.facts[0]: is not valid JSON", "answer.entities: must be an array")},
	{"43-missing-comma", facts(ben), 0, warn("answer.facts[0]: is not valid JSON")},
	{"44-stray-bracket", facts(ana), 0, warn("answer: an array instead of an object; ignored")},
	{"45-duplicate-facts-key", facts(ana), 0, warn("answer.facts: given twice; the first is used")},
	{"46-duplicate-content-key", facts(ana), 0, warn("answer.facts[0]: has the same field twice")},
	{"47-two-objects", facts(ana), 0,
		warn("answer: holds more than one object with facts; all but the first are ignored")},
	{"48-ndjson-facts", facts(), 0, warn("answer: holds no JSON object with facts")},
	{"49-fenced", facts(ana, team), 1, warn()},
	{"50-fence-never-closed", facts(ana, team), 1, warn()},
	{"51-prose-around", facts(ana, team), 1, warn()},
	{"52-byte-order-mark", facts(ana, team), 1, warn()},
	{"53-think-block", facts(ana, team), 1, warn()},
	{"54-think-nested", facts(ana, team), 1, warn()},
	{"55-think-upper-case", facts(ana, team), 1, warn()},
	{"56-think-never-closed", facts(), 0,
		warn("answer: its reasoning never ends", "answer: holds no JSON object with facts")},
	{"57-think-opening-tag-missing", facts(ana, team), 1, warn()},
	{"58-think-after", facts(ana, team), 1, warn("answer: its reasoning never ends")},
	{"59-think-stray-brace", facts(ana, team), 1, warn()},
	{"60-think-in-content", facts("The qwen3 model writes <think> before it answers.", ana), 0, warn()},
	{"61-invalid-utf8", facts("Ana lives in � Oslo.", ana), 0,
		warn("answer: is not valid UTF-8; bad bytes were replaced")},
	{"62-lone-surrogate", facts("Ana lives in � Oslo.", ana), 0, warn()},
	{"63-deep-nesting", facts(), 1, warn("answer.facts[0]: is nested too deeply")},
	{"64-deep-nesting-never-closed", facts(ana), 0,
		warn("answer: ends too early", "answer.facts[1]: is nested too deeply")},
	{"65-deep-nesting-in-fact", facts(ana), 0, warn("answer.facts[0]: is nested too deeply")},
	{"66-three-hundred-facts", numbered(20), 0, warn("facts: 280 after the first 20 dropped")},
	{"67-hundred-entities", facts(ana), 50, warn("triples: 50 after the first 50 dropped")},
	{"68-all-elements-bad", facts(), 0, append(notObjects(20), "answer: has 180 more problems")},
	{"69-unknown-fields", facts(ana), 0, warn()},
	{"70-type-for-category", facts(ana), 0, warn()},
	{"71-type-contradicts-category", facts(ana), 0, warn("answer.facts[0].category: contradicts type")},
	{"72-claim-string", facts(ana), 0, warn("answer.facts[0].claim: must be an object")},
	{"73-claim-half", facts(ana), 0, warn("answer.facts[0].claim.object: missing")},
	{"74-claim-functional-string", facts(ana), 0, warn("answer.facts[0].claim.functional: must be a boolean")},
	{"75-entity-fields-wrong", facts(ana), 1,
		warn("answer.entities[0].target: must be a string", "answer.entities[1].relationship: missing",
			"answer.entities[1].target: missing", "answer.entities[1].confidence: missing",
			"answer.entities[2]: must be an object")},
	{"76-decision-instead", facts(), 0, warn("answer: holds no JSON object with facts")},
	{"77-injection", facts(ana), 0, warn()},
	{"78-html-error-page", facts(), 0, warn("answer: holds no JSON object with facts")},
	{"79-yaml", facts(), 0, warn("answer: holds no JSON object with facts")},
	{"80-tool-call", facts(), 0, warn("answer: holds no JSON object with facts")},
	{"81-repeated-until-cut", facts(ana, team), 1,
		warn("answer: ends too early", "answer: holds more than one object with facts; all but the first are ignored")},
	{"82-only-brackets", facts(), 0, warn("answer: ends too early", "answer: holds no JSON object with facts")},
	{"83-think-draft-then-stray-brace", facts(ana, team), 1, warn()},
}

var decisions = []decisionCase{
	{"01-empty", none, "", warn("answer: holds no JSON object with an action")},
	{"02-whitespace", none, "", warn("answer: holds no JSON object with an action")},
	{"03-prose-only", none, "", warn("answer: holds no JSON object with an action")},
	{"04-null", none, "", warn("answer: holds no JSON object with an action")},
	{"05-bare-word", none, "", warn("answer: holds no JSON object with an action")},
	{"06-json-string", none, "", warn("answer: ends too early", "answer: holds no JSON object with an action")},
	{"07-empty-object", none, "", warn("answer: holds no JSON object with an action")},
	{"08-array-of-decisions", none, "",
		warn("answer: an array instead of an object; ignored", "answer: holds no JSON object with an action")},
	{"09-array-never-closed", none, "",
		warn("answer: an array instead of an object; ignored", "answer: holds no JSON object with an action")},
	{"10-wrapped-in-decision", none, "", warn("answer: holds no JSON object with an action")},
	{"11-list-under-key", none, "", warn("answer: holds no JSON object with an action")},
	{"12-action-missing", none, "", warn("answer: holds no JSON object with an action")},
	{"13-action-null", none, "", warn("answer.action: missing")},
	{"14-action-number", none, "", warn("answer.action: must be a string")},
	{"15-action-array", none, "", warn("answer.action: must be a string")},
	{"16-action-unknown", none, "", warn("proposal: unknown action")},
	{"17-action-delete-all", none, "", warn("proposal: unknown action")},
	{"18-action-empty", none, "", warn("proposal: unknown action")},
	{"19-action-lookalike", none, "", warn("proposal: unknown action")},
	{"20-target-missing", none, "", warn("proposal: delete without a target")},
	{"21-target-null", none, "", warn("proposal: delete without a target")},
	{"22-target-empty", none, "", warn("proposal: delete without a target")},
	{"23-target-star", none, "", warn("proposal: target was not among the candidates")},
	{"24-target-not-offered", none, "", warn("proposal: target was not among the candidates")},
	{"25-target-number", none, "", warn("answer.target_id: must be a string")},
	{"26-target-array", none, "", warn("answer.target_id: must be a string")},
	{"27-target-object", none, "", warn("answer.target_id: must be a string")},
	{"28-target-upper-case", none, "", warn("proposal: target was not among the candidates")},
	{"29-target-prefix", none, "", warn("proposal: target was not among the candidates")},
	{"30-target-list-in-string", none, "", warn("proposal: target was not among the candidates")},
	{"31-target-sql", none, "", warn("proposal: target was not among the candidates")},
	{"32-target-nul-character", none, "", warn("proposal: target was not among the candidates")},
	{"33-targets-contradict", none, "", warn("answer.target_id: contradicts targetId")},
	{"34-confidence-missing", none, "", warn("answer.confidence: missing")},
	{"35-confidence-string", none, "", warn("answer.confidence: must be a number")},
	{"36-confidence-over-one", none, "", warn("proposal: confidence is not between 0 and 1")},
	{"37-confidence-negative", none, "", warn("proposal: confidence is not between 0 and 1")},
	{"38-confidence-null", none, "", warn("answer.confidence: missing")},
	{"39-confidence-nan", none, "", warn("answer: is not valid JSON")},
	{"40-confidence-overflow", none, "", warn("answer.confidence: must be a number")},
	{"41-reason-missing", none, "", warn("answer.reason: missing")},
	{"42-reason-array", none, "", warn("answer.reason: must be a string")},
	{"43-truncated", none, "", warn("answer: ends too early")},
	{"44-truncated-in-target", none, "", warn("answer: ends too early")},
	{"45-truncated-in-reason", none, "", warn("answer: ends too early")},
	{"46-single-quotes", none, "", warn("answer: holds no JSON object with an action")},
	{"47-unquoted-keys", none, "", warn("answer: holds no JSON object with an action")},
	{"48-trailing-comma", none, "", warn("answer: is not valid JSON")},
	{"49-comment", none, "", warn("answer: is not valid JSON")},
	{"50-python-literals", none, "", warn("answer: is not valid JSON")},
	{"51-raw-line-break-in-string", none, "", warn("answer: is not valid JSON")},
	{"52-missing-comma", none, "", warn("answer: holds no JSON object with an action")},
	{"53-duplicate-action", none, "", warn("answer: has the same field twice")},
	{"54-duplicate-target", none, "", warn("answer: has the same field twice")},
	{"55-two-decisions-disagree", none, "", warn("answer: holds decisions that disagree")},
	{"56-two-targets-disagree", none, "", warn("answer: holds decisions that disagree")},
	{"57-second-decision-truncated", none, "", warn("answer: ends too early", "answer: holds decisions that disagree")},
	{"58-think-never-closed", none, "",
		warn("answer: its reasoning never ends", "answer: holds no JSON object with an action")},
	{"59-think-only", none, "", warn("answer: holds no JSON object with an action")},
	{"60-think-nested-only", none, "", warn("answer: holds no JSON object with an action")},
	{"61-think-opening-tag-missing", none, "", warn("answer: holds no JSON object with an action")},
	{"62-deep-nesting", none, "", warn("answer: is nested too deeply")},
	{"63-deep-nesting-never-closed", none, "", warn("answer: ends too early")},
	{"64-facts-instead", none, "", warn("answer: holds no JSON object with an action")},
	{"65-html-error-page", none, "", warn("answer: holds no JSON object with an action")},
	{"66-yaml", none, "", warn("answer: holds no JSON object with an action")},
	{"67-tool-call", none, "", warn("answer: holds no JSON object with an action")},
	{"68-injection-prose", none, "", warn("answer: holds no JSON object with an action")},
	{"69-only-brackets", none, "", warn("answer: ends too early", "answer: holds no JSON object with an action")},
	{"70-binary", none, "", warn("answer: is not valid UTF-8; bad bytes were replaced",
		"answer: holds no JSON object with an action")},
	{"71-ok-action-upper-case", remove, first, warn()},
	{"72-ok-action-padded", remove, first, warn()},
	{"73-ok-target-padded", remove, first, warn()},
	{"74-ok-injection-extra-fields", add, "", warn()},
	{"75-ok-fenced", update, first, warn()},
	{"76-ok-prose-around", update, first, warn()},
	{"77-ok-byte-order-mark", update, first, warn()},
	{"78-ok-think-block", update, first, warn()},
	{"79-ok-think-opening-tag-missing", update, first, warn()},
	{"80-ok-camel-case-target", update, first, warn()},
	{"81-ok-said-twice", update, first, warn()},
	{"82-ok-invalid-utf8", update, first, warn("answer: is not valid UTF-8; bad bytes were replaced")},
	{"83-think-draft-then-stray-brace", none, "", warn("answer: holds no JSON object with an action")},
}

func TestExtractionOfMalformedAnswers(t *testing.T) {
	t.Parallel()
	require.Equal(t, len(files(t, "extraction")), len(extractions), "every file has a case")
	for _, c := range extractions {
		t.Run(c.name, func(t *testing.T) {
			got := reply.Extraction(load(t, "extraction", c.name))
			var contents []string
			for _, f := range got.Facts {
				contents = append(contents, f.Content)
				require.True(t, f.Category.Valid())
				require.True(t, f.Claim.IsZero(), "no file has a well-formed claim")
			}
			require.Equal(t, c.facts, contents)
			require.Len(t, got.Triples, c.triples)
			require.Equal(t, c.warnings, got.Warnings)
		})
	}
}

func TestDecisionOfMalformedAnswers(t *testing.T) {
	t.Parallel()
	require.Equal(t, len(files(t, "decision")), len(decisions), "every file has a case")
	for _, c := range decisions {
		t.Run(c.name, func(t *testing.T) {
			got := reply.Decision(load(t, "decision", c.name), neighbors)
			require.Equal(t, c.action, got.Action)
			require.Equal(t, c.target, got.TargetID)
			require.Equal(t, c.warnings, got.Warnings)
			require.NotEmpty(t, got.Reason)
			if !strings.Contains(c.name, "-ok-") {
				require.Equal(t, none, got.Action)
				require.NotEmpty(t, got.Warnings)
			}
		})
	}
}

const goodExtraction = `{"facts":[
	{"content":"Ana lives in Oslo since 2026.","category":"fact","confidence":0.95,
	 "claim":{"subject":"Ana","predicate":"lives_in","object":"Oslo","functional":true}},
	{"content":"The team deploys on Tuesdays only.","category":"rule","confidence":0.9,"claim":null}],
 "entities":[{"source":"Ana","relationship":"lives_in","target":"Oslo","confidence":0.9}]}`

const goodDecision = `{"reason":"The city \"Oslo\" {changed}.","action":"delete","target_id":"` + first +
	`","confidence":0.75}`

func TestWellFormedAnswers(t *testing.T) {
	t.Parallel()
	require.Equal(t, memory.Extraction{
		Facts: []memory.Fact{
			{Content: ana, Category: schema.CategoryFact, Confidence: 0.95, Claim: memory.Claim{
				Subject: "Ana", Predicate: "lives_in", Object: "Oslo", Functional: true}},
			{Content: team, Category: schema.CategoryRule, Confidence: 0.9},
		},
		Triples: []memory.Triple{{Source: "Ana", Relationship: "lives_in", Target: "Oslo", Confidence: 0.9}},
	}, reply.Extraction(goodExtraction))

	empty := reply.Extraction(`{"facts":[],"entities":[]}`)
	require.Empty(t, empty.Facts)
	require.Empty(t, empty.Warnings)

	require.Equal(t, memory.Proposal{
		Action: remove, TargetID: first, Confidence: 0.75, Reason: `The city "Oslo" {changed}.`,
	}, reply.Decision(goodDecision, neighbors))

	alone := reply.Decision(goodDecision, nil)
	require.Equal(t, none, alone.Action, "without candidates there is no target")
}

// Any prefix of an answer yields its complete facts, and never a decision.
func TestEveryPrefix(t *testing.T) {
	t.Parallel()
	whole := reply.Extraction(goodExtraction)
	for n := range len(goodExtraction) {
		got := reply.Extraction(goodExtraction[:n])
		require.Equal(t, whole.Facts[:len(got.Facts)], got.Facts, "first %d bytes", n)
		require.NotEmpty(t, got.Warnings, "first %d bytes", n)
		if n > strings.Index(goodExtraction, `,"claim":null}`)+len(`,"claim":null}`) {
			require.Len(t, got.Facts, 2, "first %d bytes", n)
		}
	}
	for n := range len(goodDecision) {
		got := reply.Decision(goodDecision[:n], neighbors)
		require.Equal(t, none, got.Action, "first %d bytes", n)
		require.NotEmpty(t, got.Warnings)
	}
}

// Text around an answer does not change the result.
func TestSurroundings(t *testing.T) {
	t.Parallel()
	around := rapid.SampledFrom([]string{
		"", "\n", "\ufeff", "```json\n", "\n```", "Here you are: ",
		"<think>a draft: " + goodDecision + goodExtraction + "</think>",
		"<thinking>x <think>y</think> {z</thinking>", "[1]", "{}", "{note}", "\"quoted\"", "<b>", "</b>", "\xff",
	})
	extraction, decision := reply.Extraction(goodExtraction), reply.Decision(goodDecision, neighbors)
	rapid.Check(t, func(t *rapid.T) {
		before := strings.Join(rapid.SliceOfN(around, 0, 4).Draw(t, "before"), "")
		after := strings.Join(rapid.SliceOfN(around, 0, 4).Draw(t, "after"), "")
		e := reply.Extraction(before + goodExtraction + after)
		if strings.Contains(after, "</think") {
			return // closing tags after an answer: see the malformed files
		}
		require.Equal(t, extraction.Facts, e.Facts)
		require.Equal(t, extraction.Triples, e.Triples)
		d := reply.Decision(before+goodDecision+after, neighbors)
		require.Equal(t, decision.Action, d.Action)
		require.Equal(t, decision.TargetID, d.TargetID)
	})
}

func TestHugeAnswers(t *testing.T) {
	t.Parallel()
	t.Run("10,000 facts", func(t *testing.T) {
		var b strings.Builder
		b.WriteString(`{"facts":[`)
		for i := range 10_000 {
			fmt.Fprintf(&b, `{"content":"Fact number %d.","category":"fact","confidence":0.9},`, i)
		}
		b.WriteString(`{}],"entities":[{"source":"Ana","relationship":"lives_in","target":"Oslo","confidence":0.9}]}`)
		got := reply.Extraction(b.String())
		require.Len(t, got.Facts, memory.MaxFacts)
		require.Equal(t, "Fact number 0.", got.Facts[0].Content)
		require.Len(t, got.Triples, 1)
		require.Equal(t, warn("answer.facts: 9001 elements beyond the first 1000 were not read",
			"facts: 980 after the first 20 dropped"), got.Warnings)
	})
	t.Run("over the limit", func(t *testing.T) {
		got := reply.Extraction(`{"facts":[{"content":"` + ana + `","category":"fact","confidence":0.9},{"content":"` +
			strings.Repeat("é", reply.MaxLength))
		require.Len(t, got.Facts, 1)
		require.Equal(t, warn("answer: cut to 1048576 bytes", "answer: ends too early",
			"answer.facts[1]: is not valid JSON"), got.Warnings)
		require.Equal(t, none, reply.Decision(strings.Repeat(" ", reply.MaxLength)+goodDecision, neighbors).Action)
	})
	for _, unit := range []string{
		"{", "[", "{}", "[]", "[{", "[{}]", "{\"a\":", "[ ", "{</think>", "<think>", "</think>", "<think></think>", "<",
		"</", "\\", "\"", "{\"", "{\"action\":",
		"{\"facts\":[", "{\"facts\":[]}", goodDecision, goodExtraction, "\xff", "\x00", "{\"facts\":[1,", "[ [ ",
	} {
		t.Run(fmt.Sprintf("repeated %.12q", unit), func(t *testing.T) {
			text, start := strings.Repeat(unit, reply.MaxLength/len(unit)), time.Now()
			reply.Extraction(text)
			reply.Decision(text, neighbors)
			require.Less(t, time.Since(start), 5*time.Second, "work is linear")
		})
	}
}

func TestWarningsContainNoContent(t *testing.T) {
	t.Parallel()
	const canary = "CANARY-7f3a"
	for _, kind := range []string{"extraction", "decision"} {
		for _, name := range files(t, kind) {
			text := load(t, kind, name)
			for _, word := range []string{"Oslo", "city", "Ben", "delete", "claim", "mood"} {
				text = strings.ReplaceAll(text, word, canary)
			}
			require.NotContains(t, strings.Join(reply.Extraction(text).Warnings, " "), canary, name)
			require.NotContains(t, strings.Join(reply.Decision(text, neighbors).Warnings, " "), canary, name)
		}
	}
}

func FuzzExtraction(f *testing.F) {
	seed(f, "extraction")
	f.Add(goodExtraction)
	f.Fuzz(func(t *testing.T, text string) {
		got := reply.Extraction(text)
		require.LessOrEqual(t, len(got.Facts), memory.MaxFacts)
		require.LessOrEqual(t, len(got.Triples), memory.MaxTriples)
		require.LessOrEqual(t, len(got.Warnings), intake.MaxWarnings)
		require.Equal(t, got, intake.CheckExtraction(got))
		require.Equal(t, got, reply.Extraction(text), "reading is deterministic")
	})
}

func FuzzDecision(f *testing.F) {
	seed(f, "decision")
	f.Add(goodDecision)
	f.Fuzz(func(t *testing.T, text string) {
		got := reply.Decision(text, neighbors)
		switch got.Action {
		case update, remove:
			require.Contains(t, []string{first, second}, got.TargetID)
			require.Contains(t, text, got.TargetID[len(got.TargetID)-4:])
		case add:
			require.Empty(t, got.TargetID)
		default:
			require.Equal(t, none, got.Action)
		}
		require.True(t, got.Confidence >= 0 && got.Confidence <= 1)
		unoffered := reply.Decision(text, nil)
		require.NotContains(t, []schema.Action{update, remove}, unoffered.Action)
		require.Empty(t, unoffered.TargetID)
	})
}

func seed(f *testing.F, kind string) {
	for _, name := range files(f, kind) {
		f.Add(load(f, kind, name))
	}
}

func files(t testing.TB, kind string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "malformed", kind, "*.txt"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(paths), 40)
	var out []string
	for _, p := range paths {
		out = append(out, strings.TrimSuffix(filepath.Base(p), ".txt"))
	}
	return out
}

func load(t testing.TB, kind, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "malformed", kind, name+".txt"))
	require.NoError(t, err)
	return string(text)
}
