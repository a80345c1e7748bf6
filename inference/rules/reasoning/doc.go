// Package reasoning reflects by rules, without a model: it reports users' demands, decisions and judgements, failures
// and whether they were repaired, results, and recurring subjects. It quotes the events and adds nothing to them. It
// is deterministic and costs microseconds.
package reasoning
