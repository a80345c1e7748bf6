// Package schema defines the types of Mneme's interface: requests, results and memory records, with their limits,
// validation and JSON encoding. It contains no memory rules (see package memory), no storage and no workflows. Its
// subpackages define ledger events, topics, JSON Schema documents, and the checks that all of them share.
package schema
