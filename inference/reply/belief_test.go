package reply_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference/reply"
)

// A belief is read with the events that it cites, or refused as a whole. The error does not quote it.
func TestBelief(t *testing.T) {
	t.Parallel()
	text, places, err := reply.Belief("<think>{\"belief\":\"draft\",\"based_on\":[1]}</think>```json\n{\"belief\":\" "+
		"The cache\\n lies. \",\"based_on\":[3,1,3]}\n```", 3)
	require.NoError(t, err)
	require.Equal(t, "The cache lies.", text)
	require.Equal(t, []int{0, 2}, places)
	many := strings.TrimSuffix(strings.Repeat("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,", 1), ",")
	for name, answer := range map[string]string{
		"nothing":            ``,
		"prose":              `CANARY believes it`,
		"no belief":          `{"belief":"","based_on":[1]}`,
		"blanks":             `{"belief":" \n ","based_on":[1]}`,
		"a number":           `{"belief":7,"based_on":[1]}`,
		"cites nothing":      `{"belief":"CANARY","based_on":[]}`,
		"no evidence":        `{"belief":"CANARY"}`,
		"null":               `{"belief":"CANARY","based_on":null}`,
		"not given":          `{"belief":"CANARY","based_on":[1,4]}`,
		"event zero":         `{"belief":"CANARY","based_on":[0]}`,
		"half an event":      `{"belief":"CANARY","based_on":[1.5]}`,
		"ids":                `{"belief":"CANARY","based_on":["e1"]}`,
		"cut off":            `{"belief":"CANARY","based_on":[1,`,
		"two answers":        `{"belief":"CANARY","based_on":[1]} {"belief":"other","based_on":[1]}`,
		"says a thing twice": `{"belief":"CANARY","belief":"b","based_on":[1]}`,
		"too long":           `{"belief":"` + strings.Repeat("CANARY ", 400) + `","based_on":[1]}`,
	} {
		_, _, err := reply.Belief(answer, 3)
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "CANARY", name)
	}
	_, _, err = reply.Belief(`{"belief":"x","based_on":[`+many+`]}`, 40)
	require.ErrorContains(t, err, "more than 32")
}
