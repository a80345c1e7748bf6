package third

// Work holds attributes of teams, projects, products and systems, and changes told once, in plain words.
const Work = `
attribute: scrum_master
for: team
values: Nadia | Oliver | Femi | Ingrid | Tomasz | Leila | Ruben | Hannah
old: {old} is {my} scrum master.
old: {My} scrum master is {old}.
ask: Who is {my} scrum master?
ask: Who is the scrum master for {me}?
ask: Who runs {my} scrum ceremonies?
before: Who was {my} scrum master before {new}?
before: Who was {my} previous scrum master?
took_over: {new} took over as {my} scrum master from {old}.
replaced: {new} has replaced {old} as {my} scrum master.
left: {old} left the company. {new} is {my} scrum master.
now: {My} scrum master is now {new}.
no_longer: {old} is no longer {my} scrum master. It's {new}.
any_more: {old} isn't {my} scrum master any more, {new} is.
as_of: As of Monday, {new} is {my} scrum master.
changed: {My} scrum master changed from {old} to {new}.
correction: Correction: {my} scrum master is {new}, not {old}.
restated: {My} scrum master is {new}.

attribute: designer
for: team
values: Camille | Jonas | Aiko | Pedro | Zeynep | Martin | Olga | Hugo
old: {old} is the designer for {my} project.
old: {old} does the UI design for {me}.
ask: Who is {my} designer?
ask: Who does the design work for {me}?
ask: Who should I ask about {my} mockups?
before: Who was {my} designer before {new}?
before: Who did {my} design work previously?
took_over: {new} took over {my} design work from {old}.
replaced: {old} was replaced by {new} as {my} designer.
left: {old} has left, so {new} is {my} designer.
joined: {new} joined as {my} designer in place of {old}.
now: {new} does {my} design work now.
instead_of: {new} is doing {my} UI design instead of {old}.
these_days: These days {new} is {my} designer.
from_now_on: From now on {new} is {my} designer.
actually: Actually, {my} designer is {new}.
restated: {new} is {my} designer.

attribute: demo
for: team
values: Monday morning | Tuesday afternoon | Wednesday morning | Wednesday afternoon | Thursday morning
	| Thursday afternoon | Friday morning | Friday afternoon
old: {My} demo for stakeholders is on {old}.
old: {I} demo{s} new features to stakeholders every {old}.
ask: When is {my} demo?
ask: When {do} {I} show new features to stakeholders?
ask: When in the week is {my} stakeholder demo?
before: When was {my} demo before?
before: When was {my} demo before it was on {new}?
moved: {My} demo was moved from {old} to {new}.
changed: We changed {my} demo slot, it's on {new}.
switched: {I} switched {my} demo to {new}.
no_longer: {My} demo is no longer on {old}. It's on {new}.
now: {My} stakeholder demo is now on {new}.
as_of: As of next week, {my} demo is on {new}.
from_to: {My} demo goes from {old} to {new}.
instead_of: {I} hold{s} {my} stakeholder demos on {new} instead of {old}.
not_but: {My} demo isn't on {old} but on {new}.
cancelled: {I} {have} a rehearsal the day before every demo. || {My} demo rehearsals are cancelled for good.
	|| {Do} {I} still rehearse before a demo?

attribute: video_calls
for: team
values: Zoom | Microsoft Teams | Google Meet | Webex | Jitsi | Whereby | GoTo Meeting
old: {I} use{s} {old} for video calls.
old: {My} video calls are on {old}.
ask: What {do} {I} use for video calls?
ask: Which tool do I need for {my} video meetings?
ask: Where do {my} remote meetings take place?
before: What did {I} use for video calls before {new}?
before: Which video call tool did {I} have previously?
moved: {I} moved {my} video calls to {new}.
switched: {I} switched from {old} to {new} for video calls.
replaced: {I} replaced {old} with {new} for video calls.
migrated: {I} migrated from {old} to {new} for all calls.
any_more: {I} {don't} use {old} for video calls any more, {I} use{s} {new}.
now: {I} use{s} {new} for video calls now.
decided_on: {I} decided on {new} for video calls.
stopped: {I} stopped using {old} for video calls. Now it's {new}.
turns_out: It turns out {my} video calls are on {new}.
restated: {My} video calls are on {new}.

attribute: crm
for: team
values: Salesforce | HubSpot | Pipedrive | Zoho | Dynamics | SugarCRM | Copper | Freshsales
old: {I} track{s} {my} leads in {old}.
old: {My} CRM is {old}.
ask: Which CRM {do} {I} use?
ask: Where {do} {I} track leads?
ask: In which system do I find {my} sales contacts?
before: Which CRM did {I} use before {new}?
before: What was {my} previous CRM?
migrated: {I} migrated {my} leads from {old} to {new}.
moved: {I} moved to {new} as {my} CRM.
switched: {I} {have} switched CRMs, from {old} to {new}.
replaced: {old} was replaced by {new} as {my} CRM.
no_longer: {I} no longer use{s} {old} for leads, {I} use{s} {new}.
instead_of: {I} track{s} leads in {new} instead of {old}.
as_of: As of July {my} CRM is {new}.
decided_on: After the trial {I} decided on {new} as {my} CRM.
correction: Correction: {my} CRM is {new}.
these_days: {I} keep{s} {my} leads in {new} these days.

attribute: reply_time
for: team
values: 1 hour | 2 hours | 4 hours | 8 hours | 12 hours | 24 hours | 36 hours | 48 hours
old: {I} answer{s} support tickets within {old}.
old: {My} response time for support tickets is {old}.
ask: How fast {do} {I} answer support tickets?
ask: What is {my} response time for support tickets?
ask: How long may a customer have to wait for {my} first reply?
before: What was {my} response time for tickets before?
before: How fast did {I} have to answer tickets before it was {new}?
changed: {My} response time for support tickets changed from {old} to {new}.
cut-: {I} cut {my} response time for tickets from {old} to {new}.
increased+: {My} response time for support tickets was increased to {new}.
reduced-: {My} ticket response time was reduced to {new}.
went_up+: {My} response time for tickets went up from {old} to {new}.
now: {My} response time for tickets is {new} now.
no_longer: {My} response time for tickets is no longer {old}, it's {new}.
as_of: As of this quarter {I} answer{s} tickets within {new}.
actually: Actually, {my} response time for tickets is {new}.
restated: {I} answer{s} support tickets within {new}.

attribute: audit_date
for: team
values: March 4 | March 18 | April 8 | May 6 | June 3 | September 9 | October 14 | November 11
old: {My} security audit is on {old}.
old: The auditors visit {me} on {old}.
ask: When is {my} security audit?
ask: When do the auditors come to {me}?
ask: What is the date of {my} audit?
before: When was {my} audit planned at first?
before: What was {my} audit date before {new}?
postponed+: {My} security audit is postponed to {new}.
moved: {My} audit was moved from {old} to {new}.
changed: {My} audit date changed to {new}.
later+: {My} audit is later than planned, on {new} and not on {old}.
sooner-: {My} audit is sooner than planned, on {new}.
now: {My} security audit is now on {new}.
no_longer: {My} audit is no longer on {old}, it is on {new}.
instead_of: The auditors come to {me} on {new} instead of {old}.
not_but: {My} audit is not on {old} but on {new}.
restated: {My} security audit is on {new}.

attribute: dashboards
for: team
values: Grafana | Kibana | Power BI | Tableau | Looker | Metabase | Superset | Redash
old: {I} build{s} {my} dashboards in {old}.
old: {My} dashboards are in {old}.
ask: Where are {my} dashboards?
ask: Which tool {do} {I} use for dashboards?
ask: Where can I see {my} numbers as charts?
before: Where were {my} dashboards before {new}?
before: Which dashboard tool did {I} use previously?
migrated: {My} dashboards were migrated from {old} to {new}.
moved: {I} moved all {my} dashboards to {new}.
switched: {I} switched {my} dashboards over from {old}. They're in {new}.
replaced: {I} replaced {old} by {new} for {my} dashboards.
any_more: {My} dashboards aren't in {old} any more, they're in {new}.
now: {My} dashboards are now in {new}.
instead_of: {I} build{s} dashboards in {new} instead of {old}.
as_of: As of today {my} dashboards are in {new}.
turns_out: Turns out {my} dashboards are in {new}, not in {old}.
after_all: {I} build{s} {my} dashboards in {new} after all.

attribute: translators
for: team
values: Lingua Plus | TransPerfect | Lionbridge | Wordbank | Textmaster | Polyglot Partners | Supertext
old: {My} texts are translated by {old}.
old: {I} work{s} with {old} for translations.
ask: Who translates {my} texts?
ask: Which translation agency {do} {I} work with?
ask: Where {do} {I} send texts for translation?
before: Who translated {my} texts before {new}?
before: Which translation agency did {I} work with previously?
switched: {I} switched translation agencies and work{s} with {new}.
changed: {My} translation agency changed from {old} to {new}.
replaced: {I} replaced {old} with {new} as {my} translation agency.
no_longer: {I} no longer work{s} with {old} for translations but with {new}.
took_over: {new} took over {my} translations from {old}.
now: {new} translates {my} texts now.
decided_on: {I} decided on {new} for {my} translations.
stopped: {I} stopped working with {old}. {new} does {my} translations.
actually: Actually it's {new} that translates {my} texts.
restated: {My} translation agency is {new}.

attribute: cloud
for: thing
values: AWS | Azure | Google Cloud | Hetzner | OVH | DigitalOcean | IBM Cloud | Scaleway
old: {I} {am} hosted on {old}.
old: We host {me} on {old}.
ask: Where {am} {I} hosted?
ask: Which cloud provider do we use for {me}?
ask: On which cloud {do} {I} run?
before: Where {was} {I} hosted before {new}?
before: Which cloud did {I} run on previously?
migrated: We migrated {me} from {old} to {new}.
moved: We moved {me} to {new}.
switched: We switched {my} hosting to {new}.
no_longer: {I} no longer run{s} on {old} but on {new}.
any_more: {I} {isn't} hosted on {old} any more. It's on {new}.
now: {I} {am} now hosted on {new}.
as_of: As of last weekend {I} run{s} on {new}.
from_to: {My} hosting went from {old} to {new}.
correction: Correction: {I} {am} hosted on {new}.
restated: {I} {am} hosted on {new}.

attribute: crash_reports
for: thing
values: Sentry | Rollbar | Bugsnag | Airbrake | Raygun | Honeybadger | Crashlytics | Glitchtip
old: {My} errors are reported to {old}.
old: We use {old} for error tracking in {me}.
ask: Where are {my} errors reported?
ask: What do we use for error tracking in {me}?
ask: Where do I find {my} stack traces?
before: What did we use for {my} error tracking before {new}?
before: Where were {my} errors reported before?
replaced: We replaced {old} with {new} for {my} error tracking.
switched: We switched {my} error tracking from {old} to {new}.
moved: {My} error tracking moved to {new}.
migrated: {My} error tracking was migrated to {new}.
any_more: {My} errors don't go to {old} any more, they go to {new}.
instead_of: {I} report{s} errors to {new} instead of {old}.
now: {My} errors are reported to {new} now.
these_days: These days {my} errors go to {new}.
not_but: {My} errors are not reported to {old} but to {new}.
stopped: {My} errors trigger an email to all developers. || We stopped sending emails for {my} errors.
	|| Do all developers get an email when {I} {have} an error?

attribute: browser_tests
for: thing
values: Cypress | Playwright | Selenium | Puppeteer | TestCafe | WebdriverIO | Nightwatch
old: {My} end-to-end tests are written in {old}.
old: We test {me} end to end with {old}.
ask: What are {my} end-to-end tests written in?
ask: Which tool do we use for {my} end-to-end tests?
ask: How do we test {me} end to end?
before: What were {my} end-to-end tests written in before {new}?
before: Which end-to-end test tool did we use for {me} previously?
migrated: We migrated {my} end-to-end tests from {old} to {new}.
replaced: {old} was replaced with {new} in {my} end-to-end tests.
switched: We switched to {new} for {my} end-to-end tests.
moved: {My} end-to-end tests were moved from {old} to {new}.
no_longer: {My} end-to-end tests no longer use {old}, they use {new}.
now: {My} end-to-end tests use {new} now.
instead_of: {My} end-to-end tests run with {new} instead of {old}.
decided_on: We decided on {new} for {my} end-to-end tests.
turns_out: It turns out {my} end-to-end tests are written in {new}.
restated: We test {me} end to end with {new}.

attribute: search_backend
for: thing
values: Elasticsearch | Solr | OpenSearch | Meilisearch | Typesense | Algolia | Sphinx
old: {I} use{s} {old} for search.
old: {My} full-text search runs on {old}.
ask: What {do} {I} use for search?
ask: Which search engine is behind {me}?
ask: What does {my} full-text search run on?
before: What did {I} use for search before {new}?
before: Which search engine was behind {me} previously?
migrated: {My} search was migrated from {old} to {new}.
replaced: We replaced {my} {old} cluster with {new}.
switched: {I} switched from {old} to {new} for search.
moved: We moved {my} search index to {new}.
any_more: {I} {don't} use {old} for search any more, only {new}.
no_longer: {My} search no longer runs on {old}, it runs on {new}.
now: {I} use{s} {new} for search now.
as_of: As of this release {my} search runs on {new}.
after_all: {I} use{s} {new} for search after all.
actually: Actually {my} search runs on {new}.

attribute: mail_sender
for: thing
values: SendGrid | Mailgun | Postmark | Amazon SES | Mailjet | SparkPost | Brevo | Resend
old: {I} send{s} emails through {old}.
old: {My} outgoing emails go through {old}.
ask: Which service {do} {I} send emails through?
ask: What do we use for {my} outgoing emails?
ask: How are {my} confirmation emails delivered?
before: What did {I} send emails through before {new}?
before: Which email service did {I} use previously?
switched: We switched {my} outgoing emails to {new}.
moved: {My} outgoing emails moved from {old} to {new}.
changed: We changed {my} email service from {old} to {new}.
replaced: {new} replaced {old} for {my} emails.
no_longer: {I} no longer send{s} emails through {old} but through {new}.
instead_of: {I} send{s} emails through {new} instead of {old}.
now: {My} emails are sent through {new} now.
as_of: As of Tuesday {my} emails go through {new}.
correction: Correction: {my} emails go through {new}, not {old}.
restated: {I} send{s} emails through {new}.

attribute: memory
for: thing
values: 512 MB | 1 GB | 2 GB | 4 GB | 8 GB | 16 GB | 32 GB | 64 GB
old: {I} {have} {old} of memory.
old: {My} memory limit is {old}.
ask: How much memory {do} {I} have?
ask: What is {my} memory limit?
ask: How much RAM {do} {I} get?
before: How much memory did {I} have before {new}?
before: What was {my} memory limit previously?
upgraded+: We upgraded {me} from {old} to {new} of memory.
increased+: {My} memory limit was increased to {new}.
cut-: {My} memory was cut from {old} to {new}.
reduced-: We reduced {my} memory limit to {new}.
went_up+: {My} memory limit went up from {old} to {new}.
changed: We changed {my} memory limit from {old} to {new}.
now: {I} {have} {new} of memory now.
no_longer: {My} memory limit is no longer {old}, it's {new}.
actually: Actually, {my} memory limit is {new}.
restated: {My} memory limit is {new}.

attribute: trial_length
for: thing
values: 7 days | 10 days | 14 days | 21 days | 30 days | 45 days | 60 days | 90 days
old: New customers can try {me} for {old}.
old: {My} free trial lasts {old}.
ask: How long is {my} free trial?
ask: For how long can new customers try {me} for free?
ask: When does {my} free trial end for someone who signs up?
before: How long was {my} free trial before?
before: How long was {my} free trial before we made it {new}?
changed: {My} free trial changed from {old} to {new}.
cut-: We cut {my} free trial to {new}.
increased+: {My} free trial was increased from {old} to {new}.
upped+: We upped {my} free trial to {new}.
reduced-: {My} free trial is reduced from {old} to {new}.
now: {My} free trial lasts {new} now.
instead_of: {My} free trial lasts {new} instead of {old}.
as_of: As of May 1 {my} free trial is {new}.
not_but: {My} free trial doesn't last {old} but {new}.
restated: {My} free trial lasts {new}.

attribute: analytics
for: thing
values: Google Analytics | Matomo | Plausible | Mixpanel | Amplitude | PostHog | Heap | Fathom
old: We measure the usage of {me} with {old}.
old: {My} usage analytics are in {old}.
ask: What do we use for {my} usage analytics?
ask: How do we measure the usage of {me}?
ask: Where can I see how many people use {me}?
before: What did we use for {my} analytics before {new}?
before: Where were {my} usage numbers before?
replaced: We replaced {old} with {new} for {my} analytics.
switched: {My} analytics switched from {old} to {new}.
moved: We moved {my} analytics to {new}.
migrated: We migrated {my} usage analytics to {new}.
stopped: We stopped using {old} for {my} analytics and use {new}.
any_more: We don't use {old} in {me} any more. The analytics are in {new}.
decided_on: For {my} analytics we decided on {new}.
now: {My} usage analytics are in {new} now.
turns_out: It turns out {my} analytics are in {new} and not in {old}.
restated: {My} usage analytics are in {new}.

attribute: provisioning
for: thing
values: Terraform | Pulumi | Ansible | CloudFormation | Chef | Puppet | Crossplane | OpenTofu
old: {My} infrastructure is managed with {old}.
old: We set up {my} servers with {old}.
ask: What is {my} infrastructure managed with?
ask: Which tool do we use to set up {my} servers?
ask: Which tool is {my} infrastructure code written for?
before: What was {my} infrastructure managed with before {new}?
before: Which tool did we use to set up {my} servers previously?
migrated: We migrated {my} infrastructure code from {old} to {new}.
moved: We moved {my} infrastructure code to {new}.
switched: We switched from {old} to {new} for {my} infrastructure.
replaced: {old} was replaced by {new} for {my} infrastructure.
no_longer: {My} infrastructure is no longer managed with {old} but with {new}.
now: {My} infrastructure is managed with {new} now.
instead_of: We manage {my} infrastructure with {new} instead of {old}.
these_days: These days we manage {my} infrastructure with {new}.
actually: Actually, {my} infrastructure is managed with {new}.
restated: {My} infrastructure is managed with {new}.

attribute: maps
for: thing
values: Google Maps | Mapbox | OpenStreetMap | HERE Maps | TomTom | Apple Maps | Bing Maps
old: {I} show{s} locations with {old}.
old: The maps in {me} come from {old}.
ask: Where do the maps in {me} come from?
ask: Which map provider {do} {I} use?
ask: What {do} {I} show locations with?
before: Which map provider did {I} use before {new}?
before: Where did the maps in {me} come from before?
replaced: We replaced {old} by {new} for the maps in {me}.
switched: {I} switched {my} map provider to {new}.
moved: For maps {I} moved from {old} to {new}.
changed: {My} map provider changed from {old} to {new}.
no_longer: {I} no longer use{s} {old}, the maps come from {new}.
any_more: {I} {don't} show maps from {old} any more but from {new}.
now: The maps in {me} now come from {new}.
decided_on: We decided on {new} for the maps in {me}.
correction: Correction: the maps in {me} come from {new}.
after_all: {I} use{s} {new} for maps after all.

attribute: cdn
for: thing
values: Cloudflare | Fastly | Akamai | CloudFront | Bunny | KeyCDN | Gcore | StackPath
old: {I} {am} behind {old}.
old: {My} static files are served by {old}.
ask: Which CDN {do} {I} use?
ask: What serves {my} static files?
ask: Which CDN {am} {I} behind?
before: Which CDN did {I} use before {new}?
before: What served {my} static files previously?
moved: We moved {me} from {old} to {new} as CDN.
switched: We switched {my} CDN from {old} to {new}.
replaced: We replaced {my} CDN, {old}, with {new}.
migrated: {My} static files were migrated to {new}.
no_longer: {I} {am} no longer behind {old}, {my} CDN is {new}.
now: {My} static files are now served by {new}.
as_of: As of this morning {my} CDN is {new}.
from_to: {My} CDN went from {old} to {new}.
not_but: {My} CDN is not {old} but {new}.
restated: {My} CDN is {new}.

attribute: third_single_work
for: any
postponed: The deadline for the tax report is May 12. || The deadline for the tax report was postponed to May 26.
	|| What is the deadline for the tax report? || What was the deadline for the tax report at first?
took_over: Gustav owns the import scripts. || Marlene took over the import scripts from Gustav.
	|| Who owns the import scripts? || Who owned the import scripts before Marlene?
switched: We draw our architecture diagrams in Visio. || We switched to Lucidchart for architecture diagrams.
	|| What do we draw architecture diagrams in? || What did we draw architecture diagrams in before?
moved: The Danish office is in Aarhus. || The Danish office moved to Copenhagen.
	|| Where is the Danish office? || Where was the Danish office before?
cancelled: The quarterly meeting with the works council is on Thursday.
	|| The quarterly meeting with the works council is cancelled.
	|| Is the quarterly meeting with the works council taking place?
left: Our biggest customer is Norfjord Shipping. || Norfjord Shipping left us, our biggest customer is Tessin Foods.
	|| Who is our biggest customer? || Who was our biggest customer before Tessin Foods?
cut: The marketing campaign has a budget of 80,000 euros. || The budget for the marketing campaign was cut to 55,000
	euros. || What is the budget for the marketing campaign?
	|| How much was budgeted for the marketing campaign originally?
decided_on: We are thinking about hiring Elena for the QA position. || We decided on Patrick for the QA position.
	|| Whom are we hiring for the QA position?
went_up: The starter plan costs 19 euros a month. || The price of the starter plan went up to 24 euros a month.
	|| How much is the starter plan per month? || How much was the starter plan per month before?
changed: Travel in first class is allowed on trips over four hours. || We changed the travel policy: first class is not
	allowed on any trip. || May I travel first class on a long trip?
replaced: The file server is called Otter. || We replaced the file server Otter with a machine called Badger.
	|| What is the file server called? || What was the file server called before?
now: Service passwords are rotated every 90 days. || Service passwords are now rotated every 30 days.
	|| How often are service passwords rotated? || How often were service passwords rotated before?
no_longer: The reception is staffed until 18:00. || The reception is no longer staffed until 18:00, only until 16:30.
	|| Until when is the reception staffed? || Until when was the reception staffed before?
upgraded: The developers have monitors with 24 inches. || All developers were upgraded to 32-inch monitors.
	|| How big are the monitors of the developers? || How big were the monitors of the developers before?
any_more: New contracts are signed on paper. || We don't sign contracts on paper any more, we use DocuSign.
	|| How are new contracts signed? || How were new contracts signed before?
instead_of: The kick-off with Verano is on site. || We are doing the kick-off with Verano by phone instead of on site.
	|| How are we doing the kick-off with Verano? || How did we plan to do the kick-off with Verano?
from_to: The referral bonus is 1,000 euros. || The referral bonus went from 1,000 to 1,500 euros.
	|| How much is the referral bonus? || How much was the referral bonus before?
as_of: Invoices are due after 30 days. || As of January invoices are due after 14 days.
	|| After how many days are invoices due? || After how many days were invoices due before?
these_days: The nightly import takes two hours. || These days the nightly import takes 40 minutes.
	|| How long does the nightly import take? || How long did the nightly import take before?
restated: The guest wifi password is bluebird77. || The guest wifi password is redfox31.
	|| What is the guest wifi password? || What was the guest wifi password before?
migrated: The company blog runs on WordPress. || The company blog was migrated to Ghost.
	|| What does the company blog run on? || What did the company blog run on before?
stopped: We send Christmas cards to all customers. || We stopped sending Christmas cards to customers.
	|| Do we send Christmas cards to customers?
correction: The purchase order for the racks is number 5520. || Correction: the purchase order for the racks is number
	5502. || What is the number of the purchase order for the racks?
actually: The legal department is on the east side. || Actually, the legal department is on the west side.
	|| On which side is the legal department?
not_but: The interview with the data analyst is at 14:00. || The interview with the data analyst is not at 14:00 but at
	15:30. || At what time is the interview with the data analyst?
turns_out: The warranty for the label printer covers two years. || It turns out the warranty for the label printer
	covers three years. || How many years does the warranty for the label printer cover?
after_all: The mobile app will not have a dark mode. || The mobile app will have a dark mode after all.
	|| Will the mobile app have a dark mode?
joined: The position of the data protection officer is vacant. || Dr. Heller joined as data protection officer.
	|| Who is the data protection officer?
reduced: The minimum order for wholesale is 100 pieces. || We reduced the minimum order for wholesale to 50 pieces.
	|| What is the minimum order for wholesale? || What was the minimum order for wholesale before?
increased: The mileage allowance is 30 cents per kilometre. || The mileage allowance was increased to 38 cents per
	kilometre. || What is the mileage allowance per kilometre? || What was the mileage allowance before?
from_now_on: Sick notes go to the team lead. || From now on sick notes go to HR directly.
	|| Where do sick notes go? || Where did sick notes go before?
moved: The webinar on data quality is on Wednesday. || The webinar on data quality was moved to Friday.
	|| On which day is the webinar on data quality? || On which day was the webinar on data quality before?
took_over: Rafael trains the new support agents. || Birgit has taken over the training of new support agents.
	|| Who trains the new support agents? || Who trained the new support agents before Birgit?
replaced: The coffee for the office comes from Bardini. || Bardini was replaced by Monte Alto as our coffee supplier.
	|| Who supplies the coffee for the office? || Who supplied the coffee for the office before?
cancelled: Kerstin speaks at the conference in Malmo. || Kerstin cancelled her talk in Malmo, Joost speaks there.
	|| Who speaks at the conference in Malmo? || Who was to speak in Malmo originally?
changed: The press contact is Mr Fenwick. || The press contact has changed, it's Ms Okafor.
	|| Who is the press contact? || Who was the press contact before?
now: The staging server has the address 10.0.4.12. || The staging server now has the address 10.0.7.31.
	|| What is the address of the staging server? || What was the address of the staging server before?
no_longer: Interns get 1,200 euros a month. || Interns no longer get 1,200 euros a month, they get 1,450.
	|| How much do interns get a month? || How much did interns get a month before?
switched: The quotes for new customers are written in Word. || We switched to PandaDoc for quotes.
	|| What are quotes for new customers written in? || What were quotes for new customers written in before?
restated: The fire drill is on August 20. || The fire drill is on August 27. || When is the fire drill?
	|| When was the fire drill planned before?
`
