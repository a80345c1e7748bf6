// Package doctor is the command doctor: it looks for what is wrong with Postgres, Temporal, the settings and what is
// stored, and says what to do.
package doctor
