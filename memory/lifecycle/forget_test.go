package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
)

func drawSubject(t *rapid.T) (lifecycle.ForgetSubject, []lifecycle.SelectedRow) {
	id := rapid.Custom(func(t *rapid.T) uuid.UUID {
		return uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
	})
	rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) lifecycle.SelectedRow {
		return lifecycle.SelectedRow{ID: id.Draw(t, "row"), Version: rapid.Int32Min(1).Draw(t, "version")}
	}), 1, 5).Draw(t, "rows")
	return lifecycle.ForgetSubject{
		Tenant: rapid.String().Draw(t, "tenant"), RunID: id.Draw(t, "run"),
		Mode: rapid.SampledFrom([]schema.ForgetMode{schema.ForgetSoft, schema.ForgetForce,
			schema.ForgetErase}).Draw(t, "mode"),
		Digest: lifecycle.ForgetDigest(rows),
	}, rows
}

func TestConfirmTokenIsBoundToSubject(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SliceOfN(rapid.Byte(), 32, 64).Draw(t, "key")
		s, rows := drawSubject(t)
		expires := time.Unix(rapid.Int64Range(1, 1<<40).Draw(t, "expires"), 0)
		token := lifecycle.ConfirmToken(key, s, expires)
		require.Regexp(t, `^[A-Za-z0-9._-]+$`, token)
		require.NoError(t, lifecycle.VerifyToken(key, s, token, expires.Add(-time.Second)))
		require.ErrorIs(t, lifecycle.VerifyToken(key, s, token, expires), schema.ErrTokenExpired)

		refused := func(s lifecycle.ForgetSubject, key []byte, token string) {
			err := lifecycle.VerifyToken(key, s, token, expires.Add(-time.Second))
			require.Error(t, err)
			require.NotErrorIs(t, err, schema.ErrTokenExpired)
			if len(token) > 12 {
				require.NotContains(t, err.Error(), token[5:12], "errors contain no token")
			}
		}
		at := rapid.IntRange(0, len(token)-1).Draw(t, "at")
		other := rapid.Byte().Filter(func(b byte) bool { return b != token[at] }).Draw(t, "byte")
		refused(s, key, token[:at]+string([]byte{other})+token[at+1:])
		refused(s, key, token[:at])
		refused(s, key, token+string([]byte{other}))
		refused(s, key, token[:at]+"\n"+token[at:])

		x := s
		x.Tenant += "x"
		refused(x, key, token)
		x = s
		x.RunID[0]++
		refused(x, key, token)
		for _, mode := range []schema.ForgetMode{schema.ForgetSoft, schema.ForgetForce, schema.ForgetErase} {
			if x = s; mode != s.Mode {
				x.Mode = mode
				refused(x, key, token)
			}
		}
		i := rapid.IntRange(0, len(rows)-1).Draw(t, "row")
		changed := append([]lifecycle.SelectedRow{}, rows...)
		changed[i].Version++
		x = s
		x.Digest = lifecycle.ForgetDigest(changed)
		refused(x, key, token)
		x.Digest = lifecycle.ForgetDigest(rows[1:])
		refused(x, key, token)
		if len(rows) > 1 && rows[0] != rows[1] {
			changed = append([]lifecycle.SelectedRow{}, rows...)
			changed[0], changed[1] = changed[1], changed[0]
			x.Digest = lifecycle.ForgetDigest(changed)
			refused(x, key, token)
		}
		otherKey := append([]byte{}, key...)
		otherKey[0]++
		refused(s, otherKey, token)
	})
}

func TestTokenPartsAreSeparated(t *testing.T) {
	t.Parallel()
	key, at := []byte(strings.Repeat("k", 32)), time.Unix(100, 0)
	a := lifecycle.ForgetSubject{Tenant: "ab", Mode: "soft"}
	b := lifecycle.ForgetSubject{Tenant: "a", Mode: "bsoft"}
	require.ErrorIs(t, lifecycle.VerifyToken(key, b, lifecycle.ConfirmToken(key, a, at), time.Unix(0, 0)),
		schema.ErrTokenOther)
	require.ErrorIs(t, lifecycle.VerifyToken(key, a, "", at), schema.ErrTokenMalformed)
	require.ErrorIs(t, lifecycle.VerifyToken(key, a, "fgt1."+strings.Repeat("!", 54), at), schema.ErrTokenMalformed)
}

func TestNeedsConfirmation(t *testing.T) {
	t.Parallel()
	named := schema.Selector{IDs: []string{uuid.NewString()}}
	for name, c := range map[string]struct {
		r     schema.ForgetRequest
		total int
		want  bool
	}{
		"few ids":     {schema.ForgetRequest{Selector: named}, lifecycle.ConfirmThreshold, false},
		"many ids":    {schema.ForgetRequest{Selector: named}, lifecycle.ConfirmThreshold + 1, true},
		"force":       {schema.ForgetRequest{Selector: named, Mode: schema.ForgetForce}, 1, true},
		"erase":       {schema.ForgetRequest{Selector: named, Mode: schema.ForgetErase}, 1, true},
		"query":       {schema.ForgetRequest{Selector: schema.Selector{Query: "x"}}, 1, true},
		"filter":      {schema.ForgetRequest{Selector: schema.Selector{IDs: named.IDs, Who: "x"}}, 1, true},
		"all":         {schema.ForgetRequest{Selector: schema.Selector{All: true}}, 1, true},
		"and derived": {schema.ForgetRequest{Selector: schema.Selector{IDs: named.IDs, IncludeDerived: true}}, 1, true},
	} {
		require.Equal(t, c.want, lifecycle.NeedsConfirmation(c.r, c.total), name)
	}
}

func TestForgetOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		m                  lifecycle.Forgettable
		soft, force, erase string
	}{
		{lifecycle.Forgettable{Version: 3}, "forgotten", "forgotten", "forgotten"},
		{lifecycle.Forgettable{Version: 4}, "version_conflict", "version_conflict", "version_conflict"},
		{lifecycle.Forgettable{Version: 3, Pinned: true}, "pinned", "forgotten", "forgotten"},
		{lifecycle.Forgettable{Version: 3, Deleted: true}, "deleted", "forgotten", "forgotten"},
		{lifecycle.Forgettable{Version: 3, Deleted: true, Erased: true}, "erased", "forgotten", "erased"},
		{lifecycle.Forgettable{Version: 3, World: true}, "forgotten", "world", "forgotten"},
		{lifecycle.Forgettable{Version: 3, ActionLinked: true}, "forgotten", "action_linked", "forgotten"},
		{lifecycle.Forgettable{Version: 3, World: true, Deleted: true, Erased: true}, "erased", "world", "erased"},
		{lifecycle.Forgettable{Version: 3, World: true, Pinned: true}, "pinned", "world", "forgotten"},
		{lifecycle.Forgettable{Version: 3, World: true, Foreign: true}, "forgotten", "not_owner", "not_owner"},
	} {
		require.Equal(t, []string{c.soft, c.force, c.erase},
			[]string{lifecycle.ForgetOutcome(schema.ForgetSoft, 3, c.m),
				lifecycle.ForgetOutcome(schema.ForgetForce, 3, c.m),
				lifecycle.ForgetOutcome(schema.ForgetErase, 3, c.m)},
			"%+v", c.m)
	}
}

// A preview counts the memories that ForgetOutcome would not change: those of another agent, and rows that must stay.
// Pinned memories are counted in every mode.
func TestForgetCountsAgreeWithOutcomes(t *testing.T) {
	t.Parallel()
	both := []bool{false, true}
	for _, mode := range []schema.ForgetMode{schema.ForgetSoft, schema.ForgetForce, schema.ForgetErase} {
		for _, foreign := range both {
			for _, world := range both {
				for _, linked := range both {
					for _, pinned := range both {
						m := lifecycle.Forgettable{Version: 3, Foreign: foreign, World: world, ActionLinked: linked,
							Pinned: pinned}
						var counts lifecycle.ForgetCounts
						counts.Add(mode, m, 2)
						counts.Add(mode, lifecycle.Forgettable{Version: 3}, 5)
						outcome := lifecycle.ForgetOutcome(mode, 3, m)
						want := lifecycle.ForgetCounts{}
						if pinned {
							want.Pinned = 2
						}
						if outcome == lifecycle.OutcomeNotOwner {
							want.NotOwner = 2
						}
						m.Foreign = false // a row that must stay counts, for any owner
						if o := lifecycle.ForgetOutcome(mode, 3,
							m); o == lifecycle.OutcomeWorld || o == lifecycle.OutcomeActionLinked {
							want.MustStay = 2
						}
						require.Equal(t, want, counts, "%s %+v", mode, m)
					}
				}
			}
		}
	}
}
