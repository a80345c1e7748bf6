package rules

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// monday is the time of all statements in these tests.
var monday = time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC)

func extractFrom(t interface {
	require.TestingT
	Helper()
}, src inference.Source) memory.Extraction {
	t.Helper()
	ex, usage, err := Extractor{}.Extract(context.Background(), src)
	require.NoError(t, err)
	assert.Zero(t, usage, "rules use no model")
	return ex
}

func said(speaker, content string) inference.Source {
	return inference.Source{Content: content, Kind: schema.SourceUserInput, Speaker: speaker,
		Category: schema.CategoryFact}
}

func contents(ex memory.Extraction) []string {
	out := []string{}
	for _, f := range ex.Facts {
		out = append(out, f.Content)
	}
	return out
}

func TestExtractKeepsIndependentSentences(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"plain":     {"Signet stores data in SQLite.", []string{"Signet stores data in SQLite."}},
		"questions": {"What is the port? The port is 5432. Do you know why", []string{"The port is 5432."}},
		"greetings and thanks": {"Hey Mel! Good to see you! Thanks so much. The build is green on CI.",
			[]string{"The build is green on CI."}},
		"acknowledgements": {"Ok, got it. Sounds good! Sure, will do.", []string{}},
		"requests": {"Can you fix main.go? Please show me the logs. Fix the login bug. Could you run " +
			"the tests before lunch.", []string{}},
		"rules": {"Never deploy on Fridays. Always run tests before merging.",
			[]string{"Never deploy on Fridays.", "Always run tests before merging."}},
		"how-to": {"Run bun install before building. Use tabs for indentation.",
			[]string{"Run bun install before building.", "Use tabs for indentation."}},
		"rule with please": {"Please never push to main.", []string{"Please never push to main."}},
		"standing request": {"I want you to always answer in Norwegian. I want you to fix this now.",
			[]string{"I want you to always answer in Norwegian."}},
		"policy": {"Please use tabs, not spaces. Please use it.",
			[]string{"Please use tabs, not spaces."}},
		"rule to you": {"You must never expose tokens. You look great today.",
			[]string{"You must never expose tokens."}},
		"remember": {"Please remember that the deploy key rotates monthly.",
			[]string{"The deploy key rotates monthly."}},
		"pronoun resolved": {"The build server runs on port 8080. It uses Docker 24.0.",
			[]string{"The build server runs on port 8080.", "The build server uses Docker 24.0."}},
		"possessive resolved": {"The staging cluster is in Oslo. Its nodes run Debian.",
			[]string{"The staging cluster is in Oslo.", "The staging cluster's nodes run Debian."}},
		"pronoun unresolved":   {"It works now. They said so yesterday.", []string{}},
		"pronoun for a person": {"Caroline is a nurse. It rains a lot there.", []string{"Caroline is a nurse."}},
		"ambiguous pronoun": {"Alice and Bob met Carol. She was late for dinner.",
			[]string{"Alice and Bob met Carol."}},
		"pleonastic it": {"It is important to rotate the keys monthly.",
			[]string{"It is important to rotate the keys monthly."}},
		"abbreviations": {"Dr. Smith uses e.g. Go v1.2.3 at approx. 3.5 GHz. See docs.example.com for more.",
			[]string{"Dr. Smith uses e.g. Go v1.2.3 at approx. 3.5 GHz.", "See docs.example.com for more."}},
		"code left out": {"The parser is in parse.go.\n```go\nfunc main() {}\n```\nTests live next to it.",
			[]string{"The parser is in parse.go.", "Tests live next to it."}},
		"short list joined": {"Deploy steps:\n- run make\n- push the tag",
			[]string{"Deploy steps: run make; push the tag"}},
		"list of sentences": {"Notes:\n1. The API listens on port 80.\n2. The cache is Redis.",
			[]string{"The API listens on port 80.", "The cache is Redis."}},
		"wrapped lines": {"The API server listens\non port 80 in production.",
			[]string{"The API server listens on port 80 in production."}},
		"lines": {"Alice owns the parser\nBob owns the lexer",
			[]string{"Alice owns the parser", "Bob owns the lexer"}},
		"heading, ruler, quote": {"# Release notes\n-----\n> someone said this before\nVersion 2 dropped Python 2.",
			[]string{"Version 2 dropped Python 2."}},
		"quotes kept whole": {`Bob said "Go is nice. I use it." and left.`,
			[]string{`Bob said "Go is nice. I use it." and left.`}},
		"chat without capitals": {"i like postgres. the build is slow on windows",
			[]string{"i like postgres.", "the build is slow on windows"}},
		"no words":   {"d41d8cd98f00b204e9800998ecf8427e. 12345 67890 1234.", []string{}},
		"too short":  {"Go wins.", []string{}},
		"said twice": {"The build is slow. the build is slow!", []string{"The build is slow."}},
		"truncated": {"The cache is Redis. The data base is Postg [truncated]",
			[]string{"The cache is Redis."}},
		"other languages": {"東京の小さな家に住んでいます。猫が二匹います、名前はタマです。", []string{"東京の小さな家に住んでいます。", "猫が二匹います、名前はタマです。"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := contents(extractFrom(t, said("", tc.text)))
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestExtractResolvesTheSpeaker(t *testing.T) {
	for text, want := range map[string]string{
		"I prefer Go for servers.":                "Caroline prefers Go for servers.",
		"i use vim for everything":                "Caroline uses vim for everything",
		"I'm allergic to peanuts.":                "Caroline is allergic to peanuts.",
		"I’ve moved to Oslo.":                     "Caroline has moved to Oslo.",
		"I'll join the team in May.":              "Caroline will join the team in May.",
		"I'd rather write Go than Java.":          "Caroline would rather write Go than Java.",
		"I'd been living in Rome.":                "Caroline had been living in Rome.",
		"I don't eat meat.":                       "Caroline doesn't eat meat.",
		"I have two cats.":                        "Caroline has two cats.",
		"I can play the violin.":                  "Caroline can play the violin.",
		"I went hiking and took photos.":          "Caroline went hiking and took photos.",
		"I run tests and write docs.":             "Caroline runs tests and writes docs.",
		"I want to sing and write songs.":         "Caroline wants to sing and write songs.",
		"I study physics and teach maths.":        "Caroline studies physics and teaches maths.",
		"I really miss the mountains.":            "Caroline really misses the mountains.",
		"My brother gave me a guitar.":            "Caroline's brother gave Caroline a guitar.",
		"Steve and I work on the parser.":         "Steve and Caroline work on the parser.",
		"Yeah, I painted the fence myself.":       "Caroline painted the fence themselves.",
		"Hey Mel, I bought a house.":              "Caroline bought a house.",
		"We deploy with Argo.":                    "We deploy with Argo.",
		"World War I ended in 1918.":              "World War I ended in 1918.",
		`Bob told everyone "I am tired" again.`:   `Bob told everyone "I am tired" again.`,
		"Me gusta el café sin azúcar.":            "Me gusta el café sin azúcar.",
		"No me gusta la lluvia en invierno.":      "No me gusta la lluvia en invierno.",
		"Je me lève à sept heures.":               "Je me lève à sept heures.",
		"Turns out hey Sam, we deploy with Argo.": "We deploy with Argo.",
		"The joke about pandas was on me.":        "The joke about pandas was on Caroline.",
		"Me and my sister went to Rome.":          "Caroline and Caroline's sister went to Rome.",
		"The cat is mine and the dog is a friend of mine.": "The cat is Caroline's and the dog is a friend " +
			"of Caroline's.",
	} {
		got := contents(extractFrom(t, said("Caroline", text)))
		assert.Equal(t, []string{want}, got, text)
		assert.Len(t, contents(extractFrom(t, said("", text))), 1, "kept without a speaker: %s", text)
	}
	assert.Equal(t, []string{"User prefers dark mode.", "The app greets the user by name."},
		contents(extractFrom(t, said("User", "I prefer dark mode. The app greets me by name."))))
	assert.Equal(t, []string{"James's dog is a beagle."},
		contents(extractFrom(t, said("James", "My dog is a beagle."))))
	assert.Equal(t, []string{"Caroline's brother works at Google.", "Caroline's brother lives in Berlin."},
		contents(extractFrom(t, said("Caroline", "My brother works at Google. He lives in Berlin."))))
	assert.Equal(t, []string{"Caroline works at Google."},
		contents(extractFrom(t, said("Caroline", "I work at Google. He lives in Berlin."))), "he is not the speaker")
}

func TestExtractResolvesRelativeDates(t *testing.T) {
	for text, want := range map[string]string{
		"The group met yesterday.":               "The group met yesterday (2023-05-07).",
		"The build broke today, sadly.":          "The build broke today (2023-05-08), sadly.",
		"The group met two days ago in Oslo.":    "The group met two days ago (2023-05-06) in Oslo.",
		"The group met seventeen days ago.":      "The group met seventeen days ago (2023-04-21).",
		"The group met twenty one days ago.":     "The group met twenty one days ago.",
		"The race took place last Saturday.":     "The race took place last Saturday (2023-05-06).",
		"The demo takes place next Monday.":      "The demo takes place next Monday (2023-05-15).",
		"The demo takes place next Friday.":      "The demo takes place next Friday.",
		"The release slipped last week.":         "The release slipped last week (week of 2023-05-01).",
		"The release slipped last month.":        "The release slipped last month (2023-04).",
		"The office moved three years ago.":      "The office moved three years ago (2020).",
		"The trip was last weekend with Bob.":    "The trip was last weekend (weekend of 2023-05-06) with Bob.",
		"The team grew over the last year.":      "The team grew over the last year.",
		"The party is in the last week of May.":  "The party is in the last week of May.",
		"The group met yesterday (2023-05-07).":  "The group met yesterday (2023-05-07).",
		`The song "Yesterday" is by the Beatles`: `The song "Yesterday" is by the Beatles`,
	} {
		src := said("", text)
		src.OccurredAt = monday
		assert.Equal(t, []string{want}, contents(extractFrom(t, src)), text)
		src.OccurredAt = time.Time{}
		assert.Equal(t, []string{text}, contents(extractFrom(t, src)), "unknown time: %s", text)
	}
}

func TestExtractExplicitMemory(t *testing.T) {
	save := func(content string) inference.Source {
		return inference.Source{Content: content, Kind: schema.SourceMemory, Speaker: "Caroline",
			Category: schema.CategoryLearning, OccurredAt: monday}
	}
	for _, content := range []string{
		"I prefer Go for servers", "It works now, after the fix", "What is love? Baby", "Maybe we met yesterday.",
		"Can you believe it", "```go\nfunc main() {}\n```", "- one item only",
	} {
		ex := extractFrom(t, save(content))
		require.NotEmpty(t, ex.Facts, content)
		if len(ex.Facts) == 1 && !strings.Contains(content, "?") {
			assert.Equal(t, normalize.Normalize(content).Hash, normalize.Normalize(ex.Facts[0].Content).Hash, content)
		}
		assert.Equal(t, ConfidenceExplicit, ex.Facts[0].Confidence)
		assert.Equal(t, schema.CategoryLearning, ex.Facts[0].Category, "the category of the source is used")
	}
	ex := extractFrom(t, save("I prefer Go for servers"))
	assert.Equal(t, memory.Claim{Subject: "Caroline", Predicate: "prefers_for_servers", Object: "Go", Functional: true},
		ex.Facts[0].Claim)

	assert.Equal(t, []string{"The cache is Redis.", "The queue is Kafka."},
		contents(extractFrom(t, save("The cache is Redis. They changed that. The queue is Kafka."))))
}

func TestExtractCategoriesAndConfidence(t *testing.T) {
	for text, want := range map[string]struct {
		category   schema.Category
		confidence float64
	}{
		"Never deploy on Fridays.":                      {schema.CategoryRule, ConfidenceStrong},
		"Don't commit secrets to the repository.":       {schema.CategoryRule, ConfidenceStrong},
		"Run bun install before building.":              {schema.CategoryProcedural, ConfidencePlain},
		"The user prefers dark mode.":                   {schema.CategoryPreference, ConfidenceStrong},
		"The team decided to use PostgreSQL.":           {schema.CategoryDecision, ConfidenceStrong},
		"BM25 is a term-frequency ranking function.":    {schema.CategorySemantic, ConfidencePlain},
		"Caroline is a nurse in a small hospital.":      {schema.CategoryFact, ConfidencePlain},
		"The login page is broken on Safari.":           {schema.CategoryIssue, ConfidencePlain},
		"The cache is in Redis.":                        {schema.CategoryFact, ConfidencePlain},
		"Maybe the cache is in Redis.":                  {schema.CategoryFact, ConfidenceHedged},
		"I think the team prefers tabs.":                {schema.CategoryPreference, ConfidenceHedged},
		"That trip must have been a wonderful surprise": {schema.CategoryFact, ConfidencePlain},
		"The crew is proud of you and your brother.":    {schema.CategoryFact, ConfidenceAddressed},
		"To deploy, run make release and push the tag.": {schema.CategoryProcedural, ConfidencePlain},
		"When CI fails, check the logs in Grafana.":     {schema.CategoryProcedural, ConfidencePlain},
		"The service crashed with OOM at 14:03.":        {schema.CategoryIssue, ConfidencePlain},
		"I never saw the northern lights before.":       {schema.CategoryFact, ConfidencePlain},
		"Remember that the gate closes at ten.":         {schema.CategoryFact, ConfidenceStrong},
	} {
		ex := extractFrom(t, said("", text))
		require.Len(t, ex.Facts, 1, text)
		assert.Equal(t, want.category, ex.Facts[0].Category, text)
		assert.Equal(t, want.confidence, ex.Facts[0].Confidence, text)
	}
}

func TestExtractToolOutput(t *testing.T) {
	src := inference.Source{Kind: schema.SourceToolOutput, Content: strings.Join([]string{
		"2024-01-02T10:00:00Z INFO starting",
		"\x1b[31m[ERROR]\x1b[0m cannot connect to db: connection refused",
		"  at Object.foo (x.js:12:3)",
		" 45%|####      | 3/4 [00:01<00:02]",
		"Traceback (most recent call last):",
		"00000000  7f 45 4c 46 02 01 01 00",
		"2024-01-02 10:00:01",
		"=====================",
		"exit code 137",
		"Tests: 12 passed, 0 failed",
		"drwxr-xr-x 2 root root 4096 src",
	}, "\n")}
	ex := extractFrom(t, src)
	assert.Equal(t, []string{"cannot connect to db: connection refused", "exit code 137", "Tests: 12 passed, 0 failed"},
		contents(ex))
	assert.Equal(t, schema.CategoryIssue, ex.Facts[0].Category)
	assert.Equal(t, schema.CategoryIssue, ex.Facts[1].Category)
	assert.Equal(t, schema.CategoryFact, ex.Facts[2].Category)
	assert.Equal(t, ConfidenceIndirect, ex.Facts[0].Confidence)
}

func TestClaims(t *testing.T) {
	claim := func(s, p, o string, functional bool) memory.Claim {
		return memory.Claim{Subject: s, Predicate: p, Object: o, Functional: functional}
	}
	none := memory.Claim{}
	for text, want := range map[string]memory.Claim{
		"Caroline prefers Go over Rust.": claim("Caroline", "prefers", "Go", false),
		"Caroline prefers Go for backend services.": claim("Caroline", "prefers_for_backend_services",
			"Go", true),
		"Caroline prefers Go over Rust for backend services.": claim("Caroline", "prefers_for_backend_services",
			"Go", true),
		"Caroline likes tea and coffee.":              claim("Caroline", "likes", "tea and coffee", false),
		"The user likes to hike.":                     claim("user", "likes", "hike", false),
		"Caroline lives in Oslo.":                     claim("Caroline", "lives_in", "Oslo", true),
		"Caroline lives in Oslo and works at Google.": claim("Caroline", "lives_in", "Oslo", true),
		"Caroline lives in Oslo during the winter.":   claim("Caroline", "lives_in", "Oslo", false),
		"In winter, Caroline lives in Oslo.":          claim("Caroline", "lives_in", "Oslo", false),
		"Caroline lives in constant fear.":            none,
		"Caroline's brother works at Google.": claim("Caroline's brother", "works_at", "Google",
			false),
		"The cat's name is Tom.":                             claim("cat", "name", "Tom", true),
		"Caroline's favorite color is blue.":                 claim("Caroline", "favorite_color", "blue", true),
		"Caroline's favorite books are long.":                claim("Caroline", "favorite_books", "long", false),
		"The default branch is main.":                        claim("default branch", "is", "main", true),
		"The default branch is main for old repositories.":   claim("default branch", "is", "main", false),
		"The port of the API server is 8080.":                claim("API server", "port", "8080", true),
		"The API server runs on port 8080.":                  claim("API server", "port", "8080", true),
		"The API server runs on port 8080 for metrics.":      claim("API server", "port", "8080", false),
		"Caroline was born on 3 May 1990.":                   claim("Caroline", "born_on", "3 May 1990", true),
		"Caroline was born in Oslo.":                         claim("Caroline", "born_in", "Oslo", false),
		"Caroline moved to Berlin in 2020.":                  claim("Caroline", "moved_to", "Berlin", false),
		"The team decided to use PostgreSQL for the ledger.": claim("team", "decided_to_use", "PostgreSQL", false),
		"Signet uses SQLite.":                                claim("Signet", "uses", "SQLite", false),
		"Caroline is a nurse.":                               claim("Caroline", "is_a", "nurse", false),
		"Caroline speaks Norwegian because her mother does.": claim("Caroline", "speaks", "Norwegian", false),
		"Caroline doesn't like tea.":                         none,
		"Caroline never uses Vim.":                           none,
		"Bob says Caroline lives in Oslo.":                   none,
		"Bob thinks Alice lives in Oslo.":                    none,
		"If Caroline lives in Oslo, she skis.":               none,
		"She lives in Oslo.":                                 none,
		"We use Postgres.":                                   none,
		"Maybe Caroline lives in Oslo.":                      none,
		"Never deploy on Fridays.":                           none,
		"The weather is nice.":                               none,
		"Caroline loves that you came.":                      none,
		"Caroline lived in Oslo.":                            none,
		"We'll use Temporal for retries.":                    none,
		"Caroline's wife Kari is a teacher.": claim("Caroline's wife Kari", "is_a", "teacher",
			false),
		"The staging database and the cache live in Frankfurt.":  none,
		"Caroline's goal is to give kids a loving home in peace": none,
	} {
		ex := extractFrom(t, said("", text))
		if want == none {
			for _, f := range ex.Facts {
				assert.Equal(t, none, f.Claim, text)
			}
			continue
		}
		require.Len(t, ex.Facts, 1, text)
		assert.Equal(t, want, ex.Facts[0].Claim, text)
	}
}

func TestTriples(t *testing.T) {
	for text, want := range map[string][]string{
		"Caroline prefers Go over Rust.":                     {"Caroline prefers Go"},
		"Yesterday the release of PostgreSQL broke pgvector": {},
		"Caroline met Ed Sheeran at the University of Oslo.": {"Caroline mentioned_with Ed Sheeran",
			"Caroline mentioned_with University of Oslo"},
		"The WorkflowClient calls @alice and main.go": {"WorkflowClient mentioned_with @alice",
			"WorkflowClient mentioned_with main.go"},
		"The weather was nice on Monday in May.": {},
	} {
		got := []string{}
		for _, triple := range extractFrom(t, said("Caroline", text)).Triples {
			got = append(got, triple.Source+" "+triple.Relationship+" "+triple.Target)
		}
		assert.Equal(t, want, got, text)
	}
}

func TestSplitSentences(t *testing.T) {
	for text, want := range map[string][]string{
		"One. Two! Three? Four":                          {"One.", "Two!", "Three?", "Four"},
		"At 3.14 and v1.2.3 on example.com/a.b is fine.": {"At 3.14 and v1.2.3 on example.com/a.b is fine."},
		"Wait... there is more. End… Next":               {"Wait... there is more.", "End…", "Next"},
		"J. R. R. Tolkien wrote it.":                     {"J. R. R. Tolkien wrote it."},
		"We met at 5 p.m. in Oslo. Then we left.":        {"We met at 5 p.m. in Oslo.", "Then we left."},
		"He lives in the U.S. The rest do not.":          {"He lives in the U.S.", "The rest do not."},
		"See fig. 3 (it is big. Really.) for more.":      {"See fig. 3 (it is big. Really.) for more."},
		`"Stop!" he said. "Go." She went.`:               {`"Stop!" he said.`, `"Go."`, "She went."},
		"Use Go 1.26. It is fast.":                       {"Use Go 1.26.", "It is fast."},
		"Really?! Yes!!! Ok.":                            {"Really?!", "Yes!!!", "Ok."},
		"An open (bracket. Next sentence.":               {"An open (bracket.", "Next sentence."},
		"Use Node 18.2. Celery stays.":                   {"Use Node 18.2.", "Celery stays."},
		"Use 5.1. Celery stays on v2. Fine.":             {"Use 5.1.", "Celery stays on v2.", "Fine."},
		"It costs 1.250 EUR. Or $3.5 million.":           {"It costs 1.250 EUR.", "Or $3.5 million."},
		"It weighs approx. 3 kg. It ships.":              {"It weighs approx. 3 kg.", "It ships."},
		"We meet at 9 a.m. Everyone joins.":              {"We meet at 9 a.m.", "Everyone joins."},
		"We meet at 9 a.m. Pacific time on Fri. at noon": {"We meet at 9 a.m. Pacific time on Fri. at noon"},
		"It takes 5 min. The rest takes min. 3 hours.":   {"It takes 5 min.", "The rest takes min. 3 hours."},
		"PR no. 42 is in. No. 43 is a Ph.D. in maths.":   {"PR no. 42 is in.", "No. 43 is a Ph.D. in maths."},
		"これは文です。次の文です。":                                  {"これは文です。", "次の文です。"},
	} {
		assert.Equal(t, want, splitSentences(text), text)
	}
}

func TestExtractStopsWhenItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	brain := New()
	_, _, err := brain.Extractor.Extract(ctx, said("", "The cache is Redis."))
	assert.ErrorIs(t, err, context.Canceled)
	_, _, err = brain.Decider.Decide(ctx, memory.Fact{}, nil)
	assert.ErrorIs(t, err, context.Canceled)
	_, _, err = brain.Embedder.Embed(ctx, []string{"a"})
	assert.ErrorIs(t, err, context.Canceled)
}

// checkLimits checks the limits that apply to any input.
func checkLimits(t interface {
	require.TestingT
	Helper()
}, src inference.Source) {
	t.Helper()
	ex, _, err := Extractor{}.Extract(context.Background(), src)
	require.NoError(t, err)
	again, _, _ := Extractor{}.Extract(context.Background(), src)
	require.Equal(t, ex, again, "deterministic")
	require.LessOrEqual(t, len(ex.Facts), memory.MaxFacts)
	require.LessOrEqual(t, len(ex.Triples), memory.MaxTriples)
	seen := map[string]bool{}
	for _, f := range ex.Facts {
		n := utf8.RuneCountInString(f.Content)
		require.True(t, n >= memory.MinFactLength && n <= memory.MaxFactLength, "length %d", n)
		require.True(t, f.Category.Valid())
		require.True(t, f.Confidence > 0 && f.Confidence <= 1)
		h := string(normalize.Normalize(f.Content).Hash)
		require.False(t, seen[h], "hash twice")
		seen[h] = true
		if !f.Claim.IsZero() {
			require.NotEmpty(t, f.Claim.Object)
		}
	}
	require.Equal(t, ex, intake.CheckExtraction(ex), "a second check does not change the result")
}

func TestExtractLimits(t *testing.T) {
	words := rapid.SampledFrom(strings.Fields(`I my me Caroline it It she the The port is 5432 yesterday last week two days
		ago never always don't prefers Go over for and , . ! ? " ( ) ''' ... - * # > 1. lives in Oslo Its was born on
		https://x.y/z v1.2 main.go
		@bob no longer maybe please run before [truncated] “ ” ` + "`code` ```" +
		` 東京 é 's I'm I'd mine am that's you of error exit code 1`))
	kinds := rapid.SampledFrom([]schema.SourceKind{"", schema.SourceUserInput, schema.SourceToolOutput,
		schema.SourceMemory, schema.SourceOutcome})
	rapid.Check(t, func(r *rapid.T) {
		content := strings.Join(rapid.SliceOfN(words, 0, 60).Draw(r, "words"),
			rapid.SampledFrom([]string{" ", "\n", "  ", ". "}).Draw(r, "between"))
		if rapid.Bool().Draw(r, "arbitrary") {
			content = rapid.String().Draw(r, "content")
		}
		checkLimits(r, inference.Source{Content: content, Kind: kinds.Draw(r, "kind"),
			Speaker: rapid.SampledFrom([]string{"", "Caroline", "user", "Ed Sheeran", "\n", "é"}).Draw(r,
				"speaker"), OccurredAt: monday})
	})
}

func TestExtractKeepsTheBestOfMany(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "Service number %d restarts at night. ", i)
	}
	b.WriteString("Never restart the ledger.")
	ex := extractFrom(t, said("", b.String()))
	assert.Len(t, ex.Facts, memory.MaxFacts)
	assert.Equal(t, "Never restart the ledger.", ex.Facts[memory.MaxFacts-1].Content)
	assert.Len(t, ex.Warnings, 1)
}

func TestExtractKeepsTextWithNothingToResolve(t *testing.T) {
	for _, text := range []string{"  The  cache is\tRedis ", "we ship on Mondays", "Tom said my car broke",
		"I took our dog to the vet"} {
		ex := extractFrom(t, said("Caroline", text))
		assert.Equal(t, []string{normalize.Normalize(text).Storage}, contents(ex))
	}
}

func FuzzExtract(f *testing.F) {
	f.Add("I'd say \"it's (fine\" e.g. v1.2... yesterday! - x\n> q\n```", "Caroline", "user_input")
	f.Add("[ERROR] exit code 1\n\x1b[31", "", "tool_output")
	f.Add("’s 's '' I'm I'", "’s", "memory")
	f.Fuzz(func(t *testing.T, content, speaker, kind string) {
		src := inference.Source{Content: content, Speaker: speaker, Kind: schema.SourceKind(kind), OccurredAt: monday}
		checkLimits(t, src)
		decide(memory.Fact{Content: content},
			[]memory.Neighbor{{ID: "a", Content: speaker}, {ID: "b", Content: content + "."}})
		embed(content)
	})
}

func BenchmarkExtract(b *testing.B) {
	src := said("Caroline",
		"I prefer Go over Rust for backend services. I went to a support group yesterday and it was so powerful. My "+
			"brother works at Google.")
	src.OccurredAt = monday
	b.ReportAllocs()
	for b.Loop() {
		_, _, _ = Extractor{}.Extract(context.Background(), src)
	}
}
