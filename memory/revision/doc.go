// Package revision plans changes that a caller asks for: revisions with their relations, edits of fields, recovery, and
// the new wording of a record. The store carries the plans out.
package revision
