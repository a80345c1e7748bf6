package normalize_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/normalize"
)

func TestCanonicalEntity(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Alice": "alice", " ALICE \n Smith ": "alice smith", "Acme Inc.": "acme inc", "C++": "c++",
		"Ünïcode": "ünïcode", "...": "", "": "", "St. Ives": "st. ives", "Alice .": "alice", "Alice ! ?": "alice",
	} {
		require.Equal(t, want, normalize.CanonicalEntity(in), in)
	}
	rapid.Check(t, func(rt *rapid.T) {
		once := normalize.CanonicalEntity(rapid.OneOf(rapid.String(),
			rapid.StringMatching(`[aB .,!?]{0,8}`)).Draw(rt, "name"))
		if twice := normalize.CanonicalEntity(once); twice != once {
			rt.Fatalf("%q becomes %q", once, twice)
		}
	})
}
