package second

// People holds more attributes of people's lives, for developing rules: see attribute for the notation.
const People = `
attribute: hair
for: person
values: copper red | ash blonde | jet black | platinum | chestnut brown | silver grey | strawberry blonde |
	dark purple
old: {My} hair is {old}.
old: {I} dye{s} {my} hair {old}.
old: At the hairdresser's {I} always ask{s} for {old}.
ask: What colour is {my} hair?
ask: Which shade {do} {I} have on {my} head?
ask: If someone had to spot {me} in a crowd by {my} hair, what should they look for?
before: What was {my} hair colour before the {new}?
before: How did {I} have {my} hair coloured until the last change?
came_out: {I} spent three hours at the salon and came out {new}.
changed: {I} changed {my} hair colour, it's {new}.
until: Until last week {my} hair was {old}, today it's {new}.
any_more: Don't look for {old} hair any more when meeting {me}, it's {new}.
dyed: {I} dyed over the {old}. {new} from root to tip!
no_more: No more {old} for {me}: the hairdresser did it {new}.
nowadays: Nowadays {I} wear{s} {my} hair {new}.
picture: The picture {I} sent is from before. {My} hair is {new}.
bored: {I} got bored with {old} and asked the hairdresser for {new}.
ellipsis: {My} hair? {new}, as of yesterday.
turns_out: Turns out the dye {I} use{s} is {new}, the label said {old} by mistake.
restated: {My} hair colour is {new}.

attribute: shoe_size
for: person
values: 37 | 38 | 39 | 40 | 41 | 42 | 43 | 44
old: {I} take{s} a size {old} in shoes.
old: {My} feet are a {old}, European sizing.
old: {I} wear{s} {old} in trainers and boots.
ask: What shoe size {am} {I}?
ask: Which size should a pair of slippers for {me} be?
ask: How big are {my} feet?
before: What size of shoe did {I} take before {new}?
before: Which shoe size was right for {me} earlier?
pinches+: {old} pinches at the toes, {I} take{s} shoes in {new} now.
measured: {I} had {my} feet measured in the shop and they're a {new}.
loose-: Shoes in {old} are too loose on {me}; {new} fits.
went_up+: {I} went up from {old} to {new} in shoes after a summer in sandals.
came_down-: {My} shoe size came down to {new} once the swelling was over.
please: Please order {my} shoes in {new} from here on.
correction: Correction on the shoes: {I} need{s} {new}, {old} was a guess.
turns_out: It turns out that {my} shoes have been the wrong size all along. {I}'m a {new}.
not_but: It isn't {old} that {I} take{s} in shoes, it's {new}.
no_longer+: {I} can no longer get {my} feet into a {old}. It has to be {new}.
these_days: In shoe shops {I} ask{s} for {new} these days.
restated: {My} shoe size is {new}.

attribute: dwelling
for: person
values: houseboat | bungalow | studio flat | loft | farmhouse | tiny house | basement flat | terraced house |
	caravan
old: Home for {me} is a {old}.
old: {I} live{s} in a {old}.
old: The place {I} call{s} home is a {old}.
ask: What kind of home {do} {I} have?
ask: What sort of place {do} {I} live in?
ask: Is it a house, a flat or something else that {I} live{s} in?
before: What did {I} live in before the {new}?
before: What sort of dwelling was {my} last one?
moved: {I}'ve moved out of the {old} and into a {new}.
unpacked: All the boxes are unpacked at last and {I}'m at home in a {new}.
keys: {I} picked up the keys to a {new} on Friday and slept there the same night; the {old} is empty.
these_days: Home is a {new} for {me} these days.
gave_up: {I} gave up the {old}. A {new} is all the home {I} need{s}.
cramped: The {old} was too cramped. {I} live{s} in a {new}.
contrast: Life in a {new} is so unlike life in the {old}, {I} still wake{s} up confused.
no_longer: No longer a {old}: {I} live{s} in a {new}.
exchanged: {I} exchanged the {old} for a {new}.
post: Send {my} post to the {new}, that's where {I} live{s} from now on.
left: {I} left the {old} for a {new}.
restated: {I} live{s} in a {new}, quite happily.

attribute: surname
for: person
values: Halvorsen | Okafor | Lindqvist | Marchetti | Dubois | Whitcombe | Sorensen | Vasquez
old: {My} surname is {old}.
old: {My} last name is {old}, spelled as it sounds.
old: The family name on {my} doorbell is {old}.
ask: What is {my} last name?
ask: Which family name goes on a letter to {me}?
ask: How {do} {I} sign, surname only?
before: What was {my} surname before it became {new}?
before: Under which last name {was} {I} known earlier?
married: {I} got married and took the name {new}.
became: {I} became a {new} at the registry office on Friday.
please: Please put {new} on the tickets, {my} passport doesn't say {old} any longer.
birth_name: {old} is only {my} birth name; officially {I}'m called {new}.
court: The court has agreed: {my} last name is {new} from today on.
divorce: After the divorce {I} answer{s} to {new}, not to {old}.
changed: {I} changed {my} name by deed poll: surname {new}.
any_more: Nobody calls {me} {old} any more, the family name is {new}.
badge: The badge at work says {new} after the first name, and so does {my} passport.
correction: Somebody wrote {my} surname down wrong. It's {new}.
now: Now {I} sign{s} everything with {new} where it said {old}.
restated: {My} family name is {new}.

attribute: driving_test
for: person
values: 9 October | 23 October | 6 November | 20 November | 4 December | 18 December | 15 January
old: {My} driving test is on {old}.
old: {I} sit{s} the driving test on {old}.
old: The driving examiner has {me} down for {old}.
ask: When {do} {I} take {my} driving test?
ask: On which day is the exam for {my} licence?
ask: On what date {am} {I} going to be examined behind the wheel?
before: When was {my} driving test supposed to be at first?
before: Which date did {I} have for the driving test originally?
postponed+: The test centre postponed {my} driving test to {new}.
flu+: {I} caught the flu, hence the driving test is on {new}.
earlier-: An earlier slot came free for the driving test and {I} took it: {new}.
changed: The date of {my} driving test has changed, it's {new}.
failed+: {I} failed the driving test. The second attempt is on {new}.
letter: The letter from the licensing office gives {new} for {my} driving test.
not_but: {My} driving test isn't on {old} but on {new}, someone read the sheet wrong.
actually: Looked it up again: {my} driving test is actually on {new}.
strike+: Because of the examiners' strike {I} can't take the driving test on {old}; they gave {me} {new}.
instead_of: It will be {new} instead of {old} for {my} driving test.
fingers: Fingers crossed for {new}, that's when {I} sit{s} the driving test!
restated: The driving test {I} signed up for is on {new}.

attribute: tablet_dose
for: person
values: 50 micrograms | 75 micrograms | 88 micrograms | 100 micrograms | 112 micrograms | 137 micrograms
old: {My} thyroid tablets are {old} a day.
old: {I} take{s} {old} of thyroxine every morning.
old: For {my} thyroid the prescription says {old} daily.
ask: How strong are the thyroid pills {I} take{s}?
ask: What is {my} daily dose of thyroxine?
ask: How much thyroid hormone {am} {I} on?
before: What dose of thyroxine did {I} take before {new}?
before: How strong was {my} thyroid medicine earlier?
blood_test+: The blood test was bad, so {I}'m to take {new} of thyroxine.
put_up+: The endocrinologist put {my} thyroxine up to {new}.
went_down-: With {my} heart racing like that, the doctor went down to {new} of thyroxine.
cut-: {My} thyroxine was cut to {new}.
changed: After the check-up {my} thyroid tablets were changed to {new}.
from_to: {My} thyroxine goes from {old} to {new}.
pharmacy: The pharmacy only hands {me} the thyroid tablets with {new} now.
no_longer+: {old} of thyroxine is no longer enough for {me}, it takes {new}.
now: {I}'m on {new} of thyroxine now.
turns_out: Turns out {my} thyroid dose is {new}; the pack with {old} belongs to a colleague.
please: Please fill {my} pill box with {new} of thyroxine a day. The pack with {old} goes back to the chemist.
restated: {I} take{s} {new} of thyroxine a day.

attribute: pension_pay
for: person
values: 80 euros | 120 euros | 150 euros | 200 euros | 260 euros | 310 euros | 400 euros
old: {I} pay{s} {old} a month into a private pension.
old: {My} standing order for the pension fund is {old} a month.
old: Every month {old} of {my} wages goes into the pension pot.
ask: How much {do} {I} put away for old age each month?
ask: What is {my} monthly pension contribution?
ask: What sum goes from {my} account to the pension fund every month?
before: What did {I} pay into the pension before?
before: How much was {my} pension contribution prior to {new}?
more+: Now that the loan is paid, {I} put{s} {new} a month into the pension.
afford+: {I} can afford to think of later a bit more: it's {new} to the pension every month.
tight-: Money is tight. {I} can only spare {new} a month for the pension.
cut-: {I} cut the pension contribution to {new}.
changed: {I} changed the standing order for the pension from {old} to {new}.
adviser: The adviser did the maths with {me}, and the pension gets {new} a month.
letter: The pension fund has written to confirm {my} monthly contribution of {new}.
actually: {My} pension contribution is actually {new}, {old} is what a brother-in-law pays.
correction: Wrong figure, sorry. {I} pay{s} {new} into the pension every month.
from_on: From the first of next month on, {new} goes into {my} pension pot.
payslip: {My} payslip shows {new} for the pension where there was {old} last year.
restated: {I} contribute{s} {new} a month to a pension.

attribute: electricity
for: person
values: Voltara | Greenspark | Helio | Lumen Power | Northgrid | Brightwatt | Tidewater Energy | Solvento
old: {My} electricity comes from {old}.
old: {I} {have} a power contract with {old}.
old: {old} sends {me} the electricity bill.
ask: Who supplies {my} electricity?
ask: Which energy company {am} {I} with?
ask: Who gets the money when {I} pay{s} for power at home?
before: Who supplied {my} power before {new}?
before: Which energy company {was} {I} a customer of earlier?
switched: To save a bit {I} switched the electricity from {old} to {new}.
signed: {I} signed with {new} for power, the contract with {old} ran out.
cancelled: {old} put the price up by a third, so {I} cancelled the electricity there
	and took out a contract with {new}.
bankrupt: {old} went bankrupt. {new} delivers {my} electricity.
meter: {My} meter readings go to {new}, that's the power supplier.
compared: After an evening with the price comparison {I}'m with {new} for electricity.
any_more: Power bills don't come from {old} any more, {new} writes them to {me}.
took_over: {new} took over {my} power contract from {old}.
landlord: The landlord arranged for {new} to supply {my} electricity.
first_bill: The first electricity bill from {new} has arrived for {me}, a third less than at {old}.
as_of: As of the first of the month {I} get{s} power from {new}.
restated: {I} get{s} electricity from {new}.

attribute: faith
for: person
values: Quaker | Buddhist | Methodist | Lutheran | Catholic | Baptist | agnostic | atheist
old: By conviction {I}'m a {old}.
old: When it comes to religion, {I}'m a {old}.
old: {I} would describe {myself} as a {old}.
ask: What is {my} religion?
ask: What {am} {I} in matters of faith?
ask: Which denomination or conviction should a form state for {me}?
before: What was {my} religion before?
before: What {was} {I} before becoming a {new}?
became: {I} became a {new} after years as a {old}.
drifted: Over the years {I} drifted: once a {old}, today a {new}.
no_longer: {I} no longer consider{s} {myself} a {old} but a {new}.
nowadays: Nowadays {I} tell{s} people {I}'m a {new}.
please: Under religion please enter {new} for {me}.
stopped: {I} stopped being a {old}. {I}'m a {new}.
soul: After a lot of soul-searching {I}'m a {new}.
after_all: {I}'m a {new} after all, the time as a {old} was a phase.
not_but: Not a {old}! {I}'m a {new}, people mix that up all the time.
actually: The form had {old}, but {I}'m actually a {new}.
feels: {I} feel{s} at home as a {new} in a way {I} never did as a {old}.
restated: {I} see{s} {myself} as a {new}.

attribute: vote
for: person
values: the Greens | the Liberals | the Social Democrats | the Conservatives | the Pirates | the Centre Party
	| the Left Alliance
old: {I} vote{s} for {old}.
old: In elections {my} cross goes to {old}.
old: Politically {I} support{s} {old}.
ask: Which party {do} {I} vote for?
ask: Who can count on {my} ballot paper?
ask: Where {do} {I} stand politically?
before: Who did {I} vote for before {new}?
before: Which party had {my} support earlier?
switched: In politics {I}'ve switched sides, from {old} to {new}.
ballot: On Sunday {I} put {my} cross next to {new} for the first time, and it will stay that way.
disappointed: {old} disappointed {me} once too often. {My} vote goes to {new}.
never_again: Never again {old}! {I}'m voting for {new}.
joined: {I} tore up the party card of {old} and joined {new}.
instead_of: Next time {I}'m giving {my} vote to {new} instead of {old}.
debate: The debate convinced {me}: the vote is for {new}.
any_more: {I} can't bring {myself} to vote for {old} any more, so {new} it is.
these_days: Politically {I} lean{s} towards {new} these days.
changed: {I}'ve changed {my} mind about politics and back{s} {new}.
correction: To correct what was noted: {I} vote{s} for {new}.
restated: The party {I} vote{s} for is called {new}.

attribute: baby_name
for: person
values: Matilda | Wren | Florian | Saskia | Theo | Iris | Lovis | Beatrix
old: {I} want{s} to name the baby {old}.
old: The baby will be called {old} if it's up to {me}.
old: {I}'ve chosen {old} as the name for the baby.
ask: What will {my} baby be called?
ask: Which name {have} {I} chosen for the baby?
ask: What is the little one going to be named, according to {me}?
before: What name did {I} have in mind for the baby before {new}?
before: What {was} {I} going to call the baby at first?
slept_on: {I} slept on it. The baby will be {new}.
friend: A friend has just named her own baby {old}, so {my} baby gets the name {new}.
favourite: {old} was {my} favourite for months, but the baby is going to be {new}.
after_all: The baby will be called {new} after all, {I} couldn't picture a {old}.
changed: {I} changed {my} mind about the baby's name: {new}.
honour: In honour of a great-grandparent {I}'m naming the baby {new} and not {old}.
crossed: {old} is crossed off the list, {I}'m calling the baby {new}.
scan: After the second scan {I} picked {new} for the baby.
embroidered: {I} had {new} embroidered on the baby blanket, so that's the name for good.
instead_of: {I}'ll name the baby {new} instead of {old}.
sounds: {old} sounds wrong with the surname. {I} want{s} {new} for the baby.
restated: The name {I} picked for the baby is {new}.

attribute: charity
for: person
values: the food bank | the hospice | the refugee council | the bird trust | the lifeboat crew | the children's ward
	| the mountain rescue | the animal hospital
old: {I} give{s} money to {old} every month.
old: {My} monthly donation goes to {old}.
old: {I} support{s} {old} with a standing order.
ask: Which good cause {do} {I} donate to?
ask: Who receives {my} monthly donation?
ask: What charity {do} {I} support?
before: Who got {my} donations before?
before: Which charity did {I} give to before {new}?
moved: {I} moved {my} monthly donation from {old} to {new}.
stopped: {I} stopped donating to {old}; the money goes to {new}.
bad_press: After all the bad press about {old}, {I} donate{s} to {new}.
heart: {new} is closer to {my} heart than {old}, so that's where the donation goes.
receipt: The donation receipt for {my} tax return comes from {new} this year.
redirected: {I} redirected the standing order: {new} gets the donation, {old} has sponsors enough.
persuaded: A colleague persuaded {me} to donate to {new} rather than {old}.
no_longer: {old} no longer gets {my} donation, {new} does.
turns_out: Turns out {my} donations have been going to {new} all along, not to {old}.
now: The donation {I} make{s} each month is for {new} now.
switched: {I} switched charities and support{s} {new}.
restated: {I} donate{s} to {new} each month.

attribute: visa
for: person
values: a student visa | a work permit | a Blue Card | permanent residence | a family visa | a job-seeker visa
	| a researcher visa
old: {I} live{s} here with {old}.
old: {My} status with the immigration office is {old}.
old: As for papers, {I} {have} {old}.
ask: What is {my} residence status?
ask: What kind of papers {do} {I} have for staying here?
ask: On what legal basis {do} {I} stay in the country?
before: What was {my} residence status before {new}?
before: Which residence papers did {I} have until recently?
granted: The immigration office granted {me} {new}.
replaced: {My} residence papers were replaced: {new} where there was {old}.
expired: The papers expired, but {I}'ve got {new}.
stamp: The stamp is in {my} passport: {new}!
no_longer: {I} no longer {have} {old} but {new}.
until: {My} residence status was {old} until spring and is {new} from then on.
lawyer: The lawyer did it. {I}'m staying in the country with {new}.
changed: {My} status with the authorities changed from {old} to {new}.
actually: It's actually {new} that {I} {have}, the two are easily confused.
instead_of: For the coming years {I} {have} {new} instead of {old}.
from_on: From next week on {I}'ll be here on the basis of {new}.
restated: {My} residence status is {new}.

attribute: babysitter
for: person
values: Mrs Albrecht | Flora | Kasper | Ms Novak | Benji | Rosalie | Mr Tanaka | Yolanda
old: {My} babysitter is {old}.
old: When {I} go{es} out, {old} looks after the kids.
old: {old} minds {my} children on Thursday evenings.
ask: Who babysits for {me}?
ask: Who stays with {my} children when {I} go{es} out?
ask: Whom should one ring to have {my} kids looked after in the evening?
before: Who was {my} babysitter before {new}?
before: Who looked after {my} children earlier?
took_over: {new} took over the babysitting at {my} place.
evenings: {old} has no free evenings left. {new} sits with {my} kids.
asked_for: The kids asked for {new} rather than {old}, so it's {new} who babysits for {me}.
call: If {my} kids need someone in the evening, call {new}, {old} doesn't do it now.
no_longer: {I} no longer ask{s} {old} to babysit; {new} does it.
changed: {I} changed babysitters and {have} {new}.
habit: The last three times {new} sat with {my} kids, and it will stay like that.
nights: {I}'ve got {new} for the evenings with the kids because {old} works nights.
these_days: {new} does the babysitting for {me} these days.
instead_of: {new} comes to {my} kids on Thursdays instead of {old}.
stopped: {old} stopped babysitting in June, {I} pay{s} {new} for it.
restated: The person who babysits {my} children is {new}.

attribute: newspaper
for: person
values: the Courier | the Morning Post | the Tribune | the Weekly Review | the Daily Echo | the Herald
	| the Observer | the Evening Star
old: {I} subscribe{s} to {old}.
old: {My} paper is {old}.
old: {I} {have} a subscription to {old}.
ask: Which newspaper {do} {I} read?
ask: What paper comes through {my} letterbox?
ask: Which press subscription {do} {I} pay for?
before: What paper did {I} take before {new}?
before: Which newspaper did {I} subscribe to in the past?
cancelled: {I} cancelled {old} and ordered {new}.
trial: The trial month was a success: {I}'m a subscriber to {new} and not to {old}.
letterbox: It's {new} that rustles through {my} letterbox, {old} hasn't come for weeks.
switched: {I} switched newspapers, {new} has the better sports pages.
political: {old} got too political for {me}. {I} take{s} {new}.
digital: {I} let {old} run out and got the digital subscription to {new}.
now: {I} read{s} {new} over breakfast now.
replaced: {I} replaced {old} by {new}, one paper is enough.
gave_up: {I} gave up {old} because of the price and read{s} {new}.
crossword: {I} do{es} the crossword in {new}; the subscription to {old} is finished.
as_of: As of the third quarter {I} subscribe{s} to {new}.
restated: {My} newspaper is {new}.

attribute: pizza
for: person
values: margherita | quattro stagioni | calzone | diavola | marinara | capricciosa | tonno | funghi
old: At the pizzeria {I} always order{s} a {old}.
old: {My} usual at the pizzeria is the {old}.
old: When pizza is ordered, {I} want{s} {old}.
ask: Which pizza should be ordered for {me}?
ask: What {do} {I} have at the Italian place?
ask: What is {my} regular choice of pizza?
before: Which pizza did {I} order before it was {new}?
before: What was {my} usual pizza once?
tried: {I} tried the {new} last week and that's the only pizza {I} want{s} from here on.
tired: On pizza night put {me} down for {new}; {I}'m tired of having {old} every time.
please: Please order a {new} for {me} when you get pizza, no {old}.
waiter: The waiter at the pizzeria brings {me} a {new} without asking. He has even forgotten about the {old}.
these_days: {My} pizza these days is the {new}.
stomach: {My} stomach can't take the {old} any longer, so it's {new} at the pizzeria.
switched: On the pizza front {I} switched from {old} to {new}.
no_longer: The usual for {me} at the pizzeria is no longer a {old} but a {new}.
correction: Wrong pizza, sorry! {I} always {have} the {new}.
gave_up: {I} gave up the {old}, at the pizzeria it's {new} or nothing.
loves: {I}'ve fallen for the {new}; nobody needs to bring {me} a {old} from the pizzeria.
restated: {My} usual pizza is the {new}.

attribute: camera
for: person
values: Nikon | Leica | Fujifilm | Canon | Olympus | Pentax | Hasselblad | Lumix
old: {I} photograph{s} with a {old}.
old: {My} camera is a {old}.
old: The camera in {my} bag is a {old}.
ask: What camera {do} {I} use?
ask: Which make is the photo equipment {I} own{s}?
ask: What {do} {I} take pictures with?
before: What did {I} photograph with before the {new}?
before: Which camera did {I} have earlier?
broke: The {old} broke beyond repair, {I} take{s} photos with a {new}.
stolen: {My} {old} was stolen on the train. {I} bought a {new}.
upgraded: Camera-wise {I} upgraded to a {new}.
second_hand: {I} picked up a {new} second-hand and shoot{s} everything with it, the {old} is in a drawer.
switched: After years with a {old} {I} switched to {new}.
now: The camera around {my} neck is a {new} now.
no_longer: {I} no longer take{s} the {old} out; all the pictures come from a {new}.
birthday: For {my} birthday there was a {new}, and a nephew has the {old}.
any_more: {I} only need{s} lenses for a {new}, the {old} isn't in use any more.
not_but: That's not a {old} {I} {have}, it's a {new}.
replaced: A {new} replaced the {old} in {my} camera bag.
restated: {I} take{s} pictures with a {new}.

attribute: volunteering
for: person
values: the animal shelter | the soup kitchen | the youth club | the repair cafe | the care home | the toy library
	| the community garden
old: {I} volunteer{s} at {old} on Saturdays.
old: On Saturdays {I} help{s} out at {old}.
old: {My} voluntary work is at {old}.
ask: Where {do} {I} volunteer?
ask: Where {do} {I} work without being paid?
ask: Which place gets {my} help on Saturdays?
before: Where did {I} volunteer before {new}?
before: Where did {my} unpaid Saturdays go earlier?
left: {I} left {old} and give{s} {my} Saturdays to {new}.
started: {I} started volunteering at {new}, {old} had more than enough helpers.
asked: {new} asked for hands, so that is where {I} volunteer{s}.
any_more: {old} doesn't need {me} on Saturdays any more. {I} help{s} at {new}.
moved: {I} moved from {old} to {new} with the volunteering.
roster: {My} name is on the Saturday roster of {new} and off that of {old}.
stopped: {I} stopped going to {old} on Saturdays and lend{s} a hand at {new}.
now: {My} Saturdays belong to {new} now.
last_time: Last Saturday was {my} final one at {old}. The next ones {I} spend{s} at {new}.
these_days: These days it's {new} where {I} help{s} out for free.
actually: The place where {I} actually volunteer{s} is {new}.
restated: {I} do{es} voluntary work at {new}.

attribute: retirement
for: person
values: 58 | 60 | 62 | 63 | 65 | 67 | 70
old: {I} plan{s} to retire at {old}.
old: {I} want{s} to stop working when {I} turn{s} {old}.
old: Retirement for {me} is planned at the age of {old}.
ask: At what age {do} {I} plan to retire?
ask: How old will {I} be on {my} last working day?
ask: When in life {do} {I} want to stop working?
before: At what age did {I} mean to retire earlier?
before: What retirement age did {I} have in mind before {new}?
later+: {I} like{s} the work too much and will only retire at {new}.
law+: The law is different these days, {I} can't retire at {old}. It will be {new}.
sooner-: {I} want{s} out sooner: retirement at {new}.
health-: For the sake of {my} health it's going to be retirement at {new}.
postponed+: {I} postponed retirement from {old} to {new}.
lottery-: Thanks to a little lottery win {I} can stop working at {new}.
changed: {I} changed {my} retirement plans. {new} is the age.
sums: {I} did the sums again, and {new} is when {I} retire{s}.
after_all: {I}'m going to retire at {new} after all.
no_longer: {old} is no longer the plan, {I} want{s} to retire at {new}.
as_it_stands: As things stand {I}'ll retire at {new}.
restated: {I} intend{s} to retire at {new}.

attribute: thesis
for: person
values: urban foxes | tidal energy | medieval guilds | sleep and memory | bridge corrosion | bilingual children
	| coral bleaching | volcanic soils
old: {I}'m writing {my} thesis on {old}.
old: {My} thesis topic is {old}.
old: The dissertation {I}'m working on deals with {old}.
ask: What is {my} thesis about?
ask: What topic {do} {I} research for {my} degree?
ask: What {am} {I} writing a dissertation on?
before: What was {my} thesis going to be about before {new}?
before: Which thesis topic did {I} have at first?
supervisor: The supervisor wasn't happy with {old}, so {my} thesis is about {new}.
changed: {I} changed {my} thesis topic to {new}.
gave_up: {I} gave up on {old} for lack of data and write{s} the thesis about {new}.
title_page: {new} is what it says on the title page of {my} thesis.
instead_of: {My} dissertation will be on {new} instead of {old}.
registered: {I} went to the exam office and registered the thesis under the topic {new}.
taken: Somebody else already has {old} as a topic. {I}'m taking {new} for {my} thesis.
exciting: {I} find{s} {new} more exciting than {old}, so the thesis is about that.
any_more: {My} thesis isn't about {old} any more but about {new}.
correction: That was the seminar paper. {My} thesis is on {new}, the paper is on {old}.
switched: Halfway through {I} switched {my} dissertation from {old} to {new}.
restated: The topic of {my} thesis is {new}.

attribute: migraine
for: person
values: sumatriptan | naproxen | magnesium | ibuprofen | rizatriptan | aspirin | paracetamol | peppermint oil
old: {I} take{s} {old} against migraines.
old: When a migraine comes, {old} helps {me}.
old: {My} migraine remedy is {old}.
ask: What {do} {I} take when a migraine starts?
ask: Which remedy helps with {my} headaches?
ask: What should be in the drawer for {my} migraine attacks?
before: What did {I} take for migraines before {new}?
before: Which migraine remedy did {I} rely on earlier?
prescribed: The neurologist prescribed {me} {new} for the migraines in place of {old}.
works: {old} does nothing for {me}, only {new} works on the migraine.
switched: For the migraine attacks {I} switched to {new}.
side_effect: {old} gave {me} a rash; against migraine there's {new}.
stopped: {I} stopped using {old} for migraines. The medicine drawer has {new}.
now: {I} always {have} {new} in {my} bag for the migraine now.
no_longer: {old} no longer helps {me} with migraine attacks, {new} does.
turns_out: Turns out what {I} take{s} for migraines is {new}, {old} belongs to somebody else in the house.
forbidden: The doctor has forbidden {me} {old}, so a migraine is treated with {new}.
tip: On the pharmacist's tip {I}'ve begun to treat the migraines with {new}.
these_days: These days a migraine means {new} for {me}.
restated: {new} is {my} migraine remedy.

attribute: call_time
for: person
values: before nine in the morning | during the lunch break | after eight in the evening | between four and five
	| on Sunday afternoons | around half past six | late at night
old: The best time to ring {me} is {old}.
old: {I} prefer{s} to be called {old}.
old: If you want to talk to {me} on the phone, call {old}.
ask: When should one call {me}?
ask: What is a good time to get {me} on the phone?
ask: When {do} {I} like to take phone calls?
before: When was the best time to call {me} before?
before: At what time did {I} want to be rung up earlier?
please: Please call {me} {new} from here on and not {old}.
shifts: {My} shifts are different now. {I} can only take calls {new}.
quiet: The baby needs quiet {old}, so ring {me} {new}.
now: {I}'m reachable by phone {new} now.
no_longer: {I} no longer pick{s} up the phone {old}. Try {new}.
changed: {My} preferred time for calls has changed: {new}.
voicemail: Calling {me} {old} only gets you the voicemail; {new} works.
instead_of: Better ring {me} {new} instead of {old}.
any_more: No phone calls {old} any more. {I} answer{s} {new}.
as_of: As of Monday calls to {me} are welcome {new}.
correction: Got that wrong: {I} like{s} to be called {new}.
restated: The best moment to phone {me} is {new}.

attribute: second_single_life
for: any
any_more: Our parcels are left at the bakery. || The bakery doesn't take parcels any more, ours wait at the petrol
	station. || Where do we pick up our parcels? || Where were our parcels left before?
entrusted: The spare key is under the flowerpot. || Mrs Hale next door has the spare key, the flowerpot was too
	obvious a place. || Where is the spare key? || Where was the spare key hidden before?
earned: My nephew has the orange belt in judo. || Big day on Sunday: my nephew earned his green belt in judo.
	|| Which colour is my nephew's judo belt? || Which belt did my nephew have before?
worked_up: I meditate for ten minutes after getting up. || By now I've worked my way up to half an hour of
	meditation
	after getting up. || How long is my morning meditation? || How long did I meditate at the beginning?
planted: There are courgettes in the raised bed. || The snails ate every courgette, so I planted beans in the raised
	bed. || What grows in the raised bed? || What was in the raised bed before?
renewed: My library card runs until the end of May. || Renewed my library card today, good until November.
	|| Until when is my library card valid?
came_off: My niece has to wear braces on her teeth. || My niece's braces came off yesterday, the orthodontist
	is happy.
	|| Does my niece wear braces?
buried: Our hamster sleeps in the kitchen. || We buried the hamster under the pear tree yesterday.
	|| Do we still have a hamster?
cold_feet: I'm getting a tattoo on my shoulder in May. || I got cold feet and told the tattoo studio that I'm not
	coming. || Am I getting a tattoo?
leak: The choir rehearses in the parish hall. || There's a leak in the roof of the parish hall. The choir sings
	at the
	fire station on rehearsal nights. || Where does the choir rehearse? || Where did the choir rehearse before?
after_all: We're putting up a real fir for Christmas. || It'll be the plastic tree for Christmas after all.
	|| What kind of Christmas tree are we having?
prefers: I feed the sourdough with rye flour. || The sourdough rises better on spelt, so that's what I feed it.
	|| Which flour do I feed the sourdough? || Which flour did the sourdough get before?
check_up: My blood pressure is 150 over 95. || At today's check-up my blood pressure was 128 over 80.
	|| What is my blood pressure? || What was my blood pressure earlier?
drew_up: In my will the house goes to my brother. || The notary drew up a fresh will with me in which my niece gets
	the house. || Who inherits my house? || Who was to inherit my house before?
cannot: Lise is going to be our son's godmother. || Lise can't come over from Canada, so Marlene will be our son's
	godmother. || Who will be godmother to our son? || Who was asked to be godmother at first?
leave_in: My wisdom tooth has to come out in spring. || The dentist says the wisdom tooth can stay where it is.
	|| Will my wisdom tooth be pulled?
clean_shaven: My uncle has a long moustache. || My uncle turned up clean-shaven, we hardly knew him.
	|| Does my uncle have a moustache?
reset: The wifi at the cottage is called otter-den. || The cottage router was reset and the wifi shows up as
	pinecone.
	|| What is the wifi network at the cottage called? || What was the cottage wifi called before?
seated: My season ticket is for the north stand. || The club has put me in the east stand with my season ticket.
	|| In which stand do I sit? || Which stand was my season ticket for before?
leaflet: The paper bin is emptied on Wednesdays. || According to the council's leaflet the paper bin is emptied on
	Mondays from this month. || When do I have to put out the waste paper?
	|| On which day did they empty the paper bin before?
only: My little one naps twice a day. || Only the midday nap is left, my little one stays awake all morning.
	|| How often does my little one sleep in the daytime?
paid_back: I owe Gustav 300 euros. || I've paid Gustav back, every cent. || Do I owe Gustav any money?
keeping: We want to sell the motorbike. || The kids begged us, so we're keeping the motorbike.
	|| Is our motorbike for sale?
done: My tetanus jab is overdue. || Had the tetanus jab this morning, my arm is a bit sore.
	|| Do I need to go for a tetanus jab?
turns_out: My blood group is A positive. || The donor card came and it turns out my blood group is O negative.
	|| What is my blood type?
actually: Grandpa's year of birth is 1938. || Found Grandpa's passport: his year of birth is actually 1936.
	|| In which year did Grandpa come into the world?
not_but: Our allotment is plot 14. || Our allotment isn't plot 14 but plot 41, I had the digits the wrong way round.
	|| Which allotment plot is ours?
correction: The chimney sweep comes on the 8th. || Correction, the chimney sweep comes on the 18th, I misheard him.
	|| What day is the chimney sweep due?
took_over: Mr Behrens prunes my mother's roses. || My cousin took over the roses at my mother's from Mr Behrens.
	|| Who looks after my mother's roses? || Who pruned my mother's roses before?
cancelled: I get a box of cheese by post every month. || I cancelled the cheese box, the fridge was bursting.
	|| Do I still get cheese by post?
`
