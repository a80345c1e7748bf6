// Package lexicon knows English words by meaning: how near two words are, and how common a word is. It is a table of
// 43,000 words with a vector each, made once by make/make_lexicon.py and embedded in the program; it is read when it
// is first used. Words that it lacks have no meaning here, and texts in other languages have almost none.
//
// It holds no rule about memory: callers decide what nearness means.
package lexicon
