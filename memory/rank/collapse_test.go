package rank_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
)

func said(id int, score float64, words int64) evidence {
	e := scored(id, score)
	e.Type, e.Words = schema.TypeEpisodic, words
	return e
}

func stated(id int, score float64, words int64, sources ...int) evidence {
	e := scored(id, score)
	e.Type, e.Words = schema.TypeSemantic, words
	for i, source := range sources {
		if i == 0 {
			e.Source = number(source)
		} else {
			e.Others = append(e.Others, number(source))
		}
	}
	return e
}

func TestCollapseDerived(t *testing.T) {
	t.Parallel()
	sam := func(e evidence) evidence { e.Speaker = "Sam"; return e }
	long := func(e evidence) evidence { e.Bytes = 400; return e }
	timed := said(1, 0.9, 9)
	timed.Channels = map[string]float64{rank.ChannelTime: 0.5}
	for name, c := range map[string]struct {
		in   []evidence
		want []int
	}{
		"a fact below its source is dropped": {[]evidence{said(1, 0.9, 7), stated(2, 0.5, 8, 1)},
			[]int{1}},
		"a fact that ranks as high as its source is shown": {[]evidence{said(1, 0.9, 7), stated(2, 0.89, 8, 1)},
			[]int{2}},
		"a fact of a much longer source is dropped": {[]evidence{long(said(1, 0.9, 7)),
			stated(2, 0.89, 8, 1)}, []int{1}},
		"a source below its fact is dropped": {[]evidence{stated(2, 0.9, 8, 1), said(1, 0.5, 7)},
			[]int{2}},
		"facts of one source stay": {[]evidence{stated(2, 0.9, 10, 1),
			stated(3, 0.8, 11, 1)}, []int{2, 3}},
		"a fact with the same words is shown": {[]evidence{said(1, 0.9, 9), scored(4, 0.7),
			stated(2, 0.5, 9, 1)}, []int{2, 4}},
		"the same, above its source": {[]evidence{stated(2, 0.9, 9, 1), scored(4, 0.7),
			said(1, 0.5, 9)}, []int{2, 4}},
		"a fact replaces all of its sources": {[]evidence{said(1, 0.9, 9), said(3, 0.8, 12),
			stated(2, 0.5, 9, 1, 3)}, []int{2}},
		"a source above replaces fact and other sources": {[]evidence{said(3, 0.9, 12), stated(2, 0.8, 9, 1, 3),
			said(1, 0.5, 9)}, []int{3}},
		"another speaker's words stay": {[]evidence{sam(said(1, 0.9, 9)), stated(2, 0.5, 9)},
			[]int{1, 2}},
		"the same words without a link": {[]evidence{said(1, 0.9, 9), stated(2, 0.5, 9)},
			[]int{2}},
		"a source in the asked time window is shown": {[]evidence{timed, stated(2, 0.5, 9, 1)}, []int{1}},
		"unknown contents are not equal": {[]evidence{said(1, 0.9, 0), stated(2, 0.5, 0)},
			[]int{1, 2}},
		"two facts with the same words stay": {[]evidence{stated(1, 0.9, 9), stated(2, 0.5, 9)},
			[]int{1, 2}},
	} {
		require.Equal(t, c.want, order(rank.CollapseDerived(c.in)), name)
	}
	lifted := rank.CollapseDerived([]evidence{said(1, 0.9, 9), stated(2, 0.5, 9, 1)})[0]
	require.InDelta(t, 0.9, lifted.Score, 1e-12, "ranked in the place of its source")
	require.Equal(t, rank.StageCollapse, lifted.Steps[len(lifted.Steps)-1].Stage)
	require.Equal(t, []evidence{}, rank.CollapseDerived([]evidence{}))
	require.NotEqual(t, uuid.Nil, lifted.ID)
}
