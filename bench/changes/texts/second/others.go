package second

import "strings"

// Distractors holds statements about other things, with the question that they answer.
const Distractors = `
The gutter above the porch is full of leaves again. || What is clogging the gutter?
{p} baked rhubarb crumble for the street party. || Who made the dessert for the street party?
I found a fossil of a sea urchin on the beach. || What did I pick up on the beach?
The flaky test turned out to depend on the time zone. || Why did the test fail every now and then?
Our postwoman retires at the end of the year. || Who is about to stop delivering letters?
{p} has read all of Chekhov, some of it twice. || Which writer does {p} know from cover to cover?
The zip of my sleeping bag is broken. || What is wrong with my sleeping bag?
The swifts under the eaves left in early August. || When did the swifts fly off?
A heat pump would cost us 19,000 after the subsidy. || What is the price of a heat pump for us?
{p} got stuck in the revolving door of the bank. || Where was {p} trapped?
The compiler crashes on nested generics. || What makes the compiler crash?
We ran out of candles halfway through the power cut. || What did we have too few of in the power cut?
The ferry to Hydra doesn't take cars. || Can I take a car on the ferry to Hydra?
{p} taught my nephew to whistle with two fingers. || Who showed my nephew how to whistle?
The carpet in the hallway hides a scorch mark. || What is under the carpet in the hallway?
The Sunday market has moved under the railway arches. || Where is the Sunday market held?
Half of the strawberries were eaten by slugs. || Which animals got at the strawberries?
The PDF library chokes on embedded fonts. || What can't the PDF library cope with?
{p} keeps bees on the roof of the theatre. || Where are {p}'s beehives?
I paid 14 euros for a sandwich at the airport, daylight robbery. || What did I eat for 14 euros?
The cleaning lady found the lost earring behind the radiator. || Where was the earring?
The glazier measured the skylight twice. || What did the glazier measure?
{p} signed the petition against the bypass. || What is {p} against?
The jury gave the first prize to a film about beekeepers in Macedonia. || What was the film that won about?
My great-uncle sailed round Cape Horn in 1931. || Who in my family went round Cape Horn?
The smoke alarm beeps because of its battery. || Why does the smoke alarm make a noise?
The API returns an empty list instead of a 404. || What does the API do when nothing is found?
{p} knitted a scarf that is four metres long. || How long is the scarf that {p} made?
The bakery's card reader only works when it feels like it. || What is unreliable at the bakery?
The tree surgeon says the birch has to go. || What should be done with the birch?
I left my good corkscrew in the holiday flat. || What did I forget in the holiday flat?
The deer come down to the orchard at dusk. || At what time of day do the deer visit?
{p} is scared of escalators. || What frightens {p}?
The wedding band wanted 1,800 for the evening. || How much did the musicians ask for the wedding?
The old admin account had the password written on a sticky note. || Where was the password of the old admin account?
They are tearing down the cinema in Mill Street. || Which building in Mill Street is being demolished?
The lemon tree spends the winter in the stairwell. || Where is the lemon tree when it is cold?
{p} cried at the end of the school play. || Who was moved to tears by the school play?
The moving company scratched the sideboard. || Who damaged the sideboard?
The spare fuses are in the biscuit tin. || What do we keep in the biscuit tin?
On the Kyoto trip I liked the moss garden best. || What was my favourite sight in Kyoto?
The logs of the migration fill 40 gigabytes. || How big are the logs of the migration?
{p} beat the whole table at mahjong. || Which game did {p} win?
The dry cleaner lost a button of my coat. || What is missing on my coat?
The chimney sweep comes on the ninth. || On which day is the chimney swept?
Somebody keeps feeding the pigeons in the courtyard. || What goes on in the courtyard that should not?
The youth hostel in Bergen had bunk beds made of ship's timber. || What were the beds in the youth hostel made of?
{p} needs two seats on the plane because of the cello. || Why does {p} book two seats on a plane?
The linter forbids shadowed variables. || What does the linter not allow?
The soup kitchen needs volunteers on Christmas Eve. || When does the soup kitchen look for helpers?
I burnt my tongue on the dumplings. || How did I hurt my tongue?
The goldsmith can shrink the ring by two sizes. || By how much can the ring be made smaller?
{p} once met Leonard Cohen in a lift. || Which singer did {p} run into?
The wallpaper in the study shows Chinese pheasants. || What is to be seen on the wallpaper in the study?
The courier rang at the wrong house. || Why did the courier not find us?
The tomatoes have blight. || Which disease do the tomatoes have?
The cronjob ran twice when the clocks went back. || What happened to the cronjob at the end of summer time?
{p} restores pinball machines from the seventies. || Which machines does {p} do up?
The hotel in Ravenna charged extra for the balcony. || What did we have to pay extra for in Ravenna?
The dog next door barks at hot-air balloons. || What upsets the dog next door?
We still owe the window cleaner for May. || Which month have we not paid the window cleaner for?
The children dug a hole deep enough to stand in. || How deep is the hole that the children made?
{p} suggested lilac for the bridesmaids. || Which colour did {p} want for the bridesmaids?
The charger gets too hot to touch. || What is the trouble with the charger?
The mushrooms near the quarry are not edible. || Which mushrooms must not be eaten?
The staging database is a copy from February. || From when are the data in the staging database?
I've had hiccups since the curry. || What did the curry give me?
The brass plaque names the architect as E. Lindqvist. || Who designed the building with the brass plaque?
{p} walked out of the opera at the interval. || What did {p} not stay to the end of?
The seed catalogue arrives in the first week of January. || When do we get the seed catalogue?
The hinge of the oven door squeaks. || What makes a noise when I open the oven?
The train to Brno was so full that we sat on our suitcases. || What did we sit on in the train to Brno?
The invoice numbers skip every thousandth number. || What is odd about the invoice numbers?
{p} inherited a pocket watch from an aunt in Trondheim. || From whom does {p} have the pocket watch?
The allotment society bans trampolines. || What is not allowed on the allotments?
The mason used lime mortar for the garden wall. || What holds the garden wall together?
My boots need new soles before the autumn. || What has to be repaired on my boots?
The otters are back in the mill stream. || Which animals can be seen in the mill stream again?
{p} answered the quiz question about Bhutan. || Who knew the answer about Bhutan?
The search box ignores umlauts. || Which characters does the search box not care about?
The tailor puts a secret pocket into every jacket. || What is special about the tailor's jackets?
There was a wasp in the marmalade. || What was in the marmalade?
The phone box on the village green is a library now. || What has the phone box become?
I bid 70 euros for the Persian rug and lost. || How high was my offer for the rug?
{p} has a standing invitation to the regatta in Kiel. || Where is {p} invited every time?
The roofers left their ladder behind. || What did the roofers forget?
The unit tests take eleven minutes without the cache. || How long do the unit tests run without the cache?
The vineyard tour ended with a tasting of six wines. || How many wines did we try at the vineyard?
The estate agent wore odd socks. || What was funny about the estate agent?
The cuckoo clock came from a flea market in Lille. || Where was the cuckoo clock bought?
It hailed on the day of the school fete. || What was the weather like at the school fete?
The bookcase is screwed to the wall because of the earthquakes. || Why is the bookcase fixed to the wall?
The firewall drops packets larger than 1400 bytes. || Which packets don't get through the firewall?
{p} writes limericks for every farewell card. || What does {p} put on farewell cards?
The bath takes twenty minutes to fill. || How long do I wait for a full bath?
The mayor opened the footbridge with rusty scissors. || What did the mayor cut the ribbon with?
The saffron was in the wrong jar all along. || Which spice could we not find?
I sat next to a beekeeper from Vilnius on the coach. || Who was my neighbour on the coach?
The cheese from the monastery smells but tastes wonderful. || How is the cheese from the monastery?
The barn owl nests in the bell tower. || Where does the barn owl breed?
The data sheet gives the weight in pounds. || In which unit does the data sheet state the weight?
The caretaker salts the steps before six. || Who puts salt on the steps?
We carried the wardrobe up by the outside staircase. || How did the wardrobe get upstairs?
The poster for the fair was printed upside down. || What went wrong with the poster for the fair?
{p} swapped a wheelbarrow for two hens. || What did {p} get for the wheelbarrow?
The sauna in the guest house smells of birch. || What does the sauna smell of?
The customs officer wanted a list of all the instruments. || What did customs ask for?
The queue at the passport counter went round the block. || How long was the line for passports?
The code comments are half in Finnish. || In which language is a good part of the comments?
I can't get the candle wax out of the tablecloth. || What is the stain on the tablecloth?
`

// Unheard has questions about things that were never said.
const Unheard = `
What is {p}'s star sign?
Which hand does {p} write with?
What was {p}'s first word as a baby?
Who was the best man at {p}'s wedding?
What is {p}'s middle name?
How many siblings did {p}'s grandmother have?
Which toothpaste does {p} use?
What is the PIN of {p}'s bank card?
What did {p} write a thesis about?
Which tattoo does {p} have?
How much does {p} weigh?
What is {p}'s collar size?
What is {p}'s passport number?
Which radio station does {p} listen to in the kitchen?
What was {p} for Halloween?
Who cuts {p}'s hair?
Which church was {p} baptised in?
How old was {p} at the first kiss?
What is {p}'s worst nightmare?
What is {p}'s ringtone?
Which scout troop was {p} in?
What is {p}'s maiden name?
Which credit card does {p} have?
How many cousins does {p} have?
What is engraved on {p}'s ring?
Did {p} ever break a leg?
How many push-ups can {p} do?
What is {p}'s favourite dinosaur?
What did {p} get from the tax office?
Which philosopher does {p} quote?
What was {p}'s nickname at school?
What is my tax number?
What was the name of my first teacher?
Which mattress do I sleep on?
What is the combination of my suitcase?
How many steps did I walk yesterday?
What is my cholesterol level?
Which lipstick did I order?
What was my grade in physics?
Which notary did I go to?
What is the number of my parking permit?
What do I have in my will?
Which constellation can I recognise?
What is the model of my hearing aid?
Who drew the logo of the mobile app?
How many downloads did the mobile app have on Easter Monday?
Which law firm wrote the terms of use of the public website?
How much electricity does the data lake draw?
Who thought up the name of the wallet service?
Which patents cover the pricing engine?
Which typeface does the kiosk software use?
How many stars does the crawler have on GitHub?
What is the mascot of the partner portal?
Which song was played when the loyalty service went live?
Who translated the admin panel into Welsh?
What is the penalty when the claims service is down?
Which supplier delivered the screens for the warehouse app?
What is written on the sticker of the sandbox?
`

// Foreign asks about topics that no one mentions.
const Foreign = `
How does a sextant work?
Who wrote The Master and Margarita?
What is the capital of Burkina Faso?
Why is the sky blue?
How do I calculate the area of an ellipse?
What did the Congress of Vienna decide?
What is the lifespan of a blue whale?
Explain the double slit experiment.
Who was the first woman on Everest?
How is silk produced?
What is the half-life of caesium-137?
Summarise the plot of Don Giovanni.
How do volcanoes form?
Which bones are in the human hand?
What was the Rosetta Stone good for?
How do submarines dive?
What is the difference between a fugue and a canon?
Who discovered penicillin?
What does photosynthesis need?
How many players are on a water polo team?
When did the Berlin Wall come down?
Which gas makes up most of the atmosphere of Mars?
What is Gödel's incompleteness theorem?
How do spiders spin their webs?
Who was the last emperor of Brazil?
What is a haiku?
How does an airbag inflate?
What is the tallest building in Dubai?
Which planets have rings?
How is steel tempered?
What do the stripes in the flag of Thailand stand for?
Why did the Mayan cities fall?
How do bats find their way in the dark?
What is the Krebs cycle?
Who composed The Rite of Spring?
How does inflation arise?
What is the currency of Mongolia?
How do tides work?
What is the Doppler effect?
Tell me something about Byzantine mosaics.
How does one castle in chess?
What is the chemical formula of table salt?
Who designed the Sydney Opera House?
How long is the Nile?
What is the square root of 1764?
What are tardigrades?
`

// Frames are what people put around a statement; %s is the statement.
var Frames = []string{"FYI: %s", "Btw, %s", "Sorry, forgot to tell you yesterday: %s", "Me again! %s",
	"Small thing, but: %s", "Good evening. %s", "Not urgent. %s", "Typing this on the train, so excuse the typos. %s",
	"Since you asked: %s", "PS: %s", "Right, where were we? %s", "News from my side: %s", "Hmm, what else. %s",
	"OK so, %s", "%s Hope that helps.", "%s Anyway, back to work.", "%s Cheers!", "%s Let me know if you have questions.",
	"%s You may know that already.", "%s And that's that.", "%s Gotta run now.", "%s (No reply needed.)"}

// Names are people in neither half.
var Names = strings.Split("Agnes/she|Bjorn/he|Camille/she|Declan/he|Esther/she|Felipe/he|Gloria/she|"+
	"Henning/he|Ingrid/she|Jasper/he|Katya/she|Luca/he|Marisol/she|Noel/he|Ottilie/she|"+
	"Patrick/he|Qadir/he|Rosalind/she|Stefan/he|Thea/she|Umberto/he|Vivian/she|Wendell/he|"+
	"Xenia/she|Yusuf/he|Zelda/she|Amara/she|Bastian/he|Celeste/she|Duncan/he|Eszter/she|"+
	"Florian/he|Giulia/she|Hector/he|Irina/she|Jonas/he|Kalinda/she|Lionel/he|Marguerite/she|"+
	"Nasser/he|Orla/she|Piotr/he|Roisin/she|Samir/he|Tamsin/she|Ulrich/he|Veronica/she|"+
	"Wojtek/he|Yelena/she|Zachary/he", "|")
