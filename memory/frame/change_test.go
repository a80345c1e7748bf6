package frame

import "testing"

// What only the verb tells apart, what is had no more, and times of the day.
func TestChangesInPlainWords(t *testing.T) {
	for _, c := range []struct {
		earlier, later string
		certainty      Certainty
		change         Change
	}{
		{"We track our leads in Salesforce.", "We keep our leads in SugarCRM these days.", Sure, Updates},
		{"We track our leads in Salesforce.", "We import our leads from HubSpot now.", Unrelated, ""},
		{"My games console is a Steam Deck.", "I don't have the Steam Deck any more.", Sure, Ends},
		{"Dana's console is a Steam Deck.", "I don't have the Steam Deck any more.", Unrelated, ""},
		{"I go to the gym at 7 in the morning.", "I go to the gym at 6 in the evening now.", Sure, Updates},
	} {
		got, _ := Best(Read(c.earlier, ""), Read(c.later, ""))
		if got.Certainty != c.certainty || got.Change != c.change {
			t.Errorf("%q, %q: %+v", c.earlier, c.later, got)
		}
	}
}
