// Package inprocess recalls without Temporal, for Go programs that can reach Mneme's Postgres. Unlike package client,
// it imports the store. It does not write memories: writes use the workflows, which package client starts.
package inprocess
