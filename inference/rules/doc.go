// Package rules is the offline brain: it extracts, decides and embeds by rules, without a model or
// a network. What it proposes is deterministic, costs microseconds and never leaves the machine.
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
// The rules are lexical and English. Text in other languages is cut into sentences, kept, and
// embedded, but nothing in it is resolved or claimed. Every rule prefers to do nothing when in
// doubt: a sentence that is kept as it stands, a claim that is not made and a fact that is added
// next to a similar one can all be corrected later; a statement put in the wrong mouth cannot.
//
// Subjects and objects of claims keep their spelling without a leading article. They are meant to be
// compared without regard to case, as Decider does.
//
// A sentence is rewritten only where the result is certain. It is kept as it was said where its words may
// be another's ("Tom said my car broke", "Tom: I prefer spaces"), where "I" and "we" stand together and who
// "we" are is not said, and where a verb may belong to somebody else. The record's speaker says who "I" is.
//
// Cues at the front of a sentence ("Actually,", "Correction:", "Scratch that,") go into the fact's Cue;
// words within it that say what changed (now, no longer, instead of, from A to B) stay in the content. A
// sentence that takes something back ("Forget that …", "I never said …", "It is not true that …") yields
// what does not hold, marked as Retracts. "Scratch that" takes back the sentence before it in the same text.
//
// testdata/corpus.jsonl holds 500 sentences with the facts that should come of them.
//
// All types are stateless and safe for concurrent use; package variables are read-only tables.
package rules
