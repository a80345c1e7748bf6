package heldout

// Teams holds attributes of teams that no rule was written for.
const Teams = `
attribute: retro
for: team
values: Monday | Tuesday | Wednesday | Thursday | Friday
old: ~{my} retro is every other {old}
old: retro for {me}: {old} afternoon
ask: on which day is {my} retro?
ask: When {do} {I} have the retrospective?
before: on which day was {my} retro before it was on {new}?
moved: ~{my} retro moved to {new}
changed: ~changed {my} retro to {new}, nobody could make {old}
as_of: ~as of next sprint {my} retro is on {new}
no_longer: ~{my} retro is no longer on {old}, see you {new}
instead_of: ~{my} retro happens on {new} instead of {old}
actually: ~actually {my} retro is on {new}
restated: ~{my} retro: {new}
starting: ~starting next week {my} retro is on {new}
heads_up: ~heads up, {my} retro is on {new} from here on
make_that: ~{my} retro on {old}? make that {new}
swapped: ~swapped {my} retro from {old} to {new}
since: ~{my} retro has been on {new} since the reorg

attribute: floor
for: team
values: ground floor | first floor | second floor | fourth floor | fifth floor | seventh floor
old: {my} desks are on the {old}.
ask: Which floor {do} {I} sit on?
ask: Where are {my} desks?
before: Which floor were {my} desks on previously?
moved: over the weekend {my} desks moved to the {new}.
now: come and find {my} desks on the {new} now, next to the lockers.
no_longer: {my} desks are no longer on the {old} but on the {new}.
left: {I} left the {old}; {my} desks are on the {new}.
switched: we switched places with the lawyers, {my} desks are on the {new}.
any_more: don't look for {me} on the {old} any more, the desks are on the {new}.
relocated: Facilities relocated {me} to the {new}.
ended_up: {my} desks ended up on the {new}.
since: {my} desks have been on the {new} since the flood.
effective: effective Monday {my} desks are on the {new}.
over_to: the movers took {my} desks over to the {new}.

attribute: headcount
for: team
values: 4 people | 5 people | 6 people | 7 people | 9 people | 11 people | 13 people
old: {my} headcount is {old}.
ask: What is {my} headcount?
ask: How many people {do} {I} have?
before: What was {my} headcount before?
cut-: {my} headcount was cut to {new} in the budget round.
from_to: {my} headcount went from {old} to {new}.
changed: {my} headcount changed to {new}.
now: {my} headcount is {new} now.
turns_out: turns out {my} headcount is {new}, HR had counted wrong.
correction: correction from HR: {my} headcount is {new}.
restated: {my} headcount: {new}.
down_to-: {my} headcount is down to {new}.
grew+: {my} headcount has grown to {new}.
raised+: {my} headcount was raised to {new}.
misspoke: I misspoke earlier, {my} headcount is {new}.
shrank-: {my} headcount shrank to {new}.

attribute: home_days
for: team
values: one day a week | two days a week | three days a week | four days a week
old: ~home office rule for {me}: {old}
old: {my} home office allowance is {old}.
ask: how often may {I} work from home?
ask: What is {my} home office allowance?
before: What was {my} home office allowance before?
changed: ~they changed {my} home office allowance to {new}
cut-: ~{my} home office allowance got cut to {new}
no_longer: ~{my} home office allowance is no longer {old}, it's {new}
as_of: ~as of the first, {my} home office allowance is {new}
actually: ~asked HR, {my} home office allowance is actually {new}
restated: ~{my} home office allowance is {new}
raised+: ~{my} home office allowance was raised to {new}, finally
effective: ~effective January {my} home office allowance is {new}
scratch_that: ~scratch what I wrote about home office, {my} allowance is {new}
settled_on: ~management settled on {new} as {my} home office allowance
used_to: ~{my} home office allowance used to be {old}, it's {new}

attribute: design_tool
for: team
values: Figma | Sketch | Penpot | Framer | Adobe XD | Lunacy
old: {my} mockups are made in {old}.
ask: Which tool are {my} mockups made in?
ask: What {do} {I} use for mockups?
before: What were {my} mockups made in before {new}?
switched: {my} designers switched from {old} to {new} for mockups.
migrated: all of {my} mockups were migrated to {new}.
replaced: {new} replaced {old} for {my} mockups.
cancelled: {old} licences are cancelled, {my} mockups are made in {new}.
stopped: {my} designers stopped using {old}; mockups are made in {new}.
after_all: {my} mockups will be made in {new} after all.
now: find {my} mockups in {new} now.
ditched: {my} designers ditched {old} for {new}.
went_with: after the trial {my} designers went with {new} for mockups.
is_gone: {old} is gone, use {new} for {my} mockups.
dropped: {my} designers dropped {old} in favour of {new}.
phased_out: {old} was phased out, {my} mockups are made in {new}.

attribute: contact
for: team
values: Mrs Albers | Mr Novak | Ms Tanaka | Mr Fraser | Mrs Duval | Mr Iqbal
old: {my} contact at the ministry is {old}.
ask: Who is {my} contact at the ministry?
ask: Whom {do} {I} ask at the ministry?
before: Who was {my} contact at the ministry before {new}?
took_over: {new} has taken over as {my} contact at the ministry.
left: {old} left the ministry, {my} contact there is {new}.
replaced: at the ministry {old} was replaced by {new}, so that's {my} contact.
no_longer: {old} is no longer {my} contact at the ministry. Ask {new}.
changed: {my} contact at the ministry changed: {new}.
correction: correction, {my} contact at the ministry is {new}.
restated: {my} contact at the ministry: {new}.
handed_over: {old} handed over to {new} as {my} contact at the ministry.
stepped_in: {new} stepped in for {old} as {my} contact at the ministry, and stays.
new_is: {my} new contact at the ministry is {new}.
out_in: at the ministry {old} is out and {new} is in as {my} contact.
heads_up: FYI {my} contact at the ministry is {new}.

attribute: release_captain
for: team
values: Wanda | Piet | Soraya | Declan | Mirko | Ottilie | Farid
old: {my} release captain is {old}.
old: ~release captain for {me}: {old}
ask: Who is {my} release captain?
ask: who is in charge of {my} releases?
before: Who was {my} release captain before {new}?
took_over: ~{new} takes over as {my} release captain
replaced: ~{new} replaces {old} as {my} release captain
now: ~{new} is {my} release captain now
no_longer: ~{old} is no longer {my} release captain, {new} does it
as_of: ~as of this cycle {my} release captain is {new}
switched: ~we switched {my} release captain from {old} to {new}
restated: ~{my} release captain is {new}
handed_over: ~{old} handed over the release captain hat to {new} for {my} releases
stepped_down: ~{old} stepped down as {my} release captain, {new} is doing it
passed_to: ~the job of {my} release captain has passed to {new}
swapped: ~{old} and {new} swapped, so {new} is {my} release captain
over_to: ~{my} release captain duty went over to {new}

attribute: codename
for: team
values: Bluebird | Marzipan | Tundra | Lighthouse | Saffron | Pinecone | Comet
old: {my} next release is called {old}.
old: the codename of {my} next release is {old}.
ask: What is the codename of {my} next release?
ask: What is {my} next release called?
before: What was the codename of {my} next release originally?
changed: marketing changed the codename of {my} next release to {new}.
no_longer: {my} next release is no longer called {old} but {new}.
now: {my} next release is called {new} now.
not_but: {my} next release is not {old} but {new}.
correction: correction: {my} next release is called {new}.
after_all: {my} next release will be called {new} after all.
restated: the codename of {my} next release is {new}.
renamed: {my} next release was renamed from {old} to {new}.
goes_by: {my} next release goes by {new}.
went_with: for {my} next release we went with {new} as codename.
scratch_that: scratch {old}, {my} next release is called {new}.
settled_on: the vote settled on {new} as codename of {my} next release.

attribute: freeze
for: team
values: March 2 | March 16 | April 7 | April 20 | May 11 | May 25 | June 8
old: {my} feature freeze is on {old}.
old: ~feature freeze for {me}: {old}
ask: When is {my} feature freeze?
ask: until what day can features go into {my} release?
before: When was {my} feature freeze supposed to be originally?
postponed+: {my} feature freeze is postponed to {new}.
moved: ~moved {my} feature freeze to {new}
changed: ~{my} feature freeze changed from {old} to {new}
instead_of: ~{my} feature freeze is {new} instead of {old}
now: ~{my} feature freeze is {new} now
turns_out: ~turns out {my} feature freeze is {new}
restated: ~{my} feature freeze: {new}
slipped+: ~{my} feature freeze slipped to {new}
slipped+: {my} feature freeze has slipped from {old} to {new}.
brought_forward-: {my} feature freeze was brought forward to {new}.
pushed+: ~pushing {my} feature freeze out to {new}
pulled_in-: ~pulling {my} feature freeze in to {new}
rescheduled: {my} feature freeze was rescheduled for {new}.

attribute: hotel_cap
for: team
values: 110 euros | 130 euros | 145 euros | 160 euros | 180 euros | 210 euros
old: {my} hotel limit is {old} a night.
old: {I} may spend up to {old} a night on hotels.
ask: What is {my} hotel limit?
ask: How much may {I} spend on a hotel night?
before: What was {my} hotel limit before?
changed: {my} hotel limit changed to {new} a night.
cut-: finance cut {my} hotel limit to {new} a night.
from_to: {my} hotel limit goes from {old} to {new} a night.
no_longer: {my} hotel limit is no longer {old} but {new} a night.
now: {my} hotel limit is {new} a night now.
correction: correction: {my} hotel limit is {new} a night.
restated: {my} hotel limit is {new} a night.
raised+: finance raised {my} hotel limit to {new} a night.
lowered-: {my} hotel limit was lowered to {new} a night.
effective: effective today {my} hotel limit is {new} a night.
bumped+: good news, {my} hotel limit got bumped to {new} a night.
`
