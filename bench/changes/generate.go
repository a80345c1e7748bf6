package changes

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/schema"
)

// Sizes of a tenant.
const (
	pairsOfTenant      = 40
	togetherOfTenant   = 14
	chainsOfTenant     = 4
	distractsOfTenant  = 100
	questionsOfTenant  = 12 // about things never said, and as many whose answer is known
	sessions           = 12
	betweenSessions    = 7 * 24 * time.Hour
	betweenStatements  = 2 * time.Minute
	firstHalf          = sessions / 2 // old statements are said in these sessions
	shareSaidBySpeaker = 0.5
)

// Begin is when the first session takes place, and End when the questions are asked.
var (
	Begin = time.Date(2026, 8, 3, 9, 0, 0, 0, time.UTC)
	End   = Begin.Add(sessions * betweenSessions)
)

// Statement is one statement of a speaker.
type Statement struct {
	Text, Speaker string
	Kind          schema.SourceKind
	Session       int
	At            time.Time
}

// Pair is a statement and a later one that changes it. Statements are named by their position in the tenant.
type Pair struct {
	Attribute, Wording         string
	HeldAttribute, HeldWording bool
	Old, New                   int
	OldValue, NewValue         string
	Question, Past             string // Past may be empty
}

// Chain is a thing that changes twice. Statements are in the order of time.
type Chain struct {
	Attribute  string
	Back       bool // the last value is the first one again
	Statements [3]int
	Question   string
}

// Coexisting are two statements that do not change each other.
type Coexisting struct {
	Kind       string
	A, B       int
	AskA, AskB string
}

// Probe is a question. Answer is the statement that answers it, or -1 when nothing does.
type Probe struct {
	Kind, Question string
	Answer         int
}

// Tenant has all statements to one memory, in the order of time, and the questions at the end.
type Tenant struct {
	Name       string
	Half       string // dev, second or heldout
	HeldOut    bool
	Statements []Statement
	Pairs      []Pair
	Chains     []Chain
	Coexisting []Coexisting
	Unknown    []Probe
	Known      []Probe
}

// half is the corpus of one half.
type half struct {
	name                                 string
	changes                              []change
	together                             []together
	distractors, unheard, foreign, names []string
	frames                               []string
	heldOut                              bool
}

// Generate makes the tenants of all halves, the development half first. share, in (0,1], is the share of tenants to
// make.
func Generate(seed uint64, share float64) []Tenant {
	var out []Tenant
	for i, h := range halves() {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		all := slices.Clone(h.changes)
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		count := max(1, (len(all)+pairsOfTenant/2)/pairsOfTenant)
		for n := range max(1, int(share*float64(count)+0.5)) {
			var mine []change
			for k := n; k < len(all); k += count {
				mine = append(mine, all[k])
			}
			g := newGenerator(rand.New(rand.NewPCG(seed+uint64(n)*7919, uint64(100+i))), h)
			out = append(out, g.tenant(fmt.Sprintf("%s-%02d", h.name, n), mine))
		}
	}
	return out
}

// generator makes one tenant.
type generator struct {
	*rand.Rand
	half
	names, services, teams []string // not used yet
	people                 []subject
	systems, groups        []subject
	user                   string // the speaker who says I in the tenant; often unnamed
	taken                  map[string]bool
	t                      Tenant
}

func newGenerator(r *rand.Rand, h half) *generator {
	g := &generator{Rand: r, half: h, taken: map[string]bool{}}
	shuffled := func(list []string) []string {
		list = slices.Clone(list)
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		return list
	}
	g.names, g.services, g.teams = shuffled(h.names), shuffled(serviceNames), shuffled(teamNames)
	for range 6 {
		g.people = append(g.people, person(g.name()))
	}
	kin := shuffled(relatives)
	for _, k := range kin[:2] {
		g.people = append(g.people, person(k))
	}
	for range 5 {
		g.systems = append(g.systems, subject{person: 3, name: g.service(), pronoun: "it"})
	}
	for range 2 {
		g.groups = append(g.groups, subject{person: 3, name: "the " + g.team() + " team", pronoun: "it"})
	}
	if r.IntN(2) == 0 {
		g.user = "user"
	}
	return g
}

// person reads a name with a pronoun: "Dana/she".
func person(name string) subject {
	name, pronoun, _ := strings.Cut(name, "/")
	return subject{person: 3, name: name, pronoun: pronoun}
}

func take(list *[]string) string {
	first := (*list)[0]
	*list = (*list)[1:]
	return first
}

func (g *generator) name() string    { return take(&g.names) }
func (g *generator) service() string { return take(&g.services) }
func (g *generator) team() string    { return take(&g.teams) }

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func (g *generator) tenant(name string, mine []change) Tenant {
	g.t = Tenant{Name: name, Half: g.half.name, HeldOut: g.heldOut}
	for _, c := range mine {
		g.pair(c)
	}
	for i := range chainsOfTenant {
		g.chain(i%2 == 1)
	}
	g.coexist()
	g.distract()
	g.unknown()
	g.order()
	return g.t
}

// say adds a statement in a session and returns its position.
func (g *generator) say(text, speaker string, session int) int {
	kind := schema.SourceMemory
	if g.IntN(5) < 2 {
		kind = schema.SourceUserInput
	}
	g.t.Statements = append(g.t.Statements, Statement{Text: text, Speaker: speaker, Kind: kind, Session: session})
	return len(g.t.Statements) - 1
}

// whose chooses a subject that does not have the attribute yet.
func (g *generator) whose(a *attribute) subject {
	if a.subjects == "any" {
		return me
	}
	var from []subject
	switch a.subjects {
	case "person":
		from = append([]subject{me, me, me, me}, g.people...)
	case "team":
		from = append([]subject{we, we}, g.groups...)
	case "thing":
		from = g.systems
	}
	for range 100 {
		if s := pick(g.Rand, from); !g.taken[a.name+"/"+s.key()] {
			g.taken[a.name+"/"+s.key()] = true
			return s
		}
	}
	s := subject{person: 3, pronoun: "it"} // all of them are taken: somebody else
	switch a.subjects {
	case "person":
		s = person(g.name())
	case "team":
		s.name = "the " + g.team() + " team"
	default:
		s.name = g.service()
	}
	g.taken[a.name+"/"+s.key()] = true
	return s
}

func (s subject) key() string { return fmt.Sprint(s.person, s.name) }

// values chooses an old and a new value.
func (c *change) values(r *rand.Rand) map[string]string {
	if len(c.attr.values) < 2 {
		return nil
	}
	i, j := r.IntN(len(c.attr.values)), r.IntN(len(c.attr.values)-1)
	if j >= i {
		j++
	}
	if c.direction > 0 && i > j || c.direction < 0 && i < j {
		i, j = j, i
	}
	return map[string]string{"old": c.attr.values[i], "new": c.attr.values[j]}
}

// pair adds the statements of a change.
func (g *generator) pair(c change) {
	s := g.whose(c.attr)
	values := c.values(g.Rand)
	p := Pair{Attribute: c.attr.name, Wording: c.wording, HeldAttribute: c.attr.heldOut, HeldWording: c.heldOut}
	old, ask := c.old, c.ask
	if c.hasValue {
		old, ask = pick(g.Rand, c.attr.olds), pick(g.Rand, c.attr.asks)
		p.OldValue, p.NewValue = values["old"], values["new"]
		if len(c.attr.past) > 0 && !c.corrects {
			p.Past = render(pick(g.Rand, c.attr.past), s, values)
		}
	}
	if c.past != "" {
		p.Past = render(c.past, s, values)
	}
	p.Question = render(ask, s, values)
	first := g.IntN(firstHalf)
	second := first + 1 + g.IntN(sessions-1-first)
	saysOld, saysNew := g.speakers(s)
	p.Old = g.say(g.framed(saysOld.of(old, s, values)), saysOld.speaker, first)
	p.New = g.say(g.framed(saysNew.of(c.text, s, values)), saysNew.speaker, second)
	g.t.Pairs = append(g.t.Pairs, p)
}

// chain adds three statements about one thing. Back at the first value, the last statement may be the first one
// in the same words.
func (g *generator) chain(back bool) {
	var steps []change
	for range 100 {
		first := pick(g.Rand, g.changes)
		steps = steps[:0]
		for _, c := range first.attr.changes {
			if c.hasValue && c.direction == 0 && !c.corrects && len(c.attr.values) > 2 {
				steps = append(steps, c)
			}
		}
		if len(steps) > 1 {
			break
		}
	}
	a := steps[0].attr
	g.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	s := g.whose(a)
	order := g.Perm(len(a.values))
	values := []string{a.values[order[0]], a.values[order[1]], a.values[order[2]]}
	if back {
		values[2] = values[0]
	}
	v, _ := g.speakers(s)
	old := pick(g.Rand, a.olds)
	texts := [3]string{v.of(old, s, map[string]string{"old": values[0]})}
	for i := range 2 {
		texts[i+1] = v.of(steps[i].text, s, map[string]string{"old": values[i], "new": values[i+1]})
	}
	if back && g.IntN(2) == 0 {
		texts[2] = texts[0]
	}
	c := Chain{Attribute: a.name, Back: back, Question: render(pick(g.Rand, a.asks), s, nil)}
	for i, text := range texts {
		c.Statements[i] = g.say(text, v.speaker, i*sessions/3+g.IntN(sessions/3))
	}
	g.t.Chains = append(g.t.Chains, c)
}

// voice is the form of a statement about a subject: alone, in the first person, or by another speaker.
type voice struct {
	speaker string
	self    *subject // the speaker
}

func (v voice) of(template string, s subject, values map[string]string) string {
	if v.self != nil {
		s = *v.self
	}
	return render(template, s, values)
}

// speakers chooses the speakers of the old statement and the new one.
func (g *generator) speakers(s subject) (old, new voice) {
	switch {
	case s.person == 1:
		return voice{speaker: g.user}, voice{speaker: g.user}
	case s.person == 2 || s.pronoun == "it":
		anyone := func() voice {
			if g.Float64() < shareSaidBySpeaker {
				return voice{speaker: g.people[g.IntN(6)].name}
			}
			return voice{speaker: g.user}
		}
		return anyone(), anyone()
	}
	self, other := voice{speaker: s.name, self: &me}, voice{speaker: g.user}
	if strings.HasPrefix(s.name, "my ") {
		return other, other
	}
	return pick(g.Rand, []voice{self, other}), pick(g.Rand, []voice{self, other})
}

// order sorts the statements by time and renames them where they are mentioned.
func (g *generator) order() {
	n := len(g.t.Statements)
	rank := make([]int, n)
	for i := range rank {
		rank[i] = i
	}
	g.Shuffle(n, func(i, j int) { rank[i], rank[j] = rank[j], rank[i] })
	slices.SortStableFunc(rank, func(i, j int) int { return g.t.Statements[i].Session - g.t.Statements[j].Session })
	sorted, position, within := make([]Statement, n), make([]int, n), 0
	for to, from := range rank {
		st := g.t.Statements[from]
		if within++; to == 0 || sorted[to-1].Session != st.Session {
			within = 0
		}
		st.At = Begin.Add(time.Duration(st.Session)*betweenSessions + time.Duration(within)*betweenStatements)
		sorted[to], position[from] = st, to
	}
	g.t.Statements = sorted
	for i := range g.t.Pairs {
		p := &g.t.Pairs[i]
		p.Old, p.New = position[p.Old], position[p.New]
	}
	for i := range g.t.Chains {
		c := &g.t.Chains[i]
		for k, at := range c.Statements {
			c.Statements[k] = position[at]
		}
	}
	for i := range g.t.Coexisting {
		c := &g.t.Coexisting[i]
		c.A, c.B = position[c.A], position[c.B]
	}
	for i := range g.t.Known {
		g.t.Known[i].Answer = position[g.t.Known[i].Answer]
	}
}
