// Package telemetry reports on the running system: metrics for Prometheus and traces for OpenTelemetry (document 004
// §14, §15.10). Labels and attributes have only numbers, times and names from the program, never the content of
// memories or questions, nor their ids. Alert rules and dashboards are in deploy, and the figures that a collector
// reads from Postgres are computed in package store.
package telemetry
