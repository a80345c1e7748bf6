package change

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/frame"
)

func TestWhatHappenedToAThingChangesIt(t *testing.T) {
	for _, c := range []struct {
		earlier, later string
		want           Certainty
	}{
		{"The test coverage is at 61 percent.", "Test coverage climbed to 74 percent.", Sure},
		{"The alarm code of the cottage is 4417.", "I reset the cottage's alarm code to 9023.", Sure},
		{"The on-call phone is with Dario.", "Dario handed the on-call phone to Wiebke.", Likely},
		{"Tim's birthday party is in the garden.",
			"Because of the storm, Tim's party has been moved to the church hall.", Sure},
		{"My nephew is in third grade.", "My nephew just started fourth grade.", Likely},
		{"My dose is 20 mg.", "The doctor doubled my dose to 40 mg.", Sure},
		{"The boiler in the basement is broken.", "The plumber fixed the boiler.", Sure},
		{"I own a sailing boat.", "I gave the sailing boat to my nephew.", Likely},
		{"I'm saving up for a camera.", "I finally bought the camera.", Likely},
		{"Our team lead is Jonas.", "Jonas stepped down and Mirela took over as team lead.", Sure},
		{"The project is called Nightingale.", "Legal made us rename the project, it's Kestrel now.", Sure},

		{"My bike is broken.", "My brother fixed his bike.", Unrelated},
		{"My bike is broken.", "Tom fixed Anna's bike.", Unrelated},
		{"My brother's dog's name is Pepper.", "I changed my dog's name to Otis.", Unrelated},
		{"The Mistral team's tickets are in YouTrack.", "We moved our tickets to Jira.", Unrelated},
		{"The test coverage is at 61 percent.", "The code coverage climbed to 74 percent.", Unrelated},
		{"I own a sailing boat.", "I gave my nephew a kite.", Unrelated},
		{"I own a sailing boat.", "My uncle gave his sailing boat to my nephew.", Unrelated},
		{"The report is with Tom.", "Anna sent a report to Ben.", Unrelated},
	} {
		r, _ := Best(frame.Read(c.earlier, ""), frame.Read(c.later, ""))
		if c.want == Unrelated {
			require.Less(t, r.Certainty, Likely, c.later)
			continue
		}
		require.Equal(t, c.want, r.Certainty, c.later)
	}
}
