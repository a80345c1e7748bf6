package third

import "strings"

// Distractors holds statements about other things, with the question that they answer.
const Distractors = `
The dishwasher leaves a film on the glasses. || What is wrong with the dishwasher?
{p} fell off the ladder while picking cherries. || How did {p} fall?
I found ten euros in an old jacket. || What did I find in an old jacket?
The school fair made 1,200 euros. || How much money did the school fair make?
The build takes eight minutes on my laptop. || How long does the build take on my laptop?
{p} made lentil soup for everyone. || Who made lentil soup?
Our landlord is replacing the front door in May. || What is our landlord replacing?
I read a book about the history of salt. || What was the book about that I read?
The bus stop in front of the office is closed. || Which stop can't we use?
The release notes are missing the section on upgrades. || What is missing in the release notes?
{p} lent me a tent for the festival. || What did {p} lend me?
My neighbour plays the saxophone at midnight. || What does my neighbour do at midnight?
The cake was too dry. || How was the cake?
We planted an apple tree behind the house. || What did we plant behind the house?
The API key was in a public repository. || Where was the API key found?
{p} has a fear of flying. || What is {p} afraid of?
The marathon route goes past our flat. || What goes past our flat?
I need new insoles for my hiking boots. || What do I need for my hiking boots?
The car wash on Mill Road takes only cash. || How can I pay at the car wash?
The memory leak was in the PDF export. || Where was the memory leak?
{p} won 50 euros at bingo. || How much did {p} win at bingo?
The mushrooms in the back garden are poisonous. || Are the mushrooms in the back garden safe to eat?
I missed the last ten minutes of the match. || How much of the match did I miss?
The kitchen scales need a new battery. || What do the kitchen scales need?
{p} sent a postcard from Lapland. || Where did {p} send a postcard from?
The new keyboard has no number pad. || What does the new keyboard lack?
The vet charges 45 euros for a check-up. || What does a check-up at the vet cost?
Our neighbours are building a pool. || What are our neighbours building?
I burnt the rice again. || What did I burn?
The test suite has 1,900 tests. || How many tests are in the test suite?
{p} spilled red wine on the sofa. || Who spilled red wine on the sofa?
The hotel in Porto had no air conditioning. || What did the hotel in Porto not have?
The recycling bin is for glass only. || What goes into the recycling bin?
The tap in the garden drips. || Which tap drips?
{p} fixed the bug in the date picker. || Who fixed the date picker?
I had a dream about a flooded library. || What did I dream about?
The train to Salzburg was cancelled. || What happened to the train to Salzburg?
The curtains in the bedroom are too short. || What is wrong with the curtains in the bedroom?
{p} is reading a book about octopuses. || What is the book about that {p} is reading?
The customer wants the report as a spreadsheet. || What format does the customer want the report in?
My bike was stolen at the station. || Where was my bike stolen?
The ice cream shop has a queue every evening. || Where is there a queue every evening?
We found a bat in the attic. || What did we find in the attic?
The fuse for the oven is number seven. || What is the number of the fuse for the oven?
{p} walked the Camino in 33 days. || How long did {p} take for the Camino?
The index on the orders table was missing. || What was the orders table lacking?
I left my scarf at the dentist's. || Where did I leave my scarf?
The pancakes need buttermilk. || What do the pancakes need?
The fish market opens at five in the morning. || When does the fish market open?
{p} told a funny story about a goat. || What was {p}'s story about?
The old monitor flickers. || What is wrong with the old monitor?
The swimming pool is closed for repairs. || Why is the swimming pool closed?
I ordered 20 sacks of potting soil. || How much potting soil did I order?
The wedding photos are on a USB stick in the desk. || Where are the wedding photos?
{p} got a parking ticket outside the town hall. || Where did {p} get a parking ticket?
The speaker at the conference lost her voice. || What happened to the speaker at the conference?
The sunflowers are over two metres tall. || How tall are the sunflowers?
Our CSV export puts quotes around every field. || How does our CSV export treat fields?
I tore a muscle playing badminton. || How did I tear a muscle?
The pizza place forgot the olives. || What did the pizza place forget?
{p} brought chocolate from Belgium. || What did {p} bring from Belgium?
The smoke detector in the hall is ten years old. || How old is the smoke detector in the hall?
The river was too high for canoeing. || Why could nobody go canoeing?
The heating engineer charged for two hours. || How many hours did the heating engineer charge for?
{p} recommended a podcast about Roman roads. || What did {p} recommend?
I put the Christmas lights in the blue box. || Where are the Christmas lights?
The survey form has a typo in question four. || Where is the typo in the survey form?
The cinema shows silent films in November. || When does the cinema show silent films?
{p} dropped the phone into the lake. || What did {p} drop into the lake?
The paint on the bench is still wet. || What is still wet?
The rollback took 25 minutes. || How long did the rollback take?
There was a wasps' nest under the roof. || What was under the roof?
I bought a rain barrel with 300 litres. || How big is the rain barrel I bought?
The museum of clocks is free on Thursdays. || When is the museum of clocks free?
{p} complained about the noise from the building site. || What did {p} complain about?
The tenants upstairs have a drum kit. || Who has a drum kit?
The flour was full of moths. || What was the matter with the flour?
The contract has a notice period of three months. || What is the notice period of the contract?
{p} sang at the wedding. || Who sang at the wedding?
The fox took two of our chickens. || What did the fox take?
My rucksack has a hole at the bottom. || Where does my rucksack have a hole?
The cache was full of stale prices. || What was in the cache?
The bookshop on the square is having a sale. || Which shop has a sale?
I taught the kids to play dominoes. || What game did I teach the kids?
{p} made a birdhouse out of old crates. || What did {p} make a birdhouse out of?
The new chairs squeak. || What is the problem with the new chairs?
The allotment has no running water. || What does the allotment not have?
The security audit is done by a firm from Tallinn. || Who does the security audit?
{p} caught a pike on Saturday. || What did {p} catch on Saturday?
The doorbell is too quiet. || What is wrong with the doorbell?
The quiz night raised money for the animal shelter. || What was the money of the quiz night for?
I lost a contact lens in the pool. || What did I lose in the pool?
The street lamp in front of the house is broken. || Which street lamp is broken?
{p} wrote a poem for the retirement party. || What did {p} write for the retirement party?
The first snow fell on November 3. || When did the first snow fall?
The lamp in the stairwell goes off after one minute. || How long does the lamp in the stairwell stay on?
The upload fails for files with umlauts in the name. || Which files can't be uploaded?
The peaches from the market were still hard. || How were the peaches from the market?
{p} collects old typewriters. || What does {p} collect?
The tram was so full that I walked. || Why did I walk?
We need 14 chairs for the reading. || How many chairs do we need for the reading?
The boat trip was called off because of fog. || Why was there no boat trip?
I sharpened all the kitchen knives. || What did I sharpen?
The mole has dug up the whole lawn. || What did the mole do?
{p} hung the painting upside down. || Who hung the painting the wrong way round?
The ointment has to be kept in the fridge. || Where does the ointment have to be kept?
The staff party cost 28 euros per head. || What did the staff party cost per head?
The vacuum cleaner smells of burnt rubber. || What does the vacuum cleaner smell of?
{p} carried the piano up with three friends. || How did {p} get the piano upstairs?
The scout hut has 24 beds. || How many beds does the scout hut have?
`

// Unheard has questions about things that were never said.
const Unheard = `
What is {p}'s favourite ice cream flavour?
Which kindergarten did {p} go to?
What is {p}'s hat size?
Who taught {p} to drive?
What was {p}'s first pet called?
What is {p}'s glove size?
Which brand of jeans does {p} wear?
Who is {p}'s godmother?
What is {p}'s IBAN?
How did {p} meet the neighbours?
Which poem does {p} know by heart?
What was {p}'s first salary?
Which prescription do {p}'s glasses have?
Does {p} snore?
What is {p}'s resting heart rate?
Which superhero does {p} like best?
What does {p}'s signature look like?
What is {p}'s social security number?
Which board game does {p} always lose?
Who was {p}'s first boss?
How many unread emails does {p} have?
What is {p}'s favourite joke?
Which celebrity did {p} meet?
What time of day was {p} born?
Which song did {p} choose for the funeral?
What did {p} want to be as a child?
How many pairs of shoes does {p} own?
Which karate belt does {p} have?
What is {p}'s grandmother's maiden name?
Which lottery numbers does {p} play?
Does {p} believe in ghosts?
What is {p}'s frequent flyer number?
What is my hip measurement?
What is my Netflix password?
Who was my first love?
Which vaccine did I get last?
What is the serial number of my camera?
What is my blood pressure?
Who is my optician?
Which day did I get my driving licence?
How much does my suitcase weigh?
What is my mother-in-law's address?
What is the chip number of my cat?
What did I dream of when I was six?
Which tree did I climb as a child?
Who signed the contract for the payroll system?
How many lines of code does the ledger service have?
What was the first commit in the search service?
Which consultant reviewed the fraud detector?
How much did the booking API cost to build?
What is the icon of the driver app?
How many languages is the survey tool available in?
Who holds the trademark of the newsletter tool?
Which university did the quote engine come from?
What is the dial-in number for incidents of the tax service?
Which award did the recommendation service win?
`

// Foreign asks about topics that no one mentions.
const Foreign = `
What is the largest desert on earth?
How do magnets work?
Who wrote One Hundred Years of Solitude?
What is the capital of Kyrgyzstan?
How many keys does a harpsichord have?
Why do leaves turn red in autumn?
Who won the Battle of Waterloo?
What is the speed of sound in water?
How is paper made?
What is a black hole?
Who painted Guernica?
How does a refrigerator work?
What is the deepest lake in the world?
When was the printing press invented?
How do bees make honey?
What is the population of Nigeria?
Explain the theory of plate tectonics.
Who was the first man in space?
What does a tuning fork do?
How many chromosomes do humans have?
What is the plot of Moby Dick?
Which element has the symbol W?
How do I tie a bowline?
What were the causes of the Crimean War?
Why do cats purr?
What is the longest river in Europe?
How does a nuclear reactor work?
Who composed The Barber of Seville?
What is the meaning of the word petrichor?
How are pearls formed?
What is the distance from the earth to the moon?
Which philosopher wrote Being and Time?
What is a prime number?
How did the dinosaurs die out?
What is the official language of Suriname?
Who built the pyramids of Giza?
How does an electric eel make electricity?
What is the melting point of lead?
What are the rules of curling?
When did the Titanic sink?
How is glass blown?
Who was Cleopatra's last husband?
What is the cube root of 2197?
Which countries border Laos?
Tell me about the Silk Road.
`

// Frames are what people put around a statement; %s is the statement.
var Frames = []string{"Just so you know, %s", "Heads up: %s", "Hey! %s", "Another one: %s", "Good morning. %s",
	"Quick update: %s", "Can you remember this? %s", "Note to self: %s", "Okay. %s", "By the way: %s", "Also: %s",
	"Hello again. %s", "%s Thank you!", "%s Just saying.", "%s Please remember that.", "%s That's it for today.",
	"%s Talk soon.", "%s Good to know, I think."}

// Names are people of none of the other halves.
var Names = strings.Split("Hannah/she|Daniel/he|Laura/she|Michael/he|Sarah/she|David/he|Julia/she|Thomas/he|"+
	"Emma/she|Peter/he|Maria/she|Robert/he|Anna/she|Martin/he|Sandra/she|Kevin/he|Rachel/she|Brian/he|Nicole/she|"+
	"Erik/he|Priya/she|Rahul/he|Aisha/she|Carlos/he|Sunita/she|Diego/he|Mia/she|Felix/he|Lena/she|Max/he|"+
	"Olivia/she|George/he|Charlotte/she|Henry/he|Amelia/she|Jack/he|Sophie/she|Liam/he|Megan/she|Ethan/he|"+
	"Jing/she|Hiroshi/he|Leila/she|Mateo/he|Ingeborg/she|Anton/he|Beatrice/she|Giorgio/he|Katrin/she|Lukas/he", "|")
