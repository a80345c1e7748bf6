package facts

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/change"
	"github.com/mneme/mneme/memory/frame"
	"github.com/mneme/mneme/memory/learning/duplicates"
	"github.com/mneme/mneme/memory/learning/evidence"
	"github.com/mneme/mneme/memory/learning/promote"
	"github.com/mneme/mneme/memory/learning/trace"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// Constants of the decision.
const (
	leastSessions = 2   // sessions in which a statement must be made to become a fact
	leastSources  = 2   // sources that must make it, unless it is about the speaker
	outweighs     = 1.5 // a statement replaces another if its weight is this many times greater
	maxCompared   = 40  // statements that one statement is compared with
	maxTerm       = 500 // statements with one word; more common words are not used to find statements
	maxRead       = 600 // bytes of a statement; a longer one is not read
)

// Observation is a statement from a session.
type Observation struct {
	ID      string
	Text    string
	Who     string // who said it
	Source  trace.Source
	Context map[string]string // of the session: project_kind, os and so on
	At      time.Time
	Stored  time.Time // when the session was stored
}

// Trusted reports whether the source of an observation is trusted enough for evidence.
func (o Observation) Trusted() bool {
	return o.Source.Trust >= evidence.Default().MinTrust // false for NaN
}

// Fact is a stored fact.
type Fact struct {
	ID         string
	Text       string
	Who        string
	Conditions promote.Conditions
	Confidence float64
	Trust      float64
	Sources    int // distinct sources
	At         time.Time
	Pinned     bool
}

// Retired is a fact that was superseded or retracted.
type Retired struct {
	Text       string
	Who        string
	Conditions promote.Conditions
	Until      time.Time // when what superseded it was said; zero: not known
	At         time.Time // when it was superseded or retracted
}

// Action is the kind of an update.
type Action string

// The actions.
const (
	Reinforce Action = "reinforce"
	New       Action = "new"
	Replace   Action = "replace" // the target is superseded
	Fork      Action = "fork"    // both are true, each under its conditions
	Contest   Action = "contest" // a person or more evidence decides
)

// Update is one change of the stored facts.
type Update struct {
	Action Action
	Target string // the fact that is changed; empty for a new one
	// Rival is the number, from 1, of the earlier update that writes the other statement of a contest. It is 0 if the
	// contest has a target.
	Rival            int
	Text             string
	Who              string
	Conditions       promote.Conditions // under which the text is true; nil means everywhere
	TargetConditions promote.Conditions // of a fork: the new conditions of the target; nil means unchanged
	Confidence       float64
	Evidence         []string // ids of observations
	Sources          int
	Why              string
	Certainty        change.Certainty // that the text and the target cannot both hold
}

// statement is a statement with all observations and the stored fact that make it.
type statement struct {
	key, who string
	frames   []frame.Frame
	seen     []Observation
	fact     *Fact // the stored fact with this statement, if any
	sources  map[string]bool
	sessions map[string]bool
	trust    float64
	last     time.Time
	first    time.Time
	retired  []Retired // stored facts with this statement that no longer hold
	rivals   []int     // statements that contradict it
	likes    []int     // statements with another value for the same thing, which may both be true
}

// Learner collects observations and returns the updates that follow from them. It keeps equal statements once. The zero
// Learner is empty.
type Learner struct {
	statements []*statement
	byKey      map[string]int
	byTerm     map[string][]int
}

// Know adds a stored fact. All facts must be added before the first observation.
func (l *Learner) Know(f Fact) {
	s := l.at(f.Text, f.Who, f.Conditions, false)
	if s != nil && s.fact == nil {
		known := f
		s.fact = &known
	}
}

// Retire adds a fact that was superseded or retracted, after all stored facts. Observations that were made or stored
// before that do not count: they must not bring back what was corrected or taken back.
func (l *Learner) Retire(r Retired) {
	if s := l.at(r.Text, r.Who, r.Conditions, false); s != nil && s.fact == nil {
		s.retired = append(s.retired, r)
	}
}

// before reports whether an observation was made or stored before a fact was retired.
func (r Retired) before(o Observation) bool {
	return !o.At.After(r.Until) || !o.Stored.IsZero() && !o.Stored.After(r.At)
}

// Add adds an observation. It reports whether the observation has a statement that can be compared. An observation that
// is not trusted does not count.
func (l *Learner) Add(o Observation) bool {
	if !o.Trusted() {
		return false
	}
	s := l.at(o.Text, o.Who, nil, true)
	if s == nil {
		return false
	}
	if slices.ContainsFunc(s.retired, func(r Retired) bool { return r.before(o) }) {
		return true
	}
	source, session := cmp.Or(o.Who, o.Source.Origin, o.Source.Agent), cmp.Or(o.Source.Session, o.ID)
	s.sources[source], s.sessions[session] = true, true
	s.trust = max(s.trust, o.Source.Trust)
	if s.first.IsZero() || o.At.Before(s.first) {
		s.first = o.At
	}
	if o.At.After(s.last) {
		s.last = o.At
	}
	const kept = 60
	if len(s.seen) < kept {
		s.seen = append(s.seen, o)
	} else {
		s.seen[len(s.sessions)%kept] = o
	}
	return true
}

// restatesFact reports whether what someone said is a stored fact of the same person about themselves, if the words
// restate it: "I live in Porto" and "Maya lives in Porto".
func restatesFact(fact *statement, who string, frames []frame.Frame) bool {
	return fact.held() && fact.who == who && slices.ContainsFunc(fact.frames, frame.Frame.OfSpeaker) &&
		slices.ContainsFunc(frames, frame.Frame.OfSpeaker)
}

// at returns the statement of a text: a known one with the same words, one that the text restates, or a new one. Two
// stored facts stay two. observed is set if the text was said; it may restate a stored fact.
func (l *Learner) at(text, who string, conditions promote.Conditions, observed bool) *statement {
	text = normalize.CleanLine(text, maxRead+1)
	if text == "" || len(text) > maxRead || strings.HasSuffix(text, "?") {
		return nil
	}
	key := duplicates.Key(duplicates.Record{Type: schema.TypeSemantic, Content: text, Who: who}) + "\x00" +
		conditions.Situation(first(conditions))
	if i, ok := l.byKey[key]; ok {
		return l.statements[i]
	}
	frames := frame.Read(text, who)
	if len(frames) == 0 {
		return nil
	}
	if l.byKey == nil {
		l.byKey, l.byTerm = map[string]int{}, map[string][]int{}
	}
	s := &statement{key: key, who: who, frames: frames, sources: map[string]bool{}, sessions: map[string]bool{}}
	for _, i := range l.near(frames) {
		o := l.statements[i]
		forward, more := change.Best(o.frames, frames)
		back, moreToo := change.Best(frames, o.frames)
		if more || moreToo {
			continue
		}
		if forward.Change == change.Restates && forward.Certainty == change.Sure && back.Change == change.Restates &&
			len(conditions) == 0 && (o.fact == nil || observed && restatesFact(o, who, frames)) {
			l.byKey[key] = i
			return o
		}
		if rivals(forward) || rivals(back) {
			s.rivals = append(s.rivals, i)
		} else if otherValue(o.frames, frames) && (o.who == who || !frames[0].OfSpeaker()) {
			s.likes = append(s.likes, i)
		}
	}
	for _, i := range s.rivals {
		l.statements[i].rivals = append(l.statements[i].rivals, len(l.statements))
	}
	for _, i := range s.likes {
		l.statements[i].likes = append(l.statements[i].likes, len(l.statements))
	}
	l.byKey[key] = len(l.statements)
	for _, term := range terms(frames) {
		if len(l.byTerm[term]) < maxTerm {
			l.byTerm[term] = append(l.byTerm[term], len(l.statements))
		}
	}
	l.statements = append(l.statements, s)
	return s
}

func first(c promote.Conditions) map[string]string {
	out := map[string]string{}
	for key, values := range c {
		out[key] = strings.Join(values, "|")
	}
	return out
}

func rivals(r change.Relation) bool {
	return r.Certainty >= change.Doubt && r.Change != change.Restates
}

// otherValue reports whether two statements have the same topic and owner but different values: "I prefer Go" and "I
// prefer Python". Both may be true, often in different situations.
func otherValue(a, b []frame.Frame) bool {
	if len(a) != 1 || len(b) != 1 || a[0].About() == "" || !strings.EqualFold(a[0].About(), b[0].About()) ||
		a[0].Owner() != b[0].Owner() || a[0].OfSpeaker() != b[0].OfSpeaker() {
		return false
	}
	x, y := terms(a), terms(b)
	shared := 0
	for _, t := range x {
		if slices.Contains(y, t) {
			shared++
		}
	}
	return shared >= 2 && shared < len(x) && shared < len(y)
}

func terms(frames []frame.Frame) []string {
	var out []string
	for _, f := range frames {
		out = append(out, f.Terms()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// near returns the statements that share the most words with frames.
func (l *Learner) near(frames []frame.Frame) []int {
	shared := map[int]int{}
	for _, term := range terms(frames) {
		for _, i := range l.byTerm[term] {
			shared[i]++
		}
	}
	out := make([]int, 0, len(shared))
	for i := range shared {
		out = append(out, i)
	}
	slices.SortFunc(out, func(a, b int) int { return cmp.Or(shared[b]-shared[a], a-b) })
	return out[:min(len(out), maxCompared)]
}

// weight returns the weight of the evidence for a statement. Sessions add only a little, because a person who repeats a
// statement is still one source.
func (s *statement) weight() float64 {
	return s.support() * (1 + 0.1*float64(min(len(s.sessions), 5)))
}

// support returns the weight without that of sessions: trust × (n+1)/(n+2) for n sources.
func (s *statement) support() float64 {
	trust, sources := s.trust, len(s.sources)
	if s.fact != nil {
		trust = max(trust, s.fact.Trust*memory.ClampUnit(s.fact.Confidence))
		sources = max(sources, s.fact.Sources)
	}
	n := float64(sources)
	return memory.ClampUnit(trust) * (n + 1) / (n + 2)
}

// recurs reports whether a statement was made in enough sessions and by enough sources to count.
func (s *statement) recurs() bool {
	own := slices.ContainsFunc(s.frames, frame.Frame.OfSpeaker)
	return len(s.sessions) >= leastSessions && (own || len(s.sources) >= leastSources)
}

// Updates returns the changes that follow from the observations, in the order in which the statements were first
// made. A statement is compared with the stored facts and with the strongest of the statements that it contradicts. If
// two statements contest each other and neither is stored, the first becomes a new fact, and the second contests it.
func (l *Learner) Updates() []Update {
	var out []Update
	done := map[string]bool{}       // facts that have a change
	written := map[*statement]int{} // the numbers of the updates that write statements as facts
	for _, s := range l.statements {
		if len(s.seen) == 0 || !s.recurs() {
			continue
		}
		if s.fact != nil { // statements that contradict it have their own updates
			out = append(out, s.update(Reinforce, s.fact, "said again"))
			continue
		}
		rival := l.strongest(s.rivals)
		if rival == nil {
			if o := l.strongest(s.likes); o != nil {
				if u := s.against(o); u.Action == Fork && (u.Target == "" || !done[u.Target]) {
					done[u.Target] = u.Target != ""
					out = append(out, u)
					continue
				}
			}
			out = append(out, s.update(New, nil, "said in several sessions"))
			continue
		}
		u := s.against(rival)
		switch {
		case u.Action == "":
			continue
		case rival.fact == nil && u.Action == Replace:
			u = s.update(New, nil, "more speaks for it than for another statement")
		case rival.fact == nil && u.Action == Contest && rival.against(s).Action == Replace:
			continue // the update of the rival replaces this statement
		case rival.fact == nil && u.Action == Contest:
			if u.Rival = written[rival]; u.Rival == 0 {
				u = s.update(New, nil, "about as much speaks for it as for another statement")
			}
			written[s] = len(out) + 1
		case rival.fact != nil && rival.fact.Pinned && u.Action == Replace:
			u.Action, u.Why = Contest, "the fact is pinned"
		}
		if u.Target != "" {
			if done[u.Target] {
				continue // at most one change of a fact in a run
			}
			done[u.Target] = true
		}
		out = append(out, u)
	}
	return out
}

// strongest returns the statement with the greatest weight among those that recur or are stored facts.
func (l *Learner) strongest(statements []int) (best *statement) {
	for _, i := range statements {
		o := l.statements[i]
		if o.fact == nil && !o.recurs() {
			continue
		}
		if best == nil || o.weight() > best.weight() {
			best = o
		}
	}
	return best
}

// against returns the update that follows from a statement and one that contradicts it.
func (s *statement) against(o *statement) Update {
	held, mine := contexts(o), contexts(s)
	if o.fact != nil && len(o.fact.Conditions) > 0 {
		held = append(held, given(o.fact.Conditions), given(o.fact.Conditions))
	}
	own, other := promote.Apart(mine, held), promote.Apart(held, mine)
	if own != nil && other == nil && len(held) == 0 {
		other = promote.Conditions{}
	}
	if own != nil && other != nil && own.Disjoint(other) {
		u := s.update(Fork, o.fact, "each is said in its own situations")
		u.Conditions, u.TargetConditions = own, other
		return u
	}
	later := s.first.After(o.last) && (o.fact == nil || s.first.After(o.fact.At))
	earlier := (len(o.seen) == 0 || o.first.After(s.last)) && (o.fact == nil || o.fact.At.After(s.last))
	relation, _ := change.Best(o.frames, s.frames)
	back, _ := change.Best(s.frames, o.frames)
	var out Update
	switch {
	case earlier && back.Certainty >= change.Likely && o.support()*outweighs >= s.support():
		return Update{} // the other one was said later, in words that change it; repetition does not outweigh that
	case later && relation.Certainty >= change.Likely && s.weight()*outweighs >= o.weight():
		out = s.update(Replace, o.fact, "said later, in words that change it")
	case s.weight() >= outweighs*o.weight():
		out = s.update(Replace, o.fact, "more speaks for it")
	case o.weight() >= outweighs*s.weight() && o.fact == nil:
		return Update{}
	default:
		out = s.update(Contest, o.fact, "about as much speaks for each")
	}
	out.Certainty = max(relation.Certainty, back.Certainty)
	return out
}

func contexts(s *statement) []map[string]string {
	var out []map[string]string
	for _, o := range s.seen {
		out = append(out, o.Context)
	}
	return out
}

func given(c promote.Conditions) map[string]string {
	out := map[string]string{}
	for key, values := range c {
		out[key] = values[0]
	}
	return out
}

func (s *statement) update(action Action, target *Fact, why string) Update {
	latest := s.seen[0]
	out := Update{Action: action, Sources: len(s.sources), Why: why,
		Confidence: memory.ClampUnit(min(0.95, s.weight()))}
	for _, o := range s.seen {
		out.Evidence = append(out.Evidence, o.ID)
		if o.At.After(latest.At) {
			latest = o
		}
	}
	slices.Sort(out.Evidence)
	out.Text, out.Who = latest.Text, latest.Who
	if target != nil {
		out.Target = target.ID
	}
	if action == Reinforce && target != nil {
		out.Text, out.Conditions = target.Text, target.Conditions
		out.Confidence = max(target.Confidence, out.Confidence)
	}
	return out
}
