package frame

import (
	"slices"
	"strings"
)

// A concept is a set of words that people use for one attribute. "Where does she live" asks for a home, an address or
// a city. A word may belong to several concepts.
const (
	conceptHome     = "HOME"
	conceptEmployer = "EMPLOYER"
	conceptBirth    = "BIRTH"
	conceptLike     = "LIKE"
	conceptName     = "NAME"
	conceptUse      = "USE"
	conceptOnCall   = "ONCALL"
	conceptLead     = "LEAD"
	conceptDiet     = "DIET"
)

// concepts maps stems to the concepts of their words.
var concepts = func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(conceptWords) {
		name, list, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		for w := range strings.FieldsSeq(list) {
			stem := stemOf(w)
			out[stem] = append(out[stem], name)
		}
		out["@"+name] = []string{name} // a value of the category implies the concept
	}
	return out
}()

const conceptWords = `
HOME: live reside residence home house apartment flat address city town based hometown relocate dwell settle
EMPLOYER: work employ employer employed job company hire firm workplace join
ROLE: role title position profession occupation job career promote promotion workas jobtitle
MANAGER: manager boss supervisor reportto report manage lookafter
PARTNER: partner dating husband wife spouse girlfriend boyfriend fiance fiancee fiancé fiancée married marry
PARTNER: marriage engaged divorce divorced dating date breakup single relationship
PHONE: phone phonenumber telephone mobile cell number reach dial ring
EMAIL: email e-mail mail inbox
NAME: name named call called rename nickname title
BIRTH: born bornin birthday birthplace birthdate birth
AGE: age old older year-old turn
DIET: diet vegetarian vegan pescatarian meat eat gluten-free keto omnivore carnivore flexitarian halal kosher dairy
DIET: plant-based
ALLERGY: allergy allergic allergicto intolerant intolerance reaction
PET: pet dog cat puppy kitten parrot rabbit hamster goldfish tortoise
VEHICLE: vehicle car drive wheel automobile motorbike motorcycle truck van scooter ride
COMMUTE: commute commuting gotowork
HOBBY: hobby pastime hobbies spare free-time weekend leisure sport activity
INSTRUMENT: instrument guitar piano violin drum drums cello flute saxophone ukulele
GYM: gym fitness workout training exercise trainer train membership studio
SCHOOL: school university college study studies studying degree major course campus class kindergarten pupil student
SCHOOL: attend academy primary
LANGUAGE: language speak fluent learn learning
DRINK: drink coffee tea beverage espresso latte matcha juice beer wine
FOOD: food dish cuisine meal snack restaurant lunch dinner breakfast
COLOR: color shade
WAKE: wakeup alarm awake
SLEEP: sleep bedtime bed
MEDICINE: medication medicine pill dose dosage prescription drug tablet
DOCTOR: doctor physician gp dentist therapist
BANK: bank account banking
PLAN: plan subscription tier package
SIZE: size wear
ONCALL: oncall escalation pager rota rotation incident duty page
LEAD: lead leader head own owner manage responsible lookafter maintain maintainer charge chair coordinate coordinator
REVIEW: review reviewer approve approval approver sign-off signoff pullrequest pr
STANDUP: standup stand-up daily scrum sync
MEETING: meeting call sync one-on-one 1:1 1on1 catch-up retro retrospective
SPRINT: sprint iteration cadence
LAUNCH: launch release ship golive rollout roll-out go-live debut
DEADLINE: deadline due deliver delivery deliverable submit submission
BUDGET: budget spend spending funding
PRICE: price cost fee rate rent pay charge expensive
SALARY: salary pay wage compensation
ROOM: room office floor desk building venue location space place
PARKING: parking park
CI: ci pipeline pipelines build built integration ci/cd cicd builds
REPO: repo repository code hosted source codebase monorepo host
TRACKER: tracker track ticket issue issues backlog bug
CHAT: chat message messaging messenger talk communicate channel slack
DATABASE: database db datastore data persist persistence store storage backend
CACHE: cache caching
QUEUE: queue bus broker event events messaging publish stream streaming
CLOUD: cloud host hosting hosted provider infrastructure infra platform
REGION: region datacenter data-center zone
PORT: port listen
VERSION: version release upgrade
BRANCH: branch trunk
MERGE: merge squash rebase
RETENTION: retention retain keep kept store backup purge
LIMIT: limit ratelimit quota cap throttle threshold maximum allow request
TIMEOUT: timeout time-out deadline expire
REPLICA: replica replicas instance instances node nodes pod pods worker workers
SECRET: secret secrets credential credentials password token vault key keys
LOG: log logs logging
MONITOR: monitor monitoring metric metrics alert alerts alerting dashboard observability
EDITOR: editor ide
OS: os operating laptop machine computer desktop
SHELL: shell terminal
CODELANG: language programming written write code coded
FRAMEWORK: framework library
TEST: test tests testing assertion assertions
LINT: linter lint formatter format formatting indent indentation style
DOCS: docs documentation wiki doc documents document notes
DOMAIN: domain url site website hostname
FLAG: flag toggle feature switch
THEME: theme mode
FREQUENCY: daily weekly monthly biweekly fortnightly often frequency every
DEPLOY: deploy deployment release ship deploys
VENDOR: vendor supplier provider
CUSTOMER: customer client
GOAL: goal target objective okr
VACATION: vacation holiday trip travel leave
HOURS: hours schedule shift shifts
DESIGN: design mockup figma sketch
ESTIMATE: estimate estimated estimation
STATUS: status state stage phase
PASSWORDMANAGER: passwords
FRAMEWORKUI: frontend front-end ui
BACKENDLANG: backend back-end
SEAT: seat aisle window
PLACE: live store stored sit reside located location host keep based where deploy region
INSURANCE: insurance insurer insured
PROVIDER: provider carrier isp operator internet broadband
STREAM: streaming watch series show
NEWS: newspaper news
`

// singleConcepts has attributes with one value at a time.
var singleConcepts = words(`HOME EMPLOYER MANAGER PHONE EMAIL NAME BIRTH AGE DIET WAKE SLEEP ONCALL STANDUP SPRINT
	LAUNCH DEADLINE BUDGET PRICE SALARY PORT VERSION BRANCH RETENTION LIMIT TIMEOUT THEME FREQUENCY REGION`)

// usualConcepts has attributes that usually have one value at a time. A second value probably replaces the first, even
// if the statement does not mention a change.
var usualConcepts = words(`REPO CHAT DATABASE QUEUE CI EMPLOYER SCHOOL GYM VEHICLE COMMUTE DRINK ROLE DIET MONITOR
	TRACKER MERGE PROVIDER PARTNER BANK`)

// pluralConcepts has attributes with many values at a time.
var pluralConcepts = words("LIKE ALLERGY HOBBY LANGUAGE INSTRUMENT PET FOOD")

// holderConcepts has roles that one person has at a time: a new person replaces the old one.
var holderConcepts = words("ONCALL LEAD REVIEW MANAGER")

// sentiments has verbs of liking, +1, and disliking, -1.
var sentiments = func() map[string]int {
	out := map[string]int{}
	for w := range stems("love like enjoy adore prefer fancy favor appreciate relish", "fanof") {
		out[w] = 1
	}
	for w := range stems("hate dislike detest despise loathe avoid abhor resent", "cantstand") {
		out[w] = -1
	}
	return out
}()

// opposites maps each state to the state that it excludes.
var opposites = func() map[string]string {
	out := map[string]string{}
	for pair := range strings.FieldsSeq(`enabled/disabled enable/disable on/off open/closed open/close
		allowed/forbidden allow/forbid allowed/denied required/optional mandatory/optional public/private up/down
		active/inactive manual/automatic manually/automatically blocked/unblocked locked/unlocked remote/onsite
		remotely/onsite sync/async synchronous/asynchronous available/unavailable single/married married/divorced
		employed/unemployed free/paid online/offline early/late tabs/spaces tab/space dark/light light/dark day/night
		passing/failing green/red fixed/broken done/pending approved/rejected supported/unsupported vegetarian/vegan
		yes/no true/false frozen/unfrozen paused/running signed/unsigned encrypted/unencrypted full/empty
		full-time/part-time window/aisle squash/rebase aisle/window cash/card left/right hot/cold iced/hot
		broken/work defective/work broken/repair order/work jammed/work sick/well ill/well sick/healthy
		ill/healthy sick/fit ill/fit injured/fit closed/reopen lost/found missing/found vacant/occupied
		sold/available busy/free busy/available dirty/clean wet/dry unemployed/job asleep/awake sold-out/available
		morning/evening morning/afternoon afternoon/evening`) {
		a, b, _ := strings.Cut(pair, "/")
		out[stemOf(a)] += " " + stemOf(b)
		out[stemOf(b)] += " " + stemOf(a)
	}
	return out
}()

func opposite(a, b string) bool {
	for w := range strings.FieldsSeq(opposites[a]) {
		if w == b {
			return true
		}
	}
	return false
}

// categories maps things from which people choose one for a purpose, such as editors, to their category. The name of a
// category is the concept of its values.
var categories = func() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(categoryWords) {
		name, list, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		for w := range strings.FieldsSeq(list) {
			out[strings.ReplaceAll(w, "_", " ")] = name
		}
	}
	return out
}()

const categoryWords = `
DATABASE: postgres postgresql mysql mariadb sqlite mongodb mongo dynamodb cockroachdb cassandra oracle clickhouse
DATABASE: couchdb scylladb firestore aurora neo4j snowflake bigquery redshift duckdb tidb yugabyte spanner
CI: jenkins circleci githubactions github_actions gitlabci gitlab_ci travis buildkite teamcity bamboo drone tekton
CI: azure_pipelines woodpecker concourse
QUEUE: kafka rabbitmq nats jetstream sqs pulsar activemq redpanda zeromq kinesis pubsub
CACHE: redis memcached valkey varnish dragonfly
CLOUD: aws gcp azure heroku hetzner digitalocean linode render fly.io vercel netlify cloudflare ovh
TRACKER: jira linear asana trello youtrack clickup shortcut monday.com github_issues basecamp
CHAT: slack teams discord mattermost zulip telegram whatsapp signal
REPO: github gitlab bitbucket gitea codeberg forgejo
EDITOR: vscode vim neovim emacs intellij goland pycharm sublime zed helix nano webstorm cursor
CODELANG: python go golang rust java kotlin typescript javascript ruby scala elixir haskell swift perl php c++
CODELANG: clojure erlang zig
MONITOR: datadog prometheus grafana newrelic honeycomb splunk sentry nagios zabbix cloudwatch dynatrace
LOG: loki elasticsearch kibana elk logstash graylog papertrail
OS: linux macos windows ubuntu debian fedora arch mint
SHELL: bash zsh fish powershell nushell
TEST: pytest unittest jest vitest mocha testify junit cypress playwright selenium ginkgo
LINT: eslint prettier black ruff flake8 biome golangci-lint
DOCS: confluence notion sharepoint obsidian coda wiki
FRAMEWORKUI: react vue angular svelte solid ember htmx next.js
SECRET: vault 1password bitwarden lastpass keepass
ORCHESTRATION: kubernetes nomad ecs swarm mesos
DESIGN: figma sketch penpot xd
VIDEO: zoom meet webex jitsi
DRINK: coffee tea espresso latte cappuccino matcha water juice soda beer wine cola cocoa kombucha americano
DRINK: chocolate lemonade cider rooibos chai mate whisky gin smoothie
DIET: vegetarian vegan pescatarian omnivore carnivore keto paleo flexitarian low-carb gluten-free dairy-free
DIET: sugar-free plant-based lactose-free halal kosher
COLOR: red blue green yellow purple orange black white pink grey gray brown turquoise teal violet navy
DAYPART: morning afternoon evening night mornings afternoons evenings nights
SEASON: spring summer autumn fall winter
COMMUTE: bike bus train tram metro subway car bicycle foot walking ferry scooter
INSTRUMENT: guitar piano violin drums cello flute saxophone ukulele trumpet clarinet harp bass
SPORT: tennis football soccer basketball running swimming climbing bouldering yoga pilates squash golf rowing judo
SPORT: karate boxing cycling hiking
THEME: dark light
ROLE: manager engineer analyst writer recruiter architect nurse teacher designer developer director consultant
ROLE: accountant lawyer doctor chef
FREQUENCY: daily weekly biweekly monthly quarterly yearly fortnightly hourly
STYLE: tabs spaces
STREAM: netflix spotify tidal deezer hulu
MERGE: squash rebase
`

// kinds has concepts whose words name different things of one kind: a cat is not a dog. The first word in the line of
// such a concept is general and means any of them.
var kinds = words("PET INSTRUMENT FOOD MEETING DOCTOR")

// generalWord returns the stem of the general word of each concept.
var generalWord = func() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(conceptWords) {
		if name, list, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			out[name] = stemOf(strings.Fields(list)[0])
		}
	}
	return out
}()

// conceptAsked has the words that people use to ask for an attribute.
var conceptAsked = map[string]string{
	"HOME": "home, address or city", "EMPLOYER": "employer, company or workplace",
	"ROLE":    "job, role, title or occupation",
	"MANAGER": "manager, boss or supervisor, who is in charge", "PARTNER": "partner or relationship, wife or husband",
	"PHONE": "phone number, which number to call or dial", "EMAIL": "email address", "DIET": "diet or way of eating",
	"ALLERGY": "allergy or intolerance, what food to avoid", "VEHICLE": "car or vehicle, what is driven",
	"COMMUTE": "commute, the way to travel to work or the office", "HOBBY": "hobby or free time activity at weekends",
	"INSTRUMENT": "musical instrument", "GYM": "gym, training or workout, where to exercise",
	"SCHOOL":   "school, university or class",
	"LANGUAGE": "language that is learned or spoken", "DRINK": "favourite drink", "WAKE": "time of getting up",
	"PET":    "pet or animal",
	"ONCALL": "on-call duty, whom to page or call at night",
	"LEAD":   "lead, owner or person responsible, who is in charge",
	"REVIEW": "reviewer or approval", "STANDUP": "standup or daily meeting", "SPRINT": "sprint length or iteration",
	"LAUNCH": "launch, release or go-live date", "DEADLINE": "deadline or due date",
	"BUDGET": "budget or money to spend",
	"SALARY": "salary or pay", "CI": "CI system, build server or pipeline",
	"REPO":    "repository, where the code is hosted",
	"TRACKER": "issue tracker for tickets and bugs", "CHAT": "chat tool or messenger",
	"DATABASE": "database or data store",
	"QUEUE":    "message bus, queue or broker for events",
	"REGION":   "region or location, where it is deployed or hosted",
	"PORT":     "port that it listens on", "BRANCH": "branch", "RETENTION": "retention, how long it is kept",
	"LIMIT": "limit, quota or maximum", "TIMEOUT": "timeout", "THEME": "theme or mode",
	"MONITOR": "monitoring or dashboard",
	"MERGE":   "merge or branch policy", "BANK": "bank", "SECRET": "secret, credential or password store",
}

// ConceptVocabulary is the text of all words that AskedBy uses.
var ConceptVocabulary = func() string {
	var out []string
	for _, asked := range conceptAsked {
		out = append(out, asked)
	}
	slices.Sort(out)
	return strings.ReplaceAll(strings.Join(out, " "), ",", "")
}()

// AskedBy returns the words that people use to ask for the attribute of a statement, or "" if the lexicon does not have
// the attribute.
func (f Frame) AskedBy() string {
	if f.event || f.ifClause || len(f.values) == 0 && len(f.old) == 0 {
		return ""
	}
	for _, t := range f.topic {
		for _, c := range concepts[t] {
			if asked := conceptAsked[c]; asked != "" && !slices.Contains(f.owner, t) {
				return asked
			}
		}
	}
	return ""
}
