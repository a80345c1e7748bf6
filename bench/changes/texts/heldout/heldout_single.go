package heldout

// Single has changes that are stated once, by people who write as they talk.
const Single = `
attribute: single_home
for: any
clashes: The company picnic is on the fourteenth.
	|| The picnic clashes with the marathon, so we'll do it on the twenty-first. || What's the date of the picnic?
	|| When was the picnic going to be at first?
cracked: We serve the stew in the big white tureen.
	|| The white tureen cracked; the stew goes into the copper pot. || What do we serve the stew in?
	|| What did we serve the stew in before?
gave_away: There are four bikes in our shed.
	|| We gave one of the bikes in the shed to the refugee centre, so three are left.
	|| How many bikes are in our shed? || How many bikes were in our shed before?
grew_out: Size 28 is what I buy for Ben's shoes. || Ben has grown out of size 28, I get him 30.
	|| Which shoe size does Ben wear? || Which shoe size did Ben wear before?
thrown_out: My winter coat is the green loden.
	|| The moths got the loden, so it's the black parka that I wear in winter. || What coat do I wear in winter?
	|| Which winter coat did I have before the parka?
repainted: The front door is dark red. || Spent the weekend repainting the front door, it's a lovely petrol blue.
	|| What colour is the front door? || What colour was the front door before?
sold: Grandma's cottage belongs to us. || We sold Grandma's cottage to a couple from Bremen.
	|| Who owns Grandma's cottage? || Who owned Grandma's cottage before the couple from Bremen?
switched: I take sugar in my coffee, two lumps. || Two lumps was too much, I've switched to honey in my coffee.
	|| How do I sweeten my coffee? || How did I sweeten my coffee before?
quit: Tuesday night is choir night for me. || I quit the choir. || Do I still sing in the choir?
swapped: My seat at the opera is in row 12.
	|| The woman in front wore a hat, so they swapped my opera seat for one in row 3.
	|| In which row is my seat at the opera? || In which row was my opera seat originally?
got_rid: We still have a landline. || Got rid of the landline, nobody ever rang but salesmen.
	|| Do we have a landline?
moved_in: Aunt Gerda lives by herself. || Aunt Gerda has moved in with her son. || Who does Aunt Gerda live with?
passed: My nephew hasn't got his driving licence. || My nephew passed his driving test on Thursday!
	|| Can my nephew drive?
healed: My wrist is in plaster. || The plaster came off my wrist this morning. || Is my wrist in plaster?
born: My cousin is expecting a baby. || My cousin's baby is here, a girl named Ottilie. || Has my cousin had her baby?
retired: My mother teaches at the primary school. || My mother retired from teaching in July.
	|| Is my mother still a teacher?
turned_down: I've applied for the allotment by the canal. || The allotment by the canal went to somebody else.
	|| Did I get the allotment by the canal?
fixed: The tap in the bathroom drips. || The plumber came by and the bathroom tap is tight.
	|| Does the bathroom tap drip?
found: I can't find my ring. || The ring turned up in the flour, of all places. || Where was my ring?
weaned: The baby wakes up three times a night. || The baby sleeps through.
	|| How often does the baby wake up at night? || How often did the baby wake up before?
booked_over: We stay at the Seeblick when we're at the lake.
	|| The Seeblick has become too posh; at the lake we stay at the campsite. || Where do we stay at the lake?
	|| Where did we stay at the lake before the campsite?
cheaper: The piano tuner takes 120 euros. || The piano tuner gives me a discount, it's 95 euros.
	|| What does the piano tuner take? || What did the piano tuner take before?
brought_forward: Dad's cataract surgery is on November 20.
	|| They had a gap and brought Dad's cataract surgery forward to November 6. || When is Dad's cataract surgery?
	|| When was Dad's cataract surgery to be originally?
slipped: The kitchen will be ready by the end of May. || The kitchen has slipped again: mid-July at the earliest.
	|| When will the kitchen be ready? || When was the kitchen to be ready at first?
called_off: Rosa and Tim are getting engaged at Easter. || Rosa and Tim have called it off.
	|| Are Rosa and Tim getting engaged?
overruled: The kids go to bed at eight. || Grandma overruled us, the kids go to bed at nine.
	|| When do the kids go to bed? || When did the kids go to bed before?
stopped: We water the lawn every evening. || Hosepipe ban: we've stopped watering the lawn. || Do we water the lawn?
no_longer: The number 7 bus stops outside our door.
	|| The number 7 bus no longer stops outside our door, only at the church. || Where does the number 7 bus stop?
	|| Where did the number 7 bus stop before?
restated: Our cat eats tuna. || Our cat eats chicken, and nothing else, the little madam.
	|| What does our cat eat? || What did our cat eat before?
changed: Choir practice is in the parish hall. || They changed the place for choir practice to the library.
	|| Where is choir practice? || Where was choir practice before the library?
turns_out: The mushroom in the garden is edible. || Turns out the mushroom in the garden is poisonous!
	|| Can we eat the mushroom in the garden?
not_but: Theo's godmother is Vera. || Theo's godmother isn't Vera but Irmgard. || Who is Theo's godmother?
after_all: We're not insuring the bikes. || We've insured the bikes after all. || Are the bikes insured?
cancelled: I'm having my hair cut on Thursday. || Hairdresser cancelled on me for Thursday.
	|| Am I having my hair cut on Thursday?

attribute: single_office
for: any
out_of_date: The visitor wifi is called lobby-guest. || Facilities have a new visitor wifi, it's called atrium.
	|| What is the visitor wifi called? || What was the visitor wifi called before?
reorganised: Complaints go to the back office in Mainz.
	|| Since the reorganisation complaints go to the desk in Kassel. || Where do complaints go?
	|| Where did complaints go before Kassel?
handed_over: The newsletter is written by Piotrek. || Piotrek handed the newsletter over to Anouk.
	|| Who writes the newsletter? || Who wrote the newsletter before Anouk?
stepped_in: Works council minutes are taken by Mr Seidel.
	|| With Mr Seidel on leave for good, Ms Kranz takes the works council minutes.
	|| Who takes the works council minutes? || Who took the works council minutes before Ms Kranz?
sunset: Holiday requests are on paper forms. || ~paper forms for holidays are history, use the portal
	|| How do I request holidays? || How were holidays requested before the portal?
raised: Parking at the office costs 30 euros a month. || They've put the office parking up to 45 euros a month.
	|| What does office parking cost? || What did office parking cost before?
rolled_back: The new logo is on the website. || ~logo rolled back, the old one is on the website again
	|| Which logo is on the website?
bumped: The quarterly review is first on the agenda.
	|| ~quarterly review got bumped to the last slot of the agenda || Where on the agenda is the quarterly review?
	|| Where on the agenda was the quarterly review at first?
banned: You can bring dogs to the office. || After the incident with the sausages dogs are banned from the office.
	|| May I bring my dog to the office?
allowed: No food in the lab. || The lab allows food at the two tables by the door.
	|| Is there anywhere I can eat in the lab?
merged: Marketing and sales are separate departments. || Marketing and sales have been merged.
	|| Are marketing and sales separate departments?
hired: We have no lawyer in the house. || Legal has got its first in-house lawyer, Dr Thiel.
	|| Do we have a lawyer in the house?
effective: The dress code is business formal. || Effective summer the dress code is business casual.
	|| What is the dress code? || What was the dress code before?
dropped: The town hall meeting ends with a question round. || ~they dropped the question round from the town hall
	|| Is there a question round at the town hall?
won: We are bidding for the Tromso contract. || We won Tromso!! || Who got the Tromso contract?
lost: The Kowalski account is ours. || Kowalski has gone to the competition. || Is Kowalski still our customer?
moved: The defibrillator hangs in the foyer. || The defibrillator has been moved to the canteen.
	|| Where is the defibrillator? || Where was the defibrillator before?
replaced: For translations we use a freelancer from Ghana.
	|| An agency in Dublin has replaced our freelancer for translations. || Who does our translations?
	|| Who did our translations before the agency?
cut: Onboarding takes five days. || HR cut onboarding down to three days. || How long does onboarding take?
	|| How long did onboarding take before?
as_of: Business cards are ordered through Lena. || As of this quarter you order business cards in the webshop.
	|| How do I order business cards? || How were business cards ordered before?
correction: There are 38 people signed up for the summer party.
	|| Small correction: 41 people signed up for the summer party. || How many people signed up for the summer party?
any_more: You need a token for the VPN.
	|| You don't need a token for the VPN any more, the laptop certificate does it. || What do I need for the VPN?
	|| What was needed for the VPN before?

attribute: single_code
for: any
renamed: The main class of the simulator is called Runner. || Renamed the simulator's main class to Engine.
	|| What is the main class of the simulator called? || What was the main class of the simulator called before?
reverted: Integer ids are used in the export format. || ~reverted the export format to string ids
	|| What kind of ids does the export format use? || What kind of ids did the export format have before?
ditched: Docs are generated with Doxygen. || We ditched Doxygen, docs come out of Sphinx.
	|| What are the docs generated with? || What were the docs generated with before Sphinx?
went_with: We lean towards gRPC for the plugin interface.
	|| After the spike we went with plain HTTP for the plugin interface. || What does the plugin interface use?
	|| What did we lean towards for the plugin interface at first?
deprecated: New endpoints go into version 1 of the interface.
	|| Version 1 is deprecated; new endpoints go into version 2 of the interface. || Where do new endpoints go?
	|| Where did new endpoints go before?
flipped: Verbose mode is on by default. || ~flipped the default: verbose mode is off || Is verbose mode on by default?
tightened: Passwords need eight characters. || Security tightened the rule, passwords need fourteen characters.
	|| How long must passwords be? || How long did passwords have to be before?
loosened: Commits must be signed. || ~commits needn't be signed, the maintainers loosened that
	|| Must commits be signed?
split: Billing and shipping share one repository. || Billing and shipping have been split into two repositories.
	|| Do billing and shipping share a repository?
unpinned: The lockfile pins numpy to 1.26. || Unpinned that, the lockfile has numpy at 2.1.
	|| Which numpy version is in the lockfile? || What was numpy pinned to before?
is_gone: Nightly builds are uploaded to the FTP server. || FTP is gone, nightly builds are uploaded to the bucket.
	|| Where are nightly builds uploaded? || Where were nightly builds uploaded before?
since: Errors are reported by mail. || Errors have been reported in the alert channel since the pager incident.
	|| How are errors reported? || How were errors reported before?
settled_on: Dates in the API are Unix seconds. || The guild settled on ISO strings for dates in the API.
	|| What format do dates in the API have? || What format did dates in the API have before?
no_longer: The parser accepts trailing commas. || The parser no longer accepts trailing commas.
	|| Does the parser accept trailing commas?
switched: Feature branches are cut from develop. || We switched to cutting feature branches from main.
	|| Where are feature branches cut from? || Where were feature branches cut from before?
migrated: Secrets are in environment files. || All secrets were migrated into the vault. || Where are the secrets?
	|| Where were the secrets before?
turns_out: The slow query is the one in the search page. || Turns out the slow query is in the login.
	|| Which query is slow?
postponed: The Python 2 removal is due in March. || The Python 2 removal is postponed until September.
	|| When is Python 2 removed? || When was the Python 2 removal due originally?
stopped: The bot comments on every pull request.
	|| The bot has stopped commenting on pull requests, people found it annoying.
	|| Does the bot comment on pull requests?
upgraded: The build machine has 16 cores. || They upgraded the build machine to 64 cores.
	|| How many cores does the build machine have? || How many cores did the build machine have before?
`
