package reply_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference/reply"
)

func TestScores(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want map[int]float64
		err  string // a part of it; empty for none
	}{
		"every text": {`{"scores":[{"n":1,"score":0.9},{"n":2,"score":0},{"n":3,"score":1}]}`,
			map[int]float64{0: 0.9, 1: 0, 2: 1}, ""},
		"some texts":          {`{"scores":[{"n":3,"score":0.5}]}`, map[int]float64{2: 0.5}, ""},
		"fenced, with prose":  {"<think>{\"scores\":[]}</think>Here:\n```json\n{\"scores\":[{\"n\":1,\"score\":0.9}]}\n```", map[int]float64{0: 0.9}, ""},
		"more fields":         {`{"why":"x","scores":[{"n":1,"score":0.9,"why":"y"}]}`, map[int]float64{0: 0.9}, ""},
		"a text not offered":  {`{"scores":[{"n":4,"score":0.9}]}`, nil, "answer.scores[0].n"},
		"text zero":           {`{"scores":[{"n":0,"score":0.9}]}`, nil, "answer.scores[0].n"},
		"a negative text":     {`{"scores":[{"n":1,"score":0.1},{"n":-1,"score":0.9}]}`, nil, "answer.scores[1].n"},
		"half a text":         {`{"scores":[{"n":1.5,"score":0.9}]}`, nil, "answer.scores[0].n"},
		"a huge number":       {`{"scores":[{"n":1e300,"score":0.9}]}`, nil, "answer.scores[0].n"},
		"a number as text":    {`{"scores":[{"n":"1","score":0.9}]}`, nil, "answer.scores[0].n"},
		"a score as text":     {`{"scores":[{"n":1,"score":"high"}]}`, nil, "answer.scores[0].score"},
		"a score over one":    {`{"scores":[{"n":1,"score":9}]}`, nil, "answer.scores[0].score"},
		"a score below zero":  {`{"scores":[{"n":1,"score":-0.1}]}`, nil, "answer.scores[0].score"},
		"NaN":                 {`{"scores":[{"n":1,"score":NaN}]}`, nil, "not valid JSON"},
		"no score":            {`{"scores":[{"n":1}]}`, nil, "answer.scores[0].score"},
		"null":                {`{"scores":[{"n":1,"score":null}]}`, nil, "answer.scores[0].score"},
		"one text twice":      {`{"scores":[{"n":1,"score":0.9},{"n":1,"score":0.1}]}`, nil, "scored twice"},
		"a field twice":       {`{"scores":[{"n":1,"n":2,"score":0.9}]}`, nil, "same field twice"},
		"scores twice":        {`{"scores":[{"n":1,"score":0.9}],"scores":[]}`, nil, "same field twice"},
		"bare numbers":        {`{"scores":[0.9,0.8,0.7]}`, nil, "answer.scores[0]"},
		"an object of scores": {`{"scores":{"1":0.9}}`, nil, "answer.scores"},
		"no scores":           {`{"scores":[]}`, nil, "empty"},
		"something else":      {`{"ranking":[1,2,3]}`, nil, "holds 0 objects"},
		"two answers": {`{"scores":[{"n":1,"score":0.9}]} {"scores":[{"n":1,"score":0.1}]}`, nil,
			"holds 2 objects"},
		"cut off":  {`{"scores":[{"n":1,"score":0.9},{"n":2,"sco`, nil, "cut off"},
		"nothing":  {``, nil, "holds 0 objects"},
		"an array": {`[{"n":1,"score":0.9}]`, nil, "holds 0 objects"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := reply.Scores(c.text, 3)
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.err)
			}
			require.Equal(t, c.want, got)
		})
	}
	_, err := reply.Scores(`{"scores":[{"n":"CANARY-7f3a","score":"CANARY-7f3a"}]}`, 3)
	require.NotContains(t, err.Error(), "CANARY")
	_, err = reply.Scores(`{"scores":[`+strings.Repeat(`{"n":1,"score":1},`, 100_000), 3)
	require.Error(t, err)
}

func FuzzScores(f *testing.F) {
	f.Add(`{"scores":[{"n":1,"score":0.9},{"n":2,"score":0}]}`)
	f.Add(`{"scores":[{"n":9,"score":0.9}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := reply.Scores(text, 2)
		require.Equal(t, err == nil, len(got) > 0)
		for place, score := range got {
			require.True(t, place >= 0 && place < 2 && score >= 0 && score <= 1)
		}
	})
}
