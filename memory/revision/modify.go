package revision

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
)

// RecoveryWindow is the default time in which a soft deletion can be undone (document 002 "Soft-Delete and Recovery").
// A memory deleted at t is recoverable before t+RecoveryWindow, but not at that moment.
const RecoveryWindow = 30 * 24 * time.Hour

// Snapshot is the current state of a memory for a patch or a recovery.
type Snapshot struct {
	Version    int
	Type       schema.MemoryType
	Category   schema.Category
	Content    string   // in storage form
	Tags       []string // in NormalizeTags form
	Who        string
	Importance float64 // [0,1]
	Pinned     bool
	Live       bool // not deleted, archived, superseded or retracted
	DeletedAt  *time.Time
	ArchivedAt *time.Time
	ErasedAt   *time.Time
	Over       bool // its recovery window has ended: it is being removed, or is archived
	CreatedAt  time.Time
	Decay      memory.Decay
	Salience   float64 // [0,1], as of SalienceAt
	SalienceAt time.Time
}

// PatchChange is the effect of a patch on a memory. Nil fields are not changed.
type PatchChange struct {
	Content    *normalize.Normalized
	Category   *schema.Category
	Importance *float64
	Tags       *[]string // in NormalizeTags form
	Pinned     *bool
	Who        *string
	Fading     *Fading // with Pinned
}

// Fading has a memory's salience and the times that follow from it.
type Fading struct {
	Salience   float64 // [0,1], as of SalienceAt
	SalienceAt time.Time
	DueAt      *time.Time     // nil means never
	MaxAge     *time.Duration // nil means unchanged
}

// Fields returns the names of the fields that change, in a fixed order.
func (c PatchChange) Fields() []string {
	var out []string
	for _, f := range []struct {
		name    string
		changed bool
	}{
		{"content", c.Content != nil}, {"category", c.Category != nil}, {"importance", c.Importance != nil},
		{"tags", c.Tags != nil}, {"pinned", c.Pinned != nil}, {"who", c.Who != nil},
	} {
		if f.changed {
			out = append(out, f.name)
		}
	}
	return out
}

// EvaluatePatch returns the change that a patch makes to a memory at a time (document 002 "Modify"). The status is
// PatchUpdated if there is a change. Only the store can detect that the new content duplicates another memory.
//
// Otherwise the status is the first reason found against a change: the memory's state, its version, protected fields,
// or no difference. A patch is applied as a whole or not at all.
//
//   - Content differs if its storage form does. Another spelling of the same words, such as Paris for paris, is a
//     change, although the content hash is the same.
//   - The content of an episode is append-only (document 004 §5). The content of a competence or a plan describes its
//     payload, and a patch of the content would leave them inconsistent.
//   - A pinned memory keeps its content unless the patch forces it or unpins, and its importance is 1
//     ("Pinned memories have importance = 1.0 and never decay"); force does not change that.
//   - A pin keeps the current salience. After unpinning, the memory fades from there: the time while it was pinned does
//     not count. Its importance stays 1 unless the patch sets another.
func EvaluatePatch(m Snapshot, p schema.Patch, now time.Time) (PatchChange, schema.PatchStatus) {
	switch {
	case m.DeletedAt != nil:
		return PatchChange{}, schema.PatchDeleted
	case !m.Live:
		return PatchChange{}, schema.PatchNotLive
	case p.IfVersion != 0 && p.IfVersion != m.Version:
		return PatchChange{}, schema.PatchVersionConflict
	}
	var c PatchChange
	pinned := m.Pinned
	if p.Pinned != nil && *p.Pinned != m.Pinned {
		pinned = *p.Pinned
		c.Pinned = &pinned
		fading := m.pin(pinned, now)
		c.Fading = &fading
	}
	if p.Content != nil {
		if text := normalize.Normalize(*p.Content); text.Storage != m.Content {
			switch {
			case m.Type == schema.TypeEpisodic:
				return PatchChange{}, schema.PatchAppendOnly
			case m.Type.IsProcedure():
				return PatchChange{}, schema.PatchStructured
			case m.Pinned && pinned && !p.Force:
				return PatchChange{}, schema.PatchPinned
			}
			c.Content = &text
		}
	}
	importance := m.Importance
	if p.Importance != nil {
		importance = *p.Importance
	}
	if pinned {
		if p.Importance != nil && importance != 1 {
			return PatchChange{}, schema.PatchPinned
		}
		importance = 1
	}
	if importance != m.Importance {
		c.Importance = &importance
	}
	if p.Category != nil && *p.Category != m.Category {
		c.Category = p.Category
	}
	if p.Tags != nil {
		if tags := normalize.NormalizeTags(*p.Tags); !slices.Equal(tags, m.Tags) {
			c.Tags = &tags
		}
	}
	if p.Who != nil && *p.Who != m.Who {
		c.Who = p.Who
	}
	if len(c.Fields()) == 0 {
		return PatchChange{}, schema.PatchNoChanges
	}
	return c, schema.PatchUpdated
}

// pin returns how a memory fades from now on, pinned or not.
func (m Snapshot) pin(pinned bool, now time.Time) Fading {
	salience := m.Salience // a pinned memory has not faded
	if !m.Pinned {
		salience = m.Decay.Salience(m.Salience, now.Sub(m.SalienceAt))
	}
	return m.fading(salience, now, pinned)
}

func (m Snapshot) fading(salience float64, at time.Time, pinned bool) Fading {
	f := Fading{Salience: salience, SalienceAt: at}
	if due, ok := m.Decay.DueAt(salience, at, m.CreatedAt, pinned); ok {
		f.DueAt = &due
	}
	return f
}

// EvaluateRecovery decides whether a deletion may be undone at a time, and how the memory fades from then on (document
// 002 "Soft-Delete and Recovery"). The window is that of its class's policy; a window of 0 or less has no end.
// Archiving can be undone at any time. A memory that was archived and then deleted is archived again; the time of the
// deletion is considered when the archiving is undone.
//
// The memory gets the salience that it had when it was deleted, because it could not be used since. A memory that would
// be due at once, for example because decay deleted it, gets full salience, because the recovery shows that it is
// useful. If its maximum age has passed, it gets the same time again. The status is RecoverRecovered if the
// deletion may be undone; only the store can detect a duplicate or another active fact.
func EvaluateRecovery(m Snapshot, ifVersion int, window time.Duration, now time.Time) (Fading, schema.RecoverStatus) {
	gone := m.DeletedAt
	if gone == nil {
		gone = m.ArchivedAt
	}
	switch {
	case m.ErasedAt != nil:
		return Fading{}, schema.RecoverErased
	case gone == nil:
		return Fading{}, schema.RecoverNotDeleted
	case m.Over, m.DeletedAt != nil && window > 0 && !now.Before(m.DeletedAt.Add(window)):
		return Fading{}, schema.RecoverExpired
	case ifVersion != 0 && ifVersion != m.Version:
		return Fading{}, schema.RecoverVersionConflict
	}
	if m.DeletedAt != nil && m.ArchivedAt != nil { // it is archived again
		return m.fading(m.Salience, m.SalienceAt, m.Pinned), schema.RecoverRecovered
	}
	away := max(0, now.Sub(*gone))
	f := m.fading(m.Salience, m.SalienceAt.Add(away), m.Pinned)
	if f.DueAt != nil && !now.Before(*f.DueAt) {
		f = m.fading(1, now, m.Pinned)
		if f.DueAt != nil && !now.Before(*f.DueAt) && m.Decay.MaxAge > 0 {
			again := m
			again.Decay.MaxAge = now.Sub(m.CreatedAt) + m.Decay.MaxAge
			f = again.fading(1, now, m.Pinned)
			f.MaxAge = &again.Decay.MaxAge
		}
	}
	return f, schema.RecoverRecovered
}

// EditedPayload returns a memory's payload after a person or an agent has replaced its content, and whether the memory
// keeps its claim. by is the evidence for the edit.
//
//   - A semantic payload with the predicate states has its text as object: the object becomes the new text.
//   - A semantic payload with another claim no longer agrees with the text, and the claim of the new text is unknown.
//     The claim is dropped, because otherwise it would be recalled and count as the active fact although the memory no
//     longer states it. The payload gets the predicate states, keeps its subject and validity, and has the edit as its
//     evidence. The old claim remains in the version before the edit. To replace a claim by a claim, supersede it.
//   - Working memory may be edited freely (document 004 §6); its text is its context summary.
//
// Other types are not edited this way. Fields that this package does not know are kept.
func EditedPayload(
	t schema.MemoryType,
	payload json.RawMessage,
	content string,
	by schema.Ref,
) (edited json.RawMessage, keepsClaim bool, err error) {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(payload, &members); err != nil {
		return nil, false, fmt.Errorf("payload: %w", err)
	}
	set := func(name string, v any) {
		if err == nil {
			members[name], err = json.Marshal(v)
		}
	}
	switch t {
	case schema.TypeSemantic:
		var predicate string
		_ = json.Unmarshal(members["predicate"], &predicate) // validated when it was written
		keepsClaim = predicate == schema.PredicateStates
		set("object", content)
		if !keepsClaim {
			set("predicate", schema.PredicateStates)
			set("cardinality", schema.CardinalityMany)
			set("evidence", []schema.Ref{by})
		}
	case schema.TypeWorking:
		set("context_summary", content)
	default:
		return nil, false, fmt.Errorf("the content of a memory of type %s is not edited", t)
	}
	if err != nil {
		return nil, false, fmt.Errorf("payload: %w", err)
	}
	edited, err = json.Marshal(members)
	return edited, keepsClaim, err
}

// EditedSensitivity returns the sensitivity of a memory with new content, and its explanation. The detectors and the
// rules judge the new text like that of a record (document 004 §15.5). The sensitivity never falls, because old
// versions keep the old text.
func EditedSensitivity(
	rules *policy.Policy,
	cl memory.Classification,
	in policy.Input,
) (schema.Sensitivity, policy.Explanation) {
	e := rules.Explain(cl.Detect(in.Candidate.Content), in)
	return e.Classification.DerivedFrom(cl.Sensitivity).Sensitivity, e
}

// EditRef returns the evidence for an edit: its author and reason, cut to the length of a reference. History has the
// full reason.
func EditRef(actor, reason string, at time.Time) schema.Ref {
	at = at.UTC()
	return schema.Ref{Kind: "human", Ref: normalize.FirstChars(actor+": "+reason, schema.MaxRefLength), Timestamp: &at}
}
