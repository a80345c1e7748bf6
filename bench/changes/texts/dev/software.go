package dev

// Software holds attributes of services and of how they are run.
const Software = `
attribute: database
for: thing
values: Postgres | MySQL | MariaDB | CockroachDB | SQLite | MongoDB | DynamoDB
old: {I} store{s} its data in {old}.
old: {I} use{s} {old} as its database.
ask: Which database {do} {I} use?
ask: Where {do} {I} keep data?
before: Which database did {I} use before {new}?
before: What was {my} database originally?
migrated: {I} {have} been migrated from {old} to {new}.
migrated: We migrated {my} data to {new}.
moved: {I} moved from {old} to {new}.
switched: We switched {my} database to {new}.
replaced: We replaced {old} with {new} as {my} database.
no_longer: {I} no longer use{s} {old} but {new} as database.
any_more: {I} {don't} use {old} any more. The database is {new}.
instead_of: {I} use{s} {new} instead of {old}.
now: {I} store{s} data in {new} now.
after_all: {I} stay{s} on {new} as its database after all.
changed: {My} database changed from {old} to {new}.
actually: Actually, {my} database is {new}.
restated: {My} database is {new}.

attribute: version
for: thing
values: 2.1 | 2.4 | 3.0 | 3.2 | 4.1 | 4.5 | 5.0
old: {I} {am} at version {old}.
old: We run version {old} of {me}.
ask: Which version of {me} do we run?
ask: What is {my} current version?
before: Which version of {me} did we run before {new}?
before: What was {my} version previously?
upgraded+: We upgraded {me} to version {new}.
upgraded+: {I} {was} upgraded from {old} to {new}.
migrated+: We migrated {me} from version {old} to version {new}.
moved+: We moved {me} to version {new}.
replaced: Version {old} of {me} was replaced by {new}.
no_longer: {I} {am} no longer at version {old} but at {new}.
now: {I} {am} at version {new} now.
as_of: As of last night {I} run{s} version {new}.
from_to: {My} version went from {old} to {new}.
correction: Correction: {I} {am} at version {new}.
actually: Actually {I} run{s} version {new}.
restated: {I} {am} at version {new}.
turns_out: It turns out {I} {am} at version {new}.

attribute: port
for: thing
values: 8080 | 8443 | 9090 | 7070 | 5050 | 6060 | 3000 | 4000
old: {I} listen{s} on port {old}.
old: {My} port is {old}.
ask: Which port {do} {I} listen on?
ask: What port is used by {me}?
before: Which port did {I} listen on originally?
before: What was {my} port before {new}?
changed: {My} port changed from {old} to {new}.
changed: We changed {my} port to {new}.
moved: {I} moved to port {new}.
switched: We switched {me} from port {old} to port {new}.
no_longer: {I} no longer listen{s} on port {old} but on {new}.
any_more: {I} {don't} listen on {old} any more, {my} port is {new}.
now: {I} listen{s} on port {new} now.
not_but: {I} {don't} listen on port {old} but on port {new}.
correction: Correction: {my} port is {new}.
actually: Actually {I} listen{s} on port {new}.
instead_of: {I} use{s} port {new} instead of {old}.
as_of: As of the last release {my} port is {new}.
restated: {My} port is {new}.

attribute: ci
for: thing
values: Jenkins | GitHub Actions | CircleCI | Buildkite | Travis | Drone | TeamCity
old: {I} {am} built with {old}.
old: {My} CI runs on {old}.
ask: Which CI system builds {me}?
ask: What {am} {I} built with?
before: What built {me} before {new}?
before: Which CI system did we use for {me} before {new}?
migrated: We migrated {my} CI from {old} to {new}.
migrated: {My} CI has been migrated to {new}.
moved: We moved {my} CI to {new}.
switched: We switched {my} builds from {old} to {new}.
replaced: We replaced {old} with {new} for {my} CI.
no_longer: {I} {am} no longer built with {old} but with {new}.
stopped: We stopped building {me} with {old} and use {new}.
any_more: {My} CI isn't on {old} any more, it's on {new}.
gave_up: We gave up on {old} and build {me} with {new}.
now: {My} CI runs on {new} now.
these_days: These days {I} {am} built with {new}.
after_all: We build {me} with {new} after all.
restated: {My} CI runs on {new}.

attribute: region
for: thing
values: eu-west-1 | us-east-2 | Frankfurt | ap-south-1 | Dublin | us-west-1 | Stockholm
old: {I} {am} deployed in {old}.
old: {I} run{s} in the region {old}.
ask: Which region {am} {I} deployed in?
ask: Where {am} {I} hosted?
before: Which region {was} {I} deployed in before {new}?
before: Where {was} {I} hosted originally?
migrated: We migrated {me} from {old} to {new}.
moved: We moved {me} to {new}.
moved: {I} moved from {old} to {new}.
switched: We switched {my} region to {new}.
no_longer: {I} {am} no longer deployed in {old} but in {new}.
any_more: {I} {don't} run in {old} any more, {I} {am} in {new}.
now: {I} run{s} in {new} now.
as_of: As of Tuesday {I} {am} deployed in {new}.
changed: {My} region changed to {new}.
instead_of: {I} run{s} in {new} instead of {old}.
correction: Correction: {I} {am} deployed in {new}, not in {old}.
restated: {I} run{s} in the region {new}.

attribute: branch_policy
for: thing
values: squash merges | merge commits | rebase merges | fast-forward merges
old: Changes to {me} are merged with {old}.
old: {My} branch policy is {old}.
ask: How are changes to {me} merged?
ask: What is {my} branch policy?
before: How were changes to {me} merged before?
changed: {My} branch policy changed from {old} to {new}.
switched: We switched {me} to {new} as branch policy.
no_longer: Changes to {me} are no longer merged with {old} but with {new}.
instead_of: {My} branch policy is {new} instead of {old}.
any_more: We don't allow {old} for {me} any more, the branch policy is {new}.
now: {My} branch policy is {new} now.
as_of: As of today {my} branch policy is {new}.
stopped: We stopped using {old} for {me}; the policy is {new}.
replaced: We replaced {old} by {new} as {my} branch policy.
restated: {My} branch policy is {new}.
after_all: {My} branch policy is {new} after all.

attribute: rate_limit
for: thing
values: 50 requests per second | 100 requests per second | 200 requests per second | 400 requests per second | 1000
	requests per second
old: {My} rate limit is {old}.
old: {I} allow{s} {old} for each client.
ask: What is {my} rate limit?
ask: How many requests per second {do} {I} allow?
before: What was {my} rate limit originally?
before: What was {my} rate limit before it was changed?
changed: {My} rate limit changed to {new}.
cut-: We cut {my} rate limit to {new}.
cut-: {My} rate limit was cut from {old} to {new}.
upgraded+: {My} rate limit was upgraded to {new}.
from_to: {My} rate limit went from {old} to {new}.
no_longer: {My} rate limit is no longer {old}. It is {new}.
now: {My} rate limit is {new} now.
as_of: As of the new plan {my} rate limit is {new}.
correction: Correction: {my} rate limit is {new}.
actually: Actually, {I} allow{s} {new}.
turns_out: It turns out {my} rate limit is {new}.
not_but: {My} rate limit is not {old} but {new}.
restated: {My} rate limit is {new}.

attribute: message_bus
for: thing
values: Kafka | RabbitMQ | NATS | Pulsar | Kinesis | ActiveMQ | Redis Streams
old: {I} publish{es} its events to {old}.
old: {I} use{s} {old} as message bus.
ask: Which message bus {do} {I} use?
ask: Where {do} {I} publish events?
before: Which message bus did {I} use before {new}?
before: Where did {I} publish events previously?
migrated: We migrated {me} from {old} to {new} for events.
switched: {I} switched from {old} to {new} as message bus.
replaced: We replaced {old} with {new} for {my} events.
moved: {My} events moved to {new}.
no_longer: {I} no longer publish{es} to {old} but to {new}.
any_more: {I} {don't} use {old} as message bus any more, {I} use{s} {new}.
instead_of: {I} publish{es} its events to {new} instead of {old}.
gave_up: We gave up {old}; {I} publish{es} its events to {new}.
now: {My} message bus is {new} now.
after_all: {My} message bus is {new} after all.
stopped: {I} stopped publishing to {old} and started publishing to {new}.
restated: {My} message bus is {new}.

attribute: repository
for: thing
values: GitHub | GitLab | Bitbucket | Gitea | Codeberg | Azure Repos
old: {My} code is on {old}.
old: {My} repository is hosted on {old}.
ask: Where is {my} repository hosted?
ask: Where do I find {my} code?
before: Where was {my} repository before {new}?
before: Where was {my} code hosted previously?
moved: {My} repository moved from {old} to {new}.
migrated: We migrated {my} repository to {new}.
switched: We switched {my} code hosting from {old} to {new}.
no_longer: {My} code is no longer on {old} but on {new}.
any_more: {My} code isn't on {old} any more. It's on {new}.
left: {My} code left {old} and is on {new}.
now: {My} repository is on {new} now.
these_days: {My} repository is on {new} these days.
instead_of: {My} code is on {new} instead of {old}.
correction: Correction: {my} code is on {new}.
actually: Actually {my} repository is hosted on {new}.
restated: {My} code is hosted on {new}.

attribute: flag
for: thing
values: enabled | disabled
old: The feature flag for dark mode is {old} in {me}.
ask: Is the dark mode flag on or off in {me}?
ask: What is the state of the dark mode flag in {me}?
changed: The dark mode flag changed from {old} to {new} in {me}.
switched: The dark mode flag was switched from {old} to {new} in {me}.
now: The dark mode flag is {new} in {me} now.
no_longer: The dark mode flag is no longer {old} in {me}, it is {new}.
any_more: The dark mode flag isn't {old} in {me} any more.
as_of: As of this release the dark mode flag is {new} in {me}.
correction: Correction: the dark mode flag is {new} in {me}.
turns_out: It turns out the dark mode flag is {new} in {me}.
actually: Actually the dark mode flag is {new} in {me}.
restated: The dark mode flag is {new} in {me}.

attribute: retention
for: thing
values: 7 days | 14 days | 30 days | 60 days | 90 days | 180 days
old: {I} keep{s} its logs for {old}.
old: {My} log retention is {old}.
ask: How long {do} {I} keep logs?
ask: What is {my} log retention?
before: How long did {I} keep logs before?
before: What was {my} log retention originally?
changed: {My} log retention changed from {old} to {new}.
cut-: We cut {my} log retention to {new}.
cut-: {My} log retention was cut from {old} to {new}.
from_to: {My} log retention went from {old} to {new}.
upgraded+: {My} log retention was upgraded to {new}.
no_longer: {I} no longer keep{s} logs for {old} but for {new}.
instead_of: {I} keep{s} logs for {new} instead of {old}.
now: {I} keep{s} its logs for {new} now.
as_of: As of this month {my} log retention is {new}.
correction: Correction: {my} log retention is {new}.
not_but: {My} log retention is not {old} but {new}.
restated: {My} log retention is {new}.
`
