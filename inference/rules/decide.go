package rules

import (
	"context"
	"slices"
	"strings"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/english"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/revision"
	"github.com/mneme/mneme/schema"
)

// Decider compares a fact with its neighbours by rules. The zero value is ready and safe for concurrent use. The
// first rule that applies to any neighbour decides; if it applies to several, the first of them counts. Decider
// proposes "add" unless the words are certain, because a fact that is stored twice costs only a row, but a fact that
// is wrongly merged into another is lost.
//
//	rule                                                        action  confidence
//	same content hash                                           none    1.00
//	same words in the same order, except articles, plurals,
//	"really", "just" …; same numbers, names, tense, negation    none    0.95
//	same subject, functional predicate and object, and no
//	other word in the fact                                      none    0.90
//	"no longer", "stopped …ing", "was removed", "used to" …
//	with the words of the neighbour, and other words            update  0.85
//	the same, without other words                               delete  0.85
//	the fact changes the neighbour (proposals.FindChange)
//	surely: it supersedes the neighbour                         update  0.90
//	probably: both are kept and marked                          update  0.70
//	same subject and functional predicate, another object,
//	or a more exact one without a loss of other words           update  0.90
//	same words in the same order, except a negation or
//	antonyms (revision.DetectContradiction)                     update  0.80
//	otherwise, refinements included                             add     0.80
//
// "Used to" never deletes, because it is about the past.
type Decider struct{}

var _ inference.Decider = Decider{}

// Reasons of the Decider. They name the rule and never have content.
const (
	ReasonIdentical     = "already known: identical"
	ReasonNearDuplicate = "already known: same words"
	ReasonSameClaim     = "already known: same subject, predicate and object"
	ReasonEndedMore     = "no longer holds: the fact ends what the memory states and says more"
	ReasonEnded         = "no longer holds: the fact only ends what the memory states"
	ReasonNewValue      = "new value: same subject and predicate, which has one object at a time"
	ReasonNegation      = "contradiction: same words, one negates the other"
	ReasonAntonyms      = "contradiction: same words, antonyms in opposition"
	ReasonResumed       = "contradiction: the memory says it ended, the fact that it holds"
	ReasonNew           = "new: no memory covers it"
)

// AsksModel implements the method that inference.AsksModel looks for. Rules call no model.
func (Decider) AsksModel() bool { return false }

// Decide implements inference.Decider. It uses no model and fails only when ctx is done.
func (Decider) Decide(
	ctx context.Context,
	fact memory.Fact,
	neighbors []memory.Neighbor,
) (memory.Proposal, inference.Usage, error) {
	if err := ctx.Err(); err != nil {
		return memory.Proposal{}, inference.Usage{}, err
	}
	return decide(fact, neighbors), inference.Usage{}, nil
}

func decide(fact memory.Fact, neighbors []memory.Neighbor) memory.Proposal {
	propose := func(action schema.Action, n memory.Neighbor, confidence float64, reason string) memory.Proposal {
		return memory.Proposal{Action: action, TargetID: n.ID, Confidence: confidence, Reason: reason}
	}
	text := normalize.Normalize(fact.Content)
	for _, n := range neighbors {
		if n.Says(text) {
			return propose(schema.ActionNone, n, 1, ReasonIdentical)
		}
	}

	f := viewOf(fact.Content, fact.Claim)
	views := make([]view, len(neighbors))
	for i, n := range neighbors {
		views[i] = viewOf(n.Content, n.Claim)
	}
	for i, n := range neighbors {
		if f.sameWords(views[i]) {
			return propose(schema.ActionNone, n, 0.95, ReasonNearDuplicate)
		}
	}
	for i, n := range neighbors {
		if f.sameClaim(views[i]) {
			return propose(schema.ActionNone, n, 0.9, ReasonSameClaim)
		}
	}
	if found, ok := proposals.FindChange(fact, neighbors); ok {
		p := propose(schema.ActionUpdate, found.Target, changeConfidence[found.Change], "change: "+found.Relation.Why)
		p.Change, p.Also, p.Own = found.Change, found.Also, found.Own
		return p
	}
	for i, n := range neighbors {
		if !proposals.MayChange(fact, n) {
			continue // the neighbour stays true, and what was said later than the fact is not changed
		}
		if ends, more := f.endsWhat(views[i]); ends {
			if more {
				return propose(schema.ActionUpdate, n, 0.85, ReasonEndedMore)
			}
			return propose(schema.ActionDelete, n, 0.85, ReasonEnded)
		}
	}
	for i, n := range neighbors {
		if proposals.MayChange(fact, n) && f.newValue(views[i]) {
			p := propose(schema.ActionUpdate, n, 0.9, ReasonNewValue)
			p.Change = memory.ChangeSupersede
			return p
		}
	}
	for i, n := range neighbors {
		if !proposals.MayChange(fact, n) {
			continue
		}
		if reason := f.contradicts(views[i]); reason != "" {
			return propose(schema.ActionUpdate, n, 0.8, reason)
		}
	}
	return memory.Proposal{Action: schema.ActionAdd, Confidence: 0.8, Reason: ReasonNew}
}

// changeConfidence is the confidence in a change that frames found.
var changeConfidence = map[memory.Change]float64{memory.ChangeSupersede: 0.9, memory.ChangeContest: 0.7}

// token is a word as the Decider compares it.
type token struct {
	exact    string // singular, lower case
	stem     string
	mark     bool // negation, antonym, or a word that says that something ended
	boundary bool // a clause ends after it, or it begins one
}

// view is a content as the Decider compares it.
type view struct {
	content string
	claim   memory.Claim
	tokens  []token
	single  bool // one sentence
	ended   int  // index of the token that says that something ended, -1 for none
	after   bool // what ended is before it ("X was removed")
	past    bool // "used to"
}

var (
	// ignorable words do not change a statement.
	ignorable = set(`a an the is are am be that really very just also please so`)

	// auxiliary words are added or removed with a negation.
	auxiliary = set(`do does did will would`)

	irregular = map[string]string{"has": "have", "goes": "go", "does": "do"}

	// opposites are the antonyms that revision.DetectContradiction uses.
	opposites = set(
		`enabled enable enables enabling disabled disable disables disabling allow allows allowed allowing deny denies
		denied denying accept accepts accepted accepting reject rejects rejected rejecting always never on off true false`,
	)

	endings = set(
		`removed deprecated deleted cancelled canceled retired decommissioned abandoned discontinued dropped dismantled
		revoked withdrawn scrapped obsolete`,
	)

	reasonStarts = set(`because since due`)
	onlyNow      = set(`now currently anymore today again still`)
)

// viewOf reads a content. If the content has no claim, the claim is read from its words.
func viewOf(content string, claim memory.Claim) view {
	v := view{content: content, claim: claim, ended: -1, single: len(splitSentences(content)) < 2}
	ws := splitWords(content)
	if !claim.Functional && v.single && !isHedged(ws) && !isImperative(ws) {
		if c := parseClaim(ws); claim.IsZero() || v.claim.Predicate == c.Predicate && sameName(v.claim.Subject,
			c.Subject) {
			v.claim = c // the store may not know that a predicate is functional
		}
	}
	v.tokens = make([]token, 0, len(ws)+2)
	for i := range ws {
		v.read(ws, i)
	}
	return v
}

// read adds the tokens of the word at i, and notes if it says that something ended.
func (v *view) read(ws []word, i int) {
	w, low := ws[i], ws[i].low
	previous, next := "", ""
	if i > 0 {
		previous = ws[i-1].low
	}
	if i+1 < len(ws) {
		next = ws[i+1].low
	}
	switch {
	case low == "" || strings.Trim(low, "-–—") == "":
	case strings.HasSuffix(low, "n't"):
		base := strings.TrimSuffix(low, "n't")
		switch base {
		case "ca":
			base = "can"
		case "wo":
			base = "will"
		}
		v.add(word{}, base, false)
		v.add(w, "not", true)
	case low == "cannot":
		v.add(word{}, "can", false)
		v.add(w, "not", true)
	case low == "no" && next == "longer":
		v.ended = len(v.tokens)
		v.add(w, low, true)
	case low == "longer" && previous == "no":
		v.add(w, low, true)
	case (low == "stopped" || low == "stop" || low == "stops" || low == "quit") && strings.HasSuffix(next, "ing"):
		v.ended = len(v.tokens)
		v.add(w, low, true)
	case low == "used" && next == "to" && i > 0 && !copulas.has(previous) && previous != "get" && previous != "got":
		v.ended, v.past = len(v.tokens), true
		v.add(w, low, true)
	case low == "to" && previous == "used" && v.past && v.ended == len(v.tokens)-1:
		v.add(w, low, true)
	case low == "anymore" || low == "any" && next == "more":
		if v.ended < 0 && len(v.tokens) > 0 && hasNegation(v.tokens) {
			v.ended = lastNegation(v.tokens)
		}
		v.add(w, low, true)
	case low == "more" && previous == "any":
		v.add(w, low, true)
	case endings.has(low) && i > 0 && (copulas.has(previous) || i > 1 && previous == "now"):
		if v.ended < 0 {
			v.ended, v.after = len(v.tokens), true
		}
		v.add(w, low, true)
	default:
		if rest, possessive := stripPossessive(low); possessive {
			v.add(word{}, rest, false)
			v.add(w, "'s", false)
			return
		}
		v.add(w, low, negations.has(low) || opposites.has(low))
	}
}

// add adds the token of a word. low is the word in lower case, or a part of it. Ignorable words add nothing, but they
// may end a clause.
func (v *view) add(w word, low string, mark bool) {
	t := token{mark: mark, boundary: w.ends() || boundaries.has(low) || low == "and" || low == "or"}
	switch {
	case low == w.low && len(w.core) == 1 && capital(w.core) && len(v.tokens) > 0:
		t.exact, t.stem = w.core, w.core // the A of "feature A" is not an article
	case ignorable.has(low) && !mark:
		if t.boundary && len(v.tokens) > 0 {
			v.tokens[len(v.tokens)-1].boundary = true
		}
		return
	default:
		t.exact, t.stem = singular(low), english.Snowball(low)
		if r, ok := irregular[low]; ok {
			t.exact, t.stem = r, r
		}
	}
	v.tokens = append(v.tokens, t)
}

func hasNegation(ts []token) bool { return lastNegation(ts) >= 0 }

func lastNegation(ts []token) int {
	for i := len(ts) - 1; i >= 0; i-- {
		if ts[i].mark && negations.has(ts[i].exact) {
			return i
		}
	}
	return -1
}

// singular removes the final s of longer words, both nouns and verbs. It removes nothing else, so that "worked" and
// "works" stay different.
func singular(low string) string {
	n := len(low)
	if n > 3 && low[n-1] == 's' && low[n-2] != 's' && low[n-2] != 'u' && low[n-2] != 'i' && !hasDigit(low) {
		return low[:n-1]
	}
	return low
}

// sameWords reports whether two contents have the same words in the same order: "Alice likes Bob" is not "Bob likes
// Alice".
func (v view) sameWords(o view) bool {
	return len(v.tokens) > 0 && slices.EqualFunc(v.tokens, o.tokens, func(a, b token) bool {
		return a.exact == b.exact
	})
}

// sameKey reports whether the claims of both have the same subject and the same functional predicate.
func (v view) sameKey(o view) bool {
	return v.claim.Functional && o.claim.Functional && !v.claim.IsZero() && !o.claim.IsZero() &&
		strings.EqualFold(v.claim.Predicate, o.claim.Predicate) && sameName(v.claim.Subject, o.claim.Subject)
}

// sameClaim reports whether v and o have the same claim, and v says nothing else.
func (v view) sameClaim(o view) bool {
	if !v.sameKey(o) || !sameName(v.claim.Object, o.claim.Object) || v.ended >= 0 || o.ended >= 0 {
		return false
	}
	return v.beyond(o, o.claim) == 0
}

// newValue reports whether v gives another object to o's subject and predicate, and o says little else, so that
// replacing it loses little.
func (v view) newValue(o view) bool {
	if !v.sameKey(o) || !o.single || v.ended >= 0 || o.ended >= 0 || o.past {
		return false
	}
	a, b := strings.Fields(nameKey(v.claim.Object)), strings.Fields(nameKey(o.claim.Object))
	switch {
	case subset(a, b):
		return false // the same value, or a less exact one
	case subset(b, a):
		return o.beyond(v, o.claim) == 0 // a more exact one, which loses nothing: "green" and "dark green"
	}
	return o.beyond(v, o.claim) <= 2
}

// beyond counts the words of v that o does not have and that are not in claim or part of its verb.
func (v view) beyond(o view, claim memory.Claim) int {
	claimed := fold(claim.Subject + " " + claim.Object + " " + strings.ReplaceAll(claim.Predicate, "_", " "))
	names := strings.Fields(claimed)
	n := 0
	for _, t := range v.tokens {
		if stopWords.has(t.exact) || onlyNow.has(t.exact) || claimVerb(t.exact) != nil ||
			claimVerb(t.exact+"s") != nil {
			continue
		}
		if slices.ContainsFunc(o.tokens, func(x token) bool { return x.stem == t.stem }) ||
			slices.ContainsFunc(names, func(x string) bool { return singular(strings.Trim(x, closing)) == t.exact }) {
			continue
		}
		n++
	}
	return n
}

func subset(a, b []string) bool {
	for _, x := range a {
		if !slices.Contains(b, x) {
			return false
		}
	}
	return true
}

// minEnded is how many words a statement needs to be recognised as the one that ended.
const minEnded = 3

// endsWhat reports whether v says that the statement of o has ended, and whether v says more than that. All words of o
// must be in v in the same order, and the word of ending must be in the same clause.
func (v view) endsWhat(o view) (ends, more bool) {
	if v.ended < 0 || o.ended >= 0 || !o.single || hasNegation(o.tokens) {
		return false, false
	}
	base := o.base(false)
	if len(base) < minEnded {
		return false, false
	}
	at, last := 0, -1
	extra := 0
	for i, t := range v.tokens {
		switch {
		case at < len(base) && t.stem == base[at].stem:
			at++
			last = i
		case t.mark || auxiliary.has(t.exact) || onlyNow.has(t.exact) || copulas.has(t.exact):
		default:
			extra++
		}
	}
	if at < len(base) {
		return false, false
	}
	from, to := min(v.ended, last), max(v.ended, last)
	if !v.after && v.ended > last { // "lives in Oslo and no longer smokes"
		return false, false
	}
	for i := from; i < to; i++ {
		if v.tokens[i].boundary {
			return false, false
		}
	}
	return true, extra > 0 || v.past
}

// base is the statement without its negations, antonyms and auxiliaries, and without the reason
// given for it when core is set.
func (v view) base(core bool) []token {
	out := make([]token, 0, len(v.tokens))
	for i, t := range v.tokens {
		if core && i > 0 && reasonStarts.has(t.exact) {
			break
		}
		if !t.mark && !auxiliary.has(t.exact) && !onlyNow.has(t.exact) {
			out = append(out, t)
		}
	}
	return out
}

// contradicts returns the name of the rule by which v contradicts o, or "". The other words must be the same, because a
// statement about one place or time does not contradict one about another.
func (v view) contradicts(o view) string {
	if !v.single || !o.single {
		return ""
	}
	a, b := v.base(true), o.base(true)
	if len(a) == 0 || !slices.EqualFunc(a, b, func(x, y token) bool { return x.stem == y.stem }) {
		return ""
	}
	c := revision.DetectContradiction(v.content, o.content)
	switch {
	case c.Risk && len(c.Antonyms) > 0:
		return ReasonAntonyms
	case v.ended < 0 && o.ended >= 0:
		return ReasonResumed
	case v.ended >= 0 && o.ended < 0, c.Risk && c.NegationMismatch:
		return ReasonNegation
	}
	return ""
}
