package align

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mneme/mneme/memory/learning/trace"
)

// Constants of the alignment.
const (
	sameTool = 0.4  // weight of an equal tool in the similarity of two steps; the arguments have the rest
	sameStep = 0.55 // least similarity of two steps that are the same step with other values
	gapCost  = 0.2  // cost of a step that only one sequence has
)

// Similarity returns the similarity of two steps, in [0,1]. It is 0 for different tools. Two shell commands are similar
// only if they run the same program.
func Similarity(a, b trace.Step) float64 {
	if a.Tool != b.Tool {
		return 0
	}
	if len(a.Args) == 0 && len(b.Args) == 0 {
		return 1
	}
	total, paths := 0.0, 0
	for path, x := range a.Args {
		paths++
		if y, ok := b.Args[path]; ok && x.Type == y.Type {
			total += valueSimilarity(x.Text, y.Text)
		}
	}
	for path := range b.Args {
		if _, ok := a.Args[path]; !ok {
			paths++
		}
	}
	return sameTool + (1-sameTool)*total/float64(paths)
}

const (
	otherPath = 0.6 // similarity of two different paths or numbers
	otherWord = 0.2 // similarity of two other words
)

func valueSimilarity(a, b string) float64 {
	if a == b {
		return 1
	}
	x, y := tokens(a), tokens(b)
	if len(x) == 1 && len(y) == 1 {
		if shape(a) == shape(b) && shape(a) != "" {
			return otherPath
		}
		return otherWord
	}
	if len(x) == 0 || len(y) == 0 || x[0] != y[0] && shape(x[0]) == "" {
		return 0
	}
	both := 0
	for i, w := range x { // equal words at the beginning, then at the end
		if i < len(y) && y[i] == w {
			both++
			continue
		}
		break
	}
	for i := 1; i <= len(x)-both && i <= len(y)-both; i++ {
		if x[len(x)-i] != y[len(y)-i] {
			break
		}
		both++
	}
	rest := 0.0 // for words between them with the same shape, such as two paths
	if len(x) == len(y) {
		for i := range x {
			if x[i] != y[i] && shape(x[i]) == shape(y[i]) && shape(x[i]) != "" {
				rest += otherPath
			}
		}
	}
	return max(0.3, min(1, (float64(both)+rest)/float64(max(len(x), len(y)))))
}

var tokenForm = regexp.MustCompile(`[^\s"'=,;:()]+|[\s"'=,;:()]+`)

// tokens splits a text into words, without separators.
func tokens(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune("\"'=,;:()", r)
	})
}

var (
	pathForm   = regexp.MustCompile(`[/\\]|\.\w{1,5}$`)
	numberForm = regexp.MustCompile(`^[v~^]?[\d.]+$`)
)

// shape returns the kind of value that a word has: number, path, or empty for neither.
func shape(word string) string {
	switch {
	case numberForm.MatchString(word):
		return "number"
	case pathForm.MatchString(word):
		return "path"
	}
	return ""
}

// column has the variants of one step of the procedure, by the number of the attempt.
type column map[int]trace.Step

// any returns the step of the first attempt in the column, which represents it.
func (c column) any() trace.Step {
	first := -1
	for n := range c {
		if first < 0 || n < first {
			first = n
		}
	}
	return c[first]
}

// pairs aligns two sequences of n and m steps globally (Needleman-Wunsch): it maximises the sum of the similarities of
// paired steps minus the cost of gaps. It returns pairs of indexes, with -1 for a gap, and the score.
func pairs(n, m int, similar func(i, j int) float64) (out [][2]int, score float64) {
	best := make([][]float64, n+1)
	for i := range best {
		best[i] = make([]float64, m+1)
	}
	match := make([][]float64, n)
	for i := n - 1; i >= 0; i-- {
		match[i] = make([]float64, m)
		for j := m - 1; j >= 0; j-- {
			match[i][j] = similar(i, j)
		}
	}
	for i := n; i >= 0; i-- {
		for j := m; j >= 0; j-- {
			switch {
			case i == n:
				best[i][j] = -gapCost * float64(m-j)
			case j == m:
				best[i][j] = -gapCost * float64(n-i)
			default:
				best[i][j] = max(best[i+1][j], best[i][j+1]) - gapCost
				if match[i][j] >= sameStep {
					best[i][j] = max(best[i][j], match[i][j]+best[i+1][j+1])
				}
			}
		}
	}
	i, j := 0, 0
	for i < n || j < m {
		switch {
		case i < n && j < m && match[i][j] >= sameStep && best[i][j] == match[i][j]+best[i+1][j+1]:
			out = append(out, [2]int{i, j})
			i, j = i+1, j+1
		case j == m || i < n && best[i][j] == best[i+1][j]-gapCost:
			out = append(out, [2]int{i, -1})
			i++
		default:
			out = append(out, [2]int{-1, j})
			j++
		}
	}
	return out, best[0][0]
}

// Alike returns the similarity of two sequences of steps, in [0,1]: the sum of the similarities of paired steps over
// the length of the longer sequence.
func Alike(a, b []trace.Step) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	found, _ := pairs(len(a), len(b), func(i, j int) float64 { return Similarity(a[i], b[j]) })
	total := 0.0
	for _, p := range found {
		if p[0] >= 0 && p[1] >= 0 {
			total += Similarity(a[p[0]], b[p[1]])
		}
	}
	return total / float64(max(len(a), len(b)))
}

// columns aligns all sequences: it starts with the one most similar to the others, and adds one after another.
func columns(sequences [][]trace.Step) []column {
	const compared = 8 // number of sequences that are compared to choose the first
	middle, most := 0, -1.0
	for i, a := range sequences[:min(len(sequences), compared)] {
		total := 0.0
		for _, b := range sequences[:min(len(sequences), compared)] {
			total += Alike(a, b)
		}
		if total > most {
			middle, most = i, total
		}
	}
	var out []column
	for _, s := range sequences[middle] {
		out = append(out, column{middle: s})
	}
	for n, seq := range sequences {
		if n == middle {
			continue
		}
		found, _ := pairs(len(out), len(seq), func(i, j int) float64 { return Similarity(out[i].any(), seq[j]) })
		next := make([]column, 0, len(found))
		for _, p := range found {
			switch {
			case p[1] < 0:
				next = append(next, out[p[0]])
			case p[0] < 0:
				next = append(next, column{n: seq[p[1]]})
			default:
				out[p[0]][n] = seq[p[1]]
				next = append(next, out[p[0]])
			}
		}
		out = next
	}
	return out
}

// Clusters groups attempts by solution. An attempt joins the cluster whose first attempt is most similar, if the
// similarity is at least least. It returns indexes of attempts, the largest cluster first.
func Clusters(attempts []trace.Attempt, least float64) [][]int {
	var out [][]int
	for i, a := range attempts {
		best, most := -1, least
		for c, members := range out {
			if alike := Alike(a.Done(), attempts[members[0]].Done()); alike >= most {
				best, most = c, alike
			}
		}
		if best < 0 {
			out = append(out, []int{i})
		} else {
			out[best] = append(out[best], i)
		}
	}
	slices.SortStableFunc(out, func(a, b []int) int { return len(b) - len(a) })
	return out
}
