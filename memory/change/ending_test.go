package change

import "testing"

func TestAHabitEnds(t *testing.T) {
	requirePairs(t, []pair{
		{"Hugo plays squash on Mondays.", "Hugo doesn't play squash any more.", Sure},
		{"Hugo plays squash on Mondays.", "Hugo doesn't play tennis any more.", Unrelated},
		{"Hugo plays squash.", "Hugo doesn't play squash on Mondays any more.", Unrelated},
		{"Hugo plays squash.", "Vera doesn't play squash any more.", Unrelated},
	})
}

func TestSomethingIsCancelled(t *testing.T) {
	requirePairs(t, []pair{
		{"The sync is at 11:30 every day.", "We cancelled the daily sync.", Sure},
		{"I get a crate of oranges by post.", "I cancelled the orange crate.", Sure},
		{"I get a box of tea by post every month.", "I cancelled the tea box.", Sure},
		{"We're flying to Malta in May.", "The trip to Malta is cancelled.", Likely},

		{"I get a box of tea by post every month.", "I cancelled the coffee box.", Unrelated},
		{"We're flying to Malta in May.", "The flight to Rome is cancelled.", Unrelated},
		{"The sync is at 11:30 every day.", "We cancelled the design review.", Unrelated},
		{"The sync is at 11:30 every day.", "I might cancel the daily sync.", Unrelated},
	})
}

func TestSomeoneMovesIntoAnotherPlace(t *testing.T) {
	requirePairs(t, []pair{
		{"Grandma lives in a house in Bern.", "Grandma moved into a retirement home in Thun.", Sure},
		{"Our daughter lives with us.", "Our daughter moved into a student flat in Delft.", Sure},

		{"Grandma lives in a house in Bern.", "Aunt Rosa moved into a flat in Thun.", Unrelated},
		{"Grandma lives in a house in Bern.", "Grandma wants to move into a flat.", Unrelated},
		{"I live in Ghent.", "I moved to Team Orca.", Unrelated},
		{"I live in Ghent.", "I moved to the marketing team.", Unrelated},
		{"I work at Deloitte.", "I joined the chess club.", Unrelated},
	})
}

func TestAnotherWayToGetSomewhere(t *testing.T) {
	requirePairs(t, []pair{
		{"I take the tram to the lab.", "I walk to the lab now.", Sure},
		{"We're driving to Portugal in June.", "We decided to fly to Portugal instead.", Sure},

		{"I take the tram to the lab.", "I walk to the bakery now.", Unrelated},
		{"I take the tram to the lab.", "I walked to the lab.", Unrelated},
		{"I take the tram to the lab.", "Ines walks to the lab now.", Unrelated},
	})
}

func TestARelationshipEnds(t *testing.T) {
	requirePairs(t, []pair{
		{"My boyfriend is called Mats.", "Mats and I broke up.", Sure},
		{"Lena is my girlfriend.", "Lena and I split up last month.", Sure},
		{"My boyfriend is called Mats.", "Ole and Kim broke up.", Unrelated},
		{"My brother is called Mats.", "Mats and I split the bill.", Unrelated},
	})
}

func TestAStateDoesNotGoWithADeed(t *testing.T) {
	requirePairs(t, []pair{
		{"Ruth is pregnant.", "Ruth had her baby on Sunday.", Likely},
		{"Ruth is pregnant.", "Ruth gave birth to a boy.", Likely},
		{"Emil is unemployed.", "Emil started at the bakery on Monday.", Likely},
		{"Olga is vegan.", "Olga eats cheese again.", Likely},

		{"Ruth is pregnant.", "Ida had her baby on Sunday.", Unrelated},
		{"Ruth is pregnant.", "Ruth had her car repaired.", Unrelated},
		{"Olga is vegetarian.", "Olga eats cheese again.", Unrelated},
		{"Olga is vegan.", "Olga doesn't eat cheese.", Unrelated},
	})
}

func TestHoursAreCut(t *testing.T) {
	requirePairs(t, []pair{
		{"I work 38 hours a week.", "I cut my hours to 30 a week.", Sure},
		{"The choir has 60 singers.", "The choir is up to 75 singers.", Sure},
		{"I work 38 hours a week.", "I cut my expenses to 300 a week.", Unrelated},
		{"The rent is 900.", "The fee is 50 now.", Unrelated},
	})
}
