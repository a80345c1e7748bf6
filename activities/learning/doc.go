// Package learning has the activities of Consolidate, ExtractCompetence and ExtractPlans: listing scopes with new
// evidence, recording the attempts in it, deciding on groups of attempts, and writing the decisions. The rules are in
// memory/learning; requests and results hold ids and counts.
package learning
