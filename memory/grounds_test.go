package memory_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// Grounds admits the facts that a comparison of every pair admits.
func TestGroundsCompareAsSameGround(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	type fact struct {
		claim    string
		validity schema.Validity
	}
	draw := func() fact {
		f := fact{claim: []string{"a", "b"}[r.IntN(2)]}
		f.validity.Mode = []schema.ValidityMode{"", schema.ValidGlobal, schema.ValidConditional, schema.ValidTimeboxed,
			schema.ValidTimeboxed}[r.IntN(5)]
		if r.IntN(2) == 0 {
			f.validity.Conditions = []json.RawMessage{json.RawMessage(`{"os":"linux"}`),
				json.RawMessage(`{"os":["linux"]}`), json.RawMessage(`{"os":"bsd"}`)}[r.IntN(3)]
		}
		start := begin.AddDate(0, 0, r.IntN(40))
		end := start.AddDate(0, 0, 1+r.IntN(4))
		if r.IntN(20) > 0 {
			f.validity.Start = &start
		}
		if r.IntN(20) > 0 {
			f.validity.End = &end
		}
		return f
	}
	refused := 0
	for range 50 {
		grounds, taken := memory.Grounds{}, []fact(nil)
		for range 100 {
			f := draw()
			same := slices.ContainsFunc(taken, func(o fact) bool {
				return o.claim == f.claim && memory.SameGround(o.validity, f.validity)
			})
			require.Equal(t, !same, grounds.Add(f.claim, f.validity), "%+v in %+v", f, taken)
			if same {
				refused++
			} else {
				taken = append(taken, f)
			}
		}
	}
	require.Greater(t, refused, 1000)
}
