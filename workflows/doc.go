// Package workflows holds the durable orchestration: order, retries and waiting. One file a phase,
// request and result types with it. Rules are package memory's, side effects package activities'.
package workflows
