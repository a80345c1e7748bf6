package change

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/frame"
)

// pair is an earlier and a later text, and the certainty that the later changes the earlier. Unrelated means that it
// must be less than likely, or the same statement.
type pair struct {
	earlier, later string
	want           Certainty
}

func requirePairs(t *testing.T, pairs []pair) {
	t.Helper()
	for _, c := range pairs {
		r, _ := Best(frame.Read(c.earlier, ""), frame.Read(c.later, ""))
		if c.want == Unrelated {
			require.True(t, r.Certainty < Likely || r.Change == Restates, "%s / %s", c.earlier, c.later)
			continue
		}
		require.Equal(t, c.want, r.Certainty, "%s / %s", c.earlier, c.later)
	}
}

func TestAThingIsPutSomewhereElse(t *testing.T) {
	requirePairs(t, []pair{
		{"The printer is in the corridor.", "The caretaker put the printer up in the copy room.", Likely},
		{"I keep my tools in the cellar.", "I put my tools into the shed.", Likely},
		{"The spare key hangs in the kitchen.", "We hung the spare key behind the boiler.", Likely},

		{"The printer is in the corridor.", "We put the plants in the copy room.", Unrelated},
		{"My helmet is in the hall.", "Tom put his helmet in the car.", Unrelated},
		{"The printer is in the corridor.", "We put the printer in the dark corridor.", Unrelated},
		{"I keep my tools in the cellar.", "We put a bench in the cellar.", Unrelated},
		{"The printer is in the corridor.", "I can put the printer in the copy room.", Unrelated},
	})
}

func TestAnotherVersionIsInstalled(t *testing.T) {
	requirePairs(t, []pair{
		{"The build server runs Ubuntu 22.", "Ops installed Ubuntu 24 on the build server.", Likely},
		{"Our billing database runs on MariaDB 10.6.", "We upgraded billing to MariaDB 11 over the weekend.", Sure},

		{"The build server runs Ubuntu 22.", "Ops installed Ubuntu 24 on the mail server.", Unrelated},
		{"Staging runs on MariaDB 10.6.", "We upgraded production to MariaDB 11.", Unrelated},
		{"The build server runs Ubuntu 22.", "Ops installed Jenkins 3 on the build server.", Unrelated},
	})
}

func TestAThingIsTakenAway(t *testing.T) {
	requirePairs(t, []pair{
		{"The fountain is in front of the station.", "They demolished the fountain in March.", Likely},
		{"An old pear tree stands behind the barn.", "We cut down the old pear tree.", Likely},

		{"The fountain is in front of the station.", "They cleaned the fountain in March.", Unrelated},
		{"The fountain is in front of the station.", "They demolished the kiosk in front of the station.", Unrelated},
		{"My bike is in the yard.", "They stole his bike.", Unrelated},
	})
}

func TestWhatOneCouldNotDoIsDone(t *testing.T) {
	requirePairs(t, []pair{
		{"I can't juggle.", "I juggled five balls today.", Likely},
		{"Nora cannot whistle.", "Tom whistled all day.", Unrelated},
		{"I can't drive a bus.", "I drove to Lille.", Unrelated},
		{"I can't juggle.", "I can't juggle five balls.", Unrelated},
	})
}

func TestWhatSomeoneHadDone(t *testing.T) {
	requirePairs(t, []pair{
		{"The fence is white.", "We had the fence painted brown.", Sure},
		{"The dishwasher is broken.", "We got the dishwasher repaired.", Sure},
		{"The sprinkler comes on at 5.", "I've set the sprinkler to come on at 6:30.", Sure},

		{"The fence is white.", "We had the gate painted brown.", Unrelated},
		{"Our van is white.", "I wish our van were red.", Unrelated},
		{"Our van is white.", "We wanted the van painted red.", Unrelated},
	})
}

func TestVerbsThatAreInNoList(t *testing.T) {
	requirePairs(t, []pair{
		{"I pay 9 euros for my music plan.", "I pay 11 euros for my music plan now.", Sure},
		{"I pay 9 euros for my music plan.", "My music plan went up to 11 euros.", Sure},
		{"Rosa's painting class is at 18:00.", "Rosa's painting class got pushed back to 19:30.", Sure},
		{"The hedge is mown by a robot.", "The hedge is mown by Samuel now.", Sure},
		{"The newsletter is weekly.", "The newsletter has gone monthly.", Sure},
		{"I'm vegetarian.", "I went vegan in May.", Sure},
		{"Lea is a nurse.", "Lea became a doctor.", Sure},
		{"My parents are married.", "My parents got divorced in 2024.", Sure},
		{"The cabin is booked for the first week of May.", "The cabin is booked for the last week of May now.", Sure},
		{"Our desks are on the second floor.", "We've been relocated to the sixth floor.", Likely},

		{"I take 20 mg of cortisone at breakfast.", "The doctor put the cortisone up to 30 mg.", Sure},
		{"The fire blanket hangs next to the stove.", "The fire blanket was moved to the pantry.", Sure},
		{"The staff bulletin comes out every month.", "The staff bulletin is weekly now.", Sure},
		{"The staff bulletin comes out every month.", "The staff bulletin is monthly.", Unrelated},

		{"I pay 9 euros for my music plan.", "My phone went up to 11 euros.", Unrelated},
		{"I take 20 mg of cortisone.", "Tom's cortisone went up to 30 mg.", Unrelated},
		{"We have 12 delivery vans.", "The price went up to 15.", Unrelated},
		{"The shop is busy.", "The shop went bankrupt.", Unrelated},
		{"The shop is busy.", "The shop went quiet on Monday.", Unrelated},
		{"The front door opens at 7.", "The back door opens at 9.", Unrelated},
	})
}

func TestAHomeIsReplacedOnlyByAHome(t *testing.T) {
	requirePairs(t, []pair{
		{"Our flat is in Bergen.", "We moved to Molde.", Sure},
		{"My address is Oak Street 2.", "My address changed to Elm Street 4.", Sure},
		{"I work at Initech.", "My employer is Globex now.", Sure},

		{"The town has a flat road.", "I moved to Molde.", Unrelated},
		{"My house has a red door.", "I moved to Molde.", Unrelated},
		{"My home office is in the attic.", "I moved to Molde.", Unrelated},
		{"I live with Tom.", "I moved to Molde.", Unrelated},
		{"I live alone.", "I moved to Molde.", Unrelated},
		{"The address book is on my phone.", "I moved to Molde.", Unrelated},
		{"My hometown is Bergen.", "I moved to Molde.", Unrelated},
		{"The house of my parents is in Bergen.", "I moved to Molde.", Unrelated},
		{"I work with Tom.", "I joined Globex.", Unrelated},
		{"We switched to GitHub Actions.", "We switched to Ansible.", Unrelated},
	})
}
