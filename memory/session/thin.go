package session

// weight is the importance of an item if not all can be kept.
type weight int

const (
	routine weight = iota
	notable
	failure
	ending
	weights
)

// thin returns which of n items are kept within a budget. If they do not all fit, it keeps, in this order:
//
//   - the first and the last item, the items at the beginning up to an eighth of the budget and those at the end up to
//     a quarter of it
//   - the items between them by weight: endings, failures, notable ones, routine
//   - of the first weight that does not fit as a whole, every k-th item and the last one
//
// cost returns the size of an item. between is added for each item that is kept between the two ends.
func thin(n, budget, between int, cost func(int) int, weigh func(int) weight) []bool {
	keep := make([]bool, n)
	total := 0
	for i := range n {
		total += cost(i)
	}
	if total <= budget {
		for i := range keep {
			keep[i] = true
		}
		return keep
	}
	from, used := 0, 0
	for ; from < n && (from == 0 || used+cost(from) <= budget/8); from++ {
		keep[from] = true
		used += cost(from)
	}
	to, tail := n, 0
	for ; to > from && (to == n || tail+cost(to-1) <= budget/4); to-- {
		keep[to-1] = true
		tail += cost(to - 1)
	}
	rest := budget - used - tail - between
	for w := weights - 1; w >= routine && rest > 0; w-- {
		var items []int
		sum := 0
		for i := from; i < to; i++ {
			if weigh(i) == w {
				items = append(items, i)
				sum += cost(i) + between
			}
		}
		step := 1
		if sum > rest {
			step = (sum + rest - 1) / rest
		}
		for j, i := range items {
			// Counted from the end, so that the last one is always taken.
			if takes := cost(i) + between; (len(items)-1-j)%step == 0 && takes <= rest {
				keep[i] = true
				rest -= takes
			}
		}
		if step > 1 {
			break
		}
	}
	return keep
}
