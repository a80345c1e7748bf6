package views

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/ledger"
)

// sceneNotes is the number of textual observations in a scene. A new text does not replace an older one, as a field
// does, so only the latest are current.
const sceneNotes = 3

// Scene is the state of the world that a viewer has seen: a projection of events world.observed and
// world.environment, one part for each stream.
type Scene struct {
	Parts []ScenePart `json:"parts"` // by name of the stream, without empty ones
}

// ScenePart is the state after the events of one stream.
type ScenePart struct {
	Stream string   `json:"stream"`
	Notes  []string `json:"notes,omitempty"` // the latest observations in words, in ledger order

	// State has the fields of observed objects. A later value replaces an earlier one, null removes it.
	State map[string]json.RawMessage `json:"state,omitempty"`

	// Environment is merged field by field, tool by tool: a later snapshot replaces the fields that it names.
	Environment schema.Environment `json:"environment"`

	changed map[string]int // index of the event that last changed a field of State, by field
}

// SceneOf folds the events that the viewer sees into a scene.
func SceneOf(v Viewer, events []ledger.Event) Scene {
	parts := map[string]*ScenePart{}
	for i, e := range Order(events) {
		if e.Kind != ledger.KindWorldObserved && e.Kind != ledger.KindEnvironment || !v.Sees(e) {
			continue
		}
		p := parts[e.Stream]
		if p == nil {
			p = &ScenePart{Stream: e.Stream, State: map[string]json.RawMessage{}, changed: map[string]int{}}
			parts[e.Stream] = p
		}
		if e.Kind == ledger.KindEnvironment {
			p.enter(e)
		} else {
			p.observe(i, e)
		}
	}
	var s Scene
	for _, stream := range slices.Sorted(maps.Keys(parts)) {
		if part := *parts[stream]; !part.empty() {
			s.Parts = append(s.Parts, part)
		}
	}
	return s
}

// empty reports whether nothing is known: nothing was observed, or everything was removed.
func (p ScenePart) empty() bool {
	return len(p.Notes) == 0 && len(p.State) == 0 && len(environmentLines(p.Environment)) == 0
}

// observe applies an event world.observed.
func (p *ScenePart) observe(place int, e ledger.Event) {
	object, ok := ledger.Payload[map[string]json.RawMessage](e)
	if !ok {
		return
	}
	for name, value := range object {
		var text string
		switch {
		case name == "artifacts":
		case name == "text" && json.Unmarshal(value, &text) == nil:
			if text != "" {
				p.Notes = append(p.Notes, text)
				p.Notes = p.Notes[max(0, len(p.Notes)-sceneNotes):]
			}
		case string(value) == "null":
			delete(p.State, name)
			delete(p.changed, name)
		default:
			p.State[name], p.changed[name] = value, place
		}
	}
}

// enter applies an event world.environment.
func (p *ScenePart) enter(e ledger.Event) {
	snapshot, ok := ledger.Payload[schema.Environment](e)
	if !ok {
		return
	}
	env := &p.Environment
	env.OS = cmp.Or(snapshot.OS, env.OS)
	env.WorkingDir = cmp.Or(snapshot.WorkingDir, env.WorkingDir)
	if len(snapshot.ToolVersions) > 0 {
		versions := maps.Clone(env.ToolVersions)
		if versions == nil {
			versions = map[string]string{}
		}
		maps.Copy(versions, snapshot.ToolVersions)
		env.ToolVersions = versions
	}
	if len(snapshot.Context) > 0 {
		env.Context = snapshot.Context
	}
}

// Text returns the scene in words, one line for each thing in it.
func (s Scene) Text() string { return render(s.lines()) }

// lines returns the entries of the scene. If not all fit, notes are kept first, the newest first, then fields, the last
// changed first, then the environment. Several streams are named and take turns.
func (s Scene) lines() []line {
	var out []line
	for _, p := range s.Parts {
		heading := ""
		if len(s.Parts) > 1 {
			heading = oneLine(p.Stream) + ":"
		}
		add := func(rank int, text string) { out = append(out, entry(heading, text, rank)) }
		for i, note := range p.Notes {
			add(len(p.Notes)-i, note)
		}
		byChange := slices.SortedFunc(maps.Keys(p.State), func(a, b string) int {
			return cmp.Or(cmp.Compare(p.changed[b], p.changed[a]), cmp.Compare(a, b))
		})
		for _, name := range slices.Sorted(maps.Keys(p.State)) {
			add(sceneNotes+1+slices.Index(byChange, name), name+": "+fields(p.State[name]))
		}
		for _, text := range environmentLines(p.Environment) {
			add(sceneNotes+1+len(p.State), text)
		}
	}
	return out
}

func environmentLines(env schema.Environment) []string {
	versions := make([]string, 0, len(env.ToolVersions))
	for _, tool := range slices.Sorted(maps.Keys(env.ToolVersions)) {
		versions = append(versions, tool+" "+env.ToolVersions[tool])
	}
	var out []string
	for _, l := range []struct{ label, text string }{
		{"system", env.OS}, {"directory", env.WorkingDir}, {"tools", strings.Join(versions, ", ")},
		{"context", fields(env.Context)},
	} {
		if l.text != "" {
			out = append(out, l.label+": "+l.text)
		}
	}
	return out
}
