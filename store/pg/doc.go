// Package pg holds the connection to Postgres: transactions bound to a tenant, their time limits, the filter that
// says what a caller may see, and small parts that every statement uses. It knows no table but those of the filter.
package pg
