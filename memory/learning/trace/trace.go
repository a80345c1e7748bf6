package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mneme/mneme/memory/learning/signature"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
)

// Limits of an attempt.
const (
	MaxSteps   = 60 // steps of an attempt; longer attempts are not used for learning
	maxCalls   = 1_000
	maxArgs    = 24  // leaves of the arguments of a step
	maxResults = 16  // leaves of the result of a step
	maxText    = 400 // bytes of a leaf
	maxContext = 40  // keys of a situation
	maxDepth   = 6   // levels of arguments and results that are read
)

// Source describes the origin of an attempt.
type Source struct {
	Agent   string `json:"agent,omitempty"`
	Session string `json:"session,omitempty"`
	// Origin is the principal or the import that submitted the evidence, and could have invented it.
	Origin string `json:"origin,omitempty"`
	// Witnessed means that the ledger recorded calls and results as they happened. They were not reported afterwards.
	Witnessed bool    `json:"witnessed,omitempty"`
	Trust     float64 `json:"trust"` // [0,1]
}

// Attempt is one try to solve a problem or to do a task.
type Attempt struct {
	ID          string              `json:"id"` // id of the episode and number of the attempt in it
	Episode     string              `json:"episode"`
	Source      Source              `json:"source"`
	At          time.Time           `json:"at"`
	Problem     signature.Signature `json:"problem"` // zero: a task, not an error
	Intent      string              `json:"intent,omitempty"`
	Situation   Situation           `json:"situation"`
	Steps       []Step              `json:"steps"`
	Outcome     schema.Outcome      `json:"outcome"`
	Sensitivity schema.Sensitivity  `json:"sensitivity,omitempty"`
	// Checked means that the outcome was observed, not only reported: the call that had failed ran again.
	Checked bool `json:"checked,omitempty"`
	// Partial means that the call that had failed then failed with another error.
	Partial bool `json:"partial,omitempty"`
	// Bound means that the agent had named its constraints. They are in the context.
	Bound bool `json:"bound,omitempty"`
	// Open has the agent's questions that were open when the attempt ended.
	Open []string `json:"open,omitempty"`
}

// Situation has the data that was known before the first step.
type Situation struct {
	// Context has os, the versions of tools as go_version, and the scalars of the environment's context.
	Context    map[string]string `json:"context,omitempty"`
	WorkingDir string            `json:"working_dir,omitempty"`
	Failed     *Step             `json:"failed,omitempty"` // the call whose failure is the problem
}

// Step is one tool call.
type Step struct {
	ID        string              `json:"id"`
	Tool      string              `json:"tool"`
	Args      map[string]Scalar   `json:"args,omitempty"` // by path: options.level, files.0
	Results   map[string]string   `json:"results,omitempty"`
	DependsOn []string            `json:"depends_on,omitempty"` // ids of steps
	Failed    bool                `json:"failed,omitempty"`
	Error     signature.Signature `json:"error,omitzero"`
	Took      time.Duration       `json:"took,omitempty"` // 0: not known
}

// Scalar is a string, number, boolean or null of JSON.
type Scalar struct {
	Text string `json:"text"`
	Type string `json:"type"` // JSON Schema type: string, number, boolean or null
}

// Key identifies the problem or the task of the attempt. It is empty if neither is known.
func (a Attempt) Key() string {
	if !a.Problem.IsZero() {
		return "error:" + a.Problem.Key()
	}
	if intent := signature.OfIntent(a.Intent); !intent.IsZero() {
		return "intent:" + intent.Key()
	}
	return ""
}

// Signal returns the problem or the task in the form of a trigger's signal.
func (a Attempt) Signal() string {
	if !a.Problem.IsZero() {
		return a.Problem.Text
	}
	return normalize.CleanLine(a.Intent, schema.MaxIntentLength)
}

// Fingerprint returns a hash that is equal for attempts that differ only in source and time. Such attempts are one
// observation.
func (a Attempt) Fingerprint() string {
	h := sha256.New()
	part := func(texts ...string) {
		for _, t := range texts {
			normalize.WritePart(h, []byte(t))
		}
	}
	part(a.Problem.Line, a.Intent, string(a.Outcome), a.Situation.WorkingDir)
	for _, key := range slices.Sorted(maps.Keys(a.Situation.Context)) {
		part(key, a.Situation.Context[key])
	}
	for _, s := range a.Steps {
		part(s.Tool, strconv.FormatBool(s.Failed), s.Error.Line)
		for _, path := range slices.Sorted(maps.Keys(s.Args)) {
			part(path, s.Args[path].Text)
		}
		for _, path := range slices.Sorted(maps.Keys(s.Results)) {
			part(path, s.Results[path])
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Succeeded reports whether the attempt is known to have helped. If Failed is false too, the outcome is unknown.
func (a Attempt) Succeeded() bool { return a.Outcome == schema.OutcomeSuccess }

// Failed reports whether the attempt is known not to have helped.
func (a Attempt) Failed() bool { return a.Outcome == schema.OutcomeFailure }

// Done returns the steps that did not fail.
func (a Attempt) Done() []Step {
	return slices.DeleteFunc(slices.Clone(a.Steps), func(s Step) bool { return s.Failed })
}

// Repair returns the attempt without the call that checked it: the call that had failed, run again at the end. It
// reports whether there was one. An attempt that has only that call is returned unchanged.
func (a Attempt) Repair() (Attempt, bool) {
	last := len(a.Steps) - 1
	if !a.Checked || last < 1 || a.Situation.Failed == nil || !sameCall(a.Steps[last], *a.Situation.Failed) ||
		len(a.Done()) == 1 {
		return a, false
	}
	a.Steps = a.Steps[:last]
	return a, true
}

// contextOf returns the context keys of an environment, and its working directory.
func contextOf(env *schema.Environment) (map[string]string, string) {
	if env == nil {
		return nil, ""
	}
	out := map[string]string{}
	add := func(key, value string) {
		key = contextKey(key)
		if key != "" && value != "" && len(value) <= maxText && len(out) < maxContext {
			out[key] = value
		}
	}
	add("os", env.OS)
	members, _ := decoded(env.Context).(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if s, ok := scalarOf(members[key]); ok && s.Type != "null" {
			add(key, s.Text)
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(env.ToolVersions)) {
		add(tool+"_version", env.ToolVersions[tool])
	}
	return out, env.WorkingDir
}

// contextKey returns the normalized name of a context key.
func contextKey(name string) string {
	return strings.ReplaceAll(normalize.Lower(strings.TrimSpace(name)), " ", "_")
}

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

func scalarOf(v any) (Scalar, bool) {
	switch v := v.(type) {
	case string:
		return Scalar{v, "string"}, true
	case json.Number:
		return Scalar{v.String(), "number"}, true
	case bool:
		return Scalar{strconv.FormatBool(v), "boolean"}, true
	case nil:
		return Scalar{"", "null"}, true
	}
	return Scalar{}, false
}

// leaves calls f with the path of each scalar in a value, at most limit times.
func leaves(v any, limit int, f func(path string, s Scalar)) {
	left := limit
	var walk func(path string, v any, depth int)
	walk = func(path string, v any, depth int) {
		if left <= 0 || depth > maxDepth {
			return
		}
		at := func(key string) string {
			if path == "" {
				return key
			}
			return path + "." + key
		}
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(at(key), v[key], depth+1)
			}
		case []any:
			for i, e := range v {
				walk(at(strconv.Itoa(i)), e, depth+1)
			}
		default:
			if s, ok := scalarOf(v); ok {
				left--
				if len(s.Text) > maxText {
					s.Text = strings.ToValidUTF8(s.Text[:maxText], "")
				}
				f(path, s)
			}
		}
	}
	walk("", v, 0)
}

// CallOf returns a call of a tool with the scalars of its arguments.
func CallOf(tool string, args json.RawMessage) *Step { return &Step{Tool: tool, Args: ArgsOf(args)} }

// ArgsOf returns the scalars of arguments by path.
func ArgsOf(raw json.RawMessage) map[string]Scalar {
	out := map[string]Scalar{}
	leaves(decoded(raw), maxArgs, func(path string, s Scalar) { out[path] = s })
	return out
}

func resultsOf(raw json.RawMessage) map[string]string {
	out := map[string]string{}
	leaves(decoded(raw), maxResults, func(path string, s Scalar) {
		if s.Type != "null" && s.Type != "boolean" {
			out[path] = s.Text
		}
	})
	return out
}
