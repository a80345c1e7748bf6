package facts

import "slices"

// Alone returns batches for a model of statements that were made too rarely to be facts by the rules. A batch has
// statements of episodes for which fresh returns true, and the statements and facts that share words with them.
// Statements without a shared word are left out. size is the maximum of a batch, batches their maximum number.
func (l *Learner) Alone(fresh func(id string) bool, size, batches int) [][]Alone {
	var out [][]Alone
	var batch []Alone
	in := map[int]bool{}   // statements in the batch
	done := map[int]bool{} // statements that were in a batch
	flush := func() {
		if len(batch) > 1 {
			out = append(out, batch)
		}
		batch, in = nil, map[int]bool{}
	}
	for i, s := range l.statements {
		if done[i] || !s.alone() || !slices.ContainsFunc(s.seen, func(o Observation) bool { return fresh(o.ID) }) {
			continue
		}
		group := l.partners(i, size)
		if len(group) < 2 {
			continue
		}
		if len(batch)+len(group) > size {
			flush()
		}
		if len(out) >= batches {
			break
		}
		for _, j := range group {
			if !in[j] {
				batch = append(batch, l.statements[j].shown())
			}
			in[j], done[j] = true, true
		}
	}
	if len(out) < batches {
		flush()
	}
	return out
}

// maxPartners is the maximum number of statements shown with one.
const maxPartners = 6

// partners returns a statement and the statements that it may restate.
func (l *Learner) partners(i, size int) []int {
	out := []int{i}
	for _, j := range l.near(l.statements[i].frames) {
		s := l.statements[j]
		if j != i && (s.alone() || s.held()) && len(out) < min(size, 1+maxPartners) {
			out = append(out, j)
		}
	}
	return out
}

// alone reports whether a statement was made, but is not a fact and was not made often enough to become one.
func (s *statement) alone() bool { return len(s.seen) > 0 && s.fact == nil && !s.recurs() }

// held reports whether a statement is a fact without conditions.
func (s *statement) held() bool { return s.fact != nil && len(s.fact.Conditions) == 0 }

func (s *statement) shown() Alone {
	if s.fact != nil {
		return Alone{Text: s.fact.Text, Who: s.fact.Who, Held: true, seen: s.seen}
	}
	latest := s.seen[0]
	for _, o := range s.seen {
		if o.At.After(latest.At) {
			latest = o
		}
	}
	return Alone{Text: latest.Text, Who: latest.Who, seen: slices.Clone(s.seen)}
}

// Episodes returns the ids of the episodes in which the statement was made.
func (s Alone) Episodes() []string {
	var out []string
	for _, o := range s.seen {
		out = append(out, o.ID)
	}
	return out
}

// Of returns the statement with the observations whose episodes still exist.
func (s Alone) Of(exists func(id string) bool) Alone {
	s.seen = slices.DeleteFunc(slices.Clone(s.seen), func(o Observation) bool { return !exists(o.ID) })
	return s
}
