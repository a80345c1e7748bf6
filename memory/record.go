package memory

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// Rules for records that are put directly (document 004 §15A), not by the pipeline.

// recordNamespace is the namespace in which ids of other systems become UUIDs. It must never change, so that the same
// id gives the same UUID on every machine and in every version.
var recordNamespace = uuid.MustParse("6d6e656d-6500-5265-8f72-644944730001")

// RecordID returns the UUID of a tenant's record with this id. An id that is a UUID stays as it is. For any other id,
// which the RFC allows ("UUID recommended", document 004 §15A.2), the UUID is derived from the tenant and the id, so
// that a relation can refer to a record that is stored later.
func RecordID(tenant, id string) uuid.UUID {
	if len(id) == 36 { // Parse also accepts other forms, which String would change
		if parsed, err := uuid.Parse(id); err == nil && parsed != uuid.Nil {
			return parsed
		}
	}
	return uuid.NewSHA1(recordNamespace, []byte(tenant+"\x1f"+id))
}

// DerivedTrust returns the trust in a record that is derived from others: its own trust, but at most that of the least
// trusted source. All are in [0,1].
func DerivedTrust(own float64, sources ...float64) float64 {
	own = ClampUnit(own)
	for _, source := range sources {
		own = min(own, ClampUnit(source))
	}
	return own
}

// RecordContent returns the normalized text of a record: its content or, if that is empty, the RecordText of its
// payload.
func RecordContent(m schema.MemoryRecord) normalize.Normalized {
	if normalize.StorageContent(m.Content) == "" {
		return normalize.Normalize(RecordText(m))
	}
	return normalize.Normalize(m.Content)
}

// RecordHash returns the 32-byte hash that detects a record that is already stored, given its text. Two records of
// the same owner with equal hashes are the same memory.
//
//   - Semantic records: the hash of the text, as for facts of the pipeline. If the validity is not global, it is part
//     of the hash, because two forks may have the same words.
//   - Competences and plans: the payload is part of the hash, because procedures with the same name differ in their
//     steps. Performance and metrics, which experience adds, are not.
//   - Working memory: the thread and the task are part of the hash.
//   - Episodes: the hash of the text. If the text is derived from the timeline, the time and the reference of the first
//     event are part of the hash: doing the same twice is two experiences (document 004 §10).
func RecordHash(m schema.MemoryRecord, text normalize.Normalized) []byte {
	var more string
	switch m.Type {
	case schema.TypeSemantic:
		more = ConditionsHash(PayloadOf[schema.SemanticPayload](m).Validity)
	case schema.TypeCompetence:
		more = canonicalWithout(m.Payload, "performance")
	case schema.TypePlanGraph:
		more = canonicalWithout(m.Payload, "metrics")
	case schema.TypeWorking:
		p := PayloadOf[schema.WorkingPayload](m)
		more = p.ThreadID + "\x1f" + p.TaskID
	case schema.TypeEpisodic:
		p := PayloadOf[schema.EpisodicPayload](m)
		switch {
		case !strings.HasPrefix(RecordText(m), text.Storage): // not derived from the timeline
		case len(p.Timeline) > 0:
			more = p.Timeline[0].T.UTC().Format(time.RFC3339Nano) + "\x1f" + p.Timeline[0].Ref
		default:
			more = m.ID
		}
	}
	if more == "" {
		return text.Hash
	}
	sum := sha256.Sum256([]byte(text.Basis() + "\x1f" + more))
	return sum[:]
}

// RecordClaim returns the claim of a semantic record. The claim is functional if the cardinality is one, which is the
// default except for the predicate states. The object is the string itself if it is a JSON string, and canonical JSON
// otherwise.
func RecordClaim(p schema.SemanticPayload) Claim {
	functional := p.Predicate != schema.PredicateStates
	if p.Cardinality != "" {
		functional = p.Cardinality == schema.CardinalityOne
	}
	var object string
	if json.Unmarshal(p.Object, &object) != nil {
		object = Canonical(p.Object)
	}
	return Claim{Subject: p.Subject, Predicate: p.Predicate, Object: object, Functional: functional}
}

// SameJSON reports whether two JSON values are equal. The order of members and the notation of numbers do not count.
func SameJSON(a, b json.RawMessage) bool {
	var x, y any
	return decode(a, &x) == nil && decode(b, &y) == nil && reflect.DeepEqual(x, y)
}

// ClassifyRecord classifies a record that is put directly. It keeps the record's own values. Missing values follow from
// the type, as for a candidate (Classify), and a missing category from the text. The record's sensitivity is a minimum:
// sensitive.Detect can raise it, from the text or the payload. A missing number is zero, except the half-life, which
// the schema does not allow to be zero: a record without one fades like its type, unless it has a curve of points. A
// pinned record always has importance 1 (document 002).
func ClassifyRecord(m schema.MemoryRecord, text normalize.Normalized) Classification {
	category := m.Category
	if !category.Valid() {
		category = recordCategory(m, text)
	}
	l := m.Lifecycle
	out := classification(m.Type, category, m.Importance, l.Pinned)
	out.Confidence = m.Confidence
	if m.Sensitivity.Valid() {
		out.Sensitivity = m.Sensitivity
	}
	if m.Tier != "" {
		out.Tier = m.Tier
	}
	if m.Typology != "" {
		out.Typology = m.Typology
	}
	if l.DeletionPolicy != "" {
		out.DeletionPolicy = l.DeletionPolicy
	}
	if given := DecayOf(l.Decay); given.HalfLife > 0 || given.byPoints() {
		given.HalfLife = cmp.Or(given.HalfLife, out.Decay.HalfLife)
		out.Decay = given
	}
	out.Tags = m.Tags
	return out.Detect(text.Storage, string(m.Payload))
}

// recordCategory returns the category of a record that has none: procedural for procedures, and otherwise the category
// inferred from its words.
func recordCategory(m schema.MemoryRecord, text normalize.Normalized) schema.Category {
	if m.Type.IsProcedure() {
		return schema.CategoryProcedural
	}
	return InferCategory(text.Storage)
}

// EpisodeGrows checks whether the payload grown may replace the payload old of an episode, because episodes are
// append-only (document 004 §5 and §15A.2). The timeline, the tool graph and the artifacts may grow at their ends, and
// absent fields may be set. No other change is allowed. It returns the path of the first field that breaks this rule,
// such as "timeline[2]", or "" if none does. Both payloads are JSON objects.
func EpisodeGrows(old, grown json.RawMessage) string {
	var was, is map[string]any
	if decode(old, &was) != nil || decode(grown, &is) != nil {
		return "payload"
	}
	for _, field := range slices.Sorted(maps.Keys(was)) {
		switch before := was[field].(type) {
		case []any:
			if field != "timeline" && field != "tool_graph" && field != "artifacts" {
				if !reflect.DeepEqual(before, is[field]) {
					return field
				}
				continue
			}
			after, ok := is[field].([]any)
			if !ok {
				return field
			}
			for i := range before {
				if i >= len(after) || !reflect.DeepEqual(before[i], after[i]) {
					return field + fmt.Sprintf("[%d]", i)
				}
			}
		default:
			if !reflect.DeepEqual(before, is[field]) {
				return field
			}
		}
	}
	return ""
}

// PayloadOf returns a record's payload. Members that do not have the type's shape are zero.
func PayloadOf[P any](m schema.MemoryRecord) P {
	var p P
	_ = json.Unmarshal(m.Payload, &p)
	return p
}

// canonicalWithout returns a JSON object in canonical form without one of its members.
func canonicalWithout(object json.RawMessage, member string) string {
	var members map[string]any
	if decode(object, &members) != nil {
		return string(object)
	}
	delete(members, member)
	return canonicalOf(members)
}

// Canonical returns a JSON value with members sorted by name, numbers in one notation and no white space.
func Canonical(value json.RawMessage) string {
	var v any
	if decode(value, &v) != nil {
		return string(value)
	}
	return canonicalOf(v)
}

func canonicalOf(v any) string {
	encoded, err := json.Marshal(v) // Marshal sorts the keys of maps
	if err != nil {
		return "" // unreachable: v was decoded from JSON
	}
	return string(encoded)
}

// decode decodes one JSON value with its numbers in one notation: 1e2, 100.0 and 100 are equal, and Postgres may return
// another notation than it was given.
func decode[T any](value json.RawMessage, into *T) error {
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if plain, ok := plainNumbers(any(*into)).(T); ok { // null is not a T
		*into = plain
	}
	return nil
}

// plainNumbers returns a decoded value with its numbers in the notation of plainNumber. It changes v.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return plainNumber(v)
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = plainNumbers(v[key])
		}
	}
	return v
}

// plainNumber returns a number without needless digits: without an exponent if it is short, and with one otherwise. It
// never computes the number, which may be 1e999999999.
func plainNumber(n json.Number) json.Number {
	text, sign := string(n), ""
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		text, sign = rest, "-"
	}
	mantissa, exponentText, scientific := strings.Cut(strings.ToLower(text), "e")
	exponent := 0
	if scientific {
		var err error
		if exponent, err = strconv.Atoi(exponentText); err != nil {
			return n // the exponent itself overflows
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	trimmed := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(trimmed)
	const plain = 20
	switch {
	case trimmed == "":
		return "0"
	case exponent >= 0 && exponent <= plain:
		return json.Number(sign + trimmed + strings.Repeat("0", exponent))
	case exponent < 0 && -exponent < len(trimmed):
		at := len(trimmed) + exponent
		return json.Number(sign + trimmed[:at] + "." + trimmed[at:])
	case exponent < 0 && -exponent <= plain:
		return json.Number(sign + "0." + strings.Repeat("0", -exponent-len(trimmed)) + trimmed)
	default:
		return json.Number(sign + trimmed + "e" + strconv.Itoa(exponent))
	}
}

// seconds returns n seconds as a duration, limited to the longest one.
func seconds(n int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Second)
	return time.Duration(min(n, most)) * time.Second
}
