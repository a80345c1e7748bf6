// Package lexicon gives the similarity of two English words, the frequency of a word, and the kinds of things that a
// word belongs to. Its table has 43,000 words with a vector each, and 5,600 kinds: a cello is an instrument. The files
// were made by make/make_lexicon.py and make/make_kinds.py, are embedded in the program, and are unpacked on first
// use. Unknown words, including most words of other languages, are similar to no other word and belong to no kind.
//
// The package contains no rules about memories. Callers decide how to use similarity.
package lexicon
