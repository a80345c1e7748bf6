// Package passages splits long texts into passages and finds the one that answers a question.
//
// A passage is a few sentences, list items or lines of code. Offsets are in bytes of the text. Passages are neither
// stored nor embedded: package recall makes them from a text when a result is too long.
package passages
