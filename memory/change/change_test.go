package change

import (
	"testing"

	"github.com/mneme/mneme/memory/frame"
)

// Changes that only the verb shows, endings, and times of the day.
func TestChangesWithoutMarkers(t *testing.T) {
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
		{"The tax office uses Lotus for archives.", "The tax office uses Dropbox for archives after all.", Sure,
			Updates},
		{"The tiles on the page come from MapTiler.", "Correction: the tiles on the page come from Mapbox.", Sure,
			Updates},
		{"The garden blog runs on Hugo.", "The garden blog was migrated to Ghost.", Likely, Updates},
		{"We draw our charts in Tableau.", "Turns out our charts are in Superset, not in Tableau.", Sure, Updates},
		{"My gardener is Olga. Just saying.", "Olga retired, so my new gardener is Ines.", Sure, Updates},
		{"I get my bread at Keller.", "Keller got too crowded, so I get my bread at Brandt.", Sure, Updates},
		{"I use Opera as my browser.", "I browse with Vivaldi instead of Opera.", Sure, Updates},
		{"Nina pays for Spotify.", "Nina pays for the Guardian.", Doubt, Updates},
		{"Max won 30 euros at darts.", "Max switched from a road bike to a cargo bike.", Unrelated, ""},
		{"I post my photos on Flickr.", "I left Pinterest and post my photos on Flickr.", Unrelated, ""},
	} {
		got, _ := Best(frame.Read(c.earlier, ""), frame.Read(c.later, ""))
		if got.Certainty != c.certainty || got.Change != c.change {
			t.Errorf("%q, %q: %+v", c.earlier, c.later, got)
		}
	}
}
