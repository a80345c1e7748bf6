package dev

// Teams holds attributes of teams and projects.
const Teams = `
attribute: standup
for: team
values: 8:45 | 9:00 | 9:15 | 9:30 | 9:45 | 10:00 | 10:15 | 10:30
old: {My} standup is at {old}.
old: {I} hold{s} the daily standup at {old}.
ask: When is {my} standup?
ask: What time does {my} daily standup start?
before: When was {my} standup before it was at {new}?
before: What time was {my} standup originally?
moved: {My} standup moved to {new}.
moved: {My} standup moved from {old} to {new}.
changed: {My} standup time changed to {new}.
postponed+: {My} standup was postponed from {old} to {new}, and that is permanent.
as_of: As of Monday {my} standup is at {new}.
no_longer: {My} standup is no longer at {old} but at {new}.
now: {My} standup is at {new} now.
instead_of: {My} standup is at {new} instead of {old}.
correction: Correction: {my} standup is at {new}.
actually: Actually, {my} standup starts at {new}.
not_but: {My} standup is not at {old} but at {new}.
from_to: {My} standup went from {old} to {new}.
restated: {My} standup is at {new}.
cancelled: {I} hold{s} a planning meeting every Monday. || {My} Monday planning meeting is cancelled for good.
	|| {Do} {I} still have a planning meeting on Mondays?

attribute: on_call
for: team
values: Priya | Marco | Yuki | Anton | Beatriz | Kofi | Selma | Dmitri
old: {old} is on call for {my} services.
old: {My} on-call engineer is {old}.
ask: Who is on call for {my} services?
ask: Whom should I page when one of {my} services breaks at night?
before: Who was on call for {my} services before {new}?
took_over: {new} took over on-call duty for {my} services from {old}.
took_over: {new} has taken over the on-call rotation of {my} services.
replaced: {new} replaced {old} as {my} on-call engineer.
now: {new} is on call for {my} services now.
no_longer: {old} is no longer on call for {my} services, {new} is.
as_of: As of this morning {new} is on call for {my} services.
instead_of: {new} is on call for {my} services instead of {old}.
correction: Correction: {new} is on call for {my} services.
these_days: These days {new} is on call for {my} services.
changed: {My} on-call engineer changed from {old} to {new}.
switched: {My} on-call duty switched from {old} to {new}.
restated: {new} is on call for {my} services.
after_all: {new} is on call for {my} services after all.

attribute: launch
for: team
values: April 3 | April 24 | May 3 | May 19 | June 10 | June 28 | July 15 | August 2
old: {My} launch is planned for {old}.
old: {I} launch{es} on {old}.
ask: When {do} {I} launch?
ask: What is {my} launch date?
before: When was {my} launch planned originally?
before: What was {my} launch date before {new}?
postponed+: {My} launch is postponed to {new}.
postponed+: {My} launch was postponed from {old} to {new}.
moved: {My} launch moved to {new}.
changed: {My} launch date changed from {old} to {new}.
now: {My} launch is planned for {new} now.
no_longer: {My} launch is no longer on {old}. It is on {new}.
not_but: {I} {don't} launch on {old} but on {new}.
after_all: {I} launch{es} on {new} after all.
turns_out: It turns out {my} launch has to be on {new}.
correction: Correction: {my} launch date is {new}.
instead_of: {I} launch{es} on {new} instead of {old}.
from_to: {My} launch date went from {old} to {new}.
as_of: As of the last review {my} launch date is {new}.
restated: {My} launch is on {new}.

attribute: sprint
for: team
values: one week | two weeks | three weeks | four weeks | six weeks
old: {My} sprints last {old}.
old: {My} sprint length is {old}.
ask: How long are {my} sprints?
ask: How long does one of {my} sprints last?
before: How long were {my} sprints before?
before: What was {my} sprint length originally?
changed: {I} changed {my} sprint length from {old} to {new}.
cut-: {I} cut {my} sprints from {old} to {new}.
cut-: {My} sprints were cut to {new}.
switched: {I} switched to sprints of {new}.
moved: {I} moved from {old} to {new} for {my} sprints.
now: {My} sprints last {new} now.
as_of: As of the next quarter {my} sprints last {new}.
instead_of: {My} sprints last {new} instead of {old}.
no_longer: {My} sprints no longer last {old} but {new}.
these_days: {My} sprints take {new} these days.
restated: {My} sprint length is {new}.
actually: Actually {my} sprints last {new}.

attribute: room
for: team
values: Everest | Kilimanjaro | Fuji | Matterhorn | Olympus | Elbrus | Denali
old: {My} weekly meeting takes place in room {old}.
ask: Which room is {my} weekly meeting in?
ask: Where does {my} weekly meeting take place?
before: Which room was {my} weekly meeting in before {new}?
moved: {My} weekly meeting moved from room {old} to room {new}.
moved: {My} weekly meeting has been moved to {new}.
changed: The room of {my} weekly meeting changed to {new}.
now: {My} weekly meeting is in room {new} now.
no_longer: {My} weekly meeting is no longer in {old}; it takes place in {new}.
instead_of: {My} weekly meeting is in {new} instead of {old}.
not_but: {My} weekly meeting is not in {old} but in {new}.
correction: Correction: {my} weekly meeting is in room {new}.
as_of: As of Thursday {my} weekly meeting takes place in {new}.
switched: {My} weekly meeting switched from {old} to {new}.
restated: {My} weekly meeting is in room {new}.
turns_out: It turns out {my} weekly meeting is in room {new}.

attribute: budget
for: team
values: 12,000 euros | 18,000 euros | 25,000 euros | 32,000 euros | 40,000 euros | 55,000 euros | 60,000 euros
old: {My} budget for this year is {old}.
ask: How much is {my} budget this year?
ask: How much money may {I} spend this year?
before: What was {my} budget originally?
before: How high was {my} budget before it was {new}?
cut-: {My} budget for this year was cut to {new}.
cut-: {My} budget was cut from {old} to {new}.
changed: {My} budget for this year changed to {new}.
from_to: {My} budget for this year went from {old} to {new}.
now: {My} budget for this year is {new} now.
no_longer: {My} budget for this year is no longer {old}. It is {new}.
correction: Correction: {my} budget for this year is {new}, not {old}.
actually: Actually, {my} budget for this year is {new}.
turns_out: It turns out {my} budget for this year is {new}.
instead_of: {My} budget for this year is {new} instead of {old}.
not_but: {My} budget for this year is not {old} but {new}.
after_all: {My} budget for this year is {new} after all.
restated: {My} budget for this year is {new}.

attribute: manager
for: team
values: Helena | Victor | Amira | Stefan | Grace | Oleg | Camille | Rajesh
old: {My} manager is {old}.
old: {old} manages {me}.
ask: Who is {my} manager?
ask: Who is in charge of {me}?
before: Who was {my} manager before {new}?
before: Who managed {me} previously?
took_over: {new} took over from {old} as {my} manager.
took_over: {new} took over as {my} manager.
left: {old} left and {new} is {my} manager.
replaced: {new} replaced {old} as {my} manager.
now: {My} manager is {new} now.
no_longer: {old} is no longer {my} manager, {new} is.
any_more: {old} isn't {my} manager any more. It's {new}.
as_of: As of the first of the month {my} manager is {new}.
changed: {My} manager changed from {old} to {new}.
started: {new} started as {my} manager.
correction: Correction: {my} manager is {new}.
restated: {My} manager is {new}.
after_all: {My} manager will be {new} after all.

attribute: tracker
for: team
values: Jira | Linear | Trello | Asana | YouTrack | Shortcut | Redmine
old: {I} track{s} {my} tickets in {old}.
old: {My} tickets are in {old}.
ask: Where {do} {I} track tickets?
ask: Which issue tracker {do} {I} use?
before: Which issue tracker did {I} use before {new}?
before: Where were {my} tickets previously?
switched: {I} switched from {old} to {new} for {my} tickets.
migrated: {I} migrated {my} tickets from {old} to {new}.
migrated: {My} tickets have been migrated to {new}.
moved: {I} moved {my} tickets to {new}.
replaced: {I} replaced {old} with {new} as {my} issue tracker.
no_longer: {My} tickets are no longer in {old} but in {new}.
any_more: {I} {don't} use {old} for tickets any more, {my} tickets are in {new}.
stopped: {I} stopped using {old} for {my} tickets and started using {new}.
gave_up: {I} gave up on {old}, {my} tickets are in {new}.
now: {My} tickets are in {new} now.
after_all: {My} tickets go to {new} after all.
restated: {My} tickets are in {new}.
these_days: {My} tickets live in {new} these days.

attribute: chat
for: team
values: Slack | Teams | Zulip | Mattermost | Discord | Rocket.Chat
old: {My} chat tool is {old}.
old: {I} chat{s} on {old}.
ask: Which chat tool {do} {I} use?
ask: Where {do} {I} write messages to each other?
before: Which chat tool did {I} use before {new}?
switched: {I} switched from {old} to {new} for chat.
migrated: {I} migrated from {old} to {new} for chat.
moved: {I} moved {my} chat to {new}.
replaced: {My} chat tool {old} was replaced by {new}.
no_longer: {I} no longer chat{s} on {old} but on {new}.
any_more: {I} {don't} use {old} any more for chat, {I} use{s} {new}.
stopped: {I} stopped chatting on {old} and use{s} {new}.
now: {I} chat{s} on {new} now.
as_of: As of Monday {my} chat tool is {new}.
cancelled: {I} cancelled {old}; {my} chat tool is {new}.
restated: {My} chat tool is {new}.
turns_out: It turns out {my} chat tool will be {new}.
instead_of: {I} chat{s} on {new} instead of {old}.
`
