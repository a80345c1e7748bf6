package memory

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/mneme/mneme/schema"
)

// ConditionsHash returns a hash of the conditions and the time window under which a semantic memory is true. The order
// and the spacing of conditions do not count, and a value equals a list of that one value. The hash of global validity
// is the empty string.
func ConditionsHash(v schema.Validity) string {
	if isGlobal(v) {
		return ""
	}
	ground := struct {
		Mode       schema.ValidityMode `json:"mode,omitempty"`
		Conditions map[string][]string `json:"conditions,omitempty"`
		Start      *time.Time          `json:"start,omitempty"`
		End        *time.Time          `json:"end,omitempty"`
	}{Mode: v.Mode, Conditions: AdmittedBy(v), Start: utc(v.Start), End: utc(v.End)}
	if len(ground.Conditions) > 0 {
		ground.Mode = "" // with conditions, the mode makes no difference
	}
	encoded, err := json.Marshal(ground)
	if err != nil {
		encoded = v.Conditions // unreachable for a validated record
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])
}

// SameGround reports whether two claims with these validities exclude each other as active facts (document 004 §15.1,
// "uniqueness of active semantic facts per condition set"): both are global, or their conditions allow the same values
// and their windows overlap. A claim with conditions or a window does not exclude a global claim, because it is an
// exception to it.
func SameGround(a, b schema.Validity) bool {
	if isGlobal(a) || isGlobal(b) {
		return isGlobal(a) && isGlobal(b)
	}
	conditionsA, conditionsB := AdmittedBy(a), AdmittedBy(b)
	if len(conditionsA) == 0 && a.Mode != b.Mode {
		return false
	}
	return maps.EqualFunc(conditionsA, conditionsB, slices.Equal) && windowsOverlap(a, b)
}

// Disjoint reports whether two validities can never hold at the same time (document 004 §7, "disjoint applicability
// conditions"): they share a key whose allowed values do not intersect, or their windows do not overlap. A condition
// that is a list allows each of its elements. A validity without conditions and without a window is never disjoint from
// another.
func Disjoint(a, b schema.Validity) bool {
	if !windowsOverlap(a, b) {
		return true
	}
	conditionsA, conditionsB := AdmittedBy(a), AdmittedBy(b)
	for key, valuesA := range conditionsA {
		valuesB, ok := conditionsB[key]
		// Equal conditions are not disjoint, even if they allow no value.
		if ok && !slices.Equal(valuesA, valuesB) &&
			!slices.ContainsFunc(valuesA, func(v string) bool { return slices.Contains(valuesB, v) }) {
			return true
		}
	}
	return false
}

// Covers reports whether outer holds whenever inner holds: inner has every condition of outer and allows no other
// values for it, and inner's window lies within outer's. Global validity covers every other.
func Covers(outer, inner schema.Validity) bool {
	if outer.Start != nil && (inner.Start == nil || inner.Start.Before(*outer.Start)) ||
		outer.End != nil && (inner.End == nil || inner.End.After(*outer.End)) {
		return false
	}
	conditionsIn := AdmittedBy(inner)
	for key, values := range AdmittedBy(outer) {
		in, ok := conditionsIn[key]
		if !ok || slices.ContainsFunc(in, func(v string) bool { return !slices.Contains(values, v) }) {
			return false
		}
	}
	return true
}

// Verdicts of Holds.
const (
	AppliesYes     = "yes"
	AppliesNo      = "no"
	AppliesUnknown = "unknown"
)

// Applicability is the result of Holds.
type Applicability struct {
	Verdict string   // AppliesYes, AppliesNo or AppliesUnknown
	Missing []string // if unknown: the keys that the context lacks, sorted
}

// Holds reports whether a memory with the validity holds at a time and in a context (document 004 §7 and §15A.11). It
// does not hold outside its window or if the context contradicts a condition. The verdict is unknown if the context
// lacks the key of a condition. Readers exclude only memories that do not hold, as the database function mneme_applies
// does for conditions.
//
// With a nil context only the window is checked; with a zero time, only the conditions.
//
// Readers filter in SQL. Holds specifies that filter, and tests compare the two.
func Holds(v schema.Validity, at time.Time, context map[string]json.RawMessage) Applicability {
	if !at.IsZero() && (v.Start != nil && at.Before(*v.Start) || v.End != nil && !at.Before(*v.End)) {
		return Applicability{Verdict: AppliesNo}
	}
	if context == nil {
		return Applicability{Verdict: AppliesYes}
	}
	out := Applicability{Verdict: AppliesYes}
	for key, values := range AdmittedBy(v) {
		given, ok := context[key]
		if !ok {
			out.Missing = append(out.Missing, key)
			continue
		}
		if !slices.Contains(values, Canonical(given)) {
			return Applicability{Verdict: AppliesNo}
		}
	}
	if len(out.Missing) > 0 {
		slices.Sort(out.Missing)
		out.Verdict = AppliesUnknown
	}
	return out
}

func isGlobal(v schema.Validity) bool { return v.Mode == "" || v.Mode == schema.ValidGlobal }

// windowsOverlap compares windows [start, end). A missing start or end is unbounded.
func windowsOverlap(a, b schema.Validity) bool {
	return (a.Start == nil || b.End == nil || a.Start.Before(*b.End)) &&
		(b.Start == nil || a.End == nil || b.Start.Before(*a.End))
}

// AdmittedBy returns the values that each condition allows, as sorted canonical JSON. It returns nil if the conditions
// are not an object, which validation refuses.
func AdmittedBy(v schema.Validity) map[string][]string {
	var conditions map[string]json.RawMessage
	if len(v.Conditions) == 0 || json.Unmarshal(v.Conditions, &conditions) != nil {
		return nil
	}
	out := make(map[string][]string, len(conditions))
	for key, raw := range conditions {
		values := []json.RawMessage{raw}
		if first := bytes.TrimSpace(raw); len(first) > 0 && first[0] == '[' {
			values = nil
			if json.Unmarshal(raw, &values) != nil {
				continue // unreachable: raw is part of a decoded document
			}
		}
		admitted := make([]string, 0, len(values))
		for _, value := range values {
			admitted = append(admitted, Canonical(value))
		}
		slices.Sort(admitted)
		out[key] = slices.Compact(admitted)
	}
	return out
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}
