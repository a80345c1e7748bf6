// Package operate has the commands of an operator: migrations, schedules, sweeps, retention, policy, jobs, indexes,
// status and figures. Package doctor finds faults.
package operate
