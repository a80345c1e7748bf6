// Package migrations contains and runs the SQL that creates Mneme's tables. It contains no queries of the application;
// those are in package store.
//
// Migrations are forward-only. They run as the owner of the schema, never as the application's role. Their versions
// begin with 101: see ErrFormerSeries.
package migrations
