package session

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
	"github.com/mneme/mneme/schema/ledger"
)

// Bounds of a tool graph.
const (
	maxCommon   = 3       // results that may bring a value independently; a value that more results bring is ignored
	maxInferred = 32      // dependencies of one call that are found, besides those that the agent names
	maxNamed    = 64      // dependencies of one call that the agent names
	maxOpen     = 4_096   // calls without a result whose arguments are remembered
	maxIndexed  = 100_000 // values of each generation of the index (see index)

	maxToolName = 256 // characters, as in the schema of EpisodicPayload
)

// Graph finds the tool calls of a session and the data that flowed between them. Create it with NewGraph or ToolGraph.
//
// A call depends on an earlier one if an argument has a value that the result of the earlier call brought into the
// session. Values are texts of at least four characters, numbers of at least five significant digits, nested values of
// these and, inside longer texts, names such as a path or an identifier. A result brings a value if the value occurs
// there first, with these exceptions:
//
//   - A value that the user or an environment gave before the call is theirs, even if a result had it earlier.
//   - A value that first occurred in an argument, an observation or a text of the agent comes from there.
//   - A call does not bring the values of its own arguments.
//   - A value that more than three results bring, or a word such as "completed", is common and ignored.
//
// Dependencies that the agent names are kept if they name earlier calls. Calls are processed in order, so edges only
// point backward, and calls that did not wait for each other have no edge.
type Graph struct {
	calls []*call
	byID  map[string]*call
	count int // calls so far

	origins index[*origin]
	said    index[struct{}] // by the user and in environments, in lower case
	waiting int             // calls without a result

	budget  int // bytes of the calls kept; 0 for no limit
	cost    int
	leftOut int
}

// call is a node of the graph.
type call struct {
	number   int
	id, tool string
	args     json.RawMessage
	result   string // reference to the event
	failed   bool
	finished bool
	needed   bool // another call depends on it
	deps     []*call
	given    map[value]struct{} // values of the arguments, while the call is open
}

// origin is the place where a value first occurred.
type origin struct {
	from    *call // nil: not from a result
	last    *call // the last call that brought it
	results int
}

// NewGraph returns an empty graph that keeps at most about budget bytes of calls, or all calls if budget is 0. The
// first, the last and failed calls are kept before those with dependencies, and these before the rest (see
// Accumulator). An edge to a dropped call is dropped too.
func NewGraph(budget int) *Graph {
	return &Graph{byID: map[string]*call{}, budget: budget,
		origins: newIndex[*origin](maxIndexed), said: newIndex[struct{}](maxIndexed)}
}

// ToolGraph returns the whole tool graph of events in ledger order.
func ToolGraph(events []ledger.Event) []schema.ToolNode {
	g := NewGraph(0)
	for _, e := range events {
		g.Add(e)
	}
	nodes, _ := g.Nodes()
	return nodes
}

// Add adds the next event. It returns the tool of a call or of its result, or "" for other events.
func (g *Graph) Add(e ledger.Event) string {
	switch e.Kind {
	case ledger.KindToolCalled:
		if c, ok := ledger.Payload[ledger.ToolCall](e); ok && c.CallID != "" {
			return g.called(c)
		}
	case ledger.KindToolReturned, ledger.KindToolFailed:
		if r, ok := ledger.Payload[ledger.ToolResult](e); ok && r.CallID != "" {
			return g.finished(e, r)
		}
	case ledger.KindUserInjected, ledger.KindRunStarted, ledger.KindEnvironment:
		t := treeOf(decoded(e.Payload), maxed())
		t.everyWord(func(v value) { g.said.put(v, struct{}{}) })
	default:
		t := treeOf(decoded(e.Payload), maxed())
		t.distinctive(g.notBrought)
	}
	return ""
}

func maxed() *int {
	left := maxValues
	return &left
}

// decoded returns a decoded JSON value, or nil for invalid JSON.
func decoded(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	v, err := check.BuildTree(raw)
	if err != nil {
		return nil
	}
	return v
}

func (g *Graph) called(in ledger.ToolCall) string {
	id := shortName(in.CallID, schema.MaxNameLength)
	if known := g.byID[id]; known != nil {
		return known.tool // ids are unique in a stream: this is the same call
	}
	args := decoded(in.Args)
	t := treeOf(args, maxed())
	g.count++
	c := &call{
		number: g.count,
		id:     id,
		tool:   cmp.Or(shortName(in.Tool, maxToolName), "unknown"),
		args:   fitArgs(args, keptArgs),
	}

	from := map[*call]bool{}
	for _, named := range in.DependsOn {
		if before := g.byID[shortName(named, schema.MaxNameLength)]; before != nil && len(from) < maxNamed {
			from[before] = true
		}
	}
	named := len(from)
	g.search(&t, func(before *call) {
		if len(from) < named+maxInferred {
			from[before] = true
		}
	})
	for before := range from {
		before.needed = true
		c.deps = append(c.deps, before)
	}
	slices.SortFunc(c.deps, func(a, b *call) int { return a.number - b.number })

	g.waiting++
	if g.waiting <= maxOpen {
		c.given = map[value]struct{}{}
	}
	t.distinctive(func(v value) {
		g.notBrought(v)
		if c.given != nil {
			c.given[v] = struct{}{}
		}
	})
	g.byID[id] = c
	g.calls = append(g.calls, c)
	g.cost += c.cost()
	if g.budget > 0 && g.cost > 2*g.budget {
		g.compact()
	}
	return c.tool
}

// search calls f for the calls that brought values of arguments. It does not search the parts of a value that was
// found.
func (g *Graph) search(t *tree, f func(*call)) {
	if len(t.kids) > 0 {
		if t.nested() {
			if before := g.broughtBy(t.id); before != nil && !g.userSaid(t) {
				f(before)
				return
			}
		}
		for i := range t.kids {
			g.search(&t.kids[i], f)
		}
		return
	}
	if t.text == "" {
		return
	}
	if wholeDistinctive(t.text) {
		if before := g.broughtBy(t.id); before != nil {
			if !g.userSaid(t) {
				f(before)
			}
			return
		}
	}
	t.eachName(func(word string) {
		if before := g.broughtBy(textValue(word)); before != nil && !g.saidText(word) {
			f(before)
		}
	})
}

// broughtBy returns the call whose result brought a value, or nil.
func (g *Graph) broughtBy(v value) *call {
	o, known := g.origins.get(v)
	if !known || o.results > maxCommon {
		return nil
	}
	return o.from
}

// userSaid reports whether the user or an environment gave a value as a whole, or each of its words.
func (g *Graph) userSaid(t *tree) bool {
	if len(t.kids) > 0 {
		if _, ok := g.said.get(t.id); ok {
			return true
		}
		for i := range t.kids {
			if !g.userSaid(&t.kids[i]) {
				return false
			}
		}
		return true
	}
	if t.text == "" { // true, false and null are not distinctive
		return true
	}
	if g.saidText(t.text) {
		return true
	}
	any, all := false, true
	eachWord(t.text, func(word string) {
		if len(word) >= minSaid && all {
			any = true
			all = g.saidText(word)
		}
	})
	return any && all
}

func (g *Graph) saidText(text string) bool {
	_, ok := g.said.get(textValue(strings.ToLower(text)))
	return ok
}

// notBrought records a value that occurs outside a result.
func (g *Graph) notBrought(v value) {
	if _, known := g.origins.get(v); !known {
		g.origins.put(v, &origin{})
	}
}

func (g *Graph) finished(e ledger.Event, r ledger.ToolResult) string {
	var found []tree
	for _, raw := range []json.RawMessage{r.Result, quoted(r.Error)} {
		if v := decoded(raw); v != nil {
			found = append(found, treeOf(v, maxed()))
		}
	}
	for _, ref := range r.Artifacts {
		found = append(found, leafOf(ref))
	}
	c := g.byID[shortName(r.CallID, schema.MaxNameLength)]
	if c == nil {
		for i := range found {
			found[i].distinctive(g.notBrought)
		}
		return ""
	}
	for i := range found {
		found[i].distinctive(func(v value) { g.brought(c, v) })
	}
	if !c.finished {
		g.waiting--
	}
	g.cost -= c.cost()
	c.given = nil
	c.finished, c.failed, c.result = true, e.Kind == ledger.KindToolFailed, eventRef(e)
	g.cost += c.cost()
	return c.tool
}

// brought records a value in the result of a call.
func (g *Graph) brought(c *call, v value) {
	if _, repeated := c.given[v]; repeated {
		return
	}
	o, known := g.origins.get(v)
	switch {
	case !known:
		g.origins.put(v, &origin{from: c, last: c, results: 1})
	case o.from != nil && o.last != c:
		o.last = c
		o.results++
	}
}

// compact drops calls until the others fit into the budget.
func (g *Graph) compact() {
	kept := g.kept()
	g.leftOut += len(g.calls) - len(kept)
	byID := make(map[string]*call, len(kept))
	cost := 0
	for _, c := range kept {
		byID[c.id] = c
		cost += c.cost()
	}
	for _, c := range g.calls {
		if byID[c.id] == nil { // the index may still refer to it: drop its data
			if !c.finished {
				g.waiting--
			}
			c.args, c.deps, c.given = nil, nil, nil
		}
	}
	g.calls, g.byID, g.cost = kept, byID, cost
}

// kept returns the calls that fit into the budget.
func (g *Graph) kept() []*call {
	if g.budget == 0 {
		return g.calls
	}
	keep := thin(len(g.calls), g.budget, 0, func(i int) int { return g.calls[i].cost() }, func(i int) weight {
		switch c := g.calls[i]; {
		case c.failed:
			return failure
		case !c.finished, c.needed, len(c.deps) > 0:
			return notable
		}
		return routine
	})
	var out []*call
	for i, c := range g.calls {
		if keep[i] {
			out = append(out, c)
		}
	}
	return out
}

// Nodes returns the graph in the order of the calls, and the number of omitted calls. Secrets in arguments are masked.
func (g *Graph) Nodes() (nodes []schema.ToolNode, leftOut int) {
	kept := g.kept()
	in := make(map[*call]bool, len(kept))
	for _, c := range kept {
		in[c] = true
	}
	for _, c := range kept {
		node := schema.ToolNode{ID: c.id, Tool: c.tool, ResultRef: c.result}
		if len(c.args) > 0 {
			masked, _ := sensitive.MaskJSON(c.args)
			node.Args = fitArgs(decoded(masked), shownArgs)
		}
		for _, before := range c.deps {
			if in[before] {
				node.DependsOn = append(node.DependsOn, before.id)
			}
		}
		nodes = append(nodes, node)
	}
	return nodes, g.leftOut + len(g.calls) - len(kept)
}

// cost returns the approximate size of a call in a payload.
func (c *call) cost() int {
	const names = 40 // of members
	total := names + len(c.id) + len(c.tool) + len(c.result) + min(len(c.args), shownArgs.bytes)
	for _, before := range c.deps {
		total += len(before.id)
	}
	return total
}
