// Package lexicon gives the similarity of two English words and the frequency of a word. Its table has 43,000 words
// with a vector each. The table was made by make/make_lexicon.py, is embedded in the program, and is unpacked on first
// use. Unknown words, including most words of other languages, are similar to no other word.
//
// The package contains no rules about memories. Callers decide how to use similarity.
package lexicon
