// Package signature normalizes error texts and intents, so that occurrences of one problem have equal signatures. The
// parts that vary (paths, numbers, names, versions, times) become typed values. The words and codes of the error are
// kept, so that different errors of one tool differ. There is no list of known errors. Same reports whether two
// signatures are of one problem.
package signature
