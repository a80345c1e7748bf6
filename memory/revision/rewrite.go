package revision

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
)

// A RewriteError is the reason why a sentence is not rewritten. Its text has no content of memories.
type RewriteError struct {
	Problem string
}

// Error implements error.
func (e *RewriteError) Error() string { return e.Problem }

func notRewritten(problem string) error { return &RewriteError{problem} }

// Reasons why a sentence cannot be rewritten.
const (
	problemAbsent   = "the value that changes does not occur in the memory's sentence"
	problemSeveral  = "the value that changes occurs more than once in the memory's sentence"
	problemJoined   = "the value that changes is part of a longer word of the memory's sentence"
	problemSentence = "the memory is a sentence without a separate value, and one value " +
		"would replace the whole sentence"
	problemOther  = "a value is replaced only in what has the memory's subject and predicate"
	problemNoText = "a value that is not text, a number or a truth value is not replaced within a sentence"
	problemType   = "values are replaced within the sentences of semantic memories only"
)

// Remedy is the advice if a sentence cannot be rewritten, for people and programs.
const Remedy = "give the whole sentence as content, or name the text that it replaces (replace)"

// RewrittenRecord completes the record of a revision that has no text, and has the subject and the predicate of its
// first target but another object. Its text becomes the target's sentence with the old value replaced by the new one,
// so that the rest of the sentence is kept.
//
//   - The old value is the target's object, or the text in replace. It must occur exactly once in the sentence, as
//     whole words.
//   - With the predicate states the object is the sentence: replace must be the old value, and the object becomes the
//     new sentence. Without replace, the record's object must itself be a sentence: a few words cannot replace a longer
//     sentence.
//   - If the target's sentence only consists of its triple, the text is derived from the record's own triple.
//
// A record with its own text, with another subject or predicate, or of another type than semantic is returned
// unchanged. The error is a *RewriteError if the record cannot be rewritten.
func RewrittenRecord(record, target schema.MemoryRecord, replace string) (schema.MemoryRecord, error) {
	if record.Type != schema.TypeSemantic || target.Type != schema.TypeSemantic {
		return unlessReplacing(record, replace, problemType)
	}
	if normalize.StorageContent(record.Content) != "" {
		return unlessReplacing(record, replace, problemOther)
	}
	from, to := memory.PayloadOf[schema.SemanticPayload](target), memory.PayloadOf[schema.SemanticPayload](record)
	value, isText := plainValue(to.Object)
	// The subject of a statement is its speaker, who does not matter here.
	if from.Predicate == schema.PredicateStates && to.Predicate == schema.PredicateStates {
		return restated(record, target, value, isText, replace)
	}
	if normalize.Lower(from.Subject) != normalize.Lower(to.Subject) || from.Predicate != to.Predicate {
		return unlessReplacing(record, replace, problemOther)
	}
	sentence := memory.RecordContent(target)
	if replace == "" && normalize.Normalize(memory.RecordText(target)).Normalized == sentence.Normalized {
		return record, nil
	}
	old, wasText := plainValue(from.Object)
	if replace != "" {
		old, wasText = replace, true
	}
	if !isText || !wasText {
		return record, notRewritten(problemNoText)
	}
	if replace == "" && SameObject(old, value) { // only the validity or the numbers differ: the text is the same
		record.Content = sentence.Storage
		return record, nil
	}
	text, err := ReplaceValue(sentence.Storage, old, value)
	record.Content = text
	return record, err
}

func unlessReplacing(record schema.MemoryRecord, replace, problem string) (schema.MemoryRecord, error) {
	if replace != "" {
		return record, notRewritten(problem)
	}
	return record, nil
}

// maxValueWords is the greatest number of words of a value; longer texts are sentences.
const maxValueWords = 3

// restated is RewrittenRecord for a target that is a sentence.
func restated(
	record, target schema.MemoryRecord,
	value string,
	isText bool,
	replace string,
) (schema.MemoryRecord, error) {
	sentence := memory.RecordContent(target).Storage
	if replace == "" {
		n := len(normalize.Words(value, "'-"))
		if !isText || n <= maxValueWords && n < len(normalize.Words(sentence, "'-")) {
			return record, notRewritten(problemSentence)
		}
		return record, nil
	}
	if !isText {
		return record, notRewritten(problemNoText)
	}
	text, err := ReplaceValue(sentence, replace, value)
	if err != nil {
		return record, err
	}
	var payload map[string]json.RawMessage
	if err := json.Unmarshal(record.Payload, &payload); err != nil {
		return record, err
	}
	if payload["object"], err = json.Marshal(text); err != nil {
		return record, err
	}
	if record.Payload, err = json.Marshal(payload); err != nil {
		return record, err
	}
	record.Content = text
	return record, nil
}

// plainValue returns a JSON value as text in a sentence, and whether that is possible.
func plainValue(value json.RawMessage) (string, bool) {
	text := strings.TrimSpace(string(value))
	if text == "" || text == "null" || text[0] == '{' || text[0] == '[' {
		return "", false
	}
	return memory.ValueText(value), true
}

// ReplaceValue returns a sentence with one value replaced by another. The old value must occur exactly once, as whole
// words in any case; otherwise the error is a *RewriteError.
func ReplaceValue(sentence, old, value string) (string, error) {
	sentence, old, value = normalize.StorageContent(
		sentence,
	), normalize.StorageContent(
		old,
	), normalize.StorageContent(
		value,
	)
	found := FindValue(sentence, old)
	switch {
	case len(found) == 0:
		return "", notRewritten(problemAbsent)
	case len(found) > 1:
		return "", notRewritten(problemSeveral)
	case found[0].joined:
		return "", notRewritten(problemJoined)
	}
	return sentence[:found[0].from] + value + sentence[found[0].to:], nil
}

// occurrence is the position of a value in a text. It is joined if it is a part of a longer name or number, like Lyon
// in Lyon-Perrache and in lyon.example.
type occurrence struct {
	from, to int
	joined   bool
}

// FindValue returns the occurrences of a value in a text that no letter or digit continues.
func FindValue(text, value string) []occurrence {
	if value = normalize.StorageContent(value); value == "" {
		return nil
	}
	var out []occurrence
	for _, at := range regexp.MustCompile(`(?i)`+regexp.QuoteMeta(value)).FindAllStringIndex(text, -1) {
		before, after := text[:at[0]], text[at[1]:]
		first, _ := utf8.DecodeRuneInString(text[at[0]:])
		last, _ := utf8.DecodeLastRuneInString(text[:at[1]])
		previous, size := utf8.DecodeLastRuneInString(before)
		next, width := utf8.DecodeRuneInString(after)
		if wordRune(first) && wordRune(previous) || wordRune(last) && wordRune(next) {
			continue
		}
		further, _ := utf8.DecodeLastRuneInString(before[:len(before)-size])
		beyond, _ := utf8.DecodeRuneInString(after[width:])
		out = append(
			out,
			occurrence{
				at[0],
				at[1],
				joins(previous) && wordRune(further) ||
					joins(next) && (wordRune(beyond) || strings.ContainsRune("+#", next)),
			},
		)
	}
	return out
}

func wordRune(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.M) || r == '_' }

// joins reports whether a character between two words joins them.
func joins(r rune) bool { return strings.ContainsRune("-‐‑–./,:@#+&", r) }
