// Package rules is the offline brain: it extracts, decides and embeds by rules, without a model or a network. Its
// proposals are deterministic and take microseconds, and no text leaves the machine.
//
// Where the rules are:
//
//	what is a sentence                   segments, splitSentences  (sentence.go)
//	what leads in to it: greetings,      cutLead, cutIntroduction  (leads.go)
//	cues, "remember that", "I'm Maya"
//	what takes a statement back          cutRetraction  (retract.go)
//	what is kept, what is small talk     isQuestion, isChatter, isRequest  (select.go)
//	what "it", "she" and "they" are      pronounSubject, resolvePronoun  (pronoun.go)
//	who "I" is, with verbs that agree    resolveFirstPerson  (firstperson.go, verbs.go)
//	whose words they are                 quotesOther  (speaker.go)
//	clauses that are facts of their own  splitClauses  (clause.go)
//	when "yesterday" was                 resolveDates  (dates.go)
//	how a sentence becomes facts         reader  (read.go)
//	categories and confidence            categoryOf, ConfidenceExplicit  (extract.go)
//	claims, and which are functional     claimPatterns, singleValued  (claims.go)
//	names and edges                      namesIn, triplesOf  (entities.go)
//	output of tools                      toolLines  (tool.go)
//	add, update, delete, none            Decider  (decide.go)
//	the embedding space                  HashEmbedder  (embed.go)
//
// The rules read words and are for English. Text in other languages is split into sentences, kept and embedded, but
// pronouns and dates in it are not resolved and it yields no claims. In doubt, a rule does nothing. A sentence that
// was not rewritten, a missing claim and a duplicate fact can be corrected later. A statement that is attributed to
// the wrong person cannot.
//
// Subjects and objects of claims keep their spelling, without a leading article. Compare them without regard to case,
// as Decider does.
//
// A sentence is rewritten only if the result is certain. Otherwise it is kept as it was said: if someone else may have
// said it ("Tom said my car broke", "Tom: I prefer spaces"), if it has both "I" and "we" and does not say who "we"
// are, and if a verb may have another subject. In a sentence that was kept, the record's speaker says who "I" is.
//
// Cues at the start of a sentence ("Actually,", "Correction:", "Scratch that,") are stored in the fact's Cue. Words of
// change inside the sentence (now, no longer, instead of, from A to B) stay in the content. A sentence that takes
// something back ("Forget that …", "I never said …", "It is not true that …") yields a fact that is marked as
// Retracts: its content no longer holds. "Scratch that" takes back the sentence before it in the same text.
//
// testdata/corpus.jsonl holds 500 sentences with the facts that should be extracted from them.
//
// All types are stateless and safe for concurrent use; package variables are read-only tables.
package rules
