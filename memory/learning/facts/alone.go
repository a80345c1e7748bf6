package facts

import "slices"

// Alone returns statements that the rules find said too rarely to be facts, in batches for a model: each has statements
// of episodes that fresh admits, with those and with the facts that share words with them. A statement that shares no
// word with another one is in no batch.
func (l *Learner) Alone(fresh func(id string) bool, size, batches int) [][]Alone {
	var out [][]Alone
	var batch []Alone
	in := map[int]bool{}   // statements in the batch
	done := map[int]bool{} // fresh statements that were in one
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

// maxPartners is how many statements one is shown with.
const maxPartners = 6

// partners are a statement and those that it may restate.
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

// alone reports whether a statement was made, is no fact, and is not said often enough to become one.
func (s *statement) alone() bool { return len(s.seen) > 0 && s.fact == nil && !s.recurs() }

// held reports whether a statement is a fact that holds everywhere.
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

// Episodes are the ids of the observations of a statement.
func (s Alone) Episodes() []string {
	var out []string
	for _, o := range s.seen {
		out = append(out, o.ID)
	}
	return out
}

// Of is the statement with those of its observations that still exist.
func (s Alone) Of(exists func(id string) bool) Alone {
	s.seen = slices.DeleteFunc(slices.Clone(s.seen), func(o Observation) bool { return !exists(o.ID) })
	return s
}
