// Package reasoning reflects by rules, without a model: it says what users demanded, what was decided and judged, what
// failed and whether it worked later, what was found out and what recurs. It quotes the events and adds nothing to
// them. What it says is deterministic and costs microseconds.
package reasoning
