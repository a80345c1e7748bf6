package question

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestApart(t *testing.T) {
	for _, c := range []struct {
		earlier, later string
		want           bool
	}{
		{"The pool opens at 7:00 on Sundays.", "Mondays to Fridays the pool opens at 6:30.", true},
		{"The tram runs every six minutes on workdays.", "The tram runs every twenty minutes on Sundays now.", true},
		{"The standup is on Mondays.", "The standup is on Tuesdays.", false}, // the day is the value
		{"The old scanner works with Windows.", "The new scanner works with anything.", true},
		{"Our address is Hill Street 3.", "Our new address is Mill Street 5.", false},
		{"There are four parking spaces for the Sequoia team.", "There are six parking spaces for the Delta team now.",
			true},
		{"There are four parking spaces for the Sequoia team.",
			"There are six parking spaces for the Sequoia team now.", false},
		{"In the sandbox account the crawler gets 1 GB.", "The crawler gets 2 GB in the customer account.", true},
		{"Lionel goes swimming on Tuesdays.", "Lionel also goes swimming with Ingrid.", true},
		{"Rosalind answers mails within a day.", "The landlord's mail, for example, took Rosalind three weeks.", true},
		{"The wedding is in the barn.", "Should there be a storm, the wedding would move to the church hall.", true},
		{"We launch on May 3.", "We launch on June 10.", false},
		{"I live in Lyon.", "I moved to Oslo.", false},
	} {
		if got := Apart(ReadText(c.earlier, ""), ReadText(c.later, "")); got != c.want {
			t.Errorf("%q and %q: %v", c.earlier, c.later, got)
		}
	}
}

func TestAnExceptionOrAnOpinionChangesNothing(t *testing.T) {
	for _, c := range []struct {
		earlier, later string
		want           bool
	}{
		{"Marek runs the standup.", "Marek was sick, so Olga ran the standup today.", true},
		{"We deploy on Thursdays.", "This week we deploy on Friday because of the holiday.", true},
		{"My password manager is Bitwarden.", "Karl says my password manager should be KeePass.", true},
		{"I live in Graz.", "Tom asked me whether I live in Vienna.", true},
		{"My bike is a Trek.", "I'd love to have a Canyon.", true},
		{"The team uses Scrum.", "The other team has switched to Kanban.", true},
		{"The flight to Oslo leaves at 9.", "The flight back from Oslo leaves at 17:40.", true},

		{"Marek runs the standup.", "Olga runs the standup now.", false},
		{"We deploy on Thursdays.", "We deploy on Fridays now.", false},
		{"The rent is 900 euros.", "The landlord told us that the rent is 950 euros now.", false},
		{"I live in Lyon.", "I moved from Lyon to Oslo yesterday.", false},
	} {
		require.Equal(t, c.want, Apart(ReadText(c.earlier, ""), ReadText(c.later, "")), c.later)
	}
}
