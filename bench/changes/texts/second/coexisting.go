package second

// Coexisting holds pairs of statements that can both be true, in either order.
const Coexisting = `
kind: brothers and sisters
values: Aberdeen | Split | Utrecht | Cork | Lublin
a: {p}'s twin brother settled in {v} years ago. || Where does {p}'s twin brother live?
b: {p}'s half-sister has just moved to {w}. || Where does {p}'s half-sister live?

kind: brothers and sisters
a: {p}'s eldest is in year nine. || Which year at school is {p}'s eldest in?
b: {p}'s youngest has moved up to year four. || Which year at school is {p}'s youngest in?

kind: brothers and sisters
a: {p}'s stepbrother drives lorries for a living. || What does {p}'s stepbrother do for a living?
b: {p}'s stepsister switched from nursing to teaching. || What work does {p}'s stepsister do?

kind: brothers and sisters
a: {p}'s son plays handball. || Which sport does {p}'s son do?
b: {p}'s daughter has switched from ballet to fencing. || Which sport does {p}'s daughter do?

kind: stages
values: 15 minutes | 45 minutes | 2 hours | 12 hours
a: On the test system {x} keeps a session for {v}. || How long does a session of {x} last on the test system?
b: Live, {x} now drops a session after {w}. || After how long does {x} drop a session in live use?

kind: stages
a: The demo instance of {x} sits behind basic auth. || How do I get into the demo instance of {x}?
b: The live instance of {x} has switched to single sign-on. || How do people log in to the live instance of {x}?

kind: stages
a: On our own machines {x} uses SQLite. || What does {x} keep its data in on our own machines?
b: On the build server {x} now uses a throwaway Postgres container. || What does {x} use for a database on the
	build server?

kind: stages
a: {x} goes to staging with every merge. || How often is {x} rolled out to staging?
b: {x} goes to production on Tuesday mornings only. || When is {x} rolled out to production?

kind: stages
values: 512 MB | 1 GB | 3 GB | 6 GB
a: In the sandbox account {x} gets {v} of memory. || How much memory has {x} in the sandbox account?
b: We've bumped {x} to {w} of memory in the customer account. || How much memory has {x} in the customer account?

kind: if and when
a: If the pollen count is high, {p} runs indoors. || Where does {p} run with lots of pollen in the air?
b: If the air is clear, {p} runs along the canal. || Where does {p} run when the air is clear?

kind: if and when
a: Orders above 80 euros ship for free. || What does shipping cost for an order of more than 80 euros?
b: Orders under 30 euros now cost 4.90 to ship. || What does shipping cost for an order of less than 30 euros?

kind: if and when
a: {x} retries three times when the network is flaky. || What does {x} do when the network is flaky?
b: {x} gives up at once when the credentials are wrong. || What does {x} do when the credentials are wrong?

kind: if and when
a: With guests in the house {p} cooks for hours. || What does {p} do about food when there are guests?
b: Home alone, {p} microwaves something and that's it. || What does {p} do about food when nobody else is there?

kind: if and when
a: On night shifts {p} has lunch at two in the morning. || When does {p} have lunch on night shifts?
b: On early shifts {p} has lunch at eleven. || When does {p} have lunch on early shifts?

kind: if and when
a: As long as {q} is on leave, {p} signs the delivery notes. || Who signs the delivery notes while {q} is on leave?
b: As long as the scales are broken, parcels are weighed at the post office. || Where are parcels weighed while the
	scales are broken?

kind: workdays and weekends
values: 6:30 | 7:00 | 8:15 | 10:00
a: Mondays to Fridays the indoor pool opens at {v}. || When does the indoor pool open on workdays?
b: On Sundays the indoor pool now opens at {w}. || When does the indoor pool open on Sundays?

kind: workdays and weekends
values: ten | eleven | midnight | half past nine
a: During the week {p} is in bed by {v}. || When does {p} go to bed during the week?
b: Fridays and Saturdays {p} goes to bed at {w} or so. || When does {p} go to bed on Fridays and Saturdays?

kind: workdays and weekends
a: {p} has the kids Monday to Wednesday. || On which days are the kids with {p}?
b: {q} has the kids from Thursday on. || On which days are the kids with {q}?

kind: workdays and weekends
a: The number 14 tram runs every six minutes on workdays. || How often does the number 14 tram run on workdays?
b: The number 14 tram only runs every twenty minutes on Sundays now. || How often does the number 14 tram run on
	Sundays?

kind: workdays and weekends
a: Weekdays {p} has porridge for breakfast. || What is {p}'s breakfast on weekdays?
b: At the weekend {p} has pancakes for breakfast. || What is {p}'s breakfast at the weekend?

kind: seasons
a: From April to October {p} cycles to work. || How does {p} get to work in the summer months?
b: From November to March {p} takes the train to work. || How does {p} get to work in winter?

kind: seasons
a: In July and August the beach kiosk is open till ten. || How late is the beach kiosk open in July and August?
b: Outside the summer months the beach kiosk now closes at five. || How late is the beach kiosk open outside the
	summer?

kind: seasons
a: In term time {p} teaches four days a week. || What does {p} do in term time?
b: In the holidays {p} helps out at a boatyard. || What does {p} do in the holidays?

kind: several languages
a: {p} grew up speaking Basque. || What did {p} speak as a child?
b: {p} is learning Korean these days. || Which language is {p} learning?

kind: several languages
a: {p} writes fluent Swedish. || Does {p} write Swedish?
b: {p} picked up some Turkish on a building site. || What did {p} pick up on a building site?

kind: several languages
a: {p}'s mother speaks Hungarian on the phone with {p}. || What does {p}'s mother speak on the phone with {p}?
b: {p} speaks English with the neighbours now. || What does {p} speak with the neighbours?

kind: several pets
a: {p} keeps two rabbits in the yard. || Which animals live in {p}'s yard?
b: {p} has got a tortoise from a colleague. || Which animal did {p} get from a colleague?

kind: several pets
values: Bruno | Pixel | Waffle | Gustav
a: The bigger of {p}'s dogs answers to {v}. || What is the name of {p}'s bigger dog?
b: The smaller of {p}'s dogs answers to {w}. || What is the name of {p}'s smaller dog?

kind: several pets
a: {p} feeds three stray cats behind the garage. || What does {p} feed behind the garage?
b: {p} has just taken in a parrot. || Which bird does {p} have?

kind: several skills
a: {p} knows how to weld. || Can {p} weld?
b: {p} knows how to make sausages. || Can {p} make sausages?

kind: several skills
a: {p} has a licence for forklifts. || Is {p} allowed to drive a forklift?
b: {p} now has a licence for gliders. || Is {p} allowed to fly gliders?

kind: several skills
a: {p} is a wizard with spreadsheets. || How good is {p} with spreadsheets?
b: {p} has become pretty handy with a soldering iron. || How good is {p} with a soldering iron?

kind: several allergies
a: {p} can't have peanuts, ever. || Which nuts must {p} not eat?
b: Penicillin makes {p} break out in hives. || Which medicine gives {p} hives?

kind: several allergies
a: {p} is allergic to cat hair. || How does {p} react to cat hair?
b: Turns out {p} is allergic to latex, too. || Can {p} wear latex gloves?

kind: several things had
a: {p} subscribes to a cycling magazine. || Does {p} get a magazine about cycling?
b: {p} has just subscribed to a quarterly about bread. || Does {p} get a quarterly about bread?

kind: several things had
a: {x} can export CSV. || Can I get CSV out of {x}?
b: Since the last release {x} can export Parquet. || Can I get Parquet out of {x}?

kind: several things had
a: The finance people use {x}. || Do the finance people work with {x}?
b: The warehouse folks have started to use {x}. || Do the warehouse folks work with {x}?

kind: several things had
a: {x} sends its mail through Mailgun. || What does {x} send mail through?
b: {x} now sends its text messages through Twilio. || What does {x} send text messages through?

kind: several things had
a: {p} has a season ticket for the zoo. || Does {p} have a season ticket for the zoo?
b: {p} bought a season ticket for the ice rink. || Does {p} have a season ticket for the ice rink?

kind: once and usually
a: {p} takes the tram to work. || How does {p} usually get to work?
b: On the day of the strike {p} came to work by taxi. || How did {p} come to work on the day of the strike?

kind: once and usually
a: {p} has a peppermint tea after lunch. || What does {p} usually drink after lunch?
b: After lunch at the wedding {p} had three espressos. || What did {p} drink after lunch at the wedding?

kind: once and usually
a: {p} chairs the residents' meeting. || Who chairs the residents' meeting?
b: Last time {q} chaired the residents' meeting because {p} had flu. || Who chaired the residents' meeting when {p}
	had flu?

kind: once and usually
a: {x} gets its restart on Sunday nights. || When is {x} normally restarted?
b: We had to restart {x} on a Wednesday after the mess with the disks. || When did we restart {x} after the mess
	with the disks?

kind: once and usually
a: {p} doesn't touch alcohol. || Does {p} drink alcohol?
b: {p} had one glass of champagne when the twins were born. || What did {p} have when the twins were born?

kind: once and usually
values: 40 ms | 90 ms | 1.2 seconds | 3 seconds
a: {x} answers in {v} on a normal day. || How fast does {x} answer on a normal day?
b: During the big sale {x} took {w} to answer. || How fast did {x} answer during the big sale?

kind: once and usually
a: {p} wears jeans to work. || What does {p} wear to work?
b: {p} turned up in a dinner jacket for the audit, no idea why. || What did {p} wear for the audit?

kind: plan and fact
values: Trieste | Galway | Narvik | Coimbra
a: {p} lives in {v}. || Where does {p} live?
b: Once the kids have left school, {p} wants to move to {w}. || Where does {p} want to go once the kids have left
	school?

kind: plan and fact
values: Kotlin | Ruby | Elixir | Scala
a: {x} is written in {v}. || What is {x} written in?
b: Somebody suggested that we rewrite {x} in {w} one day. || Which language was suggested for a rewrite of {x}?

kind: plan and fact
a: {p} drives a rusty old Skoda. || Which car does {p} drive?
b: {p} is saving up for a camper van. || What is {p} saving up for?

kind: plan and fact
a: {p} works at the pharmacy by the church. || Where does {p} work?
b: {p} has applied for a position at the hospital. || Where has {p} applied?

kind: plan and fact
a: {x} is hosted on two machines in the basement. || Where is {x} hosted?
b: There's a plan on paper to put {x} into the cloud by 2030. || What is the plan for {x} by 2030?

kind: plan and fact
a: The attic is full of boxes. || What is in the attic?
b: We'd like to turn the attic into a study some day. || What would we like to make of the attic?

kind: tales of the past
a: {p} is a vegetarian. || Does {p} eat meat?
b: As a kid {p} ate liver sausage every single day. || What did {p} eat every day as a kid?

kind: tales of the past
a: {p} plays the oboe in the town orchestra. || What does {p} play in the town orchestra?
b: Back in the nineties {p} played bass in a punk band. || What did {p} play in the nineties?

kind: tales of the past
a: {p} works nights at the bakery. || What is {p}'s job?
b: After school {p} worked as a lifeguard on Texel for a summer. || What did {p} do the summer after school?

kind: tales of the past
a: {p} is married to a dentist. || Who is {p} married to?
b: At eighteen {p} went out with a drummer from Bristol. || Who did {p} go out with at eighteen?

kind: tales of the past
a: In its first year {x} had four users. || How many users did {x} have in its first year?
b: Some nine thousand people use {x}. || How many users does {x} have?

kind: tales of the past
a: {p}'s grandparents lived in a lighthouse. || Where did {p}'s grandparents live?
b: {p}'s parents live above a pub. || Where do {p}'s parents live?

kind: opinions
a: {p} says the new desk chairs are really comfy. || What does {p} say about the desk chairs?
b: {q} thinks the new desk chairs are murder on the back. || What does {q} think of the desk chairs?

kind: opinions
a: {p} finds {x} far too slow. || What does {p} think of the speed of {x}?
b: {q} finds {x} fast enough these days. || What does {q} think of the speed of {x}?

kind: opinions
a: {p} thinks we should drop the parish newsletter. || What would {p} do with the parish newsletter?
b: {q} wants the parish newsletter to come out twice as often. || What would {q} do with the parish newsletter?

kind: opinions
a: To {p}'s mind the best pizza in town is at Luigi's. || Where is the best pizza in town, according to {p}?
b: {q} now swears by the pizza at the harbour. || Which pizza does {q} swear by?

kind: opinions
a: According to the brochure, the tent sleeps four. || How many people fit into the tent according to the brochure?
b: {p} says that even two people barely fit into the tent. || What does {p} say about the room in the tent?

kind: two projects
values: Gradle | Bazel | Maven | Meson
a: Project Walnut is built with {v}. || What is project Walnut built with?
b: Project Chestnut switched to {w} for its builds. || What is project Chestnut built with?

kind: two projects
a: {p} runs project Heather. || Who runs project Heather?
b: {q} has taken over project Bracken. || Who runs project Bracken?

kind: two projects
values: May 4 | June 22 | September 14 | October 5
a: Work on the kitchen starts on {v}. || When does the work on the kitchen start?
b: Work on the bathroom has been pushed back to {w}. || When does the work on the bathroom start?

kind: two projects
values: 12,000 euros | 18,000 euros | 30,000 euros | 45,000 euros
a: The playground may cost {v}. || How much money is there for the playground?
b: The money for the skate park was raised to {w}. || How much money is there for the skate park?

kind: two projects
a: In project Lichen everybody commits straight to main. || How do changes get into main in project Lichen?
b: In project Moss we've moved to pull requests with one review. || How do changes get into main in project Moss?

kind: two devices
values: Fedora | Windows 11 | Debian | Mint
a: {p}'s laptop runs {v}. || Which operating system is on {p}'s laptop?
b: {p}'s desktop at home now runs {w}. || Which operating system is on {p}'s desktop?

kind: two devices
values: 57 mm | 62 mm | 80 mm | 102 mm
a: The label printer takes {v} rolls. || Which rolls go into the label printer?
b: The receipt printer takes {w} rolls. || Which rolls go into the receipt printer?

kind: two devices
a: My watch charges overnight. || When does my watch charge?
b: My headphones now get charged on Sundays only. || When do my headphones get charged?

kind: two devices
a: The old scanner only works with Windows. || What does the old scanner work with?
b: The new scanner works with anything that has USB. || What does the new scanner work with?

kind: two devices
a: IT swapped {p}'s work laptop for a Lenovo. || What is {p}'s work laptop?
b: {p}'s own laptop is a MacBook from 2019. || What is {p}'s own laptop?

kind: two devices
a: The dehumidifier in the cellar is set to 50 percent. || What is the dehumidifier in the cellar set to?
b: I've turned the dehumidifier in the laundry room down to 40 percent. || What is the dehumidifier in the laundry
	room set to?

kind: same kind of value
values: Tartu | Leiden | Padua | Malaga
a: {p} was born in {v}. || Where was {p} born?
b: {p} has moved to {w}. || Where does {p} live?

kind: same kind of value
values: orange | purple | grey | turquoise
a: {p}'s favourite colour is {v}. || What is {p}'s favourite colour?
b: {p}'s bike is {w} now. || What colour is {p}'s bike?

kind: same kind of value
values: 2 MB | 5 MB | 10 MB | 16 MB
a: {x} takes requests of up to {v}. || How large may a request to {x} be?
b: The responses of {x} may now be up to {w}. || How large may a response of {x} be?

kind: same kind of value
values: 7 days | 14 days | 60 days | 90 days
a: {x} keeps its logs for {v}. || How long are the logs of {x} kept?
b: The backups of {x} are now kept for {w}. || How long are the backups of {x} kept?

kind: same kind of value
a: {p} trained as an electrician. || What did {p} train as?
b: {p} runs a bookshop now. || What does {p} run?

kind: same kind of value
values: Nestle | Unilever | Shell | Danone
a: {p} owns shares of {v}. || Which shares does {p} own?
b: {p} has started working for {w}. || Which company does {p} work for?

kind: same kind of value
values: February 3 | March 19 | August 8 | December 1
a: The first release of {x} is set for {v}. || When is the first release of {x}?
b: The security audit of {x} was moved to {w}. || When is the security audit of {x}?

kind: same kind of value
values: the second floor | the fourth floor | the sixth floor | the ground floor
a: {p} lives on {v}, with a view of the park. || On which floor does {p} live?
b: {p}'s desk was moved to {w}. || On which floor is {p}'s desk?

kind: also
a: {p} goes swimming on Tuesdays. || What does {p} do on Tuesdays?
b: {p} also goes swimming on Saturdays, with {q}. || With whom does {p} swim on Saturdays?

kind: also
a: {x} rings the duty phone when something breaks. || Which phone does {x} ring when something breaks?
b: {x} also writes to a channel now when something breaks. || Where does {x} write when something breaks?

kind: also
a: {p} sings in the gospel choir. || In which choir does {p} sing?
b: On top of that, {p} has started singing with a jazz trio. || With what kind of trio does {p} sing?

kind: also
a: {p} has an allotment by the railway. || What does {p} have by the railway?
b: {p} has taken on a second allotment, up on the hill. || What does {p} have on the hill?

kind: also
a: {p} buys bread at Kempf's. || Where does {p} buy bread?
b: {p} buys cake at the petrol station, believe it or not. || Where does {p} buy cake?

kind: examples
a: {x} takes at most 500 rows in one upload. || How many rows does {x} take in one upload?
b: For instance, {x} took the 120 rows of the Basel branch in one go. || How many rows did the Basel branch upload
	to {x}?

kind: examples
a: {p} collects odd teapots. || What does {p} collect?
b: One of {p}'s teapots, for example, has the shape of a tram. || What shape has one of {p}'s teapots?

kind: examples
a: {p} answers most mails within a day. || How soon does {p} answer mails as a rule?
b: The mail from the landlord, for one, took {p} three weeks to answer. || How long did {p} need to answer the
	landlord's mail?

kind: examples
a: The names of our tables are plurals. || How do we name our tables?
b: A good example of a table name would be shipments. || What is a good example of a table name?

kind: what if
a: {p} drives a diesel van. || What does {p} drive?
b: If {p} won the lottery, there'd be a Porsche in the drive by morning. || What would {p} buy with a lottery win?

kind: what if
a: {p} is at home with the baby. || Where is {p} these months?
b: Had the offer come earlier, {p} would be working in Singapore now. || Where would {p} work if the offer had come
	earlier?

kind: what if
a: {p} pays 780 euros in rent. || How much rent does {p} pay?
b: {p} would pay 1100 euros for a place with a garden. || What would a place with a garden be worth to {p}?

kind: what if
a: {x} copes with 900 requests a minute. || How many requests a minute does {x} cope with?
b: With a second core {x} would cope with 1700 requests a minute. || How many requests a minute would {x} cope with
	if there were a second core?

kind: what if
a: {p}'s wedding is in the barn. || Where does {p} get married?
b: Should there be a storm, {p}'s wedding would move to the church hall. || Where would {p}'s wedding be in a storm?

kind: two owners
values: Mimi | Pepper | Socks | Tiger
a: {p}'s cat is called {v}. || What is {p}'s cat called?
b: {q}'s cat goes by {w} now. || What is {q}'s cat called?

kind: two owners
values: Lake Balaton | Lake Garda | the Baltic | the Moselle
a: {p}'s caravan is parked at {v}. || Where is {p}'s caravan?
b: {q}'s caravan was moved to {w}. || Where is {q}'s caravan?

kind: two owners
a: {p}'s birthday party is at the bowling alley. || Where is {p}'s birthday party?
b: {q}'s birthday party has been moved to the boathouse. || Where is {q}'s birthday party?

kind: two owners
a: {p} uses Bitwarden for passwords. || What does {p} use for passwords?
b: {q} switched to KeePass for passwords. || What does {q} use for passwords?

kind: two owners
a: {p}'s piano was tuned in March. || When was {p}'s piano tuned?
b: {q}'s piano hasn't been tuned for years. || How long has {q}'s piano not been tuned?

kind: two owners
values: Helm | Ansible | Nomad | Pulumi
a: {x} is deployed with {v}. || What is {x} deployed with?
b: {y} no longer has a script of its own, it is deployed with {w} now. || What is {y} deployed with?

kind: two owners
values: the late shift | the early shift | the night shift | the weekend shift
a: {p} is on {v}. || Which shift is {p} on?
b: {q} has swapped to {w}. || Which shift is {q} on?

kind: changes of something else
values: ING | Santander | Revolut | Nordea
a: {p} banks with {v}. || Which bank is {p} with?
b: {p}'s tennis club switched its account to {w}. || Which bank is {p}'s tennis club with?

kind: changes of something else
a: The eggs come from the Huber farm. || Where do the eggs come from?
b: The milk doesn't come from the Huber farm any more but from the corner shop. || Where does the milk come from?

kind: changes of something else
a: {p} moved the sofa to the window. || Where did {p} put the sofa?
b: {p} moved to Nantes in June. || Which city did {p} move to?

kind: changes of something else
a: {p} switched off the heating in the shed. || What did {p} switch off?
b: {p} switched to oat milk. || Which milk does {p} take?

kind: changes of something else
a: {p} left the keys at the swimming baths. || What did {p} leave at the swimming baths?
b: {p} left the brass band in the autumn. || Which band is {p} no longer in?

kind: changes of something else
a: {p} now goes for a run before breakfast. || When does {p} go for a run?
b: {p} now reads the news after breakfast. || When does {p} read the news?

kind: changes of something else
a: {x} keeps its secrets in Vault. || Where does {x} keep its secrets?
b: The documentation of {x} has moved to the wiki. || Where is the documentation of {x}?

kind: changes of something else
a: The room at the end of the corridor is called Baikal. || What is the room at the end of the corridor called?
b: The room by the stairs was renamed to Titicaca. || What is the room by the stairs called?

kind: changes of something else
a: {p} started at a law firm in May. || Where did {p} start in May?
b: {p} started on the third volume of the saga in May. || Which volume of the saga did {p} start on?

kind: changes of something else
a: The bike shed has a new lock with a code. || How is the bike shed locked?
b: The cellar door still has its old lock, with the brass key. || How is the cellar door locked?

kind: changes of something else
a: {p} gave up sugar for Lent. || What did {p} give up for Lent?
b: {p} gave up on the crossword after an hour. || How long did {p} try to solve the crossword?

kind: history of something else
a: {p}'s climbing hall is open until midnight. || How late is {p}'s climbing hall open?
b: The car park beside {p}'s climbing hall used to close at eight. || When did the car park beside {p}'s climbing hall
	close in the old days?

kind: history of something else
a: {x} runs on Linux. || What does {x} run on?
b: The predecessor of {x} used to run on a mainframe. || What did the predecessor of {x} run on?

kind: history of something else
a: {p}'s flat is above a florist. || What is {p}'s flat above?
b: The house opposite {p}'s flat used to be a butcher's. || What was opposite {p}'s flat in the old days?

kind: history of something else
a: {p}'s manager works from Hamburg. || Where does {p}'s manager work?
b: The last manager that {p} had used to commute from Bremen. || Where did {p}'s last manager commute from?

kind: history of something else
a: {p} teaches at the grammar school. || Where does {p} teach?
b: The grammar school used to be a monastery before the war. || What was the grammar school before the war?

kind: history of something else
a: The canteen at the new site does pizza on Fridays. || What is there on Fridays in the canteen at the new site?
b: Friday used to be fish day in the canteen at the old site. || What was there on Fridays in the canteen at the old
	site?

kind: two parts
values: 3.5 bar | 4 bar | 4.5 bar | 6 bar
a: The front tyre of {p}'s bike needs {v}. || What pressure does the front tyre of {p}'s bike need?
b: The rear tyre of {p}'s bike is at {w} now. || What pressure is the rear tyre of {p}'s bike at?

kind: two parts
values: TypeScript | Clojure | PHP | Haskell
a: The frontend of {x} is written in {v}. || What is the frontend of {x} written in?
b: The backend of {x} has moved to {w}. || What is the backend of {x} written in?

kind: two parts
a: {p}'s left ear has got worse. || How is {p}'s left ear?
b: {p}'s right ear is as good as ever. || How is {p}'s right ear?

kind: two duties
a: {p} writes the release notes of {x}. || Who writes the release notes of {x}?
b: {q} has taken over the load tests of {x}. || Who does the load tests of {x}?

kind: two duties
a: {p} waters the plants in the hall. || Who waters the plants in the hall?
b: From now on {q} waters the plants on the roof. || Who waters the plants on the roof?

kind: two duties
a: The first person to call about {x} is {p}. || Who do I call first about {x}?
b: The second person to call about {x} is now {q}. || Who do I call about {x} if the first one doesn't answer?

kind: yes here and no there
a: {p} isn't coming to the barbecue. || Is {p} coming to the barbecue?
b: {p} is coming to the quiz night. || Is {p} coming to the quiz night?

kind: yes here and no there
a: {p} can't stand olives. || Does {p} like olives?
b: {p} has come round to capers. || Does {p} like capers?

kind: yes here and no there
a: {x} has no dark mode. || Does {x} have a dark mode?
b: {x} now has a high contrast mode. || Does {x} have a high contrast mode?

kind: groups of people
a: Customers in Norway pay by invoice. || How do customers in Norway pay?
b: Customers in Spain can now pay by card. || How do customers in Spain pay?

kind: groups of people
values: 4 euros | 6 euros | 7 euros | 9 euros
a: Students pay {v} for the castle. || What does the castle cost for students?
b: For pensioners the castle now costs {w}. || What does the castle cost for pensioners?

kind: groups of people
a: New colleagues get a mentor for six months. || What do new colleagues get?
b: Interns now get a mentor for two weeks. || How long do interns have a mentor?

kind: occasions
a: Dinner on Tuesday is at {p}'s. || Who has us over for dinner on Tuesday?
b: Dinner on Friday was moved to {q}'s. || Who has us over for dinner on Friday?

kind: occasions
a: The March issue has a heron on the cover. || What is on the cover of the March issue?
b: The April issue has a fox on the cover. || What is on the cover of the April issue?

kind: occasions
a: Last year the bowling club went to Crete. || Where did the bowling club go last year?
b: This year the bowling club is going to Corsica. || Where does the bowling club go this year?
`
