// Package static embeds text with a table of token vectors: the vector of a text is the mean of those of its tokens.
// A table is distilled from a trained model and knows meanings, but neither order nor context; a text takes
// microseconds. docs/embeddings.md has the settings, the sources of tables, and figures.
package static
