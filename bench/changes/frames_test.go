package changes

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"

	compare "github.com/mneme/mneme/memory/change"
	"github.com/mneme/mneme/memory/frame"
	"github.com/mneme/mneme/memory/question"
)

// relate returns the strongest relation between the statements of two texts.
func relate(earlier, later []frame.Frame) compare.Relation {
	best := compare.Relation{}
	for _, x := range earlier {
		for _, y := range later {
			if r := compare.Compare(x, y); r.Certainty > best.Certainty && r.Change != compare.Restates {
				best = r
			}
		}
	}
	return best
}

// TestFramesOfTheDevelopmentHalf compares the statements of the development halves without a memory. For developing
// rules, HALF selects one half and SHOW what to print (missed, wrong, apart, attr).
func TestFramesOfTheDevelopmentHalf(t *testing.T) {
	show, share := os.Getenv("SHOW"), 0.2
	if show != "" || os.Getenv("HALF") != "" {
		share = 1 // set while developing rules
	}
	found, total, wrong, others := map[compare.Certainty]int{}, 0, 0, 0
	byAttr := map[string][2]int{}
	for _, tenant := range Generate(1, share) {
		if tenant.HeldOut || os.Getenv("HALF") != "" && tenant.Half != os.Getenv("HALF") {
			continue
		}
		frames := make([][]frame.Frame, len(tenant.Statements))
		texts := make([]question.Text, len(tenant.Statements))
		for i, s := range tenant.Statements {
			frames[i] = frame.Read(s.Text, s.Speaker)
			texts[i] = question.ReadText(s.Text, s.Speaker)
		}
		changes := map[[2]int]bool{}
		for _, p := range tenant.Pairs {
			changes[[2]int{p.Old, p.New}] = true
			r := relate(frames[p.Old], frames[p.New])
			if question.Apart(texts[p.Old], texts[p.New]) {
				if r.Certainty > compare.Doubt && strings.Contains(show, "apart") {
					fmt.Println(tenant.Statements[p.Old].Text, " | ", tenant.Statements[p.New].Text)
				}
				r = compare.Relation{}
			}
			total++
			found[r.Certainty]++
			c := byAttr[p.Attribute]
			c[1]++
			if r.Certainty >= compare.Likely {
				c[0]++
			} else if strings.Contains(show, "missed") {
				fmt.Printf("MISSED %s/%s %d\n   %s: %s\n   %s: %s\n", p.Attribute, p.Wording, r.Certainty,
					tenant.Statements[p.Old].Speaker, tenant.Statements[p.Old].Text, tenant.Statements[p.New].Speaker,
					tenant.Statements[p.New].Text)
			}
			byAttr[p.Attribute] = c
		}
		for i := range frames {
			for j := i + 1; j < len(frames); j++ {
				if changes[[2]int{i, j}] {
					continue
				}
				others++
				if r := relate(frames[i], frames[j]); r.Certainty >= compare.Likely &&
					!question.Apart(texts[i], texts[j]) {
					wrong++
					if strings.Contains(show, "wrong") {
						fmt.Printf("WRONG %d %s\n   %s\n   %s\n", r.Certainty, r.Why, tenant.Statements[i].Text,
							tenant.Statements[j].Text)
					}
				}
			}
		}
	}
	var names []string
	for n := range byAttr {
		names = append(names, n)
	}
	sort.Strings(names)
	if strings.Contains(show, "attr") {
		for _, n := range names {
			fmt.Printf("%-25s %d/%d\n", n, byAttr[n][0], byAttr[n][1])
		}
	}
	if os.Getenv("HALF") == "" {
		if certain := found[compare.Sure] + found[compare.Likely]; 5*certain < 2*total {
			t.Errorf("%d of %d changes were detected", certain, total)
		}
		if 1000*wrong > others {
			t.Errorf("%d of %d other pairs were taken for changes", wrong, others)
		}
	}
	t.Logf("changes: %d, sure %d, likely %d, doubt %d, none %d; other pairs %d, taken for changes %d",
		total, found[compare.Sure], found[compare.Likely], found[compare.Doubt], found[compare.Unrelated], others, wrong)
}
