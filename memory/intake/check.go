package intake

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/schema"
)

// Limits of a model's output other than facts. Lengths are in characters.
const (
	MaxWarnings      = 50 // warnings of one extraction or proposal, including the final count
	MaxWarningLength = 200
	MaxReasonLength  = 300 // reason of a proposal
	MaxCueLength     = 60  // cue of a fact
)

// CheckExtraction returns the well-formed parts of a model's extraction (document 002 "Extraction"). It repairs parts
// that have one obvious meaning, drops the others, and adds a warning for each change. Warnings name index and cause,
// never content. It accepts any input and is idempotent.
//
// Content is converted to the storage form. Invalid UTF-8 and NUL, which Postgres cannot store, are removed. An unknown
// category is replaced by the one inferred from the words. An incomplete claim is cleared. Predicates become
// snake_case, because they are part of a key. CheckExtraction drops facts that are too short, too long, duplicates, or
// have a confidence outside [0,1], which shows that the model did not follow its instructions. It also drops triples
// without all three names, and everything beyond MaxFacts and MaxTriples.
func CheckExtraction(raw memory.Extraction) memory.Extraction {
	var w warnings
	w.inherit(raw.Warnings)
	out := memory.Extraction{
		Facts:   checkAll(&w, "facts", raw.Facts, memory.MaxFacts, checkFact, factKey),
		Triples: checkAll(&w, "triples", raw.Triples, memory.MaxTriples, checkTriple, tripleKey),
	}
	if out.Facts == nil {
		out.Facts = []memory.Fact{} // an empty list in JSON, not null
	}
	out.Warnings = w.result()
	return out
}

// CheckProposal returns p if it is well-formed for the given neighbors (document 002 "Decision Engine"). Otherwise it
// returns ActionNone with a machine-readable reason (ReasonInvalidAction, ReasonInvalidConfidence, ReasonMissingTarget,
// ReasonUnknownTarget) and a warning. The result never names a target outside neighbors. The target of an add is
// cleared. The target of a none is the memory that already covers the fact, and is cleared if it is not a neighbor.
func CheckProposal(p memory.Proposal, neighbors []memory.Neighbor) memory.Proposal {
	var w warnings
	w.inherit(p.Warnings)
	out := memory.Proposal{
		Action:     schema.Action(strings.ToLower(strings.TrimSpace(string(p.Action)))),
		TargetID:   strings.TrimSpace(p.TargetID),
		Confidence: p.Confidence,
		Reason:     normalize.CleanLine(p.Reason, MaxReasonLength),
	}
	offered := out.TargetID != "" &&
		slices.ContainsFunc(neighbors, func(n memory.Neighbor) bool { return n.ID == out.TargetID })
	reject := func(reason, warning string) {
		out.Action, out.TargetID, out.Reason = schema.ActionNone, "", reason
		w.add("%s", warning)
	}

	if !memory.InUnit(p.Confidence) {
		out.Confidence = 0 // JSON has no NaN
	}
	changes := out.Action == schema.ActionUpdate || out.Action == schema.ActionDelete
	switch {
	case !changes && out.Action != schema.ActionAdd && out.Action != schema.ActionNone:
		reject(proposals.ReasonInvalidAction, "proposal: unknown action")
	case !memory.InUnit(p.Confidence):
		reject(proposals.ReasonInvalidConfidence, "proposal: confidence is not between 0 and 1")
	case changes && out.TargetID == "":
		reject(proposals.ReasonMissingTarget, "proposal: "+string(out.Action)+" without a target")
	case changes && !offered:
		reject(proposals.ReasonUnknownTarget, "proposal: target was not among the candidates")
	case out.Action == schema.ActionAdd && out.TargetID != "":
		out.TargetID = ""
		w.add("proposal: add with a target; target ignored")
	case out.Action == schema.ActionNone && out.TargetID != "" && !offered:
		out.TargetID = ""
		w.add("proposal: target was not among the candidates; ignored")
	}
	if changes := out.Action == schema.ActionUpdate || out.Action == schema.ActionDelete; changes {
		// Only an update may supersede or contest. A delete would remove the memory.
		if out.Action == schema.ActionUpdate && (p.Change == memory.ChangeSupersede ||
			p.Change == memory.ChangeContest) ||
			out.Action == schema.ActionDelete && p.Change == memory.ChangeRetract {
			out.Change, out.Own = p.Change, p.Own
		}
		for _, id := range p.Also {
			if id != out.TargetID && !slices.Contains(out.Also, id) &&
				slices.ContainsFunc(neighbors, func(n memory.Neighbor) bool { return n.ID == id }) {
				out.Also = append(out.Also, id)
			}
		}
	}
	out.Warnings = w.result()
	return out
}

// checkAll checks items in order and returns the first limit valid ones. Keys are unique.
func checkAll[T any](
	w *warnings,
	field string,
	items []T,
	limit int,
	check func(*warnings, string, T) (T, bool),
	key func(T) string,
) []T {
	var out []T
	seen := make(map[string]int)
	for i, item := range items {
		if len(out) == limit {
			w.add("%s: %d after the first %d dropped", field, len(items)-i, limit)
			break
		}
		path := fmt.Sprintf("%s[%d]", field, i)
		item, ok := check(w, path, item)
		if !ok {
			continue
		}
		k := key(item)
		if first, dup := seen[k]; dup {
			w.add("%s: same as %s[%d], dropped", path, field, first)
			continue
		}
		seen[k] = i
		out = append(out, item)
	}
	return out
}

// factKey returns a key that is equal for facts that say the same.
func factKey(f memory.Fact) string {
	key := string(normalize.Normalize(f.Content).Hash)
	if f.Retracts {
		key += "retracted"
	}
	return key
}

// tripleKey returns a key that is equal for triples that say the same.
func tripleKey(t memory.Triple) string {
	return normalize.Lower(t.Source + "\x00" + t.Relationship + "\x00" + t.Target)
}

func checkFact(w *warnings, path string, f memory.Fact) (memory.Fact, bool) {
	f.Content = w.cleanText(path+".content", f.Content)
	switch n := utf8.RuneCountInString(f.Content); {
	case n < memory.MinFactLength:
		w.add("%s: content shorter than %d characters, dropped", path, memory.MinFactLength)
		return memory.Fact{}, false
	case n > memory.MaxFactLength:
		w.add("%s: content longer than %d characters, dropped", path, memory.MaxFactLength)
		return memory.Fact{}, false
	case !memory.InUnit(f.Confidence):
		w.add("%s: confidence is not between 0 and 1, dropped", path)
		return memory.Fact{}, false
	}
	f.Category = schema.Category(strings.ToLower(strings.TrimSpace(string(f.Category))))
	if !f.Category.Valid() {
		f.Category = memory.InferCategory(f.Content)
		w.add("%s: unknown category, read as %s", path, f.Category)
	}
	f.Claim = checkClaim(w, path+".claim", f.Claim)
	f.Hints = memory.CheckHints(f.Hints)
	f.Cue = normalize.CleanLine(normalize.Lower(f.Cue), MaxCueLength)
	return f, true
}

func checkClaim(w *warnings, path string, c memory.Claim) memory.Claim {
	if c == (memory.Claim{}) {
		return c
	}
	c.Subject = w.cleanText(path+".subject", c.Subject)
	c.Predicate = strings.Join(normalize.Words(w.cleanText(path+".predicate", c.Predicate), ""), "_")
	c.Object = w.cleanText(path+".object", c.Object)
	if c.Subject == "" || c.Predicate == "" || c.Object == "" {
		w.add("%s: incomplete, ignored", path)
		return memory.Claim{}
	}
	if tooLong(c.Subject, c.Predicate, c.Object) {
		w.add("%s: longer than %d characters, ignored", path, memory.MaxEntityLength)
		return memory.Claim{}
	}
	return c
}

func checkTriple(w *warnings, path string, t memory.Triple) (memory.Triple, bool) {
	t.Source = w.cleanText(path+".source", t.Source)
	t.Relationship = w.cleanText(path+".relationship", t.Relationship)
	t.Target = w.cleanText(path+".target", t.Target)
	switch {
	case t.Source == "" || t.Relationship == "" || t.Target == "":
		w.add("%s: incomplete, dropped", path)
	case tooLong(t.Source, t.Relationship, t.Target):
		w.add("%s: name longer than %d characters, dropped", path, memory.MaxEntityLength)
	case !memory.InUnit(t.Confidence):
		w.add("%s: confidence is not between 0 and 1, dropped", path)
	default:
		return t, true
	}
	return memory.Triple{}, false
}

// tooLong reports whether one of names exceeds the maximum length.
func tooLong(names ...string) bool {
	return slices.ContainsFunc(
		names,
		func(name string) bool { return utf8.RuneCountInString(name) > memory.MaxEntityLength },
	)
}

// warnings collects a bounded number of warnings. A misbehaving model may cause thousands.
type warnings struct {
	list    []string
	dropped int
}

func (w *warnings) add(format string, args ...any) {
	if len(w.list) == MaxWarnings {
		w.dropped++
		return
	}
	w.list = append(w.list, fmt.Sprintf(format, args...))
}

// inherit adds the warnings of an earlier stage.
func (w *warnings) inherit(list []string) {
	for _, warning := range list {
		if warning = normalize.CleanLine(warning, MaxWarningLength); warning != "" {
			w.add("%s", warning)
		}
	}
}

// result returns at most MaxWarnings warnings. The last one counts the omitted ones.
func (w *warnings) result() []string {
	if w.dropped > 0 {
		w.list[MaxWarnings-1] = fmt.Sprintf("and %d more warnings", w.dropped+1)
	}
	return w.list
}

// cleanText returns s in storage form without invalid UTF-8 and NUL, and adds a warning if it removed any.
func (w *warnings) cleanText(path, s string) string {
	clean := strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\x00", "")
	if clean != s {
		w.add("%s: invalid characters removed", path)
	}
	return normalize.Collapse(clean)
}
