package dev

// Single has changes that are stated once: an old statement, a new one, a question and, where it makes sense, a
// question about the past. Each is about a different thing.
const Single = `
attribute: single_life
for: any
moved: The piano stands in the living room. || We moved the piano to the study. || Where is the piano?
	|| Where did the piano stand before?
cancelled: The garden party is on June 21. || The garden party is cancelled because of the weather.
	|| Is the garden party taking place?
stopped: I take the blue pills twice a day. || The doctor stopped the blue pills. || Do I still take the blue pills?
switched: We get our vegetables from the market. || We switched to a vegetable box from the farm.
	|| Where do our vegetables come from? || Where did we get our vegetables before?
replaced: The heating is an old oil burner. || The oil burner was replaced by a heat pump.
	|| What kind of heating do we have? || What was the heating before the heat pump?
gave_up: I want to learn to juggle this year. || I gave up on juggling, my hands are too slow.
	|| Am I learning to juggle?
postponed: My eye operation is on March 3. || My eye operation is postponed to April 7.
	|| When is my eye operation? || When was my eye operation planned at first?
changed: The code of the garage is 4471. || The code of the garage changed to 9026.
	|| What is the code of the garage? || What was the code of the garage before?
no_longer: Our cleaner comes on Fridays. || Our cleaner no longer comes on Fridays but on Tuesdays.
	|| When does our cleaner come? || On which day did our cleaner come before?
now: My son weighs 14 kilos. || My son weighs 17 kilos now. || How much does my son weigh?
	|| How much did my son weigh before?
turns_out: The painting over the sofa is an original. || It turns out the painting over the sofa is a copy.
	|| Is the painting over the sofa genuine?
after_all: We will not get a cat. || We are getting a cat after all. || Will we have a cat?
left: The violin teacher of my niece is Mr Brandt.
	|| Mr Brandt left the music school; my niece's violin teacher is Ms Yilmaz. || Who teaches my niece the violin?
	|| Who taught my niece the violin before?
actually: The recipe needs three eggs. || Actually, the recipe needs two eggs. || How many eggs does the recipe need?
cut: I get 60 euros pocket money for the trip. || My pocket money for the trip was cut to 40 euros.
	|| How much pocket money do I get for the trip? || How much pocket money was I to get at first?
instead_of: We celebrate my father's birthday at the Blue Swan.
	|| We celebrate my father's birthday at home instead of at the Blue Swan.
	|| Where do we celebrate my father's birthday?

attribute: single_work
for: any
moved: The release notes are in the wiki. || The release notes moved to the handbook.
	|| Where are the release notes? || Where were the release notes before?
cancelled: The team trip to Ghent is in October. || The team trip to Ghent is cancelled. || Are we going to Ghent?
took_over: Interviews are organised by Cedric. || Ulrike took over the interviews from Cedric.
	|| Who organises the interviews? || Who organised the interviews before Ulrike?
upgraded: The office network has 100 megabits. || The office network was upgraded to 1 gigabit.
	|| How fast is the office network? || How fast was the office network before?
migrated: Customer records are kept in a spreadsheet. || Customer records were migrated to the CRM.
	|| Where are customer records kept? || Where were customer records kept before?
stopped: We send a status mail every evening. || We stopped sending status mails. || Do we send status mails?
no_longer: Expenses over 100 euros need two signatures.
	|| Expenses over 100 euros no longer need two signatures, one is enough.
	|| How many signatures do expenses over 100 euros need?
as_of: Support is open from 9 to 17. || As of Monday support is open from 8 to 20. || When is support open?
	|| When was support open before?
correction: The customer number of Halden is 7731. || Correction: the customer number of Halden is 7713.
	|| What is the customer number of Halden?
not_but: The workshop is in Bruges. || The workshop is not in Bruges but in Leuven. || Where is the workshop?
switched: We order sandwiches from Olli's. || We switched from Olli's to the Green Kitchen for sandwiches.
	|| Where do we order sandwiches? || Where did we order sandwiches before?
any_more: The plotter in the hall may be used by everyone.
	|| Not everyone may use the plotter in the hall any more, only the designers. || Who may use the plotter in the hall?
these_days: The archive is scanned by hand. || These days the archive is scanned by a robot.
	|| How is the archive scanned? || How was the archive scanned before?
started: Nobody checks the fire extinguishers.
	|| Mrs Olsen from facilities started checking the fire extinguishers. || Who checks the fire extinguishers?
`
