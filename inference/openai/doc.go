// Package openai implements Extractor, Decider, Reasoner and Embedder with a model behind an OpenAI-compatible API
// (OpenAI, Ollama, vLLM, llama.cpp, LM Studio and others).
//
// Calls are made once: Temporal retries them. Errors have the types that the retry policy needs (see package inference
// and errors.go), and contain only status, error type and code. They neither quote nor wrap the message of the endpoint
// or the client. Such a message may quote the prompt, which is memory content, and Temporal writes the whole chain of
// an error into the history.
package openai
