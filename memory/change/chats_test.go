package change

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/frame"
)

// In a chat, most sentences with common words are about different things. None of these pairs is a change.
func TestSentencesOfAChatHoldTogether(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ speaker, earlier, later string }{
		"a pronoun is no value":               {"Nora", "I'll keep it up.", "I'll keep pushing."},
		"a pronoun is no value, two speakers": {"Nora", "I will definitely check it out.", "I can't figure it out."},
		"the subject again is no value": {"Nora", "Nora is doing Nora's best for the shelter.",
			"Nora plays a bit of Chopin and it makes Nora happy."},
		"off to is no end": {"Nora", "Nora is busy with the garden and work.",
			"Nora is off to swim with the twins."},
		"but before a clause": {"Nora", "Nora will look at them.",
			"Nora hasn't seen them but Nora will look at them."},
		"so before an adjective": {"Nora", "The walls are so bright.",
			"Those walls are so warm and the room looks bigger."},
		"so after what goes on": {"Nora", "Nora loves the mountains.",
			"The mountains are calling Nora, so Nora is going to climb one."},
		"which comments": {"Nora", "Nora went to a class.",
			"Nora has never visited the Uffizi, which is weird."},
		"an end that is denied": {"Nora", "Nora enjoys the choir.",
			"Nora can't stop thinking about the choir."},
		"a habit and what is going on": {"Nora", "Nora plays the cello.",
			"Nora is currently playing a game of chess."},
		"two things that were begun": {"Nora", "Nora started a course some years back.",
			"Nora started running a year ago."},
		"two things seen": {"", "a photo of a man on a bridge", "a photo of a man on a ladder"},
		"examples": {"", "I worry about my accounts, like Netflix.",
			"I worry about my accounts, like Dropbox."},
		"what one worries about": {"", "I am worried about the taxes.",
			"I am worried about the roof now."},
		"an open choice": {"", "I will name Ida as the executor.",
			"I am deciding between Ida and Per as executor."},
		"the size of a change": {"", "The team has a satisfaction of 90%.",
			"I reduced the team's delays by 30%."},
		"an amount is not a name": {"", "I use Ledgerly for my budget.",
			"I raised my grocery budget to $400/month."},
		"some of several": {"", "I choose between Rome and Oslo.",
			"I choose between Oslo and Rome now."},
		"no doubt is no denial": {"Nora", "Nora will always be there.", "Nora is there, no doubt."},
		"back from something with the name": {"Nora", "Nora loves Bach.",
			"Nora just got back from the best Bach concert."},
		"wishes": {"Nora", "Nora wants to eat more fruit.",
			"Nora has got to leave early."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := Best(frame.Read(tt.earlier, tt.speaker), frame.Read(tt.later, tt.speaker))
			require.True(t, r.Certainty < Likely || r.Change == Restates, "%+v", r)
		})
	}
}

// The same words in a statement that does report a change.
func TestChangesInAChat(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ speaker, earlier, later string }{
		"but without a clause": {"Nora", "Nora works in Bergen.", "Nora works not in Bergen but in Molde."},
		"so after a reason":    {"Nora", "Nora shops at Kiwi.", "Kiwi got too far away, so Nora shops at Rema now."},
		"an amount per month": {"", "My grocery budget is $300/month.",
			"I raised my grocery budget to $400/month."},
		"after an open choice":  {"", "I am thinking about hiring Ida as our cook.", "I decided on Per as our cook."},
		"by an amount, to one":  {"", "The rent is 900 euros.", "The rent was raised by 50 euros to 950 euros."},
		"taken up by a pronoun": {"Nora", "Nora's cleaner is Eva.", "Eva is no longer my cleaner. It's Ida."},
		"where it is kept":      {"", "I keep my passport in the desk.", "I keep my passport in the safe now."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := Best(frame.Read(tt.earlier, tt.speaker), frame.Read(tt.later, tt.speaker))
			require.True(t, r.Certainty >= Likely && r.Change != Restates, "%+v", r)
		})
	}
}

// What someone has never done contradicts an earlier statement, but does not replace it.
func TestNeverDoneIsADispute(t *testing.T) {
	t.Parallel()
	r, _ := Best(frame.Read("Nora read a book by Musil.", "Nora"),
		frame.Read("Nora has never read a book by Musil, which is weird.", "Nora"))
	require.Equal(t, Likely, r.Certainty)
}
