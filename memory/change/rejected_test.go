package change

import (
	"testing"

	"github.com/mneme/mneme/memory/frame"
)

// A text that tells of the old value as over, in any words, and gives another replaces it.
func TestRejectedValueIsReplaced(t *testing.T) {
	for _, c := range [][2]string{
		{"The parser's licence is GPL.", "The lawyers do not like GPL, and the parser is under EUPL now."},
		{"The Orion team's penetration tests are done by Bishop Fox.",
			"The insurer didn't accept Bishop Fox, so the Orion team's penetration tests are done by Cure53."},
		{"The Orion team sends its parcels with Chronopost.",
			"The Chronopost account is closed. Everything the Orion team ships goes out with DPD."},
		{"The relay reads its passwords from HashiCorp Vault.",
			"The bill for HashiCorp Vault was ridiculous, the relay's passwords live in Akeyless now."},
		{"The checkout API is OData.", "It's all JSON-RPC in the checkout API, nothing of OData is left."},
		{"My paper is the Daily Echo.", "The Daily Echo doesn't come any more, my paper is the Herald."},
		{"The archive accepts files up to 10 MB.", "The archive accepts 25MB files now and not 10 MB."},
	} {
		if r, _ := Best(frame.Read(c[0], ""), frame.Read(c[1], "")); r.Certainty < Likely || r.Change != Updates {
			t.Errorf("%q, %q: %+v", c[0], c[1], r)
		}
	}
}

// What a text says against something named in the earlier statement does not replace it if it is about another thing,
// a part of it, or one occasion.
func TestRejectionOfAnotherThing(t *testing.T) {
	for _, c := range [][2]string{
		{"We use Jenkins for the backend.", "The frontend never used Jenkins, it builds with Drone."},
		{"Maya works at Acme.", "Maya does not like the Acme canteen, so she eats at Rosa's."},
		{"Maya works at Acme.", "Maya did not like the commute to Acme, so she works from home on Fridays."},
		{"Tom plays tennis with Anna.", "Tom did not see Anna yesterday, Bea is ill too."},
		{"The checkout service runs on Kubernetes.",
			"The checkout service does not use Kubernetes secrets, it reads them from Vault."},
		{"My doctor is Dr. Lee.", "Dr. Lee was not in, so Dr. Park saw me."},
		{"My brother's dog is Pepper.", "My dog is no longer called Pepper, the name is Biscuit."},
		{"I live in a loft.", "My cousin has moved out of the loft and into a tiny house."},
		{"The house has two bathrooms.", "The garage has no bathrooms, it has one window."},
		{"Our wiki is Confluence.", "If Confluence is not up, the status page has the runbook in Notion."},
	} {
		if r, _ := Best(frame.Read(c[0], ""), frame.Read(c[1], "")); r.Certainty >= Likely {
			t.Errorf("%q, %q: %+v", c[0], c[1], r)
		}
	}
}

func TestWhatFailedIsReplaced(t *testing.T) {
	requirePairs(t, []pair{
		{"The summer party takes place in Lucca.", "Lucca fell through, the summer party is going to be in Siena.", Likely},
		{"The chess group meets in the old mill.",
			"The old mill was too noisy, so the chess group has moved into the town hall.", Sure},

		{"The hall is in Rome.", "The hall was too small, so the choir sings in a tent.", Unrelated},
		{"The summer party takes place in Lucca.", "Lucca was too hot for the hike, the hike is going to be in Siena.",
			Unrelated},
		{"The chess group meets in the old mill.", "The old mill was too noisy for the concert.", Unrelated},
	})
}
