package third

// People holds attributes of people's lives in plain everyday words, for developing rules: see attribute for the
// notation.
const People = `
attribute: bedtime
for: person
values: 9 pm | half past 9 | 10 pm | half past 10 | 11 pm | half past 11 | midnight
old: {I} usually go{es} to bed at {old}.
old: {My} bedtime is {old}.
ask: When {do} {I} go to bed?
ask: What is {my} bedtime?
ask: At what time {am} {I} in bed on a normal evening?
before: When did {I} use to go to bed?
before: What was {my} bedtime before the change?
now: {I} go{es} to bed at {new} now.
changed: {I} changed {my} bedtime from {old} to {new}.
these_days: These days {I} go{es} to bed at {new}.
no_longer: {I} no longer go{es} to bed at {old}, it's {new} now.
started: {I}'ve started going to bed at {new}.
earlier-: {I}'m trying to get more sleep, so {I} go{es} to bed earlier, at {new}.
later+: {I} stay{s} up later since the holidays and go{es} to bed at {new}.
any_more: {My} bedtime isn't {old} any more. {I} go{es} to bed at {new}.
actually: Actually, {my} bedtime is {new}.
restated: {My} bedtime is {new}.

attribute: breakfast
for: person
values: porridge | toast | scrambled eggs | muesli | yoghurt | pancakes | fruit salad | croissants
old: {I} {have} {old} for breakfast.
old: {My} usual breakfast is {old}.
ask: What {do} {I} have for breakfast?
ask: What is {my} usual breakfast?
ask: What {do} {I} eat in the morning?
before: What did {I} have for breakfast before {new}?
before: What was {my} usual breakfast earlier?
switched: {I} switched from {old} to {new} for breakfast.
gave_up: {I} gave up {old} for breakfast. {I} {have} {new} now.
instead_of: {I} {have} {new} for breakfast instead of {old}.
these_days: These days {I} {have} {new} in the morning.
no_longer: {I} no longer {have} {old} for breakfast, {I} eat{s} {new}.
tired: {I} got tired of {old} in the morning, so it's {new} now.
stopped: {I} stopped eating {old} in the morning and {have} {new}.
as_of: Since last week {I} {have} {new} for breakfast.
not_but: {I} {don't} have {old} for breakfast but {new}.
restated: {I} {have} {new} for breakfast.

attribute: dentist
for: person
values: 3 June | 10 June | 17 June | 24 June | 1 July | 8 July | 15 July
old: {I} {have} a dentist appointment on {old}.
old: {My} dentist appointment is on {old}.
ask: When is {my} dentist appointment?
ask: When {do} {I} have to go to the dentist?
ask: On what date {am} {I} seeing the dentist?
before: When was {my} dentist appointment at first?
before: What was the earlier date of {my} dentist appointment?
postponed+: {My} dentist appointment was postponed to {new}.
moved: The dentist moved {my} appointment from {old} to {new}.
changed: {I} changed {my} dentist appointment, it's on {new} now.
cancelled: The dentist cancelled {my} appointment on {old}. The new one is on {new}.
cut-: {My} dentist appointment was brought forward to {new}.
instead_of: {I}'m going to the dentist on {new} instead of {old}.
now: {My} dentist appointment is now on {new}.
turns_out: It turned out that {my} dentist appointment is on {new}, not on {old}.
correction: Sorry, {my} dentist appointment is on {new}, not {old}.
restated: {My} dentist appointment is on {new}.

attribute: favourite_colour
for: person
values: blue | green | purple | yellow | orange | turquoise | red | pink
old: {My} favourite colour is {old}.
old: {I} love{s} {old}, it's {my} favourite colour.
ask: What is {my} favourite colour?
ask: Which colour {do} {I} like best?
ask: In which colour should a present for {me} be, if it is to be {my} favourite?
before: What was {my} favourite colour before {new}?
before: Which colour did {I} like best before?
now: {My} favourite colour is {new} now.
changed: {My} favourite colour changed from {old} to {new}.
any_more: {old} isn't {my} favourite colour any more, {new} is.
no_longer: {My} favourite colour is no longer {old}. It's {new}.
these_days: {I} like{s} {new} best these days.
prefers: {I} used to love {old}, but now {I} prefer{s} {new} to every other colour.
replaced: {new} has replaced {old} as {my} favourite colour.
actually: Actually, {my} favourite colour is {new}.
not_but: {My} favourite colour is not {old} but {new}.
restated: {My} favourite colour is {new}.

attribute: football_team
for: person
values: Arsenal | Liverpool | Everton | Celtic | Chelsea | Ajax | Benfica
old: {I} support{s} {old}.
old: {My} football team is {old}.
ask: Which football team {do} {I} support?
ask: What is {my} football team?
ask: Whose matches {do} {I} watch as a fan?
before: Which football team did {I} support before {new}?
before: Of which football team {was} {I} a fan earlier?
switched: {I} switched from {old} to {new} as {my} football team.
any_more: {I} {don't} support {old} any more. {I}'m a {new} fan.
now: {I} support{s} {new} now.
gave_up: {I} gave up on {old} and support{s} {new}.
changed: {I} changed {my} football team to {new}.
no_longer: {I}'m no longer a fan of {old}, {my} team is {new}.
started: {I}'ve started supporting {new} instead.
from_to: {My} football team went from {old} to {new}, a friend took {me} along.
actually: Actually, {I} support{s} {new}.
restated: {My} football team is {new}.

attribute: supermarket
for: person
values: Lidl | Aldi | Tesco | Carrefour | Spar | Edeka | Waitrose
old: {I} do{es} {my} weekly shopping at {old}.
old: {I} buy{s} {my} groceries at {old}.
ask: Where {do} {I} buy {my} groceries?
ask: At which supermarket {do} {I} shop?
ask: Where {do} {I} do the weekly shopping?
before: Where did {I} buy groceries before {new}?
before: At which supermarket did {I} shop earlier?
switched: {I} switched to {new} for {my} groceries.
stopped: {I} stopped shopping at {old}. {I} go{es} to {new}.
now: {I} now do{es} {my} weekly shopping at {new}.
too_dear: {old} got too expensive, so {I} buy{s} {my} groceries at {new}.
instead_of: {I} shop{s} at {new} instead of {old}.
these_days: {I} go{es} to {new} for the groceries these days.
any_more: {I} {don't} shop at {old} any more, {I} go{es} to {new}.
shut: The {old} near {me} closed, so {I} shop{s} at {new}.
not_but: {I} {don't} buy {my} groceries at {old} but at {new}.
restated: {I} buy{s} {my} groceries at {new}.

attribute: wristwatch
for: person
values: Casio | Swatch | Seiko | Garmin | Fitbit | Tissot | Timex
old: {I} wear{s} a {old} watch.
old: The watch on {my} wrist is a {old}.
ask: What watch {do} {I} wear?
ask: What brand is {my} watch?
ask: Which make of watch {do} {I} have on {my} wrist?
before: What watch did {I} wear before the {new}?
before: Which brand was {my} old watch?
replaced: {I} replaced {my} {old} watch with a {new}.
upgraded: {I} got a new watch, a {new}.
now: {I} wear{s} a {new} watch now.
broke: {My} {old} watch broke and {I} bought a {new}.
second_hand: {I} sold the {old} and wear{s} a {new} watch.
no_longer: {I} no longer wear{s} the {old} watch. It's a {new} now.
switched: {I} switched from a {old} watch to a {new}.
stopped: {I} stopped wearing the {old} and put on a {new} watch.
correction: Correction: {my} watch is a {new}, not a {old}.
restated: {I} wear{s} a {new} watch.

attribute: milk
for: person
values: oat milk | whole milk | soy milk | almond milk | skimmed milk | rice milk | coconut milk
old: {I} take{s} {old} in {my} coffee.
old: {I} drink{s} {my} coffee with {old}.
ask: What kind of milk {do} {I} take in {my} coffee?
ask: Which milk {do} {I} drink coffee with?
ask: Which milk should there be in the house for {my} coffee?
before: What kind of milk did {I} take in coffee before {new}?
before: Which milk did {I} put in coffee earlier?
switched: {I} switched from {old} to {new} in {my} coffee.
any_more: {I} {don't} take {old} in {my} coffee any more, {I} take{s} {new}.
changed: {I} changed {my} mind about the milk in {my} coffee: {new}, please.
instead_of: {I} take{s} {new} in {my} coffee instead of {old}.
stomach: {old} upsets {my} stomach, so {I} drink{s} {my} coffee with {new}.
these_days: These days {I} drink{s} {my} coffee with {new}.
now: {I} put{s} {new} in {my} coffee now.
gave_up: {I} gave up {old} last month and take{s} {new} in {my} coffee.
actually: Actually, {I} take{s} {new} in {my} coffee.
restated: {I} take{s} {new} in {my} coffee.

attribute: tv_series
for: person
values: Dark | Friends | The Crown | Breaking Bad | Lost | Sherlock | Succession | The Wire
old: {I}'m watching {old} in the evenings.
old: The series {I}'m watching at the moment is {old}.
ask: Which series {am} {I} watching?
ask: What series {do} {I} watch in the evenings?
ask: What {am} {I} watching on TV at the moment?
before: Which series did {I} watch before {new}?
before: What series {was} {I} watching earlier?
started: {I} finished {old} and started {new}.
now: {I}'m watching {new} now.
stopped: {I} stopped watching {old}. The series in the evening is {new}.
switched: {I} switched from {old} to {new} after a few episodes.
gave_up: {I} gave up on {old} and {am} watching {new}.
moved: {I} moved on to {new} last weekend, a good series.
no_longer: {I}'m no longer watching {old}, {I}'m on {new}.
instead_of: {I} watch{es} {new} in the evenings instead of {old}.
not_but: The series {I}'m watching is not {old} but {new}.
restated: The series {I}'m watching is {new}.

attribute: game_night
for: person
values: Monday | Tuesday | Wednesday | Thursday | Friday | Saturday | Sunday
old: {My} board game night is on {old}.
old: Every {old} {I} meet{s} friends for board games.
ask: When is {my} board game night?
ask: On which day {do} {I} play board games?
ask: Which evening of the week {do} {I} spend on board games with friends?
before: On which day was {my} board game night before {new}?
before: When did {I} play board games earlier?
moved: {My} board game night moved from {old} to {new}.
changed: {My} board game night has changed to {new}.
now: {My} board game night is on {new} now.
no_longer: {I} no longer play{s} board games on {old}, it's on {new}.
instead_of: {I} meet{s} friends for board games on {new} instead of {old}.
as_of: Since last month {my} board game night is on {new}.
from_now_on: From now on {my} board game night is on {new}.
any_more: {old} is not {my} board game night any more, {new} is.
correction: Correction: {my} board game night is on {new}.
restated: {My} board game night is on {new}.

attribute: coffee_maker
for: person
values: French press | moka pot | espresso machine | filter machine | capsule machine | pour-over dripper
old: {I} make{s} coffee with a {old}.
old: At home {I} use{s} a {old} for coffee.
ask: How {do} {I} make coffee at home?
ask: What {do} {I} make coffee with?
ask: What kind of coffee maker {do} {I} use?
before: What did {I} make coffee with before the {new}?
before: Which coffee maker did {I} use earlier?
replaced: {I} replaced the {old} with a {new}.
upgraded: {I} upgraded from a {old} to a {new} for {my} coffee.
broke: {My} {old} broke, so {I} make{s} coffee with a {new}.
now: {I} make{s} coffee with a {new} now.
switched: {I} switched to a {new} for coffee.
second_hand: {I} sold the {old} and got a {new}.
any_more: {I} {don't} use the {old} for coffee any more, {I} use{s} a {new}.
these_days: {I} make{s} {my} coffee with a {new} these days.
actually: Actually, {I} make{s} coffee with a {new}.
restated: {I} make{s} coffee with a {new}.

attribute: insurer
for: person
values: Allianz | Generali | Zurich | Helvetia | Bupa | Signal | Barmer
old: {My} health insurance is with {old}.
old: {I} {have} {my} health insurance at {old}.
ask: Who is {my} health insurance with?
ask: What is {my} health insurance company?
ask: Which company pays {my} medical bills?
before: Who was {my} health insurance with before {new}?
before: What was {my} previous health insurance company?
switched: {I} switched health insurance from {old} to {new}.
left: {I} left {old} and got health insurance with {new}.
changed: {I} changed {my} health insurance, it's {new} now.
no_longer: {I}'m no longer insured with {old}. {My} health insurance is with {new}.
moved: {I} moved {my} health insurance to {new}.
as_of: As of this month {my} health insurance is with {new}.
cancelled: {I} cancelled the health insurance with {old} and signed up with {new}.
took_over: {new} took over {my} health insurance from {old}.
turns_out: It turns out that {my} health insurance is with {new}.
restated: {My} health insurance is with {new}.

attribute: cleaner
for: person
values: Maria | Ewa | Rosa | Agnes | Jolanta | Carmen | Bianca
old: {old} cleans {my} flat.
old: {My} cleaner is {old}.
ask: Who cleans {my} flat?
ask: What is the name of {my} cleaner?
ask: Who comes to do the cleaning for {me}?
before: Who cleaned {my} flat before {new}?
before: Who was {my} previous cleaner?
took_over: {new} took over the cleaning of {my} flat from {old}.
now: {new} cleans {my} flat now.
stopped: {old} stopped cleaning for {me}. {new} comes now.
replaced: {new} has replaced {old} as {my} cleaner.
left: {old} left, so {my} new cleaner is {new}.
any_more: {old} doesn't clean for {me} any more, {new} does.
no_longer: {old} is no longer {my} cleaner. It's {new}.
started: {new} started as {my} cleaner last week.
not_but: {My} cleaner is not {old} but {new}.
restated: {My} cleaner is {new}.

attribute: wall_colour
for: person
values: white | light blue | mint green | yellow | grey | peach | lavender
old: The walls in {my} bedroom are {old}.
old: {My} bedroom is painted {old}.
ask: What colour are the walls in {my} bedroom?
ask: What colour is {my} bedroom?
ask: In which colour is {my} bedroom painted?
before: What colour were the walls in {my} bedroom before {new}?
before: What colour was {my} bedroom earlier?
redone: {I} painted {my} bedroom {new} at the weekend.
now: {My} bedroom walls are {new} now.
changed: {I} changed the walls in {my} bedroom from {old} to {new}.
any_more: {My} bedroom isn't {old} any more, it's {new}.
no_longer: The walls in {my} bedroom are no longer {old}, they're {new}.
from_to: {My} bedroom went from {old} to {new}.
tired: {I} got tired of the {old} walls in {my} bedroom and painted them {new}.
replaced: The {old} in {my} bedroom was replaced with {new}.
correction: Correction: the walls in {my} bedroom are {new}.
restated: The walls in {my} bedroom are {new}.

attribute: browser
for: person
values: Chrome | Firefox | Safari | Edge | Brave | Opera | Vivaldi
old: {I} use{s} {old} as {my} browser.
old: {My} browser is {old}.
ask: Which browser {do} {I} use?
ask: What is {my} browser?
ask: What {do} {I} surf the web with?
before: Which browser did {I} use before {new}?
before: What was {my} browser earlier?
switched: {I} switched from {old} to {new} as {my} browser.
now: {I} use{s} {new} as {my} browser now.
moved: {I}'ve moved all {my} bookmarks to {new} and browse{s} with that.
stopped: {I} stopped using {old}. {My} browser is {new}.
gave_up: {I} gave up on {old} because it was slow, {I} use{s} {new}.
instead_of: {I} browse{s} with {new} instead of {old}.
these_days: {I}'m using {new} as {my} browser these days.
any_more: {I} {don't} use {old} any more, {my} browser is {new}.
actually: Actually, {my} browser is {new}.
restated: {My} browser is {new}.

attribute: social_app
for: person
values: Instagram | TikTok | Facebook | Reddit | Mastodon | Bluesky | Snapchat
old: {I} post{s} {my} photos on {old}.
old: {I} share{s} {my} photos with friends on {old}.
ask: Where {do} {I} post {my} photos?
ask: Which app {do} {I} share photos on?
ask: Where can friends see {my} photos?
before: Where did {I} post photos before {new}?
before: Which app did {I} share photos on earlier?
left: {I} left {old} and post{s} {my} photos on {new}.
switched: {I} switched to {new} for {my} photos.
now: {I} share{s} {my} photos on {new} now.
no_longer: {I} no longer post{s} photos on {old}, {I} use{s} {new}.
gave_up: {I} deleted {old} last week. {My} photos are on {new}.
moved: {I} moved from {old} to {new} with {my} photos.
started: {I}'ve started posting {my} photos on {new} instead.
any_more: {I} {don't} post anything on {old} any more, {my} photos go on {new}.
not_but: {I} {don't} post {my} photos on {old} but on {new}.
restated: {I} post{s} {my} photos on {new}.

attribute: console
for: person
values: PlayStation | Sega Dreamcast | Nintendo Switch | Steam Deck | Wii | GameCube
old: {I} play{s} video games on a {old}.
old: {My} games console is a {old}.
ask: Which games console {do} {I} have?
ask: What {do} {I} play video games on?
ask: For which console should a game for {me} be?
before: Which games console did {I} have before the {new}?
before: What did {I} play video games on earlier?
second_hand: {I} sold the {old} and bought a {new}.
upgraded: {I} got a new games console, a {new}.
now: {I} play{s} video games on a {new} now.
replaced: {I} replaced {my} {old} with a {new}.
any_more: {I} {don't} have the {old} any more, {I} play{s} on a {new}.
exchanged: {I} swapped {my} {old} for a {new}.
broke: The {old} broke, so {I} play{s} on a {new}.
changed: {I} changed consoles, it's a {new} now.
actually: Actually, {my} games console is a {new}.
restated: {My} games console is a {new}.

attribute: target_weight
for: person
values: 58 kg | 62 kg | 65 kg | 68 kg | 72 kg | 75 kg | 80 kg
old: {My} target weight is {old}.
old: {I} want{s} to get to a weight of {old}.
ask: What is {my} target weight?
ask: How much {do} {I} want to weigh?
ask: Which weight {am} {I} aiming for?
before: What was {my} target weight before {new}?
before: Which weight did {I} aim for at first?
changed: {I} changed {my} target weight from {old} to {new}.
now: {My} target weight is {new} now.
cut-: {I} lowered {my} target weight to {new}.
went_up+: {I} raised {my} target weight to {new}.
no_longer: {I} no longer want{s} to weigh {old}, the goal is {new}.
instead_of: {I}'m aiming for a weight of {new} instead of {old}.
these_days: The weight {I}'m aiming for these days is {new}.
as_of: As of today {my} target weight is {new}.
correction: Correction: {my} target weight is {new}, not {old}.
restated: {My} target weight is {new}.

attribute: bike
for: person
values: mountain bike | road bike | touring bike | folding bike | city bike | cargo bike | gravel bike
old: {I} ride{s} a {old}.
old: {I} {have} a {old} in the garage.
ask: What kind of bike {do} {I} have?
ask: What type of bicycle {do} {I} ride?
ask: Which bike {am} {I} out on at weekends?
before: What kind of bike did {I} have before the {new}?
before: What type of bicycle did {I} ride earlier?
second_hand: {I} sold the {old} and got a {new}.
upgraded: {I} got a new bike, it's a {new}.
stolen: {My} {old} was stolen, so {I} bought a {new}.
switched: {I} switched from a {old} to a {new}.
now: {I} ride{s} a {new} now.
no_longer: {I} no longer {have} the {old}, {I} ride{s} a {new}.
replaced: {I} replaced {my} {old} with a {new}.
exchanged: {I} traded {my} {old} in for a {new}.
turns_out: It turns out that {my} bike is a {new}, not a {old}.
restated: {I} ride{s} a {new}.

attribute: savings_goal
for: person
values: new kitchen | motorbike | world trip | new sofa | sailing boat | garden shed | campervan
old: {I}'m saving up for a {old}.
old: {I} put{s} money aside every month for a {old}.
ask: What {am} {I} saving up for?
ask: What {do} {I} put money aside for?
ask: What will {my} savings be spent on?
before: What {was} {I} saving up for before the {new}?
before: What did {I} put money aside for at first?
changed: {I} changed {my} mind: {I}'m saving up for a {new}.
any_more: {I}'m not saving for a {old} any more, {I}'m saving for a {new}.
gave_up: {I} gave up on the {old}. {My} savings are for a {new}.
instead_of: {I}'m saving up for a {new} instead of a {old}.
now: {I}'m now saving up for a {new}.
no_longer: {I} no longer need{s} a {old}, {I}'m saving up for a {new}.
started: {I}'ve started saving for a {new} and dropped the {old}.
after_all: {I} {don't} want a {old} after all. The savings are for a {new}.
actually: Actually, {I}'m saving up for a {new}.
restated: {I}'m saving up for a {new}.

attribute: third_single_life
for: any
changed: My dentist is Dr Lang. || I changed dentists, I go to Dr Busch now.
	|| Who is my dentist? || Who was my dentist before?
postponed: My cousin's wedding is on 14 May. || My cousin's wedding has been postponed to 9 September.
	|| When is my cousin's wedding? || When was my cousin's wedding planned at first?
gave_up: I'm on a keto diet. || I gave up the keto diet, I'm counting calories now.
	|| What diet am I on? || What diet was I on before?
moved: I go to the gym at 7 in the morning. || I moved my gym time to 6 in the evening.
	|| When do I go to the gym? || When did I go to the gym earlier?
now: My favourite ice cream is vanilla. || My favourite ice cream is pistachio now.
	|| What is my favourite ice cream? || What was my favourite ice cream before?
cancelled: We're flying to Crete in July. || We cancelled Crete, we're driving to Denmark in July.
	|| Where are we going in July? || Where did we want to go in July at first?
changed: The kitten is called Minka. || We changed the kitten's name to Pepper.
	|| What is our kitten called? || What was the kitten called at first?
switched: My daughter takes the bus to school. || My daughter switched to cycling to school.
	|| How does my daughter get to school? || How did my daughter get to school before?
any_more: My knee hurts when I climb stairs. || My knee doesn't hurt any more.
	|| Does my knee hurt?
went_up: The gas bill is 80 euros a month. || The gas bill went up from 80 to 95 euros a month.
	|| How much is the gas bill each month? || How much was the gas bill before?
took_over: My husband cooks dinner on weekdays. || I took over the cooking on weekdays from my husband.
	|| Who cooks dinner on weekdays? || Who cooked dinner on weekdays before?
second_hand: I have a Yamaha keyboard. || I sold the Yamaha keyboard and bought a Roland.
	|| Which keyboard do I have? || Which keyboard did I have before?
stopped: I take vitamin D every morning. || I stopped taking vitamin D.
	|| Do I take vitamin D?
no_longer: My grandmother lives on her own. || My grandmother no longer lives on her own, she lives with my aunt.
	|| Who does my grandmother live with?
started: My son goes to kindergarten. || My son started school on Monday.
	|| Does my son go to kindergarten or to school? || Where did my son go before school?
actually: My flight to Rome leaves at 9:15. || Actually, my flight to Rome leaves at 11:40.
	|| When does my flight to Rome leave?
from_to: My swimming class is on Tuesdays. || My swimming class moved from Tuesdays to Thursdays.
	|| When is my swimming class? || When was my swimming class before?
replaced: We have a Bosch washing machine. || We replaced the Bosch washing machine with a Miele.
	|| Which washing machine do we have? || Which washing machine did we have before?
instead_of: We're giving Grandpa a book for his birthday. || We're giving Grandpa a scarf instead of a book.
	|| What are we giving Grandpa for his birthday? || What did we want to give Grandpa at first?
left: My best friend Lena lives in Hamburg. || Lena left Hamburg and lives in Vienna.
	|| Where does my best friend Lena live? || Where did Lena live before?
turns_out: The rash comes from my washing powder. || It turned out that the rash comes from a new soap.
	|| What does my rash come from?
these_days: I read on the sofa before dinner. || These days I read in the bath before dinner.
	|| Where do I read before dinner? || Where did I read before dinner earlier?
correction: My mother's birthday is on 3 March. || Sorry, I got it wrong: my mother's birthday is on 5 March.
	|| When is my mother's birthday?
moved: The birthday party for the twins is in the garden. || We moved the twins' party to the bowling alley.
	|| Where is the twins' birthday party? || Where was the twins' party going to be at first?
as_of: The library is open until 6. || Since last week the library is open until 8.
	|| Until when is the library open? || Until when was the library open before?
restated: The code for the bike lock is 4471. || The code for the bike lock is 9038.
	|| What is the code for the bike lock? || What was the old code for the bike lock?
gave_up: I smoke about ten cigarettes a day. || I gave up smoking in the new year.
	|| Do I smoke?
switched: I use Duolingo to learn Spanish. || I switched from Duolingo to Babbel for my Spanish.
	|| Which app do I use to learn Spanish? || Which app did I use for Spanish before?
any_more: We eat at Luigi's on Fridays. || We don't go to Luigi's on Fridays any more, we eat at Golden Dragon.
	|| Where do we eat on Fridays? || Where did we eat on Fridays before?
changed: I want to study medicine. || I changed my mind, I want to study law.
	|| What do I want to study? || What did I want to study at first?
postponed: The plumber is coming on Wednesday. || The plumber can't make it and postponed to Friday.
	|| When is the plumber coming? || When was the plumber going to come at first?
now: The dog sleeps in the hall. || The dog sleeps in our bedroom now.
	|| Where does the dog sleep? || Where did the dog sleep before?
broke: The kettle works fine. || The kettle broke this morning.
	|| Does the kettle work?
not_but: My nephew is in third grade. || My nephew is not in third grade but in fourth.
	|| Which grade is my nephew in?
no_longer: I'm training for a half marathon. || I'm no longer training for a half marathon, I'm doing a triathlon.
	|| What am I training for? || What was I training for before?
cancelled: My parents are visiting at Easter. || My parents cancelled their visit at Easter.
	|| Are my parents visiting at Easter?
cut: I spend 400 euros a month on food. || I cut my spending on food to 300 euros a month.
	|| How much do I spend on food a month? || How much did I spend on food before?
after_all: I'm not going to the class reunion. || I'm going to the class reunion after all.
	|| Am I going to the class reunion?
renewed: My passport runs out in October. || I got a new passport, it's valid until 2036.
	|| Until when is my passport valid? || When was my old passport going to run out?
please: Remind me to water the plants on Sundays. || Please remind me to water the plants on Saturdays instead.
	|| On which day do I want to be reminded to water the plants? || On which day was the reminder before?
`
