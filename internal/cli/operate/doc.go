// Package operate has the commands of an operator: migrations, schedules, sweeps, retention, policy, jobs, indexes,
// status and figures. Faults are found by package doctor.
package operate
