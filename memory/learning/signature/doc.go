// Package signature brings error texts and intents into a form in which two occurrences of one problem are equal. What
// differs from one occurrence to the next (paths, numbers, names, versions, times) becomes a typed value; the words
// and the codes of the error stay, so that two errors of one tool keep apart. It knows no list of known errors.
// Same says whether two signatures are of one problem.
package signature
