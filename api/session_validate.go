package api

import (
	"fmt"
	"slices"
	"time"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
	"github.com/mneme/mneme/schema/ledger"
)

// Limits of a session.
const (
	DefaultIdleSeconds = 1_800
	MaxIdleSeconds     = 7 * 24 * 3_600
	MaxSummary         = 8_000 // characters of the summary in a CloseRequest
)

// Idle returns the time without an event after which the session closes.
func (s SessionSettings) Idle() time.Duration {
	if s.IdleSeconds <= 0 {
		return DefaultIdleSeconds * time.Second
	}
	return time.Duration(min(s.IdleSeconds, MaxIdleSeconds)) * time.Second
}

func (s SessionSettings) validate(p *check.Problems) {
	if s.IdleSeconds < 0 || s.IdleSeconds > MaxIdleSeconds {
		p.Add("settings.idle_seconds", "must be from 0 to %d", MaxIdleSeconds)
	}
	if s.ReflectionThreshold < 0 {
		p.Add("settings.reflection_threshold", "must not be negative")
	}
}

// Validate returns a *schema.ValidationError that lists every invalid field.
func (r SessionRef) Validate() error {
	var p check.Problems
	r.validate(&p)
	return p.Err()
}

func (r SessionRef) validate(p *check.Problems) {
	add(p, r.Principal.Check())
	if r.Session == "" {
		p.Add("session", "is required")
	}
	check.Text(p, "session", r.Session, schema.MaxNameLength)
	if r.Stream != "" && ledger.StreamKindOf(r.Stream) == "" {
		p.Add("stream", "must be world/NAME, run/NAME or conversation/NAME")
	}
	check.Text(p, "stream", r.Stream, ledger.MaxStream)
}

// add adds the fields of another error.
func add(p *check.Problems, err error) {
	if invalid, ok := err.(*schema.ValidationError); ok { //nolint:errorlint // callers return it unwrapped
		p.Fields = append(p.Fields, invalid.Fields...)
	}
}

// Validate returns a *schema.ValidationError that lists every invalid field.
func (in *SessionInput) Validate() error {
	if err := in.DecodeErr(); err != nil {
		return err
	}
	var p check.Problems
	in.SessionRef.validate(&p)
	in.Settings.validate(&p)
	return p.Err()
}

// Fill returns events of the session with missing fields filled in: the stream, the agent and the time.
func (r SessionRef) Fill(events []ledger.Event, now time.Time) []ledger.Event {
	out := slices.Clone(events)
	for i := range out {
		e := &out[i]
		if e.Stream == "" {
			e.Stream = r.StreamName()
		}
		if e.Agent == "" {
			e.Agent = r.Principal.Agent
		}
		if e.OccurredAt.IsZero() {
			e.OccurredAt = now.UTC()
		}
	}
	return out
}

// CheckEvents checks events that Fill returned. All must belong to the session's stream. It returns a
// *schema.ValidationError.
func (r SessionRef) CheckEvents(events []ledger.Event) error {
	var p check.Problems
	add(&p, ledger.ValidateEvents(events))
	stream := r.StreamName()
	for i := range events {
		if events[i].Stream != stream && len(p.Fields) < schema.MaxRecordRefs {
			p.Add(fmt.Sprintf("events[%d].stream", i), "must be the session's stream")
		}
	}
	return p.Err()
}

// Validate returns a *schema.ValidationError that lists every invalid field.
func (r AppendRequest) Validate() error {
	if err := r.decoded.Err(); err != nil { // other checks would report consequential errors
		return err
	}
	if err := (&SessionInput{SessionRef: r.SessionRef, Settings: r.Settings}).Validate(); err != nil {
		return err
	}
	return r.CheckEvents(r.Fill(r.Events, time.Unix(0, 0)))
}

// Validate returns a *schema.ValidationError that lists every invalid field.
func (r *CloseRequest) Validate() error {
	if err := r.DecodeErr(); err != nil {
		return err
	}
	var p check.Problems
	r.SessionRef.validate(&p)
	validateOutcome(&p, r.Outcome)
	if r.Outcome == "" && r.Summary != "" {
		p.Add("summary", "needs an outcome")
	}
	check.Text(&p, "summary", r.Summary, MaxSummary)
	return p.Err()
}

func validateOutcome(p *check.Problems, o schema.Outcome) {
	if o != "" && !o.Valid() {
		p.Add("outcome", "must be success, failure or partial")
	}
}

// Validate returns a *schema.ValidationError that lists every invalid field.
func (r *RecordRequest) Validate() error {
	if err := r.DecodeErr(); err != nil {
		return err
	}
	var p check.Problems
	r.SessionRef.validate(&p)
	validateOutcome(&p, r.Outcome)
	if err := p.Err(); err != nil {
		return err
	}
	return r.CheckEvents(r.Fill(r.Events, time.Unix(0, 0)))
}
