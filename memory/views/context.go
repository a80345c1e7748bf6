package views

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/memory/layers"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// SectionName names a section of a context.
type SectionName string

// The sections, in the order in which they are read (document 001 "Context Builder Layering").
const (
	SectionIdentity SectionName = "IDENTITY"
	SectionScene    SectionName = "CURRENT SCENE"
	SectionMemory   SectionName = "YOUR MEMORY"
	SectionVisitor  SectionName = "VISITOR"
	SectionExtra    SectionName = "EXTRA"         // only if not empty
	SectionFormat   SectionName = "OUTPUT FORMAT" // only if not empty
)

// Visits is the number of user inputs in a context.
const Visits = 3

// The text of a section without entries.
const (
	nothing = "(none)"
	noRoom  = "(no room)"
)

// Request is the input of Build.
type Request struct {
	Viewer Viewer
	Events []ledger.Event // of the ledger, in any order; those that the viewer may not see are omitted
	Turn   int            // 0 or less: the latest turn that the viewer has seen

	Identity string // the text that tells the agent who it is
	Memory   Memory
	Index    MemoryIndex // for salience; nil for none

	Scene    string                 // if set, used instead of SceneOf
	Working  *schema.WorkingPayload // the state of the task, if there is one
	Recalled []schema.RecallResult  // results of a recall, best first

	Extra        func(Seen) string // the text of EXTRA; nil for none
	OutputFormat string            // the text of OUTPUT FORMAT

	BudgetTokens int // by layers.EstimateTokens; 0 or less: no limit
}

// Seen is the input of a hook for EXTRA: only what the viewer sees.
type Seen struct {
	Viewer  Viewer
	Now     Now
	Scene   Scene
	Memory  []ledger.Event
	Visitor []ledger.Event
}

// Context is the text that an agent reads before it acts.
type Context struct {
	Sections []Section `json:"sections"` // in order
	Tokens   int       `json:"tokens"`   // estimated, of Text
	Over     bool      `json:"over"`     // more than the budget, because the parts that must be kept are larger
}

// Section is one part of a context.
type Section struct {
	Name    SectionName `json:"name"`
	Text    string      `json:"text"`
	LeftOut int         `json:"left_out,omitempty"` // number of entries that did not fit
	Cut     bool        `json:"cut,omitempty"`      // an entry was cut
}

// Text returns the context as a prompt.
func (c Context) Text() string {
	parts := make([]string, 0, len(c.Sections))
	for _, s := range c.Sections {
		parts = append(parts, s.heading()+s.Text)
	}
	return strings.Join(parts, "\n\n")
}

func (s Section) heading() string { return "## " + string(s.Name) + "\n" }

// tokens returns the tokens of a section with the blank line after it.
func (s Section) tokens() int { return layers.EstimateTokens(s.heading()+s.Text) + 2 }

// Build returns the context of a request. Its order is fixed, and the same request always gives the same context.
//
// A budget is divided as follows:
//
//  1. IDENTITY and OUTPUT FORMAT are complete with any budget.
//  2. VISITOR always has its entries. Each keeps at least 32 tokens.
//  3. Of the rest, VISITOR has up to 25%, CURRENT SCENE up to 30%, YOUR MEMORY up to 35%, EXTRA up to 10%. The rest of
//     a share that a section does not need goes to the others, in that order.
//  4. CURRENT SCENE omits the environment first, then fields, those unchanged for longest first, then the oldest
//     observation. YOUR MEMORY keeps the task, then in turn one event, one belief and one recalled memory, the latest
//     or most salient first. An entry is cut to 64 tokens at first; the remaining tokens extend the long entries.
//  5. EXTRA is cut at its end. It is omitted if it would have less than 32 tokens.
//
// With or without a budget, an event has at most 256 tokens in CURRENT SCENE and YOUR MEMORY.
//
// The other sections than IDENTITY, EXTRA and OUTPUT FORMAT have texts of others. Each entry is therefore on one line,
// so that no text can look like a heading or another entry.
func Build(ctx context.Context, r Request) (Context, error) {
	b := builder{Request: r, events: Order(r.Events)}
	if err := b.computeViews(ctx); err != nil {
		return Context{}, err
	}
	out := Context{Sections: b.sections()}
	out.Tokens = layers.EstimateTokens(out.Text())
	out.Over = r.BudgetTokens > 0 && out.Tokens > r.BudgetTokens
	return out, nil
}

// builder is a request with the views of the viewer.
type builder struct {
	Request
	events []ledger.Event

	scene, memory, visitor []line
	extra                  string
}

// computeViews computes the views of the viewer.
func (b *builder) computeViews(ctx context.Context) error {
	seen := Seen{Viewer: b.Viewer, Now: Now{Turn: b.Turn, Scene: b.Request.Scene}, Scene: SceneOf(b.Viewer, b.events)}
	if b.Turn <= 0 {
		for _, e := range b.events {
			if b.Viewer.Sees(e) {
				seen.Now.Turn = max(seen.Now.Turn, e.Turn)
			}
		}
	}
	b.scene = seen.Scene.lines()
	if seen.Now.Scene != "" {
		b.scene = nil
		for i, text := range strings.Split(strings.TrimSpace(seen.Now.Scene), "\n") {
			b.scene = append(b.scene, line{text: text, rank: i})
		}
	} else {
		seen.Now.Scene = render(b.scene)
	}
	events, err := b.Memory.remember(ctx, b.Viewer, b.Index, b.events, seen.Now)
	if err != nil {
		return fmt.Errorf("context of an agent: %w", err)
	}
	b.memory = b.memoryLines(events)
	for _, e := range slices.Backward(b.events) {
		if len(seen.Visitor) < Visits && b.Viewer.Visited(e) {
			seen.Visitor = append(seen.Visitor, e)
		}
	}
	slices.Reverse(seen.Visitor)
	for _, e := range seen.Visitor {
		b.visitor = append(b.visitor, line{text: join(": ", b.source(e), said(e))})
	}
	if b.Extra != nil {
		for _, e := range events {
			seen.Memory = append(seen.Memory, e.Event)
		}
		b.extra = strings.TrimSpace(b.Extra(seen))
	}
	return nil
}

// said returns the text of an event and the references to its artifacts.
func said(e ledger.Event) string {
	text := Text(e)
	references := artifacts(e)
	if len(references) == 0 {
		return text
	}
	if object, ok := ledger.Payload[ledger.Text](e); ok && object.Text == "" {
		text = ""
	}
	return join(" ", text, "(artifacts: "+strings.Join(references, ", ")+")")
}

// memoryLines returns the entries of YOUR MEMORY: the task, recalled memories, and events including beliefs.
func (b *builder) memoryLines(events []remembered) []line {
	var out []line
	if b.Working != nil {
		for _, text := range workingLines(*b.Working) {
			out = append(out, line{heading: "Task:", text: text})
		}
	}
	n := 0
	for _, r := range b.Recalled {
		if r.Content == "" || r.Supplementary {
			continue
		}
		out = append(out, line{heading: "Known:", text: recalledText(r), rank: turns*n + 3})
		n++
	}
	// The rank of an event is its place among those of its queue: of events, or of the agent's beliefs.
	reflects := b.Memory.ReflectionThreshold > 0
	byWorth := slices.SortedFunc(slices.Values(events), func(x, y remembered) int { return x.worth - y.worth })
	ranks := make(map[string]int, len(events))
	var beliefs, others int
	for _, e := range byWorth {
		if reflects && b.Viewer.reflected(e.Event) {
			ranks[e.ID] = turns*beliefs + 2
			beliefs++
		} else {
			ranks[e.ID] = turns*others + 1
			others++
		}
	}
	for _, e := range events {
		out = append(out, entry("Remembered:", b.eventText(e.Event), ranks[e.ID]))
	}
	return out
}

// turns is the number of queues that take turns in YOUR MEMORY: events, beliefs, recalled memories.
const turns = 3

func (b *builder) eventText(e ledger.Event) string {
	return join(": ", b.source(e)+", "+e.Kind, said(e))
}

// source returns the turn and the agent of an event. Inputs of users and events of the world are not attributed to an
// agent, even if the event belongs to one.
func (b *builder) source(e ledger.Event) string {
	when := fmt.Sprintf("turn %d", e.Turn)
	switch {
	case b.Viewer.Agent == "" || e.Agent != b.Viewer.Agent:
		return join(", ", when, e.Agent)
	case e.Kind == ledger.KindUserInjected, strings.HasPrefix(e.Kind, "world."):
		return when
	}
	return when + ", you"
}

// recalledText returns a recalled memory with notes about its limitations.
func recalledText(r schema.RecallResult) string {
	var notes []string
	if !r.OccurredAt.IsZero() {
		notes = append(notes, r.OccurredAt.UTC().Format(time.DateOnly))
	}
	if r.Status == schema.StatusContested {
		notes = append(notes, string(r.Status))
	}
	if r.Currentness != "" {
		notes = append(notes, string(r.Currentness))
	}
	if len(notes) == 0 {
		return r.Content
	}
	return r.Content + " (" + strings.Join(notes, ", ") + ")"
}

// sections returns the sections within the budget.
func (b *builder) sections() []Section {
	identity := Section{Name: SectionIdentity, Text: strings.TrimSpace(b.Identity)}
	scene, memory, visitor := Section{Name: SectionScene}, Section{Name: SectionMemory}, Section{Name: SectionVisitor}
	extra := Section{Name: SectionExtra, Text: noRoom}
	format := Section{Name: SectionFormat, Text: strings.TrimSpace(b.OutputFormat)}

	wants := []want{{cost(b.visitor), 25}, {cost(b.scene), 30}, {cost(b.memory), 35},
		{layers.EstimateTokens(b.extra), 10}}
	room := []int{wants[0].tokens, wants[1].tokens, wants[2].tokens, wants[3].tokens}
	if b.BudgetTokens > 0 {
		floor := 0
		for _, l := range b.visitor {
			floor += min(l.tokens(), minEntryTokens)
		}
		fixed := identity.tokens() + floor
		for _, s := range []Section{scene, memory, visitor} {
			s.Text = noRoom
			fixed += s.tokens()
		}
		if b.extra != "" {
			fixed += extra.tokens()
		}
		if format.Text != "" {
			fixed += format.tokens()
		}
		wants[0].tokens -= floor
		room = divide(b.BudgetTokens-fixed, wants)
		room[0] += floor
	}

	visitor.fill(shorter(b.visitor, room[0]), b.visitor, 0)
	taken, left := fit(b.scene, room[1])
	scene.fill(taken, b.scene, left)
	taken, left = fit(b.memory, room[2])
	memory.fill(taken, b.memory, left)

	out := []Section{identity, scene, memory, visitor}
	if b.extra != "" {
		if room[3] >= min(minEntryTokens, wants[3].tokens) {
			extra.Text, extra.Cut = layers.CutTokens(b.extra, room[3])
		} else {
			extra.LeftOut = 1
		}
		out = append(out, extra)
	}
	if format.Text != "" {
		out = append(out, format)
	}
	return out
}

// fill sets the text of a section from the entries that fit.
func (s *Section) fill(taken, all []line, left int) {
	s.Text, s.LeftOut = render(taken), left
	switch {
	case len(all) == 0:
		s.Text = nothing
	case len(taken) == 0:
		s.Text = noRoom
	}
	s.Cut = slices.ContainsFunc(taken, func(l line) bool { return l.cut })
}
