// Package learning has the activities of Consolidate, ExtractCompetence and ExtractPlans: listing scopes with new
// evidence, entering which attempts it holds, deciding on groups of attempts, and writing what was decided. What is
// decided follows from memory/learning; requests and results hold ids and counts.
package learning
