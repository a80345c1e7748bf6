package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// In the set blind exactly one of the repairs that the actor has for a failure helps.
func TestBlindFamiliesHaveOneRepairThatHelps(t *testing.T) {
	if os.Getenv("MNEME_ALL_FAMILIES") == "" {
		t.Skip("its compilers take long: only make soak runs it (MNEME_ALL_FAMILIES)")
	}
	on := find()
	for i, f := range sets["blind"] {
		t.Run(f.name, func(t *testing.T) {
			if !on.has(f.needs) {
				t.Skipf("needs %v", f.needs)
			}
			for _, seed := range []uint64{11, 12, 13} {
				task := task{n: i, family: f, set: "blind", seed: seed}
				p, failure, output, err := task.prepare(short(t), on)
				if err != nil && output != "" {
					t.Skip(err)
				}
				require.NoError(t, err)
				restore, err := p.keep()
				require.NoError(t, err)
				t.Logf("%s\n%s", failure.command, output)
				helps := func(try plan) bool {
					require.NoError(t, restore())
					last := ""
					for _, a := range try {
						last, _ = p.do(a.after(last))
					}
					_, ok := p.run(failure.command)
					return ok
				}
				require.True(t, helps(failure.right), "%s", failure.right)
				plans, helping := ways(look(failure.command, output, p.dir, p.home()), repairsFor("blind")), []plan{}
				for _, try := range plans {
					if helps(try) {
						helping = append(helping, try)
					}
				}
				require.Len(t, helping, 1, "of %d", len(plans))
				require.GreaterOrEqual(t, len(plans), 6)
				require.LessOrEqual(t, len(plans), 40)
				t.Logf("%d repairs; helps: %s", len(plans), helping[0])
				require.NoError(t, p.remove())
			}
		})
	}
}
