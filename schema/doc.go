// Package schema has the types of Mneme's contract: requests, results and memory records, with their limits, their
// validation and their JSON. It has no rules of memory (package memory), no storage and no workflows. Its subpackages
// have the parts with a vocabulary of their own: the ledger's events, topics, JSON Schema documents, and the checks that
// all of them share.
package schema
