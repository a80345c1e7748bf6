// Package config reads the environment and makes what the worker and the command line need: settings, the policy file,
// a Temporal client with encrypted payloads, models and the vector index. The flags of the command line are in
// internal/cli, and the OTEL_ variables of traces in internal/telemetry. The syntax of policies is in memory/policy.
package config
