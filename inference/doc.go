// Package inference defines the interfaces of models and of the rules that can replace them, with their inputs and
// results, a cache of vectors and a limit on concurrent calls. The results are proposals: package memory checks them,
// and package store checks them again at commit.
//
// The implementations are below it: rules (offline, deterministic), openai (any OpenAI-compatible endpoint), and for
// vectors local and static. This package contains no model and retries no call.
package inference
