// Package promote decides which solutions of a problem are reliable enough to become procedures or plans. It
// processes attempts one by one with bounded memory, groups them by solution, finds the conditions under which each
// works, and replays each on evidence that it was not made from. Each refusal has a reason.
package promote
