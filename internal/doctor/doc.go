// Package doctor is the command doctor: it checks Postgres, Temporal, the settings and the stored data, and says how to
// fix problems. It fixes nothing itself; the commands that do are in internal/cli/operate.
package doctor
