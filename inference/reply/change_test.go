package reply_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference/reply"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/schema"
)

func TestChangeOfDecisions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		field  string // after the action
		change memory.Change
	}{
		"sure":                {`,"change":"supersede"`, memory.ChangeSupersede},
		"likely":              {`,"change":"contest"`, memory.ChangeContest},
		"padded":              {`,"change":" Supersede\n"`, memory.ChangeSupersede},
		"none":                {`,"change":""`, ""},
		"missing":             {``, ""},
		"null":                {`,"change":null`, ""},
		"unknown":             {`,"change":"overwrite"`, ""},
		"a number":            {`,"change":1`, ""},
		"a list":              {`,"change":["supersede"]`, ""},
		"only people retract": {`,"change":"retract"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := func(action string) string {
				return `{"reason":"The city has changed.","action":"` + action + `"` + c.field + `,"target_id":"` +
					first + `","confidence":0.9}`
			}
			got := reply.Decision(answer("update"), neighbors)
			require.Equal(t, memory.Proposal{Action: update, TargetID: first, Confidence: 0.9,
				Reason: "The city has changed.", Change: c.change}, got)
			got = reply.Decision(answer("update")+answer("update"), neighbors)
			require.Equal(t, c.change, got.Change)
			for _, other := range []string{"delete", "none"} {
				got = reply.Decision(answer(other), neighbors)
				require.Equal(t, schema.Action(other), got.Action)
				require.Empty(t, got.Change, "only an update supersedes or contests")
			}
		})
	}

	sure := `{"reason":"x","action":"update","change":"supersede","target_id":"` + first + `","confidence":0.9}`
	likely := strings.Replace(sure, "supersede", "contest", 1)
	for _, answers := range []string{sure + likely, likely + sure, sure + likely + sure} {
		got := reply.Decision(answers, neighbors)
		require.Equal(t, update, got.Action)
		require.Empty(t, got.Change, "decisions that differ only in the change have none")
	}
	got := reply.Decision(strings.Replace(sure, `"supersede"`, `"supersede","change":"contest"`, 1), neighbors)
	require.Equal(t, none, got.Action, "an object with a duplicate field is dropped")
}

func TestRetractionsAndCues(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fields   string
		retracts bool
		cue      string
		dropped  bool
	}{
		"missing":                  {``, false, "", false},
		"none":                     {`,"retracts":false,"cue":""`, false, "", false},
		"null":                     {`,"retracts":null,"cue":null`, false, "", false},
		"a correction":             {`,"retracts":false,"cue":"Actually"`, false, "actually", false},
		"a retraction":             {`,"retracts":true,"cue":"Forget that"`, true, "forget that", false},
		"a retraction in text":     {`,"retracts":"true","cue":"forget that"`, false, "", true},
		"a retraction as a number": {`,"retracts":1`, false, "", true},
		"a bad cue":                {`,"retracts":false,"cue":{"x":1}`, false, "", false},
		"a long cue": {`,"cue":"` + strings.Repeat("é", 200) + `"`, false,
			strings.Repeat("é", intake.MaxCueLength), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := reply.Extraction(`{"facts":[{"content":"Maya likes tabs.","category":"preference","confidence":0.9,"claim":null` + c.fields + `}],"entities":[]}`)
			if c.dropped {
				require.Empty(t, got.Facts, "a possible retraction is not kept as a statement")
				require.Equal(t, warn("answer.facts[0].retracts: must be a boolean"), got.Warnings)
				return
			}
			require.Empty(t, got.Warnings)
			require.Equal(t, []memory.Fact{{Content: "Maya likes tabs.", Category: schema.CategoryPreference,
				Confidence: 0.9, Retracts: c.retracts, Cue: c.cue}}, got.Facts)
		})
	}
}
