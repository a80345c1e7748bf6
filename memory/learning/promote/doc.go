// Package promote decides which solutions of a problem are reliable enough to become procedures or plans. It takes in
// attempts one by one with bounded memory, groups them by solution, finds under which conditions each works, and
// replays each on evidence that it was not made from. What it refuses it refuses with a reason.
package promote
