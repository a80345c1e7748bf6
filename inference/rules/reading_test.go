package rules

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

func TestRetractedStatements(t *testing.T) {
	for text, want := range map[string]struct{ content, cue string }{
		"Forget that I like tabs.":                                {"Maya likes tabs.", "forget that"},
		"Please forget that I'm allergic to nuts.":                {"Maya is allergic to nuts.", "forget that"},
		"Can you forget that I like tabs?":                        {"Maya likes tabs.", "forget that"},
		"I never said I like tabs":                                {"Maya likes tabs", "i never said"},
		"I didn't say that the launch is in May.":                 {"The launch is in May.", "i didn't say that"},
		"It is not true that I like tabs.":                        {"Maya likes tabs.", "it is not true that"},
		"It's no longer true that I work at Acme.":                {"Maya works at Acme.", "it's no longer true that"},
		"Disregard what I said about tabs.":                       {"What Maya said about tabs", "disregard"},
		"I take back what I said about Sam.":                      {"What Maya said about Sam", "i take back"},
		"Please ignore my last message about the outage.":         {"Maya's last message about the outage", "ignore"},
		"Forget my phone number.":                                 {"Maya's phone number.", "forget"},
		"Disregard that the west wing is closed.":                 {"The west wing is closed.", "disregard that"},
		"Actually, forget that I like tabs.":                      {"Maya likes tabs.", "forget that"},
		"Hey Juno, please forget that my sister lives in Berlin.": {"Maya's sister lives in Berlin.", "forget that"},
	} {
		for _, kind := range []schema.SourceKind{schema.SourceUserInput, schema.SourceMemory} {
			src := said("Maya", text)
			src.Kind = kind
			ex := extractFrom(t, src)
			require.Len(t, ex.Facts, 1, text)
			f := ex.Facts[0]
			assert.Equal(t, want.content, f.Content, text)
			assert.True(t, f.Retracts, text)
			assert.Equal(t, want.cue, f.Cue, text)
			assert.GreaterOrEqual(t, f.Confidence, ConfidenceStrong, text)
			assert.Empty(t, ex.Triples, "a retraction gives no edges")
		}
	}
	for _, text := range []string{"Forget it.", "Ignore that.", "Forget my last message.", "Let's forget about it.",
		"I never said that I like jazz?"} {
		assert.Empty(t, contents(extractFrom(t, said("Maya", text))), text)
	}
	for _, text := range []string{"Maya never said goodbye to Tom.", "Nobody forgot that the door was open.",
		"It is wrong that nurses earn so little."} {
		ex := extractFrom(t, said("Maya", text))
		require.Len(t, ex.Facts, 1, text)
		assert.False(t, ex.Facts[0].Retracts, text)
	}
	both := extractFrom(t, said("Maya", "Disregard what I said about Kafka, we use NATS."))
	require.Len(t, both.Facts, 2)
	assert.True(t, both.Facts[0].Retracts)
	plain := memory.Fact{Content: "We use NATS.", Category: schema.CategoryFact, Confidence: ConfidencePlain}
	assert.Equal(t, plain, both.Facts[1])
}

func TestScratchedSentencesAreLeftOut(t *testing.T) {
	for text, want := range map[string][]string{
		"The demo is at 3 pm. Scratch that, it's at 4 pm.":       {"The demo is at 4 pm."},
		"The demo is at 3 pm. Scratch that.":                     {},
		"The demo is at 3 pm. Strike that. It is at 4 pm.":       {"The demo is at 4 pm."},
		"The cache is Redis. The port is 80. Scratch that.":      {"The cache is Redis."},
		"The cache is Redis. That's wrong: the cache is Valkey.": {"The cache is Valkey."},
		"The cache is Redis. Actually, the cache is Valkey.":     {"The cache is Redis.", "The cache is Valkey."},
	} {
		assert.Equal(t, want, contents(extractFrom(t, said("Maya", text))), text)
	}
}

// A decider gets only the content: a cue is a separate field.
func TestCuesAreKeptWithTheFact(t *testing.T) {
	for text, cue := range map[string]string{
		"Actually the cache is Redis.":                    "actually",
		"Correction: the cache is Redis.":                 "correction",
		"Scratch that, the cache is Redis.":               "scratch that",
		"No, wait, actually, the cache is Redis.":         "no wait actually",
		"That's wrong. The cache is Redis.":               "that's wrong",
		"Hmm, no. The cache is Redis.":                    "no",
		"I was wrong about the cache, it's Redis.":        "i was wrong",
		"Correction to my last note: the cache is Redis.": "correction",
		"Sorry! How are you? The cache is Redis.":         "",
		"By the way, the cache is Redis.":                 "",
		"The cache is Redis.":                             "",
	} {
		ex := extractFrom(t, said("Maya", text))
		require.Len(t, ex.Facts, 1, text)
		assert.Equal(t, "The cache is Redis.", ex.Facts[0].Content, text)
		assert.Equal(t, cue, ex.Facts[0].Cue, text)
	}
	for _, text := range []string{"We no longer use Redis.", "Now the cache is Redis.",
		"We use Redis instead of Valkey.",
		"We moved from Valkey to Redis.", "No deploys on Fridays."} {
		ex := extractFrom(t, said("Maya", text))
		require.Equal(t, []string{text}, contents(ex), "words within the sentence stay")
		require.Empty(t, ex.Facts[0].Cue)
	}
	save := inference.Source{Content: "Actually my dog is a beagle", Kind: schema.SourceMemory, Speaker: "Maya",
		Category: schema.CategoryFact}
	f := extractFrom(t, save).Facts[0]
	assert.Equal(t, []string{save.Content, "actually"}, []string{f.Content, f.Cue}, "an explicit save keeps its words")
	assert.Equal(t, "Maya's dog", f.Claim.Subject)
}

func TestQuotedWordsAreNotTheSpeakers(t *testing.T) {
	for text, want := range map[string]string{
		`Tom said "my car broke" again.`:             `Tom said "my car broke" again.`,
		"Tom said my car broke again.":               "Tom said my car broke again.",
		"Tom said I owe him money.":                  "Tom said I owe him money.",
		"Tom said that I owe him money.":             "Tom said that Maya owes him money.",
		"Tom told me I owe him money.":               "Tom told Maya that Maya owes him money.",
		"Tom told Ana I owe him money.":              "Tom told Ana I owe him money.",
		"I told Tom that I owe him money.":           "Maya told Tom that Maya owes him money.",
		"I said I owe him money.":                    "Maya said Maya owes him money.",
		"Tom wrote me that my order shipped.":        "Tom wrote Maya that Maya's order shipped.",
		"Tom knows I owe him money.":                 "Tom knows Maya owes him money.",
		"Tom: I prefer spaces over tabs.":            "Tom: I prefer spaces over tabs.",
		"Maya: I prefer spaces over tabs.":           "Maya prefers spaces over tabs.",
		"The song 'I Will Survive' is my favourite.": "The song 'I Will Survive' is Maya's favourite.",
		"I moved our repository to GitHub.":          "I moved our repository to GitHub.",
		"Ana and I sold our house.":                  "Ana and Maya sold their house.",
		"Not only do I code, I also design.":         "Not only do I code, I also design.",
	} {
		assert.Equal(t, []string{want}, contents(extractFrom(t, said("Maya", text))), text)
	}
}

func TestAQuestionAtTheEndIsCut(t *testing.T) {
	for text, want := range map[string][]string{
		"I moved to Oslo, what should I register?":                       {"Maya moved to Oslo."},
		"I have a dog, a cat, and a parrot, so which food should I buy?": {"Maya has a dog, a cat, and a parrot."},
		"I use YNAB now, can you help me set it up":                      {"Maya uses YNAB now."},
		"The port is 8080, right?":                                       {},
		"The bakery opens at six, doesn't it?":                           {},
		"If I move to Oslo, what should I register?":                     {},
		"How much is it, and where can I buy it?":                        {},
	} {
		assert.Equal(t, want, contents(extractFrom(t, said("Maya", text))), text)
	}
}

func TestIntroductionsKeepOtherInformation(t *testing.T) {
	for text, want := range map[string][]string{
		"I'm Maya, I live in Lyon and I work at Acme": {"Maya lives in Lyon.", "Maya works at Acme"},
		"My name is Maya and I'm a nurse.":            {"Maya is a nurse."},
		"Maya here - I moved to Oslo.":                {"Maya moved to Oslo."},
		"I'm Maya, a nurse from Lyon.":                {"Maya is a nurse from Lyon."},
		"I'm Maya from accounting.":                   {"Maya is from accounting."},
		"Hi! I'm called Maya.":                        {},
	} {
		assert.Equal(t, want, contents(extractFrom(t, said("Maya", text))), text)
	}
	assert.Equal(t, []string{"My name is Maya."}, contents(extractFrom(t, said("", "My name is Maya."))))
	assert.Equal(t, []string{"User's name is Maya."}, contents(extractFrom(t, said("user", "My name is Maya."))))
}
