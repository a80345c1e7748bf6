// Package pg holds the connection to Postgres: transactions bound to a tenant, their time limits, the filter for
// what a caller may see, and helpers for all statements. It refers to no table except those of the filter.
package pg
