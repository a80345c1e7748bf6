package change

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/frame"
)

func relate(speakerA, a, speakerB, b string) Relation {
	best := Relation{}
	for _, x := range frame.Read(a, speakerA) {
		for _, y := range frame.Read(b, speakerB) {
			if r := Compare(x, y); r.Certainty > best.Certainty {
				best = r
			}
		}
	}
	return best
}

func describe(speaker, s string) string {
	out := ""
	for _, f := range frame.Read(s, speaker) {
		out += fmt.Sprintf("%+v\n", f)
	}
	return out
}

func TestEverydayChanges(t *testing.T) {
	for _, c := range [][2]string{
		{"I live in Lyon.", "We moved from Lyon to Oslo last month."},
		{"The launch is planned for May 3.", "The launch is postponed to June 10."},
		{"I hate cilantro.", "I love cilantro now."},
		{"Our standup is at 9:30 every day, Berlin time.", "By the way, our standup moved to 10:00."},
		{"Our standup is at 9:30 every day, Berlin time.", "Our standup is at 10:00 every day, Berlin time."},
		{"The ledger service is written in Go 1.24.", "The ledger service moved to Go 1.25 yesterday."},
		{"I prefer testify for assertions in tests.",
			"I don't like testify anymore, I prefer the standard library with go-cmp in tests now."},
		{"My dog is called Max.", "My dog is called Rex, not Max."},
		{"We track issues in Jira.", "We switched from Jira to Linear."},
		{"Marek is on call.", "Priya took over on-call from Marek."},
		{"Marek is on call this week.", "Priya is on call now."},
		{"The budget for Q3 is 40k.", "They cut the Q3 budget to 30k."},
		{"Sprints are two weeks long.", "From now on sprints are three weeks long."},
		{"I'm vegetarian.", "I'm vegan now."},
		{"Tom is my manager.", "Ana took over as my manager."},
		{"Tom is my manager.", "My manager is Ana."},
		{"Maya works at Acme.", "Maya left Acme for Globex."},
		{"Maya works at Acme.", "Maya joined Globex in May."},
		{"We use Jenkins for CI.", "We switched to GitHub Actions."},
		{"CI runs on Jenkins.", "We replaced Jenkins with Buildkite."},
		{"The API rate limit is 100 requests per minute.", "We bumped the API rate limit to 500 requests per minute."},
		{"Backups are kept for 30 days.", "We now keep backups for 90 days."},
		{"Maya lives in Lyon.", "Maya no longer lives in Lyon."},
		{"The offsite is on May 3.", "The offsite is cancelled."},
		{"I play guitar.", "I gave up guitar."},
		{"I drink coffee every morning.", "I stopped drinking coffee."},
		{"The deadline is March 14.", "Correction: the deadline is March 28."},
		{"The deadline is March 14.", "The deadline slipped to March 28."},
		{"My phone number is 555-0100.", "My phone number changed to 555-0199."},
		{"My favorite color is blue.", "My favourite colour is green these days."},
		{"The feature flag checkout_v2 is disabled in production.",
			"The feature flag checkout_v2 is enabled in production now."},
		{"We deploy with Jenkins.", "We deploy with Argo CD now instead of Jenkins."},
		{"The service listens on port 8080.", "The service listens on port 9090 now."},
		{"Our database is MySQL.", "We migrated our database to Postgres."},
		{"Dana owns the ledger service.", "Priya owns the ledger service now."},
		{"The demo is on Thursday.", "The demo has been pushed back to Friday."},
		{"I drive a Honda.", "I traded my Honda for a Tesla."},
		{"Rent is 1200 euros a month.", "They raised my rent to 1350 euros."},
		{"I'm single.", "I got married last week."},
		{"We meet on Mondays.", "As of June 1 we meet on Wednesdays."},
		{"The main branch is called master.", "The main branch is called main now."},
		{"Pull requests need one approval.", "Pull requests need two approvals now."},
		{"I go to the gym in the morning.", "I go to the gym in the evening now."},
		{"We host our code on GitLab.", "Our code moved to GitHub."},
		{"Customer data is stored in us-east-1.", "Customer data now lives in eu-west-1."},
	} {
		t.Run(c[1], func(t *testing.T) {
			r := relate("", c[0], "", c[1])
			require.GreaterOrEqual(t, r.Certainty, Likely, "%s\n%s\n%+v\n%s%s", c[0], c[1], r, describe("", c[0]),
				describe("", c[1]))
			require.NotEqual(t, Restates, r.Change)
		})
	}
}

func TestCompatibleStatements(t *testing.T) {
	for _, c := range [][2]string{
		{"My sister lives in Rome.", "My brother lives in Paris."},
		{"The API listens on port 8080.", "The admin panel listens on port 9090."},
		{"In staging, retention is 7 days.", "In production, retention is 30 days."},
		{"Retention is 7 days in staging.", "Retention is 30 days in production."},
		{"I like cilantro.", "I like basil."},
		{"I play guitar.", "I play piano."},
		{"I speak French.", "I speak German."},
		{"I work at Acme.", "I work at the food bank on weekends."},
		{"Maya was born in Lyon.", "Maya moved from Lyon to Oslo."},
		{"Maya loves Lyon.", "Maya moved from Lyon to Oslo."},
		{"Tom lives in Lyon.", "Maya moved from Lyon to Oslo."},
		{"My dog is called Max.", "My cat is called Luna."},
		{"The team met on May 3.", "The team met on June 10."},
		{"I visited Rome.", "I visited Oslo."},
		{"We use Postgres.", "We use Redis."},
		{"I prefer coffee.", "I prefer small pull requests now."},
		{"I prefer small pull requests, at most 300 changed lines.", "I prefer testify for assertions in tests."},
		{"The office is noisy.", "The office is cold."},
		{"Tom is a nurse.", "Tom is a father."},
		{"I'm allergic to peanuts.", "I'm allergic to shellfish."},
		{"My work phone number is 555-0100.", "My home phone number is 555-0199."},
		{"My phone number is 555-0100.", "My work phone number is 555-0199."},
		{"The API runs on Node 18.", "The worker runs on Node 20."},
		{"Maya likes tabs.", "Tom likes spaces."},
		{"The standup is at 9:30.", "The retro is at 15:00."},
		{"On weekdays I get up at 6.", "On weekends I get up at 9."},
		{"The launch of the mobile app is on May 3.", "The launch of the web app is on June 10."},
		{"Dana owns the ledger service.", "Priya owns the billing service."},
		{"We deploy to Frankfurt.", "We deploy to Dublin."},
		{"Kafka at Corvid is run by the data platform team.",
			"NATS JetStream is already deployed in the payments cluster with three replicas."},
		{"Coverage of internal/events is 78 percent.", "Coverage of internal/posting is 61 percent."},
		{"The p99 of the balance endpoint is 80 ms.", "The p99 of the transfer endpoint is 120 ms."},
		{"Pull request #412 was merged by Priya.", "Pull request #431 was merged by Dana."},
		{"My son Leo is 7.", "My daughter Mia is 4."},
		{"Never deploy the ledger on Fridays.", "Our standup is at 10:00 every day."},
	} {
		t.Run(c[1], func(t *testing.T) {
			r := relate("", c[0], "", c[1])
			require.LessOrEqual(t, r.Certainty, Doubt, "%s\n%s\n%+v\n%s%s", c[0], c[1], r, describe("", c[0]),
				describe("", c[1]))
		})
	}
}
