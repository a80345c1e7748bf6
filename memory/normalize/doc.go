// Package normalize holds the forms that texts are compared in: the storage form and the normalized form of a
// content, its hash, words, tags, names of entities, and cuts to a length. It knows nothing of memories.
package normalize
