// Package workflows has the workflows over records: ingest, recall, revision, forgetting, review, upkeep and the Nexus
// service, and registers all workflows. It holds order, retries and waiting only: rules are in package memory, side
// effects in package activities. The workflows of sessions are in workflows/agents, those of learning in
// workflows/learn, and what all share is in workflows/flow.
package workflows
