// Package store holds every transaction and query on Postgres, where the memories are stored.
//
// One change is one transaction: the record, its relations, provenance, history and index-outbox row commit together or
// not at all. Every transaction is bound to one tenant. Row-level security enforces this too, because the pool runs as
// a role that cannot bypass it.
//
// Each concern has a package below this one, and a Store combines them. The tests of those packages are here. The
// tables are created in schema/migrations; what a change should be is decided in package memory.
package store
