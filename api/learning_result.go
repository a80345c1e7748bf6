package api

// Plus adds the counts of another result. Parts and outcome are not changed.
func (r LearnResult) Plus(o LearnResult) LearnResult {
	r.Read, r.Groups, r.Added, r.Updated = r.Read+o.Read, r.Groups+o.Groups, r.Added+o.Added, r.Updated+o.Updated
	r.Replaced, r.Merged, r.Contested = r.Replaced+o.Replaced, r.Merged+o.Merged, r.Contested+o.Contested
	r.Dropped, r.Tokens, r.Held = r.Dropped+o.Dropped, r.Tokens+o.Tokens, r.Held || o.Held
	if len(o.Refused) > 0 {
		sum := make(map[string]int, len(r.Refused)+len(o.Refused))
		for reason, n := range r.Refused {
			sum[reason] += n
		}
		for reason, n := range o.Refused {
			sum[reason] += n
		}
		r.Refused = sum
	}
	return r
}

// Changes returns the number of records that a run changed.
func (r LearnResult) Changes() int { return r.Added + r.Updated + r.Replaced + r.Merged + r.Contested }
