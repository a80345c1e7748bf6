package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/schema"
)

// A party of a contest that was deleted comes back to the contest, but not beside a fact that has replaced the other
// party meanwhile: no contested memory makes the claim of an active one.
func TestRecoverOfAPartyOfAContest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.contest(claims("Ana", "Rome", ""), claims("Ana", "Oslo", ""))
	w.forgetAll(w.forgets(schema.ForgetSoft, named(a)))
	require.Equal(t, schema.StatusActive, w.get(b).Status)
	require.Equal(t, schema.RecoverRecovered, w.recoverOne(a).Status)
	w.contested(a, b)

	w.forgetAll(w.forgets(schema.ForgetSoft, named(a)))
	next := w.applied(w.revision(schema.ReviseSupersede, same(claims("Ana", "Bergen", "")), w.as(b)...)).Created[0]
	item := w.recoverOne(a)
	require.Equal(t, schema.RecoverActiveFact, item.Status)
	require.Equal(t, next, item.ConflictID)
	require.NotNil(t, w.get(a).DeletedAt)
	testkit.CheckInvariants(t, w.owner)
}
