// Package learn has the workflows that learn from stored memories: consolidation and its parts, advice and reports,
// and standing questions. The rules are in memory/learning, the steps in activities/learning, tidying, advising and
// topics. Recording what agents do is in workflows/agents.
package learn
