// Package rules is the offline brain: it extracts, decides and embeds by rules, without a model or
// a network. What it proposes is deterministic, costs microseconds and never leaves the machine.
//
// Where the rules are:
//
//	what is a sentence                   segments, splitSentences  (sentence.go)
//	what is kept, what is small talk     isQuestion, isChatter, isRequest, pronounSubject  (select.go)
//	who "I" is, when "yesterday" was     resolveFirstPerson (speaker.go), resolveDates (dates.go)
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
// beside a similar one can all be put right later; a statement put in the wrong mouth cannot.
//
// Subjects and objects of claims keep their spelling without a leading article. They are meant to be
// compared without regard to case, as Decider does.
//
// All types are stateless and safe for concurrent use; package variables are read-only tables.
package rules
