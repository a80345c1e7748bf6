package vectorindex

import "time"

// IndexLag is how far the index is behind Postgres.
type IndexLag struct {
	Pending int64      `json:"pending"`          // changes that it has not been told of
	Parked  int64      `json:"parked"`           // changes that are not tried any more
	Oldest  *time.Time `json:"oldest,omitempty"` // when the oldest pending change was made
}
