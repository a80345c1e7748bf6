package change_test

import (
	"testing"

	"github.com/mneme/mneme/memory/change"
	"github.com/mneme/mneme/memory/frame"
	"github.com/mneme/mneme/memory/question"
)

// Each group is one principle: pairs of statements where the later changes the earlier, and pairs of nearly the same
// form where both hold.
func TestChangesByStructure(t *testing.T) {
	for _, group := range []struct {
		name           string
		changes, apart [][2]string
	}{
		{"one phrase differs", [][2]string{
			{"I keep my passport in the desk.", "I keep my passport in the safe now."},
			{"I take the 7:40 train to the office.", "I take the 8:10 train to the office now."},
			{"We are on the third floor.", "We are on the fifth floor now."},
			{"I pay by Visa.", "I pay by Mastercard now."},
			{"We use Jitsi for video calls.", "We use Microsoft Teams for video calls now."},
			{"I'm training for a half marathon.", "I train for the full marathon now."},
			{"My cousin drinks her coffee with oat milk.", "These days my cousin takes whole milk in her coffee."},
			{"I want to study medicine.", "I changed my mind, I want to study law."},
			{"We clean the fish tank every two weeks.", "We clean the fish tank every week now."},
			{"I water the ferns twice a week.", "I water the ferns once a week now."},
		}, [][2]string{
			{"Lotte takes the 7:15 ferry.", "Bastian takes the 9:45 ferry now."},
			{"The sales team is on the second floor.", "The legal team is on the fourth floor now."},
			{"I take the 7:40 train to work.", "I take the 8:10 train to school now."},
			{"I take the 6:50 train to work.", "I take the 17:20 train home."},
			{"I pay the rent by bank transfer.", "I pay the gym by credit card now."},
			{"We heat the house with wood.", "We heat the greenhouse with electricity now."},
			{"I water the orchids once a week.", "I water the tomatoes every day now."},
			{"Bjorn has a licence for forklifts.", "Bjorn now has a licence for gliders."},
			{"The crawler can export CSV.", "Since the last release the crawler can export Parquet."},
			{"Laura got two budgies.", "Laura got a rabbit."},
			{"Jack has a fear of flying.", "Jack got a parking ticket outside the town hall."},
			{"The dark mode flag is enabled in the archive.", "The dark mode flag is disabled in the shop now."},
			{"Maya was born in Lyon.", "Maya has moved to Oslo."},
			{"I keep my passport in the drawer.", "I keep my camera in the closet now."},
			{"Holiday requests are approved by Maike.", "Travel requests go to Stefan for approval now."},
			{"I speak Italian.", "I speak Dutch."},
			{"Astrid plays the viola.", "Astrid plays handball now."},
			{"I like tea with milk.", "I like cake with cream."},
		}},
		{"the same words in another order", [][2]string{
			{"The meeting with the bank is on Tuesday.", "The bank meeting was pushed to Friday."},
			{"The report for the city council is due on the 10th.", "The council report isn't due before the 24th."},
			{"My contract with the gym runs until June.", "My gym contract was extended until December."},
		}, [][2]string{
			{"The meeting with the auditors is on Monday.", "The meeting with the bank was pushed to Friday."},
			{"The report for the council is due on the 10th.", "The report for the bank isn't due before the 24th."},
			{"My gym contract runs until March.", "My phone contract was extended until October."},
			{"The paper bin is collected on Tuesdays.", "The glass bin is collected on Fridays now."},
			{"The bins are collected on Tuesdays.", "The glass bin is collected on Fridays now."},
		}},
		{"who does it", [][2]string{
			{"The standup is run by Marek.", "Olga runs the standup now."},
			{"The coach of the under-twelves is Ivo.", "Carla coaches the under-twelves now."},
			{"Sven coaches the juniors.", "The juniors are coached by Dora now."},
			{"The newsletter is written by Samir.", "Samir doesn't write the newsletter any more, Jule does."},
			{"Oliver is our scrum master.", "Oliver isn't our scrum master any more, Tomasz is."},
			{"Oliver is the Falcon team's lead.", "Oliver is no longer the Falcon team's lead. It's Hannah."},
			{"My cleaner is Carmen.", "Rosa started as my cleaner last week."},
			{"The invoices are checked by Helga.", "Timo checks the invoices these days."},
			{"My night guard is Mr. Olsen.", "Mr. Olsen retired, the night guard is Mrs. Brandt."},
			{"The minutes are taken by Birgit.", "Konrad takes the minutes now."},
		}, [][2]string{
			{"The chess club is run by Ulla.", "Ravi runs the photo club now."},
			{"The invoices are checked by Renate.", "Falk checks the timesheets these days."},
			{"Sven coaches the juniors.", "Dora coaches the seniors now."},
			{"Ulla plays the piano.", "Ravi plays the piano now."},
			{"Peter starts the new job on May 19.", "Kevin starts the new job on November 23."},
			{"Ines uses the gym.", "Omar uses the gym now."},
			{"The minutes are taken by Ludwig on Mondays.", "Simone takes the photos now."},
		}},
		{"states that end", [][2]string{
			{"Priya is on parental leave.", "Priya is back from parental leave."},
			{"Sofia is on a sabbatical.", "Sofia has returned from her sabbatical."},
			{"Grandpa is in hospital.", "Grandpa came home from hospital."},
			{"Ben works part-time.", "Ben is back to full-time."},
			{"The lift is broken.", "The lift works again."},
			{"The scanner is out of order.", "The scanner is working again."},
			{"The bakery is closed for repairs.", "The bakery has reopened."},
			{"Nils is off sick.", "Nils is well again."},
			{"The dishwasher is under warranty.", "The warranty of the dishwasher ran out."},
			{"I take sugar in my coffee.", "No sugar in my coffee any more."},
			{"I drink my tea with milk.", "I take my tea without milk these days."},
			{"My knee hurts when I climb stairs.", "My knee doesn't hurt any more."},
			{"The kettle works fine.", "The kettle broke this morning."},
		}, [][2]string{
			{"Irene is on parental leave.", "Jonas is back from parental leave."},
			{"Mila works part-time.", "Oskar is back to full-time."},
			{"Grandma is in hospital.", "Uncle Pete came home from hospital."},
			{"The scanner is broken.", "The copier works again."},
			{"The toaster is under warranty.", "The warranty of the kettle ran out."},
			{"I take honey in my tea.", "No honey in my yoghurt any more."},
			{"I eat my porridge with milk.", "I drink my coffee without milk."},
			{"My left knee hurts.", "My right shoulder is fine again."},
			{"The shift starts at 8:00.", "The shift ends at 16:00."},
			{"I'm back from the dentist.", "My dentist is Dr. Roth."},
		}},
		{"what was moved or replaced", [][2]string{
			{"The kitchen will be done by April 12.", "The kitchen won't be done before May 3."},
			{"Customer records are kept in a spreadsheet.", "Customer records were migrated to the CRM."},
			{"The office network has 100 megabits.", "The office network was upgraded to 1 gigabit."},
			{"The walls in my bedroom are grey.", "The grey in my bedroom was replaced with lavender."},
			{"The heating is set to 21 degrees.", "I turned the heating down to 19 degrees."},
			{"My dentist appointment is on 8 July.", "I changed my dentist appointment, it's on 1 July now."},
			{"My usual breakfast is porridge.", "I have pancakes for breakfast now."},
			{"The piano lesson is at four.", "The piano lesson starts at half past four now."},
		}, [][2]string{
			{"The media service stores its data in MongoDB.", "We migrated the media service from Lyon to Oslo."},
			{"My insurance is with Allianz.", "My sister switched her insurance from Bupa to Barmer."},
			{"The nursery is painted yellow.", "We painted the hallway grey."},
			{"The bedroom is set to 18 degrees.", "I turned the bathroom up to 23 degrees."},
			{"Customer records are kept in a spreadsheet.", "Supplier records were migrated to the CRM."},
			{"My usual breakfast is porridge.", "I have soup for lunch now."},
			{"The cello lesson is at three.", "The swimming lesson starts at five now."},
		}},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.changes {
				r, _ := change.Best(frame.Read(c[0], ""), frame.Read(c[1], ""))
				if r.Certainty < change.Likely || r.Change == change.Restates || apart(c[0], c[1]) {
					t.Errorf("no change: %q, %q: %+v", c[0], c[1], r)
				}
			}
			for _, c := range group.apart {
				r, _ := change.Best(frame.Read(c[0], ""), frame.Read(c[1], ""))
				if r.Certainty >= change.Likely && !apart(c[0], c[1]) {
					t.Errorf("both hold: %q, %q: %+v", c[0], c[1], r)
				}
			}
		})
	}
}

// A statement that names another old value than the earlier one gives does not change it.
func TestAnotherOldValue(t *testing.T) {
	for _, c := range []struct {
		earlier, later string
		changes        bool
	}{
		{"Our younger boy goes to St Martin's.", "Zeynep is doing our UI design instead of Martin.", false},
		{"I train at Pulse.", "I switched my training from Gym Nine to Fit Factory.", false},
		{"Our log retention is 60 days.", "Our log retention was cut from 60 days to 30 days.", true},
		{"Our log retention is 90 days.", "Our log retention was cut from 60 days to 30 days.", false},
	} {
		r, _ := change.Best(frame.Read(c.earlier, ""), frame.Read(c.later, ""))
		if got := r.Certainty >= change.Likely; got != c.changes {
			t.Errorf("%q, %q: %+v", c.earlier, c.later, r)
		}
	}
}

func apart(earlier, later string) bool {
	return question.Apart(question.ReadText(earlier, ""), question.ReadText(later, ""))
}
