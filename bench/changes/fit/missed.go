package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/mneme/mneme/bench/changes"
	"github.com/mneme/mneme/memory/question"
)

// printMissed prints the changes of a half whose old statement is the best answer by the weights of now and that are
// given a probability below one half, the least likely first, and the coexisting pairs with more. It does not print the
// held-out half.
func printMissed(tenants []changes.Tenant, half string) {
	byRelevance, bySuccession := question.Weights()
	type line struct {
		z    float64
		text string
	}
	var missed, wrong []line
	for _, tenant := range tenants {
		if tenant.Half != half || tenant.HeldOut {
			continue
		}
		texts := make([]question.Text, len(tenant.Statements))
		for i, s := range tenant.Statements {
			texts[i] = question.ReadText(s.Text, s.Speaker)
		}
		look := func(asked string, old, now int, changed bool) {
			q := question.Read(asked)
			of := func(i int) float64 { return logit(question.RelevanceMeasures(q, texts[i]), byRelevance) }
			better, later := 0, 0
			for i := range texts {
				if of(i) > of(old) {
					better++
				}
				if of(i) > of(now) {
					later++
				}
			}
			z, found := math.Inf(-1), []float64(nil)
			question.SuccessionMeasures(q, texts, func(i, j int) bool { return i < j },
				func(i, j int, measures []float64) {
					if i == old && j == now {
						z, found = logit(measures, bySuccession), measures
					}
				})
			text := fmt.Sprintf("%.2f ranks %d %d\n  %s\n  %s\n  ? %s\n ", z, better, later, tenant.Statements[old].Text,
				tenant.Statements[now].Text, asked)
			for k, m := range found {
				if w := m * bySuccession[k]; math.Abs(w) > 0.2 {
					text += fmt.Sprintf(" %s %+.1f;", question.SuccessionNames()[k], w)
				}
			}
			switch {
			case changed && z < 0:
				missed = append(missed, line{z, text})
			case !changed && z > -1.5:
				wrong = append(wrong, line{z, text})
			}
		}
		for _, p := range tenant.Pairs {
			look(p.Question, p.Old, p.New, true)
		}
		for _, c := range tenant.Coexisting {
			look(c.AskA, min(c.A, c.B), max(c.A, c.B), false)
			if c.AskB != "" {
				look(c.AskB, min(c.A, c.B), max(c.A, c.B), false)
			}
		}
	}
	for _, list := range [][]line{missed, wrong} {
		slices.SortFunc(list, func(a, b line) int { return cmp.Compare(a.z, b.z) })
		fmt.Println(len(list))
		for _, l := range list {
			fmt.Println(l.text)
		}
	}
}
