package duplicates

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
)

// Record is a memory with the fields that are compared.
type Record struct {
	ID          string
	Type        schema.MemoryType
	Ground      string // tenant, scope, project and readers: records of different grounds are never merged
	Content     string
	Payload     json.RawMessage // of procedures and plans, for which it must be equal
	Validity    schema.Validity
	Who         string // who said it
	OccurredAt  time.Time
	CreatedAt   time.Time
	Confidence  float64
	Salience    float64
	Pinned      bool
	Sensitivity schema.Sensitivity
	Tags        []string
	Evidence    []string
}

// Kind is the kind of duplicates.
type Kind string

// The kinds, the most certain first.
const (
	Exact     Kind = "exact"      // the same bytes
	Spelling  Kind = "normalized" // the same words in another spelling
	Near      Kind = "near"       // they differ only in words without effect on the meaning
	Restated  Kind = "restated"   // the same statement in another form
	Different Kind = ""
)

// Key returns a key that is equal for records with the same words, so that only records with equal keys need to be
// compared. A fact that restates another in other words has another key: see Pool.
func Key(r Record) string {
	words := wordsOf(r)
	parts := []string{string(r.Type), r.Ground, memory.ConditionsHash(r.Validity)}
	if structured(r) {
		parts = append(parts, memory.Canonical(r.Payload))
	}
	return strings.Join(append(parts, strings.Join(words.all, " "), words.guards), "\x00")
}

// Compare returns how two records are duplicates, by their words or by Restates.
//
// Words without effect on the meaning are articles, present forms of "to be", and a few such as "please" and "really".
// Contractions are expanded, and "set-up" equals "set up". All other words must be equal and in the same order, so that
// a name, a date, "only", "before" or "in staging" makes records different. All numbers and negations must be equal.
// Statements of different speakers about themselves are different, "yesterday" depends on the day, and "US" is not
// "us".
func Compare(a, b Record) Kind {
	switch {
	case Key(a) != Key(b):
		if Restates(a, b) {
			return Restated
		}
		return Different
	case a.Content == b.Content:
		return Exact
	case memory.SameContent(normalize.Normalize(a.Content).Hash, normalize.Normalize(b.Content).Hash):
		return Spelling
	}
	return Near
}

func structured(r Record) bool {
	return r.Type.IsProcedure() || r.Type == schema.TypeEpisodic || r.Type == schema.TypeWorking
}

type words struct {
	all    []string // words that count, in order
	guards string   // other parts that must be equal: numbers, negations, who, when
}

var (
	// soft has words without effect on the meaning.
	soft = normalize.Set("a an the is are am please really actually indeed simply basically")

	selfWords = normalize.Set("i me my mine myself we us our ours")
	dayWords  = normalize.Set("today yesterday tomorrow tonight now currently recently soon last next this ago later")

	contractions = strings.NewReplacer("can't", "can not", "cannot", "can not", "won't", "will not", "shan't",
		"shall not",
		"n't", " not", "'re", " are", "'m", " am", "'ll", " will", "'ve", " have")
)

// wordsOf returns the words of a record that are compared.
func wordsOf(r Record) words {
	var out words
	var guards []string
	text := contractions.Replace(normalize.Apostrophes.Replace(normalize.Lower(r.Content)))
	self, day := false, false
	for _, w := range strings.FieldsFunc(text, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.Is(unicode.M, c) &&
			!strings.ContainsRune("'.,:%€$£#@/+*=<>~^&|\\_-", c) && !unicode.IsSymbol(c)
	}) {
		cut := strings.TrimLeft(w, "'.,:*")
		if i := len(w) - len(cut); i > 0 && cut != "" && w[i-1] == '.' && cut[0] >= '0' && cut[0] <= '9' {
			cut = w[i-1:] // .5 keeps its point
		}
		w = strings.TrimRight(cut, "'.,:-*")
		if len(w) > 1 && w[0] == '-' && !strings.ContainsAny(w[1:2], "0123456789.") {
			w = strings.TrimLeft(w, "-") // a dash or a flag; -5 keeps its sign
		}
		if w == "" || soft[w] {
			continue
		}
		self, day = self || selfWords[w], day || dayWords[w]
		if strings.ContainsFunc(w, unicode.IsDigit) || strings.ContainsAny(w, "%€$£#@/+=<>~^&|\\_.,:") ||
			strings.ContainsFunc(w, unicode.IsSymbol) {
			guards = append(guards, "n:"+w)
		}
		if normalize.Negations[strings.ReplaceAll(w, "'", "")] {
			guards = append(guards, "not:"+w)
		}
		out.all = append(out.all, strings.ReplaceAll(w, "-", " "))
	}
	for _, w := range strings.FieldsFunc(r.Content, func(c rune) bool { return !unicode.IsLetter(c) }) {
		if low := normalize.Lower(w); len(w) <= 4 && len(w) > 1 && w == strings.ToUpper(w) && low != w &&
			r.Content != strings.ToUpper(r.Content) {
			guards = append(guards, "caps:"+low) // IT, US, AM
		}
	}
	if self {
		guards = append(guards, "who:"+normalize.Lower(r.Who))
	}
	if day && !r.OccurredAt.IsZero() {
		guards = append(guards, "day:"+r.OccurredAt.UTC().Format(time.DateOnly))
	}
	if strings.HasSuffix(strings.TrimSpace(r.Content), "?") {
		guards = append(guards, "question")
	}
	out.guards = strings.Join(guards, "\x01")
	return out
}

// Guards returns the parts of a text that two texts must share to say the same: numbers with their signs, negations,
// short words in capitals, and whether the text asks. It leaves out the persons. Equal sets give equal strings.
func Guards(text string) string {
	guards := slices.DeleteFunc(strings.Split(wordsOf(Record{Content: text}).guards, "\x01"),
		func(g string) bool { return strings.HasPrefix(g, "who:") })
	slices.Sort(guards)
	return strings.Join(guards, "\x01")
}

// Groups returns the places of records that say the same, at least two each.
func Groups(records []Record) [][]int {
	byKey := map[string][]int{}
	var order []string
	for i, r := range records {
		key := Key(r)
		if len(byKey[key]) == 0 {
			order = append(order, key)
		}
		byKey[key] = append(byKey[key], i)
	}
	var out [][]int
	for _, key := range order {
		if len(byKey[key]) > 1 {
			out = append(out, byKey[key])
		}
	}
	return out
}

// Merge is the plan of a merge of duplicates. Nothing is lost: the record that is kept supersedes the others and is
// derived from them.
type Merge struct {
	Keep        string   // the record that is kept
	Away        []string // the others, oldest first
	Kind        Kind     // the least certain kind
	Confidence  float64  // the highest
	Salience    float64  // the highest
	Sensitivity schema.Sensitivity
	Tags        []string
	Evidence    []string // the union
}

// Plans returns the merges of a group. Records that do not say the same as the best one are planned again without the
// merged ones.
func Plans(records []Record) []Merge {
	var out []Merge
	for left := records; ; {
		plan, ok := Plan(left)
		if ok {
			out = append(out, plan)
		}
		rest := slices.DeleteFunc(slices.Clone(left), func(r Record) bool {
			return r.ID == plan.Keep || slices.Contains(plan.Away, r.ID)
		})
		if len(rest) < 2 || len(rest) == len(left) {
			return out
		}
		left = rest
	}
}

// Plan returns the merge of the best record with those that say the same. It prefers to keep a pinned record, then the
// one with the highest confidence, then the oldest. No pinned record is merged into another one. If no record says the
// same as the best one, it returns false, and a Merge that only names the best one.
func Plan(records []Record) (Merge, bool) {
	if len(records) < 2 {
		return Merge{}, false
	}
	sorted := slices.Clone(records)
	slices.SortStableFunc(sorted, func(a, b Record) int {
		return cmp.Or(pinned(b)-pinned(a), cmp.Compare(b.Confidence, a.Confidence), a.CreatedAt.Compare(b.CreatedAt),
			strings.Compare(a.ID, b.ID))
	})
	keep := sorted[0]
	out := Merge{Keep: keep.ID, Kind: Exact, Sensitivity: keep.Sensitivity}
	rest := sorted[1:]
	slices.SortStableFunc(rest, func(a, b Record) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	for _, r := range append([]Record{keep}, rest...) {
		kind := Compare(keep, r)
		if r.ID != keep.ID && (kind == Different || r.Pinned) {
			continue
		}
		if order(kind) > order(out.Kind) {
			out.Kind = kind
		}
		if r.ID != keep.ID {
			out.Away = append(out.Away, r.ID)
		}
		out.Confidence, out.Salience = max(out.Confidence, r.Confidence), max(out.Salience, r.Salience)
		if sensitive.Rank(r.Sensitivity) > sensitive.Rank(out.Sensitivity) {
			out.Sensitivity = r.Sensitivity
		}
		for _, tag := range r.Tags { // those of the kept record come first
			if len(out.Tags) < schema.MaxTags && !slices.Contains(out.Tags, tag) {
				out.Tags = append(out.Tags, tag)
			}
		}
		out.Evidence = append(out.Evidence, r.Evidence...)
	}
	if len(out.Away) == 0 {
		return Merge{Keep: keep.ID}, false
	}
	slices.Sort(out.Tags)
	slices.Sort(out.Evidence)
	out.Evidence = slices.Compact(out.Evidence)
	return out, true
}

func order(k Kind) int { return slices.Index([]Kind{Exact, Spelling, Near, Restated, Different}, k) }

func pinned(r Record) int {
	if r.Pinned {
		return 1
	}
	return 0
}
