// Package rules is the offline brain: it extracts, decides and embeds by rules, without a model or a network. Its
// proposals are deterministic and take microseconds, and no text leaves the machine.
//
// Where the rules are:
//
//	sentences                            segments, splitSentences  (sentence.go)
//	lead-ins: greetings, cues,           cutLead, cutIntroduction  (leads.go)
//	"remember that", "I'm Maya"
//	retractions                          cutRetraction  (retract.go)
//	questions, small talk, requests      isQuestion, isChatter, isRequest  (select.go)
//	meaning of "it", "she", "they"       pronounSubject, resolvePronoun  (pronoun.go)
//	meaning of "I", and its verbs        resolveFirstPerson  (firstperson.go, verbs.go)
//	words quoted from others             quotesOther  (speaker.go)
//	clauses that are separate facts      splitClauses  (clause.go)
//	date of "yesterday"                  resolveDates  (dates.go)
//	from sentences to facts              reader  (read.go)
//	categories and confidence            categoryOf, ConfidenceExplicit  (extract.go)
//	claims, and which are functional     claimPatterns, singleValued  (claims.go)
//	names and edges                      namesIn, triplesOf  (entities.go)
//	output of tools                      toolLines  (tool.go)
//	add, update, delete, none            Decider  (decide.go)
//	the embedding space                  HashEmbedder  (embed.go)
//
// The rules read words and are for English. Text in other languages is split into sentences, stored and embedded, but
// pronouns and dates in it are not resolved and it yields no claims. If a rule is not certain, it does nothing: a
// sentence that was not rewritten, a missing claim and a duplicate fact can be corrected later, but a statement
// attributed to the wrong person cannot.
//
// Subjects and objects of claims keep their spelling, without a leading article. Compare them without regard to case,
// as Decider does.
//
// A sentence is rewritten only if the result is certain. Otherwise it is kept unchanged: if another person may have
// said it ("Tom said my car broke", "Tom: I prefer spaces"), if it has both "I" and "we" and does not name who "we"
// are, and if a verb may have another subject. In a sentence that was kept, "I" is the record's speaker.
//
// Cues at the start of a sentence ("Actually,", "Correction:", "Scratch that,") are stored in the fact's Cue. Words
// of change inside the sentence (now, no longer, instead of, from A to B) stay in the content. A sentence that
// retracts a statement ("Forget that …", "I never said …", "It is not true that …") yields a fact that is marked as
// Retracts: its content is no longer true. "Scratch that" retracts the previous sentence of the same text.
//
// testdata/corpus.jsonl has 500 sentences with the facts that should be extracted from them.
//
// All types are stateless and safe for concurrent use; package variables are read-only tables.
package rules
