// Package local embeds text in the process: a sentence model in ONNX, run by hugot's backend in pure Go, so that
// neither a service nor a shared library is needed. Models of the BERT family with a WordPiece vocabulary are
// supported (MiniLM, bge, e5, gte, arctic in English). docs/embeddings.md has the settings, the sources of models,
// and figures.
//
// The library that runs a model is the largest that Mneme uses. The build tag nolocal leaves it out; then New returns
// an error that says so.
package local
