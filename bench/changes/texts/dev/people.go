package dev

// People holds attributes of people's lives: see parseCorpus for the notation.
const People = `
attribute: city
for: person
values: Lyon | Oslo | Porto | Ghent | Leeds | Turin | Bergen | Graz | Bilbao | Malmo
old: {I} live{s} in {old}.
old: {I}'m based in {old} at the moment.
old: {My} home is in {old}, close to the river.
ask: Where {do} {I} live?
ask: Which city {am} {I} in?
before: Where did {I} live before {new}?
before: Which city did {I} live in previously?
moved: {I} moved from {old} to {new} last month.
moved: {I}'ve moved to {new}.
no_longer: {I} no longer live{s} in {old}; {I} live{s} in {new}.
any_more: {I} {don't} live in {old} any more, {I}'m in {new}.
now: {I} live{s} in {new} now.
these_days: These days {I}'m living in {new}.
left: {I} left {old} in the spring and settled in {new}.
actually: Actually, {I} live{s} in {new}.
not_but: {I} {don't} live in {old} but in {new}.
as_of: As of this week {I} live{s} in {new}.
restated: {I} live{s} in {new}.
correction: Correction: {I} live{s} in {new}, not in {old}.

attribute: employer
for: person
values: Novartis | Bosch | Ericsson | Siemens | Philips | Nokia | Airbus | Maersk | Roche | Volvo
old: {I} work{s} for {old}.
old: {I} {have} a job at {old}.
ask: Where {do} {I} work?
ask: Which company {do} {I} work for?
before: Who did {I} work for before {new}?
before: What was {my} previous employer?
left: {I} left {old} and joined {new}.
left: {I} left {old} in March. {I} work{s} at {new} now.
started: {I} started at {new} on Monday.
changed: {I} changed jobs: {I}'m at {new} now.
no_longer: {I}'m no longer with {old}, {I} work{s} for {new}.
moved: {I} moved to {new} two weeks ago, it's a better job.
switched: {I} switched from {old} to {new}.
any_more: {I} {don't} work at {old} any more. It's {new} now.
these_days: {I} work{s} at {new} these days.
restated: {I} work{s} for {new}.
actually: Actually {I} work{s} for {new}.
as_of: As of January {I} work{s} for {new}.

attribute: role
for: person
values: data analyst | product manager | site engineer | team lead | security architect | technical writer | account
	manager | recruiter
old: {I} work{s} as a {old}.
old: {My} job title is {old}.
ask: What is {my} job?
ask: What {do} {I} do at work?
before: What was {my} job before becoming a {new}?
before: What did {I} work as previously?
changed: {My} role changed from {old} to {new}.
now: {I}'m a {new} now.
no_longer: {I}'m no longer a {old} but a {new}.
started: {I} started as a {new} this month.
stopped: {I} stopped working as a {old} and became a {new}.
switched: {I} switched from {old} to {new}.
moved: {I} moved from {old} to {new} after the reorganisation.
correction: Correction: {my} job title is {new}.
as_of: As of February {I}'m a {new}.
restated: {I} work{s} as a {new}.
gave_up: {I} gave up being a {old} and work{s} as a {new}.

attribute: diet
for: person
values: vegetarian | vegan | pescatarian | gluten-free | low-carb | keto
old: {I} follow{s} a {old} diet.
old: {I} eat{s} {old}.
ask: What kind of diet {do} {I} follow?
ask: How {do} {I} eat?
before: What diet did {I} follow before going {new}?
switched: {I} switched to a {new} diet.
changed: {I} changed {my} diet from {old} to {new}.
gave_up: {I} gave up the {old} diet and eat{s} {new}.
no_longer: {I}'m no longer {old}, {I} eat{s} {new}.
now: {I} eat{s} {new} now.
these_days: These days {my} diet is {new}.
stopped: {I} stopped eating {old} and went {new}.
any_more: {I}'m not {old} any more, {I}'m {new}.
replaced: {I} replaced the {old} diet with a {new} one.
restated: {I} follow{s} a {new} diet.
gave_up: {I} eat{s} meat at least twice a week. || {I} gave up meat in January. || {Do} {I} eat meat?
stopped: {I} put{s} milk in coffee. || {I} stopped drinking milk altogether. || {Do} {I} drink milk?

attribute: pet
for: person
values: Max | Luna | Biscuit | Otis | Pepper | Mochi | Ziggy | Hazel | Bruno | Clover
old: {My} dog is called {old}.
old: {My} dog's name is {old}.
ask: What is the name of {my} dog?
ask: What is {my} dog called?
actually: Actually {my} dog's name is {new}, not {old}.
correction: Correction: {my} dog is called {new}.
not_but: {My} dog is not called {old} but {new}.
turns_out: It turns out {my} dog is called {new}.
changed: {I} changed {my} dog's name to {new}.
restated: {My} dog is called {new}.
now: {My} dog is called {new} now, {I} renamed it.
no_longer: {My} dog is no longer called {old}. The name is {new}.
as_of: As of yesterday {my} dog is called {new}.

attribute: phone
for: person
values: 0612 334 907 | 0677 120 458 | 0699 815 223 | 0648 772 016 | 0633 901 574 | 0655 208 391 | 0621 467 830
old: {My} phone number is {old}.
old: {I} can be reached at {old}.
ask: What is {my} phone number?
ask: What number should I dial to call {me}?
before: What was {my} old phone number?
before: What was {my} number before {new}?
changed: {My} phone number changed to {new}.
now: {My} number is {new} now.
no_longer: {old} is no longer {my} phone number, call {new}.
replaced: {I} replaced {my} old number {old} with {new}.
instead_of: Please call {me} at {new} instead of {old}.
correction: Correction: {my} phone number is {new}.
actually: Actually {my} number is {new}.
as_of: As of Friday {my} phone number is {new}.
restated: {My} phone number is {new}.
any_more: {old} isn't {my} number any more. It's {new}.
from_to: {My} phone number went from {old} to {new}.

attribute: drink
for: person
values: green tea | espresso | oat latte | ginger beer | black coffee | lemonade | hot chocolate | matcha
old: {My} favourite drink is {old}.
old: {I} like{s} {old} best.
ask: What is {my} favourite drink?
ask: Which drink {do} {I} like best?
before: What was {my} favourite drink before {new}?
now: {My} favourite drink is {new} now.
these_days: These days {my} favourite drink is {new}.
changed: {My} favourite drink changed from {old} to {new}.
no_longer: {old} is no longer {my} favourite drink. {new} is.
switched: {I} switched from {old} to {new} as {my} favourite drink.
actually: Actually {my} favourite drink is {new}.
restated: {My} favourite drink is {new}.
after_all: {My} favourite drink is {new} after all.
any_more: {old} isn't {my} favourite drink any more, it's {new}.
instead_of: {I} drink{s} {new} instead of {old} now, it's {my} favourite.

attribute: partner
for: person
values: Jonas | Amelie | Rafael | Ingrid | Samuel | Noor | Felix | Carla | Henrik | Leila
old: {I}'m dating {old}.
old: {My} partner is {old}.
ask: Who is {my} partner?
ask: Who {am} {I} in a relationship with?
before: Who {was} {I} with before {new}?
before: Who was {my} partner previously?
left: {I} left {old} and {am} with {new}.
now: {I}'m with {new} now.
no_longer: {I}'m no longer with {old}, {my} partner is {new}.
any_more: {I}'m not with {old} any more. {I}'m dating {new}.
started: {I} started dating {new}.
stopped: {I} stopped seeing {old} and {am} with {new}.
these_days: These days {my} partner is {new}.
turns_out: It turns out {my} partner is {new}.
restated: {My} partner is {new}.
as_of: As of the summer {my} partner is {new}.
correction: Correction: {my} partner's name is {new}.

attribute: allergy
for: person
values: peanuts | shellfish | sesame | walnuts | kiwi | soy | celery | mustard
old: {I}'m allergic to {old}.
old: {I} {have} an allergy to {old}.
ask: What {am} {I} allergic to?
ask: Which food must {I} avoid because of an allergy?
turns_out: It turns out {I}'m allergic to {new}, not to {old}.
correction: Correction: {my} allergy is to {new}, not to {old}.
not_but: {I}'m not allergic to {old} but to {new}.
actually: Actually {I}'m allergic to {new}, not {old}.
any_more: {I} {have} a bad allergy to cats. || {I}'m not allergic to cats any more, the treatment worked.
	|| {Am} {I} allergic to cats?
no_longer: {I}'m allergic to eggs. || {I}'m no longer allergic to eggs, the doctor confirmed it.
	|| {Am} {I} allergic to eggs?
after_all: {I}'m allergic to penicillin. || {I}'m not allergic to penicillin after all.
	|| {Am} {I} allergic to penicillin?
turns_out: {I}'m lactose intolerant. || It turns out {I}'m not lactose intolerant. || {Am} {I} lactose intolerant?

attribute: hobby
for: person
values: bouldering | pottery | chess | rowing | birdwatching | fencing | woodcarving | archery | sailing
old: {My} hobby is {old}.
old: {I} spend{s} the weekends on {old}.
ask: What is {my} hobby?
ask: What {do} {I} do at weekends?
before: What was {my} hobby before {new}?
switched: {I} switched from {old} to {new} as a hobby.
gave_up: {I} gave up {old} and took up {new}.
stopped: {I} stopped {old} and started {new} on weekends.
started: {I} started {new}; it's {my} hobby now.
replaced: {new} replaced {old} as {my} hobby.
now: {My} hobby is {new} now.
these_days: These days {my} hobby is {new}.
no_longer: {My} hobby is no longer {old}, it's {new}.
instead_of: {I} spend{s} the weekends on {new} instead of {old}.
any_more: {I} {don't} do {old} any more, {my} hobby is {new}.
restated: {My} hobby is {new}.
gave_up: {I} smoke{s} about ten cigarettes a day. || {I} gave up smoking in March. || {Do} {I} smoke?

attribute: car
for: person
values: Skoda | Toyota | Fiat | Peugeot | Renault | Mazda | Subaru | Hyundai | Seat
old: {I} drive{s} a {old}.
old: {My} car is a {old}.
ask: What car {do} {I} drive?
ask: What kind of vehicle {do} {I} own?
before: What car did {I} drive before the {new}?
before: What was {my} previous car?
replaced: {I} replaced the {old} with a {new}.
switched: {I} switched from a {old} to a {new}.
upgraded: {I} upgraded from the {old} to a {new}.
changed: {I} changed {my} car, it's a {new} now.
now: {I} drive{s} a {new} now.
these_days: {I} drive{s} a {new} these days.
no_longer: {I} no longer drive{s} the {old}, {my} car is a {new}.
any_more: {I} {don't} have the {old} any more. {My} car is a {new}.
restated: {My} car is a {new}.
instead_of: {I} drive{s} a {new} instead of the {old}.
actually: Actually, {my} car is a {new}.
not_but: {My} car is not a {old} but a {new}.

attribute: gym
for: person
values: Ironworks | Fit Factory | Pulse Studio | Gym Nine | The Boxroom | Northside Fitness | Kinetic
old: {I} go{es} to {old} for training.
old: {My} gym is {old}.
ask: Which gym {do} {I} go to?
ask: Where {do} {I} work out?
before: Which gym did {I} use before {new}?
switched: {I} switched gyms from {old} to {new}.
moved: {I} moved to another gym, {new}.
cancelled: {I} cancelled {my} membership at {old} and train{s} at {new}.
left: {I} left {old} and signed up at {new}.
now: {I} train{s} at {new} now.
no_longer: {I} no longer go{es} to {old}. {My} gym is {new}.
any_more: {I} {don't} train at {old} any more, {I} go{es} to {new}.
started: {I} started training at {new} this week, {old} was too full.
these_days: {I} work{s} out at {new} these days.
restated: {My} gym is {new}.
as_of: As of April {my} gym is {new}.

attribute: school
for: person
values: Lindenhof School | St Mary's | Birchwood Primary | the Montessori school | Hillcrest Academy | Riverside
	School
old: {My} daughter goes to {old}.
old: {My} daughter is a pupil at {old}.
ask: Which school does {my} daughter go to?
ask: Where is {my} daughter taught?
before: Which school did {my} daughter attend before {new}?
moved: {My} daughter moved from {old} to {new} after the holidays.
changed: {My} daughter changed schools and goes to {new}.
switched: {My} daughter switched to {new}.
left: {My} daughter left {old} and is at {new}.
started: {My} daughter started at {new} in September.
now: {My} daughter goes to {new} now.
no_longer: {My} daughter no longer goes to {old} but to {new}.
any_more: {My} daughter isn't at {old} any more, she is at {new}.
as_of: As of September {my} daughter attends {new}.
after_all: {My} daughter will go to {new} after all.
restated: {My} daughter goes to {new}.

attribute: commute
for: person
values: by tram | by bike | by car | by train | on foot | by bus
old: {I} go{es} to work {old}.
old: {I} commute{s} {old}.
ask: How {do} {I} get to work?
ask: How {do} {I} travel to the office?
before: How did {I} get to work before?
switched: {I} switched from commuting {old} to commuting {new}.
now: {I} get{s} to work {new} now.
these_days: {I} commute{s} {new} these days.
instead_of: {I} go{es} to work {new} instead of {old}.
stopped: {I} stopped commuting {old}, {I} go{es} {new}.
any_more: {I} {don't} go to work {old} any more but {new}.
no_longer: {I} no longer commute{s} {old}; {I} come{s} {new}.
started: {I} started going to work {new}.
gave_up: {I} gave up going {old} and get{s} to work {new}.
restated: {I} go{es} to work {new}.
as_of: As of Monday {I} commute{s} {new}.

attribute: language
for: person
values: Italian | Japanese | Swedish | Arabic | Greek | Korean | Welsh
old: {I}'m learning {old}.
old: {I} take{s} evening classes in {old}.
ask: Which language {am} {I} learning?
ask: What language {do} {I} study?
before: Which language did {I} study before {new}?
switched: {I} switched from {old} to {new} in evening school.
gave_up: {I} gave up learning {old}; {I}'m learning {new}.
stopped: {I} stopped learning {old} and started {new}.
now: {I}'m learning {new} now.
these_days: These days {I}'m studying {new}.
no_longer: {I}'m no longer learning {old} but {new}.
instead_of: {I}'m learning {new} instead of {old}.
changed: {I} changed {my} language course from {old} to {new}.
actually: Actually, the language {I}'m learning is {new}.
restated: {I}'m learning {new}.
`
