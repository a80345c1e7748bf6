package main

import (
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/mneme/mneme/bench/changes"
	"github.com/mneme/mneme/memory/question"
)

// floor is the relevance below which the best result of recall is no answer.
const floor = 0.2

// questionsOf reads files of questions, separated by commas.
func questionsOf(files string) (out []changes.Tenant, err error) {
	for file := range strings.SplitSeq(files, ",") {
		if file == "" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		tenant, err := changes.FromQuestions(1, string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		tenant.Name = file
		out = append(out, tenant)
	}
	return out, nil
}

// printAnswered prints how many questions of a tenant have an answer above the floor, by an estimate of relevance.
// There is no retrieval: every statement is compared with every question.
func printAnswered(t changes.Tenant, show bool, relevance func(q question.Question, t question.Text) float64) {
	texts := make([]question.Text, len(t.Statements))
	for i, s := range t.Statements {
		texts[i] = question.ReadText(s.Text, s.Speaker)
	}
	best := func(asked string) (at int, most float64, relevances []float64) {
		q := question.Read(asked)
		for i, text := range texts {
			r := relevance(q, text)
			relevances = append(relevances, r)
			if r > most {
				at, most = i, r
			}
		}
		return at, most, relevances
	}
	var known, own, unknown []float64
	right := 0
	for _, k := range t.Known {
		at, most, relevances := best(k.Question)
		known, own = append(known, most), append(own, relevances[k.Answer])
		if at == k.Answer {
			right++
		}
		if show && (most < floor || at != k.Answer) {
			fmt.Printf("\t%.3f %s\n\t      %s\n", relevances[k.Answer], k.Question, t.Statements[k.Answer].Text)
			if at != k.Answer {
				fmt.Printf("\t%.3f %s\n", most, t.Statements[at].Text)
			}
		}
	}
	for _, u := range t.Unknown {
		at, most, _ := best(u.Question)
		unknown = append(unknown, most)
		if most >= floor && show {
			fmt.Printf("\t? %s\n\t%.3f %s\n", u.Question, most, t.Statements[at].Text)
		}
	}
	fmt.Printf("%s: %d questions, %.1f %% with the answer first, %d without an answer\n", t.Name, len(t.Known),
		percent(right, len(t.Known)), len(t.Unknown))
	for _, floor := range []float64{0.1, 0.15, floor, 0.25, 0.3} {
		below := func(r float64) bool { return r < floor }
		fmt.Printf("\tfloor %.2f: %.1f %% answered, %.1f %% by the statement with the answer; %.1f %% recognised\n", floor,
			100-share(known, below), 100-share(own, below), share(unknown, below))
	}
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) }

// share returns how many percent of the values are so.
func share(values []float64, so func(float64) bool) float64 {
	n := 0
	for _, v := range values {
		if so(v) {
			n++
		}
	}
	return percent(n, len(values))
}

// fitted returns the estimate of relevance by fitted weights: see answers.
func fitted(weights, ofAnswers []float64) func(q question.Question, t question.Text) float64 {
	return func(q question.Question, t question.Text) float64 {
		z, length := logit(question.RelevanceMeasures(q, t), weights), t.Length()
		return 1 / (1 + math.Exp(-logit([]float64{z, length, z * length}, ofAnswers)))
	}
}
