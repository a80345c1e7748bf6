package heldout

// People holds attributes of people's lives that no rule was written for.
const People = `
attribute: doctor
for: person
values: Hansen | Okafor | Lindqvist | Moreau | Petrov | Banerjee | Castillo
old: {My} GP is Dr {old}, the practice behind the church.
old: For anything medical {I} see{s} Dr {old}.
ask: Which doctor {do} {I} go to?
ask: Who is {my} family doctor?
before: Who was {my} doctor before Dr {new}?
switched: It was impossible to get an appointment, so {I} switched over to Dr {new}.
left: {I} left Dr {old}'s practice, and Dr {new} is {my} doctor from here on.
took_over: Dr {new} took over {my} file when Dr {old} closed the practice.
no_longer: Dr {old} no longer takes regular patients. {My} family doctor is Dr {new}.
now: {I} see{s} Dr {new} now, and the waiting room is so much nicer.
these_days: Dr {new} is the one who looks after {my} health these days.
restated: For check-ups and the like {I} go{es} to Dr {new}.
ended_up: {I} ended up with Dr {new} as {my} GP because the other practices were full.
settled_on: After trying three practices {I} settled on Dr {new} as {my} family doctor.
handed_over: Dr {old} has handed {my} case over to Dr {new}.
new_is: {My} new GP is Dr {new}.
used_to: {I} used to see Dr {old}, but that's over, {my} doctor is Dr {new}.

attribute: wake_up
for: person
values: 5:30 | 6:00 | 6:20 | 6:40 | 7:00 | 7:20 | 7:45
old: {I} get{s} up at {old} on working days.
old: {My} alarm rings at {old}.
ask: When {do} {I} get up?
ask: What time is {my} alarm set for?
before: When did {I} get up before?
changed: With the new shifts {my} alarm has changed to {new}.
from_to: {My} alarm went from {old} to {new} because of the baby.
moved: {I} moved {my} alarm to {new}, otherwise there is no time for breakfast.
now: The alarm clock wakes {me} at {new} now.
these_days: {I} get{s} up at {new} these days, believe it or not.
no_longer: {I} no longer get{s} up at {old}. The alarm rings at {new}.
bumped+: {I} bumped {my} alarm to {new}.
brought_forward-: {My} alarm has been brought forward to {new} because of the roadworks.
since: {I}'ve been getting up at {new} since the clocks went back.
starting: Starting tomorrow {my} alarm is set for {new}.

attribute: instrument
for: person
values: clarinet | double bass | trombone | mandolin | oboe | viola | saxophone
old: {I} play{s} the {old} in an amateur band.
old: {My} instrument is the {old}.
ask: What instrument {do} {I} play?
ask: What {do} {I} play in the band?
before: What instrument did {I} play before the {new}?
switched: The band had enough of them, so {I} switched from {old} to {new}.
gave_up: {I} gave the {old} up after twelve years and play{s} the {new}.
stopped: {I} stopped playing the {old} last winter; {my} instrument is the {new}.
started: {I} started on the {new}, which is {my} instrument in the band for good.
replaced: In the band the {new} replaced the {old} for {me}.
no_longer: {My} instrument is no longer the {old}: it's the {new}.
restated: In the band {I} play{s} the {new}.
swapped: {I} swapped the {old} for a {new}.
dropped: {I} dropped the {old} in favour of the {new}.
traded_in: {I} traded the {old} in for a {new} and play{s} that in the band.
over_to: {I} went over to the {new}.
history: The {old} is history, {my} instrument is the {new}.

attribute: bank
for: person
values: Nordea | Santander | Monzo | Revolut | Barclays | Rabobank | Commerzbank
old: {I} bank{s} with {old}.
old: {My} current account is at {old}.
ask: Which bank {do} {I} use?
ask: Where is {my} account?
before: Which bank did {I} use before {new}?
switched: The fees went up again, so {I}'ve switched banks and {am} with {new}.
moved: {I} moved {my} account over from {old} to {new}.
cancelled: {I} cancelled the account at {old}; everything runs through {new}.
left: {I} left {old} because of the app and opened an account at {new}.
any_more: {I} {don't} bank with {old} any more, {new} has {my} account.
as_of: As of the new year {my} account is at {new}.
actually: Actually, {my} account is at {new}.
ditched: {I} ditched {old} and bank{s} with {new}.
went_with: {I} compared a few banks and went with {new}.
is_gone: The {old} account is gone, please use the one at {new}.
since: {I}'ve been with {new} since they closed the branch in town, that's {my} bank.
fed_up: {I} had enough of {old}. {My} bank is {new}.

attribute: mobile_provider
for: person
values: Vodafone | Telenor | Orange | Three | Swisscom | Telia | Giffgaff
old: {My} mobile contract is with {old}.
old: {I} {have} a SIM from {old}.
ask: Who is {my} mobile provider?
ask: Which network is {my} phone on?
before: Which provider did {I} have before {new}?
switched: After the roaming bill {I} switched {my} mobile contract to {new}.
cancelled: {I} cancelled {my} contract with {old} and {my} phone is on {new}.
replaced: The SIM from {old} has been replaced by one from {new}.
no_longer: {My} phone is no longer on {old}, the provider is {new}.
after_all: {My} mobile contract will be with {new} after all.
not_but: {My} provider is not {old} but {new}.
restated: {My} phone is on the {new} network.
ended_up: {I} ended up taking a mobile contract with {new}.
dropped: {I} dropped {old} for {new}, the reception at home was hopeless.
scratch_that: Scratch that about {old}, {my} provider is {new}.
heads_up: Just so you know, {my} mobile contract is with {new} from today.

attribute: band
for: person
values: Radiohead | Pulp | Portishead | Blur | Massive Attack | Kraftwerk | Stereolab
old: {My} all-time favourite band is {old}.
old: No band means more to {me} than {old}.
ask: What is {my} favourite band?
ask: Which band {do} {I} like most?
before: Which band {was} {my} favourite before {new}?
these_days: If you ask {me} these days, the best band is {new}.
now: {new} is {my} number one band now.
any_more: {old} isn't {my} favourite band any more; {new} took that place.
no_longer: {old} no longer does it for {me}. {My} favourite band is {new}.
changed: {My} taste has changed, {my} favourite band is {new}.
restated: {new} is the band {I} love{s} most.
turns_out: It turns out {my} favourite band is {new}.
used_to: {My} favourite band used to be {old}; it's {new}.
out_in: {old} is out, {new} is in: {my} new favourite band.
forget_that: Forget what was said about {old}, {my} favourite band is {new}.
history: {old} is ancient history, {my} favourite band is {new}.

attribute: book
for: person
values: Middlemarch | Dune | Beloved | Moby-Dick | Emma | Ulysses | Persuasion
old: {I}'m reading {old} at the moment.
old: The book on {my} bedside table is {old}.
ask: What {am} {I} reading?
ask: Which book {am} {I} in the middle of?
before: What {was} {I} reading before {new}?
started: {old} went back to the library and {I} started {new}.
stopped: {I} stopped halfway through {old}. {I}'m reading {new}.
gave_up: {I} gave up on {old} after a hundred pages and picked up {new}.
now: {I}'m on to {new} now.
moved: {I}'ve moved on from {old} to {new}.
instead_of: {I}'m reading {new} instead of {old}.
restated: {I}'m in the middle of {new}.
ditched: {I} ditched {old}, too gloomy; {new} is what {I}'m reading.
over_to: Finished {old} on Sunday, so {I}'m over to {new}.
new_is: {My} new book is {new}.
put_aside: {I} put {old} aside and {am} reading {new}.

attribute: streaming
for: person
values: Netflix | Mubi | Disney Plus | Paramount Plus | Hulu | Crunchyroll
old: {I} pay{s} for {old}.
old: {My} only streaming subscription is {old}.
ask: Which streaming service {do} {I} have?
ask: What {do} {I} watch series on?
before: Which streaming service did {I} have before {new}?
cancelled: {I} cancelled {old} because of the price and got {new} for series.
switched: {I}'ve switched to {new} for watching series.
replaced: {new} has replaced {old} as {my} streaming service.
stopped: {I} stopped paying for {old}, {my} series come from {new}.
any_more: No {old} any more, {my} streaming subscription is {new}.
as_of: As of this month {my} streaming service is {new}.
ditched: {I} ditched {old} for {new}.
swapped: {I} swapped {my} {old} subscription for {new}.
traded_in: {I} traded {old} for {new}.
is_gone: {old} is gone, {I} watch{es} everything on {new}.
went_with: For streaming {I} went with {new} this year.

attribute: holiday
for: person
values: Sardinia | Norway | Crete | Scotland | Slovenia | Brittany | Madeira
old: {I}'m spending the summer holidays in {old}.
old: The summer trip {I} {have} booked is to {old}.
ask: Where {am} {I} going this summer?
ask: Where will {I} spend the summer holidays?
before: Where did {I} plan to spend the summer originally?
cancelled: {I} cancelled {old}, too hot; the summer holidays will be in {new}.
changed: Plans have changed: {my} summer trip is to {new}.
after_all: {I}'m going to {new} in summer after all.
instead_of: In summer {I} go{es} to {new} instead of {old}.
not_but: {My} summer trip won't be to {old} but to {new}.
turns_out: It turns out {my} summer trip is to {new}, the flights were cheaper.
actually: Actually {my} summer trip goes to {new}.
decided_against: {I} decided against {old}; {my} summer holidays will be in {new}.
settled_on: For the summer {I} finally settled on {new}.
ended_up: {I} ended up booking {new} for the summer.
scratch_that: Scratch that, {my} summer trip is going to {new}.
bailed: {I} bailed on {old} and booked {new} for the summer.

attribute: wedding
for: person
values: May 9 | May 30 | June 13 | July 4 | August 22 | September 5 | October 10
old: {My} wedding is on {old}.
old: {I}'m getting married on {old}.
ask: When is {my} wedding?
ask: On what day {am} {I} getting married?
before: What was the original date of {my} wedding?
postponed+: The venue double-booked, so {my} wedding is postponed to {new}.
moved: {My} wedding has moved from {old} to {new}.
changed: The registry office changed {my} wedding date to {new}.
no_longer: {My} wedding is no longer on {old}: save {new}.
as_of: As of today the date for {my} wedding is {new}.
correction: Small correction, {my} wedding is on {new}.
restated: {I}'m getting married on {new}.
slipped+: {My} wedding slipped to {new} because the florist was ill.
brought_forward-: {My} wedding has been brought forward to {new}.
make_that: About {my} wedding date, make that {new}.
pushed+: {My} wedding was pushed back to {new}.
rescheduled: {My} wedding has been rescheduled for {new}.

attribute: laptop
for: person
values: ThinkPad | MacBook | Framework | Dell XPS | Surface | Chromebook | ZenBook
old: {I} work{s} on a {old}.
old: {My} laptop is a {old}.
ask: What laptop {do} {I} have?
ask: Which computer {do} {I} work on?
before: What laptop did {I} have before the {new}?
upgraded: {I}'ve upgraded {my} laptop to a {new}.
replaced: The {old} died, IT replaced it with a {new}.
now: {My} laptop is a {new} now.
switched: {I} switched {my} laptop from the {old} to a {new}.
no_longer: The {old} is no longer {my} laptop. It's a {new}.
restated: {My} laptop is a {new}.
traded_in: {I} traded in the {old} for a {new}.
retired: {I}'ve retired the {old}, {my} laptop is a {new}.
new_is: {My} new laptop is a {new}.
got_rid: {I} got rid of the {old}; {my} laptop is a {new}.
swapped: {I} swapped {my} {old} for a {new}.

attribute: rent
for: person
values: 780 euros | 840 euros | 910 euros | 960 euros | 1,050 euros | 1,120 euros | 1,240 euros
old: {My} rent is {old} a month.
old: {I} pay{s} {old} in rent every month.
ask: How much rent {do} {I} pay?
ask: What does {my} flat cost a month?
before: How much rent did {I} pay originally?
changed: The landlord wrote that {my} rent changes to {new} a month.
cut-: After the mould business the landlord cut {my} rent to {new}.
from_to: {My} rent went from {old} to {new}.
now: {I} pay{s} {new} in rent now.
as_of: As of October {my} rent is {new}.
correction: Correction on {my} rent: it is {new} a month.
raised+: The landlord has raised {my} rent to {new}.
raised+: {My} rent is up from {old} to {new}.
effective: Effective next month {my} rent is {new}.
bumped+: {My} rent got bumped to {new}.
lowered-: {My} rent was lowered to {new}.

attribute: flatmate
for: person
values: Kevin | Matilda | Rohan | Agnes | Piotr | Suki | Lorenzo
old: {I} share{s} a flat with {old}.
old: {My} flatmate is {old}.
ask: Who {do} {I} live with?
ask: Who is {my} flatmate?
before: Who did {I} share the flat with before {new}?
moved: {old} moved out, and {new} moved in as {my} flatmate.
left: {old} has left; {new} is {my} flatmate.
replaced: {new} replaced {old} in the second bedroom as {my} flatmate.
no_longer: {old} no longer lives with {me}, {my} flatmate is {new}.
now: {I} share{s} the flat with {new} now.
restated: {My} flatmate is {new}.
since: {I}'ve been sharing the flat with {new} since September.
out_in: {old} is out, {new} is in as {my} flatmate.
used_to: {old} used to be {my} flatmate, that's {new} since the summer.
new_is: {My} new flatmate is {new}.

attribute: weekly_run
for: person
values: 10 km | 15 km | 20 km | 25 km | 30 km | 40 km
old: {I} run{s} {old} a week.
old: {My} weekly running distance is {old}.
ask: How far {do} {I} run in a week?
ask: What is {my} weekly running distance?
before: How far did {I} run each week before?
cut-: {My} knee hurts, so {I}'ve cut {my} running to {new} a week.
changed: {My} training plan changed to {new} of running a week.
now: {I} run{s} {new} a week now.
from_to: {My} weekly running went from {old} to {new}.
these_days: {My} weekly running distance is {new} these days.
no_longer: {I} no longer run{s} {old} a week but {new}.
raised+: {I}'ve raised {my} weekly running distance to {new}.
bumped+: {I} bumped {my} weekly running up to {new}.
down_to-: {I}'m down to {new} of running a week.
settled_on: {I}'ve settled on {new} of running a week.

attribute: email
for: person
values: quill@posteo.example | hello@fernbank.example | inbox@tarn.example | post@oakmill.example |
	mail@dunlin.example
old: {My} email address is {old}.
old: Mail for {me} goes to {old}.
ask: What is {my} email address?
before: What was {my} email address before?
changed: {My} email address has changed to {new}.
replaced: The address {new} replaces {old} as {my} email address.
instead_of: Please write to {me} at {new} instead of {old}.
stopped: The mailbox {old} stopped working; {my} email address is {new}.
no_longer: {I} no longer read{s} {old}, {my} email address is {new}.
correction: Correction: {my} email address is {new}.
is_gone: The mailbox {old} is gone, use {new} for email to {me}.
retired: The address {old} is retired. {My} email address is {new}.
effective: Effective immediately {my} email address is {new}.
new_is: {My} new email address is {new}.
typo: There was a typo in {my} email address, it is {new}.

attribute: studies
for: person
values: geology | nursing | law | architecture | linguistics | economics | zoology
old: {I} stud{ies} {old} at university.
old: {My} degree subject is {old}.
ask: What {do} {I} study?
ask: What is {my} subject at university?
before: What did {I} study before {new}?
switched: After two terms {I} switched from {old} to {new}.
changed: {I} changed {my} degree to {new}.
left: {I} left {old} behind, {my} subject at university is {new}.
gave_up: {I} gave up {old}; {my} degree subject is {new}.
started: {I} started a degree in {new} this autumn and quit {old}.
no_longer: {I} no longer stud{ies} {old} but {new}.
restated: {My} subject at university is {new}.
dropped: {I} dropped {old} for {new}.
went_with: {I} went with {new} as {my} degree in the end.
over_to: {I} transferred over to {new} at university.
quit: {I} quit {old} and stud{ies} {new}.
`
