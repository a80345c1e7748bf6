// Package static embeds text with a table of token vectors: the vector of a text is the mean of its tokens' vectors. A
// table is distilled from a trained model. It represents meaning, but neither word order nor context. A text takes
// microseconds. docs/embeddings.md has the settings, the sources of tables, and figures.
package static
