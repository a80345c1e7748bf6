// Package reasoning reflects by rules, without a model: it reports users' demands, decisions and judgements, failures
// and whether they were repaired, results, and recurring subjects. It only quotes events. It is deterministic and takes
// microseconds.
package reasoning
