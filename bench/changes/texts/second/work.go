package second

// Work holds more attributes of teams, projects, products and systems.
const Work = `
attribute: courier
for: team
values: DHL | UPS | FedEx | DPD | GLS | TNT | Chronopost | PostNord
old: {I} send{s} {my} parcels with {old}.
old: {old} collects {my} outgoing parcels.
old: Samples from {me} go out by {old}.
ask: Which courier picks up {my} shipments?
ask: Who delivers parcels for {me}?
ask: Which carrier takes a box that {I} need{s} to send to a customer?
before: Which carrier did {I} use before {new}?
before: Whose vans fetched {my} parcels previously?
signed: {I} signed a contract with {new}, so parcels go out with them and not with {old}.
now: {new} comes for {my} parcels now.
last_straw: One crushed box too many with {old}. From here on {new} carries {my} parcels.
please: Print {new} labels for everything {I} ship{s}, please. The {old} account is closed.
restated: {My} outgoing parcels go with {new}.
switched: For shipping {I} switched carriers, to {new}.
correction: Small correction about {my} parcels, it's {new} that collects them.
actually: It's actually {new} that does {my} shipping.
instead_of: Boxes from {me} leave with {new} instead of {old}.
tender: The tender for {my} shipping is over. {new} got it, {old} came second.
look_out: The {old} driver won't come by for {my} parcels again, look out for {new}.
stopped: Couriers fetch {my} parcels from the desks. || Couriers stopped coming up to {me}, parcels for them have to
	be at the front desk. || Where must {my} parcels be for the courier?

attribute: pentester
for: team
values: Cure53 | NCC Group | Bishop Fox | Securitum | Trail of Bits | Doyensec | Include Security
old: {My} penetration tests are done by {old}.
old: {I} pay{s} {old} to try and break into {my} systems.
ask: Who tests {my} systems for security holes?
ask: Which firm {do} {I} pay for penetration tests?
ask: Who runs {my} pen test?
before: Who did the pen tests for {me} before {new}?
before: Which company attacked {my} systems on purpose before?
replaced: {old} was replaced by {new} as {my} pen testers.
engaged: {I}'ve engaged {new} for the penetration tests, the framework agreement with {old} ran out in June.
rotation: {I} rotate{s} pen test firms, and after {old} it's the turn of {new} now.
conflict: {old} had a conflict of interest, so {new} does {my} security tests.
no_longer: {old} no longer does {my} pen tests. That's {new}.
expect: Expect {my} next pen test report from {new}. {old} isn't under contract any more.
restated: {new} is the company that pen-tests {my} systems.
turns_out: Turns out {my} pen tests are with {new}, {old} only wrote an offer.
not_but: {new}, not {old}, is the one that pen-tests {my} systems.
as_of: As of this year's round {my} penetration testing is in the hands of {new}.
insurer: The insurer didn't accept {old}, so {my} pen tests have to be done by {new}.
ellipsis: Pen tests of {my} stuff: {new} now.

attribute: meeting_notes
for: team
values: Notion | Confluence | OneNote | Google Docs | Coda | Obsidian | SharePoint | Dropbox Paper
old: {I} keep{s} {my} meeting notes in {old}.
old: Minutes of {my} meetings go into {old}.
ask: Where do I find the minutes of {my} meetings?
ask: In which tool {do} {I} take meeting notes?
ask: I missed the call yesterday and want to read up on it. Where are {my} notes?
before: Where did {my} minutes live before {new}?
before: Which tool held {my} meeting notes earlier?
migrated: {I} migrated the meeting notes to {new} over the weekend.
leave_alone: Whoever takes the minutes in {my} meetings, please write in {new} and leave {old} alone.
dead_link: The link to {my} minutes in {old} leads nowhere, they're all in {new}.
restated: Minutes of {my} meetings are in {new}.
read_only: {My} {old} space is read-only now. Meeting notes get written in {new}.
moved: {My} meeting notes moved out of {old}, look in {new}.
nobody_could: Nobody could ever find {my} minutes in {old}, so that's done in {new} now.
these_days: For minutes {I} use{s} {new} these days.
correction: Correction, {my} meeting notes aren't in {old}, they're in {new}.
trial: The trial went well: {I}'ll write the minutes in {new} for good.
after_all: {My} minutes are kept in {new} after all.
objected: {My} Thursday call is recorded on video. || Legal objected, and nobody records {my} Thursday call any more.
	|| Is there a recording of {my} Thursday call?

attribute: timesheets
for: team
values: Thursday evening | Friday noon | Friday at 16:00 | Monday morning | the 25th of the month
	| the last working day of the month | the 1st of the month
old: {My} timesheets are due by {old}.
old: {I} {have} to submit timesheets by {old}.
old: Payroll wants {my} hours by {old}.
ask: By when {do} {I} have to fill in timesheets?
ask: What's the deadline for {my} timesheets?
ask: When does payroll need {my} hours?
before: What was {my} timesheet deadline before?
before: By when were {my} hours due before it was {new}?
software: Payroll has other software, and with it comes another deadline for {my} timesheets: {new}.
from_to: {My} timesheet deadline went from {old} to {new}.
memo: Per the memo from Accounts, {my} hours have to be in by {new}.
never_worked: {old} never worked for the accountants. {My} timesheets are due by {new} now.
as_of: As of September {I} submit{s} timesheets by {new}.
reminder: Reminder, because half the people still think it's {old}: {my} timesheets are due by {new}.
restated: {I} {have} until {new} to log {my} hours.
actually: {My} timesheets are actually due by {new}.
not_but: The cut-off for {my} timesheets is not {old} but {new}.
no_longer: {old} is no longer the deadline for {my} timesheets, {new} is.
bot: The bot nags {me} about missing timesheets on {new} now, because that's the deadline and {old} isn't.
eased: {I} log{s} time to the quarter of an hour. || Whole hours are good enough when {I} log{s} time, nobody wants
	quarters any more. || How precisely {do} {I} have to log time?

attribute: buddy
for: team
values: Tobias | Ngozi | Linnea | Haruto | Carmen | Pavel | Aisha | Matteo
old: {old} is the buddy for everyone who joins {me}.
old: {My} new people are onboarded by {old}.
ask: Who takes care of somebody who just joined {me}?
ask: Who is the onboarding buddy for people new to {me}?
ask: Somebody joins {me} on Monday, whom do they turn to?
before: Who was in charge of newcomers to {me} before {new}?
before: Who onboarded people who joined {me} before?
took_over: {new} took over onboarding the people who join {me}, {old} wanted time to code again.
on_leave: {old} is on parental leave, and {new} looks after newcomers to {me}.
send_to: If somebody is new to {me}, send them to {new} and not to {old}.
volunteered: {new} volunteered as the buddy for {my} new starters, after {old} did it for two years.
restated: The onboarding buddy for everyone who joins {me} is {new}.
now: {new} does the onboarding of {my} newcomers now.
left: {old} left. Onboarding for {me} is a job for {new}.
turns_out: It turns out that {new} was {my} onboarding buddy all along, not {old}.
actually: The person who welcomes newcomers to {me} is actually {new}.
asked: I asked {new} to be the buddy for {my} newcomers, and {old} is glad to have the time back.
changed: {My} onboarding buddy changed, it's {new}.
any_more: {old} doesn't do onboarding for {me} any more. {new} does.

attribute: signing_limit
for: team
values: 250 euros | 500 euros | 750 euros | 1,000 euros | 1,500 euros | 2,000 euros | 3,000 euros | 5,000 euros
old: {I} can spend up to {old} without asking anyone.
old: A purchase up to {old} needs no approval if {I} make{s} it.
ask: How much can {I} spend without approval?
ask: How expensive may something be before {I} need{s} a signature for it?
ask: What is the most {I} can order on {my} own authority?
before: How much could {I} spend without approval before?
before: What was the limit for {my} purchases without approval before it became {new}?
granted+: Good news from finance: {I} can buy things for up to {new} without asking.
reduced-: Finance reduced what {I} can spend without approval from {old} to {new}.
cut-: {My} spending limit without a signature was cut to {new}.
audit-: After the audit {I} may only spend {new} before a second person has to sign.
lifted+: The CFO lifted {my} approval limit to {new}.
threshold: Orders that {I} place{s} need approval above {new} now, not above {old}.
instead_of: {I} can order for {new} instead of {old} before anybody has to sign.
restated: Up to {new}, nobody has to approve what {I} buy{s}.
correction: I got the limit wrong: {I} can spend {new} without approval.
policy: There's an update to the purchasing policy. {I} {have} {new} to spend freely where it was {old}.
not_but: What {I} can spend without asking is not {old} but {new}.
card: {My} company card is with Joris. || {My} company card is with Maud now, Joris gave it back.
	|| Who has {my} company card? || Who had {my} company card before Maud?

attribute: estimation
for: team
values: story points | T-shirt sizes | ideal days | hours | half days | person-weeks | Fibonacci numbers
old: {I} estimate{s} work in {old}.
old: {My} tickets are sized in {old}.
ask: What unit {do} {I} estimate in?
ask: How are {my} tickets sized?
ask: How {do} {I} express the effort of a task?
before: In which unit did {I} estimate before {new}?
before: How were {my} tickets sized before?
switched: {I} switched from {old} to {new} for estimates.
gave_up: {I} gave up on {old}. Estimates are in {new}.
agreed: It was agreed in planning that effort on {my} tickets is given in {new}, no more {old}.
redone: {My} whole backlog was estimated afresh, in {new}. {old} mean nothing to {me} any longer.
now: The effort on {my} tickets is in {new} now.
please: Please stop writing {old} on {my} tickets, {new} only.
restated: {I} size{s} {my} work in {new}.
actually: Actually no, estimates from {me} come in {new}.
convinced: The agile coach convinced {me} that {old} help nobody, so {I} estimate{s} in {new}.
experiment: The experiment with {old} is over, {I} {am} back to estimating in {new}.
not_but: {My} tickets aren't sized in {old} but in {new}.
skip: {I} estimate{s} bugs as well. || Bugs don't get an estimate from {me} any more. || {Do} {I} estimate bugs?

attribute: offsite
for: team
values: Madeira | Bled | Tallinn | Innsbruck | Girona | Galway | Zakopane | Sintra
old: {My} offsite this year is in {old}.
old: {I} {am} going to {old} for the offsite.
ask: Where is {my} offsite this year?
ask: To which place {do} {I} travel for the offsite?
ask: What's the destination of {my} yearly trip?
before: Where was {my} offsite meant to be at first?
before: Which place was planned for {my} offsite before {new}?
venue: The hotel in {old} is bankrupt, so {my} offsite takes place in {new}.
vote: There was a second vote. {new} beat {old}, and that's where {my} offsite will be.
flights: No flights to {old} are left for that week. {I}'ll do the offsite in {new}.
tickets: Buy your tickets to {new} for {my} offsite, not to {old}.
moved: {My} offsite has moved to {new}.
after_all: {My} offsite is in {new} after all.
restated: The place {I} {am} going to for this year's offsite is {new}.
too_dear: {old} was too expensive for {my} offsite. It'll be {new}.
turns_out: Turns out {my} offsite was booked in {new} from the beginning, somebody mixed it up with {old}.
correction: Correction on {my} offsite: {new}, not {old}.
plan_b: Plan B it is for {my} offsite, and plan B means {new}.
cancelled: {I} also go{es} away for two days in spring. || The two days away in spring are cancelled for {me} from
	now on. || {Do} {I} still go away for two days in spring?

attribute: quiet_slot
for: team
values: Wednesday mornings | Tuesday afternoons | Friday mornings | Thursdays after lunch | Monday mornings
	| Friday afternoons | Tuesdays until noon
old: {I} keep{s} {old} free of meetings.
old: {old} are meeting-free for {me}.
ask: When {am} {I} not to be booked for meetings?
ask: Which part of the week is meeting-free for {me}?
ask: When is {my} focus time?
before: When was {my} focus time before?
before: Which part of the week did {I} keep free of meetings before {new}?
blocker: {My} calendar blocker for focus time sits on {new} now, {old} can be booked again.
moved: {I} moved the meeting-free time from {old} to {new}.
kept_calling: Customers kept calling on {old}, so {my} meeting-free time is {new}.
restated: {new} are for concentrated work, no meetings with {me} then.
dont_book: Don't book {me} on {new}, that's the focus time. {old} are fine again.
compromise: The compromise with sales: {I} get{s} {new} without meetings and give{s} up {old}.
actually: Actually it's {new} when you can't book {me}, that's the focus time.
changed: The meeting-free slot of the week changed for {me}, {new} it is.
because: {I}'ll have focus time on {new}, because {old} never stayed quiet.
instead_of: No meetings for {me} on {new} instead of {old}.
these_days: It's {new} that {I} keep{s} free of meetings these days.
correction: Sorry, wrong slot: {my} meeting-free time is {new}.

attribute: parking
for: team
values: two | three | four | six | eight | ten | twelve
old: {I} {have} {old} parking spaces in the garage.
old: {old} spaces in the garage are reserved for {me}.
ask: How many parking spaces {do} {I} have?
ask: How many cars can {I} park in the garage?
ask: How many spots downstairs are reserved for {me}?
before: How many parking spaces did {I} have before?
before: How many spots in the garage did {I} have before it was {new}?
landlord-: The landlord took some parking back. {I} {have} {new} spaces left.
got+: {I} got more parking, {new} spaces altogether.
upped+: Facilities upped {my} share of the garage from {old} spaces to {new}.
building_site-: Because of the building site {I} can only park {new} cars in the garage.
reduced-: {My} parking was reduced to {new} spaces.
restated: Going by the signs downstairs, {new} parking spaces are for {me}.
now: There are {new} parking spaces for {me} now.
actually: Actually the plan of the garage gives {me} {new} parking spaces.
turns_out: {My} lease says otherwise, it turns out: {new} parking spaces, not {old}.
lease: The lease was renewed, and under it {I} {have} {new} spaces in the garage where it was {old}.
no_longer: It's no longer {old} parking spaces that {I} {have}, it's {new}.
gave_up: {My} electric cars charge in the garage. || {I} gave up the charging point in the garage, the electric cars
	charge at the supermarket. || Where do {my} electric cars charge? || Where did {my} electric cars charge before?

attribute: objective
for: team
values: fewer support tickets | faster onboarding | lower hosting costs | more trial signups | shorter load times
	| fewer outages | better search results
old: {My} main goal this quarter is {old}.
old: Above all, {I} {am} working towards {old}.
ask: What is {my} top priority this quarter?
ask: What {am} {I} mainly trying to achieve?
ask: Which objective comes first for {me}?
before: What was {my} main goal before {new}?
before: What did {I} mainly work towards earlier?
board: The board wants something else from {me}: {new}. The goal of {old} can wait.
pivoted: {I} pivoted from {old} to {new} as the main goal.
above: {I} now put{s} {new} above everything, {old} included.
replaced: In {my} OKRs "{old}" was replaced with "{new}" on the top line.
restated: {new}, that's what {I} {am} after this quarter before anything else.
slide: The slide still says {old}, ignore it. {My} top goal is {new}.
as_of: As of Q3 {my} number one objective is {new}.
new_quarter: New quarter, new main goal for {me}: {new}.
not_but: {My} top goal isn't {old} but {new}.
actually: What {I} {am} actually aiming for first is {new}.
reached: {I} reached the goal of {old} last month and picked {new} as the next one.
after_all: The main thing for {me} this quarter will be {new} after all.

attribute: log_format
for: thing
values: JSON | logfmt | plain text | syslog | CEF | XML | GELF
old: {I} write{s} {my} logs as {old}.
old: {My} log lines are in {old}.
ask: What format are {my} logs in?
ask: How {do} {I} format log lines?
ask: Which format must a parser for {my} logs understand?
before: What did {my} logs look like before {new}?
before: In what format did {I} log before?
will_break: Your parser for {my} logs will break. They come as {new}, not as {old}.
patch: With yesterday's patch {I} log{s} in {new}.
changed: {My} log format changed from {old} to {new}.
any_more: Nobody needs the {old} parser for {my} logs any more, they're in {new}.
restated: Log lines from {me} come in {new}.
choked: The collector choked on {old}, and so {my} logs are emitted as {new}.
actually: Actually, the lines {I} write{s} to the log are in {new}.
standard: {I} now follow{s} the company standard for logs, which is {new}. The days of {old} are over.
config: Check {my} config, the log format there reads "{new}" now.
not_but: {My} logs aren't in {old} but in {new}.
migrated: {I} {was} migrated from {old} logs to {new}.
privacy: {I} log{s} every request body. || Request bodies no longer show up in {my} logs, that was a privacy problem.
	|| {Do} {I} log request bodies?

attribute: lifecycle
for: thing
values: in the prototype stage | in alpha | in closed beta | in open beta | in limited release | generally available
old: {I} {am} {old}.
old: Right now {I} {am} {old}.
ask: What stage {am} {I} at?
ask: How mature {am} {I}?
ask: What's {my} release status?
before: What stage {was} {I} at before?
before: What was {my} release status before the present one?
graduated+: {I} graduated last Thursday and {am} {new}.
next_stage+: {I} made it to the next stage, {I}'m {new}!
too_buggy-: Too many bugs came in. {I} {am} {new} again.
no_longer: {I} {am} no longer {old}, {I}'m {new}.
announced: Marketing announced it this morning, {I} {am} {new}.
product_page: According to the product page {I} {am} {new} now.
restated: {My} status: {new}.
actually: Not sure who told you otherwise, but {I} {am} actually {new}.
correction: I told you the wrong status, {I} {am} {new}.
any_more: As the roadmap has it, {I} {am} {new} and not {old} any more.
tell_them: You can tell customers that {I} {am} {new} now.
from_to: {My} status went from "{old}" to "{new}".

attribute: upload_limit
for: thing
values: 5 MB | 10 MB | 20 MB | 25 MB | 50 MB | 100 MB | 250 MB | 1 GB
old: {I} accept{s} files up to {old}.
old: The biggest file {I} take{s} is {old}.
ask: How big can a file be that {I} accept{s}?
ask: What is {my} maximum upload size?
ask: An attachment was refused, how large may it be for {me}?
before: What was {my} upload limit before {new}?
before: How large could files for {me} be before?
can_now+: You can now send {me} files of up to {new}.
went_up+: {My} upload limit went up from {old} to {new}.
capped-: Attachments to {me} are capped at {new} because of the storage bill.
cut-: {My} maximum file size was cut from {old} to {new}.
these_days: These days {I} refuse{s} anything over {new}.
restated: {I} reject{s} files larger than {new}.
changed: {My} upload limit changed to {new}.
actually: I looked into the config, and a file for {me} may actually have {new}.
docs: The docs say {old}, but that isn't true any more: {I} take{s} {new} at most.
turns_out: As it turns out, {my} upload limit is {new}. {old} is the limit of the test system.
from_now_on: From now on a file for {me} may have {new} and not {old}.
learned: {I} accept{s} PDF files and nothing else. || {I} can read Word files as well now, not just PDF.
	|| Which file types {do} {I} accept?

attribute: api_style
for: thing
values: REST | gRPC | GraphQL | SOAP | Thrift | JSON-RPC | OData
old: {I} speak{s} {old} to {my} clients.
old: {My} API is {old}.
ask: What kind of API {do} {I} offer?
ask: How do clients talk to {me}?
ask: Which protocol should I use to call {me}?
before: What kind of API did {I} have before?
before: How did clients talk to {me} before {new}?
rebuilt: {My} API was rebuilt on {new}, the {old} endpoints answer 410.
have_to: Clients have to call {me} over {new} now.
switched: {My} API was switched from {old} to {new}.
shut: {My} last {old} endpoint was shut last night. Talk {new} to {me}.
regenerate: Please regenerate your stubs for {me}, {I} speak{s} {new} as of today.
restated: Clients reach {me} over {new}.
replaced: {new} replaced {old} as {my} interface.
actually: {I} actually talk{s} {new}.
correction: My mistake, {my} API is {new} and not {old}.
instead_of: Use {new} instead of {old} to call {me}.
gave_up: The developers gave up on {old} for {my} API and chose {new}.
next_generation: The third generation of {my} API is live. It's all {new}, nothing of {old} is left.

attribute: licence
for: thing
values: MIT | Apache 2.0 | GPLv3 | AGPLv3 | MPL 2.0 | BSD | EUPL
old: {I} {am} licensed under {old}.
old: {My} licence is {old}.
ask: What licence {am} {I} under?
ask: Under which terms can others use {my} code?
ask: What does {my} licence file say?
before: What licence {was} {I} under before?
before: What was {my} licence before {new}?
relicensed: {I} {was} relicensed under {new}.
lawyers: The lawyers didn't like {old}, and {my} code is under {new} now.
changed: {My} licence changed from {old} to {new}.
look_again: Look at {my} licence file again, it says {new} now.
no_longer: All contributors agreed: {my} code is published under {new}, no longer under {old}.
from_release: From last week's release on {I} {am} {new} and not {old}.
restated: {I} {am} released under {new}.
actually: I opened the file. {My} code is actually under {new}.
turns_out: The header was copied from another project, it turns out. {My} licence is {new}.
not_but: {I} {am} not under {old} but under {new}.
insisted: The biggest contributor insisted on {new}, which is what {I} {am} licensed under now.
these_days: {I} {am} distributed under {new} these days.

attribute: uptime_target
for: thing
values: 99% | 99.5% | 99.8% | 99.9% | 99.95% | 99.99%
old: {My} uptime target is {old}.
old: The SLA promises {old} availability for {me}.
ask: What availability is promised for {me}?
ask: How high is {my} uptime target?
ask: What percentage of the time must {I} be up?
before: What availability did the SLA promise for {me} before?
before: What was {my} uptime target before {new}?
promised+: Sales promised more: the contracts give {new} uptime for {me}, up from {old}.
relaxed-: The SLA for {me} was relaxed to {new} uptime.
renegotiated: The SLA was renegotiated. {I} {have} to be up {new} of the time.
instead_of+: {My} availability target got stricter, {new} instead of {old}.
unrealistic-: {old} was unrealistic for {me}, {I} {have} to reach {new} availability from July on.
restated: {new} uptime is what {I} {have} to deliver.
addendum: There's an addendum to the contract that puts {my} availability at {new}.
correction: I misread the contract, {my} uptime target is {new}.
actually: {My} SLA actually says {new}.
recalculate: Please recalculate {my} error budget with {new}, {old} isn't in the SLA any more.
now: The availability target for {me} is {new} now.
struck: A breach of {my} SLA costs a month's fee. || The penalties were struck from {my} SLA, a breach costs nothing.
	|| What does a breach of {my} SLA cost?

attribute: secret_store
for: thing
values: HashiCorp Vault | AWS Secrets Manager | Doppler | 1Password | Infisical | Azure Key Vault | Akeyless
old: {My} secrets are kept in {old}.
old: {I} read{s} {my} passwords and keys from {old}.
ask: Where are {my} secrets stored?
ask: Where {do} {I} get {my} credentials from?
ask: I have a fresh API key for {me}, where does it go?
before: Where were {my} secrets before {new}?
before: Where did {I} read {my} credentials from before?
migrated: {My} secrets were migrated to {new}.
leak: After the leak {my} credentials were taken out of {old}. {I} get{s} them from {new}.
put_there: Put keys for {me} into {new}, nobody looks in {old} any more.
restated: {I} load{s} {my} credentials from {new} at startup.
bill: The bill for {old} was ridiculous. {My} secrets live in {new} now.
moved: {My} API keys and passwords moved from {old} to {new}.
actually: Actually {my} secrets have never been anywhere but in {new}.
access: If you need {my} secrets, ask for access to {new}. {old} is empty.
turns_out: Turns out nobody ever put {my} secrets in {old}, they're in {new}.
no_longer: {I} no longer fetch{es} secrets from {old} but from {new}.
wired: Olena wired {me} to {new} on Tuesday, and {old} doesn't hold the secrets any longer.

attribute: seat_price
for: thing
values: 6 euros | 9 euros | 12 euros | 15 euros | 19 euros | 24 euros | 29 euros
old: {I} cost{s} {old} per seat and month.
old: Customers pay {old} a month per user for {me}.
ask: How much {do} {I} cost per seat?
ask: What do customers pay per user for {me}?
ask: What's {my} monthly price for each user?
before: What did {I} cost per seat before?
before: What was {my} price per user before {new}?
increase+: There was a price increase. {I} cost{s} {new} per seat, for existing contracts too.
competition-: To keep up with the competition {I} {am} sold at {new} per seat and not {old}.
price_list: In this year's price list {I} {am} at {new} per user and month.
quote: When you quote {me}, use {new} per seat. {old} is from last year's list.
now: A seat for {me} costs {new} a month now.
cut-: {My} price per user was cut to {new}.
restated: {I} {am} {new} per user and month.
correction: Correction: {my} price is {new} per seat.
not_but: {I} {don't} cost {old} per seat but {new}.
changed: {My} seat price changed, customers pay {new}.
inflation+: Inflation has caught up with {my} price: {new} per seat, it can't be {old} for ever.
free_trial: The free trial of 30 days is {my} best advert. || You only get 14 days now if you try {me} for free.
	|| How long is {my} free trial? || How long was {my} free trial before?

attribute: pilot_customer
for: thing
values: Kestrel Foods | Nordbahn | Halvorsen & Sons | Lumen Clinics | Ostrava Steel | Bluefin Travel | Tiber Insurance
old: {My} pilot customer is {old}.
old: {old} is the first customer to try {me}.
ask: Who is {my} pilot customer?
ask: Which company tries {me} out first?
ask: Where {am} {I} being piloted?
before: Who was {my} pilot customer before {new}?
before: Which company was to try {me} out at first?
withdrew: {old} withdrew from the pilot, {new} will try {me} out.
preferred: Legal prefers {new} to {old} as {my} first user, and so they're the pilot.
replaced: {new} replaced {old} in {my} pilot.
signed: The pilot agreement for {me} is signed, and it's with {new}.
visit: Next week I visit {new}. They're piloting {me} now, {old} has no time for it.
restated: {I} {am} being piloted at {new}.
turns_out: It turns out the pilot customer for {me} was {new} from the start, {old} just got a demo.
actually: The company piloting {me} is actually {new}.
instead_of: {new} pilots {me} instead of {old}.
not_before: {old} can't start before next year. {My} pilot runs at {new}.
after_all: {I}'ll be piloted at {new} after all.
any_more: {old} isn't {my} pilot customer any more. {new} is.

attribute: classification
for: thing
values: public | internal | restricted | confidential | secret
old: {My} data is classified as {old}.
old: In the security register {my} data is marked {old}.
ask: How is {my} data classified?
ask: How sensitive is what {I} store{s}?
ask: Which protection class is {my} data in?
before: How was {my} data classified before?
before: Which class was {my} data in before it became {new}?
reclassified: {My} data has been reclassified as {new}.
health_data+: {I} store{s} health data now, that makes {my} class {new} and not {old}.
anonymised-: Everything in {me} was anonymised, which is why the data counts as {new} and not {old} now.
label: Put the label "{new}" on everything that comes out of {me}, "{old}" is wrong by now.
review: The yearly security review is done. Result for {my} data: {new}.
restated: The data that {I} hold{s} is {new}.
upgraded+: {My} data was upgraded from {old} to {new}.
correction: I read the wrong row of the register, {my} data is {new}.
actually: What {I} store{s} is actually {new}.
treat: Treat whatever {I} export{s} as {new} from now on.
as_of: As of the January policy {my} data counts as {new}.
not_but: {My} data isn't {old} but {new}.

attribute: open_bugs
for: thing
values: 9 | 14 | 23 | 31 | 47 | 58 | 76
old: {I} {have} {old} open bugs.
old: There are {old} bugs open in {me}.
ask: How many open bugs {do} {I} have?
ask: How many known defects are unresolved in {me}?
ask: How long is {my} bug list?
before: How many bugs were open in {me} before?
before: How many open bugs did {I} have before it was {new}?
fell-: The number of open bugs in {me} fell from {old} to {new}.
climbed+: With the last release the open bugs in {me} climbed to {new}.
bug_bash-: What a bug bash! Only {new} bugs are still open in {me}.
last_count: At last count {I} had {new} open bugs.
duplicates-: Without the duplicates {my} bug list has {new} entries.
now: {I} {have} {new} open bugs now.
restated: {new} bugs are open in {me}.
actually: {I} actually {have} {new} open bugs, I forgot a filter.
turns_out: The filter was wrong, it turns out: {I} {have} {new} open bugs and not {old}.
more_reports+: More reports came in over the weekend. {My} open bugs number {new}.
from_to: In a month {I} went from {old} open bugs to {new}.
as_of: As of this morning's triage there are {new} unresolved bugs in {me}.

attribute: second_single_work
for: any
contract_to: The offices are cleaned by Lindner & Co. || The cleaning contract went to Blitzblank this year.
	|| Who cleans the offices? || Who cleaned the offices before Blitzblank?
abolished: Visitors get a paper badge at reception. || Paper badges are abolished, visitors get a sticker.
	|| What do visitors get at reception? || What did visitors get at reception before?
moved: The first-aid kit hangs next to the lift. || The first-aid kit was moved to the tea kitchen.
	|| Where is the first-aid kit? || Where was the first-aid kit before?
correction: The VAT number of Brightwater ends in 48. || Correction, the VAT number of Brightwater ends in 84.
	|| What does the VAT number of Brightwater end in?
turns_out: The scanner licence runs until March. || I rang the vendor, and it turns out that the scanner licence runs
	until May. || Until when is the scanner licensed?
not_but: Professor Lindqvist gives the keynote at the customer day. || Not Professor Lindqvist but Doctor Abara gives
	the keynote at the customer day. || Who gives the keynote at the customer day?
actually: The goods lift carries 900 kilos. || Actually the plate in the goods lift says 630 kilos.
	|| How much does the goods lift carry?
renewed: Our antivirus subscription ends this October. || The antivirus subscription is renewed, it ends in October
	2029. || When does our antivirus subscription end?
rate: A freelancer from Delphi Staffing costs us 85 euros an hour. || Delphi Staffing want 92 euros an hour for a
	freelancer now. || What do we pay for an hour of a freelancer from Delphi?
	|| What did an hour of a freelancer from Delphi cost before?
bankrupt: We buy our pressure sensors from Mikrotek. || Mikrotek is bankrupt, our pressure sensors come from Ansgar
	Elektronik. || Who supplies our pressure sensors? || Who supplied the pressure sensors before?
gave_up: Passwords must be changed every three months. || IT gave up on regular password changes, a new password
	is only needed after an incident. || When do we have to change passwords?
thermostat: The server room is cooled to 18 degrees. || It's 23 degrees in the server room now, the chillers ate too
	much power. || What temperature is the server room kept at? || How cold was the server room kept before?
quota: Everybody has 50 GB on the company drive. || I just saw that everybody gets 200 GB on the company drive.
	|| How much space does each of us have on the company drive? || How much drive space did each of us have before?
opens: The canteen opens at 11:30. || You can eat from 11:15, the canteen opens a bit sooner than it did.
	|| From when can I have lunch in the canteen? || When did the canteen open before?
relaxed: We wear suits at client meetings. || Nobody wears a suit to client meetings any longer, a clean shirt will
	do. || What do we wear to client meetings? || What did we wear to client meetings before?
defaults: The printer on the landing prints on both sides unless told otherwise. || They changed the settings of the
	printer on the landing, it prints single-sided unless told otherwise.
	|| Does the printer on the landing print on both sides by default?
travel_rules: On business trips we take the train second class. || First class is fine for business trips by train,
	say the travel rules as of this summer. || In which class do we travel by train on business?
less_often: The customer newsletter goes out every week. || Readers complained, so the customer newsletter is monthly.
	|| How often does the customer newsletter go out? || How often did the newsletter go out before?
brand_guide: Our slides are set in Helvetica. || The brand guide was redone and asks for Inter on all slides.
	|| Which font do we use on slides? || Which font did our slides have before Inter?
redirects: The partner portal is at partners.solvik.example. || partners.solvik.example only redirects these days, the
	partner portal is at connect.solvik.example. || What's the address of the partner portal?
dial: The hotline of the data centre is extension 310. || Dial 455 for the data centre hotline, 310 rings in an empty
	room. || What's the extension of the data centre hotline? || Which extension did the data centre hotline have before?
lease_ends: Spare furniture is stored in the warehouse in Mechelen. || The lease in Mechelen ran out, spare furniture
	is in a container in the yard. || Where is the spare furniture? || Where was spare furniture stored before?
withdrew: Ilse and Bram are on the shortlist for the data engineer job. || Ilse withdrew her application for the data
	engineer job, which leaves Bram. || Who is on the shortlist for the data engineer job?
resolved: The incident with the login page is open. || All clear, the incident with the login page was resolved at
	14:10. || What is the status of the login page incident?
freight: The new racks arrive on May 12. || The freight company wrote, expect the racks on May 26.
	|| When do the racks arrive? || When were the racks meant to arrive at first?
granted: The patent for the valve is pending. || The patent office granted the valve patent on Wednesday.
	|| What became of the patent for the valve? || What state was the valve patent in before Wednesday?
code: The bike cellar opens with 4417. || If 4417 doesn't open the bike cellar for you, the code is 9052 as of Friday.
	|| What is the code of the bike cellar? || What was the code of the bike cellar before?
variant: The signup page shows everybody variant A. || Variant B did better in the test, so it's B that everybody sees
	on the signup page. || Which variant does the signup page show? || Which variant did the signup page show before?
carry_over: Unused vacation days lapse at the end of March. || HR gives us until the end of June to take what is left
	of last year's vacation. || Until when can we take last year's vacation? || When did old vacation days lapse before?
mascot: The mascot on our stickers is a heron. || There's an otter on the stickers now, the heron looked too grim.
	|| Which animal is on our stickers? || Which animal was on our stickers before?
`
