package main

import (
	"fmt"
	"math"

	"github.com/mneme/mneme/bench/changes"
	"github.com/mneme/mneme/memory/question"
)

// simulate answers the questions of one part of the corpus using only the two models, without a memory. It reports how
// often the newest statement comes first, how often the old one is marked as outdated, and in how many coexisting
// pairs a statement is wrongly marked as outdated.
//
// A logit of succession above first puts the newer statement first, and one above sure marks the older as outdated.
func simulate(tenants []changes.Tenant, half string, relevance, succession []float64, first, sure float64) string {
	newest, marked, pairs, right, asked, disturbed, coexisting, old := 0, 0, 0, 0, 0, 0, 0, 0
	for _, tenant := range tenants {
		if tenant.Half != half {
			continue
		}
		texts := make([]question.Text, len(tenant.Statements))
		for i, s := range tenant.Statements {
			texts[i] = question.ReadText(s.Text, s.Speaker)
		}
		answer := func(asked string) (top int, outdated map[int]bool) {
			q := question.Read(asked)
			best := math.Inf(-1)
			for i := range texts {
				if z := logit(question.RelevanceMeasures(q, texts[i]), relevance); z > best {
					best, top = z, i
				}
			}
			outdated = map[int]bool{}
			successor, most := top, first
			question.SuccessionMeasures(q, texts, func(i, j int) bool { return i < j },
				func(i, j int, measures []float64) {
					z := logit(measures, succession)
					if z > sure {
						outdated[i] = true
					}
					if i == top && z > most {
						successor, most = j, z
					}
				})
			return successor, outdated
		}
		for _, p := range tenant.Pairs {
			top, outdated := answer(p.Question)
			pairs++
			switch top {
			case p.New:
				newest++
			case p.Old:
				old++
			}
			if outdated[p.Old] {
				marked++
			}
		}
		for _, c := range tenant.Coexisting {
			a, outA := answer(c.AskA)
			b, outB := -1, map[int]bool{}
			if c.AskB != "" {
				b, outB = answer(c.AskB)
				asked++
			}
			coexisting++
			asked++
			if a == c.A {
				right++
			}
			if b == c.B {
				right++
			}
			if outA[c.A] || outA[c.B] || outB[c.A] || outB[c.B] {
				disturbed++
			}
		}
	}
	if pairs == 0 {
		return ""
	}
	part := func(n, of int) float64 { return 100 * float64(n) / float64(of) }
	return fmt.Sprintf(
		"%s: newest first %.1f %%, old one first %.1f %%, old marked %.1f %%, coexisting: right first %.1f %%, "+
			"wrongly marked %.1f %%", half,
		part(newest, pairs), part(old, pairs), part(marked, pairs), part(right, asked), part(disturbed, coexisting))
}
