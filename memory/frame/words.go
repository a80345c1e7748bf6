package frame

import "strings"

// wordSet is a set of lower-case words.
type wordSet map[string]bool

func words(lists ...string) wordSet {
	out := wordSet{}
	for _, list := range lists {
		for w := range strings.FieldsSeq(list) {
			out[w] = true
		}
	}
	return out
}

// stems is a set of the stems of words.
func stems(lists ...string) wordSet {
	out := wordSet{}
	for _, list := range lists {
		for w := range strings.FieldsSeq(list) {
			out[stemOf(w)] = true
		}
	}
	return out
}

var (
	articles     = words("a an the this that these those some any each every another")
	possessives  = words("my our your his her its their")
	prepositions = words(`in on at for to from with of by into onto over under about after before during until till
		since through across per via as within without around near against between among behind beyond off out up down
		back towards toward`)
	conjunctions = words("and or but nor yet")
	pronouns     = words(`i me we us you he him she her it they them one someone somebody everyone everybody people
		folks this that these those there here who what which mine ours yours`)
	selfWords     = words("i me my mine myself")
	teamWords     = words("we us our ours ourselves")
	questionWords = words("who whom whose what which when where why how")

	// auxiliaries has verbs that are not part of the topic.
	auxiliaries = words(`be am is are was were been being do does did have has had will would shall should can could
		may might must not never to going gonna need wanna let`)

	// clauseBreaks has words that begin a clause that explains or limits the statement, which ends before them.
	clauseBreaks = words(`because since so which who where although though while whereas due thanks given unless if
		when whenever`)

	// fillers has words that are not part of the topic.
	fillers = words(`just also very really quite actually basically simply only even still already about around
		roughly approximately exactly probably maybe well oh ok okay please again too both all most mainly mostly
		usually normally typically always generally finally eventually officially currently today tomorrow yesterday
		tonight recently soon later then once really honestly apparently definitely certainly new old current previous
		former next last latest own same other different kind sort lot bit thing way right good great big small full
		everything anything nothing something much many more less better best long time now week month year day
		permanently temporarily effective starting going forward onwards onward instead rather`)

	negations = words("not never no neither nor hardly without none")

	// hedges has words that make a statement uncertain.
	hedges = words(`maybe perhaps might may possibly probably presumably apparently supposedly allegedly likely unsure
		guess suppose rumor rumour`)

	abbreviations = words(`mr mrs ms dr prof st jr sr vs e.g i.e etc approx no nr ca a.m p.m am pm u.s inc ltd co dept
		est`)

	// beContractions has words after which 's means "is".
	beContractions = words("it that he she who what there here where how when this everything everyone let")
)

// irregular maps irregular forms, which the stemmer does not join, to their base.
var irregular = func() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(irregularForms) {
		forms := strings.Fields(line)
		for _, form := range forms {
			out[form] = forms[0]
		}
	}
	return out
}()

const irregularForms = `
be am is are was were been being
do does did done doing
have has had having
go goes went gone going
become became
begin began begun
break broke broken breaking
bring brought
build built
rebuild rebuilt
rewrite rewrote rewritten rewriting
redo redid redone
buy bought
catch caught
choose chose chosen
come came
cut cutting cuts
deal dealt
draw drew drawn
drink drank drunk
drive drove driven driving
eat ate eaten
fall fell fallen
feel felt
find found
fly flew flown
forget forgot forgotten
get got gotten getting
give gave given giving
grow grew grown
hand handed hands
hang hung
hear heard
hide hid hidden
hold held
increase upped
keep kept
know knew known
lead led leads leading leader
leave left leaving
lend lent
lose lost losing
make made making
mean meant
meet met
move moved moving moves
pay paid
put putting
quit quitting quits
read
ride rode ridden
rise rose risen
run ran running
say said
see saw seen
sell sold
send sent
set setting sets
shift shifted shifting
shrink shrank shrunk
shut shutting
sing sang sung
sit sat sitting
sleep slept
slip slipped slipping
speak spoke spoken
spend spent
stand stood
stop stopped stopping stops
swap swapped swapping swaps
swim swam swum
take took taken taking
teach taught
tell told
think thought
throw threw thrown
understand understood
wake woke woken
wear wore worn
win won
withdraw withdrew withdrawn
write wrote written writing
child children kids kid
person people
wife wives
mom mum mother mama
dad father papa
favorite favourite favorites favourites
color colour
organization organisation
`

// phrase is a sequence of stems that counts as one word.
type phrase struct {
	stems []string
	name  string
}

// phraseTable has the phrases, by their first stem.
var phraseTable = func() map[string][]phrase {
	out := map[string][]phrase{}
	for line := range strings.Lines(phraseForms) {
		name, forms, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		for form := range strings.SplitSeq(forms, "|") {
			var p phrase
			for w := range strings.FieldsSeq(form) {
				p.stems = append(p.stems, stemOf(w))
			}
			if len(p.stems) > 0 {
				p.name = strings.TrimSpace(name)
				out[p.stems[0]] = append(out[p.stems[0]], p)
			}
		}
	}
	return out
}()

// phraseForms has the phrases, by the names that the rules use for them.
const phraseForms = `
nolonger: no longer | not any longer | not anymore
anymore: any more | anymore | any longer
thesedays: these days | nowadays | at the moment | right now | at present | as things stand | for now
fromnowon: from now on | going forward | from here on | from this point on | moving forward | henceforth
fromnowon: from today | with immediate effect | effective immediately
asof: as of | as from | with effect from | effective from
afterall: after all
insteadof: instead of | in place of | in lieu of | as opposed to | in preference to
ratherthan: rather than
usedto: used to
getusedto: get used to | be used to
inthepast: in the past | back then | back in the day
infavor: in favor of | in favour of
oncall: on call | on-call | oncall | pager duty | pagerduty rotation | carry the pager | carry the phone
takeover: take over | takeover | take charge | step in | step up | step into
handover: hand over | hand off | pass on | hand the reins
lapse: run out | be used up
giveup: give up | swear off | lay off | cut out | kick
getridof: get rid of | do away with | be done with | throw out
moveoff: move off | move away from | migrate off | migrate away from | get off | come off | step away from
moveoff: phase out | move off of
gowith: go with | go for | go over to | go ahead with | land on
settleon: settle on | decide on | agree on
switchover: switch over | cut over | change over
endup: end up | wind up
pushback: push back | push out | move back | put back | put off
bringforward: bring forward | pull forward | pull in | move up | bring up | move forward
calloff: call off | be off
shutdown: shut down | turn off | switch off | power down | take down
turnon: turn on | switch on
rollback: roll back | fall back
breakup: break up | split up | split
changemind: change my mind | change our mind | change his mind | change her mind | change their mind
changeofplan: change of plan | change of plans | plan change
scratchthat: scratch that | strike that | never mind | i take that back | take that back
stepdown: step down | stand down | hand in my notice | hand in their notice | hand in notice | be let go
lookafter: look after | take care of | be in charge of | be responsible for | in charge of | responsible for
reportto: report to | answer to | report into
phonenumber: phone number | telephone number | mobile number | cell number | cell phone | mobile phone
pullrequest: pull request | pull requests | merge request | merge requests | code review
githubactions: github actions
gitlabci: gitlab ci
circleci: circle ci | circleci
wakeup: wake up | get up | be up
takeplace: take place
golive: go live | go-live
bornin: be born in | be born on
cantstand: can not stand | can not bear | be not a fan of | be no fan of | not care for | do not like | do not enjoy
cantstand: not like | not enjoy | not love | be sick of | be tired of
fanof: fan of | be into | be a fan of | be fond of | be keen on | get into
allergicto: allergic to
ratelimit: rate limit | rate limits | rate cap
turnsout: turn out | it turn out
workas: work as | job as | act as
jobtitle: job title | job description
gotowork: travel to the office | get to the office | go to the office | come to the office | get to the job
gotowork: go to work | get to work | come to work | travel to work | way to work | commute to work | ride to work
gotowork: drive to work | going to work
workout: work out
dating: be dating | go out with | be seeing | be together with
`

// changeVerbs has verbs that report a new value.
var changeVerbs = stems(
	`move switch change migrate replace swap upgrade update downgrade bump raise increase lower
	reduce cut drop slip postpone delay defer reschedule shift relocate transfer convert transition rename rebrand
	extend shorten double halve triple grow shrink adjust revise reassign pass succeed trade adopt become revert
	return tighten loosen expand trim slash boost standardize consolidate port rebuild rewrite redo amend correct
	swing flip rotate promote demote graduate transitioned`,
	"takeover handover pushback bringforward switchover gowith settleon endup rollback infavor "+
		"changemind turnsout moveoff",
)

// endVerbs has verbs that report an end.
var endVerbs = stems(`stop quit leave cancel abandon retire deprecate sunset scrap kill remove ditch drop end finish
	resign sell divorce withdraw delete decommission discontinue revoke dissolve expire cease lose axe suspend pause
	skip reject decline dump lapse`,
	"lapse giveup getridof calloff shutdown breakup stepdown moveoff")

// startVerbs has verbs that report a beginning.
var startVerbs = stems(`start begin join launch introduce enable open found adopt hire accept choose pick decide
	select opt take`, "turnon takeover")

// lightVerbs has verbs that connect a subject with its value and are not part of the topic.
var lightVerbs = stems(`be do have get go come use run plan schedule set due expect slate book happen occur take put
	make keep stay remain stand sit hold fix cap equal mean say tell give need want try know see look think guess
	decide choose pick select opt agree announce confirm aim target land fall rely depend call name assign allow`,
	"takeplace gowith settleon endup")

// nowCues has words that contrast the present with the past.
var nowCues = words("now thesedays fromnowon asof afterall instead finally currently presently today newly")

// leadIns has words that are dropped from the front of a statement, correctionCues those that mark a correction.
var (
	correctionCues = words(`actually correction scratchthat turnsout sorry wait changeofplan oops update edit whoops
		changemind rather`)
	leadIns = words(`so well oh ok okay and but also btw fyi note hey hi yes yeah no nope hmm um anyway plus then
		besides ah right look listen honestly basically reminder heads news info`)
)
