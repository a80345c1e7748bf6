// Command fit fits the weights of memory/question to the development conversations of package changes, and prints them.
// It does not fit the held-out half; with -heldout it prints the sums of the results there.
//
//	go run ./bench/changes/fit [-conversations FILE] [-questions FILES] [-scenarios FILE] [-test FILE]
//
// The first file has evaluation conversations in the format of `make bench`, the next ones statements with questions.
// They are used for relevance too: the weights of relevance were fitted with both, the files of questions being first,
// home and software of bench/changes/questions, and the calibration was then shifted so that the floor suits
// conversations and notes. The others have scenarios; those of -test are not fitted. The weights of successions were
// fitted with -succession and bench/changes/scenarios/first.txt.
//
// Each model is also fitted to one half and tested on the other. A large difference shows overfitting.
package main

import (
	"flag"
	"fmt"
	"log"
	"maps"
	"math"
	"os"
	"slices"

	"github.com/mneme/mneme/bench/changes"
	"github.com/mneme/mneme/memory/question"
)

// Weight of coexisting statements against others: wrongly marking one as outdated costs more than missing a change.
const coexistingWeight = 4

// testHalf is the name of scenarios that are only tested.
const testHalf = "test"

// halves are fitted.
var halves = []string{"dev", "second", "third", changes.Scenarios, changes.Questions}

// example has the features for a model, and the expected answer.
type example struct {
	measures []float64
	holds    bool
	weight   float64
	half     string
	question int  // examples of one question
	known    bool // the question has an answer
}

func main() {
	conversations := flag.String("conversations", "", "evaluation conversations; none when empty")
	share := flag.Float64("weight", 0.3, "of an example of these")
	scenarios := flag.String("scenarios", "", "a file of scenarios to fit too, see changes.FromScenarios")
	tests := flag.String("test", "", "a file of scenarios to print the results for, without fitting them")
	questions := flag.String("questions", "", "files of questions to fit too, separated by commas: changes.FromQuestions")
	testQuestions := flag.String("test-questions", "", "files of questions to print the results for")
	heldOut := flag.Bool("heldout", false, "also print the sums of the held-out half")
	questionsWeight := flag.Float64("questions-weight", 3, "of an example of the files of questions")
	noSuccession := flag.Bool("relevance", false, "fit only relevance")
	onlySuccession := flag.Bool("succession", false, "fit only succession, and keep the weights of relevance")
	missed := flag.String("missed", "", "only print the successions of this half that the weights of now miss")
	onlyQuestions := flag.Bool("only-questions", false, "only print the results of the files of questions")
	showMissed := flag.Bool("show", false, "also print the questions of these files that are answered wrongly")
	flag.Parse()
	tenants := slices.DeleteFunc(changes.Generate(1, 1), func(t changes.Tenant) bool { return t.HeldOut && !*heldOut })
	for _, more := range []struct{ file, half string }{{*scenarios, changes.Scenarios}, {*tests, testHalf}} {
		if more.file == "" {
			continue
		}
		text, err := os.ReadFile(more.file)
		if err != nil {
			log.Fatal(err)
		}
		read, err := changes.FromScenarios(1, string(text))
		if err != nil {
			log.Fatal(err)
		}
		for i := range read {
			read[i].Half = more.half
		}
		tenants = append(tenants, read...)
	}
	asked, err := questionsOf(*questions)
	if err != nil {
		log.Fatal(err)
	}
	tested, err := questionsOf(*testQuestions)
	if err != nil {
		log.Fatal(err)
	}
	tenants = append(tenants, asked...)
	for _, t := range slices.Concat(asked, tested) {
		printAnswered(t, *showMissed, question.Question.Relevance)
	}
	if *onlyQuestions {
		return
	}
	if *missed != "" {
		printMissed(tenants, *missed)
		return
	}
	relevance, succession := examples(tenants, !*onlySuccession, *questionsWeight)
	if *conversations != "" {
		more, err := chats(*conversations, *share)
		if err != nil {
			log.Fatal(err)
		}
		relevance = append(relevance, more...)
	}
	byRelevance, before := question.Weights()
	if !*onlySuccession {
		fmt.Println("Relevance")
		report(relevance, question.RelevanceNames(), topOfQuestion)
		ofAnswers := answers(relevance)
		byRelevance = fit(relevance)
		for _, t := range slices.Concat(asked, tested) {
			printAnswered(t, *showMissed, fitted(byRelevance, ofAnswers))
		}
	}
	if *noSuccession {
		return
	}
	fmt.Println("\nSuccession")
	report(succession, question.SuccessionNames(), nil)
	bySuccession := fit(succession)
	for _, half := range append(slices.Clone(halves), testHalf) {
		if line := simulate(tenants, half, byRelevance, before, -1.5, 0.2); line != "" {
			fmt.Println("weights of now:", line)
		}
	}
	for _, half := range append(slices.Clone(halves), "heldout", testHalf) {
		for _, sure := range []float64{-0.5, 0, 0.2} {
			if line := simulate(tenants, half, byRelevance, bySuccession, -1.5, sure); line != "" {
				fmt.Println(line)
			}
		}
	}
}

// examples asks all questions of the development halves.
func examples(tenants []changes.Tenant, ofRelevance bool, questionsWeight float64) (relevance, succession []example) {
	number := 0
	for _, tenant := range tenants {
		if tenant.HeldOut || tenant.Half == testHalf {
			continue
		}
		weight := 1.0
		if tenant.Half == changes.Questions {
			weight = questionsWeight
		}
		texts := make([]question.Text, len(tenant.Statements))
		for i, s := range tenant.Statements {
			texts[i] = question.ReadText(s.Text, s.Speaker)
		}
		addQuestion := func(text string, answers ...int) {
			if !ofRelevance {
				return
			}
			number++
			q := question.Read(text)
			for i := range texts {
				holds := false
				for _, a := range answers {
					holds = holds || a == i
				}
				relevance = append(relevance, example{measures: question.RelevanceMeasures(q, texts[i]), holds: holds,
					weight: weight,
					half:   tenant.Half, question: number, known: len(answers) > 0})
			}
		}
		follow := func(text string, old, now int, weight float64) {
			q := question.Read(text)
			earlier := func(i, j int) bool { return i < j }
			question.SuccessionMeasures(q, texts, earlier, func(i, j int, measures []float64) {
				succession = append(
					succession,
					example{measures: measures, holds: i == old && j == now, weight: weight, half: tenant.Half},
				)
			})
		}
		for _, p := range tenant.Pairs {
			addQuestion(p.Question, p.Old, p.New)
			follow(p.Question, p.Old, p.New, 1)
			if p.Past != "" {
				addQuestion(p.Past, p.Old, p.New)
				follow(p.Past, p.Old, p.New, 1)
			}
		}
		for _, c := range tenant.Coexisting {
			addQuestion(c.AskA, c.A)
			follow(c.AskA, -1, -1, coexistingWeight)
			if c.AskB == "" {
				continue
			}
			addQuestion(c.AskB, c.B)
			follow(c.AskB, -1, -1, coexistingWeight)
		}
		for _, k := range tenant.Known {
			addQuestion(k.Question, k.Answer)
			follow(k.Question, -1, -1, 1)
		}
		for _, k := range tenant.Unknown {
			addQuestion(k.Question)
		}
	}
	return relevance, succession
}

// report fits a model to all examples and to each half, and prints the weights with their results.
func report(all []example, names []string, judge func(all []example, weights []float64, half string) string) {
	weights := fit(all)
	fmt.Printf("bias %.2f\n", weights[len(names)])
	for i, n := range names {
		fmt.Printf("\t{%q, %.2f},\n", n, weights[i])
	}
	for _, half := range append(slices.Clone(halves), chat) {
		if !slices.ContainsFunc(all, func(e example) bool { return e.half == half }) {
			continue
		}
		other := fit(of(all, func(e example) bool { return e.half != half }))
		test := of(all, func(e example) bool { return e.half == half })
		fmt.Printf("%s: loss %.5f, %.5f by weights of the other half", half, loss(test, weights), loss(test, other))
		if judge != nil {
			fmt.Printf("; %s, %s", judge(all, weights, half), judge(all, other, half))
		}
		fmt.Println()
	}
}

func of(all []example, which func(example) bool) (out []example) {
	for _, e := range all {
		if which(e) {
			out = append(out, e)
		}
	}
	return out
}

// best returns the most relevant example of each question.
func best(all []example, weights []float64) map[int]example {
	out, most := map[int]example{}, map[int]float64{}
	for _, e := range all {
		if at, ok := most[e.question]; !ok || logit(e.measures, weights) > at {
			out[e.question], most[e.question] = e, logit(e.measures, weights)
		}
	}
	return out
}

// topOfQuestion reports how often the most relevant text is an answer.
func topOfQuestion(all []example, weights []float64, half string) string {
	right, known := 0, 0
	for _, e := range best(of(all, func(e example) bool { return e.half == half && e.known }), weights) {
		known++
		if e.holds {
			right++
		}
	}
	return fmt.Sprintf("first %.1f %%", 100*float64(right)/float64(known))
}

// answers fits whether a question has an answer, from the logit of its best text and the length of that text. It weighs
// the questions as if half of those of each kind of conversation had an answer.
func answers(all []example) []float64 {
	weights := fit(all)
	var tops []example
	counts := map[string]int{}
	key := func(e example) string { return fmt.Sprint(e.half == chat, e.half == changes.Questions, e.known) }
	for _, e := range best(all, weights) {
		counts[key(e)]++
		z, length := logit(e.measures, weights), e.measures[len(e.measures)-1]
		tops = append(tops, example{measures: []float64{z, length, z * length}, holds: e.known, known: e.known,
			half: e.half})
	}
	for i := range tops {
		tops[i].weight = 1000 / float64(counts[key(tops[i])])
	}
	w := fit(tops)
	fmt.Printf("answer: bias %.2f, logit %.2f, length %.2f, both %.2f\n", w[3], w[0], w[1], w[2])
	for _, floor := range []float64{0.15, 0.2, 0.25, 0.3, 0.35, 0.4} {
		kept := map[string][2]int{}
		for _, e := range tops {
			name := e.half
			if !e.known {
				name += " unknown"
			}
			k := kept[name]
			k[1]++
			if 1/(1+math.Exp(-logit(e.measures, w))) >= floor {
				k[0]++
			}
			kept[name] = k
		}
		fmt.Printf("floor %.2f:", floor)
		for _, name := range slices.Sorted(maps.Keys(kept)) {
			fmt.Printf(" %s %.1f %%", name, 100*float64(kept[name][0])/float64(kept[name][1]))
		}
		fmt.Println()
	}
	return w
}

func logit(measures, weights []float64) float64 {
	sum := weights[len(measures)]
	for i, x := range measures {
		sum += weights[i] * x
	}
	return sum
}

func loss(all []example, weights []float64) float64 {
	sum, total := 0.0, 0.0
	for _, e := range all {
		z := logit(e.measures, weights)
		if e.holds {
			z = -z
		}
		sum += e.weight * math.Log1p(math.Exp(z))
		total += e.weight
	}
	return sum / total
}

// fit is logistic regression by Newton's method with a little shrinkage; the bias comes last.
func fit(all []example) []float64 {
	n := len(all[0].measures) + 1
	weights := make([]float64, n)
	const shrink, rounds = 1, 30
	for range rounds {
		gradient, hessian := make([]float64, n), make([][]float64, n)
		for i := range hessian {
			hessian[i] = make([]float64, n)
			hessian[i][i] = shrink
			if i < n-1 {
				gradient[i] = -shrink * weights[i]
			}
		}
		x := make([]float64, n)
		for _, e := range all {
			copy(x, e.measures)
			x[n-1] = 1
			p := 1 / (1 + math.Exp(-logit(e.measures, weights)))
			miss := -p
			if e.holds {
				miss = 1 - p
			}
			for i, v := range x {
				if v == 0 {
					continue
				}
				gradient[i] += e.weight * miss * v
				for j := range i + 1 {
					hessian[i][j] += e.weight * p * (1 - p) * v * x[j]
				}
			}
		}
		most := 0.0
		for i, d := range solve(hessian, gradient) {
			weights[i] += d
			most = max(most, math.Abs(d))
		}
		if most < 1e-6 {
			break
		}
	}
	return weights
}

// solve solves a symmetric positive system by Cholesky's method. It reads the lower half.
func solve(a [][]float64, b []float64) []float64 {
	n := len(b)
	for j := range n {
		for i := j; i < n; i++ {
			for k := range j {
				a[i][j] -= a[i][k] * a[j][k]
			}
			if i == j {
				a[j][j] = math.Sqrt(a[j][j])
			} else {
				a[i][j] /= a[j][j]
			}
		}
	}
	x := append([]float64(nil), b...)
	for i := range n {
		for k := range i {
			x[i] -= a[i][k] * x[k]
		}
		x[i] /= a[i][i]
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			x[i] -= a[k][i] * x[k]
		}
		x[i] /= a[i][i]
	}
	return x
}
