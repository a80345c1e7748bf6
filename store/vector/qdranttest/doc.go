// Package qdranttest is a Qdrant service within the process, for tests on machines without Qdrant. It implements the
// gRPC interface of the real server, from the client's own protobufs, with the same semantics: collections, aliases,
// payload indexes, conditional upserts, deletions, payload updates, filters, search, scroll, count, waiting, and
// their errors. It answers any other call with Unimplemented. Search is exact.
package qdranttest
