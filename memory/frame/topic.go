package frame

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/english"
)

// findTopic collects the topic: the subject's words and the other content words.
func (r *reader) findTopic() {
	main := r.main()
	actor := r.verb
	for actor > 0 && actor < len(r.ts) && (english.IsAux(r.ts[actor-1]) || english.Fillers[r.ts[actor-1].Low] ||
		english.NowCues[r.ts[actor-1].Low] || english.Negations[r.ts[actor-1].Low] || r.ts[actor-1].Low == "nolonger") {
		actor--
	}
	agent := r.agent(actor, main)
	if agent {
		if r.Actor = r.actorKey(actor); r.Actor == "" {
			r.Actor = "they"
		}
	}
	r.subjectless = actor == 0 || r.verb >= len(r.ts)
	if first := r.ts[0].Low; actor > 0 && !agent && !r.taken[0] {
		switch first {
		case "he", "she", "it", "they", "his", "her", "its", "their":
			r.byPronoun, r.unresolved = true, true
		}
	}
	aside := false // after a comma that follows the verb
	for i, t := range r.ts {
		subject := i < actor && r.verb < len(r.ts)
		switch {
		case aside && !english.IsVerb(main):
		case r.taken[i], aside:
		case subject && t.Is("before", "after", "without"):
			r.Condition = append(r.Condition, t.Low)
		case i > r.verb && english.Environments[t.Stem] && english.Prepositions[r.ts[i-1].Low]:
			r.Condition = append(r.Condition, t.Stem)
		case subject && agent:
		case english.SelfWords[t.Low]:
			r.addTerm(subject, cmp.Or(r.Speaker, english.SelfTerm))
		case t.Low == "user" && (i == 0 || r.ts[i-1].Low == "the"):
			r.addTerm(subject, english.SelfTerm)
		case english.TeamWords[t.Low] || t.Low == "our":
			r.addTerm(subject, english.TeamTerm)
		case t.Low == "my":
			r.addTerm(subject || agent && i == r.verb+1, cmp.Or(r.Speaker, english.SelfTerm))
		case !english.IsContent(t) && !(t.Cap && i > 0 && english.LightVerbs[t.Stem]) &&
			!(english.Concepts[t.Stem] != nil && !english.Auxiliaries[t.Low] && !english.Prepositions[t.Low] &&
				!english.Fillers[t.Low]):
		case t.Stem == r.mover && i >= actor:
		case (english.ChangeVerbs[t.Stem] || english.EndVerbs[t.Stem] && english.Concepts[t.Stem] == nil &&
			!endsAt(r.ts, i)) &&
			i >= actor && i <= r.verb+1:
		case i >= actor && english.IsMarker(t):
		case i == r.verb && t.Is("starts", "begins", "start", "begin") && r.isWhen():
		case i == r.verb && t.Stem == english.StemOf("start") && r.followed("at"):
		case english.IsAdverb(t):
		default:
			for w := range strings.FieldsSeq(t.Stem) {
				r.addTerm(subject, w)
			}
			r.said = append(r.said, t.Text)
		}
		if t.End == ',' && i > r.verb && len(r.Values) > 0 {
			aside = true
		}
	}
	if actor > 0 && actor < len(r.ts) && !agent && r.verb < len(r.ts) {
		r.BareName = r.personSubject(actor) && !r.isSelf(0, actor) && !r.isScheduled()
	}
	r.findOwner(actor, agent)
	r.implied(main)
	for _, v := range r.Values {
		if v.Category != "" && v.Kind != KindVersion {
			r.addTerm(false, "@"+v.Category)
		} else if words := strings.Fields(v.Key); len(words) > 1 && v.Kind == KindName {
			for _, c := range english.Concepts[words[len(words)-1]] { // "Lindenhof School"
				r.addTerm(false, "@"+c)
			}
		}
	}
	if r.Sentiment > 0 && slices.ContainsFunc(r.ts, func(t english.Token) bool { return t.Is("best", "most") }) {
		r.addTerm(false, english.StemOf("favorite"))
	}
}

// actorKey returns the name of the person who makes a change.
func (r *reader) actorKey(actor int) string {
	switch low := r.ts[0].Low; {
	case english.TeamWords[low]:
		return english.TeamTerm
	case english.SelfWords[low]:
		return cmp.Or(r.Speaker, english.SelfTerm)
	case english.Pronouns[low]:
		return "they"
	case actor == 1:
		return r.ts[0].Stem
	}
	return ""
}

// implied adds the attribute that a verb or a value implies to the topic.
func (r *reader) implied(main english.Token) {
	person := len(r.Subject) > 0
	switch {
	case main.Stem == english.StemOf("join"), main.Stem == english.StemOf("start") && r.followed("at") ||
		main.Stem == english.StemOf("start") && r.followed("with"):
		if len(r.Values) > 0 && r.Values[0].Kind != KindName && r.Values[0].Kind != KindTerm {
			return // "the lesson starts at four"
		}
		if len(r.Values) > 0 && english.HasConcept(lastStem(r.Values[0]), english.Words("SCHOOL")) {
			return // "he started at Hillside School"
		}
		r.Topic = append(r.Topic, english.StemOf("employer"))
	case main.Stem == english.StemOf("move") && person && len(r.Values) > 0 && r.Values[0].Kind == KindName &&
		r.Values[0].Category == "" && r.moversOnly():
		r.Topic = append(r.Topic, english.StemOf("home"))
	}
}

// lastStem returns the last word of a value.
func lastStem(v Value) string {
	words := strings.Fields(v.Key)
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

// isWhen reports whether the first value is a date or a time, so that "starts" says no more than "is".
func (r *reader) isWhen() bool {
	return len(r.Values) > 0 && (r.Values[0].Kind == KindDate || r.Values[0].Kind == KindTime)
}

// moversOnly reports whether the statement names only people who move, which means that they move home.
func (r *reader) moversOnly() bool {
	return !r.Copular && !slices.ContainsFunc(r.Topic, func(t string) bool {
		return !slices.Contains(r.Owners, t) && t != english.SelfTerm && t != english.TeamTerm &&
			!(r.Kin && slices.Contains(r.Subject, t)) // "my sister"
	})
}

func (r *reader) followed(low string) bool {
	return r.verb+1 < len(r.ts) && r.ts[r.verb+1].Low == low
}

// agent reports whether the subject only makes a change to something else: "We moved the standup to 10".
func (r *reader) agent(actor int, main english.Token) bool {
	if actor == 0 || actor >= len(r.ts) || r.Copular || r.Holder {
		return false
	}
	doer := r.isSelf(0, actor) || actor == 1 && r.ts[0].Cap && english.Concepts[r.ts[0].Stem] == nil ||
		r.changesOther(actor, main)
	if !doer || !(english.ChangeVerbs[main.Stem] || english.EndVerbs[main.Stem] || english.Starts(main) ||
		main.Stem == r.mover) {
		return false
	}
	if r.verb+1 >= len(r.ts) {
		return false
	}
	if !english.ChangeVerbs[main.Stem] && !english.EndVerbs[main.Stem] && main.Stem != r.mover &&
		main.Low != "takeover" &&
		strings.HasSuffix(main.Text, "s") {
		return false // "Zelda takes the tram": a habit has its subject
	}
	next := r.ts[r.verb+1]
	// An object follows, which is not a value: "the standup", "my phone number".
	if english.Prepositions[next.Low] || r.taken[r.verb+1] || english.NowCues[next.Low] {
		return false
	}
	if strings.HasSuffix(next.Low, "ing") && !english.Articles[next.Low] && english.Concepts[next.Stem] == nil ||
		english.EndVerbs[main.Stem] && strings.HasSuffix(next.Low, "ing") {
		return false
	}
	return english.Articles[next.Low] || english.Possessives[next.Low] || english.IsContent(next) && !next.Cap
}

// changesOther reports whether a noun phrase is the subject of a verb that changed something of another: "the doctor
// doubled my dose", "the airline moved our flight to Friday". What the statement is about is the object.
func (r *reader) changesOther(actor int, main english.Token) bool {
	if !english.PastTense(main) || !english.ChangeVerbs[main.Stem] && main.Stem != r.mover ||
		english.Replacers[main.Stem] ||
		r.verb+2 >= len(r.ts) || r.verb-actor > 1 || actor > 4 || english.SystemHeads[r.ts[actor-1].Stem] {
		return false
	}
	if first := r.ts[0]; !english.Articles[first.Low] && !english.Possessives[first.Low] && first.Low != "they" &&
		actor > 1 || first.Is("my", "our") && english.People[r.ts[actor-1].Stem] {
		return false // "my sister changed the wallpaper": it may be hers
	}
	if slices.ContainsFunc(r.ts[:actor], func(t english.Token) bool {
		return english.SelfWords[t.Low] && t.Low != "my" || english.Prepositions[t.Low] || t.End != 0
	}) {
		return false
	}
	next := r.ts[r.verb+1]
	return next.Is("the", "my", "our") || next.Cap && slices.ContainsFunc(r.ts[r.verb+1:min(len(r.ts), r.verb+4)],
		func(t english.Token) bool { return t.Poss })
}

func (r *reader) addTerm(subject bool, term string) {
	if term == "" || slices.Contains(r.Topic, term) {
		return
	}
	r.Topic = append(r.Topic, term)
	if subject {
		r.Subject = append(r.Subject, term)
	}
}
