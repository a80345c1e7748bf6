package main

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mneme/mneme/bench/changes"
	"github.com/mneme/mneme/schema"
)

// tenantResult has the results of one tenant.
type tenantResult struct {
	pairs      []pairResult
	chains     []chainResult
	coexisting []coexistingResult
	unknown    []probeResult
	known      []probeResult
	bystanders int // statements that belong to no pair but were superseded or contested
	failures   []failure
}

// pairResult judges the answers to one pair.
type pairResult struct {
	changes.Pair
	newFirst   bool
	instead    string // the first result if it is not the new statement
	old        fate
	askedPast  bool
	oldFirst   bool // of the question about the past
	oldInFirst bool // its first result names the old value
}

// fate is the state of an old statement in the answer.
type fate int

const (
	fateUnmarked fate = iota // it is in the results without a mark
	fateGone                 // it is not in the results
	fateMarked
	fateContested // and so is the new one
)

func (p pairResult) oldDone() bool { return p.old != fateUnmarked }

type chainResult struct {
	changes.Chain
	lastFirst, olderDone bool
}

type coexistingResult struct {
	changes.Coexisting
	superseded bool // or contested or marked as older, for either of the two
	asked      int  // questions
	rightFirst int  // of the questions
}

type probeResult struct {
	changes.Probe
	empty, found, first bool // of a known one: its statement is among the results, or the first
}

// failure is a wrong answer.
type failure struct {
	what, question string
	statements     []string
	results        []schema.RecallResult
	belongs        []string // of each result
}

// outdated returns the mark of a result that may be outdated, or "". It reads the result as JSON, as a client does.
func outdated(r schema.RecallResult) string {
	var f struct {
		Currentness  string `json:"currentness"`
		SupersededBy string `json:"superseded_by"`
		Newer        string `json:"newer"`
		Status       string `json:"status"`
	}
	data, err := json.Marshal(r)
	if err != nil || json.Unmarshal(data, &f) != nil {
		return ""
	}
	switch {
	case slices.Contains([]string{"superseded", "mixed", "older"}, f.Currentness):
		return f.Currentness
	case f.SupersededBy != "":
		return "superseded_by"
	case f.Newer != "":
		return "newer"
	case f.Status == string(schema.StatusSuperseded):
		return "superseded"
	}
	return ""
}

func contested(r schema.RecallResult) bool { return r.Status == schema.StatusContested }

// judge asks all questions of a tenant.
func (m *told) judge() (out tenantResult, err error) {
	for _, p := range m.tenant.Pairs {
		r, failures, err := m.judgePair(p)
		if err != nil {
			return out, err
		}
		out.pairs, out.failures = append(out.pairs, r), append(out.failures, failures...)
	}
	for _, c := range m.tenant.Chains {
		r, failures, err := m.judgeChain(c)
		if err != nil {
			return out, err
		}
		out.chains, out.failures = append(out.chains, r), append(out.failures, failures...)
	}
	for _, c := range m.tenant.Coexisting {
		r, failures, err := m.judgeCoexisting(c)
		if err != nil {
			return out, err
		}
		out.coexisting, out.failures = append(out.coexisting, r), append(out.failures, failures...)
	}
	for _, list := range []struct {
		probes []changes.Probe
		to     *[]probeResult
	}{{m.tenant.Unknown, &out.unknown}, {m.tenant.Known, &out.known}} {
		for _, q := range list.probes {
			r, failures, err := m.judgeProbe(q)
			if err != nil {
				return out, err
			}
			*list.to, out.failures = append(*list.to, r), append(out.failures, failures...)
		}
	}
	inPair := map[int]bool{}
	for _, p := range m.tenant.Pairs {
		inPair[p.Old], inPair[p.New] = true, true
	}
	for _, c := range m.tenant.Chains {
		for _, at := range c.Statements {
			inPair[at] = true
		}
	}
	for statement := range m.touched {
		if !inPair[statement] {
			out.bystanders++
		}
	}
	return out, nil
}

func (m *told) judgePair(p changes.Pair) (out pairResult, failures []failure, err error) {
	out.Pair = p
	results, err := m.recall(p.Question)
	if err != nil {
		return out, nil, err
	}
	out.newFirst = len(results) > 0 && m.is(results[0], p.New)
	out.instead = m.instead(results, p.Old, p.New)
	out.old = m.fate(results, p.Old, p.New)
	if !out.newFirst || !out.oldDone() {
		what := "old marked, but the new one is not first"
		switch {
		case out.newFirst:
			what = "the old one is not marked"
		case !out.oldDone():
			what = "the new one is not first, the old one is not marked"
		}
		failures = append(failures, m.failure(p.Attribute+", "+p.Wording+": "+what, p.Question, results, p.Old, p.New))
	}
	if p.Past == "" {
		return out, failures, nil
	}
	if results, err = m.recall(p.Past); err != nil {
		return out, nil, err
	}
	out.askedPast = true
	if len(results) > 0 {
		out.oldFirst = m.is(results[0], p.Old, p.New)
		first := strings.ToLower(results[0].Content)
		out.oldInFirst = p.OldValue != "" && strings.Contains(first, strings.ToLower(p.OldValue))
	}
	if !out.oldFirst {
		failures = append(failures, m.failure(p.Attribute+", "+p.Wording+": past", p.Past, results, p.Old, p.New))
	}
	return out, failures, nil
}

// Kinds of a first result that is not the new statement.
const (
	insteadNothing = "nothing"
	insteadOld     = "the old one"
	insteadOther   = "another, the new one after it"
	insteadLost    = "another, the new one not found"
)

// instead returns the kind of a first result that is not the new statement, or "" if it is.
func (m *told) instead(results []schema.RecallResult, old, now int) string {
	switch {
	case len(results) == 0:
		return insteadNothing
	case m.is(results[0], now):
		return ""
	case m.is(results[0], old):
		return insteadOld
	case slices.ContainsFunc(results, func(r schema.RecallResult) bool { return m.is(r, now) }):
		return insteadOther
	}
	return insteadLost
}

// fate returns the state of an old statement in the results.
func (m *told) fate(results []schema.RecallResult, old, now int) fate {
	newContested := slices.ContainsFunc(results, func(r schema.RecallResult) bool {
		return m.is(r, now) && contested(r)
	})
	out := fateGone
	for _, r := range results {
		switch {
		case !m.is(r, old, now):
		case outdated(r) != "":
			out = max(out, fateMarked)
		case contested(r) && newContested:
			out = max(out, fateContested)
		default:
			return fateUnmarked
		}
	}
	return out
}

func (m *told) judgeChain(c changes.Chain) (out chainResult, failures []failure, err error) {
	out.Chain = c
	results, err := m.recall(c.Question)
	if err != nil {
		return out, nil, err
	}
	last := c.Statements[2]
	out.lastFirst = len(results) > 0 && m.is(results[0], last)
	out.olderDone = m.fate(results, c.Statements[0], last) != fateUnmarked &&
		m.fate(results, c.Statements[1], last) != fateUnmarked
	if !out.lastFirst || !out.olderDone {
		failures = append(failures, m.failure("twice changed, "+c.Attribute, c.Question, results, c.Statements[:]...))
	}
	return out, failures, nil
}

func (m *told) judgeCoexisting(c changes.Coexisting) (out coexistingResult, failures []failure, err error) {
	out.Coexisting = c
	out.superseded = m.touched[c.A] || m.touched[c.B]
	for _, q := range []struct {
		question   string
		right, not int
	}{{c.AskA, c.A, c.B}, {c.AskB, c.B, c.A}} {
		if q.question == "" {
			continue
		}
		out.asked++
		results, err := m.recall(q.question)
		if err != nil {
			return out, nil, err
		}
		if len(results) > 0 && m.is(results[0], q.right) {
			out.rightFirst++
		}
		marked := slices.ContainsFunc(results, func(r schema.RecallResult) bool {
			return (m.is(r, c.A) || m.is(r, c.B)) && (outdated(r) != "" || contested(r))
		})
		if out.superseded = out.superseded || marked; out.superseded {
			failures = append(failures, m.failure("coexisting, "+c.Kind, q.question, results, c.A, c.B))
		}
	}
	return out, failures, nil
}

func (m *told) judgeProbe(q changes.Probe) (out probeResult, failures []failure, err error) {
	out.Probe = q
	results, err := m.recall(q.Question)
	if err != nil {
		return out, nil, err
	}
	out.empty = len(results) == 0
	if q.Answer < 0 {
		if !out.empty {
			failures = append(failures, m.failure("unknown, "+q.Kind, q.Question, results))
		}
		return out, failures, nil
	}
	for i, r := range results {
		if m.is(r, q.Answer) {
			out.found, out.first = true, out.first || i == 0
		}
	}
	if !out.first {
		failures = append(failures, m.failure("known", q.Question, results, q.Answer))
	}
	return out, failures, nil
}

// failure describes a wrong answer. The statements are those of the question, in the order of time.
func (m *told) failure(what, question string, results []schema.RecallResult, statements ...int) failure {
	f := failure{what: what, question: question, results: results}
	for _, at := range statements {
		st := m.tenant.Statements[at]
		f.statements = append(f.statements, strings.TrimSpace(st.At.Format("Jan 2 ")+st.Speaker)+": "+st.Text)
	}
	for _, r := range results {
		of := ""
		for i, at := range statements {
			if m.is(r, at) {
				of += string(rune('A' + i))
			}
		}
		f.belongs = append(f.belongs, of)
	}
	return f
}
