package families

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/bench/tools/place"
)

// In the set blind exactly one of the repairs that the actor has for a failure helps.
func TestBlindFamiliesHaveOneRepairThatHelps(t *testing.T) {
	if os.Getenv("MNEME_ALL_FAMILIES") == "" {
		t.Skip("its compilers take long: only make soak runs it (MNEME_ALL_FAMILIES)")
	}
	on := place.Find()
	for i, f := range Sets["blind"] {
		t.Run(f.Name, func(t *testing.T) {
			if !on.Has(f.Needs) {
				t.Skipf("needs %v", f.Needs)
			}
			for _, seed := range []uint64{11, 12, 13} {
				task := Task{N: i, Family: f, Set: "blind", Seed: seed}
				p, failure, output, err := task.Prepare(short(t), on)
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
				require.True(t, helps(failure.Right), "%s", failure.Right)
				plans, helping := Ways(Look(failure.Command, output, p.Dir, p.Home()), "blind"), []Plan{}
				for _, try := range plans {
					if helps(try) {
						helping = append(helping, try)
					}
				}
				require.Len(t, helping, 1, "of %d", len(plans))
				require.GreaterOrEqual(t, len(plans), 6)
				require.LessOrEqual(t, len(plans), 40)
				t.Logf("%d repairs; helps: %s", len(plans), helping[0])
				require.NoError(t, p.Remove())
			}
		})
	}
}
