package english

import (
	"slices"
	"strings"
)

// A concept is a set of words that people use for one attribute. "Where does she live" asks for a home, an address or
// a city. A word may belong to several concepts.
const (
	conceptHome     = "HOME"
	conceptEmployer = "EMPLOYER"
	ConceptBirth    = "BIRTH"
	conceptLike     = "LIKE"
	ConceptName     = "NAME"
	conceptUse      = "USE"
	conceptOnCall   = "ONCALL"
	conceptLead     = "LEAD"
	conceptDiet     = "DIET"
)

// Concepts maps stems to the concepts of their words.
var Concepts = func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(conceptWords) {
		name, list, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		for w := range strings.FieldsSeq(list) {
			stem := StemOf(w)
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
LANDLORD: landlord landlady
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

// SingleConcepts has attributes with one value at a time.
var SingleConcepts = Words(`HOME EMPLOYER MANAGER PHONE EMAIL NAME BIRTH AGE DIET WAKE SLEEP ONCALL STANDUP SPRINT
	LAUNCH DEADLINE BUDGET PRICE SALARY PORT VERSION BRANCH RETENTION LIMIT TIMEOUT THEME FREQUENCY REGION`)

// UsualConcepts has attributes that usually have one value at a time. A second value probably replaces the first, even
// if the statement does not mention a change.
var UsualConcepts = Words(`REPO CHAT DATABASE QUEUE CI EMPLOYER SCHOOL GYM VEHICLE COMMUTE DRINK ROLE DIET MONITOR
	TRACKER MERGE PROVIDER PARTNER BANK`)

// PluralConcepts has attributes with many values at a time.
var PluralConcepts = Words("LIKE ALLERGY HOBBY LANGUAGE INSTRUMENT PET FOOD")

// HolderConcepts has roles that one person has at a time: a new person replaces the old one.
var HolderConcepts = Words("ONCALL LEAD REVIEW MANAGER")

// kinds has concepts whose words name different things of one kind: a cat is not a dog. The first word in the line of
// such a concept is general and means any of them.
var kinds = Words("PET INSTRUMENT FOOD MEETING DOCTOR PRICE")

// generalWord returns the stem of the general word of each concept.
var generalWord = func() map[string]string {
	out := make(map[string]string, len(wordsOf))
	for name, words := range wordsOf {
		out[name] = StemOf(words[0])
	}
	return out
}()

// WordsOf returns the words of a concept, most general first. Some are phrases in the form of Token.Low.
func WordsOf(concept string) []string { return wordsOf[concept] }

var wordsOf = func() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(conceptWords) {
		if name, list, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			out[name] = append(out[name], strings.Fields(list)...)
		}
	}
	return out
}()

// HasConcept reports whether a word has one of the concepts of a set.
func HasConcept(stem string, set WordSet) bool {
	return slices.ContainsFunc(Concepts[stem], func(c string) bool { return set[c] })
}

// SameTerm reports whether two words mean the same: they have the same stem or belong to one concept.
func SameTerm(x, y string) bool {
	if x == y || len(x) > 4 && len(y) > 4 && SameDeed(x, y) {
		return true
	}
	for _, c := range Concepts[x] {
		if slices.Contains(Concepts[y], c) && (!kinds[c] || x == generalWord[c] || y == generalWord[c]) {
			return true
		}
	}
	return false
}

// SameDeed reports whether two words are forms of one verb, or a verb and the noun for who does it: "clean", "cleaner".
func SameDeed(v, w string) bool {
	if v == w {
		return v != ""
	}
	if len(v) > len(w) {
		v, w = w, v
	}
	return len(v) > 3 && strings.HasPrefix(w, v) && derived[w[len(v):]]
}

// derived has the endings that make a noun of the stem of a verb.
var derived = Words("er or e ist al ion ing ment ant")
