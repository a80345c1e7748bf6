// Package normalize converts texts to the forms in which they are stored and compared: storage form, normalized form,
// hash, words, tags and names of entities. It also cuts texts to a length.
package normalize
