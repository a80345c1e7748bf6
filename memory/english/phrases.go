package english

import (
	"strings"
)

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
				p.stems = append(p.stems, StemOf(w))
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
filler: in the end | until further notice | at the earliest | at the latest | for the time being | last night
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
breakup: break up | break off | split up | split
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
workas: do for work | for a living | make a living | earn a living | by profession | by trade
workas: make my living | earn my living
workas: make her living | earn her living | make his living | earn his living | make their living | earn their living
jobtitle: job title | job description
gotowork: travel to the office | get to the office | go to the office | come to the office | get to the job
gotowork: go to work | get to work | come to work | travel to work | way to work | commute to work | ride to work
gotowork: drive to work | going to work
workout: work out
dating: be dating | go out with | be seeing | be together with
`

// joinPhrases makes one token of the phrases of the lexicon: "no longer", "on call".
func joinPhrases(ts []Token) []Token {
	ts = resolvePossessives(ts)
	nameSport(ts)
	markNouns(ts)
	out := ts[:0]
	for i := 0; i < len(ts); {
		n, name := phraseAt(ts[i:])
		if name == "wakeup" && IsBe(ts[i]) && i+n < len(ts) && ts[i+n].Low == "to" {
			n = 0 // "the club is up to 150 members"
		}
		if name == "calloff" && IsBe(ts[i]) && i+n < len(ts) && ts[i+n-1].End == 0 &&
			(IsContent(ts[i+n]) || ts[i+n].Low == "to") {
			n = 0 // "Nils is off sick", "Nils is off to the pool"
		}
		if n == 0 {
			out = append(out, ts[i])
			i++
			continue
		}
		t := ts[i]
		last := ts[i+n-1]
		words := make([]string, n)
		for k := range n {
			words[k] = ts[i+k].Text
		}
		t.Text, t.Low, t.Stem, t.End, t.Poss = strings.Join(words, " "), name, StemOf(name), last.End, last.Poss
		out = append(out, t)
		i += n
	}
	return out
}

// nameSport gives "running" the stem of "jogging" where it is the sport: after a verb for liking, going or stopping, or
// as the last word, but not after "be". Otherwise it is a verb that says nothing of its own: "running on port 80".
func nameSport(ts []Token) {
	for i := 1; i < len(ts); i++ {
		prev := ts[i-1]
		if ts[i].Low != "running" || IsBe(prev) {
			continue
		}
		if Sentiments[prev.Stem] != 0 || StartVerbs[prev.Stem] || EndVerbs[prev.Stem] || prev.Stem == "go" ||
			prev.Is("stand", "enjoy", "up") || i+1 == len(ts) || ts[i].End != 0 {
			ts[i].Low = "jogging"
			ts[i].Stem = StemOf("jogging")
		}
	}
}

// markNouns marks books and caps, which are no verbs, after a word that a verb cannot follow.
func markNouns(ts []Token) {
	for i := 1; i < len(ts); i++ {
		prev := ts[i-1]
		ts[i].noun = ts[i].Is("book", "books", "cap", "caps") && prev.Low != "to" && prev.Low != "not" && !IsAux(prev) &&
			(!Pronouns[prev.Low] || Possessives[prev.Low] || QuestionWords[prev.Low])
	}
}

// phraseAt returns the length and the name of the longest phrase that starts ts.
func phraseAt(ts []Token) (n int, name string) {
	for _, p := range phraseTable[ts[0].Stem] {
		if len(p.stems) <= n || len(p.stems) > len(ts) {
			continue
		}
		match := true
		for k, stem := range p.stems {
			if ts[k].Stem != stem || k < len(p.stems)-1 && ts[k].End != 0 {
				match = false
				break
			}
		}
		if match {
			n, name = len(p.stems), p.name
		}
	}
	return n, name
}
