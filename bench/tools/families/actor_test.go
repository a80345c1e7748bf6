package families

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/bench/tools/place"
)

// In the set blind exactly one of the repairs that the actor has for a failure helps. In the sets situations, third,
// fourth and fifth at least one helps, and no data is lost by the right one. Where data can be lost, another one that
// helps loses it.
func TestActorHasTheRepair(t *testing.T) {
	if os.Getenv("MNEME_ALL_FAMILIES") == "" {
		t.Skip("its compilers take long: only make soak runs it (MNEME_ALL_FAMILIES)")
	}
	on := place.Find()
	for _, set := range []string{"blind", "situations", "third", "fourth", "fifth"} {
		for i, f := range Sets[set] {
			t.Run(set+"/"+f.Name, func(t *testing.T) {
				if !on.Has(f.Needs) {
					t.Skipf("needs %v", f.Needs)
				}
				for _, seed := range []uint64{11, 12, 13} {
					p, failure, output, err := Task{N: i, Family: f, Set: set, Seed: seed}.Prepare(short(t), on)
					if err != nil && output != "" {
						t.Skip(err)
					}
					require.NoError(t, err)
					restore, err := p.Keep()
					require.NoError(t, err)
					t.Logf("%s\n%s", failure.Command, output)
					helps := func(try Plan) bool {
						require.NoError(t, restore())
						last := ""
						for _, a := range try {
							last, _ = a.After(last).Do(p)
						}
						_, ok := p.Run(failure.Command)
						return ok
					}
					keeps := func() bool {
						_, ok := p.Run(failure.Keeps)
						return failure.Keeps == "" || ok
					}
					require.True(t, keeps())
					require.True(t, helps(failure.Right), "%s", failure.Right)
					require.True(t, keeps())
					plans, helping := Ways(Look(failure.Command, output, p.Dir, p.Home()), set), []Plan{}
					losing := 0
					for _, try := range plans {
						if helps(try) {
							helping = append(helping, try)
							if !keeps() {
								losing++
							}
						}
					}
					t.Logf("%d repairs, %d of them lose data; help: %s", len(plans), losing, helping)
					if set == "blind" {
						require.Len(t, helping, 1, "of %d", len(plans))
					}
					require.Greater(t, len(helping), losing)
					require.Equal(t, failure.Keeps != "", losing > 0)
					require.GreaterOrEqual(t, len(plans), 6)
					require.LessOrEqual(t, len(plans), 45)
					require.NoError(t, p.Remove())
				}
			})
		}
	}
}
