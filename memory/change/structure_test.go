package change

import (
	"testing"

	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/frame"
)

func TestChangesBySentenceForm(t *testing.T) {
	for _, c := range []struct {
		earlier, later string
		certainty      Certainty
		change         Change
	}{
		{"I'm not coming to the village fair.", "I'm coming to the village fair after all.", Sure, Updates},
		{"The book I'm reading is Emma.", "I'm reading Persuasion now.", Sure, Updates},
		{"Sick notes go to the team lead.", "From now on sick notes go to HR directly.", Sure, Updates},
		{"Lena is knitting for her nephew.", "Lena is knitting for her godchild.", Doubt, Updates},
		{"Lena is knitting for her nephew.", "Marta is knitting for her godchild.", Unrelated, ""},
		{"Every Monday I play chess.", "Every Monday my aunt plays cards.", Unrelated, ""},
		{"I study law.", "I study law.", Sure, Restates},
		{"My manager is Carlos Mendez.", "I report to Priya Nair these days.", Sure, Updates},
		{"I report to Carlos Mendez.", "I report to Priya Nair now.", Sure, Updates},
		{"I report to Carlos Mendez.", "Dana reports to Priya Nair now.", Unrelated, ""},
		{"Dana looks after billing.", "Priya looks after billing now.", Sure, Updates},
		{"My sister lives in Graz.", "My sister has just moved to Linz.", Sure, Updates},
		{"My sister lives in Graz.", "My brother has just moved to Linz.", Unrelated, ""},
		{"I'm training for a half marathon.", "I train for the full marathon now.", Sure, Updates},
		{"I work at Acme.", "I work at Acme Corp.", Sure, Restates},
		{"Our backend is written in Python.", "We rewrote the backend in Go.", Sure, Updates},
		{"My sister Lena lives in Graz, near the lake.", "Lena moved to Linz in the end, for the job.", Sure, Updates},
		{"The quota is 100 requests an hour.", "Ines raised the quota to 400/hour last night.", Sure, Updates},
		{"Yoga is on Mondays at 6 pm.", "Yoga was moved to Wednesdays at 7 pm.", Sure, Updates},
		{"Ballet is at 4 pm.", "Ballet is at 5 pm.", Sure, Updates},
		{"Ballet with Eva is on Mondays.", "Ballet is on Wednesdays now.", Sure, Updates},
		{"Ada is off on Mondays.", "Ada is off on Wednesdays.", Unrelated, ""},
		{"Ada is in on Mondays.", "Ada is in on Wednesdays.", Unrelated, ""},
		{"The book club meets in the library.", "The book club meets in the Rondo.", Doubt, Updates},
		{"Ben is the secretary of the chess club.", "At the summer meeting Ada Roth was elected secretary of the chess club.",
			Sure, Updates},
		{"Ben is the secretary of the chess club.", "Ada has been appointed as secretary of the chess club.", Sure, Updates},
		{"Ben is the secretary of the chess club.", "Ada was elected president of the chess club.", Unrelated, ""},
		{"Ben is the secretary of the chess club.", "Ben was elected in 2020.", Unrelated, ""},
	} {
		got, _ := Best(frame.Read(c.earlier, ""), frame.Read(c.later, ""))
		if got.Certainty != c.certainty || got.Change != c.change {
			t.Errorf("%q, %q: %+v", c.earlier, c.later, got)
		}
	}
}

func TestOwnersBySentenceForm(t *testing.T) {
	for text, want := range map[string]string{
		"The book I'm reading is Emma.":               english.SelfTerm,
		"Every Monday I meet friends for cards.":      english.SelfTerm,
		"The tent we use is in the shed.":             english.TeamTerm,
		"It is Pixelworks that prints our catalogue.": "pixelwork",
	} {
		frames := frame.Read(text, "")
		if len(frames) != 1 || len(frames[0].Owners) == 0 || frames[0].Owners[0] != want &&
			frames[0].Owners[len(frames[0].Owners)-1] != want {
			t.Errorf("%s %+v", text, frames)
		}
	}
}
