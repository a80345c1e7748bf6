// Package revision plans changes that a caller requests: puts, revisions with their relations, edits of fields,
// recovery, and the new wording of a record. The store executes the plans.
package revision
