// Package lexicon knows English words by meaning: how near two words are, and how common one is. It is a table
// of 43,000 words with a vector each, made once by make/make_lexicon.py and embedded in the program; it is read
// when it is first used. Words that it lacks have no meaning here, and texts in other languages hardly any.
//
// It holds no rule about memory: what nearness decides is up to those who ask.
package lexicon
