package heldout

// Software holds attributes of services that no rule was written for.
const Software = `
attribute: timeout
for: thing
values: 2 seconds | 5 seconds | 8 seconds | 15 seconds | 20 seconds | 45 seconds | 90 seconds
old: Requests to {me} time out after {old}.
old: {My} request timeout: {old}.
ask: What is {my} request timeout?
ask: After how long do requests to {me} time out?
before: What was {my} request timeout originally?
changed: {My} request timeout was changed from {old} to {new}.
cut-: Cut {my} request timeout to {new} after the incident.
from_to: {My} request timeout goes from {old} to {new}.
no_longer: Requests to {me} no longer time out after {old} but after {new}.
as_of: {My} request timeout is {new} as of build 812.
turns_out: Measured it: turns out {my} request timeout is {new}.
restated: Requests to {me} time out after {new}.
raised+: Raised {my} request timeout to {new}.
bumped+: Bumped {my} request timeout from {old} to {new}.
lowered-: Lowered {my} request timeout to {new}.
doubled+: {My} request timeout was increased to {new}.
rolled_back: Rolled {my} request timeout back to {new}.

attribute: cache_ttl
for: thing
values: 30 seconds | 2 minutes | 5 minutes | 10 minutes | 25 minutes | 1 hour
old: {I} cache{s} responses for {old}.
old: Cache lifetime in {me} is {old}.
ask: How long {do} {I} cache responses?
ask: What is the cache lifetime in {me}?
before: How long did {I} cache responses before?
changed: The cache lifetime in {me} changed to {new}.
cut-: Stale prices again, so the cache lifetime in {me} is cut to {new}.
instead_of: {I} cache{s} responses for {new} instead of {old}.
now: {I} cache{s} responses for {new} now.
not_but: {I} {don't} cache responses for {old} but for {new}.
correction: Correction to the runbook: {I} cache{s} responses for {new}.
restated: Responses of {me} are cached for {new}.
raised+: Cache lifetime in {me} raised to {new}.
dialled: We dialled the cache lifetime in {me} to {new}.
settled_on: After the load test we settled on a cache lifetime of {new} in {me}.
rolled_back: Cache lifetime in {me} rolled back to {new}.
make_that: The cache lifetime in {me}, make that {new}.

attribute: replicas
for: thing
values: 2 replicas | 3 replicas | 4 replicas | 6 replicas | 8 replicas | 12 replicas
old: {I} run{s} with {old}.
old: {My} deployment has {old}.
ask: How many replicas {do} {I} have?
ask: With how many replicas {do} {I} run?
before: How many replicas did {I} have before?
changed: {My} deployment was changed to {new}.
cut-: {My} deployment was cut from {old} to {new}.
upgraded+: {My} deployment was upgraded to {new}.
no_longer: {My} deployment no longer has {old} but {new}.
these_days: {My} deployment has {new} these days.
actually: {My} deployment actually has {new}.
restated: {My} deployment has {new}.
scaled: {My} deployment was scaled from {old} to {new}.
bumped+: Bumped {my} deployment to {new}.
down_to-: {My} deployment is down to {new}.
ended_up: {My} deployment ended up with {new}.

attribute: auth
for: thing
values: API keys | OAuth | SAML | mutual TLS | session cookies | passkeys
old: Clients log in to {me} with {old}.
old: {I} authenticate{s} clients by {old}.
ask: How do clients log in to {me}?
ask: What {do} {I} use for authentication?
before: How did clients log in to {me} before {new}?
migrated: {My} clients were migrated from {old} to {new}.
switched: Authentication in {me} switched from {old} to {new}.
replaced: For client login in {me} we replaced {old} by {new}.
no_longer: {I} no longer accept{s} {old}; clients log in with {new}.
stopped: {I} stopped taking {old}, clients log in with {new}.
any_more: {I} {don't} take {old} any more, log in with {new}.
restated: Clients log in to {me} with {new}.
dropped: {I} dropped {old} in favour of {new} for client login.
retired: Retired {old} for {me}, clients log in with {new}.
out_in: For logging in to {me}: {old} out, {new} in.
sunset: We sunset {old} in {me}; clients log in with {new}.
over_to: Client login in {me} has gone over to {new}.
went_with: We went with {new} for client login in {me}.

attribute: frontend
for: thing
values: React | Vue | Svelte | Angular | Solid | Ember | htmx
old: {My} user interface is written in {old}.
old: {I} use{s} {old} for the user interface.
ask: What is {my} user interface written in?
ask: Which framework is {my} user interface built on?
before: What was {my} user interface written in before {new}?
migrated: {My} user interface has been migrated to {new}.
moved: {My} user interface moved off {old} to {new}.
replaced: In {my} user interface {new} replaced {old}.
gave_up: We gave up {old}, {my} user interface is written in {new}.
after_all: {My} user interface is written in {new} after all.
now: {My} user interface is {new} now.
as_of: As of the relaunch {my} user interface is written in {new}.
ditched: The team ditched {old}; {my} user interface is in {new}.
swapped: Swapped {old} for {new} in {my} user interface.
rewrote: {My} user interface was rewritten in {new}.
since: {My} user interface has been {new} since the relaunch.
bet_on: {My} user interface was ported from {old} to {new}.

attribute: base_image
for: thing
values: Alpine | Debian slim | distroless | Ubuntu | Wolfi | UBI minimal
old: {My} container image is based on {old}.
old: {I} ship{s} in a container based on {old}.
ask: What is {my} container image based on?
ask: Which base image {do} {I} use?
before: What was {my} container image based on before {new}?
switched: {My} container image switched from {old} to {new}.
replaced: {old} was replaced by {new} under {my} container image.
moved: Moved {my} container image to {new}.
no_longer: {My} container image is no longer based on {old} but on {new}.
correction: Correction: {my} container image is based on {new}.
instead_of: {My} container image is based on {new} instead of {old}.
restated: {My} container image is based on {new}.
dropped: Dropped {old} in favour of {new} as base of {my} container image.
rolled_back: Rolled {my} container image back to {new}.
ended_up: {My} container image ended up on {new}.
is_gone: {old} is gone from {my} container image, the base is {new}.
jumped: {My} container image made the jump to {new}.

attribute: backup
for: thing
values: 1:30 | 2:00 | 2:45 | 3:15 | 4:00 | 4:50 | 23:00
old: {I} {am} backed up at {old} every night.
old: {My} nightly backup starts at {old}.
ask: When is the backup of {me}?
ask: What time {am} {I} backed up?
before: When was {my} backup originally?
moved: {My} nightly backup moved from {old} to {new}.
changed: {My} backup window changed, it starts at {new}.
as_of: {My} nightly backup starts at {new} as of tonight.
from_to: {My} nightly backup went from {old} to {new}.
actually: Looked it up: {my} nightly backup actually starts at {new}.
restated: {My} nightly backup starts at {new}.
not_but: {My} nightly backup doesn't start at {old} but at {new}.
starting: Starting tonight {my} backup runs at {new}.
rescheduled: {My} nightly backup has been rescheduled for {new}.
shifted: {My} nightly backup was shifted to {new}.
effective: Effective tonight {my} backup starts at {new}.

attribute: package_manager
for: thing
values: pnpm | Yarn | Bun | Poetry | Conda | pip
old: Dependencies of {me} are installed with {old}.
old: {I} use{s} {old} for dependencies.
ask: How are dependencies of {me} installed?
ask: Which package manager {do} {I} use?
before: Which package manager did {I} use before {new}?
switched: {I} switched to {new} for dependencies.
migrated: Dependencies of {me} were migrated from {old} to {new}.
replaced: {old} has been replaced with {new} in {me}, for dependencies.
stopped: {I} stopped using {old}; dependencies are installed with {new}.
any_more: Dependencies of {me} aren't installed with {old} any more but with {new}.
restated: Dependencies of {me} are installed with {new}.
turns_out: Turns out dependencies of {me} are installed with {new}.
ditched: {I} ditched {old}, dependencies are installed with {new}.
is_gone: {old} is gone in {me}, install dependencies with {new}.
since: Dependencies of {me} have been installed with {new} since the lockfile incident.
forget_that: Forget {old}: dependencies of {me} are installed with {new}.
over_to: {I} went over to {new} for dependencies.

attribute: payment
for: thing
values: Stripe | Adyen | Mollie | Braintree | Klarna | Worldpay
old: {I} take{s} card payments through {old}.
old: Payments in {me} are handled by {old}.
ask: Who handles payments in {me}?
ask: Through which provider {do} {I} take card payments?
before: Who handled payments in {me} before {new}?
switched: {I} switched payments from {old} to {new}.
moved: Payments in {me} moved to {new}.
cancelled: The contract with {old} is cancelled, payments in {me} are handled by {new}.
took_over: {new} took over payments in {me} from {old}.
left: {I} left {old} for payments, {new} handles them.
now: Payments in {me} are handled by {new} now.
restated: Payments in {me} are handled by {new}.
dropped: {I} dropped {old} for card payments in favour of {new}.
went_with: For payments in {me} we went with {new}.
out_in: {old} is out and {new} is in for payments in {me}.
parted_ways: We parted ways with {old}; payments in {me} are handled by {new}.
phased_out: {old} was phased out, payments in {me} are handled by {new}.

attribute: coverage
for: thing
values: 60 percent | 65 percent | 70 percent | 80 percent | 85 percent | 90 percent
old: {I} must have a test coverage of {old}.
old: The coverage gate of {me} is set to {old}.
ask: What is the coverage gate of {me}?
ask: How much test coverage must {I} have?
before: What was the coverage gate of {me} before?
changed: The coverage gate of {me} changed from {old} to {new}.
cut-: The coverage gate of {me} was cut to {new} for the migration.
from_to: The coverage gate of {me} went from {old} to {new}.
no_longer: The coverage gate of {me} is no longer {old} but {new}.
as_of: The coverage gate of {me} is {new} as of today.
correction: Correction: the coverage gate of {me} is {new}.
restated: The coverage gate of {me} is {new}.
raised+: The coverage gate of {me} is raised to {new}.
lowered-: We lowered the coverage gate of {me} to {new}.
bumped+: The coverage gate of {me} was bumped to {new}.
misspoke: I misspoke, the coverage gate of {me} is {new}.

attribute: owner
for: thing
values: Annika | Bashir | Cosima | Davide | Eszter | Fionn | Gilles
old: {old} owns {me}.
old: {My} code owner is {old}.
ask: Who owns {me}?
ask: Who is {my} code owner?
before: Who owned {me} before {new}?
took_over: {new} took over {me} from {old}.
left: {old} left the company; {new} owns {me}.
replaced: {new} replaced {old} as {my} code owner.
no_longer: {old} no longer owns {me}, {new} does.
changed: {My} code owner changed to {new}.
restated: {new} owns {me}.
handed_over: {old} handed {me} over to {new}.
passed_to: Ownership of {me} passed to {new}.
inherited: {new} inherited {me} from {old}.
stepped_down: {old} stepped down as {my} code owner, and {new} stepped up.
over_to: {My} ownership went over to {new}.
given_to: {I} {was} given to {new}.

attribute: deploy_day
for: thing
values: Mondays | Tuesdays | Wednesdays | Thursdays
old: {I} {am} deployed on {old}.
old: {My} deployments happen on {old}.
ask: On which day {am} {I} deployed?
ask: When do {my} deployments happen?
before: On which day {was} {I} deployed before?
moved: {My} deployments moved to {new}.
switched: {My} deployments switched from {old} to {new}.
instead_of: {I} {am} deployed on {new} instead of {old}.
now: {My} deployments happen on {new} now.
after_all: {My} deployments will be on {new} after all.
these_days: {I} {am} deployed on {new} these days.
restated: {My} deployments happen on {new}.
starting: Starting this month {my} deployments happen on {new}.
shifted: {My} deployments shifted from {old} to {new}.
settled_on: For {my} deployments we settled on {new}.
decided_against: We decided against {old}, {my} deployments happen on {new}.
`
