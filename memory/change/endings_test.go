package change

import (
	"testing"

	"github.com/mneme/mneme/memory/frame"
)

// What a statement says of one event, or of one deed in a place, does not end what holds of the place.
func TestEventsEndNothing(t *testing.T) {
	for _, c := range [][2]string{
		{"I work in Berlin.", "I left the Berlin office early today."},
		{"I live in Oslo.", "I quit smoking in Oslo."},
		{"I live in Oslo.", "I stopped at the bakery in Oslo."},
		{"I work at Siemens.", "I left the meeting at Siemens at four."},
		{"My office is in the library.", "I left my umbrella at the library."},
		{"I like the café on the corner.", "I stopped at the café on the way home."},
	} {
		if r, _ := Best(frame.Read(c[0], ""), frame.Read(c[1], "")); r.Certainty >= Likely {
			t.Errorf("%q, %q: %+v", c[0], c[1], r)
		}
	}
}

// The end of one value and the new value, in two clauses.
func TestEndAndNewValue(t *testing.T) {
	for _, c := range [][2]string{
		{"I bank with Nordea.", "I closed my Nordea account and am with Revolut now."},
		{"We pay for Netflix.", "We cancelled Netflix and use Disney+ now."},
		{"My GP is Dr. Sandoval.", "Dr. Sandoval retired, Dr. Whitfield looks after me now."},
		{"Ines leads the migration.", "Ines is on parental leave, Tobias leads the migration until autumn."},
		{"We write our tickets in Trello.", "Trello is gone, all our tickets live in Linear now."},
		{"I work at Acme.", "I left Acme and joined Globex."},
		{"I live in Oslo.", "I stopped living in Oslo."},
		{"The auditors visit the Atlas team on April 8.",
			"The Atlas team's audit is no longer on April 8, it is on March 4."},
		{"Maria cleans my flat.", "Maria is no longer my cleaner. It's Agnes."},
		{"Grandpa drives a Peugeot.", "Grandpa sold the Peugeot and rides the bus."},
		{"My sister Clara is engaged to Jonas.", "Clara broke off the engagement with Jonas."},
	} {
		if r, _ := Best(frame.Read(c[0], ""), frame.Read(c[1], "")); r.Certainty < Likely || r.Change == Restates {
			t.Errorf("%q, %q: %+v", c[0], c[1], r)
		}
	}
	for _, c := range [][2]string{
		{"My brother works at Bosch.", "Bosch is hiring, my sister works at Siemens now."},
		{"I live in Oslo.", "Oslo is expensive, my mother lives in Bergen now."},
	} {
		if r, _ := Best(frame.Read(c[0], ""), frame.Read(c[1], "")); r.Certainty >= Likely {
			t.Errorf("%q, %q: %+v", c[0], c[1], r)
		}
	}
}

// Words of change in forms that say little by themselves.
func TestChangesByWayOfSpeaking(t *testing.T) {
	for _, c := range [][2]string{
		{"I report to Helen.", "Since Monday I report to Anders."},
		{"Piano lessons are at five.", "From September piano lessons start at half past six."},
		{"I weigh 82 kilos.", "I'm down to 77 kilos."},
		{"My rent is 950 euros.", "The rent went up to 1,020 euros."},
		{"Alerts are sent to Slack.", "Alerts land in PagerDuty these days."},
		{"My laptop is a ThinkPad.", "IT swapped my laptop for a MacBook."},
		{"Book club meets on Mondays.", "Book club has been moved to Sundays."},
		{"The kitchen walls are yellow.", "We painted the kitchen walls green."},
		{"I take 20 mg of lisinopril.", "The doctor put my lisinopril up to 40 mg."},
		{"I sit on the third floor.", "They moved my desk up to the fifth floor."},
		{"The backend is written in Python.", "We finished rewriting the backend in Go."},
		{"Our son goes to Birch Primary.", "Our son started at Hillside School."},
		{"I can't stand olives.", "I've grown to love olives."},
	} {
		if r, _ := Best(frame.Read(c[0], ""), frame.Read(c[1], "")); r.Certainty < Likely || r.Change == Restates {
			t.Errorf("%q, %q: %+v", c[0], c[1], r)
		}
	}
	for _, c := range [][2]string{
		{"My rent is 950 euros.", "The rent of the shop went up to 1,020 euros."},
		{"Alerts are sent to Slack.", "Reports land in PagerDuty these days."},
		{"Alice works for Siemens.", "Alice is with Samuel now."},
		{"My laptop is a ThinkPad.", "IT swapped my phone for a Pixel."},
		{"The kitchen walls are yellow.", "We painted the bathroom walls green."},
	} {
		if r, _ := Best(frame.Read(c[0], ""), frame.Read(c[1], "")); r.Certainty >= Likely {
			t.Errorf("%q, %q: %+v", c[0], c[1], r)
		}
	}
}

// Who sold what they had and bought another has the new one, if the earlier statement says no more than that they had
// it. Otherwise it is not certain that it is the same thing, or that all of the earlier statement is over.
func TestSoldAndBought(t *testing.T) {
	const sold = "I sold the Clio and bought a Tesla."
	for earlier, want := range map[string]Certainty{
		"I drive a Clio.":            Sure,
		"I have a Clio.":             Sure,
		"My car is a Clio.":          Sure,
		"My dream car is a Clio.":    Likely,
		"My company car is a Clio.":  Likely,
		"I drive a Clio at work.":    Likely,
		"I drive a Clio and a Golf.": Likely,
		"I work at Clio.":            Likely,
		"I want a Clio.":             Likely,
		"I like the Clio.":           Unrelated,
		"My wife drives a Clio.":     Unrelated,
		"I drove a Clio.":            Unrelated,
	} {
		if r, _ := Best(frame.Read(earlier, "Maya"), frame.Read(sold, "Maya")); r.Certainty != want {
			t.Errorf("%q: %+v", earlier, r)
		}
	}
	if r, _ := Best(frame.Read("I drive a Clio.", "Maya"), frame.Read(sold, "Tom")); r.Certainty > Unrelated {
		t.Errorf("another person: %+v", r)
	}
}
