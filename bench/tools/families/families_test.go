package families

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/bench/tools/place"
)

// Every family fails at first, and passes after its correct repair.
func TestFamiliesFailAndCanBeRepaired(t *testing.T) {
	on := place.Find()
	for set, families := range Sets {
		if set != "dev" && set != "reported" && os.Getenv("MNEME_ALL_FAMILIES") == "" {
			t.Logf("set %s left out: its compilers take long, so that only make soak runs it (MNEME_ALL_FAMILIES)", set)
			continue
		}
		for i, f := range families {
			t.Run(set+"/"+f.Name, func(t *testing.T) {
				if !on.Has(f.Needs) {
					t.Skipf("needs %v", f.Needs)
				}
				p, failure, output, err := Task{N: i, Family: f, Set: set, Seed: 3}.Prepare(t.TempDir(), on)
				if err != nil && output != "" {
					t.Skip(err) // this version of the tool accepts the fault; the benchmark leaves the family out
				}
				require.NoError(t, err)
				last := ""
				for _, a := range failure.Right {
					printed, ok := a.After(last).Do(p)
					require.True(t, ok, printed)
					last = printed
				}
				printed, ok := p.Run(failure.Command)
				require.True(t, ok, printed)
			})
		}
	}
}

// short is a directory with a short name: the errors contain the paths, and a timeline keeps 160 characters of an
// error.
func short(t *testing.T) string {
	root, err := os.MkdirTemp("", "tools-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	return root
}

func TestSetsAreDisjoint(t *testing.T) {
	for _, f := range Sets["dev"] {
		require.False(t, slices.ContainsFunc(Sets["reported"], func(o Family) bool { return o.Name == f.Name }), f.Name)
	}
	for _, w := range words["dev"] {
		require.NotContains(t, words["reported"], w)
	}
	require.GreaterOrEqual(t, len(Sets["reported"]), 15)
}

// A repair that does not help is undone.
func TestPlacesAreRestored(t *testing.T) {
	p, err := place.New(short(t)+"/one", "work", place.Find())
	require.NoError(t, err)
	p.Write("a.txt", "old\n")
	restore, err := p.Keep()
	require.NoError(t, err)
	output, ok := replace("a.txt", "old", "new").Do(p)
	require.True(t, ok, output)
	output, ok = p.Run("cat a.txt; touch b.txt ../home/c.txt")
	require.True(t, ok)
	require.Equal(t, "new", output)
	require.NoError(t, restore())
	output, ok = p.Run("cat a.txt; ls ../home; ls b.txt")
	require.False(t, ok)
	require.True(t, strings.HasPrefix(output, "old\nls: "), output)
	_, ok = replace("a.txt", "missing", "new").Do(p)
	require.False(t, ok)
}
