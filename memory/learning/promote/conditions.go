package promote

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/learning/trace"
)

// Constants of conditions.
const (
	worksFrom  = 0.6 // a solution works for a value of a key with at least this share of successes
	failsUpTo  = 0.4 // it does not work for the other values with at most this share
	leastFails = 2   // failed attempts with the other values
	covered    = 0.8 // share of the successes that a condition must keep
	maxNamed   = 4   // values that one condition names
	maxKeys    = 2   // keys of the conditions
)

// Conditions has the values of context keys under which a solution works. If empty, no conditions are known.
type Conditions map[string][]string

// Hold reports whether a context meets the conditions. A context without the key of a condition does not meet it.
func (c Conditions) Hold(context map[string]string) bool {
	for key, values := range c {
		if v, ok := context[key]; !ok || !slices.Contains(values, v) {
			return false
		}
	}
	return true
}

// Disjoint reports whether two conditions can never be met at the same time.
func (c Conditions) Disjoint(o Conditions) bool {
	for key, values := range c {
		if others, ok := o[key]; ok &&
			!slices.ContainsFunc(values, func(v string) bool { return slices.Contains(others, v) }) {
			return true
		}
	}
	return false
}

// Equal reports whether two conditions are the same.
func (c Conditions) Equal(o Conditions) bool { return maps.EqualFunc(c, o, slices.Equal) }

// Situation returns the name of a situation for evidence.Stats, from the context keys of the conditions.
func (c Conditions) Situation(context map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(c)) {
		parts = append(parts, key+"="+context[key])
	}
	return strings.Join(parts, " ")
}

// Apart returns conditions that the situations in with meet and those in without do not. It takes the key that
// separates them best and, if some situations in without still meet it, a second one. A key is used only if it excludes
// at least two situations in without, keeps almost all in with, and has recurring values, unlike a build number.
func Apart(with, without []map[string]string) Conditions {
	out := Conditions{}
	for range maxKeys {
		key, values := bestKey(with, without, out)
		if key == "" {
			break
		}
		out[key] = values
		with, without = meeting(with, out), meeting(without, out)
		if len(without) < leastFails {
			break
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func meeting(contexts []map[string]string, c Conditions) []map[string]string {
	return slices.DeleteFunc(slices.Clone(contexts), func(m map[string]string) bool { return !c.Hold(m) })
}

func bestKey(with, without []map[string]string, taken Conditions) (string, []string) {
	keys := map[string]bool{}
	for _, m := range with {
		for key := range m {
			keys[key] = true
		}
	}
	best, most := "", 0.0
	var admitted []string
	compared := 0 // keys that could have separated them
	for key := range keys {
		if _, done := taken[key]; !done && len(tally(slices.Concat(with, without), key)) > 1 {
			compared++
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(keys), byMeaning) {
		if _, done := taken[key]; done {
			continue
		}
		good, bad := tally(with, key), tally(without, key)
		var values []string
		kept, left, leftGood := 0, 0, 0
		for _, v := range slices.Sorted(maps.Keys(good)) {
			if rate := float64(good[v]) / float64(good[v]+bad[v]); v != "" && rate >= worksFrom {
				values = append(values, v)
				kept += good[v]
			}
		}
		for v, n := range bad {
			if !slices.Contains(values, v) {
				left += n
				leftGood += good[v]
			}
		}
		switch {
		case len(values) == 0 || len(values) > maxNamed || float64(kept) < covered*float64(len(with)):
		case left < leastFails || float64(leftGood) > failsUpTo*float64(left+leftGood):
		case 2*len(values) > kept && kept > 1 || bad[""] > left/2: // values that do not recur or are unknown
		case speaks(kept, len(without)-left, len(with)-kept, left) < math.Log(float64(compared)):
			// The more keys there are, the more likely is a separation by chance.
		default:
			if gain := informationGain(len(with), len(without), kept, len(without)-left); gain > most+1e-9 {
				best, most, admitted = key, gain, values
			}
		}
	}
	return best, admitted
}

// byMeaning sorts keys: those that mean most to people first, versions last. If several keys separate equally well, the
// first is used.
func byMeaning(a, b string) int {
	rank := func(key string) int {
		switch {
		case key == "project_kind":
			return 0
		case key == "os":
			return 1
		case strings.HasSuffix(key, "_version"):
			return 3
		}
		return 2
	}
	return cmp.Or(rank(a)-rank(b), strings.Compare(a, b))
}

func tally(contexts []map[string]string, key string) map[string]int {
	out := map[string]int{}
	for _, m := range contexts {
		out[m[key]]++
	}
	return out
}

// speaks returns the log Bayes factor for two success rates against one, with uniform priors.
func speaks(good, bad, goodElse, badElse int) float64 {
	return marginal(good, bad) + marginal(goodElse, badElse) - marginal(good+goodElse, bad+badElse)
}

// marginal returns the log marginal likelihood of a sequence of outcomes, with a uniform prior of the success rate.
func marginal(good, bad int) float64 {
	a, _ := math.Lgamma(float64(good + 1))
	b, _ := math.Lgamma(float64(bad + 1))
	c, _ := math.Lgamma(float64(good + bad + 2))
	return a + b - c
}

// informationGain returns the reduction of the outcome's entropy by a condition.
func informationGain(good, bad, goodIn, badIn int) float64 {
	entropy := func(g, b int) float64 {
		n := float64(g + b)
		out := 0.0
		for _, k := range []int{g, b} {
			if k > 0 {
				out -= float64(k) / n * math.Log2(float64(k)/n)
			}
		}
		return out
	}
	n := float64(good + bad)
	in, rest := float64(goodIn+badIn), float64(good+bad-goodIn-badIn)
	return memory.ClampUnit(entropy(good, bad) - in/n*entropy(goodIn, badIn) - rest/n*entropy(good-goodIn, bad-badIn))
}

func contexts(attempts []trace.Attempt) []map[string]string {
	out := make([]map[string]string, 0, len(attempts))
	for _, a := range attempts {
		out = append(out, a.Setting())
	}
	return out
}
