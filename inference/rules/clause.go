package rules

import "strings"

// splitClauses splits a sentence whose clauses are plain statements, each with its own "I": "I live in Lyon and I work
// at Acme". One of them may change without the other. It does not split sentences in the past tense, conditions, or
// clauses that refer to an earlier one.
func splitClauses(ws []word) [][]word {
	if len(ws) < 6 || !startsWithSelf(ws) || hasWord(ws, binding) {
		return [][]word{ws}
	}
	var out [][]word
	start := 0
	for i := 1; i < len(ws); i++ {
		joint := i
		if ws[i].low == "and" && i+1 < len(ws) && !ws[i].quoted {
			joint = i + 1
		} else if !strings.HasSuffix(ws[i-1].post, ",") && !strings.HasSuffix(ws[i-1].post, ";") {
			continue
		}
		if joint == i && endsSomething(ws[start:i]) {
			continue // "I don't have the bike any more, I go by bus" is one change
		}
		if !selfSubject(ws[joint:]) || !presentClause(ws[start:i]) || !presentClause(ws[joint:]) {
			continue
		}
		clause := append([]word(nil), ws[start:i]...)
		clause[len(clause)-1].post = strings.TrimRight(clause[len(clause)-1].post, ",;") + "."
		out = append(out, clause)
		start, i = joint, joint
	}
	return append(out, startSentence(ws[start:]))
}

// endsSomething reports whether a clause says that something has ended.
func endsSomething(ws []word) bool {
	for i, w := range ws {
		if w.low == "anymore" ||
			i > 0 &&
				(ws[i-1].low == "no" && w.low == "longer" || ws[i-1].low == "any" && (w.low == "more" ||
					w.low == "longer")) {
			return true
		}
	}
	return false
}

// startsWithSelf reports whether ws is about the speaker from its first word on.
func startsWithSelf(ws []word) bool { return selfSubject(ws) || ws[0].low == "my" }

// selfSubject reports whether ws starts with "I".
func selfSubject(ws []word) bool {
	switch {
	case len(ws) < 3:
		return false
	case ws[0].low == "i":
		return ws[0].post == ""
	}
	return ws[0].low == "i'm" || ws[0].low == "im" || ws[0].low == "i've"
}

// presentClause reports whether a clause that starts at ws is in the present tense and has at least three words.
func presentClause(ws []word) bool {
	if len(ws) < 3 || ws[0].quoted {
		return false
	}
	if ws[0].low == "my" {
		for _, w := range ws[2:min(len(ws), 5)] {
			if w.low == "is" || w.low == "are" {
				return true
			}
		}
		return false
	}
	if ws[0].low != "i" {
		return true // I'm, I've
	}
	i := 1
	for i+1 < len(ws) {
		n := adverbialAt(ws[i:])
		if n == 0 {
			break
		}
		i += n
	}
	if i >= len(ws) {
		return false
	}
	low := ws[i].low
	return low == "am" || low == "don't" || low == "can't" || verbs.has(low) && !unchanging.has(low)
}

// binding holds words that connect the clauses of a sentence, so that it is not split.
var binding = set(`because if when while unless although though so since until after before
		whenever whether that which who whose where but or then it it's its they they're them their this
		these those there he she him her his hers both too either same one ones we we're we've our us you
		your else however instead did`)
