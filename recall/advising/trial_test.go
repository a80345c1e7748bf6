package advising_test

import (
	"fmt"
	"testing"

	"github.com/mneme/mneme/schema"
)

func TestTrial(t *testing.T) {
	m := newTeam(t)
	a, b, c := m.agent("a"), m.agent("b"), m.agent("c")
	shared := m.procedure(a, schema.VisibilityShared, "unlock-shared", 50)
	other := m.procedure(b, schema.VisibilityShared, "unlock-other", 3)
	show := func(what string) {
		t.Logf("%-40s shared: a %.2f b %.2f c %.2f other: c %.2f", what, m.confidence(a, shared), m.confidence(b, shared), m.confidence(c, shared), m.confidence(c, other))
	}
	show("before")
	for n := range 5 {
		m.reports(c, shared, schema.OutcomeFailure, "s")
		show(fmt.Sprint("c fails in one session ", n+1))
	}
	for n := range 5 {
		m.reports(c, shared, schema.OutcomeSuccess, "")
		show(fmt.Sprint("c succeeds, no session ", n+1))
	}
	for n := range 12 {
		m.reports(c, "", schema.OutcomeSuccess, "")
		show(fmt.Sprint("c did something else ", n+1))
	}
	for n := range 5 {
		m.reports(c, other, schema.OutcomeSuccess, "")
		show(fmt.Sprint("c lifts the other ", n+1))
	}
	mine := m.procedure(m.agent("solo"), schema.VisibilityPrivate, "mine", 5)
	for n := range 4 {
		m.reports(m.userOf("solo", "maya"), mine, schema.OutcomeFailure, "x")
		t.Log(n+1, "maya fails:", m.confidence(m.userOf("solo", "maya"), mine), "tom:", m.confidence(m.userOf("solo", "tom"), mine), "agent:", m.confidence(m.agent("solo"), mine))
	}
}
