package third

// Coexisting holds pairs of plain statements that can both be true.
const Coexisting = `
kind: two siblings
values: Bristol | Malmö | Rotterdam | Valencia | Hamburg
a: {p}'s brother lives in {v}. || Where does {p}'s brother live?
b: {p}'s sister moved to {w}. || Where does {p}'s sister live?

kind: two siblings
values: a plumber | a dentist | a teacher | a lawyer | a baker
a: {p}'s older brother is {v}. || What does {p}'s older brother do for work?
b: {p}'s younger brother is {w}. || What does {p}'s younger brother do for work?

kind: two siblings
values: 24 | 27 | 31 | 36
a: {p}'s sister is {v}. || How old is {p}'s sister?
b: {p}'s brother is {w}. || How old is {p}'s brother?

kind: two siblings
a: My big sister is getting married in June. || When does my big sister get married?
b: My little sister is getting married in September. || When does my little sister get married?

kind: two siblings
values: a bank | a hospital | a start-up | a publisher
a: {p}'s twin sister works at {v}. || Where does {p}'s twin sister work?
b: {p}'s little brother now works at {w}. || Where does {p}'s little brother work?

kind: two children
values: football | basketball | tennis | volleyball | hockey
a: {p}'s son plays {v} on Mondays. || What sport does {p}'s son do?
b: {p}'s daughter plays {w} on Mondays. || What sport does {p}'s daughter do?

kind: two children
values: 4 | 7 | 9 | 12 | 15
a: {p}'s daughter is {v} years old. || How old is {p}'s daughter?
b: {p}'s son just turned {w}. || How old is {p}'s son?

kind: two children
a: Our older boy goes to Park Lane School. || Which school does our older boy go to?
b: Our younger boy goes to St Martin's. || Which school does our younger boy go to?

kind: two children
values: piano | guitar | trumpet | flute
a: {p}'s oldest daughter is learning the {v}. || Which instrument is {p}'s oldest daughter learning?
b: {p}'s youngest daughter started the {w}. || Which instrument does {p}'s youngest daughter play?

kind: two services
values: Postgres | MySQL | DynamoDB | Cassandra | SQLite
a: {x} uses {v}. || Which database is behind {x}?
b: {y} uses {w}. || Which database is behind {y}?

kind: two services
values: 3000 | 4000 | 5050 | 8088 | 9400
a: {x} runs on port {v}. || What port is {x} on?
b: {y} runs on port {w}. || What port is {y} on?

kind: two services
values: Kotlin | Go | Elixir | TypeScript | C#
a: {x} is written in {v}. || What is {x} written in?
b: We rewrote {y} in {w}. || What is {y} written in?

kind: two services
values: 10 seconds | 20 seconds | 45 seconds | 90 seconds
a: The timeout of {x} is {v}. || What is the timeout of {x}?
b: We raised the timeout of {y} to {w}. || What is the timeout of {y}?

kind: two services
a: {x} was moved to Kubernetes last week. || What happened to {x} last week?
b: {y} still runs on a plain virtual machine. || What does {y} run on?

kind: two services
a: {p} looks after {x}. || Who looks after {x}?
b: {q} looks after {y}. || Who looks after {y}?

kind: two environments
values: 3 | 5 | 7 | 10
a: {x} has {v} instances in production. || How many instances does {x} have in production?
b: {x} has {w} instances in staging. || How many instances does {x} have in staging?

kind: two environments
values: nightly | hourly | weekly | daily
a: The production database of {x} is backed up {v}. || How often is the production database of {x} backed up?
b: The test database of {x} is backed up {w}. || How often is the test database of {x} backed up?

kind: two environments
values: 1.8.0 | 1.9.2 | 2.0.1 | 2.1.0
a: Production runs version {v} of {x}. || Which version of {x} is in production?
b: Staging is on version {w} of {x} now. || Which version of {x} is on staging?

kind: two environments
a: The dev server of {x} uses a self-signed certificate. || What certificate does the dev server of {x} use?
b: In production {x} uses a Let's Encrypt certificate. || What certificate does {x} use in production?

kind: two projects
values: May 3 | June 17 | July 22 | August 30
a: Project Marble is due on {v}. || When is project Marble due?
b: Project Copper is due on {w}. || When is project Copper due?

kind: two projects
a: {p} leads project Willow. || Who leads project Willow?
b: {q} leads project Maple. || Who leads project Maple?

kind: two projects
values: 30,000 euros | 55,000 euros | 80,000 euros | 120,000 euros
a: The budget for the app redesign is {v}. || How much money is there for the app redesign?
b: The budget for the data migration is {w}. || How much money is there for the data migration?

kind: two projects
a: Project Lantern is on hold until spring. || What is the status of project Lantern?
b: Project Beacon went live on Monday. || What is the status of project Beacon?

kind: two projects
values: four people | six people | nine people
a: There are {v} working on project Tulip. || How many people work on project Tulip?
b: There are {w} working on project Orchid now. || How many people work on project Orchid?

kind: two meetings
values: 9:15 | 10:45 | 13:30 | 15:45
a: The meeting with the architects is at {v}. || What time is the meeting with the architects?
b: The meeting with the lawyers is at {w}. || What time is the meeting with the lawyers?

kind: two meetings
values: Monday | Tuesday | Wednesday | Thursday
a: My one-on-one with {p} is on {v}. || Which day is my one-on-one with {p}?
b: My one-on-one with {q} has moved to {w}. || Which day is my one-on-one with {q}?

kind: two meetings
a: The budget review is in room 204. || Where is the budget review?
b: The design review is in room 311. || Where is the design review?

kind: two meetings
values: half an hour | 45 minutes | an hour | 90 minutes
a: The security meeting takes {v}. || How long is the security meeting?
b: The hiring meeting takes {w}. || How long is the hiring meeting?

kind: two deadlines
values: April 2 | April 15 | May 6 | May 28
a: The grant application has to be in by {v}. || When is the grant application due?
b: The tax documents have to be in by {w}. || When are the tax documents due?

kind: two deadlines
values: Wednesday | Thursday | Friday | Monday
a: The slides for the board are due on {v}. || When are the slides for the board due?
b: The slides for the customer are due on {w}. || When are the slides for the customer due?

kind: two deadlines
a: Early bird tickets for the conference end on March 1. || Until when are there early bird tickets?
b: Talk proposals for the conference close on February 10. || Until when can I propose a talk for the conference?

kind: two deadlines
a: The deadline for the brochure was pushed to the 20th. || When is the brochure due?
b: The deadline for the poster is the 8th. || When is the poster due?

kind: two cars
values: a Skoda | a Fiat | a Toyota | a Renault | a Volvo
a: {p} drives {v}. || What car does {p} drive?
b: {q} bought {w}. || What car did {q} buy?

kind: two cars
a: {p}'s van needs new brakes. || What does {p}'s van need?
b: {p}'s convertible needs new tyres. || What does {p}'s convertible need?

kind: two cars
values: blue | grey | red | black | white
a: The company car of {p} is {v}. || What colour is {p}'s company car?
b: The private car of {p} is {w}. || What colour is {p}'s private car?

kind: two cars
a: I park the camper in front of the barn. || Where do I park the camper?
b: I park the motorbike in the garage. || Where do I park the motorbike?

kind: two phones
values: an iPhone | a Pixel | a Fairphone | a Galaxy
a: {p}'s work phone is {v}. || What is {p}'s work phone?
b: {p}'s private phone is {w}. || What is {p}'s private phone?

kind: two phones
values: 0171 555 010 | 0171 555 022 | 0171 555 037 | 0171 555 049
a: {p}'s office number is {v}. || What is {p}'s office number?
b: {p}'s mobile number is {w}. || What is {p}'s mobile number?

kind: two phones
a: My old phone is in the kitchen drawer. || Where is my old phone?
b: I put the loan phone back in the cupboard at work. || Where did I put the loan phone?

kind: work and private
values: Vim | VS Code | Emacs | IntelliJ
a: At work {p} uses {v}. || Which editor does {p} use at work?
b: For private stuff {p} uses {w}. || Which editor does {p} use for private stuff?

kind: work and private
a: My work calendar is in Outlook. || Where is my work calendar?
b: My family calendar is in Google. || Where is my family calendar?

kind: work and private
values: Windows | Linux | a Mac | a Chromebook
a: At the office {p} has {v}. || What kind of computer does {p} have at the office?
b: At home {p} has {w}. || What kind of computer does {p} have at home?

kind: work and private
a: For work {p} can be reached on Teams. || How do I reach {p} for work?
b: Privately {p} switched to Signal. || How do I reach {p} privately?

kind: two people
values: Madrid | Geneva | Riga | Bologna | Leipzig
a: {p} lives in {v}. || Where does {p} live?
b: {q} has moved to {w}. || Where does {q} live?

kind: two people
values: Bosch | Spotify | Airbus | Lidl | IKEA
a: {p} works at {v}. || Where does {p} work?
b: {q} works at {w} now. || Where does {q} work?

kind: two people
values: a vegetarian | a vegan | a coeliac
a: {p} is {v}. || Is {p} on any special diet?
b: {q} is {w}. || Is {q} on any special diet?

kind: two people
values: March 4 | May 19 | August 8 | November 23
a: {p} starts the new job on {v}. || When does {p} start the new job?
b: {q} starts the new job on {w}. || When does {q} start the new job?

kind: two people
values: yoga | climbing | rowing | pottery
a: {p} does {v}. || What does {p} do in the free time?
b: {q} has taken up {w}. || What has {q} taken up?

kind: two people
a: {p} is my driving instructor. || Who is my driving instructor?
b: {q} is my tax adviser. || Who is my tax adviser?

kind: two people
values: on the second floor | on the fourth floor | in the annex | in building C
a: {p} sits {v}. || Where does {p} sit?
b: {q} now sits {w}. || Where does {q} sit?

kind: weekday and weekend
values: 6:00 | 6:30 | 8:00 | 9:30
a: On weekdays {p} gets up at {v}. || When does {p} get up on weekdays?
b: At weekends {p} gets up at {w}. || When does {p} get up at weekends?

kind: weekday and weekend
a: The library is open until 20:00 during the week. || How long is the library open during the week?
b: The library is open until 14:00 on Saturdays. || How long is the library open on Saturdays?

kind: weekday and weekend
a: During the week {p} stays in a flat in the city. || Where does {p} stay during the week?
b: On weekends {p} stays at the farm. || Where does {p} stay on weekends?

kind: weekday and weekend
a: On weekdays I have cereal. || What do I eat for breakfast on weekdays?
b: On Sundays I have scrambled eggs. || What do I eat for breakfast on Sundays?

kind: several languages
a: {p} speaks Italian. || Does {p} speak Italian?
b: {p} speaks Greek. || Does {p} speak Greek?

kind: several languages
a: {p} is learning Japanese. || Is {p} learning Japanese?
b: {p} is fluent in German. || Is {p} fluent in German?

kind: several languages
a: With the kids {p} speaks Swedish. || What language does {p} speak with the kids?
b: With the in-laws {p} speaks French. || What language does {p} speak with the in-laws?

kind: several pets
a: {p} has a dog called Bruno. || What is the name of {p}'s dog?
b: {p} has a cat called Mimi. || What is the name of {p}'s cat?

kind: several pets
a: {p} got a rabbit. || Does {p} have a rabbit?
b: {p} got two budgies. || Does {p} have budgies?

kind: several pets
values: 2 | 5 | 8 | 11
a: {p}'s parrot is {v} years old. || How old is {p}'s parrot?
b: {p}'s pony is {w} years old. || How old is {p}'s pony?

kind: several pets
a: The grey cat sleeps in the laundry basket. || Where does the grey cat sleep?
b: The black cat sleeps on top of the wardrobe. || Where does the black cat sleep?

kind: several skills
a: {p} can juggle. || Can {p} juggle?
b: {p} can ski. || Can {p} ski?

kind: several skills
a: {p} is good at Excel. || Is {p} good at Excel?
b: {p} is good at public speaking. || Is {p} a good speaker?

kind: several skills
a: {p} knows Terraform. || Does {p} know Terraform?
b: {p} knows Figma well. || Does {p} know Figma?

kind: several skills
a: {p} has a boat licence. || Does {p} have a licence for boats?
b: {p} has a forklift licence. || Does {p} have a licence for forklifts?

kind: several allergies
a: {p} is allergic to peanuts. || Is {p} allergic to peanuts?
b: {p} is allergic to cats. || Is {p} allergic to cats?

kind: several allergies
a: {p} can't eat shellfish. || Can {p} eat shellfish?
b: {p} can't drink milk. || Can {p} drink milk?

kind: several allergies
a: {p}'s son is allergic to penicillin. || What is {p}'s son allergic to?
b: {p}'s daughter is allergic to strawberries. || What is {p}'s daughter allergic to?

kind: same kind of value
values: 7000 | 7443 | 8800 | 9100
a: {x} serves HTTP on port {v}. || On which port does {x} serve HTTP?
b: {x} serves metrics on port {w}. || On which port does {x} serve metrics?

kind: same kind of value
values: March 10 | April 21 | June 2 | July 14
a: The contract with the cleaning company starts on {v}. || When does the contract with the cleaning company start?
b: The contract with the caterer starts on {w}. || When does the contract with the caterer start?

kind: same kind of value
values: 12 euros | 15 euros | 19 euros | 25 euros
a: A ticket for adults costs {v}. || What does a ticket for adults cost?
b: The guided tour costs {w} per person. || What does the guided tour cost?

kind: same kind of value
a: The flight leaves at 7:20. || When does the flight leave?
b: The flight lands at 10:05. || When does the flight land?

kind: same kind of value
values: Oslo | Prague | Naples | Dublin | Ghent
a: {p} was born in {v}. || Where was {p} born?
b: {p} studied in {w}. || Where did {p} study?

kind: same kind of value
values: 2 GB | 4 GB | 8 GB | 20 GB
a: {x} gets {v} of memory. || How much memory does {x} get?
b: {x} gets {w} of disk space. || How much disk space does {x} get?

kind: same kind of value
values: 700 euros | 850 euros | 1,100 euros | 1,400 euros
a: {p} pays {v} a month for daycare. || What does {p} pay for daycare?
b: {p} pays {w} a month for the studio. || What does {p} pay for the studio?

kind: same kind of value
a: {p} is 183 centimetres tall. || How tall is {p}?
b: {p}'s bike frame is 58 centimetres. || What size is the frame of {p}'s bike?

kind: one-off events
a: {p} had lunch with the new client on Tuesday. || Who had lunch with {p} on Tuesday?
b: {p} had lunch with an old schoolmate on Friday. || Who had lunch with {p} on Friday?

kind: one-off events
a: {p} ran a half marathon in April. || What did {p} run in April?
b: {p} ran a 10K in October. || What did {p} run in October?

kind: one-off events
a: {x} was down for ten minutes on Monday. || How long was {x} down on Monday?
b: {x} was down for an hour on Thursday. || How long was {x} down on Thursday?

kind: one-off events
a: Last night I watched a film about chess. || What film did I watch last night?
b: On the plane I watched a film about whales. || What film did I watch on the plane?

kind: one-off events
a: {p} gave me a book for my birthday. || What did {p} give me for my birthday?
b: {q} gave me a plant for my birthday. || What did {q} give me for my birthday?

kind: plans of different people
values: Crete | Norway | Scotland | Sicily | Croatia
a: {p} is going to {v} this summer. || Where is {p} going this summer?
b: {q} is going to {w} this summer. || Where is {q} going this summer?

kind: plans of different people
a: {p} is going to quit in the spring. || What are {p}'s plans for the spring?
b: {q} is going on parental leave in the spring. || What are {q}'s plans for the spring?

kind: plans of different people
values: a house | a boat | a caravan | a motorbike
a: {p} wants to buy {v}. || What does {p} want to buy?
b: {q} wants to buy {w}. || What does {q} want to buy?

kind: plans of different people
values: Friday | Saturday | Sunday
a: {p} comes to visit on {v}. || When does {p} come to visit?
b: {q} comes to visit on {w}. || When does {q} come to visit?

kind: another thing
a: {p} has moved the desk to the window. || Where is {p}'s desk?
b: {p} lives near the harbour. || Which part of town does {p} live in?

kind: another thing
a: {p} drinks coffee at work. || What does {p} drink at work?
b: {p} has switched to oat milk for the muesli. || What does {p} have with the muesli?

kind: another thing
a: {x} sends its logs to Loki. || Where do the logs of {x} go?
b: {x} switched to Sentry for errors. || Where do the errors of {x} go?

kind: another thing
a: {p} takes the train to work. || How does {p} get to work?
b: {p} now takes the stairs instead of the lift. || Does {p} use the lift?

kind: another thing
a: The team lunch is on Wednesdays. || When is the team lunch?
b: The fruit delivery has moved to Tuesdays. || When is the fruit delivered?

kind: another thing
a: The parents at school use Telegram for chat. || What do the parents at school chat with?
b: The teachers at school switched to Zoom for calls. || What do the teachers at school use for calls?

kind: another thing
a: {p}'s parents have a bakery. || What do {p}'s parents have?
b: {p}'s parents-in-law now have a vineyard. || What do {p}'s parents-in-law have?

kind: rooms
values: green | yellow | light grey | pink
a: The walls of {p}'s office are {v}. || What colour are the walls of {p}'s office?
b: {p} painted the nursery {w}. || What colour is {p}'s nursery?

kind: rooms
a: The projector is in the big meeting room. || Where is the projector?
b: The whiteboard is now in the small meeting room. || Where is the whiteboard?

kind: rooms
values: 18 degrees | 20 degrees | 22 degrees
a: We heat the living room to {v}. || How warm is the living room?
b: We heat the bathroom to {w}. || How warm is the bathroom?

kind: doctors and treatments
values: Dr Weber | Dr Chandra | Dr Molnar | Dr Silva
a: {p}'s dentist is {v}. || Who is {p}'s dentist?
b: {p}'s GP is {w}. || Who is {p}'s GP?

kind: doctors and treatments
a: {p} has an eye test on the 5th. || When is {p}'s eye test?
b: {p} has a blood test on the 12th. || When is {p}'s blood test?

kind: doctors and treatments
a: {p} takes vitamin D in the morning. || What does {p} take in the morning?
b: {p} takes magnesium before bed. || What does {p} take before bed?

kind: customers and suppliers
values: monthly | quarterly | once a year
a: The hotel chain pays {v}. || How often does the hotel chain pay?
b: The clinic pays {w}. || How often does the clinic pay?

kind: customers and suppliers
a: Our paper comes from a mill in Finland. || Where does our paper come from?
b: Our ink comes from a company in Italy now. || Where does our ink come from?

kind: customers and suppliers
a: {p} is our contact at the insurance company. || Who is our contact at the insurance company?
b: {q} is our contact at the bank. || Who is our contact at the bank?

kind: accounts and subscriptions
a: {p} pays for Netflix. || Does {p} pay for Netflix?
b: {p} pays for the Economist. || Does {p} pay for the Economist?

kind: accounts and subscriptions
a: The savings account is at the credit union. || Where is the savings account?
b: We moved the joint account to an online bank. || Where is the joint account?

kind: accounts and subscriptions
values: 20 euros | 35 euros | 49 euros | 60 euros
a: The gym costs {p} {v} a month. || How much does {p} pay for the gym?
b: The phone plan costs {p} {w} a month. || How much does {p} pay for the phone plan?

kind: two trips
values: by train | by plane | by bus | by car
a: We are going to the wedding in Lyon {v}. || How do we get to the wedding in Lyon?
b: We are going to the trade fair in Milan {w}. || How do we get to the trade fair in Milan?

kind: two trips
a: In Athens {p} stayed at a hostel. || Where did {p} stay in Athens?
b: In Budapest {p} stayed with friends. || Where did {p} stay in Budapest?

kind: two trips
values: three days | a week | ten days | two weeks
a: The trip to Canada is {v} long. || How long is the trip to Canada?
b: The trip to Malta is {w} long. || How long is the trip to Malta?

kind: likes and dislikes
a: {p} likes jazz. || Does {p} like jazz?
b: {p} likes gardening. || Does {p} like gardening?

kind: likes and dislikes
a: {p} doesn't like olives. || Does {p} like olives?
b: {p} doesn't like long meetings. || Does {p} like long meetings?

kind: likes and dislikes
a: {p}'s favourite colour is orange. || What is {p}'s favourite colour?
b: {p}'s favourite dish is risotto. || What is {p}'s favourite dish?

kind: two teams
values: Jira | Linear | Trello | GitHub issues
a: The support team tracks its work in {v}. || Where does the support team track its work?
b: The sales team tracks its work in {w}. || Where does the sales team track its work?

kind: two teams
values: 9:00 | 9:30 | 10:00 | 10:15
a: The mobile team has its daily at {v}. || When is the daily of the mobile team?
b: The web team has its daily at {w} now. || When is the daily of the web team?

kind: two teams
a: The finance team got a new coffee machine. || What did the finance team get?
b: The legal team got standing desks. || What did the legal team get?

kind: tools for different jobs
a: We use Jenkins to build the firmware. || What do we build the firmware with?
b: We use GitHub Actions to build the website. || What do we build the website with?

kind: tools for different jobs
a: {p} takes notes in Obsidian. || Where does {p} take notes?
b: {p} keeps shopping lists in Todoist. || Where does {p} keep shopping lists?

kind: tools for different jobs
a: {p} cuts bread with a long knife. || What does {p} cut bread with?
b: {p} uses scissors for pizza. || What does {p} cut pizza with?
`
