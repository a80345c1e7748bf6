package session

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
	"github.com/mneme/mneme/schema/ledger"
)

// Limits of a working state, so that it always fits into one record and into the input of a workflow. Longer values are
// cut at the end.
const (
	MaxWorkingItems   = 64    // of each list; the first ones are kept
	MaxWorkingItem    = 1_000 // bytes of a next action, question or constraint
	MaxWorkingSummary = 8_000 // bytes of the context summary
)

// Working is the working memory of one agent's session (document 004 §6), folded from the events of one stream. It is
// plain data: a workflow can carry it through continue-as-new and a query can return it.
//
// These events change the state; every other event only changes Seq:
//
//  1. working.updated of the agent: each given field replaces the old value, lists as a whole. An empty list, an empty
//     text or null clears the field. An unknown state is ignored.
//  2. tool.called of the agent: executing, from any state.
//  3. tool.failed of the agent: blocked, until the agent calls another tool or gives a state. The success of a
//     parallel call does not change that.
//  4. user.injected: a waiting task continues: executing, or planning if no tool was called yet.
//  5. run.ended: done. Only run.started or a state that the agent gives changes it again.
//  6. run.started: planning.
//
// Open questions, next actions and constraints are never guessed from texts: they are the agent's own statements.
type Working struct {
	Agent  string `json:"agent"`  // whose tool calls and updates count
	Stream string `json:"stream"` // whose events count

	// Seq is the sequence of the last event applied. An event at or before it changes nothing.
	Seq int64 `json:"seq"`

	Called      bool                  `json:"called,omitempty"`      // a tool was called since the run started
	Sensitivity schema.Sensitivity    `json:"sensitivity,omitempty"` // the highest of the updates applied
	Payload     schema.WorkingPayload `json:"payload"`
}

// NewWorking returns the state before the first event. The name of a run becomes the task id, and the name of a
// conversation or a world becomes the thread id. An update may change both.
func NewWorking(agent, stream string) Working {
	w := Working{Agent: agent, Stream: stream,
		Payload: schema.WorkingPayload{Kind: schema.TypeWorking, State: schema.TaskPlanning}}
	_, name, _ := strings.Cut(stream, "/")
	name = shortName(name, schema.MaxNameLength)
	if ledger.StreamKindOf(stream) == ledger.StreamRun {
		w.Payload.TaskID = name
	} else {
		w.Payload.ThreadID = name
	}
	return w
}

// WorkingOf returns the state after the events of a stream, which must be in ledger order.
func WorkingOf(agent, stream string, events []ledger.Event) Working {
	w := NewWorking(agent, stream)
	for _, e := range events {
		w.Apply(e)
	}
	return w
}

// Apply processes the next event of the stream. It returns false and changes nothing for an event of another stream,
// one without a sequence number, and one that is not after Seq.
func (w *Working) Apply(e ledger.Event) bool {
	if e.Stream != w.Stream || e.Seq <= w.Seq {
		return false
	}
	w.Seq = e.Seq
	own := e.Agent == w.Agent
	done := w.Payload.State == schema.TaskDone
	switch {
	case e.Kind == ledger.KindWorkingUpdated && own:
		w.update(e)
	case e.Kind == ledger.KindToolCalled && own && !done:
		w.Called = true
		w.move(e, schema.TaskExecuting)
	case e.Kind == ledger.KindToolFailed && own && !done:
		w.move(e, schema.TaskBlocked)
	case e.Kind == ledger.KindUserInjected && w.Payload.State == schema.TaskWaiting:
		if w.Called {
			w.move(e, schema.TaskExecuting)
		} else {
			w.move(e, schema.TaskPlanning)
		}
	case e.Kind == ledger.KindOutcome:
		w.move(e, schema.TaskDone)
	case e.Kind == ledger.KindRunStarted:
		w.Called = false
		w.move(e, schema.TaskPlanning)
	}
	return true
}

func (w *Working) move(e ledger.Event, state schema.TaskState) {
	w.Payload.State = state
	w.touch(e)
}

// touch moves the time of the last update forward. A late event does not move it back.
func (w *Working) touch(e ledger.Event) {
	at := e.OccurredAt.UTC()
	if last := w.Payload.LastUpdated; last == nil || at.After(*last) {
		w.Payload.LastUpdated = &at
	}
}

// update merges what the agent says about its task. Each field is read separately, and a field of the wrong
// type is ignored.
func (w *Working) update(e ledger.Event) {
	given, ok := ledger.Payload[map[string]json.RawMessage](e)
	if !ok || len(given) == 0 {
		return
	}
	if sensitive.Rank(e.Sensitivity) > sensitive.Rank(w.Sensitivity) {
		w.Sensitivity = e.Sensitivity
	}
	p := &w.Payload
	thread, task := p.ThreadID, p.TaskID
	if raw, ok := given["thread_id"]; ok && json.Unmarshal(raw, &thread) == nil {
		thread = shortName(thread, schema.MaxNameLength)
	}
	if raw, ok := given["task_id"]; ok && json.Unmarshal(raw, &task) == nil {
		task = shortName(task, schema.MaxNameLength)
	}
	if thread+task != "" { // one of them is required
		p.ThreadID, p.TaskID = thread, task
	}
	var state schema.TaskState
	if raw, ok := given["state"]; ok && json.Unmarshal(raw, &state) == nil && state.Valid() {
		p.State = state
	}
	var summary string
	if raw, ok := given["context_summary"]; ok && json.Unmarshal(raw, &summary) == nil {
		p.ContextSummary = cutBytes(cleanText(summary), MaxWorkingSummary)
	}
	replaceTexts(&p.NextActions, given, "next_actions")
	replaceTexts(&p.OpenQuestions, given, "open_questions")
	var constraints []json.RawMessage
	if raw, ok := given["active_constraints"]; ok && json.Unmarshal(raw, &constraints) == nil {
		p.ActiveConstraints = nil
		for _, c := range constraints[:min(len(constraints), MaxWorkingItems)] {
			if c = constraintOf(c); c != nil {
				p.ActiveConstraints = append(p.ActiveConstraints, c)
			}
		}
	}
	w.touch(e)
}

func replaceTexts(list *[]string, given map[string]json.RawMessage, field string) {
	raw, ok := given[field]
	var texts []string
	if !ok || json.Unmarshal(raw, &texts) != nil {
		return
	}
	*list = nil
	for _, text := range texts[:min(len(texts), MaxWorkingItems)] {
		*list = append(*list, cutBytes(cleanText(text), MaxWorkingItem))
	}
}

// constraintOf returns a constraint in stored form. A constraint that is too long is cut and not dropped, because
// the agent would otherwise ignore it. A value that is neither a text nor an object is not a constraint.
func constraintOf(raw json.RawMessage) json.RawMessage {
	var text string
	switch v := decoded(raw).(type) {
	case string:
		text = cleanText(v)
	case map[string]any:
		encoded, err := check.EncodeTree(v)
		if err == nil && len(encoded) <= MaxWorkingItem && depthOf(v) <= maxArgDepth {
			return encoded
		}
		text = words(v)
	default:
		return nil
	}
	encoded, err := json.Marshal(cutBytes(text, MaxWorkingItem))
	if err != nil {
		return nil
	}
	return encoded
}

// shortName returns a name of at most limit characters. A longer one is cut and gets a hash, so that it stays unique.
func shortName(name string, limit int) string {
	name = cleanText(name)
	if utf8.RuneCountInString(name) <= limit {
		return name
	}
	const digits = 16
	sum := sha256.Sum256([]byte(name))
	return normalize.FirstChars(name, limit-digits-1) + "-" + hex.EncodeToString(sum[:])[:digits]
}

// cleanText returns a text without bytes that Postgres cannot store.
func cleanText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", "")
}

// cutBytes returns a text cut to at most limit bytes, including the mark at its end.
func cutBytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit - len(normalize.CutMark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return normalize.AtWord(text, end) + normalize.CutMark
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
