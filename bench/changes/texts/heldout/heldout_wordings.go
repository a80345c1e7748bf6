package heldout

// Wordings changes the attributes of the development half in wordings that no rule was written for. Old statements and
// questions may be reworded, too.
const Wordings = `
attribute: city
old: Home for {me} is {old}.
ask: What town {do} {I} call home?
ended_up: {I} ended up in {new} because of the job, that's home.
swapped: {I} swapped {old} for {new}, smaller flat, better air.
since: {I}'ve been in {new} since the first of the month.
settled_on: After a year of looking around {I} settled down in {new}.
relocated: The company relocated {me} to {new}.
used_to: {I} used to live in {old}. Home is {new}.
scratch_that: Scratch that about {old}. {I} live{s} in {new}.
goodbye: Goodbye {old}, hello {new}: that's where {I} live{s}.

attribute: employer
old: {I} earn{s} {my} money at {old}.
ask: Who is {my} employer?
ended_up: {I} ended up at {new}, same kind of job as before.
ditched: {I} ditched {old}. {new} pays better, so that's where {I} work{s}.
quit: {I} quit {old} and signed with {new}.
poached: {new} poached {me} from {old}.
handed_in: {I} handed in {my} notice at {old} and work{s} for {new}.
new_is: {My} new employer is {new}.
history: {old} is history. {I} work{s} for {new}.
since: {I}'ve been working for {new} since Easter.

attribute: role
old: On {my} business card it says {old}.
ask: What position {do} {I} have?
promoted: {I} got promoted from {old} to {new}.
ended_up: After all the shuffling {I} ended up as a {new}.
swapped: {I} swapped the {old} desk for that of a {new}.
used_to: {I} used to be a {old}; {my} job is {new}.
effective: Effective Monday {my} job title is {new}.
forget_that: Forget the {old} thing, {my} job is {new}.

attribute: diet
old: When it comes to food {I}'m {old}.
ask: Which foods {do} {I} eat, is there a special diet?
went_with: The dietitian suggested a few and {I} went with {new}.
ditched: {I} ditched the {old} diet, {I} eat{s} {new}.
over_to: {I}'ve gone over to a {new} diet.
ended_up: {I} ended up going {new}.
since: {I}'ve been on a {new} diet since the blood test.
off: {I}'m off the {old} diet and on a {new} one.
swore_off: {I} drink{s} a glass of wine with dinner. || {I} swore off alcohol in spring. || {Do} {I} drink wine?
quit: {I} put{s} sugar in everything. || {I} quit sugar, not a gram since January. || {Do} {I} take sugar?

attribute: pet
old: The dog at {my} place answers to {old}.
ask: What name does {my} dog have?
goes_by: {My} dog goes by {new}.
renamed: {I} renamed {my} dog from {old} to {new}.
scratch_that: Scratch that, {my} dog's name is {new}.
went_with: For {my} dog {I} went with the name {new} in the end.
settled_on: {I} settled on {new} as the name of {my} dog.
misspoke: {I} misspoke, {my} dog is called {new}.

attribute: phone
old: To call {me}, dial {old}.
ask: Under which number can {I} be reached?
is_gone: {old} is gone, use {new} to call {me}.
swapped: {I} swapped SIM cards, {my} phone number is {new}.
new_is: {My} new phone number is {new}.
dead: The number {old} is dead. Reach {me} at {new}.
typo: There was a typo in {my} phone number, it is {new}.
effective: Effective tomorrow {my} phone number is {new}.
forget_that: Forget {old}; {my} phone number is {new}.

attribute: drink
old: Nothing beats {old} if you ask {me}.
ask: What {do} {I} like to drink best?
ditched: {I} ditched {old}; {my} favourite drink is {new}.
fed_up: {I} had enough of {old}. {My} favourite drink is {new}.
converted: {I}'ve been converted to {new}, it's {my} favourite drink.
over_to: {I} went over to {new} as {my} favourite drink.
out_in: {old} is out. {My} favourite drink: {new}.
used_to: {old} used to be {my} favourite drink, that would be {new}.

attribute: partner
old: {I}'m in a relationship with {old}.
ask: What is the name of {my} partner?
broke_up: {I} broke up with {old} and {am} seeing {new}.
ended_up: {I} ended up with {new}, and {I}'m happy.
since: {I}'ve been together with {new} since New Year.
dumped: {I} dumped {old}. {My} partner is {new}.
new_is: {My} new partner is {new}.
history: {old} is history, {my} partner is {new}.

attribute: allergy
old: The allergy {I} {have} is to {old}.
ask: What food triggers {my} allergy?
scratch_that: Scratch {old}, {my} allergy is to {new}.
misspoke: {I} misspoke, {I}'m allergic to {new}.
test: The test came back: {my} allergy is to {new}, the {old} were harmless.
cleared: {I}'m allergic to strawberries. || The clinic has cleared {me} of the strawberry allergy.
	|| {Am} {I} allergic to strawberries?
outgrew: {I}'m allergic to milk. || {I} outgrew the milk allergy. || {Am} {I} allergic to milk?

attribute: hobby
old: In {my} free time it's all about {old}.
ask: How {do} {I} spend {my} free time?
took_up: {I} took up {new}, so {old} is over as a hobby.
ditched: {I} ditched {old} for {new}.
dropped: {I} dropped {old} in favour of {new} as a hobby.
swapped: {I} swapped {old} for {new} in {my} free time.
traded_in: {I} traded {old} in for {new}.
over_to: {I}'m over to {new} in {my} free time.
fed_up: {I} had enough of {old}; {my} hobby is {new}.
quit: {I} chew{s} {my} nails when nervous. || {I} kicked the nail-biting habit. || {Do} {I} bite {my} nails?

attribute: car
old: There is a {old} in {my} garage.
ask: What {do} {I} drive?
traded_in: {I} traded in the {old} for a {new}.
sold: {I} sold the {old} and bought a {new}.
swapped: {I} swapped the {old} for a {new}.
scrapped: The {old} was scrapped, {my} car is a {new}.
new_is: {My} new car is a {new}.
went_with: {I} test-drove a few cars and went with a {new}.
got_rid: {I} got rid of the {old}, {my} car is a {new}.
ended_up: {I} ended up buying a {new} as {my} car.

attribute: gym
old: {I} lift{s} weights at {old}.
ask: What is the name of {my} gym?
ditched: {I} ditched {old} for {new}.
dropped: {I} dropped {my} gym {old} for {new}.
settled_on: {I} tried a few and settled on {new} as {my} gym.
quit: {I} quit {old}; {my} gym is {new}.
bailed: {I} bailed on {old} and signed up at {new}.
went_with: {I} went with {new} as {my} gym.
closed_down: {old} closed down, so {my} gym is {new}.

attribute: school
old: {My} daughter's school is {old}.
ask: What is the name of {my} daughter's school?
ended_up: {My} daughter ended up at {new}.
transferred: {My} daughter was transferred from {old} to {new}.
enrolled: {I} took {my} daughter out of {old} and enrolled her at {new}.
went_with: For {my} daughter's school {I} went with {new}.
pulled: {I} pulled {my} daughter out of {old}; she goes to {new}.
decided_against: {I} decided against {old}; {my} daughter's school is {new}.
since: {My} daughter has been at {new} since the autumn term.

attribute: commute
old: The way to work {I} manage{s} {old}.
ask: By what means {do} {I} go to work?
ditched: {I} ditched going to work {old}, {I} go{es} {new}.
swapped: {I} swapped going to work {old} for going {new}.
ended_up: {I} ended up commuting {new}.
since: {I}'ve been commuting {new} since the fares went up.
fed_up: {I} had enough of going {old}. {I} commute{s} {new}.
starting: Starting next week {I} go{es} to work {new}.
over_to: {I}'ve gone over to commuting {new}.

attribute: language
old: The evening class {I} attend{s} is in {old}.
ask: In which language {do} {I} take classes?
dropped: {I} dropped {old} and signed up for {new}.
took_up: {I} took up {new} after quitting {old}.
ditched: {I} ditched {old} for {new}.
swapped: {I} swapped {my} {old} class for {new}.
ended_up: The class was full, {I} ended up learning {new}.
went_with: Between the two {I} went with {new} as the language to learn.
quit: {I} quit {old}; the language {I}'m learning is {new}.

attribute: standup
old: The daily standup for {me} begins at {old}.
ask: At what time is {my} daily standup?
slipped+: {My} standup slipped to {new} and it stays there.
brought_forward-: {My} standup has been brought forward to {new}.
bumped+: {My} standup got bumped from {old} to {new}.
make_that: {My} standup at {old}, make that {new}.
starting: Starting Monday {my} standup is at {new}.
heads_up: Heads-up: {my} standup is at {new} from tomorrow.
effective: Effective next week {my} standup starts at {new}.
pushed+: {My} standup has been pushed to {new}.
scrapped: Every Friday {my} demo is at noon. || {My} Friday demo was scrapped.
	|| {Do} {I} still have a demo on Fridays?

attribute: on_call
old: The pager of {my} services is with {old}.
ask: Who carries the pager for {my} services?
handed_over: {old} handed over on-call for {my} services to {new}.
swapped: {old} swapped on-call with {new}, so {new} is on call for {my} services.
stepped_in: {new} stepped in for {old} as {my} on-call engineer.
passed_to: The pager of {my} services has passed to {new}.
out_in: On call for {my} services: {old} is out, {new} is in.
starting: Starting tonight {new} is on call for {my} services.
relieved: {new} relieved {old} of on-call duty for {my} services.

attribute: launch
old: {My} go-live date is {old}; that is the launch.
ask: On which day is {my} launch?
slipped+: {My} launch slipped to {new}.
slipped+: {My} launch has slipped from {old} to {new}.
brought_forward-: {My} launch was brought forward to {new}.
bumped+: {My} launch got bumped to {new}.
pushed+: {My} launch is pushed back to {new}.
pulled_in-: {My} launch was pulled in to {new}.
rescheduled: {My} launch has been rescheduled for {new}.
settled_on: The board settled on {new} for {my} launch.
scratch_that: Scratch {old}, {my} launch is on {new}.

attribute: sprint
old: One of {my} sprints takes {old}.
ask: What is the length of {my} sprints?
settled_on: {I} settled on {new} for {my} sprints.
went_with: {I} went with sprints of {new}.
shortened-: {My} sprints were shortened to {new}.
stretched+: {My} sprints were stretched to {new}.
since: {My} sprints have lasted {new} since the retro.
used_to: {My} sprints used to last {old}; they last {new}.

attribute: room
old: {My} weekly meeting is held in {old}.
ask: In what room is {my} weekly meeting held?
swapped: {My} weekly meeting swapped rooms: it's in {new}.
relocated: {My} weekly meeting was relocated to {new}.
bumped: {My} weekly meeting got bumped to room {new}.
ended_up: {My} weekly meeting ended up in {new}.
heads_up: Heads-up: {my} weekly meeting is in {new}.
starting: Starting this week {my} weekly meeting is in {new}.
over_to: {My} weekly meeting has gone over to room {new}.

attribute: budget
old: This year {my} budget comes to {old}.
ask: What is {my} budget for the year?
raised+: {My} budget for this year was raised to {new}.
bumped+: {My} budget for this year got bumped to {new}.
slashed-: {My} budget for this year was slashed to {new}.
trimmed-: They trimmed {my} budget for this year to {new}.
settled_on: Finance settled on {new} as {my} budget for this year.
revised: {My} budget for this year was revised to {new}.
misspoke: I misspoke, {my} budget for this year is {new}.

attribute: manager
old: The manager in charge of {me} is {old}.
ask: Whose job is it to manage {me}?
handed_over: {old} handed the management of {me} over to {new}.
stepped_down: {old} stepped down, {my} manager is {new}.
succeeded: {new} succeeded {old} as {my} manager.
out_in: {old} is out and {new} is in as {my} manager.
new_is: {My} new manager is {new}.
passed_to: The job of {my} manager has passed to {new}.
moved_on: {old} has moved on to another department, {my} manager is {new}.

attribute: tracker
old: All of {my} tickets are kept in {old}.
ask: In which tool are {my} tickets?
ditched: {I} ditched {old} for {new}, tickets and all.
dropped: {I} dropped {old} in favour of {new} for {my} tickets.
is_gone: {old} is gone, use {new} for {my} tickets.
went_with: {I} went with {new} for {my} tickets.
since: {My} tickets have been in {new} since the trial ended.
over_to: {My} tickets have gone over to {new}.
retired: {old} has been retired, {my} tickets are in {new}.
phased_out: {old} was phased out; {my} tickets are in {new}.

attribute: chat
old: For chat the tool of choice for {me} is {old}.
ask: In which tool {do} {I} chat?
ditched: {I} ditched {old} for {new}.
dropped: {I} dropped {old} in favour of {new} for chat.
is_gone: {old} is gone, {my} chat tool is {new}.
since: {My} chat has been on {new} since last week.
out_in: {My} chat tool: {old} is out, {new} is in.
went_with: For chat {I} went with {new}.
over_to: {My} chat has gone over to {new}.

attribute: database
old: Behind {me} there is {old} as the database.
ask: What database is behind {me}?
ditched: We ditched {old}; {my} database is {new}.
dropped: {I} dropped {old} in favour of {new}.
ported: {My} data layer was ported from {old} to {new}.
settled_on: For {my} database we settled on {new}.
went_with: For {my} database we went with {new}.
is_gone: {old} is gone from {me}, the database is {new}.
since: {My} database has been {new} since the migration weekend.
rolled_back: We rolled {my} database back to {new}.

attribute: version
old: Version {old} of {me} is live.
ask: What version of {me} is live?
bumped+: We bumped {me} to {new}.
bumped+: {My} version was bumped from {old} to {new}.
rolled_back-: We rolled {me} back to version {new}.
downgraded-: {I} {was} downgraded from {old} to {new}.
since: {My} version has been {new} since Sunday.
rolled_out+: We rolled out version {new} of {me} everywhere.
effective: Effective today {my} version is {new}.
reverted-: {I} {was} reverted to version {new}.

attribute: port
old: Requests for {me} go to port {old}.
ask: On which port can {I} be reached?
swapped: We swapped {my} port {old} for {new}.
is_gone: Port {old} is gone, use {new} for {me}.
reassigned: {My} port was reassigned to {new}.
settled_on: For {my} port we settled on {new}.
scratch_that: Scratch {old}, {my} port is {new}.
ended_up: {I} ended up on port {new}.
make_that: {My} port is {old}... make that {new}.

attribute: ci
old: The pipelines of {me} run on {old}.
ask: On what do {my} pipelines run?
ditched: We ditched {old} and build {me} with {new}.
dropped: We dropped {old} in favour of {new} for {my} CI.
ported: {My} pipelines were ported from {old} to {new}.
is_gone: {old} is gone, {my} CI runs on {new}.
settled_on: We settled on {new} for {my} CI.
since: {My} CI has been on {new} since June.
retired: {old} is retired; {my} CI runs on {new}.

attribute: region
old: {My} servers are in {old}.
ask: In what region are {my} servers?
relocated: We relocated {my} servers from {old} to {new}.
ended_up: {My} servers ended up in {new}.
failed_over: {I} failed over to {new} and stay{s} there.
settled_on: For {my} servers we settled on {new}.
over_to: {I} went over to {new}, that's the region.
shifted: {My} servers were shifted to {new}.

attribute: branch_policy
old: In the repository of {me} the branch policy says {old}.
ask: What does the branch policy of {me} say?
dropped: {I} dropped {old} in favour of {new}: that's the branch policy.
settled_on: The maintainers of {me} settled on {new} as branch policy.
went_with: For {me} we went with {new} as branch policy.
out_in: {My} branch policy: {old} out, {new} in.
effective: Effective today {my} branch policy is {new}.

attribute: rate_limit
old: {My} clients may send {old}.
ask: How many requests may {my} clients send per second?
raised+: {My} rate limit was raised to {new}.
bumped+: Bumped {my} rate limit from {old} to {new}.
lowered-: {My} rate limit was lowered to {new}.
halved-: {My} rate limit was reduced to {new}.
effective: Effective Monday {my} rate limit is {new}.
settled_on: We settled on a rate limit of {new} for {me}.

attribute: message_bus
old: Events of {me} travel over {old}.
ask: Over what do events of {me} travel?
ditched: We ditched {old}; {my} message bus is {new}.
dropped: {I} dropped {old} in favour of {new} as message bus.
swapped: We swapped {old} for {new} as {my} message bus.
ported: {My} events were ported from {old} to {new}.
is_gone: {old} is gone, {my} message bus is {new}.
went_with: For {my} events we went with {new}.
since: {My} events have been on {new} since the spring.

attribute: repository
old: The source of {me} sits on {old}.
ask: On which site is the source of {me}?
relocated: {My} code was relocated to {new}.
ended_up: {My} code ended up on {new}.
over_to: We brought {my} code over to {new}.
dropped: We dropped {old} for {new} as the home of {my} code.
retired: {old} is retired, {my} code is on {new}.
since: {My} code has been on {new} since the takeover.
mirrored: {My} code is gone from {old}, it's on {new}.

attribute: flag
old: Dark mode is {old} by flag in {me}.
ask: What is the dark mode flag in {me} set to?
flipped: We flipped the dark mode flag in {me}, it is {new}.
rolled_back: The dark mode flag was rolled back to {new} in {me}.
set_to: The dark mode flag was set to {new} in {me} this morning.
effective: Effective now the dark mode flag is {new} in {me}.
heads_up: Heads-up: the dark mode flag is {new} in {me}.

attribute: retention
old: Logs of {me} are deleted after {old}.
ask: After how long are the logs of {me} deleted?
raised+: {My} log retention was raised to {new}.
bumped+: We bumped {my} log retention to {new}.
lowered-: Legal had {my} log retention lowered to {new}.
shortened-: {My} log retention was shortened from {old} to {new}.
extended+: {My} log retention was extended to {new}.
effective: Effective this quarter {my} log retention is {new}.
settled_on: We settled on {new} as {my} log retention.
`

// Corrections are held-out wordings that say that the old statement was never true.
var Corrections = map[string]bool{"scratch_that": true, "make_that": true, "typo": true, "misspoke": true,
	"forget_that": true, "test": true}
