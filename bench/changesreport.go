package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/bench/changes"
	"github.com/mneme/mneme/schema"
)

// tally sums up pairs.
type tally struct {
	pairs, newFirst, gone, marked, contested, both, past, oldFirst int
	named, oldInFirst                                              int // of questions about a past value
}

func (t *tally) add(p pairResult) {
	count := func(n *int, when bool) {
		if when {
			*n++
		}
	}
	t.pairs++
	count(&t.newFirst, p.newFirst)
	count(&t.gone, p.old == fateGone)
	count(&t.marked, p.old == fateMarked)
	count(&t.contested, p.old == fateContested)
	count(&t.both, p.newFirst && p.oldDone())
	count(&t.past, p.askedPast)
	count(&t.oldFirst, p.oldFirst)
	count(&t.named, p.askedPast && p.OldValue != "")
	count(&t.oldInFirst, p.oldInFirst)
}

func percent(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}

var tallyHeader = []string{"pairs", "newest first", "old marked or gone", "marked", "gone", "contested", "both",
	"past questions", "old first", "first names it"}

func (t tally) row(name string) []string {
	return []string{name, fmt.Sprint(t.pairs), percent(t.newFirst, t.pairs),
		percent(t.marked+t.gone+t.contested, t.pairs),
		fmt.Sprint(t.marked), fmt.Sprint(t.gone), fmt.Sprint(t.contested), percent(t.both, t.pairs),
		fmt.Sprint(t.past), percent(t.oldFirst, t.past), percent(t.oldInFirst, t.named)}
}

// cells are the parts of the tables, by whether attribute and wording are held out.
var cells = []struct {
	name string
	of   func(half string, p changes.Pair) bool
}{
	{"development", func(half string, p changes.Pair) bool { return half == "dev" }},
	{"third development", func(half string, p changes.Pair) bool { return half == "third" }},
	{"second development", func(half string, p changes.Pair) bool { return half == "second" }},
	{"scenarios", func(half string, p changes.Pair) bool { return half == changes.Scenarios }},
	{"wordings held out", func(_ string, p changes.Pair) bool { return !p.HeldAttribute && p.HeldWording }},
	{"attributes held out", func(_ string, p changes.Pair) bool { return p.HeldAttribute && !p.HeldWording }},
	{"both held out", func(_ string, p changes.Pair) bool { return p.HeldAttribute && p.HeldWording }},
	{"all held out", func(_ string, p changes.Pair) bool { return p.HeldAttribute || p.HeldWording }},
}

// reportChanges prints the tables. For the held-out part they show only sums, unless showHidden is set.
func (b *bench) reportChanges(tenants []changes.Tenant, results []tenantResult, took time.Duration) {
	statements := 0
	sums := make([]tally, len(cells))
	wordings, attributes := map[string]*tally{}, map[string]*tally{}
	for i, r := range results {
		statements += len(tenants[i].Statements)
		for _, p := range r.pairs {
			for k, c := range cells {
				if c.of(tenants[i].Half, p.Pair) {
					sums[k].add(p)
				}
			}
			if tenants[i].HeldOut && !b.changing.showHidden {
				continue
			}
			for key, of := range map[string]map[string]*tally{p.Wording: wordings, p.Attribute: attributes} {
				if of[key] == nil {
					of[key] = &tally{}
				}
				of[key].add(p)
			}
		}
	}
	fmt.Printf("\n%d tenants, %d statements, seed %d, %s\n",
		len(tenants), statements, b.changing.seed, took.Round(time.Second))
	var rows [][]string
	for i, c := range cells {
		if sums[i].pairs > 0 {
			rows = append(rows, sums[i].row(c.name))
		}
	}
	table("Changes", append([]string{"part"}, tallyHeader...), rows)
	reportInstead(tenants, results)
	reportChains(tenants, results)
	b.reportOthers(tenants, results)
	for _, t := range []struct {
		title string
		of    map[string]*tally
	}{{"wording", wordings}, {"attribute", attributes}} {
		if len(t.of) == 0 {
			continue
		}
		rows = nil
		for _, name := range slices.SortedFunc(maps.Keys(t.of), func(x, y string) int {
			share := func(n string) float64 { return float64(t.of[n].both) / float64(t.of[n].pairs) }
			return cmp.Or(cmp.Compare(share(x), share(y)), cmp.Compare(x, y))
		}) {
			rows = append(rows, t.of[name].row(name))
		}
		table("Changes by "+t.title, append([]string{t.title}, tallyHeader...), rows)
	}
	if b.changing.showFailures {
		b.printFailures(tenants, results)
	}
}

// reportInstead prints which results are first when the new statement is not, and whether the old one was marked.
func reportInstead(tenants []changes.Tenant, results []tenantResult) {
	type key struct {
		half, instead string
		done          bool
	}
	counts := map[key]int{}
	for i, r := range results {
		for _, p := range r.pairs {
			if !p.newFirst {
				counts[key{tenants[i].Half, p.instead, p.oldDone()}]++
			}
		}
	}
	var rows [][]string
	for _, half := range halfNames {
		for _, instead := range []string{insteadOld, insteadOther, insteadLost, insteadNothing} {
			done, not := counts[key{half, instead, true}], counts[key{half, instead, false}]
			if done+not > 0 {
				rows = append(rows, []string{half, instead, fmt.Sprint(done), fmt.Sprint(not)})
			}
		}
	}
	table("What is first instead of the newest", []string{"part", "first", "old one marked or gone", "not"}, rows)
}

// reportChains prints the results for facts that changed twice.
func reportChains(tenants []changes.Tenant, results []tenantResult) {
	var rows [][]string
	for _, half := range halfNames {
		for _, back := range []bool{false, true} {
			n, first, done := 0, 0, 0
			for i, r := range results {
				for _, c := range r.chains {
					if tenants[i].Half != half || c.Back != back {
						continue
					}
					n++
					if c.lastFirst {
						first++
					}
					if c.olderDone {
						done++
					}
				}
			}
			if n > 0 {
				values := map[bool]string{false: "A, B, C", true: "A, B, A"}[back]
				rows = append(rows, []string{half, values, fmt.Sprint(n), percent(first, n), percent(done, n)})
			}
		}
	}
	table("Changed twice", []string{"part", "values", "things", "newest first", "both others marked or gone"}, rows)
}

// halfNames are the halves in the order of the tables.
var halfNames = []string{"dev", "second", "third", "heldout", changes.Scenarios, changes.Questions}

// reportOthers prints the results for coexisting statements and for other questions.
func (b *bench) reportOthers(tenants []changes.Tenant, results []tenantResult) {
	var rows, kinds [][]string
	for _, half := range halfNames {
		coexisting, superseded, asked, right, bystanders, known, found, first, unknown, empty, pairs := 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
		byKind := map[string][2]int{}
		for i, r := range results {
			if tenants[i].Half != half {
				continue
			}
			pairs += len(r.pairs)
			bystanders += r.bystanders
			for _, c := range r.coexisting {
				coexisting++
				asked += c.asked
				right += c.rightFirst
				if c.superseded {
					superseded++
				}
			}
			for _, q := range r.unknown {
				unknown++
				of := byKind[q.Kind]
				of[1]++
				if q.empty {
					empty++
					of[0]++
				}
				byKind[q.Kind] = of
			}
			for _, q := range r.known {
				known++
				if q.found {
					found++
				}
				if q.first {
					first++
				}
			}
		}
		if pairs+known == 0 {
			continue
		}
		name := half
		rows = append(rows, []string{name,
			fmt.Sprint(coexisting), percent(superseded, coexisting), percent(right, asked),
			fmt.Sprint(bystanders),
			fmt.Sprint(unknown), percent(empty, unknown), fmt.Sprint(known), percent(found, known),
			percent(first, known)})
		for _, kind := range slices.Sorted(maps.Keys(byKind)) {
			kinds = append(kinds, []string{name, kind, fmt.Sprint(byKind[kind][1]),
				percent(byKind[kind][0], byKind[kind][1])})
		}
	}
	table("Coexisting statements, and questions with and without an answer", []string{"part",
		"coexisting pairs", "false supersessions", "right one first", "others superseded",
		"never said", "recognised", "known", "answered", "answer first"}, rows)
	table("Questions about things never said", []string{"part", "kind", "questions", "recognised"}, kinds)
}

// described formats a result on one line.
func described(r schema.RecallResult) string {
	marks := []string{string(r.Type), string(r.Status), string(r.Currentness)}
	if how := outdated(r); how != "" && how != string(r.Currentness) {
		marks = append(marks, how)
	}
	marks = slices.DeleteFunc(marks, func(m string) bool { return m == "" })
	return fmt.Sprintf("[%s] %s", strings.Join(marks, ", "), strings.TrimPrefix(r.Who+": "+r.Content, ": "))
}

// shownResults is how many results a failure shows.
const shownResults = 4

// printFailures prints the wrong answers: statements A and B, the question, and the results.
func (b *bench) printFailures(tenants []changes.Tenant, results []tenantResult) {
	fmt.Printf("\n## Failures\n")
	for i, r := range results {
		if tenants[i].HeldOut && !b.changing.showHidden {
			continue
		}
		for _, f := range r.failures {
			fmt.Printf("\n%s: %s\n", tenants[i].Name, f.what)
			for k, s := range f.statements {
				fmt.Printf("  %c  %s\n", 'A'+k, s)
			}
			fmt.Printf("  ?  %s\n", f.question)
			for k, hit := range f.results[:min(shownResults, len(f.results))] {
				fmt.Printf("     %.3f %-2s %s\n", hit.Score, f.belongs[k], described(hit))
			}
			if len(f.results) == 0 {
				fmt.Println("     (nothing)")
			}
		}
	}
}
