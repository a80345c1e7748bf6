// Package workflows has the workflows over records: ingest, recall, revision, forgetting, review, upkeep and the
// Nexus service, and registers all workflows. It has only order, retries and waiting: rules are in package memory,
// side effects in package activities. The workflows of sessions are in workflows/agents, those of learning in
// workflows/learn, and shared code is in workflows/flow.
package workflows
