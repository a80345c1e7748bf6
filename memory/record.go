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

// Rules of records that are put as they are (document 004 §15A), besides the pipeline's.

// recordNamespace is where ids of other systems become UUIDs. It is fixed: the same id gives the same
// UUID on every machine and in every version.
var recordNamespace = uuid.MustParse("6d6e656d-6500-5265-8f72-644944730001")

// RecordID returns the UUID under which a tenant keeps what has this id. A UUID is itself; anything
// else, which the RFC allows ("UUID recommended", document 004 §15A.2), gets one made from the tenant
// and the id, so that relations to it resolve whichever of both comes first.
func RecordID(tenant, id string) uuid.UUID {
	if len(id) == 36 { // the other forms that Parse reads would not come back as they were
		if parsed, err := uuid.Parse(id); err == nil && parsed != uuid.Nil {
			return parsed
		}
	}
	return uuid.NewSHA1(recordNamespace, []byte(tenant+"\x1f"+id))
}

// DerivedTrust is how far a record may be trusted that is derived from others: no further than the
// least trusted of them. All are in [0,1].
func DerivedTrust(own float64, sources ...float64) float64 {
	own = ClampUnit(own)
	for _, source := range sources {
		own = min(own, ClampUnit(source))
	}
	return own
}

// RecordContent returns the forms of the text that a record is kept with: its own content or, without
// one, what RecordText makes of its payload.
func RecordContent(m schema.MemoryRecord) normalize.Normalized {
	if normalize.StorageContent(m.Content) == "" {
		return normalize.Normalize(RecordText(m))
	}
	return normalize.Normalize(m.Content)
}

// RecordHash returns the 32-byte hash that detects a record that is already stored, given its text. Two records of
// the same owner with equal hashes are the same memory.
//
//   - Of a semantic record it is the text's hash, as the pipeline's facts have it. If the record holds
//     only on some ground, that ground is part of it: two forks may have the same words.
//   - Of competences and plans the payload is part of it, except what experience adds to it
//     (performance and metrics): procedures with the same name differ in their steps.
//   - Of working memory the thread and the task are part of it.
//   - Of an episode it is the text's hash. If the text is made from the timeline, so that it adds
//     nothing, the beginning of the episode and its time are part of it: doing the same twice is two
//     experiences (document 004 §10).
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
		case !strings.HasPrefix(RecordText(m), text.Storage): // its own text
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

// RecordClaim returns what a semantic record states as a claim, and whether its predicate has one
// object at a time: cardinality one, which is the default except under the predicate states. The
// object is text where it is a string, and its JSON otherwise.
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

// SameJSON reports whether two JSON values say the same: members in any order, numbers in any notation.
func SameJSON(a, b json.RawMessage) bool {
	var x, y any
	return decode(a, &x) == nil && decode(b, &y) == nil && reflect.DeepEqual(x, y)
}

// ClassifyRecord classifies a record as it is put. Its own values are kept; missing values follow from its type, as
// for a candidate (Classify), and its category from its text. Its sensitivity is a floor, as a candidate's is:
// DetectSensitive can raise it, from the text or the payload. Missing numbers are zero and stay so, except those that
// the schema does not admit as zero: a half-life. A record without one fades as its type does, unless it has a curve
// of points. A pinned record has importance 1, whatever it says (document 002).
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

// recordCategory is the category of a record that names none: procedures are procedural, and what a
// semantic record states is read from its words.
func recordCategory(m schema.MemoryRecord, text normalize.Normalized) schema.Category {
	switch m.Type {
	case schema.TypeCompetence, schema.TypePlanGraph:
		return schema.CategoryProcedural
	default:
		return InferCategory(text.Storage)
	}
}

// EpisodeGrows says whether an episode's payload may take the place of another (document 004 §5 and
// §15A.2: episodes are append-only). The timeline, the tool graph and the artifacts may grow at their
// ends, and fields that were absent may be set; nothing that is present may change or be removed. It returns ""
// or the path of the first field that breaks this rule, such as "timeline[2]". Both payloads are JSON objects.
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

// PayloadOf reads a record's payload; what is not of the type's shape reads as zero.
func PayloadOf[P any](m schema.MemoryRecord) P {
	var p P
	_ = json.Unmarshal(m.Payload, &p)
	return p
}

// canonicalWithout is a JSON object in canonical form without one of its members.
func canonicalWithout(object json.RawMessage, member string) string {
	var members map[string]any
	if decode(object, &members) != nil {
		return string(object)
	}
	delete(members, member)
	return canonicalOf(members)
}

// Canonical is a JSON value with its members in order of their names and without white space.
func Canonical(value json.RawMessage) string {
	var v any
	if decode(value, &v) != nil {
		return string(value)
	}
	return canonicalOf(v)
}

func canonicalOf(v any) string {
	encoded, err := json.Marshal(v) // maps are written in order of their keys
	if err != nil {
		return "" // unreachable for what was decoded from JSON
	}
	return string(encoded)
}

// decode reads one JSON value, its numbers in one form: 1e2, 100.0 and 100 are the same, and Postgres
// gives back another of them than it was given.
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

// plainNumbers rewrites the numbers of a decoded value.
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

// plainNumber writes a number without needless digits: in plain digits where these are few, and
// otherwise with an exponent. It never computes the number, which may be 1e999999999.
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

// seconds is a number of seconds as a duration, at most the longest that there is.
func seconds(n int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Second)
	return time.Duration(min(n, most)) * time.Second
}
